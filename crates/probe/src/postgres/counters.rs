//! The server's own counters before and after a stretch of work: every numeric column of the version's views. Nothing
//! is selected or judged here.
//!
//! # Exact differences
//!
//! Sessions report their counters late, so a snapshot taken right after some work misses part of it. Differences are
//! exact with the procedure of [`crate::postgres::flush`]. Then the difference of two snapshots is the work of the
//! sessions, plus in `pg_stat_database.xact_commit` exactly [`OWN_COMMITS`] for the first snapshot itself and one for
//! each flush statement that a session ran after it. The snapshot's other reads are not in the figures of tables,
//! indexes and databases, because it runs with `track_counts` off; `pg_stat_io` (16 and later) counts its catalog
//! reads.

use rqps_wire::Table;
use rqps_wire::postgres::Connection;

use super::{flush, query, query_value};
use crate::counters::{CounterSet, CounterValue, sums};
use crate::error::Result;

/// Transactions of the first snapshot that are included in the difference to the second.
pub const OWN_COMMITS: u64 = 1;

/// Pseudo view of the WAL's end, its only counter common to all versions.
pub const WAL: &str = "wal";

/// Bytes ever written to the WAL.
const WAL_COLUMN: &str = "lsn_bytes";

const WAL_SQL: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')";
/// For versions before 10.
const WAL_OLD_SQL: &str = "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')";

struct View {
    name: &'static str,
    /// First `server_version_num` that has it.
    since: u32,
    /// WHERE clause of the rows that are read.
    filter: &'static str,
    /// Columns that identify a row.
    keys: &'static [&'static str],
    /// Whether rows are summed as object [`crate::counters::ALL`].
    summed: bool,
}

const IN_PUBLIC: &str = "WHERE schemaname = 'public'";

/// The views to read, in the order of [`CounterSet::values`].
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

/// Reads all counters in one transaction. For exact figures, follow [`crate::postgres::flush`] first.
pub fn snapshot(connection: &mut Connection) -> Result<CounterSet> {
    let version_num = connection.server_version_num();
    query(connection, "begin of counters", "BEGIN READ ONLY; SET LOCAL track_counts = off")?;
    let set = read_views(connection, version_num);
    // The transaction must end even if reading failed; the first error is returned.
    let ended = query(connection, "end of counters", "COMMIT");
    let set = set?;
    ended?;
    Ok(set)
}

fn read_views(connection: &mut Connection, version_num: u32) -> Result<CounterSet> {
    if version_num >= flush::FORCED_SINCE {
        query(connection, "flush of statistics", flush::FORCE_SQL)?;
    }
    query(connection, "begin of counters", "SET LOCAL track_counts = off")?;
    let mut values = vec![wal_position(connection, version_num)?];
    for view in VIEWS.iter().filter(|view| view.since <= version_num) {
        let sql = format!("SELECT * FROM {} {}", view.name, view.filter);
        let table = query(connection, view.name, &sql)?;
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
        value: query_value(connection, "end of the write-ahead log", sql)?,
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
            // Timestamps and names do not parse as numbers.
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
