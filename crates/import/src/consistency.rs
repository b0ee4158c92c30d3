//! Mistakes in results that figures show: what is derived against what it comes from, and arms against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rqps_model::clipped;
use rqps_model::counted;

use crate::error::Result;
use crate::formats::hammerdb::FAILED_USERS;
use crate::formats::pgbench;
use crate::formats::rates_csv::GIVEN_RATE;
use crate::grouped::grouped;
use crate::model::{FAILED_MIN, Quirk, median, number};
use crate::out_of_line::{Odd, Table};
use crate::placed::{Assembled, Doubt, Findings, Placed};
use crate::{apart, coverage, dates, derived, near_names, printed_rate};

/// Arms measured further apart than this were measured in different sessions.
const SESSION_MS: i64 = 7 * 24 * 3600 * 1000;
/// CPU time of an operation that moved, while its rate and instructions did not.
const CPU_MOVED: f64 = 0.15;
const STEADY: f64 = 0.07;
/// Of tests that a note names.
const NAMES_CHARS_MAX: usize = 300;
/// A quirk that changes a figure by less is not worth a note.
const QUIRK_MIN: f64 = 0.01;

/// Examines results that are in their places. Doubts are about figures that should be checked before they are used.
///
/// # Errors
/// If figures of two arms are exchanged: then no comparison of them means anything.
pub fn examine(assembled: &Assembled) -> Result<(Vec<Doubt>, Findings)> {
    let of_derived = derived::examine(assembled)?;
    let table = Table::of(assembled);
    let mut doubts = schedules(assembled);
    doubts.extend(misnamed(assembled));
    doubts.extend(failures(assembled));
    doubts.extend(failed_users(assembled));
    doubts.extend(printed_rate::examine(assembled));
    doubts.extend(coverage::examine(assembled)?);
    doubts.extend(near_names::examine(assembled));
    doubts.extend(apart::examine(assembled));
    doubts.extend(mixes(assembled));
    let (of_threads, of_durations) = ran_otherwise(assembled);
    doubts.extend(of_threads);
    let mut repeated = Findings::new();
    doubts.extend(unrepeated(assembled, table.base_is_off(), &mut repeated));
    doubts.extend(of_derived);
    doubts.extend(unrepeated(assembled, table.versions_off(), &mut repeated));
    doubts.extend(cpu_without_instructions(assembled));
    let mut findings = repeated;
    findings.extend(sessions(assembled, &table));
    findings.extend(one_after_the_other(assembled));
    findings.extend(periods(assembled));
    findings.extend(of_durations);
    findings.extend(quirks(assembled));
    Ok((doubts, findings))
}

/// Bases and versions that are out of line. What each repeat shows anew is no mistake in a figure, and only told.
fn unrepeated(assembled: &Assembled, all: Vec<Odd>, repeated: &mut Findings) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for Odd { mut doubt, repeats } in all {
        let Some(count) = repeats else {
            doubt.text.push_str("; measure it anew to see whether it is so again");
            doubts.push(doubt);
            continue;
        };
        let step = match doubt.steps[..] {
            [step] => format!("{}: ", assembled.steps[step].name),
            _ => String::new(),
        };
        repeated.push((Some(doubt.arm), format!("{step}{}; in each of {count} repeats", doubt.text)));
    }
    doubts
}

/// Results of one test whose events have other statements than base's: files of two tests were exchanged, or a script
/// is another one.
fn mixes(assembled: &Assembled) -> Vec<Doubt> {
    let mut of_base: BTreeMap<usize, &Placed> = BTreeMap::new();
    for placed in assembled.results.iter().filter(|one| one.arm == assembled.base) {
        of_base.entry(placed.step).or_insert(placed);
    }
    let doubt = |placed: &Placed| {
        let base = of_base.get(&placed.step)?;
        let (own, other) = (placed.measurement.mix?, base.measurement.mix?);
        own.differs_from(&other).then(|| {
            let path = |one: &Placed| assembled.sources[one.source].path.clone();
            let text = format!(
                "an event is {} of {:.1} statements in {}, but {} of {:.1} in {}: they may be of two tests",
                own.words(),
                own.all,
                path(placed),
                other.words(),
                other.all,
                path(base)
            );
            Doubt::of(placed, text)
        })
    };
    let mut known = BTreeSet::new();
    let first = |doubt: &Doubt| known.insert((doubt.arm, doubt.steps.clone()));
    assembled.results.iter().filter_map(doubt).filter(first).collect()
}

/// Arms whose runs of pgbench had other threads than base's, or took another time.
fn ran_otherwise(assembled: &Assembled) -> (Vec<Doubt>, Findings) {
    let values = |name: &str| -> BTreeMap<(usize, usize), BTreeSet<u64>> {
        let value = |one: &Placed| Some(((one.arm, one.step), true_value(one, name)? as u64));
        grouped(assembled.results.iter().filter_map(value))
    };
    let mut doubts = Vec::new();
    let mut findings = Findings::new();
    for (name, noun, option) in [(pgbench::THREADS, "thread", "-j"), (pgbench::DURATION, "second", "-T")] {
        let all = values(name);
        for ((arm, step), own) in all.iter().filter(|((arm, _), _)| *arm != assembled.base) {
            let Some(of_base) = all.get(&(assembled.base, *step)).filter(|of_base| *of_base != own) else {
                continue;
            };
            let list = |all: &BTreeSet<u64>| all.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            let plural = if *own == BTreeSet::from([1]) { "" } else { "s" };
            let text = format!(
                "pgbench ran with {} {noun}{plural} ({option}), but {} on base",
                list(own),
                list(of_base)
            );
            match name {
                pgbench::THREADS => doubts.push(Doubt::of_test(*arm, *step, text)),
                _ => findings.push((Some(*arm), format!("{}: {text}", assembled.steps[*step].name))),
            }
        }
    }
    (doubts, findings)
}

/// Rates that an option of the program set.
fn schedules(assembled: &Assembled) -> Vec<Doubt> {
    let step = |one: &Placed| Some(((one.arm, one.measurement.schedule?), one.step));
    let of_arm: BTreeMap<(usize, &str), BTreeSet<usize>> = grouped(assembled.results.iter().filter_map(step));
    let doubt = |((arm, option), steps): ((usize, &str), BTreeSet<usize>)| {
        let text = format!(
            "the rate was set by {option}: it is that schedule, not what the server can do, so there is no verdict on it; \
             compare latencies (`rqps show RUN --published` has the printed ones), or measure without that option"
        );
        Doubt { arm, steps: steps.into_iter().collect(), repeat: None, text }
    };
    of_arm.into_iter().map(doubt).collect()
}

/// Results whose files' names contradict what is in them.
fn misnamed(assembled: &Assembled) -> Vec<Doubt> {
    let doubt = |placed: &Placed| {
        let text = placed.measurement.misnamed.as_ref()?;
        let text = format!("{}: {text}", assembled.sources[placed.source].path);
        Some(Doubt::of(placed, text))
    };
    assembled.results.iter().filter_map(doubt).collect()
}

/// Rates of servers that failed at part of the work.
fn failures(assembled: &Assembled) -> Vec<Doubt> {
    let mut of_arm: BTreeMap<usize, (f64, BTreeSet<usize>)> = BTreeMap::new();
    for placed in &assembled.results {
        let Some(work) = &placed.measurement.work else { continue };
        let done = work.events.map_or(work.operations, |events| events as f64);
        let failed = work.errors.unwrap_or(0) as f64;
        let share = failed / (failed + done);
        if work.elapsed_us.is_some() && share >= FAILED_MIN {
            let (most, steps) = of_arm.entry(placed.arm).or_default();
            *most = most.max(share);
            steps.insert(placed.step);
        }
    }
    let doubt = |(arm, (most, steps)): (usize, (f64, BTreeSet<usize>))| {
        let text = format!(
            "up to {:.0} % of what was asked for failed; the rate counts what succeeded, and failing may be quicker than the work",
            most * 100.0
        );
        Doubt { arm, steps: steps.into_iter().collect(), repeat: None, text }
    };
    of_arm.into_iter().map(doubt).collect()
}

/// Runs of HammerDB in which virtual users failed: fewer did the work than were to.
fn failed_users(assembled: &Assembled) -> Vec<Doubt> {
    let failed = assembled.results.iter().filter_map(|one| Some((true_value(one, FAILED_USERS)?, one)));
    let of_test: BTreeMap<(usize, usize), Vec<(f64, &Placed)>> =
        grouped(failed.map(|(failed, one)| ((one.arm, one.step), (failed, one))));
    let doubt = |((arm, step), found): (_, Vec<(f64, &Placed)>)| {
        let (most, worst) =
            found.iter().copied().reduce(|one, other| if other.0 > one.0 { other } else { one })?;
        let of = worst.measurement.clients.map(|clients| format!(" of {clients}")).unwrap_or_default();
        let text = format!(
            "{most}{of} virtual users failed (FINISHED FAILED in {}; {}): the rate is that of fewer clients",
            assembled.sources[worst.source].path,
            counted(found.len(), "result with failures")
        );
        let repeat = Some(worst.repeat).filter(|_| found.len() == 1);
        Some(Doubt { arm, steps: vec![step], repeat, text })
    };
    of_test.into_iter().filter_map(doubt).collect()
}

/// Rates that a table gives per minute or hour.
fn periods(assembled: &Assembled) -> Findings {
    let mut of_period: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for placed in &assembled.results {
        for (_, value) in placed.values.iter().filter(|(_, value)| value.name == GIVEN_RATE) {
            let period = match value.unit.as_ref() {
                "1/min" => "minute",
                "1/h" => "hour",
                _ => continue,
            };
            of_period.entry(period).or_default().insert(placed.step);
        }
    }
    let note = |(period, steps): (&str, BTreeSet<usize>)| {
        let names: Vec<&str> = steps.iter().map(|step| assembled.steps[*step].name.as_str()).collect();
        let names = clipped(&names.join(", "), NAMES_CHARS_MAX);
        (None, format!("rates that the file gives per {period} are shown per second: {names}"))
    };
    of_period.into_iter().map(note).collect()
}

fn true_value(placed: &Placed, name: &str) -> Option<f64> {
    placed.values.iter().find(|(_, value)| value.name == name)?.1.value
}

/// The true value, or the published one if the true one is unknown: it is about as far off on all arms.
fn any_value(placed: &Placed, name: &str) -> Option<f64> {
    let value = &placed.values.iter().find(|(_, value)| value.name == name)?.1;
    value.value.or_else(|| number(value.published.as_deref()?))
}

/// CPU time per operation that moved against base, while rate and instructions per operation did not.
fn cpu_without_instructions(assembled: &Assembled) -> Vec<Doubt> {
    let mut doubts = Vec::new();
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
                "the host was disturbed: CPU time per operation is {cpu:.2} of base's, its instructions {instructions:.2}, the \
                 rate {rate:.2}"
            );
            doubts.push(Doubt::of(placed, text));
        }
    }
    doubts
}

/// When an arm was measured: as files tell, else their names.
fn measured_at_ms(assembled: &Assembled, arm: usize) -> Option<i64> {
    let of_arm = assembled.results.iter().filter(|placed| placed.arm == arm);
    let of_names = || of_arm.filter_map(|placed| date_of_name(assembled, placed)).min();
    assembled.arms[arm].measured_at_ms.or_else(of_names)
}

fn date_of_name(assembled: &Assembled, placed: &Placed) -> Option<i64> {
    dates::of_path(Path::new(&assembled.sources[placed.source].path))
}

/// Arms measured on other days than base, and how far builds moved that were measured in both sessions.
fn sessions(assembled: &Assembled, table: &Table<'_>) -> Findings {
    let arms = &assembled.arms;
    let mut findings = Findings::new();
    let Some(of_base) = measured_at_ms(assembled, assembled.base) else { return findings };
    let days = |ms: i64| (ms as f64 / 86_400_000.0).round();
    for index in 0..arms.len() {
        if let Some(at) =
            measured_at_ms(assembled, index).filter(|at| at.abs_diff(of_base) > SESSION_MS as u64)
        {
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
            let shifts = table.shifts(first, second);
            if let Some(shift) = median(&shifts) {
                let text = format!(
                    "the same build as {}, {:.0} days apart: it moved by {:+.1} % at the median of {} tests, which is of the session",
                    arms[first].name,
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
    let told = |placed: &Placed| assembled.sources[placed.source].measured_at_ms;
    let times = |arm: usize, time: &dyn Fn(&Placed) -> Option<i64>| -> Option<Vec<i64>> {
        let of_arm = assembled.results.iter().filter(|placed| placed.arm == arm);
        let times: Option<Vec<i64>> = of_arm.map(time).collect();
        let is_repeated = |times: &Vec<i64>| times.iter().collect::<BTreeSet<_>>().len() > 1;
        times.filter(is_repeated)
    };
    let both =
        |arm: usize, time: &dyn Fn(&Placed) -> Option<i64>| times(assembled.base, time).zip(times(arm, time));
    let arms = (0..assembled.arms.len()).filter(|arm| *arm != assembled.base);
    let note = |arm: usize| {
        let (of_base, of_arm) =
            both(arm, &told).or_else(|| both(arm, &|placed| date_of_name(assembled, placed)))?;
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
