//! Figures of windows in which arms took turns, computed from rounds. In each round every arm has one turn.
//!
//! | figure | of an arm in a window |
//! | --- | --- |
//! | rate | base's, over the ratio of the times of turns (`rqps_stats::rounds`) |
//! | cpu_us | base's of its sessions, times the trimmed mean of the rounds' ratios of sessions' CPU time; plus what other processes of the server used in the whole window |
//!
//! Base's own figures are trimmed means of its turns. The ratio of two other arms is the ratio of their
//! ratios to base.

use std::collections::BTreeMap;

use rqps_model::Slice;
use rqps_stats::Metric;
use rqps_stats::rounds::{Location, Round, location, times};
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
    let (rate_ratio, cpu_ratio) = (rate_ratio(own, base), cpu_ratio(own, base));
    let of_base = location_of(base, us_per_event);
    let rate =
        of_base.zip(rate_ratio).map(|(us, ratio)| (ratio.mean - us.mean).exp() * operations_per_event * 1e6);
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

/// The logarithm of the ratio of rates, over rounds in which both arms have one.
fn rate_ratio(own: &[Slice], base: &[Slice]) -> Option<Location> {
    let mut timed = own.iter().chain(base).filter(|slice| us_per_event(slice).is_some());
    let knows_cpu = timed.all(|slice| sessions_us(slice).is_some());
    let round = |(own, base): (&Slice, &Slice)| {
        let cpu = if knows_cpu { (sessions_us(own)? * sessions_us(base)?).sqrt() } else { 1.0 };
        Some(Round { own: us_per_event(own)?, base: us_per_event(base)?, cpu })
    };
    let of_times = times(&own.iter().zip(base).filter_map(round).collect::<Vec<Round>>())?;
    Some(Location { mean: -of_times.mean, ..of_times })
}

/// The logarithm of the ratio of sessions' CPU time, over rounds in which both arms have some.
fn cpu_ratio(own: &[Slice], base: &[Slice]) -> Option<Location> {
    let both = own.iter().zip(base);
    let lns = both.filter_map(|(own, base)| Some((sessions_us(own)? / sessions_us(base)?).ln()));
    location(&lns.collect::<Vec<f64>>())
}

fn us_per_event(slice: &Slice) -> Option<f64> {
    (slice.events > 0 && slice.elapsed_us > 0.0).then_some(slice.elapsed_us / slice.events as f64)
}

/// CPU time of the sessions for an event.
fn sessions_us(slice: &Slice) -> Option<f64> {
    let us = slice.sessions_cpu_us.filter(|us| *us > 0.0)?;
    (slice.events > 0).then_some(us / slice.events as f64)
}

/// The location of the logarithms of slices' figures.
fn location_of(slices: &[Slice], of: fn(&Slice) -> Option<f64>) -> Option<Location> {
    location(&slices.iter().filter_map(of).map(f64::ln).collect::<Vec<f64>>())
}

fn cpu_us_per_event(window: &Recorded<Window>, ratio: Location, base: &[Slice]) -> Option<f64> {
    let of_base = location_of(base, sessions_us)?;
    let all = window.metric("server_cpu_us")?;
    if window.connections.is_empty() {
        return None;
    }
    let sessions: f64 = window.connections.iter().map(|one| one.cpu_us).sum();
    let others = (all - sessions).max(0.0) / events_of(window);
    Some((of_base.mean + ratio.mean).exp() + others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(events: u64, us: f64, sessions_cpu_us: Option<f64>) -> Slice {
        Slice { events, elapsed_us: us, sessions_cpu_us, ..Slice::default() }
    }

    #[test]
    fn slower_turns_have_a_lower_rate_whether_cpu_time_is_known_or_not() {
        let dear = |round: usize| if round.is_multiple_of(2) { 1.0 } else { 3.0 };
        let slices = |us: f64, cpu: Option<f64>, last: u64| -> Vec<Slice> {
            let one = |round| slice(100, us * dear(round), cpu.map(|cpu| cpu * dear(round)));
            (0..10).map(one).chain([slice(last, us, cpu)]).collect()
        };
        let ratio =
            |own: &[Slice], base: &[Slice]| rate_ratio(own, base).map(|ratio| (ratio.mean, ratio.rounds));
        let known = ratio(&slices(8000.0, Some(5000.0), 0), &slices(5000.0, Some(2500.0), 9)).unwrap();
        assert!((known.0 - (5.0f64 / 8.0).ln()).abs() < 1e-9 && known.1 == 10, "{known:?}");
        let unknown = ratio(&slices(4000.0, None, 5), &slices(5000.0, None, 0)).unwrap();
        assert!(unknown.0 > 0.0 && unknown.1 == 10, "{unknown:?}");
        let cpu = cpu_ratio(&slices(8000.0, Some(5000.0), 0), &slices(5000.0, Some(2500.0), 9)).unwrap();
        assert!((cpu.mean - 2.0f64.ln()).abs() < 1e-9 && cpu.rounds == 10, "{cpu:?}");
        assert_eq!(rate_ratio(&[], &[]), None);
    }
}
