//! sysbench as a process of ours: what it says comes line by line, and it goes when it is let go.

use super::error::Error;
use super::output::Line;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long a sysbench that met an error is listened to before it is ended: its words come from several threads.
const LAST_WORDS: Duration = Duration::from_millis(300);
const SEGMENTATION_FAULT: i32 = 11;
/// What 1.0.20 makes of a Postgres session that the server has ended.
pub(super) const CRASHED: &str = "it crashed, as 1.0.20 does when it loses a session";
/// Lines that are kept for an error's message.
const WORDS_MAX: usize = 12;

/// What one look at the process gave.
pub(super) enum Output {
    Line(Line),
    Nothing,
    /// It has closed its output.
    End,
}

pub(super) struct Process {
    child: Child,
    lines: Receiver<RawLine>,
    /// Lines that tell of errors.
    complaints: Vec<String>,
}

impl Process {
    pub fn start(command: &mut Command) -> Result<Self, Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(Error::Start)?;
        // Its output is some lines a second, so the channel needs no limit.
        let (sender, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            pass_on(stdout, false, sender.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            pass_on(stderr, true, sender);
        }
        Ok(Self { child, lines, complaints: Vec::new() })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line, at most this long.
    pub fn read_line(&mut self, patience: Duration) -> Result<Output, Error> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => {
                let complains = line.is_complaint || line.text.starts_with("FATAL:");
                if complains && !line.text.is_empty() && self.complaints.len() < WORDS_MAX {
                    self.complaints.push(line.text.clone());
                }
                Line::parse(&line.text).map(Output::Line)
            }
            Err(RecvTimeoutError::Timeout) => Ok(Output::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Output::End),
        }
    }

    /// Lets as many threads go on as `threads`: each waits for one byte.
    pub fn release(&mut self, threads: u32) -> Result<(), Error> {
        let bytes = vec![b'.'; threads as usize];
        match &mut self.child.stdin {
            Some(stdin) => stdin.write_all(&bytes).and_then(|()| stdin.flush()).map_err(Error::Start),
            None => Ok(()),
        }
    }

    /// Waits for its end once its output is closed; an error unless it ended well.
    pub fn finish(mut self, doing: &'static str) -> Result<(), Error> {
        let status = self.child.wait().map_err(Error::Start)?;
        if status.success() { Ok(()) } else { Err(self.failed(doing, status.to_string())) }
    }

    /// What became of it, once its output is closed although it still had to say something.
    pub fn end(&mut self) -> String {
        match self.child.wait() {
            Ok(status) if status.signal() == Some(SEGMENTATION_FAULT) => CRASHED.to_owned(),
            Ok(status) => format!("it ended early ({status})"),
            Err(error) => format!("it ended early ({error})"),
        }
    }

    /// Listens to what else it has to say of an error, ends it, and makes that the error.
    pub fn failed(mut self, doing: &'static str, words: String) -> Error {
        let start = Instant::now();
        while start.elapsed() < LAST_WORDS {
            if let Ok(Output::End) = self.read_line(LAST_WORDS.saturating_sub(start.elapsed())) {
                break;
            }
        }
        let mut all = std::mem::take(&mut self.complaints);
        if !all.iter().any(|line| line.contains(&words)) {
            all.push(words);
        }
        Error::Failed { doing, words: all.join("; ") }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A line, and whether it came by the way of errors.
struct RawLine {
    text: String,
    is_complaint: bool,
}

/// Sends each line of a pipe on. The thread ends with the pipe.
fn pass_on(pipe: impl Read + Send + 'static, is_complaint: bool, to: Sender<RawLine>) {
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while matches!(pipe.read_until(b'\n', &mut bytes), Ok(1..)) {
            let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            if to.send(RawLine { text, is_complaint }).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}
