//! sysbench as a child process.

use super::error::Error;
use super::output::Line;
use crate::child::{self, RawLine};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// After an error, output is read for this much longer before sysbench is killed: several threads may report
/// errors.
const ERROR_OUTPUT_TIMEOUT: Duration = Duration::from_millis(300);
const SEGMENTATION_FAULT: i32 = 11;
/// 1.0.20 crashes if the server ends one of its Postgres sessions.
pub(super) const CRASHED: &str = "it crashed, as 1.0.20 does when it loses a session";
/// Lines kept for the error message.
const ERROR_LINES_MAX: usize = 12;

/// The result of a read.
pub(super) enum Output {
    Line(Line),
    /// Timeout.
    Nothing,
    /// End of file.
    End,
}

pub(super) struct Process {
    child: child::Process,
    error_lines: Vec<String>,
}

impl Process {
    pub fn start(command: &mut Command) -> Result<Self, Error> {
        let child = child::Process::start(command).map_err(Error::Start)?;
        Ok(Self { child, error_lines: Vec::new() })
    }

    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Reads the next line.
    pub fn read_line(&mut self, timeout: Duration) -> Result<Output, Error> {
        match self.child.read_line(timeout) {
            child::Output::Line(RawLine { text, is_stderr }) => {
                let is_error = is_stderr || text.starts_with("FATAL:");
                if is_error && !text.is_empty() && self.error_lines.len() < ERROR_LINES_MAX {
                    self.error_lines.push(text.clone());
                }
                Line::parse(&text).map(Output::Line)
            }
            child::Output::Nothing => Ok(Output::Nothing),
            child::Output::End => Ok(Output::End),
        }
    }

    /// Opens the gate for `threads` threads: each waits for one byte.
    pub fn release(&mut self, threads: usize) -> Result<(), Error> {
        self.child.write(&vec![b'.'; threads]).map_err(Error::Start)
    }

    /// Waits for the process to exit after its output has ended; fails unless it exits with 0.
    pub fn finish(mut self, doing: &'static str) -> Result<(), Error> {
        let status = self.child.wait().map_err(Error::Start)?;
        if status.success() { Ok(()) } else { Err(self.failed(doing, status.to_string())) }
    }

    /// Waits for the process to exit after its output ended too early; returns the error message.
    pub fn end(&mut self) -> String {
        match self.child.wait() {
            Ok(status) if status.signal() == Some(SEGMENTATION_FAULT) => CRASHED.to_owned(),
            _ => self.child.ended_early(),
        }
    }

    /// Collects further error output, kills the process, and returns the error with all messages.
    pub fn failed(mut self, doing: &'static str, words: String) -> Error {
        let start = Instant::now();
        while start.elapsed() < ERROR_OUTPUT_TIMEOUT {
            let timeout = ERROR_OUTPUT_TIMEOUT.saturating_sub(start.elapsed());
            if let Ok(Output::End) = self.read_line(timeout) {
                break;
            }
        }
        let mut all = std::mem::take(&mut self.error_lines);
        if !all.iter().any(|line| line.contains(&words)) {
            all.push(words);
        }
        Error::Failed { doing, words: all.join("; ") }
    }
}
