//! What a step of the Insert Benchmark measured beside what every step does.

use super::spec::Role;
use crate::result::each_second;
use rqps_model::{Metrics, Series};
use std::time::Duration;

/// The achieved share of the target's rows from which a rate counts as kept.
pub const KEPT_SHARE: f64 = 0.95;

/// The figures of one window that only this benchmark has.
#[derive(Debug, Clone)]
pub struct QueueResult {
    /// What each session was for and its client, in the order in which [`crate::Observer::window_opens`] got the ids.
    pub sessions: Vec<(Role, u32)>,
    /// One for each of [`Role::Insert`], [`Role::Delete`] and [`Role::Query`] that the test has.
    pub streams: Vec<StreamResult>,
    /// How the background rate was kept, where there is one.
    pub background: Option<Background>,
    /// How often the smallest key was looked up.
    pub min_lookups: u64,
    /// How long these lookups took, all together.
    pub min_lookup: Duration,
    /// How often the largest key was looked up in the window. Neither kind of lookup counts as a query.
    pub max_lookups: u64,
    /// Mean rows that a query returned.
    pub rows_per_query: Option<f64>,
    /// DELETE statements that removed another number of rows than they asked for.
    pub short_deletes: u64,
    /// How long it took to build indexes, the longest of all clients.
    pub index_build: Option<Duration>,
    /// CPU time of this process's threads in the window by what they do, summed over clients.
    pub cpu: Vec<(Role, Duration)>,
}

impl QueueResult {
    fn stream(&self, role: Role) -> Option<&StreamResult> {
        self.streams.iter().find(|stream| stream.role == role)
    }

    /// What only this benchmark has, as totals. What means nothing in a step is left out.
    pub(super) fn totals(&self, builds_indexes: bool, elapsed: Duration) -> Metrics {
        let mut totals = Metrics::new();
        let mut put = |name: &str, value: f64| {
            totals.insert(name.to_owned(), value);
        };
        let per_s = |count: u64| if elapsed.is_zero() { 0.0 } else { count as f64 / elapsed.as_secs_f64() };
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

    /// Rates and longest latencies second by second.
    pub(super) fn series(&self) -> Vec<Series> {
        let of = |stream: &StreamResult| {
            let (rate, unit, longest) = match stream.role {
                Role::Insert => ("inserts", "rows", "insert_max_us"),
                Role::Delete => ("deletes", "rows", "delete_max_us"),
                Role::Query => ("queries", "queries", "query_max_us"),
                Role::Maker => return Vec::new(),
            };
            let longest = each_second(longest, "us", &stream.max_us_each_second);
            vec![each_second(rate, unit, &stream.each_second), longest]
        };
        self.streams.iter().flat_map(of).collect()
    }
}

/// What the sessions of one role did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamResult {
    pub role: Role,
    pub statements: u64,
    /// Rows inserted, deleted or returned.
    pub rows: u64,
    /// In each second since the window opened: rows, of queries statements. The last may be cut off.
    pub each_second: Vec<u64>,
    /// The longest latency of a statement that was answered in each of these seconds, in us.
    pub max_us_each_second: Vec<u64>,
}

/// How a background rate was kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Background {
    /// Rows per second of all clients that were asked for.
    pub target_rows_per_s: f64,
    /// Rows per second of all clients from the common start to the last commit, of an INSERT or a DELETE, or to the end
    /// of the last statement's slot where that is later: a kept rate is the target, not a little more.
    pub achieved_rows_per_s: f64,
    /// Whole seconds of that time.
    pub seconds: u32,
    /// Those in which fewer than [`KEPT_SHARE`] of the target's rows were inserted.
    pub seconds_below: u32,
    /// At least [`KEPT_SHARE`] of the target was achieved.
    pub kept: bool,
}

impl Background {
    /// The judgement on `rows` rows, of which `each_second` were inserted second by second, in `elapsed`.
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
    fn a_rate_is_kept_from_95_percent_on_and_seconds_are_told_apart() {
        let judge = |rows, each_second: &[u64], ms| {
            Background::judge(100.0, rows, each_second, Duration::from_millis(ms))
        };
        let kept = judge(380, &[95, 94, 100, 91], 4000);
        assert_eq!((kept.seconds, kept.seconds_below, kept.kept), (4, 2, true));
        assert!(!judge(379, &[95, 95, 95, 94], 4000).kept);
        // The second that is cut off is not judged; seconds without any row are.
        let stalled = judge(100, &[100], 4900);
        assert_eq!((stalled.seconds, stalled.seconds_below, stalled.kept), (4, 3, false));
        assert!(!judge(0, &[], 0).kept);
        // The last of ten statements a second was committed in the middle of its slot.
        assert_eq!(judge(400, &[100, 100, 100, 100], 3950).achieved_rows_per_s, 100.0);
    }
}
