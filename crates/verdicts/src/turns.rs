//! Figures of windows in which arms took turns, computed from rounds. In each round every arm has one turn.
//!
//! | figure | of an arm in a window |
//! | --- | --- |
//! | rate | base's, times the trimmed mean of the rounds' ratios of rates |
//! | cpu_us | base's of its sessions, times the trimmed mean of the rounds' ratios of sessions' CPU time; plus what other processes of the server used in the whole window |
//!
//! Where turns of one arm last several times as long as base's, the ratio is that of totals instead.
//! Base's own figures are trimmed means of its turns. The ratio of two other arms is the ratio of their
//! ratios to base.

use std::collections::BTreeMap;

use rqps_model::Slice;
use rqps_stats::Metric;
use rqps_stats::rounds::{Location, Round, location, of_totals};
use rqps_store::{Recorded, Run, Window};

use crate::data::{base_of, is_usable};
use crate::error::Result;

/// Figures of a run's windows with turns, by action number.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    figures: BTreeMap<u32, Figures>,
}

#[derive(Debug)]
struct Figures {
    rate: Option<f64>,
    cpu_us: Option<f64>,
    /// Standard errors of the logarithms of their ratios to base.
    rate_error: Option<f64>,
    cpu_error: Option<f64>,
}

/// Turns that last this many times as long as base's, or base's as theirs, are not interrupted alike.
const UNLIKE: f64 = 4.0;

/// Windows of equal number on all arms, in one block of one test.
type Group<'a> = Vec<&'a Recorded<Window>>;

impl Turns {
    /// Computes the figures of all windows of a run that have turns.
    ///
    /// # Errors
    /// If slices cannot be read.
    pub fn of(run: &Run) -> Result<Self> {
        let Some(base) = run.arms.get(base_of(run)) else { return Ok(Self::default()) };
        let mut groups: BTreeMap<(&str, u32, u32), Group<'_>> = BTreeMap::new();
        for window in run.windows.iter().filter(|window| is_usable(window)) {
            if let Some(at) = window.placement {
                groups.entry((&window.action.step, at.block, at.window)).or_default().push(window);
            }
        }
        let mut all = BTreeMap::new();
        for group in groups.values() {
            let Some(of_base) = group.iter().find(|window| window.action.arm == base.name) else { continue };
            let base_slices = run.slices(of_base.action.seq)?;
            if base_slices.is_empty() {
                continue;
            }
            for window in group {
                let slices = run.slices(window.action.seq)?;
                let is_base = window.action.arm == base.name;
                all.insert(window.action.seq, figures(window, (&slices, &base_slices), is_base));
            }
        }
        Ok(Self { figures: all })
    }

    /// A window's figure from its turns. The outer `None` means that turns don't determine this metric; the
    /// inner one that they should, but the figure is missing.
    pub fn figure(&self, window: &Recorded<Window>, metric: Metric) -> Option<Option<f64>> {
        let figures = self.figures.get(&window.action.seq)?;
        match metric {
            Metric::Rate => Some(figures.rate),
            Metric::CpuUs => figures.cpu_us.map(Some),
            _ => None,
        }
    }

    /// Standard error, within a window, of the logarithm of its figure over base's; base's own is 0. CPU time's is that
    /// of sessions.
    pub fn error(&self, window: &Recorded<Window>, metric: Metric) -> Option<f64> {
        let figures = self.figures.get(&window.action.seq)?;
        match metric {
            Metric::Rate => figures.rate_error,
            Metric::CpuUs => figures.cpu_error,
            _ => None,
        }
    }
}

fn figures(window: &Recorded<Window>, (own, base): (&[Slice], &[Slice]), is_base: bool) -> Figures {
    let operations_per_event = window.result.operations / events_of(window);
    let (rate_ratio, cpu_ratio) = (ratio(own, base, rate_parts), ratio(own, base, sessions_us_parts));
    let of_base = location_of(base, rate_parts);
    let rate = of_base
        .zip(rate_ratio)
        .map(|(base, ratio)| (base.mean + ratio.mean).exp() * operations_per_event * 1e6);
    let error = |ratio: Option<Location>| if is_base { Some(0.0) } else { ratio?.error };
    Figures {
        rate: rate.filter(|rate| rate.is_finite() && *rate > 0.0),
        cpu_us: cpu_ratio
            .and_then(|ratio| cpu_us_per_event(window, ratio, base))
            .map(|us| us / operations_per_event),
        rate_error: error(rate_ratio),
        cpu_error: error(cpu_ratio),
    }
}

/// The window's events; every window with turns has them.
fn events_of(window: &Recorded<Window>) -> f64 {
    window.result.events.map_or(f64::NAN, |events| events as f64)
}

/// The two amounts whose quotient is a slice's figure.
type Parts = fn(&Slice) -> Option<(f64, f64)>;

/// The logarithm of the ratio to base, over rounds in which both have the figure.
fn ratio(own: &[Slice], base: &[Slice], of: Parts) -> Option<Location> {
    let both = own.iter().zip(base).filter_map(|(own, base)| Some([of(own)?, of(base)?]));
    let rounds: Vec<Round> = both.collect();
    let times_base = median_us(own)? / median_us(base)?;
    if !(1.0 / UNLIKE..=UNLIKE).contains(&times_base) {
        return of_totals(&rounds);
    }
    let quotient = |(above, below): (f64, f64)| above / below;
    let lns: Vec<f64> = rounds.iter().map(|[own, base]| (quotient(*own) / quotient(*base)).ln()).collect();
    location(&lns)
}

/// How long a turn takes.
fn median_us(slices: &[Slice]) -> Option<f64> {
    let mut lengths: Vec<f64> = slices.iter().map(|slice| slice.elapsed_us).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).copied()
}

/// Events and microseconds.
fn rate_parts(slice: &Slice) -> Option<(f64, f64)> {
    (slice.events > 0 && slice.elapsed_us > 0.0).then_some((slice.events as f64, slice.elapsed_us))
}

/// CPU microseconds of the sessions, and events.
fn sessions_us_parts(slice: &Slice) -> Option<(f64, f64)> {
    let us = slice.sessions_cpu_us.filter(|us| *us > 0.0)?;
    (slice.events > 0).then_some((us, slice.events as f64))
}

/// The location of the logarithms of slices' figures.
fn location_of(slices: &[Slice], of: Parts) -> Option<Location> {
    let lns = slices.iter().filter_map(of).map(|(above, below)| (above / below).ln());
    location(&lns.collect::<Vec<f64>>())
}

fn cpu_us_per_event(window: &Recorded<Window>, ratio: Location, base: &[Slice]) -> Option<f64> {
    let of_base = location_of(base, sessions_us_parts)?;
    let all = window.metric("server_cpu_us")?;
    if window.connections.is_empty() {
        return None;
    }
    let sessions: f64 = window.connections.iter().map(|one| one.cpu_us).sum();
    let others = (all - sessions).max(0.0) / events_of(window);
    Some((of_base.mean + ratio.mean).exp() + others)
}
