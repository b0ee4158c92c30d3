//! The server's own counters before and after a stretch of work: all figures that it shows, including gauges, whose
//! differences mean little. Nothing is selected or judged here.
//!
//! | view | object | columns |
//! | --- | --- | --- |
//! | `global_status` | | `SHOW GLOBAL STATUS`, names in lower case |
//! | `innodb_metrics` | | the enabled counts of `information_schema.innodb_metrics` |
//! | `innodb_status` | | the figures of [`crate::mysql::innodb_status`] |
//! | `file_io` | kind of file, such as `innodb/innodb_data_file` | `count_{read,write,misc}`, `sum_timer_{read,write,misc}_us`, `bytes_{read,write}` |
//! | `waits` | event without `wait/` | `count`, `sum_us` |
//! | `table_io` | table, or all | `rows_{read,inserted,updated,deleted}`, their times |
//!
//! The last three are from performance_schema, and empty if it is off or not built in.
//!
//! # Exact differences
//!
//! All counters are up to date at any time (see [`crate::mysql`]). The difference of two snapshots includes the first
//! one's own statements: exactly [`OWN_QUESTIONS`] in `questions` and `queries`, and `com_show_status`, `com_select`,
//! `bytes_sent`, `created_tmp_tables`, `handler_write` (MariaDB: `handler_tmp_write`), `handler_read_rnd_next`,
//! `select_scan` and MariaDB's `rows_read`, for the rows that it returned (some 1,500 to 3,000). Rows of InnoDB's
//! tables are not touched; MySQL 9 looks up a few rows of its own.

use rqps_wire::mysql::Connection;
use rqps_wire::{Error as WireError, Table};

use super::{innodb_status, query};
use crate::cells::{cell, number};
use crate::counters::{CounterSet, CounterValue, sums};
use crate::error::{Error, Result};

/// Statements of the first snapshot that are included in the difference to the second.
pub const OWN_QUESTIONS: u64 = 6;

pub(crate) const GLOBAL_STATUS: &str = "global_status";
pub(crate) const INNODB_METRICS: &str = "innodb_metrics";
pub(crate) const INNODB_STATUS: &str = "innodb_status";
const FILE_IO: &str = "file_io";
const WAITS: &str = "waits";
pub(crate) const TABLE_IO: &str = "table_io";

/// Times are in picoseconds.
const FILE_IO_SQL: &str = "\
    SELECT substring(event_name, 14) AS object, count_read, count_write, count_misc, \
    sum_timer_read / 1e6 AS sum_timer_read_us, sum_timer_write / 1e6 AS sum_timer_write_us, \
    sum_timer_misc / 1e6 AS sum_timer_misc_us, \
    sum_number_of_bytes_read AS bytes_read, sum_number_of_bytes_write AS bytes_write \
    FROM performance_schema.file_summary_by_event_name WHERE count_star > 0";
const WAITS_SQL: &str = "\
    SELECT CASE WHEN event_name LIKE 'wait/%' THEN substring(event_name, 6) ELSE event_name END AS object, \
    count_star AS count, sum_timer_wait / 1e6 AS sum_us \
    FROM performance_schema.events_waits_summary_global_by_event_name WHERE count_star > 0";
const TABLE_IO_SQL: &str = "\
    SELECT object_name AS object, count_fetch AS rows_read, count_insert AS rows_inserted, \
    count_update AS rows_updated, count_delete AS rows_deleted, sum_timer_fetch / 1e6 AS sum_timer_read_us, \
    sum_timer_insert / 1e6 AS sum_timer_insert_us, sum_timer_update / 1e6 AS sum_timer_update_us, \
    sum_timer_delete / 1e6 AS sum_timer_delete_us \
    FROM performance_schema.table_io_waits_summary_by_table \
    WHERE object_type = 'TABLE' AND object_schema = DATABASE()";

/// Errors of a server built without performance_schema: no such database, no such table.
const NOT_BUILT_IN: [u16; 2] = [1049, 1146];

/// Reads all counters, the status last.
///
/// # Errors
/// If a query fails or its result is unexpected.
pub fn snapshot(connection: &mut Connection) -> Result<CounterSet> {
    let mut values = Vec::new();
    values.extend(objects(FILE_IO, &query_schema(connection, "counters of files", FILE_IO_SQL)?));
    values.extend(objects(WAITS, &query_schema(connection, "counters of waits", WAITS_SQL)?));
    let tables = objects(TABLE_IO, &query_schema(connection, "counters of tables", TABLE_IO_SQL)?);
    values.extend(sums(TABLE_IO, &tables));
    values.extend(tables);
    let figures = innodb_status::read(connection)?.figures;
    values.extend(figures.into_iter().map(|(name, figure)| value(INNODB_STATUS, "", name, figure)));
    values.extend(metrics(connection)?);
    values.extend(status(connection)?);
    Ok(CounterSet { values })
}

/// Queries performance_schema; an empty table if it is not built in.
fn query_schema(connection: &mut Connection, what: &str, sql: &str) -> Result<Table> {
    match connection.query(sql) {
        Err(WireError::Db { code: Some(code), .. }) if NOT_BUILT_IN.contains(&code) => {
            Ok(Table { columns: Vec::new(), rows: Vec::new() })
        }
        answer => answer.map_err(Error::database(what)),
    }
}

fn value(view: &str, object: &str, column: &str, value: f64) -> CounterValue {
    CounterValue { view: view.to_owned(), object: object.to_owned(), column: column.to_owned(), value }
}

/// Every figure of rows whose first column is the object.
fn objects(view: &str, table: &Table) -> Vec<CounterValue> {
    let row_values = |row: &Vec<Option<String>>| -> Vec<CounterValue> {
        let object = cell(row, 0).unwrap_or_default();
        let figures = table.columns.iter().enumerate().skip(1);
        figures.filter_map(|(at, column)| Some(value(view, object, column, figure(row, at)?))).collect()
    };
    table.rows.iter().flat_map(row_values).collect()
}

/// A cell's number; `None` for names, timestamps and switches.
fn figure(row: &[Option<String>], at: usize) -> Option<f64> {
    number(row, at).filter(|value: &f64| value.is_finite())
}

/// Whether a metric is enabled is in `status`, in newer versions of MariaDB in `enabled`.
fn metrics(connection: &mut Connection) -> Result<Vec<CounterValue>> {
    let table = query(connection, "metrics of InnoDB", "SELECT * FROM information_schema.innodb_metrics")?;
    let column = |name: &str| table.columns.iter().position(|known| known.eq_ignore_ascii_case(name));
    let (Some(name), Some(count)) = (column("name"), column("count")) else {
        let found = format!("columns {}", table.columns.join(", "));
        return Err(Error::Answer { what: "metrics of InnoDB".to_owned(), found });
    };
    let (status, enabled) = (column("status"), column("enabled"));
    let is_on = |row: &[Option<String>]| {
        status.and_then(|at| cell(row, at)) == Some("enabled")
            || enabled.and_then(|at| cell(row, at)) == Some("1")
    };
    let on = table.rows.iter().filter(|row| is_on(row));
    Ok(on.filter_map(|row| Some(value(INNODB_METRICS, "", cell(row, name)?, figure(row, count)?))).collect())
}

fn status(connection: &mut Connection) -> Result<Vec<CounterValue>> {
    let table = query(connection, "status", "SHOW GLOBAL STATUS")?;
    let named = |row: &Vec<Option<String>>| {
        let name = cell(row, 0)?.to_ascii_lowercase();
        Some(value(GLOBAL_STATUS, "", &name, figure(row, 1)?))
    };
    Ok(table.rows.iter().filter_map(named).collect())
}
