//! What a test owes to the steps before it: group testing by halving.
//!
//! A test in a sequence starts from what earlier steps left. Its figure relative to base is measured with all of them
//! (in its place), with none (alone), then with halves of those that seem to matter, until single steps are left.
//! Steps are numbered from 0 in the order of the sequence; a variant is the sorted list of those that run before the
//! test.

#[cfg(test)]
mod simulated;
mod spread;

pub use spread::Spread;

use crate::t_upper;
use rqps_model::sample::{mean, squares};
use std::collections::BTreeMap;

/// By variant: logarithms of an arm's figure over base's, one for each pass.
pub type Measured = BTreeMap<Vec<usize>, Vec<f64>>;

/// What the search assumes and when it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Error rate of one comparison. It is looked at several times, so it is well below that of the answer.
    pub error_rate: f64,
    /// Passes of a measurement.
    pub passes: usize,
    /// Most passes of one variant.
    pub passes_max: usize,
    /// A smaller difference between the test alone and in its place is none, as a logarithm.
    pub smallest: f64,
    /// Steps that carry less than this share are left out.
    pub share_min: f64,
    /// From this sum of the shares of two halves on, each does it by itself.
    pub shares_sum_max: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            error_rate: 0.01,
            passes: 3,
            passes_max: 12,
            smallest: 0.02,
            share_min: 0.2,
            shares_sum_max: 1.5,
        }
    }
}

/// A value with its interval, which misses with the rules' error rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// Steps that carry a share of the difference between the test in its place and alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Carrier {
    pub steps: Vec<usize>,
    pub how: How,
    /// 1 is the whole difference. Open intervals are infinite.
    pub share: Estimate,
}

/// How the steps of a carrier do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is one step.
    Alone,
    /// No half of them does it by itself.
    Together,
    /// Each half does most of it by itself, so that none of them in particular is the reason.
    Any,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A measurement is missing: this variant.
    Open(Vec<usize>),
    /// Alone and in its place the figures differ by less than the smallest difference of interest.
    Same,
    /// The passes did not suffice to tell.
    Undecided,
    /// They differ; by what, as far as it could be decided.
    Carried(Vec<Carrier>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The test without earlier steps, as a logarithm relative to base; `None` before it is measured.
    pub alone: Option<Estimate>,
    pub in_place: Option<Estimate>,
    pub outcome: Outcome,
}

/// Where the search stands with `steps` steps before the test.
pub fn search(steps: usize, measured: &Measured, rules: &Rules) -> Answer {
    let search = Search { all: (0..steps).collect(), noise: Noise::of(measured), measured, rules };
    let estimate = |variant: &[usize]| search.estimate(variant);
    Answer { alone: estimate(&[]), in_place: estimate(&search.all), outcome: search.outcome() }
}

/// A variant's figure; `None` before it is measured.
pub fn estimate(measured: &Measured, variant: &[usize], rules: &Rules) -> Option<Estimate> {
    let search = Search { all: Vec::new(), noise: Noise::of(measured), measured, rules };
    search.estimate(variant)
}

/// The standard deviation of a pass, pooled over all variants.
#[derive(Clone, Copy)]
struct Noise {
    variance: f64,
    df: f64,
}

impl Noise {
    fn of(measured: &Measured) -> Self {
        let df: usize = measured.values().map(|passes| passes.len().saturating_sub(1)).sum();
        let variance = measured.values().map(|passes| squares(passes)).sum::<f64>() / df.max(1) as f64;
        Noise { variance, df: df as f64 }
    }
}

struct Search<'a> {
    all: Vec<usize>,
    noise: Noise,
    measured: &'a Measured,
    rules: &'a Rules,
}

/// How a group of steps compares with none.
enum Effect {
    Open,
    Carries,
    /// Too little, or not shown by all passes.
    Nothing,
}

impl Search<'_> {
    fn outcome(&self) -> Outcome {
        for variant in [&self.all[..], &[]] {
            if self.passes(variant).len() < self.rules.passes {
                return Outcome::Open(variant.to_owned());
            }
        }
        let whole = self.difference(&self.all);
        if !self.excludes_zero(whole) {
            let largest = whole.low.abs().max(whole.high.abs());
            if largest < self.rules.smallest {
                return Outcome::Same;
            }
            return match self.with_fewer_passes(&self.all) {
                Some(variant) => Outcome::Open(variant),
                None => Outcome::Undecided,
            };
        }
        let mut carriers = Vec::new();
        match self.split(&self.all, &mut carriers) {
            Some(open) => Outcome::Open(open),
            None => Outcome::Carried(carriers),
        }
    }

    /// Adds what carries the effect of a group that carries; returns a variant that has to be measured first.
    fn split(&self, group: &[usize], carriers: &mut Vec<Carrier>) -> Option<Vec<usize>> {
        let carrier = |how| Carrier { steps: group.to_owned(), how, share: self.share(group) };
        if group.len() < 2 {
            carriers.push(carrier(How::Alone));
            return None;
        }
        let (early, late) = group.split_at(group.len() / 2);
        let halves = [late, early].map(|half| (half, self.effect(half)));
        for (half, effect) in &halves {
            if matches!(effect, Effect::Open) {
                return self.with_fewer_passes(half);
            }
        }
        let carrying: Vec<&[usize]> =
            halves.iter().filter(|(_, effect)| matches!(effect, Effect::Carries)).map(|one| one.0).collect();
        let shares: f64 = carrying.iter().map(|half| self.share(half).value).sum();
        match carrying.len() {
            0 => carriers.push(carrier(How::Together)),
            2 if shares >= self.rules.shares_sum_max * self.share(group).value => {
                carriers.push(carrier(How::Any));
            }
            _ => return carrying.into_iter().find_map(|half| self.split(half, carriers)),
        }
        None
    }

    fn effect(&self, group: &[usize]) -> Effect {
        if self.passes(group).len() < self.rules.passes {
            return Effect::Open;
        }
        let share = self.share(group);
        if share.low > 0.0 && share.value >= self.rules.share_min {
            return Effect::Carries;
        }
        let is_small = share.high < 2.0 * self.rules.share_min || share.value < self.rules.share_min / 2.0;
        let can_go_on = self.with_fewer_passes(group).is_some();
        if is_small || !can_go_on { Effect::Nothing } else { Effect::Open }
    }

    fn passes(&self, variant: &[usize]) -> &[f64] {
        self.measured.get(variant).map_or(&[], Vec::as_slice)
    }

    /// Of a variant and the test alone, the one with fewer passes, if it may have more.
    fn with_fewer_passes(&self, variant: &[usize]) -> Option<Vec<usize>> {
        let fewer = if self.passes(&[]).len() < self.passes(variant).len() { &[] } else { variant };
        (self.passes(fewer).len() < self.rules.passes_max).then(|| fewer.to_owned())
    }

    fn quantile(&self) -> f64 {
        t_upper(self.rules.error_rate / 2.0, self.noise.df)
    }

    fn estimate(&self, variant: &[usize]) -> Option<Estimate> {
        let passes = self.passes(variant);
        if passes.is_empty() {
            return None;
        }
        Some(around(mean(passes), self.quantile() * self.variance_of(variant).sqrt()))
    }

    /// Variance of a variant's mean.
    fn variance_of(&self, variant: &[usize]) -> f64 {
        self.noise.variance / self.passes(variant).len() as f64
    }

    /// A variant's figure less that of the test alone.
    fn difference(&self, variant: &[usize]) -> Estimate {
        let difference = mean(self.passes(variant)) - mean(self.passes(&[]));
        let variance = self.variance_of(variant) + self.variance_of(&[]);
        around(difference, self.quantile() * variance.sqrt())
    }

    fn excludes_zero(&self, difference: Estimate) -> bool {
        difference.low > 0.0 || difference.high < 0.0
    }

    /// The share of a group in the whole difference, with Fieller's interval of a ratio of two means that are not
    /// independent (E. C. Fieller, "Some problems in interval estimation", 1954): both contain the test alone.
    fn share(&self, group: &[usize]) -> Estimate {
        let alone = self.variance_of(&[]);
        let (part, whole) = (self.difference(group).value, self.difference(&self.all).value);
        let (of_part, of_whole) = (self.variance_of(group) + alone, self.variance_of(&self.all) + alone);
        // The whole in its place is the same measurement.
        if group == self.all {
            return Estimate { value: 1.0, low: 1.0, high: 1.0 };
        }
        let square = self.quantile().powi(2);
        let (a, b, c) = (
            whole.powi(2) - square * of_whole,
            part * whole - square * alone,
            part.powi(2) - square * of_part,
        );
        let root = (b * b - a * c).sqrt();
        if a > 0.0 && root.is_finite() {
            Estimate { value: part / whole, low: (b - root) / a, high: (b + root) / a }
        } else {
            Estimate { value: part / whole, low: f64::NEG_INFINITY, high: f64::INFINITY }
        }
    }
}

fn around(value: f64, half: f64) -> Estimate {
    Estimate { value, low: value - half, high: value + half }
}
