//! Takes one CPU profile: a test runs for some seconds while `perf` samples the server's processes and a
//! session samples what the clients' sessions wait for.

use super::{ProfileRequest, file_of};
use crate::arm::ActiveArm;
use crate::control::RunControl;
use crate::driver::Job;
use crate::error::{Error, Result};
use crate::observe::{StepFindings, connections};
use crate::setup::Setup;
use crate::spec::session_cpus;
use crate::system::Admin;
use rqps_builds::{CpuSet, pin_this_thread};
use rqps_driver::{Observer, StepResult};
use rqps_model::{Limit, Wait, Warmup};
use rqps_plan::{Plan, Protocol, StepDef};
use rqps_probe::profile::{CallGraph, Moment, Perf, Recorder, Recording};
use rqps_probe::waits::{WaitSampler, Waits};
use rqps_probe::{WindowCost, WindowProbe, WindowStart};
use rqps_store::{Measured, Observation, Profile};
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

/// Most samples of one profile: more add nothing, and each holds a copy of a stack until it is folded.
const SAMPLES_MAX: f64 = 20_000.0;
/// Processes other than the clients' sessions that may keep a CPU busy.
const BUSY_BESIDE_CLIENTS: u32 = 4;
/// Length of the warm-up as a share of the sampled time, and its bounds.
const WARMUP_SHARE: f64 = 0.2;
const WARMUP_SECONDS: (f64, f64) = (0.5, 5.0);
/// Differs from the draws of windows and pilots.
const PROFILE_DRAWS: u32 = 2_000_000;

/// How profiles of an arm are taken.
pub(super) struct Sampling<'a> {
    perf: &'a Perf,
    seconds: f64,
    frequency_hz: f64,
    call_graph: CallGraph,
}

pub(super) struct Taken {
    pub profile: Profile,
    pub folded: String,
    waits: Waits,
    cost: WindowCost,
    invalid: Option<String>,
}

impl Taken {
    pub fn add_note(&mut self, more: &str) {
        self.profile.note = Some(match self.profile.note.take() {
            Some(note) => format!("{note}; {more}"),
            None => more.to_owned(),
        });
    }

    pub fn summary(&self) -> String {
        let Profile { samples, lost_samples, unresolved_samples, elapsed_us, .. } = self.profile;
        let unnamed = 100.0 * unresolved_samples as f64 / samples.max(1) as f64;
        let lost = if lost_samples > 0 { format!(", {lost_samples} more lost") } else { String::new() };
        let seconds = elapsed_us as f64 / 1e6;
        format!("{samples} samples in {seconds:.1} s{lost}, {unnamed:.0} % in unresolved functions")
    }

    /// The observation to store, and why it must not be used, if it must not.
    pub fn into_observation(self) -> (Option<String>, Observation) {
        let mut observation = Observation::new(Measured::Profile(self.profile));
        observation.metrics = self.cost.metrics().into_iter().collect();
        observation.connections = connections(&self.cost, &[]);
        let looks = self.waits.looks;
        let wait = |(kind, event, found)| Wait { kind, event, found, looks };
        observation.waits = self.waits.found.into_iter().map(wait).collect();
        (self.invalid, observation)
    }
}

impl<'a> Sampling<'a> {
    pub fn new(perf: &'a Perf, request: &ProfileRequest, call_graph: CallGraph) -> Self {
        Self { perf, seconds: request.seconds, frequency_hz: request.frequency_hz, call_graph }
    }

    /// Runs a job of the test, which takes about `seconds`, on a running server and samples it. Samples are written to
    /// `dir`.
    pub fn take(
        &self,
        (setup, job, seconds): (&Setup, Job<'_>, f64),
        arm: &mut ActiveArm,
        dir: &Path,
        control: &mut RunControl<'_>,
    ) -> Result<Taken> {
        let (plan, step) = (&setup.plan, job.step);
        let frequency_hz = self.frequency_hz(step.clients, seconds)?;
        let mut monitor = arm.admin("sampling waits")?;
        let ignored = HashSet::from_iter(monitor.served_by(&[monitor.backend_id()])?);
        let no_samples = || Error::NoSamples { arm: arm.name.clone(), test: step.test.clone() };
        let target = arm.target(&mut *monitor)?.ok_or_else(no_samples)?;
        // Before this thread is pinned: perf inherits its CPUs.
        let recorder = Recorder::start(self.perf, target, (frequency_hz, self.call_graph), dir)?;
        let shared_cpu = match plan.protocol {
            Protocol::Isolated => session_cpus(&CpuSet::online()?, step.clients, 0),
            Protocol::Sequence => None,
        };
        if plan.protocol == Protocol::Isolated {
            let cpus = shared_cpu.clone().map_or_else(CpuSet::online, Ok)?;
            arm.instance.pin_sessions(&cpus)?;
        }
        let job = Job { yields_cpu: shared_cpu.is_some(), ..job };
        let mut window = setup.driver.prepare(job, arm, &mut *monitor)?;
        let pinned = shared_cpu.as_ref().map(pin_this_thread).transpose()?;
        let stop = control.stop;
        let mut observer = ProfileObserver::new(arm, control, recorder, monitor);
        let outcome = window.run(&mut observer);
        let (result, recorded) = observer.into_recorded(&step.test, outcome)?;
        drop(pinned);
        control.progress.action_progress("folding stacks", 0.0, None);
        let folded = recorded.recording.fold(recorded.stretch, &ignored, stop)?;
        if folded.samples == 0 {
            return Err(Error::NoSamples { arm: arm.name.clone(), test: step.test.clone() });
        }
        let remarks = recorded.recording.remarks(&folded);
        let RecordedWindow { cost, waits, stretch: (from, until), .. } = recorded;
        let findings = StepFindings::of_result(result, cost);
        let finished = window.finish(arm, &findings)?;
        let StepFindings { result, cost, .. } = findings;
        let profile = Profile {
            test: step.test.clone(),
            group: step.group.key.to_string(),
            clients: step.clients,
            events: result.events,
            operations: finished.operations,
            elapsed_us: until.since(from).as_micros() as u64,
            sampled_by: self.perf.version.clone(),
            event: self.perf.event.to_owned(),
            frequency_hz,
            call_graph: self.call_graph.key().to_owned(),
            samples: folded.samples,
            lost_samples: folded.lost_samples,
            unresolved_samples: folded.unresolved_samples,
            file: file_of(&arm.name, &step.test),
            note: (!remarks.is_empty()).then(|| remarks.join("; ")),
        };
        let invalid = finished.invalid.or(result.invalid);
        Ok(Taken { profile, folded: folded.text, waits, cost, invalid })
    }

    /// The test alone, for the sampled time.
    pub fn job<'p>(&self, plan: &'p Plan, step: &'p StepDef) -> Job<'p> {
        let (min, max) = WARMUP_SECONDS;
        let warmup = (self.seconds * WARMUP_SHARE).clamp(min, max);
        let limit = Limit::Time(Duration::from_secs_f64(self.seconds));
        let warmup = Warmup::Time(Duration::from_secs_f64(warmup));
        let rows = plan.work.rows_total() as f64 * step.removed_share_max.unwrap_or(1.0);
        let removed_rows_max = step.shrinks.then_some(rows as u64);
        Job { removed_rows_max, ..Job::of(plan, step, PROFILE_DRAWS, limit, warmup) }
    }

    fn frequency_hz(&self, clients: u32, seconds: f64) -> Result<f64> {
        let busy = CpuSet::online()?.len().min((clients + BUSY_BESIDE_CLIENTS) as usize);
        Ok(self.frequency_hz.min(SAMPLES_MAX / (seconds * busy as f64)).max(1.0).round())
    }
}

struct OpenWindow {
    from: Moment,
    probe: WindowProbe,
    start: WindowStart,
    sampler: Option<WaitSampler>,
    sessions: Vec<u32>,
}

/// A closed window.
struct RecordedWindow {
    recording: Recording,
    stretch: (Moment, Moment),
    waits: Waits,
    cost: WindowCost,
}

/// Observes a step while it is sampled.
struct ProfileObserver<'a, 'b> {
    arm: &'a mut ActiveArm,
    control: &'a mut RunControl<'b>,
    recorder: Option<Recorder>,
    /// The session that samples what others wait for.
    monitor: Option<Box<dyn Admin>>,
    /// PID of the clients, if that is another process.
    client_pid: Option<u32>,
    open: Option<OpenWindow>,
    recorded: Option<RecordedWindow>,
    /// The first error of the observer itself: the step then has no profile.
    error: Option<Error>,
}

impl<'a, 'b> ProfileObserver<'a, 'b> {
    fn new(
        arm: &'a mut ActiveArm,
        control: &'a mut RunControl<'b>,
        recorder: Recorder,
        monitor: Box<dyn Admin>,
    ) -> Self {
        let (recorder, monitor) = (Some(recorder), Some(monitor));
        Self { arm, control, recorder, monitor, client_pid: None, open: None, recorded: None, error: None }
    }

    fn open_window(&mut self, sessions: &[u32]) -> Result<()> {
        let Some(mut monitor) = self.monitor.take() else {
            return Ok(());
        };
        let served_by = monitor.served_by(sessions)?;
        let Some(target) = self.arm.target(&mut *monitor)? else {
            return Ok(());
        };
        let mut probe = WindowProbe::new(target, served_by.clone(), self.arm.perf.clone());
        if let Some(pid) = self.client_pid {
            probe = probe.client(pid);
        }
        let start = probe.begin()?;
        let sampler = monitor.watch_waits(sessions)?;
        self.open = Some(OpenWindow { from: Moment::now(), probe, start, sampler, sessions: served_by });
        Ok(())
    }

    fn close_window(&mut self) -> Result<()> {
        let (Some(open), Some(recorder)) = (self.open.take(), self.recorder.take()) else {
            return Ok(());
        };
        let stretch = (open.from, Moment::now());
        let cost = open.probe.end(&open.start)?;
        let waits = open.sampler.map(WaitSampler::stop).transpose()?.unwrap_or_default();
        let recording = recorder.stop(&open.sessions, self.control.stop)?;
        self.recorded = Some(RecordedWindow { recording, stretch, waits, cost });
        Ok(())
    }

    fn keep_error(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }

    fn into_recorded(
        self,
        step: &str,
        outcome: std::result::Result<StepResult, rqps_driver::StepError>,
    ) -> Result<(StepResult, RecordedWindow)> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let (arm, step) = (self.arm.name.clone(), step.to_owned());
        match (outcome, self.recorded) {
            (Ok(result), Some(recorded)) => Ok((result, recorded)),
            (Err(rqps_driver::StepError::Cancelled), _) => Err(Error::Interrupted),
            (Err(source), _) => Err(Error::Step { arm, step, source }),
            (Ok(_), None) => Err(Error::NoSamples { arm, test: step }),
        }
    }
}

impl Observer for ProfileObserver<'_, '_> {
    fn client_process(&mut self, pid: u32) {
        self.client_pid = Some(pid);
    }

    fn window_opens(&mut self, sessions: &[u32]) {
        let opened = self.open_window(sessions);
        self.keep_error(opened);
    }

    fn window_closes(&mut self) {
        let closed = self.close_window();
        self.keep_error(closed);
    }

    fn statistics_complete(&mut self) {}

    fn progress(&mut self, phase: &'static str, elapsed_s: f64, _events: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.look();
        }
        self.control.progress.action_progress(phase, elapsed_s, None);
    }

    fn cancelled(&mut self) -> bool {
        self.control.stopped() || self.error.is_some()
    }

    fn end_statements(&mut self) {
        self.arm.instance.end_statements();
    }

    fn force(&mut self) {
        self.arm.instance.end_now();
    }
}
