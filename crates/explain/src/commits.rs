//! Commits that wait for the disk: how many a client did per second, and how many the disk promises one client by the
//! host's certificate.
//!
//! That commits wait follows from the server's settings in effect, not from its counters: Postgres before 14 does not
//! count the syncs of its log, nor does MariaDB from 10.11 on, and servers that let the log open with O_SYNC make none.
//! Where they are counted, they can refute it.

use std::collections::HashMap;

use rqps_store::{Recorded, Run, Window};
use rqps_verdicts::{CommitPromise, commit_promise, pooled};

use crate::context::Context;
use crate::error::Result;
use crate::figures::{Windows, sessions_of};
use crate::foreground::Foreground;
use crate::model::{Commits, Decomposition, Part, PartName, WaitingCommits};
use crate::time::find_part;
use crate::words;

/// Bytes of log from which on a commit has written something.
const WRITES_BYTES: f64 = 16.0;
/// Share of a client's time that the syncs of its commits have to take at the promised latency. Where they take less,
/// the disk is not what it waits for: it is in memory, or hardly anything is committed.
const SHARE_MIN: f64 = 0.05;
/// Syncs of the log per commit of a client below which commits do not wait for them: a background process syncs.
const SYNCS_MIN: f64 = 0.5;
/// How far apart the rates of the fastest and the slowest slices may be for the promise to be a bound: where the disk
/// varies more, no share of it is told.
const UNSTEADY: f64 = 4.0;
/// Statements that commit nothing are told of from this share of the commits on.
const UNCHANGED_MIN: f64 = 0.005;
/// From this share on it is given as a factor.
const TIMES_MIN: f64 = 1.5;

/// Commits of both arms in a test; `None` if they wait on neither.
pub(crate) fn of_test(cx: &Context<'_>) -> Result<Option<Commits>> {
    let windows = cx.windows;
    let Some(promise) = promise_of(windows.run) else { return Ok(None) };
    let split = cx.decomposition.as_ref();
    let of = |arm: usize, us_per_op: Option<f64>| {
        let sessions = windows.of(cx.test, arm).first().map_or(0, |window| sessions_of(window));
        let rate = us_per_op.map(|us| f64::from(sessions) * 1e6 / us);
        waiting_commits(windows, (cx.test, arm), promise, rate)
    };
    let base = of(cx.base, split.map(|split| split.base_us_per_op))?;
    let arm = of(cx.arm, split.map(|split| split.arm_us_per_op))?;
    Ok((base.is_some() || arm.is_some()).then_some(Commits { promise, base, arm }))
}

/// What the disk of a run promises, by its certificates before and after; `None` without certificates.
pub fn promise_of(run: &Run) -> Option<CommitPromise> {
    let promise = commit_promise(&pooled(&run.certificates))?;
    Some(CommitPromise { is_of_end: !run.certificates.after.is_empty(), ..promise })
}

/// Commits of a test on an arm, whose operations per second are `rate`, or else those of its windows together; `None`
/// if they do not wait for the disk.
///
/// # Errors
/// If the run cannot be read.
pub fn waiting_commits(
    windows: &Windows<'_>,
    (test, arm): (&str, usize),
    promise: CommitPromise,
    rate: Option<f64>,
) -> Result<Option<WaitingCommits>> {
    let run = windows.run;
    let logs = durable_logs(run, arm);
    if logs.is_empty() {
        return Ok(None);
    }
    let mut sum = Sum::default();
    windows.of(test, arm).iter().for_each(|window| sum.add(window));
    let Some(found) = sum.commits(promise, rate) else { return Ok(None) };
    let log_syncs = match writes_log_through(run, arm) {
        true => None,
        false => log_syncs((run, windows.of(test, arm)), &logs)?.map(|syncs| syncs / sum.commits),
    };
    let is_refuted = log_syncs.is_some_and(|per_commit| {
        per_commit > 0.0 && per_commit * f64::from(found.sessions.max(1)) < SYNCS_MIN
    });
    Ok((!is_refuted).then_some(WaitingCommits { log_syncs, logs: logs.len() as u32, ..found }))
}

/// Whether the commits of a test wait for more logs on one of two arms than on the other, by the settings in effect.
pub(crate) fn wait_more_on_the_first(
    windows: &Windows<'_>,
    test: &str,
    (first, second): (usize, usize),
) -> bool {
    let mut sum = Sum::default();
    windows.of(test, first).iter().for_each(|window| sum.add(window));
    durable_logs(windows.run, first).len() > durable_logs(windows.run, second).len() && sum.writes()
}

/// Whether each write of the log is synced by the flag of its file, so that no syncs are counted.
fn writes_log_through(run: &Run, arm: usize) -> bool {
    let mut settings = run.arms[arm].settings.iter();
    settings.any(|setting| setting.name == "wal_sync_method" && setting.value.starts_with("open_"))
}

/// A log that commits may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    /// Of changes to data: Postgres' WAL, InnoDB's redo log.
    Redo,
    /// The binary log of MySQL and MariaDB.
    Binary,
}

/// The logs that the settings in effect make commits wait for until they are on the disk.
fn durable_logs(run: &Run, arm: usize) -> Vec<Log> {
    let arm = &run.arms[arm];
    let value = |name: &str| {
        let known = arm.settings.iter().find(|setting| setting.name == name);
        known.map(|setting| setting.value.to_ascii_lowercase())
    };
    let is = |name: &str, values: &[&str]| value(name).is_some_and(|value| values.contains(&&*value));
    let (redo, binary) = match arm.dbms.as_str() {
        "postgres" => (is("fsync", &["on"]) && !is("synchronous_commit", &["off"]), false),
        // It says nothing about the binary log.
        "mysql" | "mariadb" => (
            is("innodb_flush_log_at_trx_commit", &["1", "3"]) && !is("innodb_flush_method", &["nosync"]),
            is("log_bin", &["on", "1"]) && is("sync_binlog", &["1"]),
        ),
        _ => (false, false),
    };
    [(redo, Log::Redo), (binary, Log::Binary)]
        .into_iter()
        .filter_map(|(waits, log)| waits.then_some(log))
        .collect()
}

/// Totals over windows.
#[derive(Default)]
struct Sum {
    commits: f64,
    /// Statements outside of transactions that found nothing to change.
    unchanged: f64,
    sessions: u32,
    operations: f64,
    elapsed_s: f64,
    log_bytes: f64,
}

impl Sum {
    /// Adds a window, unless its rate was given or its sessions do other things than to commit.
    fn add(&mut self, window: &Recorded<Window>) {
        let result = &window.result;
        let foreground = Foreground::from_window(window);
        let are_queries_beside =
            foreground.is_some() && window.connections.iter().any(|one| one.role == "query");
        let (Some(queries), Some(statements), Some(events)) =
            (result.queries, result.statements, result.events)
        else {
            return;
        };
        if result.target_events_per_s.is_some() || are_queries_beside {
            return;
        }
        // Without BEGIN and COMMIT each statement commits, if it found something to change.
        let (commits, unchanged) = match (queries > statements, result.noop_statements.unwrap_or(0)) {
            (true, _) => (events, 0),
            (false, unchanged) => (statements.saturating_sub(unchanged), unchanged),
        };
        let sessions = foreground.map_or(result.clients, |foreground| foreground.connections);
        self.commits += commits as f64;
        self.unchanged += unchanged as f64;
        self.sessions = self.sessions.max(sessions);
        self.operations += result.operations;
        self.elapsed_s += result.elapsed_s();
        self.log_bytes += window.metric("server_wal_bytes").unwrap_or(0.0);
    }

    fn writes(&self) -> bool {
        self.commits > 0.0 && self.log_bytes / self.commits >= WRITES_BYTES
    }

    fn commits(&self, promise: CommitPromise, rate: Option<f64>) -> Option<WaitingCommits> {
        let rate = rate.unwrap_or(self.operations / self.elapsed_s);
        let per_s = |total: f64| total / self.operations * rate;
        let each_per_s = per_s(self.commits) / f64::from(self.sessions);
        (self.writes() && each_per_s * promise.sync_us / 1e6 >= SHARE_MIN).then(|| WaitingCommits {
            sessions: self.sessions,
            per_s: per_s(self.commits),
            unchanged_per_s: per_s(self.unchanged),
            share: each_per_s / promise.per_s,
            log_syncs: None,
            logs: 1,
        })
    }
}

/// The server's syncs of these logs in these windows, whoever made them; `None` if it does not count those of
/// one. Those of the binary log include other calls on its file, which are few.
fn log_syncs((run, windows): (&Run, &[&Recorded<Window>]), logs: &[Log]) -> Result<Option<f64>> {
    let of = |view: &str, object: &str, column: &str| match view {
        // From 18 on.
        "pg_stat_io" => (column == "fsyncs" && object.ends_with("/wal/normal")).then_some(Log::Redo),
        // From 14 to 17.
        "pg_stat_wal" => (column == "wal_sync").then_some(Log::Redo),
        "global_status" => (column == "innodb_os_log_fsyncs").then_some(Log::Redo),
        "file_io" => (column == "count_misc" && object == "sql/binlog").then_some(Log::Binary),
        _ => None,
    };
    let names = run.counter_names()?.into_iter();
    let counted: HashMap<u32, Log> =
        names.filter_map(|(id, name)| Some((id, of(&name.view, &name.object, &name.column)?))).collect();
    let mut totals = vec![None; logs.len()];
    for window in windows {
        for (id, change) in run.counter_changes(window.action.seq)? {
            let log = counted.get(&id).and_then(|log| logs.iter().position(|waited| waited == log));
            if let Some(log) = log {
                *totals[log].get_or_insert(0.0) += change;
            }
        }
    }
    Ok(totals.into_iter().sum())
}

impl Commits {
    /// Sentences for a report: what the disk promises, what each arm did, and where the parts of the time have the
    /// wait.
    pub fn text(&self, base: &str, arm: &str, split: Option<&Decomposition>) -> String {
        let promise = &self.promise;
        let is_bound = promise.high_per_s <= UNSTEADY * promise.low_per_s;
        let arms = [(base, &self.base), (arm, &self.arm)];
        let did = arms.iter().filter_map(|(name, commits)| Some(commits.as_ref()?.text(name, is_bound)));
        let is_above = arms
            .iter()
            .filter_map(|(_, commits)| **commits)
            .any(|commits| commits.per_s > promise.high_per_s);
        let above = " That is more than at the fastest slices: the disk was faster in these windows, or one sync served several \
                     commits.";
        let disk = format!(
            "{} us to write 16 KiB, {} us for fdatasync",
            words::number(promise.write_us),
            words::number(promise.sync_us)
        );
        let [low, high] = [promise.low_per_s, promise.high_per_s].map(words::number);
        let of_disk = match is_bound {
            true => format!(
                "At the disk's latency {} one client can do at most {} per second, {low} to {high} by the slowest and the fastest \
                 slices: {disk}.",
                promise.when(),
                words::number(promise.per_s)
            ),
            false => format!(
                "The disk's latency varied too much {} for a bound: {disk}, but {low} to {high} commits per second by the slowest \
                 and the fastest slices.",
                promise.when()
            ),
        };
        format!(
            "Commits wait for the disk.{} {of_disk} {}.{}",
            split.and_then(|split| self.where_waited(split)).unwrap_or_default(),
            did.collect::<Vec<_>>().join("; "),
            if is_above { above } else { "" },
        )
    }

    /// Which parts of the time per operation above have the wait for the disk, and which the wait for a CPU after it.
    fn where_waited(&self, split: &Decomposition) -> Option<String> {
        let of = |name| find_part(&split.parts, &[PartName::Waiting, name]);
        let us = |part: &Part| match self.arm.is_some() {
            true => part.arm_us_per_op.max(part.base_us_per_op),
            false => part.base_us_per_op,
        };
        let some = |name| of(name).filter(|part| us(part) > 0.0);
        let part = some(PartName::ForLog).or(some(PartName::Unexplained))?;
        let queue = some(PartName::ForCpu);
        let queue = queue.map(|_| {
            format!(
                ", and \"{}\" is how long sessions and clients then waited for a free CPU, on which other programs were",
                PartName::ForCpu
            )
        });
        Some(format!(" That wait is in \"{}\" of the parts above{}.", part.name, queue.unwrap_or_default()))
    }
}

impl WaitingCommits {
    fn text(&self, arm: &str, is_bound: bool) -> String {
        let per_s = words::number(self.per_s);
        let did = match self.sessions {
            0 | 1 => format!("{arm} did {per_s}"),
            sessions => format!(
                "{sessions} sessions of {arm} did {per_s}, each {}",
                words::number(self.per_s / f64::from(sessions))
            ),
        };
        let share = match (is_bound, self.share < TIMES_MIN) {
            (true, true) => format!(", {} of that", words::percent(self.share)),
            (true, false) => format!(", {} times that", words::number(self.share)),
            (false, _) => String::new(),
        };
        // Else the rate of the same windows would be another figure.
        let unchanged = match self.unchanged_per_s >= UNCHANGED_MIN * self.per_s {
            true => format!(
                " (beside {} statements per second that found nothing to change)",
                words::number(self.unchanged_per_s)
            ),
            false => String::new(),
        };
        let log = if self.logs > 1 { "logs" } else { "log" };
        let syncs = self
            .log_syncs
            .map(|syncs| format!(", with {} syncs of the {log} per commit", words::count(syncs)));
        let both = match self.logs > 1 {
            true => {
                " (each commit waits for two logs, the redo log and the binary log; the promise is with one sync)"
            }
            false => "",
        };
        format!("{did} per second{unchanged}{share}{}{both}", syncs.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_the_disk_has_its_part_of_the_time() {
        let part = |name, us: f64, of| Part {
            name,
            base_us_per_op: us,
            arm_us_per_op: us,
            change_us_per_op: 0.0,
            low: f64::NAN,
            high: f64::NAN,
            of,
        };
        let split = |of: Vec<Part>| Decomposition {
            clients: 1,
            base_us_per_op: 867.0,
            arm_us_per_op: 867.0,
            low: f64::NAN,
            high: f64::NAN,
            parts: vec![part(PartName::Waiting, 558.0, of)],
            unexplained_us_per_op: 0.0,
            background: None,
            beside: Vec::new(),
        };
        let promise = CommitPromise {
            write_us: 20.0,
            sync_us: 180.0,
            per_s: 5e3,
            low_per_s: 4e3,
            high_per_s: 6e3,
            is_of_end: true,
        };
        let base = WaitingCommits {
            sessions: 1,
            per_s: 513.0,
            unchanged_per_s: 17.0,
            share: 0.5,
            log_syncs: None,
            logs: 1,
        };
        let commits = Commits { promise, base: Some(base), arm: None };
        let cpu = part(PartName::ForCpu, 270.0, Vec::new());
        let unknown = part(PartName::Unexplained, 288.0, Vec::new());
        let text = commits.text("old", "new", Some(&split(vec![cpu.clone(), unknown.clone()])));
        assert!(
            text.contains("That wait is in \"unexplained\"") && text.contains("\"for a CPU\" is"),
            "{text}"
        );
        let beside = "old did 513 per second (beside 17 statements per second that found nothing to change), 50 % of that";
        assert!(text.contains(beside), "the rate is 530: {text}");
        let measured = part(PartName::ForLog, 288.0, Vec::new());
        let text = commits.text("old", "new", Some(&split(vec![measured, unknown])));
        assert!(text.contains("That wait is in \"for the log\"") && !text.contains("for a CPU"), "{text}");
    }
}
