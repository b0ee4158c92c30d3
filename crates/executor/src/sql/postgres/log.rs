//! The part of a server's log that says why it died.

use crate::sql::log::lines_from;

/// What the postmaster and its processes say first when something goes wrong for good.
const SIGNS: [&str; 4] =
    ["PANIC:", "was terminated by signal", "exited with exit code", "received fast shutdown request"];

/// The lines from the first that tells of a death, or the last ones: after a crash a server says much about
/// those of its processes that it ends and about recovery, which would hide the cause.
pub(super) fn telling_lines(log: &str) -> String {
    lines_from(log, |line| SIGNS.iter().any(|sign| line.contains(sign)))
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
