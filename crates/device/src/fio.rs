//! The installed fio: its version, and a run of it.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rqps_builds::Error as BuildError;
use rqps_workloads::sync_latency::Sync;

/// The first with latencies of syncs and their histograms in its JSON.
const VERSION_MIN: (u32, u32) = (3, 5);

/// How long fio may take to say its version, which takes some milliseconds.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The version of the installed fio, such as `3.33`.
pub(crate) fn version() -> Result<String, BuildError> {
    let missing = || BuildError::NoProgram {
        program: "fio".to_owned(),
        package: "fio",
        purpose: "measure sync latency",
    };
    let mut command = Command::new("fio");
    command.arg("--version");
    let running = Running::start(command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(),
        _ => BuildError::BrokenProgram { program: "fio".to_owned(), reason: error.to_string() },
    })?;
    let silent = || BuildError::SilentProgram { program: "fio".to_owned(), seconds: ANSWER_MAX.as_secs() };
    let output = running.output(ANSWER_MAX).ok_or_else(silent)?.unwrap_or_default();
    if let Some(reason) = running.end().unwrap_or_default() {
        return Err(BuildError::BrokenProgram { program: "fio".to_owned(), reason });
    }
    let text = String::from_utf8_lossy(&output).trim().trim_start_matches("fio-").to_owned();
    match numbers(&text) {
        Some(version) if version >= VERSION_MIN => Ok(text),
        _ => {
            let wanted = format!("{}.{}", VERSION_MIN.0, VERSION_MIN.1);
            let found = if text.is_empty() { "unknown".to_owned() } else { text };
            Err(BuildError::OldProgram { program: "fio".to_owned(), found, wanted })
        }
    }
}

/// Major and minor version of `3.33`, or `3.36-12-gabc`.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// When a run ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    Time(Duration),
    /// So many writes of each job.
    Writes(u64),
}

/// Random writes to a file.
#[derive(Debug)]
pub(crate) struct Writes<'a> {
    pub file: &'a Path,
    pub file_bytes: u64,
    pub block_bytes: u64,
    pub sync: Sync,
    pub jobs: u32,
    pub until: Until,
    /// Equal seeds write to the same places.
    pub seed: u64,
}

impl Writes<'_> {
    pub fn command(&self) -> Command {
        let mut command = fio(self.file, self.file_bytes);
        command.args(["--name=sync_latency", "--rw=randwrite", "--ioengine=psync", "--direct=1"]);
        command.arg(format!("--bs={}", self.block_bytes)).arg(format!("--randseed={}", self.seed));
        command.arg(format!("--numjobs={}", self.jobs)).arg(format!("--max-jobs={}", self.jobs));
        match self.sync {
            Sync::None => {}
            sync => {
                command.arg(format!("--{}=1", sync.key()));
            }
        }
        match self.until {
            Until::Time(time) => {
                command.arg("--time_based").arg(format!("--runtime={}ms", time.as_millis().max(1)))
            }
            Until::Writes(writes) => command.arg(format!("--io_size={}", writes * self.block_bytes)),
        };
        command
    }
}

/// Fills the file, in order.
pub(crate) fn fill(file: &Path, bytes: u64) -> Command {
    let mut command = fio(file, bytes);
    command.args(["--name=fill", "--rw=write", "--ioengine=sync", "--bs=1M", "--direct=1", "--end_fsync=1"]);
    command
}

/// fio on a file. If this thread dies, so does fio; its jobs are threads, which end with it.
fn fio(file: &Path, bytes: u64) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "fio", "--output-format=json+", "--eta=never", "--thread"]);
    // fio ends a path at `;` and `#`, and has a meaning of its own for `:` and backslashes: it gets the name alone.
    if let Some(directory) = file.parent() {
        command.current_dir(directory);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    command.arg(format!("--filename={name}")).arg(format!("--size={bytes}"));
    command
}

/// How far a fio is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub written_bytes: u64,
    pub threads: u64,
}

/// A fio that runs; killed when dropped.
pub(crate) struct Running {
    child: Child,
    /// Program and arguments, for messages.
    text: String,
    output: Receiver<io::Result<Vec<u8>>>,
}

impl Running {
    pub fn start(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let words: Vec<_> = [command.get_program()].into_iter().chain(command.get_args()).collect();
        let text = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let mut child = command.spawn().map_err(|error| named(error, command.get_program()))?;
        let (sender, output) = channel();
        if let Some(mut stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let read = stdout.read_to_end(&mut bytes).map(|_| bytes);
                let _received = sender.send(read);
            });
        }
        Ok(Self { child, text, output })
    }

    /// Bytes that it has written, and its threads; `None` when it has ended.
    pub fn progress(&self) -> Option<Progress> {
        let process = procfs::process::Process::new(i32::try_from(self.child.id()).ok()?).ok()?;
        let threads = process.stat().ok()?.num_threads;
        Some(Progress { written_bytes: process.io().ok()?.wchar, threads: threads.unsigned_abs() })
    }

    /// What was run.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Waits a while for the end of its output; `None` while it runs.
    pub fn output(&self, wait: Duration) -> Option<io::Result<Vec<u8>>> {
        match self.output.recv_timeout(wait) {
            Ok(output) => Some(output),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Waits for its end; returns its error messages if it failed.
    pub fn end(mut self) -> io::Result<Option<String>> {
        let mut words = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut words)?;
        }
        let status = self.child.wait()?;
        let words = words.trim().replace('\n', "; ");
        let words = if words.is_empty() { format!("it ended without a message ({status})") } else { words };
        Ok((!status.success()).then_some(words))
    }
}

/// The error of a start, with the program.
fn named(error: io::Error, program: &OsStr) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", program.to_string_lossy()))
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(numbers("3.33") >= Some(VERSION_MIN) && numbers("3.36-12-gabc") >= Some(VERSION_MIN));
        assert!(numbers("2.21") < Some(VERSION_MIN) && numbers("3.1") < Some(VERSION_MIN));
        assert_eq!(numbers("unknown"), None);
    }
}
