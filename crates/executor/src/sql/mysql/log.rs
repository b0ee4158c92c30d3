//! Finds the lines of a MySQL or MariaDB log that explain why the server died, or that it waits for disk
//! space.

use crate::sql::log::lines_from;

/// Messages of a server that shuts down, crashes or can't continue.
const DEATHS: [&str; 7] = [
    "got signal",
    "Assertion failure",
    "Out of memory",
    "is full",
    "No space left on device",
    "Received SHUTDOWN",
    "Normal shutdown",
];
const ERROR: &str = "[ERROR]";

/// Logged before the server waits for disk space, without a time limit.
const WAITS_FOR_ROOM: &str = "Waiting for someone to free space";

pub(super) fn waits_for_room(log: &str) -> bool {
    log.contains(WAITS_FOR_ROOM)
}

pub(super) fn tells_death(log: &str) -> bool {
    DEATHS.iter().any(|sign| log.contains(sign))
}

/// The lines from the first sign of a death, else from the first error, else the last ones.
pub(super) fn telling_lines(log: &str) -> String {
    match tells_death(log) {
        true => lines_from(log, tells_death),
        false => lines_from(log, |line| line.contains(ERROR)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_comes_before_other_errors() {
        let mut log = vec!["2026-11-22T06:00:00Z 0 [Note] mysqld: ready for connections."; 30];
        assert_eq!(telling_lines(&log.join("\n")).lines().count(), 15);
        log.push("2026-11-22T06:00:01Z 7 [ERROR] [MY-012345] [InnoDB] something is odd");
        assert!(telling_lines(&log.join("\n")).contains("odd"));
        log.extend(["2026-11-22T06:00:02Z 0 [Note] page_cleaner took long"; 20]);
        log.push("06:00:03 UTC - mysqld got signal 11 ;");
        log.extend(["stack_bottom = 0 thread_stack 0x40000"; 40]);
        let lines = telling_lines(&log.join("\n"));
        assert!(lines.starts_with("06:00:03 UTC - mysqld got signal 11"), "{lines}");
        assert_eq!(lines.lines().count(), 15);
    }
}
