//! What differs between DBMSs. Only `adapters.rs` and the folders of DBMSs name one.

use super::tables::{LoadTimes, Tables};
use crate::error::Result;
use crate::system::{Admin, Asked, Debt, Look, SettleTick};
use rqps_driver::queue::QueueSpec;
use rqps_driver::sysbench::Target;
use rqps_driver::{Clients, Observer, StepError, StepResult};
use rqps_model::{Counter, Settle};
use rqps_probe::work::Work;
use rqps_wire::{Endpoint, Error as Wire};
use rqps_workloads::Dialect;
use std::path::Path;

/// Name by which servers know the sessions that are measured.
pub(crate) const CLIENT_NAME: &str = "rqps client";

/// Called several times a second with what is being done and the rows so far; the work ends early when it returns
/// false.
pub(crate) type LoadTick<'a> = dyn FnMut(&'static str, u64) -> bool + 'a;

/// How servers of a DBMS are administered and measured.
pub(crate) trait Adapter: Sync {
    fn dialect(&self) -> Dialect;

    /// Whether each session is served by a process of its own.
    fn session_is_a_process(&self) -> bool;

    /// A session for administration, under this name.
    fn connect(&self, endpoint: &Endpoint, name: &str) -> Asked<Box<dyn Admin>>;

    /// Creates, fills and indexes all tables, replacing those of an earlier try. `None` when `tick` asked for the end.
    fn load(&self, endpoint: &Endpoint, tables: Tables, tick: &mut LoadTick<'_>) -> Asked<Option<LoadTimes>>;

    /// As [`crate::Instance::vacuum`].
    fn vacuum(&self, endpoint: &Endpoint, tables: &[String], look: &mut Look<'_>) -> Asked<bool>;

    /// As [`crate::Instance::settle`].
    fn settle(&self, server: &Settling<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>>;

    /// Clients with sessions of this DBMS; where `gives_way` is set, they let their servers go first on the CPU that
    /// they share.
    fn clients<'a>(&self, endpoint: &'a Endpoint, gives_way: bool) -> Clients<'a>;

    /// Runs a step of the queue with sessions of this DBMS.
    fn run_queue(
        &self,
        spec: &QueueSpec,
        endpoint: &Endpoint,
        observer: &mut dyn Observer,
    ) -> std::result::Result<StepResult, StepError>;

    /// As [`crate::System::debt_name`].
    fn debt_name(&self) -> &'static str;

    /// How sysbench reaches a server; its sessions have the name of our clients' where they have one.
    fn sysbench_target(&self, endpoint: &Endpoint) -> Target;

    /// Asks the server to end the statements that sessions of this name have in flight. Returns at once: a server that
    /// hangs must not hang the one who wants to be rid of it.
    fn end_statements(&self, endpoint: &Endpoint, name: &str);

    /// Whether a server whose log ends so stands still until there is room on its disk, instead of failing.
    fn waits_for_room(&self, log: &str) -> bool;

    /// The part of a server's log that says why it died.
    fn telling_lines(&self, log: &str) -> String;

    /// Options that are set in blocks, behind those of the config: what runs when the clock says so is turned off.
    fn options_of_blocks(&self) -> &'static [(&'static str, &'static str)];

    /// As [`crate::System::method_of_blocks`].
    fn method_of_blocks(&self) -> (&'static str, &'static str);

    /// Statements of one session that read the first rows of all tables and their indexes once.
    fn warm_sql(&self, tables: u32, rows: u64) -> Vec<String>;

    /// Whether one of them was refused because the index that it reads is not there: an arm may have been told to drop
    /// it.
    fn lacks_index(&self, error: &Wire) -> bool;

    /// What the counters of a window come to.
    fn work(&self, deltas: &[Counter]) -> Work;
}

/// A server that is to come to rest.
pub(crate) struct Settling<'a> {
    pub endpoint: &'a Endpoint,
    pub data_dir: &'a Path,
    pub debt: &'a Debt<'a>,
}
