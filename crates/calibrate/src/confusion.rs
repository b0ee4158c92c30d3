//! Counts verdicts by range of true sizes.

use crate::frozen::Call;
use crate::truth::Size;

/// Lower ends of the ranges of true sizes, as shares.
const EDGES: [f64; 10] = [0.0, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.10, 0.20];

/// A range of true sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Range {
    Null,
    /// Slower, from the edge with this index to the next.
    From(usize),
    /// Sleep, WAL and fsyncs, of unknown size: a statement that costs much hardly costs more with them.
    Others,
}

impl Range {
    pub fn of_size(size: Size) -> Range {
        if size == Size::ZERO { Range::Null } else { Range::holding(size.share) }
    }

    /// The range of a share.
    pub fn holding(share: f64) -> Range {
        Range::From(EDGES.iter().rposition(|edge| share >= *edge).unwrap_or(0))
    }

    pub fn label(self) -> String {
        let percent = |at: usize| EDGES[at] * 100.0;
        match self {
            Range::Null => "none".to_owned(),
            Range::From(0) => format!("below {} %", percent(1)),
            Range::From(at) if at + 1 == EDGES.len() => format!("{} % or more", percent(at)),
            Range::From(at) => format!("{} to {} %", percent(at), percent(at + 1)),
            Range::Others => "sleep, WAL, fsyncs".to_owned(),
        }
    }
}

/// Number of verdicts by class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row {
    /// In the order of [`Call::ALL`].
    pub counts: [usize; 4],
}

impl Row {
    pub fn add(&mut self, call: Call) {
        self.counts[call as usize] += 1;
    }

    pub fn count(&self, call: Call) -> usize {
        self.counts[call as usize]
    }

    pub fn all(&self) -> usize {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_range_above() {
        let size = |share| Size { share, low: share, high: share };
        assert_eq!(Range::of_size(size(0.01)).label(), "1 to 2 %");
        assert_eq!(Range::of_size(size(0.009_999)).label(), "0.5 to 1 %");
        assert_eq!(Range::of_size(size(-0.001)).label(), "below 0.1 %");
        assert_eq!(Range::of_size(size(0.5)).label(), "20 % or more");
        assert_eq!(Range::of_size(Size::ZERO), Range::Null);
    }
}
