//! Admin sessions on Postgres.

use super::{images, warm};
use crate::error::Result;
use crate::system::{Admin, Example, PageImages, SESSION_PREFIX, SessionResult};
use rqps_model::{QueryPlan, ServerSetting};
use rqps_probe::counters::CounterSet;
use rqps_probe::postgres::{about, counters, explain, fingerprint, flush, queue, waits};
use rqps_probe::queue::{Planning, Sizes};
use rqps_probe::waits::WaitSampler;
use rqps_probe::{FlushProcedure, WorkIn};
use rqps_wire::postgres::Connection;
use rqps_wire::{Error, Session, Table};

/// Waits until all earlier commits are on disk, including those with `synchronous_commit = off`.
pub(super) fn flush_commits(connection: &mut Connection) -> SessionResult<()> {
    // A transaction that logs nothing would not wait for the disk. Nobody reads the message; before 9.6, which has
    // none, a large object comes and goes.
    let logs_something = match connection.server_version_num() {
        90_600.. => "SELECT pg_logical_emit_message(true, 'rqps', '')",
        _ => "SELECT lo_unlink(lo_create(0))",
    };
    for sql in ["SET synchronous_commit = on", logs_something] {
        connection.query(sql)?;
    }
    Ok(())
}

/// `pause_cleanup` has nothing to do: autovacuum is off in blocks, and other cleaning happens in the
/// sessions.
impl Admin for Connection {
    fn query(&mut self, sql: &str) -> SessionResult<Table> {
        Connection::query(self, sql)
    }

    fn copy_rows(
        &mut self,
        statement: &str,
        next: &mut dyn FnMut(&mut Vec<u8>) -> std::result::Result<bool, String>,
    ) -> SessionResult<u64> {
        let mut copy = self.copy_in(statement)?;
        let mut rows = Vec::new();
        loop {
            rows.clear();
            let more = next(&mut rows).map_err(Error::Misuse)?;
            copy.write(&rows)?;
            if !more {
                return copy.finish();
            }
        }
    }

    fn backend_id(&self) -> u32 {
        Session::backend_id(self)
    }

    fn warm(&mut self, tables: &[String], rows_max: u64) -> SessionResult<()> {
        warm::warm(self, tables, rows_max)
    }

    /// The session that made the last action durable may still be about to report its commits.
    fn begin_step(&mut self) -> SessionResult<()> {
        flush::wait_for_ended(self, SESSION_PREFIX)
    }

    /// With `synchronous_commit = off`, the last commits are in memory only and would be lost if the server
    /// were killed.
    fn make_durable(&mut self) -> SessionResult<()> {
        flush_commits(self)
    }

    fn version_text(&mut self) -> SessionResult<String> {
        Ok(Connection::query(self, "SELECT version()")?.value().unwrap_or_default().to_owned())
    }

    fn build_facts(&mut self) -> Result<Vec<(String, String)>> {
        Ok(about::build_facts(self)?)
    }

    fn settings(&mut self) -> Result<Vec<ServerSetting>> {
        Ok(about::settings(self)?)
    }

    fn fingerprint(&mut self) -> Result<Vec<(String, String)>> {
        Ok(fingerprint::fingerprint(self)?.key_values())
    }

    fn sizes(&mut self) -> Result<Sizes> {
        Ok(queue::sizes(self)?)
    }

    fn debt(&mut self) -> Result<f64> {
        Ok(queue::dead_rows(self)? as f64)
    }

    fn planning(&mut self, sql: &str) -> Result<Option<Planning>> {
        Ok(queue::planning(self, sql)?)
    }

    fn explain(&mut self, Example { kind, sql, prepared }: &Example) -> Result<Option<QueryPlan>> {
        let prepared = prepared.as_ref().map(|(sql, values)| (&**sql, &**values));
        Ok(explain::explain(self, (kind, sql), prepared)?)
    }

    fn page_images(&mut self, images: PageImages) -> SessionResult<bool> {
        match images {
            PageImages::Dense => images::dense(self),
            PageImages::Bare => images::bare(self),
        }
    }

    fn log_bytes(&mut self) -> SessionResult<Option<f64>> {
        images::log_bytes(self)
    }

    fn flush(&self) -> Option<FlushProcedure> {
        Some(flush::procedure(self.server_version_num()))
    }

    fn counters(&mut self) -> Result<CounterSet> {
        Ok(counters::snapshot(self)?)
    }

    /// A session's id is the PID of its process.
    fn served_by(&mut self, sessions: &[u32]) -> Result<Vec<u32>> {
        Ok(sessions.to_vec())
    }

    fn work_in(&mut self) -> Result<WorkIn> {
        Ok(WorkIn::Processes)
    }

    fn watch_waits(self: Box<Self>, sessions: &[u32]) -> Result<Option<WaitSampler>> {
        Ok(Some(WaitSampler::start(waits::state_query(*self, sessions))?))
    }
}
