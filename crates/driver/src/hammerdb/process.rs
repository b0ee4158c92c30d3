//! HammerDB as a child process.

use super::error::Error;
use super::installed::Installed;
use super::output::Line;
use crate::child::{self, Output};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// After an error, output is read for this much longer before HammerDB is killed: it may say more.
const ERROR_OUTPUT_TIMEOUT: Duration = Duration::from_millis(300);
/// Messages kept for the error.
const WORDS_MAX: usize = 6;

pub(super) struct Process {
    child: child::Process,
    has_ended: bool,
    words: Vec<String>,
}

impl Process {
    /// Starts it with a script. `tmp` takes all that it writes, `session_name` names its sessions on Postgres.
    pub fn start(hammerdb: &Installed, script: &Path, tmp: &Path, session_name: &str) -> Result<Self, Error> {
        let mut command = Command::new("./hammerdbcli");
        // It finds its own files relative to the current directory.
        command.current_dir(&hammerdb.home).args(["tcl", "auto"]).arg(script);
        command.env("TMP", tmp).env("LC_ALL", "C").env("PGAPPNAME", session_name);
        let child = child::Process::start(&mut command)
            .map_err(|source| Error::Start { path: hammerdb.home.clone(), source })?;
        Ok(Self { child, has_ended: false, words: Vec::new() })
    }

    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// The next line; `None` on a timeout, and at the end of its output.
    pub fn read_line(&mut self, timeout: Duration) -> Option<String> {
        match self.child.read_line(timeout) {
            Output::Line(line) => {
                // Tcl's own errors.
                if line.is_stderr {
                    self.remember(line.text.clone());
                }
                Some(line.text)
            }
            Output::Nothing => None,
            Output::End => {
                self.has_ended = true;
                None
            }
        }
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// How it ended, once its output has.
    pub fn ended_early(&mut self) -> String {
        self.child.ended_early()
    }

    fn remember(&mut self, words: String) {
        if !words.is_empty() && self.words.len() < WORDS_MAX && !self.words.contains(&words) {
            self.words.push(words);
        }
    }

    /// Collects further messages, kills the process, and returns the error with all of them.
    pub fn failed(mut self, doing: &'static str, words: String) -> Error {
        self.remember(words);
        let start = Instant::now();
        while !self.has_ended && start.elapsed() < ERROR_OUTPUT_TIMEOUT {
            let timeout = ERROR_OUTPUT_TIMEOUT.saturating_sub(start.elapsed());
            let Some(text) = self.read_line(timeout) else { continue };
            match Line::parse(&text) {
                Line::Failed { words } => self.remember(words),
                // The rest of a message of several lines; settings have the password among them.
                Line::Other
                    if !["Vuser ", "Changed ", "Value "].iter().any(|begin| text.starts_with(begin)) =>
                {
                    self.remember(text.trim().to_owned());
                }
                _ => {}
            }
        }
        Error::Failed { doing, words: self.words.join("; ") }
    }
}
