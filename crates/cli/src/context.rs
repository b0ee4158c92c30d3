//! Shared by all verbs: folders, output format, interruption.

use crate::args::{Cli, Verb};
use crate::{EXIT_INTERRUPTED, Usage, out};
use anyhow::Context as _;
use rqps_builds::Dirs;
use rqps_fleet::Fleet;
use rqps_model::{did_you_mean, nearest};
use rqps_report::{Format, Screen};
use rqps_store::{RunFolder, RunSummary};
use std::convert::Infallible;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Names the newest run.
pub const LAST: &str = "last";

/// Signals that stop a run with cleanup; a second one ends rqps and its servers immediately.
const STOP_SIGNALS: [i32; 3] =
    [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];

/// How soon a signal ends what needs no cleanup.
const POLL: Duration = Duration::from_millis(100);

pub struct Context {
    pub results: PathBuf,
    /// Directories of builds and data.
    pub dirs: Dirs,
    pub format: Format,
    /// Whether the command line names the format.
    pub names_format: bool,
    pub color: bool,
    /// Columns of standard output; `None` if neither a terminal nor `COLUMNS` tells.
    pub width: Option<usize>,
    /// Set on interruption.
    pub stop: Arc<AtomicBool>,
    /// Whether a signal ends the program immediately: if no cleanup is needed, or on the second signal.
    exit_immediately: Arc<AtomicBool>,
}

impl Context {
    /// From the arguments and the environment.
    pub fn new(cli: &Cli) -> anyhow::Result<Self> {
        let default = if matches!(cli.verb, Verb::Report(_)) { Format::Markdown } else { Format::Text };
        let format = cli.format.unwrap_or(default);
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = cli.color.unwrap_or_else(|| !no_color && std::io::stdout().is_terminal());
        let (stop, exit_immediately) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        register_signals(&stop, &exit_immediately)?;
        Ok(Self {
            results: cli.results.clone(),
            dirs: Dirs::from_env(),
            format,
            names_format: cli.format.is_some(),
            color: color && format == Format::Text,
            width: out::columns_of_stdout(),
            stop,
            exit_immediately,
        })
    }

    /// Where text is shown.
    pub fn screen(&self) -> Screen {
        Screen {
            color: self.color,
            width: self.width,
            warn: Some(|warning| out::message(&format!("warning: {warning}"))),
        }
    }

    /// Makes signals set `stop` instead of ending the program, for work that needs cleanup.
    pub fn catch_signals(&self) {
        self.exit_immediately.store(self.stop.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Whether signals set `stop`.
    pub fn catches_signals(&self) -> bool {
        !self.exit_immediately.load(Ordering::Relaxed)
    }

    /// Makes signals end the program again.
    pub fn release_signals(&self) {
        self.exit_immediately.store(true, Ordering::Relaxed);
    }

    /// Does what needs no cleanup and cannot be stopped midway, before a run begins: a signal ends the program, which
    /// says so.
    pub fn before_a_run<T>(&self, work: impl FnOnce() -> T) -> T {
        self.ending_at_once(&AtomicBool::new(true), "before the run began: run the same command again", work)
    }

    /// Does work during which a signal ends the program while `at_once` is set, and says when and how to go on. Else it
    /// sets `stop`.
    pub fn ending_at_once<T>(&self, at_once: &AtomicBool, when: &str, work: impl FnOnce() -> T) -> T {
        let caught = self.catches_signals();
        self.catch_signals();
        let result = std::thread::scope(|scope| {
            let (working, ended) = mpsc::channel::<Infallible>();
            scope.spawn(move || {
                while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                    if self.stop.load(Ordering::Relaxed) && at_once.load(Ordering::Relaxed) {
                        out::message(&format!("\nrqps: interrupted {when}"));
                        std::process::exit(i32::from(EXIT_INTERRUPTED));
                    }
                }
            });
            let result = work();
            drop(working);
            result
        });
        if !caught {
            self.release_signals();
        }
        result
    }

    /// The results directory, made if it does not exist.
    pub fn made_results(&self) -> anyhow::Result<&Path> {
        std::fs::create_dir_all(&self.results)
            .with_context(|| format!("creating the results directory {}", self.results.display()))?;
        Ok(&self.results)
    }

    /// Rejects formats that the verb's output does not support.
    pub fn require_format(&self, formats: &[Format], why: &str) -> anyhow::Result<()> {
        if formats.contains(&self.format) {
            return Ok(());
        }
        let known: Vec<&str> = formats.iter().map(|format| format.key()).collect();
        Err(Usage(format!(
            "--format {} is not supported here ({why}); use {}",
            self.format,
            known.join(" or ")
        ))
        .into())
    }

    /// Refuses a run of other programs' results, which rqps cannot continue. Says nothing of runs that cannot be read.
    pub fn require_own(&self, path: &Path) -> anyhow::Result<()> {
        match RunFolder::open(path) {
            Ok(run) if run.meta.is_imported() => Err(Usage(format!(
                "{} was imported: its servers are not ours to start. `rqps import` with more files makes a larger run",
                run.folder.name()
            ))
            .into()),
            _ => Ok(()),
        }
    }

    /// Refuses a fleet in place of a run.
    pub fn refuse_fleet(&self, name: &str) -> anyhow::Result<()> {
        let candidates = [PathBuf::from(name), self.results.join(name)];
        let Some(fleet) = candidates.iter().find_map(|path| Fleet::open(path).ok()) else { return Ok(()) };
        let tasks = fleet.folder.join("tasks");
        Err(Usage(format!(
            "{name} is a fleet, not a run: `rqps fleet resume {name}` continues it, `rqps fleet collect {name}` has \
             the comparison over its hosts. Each task's run is `last` with --results {}/TASK; `rqps fleet status \
             {name} --json` names tasks and runs",
            tasks.display()
        ))
        .into())
    }

    /// The folder of a run given by path, name, label (the newest of that label), or `last`: the newest of all.
    pub fn run_path(&self, name: &str) -> anyhow::Result<PathBuf> {
        self.preferred_run_path(name, |_| true)
    }

    /// Like [`Context::run_path`] for what reads results: runs that have some come before newer ones without.
    pub fn results_path(&self, name: &str) -> anyhow::Result<PathBuf> {
        if name != LAST {
            return self.preferred_run_path(name, RunSummary::has_results);
        }
        let [found, newest] = self.last(RunSummary::has_results)?;
        if newest.path() != found.path() {
            let [found, newest] = [&found, &newest].map(RunFolder::name);
            out::message(&format!("note: {newest} has no results; this is {found}, the newest that has"));
        }
        Ok(found.path().to_owned())
    }

    /// Like [`Context::results_path`] for what is nothing without them.
    ///
    /// # Errors
    /// Also if the run is under way and has measured nothing yet.
    pub fn measured_path(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.results_path(name)?;
        let run = RunSummary::of(&RunFolder::at(&path)?);
        if run.has_results() || run.folder.in_use_by().is_none() {
            return Ok(path);
        }
        let runs = RunFolder::list(&self.results)?;
        let newest = runs.iter().filter(|run| run.has_results()).max_by_key(|run| run.created_at_ms);
        let other = newest.map_or_else(String::new, |newest| {
            format!("; {} is the newest run that has some", newest.folder.name())
        });
        let name = run.folder.name();
        Err(Usage(format!(
            "{name} is running and has no results yet: `rqps status {name}` shows how far it is{other}"
        ))
        .into())
    }

    /// The newest run, of those that are `preferred` if there are any; and the newest of all.
    fn last(&self, preferred: impl Fn(&RunSummary) -> bool) -> anyhow::Result<[RunFolder; 2]> {
        self.refuse_fleet(LAST)?;
        let runs = RunFolder::list(&self.results)?;
        let found = runs.iter().max_by_key(|run| (preferred(run), run.created_at_ms));
        let newest = runs.iter().max_by_key(|run| run.created_at_ms);
        found.zip(newest).map(|(found, newest)| [found, newest].map(|run| run.folder.clone())).ok_or_else(|| {
            Usage(format!(
                "no run in {}; start one with `rqps demo` or `rqps run PLAN`, or give another folder with --results",
                self.results.display()
            ))
            .into()
        })
    }

    /// Like [`Context::run_path`], but those that are `preferred` come before the newest.
    pub fn preferred_run_path(
        &self,
        name: &str,
        preferred: impl Fn(&RunSummary) -> bool,
    ) -> anyhow::Result<PathBuf> {
        if name == LAST {
            return Ok(self.last(preferred)?[0].path().to_owned());
        }
        self.refuse_fleet(name)?;
        let candidates = [PathBuf::from(name), self.results.join(name)];
        let found = candidates.into_iter().find(|path| is_run(path));
        match found.or_else(|| self.inner_run(name)) {
            Some(path) => Ok(path),
            None => {
                let runs = RunFolder::list(&self.results)?;
                let labelled = runs.iter().filter(|run| run.folder.label() == name);
                if let Some(newest) = labelled.max_by_key(|run| (preferred(run), run.created_at_ms)) {
                    return Ok(newest.folder.path().to_owned());
                }
                let of_run = |run: &RunSummary| [run.folder.name(), run.folder.label()];
                let names: Vec<String> = runs.iter().flat_map(of_run).chain([LAST.to_owned()]).collect();
                let remedy = did_you_mean(name, names.iter().map(String::as_str));
                Err(Usage(format!(
                    "no run named `{name}` (no run.db in it or in {}). {}",
                    self.results.join(name).display(),
                    remedy.unwrap_or_else(|| LISTED.to_owned())
                ))
                .into())
            }
        }
    }

    /// The run of a search (series, bisect, order), or of a fleet's task, with this name.
    fn inner_run(&self, name: &str) -> Option<PathBuf> {
        let in_folder = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_name = Path::new(name).components().count() == 1;
        let folders = || in_folder(self.results.clone()).map(|entry| entry.path()).filter(|_| is_name);
        let tasks = folders().flat_map(|folder| in_folder(folder.join("tasks"))).map(|entry| entry.path());
        folders().chain(tasks).map(|folder| folder.join(name)).find(|path| is_run(path))
    }
}

/// How an error about an unknown run ends if no run has a name like that.
const LISTED: &str = "`rqps ls` lists the runs.";

/// An error about a run, with the value of an option that its name is near: users write it without the option.
pub fn or_value_of<'a>(
    option: &str,
    known: impl IntoIterator<Item = &'a str>,
    name: &str,
    error: anyhow::Error,
) -> anyhow::Error {
    let text = error.to_string();
    match nearest(name, known).filter(|_| text.ends_with(LISTED)) {
        Some(value) => Usage(format!("{text} Or did you mean `{option} {value}`?")).into(),
        None => error,
    }
}

/// Handlers are needed for all verbs: the first process of a container ignores every signal that it does not handle.
fn register_signals(stop: &Arc<AtomicBool>, exit_immediately: &Arc<AtomicBool>) -> anyhow::Result<()> {
    let ignored = ignored_signals();
    for signal in STOP_SIGNALS {
        // Under `nohup` a run continues when its terminal closes.
        if signal == signal_hook::consts::SIGHUP && ignored & (1 << (signal - 1)) != 0 {
            continue;
        }
        let code = i32::from(EXIT_INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(exit_immediately))?;
        signal_hook::flag::register(signal, Arc::clone(stop))?;
        signal_hook::flag::register(signal, Arc::clone(exit_immediately))?;
    }
    Ok(())
}

/// The signals that were ignored when this program started, one bit each from signal 1; 0 if unknown.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_run(path: &Path) -> bool {
    path.join("run.db").is_file()
}
