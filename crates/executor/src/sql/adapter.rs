//! The interface to a DBMS. Only `adapters.rs` and the DBMSs' folders name one.

use super::tables::{LoadTimes, Tables};
use crate::error::Result;
use crate::system::{Admin, Debt, Look, SessionResult, SettleTick};
use rqps_driver::queue::QueueSpec;
use rqps_driver::sysbench::Target;
use rqps_driver::{Clients, Observer, StepError, StepResult};
use rqps_model::{Counter, Settle};
use rqps_probe::work::Work;
use rqps_wire::Endpoint;
use rqps_workloads::Dialect;
use rqps_workloads::tproc_c::rows::Part;
use std::path::Path;

/// Session name of measured sessions.
pub(crate) const CLIENT_NAME: &str = "rqps client";

/// Called several times a second with the current phase and the rows so far; the load ends early when it
/// returns false.
pub(crate) type LoadTick<'a> = dyn FnMut(&'static str, u64) -> bool + 'a;

/// How servers of a DBMS are administered and measured.
pub(crate) trait Adapter: Sync {
    fn dialect(&self) -> Dialect;

    /// As [`crate::System::session_is_a_process`].
    fn session_is_a_process(&self) -> bool;

    /// Opens an admin session under this name.
    fn connect(&self, endpoint: &Endpoint, name: &str) -> SessionResult<Box<dyn Admin>>;

    /// Creates, fills and indexes all tables, replacing those of an earlier attempt. `None` if `tick` ended
    /// it early.
    fn load(
        &self,
        endpoint: &Endpoint,
        tables: Tables,
        tick: &mut LoadTick<'_>,
    ) -> SessionResult<Option<LoadTimes>>;

    /// Fills empty tables with generated rows, several parts at the same time. False if `tick` ended it early.
    fn fill(&self, endpoint: &Endpoint, parts: &[Part], tick: &mut LoadTick<'_>) -> SessionResult<bool>;

    /// Runs statements that do not depend on each other, several at the same time. False if `look` ended it early.
    fn run_all(&self, endpoint: &Endpoint, statements: &[String], look: &mut Look<'_>)
    -> SessionResult<bool>;

    /// As [`crate::Instance::vacuum`].
    fn vacuum(&self, endpoint: &Endpoint, tables: &[String], look: &mut Look<'_>) -> SessionResult<bool>;

    /// As [`crate::Instance::settle`].
    fn settle(&self, server: &Settling<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>>;

    /// Clients with sessions of this DBMS. With `yields_cpu`, they yield to the server on the CPU that they
    /// share.
    fn clients<'a>(&self, endpoint: &'a Endpoint, yields_cpu: bool) -> Clients<'a>;

    /// Runs a step of the queue with sessions of this DBMS.
    fn run_queue(
        &self,
        spec: &QueueSpec,
        endpoint: &Endpoint,
        observer: &mut dyn Observer,
    ) -> std::result::Result<StepResult, StepError>;

    /// As [`crate::System::debt_name`].
    fn debt_name(&self) -> &'static str;

    /// How sysbench reaches a server. Its sessions are named as our clients', where sysbench can name them.
    fn sysbench_target(&self, endpoint: &Endpoint) -> Target;

    /// Cancels the running statements of sessions with this name. Does not block, even if the server hangs.
    fn end_statements(&self, endpoint: &Endpoint, name: &str);

    /// Whether a server whose log ends like this is waiting for disk space instead of failing.
    fn waits_for_room(&self, log: &str) -> bool;

    /// The lines of a server's log that explain why it died.
    fn telling_lines(&self, log: &str) -> String;

    /// Whether a log has a sign that the server, or one of its processes, died.
    fn tells_death(&self, log: &str) -> bool;

    /// Options appended to the config in blocks: they turn off background work that starts by the clock.
    fn options_of_blocks(&self) -> &'static [(&'static str, &'static str)];

    /// As [`crate::System::method_of_blocks`].
    fn method_of_blocks(&self) -> (&'static str, &'static str);

    /// As [`crate::System::empty_bytes`].
    fn empty_bytes(&self) -> u64;

    /// As [`crate::System::work`].
    fn work(&self, deltas: &[Counter]) -> Work;
}

/// A server to settle.
pub(crate) struct Settling<'a> {
    pub endpoint: &'a Endpoint,
    pub data_dir: &'a Path,
    pub debt: &'a Debt<'a>,
}
