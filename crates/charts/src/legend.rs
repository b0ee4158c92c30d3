//! The legend: samples and names, wrapped to the width of the chart.

use crate::marks::{Fill, Mark, RatioPoint, Shape};
use crate::palette::dash;
use crate::ratio_parts::arrowhead;
use crate::svg::{PADDING, Svg, number};
use crate::text::{self, SMALL};

/// Height of a row.
const ROW: f64 = 17.0;
/// Free space after an entry.
const GAP: f64 = 14.0;
/// Widths of samples.
const LINE: f64 = 26.0;
const AREA: f64 = 18.0;
const MARK: f64 = 12.0;

/// The symbol next to an entry's name.
pub(crate) enum Sample {
    /// An arm's line, dashes and marker.
    Arm(usize),
    /// An arm's whisker, in charts whose marks show verdicts.
    Whisker(usize),
    /// A verdict's shape, and its colour.
    Mark(Mark, String),
    /// How shapes of any arm are filled.
    Fill(Fill),
    /// The whisker of any arm.
    Interval,
    /// The end of an interval that goes on beyond the axis.
    Cut,
    /// A filled area: fill and optional outline.
    Area(String, Option<String>),
}

#[derive(Default)]
pub(crate) struct Legend {
    entries: Vec<(Sample, String)>,
}

impl Legend {
    pub(crate) fn add(&mut self, sample: Sample, name: impl Into<String>) {
        self.entries.push((sample, name.into()));
    }

    /// Says what whiskers are if there are any.
    pub(crate) fn add_interval<'p>(&mut self, name: &str, mut points: impl Iterator<Item = &'p RatioPoint>) {
        if !name.is_empty() && points.any(RatioPoint::has_whisker) {
            self.add(Sample::Interval, name);
        }
    }

    /// Column width that aligns the entries if they need several rows; None if one row suffices.
    fn column(&self, width: f64) -> Option<f64> {
        let widths = || {
            let entry =
                |(sample, name): &(Sample, String)| sample.width() + 4.0 + text::width(name, SMALL) + GAP;
            self.entries.iter().map(entry)
        };
        let widest = widths().fold(0.0, f64::max);
        (widths().sum::<f64>() - GAP > width).then_some(widest.min(width + GAP))
    }

    /// Draws the legend below `top` and returns its lower end: `top` if it is empty.
    pub(crate) fn draw(&self, svg: &mut Svg, top: f64, width: f64) -> f64 {
        if self.entries.is_empty() {
            return top;
        }
        let (mut x, mut y) = (PADDING, top);
        let right = width - PADDING;
        let column = self.column(right - PADDING);
        svg.tag("g").a("class", "legend").begin();
        for (sample, name) in &self.entries {
            let sample_width = sample.width();
            let shown = text::shorten(name, SMALL, right - PADDING - sample_width - 4.0);
            let entry_width = sample_width + 4.0 + text::width(&shown, SMALL);
            if x > PADDING && x + entry_width > right {
                (x, y) = (PADDING, y + ROW);
            }
            sample.draw(svg, (x, y + ROW / 2.0), sample_width);
            let baseline = y + ROW / 2.0 + SMALL * 0.36;
            svg.caption(x + sample_width + 4.0, baseline, "start").shortened(&shown, name);
            x += column.unwrap_or(entry_width + GAP);
        }
        svg.close("g");
        y + ROW + 4.0
    }
}

impl Sample {
    fn width(&self) -> f64 {
        match self {
            Self::Arm(_) | Self::Whisker(_) => LINE,
            Self::Area(..) | Self::Interval => AREA,
            Self::Mark(..) | Self::Fill(_) | Self::Cut => MARK,
        }
    }

    fn draw(&self, svg: &mut Svg, (x, y): (f64, f64), width: f64) {
        let colours = svg.colours;
        match self {
            Self::Arm(arm) | Self::Whisker(arm) => {
                let colour = colours.arm(*arm);
                svg.line((x, y), (x + width, y), &colour)
                    .n("stroke-width", 2.0)
                    .some("stroke-dasharray", dash(*arm))
                    .end();
                if matches!(self, Self::Arm(_)) {
                    let marker = Shape::for_arm(*arm).outline(x + width / 2.0, y, 3.4);
                    svg.tag("path").a("d", &marker.whole).a("fill", &colour).end();
                }
            }
            Self::Mark(mark, colour) => {
                mark.fill().draw(svg, &mark.outline(x + width / 2.0, y, 4.0), colour, (&[], ""));
            }
            Self::Fill(fill) => {
                let outline = Mark::Same.outline(x + width / 2.0, y, 4.0);
                fill.draw(svg, &outline, &colours.foreground(), (&[], ""));
            }
            Self::Interval => {
                let (from, to) = (number(x), number(x + width));
                let ends = format!("M{from},{0}v6M{to},{0}v6", number(y - 3.0));
                svg.tag("path")
                    .a("d", &format!("M{from},{}H{to}{ends}", number(y)))
                    .a("fill", "none")
                    .a("stroke", &colours.foreground())
                    .n("stroke-width", 1.4)
                    .end();
            }
            Self::Cut => {
                let outline = format!("M{},{}H{}", number(x), number(y), number(x + width));
                svg.tag("path")
                    .a("d", &(outline + &arrowhead(x + width, y, 5.0, true)))
                    .a("fill", "none")
                    .a("stroke", &colours.foreground())
                    .n("stroke-width", 1.4)
                    .end();
            }
            Self::Area(fill, stroke) => {
                svg.tag("rect")
                    .n("x", x)
                    .n("y", y - 6.0)
                    .n("width", width)
                    .n("height", 12.0)
                    .a("fill", fill)
                    .some("stroke", stroke.as_deref())
                    .end();
            }
        }
    }
}
