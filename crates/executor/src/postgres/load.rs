//! Loading: COPY, in parallel over tables, indexes after the rows.

use super::cancel::end_statements;
use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Error, Session};
use rqps_workloads::{Dialect, dialect, rows};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tables that are filled or indexed at the same time, whatever the number of processors.
pub const PARALLEL_TABLES_MAX: usize = 16;
/// Rows that are made before they are handed to the connection.
const BATCH_ROWS: u64 = 500;
/// Pause before a server is asked again to end statements in flight.
const CANCEL_AGAIN: Duration = Duration::from_secs(1);

/// What to load.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// How many.
    pub tables: u32,
    /// Rows in each.
    pub rows: u64,
    /// Seed of their content.
    pub seed: u64,
}

/// How long the two stretches took by the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct LoadTimes {
    /// Creating and filling.
    pub rows: Duration,
    /// Indexing.
    pub indexes: Duration,
}

/// Creates, fills and indexes all tables, replacing those of an earlier try. `tick` is called several times a second
/// with the rows so far; when it returns false, the load ends early with `None`.
pub fn load(
    endpoint: &Endpoint,
    tables: Tables,
    mut tick: impl FnMut(&'static str, u64) -> bool,
) -> Result<Option<LoadTimes>, Error> {
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let start = Instant::now();
    let fill = |connection: &mut Connection, table| fill_table(connection, tables, table, &done, &stop);
    let look = |tick: &mut dyn FnMut(&'static str, u64) -> bool, name| {
        if !tick(name, done.load(Ordering::Relaxed)) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    for_each_table(endpoint, tables.tables, "load", &stop, fill, || look(&mut tick, "rows"))?;
    let rows = start.elapsed();
    let index = |connection: &mut Connection, table| {
        dialect::finish_table(Dialect::Postgres, table, tables.rows)
            .iter()
            .try_for_each(|sql| connection.simple(sql).map(|_| ()))
    };
    for_each_table(endpoint, tables.tables, "index", &stop, index, || look(&mut tick, "indexes"))?;
    let indexes = start.elapsed() - rows;
    Ok((!stop.into_inner()).then_some(LoadTimes { rows, indexes }))
}

/// Runs `work` once for each table (numbers from 1), several at the same time, each thread with a connection of its
/// own; `look` is called several times a second meanwhile. After the first error no further table is begun.
/// Once `stop` is set, statements in flight are ended too, and what they say of it is no error.
pub fn for_each_table(
    endpoint: &Endpoint,
    tables: u32,
    what_for: &str,
    stop: &AtomicBool,
    work: impl Fn(&mut Connection, u32) -> Result<(), Error> + Sync,
    mut look: impl FnMut(),
) -> Result<(), Error> {
    let next = AtomicU32::new(1);
    let first_error = Mutex::new(None);
    let threads = PARALLEL_TABLES_MAX.min(tables as usize);
    let name = format!("rqps {what_for}");
    let run = || -> Result<(), Error> {
        let mut connection = Connection::connect(endpoint, &name)?;
        loop {
            let table = next.fetch_add(1, Ordering::Relaxed);
            if table > tables || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            work(&mut connection, table)?;
        }
    };
    std::thread::scope(|scope| {
        let spawn = |_| {
            scope.spawn(|| {
                if let Err(error) = run() {
                    next.store(tables, Ordering::Relaxed);
                    first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            })
        };
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        let mut cancelled_at: Option<Instant> = None;
        while handles.iter().any(|handle| !handle.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            look();
            let due = cancelled_at.is_none_or(|at| at.elapsed() >= CANCEL_AGAIN);
            if stop.load(Ordering::Relaxed) && due {
                cancelled_at = Some(Instant::now());
                end_statements(endpoint, &name);
            }
        }
    });
    let first_error = first_error.into_inner().unwrap_or_else(PoisonError::into_inner);
    match first_error {
        Some(error) if !stop.load(Ordering::Relaxed) => Err(error),
        _ => Ok(()),
    }
}

fn fill_table(
    connection: &mut Connection,
    tables: Tables,
    table: u32,
    done: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), Error> {
    for sql in dialect::create_table(Dialect::Postgres, table) {
        connection.simple(&sql)?;
    }
    let name = dialect::table_name(table);
    let mut copy = connection.copy_in(&format!("COPY {name} (id, k, c, pad) FROM STDIN"))?;
    let mut batch = Vec::new();
    let mut first = 1;
    while first <= tables.rows && !stop.load(Ordering::Relaxed) {
        let last = tables.rows.min(first + BATCH_ROWS - 1);
        batch.clear();
        for id in first..=last {
            push_row(&mut batch, &rows::row(tables.seed, table, tables.rows, id));
        }
        copy.write(&batch)?;
        done.fetch_add(last - first + 1, Ordering::Relaxed);
        first = last + 1;
    }
    copy.finish().map(|_| ())
}

/// A row in COPY's text format; its values need no escapes.
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

fn push_number(batch: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    batch.extend_from_slice(&digits[at..]);
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
        let mut number = Vec::new();
        push_number(&mut number, 0);
        push_number(&mut number, 1_234_567_890);
        assert_eq!(number, b"01234567890");
    }
}
