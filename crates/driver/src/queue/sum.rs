//! Adds up what the threads of a step counted.

use super::result::{Background, QueueResult, StreamResult};
use super::series;
use super::shared::{Report, Shared, Worker};
use super::spec::Role;
use crate::error::StepError;
use crate::event::Tally;
use crate::result::{KindResult, StepResult};
use crate::step::merge;
use rqps_model::{EndedBy, FixedWork};
use rqps_workloads::QueryMix;
use rqps_workloads::insert_benchmark::ROWS_PER_QUERY;
use std::time::Duration;

/// Mean rows of a range query below which its answers can't be right: only the last few values of a column have fewer
/// than ten rows behind them.
const RANGE_ROWS_MIN: f64 = ROWS_PER_QUERY as f64 / 2.0;

pub(super) fn add_up(
    shared: &Shared<'_>,
    workers: &[Worker],
    reports: &[Report],
    warmup: Duration,
) -> Result<(StepResult, QueueResult), StepError> {
    let all = Reports(reports);
    let foreground = if shared.queue.queries.is_some() { Role::Query } else { Role::Insert };
    let (inserts, deletes, queries) =
        (all.stream(Role::Insert), all.stream(Role::Delete), all.stream(Role::Query));
    let written = all.last_commit(shared);
    let kinds = all.kinds(shared)?;
    let events = all.of(foreground).map(Report::statements).sum::<u64>();
    let events_per_s = match foreground {
        Role::Query => all.of(Role::Query).map(|r| per_s(r.statements(), all.lasted(shared, r))).sum(),
        _ => per_s(events, written),
    };
    let background = shared.queue.rows_per_second.map(|rate| {
        let target = f64::from(rate) * f64::from(shared.spec.clients());
        Background::judge(target, inserts.rows, &inserts.each_second, written)
    });
    let mut retries = std::collections::BTreeMap::new();
    for (state, count) in reports.iter().flat_map(|r| &r.retries) {
        *retries.entry(state.clone()).or_default() += count;
    }
    let maker = |count: fn(&Report) -> u64| all.of(Role::Maker).map(count).sum();
    let event_ns = merge(all.of(foreground).flat_map(|r| r.tallies.iter().map(|tally| &tally.sent_ns)))?;
    let queue = QueueResult {
        sessions: workers.iter().filter(|s| s.session.is_some()).map(|s| (s.role, s.client)).collect(),
        background,
        min_lookups: maker(|r| r.lookups),
        min_lookup: all.of(Role::Maker).map(|r| r.lookup).sum(),
        max_lookups: all.of(Role::Query).map(|r| r.lookups).sum(),
        rows_per_query: (queries.statements > 0).then(|| queries.rows as f64 / queries.statements as f64),
        short_deletes: all.of(Role::Delete).map(Report::violations).sum(),
        index_build: reports.iter().filter_map(|r| r.index_build).max(),
        cpu: all.cpu(),
        streams: [inserts.clone(), deletes.clone(), queries.clone()]
            .into_iter()
            .filter(|stream| all.of(stream.role).next().is_some())
            .collect(),
    };
    let elapsed = match foreground {
        Role::Query if events == 0 => Duration::ZERO,
        Role::Query => Duration::from_secs_f64(events as f64 / events_per_s),
        _ => written,
    };
    let result = StepResult {
        elapsed,
        warmup,
        ended_by: shared.spec.limit.time().map_or(EndedBy::Work, |_| EndedBy::Time),
        events,
        events_per_s,
        queries: events,
        statements: inserts.statements + deletes.statements + queries.statements,
        noop_statements: reports.iter().map(|r| r.noop_statements).sum(),
        rows: queries.rows,
        changed_rows: inserts.rows + deletes.rows,
        removed_rows: deletes.rows,
        retries,
        series: queue.series(),
        slices: Vec::new(),
        totals: queue.totals(shared.queue.builds_indexes, elapsed),
        sessions: queue.sessions.iter().map(|(role, client)| (role.key().to_owned(), *client)).collect(),
        event_ns: event_ns.unwrap_or_else(|| shared.no_latency.clone()),
        scheduled_ns: None,
        invalid: invalid(shared, &all, events, &inserts, &queries),
        work: FixedWork::default(),
        kinds,
    };
    Ok((result, queue))
}

fn per_s(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

struct Reports<'a>(&'a [Report]);

impl<'a> Reports<'a> {
    fn of(&self, role: Role) -> impl Iterator<Item = &'a Report> + use<'a> {
        self.0.iter().filter(move |report| report.worker.role == role)
    }

    fn lasted(&self, shared: &Shared<'_>, report: &Report) -> Duration {
        Duration::from_nanos(report.last.ns_since(shared.started()))
    }

    /// From the common start to the last commit of an INSERT or DELETE, or the end of the last index.
    fn last_commit(&self, shared: &Shared<'_>) -> Duration {
        let writers = self.of(Role::Insert).chain(self.of(Role::Delete));
        writers.map(|report| self.lasted(shared, report)).max().unwrap_or_default()
    }

    fn stream(&self, role: Role) -> StreamResult {
        let (mut each_second, mut max_us_each_second) = (Vec::new(), Vec::new());
        for Report { series, .. } in self.of(role) {
            let counts = if role == Role::Query { &series.statements } else { &series.rows };
            series::add(&mut each_second, counts, |a, b| a + b);
            series::add(&mut max_us_each_second, &series.max_us, u64::max);
        }
        StreamResult {
            role,
            statements: self.of(role).map(Report::statements).sum(),
            rows: self.of(role).map(Report::rows).sum(),
            each_second,
            max_us_each_second,
        }
    }

    /// One for each kind that was sent, in the order of the test's statements.
    fn kinds(&self, shared: &Shared<'_>) -> Result<Vec<KindResult>, StepError> {
        let mut kinds = Vec::new();
        for (index, none) in shared.no_tallies.iter().enumerate() {
            let of_kind: Vec<&Tally> = self.0.iter().map(|report| &report.tallies[index]).collect();
            let count = |field: fn(&Tally) -> u64| of_kind.iter().copied().map(field).sum::<u64>();
            let mut answers = none.answers;
            answers.count = count(|tally| tally.answers.count);
            answers.rows = count(|tally| tally.answers.rows);
            answers.violations = count(|tally| tally.answers.violations);
            if answers.count > 0
                && let Some(sent_ns) = merge(of_kind.iter().map(|tally| &tally.sent_ns))?
            {
                kinds.push(KindResult { kind: none.kind, answers, sent_ns });
            }
        }
        Ok(kinds)
    }

    fn cpu(&self) -> Vec<(Role, Duration)> {
        let roles = Role::ALL.into_iter().filter(|role| self.of(*role).next().is_some());
        roles.map(|role| (role, self.of(role).map(|report| report.cpu).sum())).collect()
    }
}

impl Report {
    fn violations(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.answers.violations).sum()
    }
}

/// Why the answers can't be right. A DELETE that found fewer rows than it asked for is no such reason: a table may
/// have fewer, and keys of the older form have gaps.
fn invalid(
    shared: &Shared<'_>,
    all: &Reports<'_>,
    events: u64,
    inserts: &StreamResult,
    queries: &StreamResult,
) -> Option<String> {
    let wanted: u64 = shared.spec.positions.iter().map(|position| position.rows_to_insert).sum();
    let by_rows = shared.spec.limit.time().is_none();
    // Building indexes is work too, also where an earlier attempt has inserted the rows.
    if events == 0 && !shared.queue.builds_indexes {
        return Some("no statement was finished in the window".to_owned());
    }
    if by_rows && inserts.rows != wanted {
        return Some(format!("insert: {} of {wanted} rows were inserted", inserts.rows));
    }
    for (role, what) in
        [(Role::Insert, "inserted another number of rows"), (Role::Query, "returned more rows")]
    {
        let wrong: u64 = all.of(role).map(Report::violations).sum();
        if wrong > 0 {
            return Some(format!("{}: {wrong} statements {what} than they asked for", role.key()));
        }
    }
    let mean = queries.rows as f64 / queries.statements.max(1) as f64;
    match shared.queue.queries {
        Some(QueryMix::Range) if mean < RANGE_ROWS_MIN => {
            Some(format!("query: {mean:.2} rows were returned on average, {ROWS_PER_QUERY} are there"))
        }
        Some(QueryMix::Point) if queries.rows == 0 => Some("query: no key was found".to_owned()),
        _ => None,
    }
}
