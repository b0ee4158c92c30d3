//! Ratios to base with their intervals, one row per test.
//!
//! The axis is logarithmic with 1 in the middle, so that 0.5 and 2 are equally far from it, and covers all
//! ratios and intervals.

use crate::captions;
use crate::legend::{Legend, Sample};
use crate::marks::{self, Mark, RatioPoint};
use crate::palette::{Colours, Theme, dash};
use crate::ratio_parts::{
    DrawnPoint, FIGURES, ROWS_OF_TWO_AXES, RatioAxis, WIDTH_OF_LABELS_BESIDE, arrow, draw_label, marks_of,
    whisker,
};
use crate::scale::{Log, ratio_label};
use crate::svg::{PADDING, Svg};
use crate::text::{self, LABEL, SMALL};

/// With more arms, lanes are too low for a figure each.
const ARMS_WITH_FIGURES: usize = 3;

/// Least width of a band that the legend names.
const BAND_SEEN_MIN: f64 = 3.0;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatioChart {
    /// Prefix of the ids in the drawing.
    pub id: String,
    pub title: String,
    /// Label of the axis: `rQPS against pg17`.
    pub axis: String,
    /// Names of the arms compared with base.
    pub arms: Vec<String>,
    /// Numbers of these arms; they determine colours and dashes. Empty: 0, 1, 2…
    pub arm_numbers: Vec<usize>,
    pub rows: Vec<RatioRow>,
    /// Range of base's ratios to itself (A/A).
    pub band: Option<(f64, f64)>,
    /// Whether a ratio below 1 is an improvement.
    pub lower_is_better: bool,
    /// What whiskers are, for the legend: `95 % interval`.
    pub interval: String,
    /// Paragraphs below the plot.
    pub captions: Vec<String>,
    /// Width of the drawing in units of the viewBox; 0: [`crate::WIDTH_DEFAULT`].
    pub width: f64,
}

/// A row of a [`RatioChart`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatioRow {
    pub label: String,
    /// Link target of the label: `#test-scan`.
    pub href: Option<String>,
    /// A point per arm, in the order of [`RatioChart::arms`].
    pub points: Vec<Option<RatioPoint>>,
}

struct Layout {
    axis: Log,
    top: f64,
    row: f64,
    /// Height of a row's label above its lanes; 0 if it is left of them.
    heading: f64,
    lane: f64,
    labels: f64,
    has_figures: bool,
    bottom: f64,
}

impl RatioChart {
    /// Returns one `<svg>` element.
    pub fn svg(&self, theme: Theme) -> String {
        let (mut svg, top) = Svg::new(theme, &self.id, &self.title, self.width);
        let width = svg.width;
        let top = self.legend_of_arms().draw(&mut svg, top, width);
        // The axis does not depend on the height of the legend above it.
        let axis = self.layout(top, width).axis;
        let top = self.legend_of_marks(svg.colours, &axis).draw(&mut svg, top, width);
        let layout = self.layout(top, width);
        self.draw_axis(&mut svg, &layout);
        svg.tag("g").a("class", "rows").begin();
        for (number, row) in self.rows.iter().enumerate() {
            self.draw_row(&mut svg, &layout, number, row, width);
        }
        svg.close("g");
        let bottom = captions::draw(&mut svg, &self.captions, layout.bottom + 36.0);
        svg.finish("ratio", bottom, &self.description(), &[])
    }

    /// The points of a row with the indexes of their arms.
    fn points<'a>(&self, row: &'a RatioRow) -> impl Iterator<Item = (usize, &'a RatioPoint)> + use<'a> {
        marks::drawable(&row.points, self.arms.len())
    }

    fn arm_number(&self, arm: usize) -> usize {
        self.arm_numbers.get(arm).copied().unwrap_or(arm)
    }

    fn description(&self) -> String {
        let arms = self.arms.iter().enumerate();
        let marks = |arm: usize| marks_of(self.rows.iter(), arm, self.arms.len());
        let arms: Vec<String> = arms.map(|(arm, name)| format!("{name}: {}", marks(arm))).collect();
        let band = self.drawn_band().map(|(low, high)| {
            format!(" Base against itself (A/A) stays within {} to {}.", ratio_label(low), ratio_label(high))
        });
        let better = if self.lower_is_better { "below" } else { "above" };
        let rows = self.rows.len();
        let captions: String = self.captions.iter().map(|caption| format!(" {caption}")).collect();
        format!(
            "{}: {rows} {}. {}. Better is {better} 1.{}{captions}",
            self.axis,
            if rows == 1 { "row" } else { "rows" },
            arms.join("; "),
            band.unwrap_or_default()
        )
    }

    /// Empty for one arm: the title names it.
    fn legend_of_arms(&self) -> Legend {
        let mut legend = Legend::default();
        for (arm, name) in self.arms.iter().enumerate().filter(|_| self.arms.len() > 1) {
            let name = if self.has_numbers() { format!("{} {name}", arm + 1) } else { name.clone() };
            legend.add(Sample::Whisker(self.arm_number(arm)), name);
        }
        legend
    }

    /// Whether lanes show the number of their arm: colours alone do not distinguish many arms.
    fn has_numbers(&self) -> bool {
        self.arms.len() > ARMS_WITH_FIGURES
    }

    fn legend_of_marks(&self, colours: Colours, axis: &Log) -> Legend {
        let mut legend = Legend::default();
        let is_one = self.arms.len() == 1;
        for mark in Mark::ALL {
            let occurs =
                self.rows.iter().flat_map(|row| self.points(row)).any(|(_, point)| point.mark == mark);
            if occurs {
                let colour = if is_one { mark.colour(colours) } else { colours.foreground() };
                legend.add(Sample::Mark(mark, colour.into_owned()), mark.word());
            }
        }
        let points = self.rows.iter().flat_map(|row| self.points(row));
        legend.add_interval(&self.interval, points.map(|(_, point)| point));
        // A band that is hardly wider than the line at 1 cannot be seen.
        if self.drawn_band().is_some_and(|(low, high)| axis.at(high) - axis.at(low) >= BAND_SEEN_MIN) {
            legend.add(Sample::Area(colours.band().into_owned(), None), "base against itself (A/A)");
        }
        legend
    }

    fn drawn_band(&self) -> Option<(f64, f64)> {
        self.band.filter(|(low, high)| low.is_finite() && high.is_finite() && *low > 0.0 && low <= high)
    }

    fn layout(&self, top: f64, width: f64) -> Layout {
        let arms = self.arms.len().max(1);
        let lane = match arms {
            1 if width < WIDTH_OF_LABELS_BESIDE => 18.0,
            1 => 24.0,
            2..=ARMS_WITH_FIGURES => 14.0,
            _ => 12.0,
        };
        let heading = if width < WIDTH_OF_LABELS_BESIDE { 17.0 } else { 0.0 };
        let row = heading + lane * arms as f64 + if arms == 1 { 0.0 } else { 8.0 };
        let widest = text::widest(self.rows.iter().map(|row| &row.label), LABEL);
        let labels = if heading > 0.0 { 0.0 } else { widest.min(width * 0.36) + 10.0 };
        let numbers = if self.has_numbers() { 18.0 } else { 0.0 };
        let has_figures = arms <= ARMS_WITH_FIGURES;
        let right = width - PADDING - if has_figures { FIGURES } else { 6.0 };
        let points = self.rows.iter().flat_map(|row| self.points(row)).flat_map(|(_, point)| point.values());
        let band = self.drawn_band().into_iter().flat_map(|(low, high)| [low, high]);
        let axis = Log::around_one(points.chain(band), (PADDING + labels + numbers, right));
        let top = top + 16.0 + if self.rows.len() >= ROWS_OF_TWO_AXES { 14.0 } else { 0.0 };
        let bottom = top + row * self.rows.len().max(1) as f64;
        Layout { axis, top, row, heading, lane, labels, has_figures, bottom }
    }

    fn draw_axis(&self, svg: &mut Svg, layout: &Layout) {
        let colours = svg.colours;
        let Layout { axis, top, bottom, .. } = layout;
        if let Some((low, high)) = self.drawn_band() {
            let (from, to) = (axis.at(low), axis.at(high));
            let title = format!("base against itself (A/A): {} to {}", ratio_label(low), ratio_label(high));
            svg.tag("rect")
                .a("class", "band")
                .n("x", from)
                .n("y", *top)
                .n("width", (to - from).max(1.0))
                .n("height", bottom - top)
                .a("fill", &colours.band())
                .titled(&title);
        }
        RatioAxis {
            scale: axis,
            top: *top,
            bottom: *bottom,
            label: &self.axis,
            lower_is_better: self.lower_is_better,
            rows: self.rows.len(),
            distance: 46.0,
            stroke_of_one: (&colours.muted(), None),
            stroke: (&colours.grid(), None),
        }
        .draw(svg);
    }

    fn draw_row(&self, svg: &mut Svg, layout: &Layout, number: usize, row: &RatioRow, width: f64) {
        let colours = svg.colours;
        let top = layout.top + layout.row * number as f64;
        let is_above = layout.heading > 0.0;
        let middle = top + if is_above { layout.heading / 2.0 + 3.0 } else { layout.row / 2.0 };
        svg.tag("g").a("class", "row").a("data-label", &row.label).begin();
        if number > 0 && self.arms.len() > 1 {
            svg.line((PADDING, top), (width - PADDING, top), &colours.grid()).n("stroke-width", 0.7).end();
        }
        let width_max = if is_above { width - 2.0 * PADDING } else { layout.labels - 10.0 };
        draw_label(svg, row, middle, width_max, is_above);
        let lanes = layout.row - layout.heading;
        let inset = layout.heading + (lanes - layout.lane * self.arms.len().max(1) as f64) / 2.0;
        for (arm, point) in self.points(row) {
            let y = top + inset + layout.lane * (arm as f64 + 0.5);
            if self.has_numbers() {
                let (x, baseline) = (layout.axis.place.0 - 4.0, y + SMALL * 0.36);
                svg.label(x, baseline, "end").content(&(arm + 1).to_string());
            }
            self.draw_point(svg, layout, (arm, y), (row, point));
        }
        svg.close("g");
    }

    fn draw_point(
        &self,
        svg: &mut Svg,
        layout: &Layout,
        (arm, y): (usize, f64),
        (row, point): (&RatioRow, &RatioPoint),
    ) {
        let colours = svg.colours;
        let is_one = self.arms.len() == 1;
        let arm_number = self.arm_number(arm);
        let colour = if is_one { point.mark.colour(colours) } else { colours.arm(arm_number) };
        if point.has_whisker() {
            let dashes = if is_one { None } else { dash(arm_number) };
            let (line, bars) = whisker(&layout.axis, point, (y, 7.0));
            // The bars stay solid: dashes would break them up.
            let paths = if dashes.is_some() {
                vec![(line, dashes), (bars, None)]
            } else {
                vec![(line + &bars, None)]
            };
            for (path, dashes) in paths {
                svg.tag("path")
                    .a("class", "whisker")
                    .a("d", &path)
                    .a("fill", "none")
                    .a("stroke", &colour)
                    .n("stroke-width", if is_one { 2.0 } else { 1.6 })
                    .some("stroke-dasharray", dashes)
                    .end();
            }
        }
        let radius = if is_one { 4.6 } else { 4.0 };
        let x = layout.axis.at(point.ratio);
        let outline = match layout.axis.contains(point.ratio) {
            true => point.mark.outline(x, y, radius),
            false => arrow(x, y, radius, point.ratio > 1.0),
        };
        DrawnPoint {
            row,
            point,
            arm: &self.arms[arm],
            arm_number,
            outline: &outline,
            colour: &colour,
            fill: point.mark.fill(),
            y,
            figure_end: layout.has_figures.then_some(layout.axis.place.1 + FIGURES),
        }
        .draw(svg);
    }
}
