//! Admin sessions on MySQL and MariaDB.

use super::binlog::drop_binlogs;
use super::settle::hold_purge;
use super::warm;
use crate::error::Result;
use crate::system::{Admin, Example, SessionResult};
use rqps_model::{QueryPlan, ServerSetting};
use rqps_probe::WorkIn;
use rqps_probe::counters::CounterSet;
use rqps_probe::mysql::{about, counters, explain, fingerprint, queue, threads, waits};
use rqps_probe::queue::Sizes;
use rqps_probe::waits::WaitSampler;
use rqps_wire::mysql::Connection;
use rqps_wire::{Session, Table};

/// Defaults stay for page images (torn pages are repaired from the doublewrite buffer, which no session
/// writes), for planning (the server does not read an index's ends for it, and does not report its cost), and
/// for flush (the server sums its sessions' counters when they are read).
impl Admin for Connection {
    fn query(&mut self, sql: &str) -> SessionResult<Table> {
        Connection::query(self, sql)
    }

    fn backend_id(&self) -> u32 {
        Session::backend_id(self)
    }

    fn warm(&mut self, tables: &[String], rows_max: u64) -> SessionResult<()> {
        warm::warm(self, tables, rows_max)
    }

    /// Drops binary logs of earlier steps.
    fn begin_step(&mut self) -> SessionResult<()> {
        drop_binlogs(self)
    }

    /// With `innodb_flush_log_at_trx_commit = 0`, the last second of finished work is in memory only and
    /// would be lost if the server were killed. The binary log reaches the kernel at each commit.
    fn make_durable(&mut self) -> SessionResult<()> {
        Connection::query(self, "FLUSH LOCAL ENGINE LOGS").map(|_| ())
    }

    /// Requests a slow shutdown, which completes purge and merges the change buffer into the indexes.
    fn before_keeping(&mut self) -> SessionResult<()> {
        Connection::query(self, "SET GLOBAL innodb_fast_shutdown = 0").map(|_| ())
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
        Ok(queue::history_list_length(self)? as f64)
    }

    /// Waits for purge, then opens a snapshot. What purge removes decides which index pages are merged and
    /// later split again, at some 600,000 instructions each time.
    fn pause_cleanup(&mut self, arm: &str) -> Result<()> {
        hold_purge(self, arm)
    }

    /// Prepared statements are planned anew at each execution, for its values.
    fn explain(&mut self, Example { kind, sql, .. }: &Example) -> Result<Option<QueryPlan>> {
        Ok(explain::explain(self, kind, sql)?)
    }

    fn counters(&mut self) -> Result<CounterSet> {
        Ok(counters::snapshot(self)?)
    }

    fn served_by(&mut self, sessions: &[u32]) -> Result<Vec<u32>> {
        let threads = threads::os_threads(self, sessions)?;
        Ok(threads.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn work_in(&mut self) -> Result<WorkIn> {
        Ok(WorkIn::Threads(threads::roles(self)?))
    }

    fn watch_waits(self: Box<Self>, sessions: &[u32]) -> Result<Option<WaitSampler>> {
        Ok(Some(WaitSampler::start(waits::state_query(*self, sessions)?)?))
    }
}
