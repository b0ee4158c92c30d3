//! What every verb works with: folders, output, the wish to stop.

use crate::args::{Cli, Color, OutputFormat, Verb, name_of};
use crate::{EXIT_INTERRUPTED, Usage};
use rqps_builds::Dirs;
use rqps_store::RunFolder;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Signals that end a run in good order; a second one ends rqps at once, and its servers with it.
const STOP_SIGNALS: [i32; 3] =
    [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];

/// What every verb works with.
pub struct Context {
    pub results: PathBuf,
    /// Where builds and data directories are kept.
    pub dirs: Dirs,
    pub format: OutputFormat,
    pub color: bool,
    /// Characters of a line on the terminal; none where standard output goes elsewhere.
    pub width: Option<usize>,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
    /// Whether a signal ends the program at once: unless something must be brought to an end, or at the second.
    end_at_once: Arc<AtomicBool>,
}

impl Context {
    /// From the arguments and the environment.
    pub fn new(cli: &Cli) -> anyhow::Result<Self> {
        let default =
            if matches!(cli.verb, Verb::Report(_)) { OutputFormat::Markdown } else { OutputFormat::Text };
        let format = cli.format.unwrap_or(default);
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match cli.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !no_color && std::io::stdout().is_terminal(),
        };
        let (stop, end_at_once) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        hear_signals(&stop, &end_at_once)?;
        Ok(Self {
            results: cli.results.clone(),
            dirs: Dirs::from_env(),
            format,
            color: color && format == OutputFormat::Text,
            width: terminal_width(),
            stop,
            end_at_once,
        })
    }

    /// Has signals set `stop` instead of ending the program; for what has something to bring to an end.
    pub fn catch_signals(&self) {
        self.end_at_once.store(self.stop.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Whether signals set `stop`.
    pub fn catches_signals(&self) -> bool {
        !self.end_at_once.load(Ordering::Relaxed)
    }

    /// Has signals end the program again.
    pub fn release_signals(&self) {
        self.end_at_once.store(true, Ordering::Relaxed);
    }

    /// Refuses formats that the verb's output cannot take.
    pub fn only(&self, formats: &[OutputFormat], why: &str) -> anyhow::Result<()> {
        if formats.contains(&self.format) {
            return Ok(());
        }
        let known: Vec<&str> = formats.iter().map(|format| name_of(*format)).collect();
        let asked = name_of(self.format);
        Err(Usage(format!("--format {asked} is not supported here ({why}); use {}", known.join(" or ")))
            .into())
    }

    /// The folder of a run that a user named by path, name, or `last`.
    pub fn run_path(&self, name: &str) -> anyhow::Result<PathBuf> {
        if name == "last" {
            let newest = RunFolder::list(&self.results)?.into_iter().max_by_key(|run| run.created_at_ms);
            return match newest {
                Some(run) => Ok(run.folder.path().to_owned()),
                None => Err(Usage(format!(
                    "no run in {}; make one with `rqps demo` or `rqps run PLAN`, or name another folder with --results",
                    self.results.display()
                ))
                .into()),
            };
        }
        let candidates = [PathBuf::from(name), self.results.join(name)];
        match candidates.iter().find(|path| is_run(path)) {
            Some(path) => Ok(path.clone()),
            None => Err(Usage(format!(
                "no run named `{name}`: neither it nor {} holds a run.db; `rqps ls` lists the runs",
                self.results.join(name).display()
            ))
            .into()),
        }
    }
}

/// A process that is the first of its container ends by no signal that it does not handle, so all verbs do.
fn hear_signals(stop: &Arc<AtomicBool>, end_at_once: &Arc<AtomicBool>) -> anyhow::Result<()> {
    let ignored = ignored_signals();
    for signal in STOP_SIGNALS {
        // Under `nohup` a run goes on when its terminal closes.
        if signal == signal_hook::consts::SIGHUP && ignored & (1 << (signal - 1)) != 0 {
            continue;
        }
        let code = i32::from(EXIT_INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(end_at_once))?;
        signal_hook::flag::register(signal, Arc::clone(stop))?;
        signal_hook::flag::register(signal, Arc::clone(end_at_once))?;
    }
    Ok(())
}

/// Characters of a line, where standard output is a terminal that tells.
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The signals that this program was started to ignore, one bit each from signal 1 on; none where that is not told.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_run(path: &Path) -> bool {
    path.join("run.db").is_file()
}
