//! A ratio with its interval and what was decided of it: the point that charts of ratios share, and its shapes.

use crate::palette::Colours;
use crate::scale::ratio_label;
use crate::svg::number;
use std::borrow::Cow;

/// What was decided of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Worse than base, drawn ▼.
    Worse,
    /// Better than base, drawn ▲.
    Better,
    /// No difference that matters, drawn ●.
    Same,
    /// Nothing was decided, drawn ○.
    Unknown,
}

impl Mark {
    pub(crate) const ALL: [Self; 4] = [Self::Worse, Self::Better, Self::Same, Self::Unknown];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Same => "same",
            Self::Unknown => "undecided",
        }
    }

    pub(crate) fn colour(self, colours: Colours) -> Cow<'static, str> {
        match self {
            Self::Worse => colours.worse(),
            Self::Better => colours.better(),
            Self::Same | Self::Unknown => colours.same(),
        }
    }

    /// Only what is undecided is hollow.
    pub(crate) fn is_hollow(self) -> bool {
        self == Self::Unknown
    }

    /// Its outline around a place; a triangle is larger than a disc so that both cover the same area.
    pub(crate) fn path(self, x: f64, y: f64, radius: f64) -> String {
        match self {
            Self::Worse => Shape::Down.path(x, y, radius * 1.25),
            Self::Better => Shape::Up.path(x, y, radius * 1.25),
            Self::Same | Self::Unknown => Shape::Disc.path(x, y, radius * 0.9),
        }
    }
}

/// A ratio to base, with the interval it lies in and what was decided of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioPoint {
    /// The candidate's figure over base's, without unit. A ratio that is not above zero is drawn at the axis' end.
    pub ratio: f64,
    /// Lower end of the interval, as a ratio; NaN where there is none.
    pub low: f64,
    /// Upper end of the interval, as a ratio; NaN where there is none.
    pub high: f64,
    pub mark: Mark,
}

impl RatioPoint {
    /// Whether there is a ratio at all.
    pub(crate) fn is_drawable(&self) -> bool {
        !self.ratio.is_nan()
    }

    pub(crate) fn has_interval(&self) -> bool {
        !self.low.is_nan() && !self.high.is_nan()
    }

    /// `0.87 (0.85 to 0.89), worse`
    pub(crate) fn spoken(&self) -> String {
        let ratio = ratio_label(self.ratio);
        let word = self.mark.word();
        match self.has_interval() {
            true => format!("{ratio} ({} to {}), {word}", ratio_label(self.low), ratio_label(self.high)),
            false => format!("{ratio}, {word}"),
        }
    }

    /// Every value that an axis has to hold.
    pub(crate) fn values(&self) -> [f64; 3] {
        [self.ratio, self.low, self.high]
    }
}

/// Counts of marks in words: `3 worse, 2 better, 7 the same`.
pub(crate) fn counted(marks: impl Iterator<Item = Mark>) -> String {
    let marks: Vec<Mark> = marks.collect();
    let count = |mark: Mark| marks.iter().filter(|its| **its == mark).count();
    let words = Mark::ALL.map(|mark| (count(mark), mark.word()));
    let said: Vec<String> =
        words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if said.is_empty() { "nothing to show".to_owned() } else { said.join(", ") }
}

/// Shapes that tell lines apart without colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Disc,
    Square,
    Up,
    Diamond,
    Down,
    Plus,
    Cross,
    Hexagon,
    Left,
    Right,
    Star,
}

impl Shape {
    const ALL: [Self; 11] = [
        Self::Disc,
        Self::Square,
        Self::Up,
        Self::Diamond,
        Self::Down,
        Self::Plus,
        Self::Cross,
        Self::Hexagon,
        Self::Left,
        Self::Right,
        Self::Star,
    ];

    /// Shape of an arm. Eleven shapes against ten colours, so that pairs do not repeat before 110 arms.
    pub(crate) fn of_arm(arm: usize) -> Self {
        Self::ALL[arm % Self::ALL.len()]
    }

    /// Its outline around a place, `radius` being that of a disc of about the same area.
    pub(crate) fn path(self, x: f64, y: f64, radius: f64) -> String {
        let polygon = |corners: usize, turn: f64, radius: f64| {
            let corner = |place: usize| {
                let angle = (place as f64 / corners as f64 + turn) * std::f64::consts::TAU;
                (x + radius * angle.sin(), y - radius * angle.cos())
            };
            outline((0..corners).map(corner))
        };
        match self {
            Self::Disc => {
                let (r, left, width) = (number(radius), number(x - radius), number(radius * 2.0));
                format!("M{left},{}a{r},{r} 0 1 0 {width},0a{r},{r} 0 1 0 -{width},0z", number(y))
            }
            Self::Square => polygon(4, 0.125, radius * 1.25),
            Self::Up => polygon(3, 0.0, radius * 1.3),
            Self::Diamond => polygon(4, 0.0, radius * 1.35),
            Self::Down => polygon(3, 0.5, radius * 1.3),
            Self::Plus => star(x, y, radius * 1.3, 4, 0.0),
            Self::Cross => star(x, y, radius * 1.3, 4, 0.125),
            Self::Hexagon => polygon(6, 0.0, radius * 1.1),
            Self::Left => polygon(3, 0.75, radius * 1.3),
            Self::Right => polygon(3, 0.25, radius * 1.3),
            Self::Star => star(x, y, radius * 1.45, 5, 0.0),
        }
    }
}

fn star(x: f64, y: f64, radius: f64, points: usize, turn: f64) -> String {
    let corner = |place: usize| {
        let angle = (place as f64 / (2 * points) as f64 + turn) * std::f64::consts::TAU;
        let radius = if place.is_multiple_of(2) { radius } else { radius * 0.42 };
        (x + radius * angle.sin(), y - radius * angle.cos())
    };
    outline((0..2 * points).map(corner))
}

fn outline(corners: impl Iterator<Item = (f64, f64)>) -> String {
    let corners: Vec<String> = corners.map(|(x, y)| format!("{},{}", number(x), number(y))).collect();
    format!("M{}z", corners.join("L"))
}
