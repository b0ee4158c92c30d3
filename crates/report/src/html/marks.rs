//! How a verdict looks on the page: a shape and a word in addition to the colour, so that none is needed alone.

use maud::{Markup, html};
use rqps_stats::{Class, Detector, Verdict};

/// The verdict on one test of one arm, as the page shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Mark {
    Worse,
    Better,
    /// Changed, and another resource changed in the other direction.
    Mixed,
    Same,
    Open,
}

impl From<&Verdict> for Mark {
    fn from(verdict: &Verdict) -> Self {
        match verdict.class {
            _ if verdict.is_mixed() => Self::Mixed,
            Class::Regression { .. } => Self::Worse,
            Class::Improvement { .. } => Self::Better,
            Class::Same => Self::Same,
            Class::Inconclusive => Self::Open,
        }
    }
}

impl Mark {
    pub const ALL: [Mark; 5] = [Mark::Worse, Mark::Better, Mark::Mixed, Mark::Same, Mark::Open];

    pub fn is_change(self) -> bool {
        matches!(self, Self::Worse | Self::Better | Self::Mixed)
    }

    /// Class of style sheets and scripts.
    pub fn class(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Mixed => "mixed",
            Self::Same => "same",
            Self::Open => "open",
        }
    }

    /// Read together with the word beside it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Worse => "▼",
            Self::Better => "▲",
            Self::Mixed => "◆",
            Self::Same => "●",
            Self::Open => "○",
        }
    }

    /// What it says of that detector's subject.
    pub fn word(self, detector: Detector) -> &'static str {
        match (self, detector) {
            (Self::Worse, Detector::Rate) => "slower",
            (Self::Better, Detector::Rate) => "faster",
            (Self::Worse, Detector::Cost) => "costs more",
            (Self::Better, Detector::Cost) => "costs less",
            (Self::Worse, Detector::Stalls) => "stalls more",
            (Self::Better, Detector::Stalls) => "stalls less",
            (Self::Worse, _) => "uses more",
            (Self::Better, _) => "uses less",
            (Self::Mixed, _) => "mixed",
            (Self::Same, _) => "the same",
            (Self::Open, _) => "inconclusive",
        }
    }
}

/// `▼ 0.873` with its word for those who do not see the shape.
pub(super) fn figure(verdict: &Verdict) -> Markup {
    let mark = Mark::from(verdict);
    html! {
        span.mark.(mark.class()) {
            span aria-hidden="true" { (mark.symbol()) } " "
            span.sr { (mark.word(verdict.detector)) " " }
            (ratio(verdict.ratio, decimals(verdict.detector)))
        }
    }
}

/// What the detector judges, in a word or two.
pub(super) fn subject(detector: Detector) -> &'static str {
    let resource = detector.measure().filter(|_| detector.is_resource());
    resource.map_or(detector.key(), |measure| measure.label)
}

/// Decimals in which ratios of that detector are told apart: costs are counted, rates are timed.
pub(super) fn decimals(detector: Detector) -> usize {
    match detector {
        Detector::Rate | Detector::Stalls => 3,
        _ => 4,
    }
}

/// A ratio as cells have it.
pub(super) fn ratio(value: f64, decimals: usize) -> String {
    match value {
        infinite if infinite.is_infinite() => "from none".to_owned(),
        finite if finite.is_finite() => format!("{finite:.decimals$}"),
        _ => "-".to_owned(),
    }
}

/// `0.861 to 0.886`; nothing where one block gives no interval.
pub(super) fn interval(verdict: &Verdict) -> Option<String> {
    let (one, decimals) = (verdict, decimals(verdict.detector));
    let known = one.low.is_finite() && one.high.is_finite();
    known.then(|| format!("{:.decimals$} to {:.decimals$}", one.low, one.high))
}
