//! Charts as SVG, standalone or embedded in a page, and as PNG.
//!
//! The input is plain numbers and names; nothing here depends on their meaning. Charts contain no script,
//! keep text as text, and are readable without colour.
#![forbid(unsafe_code)]

mod badge;
mod captions;
mod error;
mod flamegraph;
mod latency;
mod legend;
mod line;
mod marks;
mod overview;
mod palette;
mod parts;
#[cfg(feature = "png")]
mod png;
mod ratio;
mod ratio_parts;
mod scale;
mod svg;
mod text;
mod thin;
mod timeline;
mod versions;

pub use badge::Badge;
pub use error::{Error, Result};
pub use flamegraph::{flamegraph, flamegraph_difference};
pub use latency::{Curve, LatencyChart};
pub use marks::{Mark, RatioPoint};
pub use overview::{OverviewChart, OverviewGroup};
pub use palette::Theme;
pub use parts::PartsChart;
#[cfg(feature = "png")]
pub use png::png;
pub use ratio::{RatioChart, RatioRow};
pub use thin::thin;
pub use timeline::{Line, TimelineChart};
pub use versions::{VersionChart, VersionLine};

/// Default width of a chart in units of its viewBox; font sizes are 11 to 14 units.
pub const WIDTH_DEFAULT: f64 = 720.0;
/// Minimum width of a chart: a phone with margins.
pub(crate) const WIDTH_MIN: f64 = 280.0;

/// Clamps a requested width to the supported range; [`WIDTH_DEFAULT`] if it is not positive and finite.
pub(crate) fn width_of(requested: f64) -> f64 {
    if requested.is_finite() && requested > 0.0 { requested.clamp(WIDTH_MIN, 4000.0) } else { WIDTH_DEFAULT }
}
