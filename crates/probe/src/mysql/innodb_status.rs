//! Parses `SHOW ENGINE INNODB STATUS`: free text that differs between versions, but the only source of log positions
//! and pending I/O common to all versions.

use rqps_wire::mysql::Connection;

use super::query;
use crate::cells::cell;
use crate::error::{Error, Result};

/// The figures of a line, in order. A line is recognized by words that it contains; if a version has fewer figures in
/// it, they are the first ones.
struct Line {
    section: &'static str,
    words: &'static str,
    names: &'static [&'static str],
}

const SEMAPHORES: &str = "SEMAPHORES";
const TRANSACTIONS: &str = "TRANSACTIONS";
const FILE_IO: &str = "FILE I/O";
const LOG: &str = "LOG";
const BUFFER_POOL: &str = "BUFFER POOL AND MEMORY";
const ROWS: &str = "ROW OPERATIONS";

/// Precedes the statements of sessions, which may contain any text.
const SESSIONS_FOLLOW: &str = "LIST OF TRANSACTIONS FOR EACH SESSION:";

const fn line(section: &'static str, words: &'static str, names: &'static [&'static str]) -> Line {
    Line { section, words, names }
}

const LINES: [Line; 30] = [
    line(SEMAPHORES, "reservation count", &["wait_array_reservations"]),
    line(SEMAPHORES, "signal count", &["wait_array_signals"]),
    line(SEMAPHORES, "Mutex spin waits", &["mutex_spin_waits", "mutex_spin_rounds", "mutex_os_waits"]),
    line(SEMAPHORES, "RW-shared spins", &["rw_shared_spins", "rw_shared_rounds", "rw_shared_os_waits"]),
    line(SEMAPHORES, "RW-excl spins", &["rw_excl_spins", "rw_excl_rounds", "rw_excl_os_waits"]),
    line(SEMAPHORES, "RW-sx spins", &["rw_sx_spins", "rw_sx_rounds", "rw_sx_os_waits"]),
    line(TRANSACTIONS, "Trx id counter", &["trx_id_counter"]),
    line(TRANSACTIONS, "Purge done for", &["purge_done_trx"]),
    line(TRANSACTIONS, "History list length", &[HISTORY_LIST_LENGTH]),
    line(FILE_IO, "Pending flushes (fsync) log:", &["pending_log_flushes", "pending_pool_flushes"]),
    line(FILE_IO, "Pending flushes (fsync):", &["pending_flushes"]),
    line(FILE_IO, "OS file reads", &["file_reads", "file_writes", "fsyncs"]),
    line(LOG, "Log sequence number", &[LSN]),
    line(LOG, "Log flushed up to", &["lsn_flushed"]),
    line(LOG, "Pages flushed up to", &["lsn_pages_flushed"]),
    line(LOG, "Last checkpoint at", &[LSN_CHECKPOINT]),
    line(LOG, "pending log writes", &["pending_log_writes", "pending_checkpoint_writes"]),
    line(LOG, "pending log flushes", &["pending_log_writes", "pending_checkpoint_writes"]),
    line(BUFFER_POOL, "Buffer pool size ", &["pool_pages"]),
    line(BUFFER_POOL, "Free buffers", &["free_pages"]),
    line(BUFFER_POOL, "Database pages", &["data_pages"]),
    line(BUFFER_POOL, "Modified db pages", &[DIRTY_PAGES]),
    line(BUFFER_POOL, "Pending reads", &["pending_reads"]),
    line(
        BUFFER_POOL,
        "Pending writes:",
        &["pending_writes_lru", "pending_writes_flush_list", "pending_writes_single_page"],
    ),
    line(BUFFER_POOL, "Pages made young", &["pages_young", "pages_not_young"]),
    line(BUFFER_POOL, "Pages read ", &["pages_read", "pages_created", "pages_written"]),
    line(ROWS, "queries inside InnoDB", &["queries_inside", "queries_queued"]),
    line(ROWS, "read views open", &["read_views"]),
    line(ROWS, "Number of rows", &["rows_inserted", "rows_updated", "rows_deleted", "rows_read"]),
    line(
        ROWS,
        "Number of system rows",
        &["system_rows_inserted", "system_rows_updated", "system_rows_deleted", "system_rows_read"],
    ),
];

/// Committed transactions whose old row versions are not purged yet.
pub const HISTORY_LIST_LENGTH: &str = "history_list_length";
/// End of the redo log: bytes ever written.
pub const LSN: &str = "lsn";
/// The log position from which recovery would start.
pub const LSN_CHECKPOINT: &str = "lsn_checkpoint";
/// Redo log written since the checkpoint, bytes.
pub const CHECKPOINT_AGE_BYTES: &str = "checkpoint_age_bytes";
/// Modified pages of the buffer pool that are not flushed yet.
pub const DIRTY_PAGES: &str = "dirty_pages";

/// The figures by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InnodbStatus {
    /// In the order of the text.
    pub figures: Vec<(&'static str, f64)>,
}

impl InnodbStatus {
    /// A figure by name; `None` if this version does not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Pending reads, writes and flushes.
    #[must_use]
    pub fn pending_io(&self) -> f64 {
        self.figures.iter().filter(|(name, _)| name.starts_with("pending_")).map(|(_, value)| value).sum()
    }
}

/// Queries and parses the status.
///
/// # Errors
/// If the query fails, or its result has no log positions.
pub fn read(connection: &mut Connection) -> Result<InnodbStatus> {
    let table = query(connection, "state of InnoDB", "SHOW ENGINE INNODB STATUS")?;
    let text = table.rows.first().and_then(|row| cell(row, 2)).unwrap_or_default();
    let status = parse(text);
    match status.get(LSN) {
        Some(_) => Ok(status),
        None => {
            Err(Error::Answer { what: "state of InnoDB".to_owned(), found: "no log positions".to_owned() })
        }
    }
}

/// The first of repeated lines counts: the totals of the buffer pool precede those of its instances.
fn parse(text: &str) -> InnodbStatus {
    let mut status = InnodbStatus::default();
    let mut section = "";
    for line in text.lines().map(str::trim) {
        match LINES.iter().find(|known| known.section == line) {
            Some(known) => section = known.section,
            None if is_title(line) || line == SESSIONS_FOLLOW => section = "",
            None => status.add_line(section, line),
        }
    }
    if let (Some(end), Some(checkpoint)) = (status.get(LSN), status.get(LSN_CHECKPOINT)) {
        status.add(CHECKPOINT_AGE_BYTES, end - checkpoint);
    }
    status
}

/// Titles of sections are in upper case.
fn is_title(line: &str) -> bool {
    line.chars().any(char::is_alphabetic) && !line.chars().any(|c| c.is_lowercase() || c.is_numeric())
}

impl InnodbStatus {
    fn add_line(&mut self, section: &str, line: &str) {
        if section == FILE_IO && line.starts_with("Pending normal aio reads:") {
            let (reads, writes) = line.split_once("aio writes:").unwrap_or((line, ""));
            self.add("pending_aio_reads", bracketed_sum(reads));
            self.add("pending_aio_writes", bracketed_sum(writes));
            return;
        }
        // Averages and rates are the only figures with a fraction.
        if line.contains('.') {
            return;
        }
        let known = LINES.iter().find(|known| known.section == section && line.contains(known.words));
        for (name, value) in known.iter().flat_map(|known| known.names.iter().zip(integers(line))) {
            self.add(name, value);
        }
    }

    fn add(&mut self, name: &'static str, value: f64) {
        if self.get(name).is_none() {
            self.figures.push((name, value));
        }
    }
}

fn integers(text: &str) -> impl Iterator<Item = f64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok())
}

/// The sum of the list in brackets; old versions print the sum before it, too.
fn bracketed_sum(text: &str) -> f64 {
    let list = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    list.map_or(0.0, |(list, _)| integers(list).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_versions_are_parsed_alike() {
        // History, end of the log, last checkpoint, dirty and data pages, reads, fsyncs, rows read.
        for (version, text, figures) in [
            (
                "MySQL 5.6.14",
                include_str!("samples/innodb-status-mysql-5.6.14.txt"),
                [17.0, 2_315_599.0, 1_625_997.0, 104.0, 228.0, 181.0, 64.0, 500.0],
            ),
            (
                // The sum of two instances of the buffer pool; two sessions with statements that look like figures.
                "MySQL 5.7.22",
                include_str!("samples/innodb-status-mysql-5.7.22.txt"),
                [32.0, 4_357_975.0, 4_357_941.0, 0.0, 346.0, 331.0, 117.0, 3_015.0],
            ),
            (
                "MySQL 8.0.31",
                include_str!("samples/innodb-status-mysql-8.0.31.txt"),
                [6.0, 20_247_269.0, 19_414_163.0, 47.0, 1_051.0, 873.0, 347.0, 499.0],
            ),
            (
                "MySQL 9.7.4",
                include_str!("samples/innodb-status-mysql-9.7.4.txt"),
                [2.0, 19_466_570.0, 19_466_570.0, 0.0, 1_022.0, 889.0, 71.0, 0.0],
            ),
            (
                "MariaDB 10.11.5, without row counts",
                include_str!("samples/innodb-status-mariadb-10.11.5.txt"),
                [6.0, 738_128.0, 45_434.0, 63.0, 341.0, 185.0, 77.0, f64::NAN],
            ),
        ] {
            let status = parse(text);
            let names = [
                HISTORY_LIST_LENGTH,
                LSN,
                LSN_CHECKPOINT,
                DIRTY_PAGES,
                "data_pages",
                "file_reads",
                "fsyncs",
                "rows_read",
            ];
            let found = names.map(|name| status.get(name).unwrap_or(f64::NAN));
            assert_eq!(format!("{found:?}"), format!("{figures:?}"), "{version}: {status:?}");
            assert_eq!(status.get(CHECKPOINT_AGE_BYTES), Some(figures[1] - figures[2]), "{version}");
            assert_eq!(status.pending_io(), 0.0, "{version}");
        }
    }

    #[test]
    fn pending_io_is_the_same_with_and_without_sums_before_lists() {
        let old = "FILE I/O\nPending normal aio reads: 3 [1, 2] , aio writes: 4 [4, 0] ,\n\
            Pending flushes (fsync) log: 1; buffer pool: 2\n181 OS file reads, 64 OS file writes, 64 OS fsyncs\n";
        let new = old.replace("reads: 3 [", "reads: [").replace("writes: 4 [", "writes: [");
        for text in [old, &new] {
            assert_eq!(parse(text).pending_io(), 10.0, "{text}");
        }
    }
}
