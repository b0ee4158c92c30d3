//! Reading tables and indexes into the server's buffer pool.

use crate::system::SessionResult;
use rqps_wire::mysql::Connection;
use rqps_wire::{Error, Table};

/// The error of a statement that forces an index which does not exist or is invisible.
const NO_SUCH_INDEX: u16 = 1176;

/// Reads each table's first `rows_max` rows, by each index; the primary key is the table.
pub(super) fn warm(connection: &mut Connection, tables: &[String], rows_max: u64) -> SessionResult<()> {
    for table in tables {
        let plan = connection.query(&format!("EXPLAIN SELECT 1 FROM {table}"))?;
        let rows = values(&plan, "rows").next().flatten().and_then(|rows| rows.parse::<u64>().ok());
        let indexes = btrees(connection, table)?;
        let forced = |index: &String| format!(" FORCE INDEX (`{}`)", index.replace('`', "``"));
        let keyless = (!indexes.iter().any(|index| index == "PRIMARY")).then(|| " USE INDEX ()".to_owned());
        for index in indexes.iter().map(forced).chain(keyless) {
            // Unlike count(*), a sum reads the index that it is told to.
            let read = match rows {
                Some(rows) if rows <= rows_max => format!("SELECT sum(1) FROM {table}{index}"),
                _ => format!("SELECT sum(1) FROM (SELECT 1 FROM {table}{index} LIMIT {rows_max}) AS seen"),
            };
            match connection.query(&read) {
                Err(Error::Db { code: Some(NO_SUCH_INDEX), .. }) => {}
                other => drop(other?),
            }
        }
    }
    Ok(())
}

/// Names of a table's B-trees.
fn btrees(connection: &mut Connection, table: &str) -> SessionResult<Vec<String>> {
    let found = connection.query(&format!("SHOW INDEX FROM {table}"))?;
    let indexes = values(&found, "Key_name").zip(values(&found, "Index_type"));
    let btree = |(name, kind): (Option<&str>, Option<&str>)| {
        name.filter(|_| kind == Some("BTREE")).map(str::to_owned)
    };
    let mut names: Vec<String> = indexes.filter_map(btree).collect();
    // An index has a row for each of its columns.
    names.dedup();
    Ok(names)
}

/// A column's values, NULL as `None`.
fn values<'a>(table: &'a Table, column: &str) -> impl Iterator<Item = Option<&'a str>> {
    let column = table.column(column);
    table.rows.iter().map(move |row| row.get(column?)?.as_deref())
}
