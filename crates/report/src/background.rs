//! Writes at a given rate beside queries: the rate that was asked for, the rate that came, and whether it was kept.
//!
//! A step keeps its rate when at least 0.95 of the rows asked for were committed over its time. Queries of a step that
//! did not keep it ran beside fewer writes than those of one that did: their rates are not ranked with each other.

use rqps_store::{Recorded, Window};

use crate::number;

/// Stands before a figure of a step that did not keep its rate of writes.
pub(crate) const MARK: &str = "!";

/// What of the rows asked for has to be committed.
pub(crate) const KEPT_MIN: f64 = 0.95;

/// The background writes of one window, all clients together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Background {
    /// Rows per second asked for.
    pub target_rows_per_s: f64,
    /// Rows per second that were committed.
    pub rows_per_s: f64,
    /// Full seconds, and those of them in which less than [`KEPT_MIN`] of the rows asked for came, where that was
    /// counted.
    pub seconds: Option<(f64, f64)>,
    /// Whether the rate was kept.
    pub kept: bool,
}

impl Background {
    /// The background writes of a window; none where it has none.
    pub fn of(window: &Recorded<Window>) -> Option<Self> {
        Some(Self {
            target_rows_per_s: window.metric("background_target_rows_per_s")?,
            rows_per_s: window.metric("background_rows_per_s")?,
            seconds: window.metric("background_seconds").zip(window.metric("background_seconds_below")),
            kept: window.metric("background_kept")? >= 1.0,
        })
    }

    /// `612 of 1000 rows/s`.
    pub fn said(&self) -> String {
        format!("{} of {} rows/s", number::rate(self.rows_per_s), number::rate(self.target_rows_per_s))
    }

    /// Share of the full seconds in which the rate was not kept, percent; none where there were no full seconds.
    pub fn percent_below(&self) -> Option<f64> {
        let (all, below) = self.seconds.filter(|(all, _)| *all > 0.0)?;
        Some(100.0 * below / all)
    }
}
