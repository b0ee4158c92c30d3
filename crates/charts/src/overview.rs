//! All tests of a comparison in one figure, with the arms as series, and captions that make it complete without the
//! page around it.
//!
//! The axis is logarithmic and contains 1, base. Intervals far beyond all ratios run out of it, and so do a few ratios
//! far beyond the rest, with their numbers at its end, so that one test does not squeeze the others.

use crate::captions;
use crate::legend::{Legend, Sample};
use crate::marks::{self, Fill, Mark, RatioPoint, Shape};
use crate::palette::Theme;
use crate::ratio::RatioRow;
use crate::ratio_parts::{
    DrawnPoint, FIGURES, ROWS_OF_TWO_AXES, RatioAxis, WIDTH_OF_LABELS_BESIDE, arrow, draw_label, is_cut,
    marks_of, whisker,
};
use crate::scale::Log;
use crate::svg::{PADDING, Svg};
use crate::text::{self, LABEL, SMALL};

/// Height of an arm's lane among several, and of the only one.
const LANE: f64 = 7.0;
const LANE_OF_ONE: f64 = 17.0;
/// Free space between rows of several lanes.
const GAP: f64 = 6.0;
/// Most of the width that labels beside their lanes take.
const LABELS_MAX: f64 = 0.36;
/// Height of a row's label above its lanes.
const ABOVE: f64 = 15.0;
/// Room of an arrow at an end of the axis.
const ARROW: f64 = 10.0;
/// Height of a group's title.
const HEADING: f64 = 21.0;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverviewChart {
    /// Prefix of the ids in the drawing.
    pub id: String,
    pub title: String,
    /// Label of the axis: `rate relative to pg17`.
    pub axis: String,
    /// Names of the arms compared with base.
    pub arms: Vec<String>,
    /// Numbers of these arms; they determine colours and shapes. Empty: 0, 1, 2…
    pub arm_numbers: Vec<usize>,
    pub groups: Vec<OverviewGroup>,
    /// Whether a ratio below 1 is an improvement.
    pub lower_is_better: bool,
    /// Whether points have verdicts, or will have them after more blocks; if not, they are not called inconclusive.
    pub is_judged: bool,
    /// What whiskers are, for the legend: `95 % interval`.
    pub interval: String,
    /// Paragraphs below the plot: base, builds, host, date.
    pub captions: Vec<String>,
    /// Width of the drawing in units of the viewBox; 0: [`crate::WIDTH_DEFAULT`].
    pub width: f64,
}

/// Rows below a title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverviewGroup {
    pub title: String,
    pub rows: Vec<RatioRow>,
}

struct Layout {
    axis: Log,
    top: f64,
    bottom: f64,
    /// Height of a row.
    row: f64,
    lane: f64,
    /// Width of the labels; None if they are above the lanes.
    labels: Option<f64>,
}

impl OverviewChart {
    /// Returns one `<svg>` element.
    pub fn svg(&self, theme: Theme) -> String {
        let (mut svg, top) = Svg::new(theme, &self.id, &self.title, self.width);
        let width = svg.width;
        // The axis does not depend on the height of the legend above it.
        let axis = self.layout(top, width).axis;
        let top = self.legend(&svg, &axis).draw(&mut svg, top, width);
        let layout = self.layout(top, width);
        self.draw_axis(&mut svg, &layout);
        svg.tag("g").a("class", "rows").begin();
        let mut y = layout.top;
        for group in &self.groups {
            y = self.draw_group(&mut svg, &layout, y, group);
        }
        svg.close("g");
        let bottom = captions::draw(&mut svg, &self.captions, layout.bottom + 36.0);
        svg.finish("overview", bottom, &self.description(), &[])
    }

    fn rows(&self) -> impl Iterator<Item = &RatioRow> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// The points of a row with the indexes of their arms.
    fn points<'a>(&self, row: &'a RatioRow) -> impl Iterator<Item = (usize, &'a RatioPoint)> + use<'a> {
        marks::drawable(&row.points, self.arms.len())
    }

    fn all_points(&self) -> impl Iterator<Item = &RatioPoint> {
        self.rows().flat_map(|row| self.points(row)).map(|(_, point)| point)
    }

    fn arm_number(&self, arm: usize) -> usize {
        self.arm_numbers.get(arm).copied().unwrap_or(arm)
    }

    /// Whether shape and colour of a point are its verdict's, not its arm's.
    fn shows_marks(&self) -> bool {
        self.arms.len() == 1 && self.is_judged
    }

    /// The arms; and the verdicts, of several arms only whether there is one. Intervals may be cut.
    fn legend(&self, svg: &Svg, axis: &Log) -> Legend {
        let mut legend = Legend::default();
        for (arm, name) in self.arms.iter().enumerate().filter(|_| !self.shows_marks()) {
            legend.add(Sample::Arm(self.arm_number(arm)), name);
        }
        let marks = || self.all_points().map(|point| point.mark);
        if self.shows_marks() {
            for mark in Mark::ALL.into_iter().filter(|mark| marks().any(|other| other == *mark)) {
                legend.add(Sample::Mark(mark, mark.colour(svg.colours).into_owned()), mark.word());
            }
        } else if self.is_judged {
            Mark::legend_of_fills(marks()).for_each(|(fill, name)| legend.add(Sample::Fill(fill), name));
        }
        legend.add_interval(&self.interval, self.all_points());
        if self.all_points().any(|point| point.has_whisker() && is_cut(axis, point)) {
            let name = match self.has_numbers(axis) {
                true => "interval goes on; number: ratio beyond the axis",
                false => "interval goes on",
            };
            legend.add(Sample::Cut, name);
        }
        legend
    }

    /// Whether ratios beyond the axis have their numbers at its ends.
    fn has_numbers(&self, axis: &Log) -> bool {
        self.arms.len() > 1 && self.all_points().any(|point| !axis.contains(point.ratio))
    }

    fn description(&self) -> String {
        let in_words = |(arm, name): (usize, &String)| match self.is_judged {
            true => format!("{name}: {}", marks_of(self.rows(), arm, self.arms.len())),
            false => name.clone(),
        };
        let arms: Vec<String> = self.arms.iter().enumerate().map(in_words).collect();
        let better = if self.lower_is_better { "below" } else { "above" };
        let rows = self.rows().count();
        let noun = if rows == 1 { "row" } else { "rows" };
        let texts = self.captions.join(" ");
        format!("{}: {rows} {noun}. {}. Better is {better} 1. {texts}", self.axis, arms.join("; "))
    }

    fn layout(&self, top: f64, width: f64) -> Layout {
        let arms = self.arms.len().max(1);
        let (lane, gap) = if arms == 1 { (LANE_OF_ONE, 0.0) } else { (LANE, GAP) };
        let widest = text::widest(self.rows().map(|row| &row.label), LABEL);
        // A name that would be cut has more room above.
        let is_beside = width >= WIDTH_OF_LABELS_BESIDE && widest <= width * LABELS_MAX;
        let lanes = (lane * arms as f64 + gap).max(LANE_OF_ONE);
        let row = lanes + if is_beside { 0.0 } else { ABOVE };
        let labels = is_beside.then_some(widest + 10.0);
        let right = width - PADDING - if arms == 1 { FIGURES } else { 6.0 };
        let place = (PADDING + labels.unwrap_or_default(), right);
        let ratios = || self.all_points().map(|point| point.ratio);
        let of_ratios = Log::containing_one(ratios(), [].into_iter(), place);
        let shown = self.all_points().filter(|point| of_ratios.contains(point.ratio));
        let axis =
            Log::containing_one(ratios(), shown.flat_map(|point| [point.whisker.0, point.whisker.1]), place);
        let count = self.rows().count();
        let top = top + 16.0 + if count >= ROWS_OF_TWO_AXES { 14.0 } else { 0.0 };
        let headings: f64 = self.groups.iter().map(|group| self.heading(group)).sum();
        let bottom = top + row * count.max(1) as f64 + headings;
        Layout { axis, top, bottom, row, lane, labels }
    }

    /// Height of a group's title: the only group needs none.
    fn heading(&self, group: &OverviewGroup) -> f64 {
        if self.groups.len() < 2 || group.title.is_empty() { 0.0 } else { HEADING }
    }

    fn draw_axis(&self, svg: &mut Svg, layout: &Layout) {
        let colours = svg.colours;
        let Layout { axis, top, bottom, .. } = layout;
        RatioAxis {
            scale: axis,
            top: *top,
            bottom: *bottom,
            label: &self.axis,
            lower_is_better: self.lower_is_better,
            rows: self.rows().count(),
            distance: 34.0,
            stroke_of_one: (&colours.foreground(), Some(1.4)),
            stroke: (&colours.grid(), Some(1.0)),
        }
        .draw(svg);
    }

    /// Draws a group's title and rows below `top` and returns their lower end.
    fn draw_group(&self, svg: &mut Svg, layout: &Layout, top: f64, group: &OverviewGroup) -> f64 {
        let colours = svg.colours;
        let mut y = top + self.heading(group);
        if y > top {
            let shown = text::shorten(&group.title, LABEL, svg.width - 2.0 * PADDING);
            // An edge keeps the lines of the axis out of the letters.
            svg.text(PADDING, y - 6.0, "start", LABEL, &colours.foreground())
                .a("font-weight", "bold")
                .a("stroke", &colours.background())
                .a("stroke-width", "3")
                .a("paint-order", "stroke")
                .shortened(&shown, &group.title);
        }
        for row in &group.rows {
            self.draw_row(svg, layout, y, row);
            y += layout.row;
        }
        y
    }

    fn draw_row(&self, svg: &mut Svg, layout: &Layout, top: f64, row: &RatioRow) {
        let colours = svg.colours;
        svg.tag("g").a("class", "row").a("data-label", &row.label).begin();
        if self.arms.len() > 1 {
            let (from, to) = ((PADDING, top), (svg.width - PADDING, top));
            svg.line(from, to, &colours.grid()).n("stroke-width", 0.7).end();
        }
        let above = if layout.labels.is_some() { 0.0 } else { ABOVE };
        let lanes = layout.row - above;
        let middle = top + if above > 0.0 { above / 2.0 + 1.0 } else { lanes / 2.0 };
        let width_max = layout.labels.map_or(svg.width - 2.0 * PADDING, |labels| labels - 10.0);
        draw_label(svg, row, middle, width_max, layout.labels.is_none());
        let inset = above + (lanes - layout.lane * self.arms.len().max(1) as f64) / 2.0;
        for (arm, point) in self.points(row) {
            let y = top + inset + layout.lane * (arm as f64 + 0.5);
            self.draw_point(svg, &layout.axis, (arm, y), (row, point));
        }
        if self.arms.len() > 1 {
            self.draw_numbers(svg, layout, top + inset, row);
        }
        svg.close("g");
    }

    /// The ratios of a row that the axis does not reach, at its ends, in the order of the arms, whose lines they
    /// interrupt; of a single arm all have their number. The first lane begins at `top`.
    fn draw_numbers(&self, svg: &mut Svg, layout: &Layout, top: f64, row: &RatioRow) {
        let (colours, axis) = (svg.colours, &layout.axis);
        for (is_above, x, anchor) in
            [(false, axis.place.0 + ARROW, "start"), (true, axis.place.1 - ARROW, "end")]
        {
            let beyond = |point: &RatioPoint| !axis.contains(point.ratio) && (point.ratio > 1.0) == is_above;
            let shown: Vec<(usize, String)> = self
                .points(row)
                .filter(|(_, point)| beyond(point))
                .map(|(arm, point)| (arm, point.figure()))
                .collect();
            let Some(((first, _), (last, _))) = shown.first().zip(shown.last()) else { continue };
            let numbers = shown.iter().map(|(_, figure)| figure.as_str()).collect::<Vec<_>>().join(", ");
            let y = top + layout.lane * ((first + last) as f64 / 2.0 + 0.5);
            let height = (layout.lane * (last - first + 1) as f64).max(SMALL);
            let room = (axis.place.1 - axis.place.0 - 2.0 * ARROW - 4.0).max(0.0);
            let cut = text::shorten(&numbers, SMALL, room);
            let width = text::width(&cut, SMALL).min(room) + 4.0;
            svg.tag("rect")
                .n("x", if is_above { x - width + 2.0 } else { x - 2.0 })
                .n("y", y - height / 2.0)
                .n("width", width)
                .n("height", height)
                .a("fill", &colours.background())
                .end();
            svg.text(x, y + SMALL * 0.36, anchor, SMALL, &colours.foreground()).shortened(&cut, &numbers);
        }
    }

    fn draw_point(
        &self,
        svg: &mut Svg,
        axis: &Log,
        (arm, y): (usize, f64),
        (row, point): (&RatioRow, &RatioPoint),
    ) {
        let (colours, number) = (svg.colours, self.arm_number(arm));
        let colour = match self.shows_marks() {
            true => point.mark.colour(colours),
            false => colours.arm(number),
        };
        if point.has_whisker() {
            let (line, bars) = whisker(axis, point, (y, 5.0));
            svg.tag("path")
                .a("class", "whisker")
                .a("d", &(line + &bars))
                .a("fill", "none")
                .a("stroke", &colour)
                .n("stroke-width", 1.4)
                .end();
        }
        let x = axis.at(point.ratio);
        let outline = match axis.contains(point.ratio) {
            false => arrow(x, y, 3.2, point.ratio > 1.0),
            true if self.shows_marks() => point.mark.outline(x, y, 4.0),
            true => Shape::for_arm(number).outline(x, y, 3.2),
        };
        DrawnPoint {
            row,
            point,
            arm: &self.arms[arm],
            arm_number: number,
            outline: &outline,
            colour: &colour,
            fill: if self.is_judged { point.mark.fill() } else { Fill::Solid },
            y,
            figure_end: (self.arms.len() == 1).then_some(axis.place.1 + FIGURES),
        }
        .draw(svg);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_goes_on_beyond_the_axis_ends_in_an_arrowhead() {
        let chart = |low: f64| {
            let point = RatioPoint { whisker: (low, 1.1), mark: Mark::Unknown, ..RatioPoint::BASE };
            let row = RatioRow { label: "scan".to_owned(), points: vec![Some(point)], ..RatioRow::default() };
            let groups = vec![OverviewGroup { title: String::new(), rows: vec![row] }];
            let arms = vec!["new".to_owned()];
            OverviewChart { arms, groups, is_judged: true, ..OverviewChart::default() }.svg(Theme::Page)
        };
        assert!(chart(0.2).contains("interval goes on"));
        assert!(!chart(0.95).contains("interval goes on"));
    }

    #[test]
    fn a_long_name_is_not_cut() {
        let label = "own-report-of-all-orders-by-customer-and-month.warm";
        let row = RatioRow { label: label.to_owned(), ..RatioRow::default() };
        let group = OverviewGroup { title: String::new(), rows: vec![row] };
        let chart = OverviewChart { groups: vec![group], width: 580.0, ..OverviewChart::default() };
        assert!(!chart.svg(Theme::Page).contains('\u{2026}'));
    }
}
