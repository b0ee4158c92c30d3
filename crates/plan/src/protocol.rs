//! The protocol part of a plan: `protocol`, `passes`, `budget`, `[isolated]`, `[verdict]`, and what conflicts with it.

use std::time::Duration;

use toml::de::DeValue;

use rqps_model::{BuildSource, nearest};

use crate::limits;
use crate::model::{Isolated, Protocol, VerdictOptions};
use crate::plan::Plan;
use crate::problem::Problems;
use crate::reader::{Found, Section};
use crate::shared::TOP;

const ISOLATED_KEYS: [&str; 8] = [
    "control",
    "windows",
    "window_seconds",
    "blocks_max",
    "blocks_expected",
    "blocks_min",
    "count_instructions",
    "copies",
];
/// Metrics that can have a minimum effect of interest.
const METRICS: [&str; 8] =
    ["rate", "instructions", "cpu_us", "wal_bytes", "rows", "blocks", "fsyncs", "stalls"];

/// The fewest blocks that a verdict can rest on.
const VERDICT_BLOCKS: u64 = 3;

pub(crate) struct ProtocolPart {
    pub protocol: Protocol,
    pub passes: u32,
    pub budget: Option<Duration>,
    pub isolated: Option<Isolated>,
    /// Whether base is measured twice.
    pub control: bool,
    /// Whether the budget determines the length of windows.
    pub fits_windows: bool,
}

pub(crate) fn read(top: &Section<'_>, problems: &Problems<'_>) -> ProtocolPart {
    let protocol = top
        .choice("protocol", &Protocol::ALL.map(|protocol| (protocol.key(), protocol)))
        .unwrap_or_else(|| meant_protocol(top));
    let section = top.table("isolated", "[isolated]");
    let gives_windows = section.as_ref().is_some_and(|section| section.node("window_seconds").is_some());
    let is_isolated = protocol == Protocol::Isolated;
    if let (Some(section), false) = (&section, is_isolated) {
        let remedy = "Write protocol = \"isolated\" at the top of the file, or remove the table.";
        problems.error(&section.at, "[isolated]", "the plan's protocol is \"sequence\"", remedy);
    }
    let isolated = section.map_or_else(Isolated::default, |section| read_isolated(&section, problems));
    let passes = top.integer("passes", limits::PASSES).map_or(1, |found| found.value as u32);
    if is_isolated && passes > 1 {
        let remedy = "Remove it; `budget` limits the time of a plan with blocks.";
        problems.error(&top.key_at("passes"), "passes", "only a sequence has passes", remedy);
    } else if (2..VERDICT_BLOCKS).contains(&u64::from(passes)) {
        let what = format!("{passes} passes give ratios and no verdicts: a verdict takes {VERDICT_BLOCKS}");
        let remedy = format!("Write {VERDICT_BLOCKS} or more for verdicts.");
        problems.warn(&top.key_at("passes"), "passes", what, remedy);
    }
    let budget = read_budget(top, problems);
    if !is_isolated && budget.is_some() {
        let remedy = "Write protocol = \"isolated\", or replace the budget by `passes`.";
        problems.error(
            &top.key_at("budget"),
            "budget",
            "a sequence has no budget: it runs to its end",
            remedy,
        );
    }
    ProtocolPart {
        protocol,
        passes: if is_isolated { 1 } else { passes },
        budget: budget.filter(|_| is_isolated),
        control: is_isolated && isolated.control,
        fits_windows: is_isolated && !gives_windows,
        isolated: is_isolated.then_some(isolated),
    }
}

/// The protocol of a plan that names none; of one that misspells it, the one that its other keys are for.
fn meant_protocol(top: &Section<'_>) -> Protocol {
    let written = top.node("protocol").map(|(_, node)| node.get_ref().as_str().unwrap_or_default());
    let is_isolated = |written: &str| {
        nearest(written, Protocol::ALL.map(Protocol::key)) == Some(Protocol::Isolated.key())
            || ["isolated", "budget"].iter().any(|key| top.node(key).is_some())
    };
    if written.is_some_and(is_isolated) { Protocol::Isolated } else { Protocol::Sequence }
}

fn read_isolated(section: &Section<'_>, problems: &Problems<'_>) -> Isolated {
    section.check_keys(&ISOLATED_KEYS, |key| match key {
        "budget" | "protocol" => Some(TOP.to_owned()),
        key if key.ends_with("mei_percent") => Some("[verdict]".to_owned()),
        _ => None,
    });
    let default = Isolated::default();
    let windows = section.integer("windows", limits::WINDOWS);
    if let Some(found) = windows.as_ref().filter(|found| found.value > 1 && found.value % 2 == 1) {
        let what = format!("{} is odd", found.value);
        let remedy =
            "Write 1, or an even number: windows are mirrored, so that drift of the machine cancels.";
        problems.error(&found.at, section.place_of("windows"), what, remedy);
    }
    Isolated {
        control: section.boolean("control").map_or(default.control, |found| found.value),
        windows: windows.map_or(default.windows, |found| found.value as u32),
        window_seconds: section
            .number("window_seconds", limits::ISOLATED_WINDOW_SECONDS)
            .map_or(default.window_seconds, |found| found.value),
        blocks_max: section
            .integer("blocks_max", limits::BLOCKS)
            .map_or(default.blocks_max, |found| at_least_a_verdict(section, problems, &found)),
        blocks_expected: section.integer("blocks_expected", limits::BLOCKS).map(|found| found.value as u32),
        blocks_min: section
            .integer("blocks_min", limits::BLOCKS)
            .map_or(default.blocks_min, |found| found.value as u32),
        count_instructions: section
            .boolean("count_instructions")
            .map_or(default.count_instructions, |found| found.value),
        counting_budget_s: None,
        copies: section.integer("copies", limits::COPIES).map_or(default.copies, |found| found.value as u32),
    }
}

/// So many blocks are measured whatever the plan says, since a verdict takes them.
fn at_least_a_verdict(section: &Section<'_>, problems: &Problems<'_>, found: &Found<u64>) -> u32 {
    if found.value < VERDICT_BLOCKS {
        let what = format!("a verdict takes {VERDICT_BLOCKS} blocks, so that many are measured");
        let remedy = format!("Write {VERDICT_BLOCKS} or more.");
        problems.warn(&found.at, section.place_of("blocks_max"), what, remedy);
    }
    found.value.max(VERDICT_BLOCKS) as u32
}

/// A duration such as `30m` or `1h 30m`.
fn read_budget(top: &Section<'_>, problems: &Problems<'_>) -> Option<Duration> {
    let remedy = "Write for example budget = \"30m\", \"2h\" or \"1h 30m\".";
    let (at, node) = top.node("budget")?;
    let DeValue::String(text) = node.get_ref() else {
        top.wrong_type("budget", at, node.get_ref(), "a duration such as \"30m\", in quotes");
        return None;
    };
    match parse_budget(text) {
        Ok(budget) => Some(budget),
        Err(what) => {
            problems.error(&node.span(), "budget", what, remedy);
            None
        }
    }
}

/// A duration such as `30m`, `2h` or `1h 30m`, from a second to a month.
///
/// # Errors
/// If the text is not a duration, or out of range.
pub fn parse_budget(text: &str) -> Result<Duration, String> {
    let budget = humantime::parse_duration(text)
        .map_err(|_| format!("\"{text}\" is no time such as \"30m\" or \"1h 30m\""))?;
    if limits::BUDGET_SECONDS.contains(&budget.as_secs()) {
        Ok(Duration::from_secs(budget.as_secs()))
    } else {
        Err(format!("\"{text}\" is out of range (1 s to 31 days)"))
    }
}

/// `[verdict]`: whether rates are judged, and the smallest changes that matter.
pub(crate) fn read_verdict(top: &Section<'_>) -> VerdictOptions {
    let Some(section) = top.table("verdict", "[verdict]") else {
        return VerdictOptions::default();
    };
    section.check_keys(&["mei_percent", "rates"], |_| None);
    let mut options = VerdictOptions::default();
    if let Some(found) = section.boolean("rates") {
        options.rates = found.value;
    }
    if let Some(table) = section.table("mei_percent", "[verdict.mei_percent]") {
        table.check_keys(&METRICS, |_| None);
        for metric in METRICS {
            if let Some(found) = table.number(metric, limits::MEI_PERCENT) {
                options.mei_percent.insert(metric.to_owned(), found.value);
            }
        }
    }
    options
}

/// Reports what conflicts with the protocol. Some arms may be missing if not all are known.
pub(crate) fn check(top: &Section<'_>, problems: &Problems<'_>, plan: &Plan, has_all_arms: bool) {
    if plan.protocol != Protocol::Isolated {
        return;
    }
    if !plan.work.has_independent_tests() {
        let what =
            "blocks start every test from the same data, but the steps of this benchmark build on each other";
        let remedy = "Write protocol = \"sequence\"; with passes = 3 or more it has verdicts.";
        problems.error(&top.key_at("protocol"), "protocol", what, remedy);
    } else if has_all_arms && plan.arms.len() < 2 {
        let remedy = "Add an [[arm]], or leave `control` on to measure base against itself.";
        problems.error(&(0..0), "[[arm]]", "a single arm has nothing to compare with", remedy);
    }
    if plan.blocks().copies > 1
        && !plan.arms.iter().any(|arm| matches!(arm.build.source, BuildSource::Source(_)))
        && let Some(section) = top.table("isolated", "[isolated]")
    {
        let what = "only builds from source have copies, and no arm has one";
        let remedy = "Remove it, or name source code: build = \"postgres+o2nofp:/src/postgres@master\".";
        problems.warn(&section.key_at("copies"), section.place_of("copies"), what, remedy);
    }
}
