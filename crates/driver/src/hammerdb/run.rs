//! A timed run of HammerDB's virtual users.

use super::Target;
use super::counts::Counts;
use super::error::Error;
use super::installed::Installed;
use super::output::Line;
use super::process::Process;
use super::script::{self, Files};
use crate::error::StepError;
use crate::lead::TICK;
use crate::result::{Marks, StepResult, each_second};
use crate::spec::Observer;
use rqps_model::{EndedBy, FixedWork};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How much longer than planned a phase may take: HammerDB is slow to start, and reads its counts from a busy server.
const GRACE: Duration = Duration::from_secs(120);
/// A larger share of failed transactions makes a result invalid.
const FAILED_SHARE_MAX: f64 = 0.01;
/// The monitor is virtual user 1.
const FIRST_USER: u32 = 2;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct TimedRun {
    pub users: u32,
    pub rampup: Duration,
    pub duration: Duration,
    pub all_warehouses: bool,
    pub keying_and_think_time: bool,
}

/// Runs HammerDB's timed test. Blocks until all its sessions have ended.
///
/// # Errors
/// [`StepError::HammerDb`] with HammerDB's messages; [`StepError::Cancelled`] by the observer.
pub fn run(
    hammerdb: &Installed,
    target: &Target,
    run: &TimedRun,
    observer: &mut dyn Observer,
) -> Result<StepResult, StepError> {
    let files = Files::write(&script::run(target, run)?)?;
    let process = Process::start(hammerdb, &files.script, files.tmp(), &target.session_name)?;
    let mut lead = Lead::new(run, observer);
    // HammerDB waits a second and more until it notices that all have ended: it need not.
    drop(lead.follow(process)?);
    lead.observer.statistics_complete();
    let counts = Counts::read(files.tmp(), run.users)?;
    lead.result(counts)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    RampUp,
    Window,
    Ending,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::Starting => "connect",
            Self::RampUp => "ramp-up",
            Self::Window => "measure",
            Self::Ending => "finish",
        }
    }

    /// For error messages.
    fn doing(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::RampUp => "in the ramp-up",
            Self::Window => "in the window",
            Self::Ending => "ending",
        }
    }
}

struct Lead<'a> {
    run: &'a TimedRun,
    observer: &'a mut dyn Observer,
    phase: Phase,
    since: Instant,
    rampup: Duration,
    /// Ids on the server, by virtual user.
    sessions: Vec<u32>,
    /// Transactions of the window, each time that HammerDB's counter reports, about every second.
    each_second: Vec<u64>,
    /// Transactions of the phase, approximately.
    events_so_far: f64,
    figures: Option<(f64, f64)>,
    failed_transactions: u64,
    /// What the first of them said.
    first_failure: Option<String>,
}

impl<'a> Lead<'a> {
    fn new(run: &'a TimedRun, observer: &'a mut dyn Observer) -> Self {
        Self {
            run,
            observer,
            phase: Phase::Starting,
            since: Instant::now(),
            rampup: Duration::ZERO,
            sessions: vec![0; run.users as usize],
            each_second: Vec::new(),
            events_so_far: 0.0,
            figures: None,
            failed_transactions: 0,
            first_failure: None,
        }
    }

    fn begin(&mut self, phase: Phase) {
        (self.phase, self.since, self.events_so_far) = (phase, Instant::now(), 0.0);
    }

    fn longest(&self) -> Duration {
        GRACE
            + match self.phase {
                Phase::RampUp => self.run.rampup,
                Phase::Window => self.run.duration,
                Phase::Starting | Phase::Ending => Duration::ZERO,
            }
    }

    /// Reads output until all virtual users have ended.
    fn follow(&mut self, mut process: Process) -> Result<Process, StepError> {
        loop {
            let line = process.read_line(TICK);
            match line.as_deref().map(Line::parse) {
                Some(Line::AllEnded) if self.figures.is_some() => return Ok(process),
                Some(Line::AllEnded) => {
                    return Err(self.lost(process, "it ended without a result".to_owned()));
                }
                Some(Line::Failed { words }) => return Err(self.lost(process, words)),
                Some(line) => self.take(line, process.pid()),
                None if process.has_ended() => {
                    let words = process.ended_early();
                    return Err(self.lost(process, words));
                }
                None => {}
            }
            if self.since.elapsed() > self.longest() {
                let words = format!("still there after {} s", self.since.elapsed().as_secs());
                return Err(self.lost(process, words));
            }
            let elapsed_s = self.since.elapsed().as_secs_f64();
            self.observer.progress(self.phase.name(), elapsed_s, self.events_so_far as u64);
            if self.observer.cancelled() {
                drop(process);
                // The server may not have noticed yet that its clients are gone.
                self.observer.end_statements();
                return Err(StepError::Cancelled);
            }
        }
    }

    fn take(&mut self, line: Line, pid: u32) {
        match line {
            Line::Session { user, session } => {
                let at = user.checked_sub(FIRST_USER).map(|at| at as usize);
                if let Some(place) = at.and_then(|at| self.sessions.get_mut(at)) {
                    *place = session;
                }
            }
            Line::RampUp => self.begin(Phase::RampUp),
            Line::Window => {
                self.rampup = self.since.elapsed();
                self.begin(Phase::Window);
                self.observer.client_process(pid);
                self.observer.window_opens(&self.sessions);
            }
            Line::WindowEnd => {
                self.observer.window_closes();
                self.begin(Phase::Ending);
            }
            Line::Counter { tpm } => {
                let transactions = tpm / 60.0;
                self.events_so_far += transactions;
                if self.phase == Phase::Window {
                    self.each_second.push(transactions.round() as u64);
                }
            }
            Line::Result { nopm, tpm } => self.figures = Some((nopm, tpm)),
            Line::TransactionFailed { words } => {
                self.failed_transactions += u64::from(self.phase == Phase::Window);
                self.first_failure.get_or_insert(words);
            }
            _ => {}
        }
    }

    fn lost(&mut self, process: Process, words: String) -> StepError {
        let said = self.first_failure.take().map_or(words.clone(), |first| format!("{words}; {first}"));
        let error = process.failed(self.phase.doing(), said);
        self.observer.end_statements();
        StepError::HammerDb(error)
    }

    fn result(&self, counts: Counts) -> Result<StepResult, StepError> {
        let (nopm, tpm) =
            self.figures.ok_or_else(|| Error::Output("no result, though it ended well".to_owned()))?;
        let events: u64 = counts.work.iter().sum();
        let figures = [
            ("hammerdb_nopm", nopm),
            ("hammerdb_tpm", tpm),
            ("failed_transactions", self.failed_transactions as f64),
        ];
        Ok(StepResult {
            // HammerDB divides by this time, too.
            elapsed: self.run.duration,
            warmup: self.rampup,
            ended_by: EndedBy::Time,
            events,
            events_per_s: events as f64 / self.run.duration.as_secs_f64(),
            queries: events,
            statements: events,
            noop_statements: 0,
            rows: 0,
            changed_rows: 0,
            removed_rows: 0,
            retries: BTreeMap::new(),
            series: vec![each_second("queries", "queries", &self.each_second)],
            slices: Vec::new(),
            marks: Marks::default(),
            totals: figures.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
            sessions: Vec::new(),
            kinds: counts.kinds,
            event_ns: counts.event_ns,
            scheduled_ns: None,
            invalid: self.invalid(events),
            work: FixedWork { warmup: Vec::new(), window: counts.work },
        })
    }

    fn invalid(&self, events: u64) -> Option<String> {
        if events == 0 {
            return Some("no transaction was finished in the window".to_owned());
        }
        let said = self.first_failure.as_deref().unwrap_or("no message");
        (self.failed_transactions as f64 > events as f64 * FAILED_SHARE_MAX).then(|| {
            format!("{} of {events} transactions failed, the first with: {said}", self.failed_transactions)
        })
    }
}
