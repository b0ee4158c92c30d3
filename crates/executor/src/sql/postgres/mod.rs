//! How Postgres servers are administered and measured.

mod admin;
mod cancel;
mod images;
mod load;
mod log;
mod settle;
mod warm;

use crate::error::Result;
use crate::sql::adapter::{Adapter, CLIENT_NAME, LoadTick, Settling};
use crate::sql::clients::clients;
use crate::sql::tables::{self, Access, LoadTimes, Tables};
use crate::system::{Admin, Look, SessionResult, SettleTick};
use rqps_driver::queue::{QueueSpec, run_queue};
use rqps_driver::sysbench::Target;
use rqps_driver::{Clients, Observer, StepError, StepResult};
use rqps_model::{Counter, Settle};
use rqps_probe::work::Work;
use rqps_wire::Endpoint;
use rqps_wire::postgres::Connection;
use rqps_workloads::Dialect;
use rqps_workloads::tproc_c::rows::Part;

pub(crate) struct Postgres;

impl Adapter for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn session_is_a_process(&self) -> bool {
        true
    }

    fn connect(&self, endpoint: &Endpoint, name: &str) -> SessionResult<Box<dyn Admin>> {
        Ok(Box::new(Connection::connect(endpoint, name)?))
    }

    fn load(
        &self,
        endpoint: &Endpoint,
        tables: Tables,
        tick: &mut LoadTick<'_>,
    ) -> SessionResult<Option<LoadTimes>> {
        with_access(endpoint, |access| tables::load(access, self.dialect(), tables, load::fill_table, tick))
    }

    fn fill(&self, endpoint: &Endpoint, parts: &[Part], tick: &mut LoadTick<'_>) -> SessionResult<bool> {
        with_access(endpoint, |access| tables::fill_parts(access, parts, load::fill_part, tick))
    }

    fn run_all(
        &self,
        endpoint: &Endpoint,
        statements: &[String],
        look: &mut Look<'_>,
    ) -> SessionResult<bool> {
        let run = |session: &mut Connection, sql: &str| session.query(sql).map(|_| ());
        with_access(endpoint, |access| tables::for_each_named(access, (statements, "load"), run, look))
    }

    fn vacuum(&self, endpoint: &Endpoint, tables: &[String], look: &mut Look<'_>) -> SessionResult<bool> {
        settle::vacuum(endpoint, tables, look)
    }

    fn settle(&self, server: &Settling<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>> {
        settle::settle(server, tick)
    }

    fn clients<'a>(&self, endpoint: &'a Endpoint, yields_cpu: bool) -> Clients<'a> {
        clients(yields_cpu, move || Connection::connect(endpoint, CLIENT_NAME))
    }

    fn run_queue(
        &self,
        spec: &QueueSpec,
        endpoint: &Endpoint,
        observer: &mut dyn Observer,
    ) -> std::result::Result<StepResult, StepError> {
        Ok(run_queue(spec, |_| Connection::connect(endpoint, CLIENT_NAME), observer)?.0)
    }

    fn debt_name(&self) -> &'static str {
        "dead_rows"
    }

    fn sysbench_target(&self, endpoint: &Endpoint) -> Target {
        Target::postgres(endpoint, CLIENT_NAME)
    }

    fn end_statements(&self, endpoint: &Endpoint, name: &str) {
        cancel::end_statements(endpoint, name);
    }

    fn waits_for_room(&self, _log: &str) -> bool {
        false
    }

    fn telling_lines(&self, log: &str) -> String {
        log::telling_lines(log)
    }

    fn tells_death(&self, log: &str) -> bool {
        log::tells_death(log)
    }

    /// Autovacuum starts by the clock: in one arm's window and not in another's. It added a tenth to the WAL
    /// of one in twenty windows of a test that updates, and 2 million instructions to a counted session. A
    /// sequence measures the cost of vacuum debt.
    fn options_of_blocks(&self) -> &'static [(&'static str, &'static str)] {
        &[("autovacuum", "off")]
    }

    fn empty_bytes(&self) -> u64 {
        // The catalogs of three databases, and a few files of WAL.
        80_000_000
    }

    fn method_of_blocks(&self) -> (&'static str, &'static str) {
        ("autovacuum", "off in blocks")
    }

    fn work(&self, deltas: &[Counter]) -> Work {
        rqps_probe::postgres::work::work(deltas)
    }
}

fn with_access<T>(endpoint: &Endpoint, work: impl FnOnce(&Access<'_, Connection>) -> T) -> T {
    work(&Access {
        connect: &|name| Connection::connect(endpoint, name),
        end_statements: &|name| cancel::end_statements(endpoint, name),
    })
}
