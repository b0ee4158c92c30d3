//! Ratios with intervals from few replicates, for runs that are too short for verdicts.
//!
//! Two passes show next to nothing of one test's noise, but those of all tests together do. So a test's noise
//! is taken to be that of the median test, or its own if that is larger: another program in one of its
//! windows widens its interval.

use rqps_model::sample;
use rqps_stats::{BlockData, Experiment, Metric, TestData};

/// Probability that the true ratio is outside of the interval on one side; 1 % on both.
const OUTSIDE: f64 = 0.005;

/// One test's ratio to base.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    pub test: String,
    pub ratio: f64,
    /// Lower and upper end of its interval; `None` if no test was measured twice.
    pub interval: Option<(f64, f64)>,
}

/// A metric of an arm relative to base, for every test that has it.
pub fn estimates(experiment: &Experiment, metric: Metric, arm: usize) -> Vec<Estimate> {
    let tests: Vec<(&TestData, Vec<f64>)> = experiment
        .tests
        .iter()
        .map(|test| (test, contrasts(test, metric, (experiment.base, arm))))
        .filter(|(_, contrasts)| !contrasts.is_empty())
        .collect();
    let common = upper_median(tests.iter().filter_map(|(_, contrasts)| scaled_variance(contrasts)));
    let df: usize = tests.iter().map(|(_, contrasts)| contrasts.len() - 1).sum();
    let errors = rqps_stats::t_upper(OUTSIDE, df as f64);
    let estimate = |(test, contrasts): (&TestData, Vec<f64>)| {
        let mean = sample::mean(&contrasts);
        let own = variance(&contrasts).unwrap_or(0.0);
        let half = common.map(|common| errors * (common.max(own) / contrasts.len() as f64).sqrt());
        Estimate {
            test: test.name.clone(),
            ratio: mean.exp(),
            interval: half.map(|half| ((mean - half).exp(), (mean + half).exp())),
        }
    };
    tests.into_iter().map(estimate).collect()
}

/// The logarithms of arm over base, one for each block.
fn contrasts(test: &TestData, metric: Metric, (base, arm): (usize, usize)) -> Vec<f64> {
    let blocks = test.metrics.iter().filter(|data| data.metric == metric).flat_map(|data| &data.blocks);
    let contrast = |block: &BlockData| Some(block.ln[arm]? - block.ln[base]?);
    blocks.filter_map(contrast).collect()
}

/// The sample variance; `None` for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| sample::variance(values))
}

/// The median, or the upper of the two middle values.
pub(crate) fn upper_median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A variance scaled so that the median of many is the true one; the plain variances of few values are mostly
/// far below. Uses the median of chi-square by Wilson and Hilferty 1931.
fn scaled_variance(values: &[f64]) -> Option<f64> {
    let df = values.len() as f64 - 1.0;
    Some(variance(values)? / (1.0 - 2.0 / (9.0 * df)).powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_stats::MetricData;

    /// Two passes of tests whose contrasts are these.
    fn experiment(contrasts: &[[f64; 2]]) -> Experiment {
        let block = |(at, ln): (usize, &f64)| BlockData {
            block: at as u32 + 1,
            values: vec![Some(1.0), Some(ln.exp())],
            ln: vec![Some(0.0), Some(*ln)],
            errors: Vec::new(),
        };
        let test = |(number, contrasts): (usize, &[f64; 2])| TestData {
            name: format!("test-{number}"),
            group: "point".to_owned(),
            starts: "reads".to_owned(),
            metrics: vec![MetricData {
                metric: Metric::CpuUs,
                blocks: contrasts.iter().enumerate().map(block).collect(),
                windows: Vec::new(),
            }],
        };
        let tests = contrasts.iter().enumerate().map(test).collect();
        Experiment { arms: 2, base: 0, control: None, tests }
    }

    #[test]
    fn a_disturbed_window_widens_its_own_interval_alone() {
        let mut contrasts = vec![[0.0, 0.05]; 20];
        // Two passes that agree by chance don't narrow the interval.
        contrasts.push([0.02, 0.02]);
        contrasts.push([0.0, -1.0]);
        let found = estimates(&experiment(&contrasts), Metric::CpuUs, 1);
        let width = |at: usize| found[at].interval.map(|(low, high)| (high / low).ln()).unwrap();
        assert!(width(0) > 0.1 && width(0) < 0.4, "{}", width(0));
        assert!((width(20) - width(0)).abs() < 1e-9, "{} {}", width(20), width(0));
        let (low, high) = found[21].interval.unwrap();
        assert!(low < 0.37 && high > 1.0, "0.37 in one pass and 1 in the other: {low} to {high}");
        assert!(estimates(&experiment(&contrasts), Metric::Rate, 1).is_empty());
        // A single test has one degree of freedom: t at 0.995 is 63.66.
        let (low, high) = estimates(&experiment(&contrasts[..1]), Metric::CpuUs, 1)[0].interval.unwrap();
        let errors = (high / low).ln() / 2.0 / (0.05_f64.powi(2) / 2.0 / 2.0).sqrt();
        assert!(errors > 63.0, "{errors}");
    }
}
