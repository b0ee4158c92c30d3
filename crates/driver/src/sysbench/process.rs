//! sysbench as a child process: its output is read line by line, and it is killed on drop.

use super::error::Error;
use super::output::Line;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
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
    child: Child,
    lines: Receiver<RawLine>,
    error_lines: Vec<String>,
}

impl Process {
    pub fn start(command: &mut Command) -> Result<Self, Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(Error::Start)?;
        // sysbench prints a few lines a second, so the channel needs no limit.
        let (sender, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            forward_lines(stdout, false, sender.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            forward_lines(stderr, true, sender);
        }
        Ok(Self { child, lines, error_lines: Vec::new() })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads the next line.
    pub fn read_line(&mut self, timeout: Duration) -> Result<Output, Error> {
        match self.lines.recv_timeout(timeout) {
            Ok(line) => {
                let is_error = line.is_stderr || line.text.starts_with("FATAL:");
                if is_error && !line.text.is_empty() && self.error_lines.len() < ERROR_LINES_MAX {
                    self.error_lines.push(line.text.clone());
                }
                Line::parse(&line.text).map(Output::Line)
            }
            Err(RecvTimeoutError::Timeout) => Ok(Output::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Output::End),
        }
    }

    /// Opens the gate for `threads` threads: each waits for one byte.
    pub fn release(&mut self, threads: usize) -> Result<(), Error> {
        let bytes = vec![b'.'; threads];
        match &mut self.child.stdin {
            Some(stdin) => stdin.write_all(&bytes).and_then(|()| stdin.flush()).map_err(Error::Start),
            None => Ok(()),
        }
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
            Ok(status) => format!("it ended early ({status})"),
            Err(error) => format!("it ended early ({error})"),
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

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has exited already.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

struct RawLine {
    text: String,
    is_stderr: bool,
}

/// Sends each line of `pipe` to `to`, in a thread that ends with the pipe.
fn forward_lines(pipe: impl Read + Send + 'static, is_stderr: bool, to: Sender<RawLine>) {
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while matches!(pipe.read_until(b'\n', &mut bytes), Ok(1..)) {
            let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            if to.send(RawLine { text, is_stderr }).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}
