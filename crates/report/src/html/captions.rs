//! What makes a figure complete without the page around it: base and builds, work and host, blocks and date.

use std::collections::BTreeSet;

use rqps_model::{Family, counted};
use rqps_stats::{COMMON_CONFIDENCE, Detector, Verdict};
use rqps_store::{Arm, Run};

use super::Page;
use crate::comparison::{ComparedArm, TestStep};
use crate::families::{self, toolchain};
use crate::number;
use crate::tables::conditions;
use crate::words;

/// Of a figure of a run that shows these tests.
pub(super) fn of_run(page: &Page<'_>, detector: Detector, steps: &[TestStep]) -> Vec<String> {
    let compared = page.candidates().into_iter().map(|arm| page.pair(arm).arm);
    of_figure(page, ("Base, at 1.0", compared.collect()), &replicates(page, detector, steps))
}

/// Of the latency of one test.
pub(super) fn of_latency(page: &Page<'_>, step: &TestStep) -> Vec<String> {
    let sample = format!("Each curve: all statements in valid windows{}.", blocks_of(page, step));
    of_figure(page, ("Base", others(page)), &sample)
}

/// Of the rate of one test over time.
pub(super) fn of_timeline(page: &Page<'_>, step: &TestStep) -> Vec<String> {
    let sample = format!("Each line: all valid windows{}.", blocks_of(page, step));
    of_figure(page, ("Base", others(page)), &sample)
}

/// All arms but base, the control among them: figures of times and latencies have a line of each.
fn others<'a>(page: &Page<'a>) -> Vec<ComparedArm<'a>> {
    page.comparison.others().copied().collect()
}

/// ` of 3 blocks`, the most that an arm's windows of the test are from; nothing without blocks.
fn blocks_of(page: &Page<'_>, step: &TestStep) -> String {
    let blocks_of = |arm| {
        let windows = page.readings[0].windows(page.name(arm), &step.name);
        windows.filter_map(|window| Some(window.placement?.block)).collect::<BTreeSet<u32>>().len()
    };
    let most = (0..page.run.arms.len()).map(blocks_of).max().unwrap_or(0);
    match &page.judged {
        Some(judged) if most > 0 => format!(" of {}", counted(most, judged.sample())),
        _ => String::new(),
    }
}

fn of_figure(page: &Page<'_>, (base, others): (&str, Vec<ComparedArm<'_>>), sample: &str) -> Vec<String> {
    let label = |compared: &ComparedArm<'_>| match families::told_apart(compared.arm, &page.run.arms) {
        Some(build) => format!("{}, {build}", compared.label()),
        None => compared.label(),
    };
    let mut compared = vec![format!("{base}: {}.", label(&page.comparison.base))];
    let others: Vec<String> = others.iter().map(label).collect();
    compared.push(format!("Compared with it: {}.", others.join("; ")));
    let arms = page.comparison.base_first();
    let shown = arms.iter().filter(|compared| !compared.arm.control);
    compared.extend(builds(shown.map(|compared| (compared.arm, compared.reference()))));
    let meta = &page.run.meta;
    let run = format!(
        "{} {} with rqps {}, run {}.",
        if meta.is_imported() { "Imported" } else { "Measured" },
        number::utc(meta.created_at_ms),
        meta.program_version,
        page.run.folder.name(),
    );
    vec![compared.join(" "), format!("{}{}", work(page.run), machine(page.run)), format!("{sample} {run}")]
}

/// The compilers and flags of the builds, with the names of their arms if they differ; None if none is known.
pub(super) fn builds<'a>(arms: impl Iterator<Item = (&'a Arm, String)>) -> Option<String> {
    let mut families: Vec<(String, Vec<String>)> = Vec::new();
    for (arm, name) in arms {
        let built = toolchain(&Family::of_facts(&arm.facts));
        match families.iter_mut().find(|(known, _)| *known == built) {
            Some((_, names)) => names.push(name),
            None => families.push((built, vec![name])),
        }
    }
    let unknown = toolchain(&Family::of_facts(&[]));
    match families.as_slice() {
        [] => None,
        [(built, _)] if *built == unknown => None,
        [(built, _)] => Some(format!("All built by {built}.")),
        several => {
            let each = several.iter().map(|(built, names)| format!("{} by {built}", names.join(", ")));
            Some(format!("Built: {}.", each.collect::<Vec<_>>().join("; ")))
        }
    }
}

pub(super) fn work(run: &Run) -> String {
    let mut parts = vec![run.meta.workload_title.clone()];
    parts.extend(conditions::clients(run));
    parts.extend((run.meta.tables > 0).then(|| conditions::rows(run)));
    parts.extend(conditions::durability(run));
    format!("{}.", words::capitalized(&parts.join(", ")))
}

/// The host, as far as it is known, after a blank.
pub(super) fn machine(run: &Run) -> String {
    let fact = |key: &str| run.host_fact(key).filter(|value| *value != "unknown");
    let memory = fact("memory_bytes").and_then(|bytes| bytes.parse::<f64>().ok());
    let kernel = fact("kernel").and_then(|kernel| kernel.split_whitespace().next());
    let parts: Vec<String> = [
        fact("cpu_model").map(str::to_owned),
        fact("cpus_online").map(|cpus| format!("{cpus} CPUs")),
        memory.map(|bytes| format!("{:.0} GB of memory", bytes / 1e9)),
        fact("disk_model").map(str::to_owned),
        fact("filesystem").map(str::to_owned),
        kernel.map(|kernel| format!("Linux {kernel}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { String::new() } else { format!(" Host: {}.", parts.join(", ")) }
}

/// What the intervals are, and over what.
fn replicates(page: &Page<'_>, detector: Detector, steps: &[TestStep]) -> String {
    match &page.judged {
        Some(judged) => {
            let (done, least) = (judged.verdicts.blocks_done, judged.blocks_min());
            let blocks = counted(done, judged.sample());
            let shown = charted(page, &[detector], steps);
            let over = over(shown.iter().map(|one| one.blocks), judged.sample());
            let whiskers = whiskers(&over);
            match done {
                0 | 1 => format!("{blocks} of the {least} that a verdict takes: no verdicts yet."),
                early if early < least => {
                    format!("{blocks} of the {least} that a verdict takes: no verdicts yet. {whiskers}")
                }
                _ => whiskers,
            }
        }
        None if page.run.meta.is_imported() => "One result of each test: no intervals.".to_owned(),
        None => "A single pass: no intervals.".to_owned(),
    }
}

/// `, over 3 to 5 blocks`: a test ends when it is decided, and a resume takes a pass from those that it measured.
fn over(blocks: impl Iterator<Item = usize> + Clone, sample: &str) -> String {
    let most = blocks.clone().max().unwrap_or(0);
    let most_counted = counted(most, sample);
    match blocks.min() {
        _ if most == 0 => String::new(),
        Some(least) if least < most => format!(", over {least} to {most_counted}"),
        _ => format!(", over {most_counted}"),
    }
}

/// The same in a chart's legend.
pub(super) fn interval() -> String {
    format!("{} interval", words::level(COMMON_CONFIDENCE))
}

/// What whiskers are in charts of verdicts, of one level in all points; tables have each verdict's own.
pub(super) fn whiskers(over: &str) -> String {
    format!(
        "Whiskers: {} confidence intervals of each test by itself{over}; a change takes more to be called.",
        words::level(COMMON_CONFIDENCE)
    )
}

/// The verdicts that charts of these tests show.
fn charted<'p>(page: &'p Page<'_>, detectors: &[Detector], steps: &[TestStep]) -> Vec<&'p Verdict> {
    let mut verdicts: Vec<&Verdict> = Vec::new();
    let Some(judged) = &page.judged else { return verdicts };
    for step in steps {
        for detector in detectors {
            let (shown, _) = page.charted(&step.name, *detector);
            for arm in page.candidates() {
                verdicts.extend(judged.verdict_across_arms(&step.name, arm, shown));
            }
        }
    }
    verdicts
}
