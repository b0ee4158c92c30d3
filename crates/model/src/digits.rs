//! Figures with an interval as text: every table and sentence prints them with the digits that the interval supports.

/// Ends of a ratio's interval that differ by more than this factor say nothing.
const RATIO_SPAN_MAX: f64 = 1000.0;
/// Ratios beyond this range are not printed with such an interval.
const RATIO_MAX: f64 = 1000.0;
/// An interval of half this width supports one digit less than a narrower one: 31 ± 2, but 31.2 ± 1.9.
const ONE_DIGIT_FROM: f64 = 2.0;
const UNBOUNDED: &str = "unbounded";
/// Most decimals that show the first digit of a small ratio.
const RATIO_DECIMALS_MAX: usize = 4;
/// Decimals beyond the usual ones of an end that would else read as no change, or as one of another size.
const EXTRA_DECIMALS_MAX: usize = 2;
/// By how much of a change its printed figure may differ: 1.6 % may read as 2 %, and 5.5 % not as 10 %.
const OFF_MAX: f64 = 0.25;

/// Prints an estimate and the ends of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Digits {
    low: f64,
    high: f64,
    /// The value that means no change.
    neutral: f64,
    decimals: usize,
    /// What values are multiples of: 1, or of percentages with a wide interval a power of 10.
    step: f64,
    /// Fewest decimals of values below 10.
    decimals_min: usize,
    is_unbounded: bool,
    /// Whether an end on the other side of no change doesn't read like none either.
    tells_sides: bool,
}

impl Digits {
    /// For a ratio to base with this interval, NaN if there is none; without it, `decimals_max` decimals are printed.
    pub fn of_ratio(interval: (f64, f64), decimals_max: usize) -> Self {
        Self {
            decimals_min: decimals_max.min(1),
            is_unbounded: is_unbounded(interval),
            ..Self::of_difference(interval, decimals_max).relative_to(1.0)
        }
    }

    /// For the change in percent that a ratio with this interval means.
    pub fn of_percent((low, high): (f64, f64), decimals_max: usize) -> Self {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let (low_percent, high_percent) = (percent(low), percent(high));
        let tens = (half_width(low_percent, high_percent) / ONE_DIGIT_FROM).log10().floor();
        Self {
            is_unbounded: is_unbounded((low, high)),
            step: if tens.is_finite() { 10f64.powf(tens.max(0.0)) } else { 1.0 },
            ..Self::of_difference((low_percent, high_percent), decimals_max)
        }
    }

    /// For a difference in any unit.
    pub fn of_difference((low, high): (f64, f64), decimals_max: usize) -> Self {
        let half = half_width(low, high);
        let decimals = match half.is_finite() && half > 0.0 {
            true => (-(half / ONE_DIGIT_FROM).log10()).ceil().clamp(0.0, decimals_max as f64) as usize,
            false => decimals_max,
        };
        let (neutral, step) = (0.0, 1.0);
        let (is_unbounded, tells_sides) = (false, false);
        Self { low, high, neutral, decimals, step, decimals_min: 0, is_unbounded, tells_sides }
    }

    /// For a change that was called: it would contradict an interval that ends with no change.
    #[must_use]
    pub fn telling_sides(self) -> Self {
        Self { tells_sides: true, ..self }
    }

    /// The same with signs reversed.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { low: -self.high, high: -self.low, neutral: -self.neutral, ..self }
    }

    fn relative_to(self, neutral: f64) -> Self {
        Self { neutral, ..self }
    }

    /// The estimate, or another value of its scale.
    pub fn text(&self, value: f64) -> String {
        let (decimals, value) = (self.decimals_of(value), self.in_steps(value));
        match self.is_unbounded && !(1.0 / RATIO_MAX..=RATIO_MAX).contains(&value.abs()) {
            true => "unknown".to_owned(),
            false => unsigned_zero(format!("{value:.decimals$}")),
        }
    }

    /// The same with its sign.
    pub fn signed(&self, value: f64) -> String {
        signed(&self.text(value))
    }

    /// The estimate and the two ends of its interval.
    pub fn all(&self, value: f64) -> [String; 3] {
        [self.text(value), self.end(self.low), self.end(self.high)]
    }

    /// `2.4 to 3.9`, `±0.05`, or `unbounded`; `None` if there is no interval.
    pub fn interval(&self) -> Option<String> {
        self.interval_of(|end| self.end(end))
    }

    /// The same with signs.
    pub fn signed_interval(&self) -> Option<String> {
        self.interval_of(|end| signed(&self.end(end)))
    }

    fn interval_of(&self, print: impl Fn(f64) -> String) -> Option<String> {
        let (low, high) = (print(self.low), print(self.high));
        match (self.low.is_nan() || self.high.is_nan(), self.is_unbounded) {
            (true, _) => None,
            (_, true) => Some(UNBOUNDED.to_owned()),
            _ if low == high => Some(format!("±{}", 0.5 * 10f64.powi(-(self.decimals as i32)))),
            _ => Some(format!("{low} to {high}")),
        }
    }

    /// An end of the interval: one that excludes no change doesn't read like one.
    fn end(&self, value: f64) -> String {
        if value.is_nan() {
            return String::new();
        }
        if self.is_unbounded {
            return UNBOUNDED.to_owned();
        }
        let tells_side = value != self.neutral
            && (self.tells_sides || self.low > self.neutral || self.high < self.neutral);
        let usual = self.decimals_of(value);
        let rounded = |value: f64, decimals: usize| {
            let scale = 10f64.powi(decimals as i32);
            (value * scale).round() / scale
        };
        let reads_as_another = |decimals: &usize| tells_side && self.is_far(value, rounded(value, *decimals));
        let reads_as_none =
            |decimals: &usize| tells_side && rounded(value, *decimals) == rounded(self.neutral, *decimals);
        let mut all = usual..=usual + EXTRA_DECIMALS_MAX;
        let decimals = { all.clone() }.find(|decimals| !reads_as_another(decimals));
        match decimals.or_else(|| all.find(|decimals| !reads_as_none(decimals))) {
            Some(decimals) => unsigned_zero(format!("{:.decimals$}", self.in_steps(value))),
            None if value > self.neutral => format!(">{}", self.neutral.abs()),
            None => format!("<{}", self.neutral.abs()),
        }
    }

    /// Whether a printed figure gives the change another size.
    fn is_far(&self, value: f64, printed: f64) -> bool {
        (printed - value).abs() > OFF_MAX * (value - self.neutral).abs()
    }

    /// The nearest multiple of the step, unless that is far from the value, or all of what the value is a part of.
    fn in_steps(&self, value: f64) -> f64 {
        let nearest = (value / self.step).round() * self.step;
        let reads_as_all = nearest.abs() == 100.0 && value.abs() < 100.0;
        if self.step == 1.0 || self.is_far(value, nearest) || reads_as_all { value } else { nearest }
    }

    fn decimals_of(&self, value: f64) -> usize {
        // Without an interval, a ratio far from 1 has its first two or three digits: 0.0087, 987.
        if self.low.is_nan() && self.neutral == 1.0 && value > 0.0 && !(0.1..10.0).contains(&value) {
            let more = if value < 1.0 { 1 } else { 2 };
            return (more - value.log10().floor() as i32).max(0) as usize;
        }
        // Nor does a ratio that is not 0 read as 0.
        let first_digit = match self.neutral == 1.0 && value > 0.0 && value < 0.1 {
            true => (-value.log10().floor() as usize).min(RATIO_DECIMALS_MAX),
            false => 0,
        };
        let least = self.decimals_min.max(first_digit);
        if value.abs() < 10.0 { self.decimals.max(least) } else { self.decimals }
    }
}

fn half_width(low: f64, high: f64) -> f64 {
    (high - low).abs() / 2.0
}

fn is_unbounded((low, high): (f64, f64)) -> bool {
    high.is_infinite() || (high > 0.0 && high / low.max(f64::MIN_POSITIVE) > RATIO_SPAN_MAX)
}

/// `-0.0` is nothing to print.
fn unsigned_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|byte| matches!(byte, b'0' | b'.')) => rest.to_owned(),
        _ => text,
    }
}

/// A printed number with its sign; nothing has none.
fn signed(text: &str) -> String {
    let is_positive = text.starts_with(|first: char| first.is_ascii_digit())
        && text.contains(|digit| matches!(digit, '1'..='9'));
    if is_positive { format!("+{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(value: f64, low: f64, high: f64) -> [String; 3] {
        Digits::of_ratio((low, high), 4).all(value)
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(ratio(2.056, 2.018, 2.094), ["2.06", "2.02", "2.09"]);
        assert_eq!(ratio(0.986, 0.976, 0.996), ["0.986", "0.976", "0.996"]);
        assert_eq!(ratio(0.953_42, 0.953_12, 0.953_84), ["0.9534", "0.9531", "0.9538"]);
        assert_eq!(ratio(1.058, 1.036, 1.080), ["1.06", "1.04", "1.08"]);
        assert_eq!(ratio(15.34, 12.11, 19.02), ["15", "12", "19"]);
        assert_eq!(ratio(1.31, 0.62, 3.2), ["1.3", "0.6", "3.2"]);
        assert_eq!(ratio(1.25, 1.25, 1.25), ["1.2500", "1.2500", "1.2500"]);
        assert_eq!(ratio(1.25, f64::NAN, f64::NAN)[0], "1.2500");
        let alone = [0.008_67, 15.34, 986.83].map(|value| ratio(value, f64::NAN, f64::NAN)[0].clone());
        assert_eq!(alone, ["0.0087", "15.3", "987"]);
        assert_eq!(ratio(0.0375, 0.002, 0.5), ["0.04", "0.002", "0.5"], "no ratio of measured rates is 0");
        let percent = |low, high| Digits::of_percent((low, high), 3);
        assert_eq!(percent(0.667, 0.709).text(31.166), "31");
        assert_eq!(percent(0.667, 0.709).negated().interval().unwrap(), "29 to 33");
        assert_eq!(percent(0.97, 1.018).signed_interval().unwrap(), "-3 to +2");
        let wide = percent(1.32, 3.72);
        assert_eq!((&*wide.text(121.4), &*wide.interval().unwrap()), ("120", "30 to 270"), "a ratio of 2.2");
        let wide = percent(0.012, 0.52).negated();
        let texts = [wide.text(96.2), wide.text(3.0), wide.interval().unwrap()];
        assert_eq!(texts.each_ref().map(|text| &**text), ["96", "3", "50 to 99"], "neither all nor nothing");
    }

    #[test]
    fn an_end_that_excludes_no_change_reads_neither_like_none_nor_like_another() {
        assert_eq!(ratio(1.5, 1.003, 2.1), ["1.5", "1.003", "2.1"]);
        assert_eq!(ratio(1.02, 0.999, 1.04), ["1.02", "1.00", "1.04"]);
        assert_eq!(ratio(0.9998, 0.9996, 0.999_999_8), ["0.9998", "0.9996", "<1"]);
        assert_eq!(Digits::of_difference((0.03, 5.0), 3).interval().unwrap(), "0.03 to 5");
        assert_eq!(ratio(2.0, 1.0546, 3.8), ["2.0", "1.05", "3.8"]);
        let wide = Digits::of_percent((1.0546, 3.8), 3);
        assert_eq!((&*wide.text(100.0), &*wide.interval().unwrap()), ("100", "5 to 280"));
        let called = |low| Digits::of_percent((low, 1.11), 3).telling_sides().interval().unwrap();
        assert_eq!([0.997, 1.0, 0.990].map(called), ["-0.3 to 11", "0 to 11", "-1 to 11"]);
    }

    #[test]
    fn nothing_is_not_printed_as_a_number() {
        assert_eq!(ratio(3_203_666.0, 0.0, 3_203_666.0), ["unknown", "unbounded", "unbounded"]);
        assert_eq!(ratio(1.7, 0.0004, 7000.0), ["1.7", "unbounded", "unbounded"]);
        assert_eq!(Digits::of_percent((0.0004, f64::INFINITY), 3).interval().unwrap(), "unbounded");
        assert_eq!(Digits::of_ratio((f64::NAN, f64::NAN), 3).interval(), None);
        assert_eq!(Digits::of_difference((-0.04, 0.3), 1).interval().unwrap(), "0.0 to 0.3");
    }

    #[test]
    fn ends_that_read_alike_are_given_as_an_error() {
        assert_eq!(Digits::of_percent((1.311_66, 1.311_68), 1).interval().unwrap(), "±0.05");
    }
}
