//! SQL servers as [`System`]s, one for each adapter.

use super::adapter::{Adapter, CLIENT_NAME, Settling};
use super::adapters::adapter;
use super::log::{SEARCHED_LINES, options_behind, warnings};
use super::mysql::Mysql;
use super::postgres::Postgres;
use crate::arm::ActiveArm;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::system::{
    ADMIN_NAME, Address, Admin, Debt, Handle, Instance, Look, ServerResult, SessionResult, SettleTick, System,
};
use rqps_builds::{Build, CpuSet};
use rqps_model::{Counter, Dbms, Settle};
use rqps_probe::work::Work;
use rqps_servers::{Applied, Config, Server, ServerHandle, ServerSpec, config_with, log_bytes};
use rqps_wire::{Endpoint, Host};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// PostgreSQL.
pub static POSTGRES: &dyn System = &SqlSystem(&Postgres);
/// MySQL and MariaDB.
pub static MYSQL: &dyn System = &SqlSystem(&Mysql);

struct SqlSystem(&'static dyn Adapter);

impl System for SqlSystem {
    fn runs(&self, dbms: Dbms) -> bool {
        dbms.speaks_sql() && adapter(dbms).dialect() == self.0.dialect()
    }

    fn empty_bytes(&self) -> u64 {
        self.0.empty_bytes()
    }

    fn log_bytes(&self, build: &Build, config: &Config) -> u64 {
        log_bytes(build.dbms, config).unwrap_or(0)
    }

    fn config_of_blocks(&self, config: &Config) -> Config {
        config_with(config, self.0.options_of_blocks())
    }

    fn method_of_blocks(&self) -> (&'static str, &'static str) {
        self.0.method_of_blocks()
    }

    fn options_behind(&self, warning: &str) -> &'static [&'static str] {
        options_behind(warning)
    }

    fn open(&self, spec: &ServerSpec, stop: &AtomicBool) -> ServerResult<Box<dyn Instance>> {
        let server = Server::start_unless(spec, stop)?;
        let endpoint = endpoint(&server);
        let data_dir = spec.data_dir.clone();
        Ok(Box::new(SqlInstance { adapter: self.0, server, endpoint, data_dir }))
    }

    fn session_is_a_process(&self) -> bool {
        self.0.session_is_a_process()
    }

    fn debt_name(&self) -> &'static str {
        self.0.debt_name()
    }

    fn work(&self, deltas: &[Counter]) -> Work {
        self.0.work(deltas)
    }
}

/// How drivers reach a SQL server.
#[derive(Clone)]
pub(super) struct SqlAddress {
    pub adapter: &'static dyn Adapter,
    pub endpoint: Endpoint,
}

impl SqlAddress {
    /// The address of an arm's server, for this driver.
    pub fn of(arm: &ActiveArm, driver: &dyn Driver) -> Result<Self> {
        let address = arm.instance.address();
        let found = address.of::<Self>().cloned();
        found.ok_or_else(|| Error::NoAddress { arm: arm.name.clone(), driver: driver.id() })
    }
}

struct SqlInstance {
    adapter: &'static dyn Adapter,
    server: Server,
    endpoint: Endpoint,
    data_dir: PathBuf,
}

impl Instance for SqlInstance {
    fn address(&self) -> Address {
        Address::new(SqlAddress { adapter: self.adapter, endpoint: self.endpoint.clone() })
    }

    fn applied(&self) -> &Applied {
        self.server.applied()
    }

    fn pid(&self) -> Option<u32> {
        Some(self.server.pid())
    }

    fn exit_text(&mut self) -> Option<String> {
        self.server.exit_text()
    }

    fn is_paused(&self) -> bool {
        self.server.is_paused()
    }

    fn freeze(&mut self) -> ServerResult<()> {
        self.server.freeze()
    }

    fn thaw(&mut self) {
        self.server.thaw();
    }

    fn pin_sessions(&self, cpus: &CpuSet) -> ServerResult<()> {
        self.server.pin_sessions(cpus)
    }

    fn end_now(&mut self) {
        self.server.end_now();
    }

    fn stop(self: Box<Self>, stop: &AtomicBool) -> ServerResult<()> {
        self.server.stop_unless(stop)
    }

    fn discard(self: Box<Self>) {
        self.server.stop_immediately();
    }

    fn handle(&self) -> Option<Arc<dyn Handle>> {
        let server = self.server.handle()?;
        Some(Arc::new(SqlHandle { adapter: self.adapter, endpoint: self.endpoint.clone(), server }))
    }

    fn log_path(&self) -> &Path {
        self.server.log_path()
    }

    fn telling_lines(&self) -> String {
        self.adapter.telling_lines(&self.server.log_tail(SEARCHED_LINES))
    }

    fn tells_death(&self) -> bool {
        self.adapter.tells_death(&self.server.log_tail(SEARCHED_LINES))
    }

    fn warnings(&self) -> Vec<String> {
        warnings(&self.server.log_tail(SEARCHED_LINES))
    }

    fn admin(&self, name: &str) -> SessionResult<Box<dyn Admin>> {
        self.adapter.connect(&self.endpoint, name)
    }

    fn end_statements(&self) {
        self.adapter.end_statements(&self.endpoint, CLIENT_NAME);
    }

    fn vacuum(&self, tables: &[String], look: &mut Look<'_>) -> SessionResult<bool> {
        self.adapter.vacuum(&self.endpoint, tables, look)
    }

    fn settle(&self, debt: &Debt<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>> {
        let server = Settling { endpoint: &self.endpoint, data_dir: &self.data_dir, debt };
        self.adapter.settle(&server, tick)
    }
}

struct SqlHandle {
    adapter: &'static dyn Adapter,
    endpoint: Endpoint,
    server: ServerHandle,
}

impl Handle for SqlHandle {
    fn data_dir(&self) -> &Path {
        self.server.data_dir()
    }

    fn is_alive(&self) -> bool {
        self.server.is_alive()
    }

    fn kill(&self) {
        self.server.kill();
    }

    fn end_admin_statements(&self) {
        self.adapter.end_statements(&self.endpoint, ADMIN_NAME);
    }

    fn waits_for_room(&self) -> bool {
        self.adapter.waits_for_room(&self.server.log_tail(SEARCHED_LINES))
    }
}

/// How measured and admin sessions reach a server: over TCP if it listens there, else over its Unix socket.
pub fn endpoint(server: &Server) -> Endpoint {
    let at = server.endpoint();
    Endpoint {
        host: at.tcp.map_or_else(|| Host::Unix(at.socket_dir.clone()), Host::Tcp),
        port: at.port,
        user: at.user.clone(),
        password: at.password.clone(),
        database: at.database.clone(),
    }
}
