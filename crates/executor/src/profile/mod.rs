//! The pass of CPU profiles: when everything is measured, each arm is loaded anew, and each test runs once more for a
//! few seconds while `perf` samples the server. Nothing of it is a result of the run, and no measured window pays for
//! it.
//!
//! `choose` says which tests, `take` samples one of them.

mod choose;
mod take;

use crate::arm::{ActiveArm, Ingredients, not_started};
use crate::error::{Error, Result};
use crate::isolated::{WARM_ROWS_MAX, undisturbed, warm};
use crate::outside::Outside;
use crate::place::Place;
use crate::seat::{server_spec, session_cpus};
use crate::work::{Task, load, settle};
use rqps_builds::CpuSet;
use rqps_plan::{Plan, ProfileAfter, Protocol, StepDef};
use rqps_probe::profile::{CallGraph, Perf};
use rqps_servers::{Server, ServerSpec, restore, snapshot};
use rqps_store::{ActionRecord, Outcome, PROFILE_KIND, RunFolder, RunWriter, counted, now_ms};
use std::path::PathBuf;
use std::time::Instant;
use take::Sampling;

/// Names of the data directories; no arm has one that begins so.
const AT_WORK: &str = "_profile";
const LOADED: &str = "_profile-loaded";

/// Which CPU profiles are wanted.
#[derive(Debug, Clone)]
pub struct ProfileRequest {
    pub tests: ProfiledTests,
    /// On which arms; all but the control where it is empty.
    pub arms: Vec<String>,
    /// Seconds that each test is sampled.
    pub seconds: f64,
    /// Samples per second of CPU time; fewer are taken where they would be too many in all.
    pub frequency_hz: f64,
}

/// Of which tests CPU profiles are wanted.
#[derive(Debug, Clone)]
pub enum ProfiledTests {
    /// Those that got better or worse on some arm.
    Changed,
    /// All that the run measured.
    All,
    Named(Vec<String>),
}

impl ProfileRequest {
    /// What a plan wants at its end; none where it wants none.
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

/// What the pass works with.
pub(crate) struct Profiles<'a> {
    pub plan: &'a Plan,
    pub ingredients: &'a [Ingredients],
    pub place: &'a Place,
    pub writer: &'a mut RunWriter,
    /// Numbers below it belong to the schedule, whether its actions are done or not.
    pub first_seq: u32,
}

impl Profiles<'_> {
    /// Takes the profiles; returns how many. Those that are there from before are replaced.
    pub fn run(&mut self, wanted: &ProfileRequest, outside: &mut Outside<'_>) -> Result<usize> {
        let perf = Perf::find()?;
        let run = RunFolder::open(self.writer.folder().path())?;
        let tests = choose::tests(&run, self.plan, &wanted.tests)?;
        let arms = choose::arms(self.plan, &wanted.arms)?;
        let all = tests.len() * arms.len();
        if all > 0 {
            outside.watcher.says(&format!(
                "profiling {} on {}, {} s each, with {}",
                counted(tests.len(), "test"),
                counted(arms.len(), "arm"),
                wanted.seconds,
                perf.version
            ));
        }
        let mut taken = 0;
        let start = Instant::now();
        for arm in arms.iter().filter(|_| all > 0) {
            let mut report = |outside: &mut Outside<'_>| {
                let share = taken as f64 / all as f64;
                let left = start.elapsed().as_secs_f64() * (1.0 / share - 1.0);
                outside.watcher.stands(share, (taken > 0).then_some(left));
                taken += 1;
            };
            let outcome = self.of_arm((*arm, &tests), (&perf, wanted), &mut report, outside);
            let removed = self.remove_data();
            outcome.map_err(|error| if outside.stopped() { Error::Interrupted } else { error })?;
            removed?;
        }
        Ok(taken)
    }

    /// Loads an arm and samples each test on it: reads on one server, every test that writes on fresh data.
    fn of_arm(
        &mut self,
        (arm, tests): (usize, &[StepDef]),
        (perf, wanted): (&Perf, &ProfileRequest),
        report: &mut dyn FnMut(&mut Outside<'_>),
        outside: &mut Outside<'_>,
    ) -> Result<()> {
        let call_graph = self.load(arm, outside)?;
        let sampling = Sampling::new(perf, wanted, call_graph);
        let mut server: Option<ActiveArm> = None;
        let (writes, reads): (Vec<&StepDef>, Vec<&StepDef>) = tests.iter().partition(|test| test.writes);
        for test in reads.into_iter().chain(writes) {
            report(outside);
            let mut ready = match server.take().filter(|_| !test.writes) {
                Some(ready) => ready,
                None => self.start(arm, outside)?,
            };
            self.keep_one(&mut ready, test, &sampling, outside)?;
            server = Some(ready);
        }
        Ok(())
    }

    /// Samples a test, and journals it.
    fn keep_one(
        &mut self,
        arm: &mut ActiveArm,
        test: &StepDef,
        sampling: &Sampling<'_>,
        outside: &mut Outside<'_>,
    ) -> Result<()> {
        let action = format!("profile {}", test.name);
        let seq = self.seq_of(&arm.name, &test.name)?;
        outside.watcher.begins(seq, &arm.name, &action);
        let attempt = self.writer.begin_action(seq)?;
        let started_at_ms = now_ms();
        let dir = self.place.counts_dir()?;
        let taken = sampling.take((self.plan, test), arm, &dir, outside);
        self.place.remove_counts()?;
        let mut taken = taken.map_err(|failure| {
            if outside.stopped() { Error::Interrupted } else { arm.judge(&action, failure) }
        })?;
        if self.plan.protocol == Protocol::Sequence {
            let note = "on data just loaded: what the steps before it left in the sequence is not in it";
            taken.add_note(note);
        }
        self.keep_stacks(&taken.profile.file, &taken.folded)?;
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
        outside.watcher.ends(seq, &arm.name, &action, &summary);
        Ok(())
    }

    /// The number under which this profile was journaled before, else one that is free.
    fn seq_of(&self, arm: &str, test: &str) -> Result<u32> {
        let run = RunFolder::open(self.writer.folder().path())?;
        let before = run.profiles.iter().find(|p| p.action.arm == arm && p.result.test == test);
        Ok(match before {
            Some(profile) => profile.action.seq,
            None => self.writer.next_seq()?.max(self.first_seq),
        })
    }

    /// Writes the stacks so that they are there as a whole or not at all.
    fn keep_stacks(&self, file: &str, folded: &str) -> Result<()> {
        let path = self.writer.folder().path().join(file);
        let partial = path.with_extension("partial");
        let dir = path.parent().unwrap_or(&path);
        let written = std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&partial, folded))
            .and_then(|()| std::fs::rename(&partial, &path));
        written.map_err(|source| Error::File { action: "write", path, source })
    }

    /// Makes an arm's data and keeps them aside. Returns the flags that its build was compiled with.
    fn load(&mut self, index: usize, outside: &mut Outside<'_>) -> Result<CallGraph> {
        let name = &self.plan.arms[index].name;
        let spec = self.spec(index, AT_WORK);
        outside.watcher.begins(self.first_seq, name, "loading for profiles");
        self.remove_data()?;
        Server::init_unless(&spec, outside.stop).map_err(not_started(name, &spec.data_dir))?;
        self.place.sign()?;
        let active = ActiveArm::start(index, name, &spec, outside)?;
        let task = Task { plan: self.plan, arm: &active };
        load(&task, outside)?;
        settle(&task, (0, self.plan.workload.settle_seconds_max), outside)?;
        let facts = active.says()?.facts;
        let has_threads = !active.adapter.session_is_a_process();
        active.server.stop_unless(outside.stop).map_err(not_started(name, &spec.data_dir))?;
        let to = self.place.data_dir(LOADED);
        snapshot(&spec.data_dir, &to, outside.stop).map_err(not_started(name, &to))?;
        let told = facts.into_iter().find(|fact| fact.name == "cflags").map(|fact| fact.value);
        let flags = told.unwrap_or_else(|| spec.build.family.flags.clone());
        Ok(CallGraph::of_build(&flags, has_threads))
    }

    /// Starts an arm's server on the data as loaded.
    fn start(&self, index: usize, outside: &Outside<'_>) -> Result<ActiveArm> {
        let name = &self.plan.arms[index].name;
        let mut spec = self.spec(index, AT_WORK);
        let loaded = self.place.data_dir(LOADED);
        restore(&loaded, &spec.data_dir, outside.stop).map_err(not_started(name, &spec.data_dir))?;
        if self.plan.protocol == Protocol::Isolated {
            let online = CpuSet::online()?;
            let sessions = session_cpus(&online, self.plan.workload.clients, 0);
            spec.cpus = sessions.and_then(|cpus| online.without(&cpus));
            spec = undisturbed(spec)?;
        }
        let active = ActiveArm::start(index, name, &spec, outside)?;
        warm(&active, self.plan, WARM_ROWS_MAX)?;
        Ok(active)
    }

    fn spec(&self, index: usize, data: &str) -> ServerSpec {
        let data_dir = self.place.data_dir(data);
        server_spec(self.plan, index, &self.ingredients[index], data_dir, self.writer.folder())
    }

    fn remove_data(&self) -> Result<()> {
        self.place.remove_arm(AT_WORK)?;
        self.place.remove_arm(LOADED)
    }
}

/// The file of a profile, from the run folder.
fn file_of(arm: &str, test: &str) -> String {
    PathBuf::from("profiles").join(format!("{arm}.{test}.folded")).to_string_lossy().into_owned()
}
