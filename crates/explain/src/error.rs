//! Errors while evidence is gathered: in the run folder or in the request.

use rqps_model::did_you_mean;

pub type Result<T> = std::result::Result<T, Error>;

fn tests(known: &[String]) -> String {
    match known {
        [] => "It has measured none.".to_owned(),
        _ => format!("It has: {}", known.join(", ")),
    }
}

/// Why no explanation was made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run's details cannot be read.
    #[error(transparent)]
    Store(#[from] rqps_store::Error),
    /// Nor can what its verdicts rest on.
    #[error(transparent)]
    Verdicts(#[from] rqps_verdicts::Error),
    /// The run does not have the requested test.
    #[error(
        "no test '{test}' in run {run}. {}{}",
        did_you_mean(test, known.iter().map(String::as_str)).map_or_else(String::new, |question| question + " "),
        tests(known)
    )]
    NoSuchTest { test: String, run: String, known: Vec<String> },
    /// The run does not have the requested arm.
    #[error("run {run} has no arm {arm}; it has {arms}, numbered from 0")]
    NoSuchArm { arm: usize, run: String, arms: usize },
}
