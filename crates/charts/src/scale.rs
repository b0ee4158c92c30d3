//! Axes: maps values to coordinates and selects round values for ticks.

/// Ratios are drawn between 1e-5 and 1e5; beyond, an arrow points out of the axis.
const RATIO_FARTHEST: f64 = 1e5;
/// Larger values cannot be measurements.
const VALUE_MAX: f64 = 1e15;

/// Whether a value can be drawn on a linear axis.
pub(crate) fn drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < VALUE_MAX
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    /// Coordinate in the drawing.
    pub at: f64,
    pub label: String,
}

/// A linear axis from `value.0` at `place.0` to `value.1` at `place.1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    pub value: (f64, f64),
    pub place: (f64, f64),
}

impl Linear {
    /// An axis from zero to a round value of at least `top`, with at most `ticks_max` steps.
    pub(crate) fn from_zero(top: f64, place: (f64, f64), ticks_max: usize) -> Self {
        let top = if top > 0.0 { top } else { 1.0 };
        let step = nice_step(top, ticks_max);
        Self { value: (0.0, (top / step - 1e-9).ceil() * step), place }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let (low, high) = self.value;
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        self.place.0 + share.clamp(0.0, 1.0) * (self.place.1 - self.place.0)
    }

    /// Ticks at round values, with at most `ticks_max` steps.
    pub(crate) fn ticks(&self, ticks_max: usize) -> Vec<Tick> {
        self.ticks_by(nice_step(self.value.1 - self.value.0, ticks_max))
    }

    /// Ticks at round times: multiples of 1, 2, 5, 10, 15 or 30 seconds or minutes, or of 1, 2 or 4 hours.
    pub(crate) fn ticks_s(&self, ticks_max: usize) -> Vec<Tick> {
        const STEPS_S: [f64; 15] = [
            1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
            14400.0,
        ];
        let span = self.value.1 - self.value.0;
        let fits = |step: &&f64| span / **step <= ticks_max as f64;
        match STEPS_S.iter().find(fits) {
            Some(step) if span >= 2.0 => self.ticks_by(*step),
            _ => self.ticks(ticks_max),
        }
    }

    fn ticks_by(&self, step: f64) -> Vec<Tick> {
        let (low, high) = self.value;
        let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        let tick = |multiple: i64| {
            let value = multiple as f64 * step;
            Tick { value, at: self.at(value), label: short(value, step) }
        };
        (first..=last).map(tick).collect()
    }
}

/// The smallest 1, 2 or 5 times a power of ten that divides `span` into at most `steps_max` steps.
fn nice_step(span: f64, steps_max: usize) -> f64 {
    let rough = (span / steps_max.max(1) as f64).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    power * factors.into_iter().find(|factor| factor * power >= rough * (1.0 - 1e-9)).unwrap_or(10.0)
}

/// A value with just enough digits to distinguish multiples of `step`: `12.5k`, `20k`, `0.25`.
pub(crate) fn short(value: f64, step: f64) -> String {
    let (divisor, suffix) = match value.abs() {
        v if v >= 1e12 => (1e12, "T"),
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = (-(step / divisor).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
    let text = format!("{:.digits$}", value / divisor);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{}{suffix}", if text == "-0" { "0" } else { text })
}

/// A value rounded to three significant digits.
pub(crate) fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let step = 10f64.powf(value.abs().log10().floor() - 2.0);
    short((value / step).round() * step, step)
}

/// Fewer ratios are all on an axis; of more, one of so many at either end need not be.
const MANY: usize = 20;
const MANY_OF_ONE_BEYOND: usize = 40;

/// A logarithmic axis from `value.0` at `place.0` to `value.1` at `place.1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    pub value: (f64, f64),
    pub place: (f64, f64),
}

impl Log {
    /// An axis with 1 in the middle that covers all `ratios`, and at least ± 5 %.
    pub(crate) fn around_one(ratios: impl Iterator<Item = f64>, place: (f64, f64)) -> Self {
        let positive = ratios.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let farthest = positive.map(|ratio| ratio.ln().abs()).fold(1.05f64.ln(), f64::max);
        let reach = (farthest * 1.06).min(RATIO_FARTHEST.ln()).exp();
        Self { value: (1.0 / reach, reach), place }
    }

    /// An axis with 1 on it that covers the middle 95 % of many `ratios`, at least ± 5 %, others and the `ends` of
    /// intervals only if they are at most a quarter beyond these: one outlier leaves the axis to the others.
    pub(crate) fn containing_one(
        ratios: impl Iterator<Item = f64>,
        ends: impl Iterator<Item = f64>,
        place: (f64, f64),
    ) -> Self {
        let cover = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let is_ratio = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        let mut ratios: Vec<f64> = ratios.filter(is_ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let beyond = if ratios.len() < MANY { 0 } else { ratios.len().div_ceil(MANY_OF_ONE_BEYOND) };
        let middle = ratios.iter().skip(beyond).take(ratios.len() - 2 * beyond).copied();
        let (low, high) = middle.fold((1.0 / 1.05, 1.05), cover);
        let near = low / 1.25..=high * 1.25;
        let (low, high) =
            ratios.iter().copied().filter(|ratio| near.contains(ratio)).fold((low, high), cover);
        let ends = ends.filter(|end| !end.is_nan()).map(|end| end.clamp(low / 1.25, high * 1.25));
        let (low, high) = ends.fold((low, high), cover);
        let margin = (high / low).powf(0.03);
        let far = |ratio: f64| ratio.clamp(1.0 / RATIO_FARTHEST, RATIO_FARTHEST);
        Self { value: (far(low / margin), far(high * margin)), place }
    }

    /// An axis between two positive values.
    pub(crate) fn between(low: f64, high: f64, place: (f64, f64)) -> Self {
        Self { value: (low, if high > low { high } else { low * 10.0 }), place }
    }

    /// Whether a value lies on the axis.
    pub(crate) fn contains(&self, value: f64) -> bool {
        value >= self.value.0 * (1.0 - 1e-9) && value <= self.value.1 * (1.0 + 1e-9)
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let (low, high) = (self.value.0.ln(), self.value.1.ln());
        let share = if value > 0.0 { (value.ln() - low) / (high - low) } else { 0.0 };
        self.place.0 + share.clamp(0.0, 1.0) * (self.place.1 - self.place.0)
    }

    /// Ticks at 1 and at those of pairs of round ratios that are on the axis, at least `distance_min` apart; outer
    /// pairs take precedence.
    pub(crate) fn ratio_ticks(&self, distance_min: f64) -> Vec<Tick> {
        let one = Tick { value: 1.0, at: self.at(1.0), label: "1".to_owned() };
        let mut ticks = vec![one];
        for (low, high) in ratio_pairs() {
            let on_axis = [low, high].into_iter().filter(|value| self.contains(*value));
            let tick = |value| Tick { value, at: self.at(value), label: ratio_label(value) };
            let pair: Vec<Tick> = on_axis.map(tick).collect();
            let free =
                pair.iter().all(|tick| ticks.iter().all(|other| (tick.at - other.at).abs() >= distance_min));
            if free {
                ticks.extend(pair);
            }
        }
        ticks.sort_by(|a, b| a.value.total_cmp(&b.value));
        ticks
    }

    /// Powers of ten; if the axis is short, also 2 and 5 times powers of ten.
    pub(crate) fn decades(&self) -> Vec<f64> {
        let (low, high) = self.value;
        let factors: &[f64] = if high / low > 2e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let values = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
        values.filter(|value| self.contains(*value)).collect()
    }
}

/// Pairs of reciprocal ratios of which at least one is round, from the farthest to the nearest.
fn ratio_pairs() -> impl Iterator<Item = (f64, f64)> {
    let far = [1e5, 1e4, 1e3, 100.0, 50.0, 20.0, 10.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.25]
        .map(|high| (1.0 / high, high));
    let near = [0.9, 0.95, 0.98, 0.99].map(|low| (low, 1.0 / low));
    far.into_iter().chain(near)
}

/// A ratio with two decimals at most; below 0.1, with three digits: `0.87`, `12.5`, `0.001`.
pub(crate) fn ratio_label(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.1 {
        return three_digits(ratio);
    }
    let text = format!("{ratio:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// Microseconds in a readable unit: `250 µs`, `1.5 ms`, `2 s`.
pub(crate) fn time_label(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", three_digits(us / 1e6)),
        us if us >= 1e3 => format!("{} ms", three_digits(us / 1e3)),
        us => format!("{} µs", three_digits(us)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ratio_axis_is_symmetric_and_covers_the_data() {
        let axis = Log::around_one([0.4, 1.1].into_iter(), (0.0, 400.0));
        assert!((axis.at(1.0) - 200.0).abs() < 1e-9);
        assert!((axis.at(0.5) + axis.at(2.0) - 400.0).abs() < 1e-9);
        assert!(axis.at(0.4) > 0.0);
        assert_eq!(labels(&axis.ratio_ticks(40.0)), ["0.5", "0.67", "1", "1.5", "2"]);
        let near = Log::around_one([0.99].into_iter(), (0.0, 400.0));
        assert_eq!(labels(&near.ratio_ticks(40.0)), ["0.95", "0.98", "1", "1.02", "1.05"]);
    }

    #[test]
    fn one_noisy_test_leaves_the_axis_to_the_others() {
        let axis = Log::containing_one(
            [0.5, 0.98].into_iter(),
            [0.49, 0.51, 0.1, 9.0, f64::NAN].into_iter(),
            (0.0, 400.0),
        );
        assert!(axis.contains(0.5 / 1.25) && !axis.contains(0.38), "{axis:?}");
        assert!(axis.contains(1.05 * 1.25) && !axis.contains(1.4), "{axis:?}");
        assert_eq!(labels(&axis.ratio_ticks(40.0)), ["0.5", "0.67", "0.8", "1", "1.25"]);
        let many = || (0..40).map(|one| 0.96 + 0.002 * f64::from(one)).chain([0.5, 1.1]);
        let axis = Log::containing_one(many(), [].into_iter(), (0.0, 400.0));
        assert!(!axis.contains(0.5) && axis.contains(0.96) && axis.contains(1.1), "{axis:?}");
        let empty = Log::containing_one([].into_iter(), [].into_iter(), (0.0, 1.0));
        assert!(empty.contains(1.05) && empty.at(1.0) > 0.4 && empty.at(1.0) < 0.6, "{empty:?}");
    }

    #[test]
    fn linear_axis_begins_at_zero_and_ends_at_a_round_value() {
        let axis = Linear::from_zero(17_300.0, (200.0, 0.0), 5);
        assert_eq!(axis.value, (0.0, 20_000.0));
        assert_eq!(labels(&axis.ticks(5)), ["0", "5000", "10k", "15k", "20k"]);
        assert_eq!(Linear::from_zero(0.0, (0.0, 1.0), 5).value, (0.0, 1.0));
    }

    #[test]
    fn time_ticks_are_round_on_a_clock() {
        let axis = Linear { value: (0.0, 600.0), place: (0.0, 100.0) };
        assert_eq!(labels(&axis.ticks_s(6)), ["0", "120", "240", "360", "480", "600"]);
    }

    #[test]
    fn values_are_short_but_distinguishable() {
        assert_eq!(short(1500.0, 500.0), "1500");
        assert_eq!(short(12_500.0, 500.0), "12.5k");
        assert_eq!(short(0.25, 0.05), "0.25");
        assert_eq!(three_digits(0.012_345), "0.0123");
        assert_eq!(time_label(1534.0), "1.53 ms");
        assert_eq!(time_label(999_999.0), "1000 ms");
    }
}
