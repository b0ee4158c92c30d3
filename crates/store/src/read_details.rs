//! Large details of a run, read on demand: a table of medians needs none of them.

use std::collections::BTreeSet;

use rusqlite::{Row, params};

use crate::arm::{Arm, Role};
use crate::block::BlockStatus;
use crate::error::{Error, Result};
use crate::journal::ActionRecord;
use crate::meta::PlannedStep;
use crate::observation::{Histogram, PROFILE_KIND, Profile, Recorded, Window};
use crate::read::Run;
use crate::read_rows::{count, json};
use crate::slices;
use rqps_model::{Counter, CounterName, QueryPlan, Series, Slice, Wait};

impl Run {
    /// Server counters before and after the action `seq`, by view, object and column.
    pub fn counters(&self, seq: u32) -> Result<Vec<Counter>> {
        self.details(
            seq,
            "SELECT view, object, column_name, value_before, value_after FROM counter_values WHERE seq = ?1 \
             ORDER BY view, object, column_name",
            |row| {
                Ok(Counter {
                    view: row.get(0)?,
                    object: row.get(1)?,
                    column: row.get(2)?,
                    before: row.get(3)?,
                    after: row.get(4)?,
                })
            },
        )
    }

    /// The names of all server counters of the run, with the ids used by [`Run::counter_changes`].
    pub fn counter_names(&self) -> Result<Vec<(u32, CounterName)>> {
        let connection = self.connection()?;
        let read = || -> rusqlite::Result<Vec<(u32, CounterName)>> {
            let mut names =
                connection.prepare_cached("SELECT id, view, object, column_name FROM counter_names")?;
            let make = |row: &Row<'_>| {
                Ok((row.get(0)?, CounterName { view: row.get(1)?, object: row.get(2)?, column: row.get(3)? }))
            };
            names.query_map([], make)?.collect()
        };
        read().map_err(Error::sql(&self.folder.db_path()))
    }

    /// The increase of each server counter during the action `seq`, from 0 if there was no value before: id of its
    /// name, and difference.
    pub fn counter_changes(&self, seq: u32) -> Result<Vec<(u32, f64)>> {
        self.details(
            seq,
            "SELECT name_id, value_after - coalesce(value_before, 0) FROM counters WHERE seq = ?1 \
             AND value_after IS NOT NULL",
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// Per-second series of the action `seq`, by name.
    pub fn series(&self, seq: u32) -> Result<Vec<Series>> {
        self.details(seq, "SELECT name, unit, points FROM series WHERE seq = ?1 ORDER BY name", |row| {
            let points: Vec<Option<f64>> = json(row, 2)?;
            let values = points.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
            Ok(Series { name: row.get(0)?, unit: row.get(1)?, values })
        })
    }

    /// The slices of the action `seq`, in order; empty if arms took no turns.
    pub fn slices(&self, seq: u32) -> Result<Vec<Slice>> {
        let points: Vec<Vec<u8>> =
            self.details(seq, "SELECT points FROM slices WHERE seq = ?1", |row| row.get(0))?;
        Ok(points.iter().flat_map(|points| slices::from_points(points)).collect())
    }

    /// Latencies of the action `seq`, by kind of statement.
    pub fn histograms(&self, seq: u32) -> Result<Vec<Histogram>> {
        self.details(
            seq,
            "SELECT statement, measured_from, count, p50_us, p95_us, p99_us, max_us, mean_us, v2 FROM histograms \
             WHERE seq = ?1 ORDER BY statement, measured_from",
            |row| {
                Ok(Histogram {
                    statement: row.get(0)?,
                    from: row.get(1)?,
                    count: count(row, 2)?,
                    p50_us: row.get(3)?,
                    p95_us: row.get(4)?,
                    p99_us: row.get(5)?,
                    max_us: row.get(6)?,
                    mean_us: row.get(7)?,
                    v2: row.get(8)?,
                })
            },
        )
    }

    /// Query plans of the action `seq`, by kind of statement.
    pub fn plans(&self, seq: u32) -> Result<Vec<QueryPlan>> {
        self.details(
            seq,
            "SELECT statement, sql, text, json FROM query_plans WHERE seq = ?1 ORDER BY statement",
            |row| {
                Ok(QueryPlan {
                    statement: row.get(0)?,
                    sql: row.get(1)?,
                    text: row.get(2)?,
                    json: row.get(3)?,
                })
            },
        )
    }

    /// State of the server just before the action `seq`: name and value, by name.
    pub fn fingerprint(&self, seq: u32) -> Result<Vec<(String, String)>> {
        self.details(seq, "SELECT key, value FROM fingerprints WHERE seq = ?1 ORDER BY key", |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    /// Wait events of sessions in the action `seq`, by kind and event. Empty except for profiles.
    pub fn waits(&self, seq: u32) -> Result<Vec<Wait>> {
        let sql = "SELECT kind, event, found, looks FROM waits WHERE seq = ?1 ORDER BY kind, event";
        self.details(seq, sql, |row| {
            Ok(Wait { kind: row.get(0)?, event: row.get(1)?, found: count(row, 2)?, looks: count(row, 3)? })
        })
    }

    fn details<T>(
        &self,
        seq: u32,
        sql: &str,
        make: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let connection = self.connection()?;
        let read = || -> rusqlite::Result<Vec<T>> {
            connection.prepare_cached(sql)?.query_map(params![seq], make)?.collect()
        };
        read().map_err(Error::sql(&self.folder.db_path()))
    }
}

/// A step of which an arm has windows, none of them valid; or of which an imported arm has none, but base has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoResult<'a> {
    pub step: &'a str,
    pub arm: &'a str,
    /// Why the last window is invalid, or that there is none.
    pub reason: &'a str,
}

/// A step of which an arm has valid and invalid windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInPart<'a> {
    pub step: &'a str,
    pub arm: &'a str,
    /// Its windows, and how many of them are invalid.
    pub windows: usize,
    pub invalid: usize,
    /// Why the first of these is invalid.
    pub reason: &'a str,
}

impl InvalidInPart<'_> {
    /// `4 of 6 windows are invalid: a row is lost`
    pub fn text(&self) -> String {
        let are = if self.invalid == 1 { "is" } else { "are" };
        format!("{} of {} windows {are} invalid: {}", self.invalid, self.windows, self.reason)
    }
}

impl Run {
    /// An arm's windows of a step. If any block is done, those of others don't count: a check after later windows may
    /// make them invalid.
    fn windows_of(&self, step: &str, arm: &Arm) -> Vec<&Recorded<Window>> {
        let is_done = |number: u32| {
            self.blocks.iter().any(|block| block.number == number && block.status == BlockStatus::Done)
        };
        let of = |w: &&Recorded<Window>| w.action.step == step && w.action.arm == arm.name;
        let all: Vec<_> = self.windows.iter().filter(of).collect();
        let of_done = |window: &&&Recorded<Window>| window.placement.is_some_and(|at| is_done(at.block));
        let done: Vec<_> = all.iter().filter(of_done).copied().collect();
        if self.meta.protocol == "isolated" && !done.is_empty() { done } else { all }
    }

    /// How many blocks or passes were measured to the end.
    pub fn blocks_done(&self) -> usize {
        self.blocks.iter().filter(|block| block.status == BlockStatus::Done).count()
    }

    /// The steps and arms with valid and invalid windows, in the order of the plan.
    pub fn invalid_in_part(&self) -> Vec<InvalidInPart<'_>> {
        let mut found = Vec::new();
        for (step, arm) in self.steps_once().flat_map(|step| self.arms.iter().map(move |arm| (step, arm))) {
            let windows = self.windows_of(&step.name, arm);
            let invalid: Vec<_> = windows.iter().filter(|window| !window.valid()).collect();
            if let Some(first) = invalid.first().filter(|_| invalid.len() < windows.len()) {
                found.push(InvalidInPart {
                    step: &step.name,
                    arm: &arm.name,
                    windows: windows.len(),
                    invalid: invalid.len(),
                    reason: first.action.note.as_deref().unwrap_or("no reason given"),
                });
            }
        }
        found
    }

    /// Steps with arms of which at least half of the blocks have an invalid window: there, further blocks are not
    /// expected to have a result.
    pub fn mostly_invalid(&self) -> BTreeSet<(&str, &str)> {
        let is_mostly = |step: &str, arm: &Arm| {
            let windows = self.windows_of(step, arm);
            let blocks = |is_asked: fn(&Recorded<Window>) -> bool| {
                let of = windows.iter().filter(|window| is_asked(window));
                of.filter_map(|window| Some(window.placement?.block)).collect::<BTreeSet<u32>>().len()
            };
            let invalid = blocks(|window| !window.valid());
            invalid > 0 && 2 * invalid >= blocks(|_| true)
        };
        let all = self.steps.iter().flat_map(|step| self.arms.iter().map(move |arm| (step, arm)));
        let mostly = all.filter(|(step, arm)| is_mostly(&step.name, arm));
        mostly.map(|(step, arm)| (&*step.name, &*arm.name)).collect()
    }

    /// The steps of one pass: each pass has them all again.
    pub fn steps_once(&self) -> impl Iterator<Item = &PlannedStep> {
        let mut seen = BTreeSet::new();
        self.steps.iter().filter(move |step| seen.insert(&*step.name))
    }

    /// The steps and arms without a valid window, in the order of the plan.
    pub fn without_result(&self) -> Vec<NoResult<'_>> {
        let mut missing = Vec::new();
        for step in self.steps_once() {
            let of_base = |arm: &Arm| arm.role == Role::Base && !self.windows_of(&step.name, arm).is_empty();
            // Nobody knows whether it failed there.
            let is_expected = self.meta.is_imported() && self.arms.iter().any(of_base);
            for arm in &self.arms {
                let windows = self.windows_of(&step.name, arm);
                let reason = match windows.last() {
                    _ if windows.iter().any(|window| window.valid()) => continue,
                    Some(last) => last.action.note.as_deref().unwrap_or("no reason given"),
                    None if is_expected => "it is not among the files",
                    None => continue,
                };
                missing.push(NoResult { step: &step.name, arm: &arm.name, reason });
            }
        }
        missing
    }

    /// Finished actions of the schedule, in order: all except profiles.
    pub fn scheduled(&self) -> impl DoubleEndedIterator<Item = &ActionRecord> {
        self.actions.iter().filter(|action| action.kind != PROFILE_KIND)
    }

    /// The folded stacks of a profile: a line per stack, `role;frame;frame… samples`, outermost frame first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn folded(&self, profile: &Profile) -> Result<String> {
        let path = self.folder.path().join(&profile.file);
        std::fs::read_to_string(&path).map_err(Error::io("read", &path))
    }
}
