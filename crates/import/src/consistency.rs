//! Mistakes in results that figures show: what is derived against what it comes from, and arms against each other.

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{Role, clipped};

use crate::derived;
use crate::error::Result;
use crate::model::{Quirk, median, number};
use crate::placed::{Assembled, Findings, Placed};

/// Arms measured further apart than this were measured in different sessions.
const SESSION_MS: i64 = 7 * 24 * 3600 * 1000;
/// How far one version must be below both neighbours: three times the noise, and at least this.
const DIP_MIN: f64 = 0.05;
const DIP_NOISES: f64 = 3.0;
/// The normal distribution's standard deviation over its median absolute deviation.
const SD_PER_MAD: f64 = 1.4826;
/// How many others must agree against base, and by how much they must differ from it.
const OTHERS_MIN: usize = 4;
const BASE_OFF_MIN: f64 = 0.10;
/// CPU time of an operation that moved, while its rate and instructions did not.
const CPU_MOVED: f64 = 0.15;
const STEADY: f64 = 0.07;
/// Of the note on repeats of unlike names.
const REPEATS_CHARS_MAX: usize = 600;
/// A quirk that changes a figure by less is not worth a note.
const QUIRK_MIN: f64 = 0.01;

/// Examines results that are in their places.
///
/// # Errors
/// If figures of two arms are exchanged: then no comparison of them means anything.
pub fn examine(assembled: &Assembled) -> Result<Findings> {
    let mut findings = derived::examine(assembled)?;
    let table = Table::of(assembled);
    findings.extend(table.base_is_off());
    findings.extend(table.dips());
    findings.extend(cpu_without_instructions(assembled));
    findings.extend(sessions(assembled, &table));
    findings.extend(one_after_the_other(assembled));
    findings.extend(unlike_repeats(assembled));
    findings.extend(quirks(assembled));
    Ok(findings)
}

fn true_value(placed: &Placed, name: &str) -> Option<f64> {
    placed.values.iter().find(|(_, value)| value.name == name)?.1.value
}

/// The true value, or the published one if the true one is unknown: it is about as far off on all arms.
fn any_value(placed: &Placed, name: &str) -> Option<f64> {
    let value = &placed.values.iter().find(|(_, value)| value.name == name)?.1;
    value.value.or_else(|| number(value.published.as_deref()?))
}

/// Logarithms of rates by test and arm; the median of repeats.
struct Table<'a> {
    assembled: &'a Assembled,
    /// Test, rate of each arm.
    rows: Vec<(&'a str, Vec<Option<f64>>)>,
}

impl<'a> Table<'a> {
    fn of(assembled: &'a Assembled) -> Self {
        let mut rates: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for placed in &assembled.results {
            let rate = placed.measurement.work.as_ref().map(|work| work.per_second());
            rates
                .entry((placed.step, placed.arm))
                .or_default()
                .extend(rate.filter(|rate| *rate > 0.0).map(f64::ln));
        }
        let tests = assembled.steps.iter().enumerate().filter(|(_, step)| step.role == Role::Test);
        let rows = tests.map(|(index, step)| {
            let of_arm = |arm: usize| rates.get(&(index, arm)).and_then(|rates| median(rates));
            (step.name.as_str(), (0..assembled.arms.len()).map(of_arm).collect())
        });
        Self { assembled, rows: rows.collect() }
    }

    fn name(&self, arm: usize) -> &str {
        &self.assembled.arms[arm].name
    }

    /// Tests in which all others agree with one another and not with base.
    fn base_is_off(&self) -> Findings {
        let base = self.assembled.base;
        let mut findings = Findings::new();
        for (test, rates) in &self.rows {
            let Some(of_base) = rates[base] else { continue };
            let others = rates.iter().enumerate().filter(|(arm, _)| *arm != base);
            let mut others: Vec<f64> =
                others.filter_map(|(_, rate)| Some(rate.as_ref()? - of_base)).collect();
            others.sort_by(f64::total_cmp);
            let all = others.len();
            // One version in ten may be out of line.
            let others = &others[all / 10..all - all / 10];
            let ([least, ..], [.., most], Some(middle)) = (others, others, median(others)) else { continue };
            let is_one_side = *least > 0.0 || *most < 0.0;
            if all >= OTHERS_MIN
                && is_one_side
                && middle.abs() > BASE_OFF_MIN
                && most - least < middle.abs() / 3.0
            {
                let text = format!(
                    "{test}: base is the odd one: {} of {all} others are {:.2} to {:.2} of it, and agree with one another",
                    others.len(),
                    least.exp(),
                    most.exp()
                );
                findings.push((Some(base), text));
            }
        }
        findings
    }

    /// Versions far below the one before and the one after.
    fn dips(&self) -> Findings {
        let mut findings = Findings::new();
        if !self.is_series() {
            return findings;
        }
        for (test, rates) in &self.rows {
            let rates: Vec<(usize, f64)> =
                rates.iter().enumerate().filter_map(|(arm, rate)| Some((arm, (*rate)?))).collect();
            let steps: Vec<f64> = rates.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).collect();
            let Some(noise) = median(&steps).map(|step| step * SD_PER_MAD / std::f64::consts::SQRT_2) else {
                continue;
            };
            for around in rates.windows(3) {
                let [(_, before), (arm, own), (_, after)] = around else { continue };
                let below = before.min(*after) - own;
                if below > DIP_MIN && below > DIP_NOISES * noise {
                    let text = format!(
                        "{test}: below the versions before and after: {:.2} of the lower one, {:.0} times the noise",
                        (-below).exp(),
                        below / noise.max(1e-9)
                    );
                    findings.push((Some(*arm), text));
                }
            }
        }
        findings
    }

    /// Whether arms are versions of one DBMS in ascending order, at least five.
    fn is_series(&self) -> bool {
        let arms = &self.assembled.arms;
        let version =
            |text: &str| text.split('.').map(|part| part.parse::<u32>().ok()).collect::<Option<Vec<u32>>>();
        let versions: Vec<Option<Vec<u32>>> = arms.iter().map(|arm| version(&arm.identity.version)).collect();
        let is_one = arms
            .iter()
            .all(|arm| arm.identity.dbms == arms[0].identity.dbms && !arm.identity.dbms.is_empty());
        let ascends = versions.windows(2).all(|pair| pair[0].is_some() && pair[0] <= pair[1]);
        is_one && arms.len() >= 5 && ascends
    }
}

/// CPU time per operation that moved against base, while rate and instructions per operation did not.
fn cpu_without_instructions(assembled: &Assembled) -> Findings {
    let mut findings = Findings::new();
    let rate = |placed: &Placed| placed.measurement.work.as_ref().map(|work| work.per_second());
    let of_host = |placed: &Placed| {
        let percent = |name| any_value(placed, name);
        Some((percent("host_user_percent")? + percent("host_system_percent")?) / rate(placed)?)
    };
    let cpu = |placed: &Placed| any_value(placed, "host_cpu_per_op").or_else(|| of_host(placed));
    let instructions = |placed: &Placed| {
        let counted = ["instructions_per_s", "instructions:u_per_s"];
        Some(counted.iter().find_map(|name| true_value(placed, name))? / rate(placed)?)
    };
    let has_counts = |one: &&Placed| cpu(one).is_some() && instructions(one).is_some();
    let of_base = assembled.results.iter().filter(|one| one.arm == assembled.base).filter(has_counts);
    let bases: BTreeMap<(usize, u32), &Placed> = of_base.map(|one| ((one.step, one.repeat), one)).collect();
    for placed in assembled.results.iter().filter(|one| one.arm != assembled.base).filter(has_counts) {
        let Some(base) = bases.get(&(placed.step, placed.repeat)).copied() else { continue };
        let ratio = |of: &dyn Fn(&Placed) -> Option<f64>| {
            Some(of(placed)? / of(base)?).filter(|ratio| ratio.is_finite())
        };
        let (Some(rate), Some(cpu), Some(instructions)) = (ratio(&rate), ratio(&cpu), ratio(&instructions))
        else {
            continue;
        };
        let is_steady = |ratio: f64| (ratio - 1.0).abs() <= STEADY;
        if is_steady(rate) && is_steady(instructions) && (cpu - 1.0).abs() > CPU_MOVED {
            let text = format!(
                "{}: the host was disturbed: CPU time per operation is {cpu:.2} of base's, its instructions {instructions:.2}, the \
                 rate {rate:.2}",
                assembled.steps[placed.step].name
            );
            findings.push((Some(placed.arm), text));
        }
    }
    findings
}

/// Arms measured on other days than base, and how far builds moved that were measured in both sessions.
fn sessions(assembled: &Assembled, table: &Table<'_>) -> Findings {
    let arms = &assembled.arms;
    let mut findings = Findings::new();
    let Some(of_base) = arms[assembled.base].measured_at_ms else { return findings };
    let days = |ms: i64| (ms as f64 / 86_400_000.0).round();
    for (index, arm) in arms.iter().enumerate() {
        if let Some(at) = arm.measured_at_ms.filter(|at| at.abs_diff(of_base) > SESSION_MS as u64) {
            let apart = days((at - of_base).abs());
            let text = format!(
                "measured {apart:.0} days from base: a difference may be of the session, not of the version"
            );
            findings.push((Some(index), text));
        }
    }
    for (first, arm) in arms.iter().enumerate() {
        for (second, again) in arms.iter().enumerate().skip(first + 1) {
            let is_same = arm.identity == again.identity && !arm.identity.version.is_empty();
            let apart = arm.measured_at_ms.zip(again.measured_at_ms).map(|(a, b)| a.abs_diff(b));
            let Some(apart) = apart.filter(|apart| is_same && *apart > SESSION_MS as u64) else { continue };
            let shifts: Vec<f64> =
                table.rows.iter().filter_map(|(_, rates)| Some(rates[second]? - rates[first]?)).collect();
            if let Some(shift) = median(&shifts) {
                let text = format!(
                    "the same build as {}, {:.0} days apart: it moved by {:+.1} % at the median of {} tests, which is of the session",
                    table.name(first),
                    days(apart as i64),
                    (shift.exp() - 1.0) * 100.0,
                    shifts.len()
                );
                findings.push((Some(second), text));
            }
        }
    }
    findings
}

/// Arms with repeats, all of which were measured before or after all of base's.
fn one_after_the_other(assembled: &Assembled) -> Findings {
    let times = |arm: usize| -> Option<Vec<i64>> {
        let of_arm = assembled.results.iter().filter(|placed| placed.arm == arm);
        let times: Option<Vec<i64>> =
            of_arm.map(|placed| assembled.sources[placed.source].measured_at_ms).collect();
        let is_repeated = |times: &Vec<i64>| times.iter().collect::<BTreeSet<_>>().len() > 1;
        times.filter(is_repeated)
    };
    let Some(of_base) = times(assembled.base) else { return Findings::new() };
    let arms = (0..assembled.arms.len()).filter(|arm| *arm != assembled.base);
    let note = |arm: usize| {
        let of_arm = times(arm)?;
        let is_after = of_base.iter().max() < of_arm.iter().min();
        let is_before = of_arm.iter().max() < of_base.iter().min();
        let when = if is_after { "after" } else { "before" };
        (is_after || is_before).then(|| {
            let text = format!(
                "all its repeats were measured {when} those of base: a drift of the host looks like a difference; measure arms in turns"
            );
            (Some(arm), text)
        })
    };
    arms.filter_map(note).collect()
}

/// Repeats from files of one directory whose names differ in more than numbers: they may be of several arms.
fn unlike_repeats(assembled: &Assembled) -> Findings {
    let mut of_test: BTreeMap<(usize, usize), BTreeMap<String, &str>> = BTreeMap::new();
    for placed in assembled.results.iter().filter(|placed| !assembled.arms[placed.arm].is_given) {
        let path = assembled.sources[placed.source].path.as_str();
        let name = path.rsplit('/').next().unwrap_or(path).replace(|c: char| c.is_ascii_digit(), "");
        of_test.entry((placed.arm, placed.step)).or_default().insert(name, path);
    }
    let directory = |path: &str| path.rsplit_once('/').map(|(directory, _)| directory.to_owned());
    let is_in_one = |names: &BTreeMap<String, &str>| {
        names.values().map(|path| directory(path)).collect::<BTreeSet<_>>().len() == 1
    };
    let unlike = of_test.into_values().filter(|names| names.len() > 1 && is_in_one(names));
    let paths: BTreeSet<Vec<&str>> = unlike.map(|names| names.into_values().collect()).collect();
    let Some(paths) = paths.into_iter().max_by_key(Vec::len) else { return Findings::new() };
    let text = format!(
        "files of one directory with unlike names are taken for repeats; if they are not, import them apart, or give each as \
         ARM=PATH: {}",
        paths.join(", ")
    );
    vec![(None, clipped(&text, REPEATS_CHARS_MAX))]
}

/// Quirks that make a published figure differ from the measured one by more than 1 %.
fn quirks(assembled: &Assembled) -> Findings {
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for placed in &assembled.results {
        for (source, value) in &placed.values {
            let (Some(measured), Some(published)) =
                (value.value, value.published.as_deref().and_then(number))
            else {
                continue;
            };
            let quirks = &assembled.sources[*source].quirks;
            let is = |quirk: Quirk| quirks.iter().any(|key| key == quirk.key());
            let ratio = measured / published;
            if is(Quirk::Samples)
                && value.name.starts_with("host_")
                && published > 0.0
                && (ratio - 1.0).abs() > QUIRK_MIN
            {
                ratios.entry(Quirk::Samples.key()).or_default().push(ratio);
            }
        }
    }
    let note = |(key, ratios): (&str, Vec<f64>)| {
        let middle = median(&ratios)?;
        let count = ratios.len();
        Some((
            None,
            format!(
                "quirk {key}: {count} figures were {:.1} % too low as published (median)",
                (1.0 - 1.0 / middle) * 100.0
            ),
        ))
    };
    ratios.into_iter().filter_map(note).collect()
}
