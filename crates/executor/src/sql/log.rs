//! Which lines of a server's log are shown when it has died.

/// Lines of the log that are looked through.
pub(crate) const LOOK_THROUGH_LINES: usize = 400;
const SHOWN_LINES: usize = 15;

/// The lines from the first that `tells`, or the last ones.
pub(crate) fn lines_from(log: &str, tells: impl Fn(&str) -> bool) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(SHOWN_LINES);
    let first = lines.iter().position(|line| tells(line)).unwrap_or(last);
    let end = lines.len().min(first + SHOWN_LINES);
    lines[first..end].join("\n")
}
