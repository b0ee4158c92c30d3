//! How evenly a test ran: per-second rates, stalls and latencies of each arm over all its windows.
//!
//! | figure | of an arm in a test |
//! | --- | --- |
//! | `cv` | standard deviation of a second's rate within its window, over the window's mean |
//! | `slow_share` | share of seconds under half of their window's median |
//! | `longest_gap_s` | most consecutive seconds under a tenth of it |
//! | latencies | percentiles over all events of all windows |
//! | `stalled_share` | share of the time that events took beyond the threshold of a stall, see `stalls.rs` |
//!
//! Uses valid windows of done blocks; in a run without blocks, all valid windows.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use rqps_store::{Recorded, Run, Window};

use crate::data::{arm_index, done_blocks, is_result, is_usable};
use crate::error::{Error, Result};
use crate::estimates::upper_median;
use crate::latency::{self, quantile_us};
use crate::stalls::threshold_us;
use rqps_model::sample::mean;

/// Shortest window with per-second figures: the last second is cut off, and the first differs from the
/// others.
pub const SECONDS_MIN: usize = 3;
/// Share of the window's median under which a second is slow.
const SLOW: f64 = 0.5;
/// Share of the window's median under which a second is part of a gap.
const GAP: f64 = 0.1;
/// Name of the series of queries per second.
const QUERIES: &str = "queries";

/// The variance of an arm in a test.
#[derive(Debug, Clone, PartialEq)]
pub struct VarianceRow {
    pub test: String,
    pub group: String,
    /// Index in [`Run::arms`].
    pub arm: usize,
    pub windows: usize,
    /// Number of the windows' blocks; 0 in a run without blocks.
    pub blocks: usize,
    /// Total length of the windows.
    pub seconds: f64,
    /// `None` if no window was long enough.
    pub per_second: Option<PerSecond>,
    /// `None` if latencies were not measured.
    pub latency: Option<EventLatency>,
}

/// Variance of the rate from second to second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerSecond {
    /// Whole seconds.
    pub seconds: usize,
    /// Coefficient of variation within windows.
    pub cv: f64,
    /// Share of seconds under half of their window's median.
    pub slow_share: f64,
    /// Most consecutive seconds under a tenth of it.
    pub longest_gap_s: usize,
}

/// Latencies of events, from sending to the complete answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventLatency {
    pub events: u64,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 95th percentile, microseconds.
    pub p95_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// The slowest event, microseconds.
    pub max_us: f64,
    /// Latency above which an event stalls, microseconds; the same on all arms of a test.
    pub stall_us: f64,
    pub stalls: u64,
    /// Share of the time that events took beyond `stall_us`.
    pub stalled_share: f64,
}

/// Windows of a test by arm.
type ByArm<'a> = BTreeMap<usize, Vec<&'a Recorded<Window>>>;

/// The variance of every arm in every test, sorted by test and arm. The threshold of a stall comes from the
/// arm `base`.
///
/// # Errors
/// If series or latencies cannot be read.
pub fn variance(run: &Run, base: usize) -> Result<Vec<VarianceRow>> {
    let mut tests: BTreeMap<&str, ByArm<'_>> = BTreeMap::new();
    for window in windows(run) {
        if let Some(arm) = arm_index(run, &window.action.arm) {
            tests.entry(&window.action.step).or_default().entry(arm).or_default().push(window);
        }
    }
    let mut rows = Vec::new();
    for (test, arms) in tests {
        let stall_us = stall_us(run, arms.get(&base).map_or(&[], Vec::as_slice))?;
        for (arm, windows) in arms {
            rows.push(row(run, (test, arm), &windows, stall_us)?);
        }
    }
    Ok(rows)
}

fn windows(run: &Run) -> impl Iterator<Item = &Recorded<Window>> {
    let done = done_blocks(run);
    let has_blocks = !run.blocks.is_empty();
    run.windows.iter().filter(move |window| {
        let counts = window.placement.is_some_and(|at| done.contains(&at.block)) || !has_blocks;
        counts && is_result(window) && is_usable(window)
    })
}

fn stall_us(run: &Run, base_windows: &[&Recorded<Window>]) -> Result<Option<f64>> {
    let mut medians_us = Vec::new();
    for window in base_windows {
        medians_us.extend(latency::of_events(run, window)?.map(|histogram| histogram.p50_us));
    }
    Ok(threshold_us(medians_us.into_iter()))
}

fn row(
    run: &Run,
    (test, arm): (&str, usize),
    windows: &[&Recorded<Window>],
    stall_us: Option<f64>,
) -> Result<VarianceRow> {
    let mut blocks: Vec<u32> = windows.iter().filter_map(|window| Some(window.placement?.block)).collect();
    blocks.dedup();
    let mut rates = Vec::new();
    for window in windows {
        let whole = window.result.elapsed_s() as usize;
        if whole >= SECONDS_MIN {
            let series = run.series(window.action.seq)?;
            let queries = series.into_iter().find(|series| series.name == QUERIES);
            rates.extend(queries.map(|series| series.values[..whole.min(series.values.len())].to_vec()));
        }
    }
    Ok(VarianceRow {
        test: test.to_owned(),
        group: windows.first().map_or_else(String::new, |window| window.result.group.clone()),
        arm,
        windows: windows.len(),
        blocks: blocks.len(),
        seconds: windows.iter().map(|window| window.result.elapsed_s()).sum(),
        per_second: per_second(&rates),
        latency: event_latency(run, windows, stall_us)?,
    })
}

/// Computes the variance from the per-second rates of windows.
fn per_second(windows: &[Vec<f64>]) -> Option<PerSecond> {
    let (mut seconds, mut squares, mut slow, mut longest_gap_s, mut df) = (0, 0.0, 0, 0, 0.0);
    for rates in windows {
        let rates: Vec<f64> = rates.iter().copied().filter(|rate| rate.is_finite()).collect();
        let median = upper_median(rates.iter().copied()).unwrap_or(0.0);
        if rates.len() < SECONDS_MIN || median <= 0.0 {
            continue;
        }
        let mean = mean(&rates);
        seconds += rates.len();
        df += rates.len() as f64 - 1.0;
        squares += rates.iter().map(|rate| (rate / mean - 1.0).powi(2)).sum::<f64>();
        slow += rates.iter().filter(|rate| **rate < SLOW * median).count();
        let gap = rates.split(|rate| *rate >= GAP * median).map(<[f64]>::len).max();
        longest_gap_s = longest_gap_s.max(gap.unwrap_or(0));
    }
    let slow_share = slow as f64 / seconds as f64;
    (seconds > 0).then(|| PerSecond { seconds, cv: (squares / df).sqrt(), slow_share, longest_gap_s })
}

fn event_latency(
    run: &Run,
    windows: &[&Recorded<Window>],
    stall_us: Option<f64>,
) -> Result<Option<EventLatency>> {
    let (mut all, mut time_us): (Option<Histogram<u64>>, f64) = (None, 0.0);
    for window in windows {
        let seq = window.action.seq;
        let Some(histogram) = latency::of_events(run, window)? else {
            continue;
        };
        time_us += f64::from(window.result.clients) * window.result.elapsed_us as f64;
        let decoded = latency::decode(run, seq, &histogram)?;
        match &mut all {
            None => all = Some(decoded),
            Some(all) => all.add(&decoded).map_err(|error| Error::Latency {
                run: run.folder.name(),
                seq,
                why: error.to_string(),
            })?,
        }
    }
    let (Some(all), Some(stall_us)) = (all, stall_us) else {
        return Ok(None);
    };
    let (stalled_us, stalls) = latency::beyond(&all, stall_us);
    Ok(Some(EventLatency {
        events: all.len(),
        p50_us: quantile_us(&all, 0.50),
        p95_us: quantile_us(&all, 0.95),
        p99_us: quantile_us(&all, 0.99),
        max_us: quantile_us(&all, 1.0),
        stall_us,
        stalls,
        stalled_share: if time_us > 0.0 { stalled_us / time_us } else { 0.0 },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_compared_with_their_own_window() {
        let even = vec![100.0; 10];
        let mut gap = vec![50.0; 10];
        gap[3..6].copy_from_slice(&[4.0, 0.0, 2.0]);
        gap[8] = 20.0;
        let found = per_second(&[even.clone(), gap, vec![1.0, 2.0]]).unwrap();
        assert_eq!((found.seconds, found.longest_gap_s), (20, 3), "a window of two seconds is left out");
        assert!((found.slow_share - 4.0 / 20.0).abs() < 1e-12, "{found:?}");
        let alone = per_second(&[even, vec![200.0; 10]]).unwrap();
        assert_eq!((alone.cv, alone.slow_share), (0.0, 0.0), "windows may differ from each other");
        assert_eq!(per_second(&[vec![0.0; 10]]), None, "an event takes longer than a second");
    }
}
