//! A running arm: its server, how to reach it and its counters.

use crate::control::RunControl;
use crate::error::{Death, Error, Result, mentions_full_disk};
use crate::system::{ADMIN_NAME, Admin, Instance, System};
use rqps_builds::Build;
use rqps_model::{LeftOut, START_WARNING, ServerSetting, Setting};
use rqps_plan::Plan;
use rqps_probe::{PerfCounters, ServerTarget};
use rqps_servers::{Applied, Config, ServerSpec};
use rustix::fs::statvfs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long after the loss of a session a server's main process may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
const EXIT_POLL: Duration = Duration::from_millis(20);
const ASKING_FACTS: &str = "reading the server's version and settings";

/// Build, config and system of an arm, resolved once before the run begins.
#[derive(Clone)]
pub struct Ingredients {
    pub build: Build,
    /// Its other copies, which blocks run in turn with it.
    pub copies: Vec<Build>,
    pub config: Config,
    pub system: &'static dyn System,
}

impl Ingredients {
    /// Copy `number`, from 1, and its number: an arm without copies always runs the first.
    pub(crate) fn copy(&self, number: u32) -> (u32, &Build) {
        let other = number.checked_sub(2).and_then(|at| self.copies.get(at as usize));
        other.map_or((1, &self.build), |copy| (number, copy))
    }
}

/// Letters of a value that a warning about something else is not likely to contain: `OFF` says nothing.
const WORD_MIN: usize = 6;

/// What an arm's instance reports about itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstanceFacts {
    pub version_text: String,
    pub facts: Vec<Setting>,
    pub settings: Vec<ServerSetting>,
    pub changed_options: Vec<LeftOut>,
    /// In its log since it was started.
    pub warnings: Vec<String>,
}

/// An arm whose instance runs.
pub struct ActiveArm {
    /// Index in the plan's arms.
    pub(crate) index: usize,
    pub name: String,
    pub system: &'static dyn System,
    pub instance: Box<dyn Instance>,
    /// `None` if the instance has no process of its own.
    pub(crate) perf: Option<PerfCounters>,
    pub data_dir: PathBuf,
    /// Where its files are: the data directory, or what is measured.
    place: PathBuf,
    /// The plan's limit of its memory.
    memory_bytes_max: Option<u64>,
}

impl ActiveArm {
    /// Starts the instance on an existing data directory and attaches hardware counters before any client
    /// connects. Gives up when the user wants to stop.
    pub(crate) fn start(
        index: usize,
        name: &str,
        (system, spec): (&'static dyn System, &ServerSpec),
        control: &mut RunControl<'_>,
    ) -> Result<Self> {
        control.doing(&format!("starting {}", spec.build.label()));
        let instance = system.open(spec, control.stop).map_err(not_started(name, &spec.data_dir))?;
        Ok(Self::with_instance(index, name, (system, spec), instance, control))
    }

    /// As [`ActiveArm::start`], with an instance that has just started.
    pub(crate) fn with_instance(
        index: usize,
        name: &str,
        (system, spec): (&'static dyn System, &ServerSpec),
        instance: Box<dyn Instance>,
        control: &RunControl<'_>,
    ) -> Self {
        let perf = instance.pid().map(PerfCounters::attach);
        let data_dir = spec.data_dir.clone();
        let place = system.place(&spec.build).map_or_else(|| data_dir.clone(), Path::to_owned);
        let memory_bytes_max = spec.memory_bytes_max;
        let name = name.to_owned();
        let arm = Self { index, name, system, instance, perf, data_dir, place, memory_bytes_max };
        control.set_current(&arm);
        arm
    }

    /// Opens an admin session; `doing` names its purpose in errors.
    ///
    /// # Errors
    /// If the instance refuses the session.
    pub fn admin(&self, doing: &str) -> Result<Box<dyn Admin>> {
        self.instance.admin(ADMIN_NAME).map_err(Error::session(&self.name, doing))
    }

    /// The processes and threads that a probe measures; `None` if the instance has no process of its own.
    pub(crate) fn target(&self, admin: &mut dyn Admin) -> Result<Option<ServerTarget>> {
        let Some(pid) = self.instance.pid() else {
            return Ok(None);
        };
        Ok(Some(ServerTarget { pid, work_in: admin.work_in()? }))
    }

    /// See [`Admin::make_durable`].
    pub(crate) fn make_durable(&self) -> Result<()> {
        let doing = "making a step's changes durable";
        self.admin(doing)?.make_durable().map_err(Error::session(&self.name, doing))
    }

    /// The error of a step: an interruption if the user wants to stop, else as [`ActiveArm::diagnose`].
    pub(crate) fn failed(&mut self, step: &str, error: Error, control: &RunControl<'_>) -> Error {
        if control.stopped() { Error::Interrupted } else { self.diagnose(step, error) }
    }

    /// Replaces a step's error by its cause, if that is a full disk or a dead server.
    pub(crate) fn diagnose(&mut self, step: &str, error: Error) -> Error {
        let words = error.to_string();
        let was_paused = matches!(error, Error::ServerPaused { .. });
        if error.is_full_disk() && !error.lost_server() {
            return self.disk_full(step, words);
        }
        let how = match error.is_timeout() && self.instance.exit_text().is_none() {
            true => Some(("it hangs: it does not answer a login".to_owned(), false)),
            false => self.death(error.lost_server()),
        };
        let Some((how, server_lives)) = how else {
            return error.with_arm(&self.name, step);
        };
        let log = self.instance.telling_lines();
        // A server may also crash on a full disk without a word about it.
        if mentions_full_disk(&log) || is_full(&self.place) {
            return self.disk_full(step, log);
        }
        Error::ServerDied {
            arm: self.name.clone(),
            step: step.to_owned(),
            death: Box::new(Death {
                how,
                cause: words,
                log_path: self.instance.log_path().to_owned(),
                log,
                memory_bytes_max: self.memory_bytes_max,
                was_paused,
                server_lives,
            }),
        }
    }

    fn disk_full(&self, step: &str, words: String) -> Error {
        Error::DiskFull { arm: self.name.clone(), doing: step.to_owned(), place: self.place.clone(), words }
    }

    /// How the server died, and whether it lives and only lost a session; `None` if nothing happened to it. A lost
    /// session is a sign of death: either the whole server goes down, which may take a moment to show, or one process
    /// crashed and the server restarts all others, losing its statistics; or something outside ended that session
    /// alone, which ends the step as well.
    fn death(&mut self, lost_session: bool) -> Option<(String, bool)> {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        loop {
            if let Some(status) = self.instance.exit_text() {
                return Some((format!("its main process ended ({status})"), false));
            }
            if !lost_session {
                return None;
            }
            if Instant::now() >= deadline {
                let lives = !self.instance.tells_death();
                let how = match (lives, self.system.session_is_a_process()) {
                    (true, _) => "ended from outside, or dropped by its server, which lives",
                    (false, true) => "one of its processes crashed, or was ended from outside",
                    (false, false) => "it dropped a session while its process went on",
                };
                return Some((how.to_owned(), lives));
            }
            std::thread::sleep(EXIT_POLL);
        }
    }

    /// Asks the instance about itself, and notes which options it took with another value.
    pub(crate) fn facts(&mut self, control: &mut RunControl<'_>) -> Result<InstanceFacts> {
        let facts = self.read_facts().map_err(|error| self.diagnose(ASKING_FACTS, error))?;
        for LeftOut { option, value, taken, .. } in &facts.changed_options {
            let taken = taken.as_deref().unwrap_or_default();
            let text = format!("arm {}: adjusted by the engine: {option} from {value} to {taken}", self.name);
            control.progress.note(&text);
        }
        Ok(facts)
    }

    pub(crate) fn read_facts(&self) -> Result<InstanceFacts> {
        let mut admin = self.admin(ASKING_FACTS)?;
        let version_text = admin.version_text().map_err(Error::session(&self.name, ASKING_FACTS))?;
        let (facts, settings) = (admin.build_facts()?, admin.settings()?);
        let facts = facts.into_iter().map(|(name, value)| Setting { name, value }).collect();
        Ok(InstanceFacts {
            version_text,
            facts,
            settings,
            changed_options: self.instance.changed_options(),
            warnings: self.instance.warnings(),
        })
    }
}

/// Free bytes below which a disk counts as full if a server died or reports that it waits for space.
const FULL_BELOW_BYTES: u64 = 4 << 20;

/// Whether the disk of a directory is full.
pub(crate) fn is_full(place: &Path) -> bool {
    statvfs(place).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < FULL_BELOW_BYTES)
}

/// Adds the arm to an error of creating, copying, starting or stopping its server.
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

/// The arms' entries in the run folder before their first start.
pub(crate) fn recorded(plan: &Plan, ingredients: &[Ingredients]) -> Vec<rqps_store::Arm> {
    let arms = plan.arms.iter().zip(ingredients);
    arms.map(|(arm, ingredients)| record(arm, arm.name == plan.base, ingredients, None, None)).collect()
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
    let InstanceFacts { version_text, facts, settings, changed_options, warnings } =
        facts.unwrap_or_default();
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
        left_out: left_out.iter().cloned().chain(changed_options).collect(),
        managed: managed
            .iter()
            .map(|(name, value)| Setting { name: name.clone(), value: value.clone() })
            .collect(),
        control: arm.control,
        env: arm.env.clone(),
        after_load: arm.after_load.clone(),
        facts: facts
            .into_iter()
            .chain(family)
            .chain(warnings_about(ingredients, managed, warnings))
            .collect(),
        settings,
    }
}

/// Whether a text has a name as a word, not as a part of one: `users` does not name `user`.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

/// Those warnings that are about an option of the config: others are about the host, or about what rqps sets
/// (`managed`).
fn warnings_about(
    Ingredients { config, system, .. }: &Ingredients,
    managed: &[(String, String)],
    warnings: Vec<String>,
) -> impl Iterator<Item = Setting> {
    let is_managed = |option: &String| managed.iter().any(|(name, _)| name == option);
    let is_about = |warning: &String| {
        let behind = system.options_behind(warning);
        let normalized = warning.to_ascii_lowercase().replace("--", " ").replace('-', "_");
        config.options.iter().filter(|(option, _)| !is_managed(option)).any(|(option, value)| {
            let is_word =
                value.len() >= WORD_MIN && value.chars().all(|c| c.is_ascii_alphabetic() || "_.".contains(c));
            // Some name it in words: `sql modes`.
            let in_words = option.contains('_') && normalized.contains(&option.replace('_', " "));
            let is_named = names(&normalized, option) || in_words || behind.contains(&option.as_str());
            is_named || is_word && warning.contains(value.as_str())
        })
    };
    let about: Vec<String> = warnings.into_iter().filter(is_about).collect();
    about.into_iter().map(|warning| Setting { name: START_WARNING.to_owned(), value: warning })
}
