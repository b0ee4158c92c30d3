//! The part of a server's log that says why it died.

use crate::sql::log::lines_from;

/// What a server says when it goes down, or can't go on.
const DEATHS: [&str; 7] = [
    "got signal",
    "Assertion failure",
    "Out of memory",
    "is full",
    "No space left on device",
    "Received SHUTDOWN",
    "Normal shutdown",
];
/// What it says of anything wrong.
const TROUBLE: &str = "[ERROR]";

/// What it says before it waits, for ever if need be.
const WAITS_FOR_ROOM: &str = "Waiting for someone to free space";

/// Whether the log has it waiting for room on its disk.
pub(super) fn waits_for_room(log: &str) -> bool {
    log.contains(WAITS_FOR_ROOM)
}

/// The lines from the first that tells of a death, or else of trouble; the last ones where there is neither.
pub(super) fn telling_lines(log: &str) -> String {
    let dies = |line: &str| DEATHS.iter().any(|sign| line.contains(sign));
    match log.lines().any(dies) {
        true => lines_from(log, dies),
        false => lines_from(log, |line| line.contains(TROUBLE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_comes_before_other_trouble() {
        let mut log = vec!["2026-11-22T06:00:00Z 0 [Note] mysqld: ready for connections."; 30];
        assert_eq!(telling_lines(&log.join("\n")).lines().count(), 15);
        log.push("2026-11-22T06:00:01Z 7 [ERROR] [MY-012345] [InnoDB] something is odd");
        assert!(telling_lines(&log.join("\n")).contains("odd"));
        log.extend(["2026-11-22T06:00:02Z 0 [Note] page_cleaner took long"; 20]);
        log.push("06:00:03 UTC - mysqld got signal 11 ;");
        log.extend(["stack_bottom = 0 thread_stack 0x40000"; 40]);
        let told = telling_lines(&log.join("\n"));
        assert!(told.starts_with("06:00:03 UTC - mysqld got signal 11"), "{told}");
        assert_eq!(told.lines().count(), 15);
    }
}
