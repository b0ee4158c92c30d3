//! Latency by percentile. The percentile axis is logarithmic in the share of slower statements, so each
//! decade of the tail gets the same width.

use crate::captions;
use crate::legend::{Legend, Sample};
use crate::line::Pen;
use crate::palette::Theme;
use crate::scale::{Log, drawable, time_label};
use crate::svg::{PADDING, Svg};
use crate::text::{self, SMALL};

const PLOT: f64 = 220.0;
/// Percentiles on the axis, each with the share of slower statements.
const PERCENTILES: [(&str, f64); 8] = [
    ("p50", 0.5),
    ("p90", 0.1),
    ("p99", 1e-2),
    ("p99.9", 1e-3),
    ("p99.99", 1e-4),
    ("p99.999", 1e-5),
    ("p99.9999", 1e-6),
    ("p99.99999", 1e-7),
];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyChart {
    /// Prefix of the ids in the drawing.
    pub id: String,
    pub title: String,
    /// In drawing order.
    pub curves: Vec<Curve>,
    /// Paragraphs below the plot.
    pub captions: Vec<String>,
    /// Width of the drawing in units of the viewBox; 0: [`crate::WIDTH_DEFAULT`].
    pub width: f64,
}

/// A curve of a [`LatencyChart`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub label: String,
    /// Number of the arm; determines colour, dashes and marker.
    pub arm: usize,
    /// Share of slower statements, descending from 1, and latency in microseconds. The axes are logarithmic:
    /// points whose share or latency is not positive are left out.
    pub points: Vec<(f64, f64)>,
}

struct Axes {
    /// Horizontal: 1 / (share of slower statements), so the slowest are on the right.
    share: Log,
    us: Log,
}

impl LatencyChart {
    /// Returns one `<svg>` element.
    pub fn svg(&self, theme: Theme) -> String {
        let (mut svg, top) = Svg::new(theme, &self.id, &self.title, self.width);
        let width = svg.width;
        let mut legend = Legend::default();
        for curve in &self.curves {
            legend.add(Sample::Arm(curve.arm), &curve.label);
        }
        let top = legend.draw(&mut svg, top, width) + 18.0;
        let bottom = top + PLOT;
        let axes = self.axes(width, top, bottom);
        axes.draw(&mut svg);
        svg.tag("g").a("class", "lines").a("fill", "none").a("stroke-linejoin", "round").begin();
        for (place, curve) in self.curves.iter().enumerate() {
            let phase = (place as f64 + 0.5) / self.curves.len() as f64;
            axes.draw_curve(&mut svg, curve, phase);
        }
        svg.close("g");
        let bottom = captions::draw(&mut svg, &self.captions, bottom + 36.0);
        svg.finish("latency", bottom, &self.description(), &[])
    }

    fn axes(&self, width: f64, top: f64, bottom: f64) -> Axes {
        let points = || self.curves.iter().flat_map(|curve| drawn(&curve.points));
        let rarest = points().map(|(share, _)| 1.0 / share).fold(100.0, f64::max);
        let fastest = points().map(|(_, us)| us).fold(f64::INFINITY, f64::min);
        let slowest = points().map(|(_, us)| us).fold(0.0, f64::max);
        let (low, high) = if slowest > 0.0 { round_range(fastest, slowest) } else { (1.0, 10.0) };
        let us = Log::between(low, high, (bottom, top));
        let widest = text::widest(us.decades().into_iter().map(time_label), SMALL);
        let share = Log::between(1.0, rarest, (PADDING + widest + 6.0, width - PADDING - 20.0));
        Axes { share, us }
    }

    fn description(&self) -> String {
        let describe = |curve: &Curve| {
            let quantile = |share: f64| {
                let slower = drawn(&curve.points).filter(|(slower, _)| *slower <= share * 1.0001);
                slower.map(|(_, us)| us).fold(f64::INFINITY, f64::min)
            };
            let quantiles: Vec<String> = [("median", 0.5), ("p99", 0.01), ("p99.9", 0.001)]
                .into_iter()
                .map(|(name, share)| (name, quantile(share)))
                .filter(|(_, us)| us.is_finite())
                .map(|(name, us)| format!("{name} {}", time_label(us)))
                .collect();
            let quantiles = if quantiles.is_empty() { "no value".to_owned() } else { quantiles.join(", ") };
            format!("{}: {quantiles}", curve.label)
        };
        let curves: Vec<String> = self.curves.iter().map(describe).collect();
        let captions: String = self.captions.iter().map(|caption| format!(" {caption}")).collect();
        format!("Latency by percentile of statements. {}.{captions}", curves.join("; "))
    }
}

/// Extends a range to the nearest 1, 2 or 5 times a power of ten at both ends.
fn round_range(low: f64, high: f64) -> (f64, f64) {
    let power = |value: f64| 10f64.powf(value.log10().floor());
    let round = |value: f64| [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power(value));
    let below = round(low).into_iter().rfind(|value| *value <= low * (1.0 + 1e-9)).unwrap_or(low);
    let above = round(high).into_iter().find(|value| *value >= high * (1.0 - 1e-9)).unwrap_or(high);
    (below, above)
}

/// Points that a logarithmic axis can show.
fn drawn(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let usable = |share: f64, us: f64| share > 1e-12 && share <= 1.0 && drawable(us) && us > 1e-6;
    points.iter().copied().filter(move |(share, us)| usable(*share, *us))
}

impl Axes {
    fn draw(&self, svg: &mut Svg) {
        let colours = svg.colours;
        let ((left, right), (bottom, top)) = (self.share.place, self.us.place);
        svg.tag("g").a("class", "axis").begin();
        let mut lowest_free = bottom + 20.0;
        for us in self.us.decades() {
            let at = self.us.at(us);
            svg.line((left, at), (right, at), &colours.grid()).end();
            if lowest_free - at >= 15.0 {
                svg.label(left - 6.0, at + SMALL * 0.36, "end").content(&time_label(us));
                lowest_free = at;
            }
        }
        svg.line((left, bottom), (right, bottom), &colours.muted()).end();
        // Labels that would overlap one on their left are dropped.
        let half = |label: &str| text::width(label, SMALL) / 2.0 + 3.0;
        svg.label(left, bottom + 16.0, "middle").content("min");
        let mut taken_until = left + half("min");
        for (label, share) in PERCENTILES.iter().filter(|(_, share)| self.share.contains(1.0 / share)) {
            let at = self.share.at(1.0 / share);
            svg.line((at, top), (at, bottom + 4.0), &colours.grid()).end();
            if at - half(label) >= taken_until {
                svg.label(at, bottom + 16.0, "middle").content(label);
                taken_until = at + half(label);
            }
        }
        svg.close("g");
        svg.caption(PADDING, top - 9.0, "start").content("latency");
        let title = match right - left > 400.0 {
            true => "percentile of statements; ten times rarer each step, up to the maximum",
            false => "percentile of statements",
        };
        svg.caption((left + right) / 2.0, bottom + 31.0, "middle").content(title);
    }

    fn draw_curve(&self, svg: &mut Svg, curve: &Curve, phase: f64) {
        let places: Vec<Option<(f64, f64)>> = drawn(&curve.points)
            .map(|(share, us)| Some((self.share.at(1.0 / share), self.us.at(us))))
            .collect();
        let pen = Pen { width: 1.8, marker_distance: 110.0, left: self.share.place.0 };
        pen.draw(svg, (curve.arm, &curve.label), &places, phase);
    }
}
