//! The sysbench command for one stretch of a step.

use super::error::Error;
use super::script::{Files, script};
use super::target::Target;
use crate::spec::{Flush, StepSpec};
use rqps_model::random::{Stream, name_word};
use std::process::Command;
use std::time::Duration;

/// sysbench counts events in 32-bit integers.
const EVENTS_MAX: u64 = i32::MAX as u64;
/// Seeds are 32-bit integers; 0 stands for the clock.
const SEEDS: u64 = i32::MAX as u64;

/// Limits of a stretch; the first one reached ends it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ends {
    pub time: Option<Duration>,
    pub events: Option<u64>,
}

/// A part of a step that runs as its own sysbench process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch {
    WarmUp,
    Window,
}

fn seed(spec: &StepSpec, stretch: Stretch) -> u64 {
    let words = [spec.seed, name_word(&spec.step), u64::from(spec.draws), stretch as u64];
    Stream::new(&words).key(SEEDS)
}

pub(super) fn command(
    spec: &StepSpec,
    target: &Target,
    files: &Files,
    stretch: Stretch,
    ends: Ends,
) -> Result<Command, Error> {
    if ends.events.is_some_and(|events| events > EVENTS_MAX) {
        return Err(Error::CannotDo {
            what: "counts no more than 2,147,483,647 events",
            remedy: "give fewer `events`, or `seconds`",
        });
    }
    let whole_seconds = ends.time.filter(|time| time.subsec_nanos() == 0).map_or(0, |time| time.as_secs());
    let script = script(spec.test);
    let mut command = Command::new("sysbench");
    command
        .arg(files.gate())
        .arg(format!("--db-driver={}", target.driver_name))
        .args(&target.options)
        .arg(format!("--config-file={}", files.config().display()))
        .arg(format!("--threads={}", spec.clients))
        .arg(format!("--tables={}", spec.tables))
        .arg(format!("--table-size={}", spec.state.rows))
        .arg(format!("--rand-seed={}", seed(spec, stretch)))
        .args(["--rand-type=uniform", "--db-ps-mode=auto"])
        .args(["--report-interval=1", "--histogram=on", "--percentile=99"])
        .arg(format!("--events={}", ends.events.unwrap_or(0)))
        .arg(format!("--time={whole_seconds}"))
        .args(&script.options)
        .arg("run");
    command.env("LC_ALL", "C").env("RQPS_SESSION_SQL", target.session_sql);
    command.envs(target.connect_sql.map(|sql| ("RQPS_CONNECT_SQL", sql)));
    command.envs(target.environment.iter().map(|(name, value)| (name, value)));
    match script.stock {
        Some(name) => command.env("RQPS_SCRIPT", name),
        None => command.env("RQPS_SCRIPT", files.statement()),
    };
    if let (Some(time), 0) = (ends.time, whole_seconds) {
        command.env("RQPS_SECONDS", format!("{:.9}", time.as_secs_f64()));
    }
    if let Some(Flush { idle, sql }) = &spec.flush {
        command.env("RQPS_FLUSH_SQL", sql).env("RQPS_FLUSH_IDLE_US", idle.as_micros().to_string());
    }
    Ok(command)
}
