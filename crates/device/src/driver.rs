//! fio as the driver of the benchmark `sync-latency`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rqps_driver::{KindResult, Marks, Observer, StepError, StepResult};
use rqps_executor::{
    ActiveArm, Admin, Driver, Error, Finished, Job, Loaded, Result, RunControl, StepFindings, WatchOptions,
    Window,
};
use rqps_model::random::Stream;
use rqps_model::{EndedBy, FixedWork, Limit, Metrics, Warmup};
use rqps_plan::{Benchmark, Driver as Program, Plan};
use rqps_store::Load;
use rqps_workloads::expect::Answers;
use rqps_workloads::sync_latency::{self, SPARE_BYTES, Sync, SyncLatency, SyncPlan, SyncTest, WRITES};

use crate::file::{OwnFile, free_bytes, path_in};
use crate::fio::{self, Running, Until, Writes};
use crate::output::{self, Figures};

/// fio.
pub static FIO: &dyn Driver = &Fio;

/// How often progress is reported.
const TICK: Duration = Duration::from_millis(200);

/// How often fio is asked whether its first write is done, and whether its jobs have ended: what it does before and
/// after, for some hundred milliseconds, is not in the window.
const LOOK: Duration = Duration::from_millis(2);

/// The file of an instance, shared with its windows.
pub(crate) struct Target {
    path: PathBuf,
    file: Mutex<Option<OwnFile>>,
}

impl Target {
    pub fn new(dir: &Path, key: u64) -> Self {
        Self { path: path_in(dir, key), file: Mutex::new(None) }
    }

    /// Removes the file.
    pub fn remove(&self) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Says how much the file needs, and how much was free before it was filled.
    fn lacks_room(&self, bytes: u64, free: u64) -> String {
        let needed = bytes.saturating_add(SPARE_BYTES);
        let meanwhile = if free < needed { "" } else { " at first, and something else used them up" };
        format!(
            "No space left on device: {} MiB are needed in {}, {} MiB were free{meanwhile}; free some, or lower file_mb",
            needed >> 20,
            self.directory().display(),
            free >> 20
        )
    }

    /// Fills the file unless it is there. `look` returns false to give up.
    fn fill(&self, bytes: u64, look: &mut dyn FnMut(f64) -> bool) -> std::result::Result<(), StepError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_some() {
            return Ok(());
        }
        let broken = |error: std::io::Error| failed("filling the file", error.to_string());
        let free = free_bytes(self.directory()).map_err(broken)?;
        if free < bytes.saturating_add(SPARE_BYTES) {
            return Err(failed("filling the file", self.lacks_room(bytes, free)));
        }
        let not_created =
            |error| failed("filling the file", format!("create {}: {error}", self.path.display()));
        let own = OwnFile::create(&self.path).map_err(not_created)?;
        let start = Instant::now();
        let filled = run(fio::fill(own.path(), bytes), "filling the file", &mut |_| {
            look(start.elapsed().as_secs_f64())
        });
        // Something else used up the space meanwhile: nothing was free any more when fio failed.
        let filled = filled.map_err(|error| match (error, free_bytes(self.directory())) {
            (StepError::Program { doing, message }, Ok(left)) if left < SPARE_BYTES => {
                failed(doing, format!("{}; {message}", self.lacks_room(bytes, free)))
            }
            (error, _) => error,
        });
        filled?;
        *file = Some(own);
        Ok(())
    }
}

fn failed(doing: &'static str, message: String) -> StepError {
    StepError::Program { doing, message }
}

/// Runs fio to its end and returns its figures. `look` is called several times a second and returns false to give up.
fn run(
    command: Command,
    doing: &'static str,
    look: &mut dyn FnMut(&Running) -> bool,
) -> std::result::Result<Figures, StepError> {
    let broken = |error: std::io::Error| failed(doing, error.to_string());
    let running = Running::start(command).map_err(broken)?;
    let output = loop {
        if !look(&running) {
            return Err(StepError::Cancelled);
        }
        if let Some(output) = running.output(TICK) {
            break output.map_err(broken)?;
        }
    };
    finished(running, &output, doing)
}

/// The figures of a run whose output has ended.
fn finished(running: Running, output: &[u8], doing: &'static str) -> std::result::Result<Figures, StepError> {
    let ran = running.text().to_owned();
    let words = running.end().map_err(|error| failed(doing, error.to_string()))?;
    match (output::parse(output), words) {
        (Ok(figures), None) => Ok(figures),
        (Err(problem), None) => Err(failed(doing, format!("{problem}; run was `{ran}`"))),
        (_, Some(words)) => Err(failed(doing, format!("{words}; run was `{ran}`"))),
    }
}

struct Fio;

impl Driver for Fio {
    fn id(&self) -> &'static str {
        Program::Rqps.key()
    }

    fn benchmark(&self) -> &'static str {
        SyncLatency.id()
    }

    fn described(&self) -> Result<Option<String>> {
        Ok(Some(format!("fio {}", fio::version()?)))
    }

    fn load(&self, plan: &Plan, _: &str, arm: &ActiveArm, control: &mut RunControl<'_>) -> Result<Loaded> {
        let bytes = work(plan)?.file_bytes();
        let start = Instant::now();
        let filled = target(arm)?.fill(bytes, &mut |elapsed_s| {
            control.progress.action_progress("filling the file", elapsed_s, None);
            !control.stopped()
        });
        filled.map_err(|error| match error {
            StepError::Cancelled => Error::Interrupted,
            source => Error::Step { arm: arm.name.clone(), step: "load".to_owned(), source },
        })?;
        let elapsed = start.elapsed();
        let load = Load { tables: 1, rows: bytes >> 20, load_us: elapsed.as_micros() as u64, index_us: 0 };
        let rate = bytes as f64 / 1e6 / elapsed.as_secs_f64().max(1e-6);
        Ok(Loaded { load, summary: format!("{rate:.0} MB/s") })
    }

    /// Direct I/O finds nothing in memory.
    fn warm(&self, _: &Plan, _: &ActiveArm, _: u64) -> Result<()> {
        Ok(())
    }

    fn prepare<'a>(&self, job: Job<'a>, arm: &ActiveArm, _: &mut dyn Admin) -> Result<Box<dyn Window + 'a>> {
        let name = job.step.test.split("_jobs=").next().unwrap_or_default();
        let test = sync_latency::test_by_name(name)
            .ok_or_else(|| Error::NoClients { step: job.step.name.clone(), driver: self.id() })?;
        let file_bytes = work(job.plan)?.file_bytes();
        Ok(Box::new(FioWindow { job, test, file_bytes, target: target(arm)?, figures: None }))
    }
}

fn work(plan: &Plan) -> Result<&SyncPlan> {
    let no_driver = Error::NoDriver { driver: FIO.id(), benchmark: plan.work.benchmark().id() };
    plan.work.of().ok_or(no_driver)
}

fn target(arm: &ActiveArm) -> Result<Arc<Target>> {
    let address = arm.instance.address();
    let found = address.of::<Arc<Target>>().cloned();
    found.ok_or_else(|| Error::NoAddress { arm: arm.name.clone(), driver: FIO.id() })
}

struct FioWindow<'a> {
    job: Job<'a>,
    test: &'static SyncTest,
    file_bytes: u64,
    target: Arc<Target>,
    figures: Option<Figures>,
}

impl FioWindow<'_> {
    fn writes(&self, until: Until, salt: u64) -> Writes<'_> {
        let Job { plan, step, draws, .. } = self.job;
        Writes {
            file: &self.target.path,
            file_bytes: self.file_bytes,
            block_bytes: self.test.block_bytes,
            sync: self.test.sync,
            jobs: step.clients,
            until,
            seed: Stream::new(&[plan.seed, draws.into(), salt]).bits() >> 1,
        }
    }

    /// What runs before the window.
    fn warm_up(&self) -> Option<Until> {
        match (&self.job.limit, self.job.warmup) {
            (Limit::Work(work), _) => {
                Some(work.warmup.iter().copied().max()?).filter(|most| *most > 0).map(Until::Writes)
            }
            (_, Warmup::Time(Duration::ZERO) | Warmup::Detect) => None,
            (_, Warmup::Time(time)) => Some(Until::Time(time)),
        }
    }

    /// Until when the window lasts; `writes_per_s` is the rate of the warm-up.
    fn window(&self, writes_per_s: Option<f64>) -> (Until, EndedBy) {
        let Job { plan, step, .. } = self.job;
        let jobs = u64::from(step.clients);
        match &self.job.limit {
            Limit::Time(time) => (Until::Time(*time), EndedBy::Time),
            Limit::Events(events) => (Until::Writes(events.div_ceil(jobs).max(1)), EndedBy::Work),
            Limit::Rows(rows) => (Until::Writes((*rows).max(1)), EndedBy::Work),
            Limit::Work(work) => {
                let writes = work.window.iter().copied().max().unwrap_or(1).max(1);
                // What has been written does not matter to what follows, and the work of a slow directory is done in
                // moments by a fast one: each gets the time of a window, or of the fewest writes that say something.
                let seconds = plan.window_seconds_of(&step.name);
                let fewest = plan.work.window_events_min().min(writes * jobs);
                match writes_per_s {
                    Some(rate) => {
                        let seconds = seconds.max(fewest as f64 / rate);
                        (Until::Time(Duration::from_secs_f64(seconds)), EndedBy::Time)
                    }
                    None => (Until::Writes(writes), EndedBy::Work),
                }
            }
        }
    }
}

impl Window for FioWindow<'_> {
    fn watch_options(&self) -> WatchOptions {
        WatchOptions { has_tail: false, progress: (1.0, &WRITES), debt: false }
    }

    fn run(&mut self, observer: &mut dyn Observer) -> std::result::Result<StepResult, StepError> {
        self.target.fill(self.file_bytes, &mut |elapsed_s| {
            observer.progress("filling the file", elapsed_s, 0);
            !observer.cancelled()
        })?;
        let mut warmed = Duration::ZERO;
        let mut warmup_work = 0;
        let mut writes_per_s = None;
        if let Some(until) = self.warm_up() {
            let start = Instant::now();
            let figures = run(self.writes(until, 1).command(), "warming up", &mut |_| {
                observer.progress("warm-up", start.elapsed().as_secs_f64(), 0);
                !observer.cancelled()
            })?;
            warmed = start.elapsed();
            warmup_work = figures.writes;
            writes_per_s = Some(figures.writes_per_s);
        }
        let (until, ended_by) = self.window(writes_per_s);
        let doing = "in the window";
        let broken = |error: std::io::Error| failed(doing, error.to_string());
        let running = Running::start(self.writes(until, 2).command()).map_err(broken)?;
        let mut output = None;
        let mut threads = 0;
        while output.is_none() {
            match running.progress() {
                Some(now) if now.written_bytes < self.test.block_bytes => output = running.output(LOOK),
                now => {
                    threads = now.map_or(0, |now| now.threads);
                    break;
                }
            }
        }
        observer.window_opens(&[]);
        let start = Instant::now();
        let mut reported = Duration::ZERO;
        // Each job is a thread.
        let works = |running: &Running| {
            running.progress().is_some_and(|now| now.threads + u64::from(self.job.step.clients) > threads)
        };
        while output.is_none() && works(&running) {
            if start.elapsed() >= reported {
                reported = start.elapsed() + TICK;
                observer.progress("window", start.elapsed().as_secs_f64(), 0);
                if observer.cancelled() {
                    return Err(StepError::Cancelled);
                }
            }
            output = running.output(LOOK);
        }
        observer.window_closes();
        let output = loop {
            match output {
                Some(output) => break output.map_err(broken)?,
                None => output = running.output(TICK),
            }
        };
        let figures = finished(running, &output, doing)?;
        observer.statistics_complete();
        let result = result(&figures, self.test.sync, (warmed, warmup_work), ended_by);
        self.figures = Some(figures);
        Ok(result)
    }

    fn finish(self: Box<Self>, _arm: &ActiveArm, findings: &StepFindings) -> Result<Finished> {
        let writes = findings.result.events;
        let mut metrics = Metrics::new();
        if let Some(figures) = &self.figures {
            metrics.insert("fio_written_mb".to_owned(), figures.bytes as f64 / 1e6);
            metrics.insert("fio_write_us".to_owned(), figures.write_ns / 1e3);
            if figures.syncs > 0 {
                metrics.insert("fio_syncs".to_owned(), figures.syncs as f64);
                metrics.insert("fio_sync_us".to_owned(), figures.sync_ns / 1e3);
            }
        }
        Ok(Finished {
            unit: WRITES.clone(),
            operations: writes as f64,
            rows: 0,
            pacer: None,
            metrics,
            invalid: (writes == 0).then(|| "fio wrote nothing".to_owned()),
            remark: String::new(),
        })
    }
}

fn result(
    figures: &Figures,
    sync: Sync,
    (warmup, warmup_writes): (Duration, u64),
    ended_by: EndedBy,
) -> StepResult {
    let kind = |kind, histogram: &hdrhistogram::Histogram<u64>| KindResult {
        kind,
        answers: Answers { count: histogram.len(), rows: 0, violations: 0 },
        retries: 0,
        sent_ns: histogram.clone(),
    };
    let mut kinds = vec![kind("write", &figures.write_histogram)];
    if sync != Sync::None {
        kinds.push(kind(sync.key(), &figures.sync_histogram));
    }
    let event_ns = if sync == Sync::None { &figures.write_histogram } else { &figures.sync_histogram };
    let jobs = figures.each.len().max(1) as u64;
    StepResult {
        elapsed: Duration::from_secs_f64(figures.writes as f64 / figures.writes_per_s.max(f64::MIN_POSITIVE)),
        warmup,
        ended_by,
        events: figures.writes,
        events_per_s: figures.writes_per_s,
        queries: figures.writes,
        statements: figures.writes,
        noop_statements: 0,
        rows: 0,
        changed_rows: 0,
        removed_rows: 0,
        retries: BTreeMap::new(),
        series: Vec::new(),
        slices: Vec::new(),
        marks: Marks::default(),
        totals: Metrics::new(),
        sessions: Vec::new(),
        kinds,
        event_ns: event_ns.clone(),
        scheduled_ns: None,
        invalid: None,
        work: FixedWork {
            warmup: vec![warmup_writes / jobs; figures.each.len()],
            window: figures.each.clone(),
        },
    }
}
