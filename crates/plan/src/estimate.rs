//! How long a schedule will take, roughly: enough to choose between lunch and a weekend.

use crate::model::Plan;
use crate::schedule::{ActionKind, Measure, Schedule};
use rqps_model::{Limit, Warmup};

/// Making a data directory and starting a server.
pub const START_SECONDS: f64 = 4.0;
/// Stopping a server, its last checkpoint included.
pub const STOP_SECONDS: f64 = 1.0;
/// Rows loaded per second, all tables together, index included. Fast machines do more, slow disks less.
pub const LOAD_ROWS_PER_SECOND: f64 = 250_000.0;
/// Rows vacuumed and analysed per second, all tables together.
pub const VACUUM_ROWS_PER_SECOND: f64 = 2_000_000.0;
/// Rows that all clients of the Insert Benchmark together insert per second in l.i0. Two virtual CPUs did 30,000 to
/// 160,000, the fewer the more else they had to do; so with the figures below.
pub const QUEUE_LOAD_ROWS_PER_SECOND: f64 = 60_000.0;
/// Rows that l.x indexes per second, all tables together.
pub const QUEUE_INDEX_ROWS_PER_SECOND: f64 = 200_000.0;
/// Rows that l.i1 inserts and deletes per second, all clients together.
pub const QUEUE_WRITE_ROWS_PER_SECOND: f64 = 12_000.0;
/// Statements that l.i2 sends per second, all clients together, each with its delete.
pub const QUEUE_STATEMENTS_PER_SECOND: f64 = 800.0;
/// A settle of the Insert Benchmark, beside its vacuum and the least time that a plan gives it.
pub const QUEUE_SETTLE_SECONDS: f64 = 5.0;
/// A settle step ends when the server is at rest; half its cap is a usual value.
pub const SETTLE_SHARE_OF_CAP: f64 = 0.5;
/// Connecting, preparing, reading counters and query plans around a window.
pub const STEP_OVERHEAD_SECONDS: f64 = 0.3;
/// A warm-up that ends when the rate is steady.
pub const DETECTED_WARMUP_SECONDS: f64 = 10.0;

/// Seconds of each action, in the schedule's order.
///
/// A step of fixed work has no known length: with a rate it takes events / rate, without one it is taken to last as
/// long as base's window (`as-base`), or as the plan's read or write time (`events`).
pub fn estimate(schedule: &Schedule, plan: &Plan) -> Vec<f64> {
    let rows = plan.workload.rows_total() as f64;
    let seconds_of = |kind: &ActionKind| match kind {
        ActionKind::Start => START_SECONDS,
        // The tables of the Insert Benchmark are made empty.
        ActionKind::Load if plan.insert.is_some() => STEP_OVERHEAD_SECONDS,
        ActionKind::Load => rows / LOAD_ROWS_PER_SECOND,
        ActionKind::Vacuum => rows / VACUUM_ROWS_PER_SECOND,
        ActionKind::Settle(settle) => {
            let usual = match &plan.insert {
                // It begins with a vacuum, and what the server does beside that is short.
                Some(_) => QUEUE_SETTLE_SECONDS + rows / VACUUM_ROWS_PER_SECOND,
                None => f64::from(settle.seconds_max) * SETTLE_SHARE_OF_CAP,
            };
            usual.max(f64::from(settle.seconds_min))
        }
        ActionKind::Measure(measure) => measure_seconds(measure, plan),
        ActionKind::Stop => STOP_SECONDS,
    };
    schedule.actions.iter().map(|action| seconds_of(&action.kind)).collect()
}

fn measure_seconds(measure: &Measure, plan: &Plan) -> f64 {
    let window = match (&measure.limit, measure.rate_per_second) {
        (Limit::Time(time), _) => time.as_secs_f64(),
        (Limit::Rows(rows), _) => queue_seconds(measure, plan, *rows as f64),
        (Limit::Events(events), Some(rate)) => *events as f64 / rate,
        (Limit::Events(_) | Limit::Work(_), None | Some(_)) if measure.test.writes() => {
            f64::from(plan.workload.write_seconds)
        }
        (Limit::Events(_) | Limit::Work(_), None | Some(_)) => f64::from(plan.workload.read_seconds),
    };
    let warmup = match measure.warmup {
        Warmup::Time(time) => time.as_secs_f64(),
        Warmup::Detect => DETECTED_WARMUP_SECONDS,
    };
    window + warmup + STEP_OVERHEAD_SECONDS
}

/// Seconds of a step that ends when each client has inserted so many rows.
fn queue_seconds(measure: &Measure, plan: &Plan, rows: f64) -> f64 {
    let Some(queue) = measure.test.queue else {
        return 0.0;
    };
    let all = rows * f64::from(measure.clients);
    match queue.rows_per_second {
        Some(rate) => rows / f64::from(rate),
        None if queue.builds_indexes => plan.workload.rows_total() as f64 / QUEUE_INDEX_ROWS_PER_SECOND,
        None if !queue.deletes => all / QUEUE_LOAD_ROWS_PER_SECOND,
        None => {
            let by_statements = QUEUE_STATEMENTS_PER_SECOND * f64::from(queue.rows_per_statement);
            all / by_statements.min(QUEUE_WRITE_ROWS_PER_SECOND)
        }
    }
}

/// Seconds in the two largest units that matter: `45 s`, `12 min 30 s`, `6 h 50 min`, `2 d 3 h`.
pub fn duration_text(seconds: f64) -> String {
    let total = seconds.round().max(0.0) as u64;
    let (days, hours, minutes, seconds) = (total / 86_400, total / 3_600 % 24, total / 60 % 60, total % 60);
    let two = |large: u64, large_unit: &str, small: u64, small_unit: &str| {
        if small == 0 {
            format!("{large} {large_unit}")
        } else {
            format!("{large} {large_unit} {small} {small_unit}")
        }
    };
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => two(minutes, "min", seconds, "s"),
        (0, _, _) => two(hours, "h", minutes, "min"),
        _ => two(days, "d", hours, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let texts = [0.4, 45.0, 60.0, 750.0, 3_600.0, 24_600.0, 183_600.0].map(duration_text);
        assert_eq!(texts, ["0 s", "45 s", "1 min", "12 min 30 s", "1 h", "6 h 50 min", "2 d 3 h"]);
    }
}
