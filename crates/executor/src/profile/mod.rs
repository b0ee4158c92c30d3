//! CPU profiles: after everything is measured, each arm is loaded again, and each test runs once more for a
//! few seconds while `perf` samples the server. Nothing of this is a result of the run, and no measured
//! window is affected. Tests that build on each other are profiled in a sequence of all steps of the plan.
//!
//! `choose` selects tests and arms, `take` profiles one test.

mod choose;
mod take;

use crate::arm::{ActiveArm, not_started};
use crate::control::RunControl;
use crate::driver::Job;
use crate::error::{Error, Result};
use crate::isolated::{WARM_ROWS_MAX, with_config_of_blocks};
use crate::measure::measure;
use crate::progress::{TimeLeft, progress_of};
use crate::setup::Setup;
use crate::spec::{server_spec, session_cpus};
use crate::work::{Task, load, settle, vacuum};
use rqps_builds::CpuSet;
use rqps_model::counted;
use rqps_plan::{ActionKind, LoadDef, Plan, ProfileAfter, Protocol, StepDef, schedule};
use rqps_probe::profile::{CallGraph, Perf};
use rqps_servers::ServerSpec;
use rqps_store::{ActionRecord, Outcome, PROFILE_KIND, Run, RunWriter, Until, now_ms};
use std::time::Instant;
use take::Sampling;

/// Names of the data directories. No arm's name begins with an underscore.
const ACTIVE: &str = "_profile";
const LOADED: &str = "_profile-loaded";

/// Which CPU profiles to take.
#[derive(Debug, Clone)]
pub struct ProfileRequest {
    pub tests: ProfiledTests,
    /// Names of arms; if empty, all but the control.
    pub arms: Vec<String>,
    /// Sampled seconds of each test.
    pub seconds: f64,
    /// Samples per second of CPU time; lowered if a profile would get too many samples.
    pub frequency_hz: f64,
}

/// Which tests to profile.
#[derive(Debug, Clone)]
pub enum ProfiledTests {
    /// Tests that are better or worse on some arm.
    Changed,
    /// All tests of the plan.
    All,
    Named(Vec<String>),
}

impl ProfileRequest {
    /// The profiles that a plan asks for at its end, if any.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let tests = match plan.profile.after {
            ProfileAfter::Never => return None,
            ProfileAfter::Changed => ProfiledTests::Changed,
            ProfileAfter::All => ProfiledTests::All,
        };
        let (seconds, frequency_hz) = (plan.profile.seconds, plan.profile.frequency_hz);
        Some(Self { tests, arms: Vec::new(), seconds, frequency_hz })
    }
}

/// Takes the profiles of a run.
pub(crate) struct Profiles<'a> {
    pub setup: &'a Setup,
    pub writer: &'a mut RunWriter,
    /// Action numbers below this one belong to the schedule.
    pub first_seq: u32,
}

impl Profiles<'_> {
    /// Takes the profiles, replacing earlier ones of the same tests and arms. Returns their number.
    pub fn run(&mut self, request: &ProfileRequest, control: &mut RunControl<'_>) -> Result<usize> {
        let perf = Perf::find()?;
        let run = self.writer.run()?;
        let tests = choose::tests(&run, &self.setup.plan, &request.tests)?;
        let arms = choose::arms(&self.setup.plan, &request.arms)?;
        let all = tests.len() * arms.len();
        if all > 0 {
            let length = self.setup.plan.profile_length(request.seconds);
            control.progress.stage(&format!(
                "profiling {} on {}, {length}, with {}",
                counted(tests.len(), "test"),
                counted(arms.len(), "arm"),
                perf.version
            ));
        }
        let mut taken = 0;
        let start = Instant::now();
        for arm in arms.iter().filter(|_| all > 0) {
            let mut report = |control: &mut RunControl<'_>| {
                let share = taken as f64 / all as f64;
                let seconds = start.elapsed().as_secs_f64() * (1.0 / share - 1.0);
                let left = TimeLeft { seconds, until: Until::End };
                control.progress.overall(progress_of(share, ((taken > 0).then_some(left), share)));
                taken += 1;
            };
            let (what, how) = ((*arm, &*tests), (&perf, request));
            let outcome = match self.setup.plan.work.has_independent_tests() {
                true => self.profile_arm(what, how, &mut report, control),
                false => self.profile_sequence(what, how, &mut report, control),
            };
            let removed = self.remove_data();
            outcome.map_err(|error| if control.stopped() { Error::Interrupted } else { error })?;
            removed?;
        }
        Ok(taken)
    }

    /// Runs an arm's steps in the plan's order, up to the last of the tests, and profiles each where it comes first.
    fn profile_sequence(
        &mut self,
        (arm, tests): (usize, &[StepDef]),
        (perf, request): (&Perf, &ProfileRequest),
        report: &mut dyn FnMut(&mut RunControl<'_>),
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let (mut server, call_graph) = self.create(arm, control)?;
        let sampling = Sampling::new(perf, request, call_graph);
        let (run, mut missing) = (self.writer.run()?, tests.iter().collect::<Vec<&StepDef>>());
        let plan = &self.setup.plan;
        let actions = schedule(plan).actions.into_iter().filter(|one| one.arm == arm && one.pass == 1);
        for action in actions.collect::<Vec<_>>() {
            if missing.is_empty() {
                break;
            }
            control.check()?;
            let (setup, task) = (self.setup, Task { plan, driver: self.setup.driver, arm: &server });
            let done = match &action.kind {
                ActionKind::Measure(step) => {
                    let job = Job::of(&setup.plan, step, 1, step.limit.clone(), step.warmup);
                    match missing.iter().position(|test| test.name == step.test) {
                        Some(at) => {
                            report(control);
                            let seconds = seconds_of(&run, &server.name, step).max(request.seconds);
                            let test = missing.remove(at);
                            self.profile_test(&mut server, test, (&sampling, job, seconds), control)
                        }
                        None => {
                            control.progress.action_started(&[self.first_seq], &server.name, &step.name);
                            measure(&mut server, setup.driver, job, false, control).map(|_| ())
                        }
                    }
                }
                ActionKind::Settle(step) => {
                    settle(&task, (step.seconds_min, step.seconds_max), control).map(|_| ())
                }
                ActionKind::Load(LoadDef { test, .. }) => load(&task, test, control).map(|_| ()),
                ActionKind::Vacuum => vacuum(&task, control).map(|_| ()),
                ActionKind::Start | ActionKind::Stop => Ok(()),
            };
            done.map_err(|error| server.failed(action.kind.name(), error, control))?;
        }
        Ok(())
    }

    /// Loads an arm and profiles each test on it: all reads on one server, every writing test on fresh data.
    fn profile_arm(
        &mut self,
        (arm, tests): (usize, &[StepDef]),
        (perf, request): (&Perf, &ProfileRequest),
        report: &mut dyn FnMut(&mut RunControl<'_>),
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let call_graph = self.load(arm, control)?;
        let sampling = Sampling::new(perf, request, call_graph);
        let mut server: Option<ActiveArm> = None;
        let (writes, reads): (Vec<&StepDef>, Vec<&StepDef>) = tests.iter().partition(|test| test.writes);
        for test in reads.into_iter().chain(writes) {
            report(control);
            let mut ready = match server.take().filter(|_| !test.writes) {
                Some(ready) => ready,
                None => self.start(arm, control)?,
            };
            let job = sampling.job(&self.setup.plan, test);
            self.profile_test(&mut ready, test, (&sampling, job, request.seconds), control)?;
            server = Some(ready);
        }
        Ok(())
    }

    /// Profiles a test and journals it.
    fn profile_test(
        &mut self,
        arm: &mut ActiveArm,
        test: &StepDef,
        (sampling, job, seconds): (&Sampling<'_>, Job<'_>, f64),
        control: &mut RunControl<'_>,
    ) -> Result<()> {
        let action = format!("profile {}", test.name);
        let seq = self.seq_of(&arm.name, &test.name)?;
        control.progress.action_started(&[seq], &arm.name, &action);
        let attempt = self.writer.begin_action(seq)?;
        let started_at_ms = now_ms();
        let dir = self.setup.place.counts_dir()?;
        let taken = sampling.take((self.setup, job, seconds), arm, &dir, control);
        self.setup.place.remove_counts()?;
        let mut taken = taken.map_err(|error| arm.failed(&action, error, control))?;
        if self.setup.plan.protocol == Protocol::Sequence && self.setup.plan.work.has_independent_tests() {
            let note = "on data just loaded: what the steps before it left in the sequence is not in it";
            taken.add_note(note);
        }
        self.write_stacks(&taken.profile.file, &taken.folded)?;
        let summary = taken.summary();
        let (invalid, observation) = taken.into_observation();
        let record = ActionRecord {
            seq,
            arm: arm.name.clone(),
            kind: PROFILE_KIND.to_owned(),
            step: test.name.to_owned(),
            attempt,
            started_at_ms,
            finished_at_ms: now_ms(),
            outcome: if invalid.is_some() { Outcome::Invalid } else { Outcome::Done },
            note: invalid,
        };
        self.writer.finish_action(&record, Some(&observation))?;
        control.progress.action_finished(seq, &arm.name, &action, &summary);
        Ok(())
    }

    /// The action number of an earlier profile of this test on this arm, else a free one.
    fn seq_of(&self, arm: &str, test: &str) -> Result<u32> {
        let run = self.writer.run()?;
        let earlier = run.profiles.iter().find(|p| p.action.arm == arm && p.result.test == test);
        Ok(match earlier {
            Some(profile) => profile.action.seq,
            None => self.writer.next_seq()?.max(self.first_seq),
        })
    }

    /// Writes the stacks atomically.
    fn write_stacks(&self, file: &str, folded: &str) -> Result<()> {
        let path = self.writer.folder().path().join(file);
        let partial = path.with_extension("partial");
        let dir = path.parent().unwrap_or(&path);
        let written = std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&partial, folded))
            .and_then(|()| std::fs::rename(&partial, &path));
        written.map_err(|source| Error::File { action: "write", path, source })
    }

    /// Starts an arm on a new data directory. Returns how stacks of its build are unwound, too.
    fn create(&mut self, index: usize, control: &mut RunControl<'_>) -> Result<(ActiveArm, CallGraph)> {
        let name = &self.setup.plan.arms[index].name;
        let spec = self.spec(index);
        self.remove_data()?;
        let system = self.setup.ingredients[index].system;
        control.doing("creating a data directory");
        system.create(&spec, control.stop).map_err(not_started(name, &spec.data_dir))?;
        self.setup.place.write_owner()?;
        let mut active = ActiveArm::start(index, name, (system, &spec), control)?;
        let facts = active.facts(control)?.facts;
        let reported = facts.into_iter().find(|fact| fact.name == "cflags").map(|fact| fact.value);
        let flags = reported.unwrap_or_else(|| spec.build.family.flags.clone());
        Ok((active, CallGraph::of_build(&flags, !system.session_is_a_process())))
    }

    /// Loads an arm's data and copies them to `LOADED`. Returns how stacks of its build are unwound.
    fn load(&mut self, index: usize, control: &mut RunControl<'_>) -> Result<CallGraph> {
        let name = &self.setup.plan.arms[index].name;
        control.progress.action_started(&[self.first_seq], name, "loading for profiles");
        let (active, call_graph) = self.create(index, control)?;
        let (spec, system) = (self.spec(index), self.setup.ingredients[index].system);
        let task = Task { plan: &self.setup.plan, driver: self.setup.driver, arm: &active };
        load(&task, &self.setup.plan.first_test(), control)?;
        settle(&task, (0, self.setup.plan.workload.settle_seconds_max), control)?;
        active.instance.stop(control.stop).map_err(not_started(name, &spec.data_dir))?;
        let to = self.setup.place.data_dir(LOADED);
        system.copy_data(&spec.data_dir, &to, control.stop).map_err(not_started(name, &to))?;
        Ok(call_graph)
    }

    /// Starts an arm's server on a copy of the loaded data.
    fn start(&self, index: usize, control: &mut RunControl<'_>) -> Result<ActiveArm> {
        let name = &self.setup.plan.arms[index].name;
        let mut spec = self.spec(index);
        let system = self.setup.ingredients[index].system;
        let loaded = self.setup.place.data_dir(LOADED);
        system.copy_data(&loaded, &spec.data_dir, control.stop).map_err(not_started(name, &spec.data_dir))?;
        if self.setup.plan.protocol == Protocol::Isolated {
            let online = CpuSet::online()?;
            let sessions = session_cpus(&online, self.setup.plan.workload.clients, 0);
            spec.cpus = sessions.and_then(|cpus| online.without(&cpus));
            spec = with_config_of_blocks(system, spec);
        }
        let active = ActiveArm::start(index, name, (system, &spec), control)?;
        self.setup.driver.warm(&self.setup.plan, &active, WARM_ROWS_MAX)?;
        Ok(active)
    }

    fn spec(&self, index: usize) -> ServerSpec {
        let data_dir = self.setup.place.data_dir(ACTIVE);
        server_spec(&self.setup.plan, index, &self.setup.ingredients[index], data_dir, self.writer.folder())
    }

    fn remove_data(&self) -> Result<()> {
        self.setup.place.remove_arm(ACTIVE)?;
        self.setup.place.remove_arm(LOADED)
    }
}

/// How long the longest window of an arm's step was; 0 if it has none.
fn seconds_of(run: &Run, arm: &str, step: &StepDef) -> f64 {
    let windows = run.windows.iter().filter(|one| one.action.arm == arm && one.action.step == step.name);
    windows.map(|window| window.result.elapsed_s()).fold(0.0, f64::max)
}

/// Path of a profile's stacks in the run folder.
fn file_of(arm: &str, test: &str) -> String {
    format!("profiles/{arm}.{test}.folded")
}
