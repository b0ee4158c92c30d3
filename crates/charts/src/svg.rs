//! Writes SVG: elements with escaped text and short numbers, and the outermost element that every chart has.

use crate::palette::{Colours, Theme};
use crate::text::{self, escape};
use std::fmt::Write;

/// Fonts of a reader's own system; the last one is always there.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";

/// A chart that is being drawn.
pub(crate) struct Svg {
    pub colours: Colours,
    pub width: f64,
    id: String,
    title: String,
    out: String,
    /// Whether it contains links: then it is a group, because an image has no parts for a screen reader.
    has_links: bool,
}

/// An element whose attributes are being written; it is finished by one of its closing methods.
#[must_use]
pub(crate) struct Tag<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl Svg {
    /// An empty chart with its title, unless the page around it shows that, and where the next thing can begin.
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

    /// The whole element. The second class is `kind`: `ratio` gives `chart-ratio`; `description` says in a sentence
    /// what the chart shows, for those who do not see it; `data` are more attributes.
    pub(crate) fn finish(
        self,
        kind: &str,
        height: f64,
        description: &str,
        data: &[(&str, String)],
    ) -> String {
        let id = &self.id;
        // Whole units: a fraction would leave an edge of a pixel without background.
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

    /// A line of text with its middle (`middle`), beginning (`start`) or end (`end`) at `x` and its baseline at `y`.
    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: &str, size: f64, fill: &str) -> Tag<'_> {
        let tag = self.tag("text").n("x", x).n("y", y).n("font-size", size).a("fill", fill);
        if anchor == "start" { tag } else { tag.a("text-anchor", anchor) }
    }

    /// Small text, as ticks and axes have it.
    pub(crate) fn label(&mut self, x: f64, y: f64, anchor: &str) -> Tag<'_> {
        let fill = self.colours.muted();
        self.text(x, y, anchor, text::SMALL, &fill)
    }

    /// Small text that stands out: names of axes, figures.
    pub(crate) fn caption(&mut self, x: f64, y: f64, anchor: &str) -> Tag<'_> {
        let fill = self.colours.foreground();
        self.text(x, y, anchor, text::SMALL, &fill)
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
        if let Some(value) = value { self.a(key, value) } else { self }
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

/// Free space at the edges of a chart.
pub(crate) const PADDING: f64 = 8.0;
