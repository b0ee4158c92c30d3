//! A badge: a name and a result in one line, as an image for other pages.

use std::fmt::Write;

use crate::marks::Mark;
use crate::palette::{Colours, Theme};
use crate::text::{SMALL, escape, shorten, width};

const HEIGHT: f64 = 20.0;
const MARGIN: f64 = 6.0;
/// Maximum width of the name and of the result.
const PART_MAX: f64 = 260.0;

/// A name and a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Badge {
    pub name: String,
    pub result: String,
    /// Colour of the result.
    pub mark: Mark,
}

impl Badge {
    /// Returns one `<svg>` element.
    pub fn svg(&self) -> String {
        let colours = Colours { theme: Theme::Light };
        let parts = [(&self.name, colours.muted()), (&self.result, self.mark.colour(colours))];
        let (mut left, mut drawn) = (0.0, String::new());
        for (text, fill) in parts {
            let shown = shorten(text, SMALL, PART_MAX);
            let inner = width(&shown, SMALL).ceil();
            let (wide, start) = (inner + 2.0 * MARGIN, left + MARGIN);
            let _ = write!(
                drawn,
                "<rect x=\"{left}\" width=\"{wide}\" height=\"{HEIGHT}\" fill=\"{fill}\"/><text x=\"{start}\" y=\"14\" \
                 textLength=\"{inner}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
                escape(&shown)
            );
            left += wide;
        }
        let label = escape(&format!("{}: {}", self.name, self.result));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{left}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {left} {HEIGHT}\" role=\"img\" aria-label=\"{label}\" fill=\"#fff\" \
             font-family=\"'DejaVu Sans',Verdana,sans-serif\" font-size=\"{SMALL}\"><title>{label}</title>{drawn}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_are_in_the_image_escaped_and_never_wider_than_it() {
        let long = "x".repeat(500);
        let badge = Badge { name: format!("<a&b>{long}"), result: "2 slower".to_owned(), mark: Mark::Worse };
        let svg = badge.svg();
        assert!(svg.contains("&lt;a&amp;b&gt;") && svg.contains(">2 slower</text>"), "{svg}");
        let total: f64 = svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!(total <= 2.0 * (PART_MAX + 2.0 * MARGIN), "{total}");
    }
}
