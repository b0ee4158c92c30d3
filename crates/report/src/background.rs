//! Background writes during queries: target rate, achieved rate, and whether the target was met.
//!
//! A step meets its target if at least 0.95 of the rows were committed within its time; of bytes put into an engine, if
//! the rate is within 0.05 of it. A step that missed it ran its queries beside other writes, so its rates are not
//! ranked with those of steps that met it.

use rqps_store::{Recorded, Window};

use crate::number;

/// Marks a figure of a step that missed its target rate of writes.
pub(crate) const MARK: &str = "!";

/// Minimum share of the target rows that must be committed.
pub(crate) const KEPT_MIN: f64 = 0.95;

/// The background writes of one window, all clients together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Background {
    /// Target rate, rows or bytes.
    pub target_per_s: f64,
    /// Achieved rate: rows committed, or bytes put.
    pub per_s: f64,
    /// Whether rates are of bytes.
    pub of_bytes: bool,
    /// Full seconds, and how many of them had less than [`KEPT_MIN`] of the target rows; None if not counted.
    pub seconds: Option<(f64, f64)>,
    /// Whether the target was met.
    pub kept: bool,
}

impl Background {
    /// None if the window has no background writes.
    pub fn from_window(window: &Recorded<Window>) -> Option<Self> {
        let rates = |what: &str| {
            let target = window.metric(&format!("background_target_{what}_per_s"))?;
            Some((target, window.metric(&format!("background_{what}_per_s"))?))
        };
        let of_rows = rates("rows");
        let (target_per_s, per_s) = of_rows.or_else(|| rates("bytes"))?;
        Some(Self {
            target_per_s,
            per_s,
            of_bytes: of_rows.is_none(),
            seconds: window.metric("background_seconds").zip(window.metric("background_seconds_below")),
            kept: window.metric("background_kept")? >= 1.0,
        })
    }

    /// `612 of 1000 rows/s`, or `1.95 of 2.10 MB/s`.
    pub fn as_text(&self) -> String {
        if self.of_bytes {
            return format!("{:.2} of {:.2} MB/s", self.per_s / 1e6, self.target_per_s / 1e6);
        }
        format!("{} of {} rows/s", number::rate(self.per_s), number::rate(self.target_per_s))
    }

    /// Percentage of full seconds that missed the target; None if there were no full seconds.
    pub fn percent_below(&self) -> Option<f64> {
        let (all, below) = self.seconds.filter(|(all, _)| *all > 0.0)?;
        Some(100.0 * below / all)
    }
}
