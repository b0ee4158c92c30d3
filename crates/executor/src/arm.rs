//! An arm at work: its server, and what is needed to talk to it and to watch it.

use crate::control::RunControl;
use crate::error::{Death, Error, Result, tells_of_full_disk};
use crate::system::{ADMIN_NAME, Admin, Instance, System};
use rqps_builds::Build;
use rqps_model::{ServerSetting, Setting};
use rqps_probe::{PerfCounters, ServerTarget};
use rqps_servers::{Applied, Config, ServerSpec};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long it may take until the end of a server's main process shows, after its sessions have ended.
const DEATH_NOTICE: Duration = Duration::from_secs(2);
/// How often that is looked at.
const DEATH_POLL: Duration = Duration::from_millis(20);
const ASKING_FACTS: &str = "asking the server what it is";

/// What an arm is made of, resolved once before the run begins.
#[derive(Clone)]
pub struct Ingredients {
    pub build: Build,
    pub config: Config,
    pub system: &'static dyn System,
}

/// What an arm's instance says of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstanceFacts {
    pub version_text: String,
    pub facts: Vec<Setting>,
    pub settings: Vec<ServerSetting>,
}

/// An arm at work.
pub struct ActiveArm {
    pub(crate) index: usize,
    pub name: String,
    pub system: &'static dyn System,
    pub instance: Box<dyn Instance>,
    /// None where nothing is charged to the instance.
    pub(crate) perf: Option<PerfCounters>,
    pub data_dir: PathBuf,
}

impl ActiveArm {
    /// Starts the instance on a data directory that is ready, and attaches the counters before any client comes. Given
    /// up when the user wants to stop.
    pub(crate) fn start(
        index: usize,
        name: &str,
        (system, spec): (&'static dyn System, &ServerSpec),
        control: &RunControl<'_>,
    ) -> Result<Self> {
        let instance = system.open(spec, control.stop).map_err(not_started(name, &spec.data_dir))?;
        Ok(Self::with_instance(index, name, (system, spec), instance, control))
    }

    /// The same with an instance that has just started.
    pub(crate) fn with_instance(
        index: usize,
        name: &str,
        (system, spec): (&'static dyn System, &ServerSpec),
        instance: Box<dyn Instance>,
        control: &RunControl<'_>,
    ) -> Self {
        let perf = instance.pid().map(PerfCounters::attach);
        let data_dir = spec.data_dir.clone();
        let arm = Self { index, name: name.to_owned(), system, instance, perf, data_dir };
        control.serve(&arm);
        arm
    }

    /// A session for administration; `doing` says what for.
    ///
    /// # Errors
    /// When the instance gives none.
    pub fn admin(&self, doing: &str) -> Result<Box<dyn Admin>> {
        self.instance.admin(ADMIN_NAME).map_err(Error::session(&self.name, doing))
    }

    /// What a probe is to watch, at this moment; none where nothing is charged to the instance.
    pub(crate) fn target(&self, admin: &mut dyn Admin) -> Result<Option<ServerTarget>> {
        let Some(pid) = self.instance.pid() else {
            return Ok(None);
        };
        Ok(Some(ServerTarget { pid, work_in: admin.work_in()? }))
    }

    /// Has what finished work changed written to where it is found after a crash.
    pub(crate) fn make_durable(&self) -> Result<()> {
        let doing = "making a step's changes durable";
        self.admin(doing)?.make_durable().map_err(Error::session(&self.name, doing))
    }

    /// What a failure in a step amounts to: a full disk, a dead server, or just what it says.
    pub(crate) fn judge(&mut self, step: &str, failure: Error) -> Error {
        let words = failure.to_string();
        if failure.is_full_disk() && !failure.lost_server() {
            return self.disk_full(step, words);
        }
        let how = match failure.is_silence() && self.instance.exit_text().is_none() {
            true => Some("it hangs: it does not answer a login".to_owned()),
            false => self.death(failure.lost_server()),
        };
        let Some(how) = how else {
            return failure.about(&self.name, step);
        };
        let log = self.instance.telling_lines();
        if tells_of_full_disk(&log) {
            return self.disk_full(step, log);
        }
        Error::ServerDied {
            arm: self.name.clone(),
            step: step.to_owned(),
            death: Box::new(Death { how, cause: words, log_path: self.instance.log_path().to_owned(), log }),
        }
    }

    fn disk_full(&self, step: &str, words: String) -> Error {
        Error::DiskFull {
            arm: self.name.clone(),
            doing: step.to_owned(),
            place: self.data_dir.clone(),
            words,
        }
    }

    /// How the server died, if it did. A lost session is a sign of it: either all goes down, which may take a moment to
    /// be seen, or a process crashed and the server ends all others before it goes on, with its statistics gone.
    fn death(&mut self, lost_session: bool) -> Option<String> {
        let deadline = Instant::now() + DEATH_NOTICE;
        loop {
            if let Some(status) = self.instance.exit_text() {
                return Some(format!("its main process ended ({status})"));
            }
            if !lost_session {
                return None;
            }
            if Instant::now() >= deadline {
                return Some(self.lost_session().to_owned());
            }
            std::thread::sleep(DEATH_POLL);
        }
    }

    /// What it means that a session is lost while the main process goes on.
    fn lost_session(&self) -> &'static str {
        match self.system.session_is_a_process() {
            true => "one of its processes crashed, or was ended from outside",
            false => "it dropped a session while its process went on",
        }
    }

    /// What the instance says of itself.
    pub(crate) fn facts(&mut self) -> Result<InstanceFacts> {
        self.asked_facts().map_err(|failure| self.judge(ASKING_FACTS, failure))
    }

    fn asked_facts(&self) -> Result<InstanceFacts> {
        let mut admin = self.admin(ASKING_FACTS)?;
        let version_text = admin.version_text().map_err(Error::session(&self.name, ASKING_FACTS))?;
        let (facts, settings) = (admin.build_facts()?, admin.settings()?);
        let facts = facts.into_iter().map(|(name, value)| Setting { name, value }).collect();
        Ok(InstanceFacts { version_text, facts, settings })
    }
}

/// Wraps what kept a server from being made or started with whose it was.
pub(crate) fn not_started(arm: &str, data_dir: &Path) -> impl FnOnce(rqps_servers::Error) -> Error {
    move |source| {
        if matches!(source, rqps_servers::Error::Interrupted { .. }) {
            return Error::Interrupted;
        }
        let words = source.to_string();
        let error = Error::NotStarted { arm: arm.to_owned(), source: Box::new(source) };
        if !error.is_full_disk() {
            return error;
        }
        Error::DiskFull {
            arm: arm.to_owned(),
            doing: "starting its server".to_owned(),
            place: data_dir.to_owned(),
            words,
        }
    }
}

/// The arm's entry in the run folder.
pub(crate) fn record(
    arm: &rqps_plan::Arm,
    is_base: bool,
    ingredients: &Ingredients,
    applied: Option<&Applied>,
    facts: Option<InstanceFacts>,
) -> rqps_store::Arm {
    let is_known = facts.is_some();
    let InstanceFacts { version_text, facts, settings } = facts.unwrap_or_default();
    let Ingredients { build, config, .. } = ingredients;
    let fact = |(name, value): (&str, &str)| Setting { name: name.to_owned(), value: value.to_owned() };
    let family = build.family.facts().map(fact);
    let left_out = applied.map_or(&[][..], |applied| &applied.left_out);
    let managed = applied.map_or(&[][..], |applied| &applied.added);
    let text = applied.map_or(&config.text, |applied| &applied.config_as_used);
    rqps_store::Arm {
        name: arm.name.clone(),
        role: if is_base { rqps_store::Role::Base } else { rqps_store::Role::Candidate },
        dbms: build.dbms.to_string(),
        build_version: build.version.clone(),
        build_hash: build.hash.clone(),
        build_origin: build.origin.clone(),
        build_version_text: if is_known { version_text } else { build.version_text.clone() },
        config_name: config.name.clone(),
        config_hash: config.hash.clone(),
        config_text: text.to_owned(),
        left_out: left_out.to_vec(),
        managed: managed
            .iter()
            .map(|(name, value)| Setting { name: name.clone(), value: value.clone() })
            .collect(),
        control: arm.control,
        env: arm.env.clone(),
        after_load: arm.after_load.clone(),
        facts: facts.into_iter().chain(family).collect(),
        settings,
    }
}
