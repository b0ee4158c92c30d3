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
pub struct Turns {
    figures: BTreeMap<u32, Figures>,
}

#[derive(Debug)]
struct Figures {
    rate: Option<f64>,
    cpu_us: Option<f64>,
    of_parts: Option<PartsOfTurns>,
    /// Standard errors of the logarithms of their ratios to base.
    rate_error: Option<f64>,
    cpu_error: Option<f64>,
}

/// The time of an operation in turns, without the guards, whose cold caches are due to the other arms' turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartsOfTurns {
    /// Operations per second, all clients.
    pub rate: f64,
    /// CPU time of the sessions, microseconds per operation.
    pub sessions_us: f64,
    /// CPU time of the clients.
    pub client_us: f64,
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

    /// Where the time of a window's operations goes; `None` if it has no turns or CPU times are not known.
    pub fn parts(&self, window: &Recorded<Window>) -> Option<PartsOfTurns> {
        self.figures.get(&window.action.seq)?.of_parts
    }

    /// A window's figure from its turns. The outer `None` means that turns don't determine this metric; the
    /// inner one that they should, but the figure is missing.
    pub(crate) fn figure(&self, window: &Recorded<Window>, metric: Metric) -> Option<Option<f64>> {
        let figures = self.figures.get(&window.action.seq)?;
        match metric {
            Metric::Rate => Some(figures.rate),
            Metric::CpuUs => figures.cpu_us.map(Some),
            _ => None,
        }
    }

    /// Standard error, within a window, of the logarithm of its figure over base's; base's own is 0. CPU time's is that
    /// of sessions.
    pub(crate) fn error(&self, window: &Recorded<Window>, metric: Metric) -> Option<f64> {
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
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0);
    let sessions_us =
        location_of(base, sessions_us).zip(cpu_ratio).map(|(us, ratio)| (us.mean + ratio.mean).exp());
    let client_us = location_of(own, client_us).map(|us| us.mean.exp());
    let parts = || {
        let [sessions_us, client_us] = [sessions_us?, client_us?].map(|us| us / operations_per_event);
        Some(PartsOfTurns { rate: rate?, sessions_us, client_us })
    };
    let error = |ratio: Option<Location>| if is_base { Some(0.0) } else { ratio?.error };
    Figures {
        rate,
        cpu_us: sessions_us.and_then(|us| Some((us + others_us(window)?) / operations_per_event)),
        of_parts: parts(),
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

/// CPU time of the clients for an event.
fn client_us(slice: &Slice) -> Option<f64> {
    (slice.events > 0 && slice.client_cpu_us > 0.0).then(|| slice.client_cpu_us / slice.events as f64)
}

/// The location of the logarithms of slices' figures.
fn location_of(slices: &[Slice], of: fn(&Slice) -> Option<f64>) -> Option<Location> {
    location(&slices.iter().filter_map(of).map(f64::ln).collect::<Vec<f64>>())
}

/// CPU time for an event of the server's processes other than the sessions, over the whole window.
fn others_us(window: &Recorded<Window>) -> Option<f64> {
    let all = window.metric("server_cpu_us")?;
    if window.connections.is_empty() {
        return None;
    }
    let sessions: f64 = window.connections.iter().map(|one| one.cpu_us).sum();
    Some((all - sessions).max(0.0) / events_of(window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_model::ConnectionCpu;
    use rqps_store::testing::{record, window};

    fn slice(events: u64, us: f64, sessions_cpu_us: Option<f64>) -> Slice {
        Slice { events, elapsed_us: us, sessions_cpu_us, ..Slice::default() }
    }

    /// The guards, a fifth of the events here, have more than half of the sessions' CPU time: their caches are cold.
    #[test]
    fn parts_of_an_operation_leave_the_guards_out() {
        let one = |arm: &str, sessions_us: f64| Recorded {
            action: record(1, arm, "measure", "scan"),
            placement: None,
            metrics: [("server_cpu_us".to_owned(), sessions_us + 100.0)].into(),
            connections: vec![ConnectionCpu::only(0, sessions_us)],
            result: Window { operations: 200.0, ..window("scan", "range", 100, 1.0) },
        };
        let slices = |sessions_us: f64| -> Vec<Slice> {
            let one = slice(8, 8.0 * (sessions_us + 5.0), Some(8.0 * sessions_us));
            vec![Slice { client_cpu_us: 8.0 * 4.0, ..one }; 10]
        };
        let (base, own) = (slices(20.0), slices(10.0));
        let found = figures(&one("new", 2000.0), (&own, &base), false);
        let parts = found.of_parts.unwrap();
        let close = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{found:?}");
        close(parts.rate, 2.0 * 1e6 / 15.0);
        close(parts.sessions_us, 10.0 / 2.0);
        close(parts.client_us, 4.0 / 2.0);
        close(found.cpu_us.unwrap(), (10.0 + 1.0) / 2.0);
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
