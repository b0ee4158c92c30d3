//! Time series of all arms in one plot: shows stalls, drifts and cycles that a mean hides.
//!
//! The y axis begins at zero and covers all values. Long lines are downsampled by [`crate::thin`], which
//! keeps peaks.

use crate::captions;
use crate::legend::{Legend, Sample};
use crate::line::Pen;
use crate::palette::Theme;
use crate::scale::{Linear, drawable, three_digits};
use crate::svg::{PADDING, Svg, number};
use crate::text::{self, SMALL};

/// Maximum points per line: more than about one per unit of width is not visible.
const POINTS_MAX: usize = 600;
/// Height of the plot, its growth with each line after the third, and its maximum.
const PLOT: f64 = 200.0;
const PLOT_PER_LINE: f64 = 10.0;
const PLOT_MAX: f64 = 320.0;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimelineChart {
    /// Prefix of the ids in the drawing.
    pub id: String,
    pub title: String,
    /// Unit of the values: `queries/s`.
    pub unit: String,
    /// Unit of the horizontal axis if it is not seconds, such as windows.
    pub x_title: Option<String>,
    /// In drawing order.
    pub lines: Vec<Line>,
    /// Boundaries between windows, in seconds.
    pub breaks: Vec<f64>,
    /// Paragraphs below the plot.
    pub captions: Vec<String>,
    /// Width of the drawing in units of the viewBox; 0: [`crate::WIDTH_DEFAULT`].
    pub width: f64,
}

/// A line of a [`TimelineChart`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// Number of the arm; determines colour, dashes and marker.
    pub arm: usize,
    /// Seconds and value; a NaN value is a gap.
    pub points: Vec<(f64, f64)>,
}

impl TimelineChart {
    /// Returns one `<svg>` element.
    pub fn svg(&self, theme: Theme) -> String {
        let (mut svg, top) = Svg::new(theme, &self.id, &self.title, self.width);
        let width = svg.width;
        let mut legend = Legend::default();
        for line in &self.lines {
            legend.add(Sample::Arm(line.arm), &line.label);
        }
        let top = legend.draw(&mut svg, top, width) + 18.0;
        let bottom = top + (PLOT + PLOT_PER_LINE * self.lines.len().saturating_sub(3) as f64).min(PLOT_MAX);
        let x_title = self.x_title.as_deref().unwrap_or("seconds");
        let (x, y) = self.axes(width, top, bottom);
        self.draw_axes(&mut svg, &x, &y, x_title);
        svg.tag("g").a("class", "lines").a("fill", "none").a("stroke-linejoin", "round").begin();
        for (place, line) in self.lines.iter().enumerate() {
            let phase = (place as f64 + 0.5) / self.lines.len() as f64;
            draw_line(&mut svg, (&x, &y), line, phase);
        }
        svg.close("g");
        let end = captions::draw(&mut svg, &self.captions, bottom + 36.0);
        svg.finish("timeline", end, &self.description(), &domain(&x, &y, &self.unit, x_title))
    }

    fn axes(&self, width: f64, top: f64, bottom: f64) -> (Linear, Linear) {
        let points = || self.lines.iter().flat_map(|line| drawn(&line.points));
        let highest = points().map(|(_, value)| value).fold(0.0, f64::max);
        let breaks = self.breaks.iter().copied().filter(|second| drawable(*second));
        let (first, last) = points()
            .map(|(second, _)| second)
            .chain(breaks)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), second| {
                (first.min(second), last.max(second))
            });
        let (first, last) = if last > first { (first, last) } else { (0.0, 1.0) };
        let y = Linear::from_zero(highest, (bottom, top), 5);
        let widest = text::widest(y.ticks(5).into_iter().map(|tick| tick.label), SMALL);
        // The first point lies within the first second; the window began at 0.
        let first = if first > 0.0 && first <= 1.0 { 0.0 } else { first };
        (Linear { value: (first, last), place: (PADDING + widest + 6.0, width - PADDING - 6.0) }, y)
    }

    fn draw_axes(&self, svg: &mut Svg, x: &Linear, y: &Linear, x_title: &str) {
        let colours = svg.colours;
        let ((left, right), (bottom, top)) = (x.place, y.place);
        svg.tag("g").a("class", "axis").begin();
        for tick in y.ticks(5) {
            let stroke = if tick.value == 0.0 { colours.muted() } else { colours.grid() };
            svg.line((left, tick.at), (right, tick.at), &stroke).end();
            svg.label(left - 6.0, tick.at + SMALL * 0.36, "end").content(&tick.label);
        }
        svg.close("g");
        svg.tag("g").a("class", "axis ticks-x").begin();
        for tick in x.ticks_s(((right - left) / 70.0) as usize) {
            svg.line((tick.at, bottom), (tick.at, bottom + 4.0), &colours.muted()).end();
            svg.label(tick.at, bottom + 16.0, "middle").content(&tick.label);
        }
        svg.close("g");
        svg.caption(PADDING, top - 9.0, "start").content(&self.unit);
        svg.caption((left + right) / 2.0, bottom + 31.0, "middle").content(x_title);
        for second in self.breaks.iter().filter(|second| drawable(**second)) {
            let at = x.at(*second);
            svg.line((at, top), (at, bottom), &colours.muted())
                .a("class", "break")
                .a("stroke-dasharray", "1 3")
                .end();
        }
    }

    fn description(&self) -> String {
        let describe = |line: &Line| {
            let values: Vec<f64> = drawn(&line.points).map(|(_, value)| value).collect();
            if values.is_empty() {
                return format!("{}: no value", line.label);
            }
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(0.0, f64::max);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let [low, mean, high] = [low, mean, high].map(three_digits);
            format!("{}: {mean} on average, {low} to {high}", line.label)
        };
        let lines: Vec<String> = self.lines.iter().map(describe).collect();
        format!("{} over time. {}.", self.unit, lines.join("; "))
    }
}

/// Points that are not gaps.
fn drawn(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    points.iter().copied().filter(|(second, value)| drawable(*second) && drawable(*value))
}

/// Attributes from which the page's script computes values at pointer positions.
fn domain(x: &Linear, y: &Linear, unit: &str, x_title: &str) -> Vec<(&'static str, String)> {
    vec![
        ("data-x0", x.value.0.to_string()),
        ("data-x1", x.value.1.to_string()),
        ("data-y0", y.value.0.to_string()),
        ("data-y1", y.value.1.to_string()),
        ("data-px0", number(x.place.0)),
        ("data-px1", number(x.place.1)),
        ("data-py0", number(y.place.0)),
        ("data-py1", number(y.place.1)),
        ("data-unit", unit.to_owned()),
        ("data-x-unit", x_title.to_owned()),
    ]
}

fn draw_line(svg: &mut Svg, (x, y): (&Linear, &Linear), line: &Line, phase: f64) {
    let points_max = POINTS_MAX.min((x.place.1 - x.place.0) as usize);
    let places: Vec<Option<(f64, f64)>> = crate::thin(&line.points, points_max)
        .into_iter()
        .map(|(second, value)| (drawable(second) && drawable(value)).then(|| (x.at(second), y.at(value))))
        .collect();
    let pen = Pen { width: 1.6, marker_distance: 130.0, left: x.place.0 };
    pen.draw(svg, (line.arm, &line.label), &places, phase);
}
