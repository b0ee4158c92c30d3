//! Background writes during queries: target rate, achieved rate, and whether the target was met.
//!
//! A step meets its target if at least 0.95 of the rows were committed within its time. A step that missed it
//! ran its queries beside fewer writes, so its rates are not ranked with those of steps that met it.

use rqps_store::{Recorded, Window};

use crate::number;

/// Marks a figure of a step that missed its target rate of writes.
pub(crate) const MARK: &str = "!";

/// Minimum share of the target rows that must be committed.
pub(crate) const KEPT_MIN: f64 = 0.95;

/// The background writes of one window, all clients together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Background {
    /// Target rate.
    pub target_rows_per_s: f64,
    /// Achieved rate: rows committed.
    pub rows_per_s: f64,
    /// Full seconds, and how many of them had less than [`KEPT_MIN`] of the target rows; None if not counted.
    pub seconds: Option<(f64, f64)>,
    /// Whether the target was met.
    pub kept: bool,
}

impl Background {
    /// None if the window has no background writes.
    pub fn from_window(window: &Recorded<Window>) -> Option<Self> {
        Some(Self {
            target_rows_per_s: window.metric("background_target_rows_per_s")?,
            rows_per_s: window.metric("background_rows_per_s")?,
            seconds: window.metric("background_seconds").zip(window.metric("background_seconds_below")),
            kept: window.metric("background_kept")? >= 1.0,
        })
    }

    /// `612 of 1000 rows/s`.
    pub fn as_text(&self) -> String {
        format!("{} of {} rows/s", number::rate(self.rows_per_s), number::rate(self.target_rows_per_s))
    }

    /// Percentage of full seconds that missed the target; None if there were no full seconds.
    pub fn percent_below(&self) -> Option<f64> {
        let (all, below) = self.seconds.filter(|(all, _)| *all > 0.0)?;
        Some(100.0 * below / all)
    }
}
