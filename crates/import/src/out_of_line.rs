//! Rates that are out of line with all others of their test: base with all other arms, a version with the ones before
//! and after it.

use std::collections::{BTreeMap, HashMap};

use rqps_model::Role;

use crate::arms::{Identity, version_numbers};
use crate::model::median;
use crate::placed::{Assembled, Doubt};

/// How far one version must be from both neighbours: four times the noise, and at least this.
const OFF_MIN: f64 = 0.05;
const OFF_NOISES: f64 = 4.0;
/// No rate is known better, so that no multiple of the noise is absurd.
const NOISE_MIN: f64 = 0.001;
/// Beside a version that is so much farther off, its neighbour is in line.
const FARTHER: f64 = 3.0;
/// A repeat shows what the median of all does if it is this share as far off.
const REPEAT_OFF_MIN: f64 = 0.5;
/// The normal distribution's standard deviation over its median absolute deviation.
const SD_PER_MAD: f64 = 1.4826;
/// Versions that make a series, and tests that tell how far two versions are apart in all of them.
const VERSIONS_MIN: usize = 5;
const TESTS_MIN: usize = 5;
/// How many others must agree against base, and by how much they must differ from it.
const OTHERS_MIN: usize = 4;
const BASE_OFF_MIN: f64 = 0.10;

/// An arm's config; what names of files tell follows the version: `9.8.4.byrx`.
fn config_of(identity: &Identity) -> (&str, &str) {
    let Identity { version, config, .. } = identity;
    (config, version.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Logarithms of rates by test and arm; the median of repeats.
pub struct Table<'a> {
    assembled: &'a Assembled,
    rows: Vec<Row>,
}

/// A test and its rate on each arm.
struct Row {
    step: usize,
    rates: Vec<Option<f64>>,
    /// Those of each repeat.
    repeats: Vec<Vec<f64>>,
}

/// A rate that is out of line.
pub struct Odd {
    pub doubt: Doubt,
    /// All repeats of the arm, if there are several and each alone shows it: then it is no misprint.
    pub repeats: Option<usize>,
}

/// The repeats that are all off like their median, of which these are the distances.
fn alike(distances: &[f64], by: f64) -> Option<usize> {
    let is_off = |distance: &f64| (by + distance) / by > REPEAT_OFF_MIN;
    (distances.len() > 1 && distances.iter().all(is_off)).then_some(distances.len())
}

impl Row {
    /// The repeats of an arm that all show its distance from others.
    fn repeats_alike(&self, arm: usize, by: f64) -> Option<usize> {
        let middle = self.rates[arm]?;
        alike(&self.repeats[arm].iter().map(|rate| rate - middle).collect::<Vec<_>>(), by)
    }
}

impl<'a> Table<'a> {
    pub fn of(assembled: &'a Assembled) -> Self {
        let mut rates: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for placed in &assembled.results {
            let rate = placed.measurement.work.as_ref().map(|work| work.per_second());
            rates
                .entry((placed.step, placed.arm))
                .or_default()
                .extend(rate.filter(|rate| *rate > 0.0).map(f64::ln));
        }
        let tests = assembled.steps.iter().enumerate().filter(|(_, step)| step.role == Role::Test);
        let rows = tests.map(|(step, _)| {
            let repeats = |arm: usize| rates.get(&(step, arm)).cloned().unwrap_or_default();
            let repeats: Vec<Vec<f64>> = (0..assembled.arms.len()).map(repeats).collect();
            Row { step, rates: repeats.iter().map(|rates| median(rates)).collect(), repeats }
        });
        Self { rows: rows.collect(), assembled }
    }

    /// How far an arm is from another in each test that both have.
    pub fn shifts(&self, from: usize, to: usize) -> Vec<f64> {
        self.rows.iter().filter_map(|row| Some(row.rates[to]? - row.rates[from]?)).collect()
    }

    /// Tests in which all others agree with one another and not with base.
    pub fn base_is_off(&self) -> Vec<Odd> {
        let arms = &self.assembled.arms;
        let own = &arms[self.assembled.base].identity;
        let numbers = |identity: &Identity| version_numbers(&identity.version);
        // Base's version may be there with several configs: each is the base of its own.
        let is_base = |arm: &usize| {
            let other = &arms[*arm].identity;
            let is_of_version =
                other.dbms == own.dbms && numbers(own).is_some() && numbers(other) == numbers(own);
            *arm == self.assembled.base || is_of_version && config_of(other) != config_of(own)
        };
        let bases: Vec<usize> = (0..arms.len()).filter(is_base).collect();
        let in_row = |row| {
            let doubt = |base: &usize| self.base_off_in(row, *base, bases.len() > 1);
            bases.iter().filter_map(doubt).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(in_row).collect()
    }

    fn base_off_in(&self, row: &Row, base: usize, has_configs: bool) -> Option<Odd> {
        let arms = &self.assembled.arms;
        let of_base = row.rates[base]?;
        let is_alike = |arm: usize| config_of(&arms[arm].identity) == config_of(&arms[base].identity);
        // Of a config of its own, base is compared with all.
        let is_own = has_configs
            && (base != self.assembled.base
                || (0..arms.len()).filter(|arm| is_alike(*arm)).count() > OTHERS_MIN);
        let is_other = |arm: usize| arm != base && (!is_own || is_alike(arm));
        let others = row.rates.iter().enumerate().filter(|(arm, _)| is_other(*arm));
        let mut others: Vec<f64> = others.filter_map(|(_, rate)| Some((*rate)? - of_base)).collect();
        others.sort_by(f64::total_cmp);
        let all = others.len();
        // One version in ten may be out of line.
        let others = &others[all / 10..all - all / 10];
        let ([least, ..], [.., most], Some(middle)) = (others, others, median(others)) else { return None };
        let is_one_side = *least > 0.0 || *most < 0.0;
        let is_off = all >= OTHERS_MIN
            && is_one_side
            && middle.abs() > BASE_OFF_MIN
            && most - least < middle.abs() / 3.0;
        let text = || {
            format!(
                "base is the odd one: {} of {all} others are {} of it, and agree with one another",
                others.len(),
                span(least.exp(), most.exp())
            )
        };
        is_off.then(|| Odd {
            doubt: Doubt::of_test(base, row.step, text()),
            repeats: row.repeats_alike(base, -middle),
        })
    }

    /// Versions far above, or far below, the ones before and after: most tests alike, or single ones.
    pub fn versions_off(&self) -> Vec<Odd> {
        let mut pairs = Pairs { table: self, known: HashMap::new() };
        let within = self.of_one_version();
        let mut doubts = Vec::new();
        let config = |arm: usize| config_of(&self.assembled.arms[arm].identity);
        for (order, judged) in self.series() {
            // Where all are of one config, what configs differ by is no noise.
            let is_mixed = order.iter().any(|arm| config(*arm) != config(order[0]));
            let is_noise = |(one, other): &&(usize, usize)| is_mixed || config(*one) == config(*other);
            let within: Vec<(usize, usize)> = within.iter().filter(is_noise).copied().collect();
            doubts.extend(self.off_in_most_tests(&order, &judged));
            let in_row = |row| off_in(row, (&order, &judged), &within, &mut pairs);
            doubts.extend(self.rows.iter().flat_map(in_row));
        }
        doubts
    }

    /// Arms in the order of their versions, each with those that are judged there; none if arms are no series. Configs
    /// of a version are not before and after one another: a series has one arm of each version, of the same config
    /// where there is one.
    fn series(&self) -> BTreeMap<Vec<usize>, Vec<usize>> {
        let arms = &self.assembled.arms;
        let is_one = arms
            .iter()
            .all(|arm| arm.identity.dbms == arms[0].identity.dbms && !arm.identity.dbms.is_empty());
        let mut of_version: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
        for (index, arm) in arms.iter().enumerate() {
            let Some(version) = version_numbers(&arm.identity.version) else { return BTreeMap::new() };
            of_version.entry(version).or_default().push(index);
        }
        let mut series: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        if !is_one || of_version.len() < VERSIONS_MIN {
            return series;
        }
        let config = |arm: usize| config_of(&arms[arm].identity);
        // Enough versions have the config to be a series of their own.
        let is_series = |arm: usize| {
            let has_config = |all: &&Vec<usize>| all.iter().any(|other| config(*other) == config(arm));
            of_version.values().filter(has_config).count() >= VERSIONS_MIN
        };
        for own in 0..arms.len() {
            // Some name a config after its version: where a version lacks this one, such an arm stands for it.
            let of_series = |all: &Vec<usize>| match all.iter().find(|arm| config(**arm) == config(own)) {
                _ if all.contains(&own) => Some(own),
                Some(alike) => Some(*alike),
                None => all.iter().copied().find(|arm| !is_series(*arm)),
            };
            series.entry(of_version.values().filter_map(of_series).collect()).or_default().push(own);
        }
        series
    }

    /// Pairs of arms of one version, whose distances are noise or those of configs.
    fn of_one_version(&self) -> Vec<(usize, usize)> {
        let mut last: BTreeMap<&str, usize> = BTreeMap::new();
        let arms = self.assembled.arms.iter().enumerate();
        arms.filter_map(|(index, arm)| Some((last.insert(&arm.identity.version, index)?, index))).collect()
    }

    /// Versions on which most tests are far above, or far below, both neighbours. What most tests moved by is taken out
    /// of each of them, so that no test tells it.
    fn off_in_most_tests(&self, order: &[usize], judged: &[usize]) -> Vec<Odd> {
        let steps: Vec<Option<f64>> =
            order.windows(2).map(|pair| median(&self.shifts(pair[0], pair[1]))).collect();
        let mut doubts = Vec::new();
        for (at, [before, own, after]) in
            order.array_windows().enumerate().filter(|(_, [_, own, _])| judged.contains(own))
        {
            let distances = |row: &Row| {
                let rate = row.rates[*own]?;
                Some((row.step, rate - row.rates[*before]?, rate - row.rates[*after]?))
            };
            let tests: Vec<(usize, f64, f64)> = self.rows.iter().filter_map(distances).collect();
            let middle =
                |of: fn(&(usize, f64, f64)) -> f64| median(&tests.iter().map(of).collect::<Vec<_>>());
            let (Some(from_before), Some(from_after)) = (middle(|one| one.1), middle(|one| one.2)) else {
                continue;
            };
            let by = nearer(from_before, from_after);
            // An upgrade may have moved all tests for good.
            let others = steps.iter().enumerate().filter(|(step, _)| ![at, at + 1].contains(step));
            let mut others: Vec<f64> = others.filter_map(|(_, step)| Some(step.as_ref()?.abs())).collect();
            others.sort_by(f64::total_cmp);
            let Some(usual) = others.get(others.len().saturating_sub(1) / 2) else { continue };
            let is_alike = |(_, before, after): &&(usize, f64, f64)| nearer(*before, *after) / by > 0.5;
            let alike: Vec<usize> = tests.iter().filter(is_alike).map(|(step, ..)| *step).collect();
            let is_off = by.abs() > OFF_MIN && by.abs() > OFF_NOISES * noise_of(*usual);
            if is_off && tests.len() >= TESTS_MIN && 2 * alike.len() > tests.len() {
                let (where_, name) = (direction(by).0, |arm: usize| &self.assembled.arms[arm].name);
                let text = format!(
                    "{where_} the versions before and after in {} of {} tests: {:.2} of {}, {:.2} of {} (median)",
                    alike.len(),
                    tests.len(),
                    from_before.exp(),
                    name(*before),
                    from_after.exp(),
                    name(*after)
                );
                let repeats = self.repeats_of_most(*own, &alike, by);
                doubts.push(Odd { doubt: Doubt { arm: *own, steps: alike, repeat: None, text }, repeats });
            }
        }
        doubts
    }

    /// The repeats of an arm that all are off in most of these tests.
    fn repeats_of_most(&self, arm: usize, steps: &[usize], by: f64) -> Option<usize> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| steps.contains(&row.step)).collect();
        let count = rows.iter().map(|row| row.repeats[arm].len()).min()?;
        let distance = |repeat: usize| {
            let of_rows = rows.iter().filter_map(|row| Some(row.repeats[arm][repeat] - row.rates[arm]?));
            median(&of_rows.collect::<Vec<_>>())
        };
        alike(&(0..count).filter_map(distance).collect::<Vec<_>>(), by)
    }
}

/// What two neighbours differ by in all tests: what most moved by, and how far tests are from that. Releases differ in
/// all tests, and the step to a new one would hide what is out of line.
#[derive(Clone, Copy)]
struct Pair {
    usual: f64,
    /// `None` with few tests.
    noise: Option<f64>,
}

struct Pairs<'a> {
    table: &'a Table<'a>,
    known: HashMap<(usize, usize), Pair>,
}

impl Pairs<'_> {
    fn of(&mut self, from: usize, to: usize) -> Pair {
        *self.known.entry((from, to)).or_insert_with(|| {
            let shifts = self.table.shifts(from, to);
            let usual = median(&shifts).filter(|_| shifts.len() >= TESTS_MIN);
            let spread = |usual: f64| {
                median(&shifts.iter().map(|shift| (shift - usual).abs()).collect::<Vec<_>>()).map(noise_of)
            };
            Pair { usual: usual.unwrap_or(0.0), noise: usual.and_then(spread) }
        })
    }
}

/// The noise of a rate, of the median distance of two.
fn noise_of(distance: f64) -> f64 {
    distance * SD_PER_MAD / std::f64::consts::SQRT_2
}

/// A version that is off, the farther the larger; above is positive.
struct Off {
    at: usize,
    by: f64,
    noise: f64,
}

fn off_in(
    row: &Row,
    (order, judged): (&[usize], &[usize]),
    within: &[(usize, usize)],
    pairs: &mut Pairs<'_>,
) -> Vec<Odd> {
    let rates: Vec<(usize, f64)> = order.iter().filter_map(|arm| Some((*arm, row.rates[*arm]?))).collect();
    if rates.len() < VERSIONS_MIN {
        return Vec::new();
    }
    let steps: Vec<f64> = rates.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let usual: Vec<Pair> = rates.windows(2).map(|pair| pairs.of(pair[0].0, pair[1].0)).collect();
    let own: Vec<f64> = steps.iter().zip(&usual).map(|(step, pair)| step - pair.usual).collect();
    let mut step =
        |(from, to): &(usize, usize)| Some(row.rates[*to]? - row.rates[*from]? - pairs.of(*from, *to).usual);
    let within: Vec<f64> = within.iter().filter_map(&mut step).map(f64::abs).collect();
    let mut all: Vec<Off> = Vec::new();
    for at in 1..rates.len() - 1 {
        let (before, after) = (at - 1, at);
        let by = nearer(nearer(steps[before], -steps[after]), nearer(own[before], -own[after]));
        let others = own.iter().enumerate().filter(|(step, _)| *step != before && *step != after);
        let others: Vec<f64> = others.map(|(_, step)| step.abs()).chain(within.iter().copied()).collect();
        // Few steps tell the noise only roughly.
        let roughly = 1.0 / others.len() as f64;
        let Some(of_row) = median(&others).map(noise_of) else { continue };
        let noise = match usual[before].noise.zip(usual[after].noise) {
            // The test may be more restless than others of these versions.
            Some((a, b)) => a.max(b).max(of_row * (1.0 + roughly)),
            None => of_row * (1.0 + 2.0 * roughly),
        };
        if by.abs() > OFF_MIN && by.abs() > OFF_NOISES * noise {
            all.push(Off { at, by, noise: noise.max(NOISE_MIN) });
        }
    }
    let is_due_to =
        |off: &Off, other: &Off| off.at.abs_diff(other.at) == 1 && other.by.abs() > FARTHER * off.by.abs();
    let found = all
        .iter()
        .filter(|off| judged.contains(&rates[off.at].0) && !all.iter().any(|other| is_due_to(off, other)));
    let doubt = |off: &Off| {
        let (where_, which) = direction(off.by);
        let text = format!(
            "{where_} the versions before and after: {:.2} of the {which} one, {:.0} times the noise",
            off.by.exp(),
            off.by.abs() / off.noise
        );
        let arm = rates[off.at].0;
        let repeats = row.repeats_alike(arm, off.by);
        Odd { doubt: Doubt::of_test(arm, row.step, text), repeats }
    };
    found.map(doubt).collect()
}

/// Where it is off, and which of its neighbours is the nearer one.
fn direction(by: f64) -> (&'static str, &'static str) {
    if by > 0.0 { ("above", "higher") } else { ("below", "lower") }
}

/// The smaller of two distances of one direction; 0 if they have two.
fn nearer(one: f64, other: f64) -> f64 {
    if one * other <= 0.0 { 0.0 } else { one.abs().min(other.abs()).copysign(one) }
}

/// Two ratios with as many decimals as tell them apart: `0.851 to 0.853`.
fn span(least: f64, most: f64) -> String {
    let texts = (2..=4).map(|decimals| [least, most].map(|ratio| format!("{ratio:.decimals$}")));
    let apart = texts.into_iter().find(|[least, most]| least != most);
    apart.map_or_else(|| format!("{least:.2}"), |[least, most]| format!("{least} to {most}"))
}
