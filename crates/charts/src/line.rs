//! An arm's line with its markers, in timelines and latency charts.

use crate::marks::Shape;
use crate::palette::dash;
use crate::svg::{Svg, number};

/// How lines of a chart are drawn.
pub(crate) struct Pen {
    pub width: f64,
    /// Distance between the markers, which distinguish lines without colour.
    pub marker_distance: f64,
    pub left: f64,
}

impl Pen {
    /// Draws the line of `arm`; a None place is a gap. `phase`, from 0 to 1, offsets its markers from those
    /// of other lines.
    pub fn draw(
        &self,
        svg: &mut Svg,
        (arm, label): (usize, &str),
        places: &[Option<(f64, f64)>],
        phase: f64,
    ) {
        let colours = svg.colours;
        let colour = colours.arm(arm);
        svg.tag("path")
            .a("class", "line")
            .a("data-arm", &arm.to_string())
            .a("data-label", label)
            .a("d", &path(places))
            .a("stroke", &colour)
            .n("stroke-width", self.width)
            .a("stroke-linecap", "round")
            .some("stroke-dasharray", dash(arm))
            .end();
        let mut next = self.left + self.marker_distance * phase;
        let mut markers = String::new();
        for (x, y) in places.iter().flatten() {
            if *x >= next {
                markers.push_str(&Shape::for_arm(arm).outline(*x, *y, 4.0).whole);
                next +=
                    self.marker_distance * ((x - next) / self.marker_distance).floor() + self.marker_distance;
            }
        }
        // The edge keeps markers visible on a line that oscillates.
        let edge = colours.background();
        svg.tag("path").a("class", "markers").a("d", &markers).a("fill", &colour).a("stroke", &edge).end();
    }
}

/// A path that is interrupted at gaps; a value between two gaps is a dot.
pub(crate) fn path(places: &[Option<(f64, f64)>]) -> String {
    let mut path = String::new();
    for run in places.split(|place| place.is_none()) {
        for (number_in_run, (x, y)) in run.iter().flatten().enumerate() {
            path.push(if number_in_run == 0 { 'M' } else { 'L' });
            path.push_str(&format!("{},{}", number(*x), number(*y)));
        }
        if let [Some((x, y))] = run {
            path.push_str(&format!("L{},{}", number(*x), number(*y)));
        }
    }
    path
}
