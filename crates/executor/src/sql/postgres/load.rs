//! Fills a table by COPY.

use crate::sql::tables::{Progress, Tables, push_number};
use rqps_wire::Error;
use rqps_wire::postgres::Connection;
use rqps_workloads::tproc_c::formats::CopyRows;
use rqps_workloads::tproc_c::rows::Part;
use rqps_workloads::{dialect, rows};
use std::sync::atomic::Ordering;

/// Rows per write to the connection.
const BATCH_ROWS: u64 = 500;

pub(super) fn fill_table(
    connection: &mut Connection,
    tables: Tables,
    table: u32,
    progress: &Progress,
) -> Result<(), Error> {
    let name = dialect::table_name(table);
    let mut copy = connection.copy_in(&format!("COPY {name} (id, k, c, pad) FROM STDIN"))?;
    let mut batch = Vec::new();
    let mut first = 1;
    while first <= tables.rows && !progress.stopped() {
        let last = tables.rows.min(first + BATCH_ROWS - 1);
        batch.clear();
        for id in first..=last {
            push_row(&mut batch, &rows::row(tables.seed, table, tables.rows, id));
        }
        copy.write(&batch)?;
        progress.rows.fetch_add(last - first + 1, Ordering::Relaxed);
        first = last + 1;
    }
    copy.finish().map(|_| ())
}

/// Appends a row in COPY's text format. Its values need no escapes.
fn push_row(batch: &mut Vec<u8>, row: &rows::Row) {
    push_number(batch, row.id);
    batch.push(b'\t');
    push_number(batch, row.k);
    batch.push(b'\t');
    batch.extend_from_slice(&row.c);
    batch.push(b'\t');
    batch.extend_from_slice(&row.pad);
    batch.push(b'\n');
}

pub(super) fn fill_part(connection: &mut Connection, part: &Part, progress: &Progress) -> Result<(), Error> {
    let mut copy = connection.copy_in(&format!("COPY {} ({}) FROM STDIN", part.table, part.columns))?;
    let mut batch = CopyRows::default();
    let mut rows = 0;
    for position in 0..part.positions() {
        rows += part.write(position, &mut batch);
        if rows >= BATCH_ROWS || position + 1 == part.positions() {
            copy.write(batch.as_bytes())?;
            batch.clear();
            progress.rows.fetch_add(std::mem::take(&mut rows), Ordering::Relaxed);
            if progress.stopped() {
                break;
            }
        }
    }
    copy.finish().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_in_copy_format() {
        let row = rows::row(1, 1, 10, 9);
        let mut batch = Vec::new();
        push_row(&mut batch, &row);
        let text = String::from_utf8(batch).unwrap();
        let fields: Vec<&str> = text.trim_end().split('\t').collect();
        assert_eq!(fields[..2], ["9".to_owned(), row.k.to_string()]);
        assert_eq!((fields[2].len(), fields[3].len()), (119, 59));
    }
}
