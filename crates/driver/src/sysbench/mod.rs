//! The real sysbench as the load engine, in the same phases as our own clients.
//!
//! Warm-up and window are sysbench processes of their own. Our script (`lua/gate.lua`) wraps the test's
//! script and has each thread wait, connected and with its statements prepared, until the window opens, and
//! again after its last event until the window has closed, so no statement is in flight when counters are
//! read. Figures are those that sysbench prints. It does not print latencies of single statements, rows
//! returned, or whether answers were right: the result lacks them.

mod command;
pub(crate) mod error;
mod gathered;
mod output;
mod process;
mod script;
mod target;
mod version;

pub use error::Error;
pub use target::Target;
pub use version::version;

use crate::error::StepError;
use crate::lead::TICK;
use crate::result::StepResult;
use crate::spec::{Observer, Pace, StepSpec};
use command::{Ends, Stretch, command};
use gathered::{Gathered, step_result};
use output::{Line, Statistics};
use process::{Output, Process};
use rqps_model::{Limit, Warmup};
use script::Files;
use std::time::{Duration, Instant};

/// Runs one step with sysbench. Blocks until all its sessions have ended.
///
/// # Errors
/// Those of [`crate::run_step`]; [`StepError::Sysbench`] with sysbench's own messages, or with the reason why
/// it can't run the step.
pub fn run(spec: &StepSpec, target: &Target, observer: &mut dyn Observer) -> Result<StepResult, StepError> {
    version()?;
    if spec.pace != Pace::Closed {
        return Err(StepError::Sysbench(Error::CannotDo {
            what: "sends events at random intervals when it is given a rate, not at even ones",
            remedy: "remove `rate_per_second`, or set `driver = \"rqps\"`",
        }));
    }
    let files = Files::write(target)?;
    let mut stretches = Stretches { spec, target, files: &files, observer };
    let start = Instant::now();
    let mut warmup = Duration::ZERO;
    let mut warm = Gathered::new(spec, Ends::default());
    if let Some(ends) = ends_of_warm_up(spec)? {
        warm = stretches.run(Stretch::WarmUp, ends)?;
        warmup = start.elapsed();
        stretches.observer.sessions_ended(&warm.sessions);
    }
    let window = stretches.run(Stretch::Window, ends_of_window(spec, warm.events()))?;
    stretches.observer.statistics_complete();
    step_result(spec, target, warmup, &warm, &window)
}

/// `None` if there is no warm-up.
fn ends_of_warm_up(spec: &StepSpec) -> Result<Option<Ends>, Error> {
    Ok(match (&spec.limit, &spec.warmup) {
        (Limit::Work(work), _) => match work.warmup.iter().sum() {
            // To sysbench, 0 means no limit.
            0 => None,
            events => Some(Ends { time: None, events: Some(events) }),
        },
        (_, Warmup::Time(Duration::ZERO)) => None,
        (_, Warmup::Time(time)) => Some(Ends { time: Some(*time), events: deletes_max(spec) }),
        (_, Warmup::Detect) => {
            return Err(Error::CannotDo {
                what: "can't tell when its rate has settled",
                remedy: "give `warmup_seconds` as a number, or set `driver = \"rqps\"`",
            });
        }
    })
}

fn ends_of_window(spec: &StepSpec, warm_up_events: u64) -> Ends {
    match &spec.limit {
        Limit::Time(time) => {
            let events = deletes_max(spec).map(|most| most.saturating_sub(warm_up_events).max(1));
            Ends { time: Some(*time), events }
        }
        Limit::Events(events) => Ends { time: None, events: Some(*events) },
        // Base has done at least one event.
        Limit::Rows(rows) => Ends { time: None, events: Some(rows * u64::from(spec.clients)) },
        Limit::Work(work) => Ends { time: None, events: Some(work.window.iter().sum::<u64>().max(1)) },
    }
}

/// The number of deletes of random ids that remove `removed_rows_max` rows on average: a row survives n
/// deletes among N ids with probability (1 - 1/N)^n. Computed, because sysbench prints the number of deleted
/// rows only at the end.
fn deletes_max(spec: &StepSpec) -> Option<u64> {
    let ids = f64::from(spec.tables) * spec.state.rows as f64;
    let share = spec.removed_rows_max? as f64 / ids;
    if !spec.test.shrinks || share >= 1.0 {
        return None;
    }
    Some((((-share).ln_1p() / (-1.0 / ids).ln_1p()).round() as u64).max(1))
}

struct Stretches<'a> {
    spec: &'a StepSpec,
    target: &'a Target,
    files: &'a Files,
    observer: &'a mut dyn Observer,
}

impl Stretches<'_> {
    fn run(&mut self, stretch: Stretch, ends: Ends) -> Result<Gathered, StepError> {
        let mut command = command(self.spec, self.target, self.files, stretch, ends)?;
        let process = Process::start(&mut command)?;
        let mut lead = Lead {
            gathered: Gathered::new(self.spec, ends),
            observer: &mut *self.observer,
            doing: "connecting",
        };
        let is_window = stretch == Stretch::Window;
        let process = lead.until(process, "connect", |gathered| gathered.all_wait())?;
        if is_window {
            lead.observer.client_process(process.pid());
            lead.observer.window_opens(&lead.gathered.sessions);
        }
        let (doing, phase) = if is_window { ("in the window", "measure") } else { ("warming up", "warm-up") };
        lead.doing = doing;
        let process = lead.release(process)?;
        let process = lead.until(process, phase, |gathered| gathered.all_done())?;
        if is_window {
            lead.observer.window_closes();
        }
        lead.doing = "ending";
        let process = lead.release(process)?;
        lead.end(process)?;
        Ok(lead.gathered)
    }
}

struct Lead<'a> {
    gathered: Gathered,
    observer: &'a mut dyn Observer,
    /// For error messages.
    doing: &'static str,
}

impl Lead<'_> {
    /// Reads output until `done`.
    fn until(
        &mut self,
        mut process: Process,
        phase: &'static str,
        done: impl Fn(&Gathered) -> bool,
    ) -> Result<Process, StepError> {
        let start = Instant::now();
        while !done(&self.gathered) {
            match process.read_line(TICK)? {
                Output::Line(Line::Failed { words }) => return Err(self.lost(process, words)),
                Output::Line(line) => self.gathered.add(line)?,
                Output::Nothing => {}
                Output::End => {
                    let words = process.end();
                    return Err(self.lost(process, words));
                }
            }
            self.observer.progress(phase, start.elapsed().as_secs_f64(), self.gathered.events_so_far());
            if self.observer.cancelled() {
                drop(process);
                // The server may not have noticed yet that its clients are gone.
                self.observer.end_statements();
                return Err(StepError::Cancelled);
            }
        }
        Ok(process)
    }

    fn release(&mut self, mut process: Process) -> Result<Process, StepError> {
        match process.release(self.gathered.clients) {
            Ok(()) => Ok(process),
            Err(error) => Err(self.lost(process, error.to_string())),
        }
    }

    fn lost(&mut self, process: Process, words: String) -> StepError {
        let error = process.failed(self.doing, words);
        self.observer.end_statements();
        StepError::Sysbench(error)
    }

    /// Reads the final statistics and waits for sysbench to exit.
    fn end(&mut self, mut process: Process) -> Result<(), StepError> {
        let mut lines = Vec::new();
        loop {
            match process.read_line(TICK)? {
                Output::Line(Line::Failed { words }) => return Err(self.lost(process, words)),
                Output::Line(Line::Other(line)) => lines.push(line),
                Output::Line(_) | Output::Nothing => {}
                Output::End => break,
            }
            if self.observer.cancelled() {
                return Err(StepError::Cancelled);
            }
        }
        process.finish(self.doing)?;
        self.gathered.statistics = Statistics::parse(lines.iter().map(String::as_str))?;
        Ok(())
    }
}
