//! Fills a table by INSERTs of many rows, each its own transaction, as sysbench does.

use crate::sql::tables::{Progress, Tables, push_number};
use rqps_wire::mysql::Connection;
use rqps_wire::{Error, Session};
use rqps_workloads::tproc_c::formats::SqlRows;
use rqps_workloads::tproc_c::rows::Part;
use rqps_workloads::{dialect, rows};
use std::sync::atomic::Ordering;

/// Length of a statement, unless the server's `max_allowed_packet` is smaller.
const STATEMENT_BYTES: usize = 512 * 1024;
/// Upper bound for the length of a row: two numbers of 20 digits, texts of 119 and 59 bytes, and separators.
const ROW_BYTES_MAX: usize = 256;

pub(super) fn fill_table(
    connection: &mut Connection,
    tables: Tables,
    table: u32,
    progress: &Progress,
) -> Result<(), Error> {
    let bytes_max = STATEMENT_BYTES.min(connection.packet_bytes_max()).saturating_sub(ROW_BYTES_MAX);
    let head = format!("INSERT INTO {} (id, k, c, pad) VALUES ", dialect::table_name(table));
    let mut sql = Vec::with_capacity(STATEMENT_BYTES);
    let mut id = 1;
    while id <= tables.rows && !progress.stopped() {
        let first = id;
        sql.clear();
        sql.extend_from_slice(head.as_bytes());
        while id <= tables.rows && (id == first || sql.len() < bytes_max) {
            if id > first {
                sql.push(b',');
            }
            push_row(&mut sql, &rows::row(tables.seed, table, tables.rows, id));
            id += 1;
        }
        connection.simple(&String::from_utf8_lossy(&sql))?;
        progress.rows.fetch_add(id - first, Ordering::Relaxed);
    }
    Ok(())
}

/// Appends a row as SQL. Its texts need no escapes.
fn push_row(sql: &mut Vec<u8>, row: &rows::Row) {
    sql.push(b'(');
    push_number(sql, row.id);
    sql.push(b',');
    push_number(sql, row.k);
    for text in [&row.c[..], &row.pad[..]] {
        sql.extend_from_slice(b",'");
        sql.extend_from_slice(text);
        sql.push(b'\'');
    }
    sql.push(b')');
}

pub(super) fn fill_part(connection: &mut Connection, part: &Part, progress: &Progress) -> Result<(), Error> {
    /// Upper bound for the length of the rows at a position: 15 lines of an order, or a customer.
    const POSITION_BYTES_MAX: usize = 2_048;
    let bytes_max = STATEMENT_BYTES.min(connection.packet_bytes_max()).saturating_sub(POSITION_BYTES_MAX);
    let mut sql = SqlRows::new(format!("INSERT INTO {} ({}) VALUES ", part.table, part.columns));
    // Nobody replicates a load, and the binary log would take as much room as the rows.
    connection.simple("SET SESSION sql_log_bin = 0")?;
    let mut rows = 0;
    for position in 0..part.positions() {
        rows += part.write(position, &mut sql);
        if sql.len_bytes() >= bytes_max || position + 1 == part.positions() {
            connection.simple(&sql.take_statement())?;
            progress.rows.fetch_add(std::mem::take(&mut rows), Ordering::Relaxed);
            if progress.stopped() {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_sql_and_not_longer_than_its_bound() {
        let row = rows::Row { id: u64::MAX, k: u64::MAX, ..rows::row(1, 1, 10, 9) };
        let mut sql = Vec::new();
        push_row(&mut sql, &row);
        let text = String::from_utf8(sql).unwrap();
        assert!(text.len() < ROW_BYTES_MAX, "{}", text.len());
        let fields: Vec<&str> = text.trim_matches(['(', ')']).split(',').collect();
        assert_eq!(fields[..2], [u64::MAX.to_string(), u64::MAX.to_string()]);
        assert_eq!((fields[2].len(), fields[3].len()), (121, 61));
        assert!(fields[2].starts_with('\'') && fields[3].ends_with('\''), "{text}");
    }
}
