//! Which spread of noise holds for which test: per metric, per group where it has tests enough, per look.

use crate::experiment::{Archive, ArchivedVariance};
use crate::metric::Metric;
use crate::pairs::{Pairs, Scale, variance};
use crate::prior::{Sample, Spread, fit};
use crate::rules::Rules;
use crate::verdict::Prior;
use std::collections::{BTreeMap, BTreeSet};

/// A group with this many tests is fitted by itself; a smaller one would know less than all groups together.
const GROUP_TESTS_MIN: usize = 8;

/// Everything that is known of noise, looked up by metric and group.
pub(crate) struct Priors {
    fitted: BTreeMap<(Metric, Option<String>), Vec<Spread>>,
    unknown: Vec<Spread>,
}

/// The contrasts of one metric, arm and test.
pub(crate) struct Source<'a> {
    pub(crate) metric: Metric,
    pub(crate) test: &'a str,
    pub(crate) group: &'a str,
    pub(crate) pairs: &'a Pairs,
}

impl Priors {
    /// Fits all of them. A look's spread is learnt from the blocks that this look had: what was decided at a look is
    /// found again when there are more blocks.
    pub(crate) fn fit(sources: &[Source], archive: &Archive, rules: &Rules) -> Priors {
        let mut fitted = BTreeMap::new();
        for metric in Metric::ALL.into_iter().filter(|metric| !metric.is_of_rare_events()) {
            let looks: Vec<Vec<ArchivedVariance>> = rules
                .looks
                .iter()
                .map(|look| {
                    let own = sources.iter().filter(|source| source.metric == metric);
                    let own = own.filter_map(|source| variance_of(source, look.blocks));
                    own.chain(archive.variances.iter().filter(|old| old.metric == metric).cloned()).collect()
                })
                .collect();
            let over = |group: Option<&str>| -> Vec<Spread> {
                looks.iter().map(|at| fit_group(at, group)).collect()
            };
            fitted.insert((metric, None), over(None));
            let groups: BTreeSet<&str> = looks.iter().flatten().map(|one| one.group.as_str()).collect();
            for group in groups {
                let spreads = over(Some(group));
                if spreads.iter().all(|spread| spread.tests >= GROUP_TESTS_MIN) {
                    fitted.insert((metric, Some(group.to_owned())), spreads);
                }
            }
        }
        Priors { fitted, unknown: vec![Spread::UNKNOWN; rules.looks.len()] }
    }

    /// One spread per look. On the linear scale variances mean something else, so nothing is known.
    pub(crate) fn of(&self, metric: Metric, group: &str, scale: Scale) -> &[Spread] {
        if scale == Scale::Linear {
            return &self.unknown;
        }
        let own = self.fitted.get(&(metric, Some(group.to_owned())));
        own.or_else(|| self.fitted.get(&(metric, None))).unwrap_or(&self.unknown)
    }

    /// Those that were fitted, as they are reported.
    pub(crate) fn report(&self) -> Vec<Prior> {
        let one = |metric: Metric, group: &Option<String>, place: usize, spread: &Spread| Prior {
            metric,
            group: group.clone(),
            look: place + 1,
            tests: spread.tests,
            variance: spread.variance,
            df: spread.df,
        };
        let all = self.fitted.iter().flat_map(|((metric, group), spreads)| {
            spreads.iter().enumerate().map(move |(place, spread)| one(*metric, group, place, spread))
        });
        all.filter(|prior| prior.tests > 0).collect()
    }
}

/// The variance of a source's first blocks, if it has at least two and logarithms of all.
pub(crate) fn variance_of(source: &Source, blocks_max: usize) -> Option<ArchivedVariance> {
    let blocks = source.pairs.len().min(blocks_max);
    if blocks < 2 || source.pairs.scale() == Scale::Linear {
        return None;
    }
    let contrasts = source.pairs.contrasts(Scale::Log, blocks)?;
    Some(ArchivedVariance {
        metric: source.metric,
        test: source.test.to_owned(),
        group: source.group.to_owned(),
        variance: variance(&contrasts),
        df: blocks as f64 - 1.0,
    })
}

fn fit_group(variances: &[ArchivedVariance], group: Option<&str>) -> Spread {
    let of_group = variances.iter().filter(|one| group.is_none_or(|group| one.group == group));
    let samples: Vec<Sample> = of_group.map(Sample::of).collect();
    fit(&samples)
}
