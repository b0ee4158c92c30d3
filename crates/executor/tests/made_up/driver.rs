//! A minimal driver. Its windows take no real time: their length is computed from their entries.

use crate::benchmark::ENTRIES;
use crate::system::{Shared, State};
use crate::world::{self, Fault, moment, moment_for};
use hdrhistogram::Histogram;
use rqps_driver::{Marks, Observer, StepError, StepResult};
use rqps_executor::{
    ActiveArm, Admin, Driver, Error, Finished, Job, Loaded, Result, RunControl, StepFindings, WatchOptions,
    Window,
};
use rqps_model::{EndedBy, FixedWork, Limit, Metrics};
use rqps_plan::Plan;
use rqps_store::Load;
use std::collections::BTreeMap;
use std::time::Duration;

pub struct Clerks;

impl Driver for Clerks {
    fn id(&self) -> &'static str {
        "rqps"
    }

    fn benchmark(&self) -> &'static str {
        "ledger"
    }

    fn load(
        &self,
        _plan: &Plan,
        _test: &str,
        arm: &ActiveArm,
        control: &mut RunControl<'_>,
    ) -> Result<Loaded> {
        let state = ledger(arm);
        state.lock().lines = vec!["half-load".to_owned()];
        if let Some(fault) = moment_for(&[Fault::Death, Fault::DiskFull]) {
            return Err(session(arm, state.failure(fault)));
        }
        perhaps_write(&state.lock());
        control.progress.action_progress("entries", 0.5, None);
        if control.stopped() {
            return Err(Error::Interrupted);
        }
        state.lock().lines = vec!["load".to_owned()];
        let load = Load { tables: 1, rows: 1000, load_us: 1, index_us: 1 };
        Ok(Loaded { load, summary: "a page of entries".to_owned() })
    }

    fn warm(&self, _plan: &Plan, _arm: &ActiveArm, _rows_max: u64) -> Result<()> {
        Ok(())
    }

    fn prepare<'a>(
        &self,
        job: Job<'a>,
        arm: &ActiveArm,
        _admin: &mut dyn Admin,
    ) -> Result<Box<dyn Window + 'a>> {
        let state = ledger(arm);
        let mut done_before = None;
        if job.repeats && job.plan.work.can_continue() {
            let mut state = state.lock();
            state.lines.retain(|line| !line.starts_with("half-"));
            let own = format!("{}:", job.step.name);
            done_before = state.lines.iter().find_map(|line| line.strip_prefix(&own)?.parse().ok());
        }
        Ok(Box::new(Writing { job, state, done_before }))
    }
}

fn ledger(arm: &ActiveArm) -> Shared {
    arm.instance.address().of::<Shared>().cloned().unwrap()
}

fn session(arm: &ActiveArm, failure: rqps_wire::Error) -> Error {
    Error::Session { arm: arm.name.clone(), doing: "loading".to_owned(), source: Box::new(failure) }
}

/// Writes the state to disk, or not, by chance.
fn perhaps_write(state: &State) {
    if world::with(|world| world.below(2)) == 0 {
        state.write();
    }
}

struct Writing<'a> {
    job: Job<'a>,
    state: Shared,
    /// Entries that an earlier attempt has put in.
    done_before: Option<u64>,
}

impl Window for Writing<'_> {
    fn watch_options(&self) -> WatchOptions {
        WatchOptions { has_tail: false, progress: (1.0, &ENTRIES), debt: false }
    }

    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError> {
        let step = self.job.step;
        let entries = self.done_before.unwrap_or_else(|| match &self.job.limit {
            Limit::Work(work) => work.window[0],
            Limit::Events(events) => *events,
            Limit::Time(_) | Limit::Rows(_) => 100 + world::with(|world| world.below(50)),
        });
        moment();
        observer.window_opens(&[1]);
        for part in 1..=3_u32 {
            if step.writes && part == 2 && self.done_before.is_none() {
                let mut state = self.state.lock();
                state.lines.push(format!("half-{}", step.name));
                perhaps_write(&state);
            }
            if let Some(fault) = moment_for(&[Fault::Death, Fault::DiskFull]) {
                let source = Box::new(self.state.failure(fault));
                return Err(StepError::Client { client: 0, clients: 1, doing: "writing", source });
            }
            observer.progress("window", 0.3 * f64::from(part), entries / 3 * u64::from(part));
            if observer.cancelled() {
                return Err(StepError::Cancelled);
            }
        }
        if step.writes && self.done_before.is_none() {
            let mut state = self.state.lock();
            state.lines.pop();
            state.lines.push(format!("{}:{entries}", step.name));
        }
        observer.window_closes();
        observer.statistics_complete();
        moment();
        Ok(result(entries))
    }

    fn finish(self: Box<Self>, _arm: &ActiveArm, findings: &StepFindings) -> Result<Finished> {
        let events = findings.result.events;
        Ok(Finished {
            unit: ENTRIES.clone(),
            operations: events as f64,
            rows: events,
            pacer: None,
            metrics: Metrics::new(),
            invalid: self.done_before.map(|_| "entries were there before".to_owned()),
            remark: String::new(),
        })
    }
}

/// 10 ms, or near it in a noisy world.
fn seconds_per_entry() -> f64 {
    world::with(|world| match world.noise {
        0.0 => 0.01,
        noise => 0.01 * (1.0 + noise * (world.below(1001) as f64 / 1000.0 - 0.5)),
    })
}

/// The result of a window.
fn result(entries: u64) -> StepResult {
    let seconds = seconds_per_entry();
    StepResult {
        elapsed: Duration::from_secs_f64(seconds * entries as f64),
        warmup: Duration::ZERO,
        ended_by: EndedBy::Work,
        events: entries,
        events_per_s: 1.0 / seconds,
        queries: entries,
        statements: entries,
        noop_statements: 0,
        rows: 0,
        changed_rows: entries,
        removed_rows: 0,
        marks: Marks::default(),
        retries: BTreeMap::new(),
        series: Vec::new(),
        slices: Vec::new(),
        totals: Metrics::new(),
        sessions: Vec::new(),
        kinds: Vec::new(),
        event_ns: Histogram::new(1).unwrap(),
        scheduled_ns: None,
        invalid: None,
        work: FixedWork { warmup: vec![0], window: vec![entries] },
    }
}
