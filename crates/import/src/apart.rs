//! Repeats of a test that lie far apart in the same way on all arms: they may be different tests under one name, whose
//! common mean and verdict would mean nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::placed::{Assembled, Doubt};

/// Repeats of one test are seldom further apart than by this factor.
const FACTOR_MAX: f64 = 3.0;
/// Where a few repeats are slower than most, the host was disturbed while they ran, which no arm escapes; but it makes
/// none so much slower.
const DISTURBED_MAX: f64 = 10.0;

/// Rates of a test by arm and repeat.
type Rates = BTreeMap<usize, BTreeMap<u32, f64>>;

/// Names the two repeats that are furthest apart on all arms.
pub fn examine(assembled: &Assembled) -> Vec<Doubt> {
    let mut of_step: BTreeMap<usize, Rates> = BTreeMap::new();
    for placed in &assembled.results {
        let rate = placed.measurement.work.as_ref().map(|work| work.per_second());
        if let Some(rate) = rate.filter(|rate| *rate > 0.0) {
            of_step
                .entry(placed.step)
                .or_default()
                .entry(placed.arm)
                .or_default()
                .insert(placed.repeat, rate);
        }
    }
    of_step.iter().filter_map(|(step, rates)| doubt(assembled, *step, rates)).collect()
}

fn doubt(assembled: &Assembled, step: usize, rates: &Rates) -> Option<Doubt> {
    let first = if rates.contains_key(&assembled.base) { assembled.base } else { *rates.keys().next()? };
    let other = *rates.keys().find(|arm| **arm != first)?;
    let is_on_all = |repeat: &&u32| rates.values().all(|of_arm| of_arm.contains_key(repeat));
    let repeats: BTreeSet<u32> = rates[&first].keys().filter(is_on_all).copied().collect();
    let mean = |repeat: &u32| rates.values().map(|of_arm| of_arm[repeat].ln()).sum::<f64>();
    let mut order: Vec<u32> = repeats.iter().copied().collect();
    order.sort_by(|one, other| mean(one).total_cmp(&mean(other)));
    let (low, high) = (*order.first()?, *order.last()?);
    if !(1..order.len()).any(|at| are_parted(&order[..at], &order[at..], rates)) {
        return None;
    }
    let on = |arm: usize| {
        let text = |rate: f64| if rate < 100.0 { format!("{rate:.2}") } else { format!("{rate:.0}") };
        let (one, two) = (text(rates[&arm][&low]), text(rates[&arm][&high]));
        let unit = if arm == first { " per second" } else { "" };
        format!("{one} and {two}{unit} on {}", assembled.arms[arm].name)
    };
    let text = format!(
        "repeats {low} and {high} are {}, {}: are they of different tests? So far apart on each arm, they may be; if they are, \
         give each test its own name, as in TEST-REPEAT.txt",
        on(first),
        on(other)
    );
    Some(Doubt::of_test(first, step, text))
}

/// Whether the slower repeats lie so far below the faster ones on each arm that a disturbance does not explain it.
fn are_parted(slower: &[u32], faster: &[u32], rates: &Rates) -> bool {
    let factor = if slower.len() > faster.len() { FACTOR_MAX } else { DISTURBED_MAX };
    let is_below = |of_arm: &BTreeMap<u32, f64>| {
        let most = slower.iter().map(|repeat| of_arm[repeat]).fold(0.0, f64::max);
        faster.iter().all(|repeat| of_arm[repeat] > factor * most)
    };
    rates.values().all(is_below)
}
