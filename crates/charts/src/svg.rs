//! Writes SVG: elements with escaped text and short numbers, and the outermost element that every chart has.

use crate::palette::{Colours, Theme};
use crate::text::{self, escape};
use std::fmt::Write;

/// Fonts of a reader's own system; the last one is always there.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";

#[derive(Default)]
pub(crate) struct Svg {
    out: String,
}

/// An element whose attributes are being written; it is finished by one of its closing methods.
#[must_use]
pub(crate) struct Tag<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl Svg {
    pub(crate) fn tag(&mut self, name: &'static str) -> Tag<'_> {
        self.out.push('<');
        self.out.push_str(name);
        Tag { out: &mut self.out, name }
    }

    /// A line of text with its middle (`middle`), beginning (`start`) or end (`end`) at `x` and its baseline at `y`.
    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: &str, size: f64, fill: &str) -> Tag<'_> {
        let tag = self.tag("text").n("x", x).n("y", y).n("font-size", size).a("fill", fill);
        if anchor == "start" { tag } else { tag.a("text-anchor", anchor) }
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str) -> Tag<'_> {
        self.tag("line").n("x1", from.0).n("y1", from.1).n("x2", to.0).n("y2", to.1).a("stroke", stroke)
    }

    /// Ends the element that was last left open.
    pub(crate) fn close(&mut self, name: &str) {
        let _ = write!(self.out, "</{name}>");
    }
}

impl Tag<'_> {
    /// An attribute with a length or coordinate, to a tenth.
    pub(crate) fn n(self, key: &str, value: f64) -> Self {
        let _ = write!(self.out, " {key}=\"{}\"", number(value));
        self
    }

    /// An attribute with a text.
    pub(crate) fn a(self, key: &str, value: &str) -> Self {
        let _ = write!(self.out, " {key}=\"{}\"", escape(value));
        self
    }

    /// An attribute only where there is a value.
    pub(crate) fn some(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.a(key, value),
            None => self,
        }
    }

    /// The element has no content.
    pub(crate) fn end(self) {
        self.out.push_str("/>");
    }

    /// The element stays open: [`Svg::close`] ends it.
    pub(crate) fn begin(self) {
        self.out.push('>');
    }

    /// The element's content is text.
    pub(crate) fn content(self, text: &str) {
        let _ = write!(self.out, ">{}</{}>", escape(text), self.name);
    }

    /// The element says `title` when the pointer rests on it.
    pub(crate) fn titled(self, title: &str) {
        let _ = write!(self.out, "><title>{}</title></{}>", escape(title), self.name);
    }

    /// Text that may have been shortened, with the whole of it for the pointer.
    pub(crate) fn shortened(self, shown: &str, whole: &str) {
        if shown == whole {
            return self.content(shown);
        }
        let (shown, whole) = (escape(shown), escape(whole));
        let _ = write!(self.out, ">{shown}<title>{whole}</title></{}>", self.name);
    }
}

/// A coordinate to a tenth, in as few characters as that takes.
pub(crate) fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded == 0.0 { "0".to_owned() } else { format!("{rounded}") }
}

/// What stands around a drawing.
pub(crate) struct Frame<'a> {
    pub id: &'a str,
    /// Second class: `ratio` gives `chart-ratio`.
    pub kind: &'static str,
    pub title: &'a str,
    /// What the chart shows, in a sentence, for those who do not see it.
    pub description: String,
    pub width: f64,
    pub height: f64,
    /// Attributes of the outermost element: the domain and the place of the plot.
    pub data: Vec<(&'static str, String)>,
    /// Whether something in it can be followed: then it is a group, for an image has no parts to a reader of screens.
    pub has_links: bool,
}

impl Frame<'_> {
    /// The whole element around `drawing`.
    pub(crate) fn around(&self, theme: Theme, drawing: Svg) -> String {
        let colours = Colours::new(theme);
        let id = text::identifier(self.id);
        // Whole units: a fraction would leave an edge of a pixel without background.
        let (width, height) = (self.width.ceil(), self.height.ceil());
        let mut svg = Svg::default();
        let mut tag = svg
            .tag("svg")
            .a("xmlns", "http://www.w3.org/2000/svg")
            .a("id", &id)
            .a("class", &format!("chart chart-{}", self.kind))
            .a("viewBox", &format!("0 0 {width} {height}"))
            .a("role", if self.has_links { "group" } else { "img" })
            .a("aria-labelledby", &format!("{id}-title {id}-desc"))
            .a("font-family", FONTS);
        for (key, value) in &self.data {
            tag = tag.a(key, value);
        }
        tag.begin();
        svg.tag("title").a("id", &format!("{id}-title")).content(self.title);
        svg.tag("desc").a("id", &format!("{id}-desc")).content(&self.description);
        if theme != Theme::Page {
            svg.tag("rect").n("width", width).n("height", height).a("fill", &colours.background()).end();
        }
        svg.out.push_str(&drawing.out);
        svg.close("svg");
        svg.out
    }
}

/// Draws the title where no page around the chart does, and returns where the next thing can begin.
pub(crate) fn heading(svg: &mut Svg, theme: Theme, title: &str, width: f64) -> f64 {
    let mut y = PADDING;
    if theme == Theme::Page {
        return y;
    }
    let fill = Colours::new(theme).foreground();
    for line in text::wrap_bold(title, text::TITLE, width - 2.0 * PADDING) {
        svg.text(PADDING, y + text::TITLE, "start", text::TITLE, &fill)
            .a("font-weight", "bold")
            .content(&line);
        y += text::TITLE + 4.0;
    }
    y + 4.0
}

/// Free space at the edges of a chart.
pub(crate) const PADDING: f64 = 8.0;
