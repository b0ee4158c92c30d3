//! The rules of judgement: minimum effects, looks, and error rates.

use crate::experiment::InvalidData;
use rqps_model::Metric;
use std::collections::{BTreeMap, BTreeSet};

/// A number of blocks after which a decision may be made, with its share of the errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    pub blocks: usize,
    /// Its share of `alpha` and `tost_alpha`; the shares of all looks sum to 1 at most.
    pub spend: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Probability, over all looks, that a detector reports a change of an arm in a test without any.
    pub alpha: f64,
    /// The looks, by ascending number of blocks.
    pub looks: Vec<Look>,
    /// Whether all blocks were measured before anybody looked, as with results that are imported: then each test is
    /// judged once, on all its blocks, with the whole error.
    pub at_once: bool,
    /// Whether rates are judged, and stalls, which are of the same windows. Not where the windows are too short.
    pub rates: bool,
    /// Allowed share of false ones among a report's significant changes (Benjamini-Hochberg).
    pub q: f64,
    /// Probability, over all looks, of `same` for a change of exactly the minimum effect of interest.
    pub tost_alpha: f64,
    /// Minimum effect of interest per metric, as a share: 0.02 is 2 %.
    pub mei: BTreeMap<Metric, f64>,
    /// The same for single tests; takes precedence over `mei`.
    pub mei_of_test: BTreeMap<(String, Metric), f64>,
}

impl Default for Rules {
    fn default() -> Rules {
        let looks = [(3, 0.10), (5, 0.15), (8, 0.20), (12, 0.25), (18, 0.30)];
        let mei = Metric::ALL.map(|metric| (metric, metric.measure().mei));
        Rules {
            alpha: 0.001,
            looks: looks.map(|(blocks, spend)| Look { blocks, spend }).to_vec(),
            at_once: false,
            rates: true,
            q: 0.01,
            tost_alpha: 0.05,
            mei: BTreeMap::from(mei),
            mei_of_test: BTreeMap::new(),
        }
    }
}

/// Length of a stall that must not go unnoticed: `same` requires that stalls of this length would have been
/// seen.
pub const STALL_SECONDS: f64 = 0.5;

/// Minimum time that an arm has to be measured for `same` on stalls: with 95 % probability at least one stall
/// occurs in it if stalls of [`STALL_SECONDS`] take a share `mei` of the time (rule of three, Hanley and
/// Lippman-Hand 1983).
pub fn stall_seconds_min(mei: f64) -> f64 {
    3.0 * STALL_SECONDS / mei
}

/// Share of the errors that the looks of a run have which its plan ends early. The rest is for the looks that follow if
/// it is given more time, so that all of them together call no more wrongly than is stated.
const SPENT_BY_PLAN: f64 = 0.9;

impl Rules {
    /// The rules of a run whose plan ends it after so many blocks. All looks stay, since it may be given more time;
    /// the first is reached in any case, since fewer blocks do not suffice for a verdict.
    pub fn ending_after(mut self, blocks_max: usize) -> Rules {
        let planned = self.looks_reached(blocks_max).clamp(1, self.looks.len().max(1));
        let (own, later) = self.looks.split_at_mut(planned);
        if !later.is_empty() {
            share(own, SPENT_BY_PLAN);
            share(later, 1.0 - SPENT_BY_PLAN);
        }
        self
    }

    /// The minimum effect of interest of a metric in a test, as a share.
    pub fn mei(&self, test: &str, metric: Metric) -> f64 {
        let own = self.mei_of_test.get(&(test.to_owned(), metric));
        own.or_else(|| self.mei.get(&metric)).copied().unwrap_or_else(|| metric.measure().mei)
    }

    /// Rules by which tests with these numbers of blocks are each judged once, after its last block. More blocks are
    /// advised by the looks that follow.
    pub(crate) fn once_after(&self, blocks: impl Iterator<Item = usize>) -> Rules {
        let first = self.looks.first().map_or(0, |look| look.blocks);
        let numbers: BTreeSet<usize> = self
            .looks
            .iter()
            .map(|look| look.blocks)
            .chain(blocks.filter(|blocks| *blocks > first))
            .collect();
        let looks = numbers.into_iter().map(|blocks| Look { blocks, spend: 1.0 }).collect();
        Rules { looks, ..self.clone() }
    }

    /// Number of looks that this many blocks reach.
    pub fn looks_reached(&self, blocks: usize) -> usize {
        self.looks.iter().take_while(|look| look.blocks <= blocks).count()
    }

    /// Returns an error for inconsistent rules.
    pub(crate) fn check(&self) -> Result<(), InvalidData> {
        let invalid = |why: String| Err(InvalidData::Rules(why));
        for (name, share) in [("alpha", self.alpha), ("q", self.q), ("tost_alpha", self.tost_alpha)] {
            if !(share > 0.0 && share < 0.5) {
                return invalid(format!("{name} is {share}: give a probability above 0 and below 0.5"));
            }
        }
        for mei in self.mei.values().chain(self.mei_of_test.values()) {
            if !(*mei > 0.0 && *mei < 1.0) {
                return invalid(format!(
                    "a minimum effect of interest is {mei}: give a share above 0 and below 1"
                ));
            }
        }
        let rising = self.looks.windows(2).all(|pair| pair[0].blocks < pair[1].blocks);
        if !rising || self.looks.first().is_none_or(|look| look.blocks < 2) {
            return invalid(
                "looks: give at least one, in rising order, the first at 2 blocks or more".to_owned(),
            );
        }
        let spent: f64 = self.looks.iter().map(|look| look.spend).sum();
        if self.looks.iter().any(|look| look.spend <= 0.0) || spent > 1.0 + 1e-9 {
            return invalid(format!("looks spend {spent}: give each a share above 0, together 1 at most"));
        }
        Ok(())
    }
}

/// Has looks spend `all` together, in the proportions that they have.
fn share(looks: &mut [Look], all: f64) {
    let spent: f64 = looks.iter().map(|look| look.spend).sum();
    looks.iter_mut().for_each(|look| look.spend *= all / spent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ends_early_leaves_errors_for_what_it_may_be_given() {
        let spends = |blocks_max| -> Vec<f64> {
            let looks = Rules::default().ending_after(blocks_max).looks;
            looks.iter().map(|look| (look.spend * 1e4).round() / 1e4).collect()
        };
        assert_eq!(spends(3), [0.9, 0.0167, 0.0222, 0.0278, 0.0333]);
        assert_eq!((spends(1), spends(4)), (spends(3), spends(3)), "a verdict takes three");
        assert_eq!(spends(7), [0.36, 0.54, 0.0267, 0.0333, 0.04]);
        for all in [18, 1000] {
            assert_eq!(spends(all), [0.1, 0.15, 0.2, 0.25, 0.3], "nothing follows");
        }
        // A look more than the errors allow is refused.
        (1..20).for_each(|blocks_max| Rules::default().ending_after(blocks_max).check().unwrap());
    }
}
