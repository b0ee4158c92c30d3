//! Paragraphs below a plot, which make a figure complete without the page around it.

use crate::svg::{PADDING, Svg};
use crate::text::{self, SMALL};

/// Height of a line.
pub(crate) const LINE: f64 = 15.0;

/// Draws the captions below `top` and returns their lower end: `top` if there are none.
pub(crate) fn draw(svg: &mut Svg, captions: &[String], top: f64) -> f64 {
    if captions.is_empty() {
        return top;
    }
    let mut y = top;
    svg.tag("g").a("class", "captions").begin();
    for caption in captions {
        for line in text::wrap(caption, SMALL, svg.width - 2.0 * PADDING) {
            y += LINE;
            svg.label(PADDING, y, "start").content(&line);
        }
    }
    svg.close("g");
    y + PADDING
}
