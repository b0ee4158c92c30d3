//! What a thread counts per second.

use crate::clock::{Moment, NS_PER_S};

/// Statements, rows and maximum latency in each second since the window opened, without a division per
/// statement.
#[derive(Debug)]
pub(super) struct Series {
    start: Moment,
    end_ns: u64,
    statements_now: u64,
    rows_now: u64,
    max_ns_now: u64,
    /// One entry per finished second.
    pub statements: Vec<u64>,
    /// Rows returned or changed.
    pub rows: Vec<u64>,
    /// Maximum latency, in us.
    pub max_us: Vec<u64>,
}

impl Series {
    pub fn new(start: Moment) -> Self {
        let seconds = || Vec::with_capacity(4096);
        Self {
            start,
            end_ns: NS_PER_S,
            statements_now: 0,
            rows_now: 0,
            max_ns_now: 0,
            statements: seconds(),
            rows: seconds(),
            max_us: seconds(),
        }
    }

    /// Counts a statement that was answered at `now`, after `latency_ns`.
    #[inline]
    pub fn count(&mut self, now: Moment, rows: u64, latency_ns: u64) {
        let elapsed_ns = now.ns_since(self.start);
        while elapsed_ns >= self.end_ns {
            self.close_second();
        }
        self.statements_now += 1;
        self.rows_now += rows;
        self.max_ns_now = self.max_ns_now.max(latency_ns);
    }

    pub fn finish(&mut self) {
        if self.statements_now > 0 {
            self.close_second();
        }
    }

    fn close_second(&mut self) {
        self.statements.push(std::mem::take(&mut self.statements_now));
        self.rows.push(std::mem::take(&mut self.rows_now));
        self.max_us.push(std::mem::take(&mut self.max_ns_now).div_ceil(1000));
        self.end_ns += NS_PER_S;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::add_each_second;
    use std::time::Duration;

    #[test]
    fn empty_seconds_and_the_last_one_are_kept() {
        let start = Moment::now();
        let mut series = Series::new(start);
        for (at_ms, latency_us) in [(100, 7), (999, 9), (1000, 3), (4200, 3_200_000)] {
            series.count(start + Duration::from_millis(at_ms), 50, latency_us * 1000);
        }
        series.finish();
        assert_eq!(series.statements, [2, 1, 0, 0, 1]);
        assert_eq!(series.rows, [100, 50, 0, 0, 50]);
        assert_eq!(series.max_us, [9, 3, 0, 0, 3_200_000]);
        let mut sum = vec![1, 1];
        add_each_second(&mut sum, &series.max_us, u64::max);
        assert_eq!(sum, [9, 3, 0, 0, 3_200_000]);
    }
}
