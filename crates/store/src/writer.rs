//! Writes a run: its parameters and arms, the journal, and each finished action with its observation.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use rqps_model::Role;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::arm::Arm;
use crate::block::BlockStatus;
use crate::error::{Error, Result};
use crate::folder::{RunFolder, now_ms};
use crate::journal::{ActionRecord, Outcome, RESUMED, RunStatus, Status};
use crate::lock::{Lock, RunProgress};
use crate::meta::{Fact, Meta, PlannedStep};
use crate::observation::{Measured, Observation};
use crate::put::Put;
use crate::read::{Run, has_plan, keep_plans};
use crate::schema;
use crate::write_observation::{insert_observation, json};

/// The note of a block that is void because rqps was killed.
pub const CUT_OFF: &str = "cut off";

/// How long a write waits for a lock.
const BUSY: Duration = Duration::from_secs(10);
/// Size of the statement cache: holds all statements of a writer, and those that read a run.
const STATEMENTS_MAX: usize = 96;

/// A run opened for writing. It holds the folder's lock until it is dropped.
#[derive(Debug)]
pub struct RunWriter {
    folder: RunFolder,
    pub(crate) connection: Connection,
    // Declared after the connection: fields are dropped in order, so the lock is released last.
    lock: Lock,
}

impl RunWriter {
    pub(crate) fn open(folder: RunFolder) -> Result<Self> {
        if !folder.path().is_dir() {
            return Err(Error::NotARun { path: folder.path().to_owned() });
        }
        let lock = Lock::take(folder.path())?;
        let path = folder.db_path();
        let mut connection = Connection::open(&path).map_err(Error::sql(&path))?;
        configure(&connection).map_err(Error::sql(&path))?;
        schema::migrate(&mut connection, &path)?;
        void_cut_off(&connection).map_err(Error::sql(&path))?;
        Ok(Self { folder, connection, lock })
    }

    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Reads what has been written so far.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn run(&self) -> Result<Run> {
        if !has_plan(&self.connection).map_err(Error::sql(&self.folder.db_path()))? {
            return Err(Error::Empty { path: self.folder.path().to_owned() });
        }
        Run::load(self.folder.clone(), &self.connection).map_err(Error::sql(&self.folder.db_path()))
    }

    /// Publishes the run's estimated progress for readers; returns what they see: its share never falls, unless the run
    /// is given more to do.
    ///
    /// # Errors
    /// If the lock file cannot be written.
    pub fn record_progress(&mut self, progress: RunProgress) -> Result<RunProgress> {
        self.lock.record_progress(progress)
    }

    /// Records the parameters of the run and marks it running. Called once, right after the folder is created. The plan
    /// file is in place before the database has a row for it. Arms are in the plan's order.
    pub fn begin_run(
        &mut self,
        plan_toml: &str,
        meta: &Meta,
        steps: &[PlannedStep],
        arms: &[Arm],
        host: &[Fact],
    ) -> Result<()> {
        write_atomically(&self.folder.plan_path(), plan_toml)?;
        self.transact(|transaction| {
            insert_meta(transaction, meta)?;
            insert_steps(transaction, steps)?;
            for fact in host {
                transaction.insert(
                    "host_facts",
                    "key, value, comparable",
                    params![fact.key, fact.value, fact.comparable],
                )?;
            }
            arms.iter().try_for_each(|arm| upsert_arm(transaction, arm))
        })
    }

    /// Records an arm, or replaces its record (its left-out options are known after its first start).
    pub fn put_arm(&mut self, arm: &Arm) -> Result<()> {
        self.transact(|transaction| upsert_arm(transaction, arm))
    }

    /// Records the start of an action and returns the number of this attempt, from 1. The result of an earlier attempt
    /// is kept until this one finishes.
    pub fn begin_action(&mut self, seq: u32) -> Result<u32> {
        self.transact(|transaction| {
            let attempt: u32 = transaction.query_row(
                "SELECT coalesce(max(attempt), 0) + 1 FROM attempts WHERE seq = ?1",
                [seq],
                |row| row.get(0),
            )?;
            transaction.insert("attempts", "seq, attempt, started_at_ms", params![seq, attempt, now_ms()])?;
            Ok(attempt)
        })
    }

    /// Writes a finished action and its observation in one transaction: after a crash, both are complete or absent.
    /// Replaces the result of an earlier attempt at the same `seq`. An invalid window makes the arm's earlier windows
    /// of the same step and block invalid: they were measured on the same data, before the check that failed.
    pub fn finish_action(&mut self, record: &ActionRecord, observation: Option<&Observation>) -> Result<()> {
        let arm_id = self.arm_id(&record.arm)?;
        self.transact(|transaction| {
            transaction.put("DELETE FROM actions WHERE seq = ?1", [record.seq])?;
            insert_action(transaction, arm_id, record)?;
            let Some(observation) = observation else { return Ok(()) };
            insert_observation(transaction, record.seq, observation)?;
            match (observation.placement, record.outcome) {
                // Of a test that could not be counted the windows are as good.
                _ if matches!(observation.measured, Measured::Count(_)) => Ok(()),
                (Some(placement), Outcome::Invalid) => spoil_windows(
                    transaction,
                    (placement.block, arm_id, &record.step),
                    record.note.as_deref(),
                ),
                _ => Ok(()),
            }
        })
    }

    /// `seq` of all finished actions, whatever their outcome, but for those of [`Self::replays`].
    pub fn done_actions(&self) -> Result<BTreeSet<u32>> {
        self.seqs("SELECT seq FROM actions EXCEPT SELECT seq FROM replays")
    }

    /// `seq` of the actions that have a result and are to be executed once more, for the data they leave.
    pub fn replays(&self) -> Result<BTreeSet<u32>> {
        self.seqs("SELECT seq FROM replays")
    }

    /// Records that a replay is done: nothing is left of it.
    pub fn finish_replay(&mut self, seq: u32) -> Result<()> {
        self.transact(|transaction| {
            transaction.put("DELETE FROM replays WHERE seq = ?1", [seq])?;
            transaction.put(
                "DELETE FROM attempts WHERE seq = ?1 AND attempt > (SELECT attempt FROM actions WHERE seq = ?1)",
                [seq],
            )?;
            Ok(())
        })
    }

    /// `seq` of the actions whose last attempt began but did not finish.
    pub fn cut_off_actions(&self) -> Result<BTreeSet<u32>> {
        self.seqs(
            "SELECT seq FROM attempts GROUP BY seq \
             HAVING max(attempt) > coalesce((SELECT attempt FROM actions WHERE actions.seq = attempts.seq), 0)",
        )
    }

    /// Deletes these actions with their results and attempts, so that they are executed again. Those that are `kept`
    /// stay, and are executed once more for the data they leave. Marks the passes that they belong to as running.
    pub fn forget_actions(&mut self, seqs: &BTreeSet<u32>, kept: &BTreeSet<u32>) -> Result<()> {
        self.transact(|transaction| {
            for seq in seqs {
                transaction.put(
                    "UPDATE blocks SET status = ?1, finished_at_ms = NULL \
                     WHERE number = (SELECT block FROM placements WHERE seq = ?2)",
                    params![BlockStatus::Running, seq],
                )?;
                if kept.contains(seq) {
                    transaction.put("INSERT INTO replays (seq) VALUES (?1) ON CONFLICT DO NOTHING", [seq])?;
                    continue;
                }
                transaction.put("DELETE FROM actions WHERE seq = ?1", [seq])?;
                transaction.put("DELETE FROM attempts WHERE seq = ?1", [seq])?;
            }
            Ok(())
        })
    }

    fn seqs(&self, sql: &str) -> Result<BTreeSet<u32>> {
        let read = || -> rusqlite::Result<BTreeSet<u32>> {
            self.connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(Error::sql(&self.folder.db_path()))
    }

    /// Sets the state of the run, with the reason for `failed` and `interrupted`.
    pub fn set_status(&mut self, status: Status, reason: Option<&str>) -> Result<()> {
        self.transact(|transaction| {
            transaction.put(
                "UPDATE run SET status = ?1, status_reason = ?2, status_at_ms = ?3",
                params![status, reason, now_ms()],
            )?;
            Ok(())
        })
    }

    /// The state of the run; `None` before `begin_run`.
    pub fn status(&self) -> Result<Option<RunStatus>> {
        self.connection
            .query_row("SELECT status, status_reason, status_at_ms FROM run", [], |row| {
                Ok(RunStatus { status: row.get(0)?, reason: row.get(1)?, changed_at_ms: row.get(2)? })
            })
            .optional()
            .map_err(Error::sql(&self.folder.db_path()))
    }

    /// Sets how long blocks and loads may take in all, in place of the plan's budget.
    pub fn set_budget(&mut self, budget: Duration) -> Result<()> {
        self.lock.forget_progress();
        let budget_ms = budget.as_millis() as i64;
        self.transact(|transaction| {
            transaction.put("UPDATE run SET budget_ms = ?1", params![budget_ms]).map(drop)
        })
    }

    /// What [`Self::set_budget`] set last.
    pub fn budget(&self) -> Result<Option<Duration>> {
        let budget_ms: Option<i64> = self
            .connection
            .query_row("SELECT budget_ms FROM run", [], |row| row.get(0))
            .map_err(Error::sql(&self.folder.db_path()))?;
        Ok(budget_ms.map(|ms| Duration::from_millis(ms.max(0) as u64)))
    }

    /// Adds a note with the time of now, about one arm or the whole run.
    pub fn add_note(&mut self, arm: Option<&str>, text: &str) -> Result<()> {
        self.add_note_at(now_ms(), arm, text)
    }

    /// Adds a note about what happened at a time, milliseconds since 1970 (UTC).
    pub fn add_note_at(&mut self, at_ms: i64, arm: Option<&str>, text: &str) -> Result<()> {
        let arm_id = arm.map(|name| self.arm_id(name)).transpose()?;
        self.transact(|transaction| {
            transaction.insert("notes", "at_ms, arm_id, text", params![at_ms, arm_id, text])
        })
    }

    /// Records that this process continues the run.
    pub fn add_resume(&mut self) -> Result<()> {
        self.add_note(None, RESUMED)
    }

    pub(crate) fn arm_id(&self, name: &str) -> Result<i64> {
        let select = "SELECT id FROM arms WHERE name = ?1";
        let found = self.connection.query_row(select, [name], |row| row.get(0)).optional();
        found.map_err(Error::sql(&self.folder.db_path()))?.ok_or_else(|| Error::UnknownArm(name.to_owned()))
    }

    pub(crate) fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let path = self.folder.db_path();
        let run = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run(&mut self.connection).map_err(Error::sql(&path))
    }
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    keep_plans(connection)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Writes a file atomically: a crash leaves it complete or absent.
fn write_atomically(path: &Path, text: &str) -> Result<()> {
    let partial = path.with_extension("partial");
    let write = || {
        let mut file = fs::File::create(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(Error::io("write", path))
}

pub(crate) fn insert_action(
    transaction: &Transaction<'_>,
    arm_id: i64,
    record: &ActionRecord,
) -> rusqlite::Result<()> {
    transaction.insert(
        "actions",
        "seq, arm_id, kind, step, attempt, started_at_ms, finished_at_ms, outcome, note",
        params![
            record.seq,
            arm_id,
            record.kind,
            record.step,
            record.attempt,
            record.started_at_ms,
            record.finished_at_ms,
            record.outcome,
            record.note
        ],
    )
}

/// Makes an arm's windows of a step and block invalid, those that are not yet.
fn spoil_windows(
    transaction: &Transaction<'_>,
    (block, arm_id, step): (u32, i64, &str),
    why: Option<&str>,
) -> rusqlite::Result<()> {
    let note = format!("after a later window on the same data: {}", why.unwrap_or("invalid"));
    transaction.put(
        "UPDATE actions SET outcome = ?1, note = ?2 WHERE outcome = ?3 AND arm_id = ?4 AND step = ?5 \
         AND seq IN (SELECT l.seq FROM placements l JOIN windows w ON w.seq = l.seq WHERE l.block = ?6)",
        params![Outcome::Invalid, note, Outcome::Done, arm_id, step, block],
    )?;
    Ok(())
}

fn insert_meta(transaction: &Transaction<'_>, meta: &Meta) -> rusqlite::Result<()> {
    transaction.put(
        "INSERT INTO run (id, name, program_version, created_at_ms, workload, workload_revision, protocol, seed, \
         tables, rows_per_table, clients, actions_total, status, status_at_ms, workload_title) \
         VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            meta.name,
            meta.program_version,
            meta.created_at_ms,
            meta.workload,
            meta.workload_revision,
            meta.protocol,
            meta.seed.to_string(),
            meta.tables,
            meta.rows_per_table as i64,
            meta.clients,
            meta.actions_total,
            Status::Running,
            now_ms(),
            meta.workload_title
        ],
    )?;
    for (position, setting) in meta.method.iter().enumerate() {
        transaction.insert(
            "method",
            "position, name, value",
            params![position as i64, setting.name, setting.value],
        )?;
    }
    Ok(())
}

fn insert_steps(transaction: &Transaction<'_>, steps: &[PlannedStep]) -> rusqlite::Result<()> {
    for step in steps {
        if let Some(group) = &step.group {
            transaction.put(
                "INSERT INTO groups (key, title, short, position, consecutive) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT DO NOTHING",
                params![group.key, group.title, group.short, group.position, group.consecutive],
            )?;
        }
        transaction.insert(
            "steps",
            "position, name, kind, test, test_group, role, writes, clients, amount",
            params![
                step.position,
                step.name,
                step.kind,
                step.test,
                step.group.as_ref().map(|group| &group.key),
                step.role.map(Role::key),
                step.writes,
                step.clients,
                step.amount
            ],
        )?;
    }
    Ok(())
}

fn upsert_arm(transaction: &Transaction<'_>, arm: &Arm) -> rusqlite::Result<()> {
    let arm_id: i64 = transaction.query_row(
        "INSERT INTO arms (name, role, dbms, build_version, build_hash, build_origin, build_version_text, \
         config_name, config_hash, config_text, control, env, after_load) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
         ON CONFLICT (name) DO UPDATE SET role = excluded.role, dbms = excluded.dbms, \
         build_version = excluded.build_version, build_hash = excluded.build_hash, \
         build_origin = excluded.build_origin, build_version_text = excluded.build_version_text, \
         config_name = excluded.config_name, config_hash = excluded.config_hash, \
         config_text = excluded.config_text, control = excluded.control, env = excluded.env, \
         after_load = excluded.after_load RETURNING id",
        params![
            arm.name,
            arm.role,
            arm.dbms,
            arm.build_version,
            arm.build_hash,
            arm.build_origin,
            arm.build_version_text,
            arm.config_name,
            arm.config_hash,
            arm.config_text,
            arm.control,
            json(&arm.env)?,
            json(&arm.after_load)?
        ],
        |row| row.get(0),
    )?;
    for table in ["arm_left_out", "arm_managed", "arm_facts", "arm_settings"] {
        transaction.put(&format!("DELETE FROM {table} WHERE arm_id = ?1"), [arm_id])?;
    }
    for (position, left_out) in arm.left_out.iter().enumerate() {
        transaction.insert(
            "arm_left_out",
            "arm_id, position, option, value, reason, refused, taken, without_effect, unknown, instead",
            params![
                arm_id,
                position as i64,
                left_out.option,
                left_out.value,
                left_out.reason,
                left_out.refused,
                left_out.taken,
                left_out.without_effect,
                left_out.unknown,
                left_out.instead
            ],
        )?;
    }
    for (position, setting) in arm.managed.iter().enumerate() {
        transaction.insert(
            "arm_managed",
            "arm_id, position, name, value",
            params![arm_id, position as i64, setting.name, setting.value],
        )?;
    }
    insert_server(transaction, arm_id, arm)
}

/// Inserts facts and settings that the arm's server reports.
fn insert_server(transaction: &Transaction<'_>, arm_id: i64, arm: &Arm) -> rusqlite::Result<()> {
    for (position, fact) in arm.facts.iter().enumerate() {
        transaction.insert(
            "arm_facts",
            "arm_id, position, name, value",
            params![arm_id, position as i64, fact.name, fact.value],
        )?;
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO arm_settings (arm_id, name, value, source, is_default) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for setting in &arm.settings {
        insert.execute(params![arm_id, setting.name, setting.value, setting.source, setting.default])?;
    }
    Ok(())
}

/// Voids blocks left `running` by a killed rqps. A pass of a sequence stays `running`: it is resumed.
fn void_cut_off(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE blocks SET status = ?1, note = ?2, finished_at_ms = ?3 WHERE status = ?4 \
         AND EXISTS (SELECT 1 FROM run WHERE protocol = 'isolated')",
        params![BlockStatus::Void, CUT_OFF, now_ms(), BlockStatus::Running],
    )?;
    Ok(())
}
