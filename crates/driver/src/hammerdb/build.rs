//! Building HammerDB's schema.

use super::Target;
use super::error::Error;
use super::installed::Installed;
use super::output::{INDEXES, Line, PROCEDURES};
use super::process::Process;
use super::script::{self, Files};
use crate::lead::TICK;
use std::time::{Duration, Instant};

/// A build that says nothing for so long hangs: a worker that failed leaves the others waiting. Some statements of it
/// take as long as there are warehouses.
const SILENCE_MAX: Duration = Duration::from_secs(600);
const SILENCE_PER_WAREHOUSE: Duration = Duration::from_secs(10);

/// What to build.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    pub warehouses: u32,
    /// Virtual users that load at the same time.
    pub users: u32,
    /// Whether `order_line` is partitioned, from as many warehouses on as HammerDB does.
    pub partitions: bool,
}

/// How long a build took.
#[derive(Debug, Clone, Copy)]
pub struct BuildTimes {
    pub rows: Duration,
    /// Indexes, procedures and statistics, as far as the DBMS makes them after the rows.
    pub rest: Duration,
}

/// Builds the schema in an empty database. `tick` gets what HammerDB is doing several times a second, and returns false
/// to end it early.
///
/// # Errors
/// [`Error::Failed`] with HammerDB's messages; [`Error::Cancelled`] if `tick` ended it.
pub fn build(
    hammerdb: &Installed,
    target: &Target,
    build: &Build,
    tick: &mut dyn FnMut(&'static str) -> bool,
) -> Result<BuildTimes, Error> {
    let doing = "building the schema";
    let files = Files::write(&script::build(target, build)?)?;
    let mut process = Process::start(hammerdb, &files.script, files.tmp(), &target.session_name)?;
    let silence_max = SILENCE_MAX + SILENCE_PER_WAREHOUSE * build.warehouses;
    let start = Instant::now();
    let (mut rows, mut complete, mut phase, mut heard) = (None, None, "starting", start);
    loop {
        let line = process.read_line(TICK);
        if line.is_some() {
            heard = Instant::now();
        }
        match line.as_deref().map(Line::parse) {
            Some(Line::Loading(now)) => {
                phase = now;
                if now == INDEXES || now == PROCEDURES {
                    rows.get_or_insert_with(|| start.elapsed());
                }
            }
            Some(Line::Schema) => complete = Some(start.elapsed()),
            // What follows is waiting: HammerDB looks every five seconds.
            Some(Line::AllEnded) if complete.is_some() => break,
            Some(Line::AllEnded) => {
                return Err(process.failed(doing, "it ended before the schema was complete".to_owned()));
            }
            Some(Line::Failed { words } | Line::TransactionFailed { words }) => {
                return Err(process.failed(doing, words));
            }
            None if process.has_ended() => {
                let words = format!("{} before the schema was complete", process.ended_early());
                return Err(process.failed(doing, words));
            }
            _ => {}
        }
        if heard.elapsed() > silence_max {
            let words = format!("no output for {} minutes", silence_max.as_secs() / 60);
            return Err(process.failed(doing, words));
        }
        if !tick(phase) {
            return Err(Error::Cancelled);
        }
    }
    let all = complete.unwrap_or_default();
    let rows = rows.unwrap_or(all);
    Ok(BuildTimes { rows, rest: all.saturating_sub(rows) })
}
