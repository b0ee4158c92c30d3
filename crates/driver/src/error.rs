//! The error of a step.

/// Why a step has no result.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("{}{doing}: {source}", of_several(*client, *clients))]
    Client { client: u32, clients: u32, doing: &'static str, source: Box<rqps_wire::Error> },
    /// By the observer.
    #[error("cancelled")]
    Cancelled,
    /// A thread could not be started.
    #[error(
        "can't start a thread for client {client}: {source}; lower the plan's `clients` or raise the limit of processes"
    )]
    Thread { client: u32, source: std::io::Error },
    /// A client thread panicked: a bug.
    #[error("client {0} panicked; please report this with the message above")]
    Panicked(u32),
    /// A program that runs the step failed.
    #[error("{doing}: {message}")]
    Program { doing: &'static str, message: String },
    #[error(transparent)]
    Sysbench(#[from] crate::sysbench::error::Error),
    #[error(transparent)]
    HammerDb(#[from] crate::hammerdb::Error),
    /// [`crate::queue::run_queue`] was called with a test of another benchmark: a bug.
    #[error("test `{0}` is not a step of the Insert Benchmark")]
    NoQueue(&'static str),
    /// Histograms with different bounds: a bug.
    #[error("can't add up histograms: {0}")]
    Histogram(String),
}

/// `client 3 of 8, `, counted from 1; empty of an only one.
fn of_several(client: u32, clients: u32) -> String {
    if clients == 1 { String::new() } else { format!("client {} of {clients}, ", client + 1) }
}
