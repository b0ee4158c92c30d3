//! Writes SVG: elements with escaped text and short numbers, and the root element of every chart.

use crate::palette::{Colours, Theme};
use crate::text::{self, escape};
use std::fmt::Write;

/// The reader's system fonts, with a generic fallback.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";

/// A chart under construction.
pub(crate) struct Svg {
    pub colours: Colours,
    pub width: f64,
    id: String,
    title: String,
    out: String,
    /// A chart with links has role `group`: screen readers treat the content of an `img` as opaque.
    has_links: bool,
}

/// An element whose start tag is open for attributes; a closing method completes it.
#[must_use]
pub(crate) struct Tag<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl Svg {
    /// Starts a chart and returns it with the y coordinate for its content. Draws the title, except on a
    /// page, which shows it itself.
    pub(crate) fn new(theme: Theme, id: &str, title: &str, width: f64) -> (Self, f64) {
        let (id, title, out) = (text::identifier(id), title.to_owned(), String::new());
        let (colours, width) = (Colours { theme }, crate::width_of(width));
        let mut svg = Self { colours, width, id, title, out, has_links: false };
        if theme == Theme::Page {
            return (svg, PADDING);
        }
        let mut y = PADDING;
        for line in text::wrap_bold(&svg.title, text::TITLE, width - 2.0 * PADDING) {
            svg.text(PADDING, y + text::TITLE, "start", text::TITLE, &colours.foreground())
                .a("font-weight", "bold")
                .content(&line);
            y += text::TITLE + 4.0;
        }
        (svg, y + 4.0)
    }

    /// Returns the complete `<svg>` element, with class `chart-{kind}`, a `description` for screen readers,
    /// and `data` as additional attributes.
    pub(crate) fn finish(
        self,
        kind: &str,
        height: f64,
        description: &str,
        data: &[(&str, String)],
    ) -> String {
        let id = &self.id;
        // Whole units: a fraction would leave part of a pixel without background at the edge.
        let (width, height) = (self.width.ceil(), height.ceil());
        let mut out = Self { out: String::new(), id: String::new(), title: String::new(), ..self };
        let mut tag = out
            .tag("svg")
            .a("xmlns", "http://www.w3.org/2000/svg")
            .a("id", id)
            .a("class", &format!("chart chart-{kind}"))
            .a("viewBox", &format!("0 0 {width} {height}"))
            .a("role", if self.has_links { "group" } else { "img" })
            .a("aria-labelledby", &format!("{id}-title {id}-desc"))
            .a("font-family", FONTS);
        for (key, value) in data {
            tag = tag.a(key, value);
        }
        tag.begin();
        out.tag("title").a("id", &format!("{id}-title")).content(&self.title);
        out.tag("desc").a("id", &format!("{id}-desc")).content(description);
        if self.colours.theme != Theme::Page {
            let fill = self.colours.background();
            out.tag("rect").n("width", width).n("height", height).a("fill", &fill).end();
        }
        out.out.push_str(&self.out);
        out.close("svg");
        out.out
    }

    pub(crate) fn tag(&mut self, name: &'static str) -> Tag<'_> {
        self.has_links |= name == "a";
        self.out.push('<');
        self.out.push_str(name);
        Tag { out: &mut self.out, name }
    }

    /// A line of text with its `start`, `middle` or `end`, as `anchor` says, at `x` and its baseline at `y`.
    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: &str, size: f64, fill: &str) -> Tag<'_> {
        let tag = self.tag("text").n("x", x).n("y", y).n("font-size", size).a("fill", fill);
        if anchor == "start" { tag } else { tag.a("text-anchor", anchor) }
    }

    /// Small muted text for ticks.
    pub(crate) fn label(&mut self, x: f64, y: f64, anchor: &str) -> Tag<'_> {
        let fill = self.colours.muted();
        self.text(x, y, anchor, text::SMALL, &fill)
    }

    /// Small text in the foreground colour, for axis titles and figures.
    pub(crate) fn caption(&mut self, x: f64, y: f64, anchor: &str) -> Tag<'_> {
        let fill = self.colours.foreground();
        self.text(x, y, anchor, text::SMALL, &fill)
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str) -> Tag<'_> {
        self.tag("line").n("x1", from.0).n("y1", from.1).n("x2", to.0).n("y2", to.1).a("stroke", stroke)
    }

    /// Closes the innermost open element, which must be `name`.
    pub(crate) fn close(&mut self, name: &str) {
        let _ = write!(self.out, "</{name}>");
    }
}

impl Tag<'_> {
    /// Adds a length or coordinate, rounded to 0.1.
    pub(crate) fn n(self, key: &str, value: f64) -> Self {
        let _ = write!(self.out, " {key}=\"{}\"", number(value));
        self
    }

    /// Adds a text attribute.
    pub(crate) fn a(self, key: &str, value: &str) -> Self {
        let _ = write!(self.out, " {key}=\"{}\"", escape(value));
        self
    }

    /// Adds an attribute if there is a value.
    pub(crate) fn some(self, key: &str, value: Option<&str>) -> Self {
        if let Some(value) = value { self.a(key, value) } else { self }
    }

    /// Closes the element without content.
    pub(crate) fn end(self) {
        self.out.push_str("/>");
    }

    /// Leaves the element open for children, until [`Svg::close`].
    pub(crate) fn begin(self) {
        self.out.push('>');
    }

    /// Closes the element with text as its content.
    pub(crate) fn content(self, text: &str) {
        let _ = write!(self.out, ">{}</{}>", escape(text), self.name);
    }

    /// Closes the element with a tooltip.
    pub(crate) fn titled(self, title: &str) {
        let _ = write!(self.out, "><title>{}</title></{}>", escape(title), self.name);
    }

    /// Closes the element with text; if it was shortened, the full text is the tooltip.
    pub(crate) fn shortened(self, shown: &str, full: &str) {
        if shown == full {
            return self.content(shown);
        }
        let (shown, full) = (escape(shown), escape(full));
        let _ = write!(self.out, ">{shown}<title>{full}</title></{}>", self.name);
    }
}

/// A coordinate rounded to 0.1, in as few characters as possible.
pub(crate) fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded == 0.0 { "0".to_owned() } else { format!("{rounded}") }
}

/// Margin inside the edges of a chart.
pub(crate) const PADDING: f64 = 8.0;
