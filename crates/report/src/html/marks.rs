//! How the page shows verdicts: a shape and a word in addition to the colour, so that colour is never needed.

use maud::{Markup, html};
use rqps_charts::Mark as ChartMark;
use rqps_model::Digits;
use rqps_stats::{Class, Detector, Verdict};

use crate::document::DECIMALS_ALONE;

/// A verdict as the page shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Mark {
    Worse,
    Better,
    /// Changed while another resource changed in the other direction.
    Mixed,
    /// Inconclusive, but a change is likely.
    Likely,
    Same,
    Open,
}

impl From<&Verdict> for Mark {
    fn from(verdict: &Verdict) -> Self {
        match verdict.class {
            _ if verdict.is_likely() => Self::Likely,
            _ if verdict.is_mixed() => Self::Mixed,
            Class::Regression { .. } => Self::Worse,
            Class::Improvement { .. } => Self::Better,
            Class::Same => Self::Same,
            Class::Inconclusive => Self::Open,
        }
    }
}

impl Mark {
    pub const ALL: [Mark; 6] = [Mark::Worse, Mark::Better, Mark::Mixed, Mark::Likely, Mark::Same, Mark::Open];

    pub fn is_change(self) -> bool {
        matches!(self, Self::Worse | Self::Better | Self::Mixed)
    }

    /// The same in charts.
    pub fn in_charts(self) -> ChartMark {
        match self {
            Self::Worse => ChartMark::Worse,
            Self::Better => ChartMark::Better,
            Self::Mixed => ChartMark::Mixed,
            Self::Likely => ChartMark::Likely,
            Self::Same => ChartMark::Same,
            Self::Open => ChartMark::Unknown,
        }
    }

    /// CSS class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Mixed => "mixed",
            Self::Same => "same",
            Self::Likely | Self::Open => "open",
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Self::Worse => "▼",
            Self::Better => "▲",
            Self::Mixed => "◆",
            Self::Same => "●",
            Self::Likely => "◐",
            Self::Open => "○",
        }
    }

    /// The verdict in words, beside its detector's subject.
    pub fn word(self, detector: Detector) -> &'static str {
        match (self, detector) {
            (Self::Worse, Detector::Rate) => "slower",
            (Self::Better, Detector::Rate) => "faster",
            (Self::Worse, _) => "more",
            (Self::Better, _) => "less",
            (Self::Mixed, _) => "mixed",
            (Self::Same, _) => "the same",
            (Self::Likely, _) => "likely, not established",
            (Self::Open, _) => "inconclusive",
        }
    }
}

impl Mark {
    /// After a count of tests: `4` `slower`, `4` `cost more`.
    pub fn phrase(self, detector: Detector) -> &'static str {
        match self {
            Self::Worse if detector == Detector::Cost => "cost more",
            Self::Better if detector == Detector::Cost => "cost less",
            Self::Same if detector == Detector::Cost => "cost the same",
            other => other.word(detector),
        }
    }
}

/// `▼ 0.873`, with the word for screen readers.
pub(super) fn figure(verdict: &Verdict) -> Markup {
    let mark = Mark::from(verdict);
    html! {
        span.mark.(mark.class()) {
            span aria-hidden="true" { (mark.symbol()) } " "
            span.sr { (mark.word(verdict.detector)) " " }
            (ratio(verdict))
        }
    }
}

fn digits(verdict: &Verdict) -> Digits {
    let decimals_max = if verdict.low.is_nan() { DECIMALS_ALONE } else { decimals_max(verdict.detector) };
    Digits::of_ratio((verdict.low, verdict.high), decimals_max)
}

/// Most decimals of a ratio: counted costs are more precise than timed rates.
pub(super) fn decimals_max(detector: Detector) -> usize {
    match detector {
        Detector::Rate | Detector::Stalls => 3,
        _ => 4,
    }
}

fn ratio(verdict: &Verdict) -> String {
    match verdict.ratio {
        infinite if infinite.is_infinite() => "from none".to_owned(),
        finite if finite.is_finite() => digits(verdict).text(finite),
        _ => "-".to_owned(),
    }
}

/// `0.861 to 0.886`; None if there is no interval, as with one block.
pub(super) fn interval(verdict: &Verdict) -> Option<String> {
    digits(verdict).interval()
}
