//! What charts of ratios have in common: the axis, the labels of rows, and points with their intervals.

use crate::marks::{self, Fill, Outline, RatioPoint, counted};
use crate::ratio::RatioRow;
use crate::scale::Log;
use crate::svg::{PADDING, Svg, number};
use crate::text::{self, LABEL, SMALL};

/// Charts with at least this many rows have axis labels above the plot too.
pub(crate) const ROWS_OF_TWO_AXES: usize = 12;
/// Narrower charts, as on a phone, have row labels above the lanes, not shortened.
pub(crate) const WIDTH_OF_LABELS_BESIDE: f64 = 480.0;
/// Width of the column of figures.
pub(crate) const FIGURES: f64 = 44.0;

/// Colour and width of a line of the axis.
type Stroke<'a> = (&'a str, Option<f64>);

/// The axis of a chart between two heights.
pub(crate) struct RatioAxis<'a> {
    pub scale: &'a Log,
    pub top: f64,
    pub bottom: f64,
    pub label: &'a str,
    pub lower_is_better: bool,
    pub rows: usize,
    /// Least distance of ticks.
    pub distance: f64,
    pub stroke_of_one: Stroke<'a>,
    pub stroke: Stroke<'a>,
}

impl RatioAxis<'_> {
    pub(crate) fn draw(&self, svg: &mut Svg) {
        let Self { scale, top, bottom, .. } = self;
        let (left, right) = scale.place;
        let ends =
            if self.lower_is_better { ["← better", "worse →"] } else { ["← worse", "better →"] };
        let has_top_axis = self.rows >= ROWS_OF_TWO_AXES;
        let ends_y = top - 5.0 - if has_top_axis { 14.0 } else { 0.0 };
        svg.label(left, ends_y, "start").content(ends[0]);
        svg.label(right, ends_y, "end").content(ends[1]);
        svg.tag("g").a("class", "axis").begin();
        for tick in scale.ratio_ticks(self.distance) {
            let (stroke, width) = if tick.value == 1.0 { self.stroke_of_one } else { self.stroke };
            svg.line((tick.at, *top), (tick.at, bottom + 4.0), stroke)
                .some("stroke-width", width.map(number).as_deref())
                .end();
            svg.label(tick.at, bottom + 16.0, "middle").content(&tick.label);
            if has_top_axis {
                svg.label(tick.at, top - 5.0, "middle").content(&tick.label);
            }
        }
        svg.close("g");
        let shown = text::shorten(self.label, SMALL, svg.width - 2.0 * PADDING);
        let half = text::width(&shown, SMALL) / 2.0;
        let middle = scale.at(1.0).clamp(PADDING + half, (svg.width - PADDING - half).max(PADDING + half));
        svg.caption(middle, bottom + 31.0, "middle").shortened(&shown, self.label);
    }
}

/// Draws a row's label, linked if it has a target. Above the lanes, it interrupts the lines of the axis.
pub(crate) fn draw_label(svg: &mut Svg, row: &RatioRow, middle: f64, width_max: f64, is_above: bool) {
    let colours = svg.colours;
    if let Some(href) = &row.href {
        svg.tag("a").a("href", href).begin();
    }
    let shown = text::shorten(&row.label, LABEL, width_max);
    if is_above {
        svg.tag("rect")
            .n("x", PADDING)
            .n("y", middle - LABEL * 0.55)
            .n("width", text::width(&shown, LABEL))
            .n("height", LABEL * 1.1)
            .a("fill", &colours.background())
            .end();
    }
    svg.text(PADDING, middle + LABEL * 0.36, "start", LABEL, &colours.foreground())
        .shortened(&shown, &row.label);
    if row.href.is_some() {
        svg.close("a");
    }
}

/// The mark of a point, at height `y`.
pub(crate) struct DrawnPoint<'a> {
    pub row: &'a RatioRow,
    pub point: &'a RatioPoint,
    pub arm: &'a str,
    pub arm_number: usize,
    pub outline: &'a Outline,
    pub colour: &'a str,
    pub fill: Fill,
    pub y: f64,
    /// Where its figure ends, if it has one.
    pub figure_end: Option<f64>,
}

impl DrawnPoint<'_> {
    pub(crate) fn draw(&self, svg: &mut Svg) {
        let Self { row, point, arm, .. } = self;
        let (class, number) = (format!("mark {}", point.mark.class()), self.arm_number.to_string());
        let title = format!("{}, {arm}: {}", row.label, point.in_words());
        let attributes = [("class", class.as_str()), ("data-arm", &number)];
        self.fill.draw(svg, self.outline, self.colour, (&attributes, &title));
        if let Some(x) = self.figure_end {
            svg.caption(x, self.y + SMALL * 0.36, "end").a("class", "figure").content(&point.figure());
        }
    }
}

/// How many points of an arm have which mark, in words.
pub(crate) fn marks_of<'a>(rows: impl Iterator<Item = &'a RatioRow>, arm: usize, arms: usize) -> String {
    let points = rows.flat_map(|row| marks::drawable(&row.points, arms));
    counted(points.filter(|(other, _)| *other == arm).map(|(_, point)| point.mark))
}

/// Whether the interval goes on beyond the axis.
pub(crate) fn is_cut(axis: &Log, point: &RatioPoint) -> bool {
    [point.whisker.0, point.whisker.1].into_iter().any(|end| !axis.contains(end))
}

/// An open arrowhead at the end of the axis, with its tip here.
pub(crate) fn arrowhead(x: f64, y: f64, height: f64, is_right: bool) -> String {
    let back = number(if is_right { x - height * 0.8 } else { x + height * 0.8 });
    let (up, down) = (number(y - height / 2.0), number(y + height / 2.0));
    format!("M{back},{up}L{},{}L{back},{down}", number(x), number(y))
}

/// A line over the interval, and at each end a bar of this height, or an arrowhead where it goes on beyond the axis.
pub(crate) fn whisker(axis: &Log, point: &RatioPoint, (y, bar): (f64, f64)) -> (String, String) {
    let (low, high) = point.whisker;
    let (from, to) = (axis.at(low), axis.at(high));
    let line = format!("M{},{}H{}", number(from), number(y), number(to));
    let mut bars = String::new();
    for (value, x) in [(low, from), (high, to)] {
        if axis.contains(value) {
            bars.push_str(&format!("M{},{}v{}", number(x), number(y - bar / 2.0), number(bar)));
        } else {
            bars.push_str(&arrowhead(x, y, bar, value > point.ratio));
        }
    }
    (line, bars)
}

/// A triangle at the end of the axis that points outwards.
pub(crate) fn arrow(x: f64, y: f64, radius: f64, is_right: bool) -> Outline {
    let back = if is_right { -2.0 * radius } else { 2.0 * radius };
    Outline::polygon(&[(x, y), (x + back, y - radius), (x + back, y + radius)], x + back / 2.0)
}
