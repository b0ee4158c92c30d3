//! The part of a server's log that says why it died.

/// Lines of the log that are looked through.
pub(crate) const LOOK_THROUGH_LINES: usize = 400;
/// Lines that are shown.
const SHOWN_LINES: usize = 15;
/// What the postmaster and its processes say first when something goes wrong for good.
const SIGNS: [&str; 4] =
    ["PANIC:", "was terminated by signal", "exited with exit code", "received fast shutdown request"];

/// The lines from the first that tells of a death, or the last ones: after a crash a server says much about
/// those of its processes that it ends and about recovery, which would hide the cause.
pub(crate) fn telling_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let tells = |line: &&str| SIGNS.iter().any(|sign| line.contains(sign));
    let last = lines.len().saturating_sub(SHOWN_LINES);
    let first = lines.iter().position(tells).unwrap_or(last);
    let end = lines.len().min(first + SHOWN_LINES);
    lines[first..end].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_not_hidden_by_what_follows() {
        let mut log = vec!["LOG:  database system is ready to accept connections"];
        log.extend(["LOG:  checkpoint starting: time"; 30]);
        assert_eq!(telling_lines(&log.join("\n")).lines().count(), 15);
        log.push("LOG:  server process (PID 7) was terminated by signal 9: Killed");
        log.extend(["WARNING:  terminating connection"; 100]);
        let told = telling_lines(&log.join("\n"));
        assert!(told.starts_with("LOG:  server process (PID 7)"), "{told}");
        assert_eq!(told.lines().count(), 15);
        assert_eq!(telling_lines(""), "");
    }
}
