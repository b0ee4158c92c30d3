//! Findings from the split of the time per operation alone: more or fewer instructions, slower or faster
//! ones, more or less waiting.

use rqps_stats::Metric;

use crate::commits::wait_more_on_the_first;
use crate::connections;
use crate::context::Context;
use crate::counters::has_writer;
use crate::decompose::{instructions_metric, is_counted_apart, off_cpu_per_op, time_per_op};
use crate::figures::{BACKENDS, CLIENT_CPU_US, CYCLES, Cell};
use crate::model::{Cause, Decomposition, Evidence, Finding, Part, PartName, Shows, Word};
use crate::quantity::{DRIVES, Quantity};
use crate::words;

/// Smallest share of change of instructions that is reported: that metric's minimum effect of interest.
const INSTRUCTIONS_SHARE: f64 = 0.005;
/// Smallest change of a part that is reported, as a share of the time per operation.
const SHARE_MIN: f64 = 0.02;
/// The client's CPU time moved with the server's if its relative change is at least this share of the
/// server's.
const CLIENT_ALONG: f64 = 0.5;
/// From this share of a change on, one kind of waiting is most of it and named as the cause.
pub(crate) const MOST: f64 = 0.5;
/// Below this relative change of the time per operation, shares of it are meaningless.
const CHANGE_MIN: f64 = 0.01;

pub(crate) fn findings(cx: &Context<'_>) -> Vec<Finding> {
    let Some(split) = &cx.decomposition else { return Vec::new() };
    let cpu = match instructions_metric(cx.figures) {
        Some(metric) if is_counted_apart(cx.figures) => counted_apart(cx, split, metric),
        Some(metric) => {
            let counted = find_part(&split.parts, &[PartName::Server, PartName::Instructions]);
            let executed = counted.and_then(|part| executed(cx, split, metric, part.change_us_per_op));
            executed.into_iter().chain(kernel(cx, split)).chain(speed(cx, split)).collect()
        }
        None => cpu_time(cx, split).into_iter().collect::<Vec<_>>(),
    };
    cpu.into_iter().chain(off_cpu(cx, split)).collect()
}

/// `change_us` as a share of the change in time per operation; `None` if that change is within noise, or if, while the
/// rate is undecided, a verdict shows that the cost moved the other way.
pub(crate) fn share_of(cx: &Context<'_>, split: &Decomposition, change_us: f64) -> Option<f64> {
    let whole = split.change_us_per_op();
    let is_beyond_noise = || {
        cx.costs_more().is_none_or(|costs_more| costs_more == (whole > 0.0))
            && cx.figures.quantity(time_per_op).is_some_and(|found| found.exceeds_noise())
    };
    let is_significant = cx.is_rate_changed() || is_beyond_noise();
    (is_significant && whole.abs() >= CHANGE_MIN * split.base_us_per_op).then(|| change_us / whole)
}

/// Finds a nested part by its names.
pub(crate) fn find_part<'a>(parts: &'a [Part], path: &[PartName]) -> Option<&'a Part> {
    let (first, rest) = path.split_first()?;
    let found = parts.iter().find(|part| part.name == *first)?;
    if rest.is_empty() { Some(found) } else { find_part(&found.of, rest) }
}

/// Whether a part's change exceeds noise and is a large enough share of the time per operation; in a single
/// pass, whether it is large.
fn matters(split: &Decomposition, part: &Part) -> bool {
    let share = part.change_us_per_op.abs() / split.base_us_per_op;
    if part.low.is_nan() { share >= 0.10 } else { share >= SHARE_MIN && part.is_beyond_noise() }
}

/// CPU time of the sessions, if it changed; a verdict on CPU time may show it where its own interval does not.
fn changed_cpu<'a>(cx: &Context<'_>, split: &'a Decomposition) -> Option<&'a Part> {
    let part = find_part(&split.parts, &[PartName::Server])?;
    let is_shown = cx.shown_rise(Metric::CpuUs) == Some(part.change_us_per_op > 0.0);
    (is_shown || matters(split, part)).then_some(part)
}

/// A finding about a part of an operation's time, with that part's share of the change.
fn part_finding(
    cx: &Context<'_>,
    part: &Part,
    word: Word,
    cause: Cause,
    sentence: String,
    evidence: Evidence,
) -> Finding {
    let quantity = quantity_of(cx, part);
    let share = cx.decomposition.as_ref().and_then(|split| share_of(cx, split, part.change_us_per_op));
    Finding { weight: 1.0, share, ..cx.finding(word, cause, sentence, &quantity, vec![evidence]) }
}

fn quantity_of(cx: &Context<'_>, part: &Part) -> Quantity {
    Quantity {
        base: part.base_us_per_op,
        arm: part.arm_us_per_op,
        half_width: part.high - part.change_us_per_op,
        blocks: cx.figures.per_op(BACKENDS).map_or(0, |found| found.blocks),
    }
}

/// More or fewer instructions; `change_us` is their effect on the time of an operation.
fn executed(cx: &Context<'_>, split: &Decomposition, metric: &str, change_us: f64) -> Option<Finding> {
    let found = cx.figures.per_op(metric)?;
    // A verdict on them knows the noise of all tests.
    let is_shown = cx.is_shown(Metric::Instructions).unwrap_or_else(|| found.exceeds_noise());
    if !is_shown || found.share() < INSTRUCTIONS_SHARE {
        return None;
    }
    let sentence = format!(
        "{} executes {} instructions per {}, {}",
        cx.names().0,
        words::number(found.arm),
        cx.operation(),
        cx.than(Metric::Instructions, &found)
    );
    let evidence = vec![Evidence::figure("instructions in user mode", cx.per_op("instructions"), &found)];
    let finding = cx.finding(Word::work(found.rose()), Cause::Instructions, sentence, &found, evidence);
    Some(Finding { share: share_of(cx, split, change_us), ..finding })
}

/// Compares CPU time with instructions that were counted outside the windows. If both moved the same way, and
/// instructions at least half as much, all of the CPU time's change is attributed to more or less work; otherwise no
/// more than instructions changed, and none to the speed of that work.
fn counted_apart(cx: &Context<'_>, split: &Decomposition, metric: &str) -> Vec<Finding> {
    let cpu = changed_cpu(cx, split);
    let counted = executed(cx, split, metric, cpu.map_or(0.0, |part| part.change_us_per_op));
    match (counted, cpu) {
        (Some(mut counted), Some(cpu)) if counted.direction() == Some(cpu.change_us_per_op > 0.0) => {
            let quantity = quantity_of(cx, cpu);
            let than = cx.than(Metric::CpuUs, &quantity);
            let moved = cx.figures.per_op(metric).map_or(0.0, |found| found.share());
            if moved < DRIVES * quantity.share() {
                // The sentence says what it did not account for.
                let share = share_of(cx, split, moved.copysign(cpu.change_us_per_op) * cpu.base_us_per_op);
                return cpu_time(cx, split).into_iter().chain([Finding { share, ..counted }]).collect();
            }
            counted
                .sentence
                .push_str(&format!("; its sessions use {} us of CPU, {than}", words::number(quantity.arm)));
            counted.evidence.push(Evidence::figure("CPU time of the sessions", cx.per_op("us"), &quantity));
            vec![counted]
        }
        // Instructions without a change of CPU time have no share in it.
        (Some(counted), None) => vec![Finding { share: None, ..counted }],
        _ => cpu_time(cx, split).into_iter().collect(),
    }
}

/// A part of the change as evidence: the microseconds that it adds.
fn change(cx: &Context<'_>, part: &Part) -> Evidence {
    let digits = part.digits();
    let interval = digits.signed_interval().map_or_else(String::new, |interval| format!(" ({interval})"));
    Evidence {
        what: part.name.to_string(),
        unit: cx.per_op("us"),
        text: Some(format!("{}{interval} us per {}", digits.signed(part.change_us_per_op), cx.operation())),
        ..Evidence::default()
    }
}

/// Instructions that take more or less time each. With hardware counters, cycles per instruction and time per
/// cycle are separate; without them, both are one factor.
fn speed(cx: &Context<'_>, split: &Decomposition) -> Vec<Finding> {
    let finding = |(name, cause): (PartName, Cause)| {
        let found = find_part(&split.parts, &[PartName::Server, name]).filter(|part| matters(split, part))?;
        let factor = cx.figures.quantity(|cell| factor(cell, name, instructions_metric(cx.figures)?))?;
        let rose = found.change_us_per_op > 0.0;
        let share = words::percent((factor.ratio() - 1.0).abs());
        let sentence = speed_sentence(cx, name, rose, &share);
        Some(part_finding(cx, found, Word::speed(rose), cause, sentence, change(cx, found)))
    };
    [
        (PartName::CyclesPerInstruction, Cause::Cycles),
        (PartName::TimePerCycle, Cause::Frequency),
        (PartName::TimePerInstruction, Cause::Cycles),
    ]
    .into_iter()
    .filter_map(finding)
    .collect()
}

/// The factor of CPU time that a part measures.
fn factor(cell: Cell<'_>, name: PartName, instructions: &str) -> Option<f64> {
    let [above, below] = match name {
        PartName::CyclesPerInstruction => [CYCLES, instructions],
        PartName::TimePerCycle => [BACKENDS, CYCLES],
        _ => [BACKENDS, instructions],
    };
    Some(cell.metric(above)? / cell.metric(below)?)
}

fn speed_sentence(cx: &Context<'_>, name: PartName, rose: bool, share: &str) -> String {
    let (arm, base) = cx.names();
    let (more, fewer) = if rose { ("more", "more") } else { ("less", "fewer") };
    match name {
        PartName::CyclesPerInstruction => {
            format!("{arm} needs {share} {fewer} cycles per instruction than {base}")
        }
        PartName::TimePerCycle => format!(
            "{arm} takes {share} {more} time per cycle than {base}: the clock frequency or the time in the kernel \
             changed, which cannot be told apart"
        ),
        _ => format!(
            "sessions of {arm} take {share} {more} CPU time per instruction in user mode than those of {base}; whether \
             caches, branches or the kernel take it cannot be told"
        ),
    }
}

fn kernel(cx: &Context<'_>, split: &Decomposition) -> Option<Finding> {
    let found =
        find_part(&split.parts, &[PartName::Server, PartName::Kernel]).filter(|part| matters(split, part))?;
    let quantity = quantity_of(cx, found);
    let (arm, base) = cx.names();
    let sentence = format!(
        "{arm} spends {} us of CPU per {} in the kernel, {}",
        words::number(quantity.arm),
        cx.operation(),
        words::than(&quantity, base)
    );
    let evidence = Evidence::figure("CPU time in the kernel", cx.per_op("us"), &quantity);
    let word = Word::work(found.change_us_per_op > 0.0);
    Some(part_finding(cx, found, word, Cause::KernelTime, sentence, evidence))
}

/// The client does the same work on both arms, unless it speaks another protocol: if its CPU time moved too, the
/// machine's speed differed.
fn client_cpu_moved(cx: &Context<'_>, split: &Decomposition) -> Option<Quantity> {
    if !cx.of_one_kind() {
        return None;
    }
    let (server, client) =
        find_part(&split.parts, &[PartName::Server]).zip(find_part(&split.parts, &[PartName::Client]))?;
    let share = |part: &Part| part.change_us_per_op / part.base_us_per_op;
    let found = cx.figures.per_op(CLIENT_CPU_US)?;
    (share(client) / share(server) >= CLIENT_ALONG && found.exceeds_noise()).then_some(found)
}

/// CPU time without usable instruction counts: more work and slower work look alike.
fn cpu_time(cx: &Context<'_>, split: &Decomposition) -> Option<Finding> {
    let found = changed_cpu(cx, split)?;
    let quantity = quantity_of(cx, found);
    let arm = cx.names().0;
    let why = match is_counted_apart(cx.figures) {
        true => {
            "instructions, counted in a separate start of the server, account for little of it, so more work and \
             slower work cannot be told apart"
        }
        false => "without instruction counts more work and slower work look alike",
    };
    let (us, than) = (words::number(quantity.arm), cx.than(Metric::CpuUs, &quantity));
    let of_sessions = format!("sessions of {arm} use {us} us of CPU per {}, {than}", cx.operation());
    let background = background_beyond(cx, split, found.change_us_per_op);
    let is_told = background.is_some() && !connections::roles(cx).is_empty();
    let has_sessions = matters(split, found);
    let background = match background.filter(|_| !is_told) {
        None if is_told && !has_sessions => return None,
        Some(part) if !has_sessions && part.is_beyond_noise() => return Some(of_background(cx, part)),
        Some(part) => format!("{}; ", background_use(cx, part)),
        None => String::new(),
    };
    let sentence = format!("{background}{of_sessions}; {why}");
    let evidence = Evidence::figure("CPU time of the sessions", cx.per_op("us"), &quantity);
    let mut finding = part_finding(cx, found, Word::NotExplained, Cause::CpuTime, sentence, evidence);
    // Where only CPU time changed, background processes have shares of that too.
    if let Some(cpu) = cx.changed_cpu().filter(Quantity::exceeds_noise) {
        finding.share = Some(quantity.change() / cpu.change());
    }
    if let Some(client) = client_cpu_moved(cx, split) {
        let direction = if client.rose() { "up" } else { "down" };
        let share = words::percent((client.ratio() - 1.0).abs());
        let too = format!("; the client's CPU time, for the same work, is {direction} {share} too");
        finding.sentence.push_str(&too);
        let evidence = Evidence::figure("CPU time of the client", cx.per_op("us"), &client);
        finding.evidence.push(evidence.showing(Shows::ClientCpu));
    }
    Some(finding)
}

/// Processes in the background, whose CPU time a verdict has too, where theirs changed by more than that of the
/// sessions.
fn background_beyond<'a>(cx: &Context<'_>, split: &'a Decomposition, sessions_us: f64) -> Option<&'a Part> {
    // What a background writer of RocksDB causes is compared by the second.
    let is_of_verdict = cx.is_shown(Metric::CpuUs) == Some(true) && !has_writer(cx);
    let part = split.background.as_ref().filter(|_| is_of_verdict)?;
    let change = part.change_us_per_op;
    (change * sessions_us > 0.0 && change.abs() > sessions_us.abs()).then_some(part)
}

/// A clause about the CPU time of processes in the background.
fn background_use(cx: &Context<'_>, part: &Part) -> String {
    let (arm, base) = cx.names();
    let [of_arm, of_base] = [part.arm_us_per_op, part.base_us_per_op].map(words::number);
    format!(
        "background processes of {arm} use {of_arm} us of CPU per {}, against {of_base} on {base}",
        cx.operation()
    )
}

/// Where sessions hardly changed, what background processes use less or more is the change of CPU time.
fn of_background(cx: &Context<'_>, part: &Part) -> Finding {
    let found = quantity_of(cx, part);
    let evidence = Evidence::figure("CPU time of background processes", cx.per_op("us"), &found);
    let word = Word::work(part.change_us_per_op > 0.0);
    let finding = cx.finding(word, Cause::Background, background_use(cx, part), &found, vec![evidence]);
    Finding { weight: found.clearness(), ..finding }
}

/// What is left of a difference that is 0 but for rounding, as a share.
const ROUNDING: f64 = 1e-6;

/// Kinds of waiting that are measured: their part, cause and resource.
const WAITS: [(PartName, Cause, &str); 4] = [
    (PartName::ForCpu, Cause::CpuQueue, "a CPU"),
    (PartName::ForReads, Cause::Reads, "reads"),
    (PartName::ForLog, Cause::Fsync, "the log"),
    (PartName::ForStalls, Cause::WriteStall, "write stalls"),
];

/// The measured kind of waiting, of those in `fits`, that changed most in this direction.
fn longest_wait(
    split: &Decomposition,
    rose: bool,
    fits: impl Fn(&Part) -> bool,
) -> Option<(&Part, Cause, &'static str)> {
    let part = |name: PartName| find_part(&split.parts, &[PartName::Waiting, name]);
    WAITS
        .into_iter()
        .filter_map(|(name, cause, resource)| Some((part(name)?, cause, resource)))
        .filter(|(part, ..)| fits(part) && (part.change_us_per_op > 0.0) == rose)
        .max_by(|(a, ..), (b, ..)| a.change_us_per_op.abs().total_cmp(&b.change_us_per_op.abs()))
}

/// A clause about waiting that was measured and makes up most of `left_us`, which no finding accounts for, since its
/// change is within noise.
pub(crate) fn unsteady_wait(cx: &Context<'_>, split: &Decomposition, left_us: f64) -> Option<String> {
    // Else it is in a finding.
    if off_cpu(cx, split).is_some() {
        return None;
    }
    let is_most = |part: &Part| part.change_us_per_op.abs() >= MOST * left_us.abs();
    let (part, _, resource) = longest_wait(split, left_us > 0.0, is_most)?;
    let digits = part.digits();
    let is_noise = part.low <= 0.0 && part.high >= 0.0;
    let interval = digits.signed_interval().map_or_else(String::new, |interval| format!(" ({interval})"));
    let us = digits.signed(part.change_us_per_op);
    // A kind of waiting may have grown by more than is left.
    let amount = match part.change_us_per_op.abs() <= left_us.abs() {
        true => format!("most of it is waiting for {resource}, {us}{interval} us"),
        false => format!("waiting for {resource} may account for all of it: {us}{interval} us"),
    };
    let doubt = match (is_noise, part.low.is_nan()) {
        (true, _) => ", which is within noise",
        (false, true) => ", which one pass does not tell from noise",
        (false, false) => "",
    };
    Some(format!("; {amount}{doubt}"))
}

/// Whether all that one of the arms waited for a CPU is what its time off the CPU left room for: a client may wait for
/// one while its session runs.
fn is_capped(split: &Decomposition, part: &Part) -> bool {
    let rest = find_part(&split.parts, &[PartName::Waiting, PartName::Unexplained]);
    let is_used_up = |rest_us: f64, of_us: f64| of_us > 0.0 && rest_us.abs() <= of_us * ROUNDING;
    part.name == PartName::ForCpu
        && rest.is_some_and(|rest| {
            is_used_up(rest.base_us_per_op, part.base_us_per_op)
                || is_used_up(rest.arm_us_per_op, part.arm_us_per_op)
        })
}

/// Time off the CPU, and what is waited for if that was measured.
fn off_cpu(cx: &Context<'_>, split: &Decomposition) -> Option<Finding> {
    // Negative if client and backend overlap: then there is no waiting.
    let found = cx.figures.quantity(|cell| off_cpu_per_op(cell).map(|us| us.max(0.0)))?;
    let large = found.change().abs() / split.base_us_per_op;
    let is_significant =
        found.exceeds_noise() && large >= if found.half_width.is_nan() { 0.10 } else { SHARE_MIN };
    // A kind may be steady where the whole is not.
    let rose = if is_significant { found.rose() } else { split.change_us_per_op() > 0.0 };
    let measured = longest_wait(split, rose, |part| matters(split, part));
    if !is_significant {
        let (part, cause, resource) = measured?;
        return Some(only_wait(cx, part, cause, resource));
    }
    let (arm, base) = cx.names();
    let mut sentence = format!(
        "{arm} spends {} us {} per {} waiting (for I/O, locks, the network or a CPU) than {base}",
        words::number(found.change().abs()),
        if found.rose() { "more" } else { "less" },
        cx.operation()
    );
    let mut cause = Cause::Waiting;
    let mut evidence = vec![Evidence::figure("time off the CPU", cx.per_op("us"), &found)];
    if let Some((part, measured_cause, resource)) = measured {
        let name = format!("of which waiting for {resource}");
        evidence.push(Evidence::figure(name, cx.per_op("us"), &quantity_of(cx, part)));
        let change_us = part.change_us_per_op.abs();
        // One kind may have grown by more than all of them together, where another shrank.
        let up_to = if is_capped(split, part) { "up to " } else { "" };
        sentence.push_str(&match change_us < found.change().abs() {
            true => format!("; {up_to}{} us of it for {resource}", words::number(change_us)),
            false => format!("; {up_to}all of it for {resource}"),
        });
        if is_after_syncs(cx, measured_cause, found.rose()) {
            sentence.push_str(AFTER_SYNCS);
        } else if change_us >= MOST * found.change().abs() {
            cause = measured_cause;
        }
    }
    let finding = cx.finding(Word::waiting(found.rose()), cause, sentence, &found, evidence);
    Some(Finding { share: share_of(cx, split, found.change()), ..finding })
}

const AFTER_SYNCS: &str = " after the syncs of commits";

/// On a busy host whoever comes back from a sync queues for a CPU: without the syncs there would be no queue.
fn is_after_syncs(cx: &Context<'_>, cause: Cause, rose: bool) -> bool {
    let longer_first = if rose { (cx.arm, cx.base) } else { (cx.base, cx.arm) };
    cause == Cause::CpuQueue && wait_more_on_the_first(cx.windows, cx.test, longer_first)
}

/// One kind of waiting, where all of it together varies too much.
fn only_wait(cx: &Context<'_>, part: &Part, cause: Cause, resource: &str) -> Finding {
    let (arm, base) = cx.names();
    let rose = part.change_us_per_op > 0.0;
    let is_after_syncs = is_after_syncs(cx, cause, rose);
    let sentence = format!(
        "{arm} spends {} us {} per {} waiting for {resource}{} than {base}",
        words::number(part.change_us_per_op.abs()),
        if rose { "more" } else { "less" },
        cx.operation(),
        if is_after_syncs { AFTER_SYNCS } else { "" }
    );
    let name = format!("waiting for {resource}");
    let evidence = Evidence::figure(name, cx.per_op("us"), &quantity_of(cx, part));
    let cause = if is_after_syncs { Cause::Waiting } else { cause };
    part_finding(cx, part, Word::waiting(rose), cause, sentence, evidence)
}
