//! The rules of judgement: what is looked for, how often data is looked at, and which errors are allowed.

use crate::experiment::Misshapen;
use rqps_model::Metric;
use std::collections::BTreeMap;

/// A moment at which a decision may be made, and its share of the errors allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    pub blocks: usize,
    /// Its share of `alpha` and `tost_alpha`; the shares of all looks add up to 1 at most.
    pub spend: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Probability, over all looks, that a detector calls a change of an arm in a test where there is none.
    pub alpha: f64,
    /// When decisions may be made, in rising order of blocks.
    pub looks: Vec<Look>,
    /// Share of false ones allowed among the confirmed changes of a report (Benjamini-Hochberg).
    pub q: f64,
    /// Probability, over all looks, of `same` for a change of just the minimum effect of interest.
    pub tost_alpha: f64,
    /// Minimum effect of interest per metric, as a share: 0.02 is 2 %.
    pub mei: BTreeMap<Metric, f64>,
    /// The same for single tests: it goes before `mei`.
    pub mei_of_test: BTreeMap<(String, Metric), f64>,
}

impl Default for Rules {
    fn default() -> Rules {
        let looks = [(3, 0.10), (5, 0.15), (8, 0.20), (12, 0.25), (18, 0.30)];
        let mei = Metric::ALL.map(|metric| (metric, metric.measure().mei));
        Rules {
            alpha: 0.001,
            looks: looks.map(|(blocks, spend)| Look { blocks, spend }).to_vec(),
            q: 0.01,
            tost_alpha: 0.05,
            mei: BTreeMap::from(mei),
            mei_of_test: BTreeMap::new(),
        }
    }
}

/// A stall that nobody would overlook: `same` is said of stalls only where one of this length would have been seen.
pub const STALL_SECONDS: f64 = 0.5;

/// How long an arm has to be measured before `same` can be said of stalls: as long as it takes for stalls of
/// [`STALL_SECONDS`] that take a share `mei` of the time to come up with 95 % probability (rule of three, Hanley and
/// Lippman-Hand 1983).
pub fn stall_seconds_min(mei: f64) -> f64 {
    3.0 * STALL_SECONDS / mei
}

impl Rules {
    /// The minimum effect of interest of a metric in a test, as a share.
    pub fn mei(&self, test: &str, metric: Metric) -> f64 {
        let own = self.mei_of_test.get(&(test.to_owned(), metric));
        own.or_else(|| self.mei.get(&metric)).copied().unwrap_or_else(|| metric.measure().mei)
    }

    /// How many looks this many blocks have reached.
    pub fn looks_reached(&self, blocks: usize) -> usize {
        self.looks.iter().take_while(|look| look.blocks <= blocks).count()
    }

    /// Refuses rules that contradict themselves.
    pub(crate) fn check(&self) -> Result<(), Misshapen> {
        let refuse = |why: String| Err(Misshapen::Rules(why));
        for (name, share) in [("alpha", self.alpha), ("q", self.q), ("tost_alpha", self.tost_alpha)] {
            if !(share > 0.0 && share < 0.5) {
                return refuse(format!("{name} is {share}: give a probability above 0 and below 0.5"));
            }
        }
        for mei in self.mei.values().chain(self.mei_of_test.values()) {
            if !(*mei > 0.0 && *mei < 1.0) {
                return refuse(format!(
                    "a minimum effect of interest is {mei}: give a share above 0 and below 1"
                ));
            }
        }
        let rising = self.looks.windows(2).all(|pair| pair[0].blocks < pair[1].blocks);
        if !rising || self.looks.first().is_none_or(|look| look.blocks < 2) {
            return refuse(
                "looks: give at least one, in rising order, the first at 2 blocks or more".to_owned(),
            );
        }
        let spent: f64 = self.looks.iter().map(|look| look.spend).sum();
        if self.looks.iter().any(|look| look.spend <= 0.0) || spent > 1.0 + 1e-9 {
            return refuse(format!("looks spend {spent}: give each a share above 0, together 1 at most"));
        }
        Ok(())
    }
}
