//! Reading tables and indexes into the server's shared buffers.

use crate::system::SessionResult;
use rqps_wire::Session;
use rqps_wire::postgres::Connection;

/// Pages that one statement reads: it holds a list of their addresses.
const PAGES_AT_ONCE: u64 = 100_000;

/// Reads each table's first `rows_max` rows and indexes, in all its partitions. Sequential scans of tables larger than
/// a quarter of `shared_buffers` use a ring of 256 kB (`GetAccessStrategy`), so pages are read by the addresses of
/// their first rows, which need not exist.
pub(super) fn warm(connection: &mut Connection, tables: &[String], rows_max: u64) -> SessionResult<()> {
    for option in ["enable_seqscan", "enable_bitmapscan", "enable_sort"] {
        connection.simple(&format!("SET {option} = off"))?;
    }
    for table in tables {
        for (part, pages) in parts(connection, table, rows_max)? {
            read_pages(connection, &part, pages)?;
            read_indexes(connection, &part, rows_max)?;
        }
    }
    Ok(())
}

/// The table, or its partitions, each with the number of pages that hold its first `rows_max` rows.
fn parts(connection: &mut Connection, table: &str, rows_max: u64) -> SessionResult<Vec<(String, u64)>> {
    let oid = regclass(table);
    let found = connection.query(&format!(
        "SELECT oid::regclass, pg_relation_size(oid) / current_setting('block_size')::bigint, reltuples::bigint \
         FROM pg_class WHERE relkind = 'r' \
         AND (oid = {oid} OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = {oid})) ORDER BY oid"
    ))?;
    let part = |row: Vec<Option<String>>| {
        let [name, pages, rows] = <[Option<String>; 3]>::try_from(row).ok()?;
        let (pages, rows): (u64, f64) = (pages?.parse().ok()?, rows?.parse().ok()?);
        let share = (rows_max as f64 / rows.max(1.0)).min(1.0);
        Some((name?, (pages as f64 * share).ceil() as u64))
    };
    Ok(found.rows.into_iter().filter_map(part).collect())
}

fn read_pages(connection: &mut Connection, part: &str, pages: u64) -> SessionResult<()> {
    for first in (0..pages).step_by(PAGES_AT_ONCE as usize) {
        let last = pages.min(first + PAGES_AT_ONCE) - 1;
        connection.query(&format!(
            "SELECT count(*) FROM {part} WHERE ctid = \
             ANY (ARRAY(SELECT ('(' || page || ',1)')::tid FROM generate_series({first}, {last}) AS page))"
        ))?;
    }
    Ok(())
}

/// Reads indexes in their order. Those that need a sort to be read so are left out.
fn read_indexes(connection: &mut Connection, part: &str, rows_max: u64) -> SessionResult<()> {
    let keys = if connection.server_version_num() >= 110_000 { "indnkeyatts" } else { "indnatts" };
    let found = connection.query(&format!(
        "SELECT array_to_string(ARRAY(SELECT pg_get_indexdef(indexrelid, key, false) \
         FROM generate_series(1, {keys}::int) AS key ORDER BY key), ', ') \
         FROM pg_index WHERE indrelid = {} AND indisvalid AND indpred IS NULL ORDER BY indexrelid",
        regclass(part)
    ))?;
    for keys in found.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        let read =
            format!("SELECT count(*) FROM (SELECT 1 FROM {part} ORDER BY {keys} LIMIT {rows_max}) AS seen");
        let plan = connection.query(&format!("EXPLAIN {read}"))?;
        if !plan.rows.iter().flatten().flatten().any(|line| line.contains("Sort")) {
            connection.query(&read)?;
        }
    }
    Ok(())
}

fn regclass(table: &str) -> String {
    format!("'{}'::regclass", table.replace('\'', "''"))
}
