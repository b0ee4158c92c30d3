//! What a step of the Insert Benchmark measures in addition to a [`crate::StepResult`].

use super::spec::Role;
use crate::result::each_second;
use rqps_model::{Metrics, Series};
use std::time::Duration;

/// A background rate counts as kept if at least this share of its target was achieved.
pub const KEPT_SHARE: f64 = 0.95;

/// Figures of one window that only this benchmark has.
#[derive(Debug, Clone)]
pub struct QueueResult {
    /// Each session's role and client, in the order of the ids given to [`crate::Observer::window_opens`].
    pub sessions: Vec<(Role, u32)>,
    /// One for each of [`Role::Insert`], [`Role::Delete`] and [`Role::Query`] that the test has.
    pub streams: Vec<StreamResult>,
    /// How well the background rate was kept, if the test has one.
    pub background: Option<Background>,
    /// Lookups of the smallest key. Like those of the largest, they do not count as queries.
    pub min_lookups: u64,
    /// Total duration of lookups of the smallest key.
    pub min_lookup: Duration,
    /// Lookups of the largest key in the window.
    pub max_lookups: u64,
    /// Mean rows returned per query.
    pub rows_per_query: Option<f64>,
    /// DELETE statements that removed a different number of rows than they should have.
    pub short_deletes: u64,
    /// Duration of the index build; the maximum over clients.
    pub index_build: Option<Duration>,
    /// CPU time of this process's threads in the window by role, summed over clients.
    pub cpu: Vec<(Role, Duration)>,
}

impl QueueResult {
    fn stream(&self, role: Role) -> Option<&StreamResult> {
        self.streams.iter().find(|stream| stream.role == role)
    }

    /// The figures as totals, without those that do not apply to the step.
    pub(super) fn totals(&self, builds_indexes: bool, elapsed: Duration) -> Metrics {
        let mut totals = Metrics::new();
        let mut put = |name: &str, value: f64| {
            totals.insert(name.to_owned(), value);
        };
        let per_s = |count| per_s(count, elapsed);
        if let Some(inserts) = self.stream(Role::Insert) {
            put("inserted_rows", inserts.rows as f64);
            if !builds_indexes {
                put("inserts_per_s", per_s(inserts.rows));
            }
        }
        if let Some(deletes) = self.stream(Role::Delete) {
            put("deleted_rows", deletes.rows as f64);
            put("deletes_per_s", per_s(deletes.rows));
            put("short_deletes", self.short_deletes as f64);
            put("min_lookups", self.min_lookups as f64);
            put("min_lookup_us", self.min_lookup.as_micros() as f64);
        }
        if let Some(queries) = self.stream(Role::Query) {
            put("queries_per_s", per_s(queries.statements));
            put("query_rows_per_s", per_s(queries.rows));
            put("max_lookups", self.max_lookups as f64);
        }
        if let Some(rows) = self.rows_per_query {
            put("rows_per_query", rows);
        }
        if let Some(background) = self.background {
            put("background_target_rows_per_s", background.target_rows_per_s);
            put("background_rows_per_s", background.achieved_rows_per_s);
            put("background_seconds", f64::from(background.seconds));
            put("background_seconds_below", f64::from(background.seconds_below));
            put("background_kept", if background.kept { 1.0 } else { 0.0 });
        }
        if let Some(time) = self.index_build {
            put("index_build_us", time.as_micros() as f64);
        }
        for (role, time) in &self.cpu {
            put(&format!("client_{}_cpu_us", role.key()), time.as_micros() as f64);
        }
        totals
    }

    /// Rates and maximum latencies per second.
    pub(super) fn series(&self) -> Vec<Series> {
        let series = |stream: &StreamResult| {
            let (rate, unit, max_latency) = match stream.role {
                Role::Insert => ("inserts", "rows", "insert_max_us"),
                Role::Delete => ("deletes", "rows", "delete_max_us"),
                Role::Query => ("queries", "queries", "query_max_us"),
                Role::Maker => return Vec::new(),
            };
            vec![
                each_second(rate, unit, &stream.each_second),
                each_second(max_latency, "us", &stream.max_us_each_second),
            ]
        };
        self.streams.iter().flat_map(series).collect()
    }
}

pub(super) fn per_s(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// What the sessions of one role did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamResult {
    pub role: Role,
    pub statements: u64,
    /// Rows inserted, deleted or returned.
    pub rows: u64,
    /// Rows (for queries: statements) in each second since the window opened. The last second may be cut off.
    pub each_second: Vec<u64>,
    /// Maximum latency of the statements answered in each of these seconds, in us.
    pub max_us_each_second: Vec<u64>,
}

/// How well a background rate was kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Background {
    /// Requested rows per second, all clients together.
    pub target_rows_per_s: f64,
    /// Rows per second, all clients together, from the common start to the last commit of an INSERT or
    /// DELETE, or to the end of the last statement's slot if that is later: a kept rate equals the target and
    /// does not exceed it.
    pub achieved_rows_per_s: f64,
    /// Whole seconds from the common start to the last commit.
    pub seconds: u32,
    /// Those in which less than [`KEPT_SHARE`] of the target's rows were inserted.
    pub seconds_below: u32,
    /// Whether at least [`KEPT_SHARE`] of the target was achieved.
    pub kept: bool,
}

impl Background {
    /// Judges `rows` rows inserted in `elapsed`, `each_second` of them second by second.
    pub(super) fn judge(target_rows_per_s: f64, rows: u64, each_second: &[u64], elapsed: Duration) -> Self {
        let slots_s = rows as f64 / target_rows_per_s;
        let achieved_rows_per_s =
            if elapsed.is_zero() { 0.0 } else { rows as f64 / elapsed.as_secs_f64().max(slots_s) };
        let enough = KEPT_SHARE * target_rows_per_s;
        let seconds = elapsed.as_secs() as usize;
        let full = each_second.iter().copied().chain(std::iter::repeat(0)).take(seconds);
        Self {
            target_rows_per_s,
            achieved_rows_per_s,
            seconds: seconds as u32,
            seconds_below: full.filter(|rows| (*rows as f64) < enough).count() as u32,
            kept: achieved_rows_per_s >= enough,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_from_95_percent_on_and_slow_seconds_are_counted() {
        let judge = |rows, each_second: &[u64], ms| {
            Background::judge(100.0, rows, each_second, Duration::from_millis(ms))
        };
        let kept = judge(380, &[95, 94, 100, 91], 4000);
        assert_eq!((kept.seconds, kept.seconds_below, kept.kept), (4, 2, true));
        assert!(!judge(379, &[95, 95, 95, 94], 4000).kept);
        // The last second, which is cut off, is not judged; seconds without rows are.
        let stalled = judge(100, &[100], 4900);
        assert_eq!((stalled.seconds, stalled.seconds_below, stalled.kept), (4, 3, false));
        assert!(!judge(0, &[], 0).kept);
        // The last of ten statements a second was committed in the middle of its slot.
        assert_eq!(judge(400, &[100, 100, 100, 100], 3950).achieved_rows_per_s, 100.0);
    }
}
