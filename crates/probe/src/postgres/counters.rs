//! The server's own counters, before and after a stretch of work: every numeric column that the version has, of every
//! view that the version has. Nothing is chosen or judged here.
//!
//! # Exact differences
//!
//! Sessions report their counters late, so a snapshot taken right after some work misses part of it. The procedure
//! that makes a difference exact is [`crate::postgres::flush`]. With it, the difference of two snapshots is the work of
//! the sessions, plus in `pg_stat_database.xact_commit` exactly [`OWN_COMMITS`] for the first snapshot itself and one
//! for each flush statement that a session ran after it. Nothing else of the snapshot's own reading is counted in the
//! per-table, per-index and per-database figures, because it runs with `track_counts` off; `pg_stat_io` (16 and later)
//! does count its catalog reads.

use rqps_wire::Table;
use rqps_wire::postgres::Connection;

use super::{ask, ask_number, flush};
use crate::counters::{CounterSet, CounterValue, sums};
use crate::error::Result;

/// Transactions of the first snapshot that show up in the difference to the second.
pub const OWN_COMMITS: u64 = 1;

/// Pseudo view of the write-ahead log's end: its only counter that every version has.
pub const WAL: &str = "wal";

/// Its column: bytes from the very beginning of the log to its end.
const WAL_COLUMN: &str = "lsn_bytes";

const WAL_SQL: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')";
/// The same before 10.
const WAL_OLD_SQL: &str = "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')";

struct View {
    name: &'static str,
    /// First `server_version_num` that has it.
    since: u32,
    /// Which of its rows are read.
    filter: &'static str,
    /// Columns that name a row.
    keys: &'static [&'static str],
    /// Whether rows are summed as object [`crate::counters::ALL`].
    summed: bool,
}

const IN_PUBLIC: &str = "WHERE schemaname = 'public'";

/// The views that are read, in the order they are kept.
const VIEWS: [View; 9] = [
    View {
        name: "pg_stat_database",
        since: 0,
        filter: "WHERE datname = current_database() OR datid = 0",
        keys: &["datname"],
        summed: false,
    },
    View { name: "pg_stat_bgwriter", since: 0, filter: "", keys: &[], summed: false },
    View { name: "pg_stat_checkpointer", since: 170_000, filter: "", keys: &[], summed: false },
    View { name: "pg_stat_wal", since: 140_000, filter: "", keys: &[], summed: false },
    View {
        name: "pg_stat_io",
        since: 160_000,
        filter: "",
        keys: &["backend_type", "object", "context"],
        summed: false,
    },
    View { name: "pg_stat_all_tables", since: 0, filter: IN_PUBLIC, keys: &["relname"], summed: true },
    View {
        name: "pg_stat_all_indexes",
        since: 0,
        filter: IN_PUBLIC,
        keys: &["relname", "indexrelname"],
        summed: true,
    },
    View { name: "pg_statio_all_tables", since: 0, filter: IN_PUBLIC, keys: &["relname"], summed: true },
    View {
        name: "pg_statio_all_indexes",
        since: 0,
        filter: IN_PUBLIC,
        keys: &["relname", "indexrelname"],
        summed: true,
    },
];

/// Columns with object ids, which are not figures.
const IDENTIFIERS: [&str; 3] = ["datid", "relid", "indexrelid"];

/// Reads all counters in one transaction. To be exact, follow [`crate::postgres::flush`] first.
pub fn snapshot(connection: &mut Connection) -> Result<CounterSet> {
    let version_num = connection.server_version_num();
    ask(connection, "begin of counters", "BEGIN READ ONLY; SET LOCAL track_counts = off")?;
    let set = read_views(connection, version_num);
    // The transaction must end also when reading failed; the first failure is the one to tell.
    let ended = ask(connection, "end of counters", "COMMIT");
    let set = set?;
    ended?;
    Ok(set)
}

fn read_views(connection: &mut Connection, version_num: u32) -> Result<CounterSet> {
    if version_num >= flush::FORCED_SINCE {
        ask(connection, "flush of statistics", flush::FORCE_SQL)?;
    }
    ask(connection, "begin of counters", "SET LOCAL track_counts = off")?;
    let mut values = vec![wal_position(connection, version_num)?];
    for view in VIEWS.iter().filter(|view| view.since <= version_num) {
        let sql = format!("SELECT * FROM {} {}", view.name, view.filter);
        let table = ask(connection, view.name, &sql)?;
        let rows = view.values(&table);
        if view.summed {
            values.extend(sums(view.name, &rows));
        }
        values.extend(rows);
    }
    Ok(CounterSet { values })
}

fn wal_position(connection: &mut Connection, version_num: u32) -> Result<CounterValue> {
    let sql = if version_num >= 100_000 { WAL_SQL } else { WAL_OLD_SQL };
    Ok(CounterValue {
        view: WAL.to_string(),
        object: String::new(),
        column: WAL_COLUMN.to_string(),
        value: ask_number(connection, "end of the write-ahead log", sql)?,
    })
}

impl View {
    fn values(&self, table: &Table) -> Vec<CounterValue> {
        let is_figure =
            |name: &&String| !self.keys.contains(&name.as_str()) && !IDENTIFIERS.contains(&name.as_str());
        let mut values = Vec::new();
        for row in &table.rows {
            let object = self.object(table, row);
            let cells = table.columns.iter().zip(row).filter(|(name, _)| is_figure(name));
            // Times and names don't read as numbers and fall out here.
            values.extend(cells.filter_map(|(column, cell)| {
                let value = cell.as_ref()?.parse().ok()?;
                Some(CounterValue {
                    view: self.name.to_string(),
                    object: object.clone(),
                    column: column.clone(),
                    value,
                })
            }));
        }
        values
    }

    fn object(&self, table: &Table, row: &[Option<String>]) -> String {
        let separator = if self.name == "pg_stat_io" { "/" } else { "." };
        let part = |key: &&str| table.column(key).and_then(|at| row.get(at)?.as_deref()).unwrap_or("shared");
        self.keys.iter().map(part).collect::<Vec<_>>().join(separator)
    }
}
