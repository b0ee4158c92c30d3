//! Runs the system's programs that fetch and unpack builds: the ordinary clients of the registries. The
//! machine's own settings have the addresses, so rqps needs none.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

use crate::error::{Error, Result};
use crate::guard;
use rustix::process::Signal;

/// Ends programs that hang; part of coreutils, which every system has.
const TIMEOUT: &str = "timeout";

/// Exit code of `timeout` if the time is up.
const TIMED_OUT: i32 = 124;

/// Exit code of `timeout` for a missing program.
const NOT_FOUND: i32 = 127;

/// Output lines that an error shows.
const SHOWN_LINES_MAX: usize = 4;

#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code, or None if a signal ended it.
    pub code: Option<i32>,
    /// Exit status and last output.
    pub reason: String,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub program: &'static str,
    /// The Debian package of the program.
    pub package: &'static str,
    /// Its purpose, as a phrase after `to`.
    pub purpose: &'static str,
    /// Time limit in seconds, above the slowest use.
    pub limit_s: u32,
}

impl Client {
    /// Runs the program and returns its output. The inner error is a failure of the program; the outer one
    /// means that it is not installed.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<std::result::Result<String, Failure>> {
        let output = self.command()?.args(arguments).output();
        let output = output.map_err(|_| self.absent(TIMEOUT, "coreutils"))?;
        match output.status.code() {
            Some(0) => Ok(Ok(String::from_utf8_lossy(&output.stdout).into_owned())),
            Some(NOT_FOUND) => Err(self.absent(self.program, self.package)),
            code @ Some(TIMED_OUT) => {
                let reason = format!("`{}` timed out after {} s", self.program, self.limit_s);
                Ok(Err(Failure { code, reason }))
            }
            code => {
                let how = code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
                let reason = format!("`{}` exited with {how}: {}", self.program, last_output(&output));
                Ok(Err(Failure { code, reason }))
            }
        }
    }

    /// In the foreground, so that Ctrl-C in a terminal reaches it. It ends with rqps: `timeout` forwards the
    /// signal that it gets then.
    fn command(&self) -> Result<Command> {
        let mut command = guard::shim_command(Signal::QUIT)?;
        command.args([TIMEOUT, "--foreground", "--kill-after=10", &self.limit_s.to_string(), self.program]);
        command.env("LC_ALL", "C").stdin(Stdio::null());
        Ok(command)
    }

    fn absent(&self, program: &str, package: &'static str) -> Error {
        Error::NoProgram { program: program.to_owned(), package, purpose: self.purpose }
    }
}

/// The last lines of a program's output, on one line.
fn last_output(output: &Output) -> String {
    let both = [output.stderr.as_slice(), output.stdout.as_slice()];
    let text = both.map(String::from_utf8_lossy).into_iter().find(|text| !text.trim().is_empty());
    let text = text.unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    hide_urls(&lines[lines.len().saturating_sub(SHOWN_LINES_MAX)..].join("; "))
}

/// Replaces the URLs in a client's message.
pub(crate) fn hide_urls(text: &str) -> String {
    let words = text.split_whitespace().map(|word| if word.contains("://") { "its address" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(program: &'static str, limit_s: u32) -> Client {
        Client { program, package: "none", purpose: "be tested", limit_s }
    }

    #[test]
    fn output_failure_timeout_and_absence_are_reported() {
        let shell = client("sh", 20);
        assert_eq!(shell.run(&["-c", "echo out; echo err >&2"]).unwrap().unwrap(), "out\n");
        let failed = shell.run(&["-c", "echo no file at ftp://host/x >&2; exit 3"]).unwrap().unwrap_err();
        assert_eq!(failed.code, Some(3));
        assert_eq!(failed.reason, "`sh` exited with 3: no file at its address");
        let slow = client("sleep", 1).run(&["20"]).unwrap().unwrap_err();
        assert_eq!(slow.reason, "`sleep` timed out after 1 s");
        let absent = client("no-such-program", 20).run(&["x"]).unwrap_err().to_string();
        assert!(
            absent.contains("`no-such-program` is not in PATH") && absent.contains("be tested"),
            "{absent}"
        );
    }
}
