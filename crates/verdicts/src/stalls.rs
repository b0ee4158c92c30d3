//! How much of the time of a window went in stalls: events that took so long that something must have held them up.
//!
//! An event stalls when it takes more than [`TIMES_MEDIAN`] times what the test's events take on base, and more than
//! [`FLOOR_US`]. What it takes beyond that is stalled time; time over time without it is the stall factor: 1.01 where
//! one part in a hundred of the rest was lost. It is never below 1 and has a logarithm where there is no stall.
//!
//! The floor is above what a kernel's scheduler does to a program with a neighbour on its CPU. On a virtual machine of
//! 2 CPUs with load beside it, 65 % of windows of 2 s had an event of more than 8 ms, 37 % one of more than 10 ms, 18 %
//! one of more than 20 ms; without that load, none in a hundred windows of 0.2 s had one of more than 8 ms.

use std::collections::BTreeMap;

use rqps_stats::{Metric, MetricData, WindowData, WindowFigure};
use rqps_store::{Histogram, Recorded, Run, Window};

use crate::data::{base_of, blocks_of, is_usable};
use crate::error::Result;
use crate::latency;

/// An event that takes so many times the median of base's is held up. Below it is what a test's own variety does.
const TIMES_MEDIAN: f64 = 20.0;
/// No event is called held up below this.
const FLOOR_US: f64 = 20_000.0;

/// A window's latencies, kept until the threshold is known.
struct Latencies<'a> {
    window: &'a Recorded<Window>,
    histogram: Histogram,
}

/// The stall factors of a test in blocks; none where latencies were not measured, or base was not.
pub(crate) fn metric_data(run: &Run, step: &str) -> Result<Option<MetricData>> {
    let mut measured = Vec::new();
    let placed = |window: &&Recorded<Window>| window.placement.is_some() && is_usable(window);
    for window in run.windows.iter().filter(|window| window.action.step == step).filter(placed) {
        if let Some(histogram) = latency::of_events(run, window)? {
            measured.push(Latencies { window, histogram });
        }
    }
    let base = base_of(run);
    let of_base =
        |one: &&Latencies<'_>| run.arms.get(base).is_some_and(|arm| arm.name == one.window.action.arm);
    let Some(threshold_us) = threshold_us(measured.iter().filter(of_base).map(|one| one.histogram.p50_us))
    else {
        return Ok(None);
    };
    let mut factors = Vec::new();
    for one in &measured {
        factors.push((one.window, factor(run, one, threshold_us)?));
    }
    let blocks = blocks_of(
        run,
        factors.iter().filter_map(|(window, factor)| {
            let at = window.placement?;
            Some((at.block, window.action.arm.as_str(), at.window, *factor))
        }),
    );
    let windows = windows(run, &factors);
    Ok((!blocks.is_empty()).then_some(MetricData { metric: Metric::StallFactor, blocks, windows }))
}

/// From when on an event is held up, given the medians of base's windows, in microseconds.
pub(crate) fn threshold_us(medians_us: impl Iterator<Item = f64>) -> Option<f64> {
    let mut medians_us: Vec<f64> = medians_us.collect();
    medians_us.sort_by(f64::total_cmp);
    let median_us = medians_us.get(medians_us.len() / 2)?;
    Some((TIMES_MEDIAN * median_us).max(FLOOR_US))
}

fn factor(run: &Run, one: &Latencies<'_>, threshold_us: f64) -> Result<f64> {
    if one.histogram.max_us <= threshold_us {
        return Ok(1.0);
    }
    let seq = one.window.action.seq;
    let (stalled_us, _) = latency::beyond(&latency::decode(run, seq, &one.histogram)?, threshold_us);
    let result = &one.window.result;
    // With clients that start together and end apart, events may take a little more than the window is long.
    let in_events_us = one.histogram.count as f64 * one.histogram.mean_us;
    let busy_us = (f64::from(result.clients) * result.elapsed_us as f64).max(in_events_us);
    Ok(busy_us / (busy_us - stalled_us))
}

fn windows(run: &Run, factors: &[(&Recorded<Window>, f64)]) -> Vec<WindowData> {
    let mut windows: BTreeMap<(u32, u32), Vec<Option<WindowFigure>>> = BTreeMap::new();
    for (window, factor) in factors {
        let arm = run.arms.iter().position(|arm| arm.name == window.action.arm);
        if let (Some(at), Some(arm)) = (window.placement, arm) {
            let arms = windows.entry((at.block, at.window)).or_insert_with(|| vec![None; run.arms.len()]);
            arms[arm] = Some(WindowFigure { value: *factor, seconds: window.result.elapsed_s() });
        }
    }
    windows.into_iter().map(|((block, _), arms)| WindowData { block, arms }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_tests_have_slow_stalls() {
        assert_eq!(
            threshold_us([30.0, 4000.0, 20.0].into_iter()),
            Some(20_000.0),
            "one slow window moves nothing"
        );
        assert_eq!(threshold_us([5000.0].into_iter()), Some(100_000.0));
        assert_eq!(threshold_us(std::iter::empty()), None);
    }

    #[test]
    fn what_is_beyond_the_threshold_is_added_up() {
        let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        for (us, events) in [(50, 10_000), (19_000, 4), (30_000, 2), (500_000, 1)] {
            histogram.record_n(us * 1000, events).unwrap();
        }
        let (beyond_us, events) = latency::beyond(&histogram, 20_000.0);
        // 2 x 10 ms and 480 ms, to three digits.
        assert!((beyond_us / 500_000.0 - 1.0).abs() < 0.002 && events == 3, "{beyond_us} us in {events}");
    }
}
