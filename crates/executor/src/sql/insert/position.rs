//! Reads the queue's position from the tables.

use super::InsertStep;
use crate::error::{Error, Result};
use crate::system::Admin;
use rqps_driver::queue::Positions;
use rqps_model::Limit;
use rqps_workloads::insert_benchmark::{
    DeleteForm, EndsBy, Position, keys_taken, last_key_sql, newest_number_of_lane_sql, newest_number_sql,
    oldest_number_sql, oldest_rows_sql, rows_before, table_name,
};

const DOING: &str = "reading the queue's position";

/// The position of each client's queue.
pub(super) struct QueuePosition {
    clients: Vec<Position>,
}

impl QueuePosition {
    pub fn read(admin: &mut dyn Admin, work: &InsertStep<'_>, arm: &str) -> Result<Self> {
        let mut ask = |sql: &str| -> Result<Option<u64>> {
            let table = admin.query(sql).map_err(Error::session(arm, DOING))?;
            Ok(table.value().and_then(|text| text.parse().ok()))
        };
        let clients = (0..work.clients()).map(|client| client_position(&mut ask, work, client));
        Ok(Self { clients: clients.collect::<Result<_>>()? })
    }

    /// Where each client starts, and what is left of the step for it.
    pub fn positions(&self, work: &InsertStep<'_>) -> Vec<Positions> {
        let end = work.stretch.to;
        let left = |at: &Position| Positions {
            insert_from: at.statements,
            rows_to_insert: end.inserted.saturating_sub(at.inserted),
            rows_to_delete: if work.deletes() { end.deleted.saturating_sub(at.deleted) } else { 0 },
        };
        self.clients.iter().map(left).collect()
    }

    /// Why the step has no valid result if an earlier attempt did part of it: it did less than on the other
    /// arms, and on a server that has just been started.
    pub fn partly_done(&self, work: &InsertStep<'_>) -> Option<String> {
        let by_rows = matches!(work.step.limit, Limit::Rows(_)) && !work.queue.builds_indexes;
        let whole = (work.stretch.to.inserted - work.stretch.from.inserted) * u64::from(work.clients());
        let left: u64 = self.positions(work).iter().map(|position| position.rows_to_insert).sum();
        (work.repeats && by_rows && left < whole).then(|| {
            format!(
                "it was cut off when {} of its {whole} rows were inserted, and went on with the others; `rqps resume` of the \
                 complete run measures the arm anew, from its load",
                whole - left
            )
        })
    }

    /// Sets the next keys as if the step had not been interrupted: a crashed server skips some, and a new
    /// session reserves new ones.
    pub fn restore_keys(&self, admin: &mut dyn Admin, work: &InsertStep<'_>, arm: &str) -> Result<()> {
        for (client, at) in (0..).zip(&self.clients) {
            let of_step = at.inserted.saturating_sub(work.stretch.from.inserted);
            work.set_last_key(admin, work.table_of(client), work.keys_before() + of_step, arm)?;
        }
        Ok(())
    }

    /// Describes the first client whose queue is not at its planned position after the step. With the older
    /// form of deletes the number of deleted rows is not checked: it finds fewer rows where keys have gaps,
    /// and the next step catches up.
    pub fn misplaced(&self, work: &InsertStep<'_>) -> Option<String> {
        let end = work.stretch.to;
        let is_exact = work.deletes() && work.options.delete_form == DeleteForm::In;
        let wrong = |at: &Position| at.inserted != end.inserted || (is_exact && at.deleted != end.deleted);
        let (client, at) = (0..).zip(&self.clients).find(|(_, at)| wrong(at))?;
        Some(format!(
            "{}: {} rows inserted and {} deleted so far, planned are {} and {}",
            table_name(work.table_of(client)),
            at.inserted,
            at.deleted,
            end.inserted,
            end.deleted
        ))
    }
}

impl InsertStep<'_> {
    /// Number of keys of a table that earlier steps use.
    fn keys_before(&self) -> u64 {
        let earlier =
            self.stretches.iter().take_while(|stretch| stretch.test.name != self.stretch.test.name).count();
        keys_taken(&self.stretches[..earlier], self.dialect)
    }

    /// Sets the next keys as if this step had not been interrupted.
    pub fn set_end_keys(&self, admin: &mut dyn Admin, arm: &str) -> Result<()> {
        let last = self.keys_before() + keys_taken(&[self.stretch], self.dialect);
        (0..self.clients()).try_for_each(|client| self.set_last_key(admin, self.table_of(client), last, arm))
    }

    /// No effect with a shared table or steps that end by time: there, keys depend on timing on every arm.
    fn set_last_key(&self, admin: &mut dyn Admin, table: u32, key: u64, arm: &str) -> Result<()> {
        if self.is_shared() || self.options.ends_by == EndsBy::Time || key == 0 {
            return Ok(());
        }
        let sql = last_key_sql(self.dialect, table, key);
        admin.query(&sql).map_err(Error::session(arm, "setting the next key"))?;
        Ok(())
    }
}

fn client_position(
    ask: &mut dyn FnMut(&str) -> Result<Option<u64>>,
    work: &InsertStep<'_>,
    client: u32,
) -> Result<Position> {
    let (dialect, table, sharing) = (work.dialect, work.table_of(client), work.clients());
    let shared = work.is_shared();
    if shared && !work.repeats && work.options.ends_by == EndsBy::Rows {
        // To tell the clients' rows apart, the whole table would have to be read, which would change what is
        // cached.
        return Ok(work.stretch.from);
    }
    let newest = match shared {
        true => ask(&newest_number_of_lane_sql(dialect, table, client, sharing))?,
        false => ask(&newest_number_sql(dialect, table))?,
    };
    let Some(newest) = newest else {
        return Ok(Position::default());
    };
    let statements = 1 + if shared { newest / u64::from(sharing) } else { newest };
    let inserted = rows_before(&work.stretches, statements);
    if work.stretch.from.deleted == 0 && !work.deletes() {
        return Ok(Position { statements, inserted, deleted: 0 });
    }
    // Deletes may end within a statement's rows: l.i0 inserts by the hundred, deletes remove fifty.
    let oldest = ask(&oldest_number_sql(dialect, table))?.unwrap_or_default();
    let left = ask(&oldest_rows_sql(table))?.unwrap_or_default();
    let deleted = rows_before(&work.stretches, oldest + 1).saturating_sub(left);
    Ok(Position { statements, inserted, deleted })
}
