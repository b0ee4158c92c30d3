//! Levels of one metric over versions in order, and where they change.

use crate::distribution::t_upper;
use crate::metric::Direction;
use crate::pairs::mean;
use crate::sim::Rng;

/// Fewer arms than this have no row to look along: they are compared with base.
const ARMS_MIN: usize = 3;
/// Draws of the null and of each arrival: enough for the tail of 0.3 % to have thirty of them.
const NULL_DRAWS: usize = 10_000;
const ARRIVAL_DRAWS: usize = 1_000;

/// How sure one has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesRules {
    /// Probability that a test in which nothing changes is given any step.
    pub alpha: f64,
    /// Confidence of the arrival sets and of the intervals of steps.
    pub confidence: f64,
    /// The simulated nulls depend on it alone.
    pub seed: u64,
}

impl Default for SeriesRules {
    fn default() -> SeriesRules {
        SeriesRules { alpha: 0.003, confidence: 0.95, seed: 1 }
    }
}

/// What was found along the versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// Blocks that have all versions; others are left out.
    pub blocks: usize,
    /// Standard deviation of one block's logarithm of the ratio of two versions; NaN without two blocks.
    pub block_sd: f64,
    /// Fitted logarithm of each version against the first.
    pub levels: Vec<f64>,
    /// The changes, in order of versions.
    pub steps: Vec<Step>,
    /// Whether an even slope over all versions fits better than the steps: the change did not come at once.
    pub drift: bool,
}

/// A change between two versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The first version that has it.
    pub arrival: usize,
    /// The versions that may be the first to have it, at the confidence of the rules; in order, `arrival` among them.
    pub arrivals: Vec<usize>,
    /// Ratio of the level after to the level before.
    pub ratio: f64,
    /// Lower end of its interval. It takes the place of the step as given.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

impl Step {
    /// Whether the level rose or fell.
    pub fn direction(&self) -> Direction {
        Direction::of(self.ratio.ln())
    }
}

/// Finds the steps in `blocks`: per block the logarithm of the metric of each version, in order of versions. Blocks that
/// lack a version are left out. With fewer than three versions or two blocks there are none.
///
/// Steps are those with the least sum of squares plus penalty, over all numbers of steps, by dynamic programming. The
/// penalty is the one that only a share `alpha` of simulated rows without any step exceeds (parametric bootstrap of the
/// searched maximum, not the quantile of one comparison).
pub fn steps(blocks: &[Vec<Option<f64>>], rules: &SeriesRules) -> Steps {
    let rows: Vec<Vec<f64>> = blocks.iter().filter_map(|block| block.iter().copied().collect()).collect();
    let arms = rows.first().map_or(0, Vec::len);
    let rows: Vec<Vec<f64>> = rows.into_iter().filter(|row| row.len() == arms).collect();
    let mut found = Steps {
        blocks: rows.len(),
        block_sd: f64::NAN,
        levels: vec![0.0; arms],
        steps: Vec::new(),
        drift: false,
    };
    if arms < ARMS_MIN || rows.len() < 2 {
        return found;
    }
    let row = Row::of(&rows);
    found.block_sd = (2.0 * row.variance).sqrt();
    let mut rng = Rng::new(rules.seed);
    let penalty = null_penalty(arms, row.df, rules.alpha, &mut rng);
    let scaled = row.scaled();
    let Some(scaled) = scaled else {
        // No noise at all: every difference is a step.
        found.steps = (1..arms).filter_map(|arm| exact_step(&row.means, arm)).collect();
        found.levels = row.means.iter().map(|level| level - row.means[0]).collect();
        return found;
    };
    let cuts = segment(&scaled, penalty);
    let fitted = fit(&row.means, &cuts);
    found.levels = fitted.iter().map(|level| level - fitted[0]).collect();
    let misfit = |levels: &[f64]| squares_to(&scaled, levels);
    let fitted_scaled = fit(&scaled, &cuts);
    found.drift = !cuts.is_empty()
        && misfit(&slope(&scaled)) + penalty < misfit(&fitted_scaled) + penalty * cuts.len() as f64;
    for place in 0..cuts.len() {
        found.steps.push(row.step(&scaled, &cuts, place, rules, &mut rng));
    }
    found
}

/// Version means over blocks, with the variance of one version in one block.
struct Row {
    means: Vec<f64>,
    blocks: f64,
    variance: f64,
    df: f64,
}

impl Row {
    fn of(rows: &[Vec<f64>]) -> Row {
        let arms = rows[0].len();
        let centred: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| {
                let centre = mean(row);
                row.iter().map(|value| value - centre).collect()
            })
            .collect();
        let of_arm = |arm: usize| mean(&centred.iter().map(|row| row[arm]).collect::<Vec<f64>>());
        let means: Vec<f64> = (0..arms).map(of_arm).collect();
        let df = ((arms - 1) * (rows.len() - 1)) as f64;
        let residual = |row: &Vec<f64>| squares_to(row, &means);
        let variance = centred.iter().map(residual).sum::<f64>() / df;
        Row { means, blocks: rows.len() as f64, variance, df }
    }

    /// Means in units of their standard error; None if there is no noise.
    fn scaled(&self) -> Option<Vec<f64>> {
        let error = (self.variance / self.blocks).sqrt();
        // What rounding leaves of equal blocks.
        (error > 1e-12).then(|| self.means.iter().map(|level| level / error).collect())
    }

    fn step(&self, scaled: &[f64], cuts: &[usize], place: usize, rules: &SeriesRules, rng: &mut Rng) -> Step {
        let arrival = cuts[place];
        let from = if place == 0 { 0 } else { cuts[place - 1] };
        let until = cuts.get(place + 1).copied().unwrap_or(self.means.len());
        let (before, after) = (&self.means[from..arrival], &self.means[arrival..until]);
        let size = mean(after) - mean(before);
        let weight = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
        let error = (self.variance / self.blocks * weight).sqrt();
        let reach = t_upper((1.0 - rules.confidence) / 2.0, self.df) * error;
        let arrivals = arrival_set(&scaled[from..until], self.df, rules, rng);
        Step {
            arrival,
            arrivals: arrivals.into_iter().map(|cut| from + cut).collect(),
            ratio: size.exp(),
            low: (size - reach).exp(),
            high: (size + reach).exp(),
        }
    }
}

fn exact_step(means: &[f64], arrival: usize) -> Option<Step> {
    let size = means[arrival] - means[arrival - 1];
    let ratio = size.exp();
    (size.abs() > 1e-9).then(|| Step { arrival, arrivals: vec![arrival], ratio, low: ratio, high: ratio })
}

fn squares_to(values: &[f64], levels: &[f64]) -> f64 {
    values.iter().zip(levels).map(|(value, level)| (value - level).powi(2)).sum()
}

fn squares(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

/// Each place's level between the cuts.
fn fit(values: &[f64], cuts: &[usize]) -> Vec<f64> {
    let ends = cuts.iter().copied().chain([values.len()]);
    let levels = std::iter::once(0).chain(cuts.iter().copied()).zip(ends);
    levels.flat_map(|(from, until)| vec![mean(&values[from..until]); until - from]).collect()
}

/// The least-squares line.
fn slope(values: &[f64]) -> Vec<f64> {
    let places: Vec<f64> = (0..values.len()).map(|place| place as f64).collect();
    let (centre, level) = (mean(&places), mean(values));
    let product: f64 =
        places.iter().zip(values).map(|(place, value)| (place - centre) * (value - level)).sum();
    let rise = product / squares(&places);
    places.iter().map(|place| level + rise * (place - centre)).collect()
}

/// The cuts with the least sum of squares plus `penalty` a cut.
fn segment(values: &[f64], penalty: f64) -> Vec<usize> {
    let length = values.len();
    let mut best = vec![f64::INFINITY; length + 1];
    let mut previous = vec![0; length + 1];
    best[0] = -penalty;
    for until in 1..=length {
        for from in 0..until {
            let total = best[from] + squares(&values[from..until]) + penalty;
            if total < best[until] {
                (best[until], previous[until]) = (total, from);
            }
        }
    }
    let mut cuts = Vec::new();
    let mut place = previous[length];
    while place > 0 {
        cuts.push(place);
        place = previous[place];
    }
    cuts.reverse();
    cuts
}

/// The penalty a cut at which a share `alpha` of rows without a step are given one or more: the quantile of the most
/// that cuts save, a cut. A row's own variance estimate is part of the draw.
fn null_penalty(arms: usize, df: f64, alpha: f64, rng: &mut Rng) -> f64 {
    let mut saved: Vec<f64> =
        (0..NULL_DRAWS).map(|_| most_saved_per_cut(&rng.normals(arms)) / rng.mean_square(df)).collect();
    saved.sort_by(f64::total_cmp);
    saved[((1.0 - alpha) * NULL_DRAWS as f64) as usize]
}

/// The most that any number of cuts takes off the sum of squares, divided by their number.
fn most_saved_per_cut(values: &[f64]) -> f64 {
    let length = values.len();
    let all = squares(values);
    // Least sum of squares of the first `until` values in so many segments.
    let mut least: Vec<f64> = (0..=length).map(|until| squares(&values[..until.max(1)])).collect();
    let mut most: f64 = 0.0;
    for cuts in 1..length {
        let next = |until: usize| {
            let with_last = |from: usize| least[from] + squares(&values[from..until]);
            (cuts..until).map(with_last).fold(f64::INFINITY, f64::min)
        };
        let one_more: Vec<f64> = (0..=length).map(next).collect();
        most = most.max((all - one_more[length]) / cuts as f64);
        least = one_more;
    }
    most
}

/// Which cuts of a stretch with one step the data do not refute: those whose misfit above the best cut's is no more than
/// in all but a share `1 - confidence` of rows drawn with the step there.
fn arrival_set(values: &[f64], df: f64, rules: &SeriesRules, rng: &mut Rng) -> Vec<usize> {
    let misfit = |values: &[f64], cut: usize| squares(&values[..cut]) + squares(&values[cut..]);
    let least =
        |values: &[f64]| (1..values.len()).map(|cut| misfit(values, cut)).fold(f64::INFINITY, f64::min);
    let best = least(values);
    let not_refuted = |cut: &usize| {
        let excess = misfit(values, *cut) - best;
        if excess <= 0.0 {
            return true;
        }
        let truth = fit(values, &[*cut]);
        let mut as_far = 0;
        for _ in 0..ARRIVAL_DRAWS {
            let drawn: Vec<f64> = truth.iter().map(|level| level + rng.normal()).collect();
            let its_excess = (misfit(&drawn, *cut) - least(&drawn)) / rng.mean_square(df);
            as_far += usize::from(its_excess >= excess);
        }
        as_far as f64 > (1.0 - rules.confidence) * ARRIVAL_DRAWS as f64
    };
    (1..values.len()).filter(not_refuted).collect()
}
