//! How MySQL and MariaDB servers are administered and measured. The session tells which of the two a server
//! is.

mod admin;
mod binlog;
mod cancel;
mod fast_writing;
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
use rqps_wire::mysql::Connection;
use rqps_workloads::Dialect;
use rqps_workloads::tproc_c::rows::Part;

pub(crate) struct Mysql;

impl Adapter for Mysql {
    fn dialect(&self) -> Dialect {
        Dialect::Mysql
    }

    fn session_is_a_process(&self) -> bool {
        false
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

    /// InnoDB has no vacuum: only statistics are missing after a load.
    fn vacuum(&self, endpoint: &Endpoint, tables: &[String], look: &mut Look<'_>) -> SessionResult<bool> {
        settle::analyze(endpoint, tables, look)
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
        "history_list_length"
    }

    fn sysbench_target(&self, endpoint: &Endpoint) -> Target {
        Target::mysql(endpoint)
    }

    fn end_statements(&self, endpoint: &Endpoint, _name: &str) {
        cancel::end_statements(endpoint);
    }

    fn waits_for_room(&self, log: &str) -> bool {
        log::waits_for_room(log)
    }

    fn telling_lines(&self, log: &str) -> String {
        log::telling_lines(log)
    }

    fn tells_death(&self, log: &str) -> bool {
        log::tells_death(log)
    }

    /// Without these, InnoDB resamples a table some seconds after a tenth of its rows have changed, and a
    /// starting server reloads the pages that the last one dumped while other arms are measured. Purge and
    /// page cleaning follow from the work itself and stay on.
    fn options_of_blocks(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("innodb_stats_auto_recalc", "OFF"),
            ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
            ("innodb_buffer_pool_load_at_startup", "OFF"),
        ]
    }

    fn empty_bytes(&self) -> u64 {
        // Redo, undo and system tablespaces: 180 to 420 MB by release.
        400_000_000
    }

    fn method_of_blocks(&self) -> (&'static str, &'static str) {
        ("InnoDB in blocks", "no new statistics, no loading of the buffer pool; purge and page cleaning on")
    }

    fn work(&self, deltas: &[Counter]) -> Work {
        rqps_probe::mysql::work::work(deltas)
    }
}

fn with_access<T>(endpoint: &Endpoint, work: impl FnOnce(&Access<'_, Connection>) -> T) -> T {
    work(&Access {
        connect: &|name| Connection::connect(endpoint, name),
        end_statements: &|_| cancel::end_statements(endpoint),
    })
}
