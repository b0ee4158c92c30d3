//! Reading a run back: everything a table needs at once, the big details on demand.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row};

use crate::arm::{Arm, LeftOut};
use crate::error::{Error, Result};
use crate::folder::RunFolder;
use crate::journal::{ActionRecord, Note, RunStatus};
use crate::meta::{Fact, Meta, PlannedStep, Setting};
use crate::observation::{Load, Metrics, Recorded, Settle, SettleCondition, Window};
use crate::schema;

/// How long a read waits for a writer that is in its way.
const BUSY: Duration = Duration::from_secs(10);

/// A run as read from its folder, at one moment.
#[derive(Debug)]
pub struct Run {
    /// Where it is.
    pub folder: RunFolder,
    /// Its parameters.
    pub meta: Meta,
    /// Its state. A run says `running` also after its rqps was killed: see [`RunFolder::in_use_by`].
    pub status: RunStatus,
    /// Facts about the host, by key.
    pub host: Vec<Fact>,
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
    pub(crate) connection: Connection,
}

impl Run {
    pub(crate) fn open(folder: RunFolder) -> Result<Self> {
        let path = folder.db_path();
        let mut connection = open_read_only(&path).map_err(Error::sql(&path))?;
        let found = schema::version(&connection, &path)?;
        if (1..schema::VERSION).contains(&found) {
            drop(connection);
            RunFolder::open_for_writing(folder.path()).map_err(|_| Error::OlderSchema {
                path: path.clone(),
                found,
                known: schema::VERSION,
            })?;
            connection = open_read_only(&path).map_err(Error::sql(&path))?;
        }
        if schema::version(&connection, &path)? == 0
            || !has_plan(&connection).map_err(Error::sql(&path))?
        {
            return Err(Error::Empty {
                path: folder.path().to_owned(),
            });
        }
        load(folder, connection).map_err(Error::sql(&path))
    }

    /// The arm of that name.
    pub fn arm(&self, name: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.name == name)
    }
}

/// A database in WAL mode cannot be read from a medium that cannot be written, unless it is declared unchanging: that
/// is true of a run whose writer closed it, which leaves no WAL behind.
fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    match connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())) {
        Err(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::CannotOpen)
                && !path.with_extension("db-wal").exists() =>
        {
            let name = path
                .to_string_lossy()
                .replace('%', "%25")
                .replace('?', "%3f")
                .replace('#', "%23");
            Connection::open_with_flags(
                format!("file:{name}?immutable=1"),
                flags | OpenFlags::SQLITE_OPEN_URI,
            )
        }
        read => read.map(|()| connection),
    }
}

fn has_plan(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM run)", [], |row| row.get(0))
}

/// Reads everything in one transaction, so that a run in progress is seen at one moment.
fn load(folder: RunFolder, connection: Connection) -> rusqlite::Result<Run> {
    let transaction = connection.unchecked_transaction()?;
    let (meta, status) = read_meta(&transaction)?;
    let metrics = read_metrics(&transaction)?;
    let backends = read_backends(&transaction)?;
    let actions = read_actions(&transaction)?;
    let recorded = Assemble {
        actions: &actions,
        metrics: &metrics,
        backends: &backends,
    };
    let windows = recorded.all(read_windows(&transaction)?);
    let loads = recorded.all(read_loads(&transaction)?);
    let settles = recorded.all(read_settles(&transaction)?);
    let host = rows(
        &transaction,
        "SELECT key, value, comparable FROM host_facts ORDER BY key",
        |row| {
            Ok(Fact {
                key: row.get(0)?,
                value: row.get(1)?,
                comparable: row.get(2)?,
            })
        },
    )?;
    let (steps, arms, notes) = (
        read_steps(&transaction)?,
        read_arms(&transaction)?,
        read_notes(&transaction)?,
    );
    transaction.finish()?;
    Ok(Run {
        folder,
        meta,
        status,
        host,
        steps,
        arms,
        notes,
        windows,
        loads,
        settles,
        actions,
        connection,
    })
}

struct Assemble<'a> {
    actions: &'a [ActionRecord],
    metrics: &'a BTreeMap<u32, Metrics>,
    backends: &'a BTreeMap<u32, Vec<f64>>,
}

impl Assemble<'_> {
    fn all<T>(&self, results: Vec<(u32, T)>) -> Vec<Recorded<T>> {
        let by_seq: BTreeMap<u32, &ActionRecord> = self
            .actions
            .iter()
            .map(|action| (action.seq, action))
            .collect();
        results
            .into_iter()
            .filter_map(|(seq, result)| {
                Some(Recorded {
                    action: (*by_seq.get(&seq)?).clone(),
                    metrics: self.metrics.get(&seq).cloned().unwrap_or_default(),
                    backend_cpu_us: self.backends.get(&seq).cloned().unwrap_or_default(),
                    result,
                })
            })
            .collect()
    }
}

/// All rows of a query, each made by `make`.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    make: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(sql)?.query_map([], make)?.collect()
}

/// A count kept as an integer.
pub(crate) fn count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(|value| value.max(0) as u64)
}

/// A value kept as JSON text.
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    index: usize,
) -> rusqlite::Result<T> {
    serde_json::from_str(&row.get::<_, String>(index)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            index,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}

fn seed(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, String>(index)?.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            index,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}

fn read_meta(connection: &Connection) -> rusqlite::Result<(Meta, RunStatus)> {
    let method = rows(
        connection,
        "SELECT name, value FROM method ORDER BY position",
        |row| {
            Ok(Setting {
                name: row.get(0)?,
                value: row.get(1)?,
            })
        },
    )?;
    connection.query_row(
        "SELECT name, program_version, created_at_ms, workload, workload_revision, protocol, seed, tables, \
         rows_per_table, clients, actions_total, status, status_reason, status_at_ms FROM run",
        [],
        |row| {
            let meta = Meta {
                name: row.get(0)?,
                program_version: row.get(1)?,
                created_at_ms: row.get(2)?,
                workload: row.get(3)?,
                workload_revision: row.get(4)?,
                protocol: row.get(5)?,
                seed: seed(row, 6)?,
                tables: row.get(7)?,
                rows_per_table: count(row, 8)?,
                clients: row.get(9)?,
                actions_total: row.get(10)?,
                method: method.clone(),
            };
            Ok((meta, RunStatus { status: row.get(11)?, reason: row.get(12)?, changed_at_ms: row.get(13)? }))
        },
    )
}

fn read_steps(connection: &Connection) -> rusqlite::Result<Vec<PlannedStep>> {
    rows(
        connection,
        "SELECT position, name, kind, test, test_group, clients, amount FROM steps ORDER BY position",
        |row| {
            Ok(PlannedStep {
                position: row.get(0)?,
                name: row.get(1)?,
                kind: row.get(2)?,
                test: row.get(3)?,
                group: row.get(4)?,
                clients: row.get(5)?,
                amount: row.get(6)?,
            })
        },
    )
}

fn read_arms(connection: &Connection) -> rusqlite::Result<Vec<Arm>> {
    let mut left_out = rows(
        connection,
        "SELECT arm_id, option, value, reason FROM arm_left_out ORDER BY arm_id, position",
        |row| {
            Ok((
                row.get(0)?,
                LeftOut {
                    option: row.get(1)?,
                    value: row.get(2)?,
                    reason: row.get(3)?,
                },
            ))
        },
    )?;
    let mut managed = rows(
        connection,
        "SELECT arm_id, name, value FROM arm_managed ORDER BY arm_id, position",
        |row| {
            Ok((
                row.get(0)?,
                Setting {
                    name: row.get(1)?,
                    value: row.get(2)?,
                },
            ))
        },
    )?;
    rows(
        connection,
        "SELECT id, name, role, dbms, build_version, build_hash, build_origin, build_version_text, config_name, \
         config_hash, config_text FROM arms ORDER BY id",
        |row| {
            let id: i64 = row.get(0)?;
            Ok(Arm {
                name: row.get(1)?,
                role: row.get(2)?,
                dbms: row.get(3)?,
                build_version: row.get(4)?,
                build_hash: row.get(5)?,
                build_origin: row.get(6)?,
                build_version_text: row.get(7)?,
                config_name: row.get(8)?,
                config_hash: row.get(9)?,
                config_text: row.get(10)?,
                left_out: take(&mut left_out, id),
                managed: take(&mut managed, id),
            })
        },
    )
}

/// Moves out the values kept under `id`.
fn take<T>(all: &mut Vec<(i64, T)>, id: i64) -> Vec<T> {
    all.extract_if(.., |(owner, _)| *owner == id)
        .map(|(_, value)| value)
        .collect()
}

fn read_actions(connection: &Connection) -> rusqlite::Result<Vec<ActionRecord>> {
    rows(
        connection,
        "SELECT a.seq, m.name, a.kind, a.step, a.attempt, a.started_at_ms, a.finished_at_ms, a.outcome, a.note \
         FROM actions a JOIN arms m ON m.id = a.arm_id ORDER BY a.seq",
        |row| {
            Ok(ActionRecord {
                seq: row.get(0)?,
                arm: row.get(1)?,
                kind: row.get(2)?,
                step: row.get(3)?,
                attempt: row.get(4)?,
                started_at_ms: row.get(5)?,
                finished_at_ms: row.get(6)?,
                outcome: row.get(7)?,
                note: row.get(8)?,
            })
        },
    )
}

fn read_notes(connection: &Connection) -> rusqlite::Result<Vec<Note>> {
    rows(
        connection,
        "SELECT n.at_ms, m.name, n.text FROM notes n LEFT JOIN arms m ON m.id = n.arm_id ORDER BY n.id",
        |row| {
            Ok(Note {
                at_ms: row.get(0)?,
                arm: row.get(1)?,
                text: row.get(2)?,
            })
        },
    )
}

fn read_metrics(connection: &Connection) -> rusqlite::Result<BTreeMap<u32, Metrics>> {
    let mut metrics: BTreeMap<u32, Metrics> = BTreeMap::new();
    for (seq, name, value) in rows(connection, "SELECT seq, name, value FROM metrics", |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })? {
        metrics.entry(seq).or_default().insert(name, value);
    }
    Ok(metrics)
}

fn read_backends(connection: &Connection) -> rusqlite::Result<BTreeMap<u32, Vec<f64>>> {
    let mut backends: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (seq, cpu_us) in rows(
        connection,
        "SELECT seq, cpu_us FROM backend_cpu ORDER BY seq, client",
        |row| Ok((row.get(0)?, row.get(1)?)),
    )? {
        backends.entry(seq).or_default().push(cpu_us);
    }
    Ok(backends)
}

fn read_windows(connection: &Connection) -> rusqlite::Result<Vec<(u32, Window)>> {
    let mut retries: BTreeMap<u32, BTreeMap<String, u64>> = BTreeMap::new();
    for (seq, sqlstate, number) in rows(
        connection,
        "SELECT seq, sqlstate, count FROM retries",
        |row| Ok((row.get(0)?, row.get(1)?, count(row, 2)?)),
    )? {
        retries.entry(seq).or_default().insert(sqlstate, number);
    }
    rows(
        connection,
        "SELECT seq, test, test_group, position, clients, seed, started_at_ms, warmup_us, elapsed_us, ended_by, \
         rate_unit, target_events_per_s, events, queries, statements, statements_working, noop_statements, rows, \
         errors FROM windows ORDER BY seq",
        |row| {
            let seq = row.get(0)?;
            let window = Window {
                test: row.get(1)?,
                group: row.get(2)?,
                position: row.get(3)?,
                clients: row.get(4)?,
                seed: seed(row, 5)?,
                started_at_ms: row.get(6)?,
                warmup_us: count(row, 7)?,
                elapsed_us: count(row, 8)?,
                ended_by: row.get(9)?,
                rate_unit: row.get(10)?,
                target_events_per_s: row.get(11)?,
                events: count(row, 12)?,
                queries: count(row, 13)?,
                statements: count(row, 14)?,
                statements_working: count(row, 15)?,
                noop_statements: count(row, 16)?,
                rows: count(row, 17)?,
                errors: count(row, 18)?,
                retries: retries.remove(&seq).unwrap_or_default(),
            };
            Ok((seq, window))
        },
    )
}

fn read_loads(connection: &Connection) -> rusqlite::Result<Vec<(u32, Load)>> {
    rows(
        connection,
        "SELECT seq, tables, rows, load_us, index_us, vacuum_us FROM loads ORDER BY seq",
        |row| {
            let load = Load {
                tables: row.get(1)?,
                rows: count(row, 2)?,
                load_us: count(row, 3)?,
                index_us: count(row, 4)?,
                vacuum_us: count(row, 5)?,
            };
            Ok((row.get(0)?, load))
        },
    )
}

fn read_settles(connection: &Connection) -> rusqlite::Result<Vec<(u32, Settle)>> {
    let mut conditions: BTreeMap<u32, Vec<SettleCondition>> = BTreeMap::new();
    for (seq, condition) in rows(
        connection,
        "SELECT seq, name, value_before, value_after, target FROM settle_conditions ORDER BY seq, position",
        |row| {
            let condition = SettleCondition {
                name: row.get(1)?,
                before: row.get(2)?,
                after: row.get(3)?,
                target: row.get(4)?,
            };
            Ok((row.get(0)?, condition))
        },
    )? {
        conditions.entry(seq).or_default().push(condition);
    }
    rows(
        connection,
        "SELECT seq, actions, elapsed_us, cap_us, reached FROM settles ORDER BY seq",
        |row| {
            let seq = row.get(0)?;
            let settle = Settle {
                actions: json(row, 1)?,
                conditions: conditions.remove(&seq).unwrap_or_default(),
                elapsed_us: count(row, 2)?,
                cap_us: count(row, 3)?,
                reached: row.get(4)?,
            };
            Ok((seq, settle))
        },
    )
}
