//! Which differences are real: per candidate one row per test, with verdicts on its rate and its cost per
//! operation.
//!
//! | column | means |
//! | --- | --- |
//! | `rate` | `regression`: slower than base; `improvement`: faster; `same`: the difference is smaller than what matters; `inconclusive`: none of these could be established |
//! | `rQPS` | rate of the candidate divided by rate of base, mean over blocks |
//! | `from`, `to` | interval of the ratio to their left |
//! | `blocks` | blocks that the figures are based on |
//! | `detectable` | the smallest slowdown (rise of cost) that this many blocks would have detected with 80 % probability |
//! | `cost` | the same verdict on the server's cost per operation; `mixed`: it changed, and another resource changed in the other direction |
//! | `cost/op` | the candidate's cost per operation divided by base's, in the metric that `of` names |
//! | `of` | metric of the cost: instructions, or CPU time if they are not counted |
//! | `remarks` | notes; for an inconclusive verdict, how much more must be measured |
//!
//! Below it, other resources per operation, each judged by itself: one row per test and metric that changed.
//!
//! | column | means |
//! | --- | --- |
//! | `metric` | CPU time, WAL bytes, fsyncs, rows touched, blocks touched |
//! | `verdict` | `regression`: more of it; `improvement`: less; `mixed`: while the cost moved the other way |
//! | `ratio`, `from`, `to` | the candidate's use per operation divided by base's, and its interval |

use rqps_stats::{Class, Detector, Metric, Tag, Verdict};
use rqps_store::{InvalidInPart, NoResult, Run};
use rqps_verdicts::RunVerdicts;
use std::collections::BTreeSet;

use crate::comparison::{ComparedArm, Comparison, Layout, StepKind, numbered};
use crate::document::{Block, Cell, Column, Table, keep_footnotes_once};
use crate::error::Result;
use crate::tables::{answer, conditions, disturbed, doubts, headline, relative, trust, undecided, unpaired};
use crate::verdict_lines::{
    IMPROVEMENTS, Judged, LESS_OF_A_RESOURCE, Line, MIXED, MORE_OF_A_RESOURCE, changed,
};
use crate::words;

/// The digits of a ratio of costs, where its interval supports them.
pub(crate) const COST_DECIMALS_MAX: usize = 4;
/// The same of rates.
pub(crate) const RATE_DECIMALS_MAX: usize = 3;

/// Maximum items of a list of changes.
pub(crate) const CHANGES_MAX: usize = 20;
/// Of many arms each has at least so many.
const CHANGES_OF_ARM_MIN: usize = 3;

/// The verdicts of every run that has blocks.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let all = Judged::all(comparison)?;
    // Blocks of different runs are never paired.
    let is_across = comparison.runs().len() > 1 && comparison.others().next().is_some();
    if is_across && all.iter().all(|judged| judged.measured().next().is_none()) {
        blocks.push(Block::Text(comparison.no_common_blocks()));
        blocks.extend(headline::blocks(comparison));
        return Ok(blocks);
    }
    blocks.extend(disturbed::of_passes(comparison).into_iter().map(Block::Alarm));
    for judged in all {
        let mut of_run: Vec<Block> =
            judged.measured().flat_map(|arm| arm_blocks(comparison, &judged, arm)).collect();
        keep_footnotes_once(&mut of_run);
        if judged.measured().count() > 1 {
            // What to check first comes first; what is open, and how to decide it, is said once of all arms.
            let doubts = of_run.iter().take_while(|block| matches!(block, Block::Alarm(_))).count();
            let mut lines = judged.all_lines();
            lines.retain(|line| comparison.shows(line.test));
            let open = undecided::open(&judged, &lines).map(Block::Text);
            let all =
                shows_all_arms(comparison, &judged).then(|| relative::table(comparison, StepKind::Tests));
            let costs = costs_of_all(comparison, &judged);
            let all = all.into_iter().chain(costs).map(Block::Table);
            let conditions = conditions::blocks(&[(judged.run, judged.base)]);
            let arms: Vec<usize> = judged.measured().collect();
            let first = of_several(comparison, &judged, &arms).into_iter();
            let first = first.chain(changes_of_all(comparison, &judged)).chain(conditions);
            of_run.splice(doubts..doubts, first.chain(open).chain(all));
        }
        if of_run.is_empty() {
            blocks.push(Block::Text(comparison.nothing_to_compare()));
            continue;
        }
        blocks.append(&mut of_run);
        blocks.push(Block::Text("How far to trust these verdicts:".to_owned()));
        blocks.push(trust::items(&judged));
    }
    Ok(blocks)
}

/// The costs of all tests and arms in one table; none where runs are compared, or without any.
fn costs_of_all(comparison: &Comparison<'_>, judged: &Judged<'_>) -> Option<Table> {
    if comparison.runs().len() > 1 {
        return None;
    }
    let others: Vec<ComparedArm<'_>> = comparison.others().copied().collect();
    let mut columns = numbered(&others);
    columns.extend(["of", "test"].map(Column::words));
    let mut table = Table::new("relative_cost", "Relative cost per operation", columns, 1);
    for step in comparison.steps(StepKind::Tests) {
        let (shown, _) = judged.across_arms(&step.name, Detector::Cost);
        let verdict = |other: &ComparedArm<'_>| {
            let arm = judged.run.arms.iter().position(|arm| arm.name == other.arm.name)?;
            judged.verdict_across_arms(&step.name, arm, shown)
        };
        let verdicts: Vec<Option<&Verdict>> = others.iter().map(verdict).collect();
        let Some(metric) = verdicts.iter().flatten().next().map(|one| one.metric) else { continue };
        let cell = |one: &Verdict| {
            let [ratio, ..] = Cell::estimate((one.ratio, one.low, one.high), COST_DECIMALS_MAX);
            Cell { tint: words::verdict_cell(one).tint, ..ratio }
        };
        let cells = verdicts.into_iter().map(|one| one.map_or_else(Cell::missing, cell));
        let names = [metric.measure().label, &step.name].map(Cell::words);
        table.row_in(&step.group.title, cells.chain(names).collect());
    }
    table.preamble.push(format!("Relative to: {}", comparison.base.label()));
    table
        .footnotes
        .push("cost per operation / base's, in the metric that `of` names; below 1 is cheaper".to_owned());
    (!table.rows.is_empty()).then_some(table)
}

/// Whether the rates of all tests and arms come first in one table: the verdicts have one for each arm.
pub(crate) fn shows_all_arms(comparison: &Comparison<'_>, judged: &Judged<'_>) -> bool {
    let is_one_run = comparison.runs().len() == 1 && comparison.layout() == Layout::Independent;
    is_one_run && judged.verdicts.rules.rates && judged.measured().count() > 1
}

/// The answer on several arms: in a sentence or two, and of each in short.
pub(crate) fn of_several(comparison: &Comparison<'_>, judged: &Judged<'_>, arms: &[usize]) -> [Block; 2] {
    let name = |arm: usize| reference(comparison, judged, arm);
    let lines = |arm: &usize| (name(*arm), judged.lines(*arm, |test| comparison.shows(test)));
    let lines: Vec<(String, Vec<Line<'_>>)> = arms.iter().map(lines).collect();
    let named: Vec<(&str, &[Line<'_>])> =
        lines.iter().map(|(name, lines)| (&**name, lines.as_slice())).collect();
    let each = arms.iter().map(|arm| brief(comparison, judged, *arm)).collect();
    [Block::Text(answer::of_several(judged, &named, &name(judged.base))), Block::Items(each)]
}

/// The changes of several arms, arm by arm: they come before all tables.
fn changes_of_all(comparison: &Comparison<'_>, judged: &Judged<'_>) -> Option<Block> {
    let most = (CHANGES_MAX / judged.measured().count().max(1)).max(CHANGES_OF_ARM_MIN);
    let of_arm = |arm: usize| {
        let name = reference(comparison, judged, arm);
        let changes = changes(judged, &judged.lines(arm, |test| comparison.shows(test)), most);
        changes.into_iter().map(move |change| format!("{name}: {change}"))
    };
    let all: Vec<String> = judged.measured().flat_map(of_arm).collect();
    (!all.is_empty()).then_some(Block::Items(all))
}

/// An arm's name among those that are compared.
fn reference(comparison: &Comparison<'_>, judged: &Judged<'_>, arm: usize) -> String {
    let arm = &judged.run.arms[arm];
    comparison.find(arm).map_or_else(|| arm.name.clone(), ComparedArm::reference)
}

/// One arm's answer in short, of several.
pub(crate) fn brief(comparison: &Comparison<'_>, judged: &Judged<'_>, arm: usize) -> String {
    let lines = judged.lines(arm, |test| comparison.shows(test));
    format!("{}: {}", reference(comparison, judged, arm), answer::brief(judged, arm, &lines))
}

fn arm_blocks(comparison: &Comparison<'_>, judged: &Judged<'_>, arm: usize) -> Vec<Block> {
    let lines = judged.lines(arm, |test| comparison.shows(test));
    let (label, base) = (judged.label(comparison, arm), judged.label(comparison, judged.base));
    let is_first = judged.measured().next() == Some(arm);
    let is_only = judged.measured().count() == 1;
    // Of several, the answers and changes of all come first, and what was measured with below them.
    let (conditions, changes_max) = match is_only {
        true => (conditions::blocks(&[(judged.run, judged.base)]), CHANGES_MAX),
        false => (Vec::new(), 0),
    };
    let mut blocks = opening(judged, arm, &lines, (&label, &base), (is_first, conditions, changes_max));
    if is_only {
        blocks.extend(undecided::open(judged, &lines).map(Block::Text));
    }
    let mut unpaired = judged.unpaired(arm);
    unpaired.retain(|one| comparison.shows(one.test));
    blocks.extend(lines.is_empty().then(none_judged));
    let tables = (!lines.is_empty()).then(|| table(judged, arm, &lines, &label, &base)).into_iter();
    let tables = tables.chain(resources(judged, &lines, &label, &base));
    let tables = tables.chain((!unpaired.is_empty()).then(|| unpaired::table(&unpaired, &label, &base)));
    blocks.extend(tables.map(|table| Block::Table(table.about("arm", &judged.run.arms[arm].name))));
    comparison.warned_on(&judged.run.arms[arm], &judged.run.arms[judged.base], blocks)
}

/// What reports on an arm begin with: what to check first, the answer, what it was measured with, what has no result on
/// it, for the first arm also on base, and at most so many changes. What is inconclusive follows.
pub(crate) fn opening(
    judged: &Judged<'_>,
    arm: usize,
    lines: &[Line<'_>],
    (label, base): (&str, &str),
    (is_first, conditions, changes_max): (bool, Vec<Block>, usize),
) -> Vec<Block> {
    let doubts = if is_first { doubts::blocks(judged.run) } else { Vec::new() };
    let answer = answer::text(judged, arm, (label, base), lines);
    let mut blocks: Vec<Block> = doubts.into_iter().chain([Block::Text(answer)]).chain(conditions).collect();
    let has_section = |name: &str| judged.measured().any(|one| judged.run.arms[one].name == name);
    let is_here = |name: &str| name == judged.run.arms[arm].name || is_first && !has_section(name);
    blocks.extend(without_result(judged.run, is_here));
    let changes = if changes_max > 0 { changes(judged, lines, changes_max) } else { Vec::new() };
    blocks.extend((!changes.is_empty()).then_some(Block::Items(changes)));
    blocks.extend(undecided::not_quiet(judged).filter(|_| is_first).map(Block::Text));
    blocks
}

/// What has no valid result, or invalid windows beside valid ones, on some arms, by their names.
pub(crate) fn without_result(run: &Run, is_shown: impl Fn(&str) -> bool) -> Option<Block> {
    let mut missing = run.without_result();
    missing.retain(|one| is_shown(one.arm));
    let line = |one: &NoResult<'_>| format!("NO VALID RESULT {} on {}: {}", one.step, one.arm, one.reason);
    let mut in_part = run.invalid_in_part();
    in_part.retain(|one| is_shown(one.arm));
    let line_in_part =
        |one: &InvalidInPart<'_>| format!("INVALID IN PART {} on {}: {}", one.step, one.arm, one.text());
    let items: Vec<String> = missing.iter().map(line).chain(in_part.iter().map(line_in_part)).collect();
    (!items.is_empty()).then_some(Block::Items(items))
}

/// Changes in plain words, regressions first.
fn changes(judged: &Judged<'_>, lines: &[Line<'_>], most: usize) -> Vec<String> {
    let changed = changed(lines);
    const IN_COST: u8 = IMPROVEMENTS + Detector::Cost as u8;
    const IN_STALLS: u8 = IMPROVEMENTS + Detector::Stalls as u8;
    let word = |rank: u8| match rank {
        0 => "REGRESSION ",
        1 => "REGRESSION in cost ",
        2 => "REGRESSION in stalls ",
        MIXED => "MIXED ",
        MORE_OF_A_RESOURCE => "uses more: ",
        IMPROVEMENTS => "improvement ",
        IN_COST => "improvement in cost ",
        IN_STALLS => "improvement in stalls ",
        LESS_OF_A_RESOURCE => "uses less: ",
        // Its sentence says that it is not ranked.
        _ => "",
    };
    let all = changed.len();
    let mut items: Vec<String> = changed
        .into_iter()
        .take(most)
        .map(|((rank, _), line)| format!("{}{}", word(rank), line.sentence(judged)))
        .collect();
    if all > most {
        items.push(format!("{} more in the table", all - most));
    }
    items
}

pub(crate) fn table(judged: &Judged<'_>, arm: usize, lines: &[Line<'_>], label: &str, base: &str) -> Table {
    let has_rates = has_rates(lines);
    let has_costs = judged.run.terms().has_program;
    let samples = judged.samples();
    let resources: BTreeSet<Metric> =
        lines.iter().flat_map(|line| &line.judged_resources).map(|one| one.metric).collect();
    let mut columns = vec![Column::words("test")];
    if has_rates {
        columns.extend(figure_columns(("rate", "rate"), ("rQPS", "rqps"), ("rqps", 1), samples));
    }
    if has_costs {
        columns.extend(figure_columns(("cost", "cost"), ("cost/op", "cost_ratio"), ("cost", 2), samples));
        columns.push(Column::keyed_words("of", "cost_of"));
    }
    for metric in &resources {
        let key = metric.key();
        let ratio_key = format!("{key}_ratio");
        columns.extend(figure_columns(
            (metric.measure().label, key),
            ("ratio", &ratio_key),
            (key, 3),
            samples,
        ));
    }
    columns.push(Column::words("remarks"));
    let mut table = Table::new("verdicts", format!("Verdicts on {label}"), columns, 0);
    table.preamble.push(format!("Relative to: {base}"));
    for line in lines {
        let mut cells = vec![Cell::words(line.test)];
        if has_rates {
            cells.extend(figures(line.rate, RATE_DECIMALS_MAX, judged.blocks_min()));
        }
        if has_costs {
            cells.extend(figures(line.cost, COST_DECIMALS_MAX, judged.blocks_min()));
            cells.push(line.cost.map_or_else(Cell::missing, |cost| Cell::words(cost.metric.measure().label)));
        }
        for metric in &resources {
            let of_metric = line.judged_resources.iter().find(|one| one.metric == *metric);
            cells.extend(figures(of_metric.copied(), COST_DECIMALS_MAX, judged.blocks_min()));
        }
        cells.push(Cell::words(remarks(judged, arm, line)));
        table.row_in(&line.group.title, cells);
    }
    table.footnotes = footnotes(judged, lines);
    table
}

/// In place of a table of verdicts without rows.
pub(crate) fn none_judged() -> Block {
    Block::Text("No test has been judged.".to_owned())
}

/// False if nobody judges rates: then they are noise.
fn has_rates(lines: &[Line<'_>]) -> bool {
    lines.iter().any(|line| line.rate.is_some() || line.missed.is_some())
}

/// Columns of [`figures`]. `prefix` begins the keys of the ratio's interval, which narrow terminals lack by its rank.
fn figure_columns(
    (label, key): (&str, &str),
    (ratio, ratio_key): (&str, &str),
    (prefix, rank): (&str, u8),
    samples: &str,
) -> [Column; 6] {
    [
        Column::keyed_words(label, &format!("{key}_verdict")),
        Column::number(ratio, ratio_key),
        Column::number("from", format!("{prefix}_low")).optional(rank),
        Column::number("to", format!("{prefix}_high")).optional(rank),
        Column::number(samples, format!("{key}_blocks")).optional(4),
        Column::number("detectable", format!("{key}_detectable")).optional(5),
    ]
}

/// The other resources per operation that changed or probably did; None if none did.
pub(crate) fn resources(judged: &Judged<'_>, lines: &[Line<'_>], label: &str, base: &str) -> Option<Table> {
    let number = Column::number;
    let columns = vec![
        Column::words("test"),
        Column::words("metric"),
        Column::keyed_words("verdict", "verdict"),
        number("ratio", "ratio"),
        number("from", "low"),
        number("to", "high"),
        number(judged.samples(), "blocks").optional(2),
        number("detectable", "detectable").optional(3),
        Column::words("remarks"),
    ];
    let mut table = Table::new("resources", format!("Other resources per operation on {label}"), columns, 0);
    table.preamble.push(format!("Relative to: {base}"));
    let others = |line: &&Line<'_>, one: &&Verdict| {
        line.judged_resources.iter().all(|judged| judged.detector != one.detector)
    };
    for (line, verdict) in lines.iter().flat_map(|line| {
        let told = line.changed_resources().chain(line.likely_resources());
        told.filter(move |one| others(&line, one)).map(move |one| (line, one))
    }) {
        let mut cells = vec![Cell::words(line.test), Cell::words(verdict.metric.measure().label)];
        cells.extend(figures(Some(verdict), COST_DECIMALS_MAX, 0));
        cells.push(Cell::words(words::remarks(verdict).join("; ")));
        table.row_in(&line.group.title, cells);
    }
    table.footnotes.push(
        "regression: uses more than base; improvement: less. Each metric is judged by itself and does not affect the \
         verdict on the cost. likely: a change that is not established. Section evidence also has metrics that \
         did not change or are inconclusive"
            .to_owned(),
    );
    (!table.rows.is_empty()).then_some(table)
}

/// `blocks_min`: fewer blocks detect nothing.
fn figures(verdict: Option<&Verdict>, decimals: usize, blocks_min: usize) -> Vec<Cell> {
    let Some(one) = verdict else {
        return vec![Cell::missing(); 6];
    };
    let [ratio, low, high] = Cell::estimate((one.ratio, one.low, one.high), decimals);
    vec![
        words::verdict_cell(one),
        if one.ratio.is_infinite() { Cell::words("from none") } else { ratio },
        low,
        high,
        Cell::count(one.blocks as u64),
        Cell::printed((one.blocks >= blocks_min).then_some(one.mde80), words::detectable),
    ]
}

fn remarks(judged: &Judged<'_>, arm: usize, line: &Line<'_>) -> String {
    let mut sentences: Vec<String> = line.missed.iter().map(|missed| missed.text.clone()).collect();
    for verdict in line.judged() {
        let remaining = (verdict.class == Class::Inconclusive).then(|| judged.remaining(verdict)).flatten();
        let not_covered = (verdict.detector == Detector::Cost).then(|| line.not_covered()).flatten();
        let remarks: Vec<String> =
            remaining.into_iter().chain(words::remarks(verdict)).chain(not_covered).collect();
        if !remarks.is_empty() {
            sentences.push(format!("{}: {}", verdict.detector.key(), remarks.join("; ")));
        }
    }
    if let Some(remaining) = line.stalls.and_then(|verdict| judged.remaining(verdict)) {
        sentences.push(format!("stalls: differ from base in most windows, not yet significant; {remaining}"));
    }
    if let Some(verdict) = line.changed_stalls() {
        let parts = std::iter::once(line.part(verdict, judged)).chain(words::remarks(verdict));
        sentences.push(format!("{}: {}", words::verdict(verdict), parts.collect::<Vec<_>>().join("; ")));
    }
    sentences.extend(judged.remarks_on(line.test, arm));
    sentences.join(". ")
}

/// Whether an inconclusive verdict's interval excludes 1.
pub(crate) fn is_open_beside_1(verdict: &Verdict) -> bool {
    verdict.class == Class::Inconclusive && (verdict.low > 1.0 || verdict.high < 1.0)
}

/// The meaning of columns, and the rules of the verdicts.
fn footnotes(judged: &Judged<'_>, lines: &[Line<'_>]) -> Vec<String> {
    let verdicts = &judged.verdicts;
    let has_costs = judged.run.terms().has_program;
    let rules = &verdicts.rules;
    let looks: Vec<String> = rules.looks.iter().map(|look| look.blocks.to_string()).collect();
    let samples = judged.samples();
    let last_look = rules.looks.last().map_or(0, |look| look.blocks);
    // A resume may measure a test that others have left behind; repeats were all there before.
    let (most, blocks_most) = match judged.run.meta.protocol == "isolated" {
        true => (", the maximum of the method,", last_look),
        false => ("", last_look.max(verdicts.blocks_done)),
    };
    let from_to = format!(
        "from, to: confidence interval of the ratio, {}{}",
        confidences(lines),
        if rules.at_once { "" } else { ", valid over all looks" },
    );
    let ratios = match has_costs {
        true => format!(
            "{}cost/op: cost per operation / base's, in the metric that `of` names and no other",
            if has_rates(lines) { "rQPS: rate / base's rate. " } else { "" }
        ),
        false => "rQPS: rate / base's rate".to_owned(),
    };
    if !judged.has_verdicts() {
        return judged.has_intervals().then_some(from_to).into_iter().chain([ratios]).collect();
    }
    let mut footnotes = vec![
        format!(
            "regression: worse than base; improvement: better; between identical arms about {} of verdicts are false \
             alarms. mixed: it changed, and another resource changed in the other direction. same: the difference is \
             smaller than what matters. inconclusive: none of these could be established; it does not mean the same",
            words::percent(rules.alpha)
        ),
        format!(
            "smallest change that matters: {}. Tested {}",
            if lines.is_empty() { "none, without a test".to_owned() } else { matters(verdicts, lines) },
            match rules.at_once {
                true => "once, on all repeats".to_owned(),
                false =>
                    format!("after {} {samples}; those since then count at the next test", looks.join(", ")),
            }
        ),
        from_to,
        format!(
            "detectable: the smallest slowdown{} that this many {samples} would have called a regression with 80 % probability, \
             at {} of false alarms. `same` may err in {}, so that it is also said where detectable is larger than what \
             matters. {samples}: {}; only these count as samples",
            if has_costs { ", or rise of cost," } else { "" },
            words::percent(rules.alpha),
            words::percent(rules.tost_alpha),
            match &*judged.run.meta.protocol {
                rqps_store::IMPORTED => "repeats, as imported".to_owned(),
                "isolated" => format!("each {}", judged.run.terms().block),
                _ => format!("each {}", judged.run.terms().pass),
            }
        ),
    ];
    footnotes.extend(tags(lines, &format!("{blocks_most} {samples}{most}")));
    footnotes.push(ratios);
    if lines.iter().flat_map(Line::all).any(|one| one.class.is_change()) {
        footnotes.push(
            "if few blocks just sufficed to detect a change, its ratio overstates it on average; the interval still \
             holds"
                .to_owned(),
        );
    }
    let open: Vec<&Verdict> =
        lines.iter().flat_map(Line::verdicts).filter(|one| is_open_beside_1(one)).collect();
    if !open.is_empty() {
        let is_exact = open.iter().any(|one| one.tags.contains(&Tag::Exact));
        footnotes.push(format!(
            "where an interval excludes 1 and the verdict is inconclusive: a change is called only if the interval of {} \
             excludes it too{}",
            words::percent(1.0 - rules.alpha),
            match is_exact {
                true => "; of a cost that does not vary from block to block, three blocks call nothing, five do (eight \
                         without control)",
                false => "",
            }
        ));
    }
    let changed = lines.iter().filter_map(Line::changed_stalls);
    footnotes.extend(changed.take(1).map(|one| {
        format!(
            "stalls: time of events beyond 20 times base's median, or beyond 20 ms if that is more; a difference of {} of \
             the total time matters. Section variance has them for every test",
            words::percent(one.mei)
        )
    }));
    footnotes
}

/// What remarks on verdicts mean, of those that occur. `most`: `18 blocks, the maximum of the method,`.
fn tags(lines: &[Line<'_>], most: &str) -> Option<String> {
    let is_tagged = |tag: Tag| lines.iter().flat_map(Line::judged).any(|one| one.tags.contains(&tag));
    let noisy = is_tagged(Tag::BeyondLooks).then(|| {
        format!(
            "too noisy: even {most} would probably not decide it; ratios halfway between 1 and what matters take the most \
             blocks"
        )
    });
    let likely = is_tagged(Tag::Likely).then(|| "likely: a change that is not established".to_owned());
    let told: Vec<String> = noisy.into_iter().chain(likely).collect();
    (!told.is_empty()).then(|| told.join(". "))
}

/// `rate 2.0 % (scan 5.0 %), instructions 0.50 %`.
fn matters(verdicts: &RunVerdicts, lines: &[Line<'_>]) -> String {
    let rules = &verdicts.rules;
    let judged = || {
        let resources = lines.iter().flat_map(|line| line.resources.iter().copied());
        lines.iter().flat_map(Line::verdicts).chain(resources)
    };
    let occurs = |metric: Metric| judged().any(|verdict| verdict.metric == metric);
    let of_metric = |metric: Metric| {
        let default = rules.mei.get(&metric).copied().unwrap_or_else(|| rules.mei("", metric));
        let exceptions: Vec<String> = rules
            .mei_of_test
            .iter()
            .filter(|((_, of), _)| *of == metric)
            .map(|((test, _), mei)| format!("{test} {}", words::percent(*mei)))
            .collect();
        let exceptions = match exceptions.as_slice() {
            [] => String::new(),
            exceptions => format!(" ({})", exceptions.join(", ")),
        };
        // Of what operations have little of, a fixed amount matters, which is a larger share.
        let at_least = match judged().any(|one| one.metric == metric && one.mei_is_per_op) {
            true => format!(" (at least {} per operation)", metric.measure().per_op_min),
            false => String::new(),
        };
        format!("{} {}{at_least}{exceptions}", metric.measure().label, words::percent(default))
    };
    Metric::ALL.into_iter().filter(|metric| occurs(*metric)).map(of_metric).collect::<Vec<_>>().join(", ")
}

/// The confidence levels of the intervals, which depend on the verdict.
pub(crate) fn confidences(lines: &[Line<'_>]) -> String {
    confidences_of(|| lines.iter().flat_map(Line::verdicts))
}

/// The same of any verdicts: of changes, and of the others, the levels that occur. Exact ones have no interval.
pub(crate) fn confidences_of<'a, I: Iterator<Item = &'a Verdict>>(verdicts: impl Fn() -> I) -> String {
    let level = |of_changes: bool| {
        let has_interval = |one: &Verdict| one.confidence.is_finite() && !one.tags.contains(&Tag::Exact);
        let is_included = |one: &&Verdict| has_interval(one) && one.class.is_change() == of_changes;
        let levels = || verdicts().filter(is_included).map(|one| one.confidence);
        let [lowest, highest] =
            [levels().reduce(f64::min), levels().reduce(f64::max)].map(|level| level.map(words::level));
        let (lowest, highest) = lowest.zip(highest)?;
        Some(match lowest == highest {
            true => lowest,
            false => format!("{} to {highest}", lowest.trim_end_matches(" %")),
        })
    };
    match (level(true), level(false)) {
        (Some(changes), Some(rest)) => {
            format!("{changes} for regressions and improvements, {rest} for the rest")
        }
        (Some(all), None) | (None, Some(all)) => all,
        (None, None) if verdicts().any(|one| one.tags.contains(&Tag::Exact)) => "exact".to_owned(),
        (None, None) => "none before the second block".to_owned(),
    }
}
