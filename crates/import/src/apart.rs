//! Repeats of a test that lie far apart in the same way on all arms: they look like different tests under one name,
//! whose common mean and verdict would mean nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::placed::{Assembled, Doubt};

/// Repeats of one test are no further apart than by this factor.
const FACTOR_MAX: f64 = 2.0;

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
    let by_mean = |one: &u32, other: &u32| mean(one).total_cmp(&mean(other));
    let low = repeats.iter().copied().min_by(by_mean)?;
    let high = repeats.iter().copied().max_by(by_mean)?;
    if !rates.values().all(|of_arm| of_arm[&high] > FACTOR_MAX * of_arm[&low]) {
        return None;
    }
    let on = |arm: usize| {
        let text = |rate: f64| if rate < 100.0 { format!("{rate:.2}") } else { format!("{rate:.0}") };
        let (one, two) = (text(rates[&arm][&low]), text(rates[&arm][&high]));
        let unit = if arm == first { " per second" } else { "" };
        format!("{one} and {two}{unit} on {}", assembled.arms[arm].name)
    };
    let text = format!(
        "repeats {low} and {high} are {}, {}: so far apart on each arm, they look like different tests; give \
         each test its own name, as in TEST-REPEAT.txt, or leave out what is no repeat",
        on(first),
        on(other)
    );
    Some(Doubt { arm: first, steps: vec![step], repeat: None, text })
}
