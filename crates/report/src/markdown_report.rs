//! The full report of a run: what was compared, how and on which host, the results, and how reliable they
//! are.

use std::rc::Rc;

use rqps_store::{Arm, Run};

use crate::comparison::{Comparison, Layout, StepKind};
use crate::document::{Block, Document};
use crate::error::Result;
use crate::explain;
use crate::families;
use crate::format::{Format, Screen};
use crate::number;
use crate::reading::Reading;
use crate::render::render;
use crate::section::Section;
use crate::tables::{host, verdicts};
use crate::title;
use crate::upgrade;
use crate::verdict_lines::Judged;
use crate::words;

/// Returns the report as Markdown, for a blog or a pull request.
///
/// # Errors
/// If the run cannot be read or judged.
pub fn markdown_report(run: &Run) -> Result<String> {
    report(run, Format::Markdown, Screen::default())
}

/// What is collapsed at the end.
const DETAILS: [(&str, Section); 6] = [
    ("Every figure behind the verdicts", Section::Evidence),
    ("Blocks", Section::Blocks),
    ("Events and statements", Section::Rates),
    ("CPU per connection", Section::Connections),
    ("Response times", Section::Responses),
    ("Latency", Section::Latency),
];

/// Returns the report in any format; `screen` applies to text only.
///
/// # Errors
/// If the run cannot be read or judged.
pub fn report(run: &Run, format: Format, screen: Screen) -> Result<String> {
    let readings = [Reading::new(run)];
    let comparison = Comparison::new(&readings, None, &[])?;
    let layout = comparison.layout();
    let mut document = Document::default();
    document.push(Block::Heading(1, title(&comparison)));
    document.push(Block::Text(format!(
        "Run {}{}, {} {}, {}.",
        run.folder.name(),
        host::driven_by(run),
        if run.meta.is_imported() { "imported" } else { "started" },
        number::utc(run.meta.created_at_ms),
        words::state(run)
    )));
    let blocks = |sections: &[Section]| Section::all_blocks(sections, &comparison);
    let mut part = |heading: &str, blocks: Vec<Block>| {
        // An imported run may have no figure of a kind.
        if blocks.is_empty() {
            return;
        }
        document.push(Block::Heading(2, heading.to_owned()));
        document.extend(blocks);
    };
    let judged = Judged::all(&comparison)?;
    let starts = judged.iter().flat_map(|judged| upgrade::starts(&comparison, judged)).map(Block::Alarm);
    let (title, first) = if run.blocks.is_empty() {
        let headline = blocks(&[Section::Headline])?;
        ("Headline", headline.into_iter().chain(caveats(run, layout)).collect())
    } else {
        ("Verdicts", blocks(&[Section::Verdicts, Section::Arrivals])?)
    };
    part(title, starts.chain(answer_first(first, &comparison.warnings())).collect());
    let has_relative = judged.iter().any(|judged| verdicts::shows_all_arms(&comparison, judged));
    for judged in &judged {
        upgrade::parts(&comparison, judged)?.into_iter().for_each(|(heading, blocks)| part(heading, blocks));
    }
    let explanations = explain::sentences(run, judged.first().map(Rc::as_ref))?;
    if !explanations.is_empty() {
        part("Why", explanations);
    }
    part("What was compared", blocks(&[Section::Arms, Section::LeftOut])?);
    let method = Block::Items(host::method(run));
    part(
        "Method and host",
        std::iter::once(method).chain(blocks(&[Section::Certificate, Section::Host])?).collect(),
    );
    match layout {
        Layout::Consecutive => part(
            "Rates",
            blocks(&[Section::Absolute, Section::Relative, Section::Background, Section::Chain])?,
        ),
        Layout::Independent => {
            use Section::{Absolute, Chain, Relative, Syncs, Transactions};
            let mut sections = vec![Syncs, Transactions, Relative, Absolute, Chain];
            sections.retain(|section| *section != Relative || !has_relative);
            part("Rates", blocks(&sections)?)
        }
    }
    if layout == Layout::Consecutive {
        part("CPU per connection", blocks(&[Section::Connections, Section::Cpu])?);
        part("State and outcome of each step", blocks(&[Section::State, Section::Ends])?);
    }
    let lsm = blocks(&[Section::Lsm])?;
    if !lsm.is_empty() {
        part("LSM tree", lsm);
    }
    part("Changed query plans", blocks(&[Section::Plans])?);
    part("Load and settle", blocks(&[Section::Loads, Section::Settles])?);
    let remarks = blocks(&[Section::Remarks])?;
    if !remarks.is_empty() {
        part(if run.meta.is_imported() { "Remarks" } else { "Problems during the run" }, remarks);
    }
    let costs = blocks(&[Section::PerOp])?;
    if !costs.is_empty() {
        let costs = Block::Fold("Test by test".to_owned(), costs);
        part("Cost per operation", vec![Block::Items(legend(run, &comparison)?), costs]);
    }
    let has_blocks = !run.blocks.is_empty();
    let details: Result<Vec<Block>> = DETAILS
        .into_iter()
        .filter(|(_, section)| match section {
            Section::Evidence | Section::Blocks => has_blocks,
            Section::Responses => layout == Layout::Consecutive,
            Section::Connections => layout == Layout::Independent,
            _ => true,
        })
        .map(|(summary, section)| Ok(Block::Fold(summary.to_owned(), blocks(&[section])?)))
        .filter(|fold| !matches!(fold, Ok(Block::Fold(_, inner)) if inner.is_empty()))
        .collect();
    part("Details", details?);
    render(&document, format, screen)
}

/// The warnings behind the answer, the first text.
fn answer_first(mut blocks: Vec<Block>, warnings: &[String]) -> Vec<Block> {
    let is_answer = |block: &Block| matches!(block, Block::Text(_) | Block::Items(_));
    let first = blocks.iter().position(is_answer).map_or(0, |at| at + 1);
    // Of several arms, a list follows.
    let at = first + usize::from(matches!(blocks.get(first), Some(Block::Items(_))));
    let warnings: Vec<Block> = warnings.iter().map(|warning| Block::warning(warning)).collect();
    blocks.splice(at..at, warnings);
    blocks
}

/// Of one arm with its config, of several as on the page; with the builds, if several are of one version.
fn title(comparison: &Comparison<'_>) -> String {
    let base = &comparison.base;
    let name = |arm: &Arm| match families::told_apart(arm, &base.run.arms) {
        Some(build) => format!("{} ({}, {build})", arm.variant(), arm.name),
        None => arm.variant(),
    };
    let others = comparison.others().filter(|compared| !compared.arm.control);
    let others: Vec<&Arm> = others.map(|compared| compared.arm).collect();
    match others.as_slice() {
        [] => name(base.arm),
        [one] => format!("{} relative to {}", name(one), name(base.arm)),
        several => title::of(base.arm, several, &base.run.arms),
    }
}

/// Reliability of a single pass of consecutive steps.
pub(crate) const ONE_PASS_OF_CONSECUTIVE: &str = "\
     Every figure is from a single pass through the steps on each variant. How fast a step writes depends on when \
     vacuum or purge runs, and with few CPUs on the scheduler: rates of short steps vary by tens of percent between \
     passes, the server's CPU time per row or query by much less.";

/// Reliability of one imported result of each test.
pub(crate) const ONE_RESULT: &str = "\
     There is one result of each test on each arm, without error bars: a difference of a few percent cannot be \
     distinguished from noise. Repeats of every arm, given to one import, become blocks; three or more give verdicts. \
     The thresholds 0.95 and 1.05 help with reading; they are not a test of significance.";

/// What the usual thresholds are.
pub(crate) const THRESHOLDS: &str =
    "The thresholds 0.95 and 1.05 help with reading; they are not a test of significance.";

/// Reliability of a single pass.
fn caveats(run: &Run, layout: Layout) -> Vec<Block> {
    if run.meta.is_imported() {
        return vec![Block::Text(ONE_RESULT.to_owned())];
    }
    let terms = run.terms();
    let (single_pass, inherited) = match layout {
        Layout::Consecutive => (ONE_PASS_OF_CONSECUTIVE, ""),
        Layout::Independent => (terms.single_pass, terms.inherited),
    };
    let inherited =
        (host::shares_state(run) && !inherited.is_empty()).then(|| Block::Text(inherited.to_owned()));
    [Block::Text(format!("{single_pass} {THRESHOLDS}"))].into_iter().chain(inherited).collect()
}

/// Explains the columns of the per-operation tables.
fn legend(run: &Run, comparison: &Comparison<'_>) -> Result<Vec<String>> {
    let mut lines: Vec<String> = [
        "o: one operation: a query, including BEGIN and COMMIT, unless another unit is named below; for the load a row",
        "cpu/o: user and system CPU of the whole host in percent, divided by operations per second; includes the client; \
            multiply by the number of CPUs and by 10,000 to get microseconds",
        "cpu_us/o: microseconds of CPU of the server's processes",
        "cs/o: context switches of the host; r/o, w/o: reads and writes of all disks; rKB/o, wKB/o: KB read and written",
        "instr/o: user instructions of the server",
    ]
    .map(str::to_owned)
    .to_vec();
    if !comparison.leaves_out_rates()? {
        lines.push("o/s: operations per second".to_owned());
    }
    let has_metric = |name: &str| run.windows.iter().any(|window| window.metrics.contains_key(name));
    if has_metric("server_data_writes") || has_metric("server_fsyncs") {
        let writes = "dw/o, fsync/o: writes to and fsyncs of data files and log, as the server counts them";
        lines.push(writes.to_owned());
    }
    let tests = comparison.steps(StepKind::Tests);
    for (unit, tests) in comparison.units(&tests).into_iter().filter(|(unit, _)| !unit.is_queries()) {
        let (tests, one, many) = (tests.join(", "), &unit.one, &unit.many);
        let noun = unit.client_noun();
        lines.push(format!("for {tests} an operation is {one} (rates: {many} per second, all {noun}s)"));
    }
    Ok(lines)
}
