//! Sums what the threads of a step counted.

use super::result::{Background, QueueResult, StreamResult, per_s};
use super::shared::{Report, Shared, Worker};
use super::spec::Role;
use crate::error::StepError;
use crate::result::{Marks, StepResult, add_each_second, elapsed};
use crate::step::merge;
use rqps_model::{EndedBy, FixedWork};
use rqps_workloads::QueryMix;
use rqps_workloads::insert_benchmark::ROWS_PER_QUERY;
use std::time::Duration;

/// Answers are wrong if range queries return fewer rows than this on average: only the last few values of a
/// column have fewer than ten rows after them.
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
    let write_time = all.last_commit(shared);
    let mut kinds = shared.no_tallies.clone();
    for report in reports {
        kinds.iter_mut().zip(&report.tallies).try_for_each(|(kind, tally)| kind.add(tally))?;
    }
    kinds.retain(|kind| kind.answers.count > 0);
    let events = all.with_role(foreground).map(Report::statements).sum::<u64>();
    let events_per_s = match foreground {
        Role::Query => {
            all.with_role(Role::Query).map(|r| per_s(r.statements(), all.duration(shared, r))).sum()
        }
        _ => per_s(events, write_time),
    };
    let background = shared.queue.rows_per_second.map(|rate| {
        let target = f64::from(rate) * f64::from(shared.spec.clients());
        Background::judge(target, inserts.rows, &inserts.each_second, write_time)
    });
    let mut retries = std::collections::BTreeMap::new();
    for (state, count) in reports.iter().flat_map(|r| &r.retries) {
        *retries.entry(state.clone()).or_default() += count;
    }
    let event_ns =
        merge(all.with_role(foreground).flat_map(|r| r.tallies.iter().map(|tally| &tally.sent_ns)))?;
    let queue = QueueResult {
        sessions: workers.iter().filter(|s| s.session.is_some()).map(|s| (s.role, s.client)).collect(),
        background,
        min_lookups: all.with_role(Role::Maker).map(|r| r.lookups).sum(),
        min_lookup: all.with_role(Role::Maker).map(|r| r.lookup).sum(),
        max_lookups: all.with_role(Role::Query).map(|r| r.lookups).sum(),
        rows_per_query: (queries.statements > 0).then(|| queries.rows as f64 / queries.statements as f64),
        short_deletes: all.with_role(Role::Delete).map(Report::violations).sum(),
        index_build: reports.iter().filter_map(|r| r.index_build).max(),
        cpu: all.cpu(),
        streams: [inserts.clone(), deletes.clone(), queries.clone()]
            .into_iter()
            .filter(|stream| all.with_role(stream.role).next().is_some())
            .collect(),
    };
    let elapsed = match foreground {
        Role::Query => elapsed(events, events_per_s),
        _ => write_time,
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
        marks: Marks::default(),
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

struct Reports<'a>(&'a [Report]);

impl<'a> Reports<'a> {
    fn with_role(&self, role: Role) -> impl Iterator<Item = &'a Report> + use<'a> {
        self.0.iter().filter(move |report| report.worker.role == role)
    }

    /// From the common start to the report's last answer.
    fn duration(&self, shared: &Shared<'_>, report: &Report) -> Duration {
        Duration::from_nanos(report.last.ns_since(shared.started()))
    }

    /// From the common start to the last commit of an INSERT or DELETE, or the end of the index build.
    fn last_commit(&self, shared: &Shared<'_>) -> Duration {
        let writers = self.with_role(Role::Insert).chain(self.with_role(Role::Delete));
        writers.map(|report| self.duration(shared, report)).max().unwrap_or_default()
    }

    fn stream(&self, role: Role) -> StreamResult {
        let (mut each_second, mut max_us_each_second) = (Vec::new(), Vec::new());
        for Report { series, .. } in self.with_role(role) {
            let counts = if role == Role::Query { &series.statements } else { &series.rows };
            add_each_second(&mut each_second, counts, |a, b| a + b);
            add_each_second(&mut max_us_each_second, &series.max_us, u64::max);
        }
        StreamResult {
            role,
            statements: self.with_role(role).map(Report::statements).sum(),
            rows: self.with_role(role).map(Report::rows).sum(),
            each_second,
            max_us_each_second,
        }
    }

    fn cpu(&self) -> Vec<(Role, Duration)> {
        let roles = Role::ALL.into_iter().filter(|role| self.with_role(*role).next().is_some());
        roles.map(|role| (role, self.with_role(role).map(|report| report.cpu).sum())).collect()
    }
}

impl Report {
    fn violations(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.answers.violations).sum()
    }
}

/// Why the answers can't be right. A DELETE that finds fewer rows than it should is not a reason: the table
/// may have fewer, and with the older form of DELETE keys have gaps.
fn invalid(
    shared: &Shared<'_>,
    all: &Reports<'_>,
    events: u64,
    inserts: &StreamResult,
    queries: &StreamResult,
) -> Option<String> {
    let wanted: u64 = shared.spec.positions.iter().map(|position| position.rows_to_insert).sum();
    let by_rows = shared.spec.limit.time().is_none();
    // A step that builds indexes may have no rows left to insert after an interrupted attempt.
    if events == 0 && !shared.queue.builds_indexes {
        return Some("no statement was finished in the window".to_owned());
    }
    if by_rows && inserts.rows != wanted {
        return Some(format!("insert: {} of {wanted} rows were inserted", inserts.rows));
    }
    for (role, what) in
        [(Role::Insert, "inserted a different number of rows"), (Role::Query, "returned more rows")]
    {
        let wrong: u64 = all.with_role(role).map(Report::violations).sum();
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
