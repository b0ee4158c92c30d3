//! A rough estimate of a schedule's duration.

use crate::plan::Plan;
use crate::schedule::Schedule;
use crate::step::ActionKind;
use rqps_model::{Limit, Warmup};

/// Creating a data directory and starting a server.
const START_SECONDS: f64 = 4.0;
/// Stopping a server, including its last checkpoint.
pub const STOP_SECONDS: f64 = 1.0;
/// Rows loaded and indexed per second, all tables together. Fast machines do more, slow disks less.
const LOAD_ROWS_PER_SECOND: f64 = 250_000.0;
/// Rows vacuumed and analysed per second, all tables together.
pub const VACUUM_ROWS_PER_SECOND: f64 = 2_000_000.0;
/// A settle step ends when the server is at rest; half its cap is typical.
pub const SETTLE_SHARE_OF_CAP: f64 = 0.5;
/// Connecting, preparing statements, reading counters and query plans around a window.
pub const STEP_OVERHEAD_SECONDS: f64 = 0.3;
/// A warm-up that ends when the rate is steady.
pub const DETECTED_WARMUP_SECONDS: f64 = 10.0;

/// Seconds of starting a server and loading a plan's tables.
pub fn load_seconds(plan: &Plan) -> f64 {
    START_SECONDS + plan.work.rows_total() as f64 / LOAD_ROWS_PER_SECOND
}

/// Seconds of each action, in the schedule's order.
///
/// The length of a step of fixed work is unknown: with a rate it is events / rate, otherwise that of base's window
/// (`as-base`), the plan's read or write time (`events`), or what its benchmark estimates.
pub fn estimate(schedule: &Schedule, plan: &Plan) -> Vec<f64> {
    let rows = plan.work.rows_total() as f64;
    let usual = |kind: &ActionKind| match kind {
        ActionKind::Start => START_SECONDS,
        ActionKind::Load(_) => rows / LOAD_ROWS_PER_SECOND,
        ActionKind::Vacuum => rows / VACUUM_ROWS_PER_SECOND,
        ActionKind::Settle(settle) => f64::from(settle.seconds_max) * SETTLE_SHARE_OF_CAP,
        ActionKind::Measure(step) => match (&step.limit, step.rate_per_second) {
            (Limit::Time(time), _) => time.as_secs_f64(),
            (Limit::Events(events), Some(rate)) => *events as f64 / rate,
            (Limit::Events(_) | Limit::Rows(_) | Limit::Work(_), _) => 0.0,
        },
        ActionKind::Stop => STOP_SECONDS,
    };
    let seconds_of = |kind: &ActionKind| {
        let seconds = plan.work.estimate_seconds(kind).unwrap_or_else(|| usual(kind));
        match kind {
            ActionKind::Settle(settle) => seconds.max(f64::from(settle.seconds_min)),
            ActionKind::Measure(step) => seconds + warmup_seconds(step.warmup) + STEP_OVERHEAD_SECONDS,
            _ => seconds,
        }
    };
    let loads = schedule.actions.iter().filter(|action| matches!(action.kind, ActionKind::Load(_)));
    let longest_s = loads.map(|action| seconds_of(&action.kind)).fold(0.0, f64::max);
    // Each test may have tables of its own size.
    let mut share = 1.0;
    let seconds = schedule.actions.iter().map(|action| {
        let seconds = seconds_of(&action.kind);
        match action.kind {
            ActionKind::Load(_) if longest_s > 0.0 => share = seconds / longest_s,
            ActionKind::Vacuum => return seconds * share,
            _ => {}
        }
        seconds
    });
    seconds.collect()
}

fn warmup_seconds(warmup: Warmup) -> f64 {
    match warmup {
        Warmup::Time(time) => time.as_secs_f64(),
        Warmup::Detect => DETECTED_WARMUP_SECONDS,
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
