//! Checks the row counts of a window's answers. A test that returns too few rows is invalid, not fast.

use crate::model::Expect;
use std::ops::AddAssign;

/// Totals of the answers to one statement kind in a window, over all clients.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Answers {
    pub count: u64,
    /// Rows returned, or rows changed if the statement writes.
    pub rows: u64,
    /// Executions whose row count was out of bounds.
    pub violations: u64,
}

impl AddAssign for Answers {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.rows += other.rows;
        self.violations += other.violations;
    }
}

/// The state of the tables when a window starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableState {
    /// Rows per table as loaded.
    pub rows: u64,
    /// Whether every id from 1 to `rows` exists.
    pub complete: bool,
    /// Whether more than one client writes.
    pub concurrent_writes: bool,
}

/// Maximum deviation of a mean, in standard errors.
const SIGMAS: f64 = 6.0;
/// Bounds of the mean for lookups by k, as shares of the expected number: updates move k out of `1..=rows`.
const K_SHARE: (f64, f64) = (0.5, 1.2);

/// The bounds of the row count of one execution; `key` is the part's key if the statement has one.
#[inline]
pub fn bounds(expect: Expect, range: u32, key: u64, state: &TableState) -> (u64, u64) {
    let range = u64::from(range);
    let (low, high) = match expect {
        Expect::Rows(rows) | Expect::ChangedRows(rows) => (u64::from(rows), u64::from(rows)),
        Expect::RangeRows | Expect::RangeValues => {
            let rows = range.min(state.rows + 1 - key.min(state.rows));
            (if expect == Expect::RangeValues { 1 } else { rows }, rows)
        }
        Expect::DistinctKeys | Expect::ChangedKeys => (1, range),
        Expect::KList | Expect::KRange | Expect::OfQueue | Expect::AnyRows | Expect::AnyChanged => {
            (0, u64::MAX)
        }
        Expect::Changed => (u64::from(!state.concurrent_writes), 1),
        Expect::Inserted => return (1, 1),
    };
    // In an incomplete table, any row may be missing. Ids beyond `rows` (inserted by an earlier step) may add
    // rows to ranges at the end.
    if state.complete { (low, high) } else { (0, high.max(range)) }
}

/// Returns why the answers can't be right, or `None`.
pub fn verify(expect: Expect, range: u32, answers: &Answers, state: &TableState) -> Option<String> {
    if answers.violations > 0 {
        let rows = match expect {
            Expect::Rows(rows) | Expect::ChangedRows(rows) => {
                let mean = answers.rows as f64 / answers.count.max(1) as f64;
                let decimals = if mean.fract() == 0.0 { 0 } else { 2 };
                format!(": {mean:.decimals$} on average, expected {rows}")
            }
            _ => String::new(),
        };
        return Some(format!(
            "{} of {} executions returned or changed a wrong number of rows{rows}",
            answers.violations, answers.count
        ));
    }
    if !state.complete || answers.count == 0 {
        return None;
    }
    let (count, range) = (answers.count as f64, f64::from(range));
    let mean = answers.rows as f64 / count;
    match expect {
        Expect::DistinctKeys | Expect::ChangedKeys => {
            let (expected, variance) = distinct_keys(range, state.rows as f64);
            let slack = SIGMAS * (variance / count).sqrt() + 1e-9;
            // While a client deletes and reinserts a row, other clients' updates don't find it.
            let low = if state.concurrent_writes { expected * 0.99 } else { expected };
            (mean < low - slack || mean > expected + slack)
                .then(|| format!("{mean:.3} rows per execution, expected {expected:.3} ± {slack:.3}"))
        }
        Expect::KList | Expect::KRange => {
            let slack = SIGMAS * (range / count).sqrt();
            let (low, high) = (range * K_SHARE.0 - slack, range * K_SHARE.1 + slack);
            (mean < low || mean > high)
                .then(|| format!("{mean:.2} rows per execution, expected between {low:.1} and {high:.1}"))
        }
        _ => None,
    }
}

/// Mean and variance of the number of distinct values among `draws` uniform draws from `n` (the classical
/// occupancy problem, Feller vol. 1, II.5).
pub fn distinct_keys(draws: f64, n: f64) -> (f64, f64) {
    let one = (draws * (-1.0 / n).ln_1p()).exp();
    let two = if n > 2.0 { (draws * (-2.0 / n).ln_1p()).exp() } else { 0.0 };
    let mean = n * (1.0 - one);
    let variance = n * one + n * (n - 1.0) * two - (n * one).powi(2);
    (mean, variance.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_model::random::Stream;
    use std::collections::BTreeSet;

    const STATE: TableState = TableState { rows: 1000, complete: true, concurrent_writes: false };

    #[test]
    fn distinct_keys_match_a_simulation() {
        let mut stream = Stream::new(&[3]);
        let trials: Vec<f64> = (0..20_000)
            .map(|_| (0..100).map(|_| stream.key(1000)).collect::<BTreeSet<_>>().len() as f64)
            .collect();
        let mean = trials.iter().sum::<f64>() / 20_000.0;
        let variance = trials.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 20_000.0;
        let (expected, expected_variance) = distinct_keys(100.0, 1000.0);
        assert!((mean - expected).abs() < 0.1, "{mean} {expected}");
        assert!((variance / expected_variance - 1.0).abs() < 0.1);
    }

    #[test]
    fn two_missing_rows_in_a_thousand_are_detected() {
        let (mean, _) = distinct_keys(100.0, 1000.0);
        let answers = |rows: f64| Answers { count: 10_000, rows: rows as u64, violations: 0 };
        let check = |rows| verify(Expect::DistinctKeys, 100, &answers(rows), &STATE);
        assert_eq!(check(mean * 10_000.0), None);
        assert!(check(mean * 10_000.0 * 0.998).is_some());
    }

    #[test]
    fn bounds_at_the_end_of_the_table_and_after_deletes() {
        assert_eq!(bounds(Expect::RangeRows, 100, 1, &STATE), (100, 100));
        assert_eq!(bounds(Expect::RangeRows, 100, 1000, &STATE), (1, 1));
        assert_eq!(bounds(Expect::Changed, 1, 5, &STATE), (1, 1));
        let holes = TableState { complete: false, ..STATE };
        assert_eq!(bounds(Expect::RangeRows, 100, 1, &holes), (0, 100));
        assert_eq!(bounds(Expect::Inserted, 1, 1, &holes), (1, 1));
    }
}
