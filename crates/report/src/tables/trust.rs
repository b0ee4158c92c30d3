//! How far to trust a run's verdicts: A/A check, source of instruction counts, void blocks, noise.

use std::collections::BTreeSet;

use rqps_model::{Digits, counted};
use rqps_stats::{Detector, Metric, Verdict};
use rqps_store::{Arm, BlockStatus, CUT_OFF, Run};
use rqps_verdicts::{
    AfterResume, Agreement, FalseAlarm, FalseAlarmCheck, InstructionSource, Measured, about,
    measured_after_resume,
};

use crate::document::Block;
use crate::verdict_lines::Judged;
use crate::words;

/// Tests that are named in a sentence.
const NAMES_MAX: usize = 5;

/// A statement about trust.
pub(crate) struct Line {
    pub text: String,
    /// Whether it casts doubt on every verdict.
    pub is_alarm: bool,
}

pub(crate) fn lines(judged: &Judged<'_>) -> Vec<Line> {
    let false_alarms = Line {
        text: false_alarms(judged),
        is_alarm: judged.verdicts.false_alarms.as_ref().is_some_and(FalseAlarmCheck::is_alarming),
    };
    let source = judged.has_costs().then(|| source(judged));
    let costs = [source, agreement(judged), contradictions(judged)];
    let facts =
        costs.into_iter().chain([likely(judged), Some(blocks(judged)), copies(judged.run), noise(judged)]);
    let facts = facts.flatten().map(|text| Line { text, is_alarm: false });
    let after_resume = measured_after_resume(judged.run).into_iter();
    let after_resume = after_resume.map(|one| Line { text: after_resume_text(&one), is_alarm: true });
    let has_instructions = judged.has_costs() && judged.cost_metric() == Metric::Instructions;
    let host = words::host_remarks(&judged.verdicts.host, has_instructions).into_iter();
    let host = host.map(|text| Line { text, is_alarm: true });
    std::iter::once(false_alarms).chain(facts).chain(after_resume).chain(host).collect()
}

/// `a was measured by a resume in passes 1 and 2, …`.
fn after_resume_text(one: &AfterResume) -> String {
    let numbers: Vec<String> = one.passes.iter().map(u32::to_string).collect();
    let passes = match numbers.as_slice() {
        [number] => format!("pass {number}"),
        numbers => format!("passes {}", numbers.join(", ")),
    };
    format!(
        "a resume measured steps of {} in {passes}, after the run had stopped; what they are compared with had been \
         measured before: the host may have changed between. Such steps give no verdict on rate, CPU time and \
         stalls, and ratios in other tables contain that change",
        one.arm
    )
}

/// [`lines`] as items of a report.
pub(crate) fn items(judged: &Judged<'_>) -> Block {
    Block::Items(lines(judged).into_iter().map(|line| line.text).collect())
}

fn false_alarms(judged: &Judged<'_>) -> String {
    match &judged.verdicts.false_alarms {
        Some(check) => alarms(check),
        None if judged.run.meta.is_imported() => "no A/A check: imported runs have no control".to_owned(),
        None if judged.run.meta.protocol != "isolated" => {
            "no A/A check: passes measure base once each".to_owned()
        }
        None => "no A/A check: base was not measured twice; `rqps gate` without `--quick` does, and plans with `control = true`".to_owned(),
    }
}

/// Noise from loads, server starts and windows.
fn noise(judged: &Judged<'_>) -> Option<String> {
    let found = rqps_verdicts::noise(judged.run, Metric::Rate).ok().flatten()?;
    let terms = judged.run.terms();
    // Each block of a directory begins with a new file.
    let start = found.load.filter(|_| !terms.has_program).map_or(found.start, |load| load.hypot(found.start));
    let told = |share: f64| match words::percent(share) {
        none if none == words::percent(0.0) => "none seen".to_owned(),
        some => some,
    };
    let (start, window) = (told(start), told(found.window));
    let starts = match found.load.filter(|_| terms.has_program) {
        Some(load) => format!("{} between loads, {start} between server starts", told(load)),
        None => format!("{start} between {}", terms.starts),
    };
    Some(format!(
        "noise of rate ratios (base against its control, standard deviation, median of {}): {starts}, {window} between \
         windows{}",
        counted(found.tests, "test"),
        found.rounds.map_or_else(String::new, |error| {
            format!("; within a window, rounds give an error of {}", words::percent(error))
        })
    ))
}

/// For a headline: that base differs from itself, if it does.
pub(crate) fn alarm(judged: &Judged<'_>) -> Option<String> {
    let check = judged.verdicts.false_alarms.as_ref().filter(|check| check.is_alarming())?;
    let found = differences(check.alarms.iter()).join(", ");
    Some(format!("ALARM: base differs from itself ({found}): trust no verdict before the reason is known."))
}

/// `scan rate 0.973`
fn differences<'c>(alarms: impl Iterator<Item = &'c FalseAlarm>) -> Vec<String> {
    let text = |alarm: &FalseAlarm| {
        let ratio = Digits::of_ratio(alarm.interval, 3).text(alarm.ratio);
        format!("{} {} {ratio}", alarm.test, words::subject(alarm.detector))
    };
    alarms.map(text).collect()
}

/// `A/A check: 0 false alarms in 64 verdicts`.
fn alarms(check: &FalseAlarmCheck) -> String {
    let alarms = differences(check.alarms.iter());
    let start = format!(
        "A/A check (base against itself): {} in {}",
        words::plural(check.alarms.len(), "false alarm"),
        counted(check.verdicts, "verdict")
    );
    match (check.verdicts, alarms.is_empty()) {
        (0, _) => "A/A check (base against itself): no verdicts yet".to_owned(),
        (_, true) => start,
        (_, false) => format!(
            "{start}: {}. ALARM: something other than the build differs between the arms; check sections blocks and \
             evidence before trusting any verdict",
            alarms.join(", ")
        ),
    }
}

fn source(judged: &Judged<'_>) -> String {
    let setting = judged.run.meta.method_of("instructions");
    let setting = setting.map(|value| format!(": {value}")).unwrap_or_default();
    match &judged.verdicts.source {
        InstructionSource::Processor => {
            "cost is judged by instructions, counted by the processor in every window".to_owned()
        }
        InstructionSource::Counted(_) if judged.cost_metric() != Metric::Instructions => {
            "cost is judged by CPU time, which varies much more than instructions: small changes go undetected. Counts of \
             instructions failed, or do not fit the CPU time: see remarks and `rqps status`"
                .to_owned()
        }
        InstructionSource::Counted(program) => {
            let counter = if setting.is_empty() { format!(": counted under {program}") } else { setting };
            format!("cost is judged by instructions{counter}; a separate part of each block counts them")
        }
        InstructionSource::None => format!(
            "cost is judged by CPU time, which varies much more than instructions: small changes go undetected. Source of \
             instructions{}",
            if setting.is_empty() { ": none" } else { &setting }
        ),
    }
}

/// Agreement of counted instructions and CPU time of windows, over all tests and arms.
fn agreement(judged: &Judged<'_>) -> Option<String> {
    let mut all: Vec<&Agreement> = judged.verdicts.agreements.iter().collect();
    all.sort_by(|a, b| a.factor().total_cmp(&b.factor()));
    let most = all.last()?;
    let factors: Vec<f64> = all.iter().map(|one| one.factor()).collect();
    let median = rqps_model::sample::median(&factors)?;
    let share = |factor: f64| words::percent(factor - 1.0);
    let mut text = format!(
        "counted instructions and CPU time of the windows, both relative to base, differ by {} in the median of {}, \
         by at most {} ({} on {}: {:.3} and {:.3})",
        share(median),
        counted(all.len(), "pair of test and arm"),
        share(most.factor()),
        most.test,
        judged.run.arms[most.arm].name,
        most.instructions,
        most.cpu_us,
    );
    let shares = || all.iter().filter_map(|one| one.user_share);
    let (low, high) = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
    if low.is_finite() {
        let [low, high] = [low, high].map(|share| format!("{:.0}", share * 100.0));
        let range = if low == high { low } else { format!("{low} to {high}") };
        let program = judged.run.terms().program;
        text.push_str(&format!("; only user mode is counted, {range} % of the {program}'s CPU time"));
    }
    let parted = all.iter().filter(|one| one.is_parted());
    let parted: Vec<String> = parted.map(|one| on_arm(judged, &one.test, one.arm)).collect();
    if !parted.is_empty() {
        text.push_str(&format!(
            "; {} not used, CPU time decides there (see remarks and section evidence): {}",
            parted.len(),
            words::names(&parted, NAMES_MAX)
        ));
    }
    Some(text)
}

fn on_arm(judged: &Judged<'_>, test: &str, arm: usize) -> String {
    format!("{test} on {}", judged.run.arms[arm].name)
}

/// Costs that are smaller or larger by CPU time than by instructions: no ratio is in both intervals.
fn contradictions(judged: &Judged<'_>) -> Option<String> {
    let is_of_instructions =
        |one: &&Verdict| one.detector == Detector::Cost && one.metric == Metric::Instructions;
    let costs = judged.verdicts.on_candidates().filter(is_of_instructions);
    let both = costs.filter_map(|cost| {
        let cpu = judged.verdicts.verdict(&cost.test, cost.arm, Detector::Cpu)?;
        Some((cost, cpu))
    });
    let both: Vec<(&Verdict, &Verdict)> = both.collect();
    let is_apart = |(cost, cpu): &&(&Verdict, &Verdict)| cost.high < cpu.low || cpu.high < cost.low;
    let mut apart: Vec<_> = both.iter().filter(is_apart).collect();
    apart.sort_by(|a, b| {
        let distance = |(cost, cpu): &(&Verdict, &Verdict)| (cost.ratio.ln() - cpu.ratio.ln()).abs();
        distance(b).total_cmp(&distance(a))
    });
    let ratio = |one: &Verdict| Digits::of_ratio((one.low, one.high), 4).text(one.ratio);
    let named = apart.iter().map(|(cost, cpu)| {
        let place = on_arm(judged, &cost.test, cost.arm);
        format!("{place} (instructions {}, CPU time {})", ratio(cost), ratio(cpu))
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| {
        format!(
            "instructions and CPU time give different costs in {} of {}, with intervals that do not overlap: {}. CPU \
             time also has waits for memory and the kernel's work",
            named.len(),
            counted(both.len(), "pair of test and arm"),
            words::names(&named, NAMES_MAX)
        )
    })
}

/// What is likely, apart from what explains a change of the rate or the cost that is established.
fn likely(judged: &Judged<'_>) -> Option<String> {
    let is_of_time = |one: &Verdict| one.detector.is_rate_or_cost();
    let all = || judged.verdicts.on_candidates();
    let changed: BTreeSet<(&str, usize)> = all()
        .filter(|one| is_of_time(one) && one.class.is_change())
        .map(|one| (&*one.test, one.arm))
        .collect();
    let explains = |one: &Verdict| !is_of_time(one) && changed.contains(&(&*one.test, one.arm));
    let likely = all().filter(|one| one.is_likely() && !explains(one));
    let name =
        |one: &Verdict| format!("{} of {}", words::subject(one.detector), on_arm(judged, &one.test, one.arm));
    let named: Vec<String> = likely.map(name).collect();
    (!named.is_empty()).then(|| format!("likely, not established: {}", words::names(&named, NAMES_MAX)))
}

/// `copies: 3 of each build from source, …`.
fn copies(run: &Run) -> Option<String> {
    Some(format!("copies: {}", run.meta.method_of("copies")?))
}

/// `block 1: the host changed: …; the others in section blocks …`: what spoilt a block, rather than an interruption.
fn why_void(run: &Run) -> String {
    let void = || run.blocks.iter().filter(|block| block.status == BlockStatus::Void);
    let spoilt = void().filter_map(|block| Some((block.number, block.note.as_deref()?)));
    let Some((number, why)) = spoilt.into_iter().find(|(_, why)| *why != CUT_OFF) else {
        return "interrupted".to_owned();
    };
    let others = if void().count() > 1 { "; the others in section blocks of `rqps show`" } else { "" };
    format!("block {number}: {why}{others}")
}

fn blocks(judged: &Judged<'_>) -> String {
    let (done, void) = (judged.verdicts.blocks_done, judged.verdicts.blocks_void);
    let restored_by = judged.run.blocks.first().map_or("", |block| block.restored_by.as_str());
    let terms = judged.run.terms();
    let definition = match (judged.run.meta.protocol.as_str(), restored_by) {
        (rqps_store::IMPORTED, _) => "a block is one repeat of every arm, as imported".to_owned(),
        ("sequence", _) => format!("a block is {}", terms.pass),
        (_, means) if terms.has_program && !means.is_empty() => {
            format!("a block is {}, restored by {means}", terms.block)
        }
        _ => format!("a block is {}", terms.block),
    };
    let void = match void {
        0 => "none void".to_owned(),
        void => format!("{void} void ({}), not used", why_void(judged.run)),
    };
    let missing = without_results(judged.run);
    if let Some(repeats) = judged.uneven_repeats() {
        return format!("repeats: {repeats}");
    }
    let mut text = format!("blocks: {done} done, {void}{missing}; {definition}");
    let seconds = judged
        .verdicts
        .timing
        .seconds_for(judged.verdicts.experiment.tests.iter().map(|test| (test.name.as_str(), 1)));
    // Nobody knows what else it takes to measure an imported one again.
    if seconds > 0.0 && !judged.run.meta.is_imported() {
        text.push_str(&format!("; a block of all tests takes about {}", about(seconds)));
    }
    text
}

/// `, 1 without a result of a`, of blocks that were measured to the end.
fn without_results(run: &Run) -> String {
    if run.meta.is_imported() {
        return String::new();
    }
    let measured = Measured::of(run);
    let ended = run.blocks.iter().filter(|block| block.status == BlockStatus::Done);
    let without: Vec<&str> = ended.flat_map(|block| measured.without(block.number)).collect();
    let count = |arm: &Arm| without.iter().filter(|name| **name == arm.name).count();
    let counts = run.arms.iter().map(|arm| (arm, count(arm))).filter(|(_, count)| *count > 0);
    counts.map(|(arm, count)| format!(", {count} without a result of {}", arm.name)).collect()
}
