//! Standard output: results only. Standard error: everything else. A closed pipe or a lost terminal is not an error and
//! does not end a run. Control sequences in text from plans and servers are escaped.

use anyhow::Context;
use rqps_report::tame;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Start of every colour sequence, and the colours used here.
const ESCAPE: char = '\x1b';
const COLORS: [&str; 6] = ["[31m", "[32m", "[33m", "[90m", "[2m", "[0m"];

/// Prints text; escapes all control sequences except rqps' own colours.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_as_is(&tame_but_colors(text))
}

/// Prints trusted text unchanged.
pub fn print_as_is(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Prints text and a newline.
pub fn print_line(text: &str) -> anyhow::Result<()> {
    print(&format!("{}\n", text.trim_end_matches('\n')))
}

/// When standard error last had a line.
static SAID_AT: Mutex<Option<Instant>> = Mutex::new(None);

/// A message on standard error.
pub fn message(text: &str) {
    say(&for_stderr(text));
}

fn say(text: &str) {
    *SAID_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    // A failure cannot be reported anywhere.
    let _written = writeln!(std::io::stderr().lock(), "{text}");
}

/// How long standard error has had no line.
pub fn silence() -> Duration {
    let mut said_at = SAID_AT.lock().unwrap_or_else(PoisonError::into_inner);
    said_at.get_or_insert_with(Instant::now).elapsed()
}

/// Lines with commands to copy, on standard error: a terminal breaks them so that they can be pasted.
pub fn commands(text: &str) {
    say(&tame(text));
}

/// Text as standard error shows it: escaped, and wrapped to a terminal.
pub fn for_stderr(text: &str) -> String {
    rqps_report::wrapped(&tame(text), columns_of_stderr())
}

/// Columns of standard output: of the terminal, or else those that the environment tells.
pub fn columns_of_stdout() -> Option<usize> {
    let told = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    columns(std::io::stdout()).or_else(told)
}

/// Columns of standard error, if it is a terminal.
pub fn columns_of_stderr() -> Option<usize> {
    columns(std::io::stderr())
}

/// Columns of the terminal, if it is one.
fn columns(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Writes a file atomically: it is replaced completely or not at all.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    // Something like a pipe cannot be replaced by renaming.
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return fs::write(path, content).with_context(failed);
    }
    let partial = path.with_added_extension("partial");
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // Only the first error is reported.
        let _removed = fs::remove_file(&partial);
    }
    written.with_context(failed)
}

fn tame_but_colors(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let mut tamed = tame(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        match COLORS.iter().any(|color| part.starts_with(color)) {
            true => tamed.push(ESCAPE),
            false => tamed.push_str(&tame("\x1b")),
        }
        tamed.push_str(&tame(part));
    }
    tamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_colours_are_kept() {
        let text = "\x1b[31mred\x1b[0m \x1b[2J\x1b]0;x\x07";
        assert_eq!(tame_but_colors(text), "\x1b[31mred\x1b[0m \\u001b[2J\\u001b]0;x\\u0007");
        assert_eq!(tame_but_colors("plain\n"), "plain\n");
    }

    #[test]
    fn a_failed_write_names_the_file_and_leaves_it_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.md");
        write_file(&path, "whole").unwrap();
        // A directory blocks the temporary file.
        fs::create_dir(dir.path().join("report.md.partial")).unwrap();
        let error = format!("{:#}", write_file(&path, "other").unwrap_err());
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        write_file(Path::new("/dev/null"), "gone").unwrap();
        let error = format!("{:#}", write_file(Path::new("/dev/full"), "x").unwrap_err());
        assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
    }
}
