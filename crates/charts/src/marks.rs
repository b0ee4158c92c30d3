//! Points of ratio charts: a ratio with its interval and verdict, and the shapes that mark it.

use crate::palette::Colours;
use crate::svg::{Svg, number};
use rqps_model::Digits;
use std::borrow::Cow;

/// Verdict on a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Worse than base, drawn ▼.
    Worse,
    /// Better than base, drawn ▲.
    Better,
    /// Changed while another figure changed in the other direction, drawn ◆.
    Mixed,
    /// Inconclusive, but a change is likely, drawn ◐.
    Likely,
    /// No difference that matters, drawn ●.
    Same,
    /// Inconclusive, drawn ○.
    Unknown,
    /// Not judged, as in a single pass, drawn ○.
    Unjudged,
}

impl Mark {
    pub(crate) const ALL: [Self; 7] =
        [Self::Worse, Self::Better, Self::Mixed, Self::Likely, Self::Same, Self::Unknown, Self::Unjudged];

    /// As the tables of verdicts name it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Worse => "regression",
            Self::Better => "improvement",
            Self::Mixed => "mixed",
            Self::Likely => "likely, not established",
            Self::Same => "same",
            Self::Unknown => "inconclusive",
            Self::Unjudged => "without a verdict",
        }
    }

    /// Its class in drawings.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Likely => "likely",
            Self::Unjudged => "unjudged",
            Self::Mixed | Self::Same | Self::Unknown => self.word(),
        }
    }

    pub(crate) fn colour(self, colours: Colours) -> Cow<'static, str> {
        match self {
            Self::Worse => colours.worse(),
            Self::Better => colours.better(),
            Self::Mixed => colours.foreground(),
            Self::Likely | Self::Same | Self::Unknown | Self::Unjudged => colours.same(),
        }
    }

    /// How sure the verdict is: how its shape is filled, or its arm's.
    pub(crate) fn fill(self) -> Fill {
        match self {
            Self::Worse | Self::Better | Self::Mixed | Self::Same => Fill::Solid,
            Self::Likely => Fill::Half,
            Self::Unknown | Self::Unjudged => Fill::Hollow,
        }
    }

    /// What the fillings of arms' shapes stand for, as far as they occur.
    pub(crate) fn legend_of_fills(marks: impl Iterator<Item = Mark>) -> impl Iterator<Item = (Fill, String)> {
        let marks: Vec<Mark> = marks.collect();
        [(Fill::Solid, "filled"), (Fill::Half, "half-filled"), (Fill::Hollow, "hollow")]
            .into_iter()
            .filter_map(move |(fill, name)| {
                let is_told = |mark: &Self| mark.fill() == fill && marks.contains(mark);
                let words: Vec<&str> = Self::ALL.into_iter().filter(is_told).map(Self::word).collect();
                let means = if fill == Fill::Solid { "decided".to_owned() } else { words.join(" or ") };
                (!words.is_empty()).then(|| (fill, format!("{name}: {means}")))
            })
    }

    /// The outline around a point. Triangles are larger than discs so that both cover the same area.
    pub(crate) fn outline(self, x: f64, y: f64, radius: f64) -> Outline {
        match self {
            Self::Worse => Shape::DOWN.outline(x, y, radius * 1.25),
            Self::Better => Shape::UP.outline(x, y, radius * 1.25),
            Self::Mixed => Shape::DIAMOND.outline(x, y, radius),
            Self::Likely | Self::Same | Self::Unknown | Self::Unjudged => {
                Shape::DISC.outline(x, y, radius * 0.9)
            }
        }
    }
}

/// How a shape is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Solid,
    /// Its left half.
    Half,
    Hollow,
}

impl Fill {
    /// Draws a shape of this colour with attributes of its own and a tooltip.
    pub(crate) fn draw(
        self,
        svg: &mut Svg,
        outline: &Outline,
        colour: &str,
        (attributes, title): (&[(&str, &str)], &str),
    ) {
        let background = svg.colours.background();
        let mut tag = svg.tag("path");
        for (key, value) in attributes {
            tag = tag.a(key, value);
        }
        let fill = if self == Self::Solid { colour } else { &background };
        let tag = tag.a("d", &outline.whole).a("fill", fill).a("stroke", colour);
        if title.is_empty() {
            tag.end()
        } else {
            tag.titled(title)
        }
        if self == Self::Half {
            // The tooltip is that of the whole.
            svg.tag("path").a("d", &outline.left).a("fill", colour).a("pointer-events", "none").end();
        }
    }
}

/// A closed path, and that of its left half.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outline {
    pub whole: String,
    left: String,
}

impl Outline {
    fn disc(x: f64, y: f64, radius: f64) -> Self {
        let (r, left, width) = (number(radius), number(x - radius), number(radius * 2.0));
        let whole = format!("M{left},{}a{r},{r} 0 1 0 {width},0a{r},{r} 0 1 0 -{width},0z", number(y));
        let left = format!("M{},{}a{r},{r} 0 0 0 0,{width}z", number(x), number(y - radius));
        Self { whole, left }
    }

    /// Straight lines between corners around a point at `middle`.
    pub(crate) fn polygon(corners: &[(f64, f64)], middle: f64) -> Self {
        let path = |corners: &[(f64, f64)]| {
            let corner = |(x, y): &(f64, f64)| format!("{},{}", number(*x), number(*y));
            format!("M{}z", corners.iter().map(corner).collect::<Vec<_>>().join("L"))
        };
        let before = corners.iter().cycle().skip(corners.len().saturating_sub(1));
        let mut left = Vec::new();
        for (from, to) in before.zip(corners) {
            if (from.0 < middle) != (to.0 < middle) {
                let share = (middle - from.0) / (to.0 - from.0);
                left.push((middle, from.1 + share * (to.1 - from.1)));
            }
            if to.0 < middle {
                left.push(*to);
            }
        }
        Self { whole: path(corners), left: path(&left) }
    }
}

/// Most decimals of a ratio without an interval.
const DECIMALS_ALONE: usize = 2;

/// A ratio to base with its interval and verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioPoint {
    /// Candidate / base. A ratio that is not positive is drawn at the end of the axis.
    pub ratio: f64,
    /// Lower end of the interval; NaN if there is none.
    pub low: f64,
    /// Upper end of the interval; NaN if there is none.
    pub high: f64,
    /// Ends of the whisker, an interval of one level in all points of a chart; NaN if there is none.
    pub whisker: (f64, f64),
    pub mark: Mark,
    /// Most decimals of the ratio, as tables have it.
    pub decimals_max: usize,
}

impl RatioPoint {
    /// Base relative to itself.
    pub const BASE: Self = Self {
        ratio: 1.0,
        low: f64::NAN,
        high: f64::NAN,
        whisker: (f64::NAN, f64::NAN),
        mark: Mark::Same,
        decimals_max: DECIMALS_ALONE,
    };

    fn has_interval(&self) -> bool {
        !self.low.is_nan() && !self.high.is_nan()
    }

    pub(crate) fn has_whisker(&self) -> bool {
        !self.whisker.0.is_nan() && !self.whisker.1.is_nan()
    }

    /// `0.87 (0.85 to 0.89), regression`
    pub(crate) fn in_words(&self) -> String {
        let (ratio, word) = (self.figure(), self.mark.word());
        match self.digits().interval().filter(|_| self.has_interval()) {
            Some(interval) => format!("{ratio} ({interval}), {word}"),
            None => format!("{ratio}, {word}"),
        }
    }

    /// The ratio with the digits that its interval supports, two decimals if there is none.
    pub(crate) fn figure(&self) -> String {
        self.digits().text(self.ratio)
    }

    fn digits(&self) -> Digits {
        let alone = self.decimals_max.min(DECIMALS_ALONE);
        Digits::of_ratio((self.low, self.high), if self.has_interval() { self.decimals_max } else { alone })
    }

    /// The values that an axis must cover.
    pub(crate) fn values(&self) -> [f64; 3] {
        [self.ratio, self.whisker.0, self.whisker.1]
    }
}

/// Points that have a ratio, each with its index, up to `count`: more have no name.
pub(crate) fn drawable(
    points: &[Option<RatioPoint>],
    count: usize,
) -> impl Iterator<Item = (usize, &RatioPoint)> {
    let named = points.iter().take(count).enumerate();
    named.filter_map(|(index, point)| Some((index, point.as_ref().filter(|point| !point.ratio.is_nan())?)))
}

/// Counts of marks in words: `3 regressions, 2 improvements, 7 same`.
pub(crate) fn counted(marks: impl Iterator<Item = Mark>) -> String {
    let marks: Vec<Mark> = marks.collect();
    let counts = Mark::ALL.map(|mark| (marks.iter().filter(|other| **other == mark).count(), mark));
    let in_words = |(count, mark): &(usize, Mark)| match (mark, count) {
        (Mark::Worse | Mark::Better, 2..) => format!("{count} {}s", mark.word()),
        _ => format!("{count} {}", mark.word()),
    };
    let words: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(in_words).collect();
    if words.is_empty() { "nothing to show".to_owned() } else { words.join(", ") }
}

/// A shape that distinguishes lines without colour: corners around a centre, or a disc.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// 0: a disc.
    corners: usize,
    /// Rotation as a fraction of a full turn; 0 has a corner at the top.
    turn: f64,
    /// Distance of the corners from the centre, for about the area of a disc of radius 1.
    size: f64,
    /// Distance of every other corner relative to `size`; below 1 it is a star.
    inner: f64,
}

/// Relative distance of a star's inner corners.
const INNER: f64 = 0.42;

impl Shape {
    const DISC: Self = Self::new(0, 0.0, 1.0, 1.0);
    const UP: Self = Self::new(3, 0.0, 1.3, 1.0);
    const DOWN: Self = Self::new(3, 0.5, 1.3, 1.0);
    const DIAMOND: Self = Self::new(4, 0.0, 1.35, 1.0);

    /// No triangles: these are verdicts, whatever the arm.
    const FOR_ARMS: [Self; 9] = [
        Self::DISC,
        Self::new(4, 0.125, 1.25, 1.0),
        Self::DIAMOND,
        Self::new(8, 0.0, 1.3, INNER),
        Self::new(8, 0.125, 1.3, INNER),
        Self::new(5, 0.0, 1.2, 1.0),
        Self::new(10, 0.0, 1.45, INNER),
        Self::new(5, 0.5, 1.2, 1.0),
        Self::new(6, 0.0, 1.1, 1.0),
    ];

    const fn new(corners: usize, turn: f64, size: f64, inner: f64) -> Self {
        Self { corners, turn, size, inner }
    }

    /// The shape of an arm. With 9 shapes and 10 colours, pairs repeat after 90 arms.
    pub(crate) fn for_arm(arm: usize) -> Self {
        Self::FOR_ARMS[arm % Self::FOR_ARMS.len()]
    }

    /// The outline around a point; `radius` is that of a disc of about the same area.
    pub(crate) fn outline(self, x: f64, y: f64, radius: f64) -> Outline {
        if self.corners == 0 {
            return Outline::disc(x, y, radius);
        }
        let corner = |index: usize| {
            let angle = (index as f64 / self.corners as f64 + self.turn) * std::f64::consts::TAU;
            let distance = radius * self.size * if index.is_multiple_of(2) { 1.0 } else { self.inner };
            (x + distance * angle.sin(), y - distance * angle.cos())
        };
        Outline::polygon(&(0..self.corners).map(corner).collect::<Vec<_>>(), x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression's triangle must not be the mark of an arm.
    #[test]
    fn no_arm_has_the_mark_of_a_verdict() {
        let path = |outline: Outline| outline.whole;
        let arms: Vec<String> = (0..90).map(|arm| path(Shape::for_arm(arm).outline(0.0, 0.0, 4.0))).collect();
        assert!(Shape::FOR_ARMS.iter().all(|shape| shape.corners != 3));
        for mark in [Mark::Worse, Mark::Better] {
            assert!(!arms.contains(&path(mark.outline(0.0, 0.0, 4.0))), "{mark:?}");
        }
        let shapes: std::collections::BTreeSet<&String> = arms.iter().collect();
        assert_eq!(shapes.len(), Shape::FOR_ARMS.len());
    }

    #[test]
    fn the_left_half_of_a_shape_ends_at_its_middle() {
        let square = Outline::polygon(&[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)], 0.0);
        assert_eq!(square.left, "M-1,-1L0,-1L0,1L-1,1z");
    }

    #[test]
    fn figures_have_the_digits_of_tables() {
        let alone = |ratio| RatioPoint { ratio, decimals_max: 4, ..RatioPoint::BASE }.figure();
        assert_eq!([1.1, 1.0, 0.0087].map(alone), ["1.10", "1.00", "0.0087"]);
        let of_rate =
            RatioPoint { ratio: 1.1, low: 1.0999, high: 1.1001, decimals_max: 3, ..RatioPoint::BASE };
        assert_eq!(of_rate.in_words(), "1.100 (±0.0005), same");
    }
}
