//! Selects the lines of a server's log that are shown after it has died.

/// Lines at the end of the log that are searched.
pub(crate) const SEARCHED_LINES: usize = 400;
const SHOWN_LINES: usize = 15;

/// The lines from the first that matches, or the last ones if none does.
pub(crate) fn lines_from(log: &str, matches: impl Fn(&str) -> bool) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(SHOWN_LINES);
    let first = lines.iter().position(|line| matches(line)).unwrap_or(last);
    let end = lines.len().min(first + SHOWN_LINES);
    lines[first..end].join("\n")
}
