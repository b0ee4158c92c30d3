//! What is real: for each candidate one line a test, with a verdict on its rate and one on the cost of an operation.
//!
//! | column | means |
//! | --- | --- |
//! | `rate` | `regression`: slower than base; `improvement`: faster; `same`: the difference is smaller than what matters; `inconclusive`: none of these is shown |
//! | `rQPS` | rate of the candidate divided by rate of base, mean over blocks |
//! | `from`, `to` | interval of the ratio before it |
//! | `blocks` | restarts that the figures rest on |
//! | `could show` | the smallest loss of rate (rise of cost) that these blocks would have shown with 80 % probability |
//! | `cost` | the same verdict on what one operation costs the server; `mixed`: it has changed, and something else that an operation takes has changed the other way |
//! | `cost/op` | the candidate's cost of an operation divided by base's, of the metric in `of` |
//! | `of` | what the cost rests on: instructions, or CPU time where nobody counts them |
//! | `remarks` | what else must be known; for an inconclusive line what it would take |
//!
//! Below it, what else an operation takes, each judged by itself: a line for each test and metric that has changed.
//!
//! | column | means |
//! | --- | --- |
//! | `metric` | CPU time, WAL bytes, fsyncs, rows touched, blocks touched |
//! | `verdict` | `regression`: more of it; `improvement`: less; `mixed`: beside a cost that moved the other way |
//! | `ratio`, `from`, `to` | of an operation, the candidate's divided by base's, and its interval |

use rqps_stats::{Class, Detector, Metric, Rules, Tag, Verdict};
use rqps_verdicts::{RunVerdicts, Tally};
use std::collections::BTreeSet;

use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::sides::Sides;
use crate::tables::trust;
use crate::verdict_lines::{IMPROVEMENTS, Judged, Line, MIXED, MORE_OF_A_RESOURCE};
use crate::words;

/// Lines of a list of changes.
const CHANGES_MAX: usize = 20;

/// The verdicts of every run that has blocks.
pub(crate) fn blocks(sides: &Sides<'_>) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for judged in Judged::of_all(sides)? {
        let mut of_arms: Vec<Block> =
            judged.candidates().flat_map(|arm| of_arm(sides, &judged, arm)).collect();
        say_once(&mut of_arms);
        blocks.append(&mut of_arms);
        blocks.push(Block::Text("How far to trust these verdicts:".to_owned()));
        blocks.push(trust::items(&judged));
    }
    Ok(blocks)
}

/// What several tables say of their columns stands below the last of them.
fn say_once(blocks: &mut [Block]) {
    let mut said = BTreeSet::new();
    for block in blocks.iter_mut().rev() {
        if let Block::Table(table) = block {
            table.footnotes.retain(|footnote| said.insert(footnote.clone()));
        }
    }
}

fn of_arm(sides: &Sides<'_>, judged: &Judged<'_>, arm: usize) -> Vec<Block> {
    let lines = judged.lines(arm, |test| sides.shows(test));
    let (label, base) = (judged.label(sides, arm), judged.label(sides, judged.base));
    let mut blocks = vec![Block::Text(summary(&label, &base, &lines))];
    let changes = changes(judged, &lines);
    if !changes.is_empty() {
        blocks.push(Block::Items(changes));
    }
    blocks.extend(open(judged, &lines).map(Block::Text));
    let mut table = table(judged, arm, &lines, &label, &base);
    table.subject = Some(("arm", judged.run.arms[arm].name.clone()));
    blocks.push(Block::Table(table));
    if let Some(mut table) = resources(&lines, &label, &base) {
        table.subject = Some(("arm", judged.run.arms[arm].name.clone()));
        blocks.push(Block::Table(table));
    }
    sides.warned_on(&judged.run.arms[arm], &judged.run.arms[judged.base], blocks)
}

/// `new against old, 6 tests. Rate: 1 regression, 5 the same. Cost: …`.
pub(crate) fn summary(label: &str, base: &str, lines: &[Line<'_>]) -> String {
    let of = |detector: Detector| {
        let verdicts = lines.iter().flat_map(Line::all).filter(|verdict| verdict.detector == detector);
        Tally::of(verdicts)
    };
    let tests = rqps_store::counted(lines.len(), "test");
    format!(
        "{label} against {base}, {tests}. Rate: {}. Cost of an operation ({}): {}.{}{}",
        tally(of(Detector::Rate)),
        costs_of(lines),
        tally(of(Detector::Cost)),
        stalls(of(Detector::Stalls)),
        beside(lines)
    )
}

/// What costs rest on: `instructions`, `CPU time`, or both where some tests have one and some the other.
fn costs_of(lines: &[Line<'_>]) -> String {
    let mut metrics: Vec<Metric> = lines.iter().filter_map(|line| Some(line.cost?.metric)).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let names: Vec<&str> = metrics.into_iter().map(|metric| metric.measure().label).collect();
    if names.is_empty() { "nothing measured".to_owned() } else { names.join(" or ") }
}

/// What else an operation takes, where it has changed: ` Beside it: CPU time less in 2; WAL bytes more in 1.`
fn beside(lines: &[Line<'_>]) -> String {
    let said = |detector: Detector| {
        let changed =
            || lines.iter().flat_map(Line::changed_resources).filter(|one| one.detector == detector);
        let name = changed().next()?.metric.measure().label;
        let more = changed().filter(|one| one.class.is_regression()).count();
        let parts = [(more, "more"), (changed().count() - more, "less")];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{word} in {count}"))
            .collect();
        Some(format!("{name} {}", parts.join(", ")))
    };
    let all: Vec<String> = Detector::resources().filter_map(said).collect();
    if all.is_empty() { String::new() } else { format!(" Beside it: {}.", all.join("; ")) }
}

/// Stalls where something is said of them. Most runs are too short to say more than that none were seen.
fn stalls(its: Tally) -> String {
    match its {
        Tally { regressions: 0, improvements: 0, mixed: 0, same: 0, inconclusive: 0 } => String::new(),
        Tally { regressions: 0, improvements: 0, same: 0, .. } => " Stalls: no change shown.".to_owned(),
        _ => format!(" Stalls: {}.", tally(its)),
    }
}

fn tally(tally: Tally) -> String {
    let many = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let parts = [
        (tally.regressions, many(tally.regressions, "regression")),
        (tally.improvements, many(tally.improvements, "improvement")),
        (tally.mixed, format!("{} mixed", tally.mixed)),
        (tally.same, format!("{} the same", tally.same)),
        (tally.inconclusive, format!("{} inconclusive", tally.inconclusive)),
    ];
    let said: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    if said.is_empty() { "nothing measured".to_owned() } else { said.join(", ") }
}

/// Changes in plain words: what got worse first.
pub(crate) fn changes(judged: &Judged<'_>, lines: &[Line<'_>]) -> Vec<String> {
    let mut changed: Vec<((u8, f64), &Line<'_>)> =
        lines.iter().filter_map(|line| Some((line.rank()?, line))).collect();
    changed.sort_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let word = |rank: u8| match rank {
        0 => "REGRESSION",
        1 => "REGRESSION of cost",
        2 => "REGRESSION of stalls",
        MIXED => "MIXED",
        MORE_OF_A_RESOURCE => "more of a resource:",
        IMPROVEMENTS => "improvement",
        6 => "improvement of cost",
        7 => "improvement of stalls",
        _ => "less of a resource:",
    };
    let all = changed.len();
    let mut items: Vec<String> = changed
        .into_iter()
        .take(CHANGES_MAX)
        .map(|((rank, _), line)| format!("{} {}", word(rank), line.sentence(judged)))
        .collect();
    if all > CHANGES_MAX {
        items.push(format!("and {} more, in the table", all - CHANGES_MAX));
    }
    items
}

/// What would decide the verdicts that are not reached.
pub(crate) fn open(judged: &Judged<'_>, lines: &[Line<'_>]) -> Option<String> {
    let open: Vec<&Verdict> = lines
        .iter()
        .flat_map(Line::verdicts)
        .filter(|verdict| verdict.class == Class::Inconclusive)
        .collect();
    let needs = open
        .iter()
        .filter_map(|verdict| Some((verdict.test.as_str(), RunVerdicts::blocks_to_resolve(verdict)?)));
    let seconds = judged.verdicts.timing.seconds_for(needs);
    let run = judged.run.folder.name();
    let how_many = match open.len() {
        1 => "1 verdict is".to_owned(),
        many => format!("{many} verdicts are"),
    };
    let noisy = open.iter().filter(|verdict| verdict.tags.contains(&Tag::BeyondLooks)).count();
    let looks = &judged.verdicts.rules.looks;
    let most = looks.last().map_or(0, |look| look.blocks);
    let are_limited = looks.len() < Rules::default().looks.len();
    let how_many = match noisy {
        0 => format!("{how_many} not reached."),
        noisy if noisy == open.len() && are_limited => {
            format!(
                "{how_many} not reached, and `blocks_max` of the plan allows no later look than at {most} blocks."
            )
        }
        noisy if noisy == open.len() => format!("{how_many} not reached: too noisy."),
        noisy if are_limited => format!(
            "{how_many} not reached, {noisy} of them not within {most} blocks, the last look that the plan's `blocks_max` \
             allows."
        ),
        noisy => format!("{how_many} not reached, {noisy} of them because they are too noisy."),
    };
    match (open.is_empty(), seconds > 0.0) {
        (true, _) => None,
        (false, false) if noisy == open.len() => Some(how_many),
        (false, true) if judged.run.meta.protocol == "isolated" => Some(format!(
            "{how_many} About {} more would probably do{}: rqps resume {run} --more {}",
            words::about(seconds),
            if noisy > 0 { " for the rest" } else { "" },
            words::budget(seconds)
        )),
        (false, true) => Some(format!("{how_many} More passes would do.")),
        (false, false) => Some(format!("{how_many} How long that takes cannot be told yet.")),
    }
}

pub(crate) fn table(judged: &Judged<'_>, arm: usize, lines: &[Line<'_>], label: &str, base: &str) -> Table {
    let number = Column::number;
    let columns = vec![
        Column::words("test"),
        Column::keyed_words("rate", "rate_verdict"),
        number("rQPS", "rqps"),
        number("from", "rqps_low"),
        number("to", "rqps_high"),
        number("blocks", "rate_blocks"),
        number("could show", "rate_could_show"),
        Column::keyed_words("cost", "cost_verdict"),
        number("cost/op", "cost_ratio"),
        number("from", "cost_low"),
        number("to", "cost_high"),
        number("blocks", "cost_blocks"),
        number("could show", "cost_could_show"),
        Column::keyed_words("of", "cost_of"),
        Column::words("remarks"),
    ];
    let mut table = Table::new("verdicts", format!("Verdicts on {label}"), columns, 0);
    table.preamble.push(format!("Relative to: {base}"));
    for line in lines {
        let mut cells = vec![Cell::words(line.test)];
        cells.extend(figures(line.rate, 3));
        cells.extend(figures(line.cost, 4));
        cells.push(line.cost.map_or_else(Cell::missing, |cost| Cell::words(cost.metric.measure().label)));
        cells.push(Cell::words(remarks(judged, arm, line)));
        table.row_in(&line.group.title, cells);
    }
    table.footnotes = footnotes(&judged.verdicts, lines);
    table
}

/// What else an operation takes, where it has changed; none where nothing has.
pub(crate) fn resources(lines: &[Line<'_>], label: &str, base: &str) -> Option<Table> {
    let number = Column::number;
    let columns = vec![
        Column::words("test"),
        Column::words("metric"),
        Column::keyed_words("verdict", "verdict"),
        number("ratio", "ratio"),
        number("from", "low"),
        number("to", "high"),
        number("blocks", "blocks"),
        number("could show", "could_show"),
        Column::words("remarks"),
    ];
    let mut table = Table::new("resources", format!("What else an operation takes on {label}"), columns, 0);
    table.preamble.push(format!("Relative to: {base}"));
    for (line, verdict) in lines.iter().flat_map(|line| line.changed_resources().map(move |one| (line, one)))
    {
        let mut cells = vec![Cell::words(line.test), Cell::words(verdict.metric.measure().label)];
        cells.extend(figures(Some(verdict), 4));
        cells.push(Cell::words(words::remarks(verdict).join("; ")));
        table.row_in(&line.group.title, cells);
    }
    table.footnotes.push(
        "regression: more of it than base; improvement: less. Each metric is judged by itself, and none decides the \
         cost; those that have not changed, or are not decided, stand in the section evidence"
            .to_owned(),
    );
    (!table.rows.is_empty()).then_some(table)
}

fn figures(verdict: Option<&Verdict>, decimals: usize) -> Vec<Cell> {
    let Some(one) = verdict else {
        return vec![Cell::missing(); 6];
    };
    let ratio = |value: f64| match value {
        infinite if infinite.is_infinite() => Cell::words("from none"),
        value => Cell::fixed(Some(value), decimals),
    };
    vec![
        words::verdict_cell(one),
        ratio(one.ratio),
        ratio(one.low),
        ratio(one.high),
        Cell::count(one.blocks as u64),
        Cell::printed(Some(one.mde80), detectable),
    ]
}

fn detectable(share: f64) -> String {
    match share {
        0.0 => "any".to_owned(),
        beyond if beyond > 1.0 => "over 100 %".to_owned(),
        share => words::percent(share),
    }
}

fn remarks(judged: &Judged<'_>, arm: usize, line: &Line<'_>) -> String {
    let mut said: Vec<String> = line.missed.iter().map(|missed| missed.said.clone()).collect();
    for verdict in line.verdicts() {
        let what = verdict.detector.key();
        let takes = (verdict.class == Class::Inconclusive).then(|| judged.still_takes(verdict)).flatten();
        let not_covered = (verdict.detector == Detector::Cost).then(|| line.not_covered()).flatten();
        let remarks: Vec<String> =
            takes.into_iter().chain(words::remarks(verdict)).chain(not_covered).collect();
        if !remarks.is_empty() {
            said.push(format!("{what}: {}", remarks.join("; ")));
        }
    }
    if let Some(takes) = line.stalls.and_then(|verdict| judged.still_takes(verdict)) {
        said.push(format!("stalls: in most windows other than base's, which is not shown yet; {takes}"));
    }
    if let Some(verdict) = line.changed_stalls() {
        let told = std::iter::once(line.part(verdict, judged)).chain(words::remarks(verdict));
        said.push(format!("{}: {}", words::verdict(verdict), told.collect::<Vec<_>>().join("; ")));
    }
    let own = judged.verdicts.remarks_on(line.test, arm).iter().map(words::remark);
    said.extend(own);
    said.join(". ")
}

/// What the columns mean, and by which rules.
fn footnotes(verdicts: &RunVerdicts, lines: &[Line<'_>]) -> Vec<String> {
    let rules = &verdicts.rules;
    let looks: Vec<String> = rules.looks.iter().map(|look| look.blocks.to_string()).collect();
    let mut footnotes = vec![
        format!(
            "regression: worse than base; improvement: better; either is wrong in at most {} of verdicts on arms that \
             are alike. mixed: it has changed, and something else that an operation takes has changed the other way. \
             same: the difference is smaller than what matters. inconclusive: none of these is shown; it does not mean \
             the same",
            words::percent(rules.alpha)
        ),
        format!(
            "what matters: {}. Looked at after {} blocks",
            matters(verdicts, lines),
            looks.join(", ")
        ),
        format!("from, to: interval of the ratio, with {}, over all looks", confidences(lines)),
        "could show: the smallest loss of rate, or rise of cost, that these blocks would have shown with 80 % \
         probability. blocks: restarts of every server from the same data; nothing else is counted as a sample"
            .to_owned(),
        format!(
            "too noisy: {} blocks, the most that are looked at, would probably not decide it. suspect: a change is \
             likely, not shown",
            looks.last().map_or("", String::as_str)
        ),
        "rQPS: rate / base's rate. cost/op: cost of an operation / base's, of the metric in `of` and of nothing else".to_owned(),
        "sizes: of changes that few blocks have just shown, the ratio is on average too far from 1; the interval holds"
            .to_owned(),
    ];
    let changed = lines.iter().filter_map(Line::changed_stalls);
    footnotes.extend(changed.take(1).map(|one| {
        format!(
            "stalls: what events took beyond 20 times base's median, or beyond 20 ms if that is more; a difference of {} \
             of the time matters. The section variance has all of them",
            words::percent(one.mei)
        )
    }));
    footnotes
}

/// `rate 2.0 % (scan 5.0 %), instructions 0.50 %`.
fn matters(verdicts: &RunVerdicts, lines: &[Line<'_>]) -> String {
    let rules = &verdicts.rules;
    let seen = |metric: Metric| {
        lines
            .iter()
            .flat_map(Line::verdicts)
            .chain(lines.iter().flat_map(|line| line.resources.iter().copied()))
            .any(|verdict| verdict.metric == metric)
    };
    let of_metric = |metric: Metric| {
        let usual = rules.mei.get(&metric).copied().unwrap_or_else(|| rules.mei("", metric));
        let own: Vec<String> = rules
            .mei_of_test
            .iter()
            .filter(|((_, of), _)| *of == metric)
            .map(|((test, _), mei)| format!("{test} {}", words::percent(*mei)))
            .collect();
        let own = if own.is_empty() { String::new() } else { format!(" ({})", own.join(", ")) };
        format!("{} {}{own}", metric.measure().label, words::percent(usual))
    };
    Metric::ALL.into_iter().filter(|metric| seen(*metric)).map(of_metric).collect::<Vec<_>>().join(", ")
}

/// The least confidence among the intervals of changes, or of the rest.
fn confidence(lines: &[Line<'_>], of_changes: bool) -> Option<String> {
    let wanted = |one: &&Verdict| one.confidence.is_finite() && one.class.is_change() == of_changes;
    let all = lines.iter().flat_map(Line::verdicts).filter(wanted);
    let least = all.map(|one| one.confidence).fold(f64::INFINITY, f64::min);
    least.is_finite().then(|| format!("{:.2} %", least * 100.0).replace(".00 %", " %"))
}

/// The confidence of intervals, which depends on what they are for.
fn confidences(lines: &[Line<'_>]) -> String {
    match (confidence(lines, true), confidence(lines, false)) {
        (Some(changes), Some(rest)) => {
            format!("{changes} confidence for regressions and improvements, {rest} for the rest")
        }
        (Some(all), None) | (None, Some(all)) => format!("{all} confidence"),
        (None, None) => "no confidence yet, as one block gives none".to_owned(),
    }
}
