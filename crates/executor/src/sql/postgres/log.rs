//! Finds the lines of a Postgres log that explain why the server died.

use crate::sql::log::lines_from;

/// First messages of a death, by the postmaster or its processes.
const SIGNS: [&str; 4] =
    ["PANIC:", "was terminated by signal", "exited with exit code", "received fast shutdown request"];

/// The lines from the first sign of a death, or the last ones. After a crash, many lines about terminated
/// processes and recovery follow, which would hide the cause.
pub(super) fn telling_lines(log: &str) -> String {
    lines_from(log, |line| SIGNS.iter().any(|sign| line.contains(sign)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_with_the_cause_of_death() {
        let mut log = vec!["LOG:  database system is ready to accept connections"];
        log.extend(["LOG:  checkpoint starting: time"; 30]);
        assert_eq!(telling_lines(&log.join("\n")).lines().count(), 15);
        log.push("LOG:  server process (PID 7) was terminated by signal 9: Killed");
        log.extend(["WARNING:  terminating connection"; 100]);
        let lines = telling_lines(&log.join("\n"));
        assert!(lines.starts_with("LOG:  server process (PID 7)"), "{lines}");
        assert_eq!(lines.lines().count(), 15);
        assert_eq!(telling_lines(""), "");
    }
}
