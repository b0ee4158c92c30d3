//! One figure of all tests, with the arms as series, of the rate and of the cost: the page opens with it, and it can be
//! published without the page.

use maud::{Markup, html};
use rqps_charts::{OverviewChart, OverviewGroup, RatioRow, Theme};
use rqps_model::{Family, counted};
use rqps_stats::{Detector, Metric};
use rqps_store::Arm;

use super::{Page, WIDTH_NARROW, drawn_twice, ratios, summary};
use crate::comparison::{ComparedArm, TestStep};
use crate::families::toolchain;
use crate::number;
use crate::tables::{conditions, disturbed};
use crate::words;

/// Width on half a page, and of a file.
const WIDTH: f64 = 580.0;
const WIDTH_ALONE: f64 = 860.0;

/// The figures side by side; nothing if no arm has results to compare.
pub(super) fn figures(page: &Page<'_>) -> Markup {
    let drawn = |chart: OverviewChart| {
        let narrow =
            OverviewChart { id: format!("{}-narrow", chart.id), width: WIDTH_NARROW, ..chart.clone() };
        drawn_twice(&chart.title, chart.svg(Theme::Page), narrow.svg(Theme::Page))
    };
    let charts = charts(page, WIDTH);
    html! {
        @if !charts.is_empty() { div.charts.all-tests { @for chart in charts { (drawn(chart)) } } }
    }
}

/// The figures as files; their links would lead nowhere.
pub(super) fn alone(page: &Page<'_>) -> Vec<OverviewChart> {
    let mut charts = charts(page, WIDTH_ALONE);
    let rows = charts.iter_mut().flat_map(|chart| &mut chart.groups).flat_map(|group| &mut group.rows);
    rows.for_each(|row| row.href = None);
    charts
}

/// The charts that have points.
fn charts(page: &Page<'_>, width: f64) -> Vec<OverviewChart> {
    let shown = page.detectors().into_iter().filter(|one| matches!(one, Detector::Rate | Detector::Cost));
    let charts = shown.map(|detector| chart(page, detector, width));
    let has_points =
        |group: &OverviewGroup| group.rows.iter().any(|row| row.points.iter().any(Option::is_some));
    charts.filter(|chart| chart.groups.iter().any(has_points)).collect()
}

fn chart(page: &Page<'_>, detector: Detector, width: f64) -> OverviewChart {
    let arms = page.candidates();
    let base = &page.comparison.base.arm.name;
    let (what, axis) = match detector {
        Detector::Cost => (
            format!("Relative cost per operation ({})", page.cost_metrics()),
            "cost per operation relative to",
        ),
        _ => ("Relative rate (rQPS)".to_owned(), "rate relative to"),
    };
    let row = |step: &TestStep| {
        let (shown, label) = page.charted(&step.name, detector);
        let points = arms.iter().map(|arm| ratios::point(page, *arm, step, shown)).collect();
        RatioRow { label, href: Some(page.href(&step.name)), points }
    };
    let groups = page.steps.chunk_by(|a, b| a.group == b.group);
    let group = |steps: &[TestStep]| OverviewGroup {
        title: steps[0].group.title.to_string(),
        rows: steps.iter().map(row).collect(),
    };
    OverviewChart {
        id: format!("all-{}", detector.key()),
        title: format!("{what}, {}: {}", counted(page.steps.len(), "test"), summary::title(page)),
        axis: format!("{axis} {base}"),
        arms: arms.iter().map(|arm| in_legend(page, &page.run.arms[*arm])).collect(),
        arm_numbers: arms.clone(),
        groups: groups.map(group).collect(),
        lower_is_better: detector == Detector::Cost,
        is_judged: page.judged.is_some(),
        alert: disturbed::in_short(&page.comparison, &page.steps),
        captions: captions(page),
        width,
    }
}

/// The arm's name, with what tells it from base if the name does not have it: its release, or else its config.
fn in_legend(page: &Page<'_>, arm: &Arm) -> String {
    let is_other =
        |of: fn(&Arm) -> &String| of(arm) != of(page.comparison.base.arm) && !arm.name.contains(of(arm));
    if is_other(|arm| &arm.build_version) {
        format!("{} ({} {})", arm.name, words::dbms(&arm.dbms), arm.build_version)
    } else if is_other(|arm| &arm.config_name) {
        format!("{} (config {})", arm.name, arm.config_name)
    } else {
        arm.name.clone()
    }
}

/// What a reader must know to judge the figure: base and builds, work and host, blocks and date.
fn captions(page: &Page<'_>) -> Vec<String> {
    let base = &page.comparison.base;
    let mut compared = vec![format!("Base, at 1.0: {}.", base.label())];
    // Several arms are in the legend.
    if let [arm] = page.candidates().as_slice() {
        compared.push(format!("Compared with it: {}.", page.pair(*arm).arm.label()));
    }
    compared.extend(builds(page));
    let run = format!(
        "{} {} with rqps {}, run {}.",
        if page.run.meta.is_imported() { "Imported" } else { "Measured" },
        number::utc(page.run.meta.created_at_ms),
        page.run.meta.program_version,
        page.run.folder.name(),
    );
    vec![
        compared.join(" "),
        format!("{}{}", work(page), machine(page)),
        format!("{} {run}", replicates(page)),
    ]
}

/// The compilers and flags of the builds, with their arms if they differ; None if none is known.
fn builds(page: &Page<'_>) -> Option<String> {
    let mut families: Vec<(String, Vec<String>)> = Vec::new();
    let is_shown = |compared: &ComparedArm<'_>| !compared.arm.control;
    for compared in page.comparison.base_first().iter().filter(|compared| is_shown(compared)) {
        let built = toolchain(&Family::of_facts(&compared.arm.facts));
        match families.iter_mut().find(|(known, _)| *known == built) {
            Some((_, arms)) => arms.push(compared.reference()),
            None => families.push((built, vec![compared.reference()])),
        }
    }
    let unknown = toolchain(&Family::of_facts(&[]));
    match families.as_slice() {
        [(built, _)] if *built == unknown => None,
        [(built, _)] => Some(format!("All built by {built}.")),
        several => {
            let each = several.iter().map(|(built, arms)| format!("{} by {built}", arms.join(", ")));
            Some(format!("Built: {}.", each.collect::<Vec<_>>().join("; ")))
        }
    }
}

fn work(page: &Page<'_>) -> String {
    let meta = &page.run.meta;
    let mut parts = vec![meta.workload_title.clone()];
    parts.extend(conditions::clients(page.run));
    parts.extend((meta.tables > 0).then(|| conditions::rows(page.run)));
    format!("{}.", parts.join(", "))
}

/// The host, as far as it is known, after a blank.
fn machine(page: &Page<'_>) -> String {
    let fact = |key: &str| page.run.host_fact(key).filter(|value| *value != "unknown");
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

/// What the intervals are over.
fn replicates(page: &Page<'_>) -> String {
    match &page.judged {
        Some(judged) => {
            let (done, least) = (judged.verdicts.blocks_done, judged.blocks_min());
            let blocks = counted(done, judged.sample());
            // A resume takes a pass from the tests that it measured.
            let fewer =
                judged.verdicts.on_candidates().any(|one| one.metric == Metric::Rate && one.blocks < done);
            let at_most = if fewer { "at most " } else { "" };
            let whiskers = format!(
                "Whiskers: {} confidence intervals over {at_most}{blocks}.",
                ratios::level_of_figures()
            );
            match done {
                0 | 1 => format!(
                    "{blocks} of the {least} that a verdict takes: no verdicts yet, and no intervals."
                ),
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
