//! Functions that take more or less of a session's CPU time, from profiles of both arms.
//!
//! A profile is taken in a separate pass and gives the distribution of CPU time; the amount comes from the
//! measured windows. Background processes are reported by their CPU time; of RocksDB's background threads the
//! profiles alone are compared.

use rqps_store::Profile;

use crate::context::Context;
use crate::error::Result;
use crate::figures::{BACKENDS, Cell};
use crate::model::{Cause, Certainty, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

mod change;
mod new;
mod stacks;

use change::{Changed, Changes, Moved, Pair};
pub(crate) use new::NewFunctions;
use stacks::{SESSIONS, Stacks, is_kernel, is_named};

/// Maximum number of functions named in a sentence, and kept as evidence.
const NAMED_MAX: usize = 3;
const EVIDENCE_MAX: usize = 5;
/// From this share of samples in unresolved functions on, a remark says so.
const UNNAMED_SHARE: f64 = 0.05;
/// From this share of lost samples on, a remark says so.
const LOST_SHARE: f64 = 0.05;
/// From this share of the change on, the kernel is named.
const KERNEL_SHARE: f64 = 0.5;
/// RocksDB's background threads.
pub(crate) const BACKGROUND: [&str; 2] = ["flush", "compaction"];
/// Fewer samples of them do not tell functions apart.
const BACKGROUND_SAMPLES_MIN: u64 = 50;
/// Functions that together account for less than this share of a change make no finding.
const EXPLAINED_MIN: f64 = 0.2;
/// The change in profiles may differ from that in windows by this share of it plus this minimum; logarithms
/// of ratios.
const UNLIKE_SHARE: f64 = 0.67;
const UNLIKE_MIN: f64 = 0.1;
/// Half width of a 99 % interval of a normal distribution, in standard errors.
const ERRORS_OF_99_PERCENT: f64 = 2.576;

/// What the profiles of two arms tell.
#[derive(Default)]
pub(crate) struct Found {
    /// The functions that account for a change of CPU time.
    pub finding: Option<Finding>,
    /// If there is no such finding, which would name them.
    pub new: Option<NewFunctions>,
}

/// Compares the profiles of the two arms. Caveats are added to `remarks`.
pub(crate) fn compare(cx: &Context<'_>, remarks: &mut Vec<String>) -> Result<Found> {
    let profiles = [cx.profile(cx.base), cx.profile(cx.arm)];
    let [Some(base), Some(arm)] = profiles else {
        if cx.changed() && (cx.has_independent_tests() || cx.run.meta.is_imported()) {
            remarks.push(missing(cx, profiles.map(|profile| profile.is_some())));
        }
        return Ok(Found::default());
    };
    let folded = [cx.run.folded(&base.result)?, cx.run.folded(&arm.result)?];
    let stacks = [0, 1].map(|at| Stacks::parse(&folded[at], &SESSIONS));
    for (index, profile, stacks) in [(cx.base, base, &stacks[0]), (cx.arm, arm, &stacks[1])] {
        remarks.extend(lost(&cx.run.arms[index].name, &profile.result));
        remarks.extend(unnamed(&cx.run.arms[index].name, &profile.result, stacks));
    }
    let (by_base, by_arm) = (&base.result.event, &arm.result.event);
    if by_base != by_arm {
        remarks.push(format!(
            "the profiles are not comparable: base was sampled by {by_base}, the arm by {by_arm}"
        ));
        return Ok(Found::default());
    }
    remarks.extend(background(cx, [(&base.result, &folded[0]), (&arm.result, &folded[1])]));
    let Some(cpu) = cx.figures.quantity(sessions_cpu_per_op) else {
        remarks.push(match cx.run.meta.is_imported() {
            true => format!(
                "the flamegraphs are not compared by function: no imported file tells the CPU time of an operation; \
                 `rqps report {} --html FILE` draws them and their difference",
                cx.run.folder.name()
            ),
            false => "the profiles are not compared: per-session CPU times are unknown".to_owned(),
        });
        return Ok(Found::default());
    };
    if let Some(why) = contradiction(cx, &cpu, [(&base.result, &stacks[0]), (&arm.result, &stacks[1])]) {
        remarks.push(why);
        return Ok(Found::default());
    }
    let has_callers = [base, arm].iter().all(|profile| profile.result.call_graph != "none");
    let changes_at = |base_us_per_op: f64, arm_us_per_op: f64| {
        Pair { base: &stacks[0], arm: &stacks[1], base_us_per_op, arm_us_per_op, has_callers }.changes()
    };
    let changes = changes_at(cpu.base, cpu.arm);
    remarks.extend(changes.moved.iter().map(|moved| move_remark(cx, moved)));
    if !cpu.matters() {
        let us = [(&base.result, &stacks[0]), (&arm.result, &stacks[1])].map(sampled_us_per_op);
        let changes = changes_at(us[0], us[1]);
        let new = NewFunctions::of(cx, &changes, &stacks);
        remarks.push(profiles_alone(cx, changes, us));
        return Ok(Found { new, ..Found::default() });
    }
    // With the same CPU time for both arms, only shares differ.
    let shares = changes_at(cpu.base, cpu.base);
    if shares.functions.is_empty() && shares.moved.is_empty() {
        remarks.push(format!(
            "{} takes {} us {} of CPU per {}, spread evenly over all functions: no function's share of the profile \
             changed",
            cx.candidate().name,
            words::number(cpu.change().abs()),
            more_or_less(cpu.change()),
            cx.operation(),
        ));
        return Ok(Found::default());
    }
    let finding = functions_finding(cx, &cpu, &changes);
    if finding.is_none() {
        remarks.push(format!(
            "no function accounts for {} or more of the difference in CPU time; in the profiles, {}",
            words::percent(EXPLAINED_MIN),
            largest(&changes)
        ));
    }
    let new = if finding.is_none() { NewFunctions::of(cx, &changes, &stacks) } else { None };
    Ok(Found { finding, new })
}

/// What the profiles show where the windows' CPU time is too noisy to be explained: whoever took them gets an answer.
fn profiles_alone(cx: &Context<'_>, changes: Changes, [base_us, arm_us]: [f64; 2]) -> String {
    let rise_us = arm_us - base_us;
    let has_changed = rise_us.abs() > UNLIKE_MIN * base_us;
    let unnamed = if has_changed { unnamed_changes(&changes, rise_us) } else { String::new() };
    let mut changes = changes.of_programs();
    if has_changed {
        // What goes the other way explains nothing.
        changes.functions.retain(|changed| changed.spent.change_us() * rise_us > 0.0);
    }
    format!(
        "the windows' CPU time does not differ beyond its noise, so the profiles explain no change of it; in the profiles, \
         a separate pass, sessions of {} take {} us of CPU per {} and those of {} {}: {}{unnamed}",
        cx.base_arm().name,
        words::number(base_us),
        cx.operation(),
        cx.candidate().name,
        words::number(arm_us),
        largest(&changes)
    )
}

/// What the kernel and libraries without names of functions add to a rise, or take from it.
fn unnamed_changes(changes: &Changes, rise_us: f64) -> String {
    let is_of_it = |changed: &&Changed| {
        (is_kernel(&changed.name) || !is_named(&changed.name)) && changed.spent.change_us() * rise_us > 0.0
    };
    let of = |changed: &Changed| {
        let change = changed.spent.change_us();
        format!("{} {} us {}", display_name(&changed.name), words::number(change.abs()), more_or_less(change))
    };
    let found: Vec<String> = changes.functions.iter().filter(is_of_it).take(NAMED_MAX).map(of).collect();
    if found.is_empty() {
        return String::new();
    }
    format!("; in the kernel, and where functions have no names, {}", words::list(&found))
}

/// The functions whose time changed most, or that there are none.
fn largest(changes: &Changes) -> String {
    let named: Vec<&Changed> = changes.functions.iter().filter(|changed| is_named(&changed.name)).collect();
    let of = |changed: &&Changed| {
        let change = changed.spent.change_us();
        let (by, of) = (words::number(change.abs()), words::number(changed.spent.base_us));
        format!("{} {by} us {} (base: {of})", display_name(&changed.name), more_or_less(change))
    };
    match named.len() {
        0 => "no function's time differs beyond its error".to_owned(),
        count => {
            let shown: Vec<String> = named.iter().take(NAMED_MAX).map(of).collect();
            match count.saturating_sub(NAMED_MAX) {
                0 => words::list(&shown),
                rest => format!("{} and {}", shown.join(", "), more(rest)),
            }
        }
    }
}

/// The CPU time of an operation, by the number of samples.
fn sampled_us_per_op((profile, stacks): (&Profile, &Stacks)) -> f64 {
    stacks.samples as f64 / profile.frequency_hz * 1e6 / profile.operations
}

/// What the profiles show of RocksDB's background threads, whose CPU time is no part of an operation's.
fn background(cx: &Context<'_>, profiles: [(&Profile, &String); 2]) -> Vec<String> {
    let mut remarks = Vec::new();
    for role in BACKGROUND {
        let stacks = profiles.map(|(_, folded)| Stacks::parse(folded, &[role]));
        if stacks.iter().any(|stacks| stacks.samples < BACKGROUND_SAMPLES_MIN) {
            continue;
        }
        let [base_us, arm_us] = [0, 1].map(|at| sampled_us_per_op((profiles[at].0, &stacks[at])));
        let has_callers = profiles.iter().all(|(profile, _)| profile.call_graph != "none");
        let pair = Pair {
            base: &stacks[0],
            arm: &stacks[1],
            base_us_per_op: base_us,
            arm_us_per_op: arm_us,
            has_callers,
        };
        let changes = pair.changes().of_programs();
        if changes.functions.iter().any(|changed| is_named(&changed.name)) {
            remarks.push(format!(
                "in the profiles, the {role} of {} takes {} us of CPU per {} and that of {} {}: {}",
                cx.base_arm().name,
                words::number(base_us),
                cx.operation(),
                cx.candidate().name,
                words::number(arm_us),
                largest(&changes)
            ));
        }
    }
    remarks
}

fn sessions_cpu_per_op(cell: Cell<'_>) -> Option<f64> {
    let workers = cell.metric("server_role.parallel_worker_us").unwrap_or(0.0);
    Some((cell.metric(BACKENDS)? + workers) / cell.operations()).filter(|us| *us > 0.0)
}

fn missing(cx: &Context<'_>, has: [bool; 2]) -> String {
    let which = match has {
        [false, false] => String::new(),
        [true, false] => format!(" of {}", cx.candidate().name),
        _ => format!(" of {}", cx.base_arm().name),
    };
    let run = cx.run.folder.name();
    if cx.run.meta.is_imported() {
        return format!("no flamegraph{which} is among the imported files");
    }
    format!("no CPU profile{which}: `rqps profile {run} --test {}` takes one", cx.test)
}

/// Whether the profiles contradict the windows. A test that depends on earlier steps ran on other data in the
/// profile, which explains a change only if it shows the same change. Samples are taken by CPU time, so their
/// number per operation is comparable.
fn contradiction(cx: &Context<'_>, cpu: &Quantity, profiles: [(&Profile, &Stacks); 2]) -> Option<String> {
    let [base_us, arm_us] = profiles.map(sampled_us_per_op);
    let (in_windows, in_profiles) = (cpu.ratio(), arm_us / base_us);
    let apart = (in_windows.ln() - in_profiles.ln()).abs();
    let agrees = apart <= UNLIKE_SHARE * in_windows.ln().abs() + UNLIKE_MIN;
    (cpu.matters() && in_profiles.is_finite() && !agrees).then(|| {
        format!(
            "the profiles are not compared: {} takes {} times the CPU time of {} per {} in the windows but {} times in \
             the profiles, which were taken in a separate pass with other data or another load on the machine",
            cx.candidate().name,
            words::number(in_windows),
            cx.base_arm().name,
            cx.operation(),
            words::number(in_profiles)
        )
    })
}

/// A remark on samples that the kernel took and perf could not write.
fn lost(arm: &str, profile: &Profile) -> Option<String> {
    let all = profile.samples + profile.lost_samples;
    let share = profile.lost_samples as f64 / all.max(1) as f64;
    (share >= LOST_SHARE).then(|| {
        format!(
            "{} of the {} samples of {arm} were lost: perf could not write them in time, and what it lost need not be \
             like the rest",
            words::percent(share),
            rqps_model::grouped(all, ',')
        )
    })
}

/// A remark on unresolved functions of the sessions, with the remedy from the profile's note.
fn unnamed(arm: &str, profile: &Profile, stacks: &Stacks) -> Option<String> {
    let share = stacks.unnamed as f64 / stacks.samples.max(1) as f64;
    (share >= UNNAMED_SHARE).then(|| {
        let note = profile.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        format!(
            "{} of the samples of {arm}'s sessions are in unresolved functions{note}",
            words::percent(share)
        )
    })
}

fn functions_finding(cx: &Context<'_>, cpu: &Quantity, changes: &Changes) -> Option<Finding> {
    let change = cpu.change();
    let contributes =
        |changed: &&Changed| is_named(&changed.name) && changed.spent.change_us() * change > 0.0;
    let contributing: Vec<&Changed> = changes.functions.iter().filter(contributes).collect();
    let explained = contributing.iter().map(|changed| changed.spent.change_us()).sum::<f64>() / change;
    if explained < EXPLAINED_MIN && changes.place.is_none() {
        return None;
    }
    Some(Finding {
        word: word(cx, cpu),
        cause: Cause::Function,
        sentence: sentence(cx, cpu, changes, &contributing, explained),
        share: None,
        weight: explained.clamp(0.0, 1.0).max(if changes.place.is_some() { 0.5 } else { 0.0 }),
        certainty: Certainty::SinglePass,
        evidence: evidence(cx, changes, &contributing),
    })
}

/// More CPU time for the same instructions is slower work.
fn word(cx: &Context<'_>, cpu: &Quantity) -> Word {
    match cx.figures.quantity(|cell| Some(cell.instructions()? / cell.operations())) {
        Some(instructions) if !(instructions.matters() && instructions.rose() == cpu.rose()) => {
            Word::speed(cpu.rose())
        }
        _ => Word::work(cpu.rose()),
    }
}

fn more(functions: usize) -> String {
    format!("{functions} more {}", if functions == 1 { "function" } else { "functions" })
}

fn more_or_less(change: f64) -> &'static str {
    if change > 0.0 { "more" } else { "less" }
}

fn sentence(
    cx: &Context<'_>,
    cpu: &Quantity,
    changes: &Changes,
    contributing: &[&Changed],
    explained: f64,
) -> String {
    let change = cpu.change();
    let (arm, base, operation) = (&cx.candidate().name, &cx.base_arm().name, cx.operation());
    let us = words::number(change.abs());
    let mut sentence = format!(
        "a session of {arm} uses {us} us {} CPU per {operation} than one of {base}",
        more_or_less(change)
    );
    if !contributing.is_empty() {
        let named: Vec<String> = contributing
            .iter()
            .take(NAMED_MAX)
            .map(|changed| {
                let spent = &changed.spent;
                let (by, of) = (words::number(spent.change_us().abs()), words::number(spent.base_us));
                format!("{} {by} us {} (base: {of})", display_name(&changed.name), more_or_less(change))
            })
            .collect();
        let rest = match contributing.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            rest => format!(" and {}", more(rest)),
        };
        let part = words::percent(explained.min(1.0));
        sentence.push_str(&format!(": {}{rest}, {part} of the difference", words::list(&named)));
    }
    let is_named_already =
        |name: &str| contributing.iter().take(NAMED_MAX).any(|changed| changed.name == name);
    if let Some(place) = changes.place.as_ref().filter(|place| !is_named_already(&place.name)) {
        let part = words::percent((place.spent.change_us() / change).min(1.0));
        sentence.push_str(&format!("; {part} of it in {} and its callees", display_name(&place.name)));
    }
    let in_kernel = changes.kernel.change_us() / change;
    if in_kernel >= KERNEL_SHARE {
        sentence.push_str(&format!("; {} of it in the kernel", words::percent(in_kernel.min(1.0))));
    }
    sentence
}

fn display_name(name: &str) -> String {
    match is_kernel(name) {
        true => format!("{} (kernel)", name.trim_end_matches("_[k]")),
        false => name.to_owned(),
    }
}

fn evidence(cx: &Context<'_>, changes: &Changes, contributing: &[&Changed]) -> Vec<Evidence> {
    let opposing = changes.functions.iter().filter(|changed| !contributing.contains(changed));
    let place = changes.place.iter().map(|changed| (changed, "in and below"));
    let functions =
        contributing.iter().copied().chain(opposing).take(EVIDENCE_MAX).map(|changed| (changed, "in"));
    functions.chain(place).map(|(changed, what)| figure(cx, changed, what)).collect()
}

fn figure(cx: &Context<'_>, changed: &Changed, what: &str) -> Evidence {
    let spent = &changed.spent;
    let noise = ERRORS_OF_99_PERCENT * spent.error_us / spent.base_us;
    Evidence {
        what: format!("CPU time {what} {}", display_name(&changed.name)),
        unit: cx.per_op("us"),
        base: Some(spent.base_us),
        arm: Some(spent.arm_us),
        noise: noise.is_finite().then_some(noise),
        ..Evidence::default()
    }
}

fn move_remark(cx: &Context<'_>, moved: &Moved) -> String {
    let names = |changed: &[Changed]| {
        let names: Vec<String> =
            changed.iter().take(NAMED_MAX).map(|changed| display_name(&changed.name)).collect();
        words::list(&names)
    };
    let us = moved.to.iter().map(|changed| changed.spent.change_us()).sum::<f64>();
    format!(
        "{} us of CPU per {} moved from {} into {}; {} and its callees take as long as before",
        words::number(us),
        cx.operation(),
        names(&moved.from),
        names(&moved.to),
        display_name(&moved.within)
    )
}
