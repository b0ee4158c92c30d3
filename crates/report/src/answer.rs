//! The answer of a run's report as other programs read it: per arm the sentence that readers get first, what got worse
//! and better with its figures, and how far to trust that.

use serde::Serialize;

/// Of a run, or of each of several.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Answer {
    pub run: String,
    pub arms: Vec<OfArm>,
    pub trust: Vec<Trust>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct OfArm {
    pub arm: String,
    pub base: String,
    pub headline: String,
    pub worse: Vec<Change>,
    pub better: Vec<Change>,
    /// It costs more of one resource and less of another.
    pub mixed: Vec<Change>,
    /// Changes that are not established.
    pub likely: Vec<Change>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Change {
    pub test: String,
    /// What was judged: rate, cost, stalls or a resource.
    pub of: &'static str,
    pub metric: &'static str,
    /// The arm's figure divided by base's; null if that is no number.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub blocks: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Trust {
    pub text: String,
    /// Whether it casts doubt on every verdict.
    pub is_alarm: bool,
}
