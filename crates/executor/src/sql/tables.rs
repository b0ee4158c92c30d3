//! Parallel work on tables, and the load: create, fill, index.

use rqps_wire::{Error, Session};
use rqps_workloads::tproc_c::rows::Part;
use rqps_workloads::{Dialect, dialect};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most tables in work at the same time, whatever the number of CPUs.
const PARALLEL_TABLES_MAX: usize = 16;
/// Time between two requests to cancel running statements.
const CANCEL_INTERVAL: Duration = Duration::from_secs(1);
/// How often the callback is called.
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy)]
pub struct Tables {
    pub tables: u32,
    pub rows: u64,
    pub seed: u64,
}

/// Elapsed time of the two phases of a load.
#[derive(Debug, Clone, Copy)]
pub struct LoadTimes {
    pub rows: Duration,
    pub indexes: Duration,
}

/// Access to a server.
pub(crate) struct Access<'a, S> {
    /// Opens a session under this name.
    pub connect: &'a (dyn Fn(&str) -> Result<S, Error> + Sync),
    /// Cancels the running statements of sessions with this name.
    pub end_statements: &'a dyn Fn(&str),
}

/// Rows loaded so far, and whether to stop.
#[derive(Default)]
pub(crate) struct Progress {
    pub rows: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs `work` once for each table (numbers from 1) on several threads, each with its own session, and calls
/// `look` several times a second meanwhile. No table is begun after the first error. Once `stop` is set,
/// running statements are cancelled too, and their errors are ignored.
pub(crate) fn for_each_table<S>(
    access: &Access<'_, S>,
    (tables, purpose): (u32, &str),
    stop: &AtomicBool,
    work: impl Fn(&mut S, u32) -> Result<(), Error> + Sync,
    look: &mut dyn FnMut(),
) -> Result<(), Error> {
    let next = AtomicU32::new(1);
    let first_error = Mutex::new(None);
    let threads = PARALLEL_TABLES_MAX.min(tables as usize);
    let name = format!("rqps {purpose}");
    let connect = access.connect;
    let run = || -> Result<(), Error> {
        let mut session = connect(&name)?;
        loop {
            let table = next.fetch_add(1, Ordering::Relaxed);
            if table > tables || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            work(&mut session, table)?;
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
            std::thread::sleep(POLL);
            look();
            let due = cancelled_at.is_none_or(|at| at.elapsed() >= CANCEL_INTERVAL);
            if stop.load(Ordering::Relaxed) && due {
                cancelled_at = Some(Instant::now());
                (access.end_statements)(&name);
            }
        }
    });
    let first_error = first_error.into_inner().unwrap_or_else(PoisonError::into_inner);
    match first_error {
        Some(error) if !stop.load(Ordering::Relaxed) => Err(error),
        _ => Ok(()),
    }
}

/// Names of the microbenchmarks' first `tables` tables.
pub(crate) fn table_names(tables: u32) -> Vec<String> {
    (1..=tables).map(dialect::table_name).collect()
}

/// As [`for_each_table`], for tables by name. Returns false if `look` ended it early.
pub(crate) fn for_each_named<S>(
    access: &Access<'_, S>,
    (tables, purpose): (&[String], &str),
    work: impl Fn(&mut S, &str) -> Result<(), Error> + Sync,
    look: &mut dyn FnMut() -> bool,
) -> Result<bool, Error> {
    let stop = AtomicBool::new(false);
    let named = |session: &mut S, table: u32| work(session, &tables[table as usize - 1]);
    for_each_table(access, (tables.len() as u32, purpose), &stop, named, &mut || {
        if !look() {
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(!stop.into_inner())
}

/// Creates all tables, fills each with `fill`, and indexes them. `tick` is called several times a second with
/// the phase and the rows so far; when it returns false, the load ends early with `None`.
pub(crate) fn load<S: Session>(
    access: &Access<'_, S>,
    dialect: Dialect,
    tables: Tables,
    fill: impl Fn(&mut S, Tables, u32, &Progress) -> Result<(), Error> + Sync,
    tick: &mut dyn FnMut(&'static str, u64) -> bool,
) -> Result<Option<LoadTimes>, Error> {
    let progress = Progress::default();
    let start = Instant::now();
    let mut look = |what| {
        if !tick(what, progress.rows.load(Ordering::Relaxed)) {
            progress.stop.store(true, Ordering::Relaxed);
        }
    };
    let run =
        |session: &mut S, all: Vec<String>| all.iter().try_for_each(|sql| session.simple(sql).map(|_| ()));
    let create = |session: &mut S, table| {
        run(session, dialect::create_table(dialect, table))?;
        fill(session, tables, table, &progress)
    };
    for_each_table(access, (tables.tables, "load"), &progress.stop, create, &mut || look("rows"))?;
    let rows = start.elapsed();
    let index = |session: &mut S, table| run(session, dialect::finish_table(dialect, table, tables.rows));
    for_each_table(access, (tables.tables, "index"), &progress.stop, index, &mut || look("indexes"))?;
    let indexes = start.elapsed() - rows;
    Ok((!progress.stopped()).then_some(LoadTimes { rows, indexes }))
}

/// Fills tables part by part with `fill`; calls `tick` as [`load`] does. Returns false if that ended it early.
pub(crate) fn fill_parts<S>(
    access: &Access<'_, S>,
    parts: &[Part],
    fill: impl Fn(&mut S, &Part, &Progress) -> Result<(), Error> + Sync,
    tick: &mut dyn FnMut(&'static str, u64) -> bool,
) -> Result<bool, Error> {
    let progress = Progress::default();
    let work = |session: &mut S, number: u32| fill(session, &parts[number as usize - 1], &progress);
    for_each_table(access, (parts.len() as u32, "load"), &progress.stop, work, &mut || {
        if !tick("rows", progress.rows.load(Ordering::Relaxed)) {
            progress.stop.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(!progress.stopped())
}

/// Appends a number in decimal digits, without allocating.
pub(crate) fn push_number(text: &mut Vec<u8>, mut number: u64) {
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
    text.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_all_their_digits() {
        let mut number = Vec::new();
        push_number(&mut number, 0);
        push_number(&mut number, 1_234_567_890);
        assert_eq!(number, b"01234567890");
    }
}
