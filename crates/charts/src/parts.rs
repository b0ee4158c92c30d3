//! Stacked bars of a figure's parts per arm, such as the time per operation.

use crate::legend::{Legend, Sample};
use crate::palette::Theme;
use crate::scale::{Linear, drawable, three_digits};
use crate::svg::{PADDING, Svg};
use crate::text::{self, LABEL, SMALL};

/// Height of a bar, and the gap to the next.
const BAR: f64 = 24.0;
const GAP: f64 = 10.0;
/// Width of the column of sums.
const SUMS: f64 = 56.0;
/// Patterns that distinguish parts without colour: outlines in a square of 8 units.
const PATTERNS: [&str; 6] = ["", "M0,8L8,0", "M4,2v4M2,4h4", "M0,0L8,8", "M0,4h8", "M0,8L8,0M0,0L8,8"];

/// Figures of arms as stacked bars from zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartsChart {
    /// Prefix of the ids in the drawing.
    pub id: String,
    pub title: String,
    /// Unit of the figures: `us/query`.
    pub unit: String,
    /// Each arm's name with the names and sizes of its parts, in [`PartsChart::unit`]. A part looks the same
    /// in all bars; negative parts are left of zero.
    pub bars: Vec<(String, Vec<(String, f64)>)>,
    /// Width of the drawing in units of the viewBox; 0: [`crate::WIDTH_DEFAULT`].
    pub width: f64,
}

impl PartsChart {
    /// Returns one `<svg>` element.
    pub fn svg(&self, theme: Theme) -> String {
        let (mut svg, top) = Svg::new(theme, &self.id, &self.title, self.width);
        let width = svg.width;
        let names = self.names();
        self.define_patterns(&mut svg, names.len());
        let mut legend = Legend::default();
        for (place, name) in names.iter().enumerate() {
            legend.add(Sample::Area(self.fill(place), Some(svg.colours.arm(place).into_owned())), *name);
        }
        let top = legend.draw(&mut svg, top, width) + 4.0;
        let bottom = top + (BAR + GAP) * self.bars.len().max(1) as f64;
        let (labels, axis) = self.axis(width);
        self.draw_axis(&mut svg, &axis, (top, bottom));
        for (place, bar) in self.bars.iter().enumerate() {
            let y = top + (BAR + GAP) * place as f64 + GAP / 2.0;
            self.draw_bar(&mut svg, (&axis, labels), &names, y, bar);
        }
        svg.finish("parts", bottom + 36.0, &self.description(), &[])
    }

    /// Names of parts by first appearance.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.bars.iter().flat_map(|(_, parts)| parts) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    fn fill(&self, place: usize) -> String {
        format!("url(#{}-part-{place})", text::identifier(&self.id))
    }

    fn define_patterns(&self, svg: &mut Svg, count: usize) {
        let colours = svg.colours;
        svg.tag("defs").begin();
        for place in 0..count {
            let colour = colours.arm(place);
            svg.tag("pattern")
                .a("id", &format!("{}-part-{place}", text::identifier(&self.id)))
                .a("patternUnits", "userSpaceOnUse")
                .n("width", 8.0)
                .n("height", 8.0)
                .begin();
            let (solid, outline) = match PATTERNS[place % PATTERNS.len()] {
                "" => ("0.5", None),
                outline => ("0.22", Some(outline)),
            };
            svg.tag("rect")
                .n("width", 8.0)
                .n("height", 8.0)
                .a("fill", &colour)
                .a("fill-opacity", solid)
                .end();
            if let Some(outline) = outline {
                svg.tag("path").a("d", outline).a("stroke", &colour).a("stroke-opacity", "0.7").end();
            }
            svg.close("pattern");
        }
        svg.close("defs");
    }

    fn axis(&self, width: f64) -> (f64, Linear) {
        let sum = |parts: &[(String, f64)], sign: f64| {
            let sizes = parts.iter().map(|(_, size)| *size);
            sizes.filter(|size| drawable(*size) && size * sign > 0.0).sum::<f64>()
        };
        let high = self.bars.iter().map(|(_, parts)| sum(parts, 1.0)).fold(0.0, f64::max);
        let low = self.bars.iter().map(|(_, parts)| sum(parts, -1.0)).fold(0.0, f64::min);
        let labels = text::widest(self.bars.iter().map(|(name, _)| name), LABEL).min(width * 0.3);
        let high = if high > low { high } else { 1.0 };
        let place = (PADDING + labels + 10.0, width - PADDING - SUMS);
        (labels, Linear { value: (low, high), place })
    }

    fn draw_axis(&self, svg: &mut Svg, axis: &Linear, (top, bottom): (f64, f64)) {
        let colours = svg.colours;
        let (left, right) = axis.place;
        svg.tag("g").a("class", "axis").begin();
        for tick in axis.ticks(((right - left) / 80.0) as usize) {
            let stroke = if tick.value == 0.0 { colours.muted() } else { colours.grid() };
            svg.line((tick.at, top), (tick.at, bottom + 4.0), &stroke).end();
            svg.label(tick.at, bottom + 16.0, "middle").content(&tick.label);
        }
        svg.close("g");
        let middle = (left + right) / 2.0;
        svg.caption(middle, bottom + 31.0, "middle").content(&self.unit);
    }

    fn draw_bar(
        &self,
        svg: &mut Svg,
        (axis, labels): (&Linear, f64),
        names: &[&str],
        y: f64,
        (arm, parts): &(String, Vec<(String, f64)>),
    ) {
        let colours = svg.colours;
        let baseline = y + BAR / 2.0 + LABEL * 0.36;
        let shown = text::shorten(arm, LABEL, labels);
        svg.tag("g").a("class", "bar").a("data-label", arm).begin();
        svg.text(PADDING, baseline, "start", LABEL, &colours.foreground()).shortened(&shown, arm);
        let (mut below, mut above) = (0.0, 0.0);
        for (name, size) in parts.iter().filter(|(_, size)| drawable(*size) && *size != 0.0) {
            let start: &mut f64 = if *size < 0.0 { &mut below } else { &mut above };
            let (from, to) = (axis.at(*start), axis.at(*start + size));
            *start += size;
            let place = names.iter().position(|other| other == name).unwrap_or_default();
            let (left, width) = (from.min(to), (to - from).abs());
            let value = three_digits(*size);
            svg.tag("rect")
                .a("class", "part")
                .n("x", left)
                .n("y", y)
                .n("width", width)
                .n("height", BAR)
                .a("fill", &self.fill(place))
                .a("stroke", &colours.arm(place))
                .titled(&format!("{arm}, {name}: {value} {}", self.unit));
            if text::width(&value, SMALL) + 8.0 <= width {
                let middle = left + width / 2.0;
                svg.caption(middle, y + BAR / 2.0 + SMALL * 0.36, "middle")
                    .a("stroke", &colours.background())
                    .n("stroke-width", 3.0)
                    .a("stroke-linejoin", "round")
                    .a("paint-order", "stroke")
                    .content(&value);
            }
        }
        let sum = three_digits(above + below);
        let x = axis.place.1 + 8.0;
        svg.text(x, baseline, "start", LABEL, &colours.foreground()).a("font-weight", "bold").content(&sum);
        svg.close("g");
    }

    fn description(&self) -> String {
        let describe = |(arm, parts): &(String, Vec<(String, f64)>)| {
            let sizes = parts.iter().filter(|(_, size)| drawable(*size));
            let sum: f64 = sizes.clone().map(|(_, size)| size).sum();
            let parts: Vec<String> =
                sizes.map(|(name, size)| format!("{name} {}", three_digits(*size))).collect();
            format!("{arm}: {} in total: {}", three_digits(sum), parts.join(", "))
        };
        let bars: Vec<String> = self.bars.iter().map(describe).collect();
        format!("Parts in {}. {}.", self.unit, bars.join("; "))
    }
}
