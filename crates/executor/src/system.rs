//! The system under test: a [`System`] creates data directories and starts [`Instance`]s on them; an
//! [`Admin`] session administers an instance, a [`Handle`] watches it from other threads. No system is named
//! here: a [`Kit`](crate::Kit) lists those of the program.

use crate::error::Result;
use rqps_builds::{Build, CpuSet, Dirs, Watch, resolve_watched};
use rqps_model::{BuildSpec, Counter, Dbms, LeftOut, QueryPlan, ServerSetting, Settle};
use rqps_probe::counters::CounterSet;
use rqps_probe::queue::{Planning, Sizes};
use rqps_probe::waits::WaitSampler;
use rqps_probe::work::Work;
use rqps_probe::{FlushProcedure, WorkIn};
use rqps_servers::{
    Applied, Config, HostLimits, HowCopied, Server, ServerSpec, UnknownOption, cache_bytes, data_key,
    load_config, load_config_for, snapshot, unknown_options,
};
use rqps_wire::{Error as Wire, Table};
use std::any::Any;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What all names of sessions begin with.
pub(crate) const SESSION_PREFIX: &str = "rqps ";

/// Session name of the executor's admin sessions.
pub(crate) const ADMIN_NAME: &str = "rqps admin";

/// Result of creating, copying, starting and stopping instances.
pub type ServerResult<T> = rqps_servers::Result<T>;
/// Result of a request on a session.
pub type SessionResult<T> = std::result::Result<T, Wire>;
/// Progress callback of long work. Call it several times a second; end the work early when it returns false.
pub type Look<'a> = dyn FnMut() -> bool + 'a;
/// As [`Look`], with the name of the current phase and the seconds since the work began.
pub type SettleTick<'a> = dyn FnMut(&'static str, f64) -> bool + 'a;

/// A kind of program that can be measured. What has a default is for servers of `rqps-builds` and `rqps-servers`.
pub trait System: Sync {
    /// Whether this system runs builds of `dbms`.
    fn runs(&self, dbms: Dbms) -> bool;

    /// Obtains a build. Compiling one from source takes minutes: report to `watch.progress`, and give up once
    /// `watch.stop` is set.
    fn build(&self, dirs: &Dirs, spec: &BuildSpec, watch: &mut Watch<'_>) -> rqps_builds::Result<Build> {
        resolve_watched(dirs, spec, watch)
    }

    /// The other `count - 1` copies of a build that was compiled here, which have the same functions at other
    /// addresses; none of a build from elsewhere.
    fn copies(
        &self,
        dirs: &Dirs,
        build: (&Build, &BuildSpec),
        count: u32,
        watch: &mut Watch<'_>,
    ) -> rqps_builds::Result<Vec<Build>> {
        rqps_builds::copies(dirs, build, count, watch)
    }

    /// Reads a config for a build, by name or path. `limits` are for values that depend on the host; with `None` the
    /// config is read as written.
    fn config(&self, build: &Build, name_or_path: &str, limits: Option<&HostLimits>) -> ServerResult<Config> {
        match limits {
            Some(limits) => load_config_for(build.dbms, &build.version, name_or_path, limits),
            None => load_config(build.dbms, &build.version, name_or_path),
        }
    }

    /// Options that a warning of an instance is about without naming them.
    fn options_behind(&self, _warning: &str) -> &'static [&'static str] {
        &[]
    }

    /// The options of a config that the build does not know, without those of shipped configs. `scratch` is a directory
    /// that the servers' user can enter.
    fn unknown_options(
        &self,
        build: &Build,
        config: &Config,
        scratch: &Path,
    ) -> ServerResult<Vec<UnknownOption>> {
        unknown_options(build, config, scratch)
    }

    /// About how much a data directory takes without tables, logs included.
    fn empty_bytes(&self) -> u64 {
        0
    }

    /// The size of a server's cache, if its config gives it.
    fn cache_bytes(&self, build: &Build, config: &Config) -> Option<u64> {
        cache_bytes(build.dbms, config)
    }

    /// What its log of changes may take on the disk beside its data; 0 if that is part of them.
    fn log_bytes(&self, _build: &Build, _config: &Config) -> u64 {
        0
    }

    /// Why a run with this config and its data in `work` measures something else than the config asks for.
    fn doubt(&self, _config: &Config, _work: &Path) -> Option<String> {
        None
    }

    /// Returns the config for protocol `isolated`: the same without background work that starts by the clock,
    /// which would run in one arm's windows and not in another's.
    fn config_of_blocks(&self, config: &Config) -> Config;

    /// Describes what [`System::config_of_blocks`] changes, as name and text of a row in the run's method.
    fn method_of_blocks(&self) -> (&'static str, &'static str);

    /// Key of the data format. Arms with equal keys may start on each other's data and share their loads.
    fn data_key(&self, build: &Build, config: &Config) -> String {
        data_key(build, config)
    }

    /// Creates an empty data directory, replacing one that rqps created there before. Gives up once `stop` is
    /// set.
    fn create(&self, spec: &ServerSpec, stop: &AtomicBool) -> ServerResult<Applied> {
        Server::init_unless(spec, stop)
    }

    /// Starts an instance on an existing data directory and waits until it accepts sessions. Gives up once
    /// `stop` is set, with [`rqps_servers::Error::Interrupted`].
    fn open(&self, spec: &ServerSpec, stop: &AtomicBool) -> ServerResult<Box<dyn Instance>>;

    /// Copies the data directory of a stopped instance, replacing one that rqps put at `to` before. The copy
    /// is on disk when this returns.
    fn copy_data(&self, from: &Path, to: &Path, stop: &AtomicBool) -> ServerResult<HowCopied> {
        Ok(snapshot(from, to, stop)?.how)
    }

    /// Where its files are, if not in the data directory.
    fn place<'b>(&self, _build: &'b Build) -> Option<&'b Path> {
        None
    }

    /// Reserves what is measured for this process, where two that measure it would disturb each other, and removes
    /// what killed processes left in it. `None` if they would not, or if this process has it already.
    ///
    /// # Errors
    /// If another process has it.
    fn reserve(&self, _build: &BuildSpec) -> Result<Option<Reservation>> {
        Ok(None)
    }

    /// Whether a process of its own serves each session. If false, a thread does.
    fn session_is_a_process(&self) -> bool;

    /// Name of what [`Admin::debt`] counts, used both as metric name and as unit: `dead_rows`.
    fn debt_name(&self) -> &'static str;

    /// Computes the work of a window from its counters' differences.
    fn work(&self, deltas: &[Counter]) -> Work;
}

/// What is measured belongs to this process until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    /// Files that killed processes left in it, which were removed.
    pub removed: Vec<PathBuf>,
    pub _lock: File,
}

/// How drivers reach an instance. The type inside is agreed between a system and its drivers.
#[derive(Clone)]
pub struct Address(Arc<dyn Any + Send + Sync>);

impl Address {
    pub fn new(address: impl Any + Send + Sync) -> Self {
        Self(Arc::new(address))
    }

    /// The address as type `A`; `None` if it is of another type.
    pub fn of<A: Any>(&self) -> Option<&A> {
        self.0.downcast_ref()
    }
}

/// A system running on a data directory.
pub trait Instance: Send + Sync {
    fn address(&self) -> Address;

    /// How the config was turned into the instance's options.
    fn applied(&self) -> &Applied;

    /// Options that it took with another value than the config's.
    fn changed_options(&self) -> Vec<LeftOut> {
        Vec::new()
    }

    /// PID of its main process. `None` if it has no process of its own: no CPU time is then charged to it.
    fn pid(&self) -> Option<u32>;

    /// How its main process ended; `None` while it runs.
    fn exit_text(&mut self) -> Option<String>;

    /// Whether something other than [`Instance::freeze`] has stopped one of its processes (SIGSTOP).
    fn is_paused(&self) -> bool;

    /// Stops all its processes until [`Instance::thaw`], so that they use no CPU while another arm is
    /// measured.
    fn freeze(&mut self) -> ServerResult<()>;

    /// Resumes its processes. No effect if they run.
    fn thaw(&mut self);

    /// Restricts sessions that begin from now on to these CPUs.
    fn pin_sessions(&self, cpus: &CpuSet) -> ServerResult<()>;

    /// Ends it at once, as a crash would. Its data directory stays.
    fn end_now(&mut self);

    /// Shuts it down cleanly. Once `stop` is set, waits a shorter time before it kills it.
    ///
    /// # Errors
    /// If the shutdown was not clean. The instance is gone all the same.
    fn stop(self: Box<Self>, stop: &AtomicBool) -> ServerResult<()>;

    /// Ends it at once; its data are not needed again.
    fn discard(self: Box<Self>);

    /// A handle for other threads; `None` if it has ended.
    fn handle(&self) -> Option<Arc<dyn Handle>>;

    fn log_path(&self) -> &Path;

    /// The lines of its log that explain why it died.
    fn telling_lines(&self) -> String;

    /// Whether its log has a sign that it, or one of its processes, died. If not, one that runs lives.
    fn tells_death(&self) -> bool {
        true
    }

    /// The warnings in its log since it was started.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Opens an admin session under this name.
    fn admin(&self, name: &str) -> SessionResult<Box<dyn Admin>>;

    /// Cancels the running statements of client sessions. Must not block, even if the instance hangs.
    fn end_statements(&self);

    /// Processes every table once after a load, so that plans and reads start from a defined state: VACUUM
    /// and ANALYZE on Postgres. Returns false if `look` ended it early.
    fn vacuum(&self, tables: &[String], look: &mut Look<'_>) -> SessionResult<bool>;

    /// Pays deferred work and waits until its conditions are met or `debt.cap` is reached. `None` if `tick`
    /// ended it early.
    fn settle(&self, debt: &Debt<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>>;
}

/// An instance as seen by a thread that does not own it.
pub trait Handle: Send + Sync {
    fn data_dir(&self) -> &Path;

    fn is_alive(&self) -> bool;

    /// Kills all its processes. [`Instance::exit_text`] then shows it to the owner.
    fn kill(&self);

    /// Cancels the running statements of admin sessions. Must not block.
    fn end_admin_statements(&self);

    /// Whether the instance reports that it is waiting for disk space instead of failing.
    fn waits_for_room(&self) -> bool;
}

/// What a settle step works on, and its limits.
pub struct Debt<'a> {
    pub arm: &'a str,
    pub tables: &'a [String],
    /// Rows of all tables together.
    pub rows_total: u64,
    /// Rows that a sample for statistics may have: the instance keeps them in memory.
    pub sample_rows_max: u64,
    /// Time limit of the whole step.
    pub cap: Duration,
}

/// Whether changes to pages write full-page images to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageImages {
    /// The next change to any page writes its image, as after a checkpoint.
    Dense,
    /// No change does, as late in a checkpoint cycle.
    Bare,
}

/// A statement whose query plan is read.
#[derive(Debug, Clone)]
pub struct Example {
    pub kind: &'static str,
    /// With literal values.
    pub sql: String,
    /// If sessions prepare it: with numbered parameters, and their values.
    pub prepared: Option<(String, Vec<String>)>,
}

impl Example {
    /// A statement with literal values.
    pub fn literal((kind, sql): (&'static str, String)) -> Self {
        Self { kind, sql, prepared: None }
    }
}

/// An admin session. Methods with a default are for features that not every system has.
pub trait Admin: Send {
    /// Runs a statement and returns its result.
    fn query(&mut self, statement: &str) -> SessionResult<Table>;

    /// Runs a statement that takes rows (`COPY … FROM STDIN`). `next` appends rows and returns whether more follow; if
    /// it fails, none are loaded. Returns the number of rows.
    fn copy_rows(
        &mut self,
        statement: &str,
        _next: &mut dyn FnMut(&mut Vec<u8>) -> std::result::Result<bool, String>,
    ) -> SessionResult<u64> {
        Err(Wire::Misuse(format!("not supported here: {statement}")))
    }

    /// The session's id on the instance, of the same kind as the ids that [`Admin::served_by`] takes.
    fn backend_id(&self) -> u32 {
        0
    }

    /// Reads the first `rows_max` rows of tables, and of their indexes, into the server's own cache.
    fn warm(&mut self, _tables: &[String], _rows_max: u64) -> SessionResult<()> {
        Ok(())
    }

    /// Called before each measured step.
    fn begin_step(&mut self) -> SessionResult<()> {
        Ok(())
    }

    /// Makes the changes of finished work durable: they must survive a crash. Called after every action that
    /// changes data.
    fn make_durable(&mut self) -> SessionResult<()> {
        Ok(())
    }

    /// Called after load and settle, before the instance is stopped and its data directory is kept as a
    /// snapshot.
    fn before_keeping(&mut self) -> SessionResult<()> {
        Ok(())
    }

    /// The version as the instance reports it.
    fn version_text(&mut self) -> SessionResult<String>;

    /// How the program was built, as names and values. `cflags`, if present, decides how CPU profiles unwind
    /// stacks.
    fn build_facts(&mut self) -> Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }

    fn settings(&mut self) -> Result<Vec<ServerSetting>> {
        Ok(Vec::new())
    }

    /// The state that a step starts from, as names and values.
    fn fingerprint(&mut self) -> Result<Vec<(String, String)>>;

    /// Total sizes of all tables and of all indexes.
    fn sizes(&mut self) -> Result<Sizes> {
        Ok(Sizes::default())
    }

    /// What deletes have left to clean up, counted in [`System::debt_name`]. Read every second of a window,
    /// so it must be cheap.
    fn debt(&mut self) -> Result<f64> {
        Ok(0.0)
    }

    /// The cost of planning a statement without executing it; `None` if the system does not report it.
    fn planning(&mut self, _statement: &str) -> Result<Option<Planning>> {
        Ok(None)
    }

    /// The query plan that sessions get which repeat a statement; `None` if the system does not report it.
    fn explain(&mut self, _example: &Example) -> Result<Option<QueryPlan>> {
        Ok(None)
    }

    /// Holds back background cleaning for as long as this session lives. Cleaning runs by its own clock:
    /// sessions would find more or less of it done by chance, and their instruction counts would vary.
    fn pause_cleanup(&mut self, _arm: &str) -> Result<()> {
        Ok(())
    }

    /// Makes later changes write page images, or none. Returns false if the system writes none anyway, or did
    /// not follow in time.
    fn page_images(&mut self, _images: PageImages) -> SessionResult<bool> {
        Ok(false)
    }

    /// Total bytes ever written to the log of changes (WAL, redo); `None` if the system does not report them.
    fn log_bytes(&mut self) -> SessionResult<Option<f64>> {
        Ok(None)
    }

    /// How sessions flush their statistics; `None` if counters always include them.
    fn flush(&self) -> Option<FlushProcedure> {
        None
    }

    /// A snapshot of the instance's counters.
    fn counters(&mut self) -> Result<CounterSet> {
        Ok(CounterSet { values: Vec::new() })
    }

    /// OS ids of the processes or threads that serve these sessions, in the same order; 0 where unknown.
    fn served_by(&mut self, sessions: &[u32]) -> Result<Vec<u32>> {
        Ok(vec![0; sessions.len()])
    }

    /// Whether the instance works in processes or in threads, and what each thread is for.
    fn work_in(&mut self) -> Result<WorkIn> {
        Ok(WorkIn::Processes)
    }

    /// Starts sampling, many times a second, what these sessions wait for; `None` if the system does not
    /// report it.
    fn watch_waits(self: Box<Self>, _sessions: &[u32]) -> Result<Option<WaitSampler>> {
        Ok(None)
    }
}
