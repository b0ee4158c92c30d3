//! Charts as SVG, for a file of their own or for embedding in a page, and as PNG.
//!
//! Charts take plain numbers and names and do not know what they mean. A chart contains no script, keeps its text as
//! text, and can be read without colours.
#![forbid(unsafe_code)]

mod error;
mod flamegraph;
mod latency;
mod legend;
mod line;
mod marks;
mod palette;
mod parts;
#[cfg(feature = "png")]
mod png;
mod ratio;
mod scale;
mod svg;
mod text;
mod thin;
mod timeline;
mod versions;

pub use error::{Error, Result};
pub use flamegraph::{flamegraph, flamegraph_difference};
pub use latency::{Curve, LatencyChart};
pub use marks::{Mark, RatioPoint};
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
/// Minimum width of a chart: that of a phone with margins.
pub(crate) const WIDTH_MIN: f64 = 280.0;

/// The width to draw with.
pub(crate) fn width_of(asked: f64) -> f64 {
    if asked.is_finite() && asked > 0.0 { asked.clamp(WIDTH_MIN, 4000.0) } else { WIDTH_DEFAULT }
}
