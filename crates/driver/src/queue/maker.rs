//! The maker: writes a client's INSERT and DELETE statements alternately and queues them for the sessions
//! that send them, as fast as these accept them or at the background rate.

use super::pacer::Timetable;
use super::shared::{ClientState, QueuedStatement, Report, Shared};
use crate::clock::Moment;
use crate::pacer::sleep_until;
use rqps_wire::{Error, Session};
use rqps_workloads::insert_benchmark::{date_number, min_sql, statement_stream, write_delete, write_insert};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The smallest key is estimated, and looked up again after this many rounds.
const RESYNC_ROUNDS: u64 = 1000;

/// Rows that a maker has yet to make statements for.
struct Left {
    insert_rows: u64,
    delete_rows: u64,
}

/// Makes all statements of a client. `session` is given if the test deletes.
pub(super) fn make<S: Session>(
    shared: &Shared<'_>,
    report: &mut Report,
    mut session: Option<&mut S>,
) -> Result<(), Error> {
    let (spec, queue) = (shared.spec, shared.queue);
    let client = report.worker.client;
    let state = &shared.clients[client as usize];
    let table = spec.table(client);
    let sharing = if spec.shared_table { spec.clients() } else { 1 };
    let min = min_sql(table);
    let batch = queue.rows_per_statement;
    let positions = spec.positions[client as usize];
    let mut left =
        left(spec.limit.time().is_some(), queue.deletes, positions.rows_to_insert, positions.rows_to_delete);
    let mut timetable = queue
        .rows_per_second
        .map(|rate| Timetable::new(spec.pacer, (client, spec.clients()), rate, batch, shared.started()));
    let (mut insert, mut delete) = (QueuedStatement::default(), QueuedStatement::default());
    let mut number = positions.insert_from;
    for round in 0.. {
        if left.insert_rows == 0 && left.delete_rows == 0 {
            break;
        }
        let due = timetable.as_mut().map(|timetable| timetable.next(Moment::now()));
        if due.is_some_and(|due| !sleep_until(due, || shared.control.phase_ended()))
            || shared.control.phase_ended()
        {
            break;
        }
        let rows = take_rows(&mut left.insert_rows, batch);
        if rows > 0 {
            insert.text.clear();
            insert.rows = rows;
            let mut stream = statement_stream(spec.seed, client, number);
            let date = date_number(number, client, sharing);
            write_insert(&mut insert.text, table, &mut stream, date, rows);
            number += 1;
            if !state.inserts.push(&mut insert) {
                break;
            }
        }
        let rows = take_rows(&mut left.delete_rows, batch);
        if rows > 0 {
            if round % RESYNC_ROUNDS == 0
                && let Some(session) = &mut session
            {
                look_up_min_key(*session, &min, report, state)?;
            }
            delete.text.clear();
            delete.rows = rows;
            let low = state.low_key.load(Ordering::Relaxed);
            write_delete(&mut delete.text, spec.delete_form, spec.dialect, table, low, rows);
            state.low_key.store(low.saturating_add(i64::from(rows)), Ordering::Relaxed);
            if !state.deletes.push(&mut delete) {
                break;
            }
        }
    }
    Ok(())
}

fn left(by_time: bool, deletes: bool, insert_rows: u64, delete_rows: u64) -> Left {
    let delete_rows = if deletes { delete_rows } else { 0 };
    match by_time {
        false => Left { insert_rows, delete_rows },
        true => Left { insert_rows: u64::MAX, delete_rows: if deletes { u64::MAX } else { 0 } },
    }
}

/// Returns the number of rows of the next statement.
fn take_rows(left: &mut u64, batch: u32) -> u32 {
    let rows = u64::from(batch).min(*left);
    *left -= rows;
    rows as u32
}

/// Replaces the estimate of the smallest key by the true one, or 0 if the table is empty.
fn look_up_min_key<S: Session>(
    session: &mut S,
    min: &str,
    report: &mut Report,
    state: &ClientState,
) -> Result<(), Error> {
    let sent = Moment::now();
    let low = session.number(min)?.unwrap_or(0);
    report.lookup += Duration::from_nanos(Moment::now().ns_since(sent));
    report.lookups += 1;
    state.low_key.store(low, Ordering::Relaxed);
    Ok(())
}
