//! Reads a run: everything that tables need at once, large details on demand.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rqps_model::{Dbms, Terms};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::arm::Arm;
use crate::block::{Block, Canary, Count, Placement, TestWork};
use crate::error::{Error, Result};
use crate::folder::RunFolder;
use crate::journal::{ActionRecord, Note, RunStatus, Status};
use crate::meta::{Certificates, Fact, Meta, PlannedStep};
use crate::observation::{Load, Profile, Recorded, Window};
use crate::profile::read_profiles;
use crate::read_blocks::{
    read_blocks, read_canaries, read_certificates, read_counts, read_placements, read_works,
};
use crate::read_rows::{
    read_actions, read_arms, read_connections, read_host, read_loads, read_meta, read_metrics, read_notes,
    read_settles, read_steps, read_windows,
};
use crate::schema;
use rqps_model::{Metrics, Settle};

/// How long a read waits for a lock.
const BUSY: Duration = Duration::from_secs(10);

/// A snapshot of a run, read from its folder.
#[derive(Debug)]
pub struct Run {
    pub folder: RunFolder,
    pub meta: Meta,
    /// Its state. Stays `running` if rqps was killed: see [`RunFolder::in_use_by`].
    pub status: RunStatus,
    /// Facts about the host, by key.
    pub host: Vec<Fact>,
    /// What the host could do around the run.
    pub certificates: Certificates,
    /// The steps of the workload, in order.
    pub steps: Vec<PlannedStep>,
    /// The arms, in the plan's order.
    pub arms: Vec<Arm>,
    /// Finished actions, in the schedule's order.
    pub actions: Vec<ActionRecord>,
    /// Timestamped notes, oldest first.
    pub notes: Vec<Note>,
    /// Measured windows, in the schedule's order.
    pub windows: Vec<Recorded<Window>>,
    /// Loads, in the schedule's order.
    pub loads: Vec<Recorded<Load>>,
    /// Settles, in the schedule's order.
    pub settles: Vec<Recorded<Settle>>,
    /// Counted instructions, in the schedule's order.
    pub counts: Vec<Recorded<Count>>,
    /// CPU profiles, in the schedule's order.
    pub profiles: Vec<Recorded<Profile>>,
    /// Replicates in the order of measurement.
    pub blocks: Vec<Block>,
    /// Canaries before and after each block.
    pub canaries: Vec<Canary>,
    /// The fixed work of tests, by name.
    pub works: Vec<TestWork>,
    /// Opened when a detail is first read.
    connection: OnceCell<Connection>,
}

impl Run {
    /// The words of the kind of system that it measures.
    pub fn terms(&self) -> &'static Terms {
        self.arms.first().map_or(Dbms::Postgres.terms(), Arm::terms)
    }

    /// Rows of all tables together and the number of tables: those that were loaded, or else those of the plan.
    pub fn rows_and_tables(&self) -> (u64, u32) {
        let planned = (self.meta.rows_per_table * u64::from(self.meta.tables), self.meta.tables);
        let loaded = self.loads.iter().find(|load| load.valid() && load.result.rows > 0);
        loaded.map_or(planned, |load| (load.result.rows, load.result.tables))
    }

    /// Its state now: without a live rqps a run is not running, whatever its database says.
    pub fn state(&self) -> Status {
        self.folder.state(self.status.status)
    }

    /// Whether each of its tests can start from the same data, as protocol `isolated` requires.
    pub fn has_independent_tests(&self) -> bool {
        let mut groups = self.steps.iter().filter_map(|step| step.group.as_ref());
        self.terms().has_independent_tests && groups.all(|group| !group.consecutive)
    }

    pub fn step(&self, name: &str) -> Option<&PlannedStep> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// What is recorded of the host by this key.
    pub fn host_fact(&self, key: &str) -> Option<&str> {
        self.host.iter().find(|fact| fact.key == key).map(|fact| fact.value.as_str())
    }

    pub(crate) fn open(folder: RunFolder) -> Result<Self> {
        let path = folder.db_path();
        let mut connection = open_read_only(&path).map_err(Error::sql(&path))?;
        let found = schema::version(&connection, &path)?;
        if (1..schema::VERSION).contains(&found) {
            if has_plan(&connection).is_ok_and(|has_plan| !has_plan) {
                return Err(folder.without_plan());
            }
            drop(connection);
            RunFolder::open_for_writing(folder.path()).map_err(|_| Error::OlderSchema {
                path: path.clone(),
                found,
                known: schema::VERSION,
            })?;
            connection = open_read_only(&path).map_err(Error::sql(&path))?;
        }
        if schema::version(&connection, &path)? == 0 || !has_plan(&connection).map_err(Error::sql(&path))? {
            return Err(folder.without_plan());
        }
        let mut run = Self::load(folder, &connection).map_err(Error::sql(&path))?;
        run.connection = OnceCell::from(connection);
        Ok(run)
    }

    /// Like [`Run::open`], for a run that nobody writes: without locks and the files that these need, which on a
    /// network file system take longer than reading.
    pub(crate) fn open_unchanging(folder: RunFolder) -> Result<Self> {
        let path = folder.db_path();
        let is_written = || path.with_extension("db-wal").exists();
        if !is_written() {
            let connection = open_immutable(&path).map_err(Error::sql(&path))?;
            let is_current = schema::version(&connection, &path)? == schema::VERSION;
            if is_current && has_plan(&connection).map_err(Error::sql(&path))? {
                let loaded = Self::load(folder.clone(), &connection);
                if !is_written() {
                    let mut run = loaded.map_err(Error::sql(&path))?;
                    run.connection = OnceCell::from(connection);
                    return Ok(run);
                }
            }
        }
        Self::open(folder)
    }

    pub(crate) fn connection(&self) -> Result<&Connection> {
        if let Some(connection) = self.connection.get() {
            return Ok(connection);
        }
        let path = self.folder.db_path();
        let connection = open_read_only(&path).map_err(Error::sql(&path))?;
        Ok(self.connection.get_or_init(|| connection))
    }

    /// Reads everything in one transaction, so that a run in progress is read consistently.
    pub(crate) fn load(folder: RunFolder, connection: &Connection) -> rusqlite::Result<Self> {
        let transaction = connection.unchecked_transaction()?;
        let (meta, status) = read_meta(&transaction)?;
        let metrics = read_metrics(&transaction)?;
        let connections = read_connections(&transaction)?;
        let actions = read_actions(&transaction)?;
        let placements = read_placements(&transaction)?;
        let recorded = Assemble {
            actions: &actions,
            metrics: &metrics,
            connections: &connections,
            placements: &placements,
        };
        let windows = recorded.all(read_windows(&transaction)?);
        let loads = recorded.all(read_loads(&transaction)?);
        let settles = recorded.all(read_settles(&transaction)?);
        let counts = recorded.all(read_counts(&transaction)?);
        let profiles = recorded.all(read_profiles(&transaction)?);
        let (blocks, canaries, works) =
            (read_blocks(&transaction)?, read_canaries(&transaction)?, read_works(&transaction)?);
        let (host, certificates) = (read_host(&transaction)?, read_certificates(&transaction)?);
        let (steps, arms, notes) =
            (read_steps(&transaction)?, read_arms(&transaction)?, read_notes(&transaction)?);
        transaction.finish()?;
        Ok(Self {
            folder,
            meta,
            status,
            host,
            certificates,
            steps,
            arms,
            notes,
            windows,
            loads,
            settles,
            counts,
            profiles,
            blocks,
            canaries,
            works,
            actions,
            connection: OnceCell::new(),
        })
    }

    pub fn arm(&self, name: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.name == name)
    }
}

/// SQLite cannot read a database in WAL mode on a read-only medium unless it is opened as immutable. That is safe for a
/// run whose writer has closed it, which removes the WAL file.
fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    keep_plans(&connection)?;
    match connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())) {
        Err(error) if cannot_write(&error) && !path.with_extension("db-wal").exists() => open_immutable(path),
        read => read.map(|()| connection),
    }
}

fn open_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?;
    keep_plans(&connection)?;
    Ok(connection)
}

/// Otherwise a statement with a parameter is prepared again each time it is taken from the cache: clearing its
/// parameters counts as new values, which might want another plan.
pub(crate) fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

fn cannot_write(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}

pub(crate) fn has_plan(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM run)", [], |row| row.get(0))
}

struct Assemble<'a> {
    actions: &'a [ActionRecord],
    metrics: &'a BTreeMap<u32, Metrics>,
    connections: &'a BTreeMap<u32, Vec<rqps_model::ConnectionCpu>>,
    placements: &'a BTreeMap<u32, Placement>,
}

impl Assemble<'_> {
    fn all<T>(&self, results: Vec<(u32, T)>) -> Vec<Recorded<T>> {
        let by_seq: BTreeMap<u32, &ActionRecord> =
            self.actions.iter().map(|action| (action.seq, action)).collect();
        results
            .into_iter()
            .filter_map(|(seq, result)| {
                Some(Recorded {
                    action: (*by_seq.get(&seq)?).clone(),
                    placement: self.placements.get(&seq).copied(),
                    metrics: self.metrics.get(&seq).cloned().unwrap_or_default(),
                    connections: self.connections.get(&seq).cloned().unwrap_or_default(),
                    result,
                })
            })
            .collect()
    }
}
