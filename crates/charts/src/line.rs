//! The line of one arm with its markers, as timelines and latencies draw it.

use crate::marks::Shape;
use crate::palette::dash;
use crate::svg::{Svg, number};

/// How lines of a chart are drawn.
pub(crate) struct Pen {
    pub width: f64,
    /// Distance of the markers that tell lines apart without colour.
    pub marker_apart: f64,
    pub left: f64,
}

impl Pen {
    /// Draws the line of `arm`; none is a gap. `phase`, from 0 to 1, has its markers stand at other places than those
    /// of its neighbours.
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
        let mut next = self.left + self.marker_apart * phase;
        let mut markers = String::new();
        for (x, y) in places.iter().flatten() {
            if *x >= next {
                markers.push_str(&Shape::for_arm(arm).path(*x, *y, 4.0));
                next += self.marker_apart * ((x - next) / self.marker_apart).floor() + self.marker_apart;
            }
        }
        // Their edge lifts them off lines that go up and down all the time.
        let edge = colours.background();
        svg.tag("path").a("class", "markers").a("d", &markers).a("fill", &colour).a("stroke", &edge).end();
    }
}

/// A path that begins anew after each gap; a value between two gaps is a dot.
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
