//! An external load generator as a child process: its output is read line by line, and it is killed on drop.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The result of a read.
pub(crate) enum Output {
    Line(RawLine),
    /// Timeout.
    Nothing,
    /// End of file.
    End,
}

/// A line without its end.
pub(crate) struct RawLine {
    pub text: String,
    pub is_stderr: bool,
}

pub(crate) struct Process {
    child: Child,
    lines: Receiver<RawLine>,
}

impl Process {
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // Load generators print a few lines a second, so the channel needs no limit.
        let (sender, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            forward_lines(stdout, false, sender.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            forward_lines(stderr, true, sender);
        }
        Ok(Self { child, lines })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads the next line.
    pub fn read_line(&mut self, timeout: Duration) -> Output {
        match self.lines.recv_timeout(timeout) {
            Ok(line) => Output::Line(line),
            Err(RecvTimeoutError::Timeout) => Output::Nothing,
            Err(RecvTimeoutError::Disconnected) => Output::End,
        }
    }

    /// Writes to its standard input.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.child.stdin {
            Some(stdin) => stdin.write_all(bytes).and_then(|()| stdin.flush()),
            None => Ok(()),
        }
    }

    /// Waits for it to exit.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Waits for it to exit after its output ended too early: how it ended, for an error message.
    pub fn ended_early(&mut self) -> String {
        let how = self.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("it ended early ({how})")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has exited already.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
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
