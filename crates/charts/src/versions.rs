//! Ratios across versions: shows which release became slower or faster.

use crate::captions;
use crate::legend::{Legend, Sample};
use crate::line::path;
use crate::marks::{self, Mark, RatioPoint, Shape};
use crate::palette::{Theme, dash};
use crate::scale::Log;
use crate::svg::{PADDING, Svg, number};
use crate::text::{self, SMALL};

const PLOT: f64 = 260.0;
/// Horizontal offset between lines, so that all whiskers are visible, and the maximum total as a share of the
/// distance between versions.
const OFFSET: f64 = 5.0;
const OFFSET_SHARE_MAX: f64 = 0.5;
/// Distance between lines of the axis's label.
const LINE: f64 = 14.0;
/// Slanted version names are shortened to this width.
const NAME_MAX: f64 = 190.0;

/// Ratios of tests or groups to the first version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VersionChart {
    /// Prefix of the ids in the drawing.
    pub id: String,
    pub title: String,
    /// Label of the axis: `rQPS against 12.22`.
    pub axis: String,
    /// Versions from left to right.
    pub versions: Vec<String>,
    /// In drawing order.
    pub lines: Vec<VersionLine>,
    /// What whiskers are, for the legend: `95 % interval`.
    pub interval: String,
    /// Paragraphs below the plot.
    pub captions: Vec<String>,
    /// Width of the drawing in units of the viewBox; 0: [`crate::WIDTH_DEFAULT`].
    pub width: f64,
}

/// A line of a [`VersionChart`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VersionLine {
    /// Name in the legend.
    pub label: String,
    /// A point per version, in the order of [`VersionChart::versions`].
    pub points: Vec<Option<RatioPoint>>,
}

struct Layout {
    axis: Log,
    left: f64,
    right: f64,
    step: f64,
    /// Whether version names are horizontal; otherwise they are slanted.
    is_level: bool,
    /// Height of the names of versions.
    names: f64,
}

impl Layout {
    /// Slanted names need the height of a line between them: of many versions, every second is named, or fewer.
    fn named_every(&self) -> usize {
        if self.is_level { 1 } else { (SMALL / (self.step * 0.71)).ceil().max(1.0) as usize }
    }
}

impl VersionChart {
    /// Returns one `<svg>` element.
    pub fn svg(&self, theme: Theme) -> String {
        let (mut svg, top) = Svg::new(theme, &self.id, &self.title, self.width);
        let width = svg.width;
        let mut legend = Legend::default();
        for (number, line) in self.lines.iter().enumerate() {
            legend.add(Sample::Arm(number), &line.label);
        }
        let points = self.lines.iter().flat_map(|line| self.points(line));
        let fills = Mark::legend_of_fills(points.map(|(_, point)| point.mark));
        fills.for_each(|(fill, name)| legend.add(Sample::Fill(fill), name));
        legend.add_interval(
            &self.interval,
            self.lines.iter().flat_map(|line| self.points(line)).map(|(_, point)| point),
        );
        // Above the plot.
        let label = text::wrap(&self.axis, SMALL, width - 2.0 * PADDING);
        let more_lines = label.len().saturating_sub(1) as f64;
        let top = legend.draw(&mut svg, top, width) + 18.0 + more_lines * LINE;
        let layout = self.layout(width, top);
        self.draw_axes(&mut svg, &layout);
        for (line, text) in label.iter().rev().enumerate() {
            svg.caption(PADDING, top - 9.0 - line as f64 * LINE, "start").content(text);
        }
        svg.tag("g").a("class", "lines").begin();
        for (number, line) in self.lines.iter().enumerate() {
            self.draw_line(&mut svg, &layout, number, line);
        }
        svg.close("g");
        let bottom = layout.axis.place.0 + layout.names + PADDING;
        let bottom = captions::draw(&mut svg, &self.captions, bottom);
        svg.finish("versions", bottom, &self.description(), &[])
    }

    /// The points of a line with the indexes of their versions.
    fn points<'a>(&self, line: &'a VersionLine) -> impl Iterator<Item = (usize, &'a RatioPoint)> + use<'a> {
        marks::drawable(&line.points, self.versions.len())
    }

    fn layout(&self, width: f64, top: f64) -> Layout {
        let values =
            self.lines.iter().flat_map(|line| self.points(line)).flat_map(|(_, point)| point.values());
        let axis = Log::around_one(values, (top + PLOT, top));
        let (left, right) = (PADDING + 38.0, width - PADDING - 6.0);
        let step = (right - left) / self.versions.len().max(1) as f64;
        let widest = text::widest(&self.versions, SMALL);
        let is_level = widest + 8.0 <= step;
        let names = if is_level { 18.0 } else { widest.min(NAME_MAX) * 0.71 + 20.0 };
        // A slanted name extends to the left of its version.
        let left = if is_level { left } else { left.max(widest.min(NAME_MAX) * 0.71 + PADDING - step / 2.0) };
        let step = (right - left) / self.versions.len().max(1) as f64;
        Layout { axis, left, right, step, is_level, names }
    }

    fn draw_axes(&self, svg: &mut Svg, layout: &Layout) {
        let colours = svg.colours;
        let bottom = layout.axis.place.0;
        svg.tag("g").a("class", "axis").begin();
        for tick in layout.axis.ratio_ticks(20.0) {
            let stroke = if tick.value == 1.0 { colours.muted() } else { colours.grid() };
            svg.line((layout.left, tick.at), (layout.right, tick.at), &stroke).end();
            let baseline = tick.at + SMALL * 0.36;
            svg.label(layout.left - 6.0, baseline, "end").content(&tick.label);
        }
        let named = layout.named_every();
        for (place, version) in self.versions.iter().enumerate().filter(|(place, _)| place % named == 0) {
            let x = layout.left + layout.step * (place as f64 + 0.5);
            svg.line((x, bottom), (x, bottom + 4.0), &colours.muted()).end();
            if layout.is_level {
                svg.caption(x, bottom + 16.0, "middle").content(version);
            } else {
                let turn = format!("rotate(-45 {} {})", number(x + 3.0), number(bottom + 14.0));
                let shown = text::shorten(version, SMALL, NAME_MAX);
                svg.caption(x + 3.0, bottom + 14.0, "end").a("transform", &turn).shortened(&shown, version);
            }
        }
        svg.close("g");
    }

    fn draw_line(&self, svg: &mut Svg, layout: &Layout, number: usize, line: &VersionLine) {
        let colours = svg.colours;
        let colour = colours.arm(number);
        let gaps = self.lines.len().saturating_sub(1).max(1) as f64;
        let distance = OFFSET.min(layout.step * OFFSET_SHARE_MAX / gaps);
        let offset = (number as f64 - (self.lines.len() as f64 - 1.0) / 2.0) * distance;
        let x_of = |place: usize| layout.left + layout.step * (place as f64 + 0.5) + offset;
        // A line connects what it has, whatever other lines have between.
        let place = |(place, point): (usize, &RatioPoint)| Some((x_of(place), layout.axis.at(point.ratio)));
        let places: Vec<Option<(f64, f64)>> = self.points(line).map(place).collect();
        svg.tag("path")
            .a("class", "line")
            .a("data-arm", &number.to_string())
            .a("data-label", &line.label)
            .a("d", &path(&places))
            .a("fill", "none")
            .a("stroke", &colour)
            .n("stroke-width", 1.6)
            .some("stroke-dasharray", dash(number))
            .end();
        for (place, point) in self.points(line) {
            let (x, y) = (x_of(place), layout.axis.at(point.ratio));
            if point.has_whisker() {
                let (from, to) = (layout.axis.at(point.whisker.0), layout.axis.at(point.whisker.1));
                svg.line((x, from), (x, to), &colour).a("class", "whisker").n("stroke-width", 1.2).end();
            }
            let title = format!("{}, {}: {}", line.label, self.versions[place], point.in_words());
            let class = format!("mark {}", point.mark.class());
            let outline = Shape::for_arm(number).outline(x, y, 3.6);
            point.mark.fill().draw(svg, &outline, &colour, (&[("class", &class)], &title));
        }
    }

    fn description(&self) -> String {
        let describe = |line: &VersionLine| {
            let points: Vec<String> = self
                .points(line)
                .map(|(place, point)| format!("{} in {}", point.figure(), self.versions[place]))
                .collect();
            let points = if points.is_empty() { "no value".to_owned() } else { points.join(", ") };
            format!("{}: {points}", line.label)
        };
        let lines: Vec<String> = self.lines.iter().map(describe).collect();
        let captions: String = self.captions.iter().map(|caption| format!(" {caption}")).collect();
        format!("{} over {} versions. {}.{captions}", self.axis, self.versions.len(), lines.join("; "))
    }
}
