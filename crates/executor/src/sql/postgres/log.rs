//! Finds the lines of a Postgres log that explain why the server died.

use crate::sql::log::{last_lines, lines_from};

/// First messages of a death, by the postmaster or its processes.
const SIGNS: [&str; 4] =
    ["PANIC:", "was terminated by signal", "exited with exit code", "received fast shutdown request"];

/// Levels of messages about what failed, among many about checkpoints and vacuum.
const FAILURES: [&str; 2] = ["ERROR:  ", "FATAL:  "];

pub(super) fn tells_death(log: &str) -> bool {
    SIGNS.iter().any(|sign| log.contains(sign))
}

/// The lines from the first sign of a death, or the last ones; but those about failures if there are some and none is
/// among these. After a crash, many lines about terminated processes and recovery follow, which would hide the cause.
pub(super) fn telling_lines(log: &str) -> String {
    let fails = |line: &str| FAILURES.iter().any(|level| line.contains(level));
    let lines = lines_from(log, tells_death);
    match last_lines(log, fails) {
        Some(failures) if !tells_death(log) && !lines.lines().any(fails) => failures,
        _ => lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_with_the_cause_of_death() {
        let mut log = vec!["LOG:  database system is ready to accept connections"];
        log.extend(["LOG:  checkpoint starting: time"; 30]);
        assert_eq!(telling_lines(&log.join("\n")).lines().count(), 15);
        log.push("FATAL:  terminating connection due to administrator command");
        log.extend(["\tbuffer usage: 84 hits, 5 misses, 1 dirtied"; 30]);
        assert_eq!(
            telling_lines(&log.join("\n")),
            "FATAL:  terminating connection due to administrator command"
        );
        assert!(!tells_death(&log.join("\n")));
        log.push("LOG:  server process (PID 7) was terminated by signal 9: Killed");
        log.extend(["WARNING:  terminating connection"; 100]);
        let lines = telling_lines(&log.join("\n"));
        assert!(lines.starts_with("LOG:  server process (PID 7)"), "{lines}");
        assert_eq!(lines.lines().count(), 15);
        assert_eq!(telling_lines(""), "");
    }
}
