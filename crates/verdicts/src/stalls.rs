//! The share of a window's time lost in stalls: events that took so long that something must have held them
//! up.
//!
//! An event stalls if it takes more than [`TIMES_MEDIAN`] times base's median event, and more than
//! [`FLOOR_US`]. Its time beyond that threshold is stalled time. The stall factor is time over time without
//! stalled time: 1.01 if stalls cost one hundredth of the rest. It is never below 1, and thus has a logarithm
//! even without stalls.
//!
//! The floor is above the delays that a kernel's scheduler causes when another program shares the CPU. On a
//! virtual machine of 2 CPUs with other load, 65 % of windows of 2 s had an event of more than 8 ms, 37 % one
//! of more than 10 ms, 18 % one of more than 20 ms; without that load, none of a hundred windows of 0.2 s had
//! one of more than 8 ms.

use std::collections::BTreeMap;

use rqps_stats::{Metric, MetricData, WindowData, WindowFigure};
use rqps_store::{Histogram, Recorded, Run, Window};

use crate::beside::Apart;
use crate::data::{arm_index, base_of, blocks_of, is_usable};
use crate::error::Result;
use crate::estimates::upper_median;
use crate::latency;

/// Multiple of base's median above which an event stalls. Events of one test vary by less.
const TIMES_MEDIAN: f64 = 20.0;
/// Lower bound for the threshold.
const FLOOR_US: f64 = 20_000.0;

/// The latencies of a window.
struct Latencies<'a> {
    window: &'a Recorded<Window>,
    histogram: Histogram,
}

/// The stall factors of a test by block; `None` without latencies or without base's.
pub(crate) fn metric_data(
    (run, done): (&Run, &[u32]),
    apart: &Apart,
    step: &str,
) -> Result<Option<MetricData>> {
    let mut latencies = Vec::new();
    let placed = |window: &&Recorded<Window>| {
        window.placement.is_some() && is_usable(window) && !apart.contains(window)
    };
    for window in run.windows.iter().filter(|window| window.action.step == step).filter(placed) {
        if let Some(histogram) = latency::of_events(run, window)? {
            latencies.push(Latencies { window, histogram });
        }
    }
    let base = base_of(run);
    let is_base =
        |one: &&Latencies<'_>| run.arms.get(base).is_some_and(|arm| arm.name == one.window.action.arm);
    let Some(threshold_us) = threshold_us(latencies.iter().filter(is_base).map(|one| one.histogram.p50_us))
    else {
        return Ok(None);
    };
    let mut factors = Vec::new();
    for one in &latencies {
        factors.push((one.window, factor(run, one, threshold_us)?));
    }
    let blocks = blocks_of(
        run,
        done,
        factors.iter().filter_map(|(window, factor)| {
            let at = window.placement?;
            Some((at.block, window.action.arm.as_str(), at.window, *factor))
        }),
    );
    let windows = windows(run, &factors);
    Ok((!blocks.is_empty()).then_some(MetricData { metric: Metric::StallFactor, blocks, windows }))
}

/// The latency above which an event stalls, from the medians of base's windows, in microseconds.
pub(crate) fn threshold_us(medians_us: impl Iterator<Item = f64>) -> Option<f64> {
    Some((TIMES_MEDIAN * upper_median(medians_us)?).max(FLOOR_US))
}

fn factor(run: &Run, one: &Latencies<'_>, threshold_us: f64) -> Result<f64> {
    if one.histogram.max_us <= threshold_us {
        return Ok(1.0);
    }
    let seq = one.window.action.seq;
    let (stalled_us, _) = latency::beyond(&latency::decode(run, seq, &one.histogram)?, threshold_us);
    let result = &one.window.result;
    // Clients start together but end apart, so their events may add up to a little more than clients x
    // window.
    let in_events_us = one.histogram.count as f64 * one.histogram.mean_us;
    let busy_us = (f64::from(result.clients) * result.elapsed_us as f64).max(in_events_us);
    Ok(busy_us / (busy_us - stalled_us))
}

fn windows(run: &Run, factors: &[(&Recorded<Window>, f64)]) -> Vec<WindowData> {
    let mut windows: BTreeMap<(u32, u32), Vec<Option<WindowFigure>>> = BTreeMap::new();
    for (window, factor) in factors {
        if let (Some(at), Some(arm)) = (window.placement, arm_index(run, &window.action.arm)) {
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
    fn the_threshold_follows_base_s_median_above_the_floor() {
        assert_eq!(
            threshold_us([30.0, 4000.0, 20.0].into_iter()),
            Some(20_000.0),
            "one slow window does not raise it"
        );
        assert_eq!(threshold_us([5000.0].into_iter()), Some(100_000.0));
        assert_eq!(threshold_us(std::iter::empty()), None);
    }

    #[test]
    fn time_beyond_the_threshold_is_added_up() {
        let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        for (us, events) in [(50, 10_000), (19_000, 4), (30_000, 2), (500_000, 1)] {
            histogram.record_n(us * 1000, events).unwrap();
        }
        let (beyond_us, events) = latency::beyond(&histogram, 20_000.0);
        // 2 x 10 ms and 480 ms, to three digits.
        assert!((beyond_us / 500_000.0 - 1.0).abs() < 0.002 && events == 3, "{beyond_us} us in {events}");
    }
}
