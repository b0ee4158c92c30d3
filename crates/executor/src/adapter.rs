//! Everything the executor asks of a DBMS. Only `adapters.rs` and the folders of DBMSs name one.

use crate::error::Result;
use crate::tables::{LoadTimes, Tables};
use rqps_driver::queue::QueueSpec;
use rqps_driver::sysbench::Target;
use rqps_driver::{Observer, StepError, StepResult, StepSpec};
use rqps_model::{Counter, QueryPlan, ServerSetting, Settle};
use rqps_probe::counters::CounterSet;
use rqps_probe::queue::{Planning, Sizes};
use rqps_probe::waits::WaitSampler;
use rqps_probe::work::Work;
use rqps_probe::{FlushProcedure, WorkIn};

use rqps_wire::{Endpoint, Error as Wire, Table};
use rqps_workloads::Dialect;
use std::path::Path;
use std::time::Duration;

/// Name by which servers know the sessions that administer.
pub(crate) const ADMIN_NAME: &str = "rqps admin";
/// Name by which servers know the sessions that are measured.
pub(crate) const CLIENT_NAME: &str = "rqps client";

/// Called several times a second with what is being done and the rows so far; the work ends early when it returns
/// false.
pub(crate) type LoadTick<'a> = dyn FnMut(&'static str, u64) -> bool + 'a;
/// Called several times a second; the work ends early when it returns false.
pub(crate) type Look<'a> = dyn FnMut() -> bool + 'a;
/// The same with what is being done and the seconds since the beginning.
pub(crate) type SettleTick<'a> = dyn FnMut(&'static str, f64) -> bool + 'a;

/// How servers of a DBMS are administered and measured.
pub(crate) trait Adapter: Sync {
    fn dialect(&self) -> Dialect;

    /// Whether each session is served by a process of its own.
    fn session_is_a_process(&self) -> bool;

    /// A session for administration, under this name.
    fn connect(&self, endpoint: &Endpoint, name: &str) -> std::result::Result<Box<dyn Admin>, Wire>;

    /// Creates, fills and indexes all tables, replacing those of an earlier try. `None` when `tick` asked for the end.
    fn load(
        &self,
        endpoint: &Endpoint,
        tables: Tables,
        tick: &mut LoadTick<'_>,
    ) -> std::result::Result<Option<LoadTimes>, Wire>;

    /// Has the server look through every table after a load: what it does by command so that plans and reads start from
    /// known ground. False when `look` asked for the end.
    fn vacuum(
        &self,
        endpoint: &Endpoint,
        tables: &[String],
        look: &mut Look<'_>,
    ) -> std::result::Result<bool, Wire>;

    /// Has the server pay its debts, and waits until its figures say so or the cap is reached. `None` when `tick` asked
    /// for the end.
    fn settle(&self, debt: &Debt<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>>;

    /// Runs a step with sessions of this DBMS; where `gives_way` is set, clients let their servers go first on the CPU
    /// that they share.
    fn run_step(
        &self,
        spec: &StepSpec,
        endpoint: &Endpoint,
        gives_way: bool,
        observer: &mut dyn Observer,
    ) -> std::result::Result<StepResult, StepError>;

    /// Runs a step of the queue with sessions of this DBMS.
    fn run_queue(
        &self,
        spec: &QueueSpec,
        endpoint: &Endpoint,
        observer: &mut dyn Observer,
    ) -> std::result::Result<StepResult, StepError>;

    /// What [`Admin::debt`] counts: a name for metrics, which is the unit too.
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

    /// The same for people: what it is about, and what becomes of it in blocks.
    fn method_of_blocks(&self) -> (&'static str, &'static str);

    /// Statements of one session that read the first rows of all tables and their indexes once.
    fn warm_sql(&self, tables: u32, rows: u64) -> Vec<String>;

    /// Whether one of them was refused because the index that it reads is not there: an arm may have been told to drop
    /// it.
    fn lacks_index(&self, error: &Wire) -> bool;

    /// What the counters of a window come to.
    fn work(&self, deltas: &[Counter]) -> Work;
}

/// What is to come to rest.
pub(crate) struct Debt<'a> {
    pub arm: &'a str,
    pub endpoint: &'a Endpoint,
    pub data_dir: &'a Path,
    pub tables: &'a [String],
    pub rows_total: u64,
    /// Rows that a sample for statistics may hold: the server keeps them in memory.
    pub sample_rows_max: u64,
    /// Give up waiting after this time, everything included.
    pub cap: Duration,
}

/// What a change to a page has with it in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageImages {
    /// An image of the whole page, since it is the first change to any page after a checkpoint.
    Dense,
    /// None, as late in a checkpoint cycle.
    Bare,
}

pub(crate) trait Admin: Send {
    /// Runs SQL and keeps the answer.
    fn query(&mut self, sql: &str) -> std::result::Result<Table, Wire>;

    /// The session's number on the server, which is what a client's session says of itself too.
    fn backend_id(&self) -> u32;

    /// What is done before each measured step.
    fn begin_step(&mut self) -> std::result::Result<(), Wire>;

    /// Has the server write what finished work changed to where a killed server finds it again.
    fn make_durable(&mut self) -> std::result::Result<(), Wire>;

    /// What is left to do before a server that has loaded and come to rest is stopped and its data are kept.
    fn before_keeping(&mut self) -> std::result::Result<(), Wire>;

    /// How the server was built.
    fn build_facts(&mut self) -> Result<Vec<(String, String)>>;

    fn settings(&mut self) -> Result<Vec<ServerSetting>>;

    /// The state that a step starts from.
    fn fingerprint(&mut self) -> Result<Vec<(String, String)>>;

    /// Sizes of all tables together.
    fn sizes(&mut self) -> Result<Sizes>;

    /// What deletes have left behind that is still to be cleaned up; the adapter knows what that is called. Asked for
    /// each second of a window, so it costs little.
    fn debt(&mut self) -> Result<f64>;

    /// What planning a statement takes, without executing it; none where the server does not tell.
    fn planning(&mut self, sql: &str) -> Result<Option<Planning>>;

    /// The plan of one statement of this kind.
    fn explain(&mut self, kind: &str, sql: &str) -> Result<QueryPlan>;

    /// Keeps what cleans up behind sessions from changing what they find: it works by its own clock, so that sessions
    /// would do more or less by chance. Lasts as long as this session.
    fn hold_cleaning(&mut self, arm: &str) -> Result<()>;

    /// Has changes come with images of their pages, or without. False where the server writes none anyway.
    fn page_images(&mut self, images: PageImages) -> std::result::Result<bool, Wire>;

    /// Bytes of the log of changes that were ever written; none where the server does not tell.
    fn log_bytes(&mut self) -> std::result::Result<Option<f64>, Wire>;

    /// How sessions hand their statistics in; none where the server has them at any time.
    fn flush(&self) -> Option<FlushProcedure>;

    fn counters(&mut self) -> Result<CounterSet>;

    /// The kernel's numbers of what serves these sessions: processes or threads; 0 where the server doesn't tell.
    fn served_by(&mut self, sessions: &[u32]) -> Result<Vec<u32>>;

    /// What the server's work is done in, and what for, at this moment.
    fn work_in(&mut self) -> Result<WorkIn>;

    /// Looks many times a second what these sessions wait for, from now on.
    fn watch_waits(self: Box<Self>, sessions: &[u32]) -> Result<WaitSampler>;
}
