//! How evenly each test ran on each arm: seconds, stalls and latencies over all its windows.

use rqps_store::{Role, Run};
use rqps_verdicts::{EventLatency, PerSecond};

use super::Sink;
use crate::error::Result;

pub(super) fn rows(run: &Run, sink: &mut Sink<'_>) -> Result<()> {
    let base = run.arms.iter().position(|arm| arm.role == Role::Base).unwrap_or(0);
    for row in rqps_verdicts::variance(run, base)? {
        let per_second = |get: fn(PerSecond) -> f64| row.per_second.map(get);
        let latency = |get: fn(EventLatency) -> f64| row.latency.map(get);
        sink(vec![
            run.arms.get(row.arm).map(|arm| arm.name.clone()).into(),
            row.test.into(),
            row.group.into(),
            (row.windows as i64).into(),
            (row.blocks as i64).into(),
            row.seconds.into(),
            row.per_second.map(|second| second.seconds as i64).into(),
            per_second(|second| second.cv).into(),
            per_second(|second| second.slow_share).into(),
            row.per_second.map(|second| second.longest_gap_s as i64).into(),
            row.latency.map(|latency| latency.events as i64).into(),
            latency(|latency| latency.p50_us).into(),
            latency(|latency| latency.p95_us).into(),
            latency(|latency| latency.p99_us).into(),
            latency(|latency| latency.max_us).into(),
            latency(|latency| latency.stall_us).into(),
            row.latency.map(|latency| latency.stalls as i64).into(),
            latency(|latency| latency.stalled_share).into(),
        ])?;
    }
    Ok(())
}
