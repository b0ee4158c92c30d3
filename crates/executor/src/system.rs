//! What is measured: a system makes data directories and starts instances on them; an instance is administered, watched
//! and stopped. Nothing here names a system: which there are, the caller says in a [`Kit`](crate::Kit).

use crate::error::Result;
use rqps_builds::{Build, CpuSet, Dirs, Watch};
use rqps_model::{BuildSpec, Counter, Dbms, QueryPlan, ServerSetting, Settle};
use rqps_probe::counters::CounterSet;
use rqps_probe::queue::{Planning, Sizes};
use rqps_probe::waits::WaitSampler;
use rqps_probe::work::Work;
use rqps_probe::{FlushProcedure, WorkIn};
use rqps_servers::{Applied, Config, HostLimits, HowCopied, ServerSpec};
use rqps_wire::{Error as Wire, Table};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Name by which instances know the sessions that administer.
pub(crate) const ADMIN_NAME: &str = "rqps admin";

/// What making, copying, starting and stopping instances gives.
pub type Managed<T> = rqps_servers::Result<T>;
/// What a session gives.
pub type Asked<T> = std::result::Result<T, Wire>;
/// Called several times a second; the work ends early when it returns false.
pub type Look<'a> = dyn FnMut() -> bool + 'a;
/// The same with what is being done and the seconds since the beginning.
pub type SettleTick<'a> = dyn FnMut(&'static str, f64) -> bool + 'a;

/// Programs of one kind that can be measured.
pub trait System: Sync {
    /// Whether builds of this name are its.
    fn runs(&self, dbms: Dbms) -> bool;

    /// Obtains a build; one from source takes minutes, which `watch` hears of and may end.
    fn build(&self, dirs: &Dirs, spec: &BuildSpec, watch: &mut Watch<'_>) -> rqps_builds::Result<Build>;

    /// Reads a config by its name or path; without limits, as it was written.
    fn config(&self, dbms: Dbms, name_or_path: &str, limits: Option<&HostLimits>) -> Managed<Config>;

    /// The config without what runs when the clock says so, for blocks.
    fn config_of_blocks(&self, dbms: Dbms, config: &Config) -> Managed<Config>;

    /// The same for people: what it is about, and what becomes of it in blocks.
    fn method_of_blocks(&self) -> (&'static str, &'static str);

    /// Instances of equal keys can start on each other's data.
    fn data_key(&self, build: &Build, config: &Config) -> String;

    /// Makes an empty data directory, replacing what rqps made there before.
    fn create(&self, spec: &ServerSpec, stop: &AtomicBool) -> Managed<Applied>;

    /// Starts an instance on a data directory that is ready. Given up once `stop` is set.
    fn open(&self, spec: &ServerSpec, stop: &AtomicBool) -> Managed<Box<dyn Instance>>;

    /// Copies the data of an instance that was stopped, on disk when this returns.
    fn copy_data(&self, from: &Path, to: &Path, stop: &AtomicBool) -> Managed<HowCopied>;

    /// Whether each session is served by a process of its own.
    fn session_is_a_process(&self) -> bool;

    /// What [`Admin::debt`] counts: a name for metrics, which is the unit too.
    fn debt_name(&self) -> &'static str;

    /// What the counters of a window come to.
    fn work(&self, deltas: &[Counter]) -> Work;
}

/// How drivers reach an instance. Which type is inside is between its system and them.
#[derive(Clone)]
pub struct Address(Arc<dyn Any + Send + Sync>);

impl Address {
    pub fn new(address: impl Any + Send + Sync) -> Self {
        Self(Arc::new(address))
    }

    /// The address of one kind of system; none of another.
    pub fn of<A: Any>(&self) -> Option<&A> {
        self.0.downcast_ref()
    }
}

/// A system at work on a data directory.
pub trait Instance: Send + Sync {
    fn address(&self) -> Address;

    /// How its config became its options.
    fn applied(&self) -> &Applied;

    /// Its first process; none where it has none of its own, so that nothing is charged to it.
    fn pid(&self) -> Option<u32>;

    /// How it ended, when it has.
    fn exit_text(&mut self) -> Option<String>;

    /// Whether somebody else has stopped one of its processes.
    fn is_paused(&self) -> bool;

    /// Stops all its processes where they are, until [`Instance::thaw`].
    fn freeze(&mut self) -> Managed<()>;

    fn thaw(&mut self);

    /// Lets sessions that begin from now on run on these CPUs only.
    fn place_sessions(&self, cpus: &CpuSet) -> Managed<()>;

    /// Ends it at once, as a crash would.
    fn end_now(&mut self);

    /// Shuts it down in good order, with less patience once `stop` is set.
    fn stop(self: Box<Self>, stop: &AtomicBool) -> Managed<()>;

    /// Ends it at once, for data that are not needed again.
    fn discard(self: Box<Self>);

    /// What another thread needs to look after it; none when it has ended.
    fn handle(&self) -> Option<Arc<dyn Handle>>;

    fn log_path(&self) -> &Path;

    /// The part of its log that says why it died.
    fn telling_lines(&self) -> String;

    /// A session for administration, under this name.
    fn admin(&self, name: &str) -> Asked<Box<dyn Admin>>;

    /// Asks it to end the statements of measured sessions. Returns at once: an instance that hangs must not hang who
    /// wants to be rid of it.
    fn end_statements(&self);

    /// Has it look through every table after a load: what it does by command so that plans and reads start from known
    /// ground. False when `look` asked for the end.
    fn vacuum(&self, tables: &[String], look: &mut Look<'_>) -> Asked<bool>;

    /// Has it pay its debts, and waits until its figures say so or the cap is reached. `None` when `tick` asked for the
    /// end.
    fn settle(&self, debt: &Debt<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>>;

    /// Reads the first rows of so many tables and their indexes once.
    fn warm(&self, tables: u32, rows: u64) -> Asked<()>;
}

/// An instance as seen by a thread that does not own it.
pub trait Handle: Send + Sync {
    fn data_dir(&self) -> &Path;

    fn is_alive(&self) -> bool;

    /// Ends all its processes at once. The owner sees that it has died.
    fn kill(&self);

    /// Asks it to end the statements of sessions that administer. Returns at once.
    fn end_admin_statements(&self);

    /// Whether it says that it stands still until there is room on its disk, instead of failing.
    fn waits_for_room(&self) -> bool;
}

/// What is to come to rest.
pub struct Debt<'a> {
    pub arm: &'a str,
    pub tables: &'a [String],
    pub rows_total: u64,
    /// Rows that a sample for statistics may hold: the instance keeps them in memory.
    pub sample_rows_max: u64,
    /// Give up waiting after this time, everything included.
    pub cap: Duration,
}

/// What a change to a page has with it in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageImages {
    /// An image of the whole page, since it is the first change to any page after a checkpoint.
    Dense,
    /// None, as late in a checkpoint cycle.
    Bare,
}

/// A session for administration. What a system has no word for stays as it is here.
pub trait Admin: Send {
    /// Runs a statement and keeps the answer.
    fn query(&mut self, statement: &str) -> Asked<Table>;

    /// The session's number, which is what a client's session says of itself too.
    fn backend_id(&self) -> u32 {
        0
    }

    /// What is done before each measured step.
    fn begin_step(&mut self) -> Asked<()> {
        Ok(())
    }

    /// Has what finished work changed written to where it is found after a crash.
    fn make_durable(&mut self) -> Asked<()> {
        Ok(())
    }

    /// What is left to do before an instance that has loaded and come to rest is stopped and its data are kept.
    fn before_keeping(&mut self) -> Asked<()> {
        Ok(())
    }

    /// Its version in its own words.
    fn version_text(&mut self) -> Asked<String>;

    /// How it was built.
    fn build_facts(&mut self) -> Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }

    fn settings(&mut self) -> Result<Vec<ServerSetting>> {
        Ok(Vec::new())
    }

    /// The state that a step starts from.
    fn fingerprint(&mut self) -> Result<Vec<(String, String)>>;

    /// Sizes of all tables together.
    fn sizes(&mut self) -> Result<Sizes> {
        Ok(Sizes::default())
    }

    /// What deletes have left behind that is still to be cleaned up; the system knows what that is called. Asked for
    /// each second of a window, so it costs little.
    fn debt(&mut self) -> Result<f64> {
        Ok(0.0)
    }

    /// What planning a statement takes, without executing it; none where that is not told.
    fn planning(&mut self, _statement: &str) -> Result<Option<Planning>> {
        Ok(None)
    }

    /// The plan of one statement of this kind; none where that is not told.
    fn explain(&mut self, _kind: &str, _statement: &str) -> Result<Option<QueryPlan>> {
        Ok(None)
    }

    /// Keeps what cleans up behind sessions from changing what they find: it works by its own clock, so that sessions
    /// would do more or less by chance. Lasts as long as this session.
    fn hold_cleaning(&mut self, _arm: &str) -> Result<()> {
        Ok(())
    }

    /// Has changes come with images of their pages, or without. False where none are written anyway.
    fn page_images(&mut self, _images: PageImages) -> Asked<bool> {
        Ok(false)
    }

    /// Bytes of the log of changes that were ever written; none where that is not told.
    fn log_bytes(&mut self) -> Asked<Option<f64>> {
        Ok(None)
    }

    /// How sessions hand their statistics in; none where they are there at any time.
    fn flush(&self) -> Option<FlushProcedure> {
        None
    }

    fn counters(&mut self) -> Result<CounterSet> {
        Ok(CounterSet { values: Vec::new() })
    }

    /// The kernel's numbers of what serves these sessions: processes or threads; 0 where that is not told.
    fn served_by(&mut self, sessions: &[u32]) -> Result<Vec<u32>> {
        Ok(vec![0; sessions.len()])
    }

    /// What the work is done in, and what for, at this moment.
    fn work_in(&mut self) -> Result<WorkIn> {
        Ok(WorkIn::Processes)
    }

    /// Looks many times a second what these sessions wait for, from now on; none where that is not told.
    fn watch_waits(self: Box<Self>, _sessions: &[u32]) -> Result<Option<WaitSampler>> {
        Ok(None)
    }
}
