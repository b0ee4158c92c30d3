//! Shows why tests became slower or faster: explanations as blocks of a document, and as JSON.
//!
//! | column | is |
//! | --- | --- |
//! | `us/o` | microseconds per operation, from one client's view |
//! | `change` | candidate minus base |
//! | `99 %` | confidence interval of the change over blocks; empty for a single pass |
//! | `share` | the part's share of the whole change |
//! | `part` | waiting: neither client nor server session is on a CPU; unexplained: not measured by any counter |
//! | `noise` | half width of the 99 % interval of the difference over the larger of the two values; rows within it are left out |

use std::rc::Rc;

use rqps_explain::{Decomposition, Evidence, ExplainRequest, Explanation, Part, PartName, Word, explain};
use rqps_model::counted;
use rqps_store::{RATE_WAS_SET, Run};

use crate::comparison::{Comparison, StepKind};
use crate::document::{Block, Cell, Column, Document, Table};
use crate::error::{Error, Result};
use crate::explain_json;
use crate::explain_summary::{
    Summary, answers, changed_plans, difference, headline, if_real, in_short, is_without_blocks_yet,
    more_than_whole, no_explanations, notes, ratio_of, sentence, unchanged, without_change,
};
use crate::format::{Format, Screen};
use crate::invalid;
use crate::number::{self, significant};
use crate::reading::Reading;
use crate::render::render;
use crate::tables::verdicts::confidences;
use crate::tables::{certificate, disturbed, trust};
use crate::verdict_lines::{Judged, Line};
use crate::words;

/// Options of [`explain_text`].
#[derive(Debug, Clone, Default)]
pub struct ExplainOptions {
    pub format: Format,
    pub screen: Screen,
    /// Tests; if empty, those that changed or are inconclusive.
    pub tests: Vec<String>,
    /// Names of arms; if empty, all but base and its control.
    pub arms: Vec<String>,
    /// Name of the arm they are compared with; the plan's base if None.
    pub base: Option<String>,
    /// The figures behind every change; else, if no tests are named, of many a summary.
    pub all: bool,
}

/// So many changes have their figures unasked.
const FEW: usize = 3;

/// Explains a run, in any format.
///
/// # Errors
/// If the run lacks a requested test or arm, or cannot be read.
pub fn explain_text(run: &Run, options: &ExplainOptions) -> Result<String> {
    let base = options.base.as_deref().map(|name| arm_index(run, name)).transpose()?;
    let readings = [Reading::new(run)];
    let comparison = Comparison::new(&readings, base.map(|base| &*run.arms[base].name), &[])?;
    let base = comparison.base_in(run);
    let arms: Result<Vec<usize>> = options.arms.iter().map(|name| arm_index(run, name)).collect();
    let judged = Judged::all(&comparison)?;
    let judged = judged.first().map(Rc::as_ref);
    let asked = ExplainRequest { tests: options.tests.clone(), arms: arms?, base: Some(base) };
    let mut found = explain(run, judged.map(|judged| &judged.verdicts), &asked)?;
    found.retain(|one| judged.is_some() || invalid::is_compared(&comparison, &run.arms[one.arm], &one.test));
    largest_first(&mut found, |one| size(&comparison, judged, one));
    let invalid = invalid::all(&comparison, &options.tests, &asked.arms);
    let warnings = comparison.warnings();
    if options.format == Format::Json {
        let mut waiting = certificate::waiting(run, &comparison)?;
        if let Some((_, all)) = &mut waiting {
            all.retain(|one| options.tests.is_empty() || options.tests.contains(&one.test));
        }
        let headline = headline(run, (&comparison, judged), &asked, &found);
        return explain_json::text(run, &headline, &found, &invalid, waiting, &warnings);
    }
    let mut rates_only = take_out(&mut found, |one| has_rates_only(run, one));
    let with_flamegraphs = take_out(&mut rates_only, |one| has_flamegraph(run, one));
    let unexplained = take_out(&mut found, |one| run.meta.is_imported() && is_unexplained(one));
    let mut document = Document::default();
    document.push(title(run, judged.is_some()));
    if judged.is_none() {
        // Verdicts contain the noise of the host; a single pass does not.
        let disturbed = disturbed::sentences(&comparison, &comparison.steps(StepKind::Tests));
        document.extend(disturbed.into_iter().map(Block::Alarm));
    }
    document.extend(invalid::block(&invalid));
    if let Some(judged) = judged.filter(|_| options.tests.is_empty()) {
        document.extend(answers(&comparison, judged, &asked.arms));
        document.extend(trust::alarm(judged).map(Block::Alarm));
    }
    document.extend(Summary::of(&found).text().map(Block::Text));
    let is_shown = |one: &&Explanation| !options.tests.is_empty() || is_reported(judged, one);
    let mut shown: Vec<&Explanation> = found.iter().filter(is_shown).collect();
    let hidden = found.len() - shown.len();
    if hidden > 0 && shown.is_empty() {
        document.extend(without_change(run, judged));
    }
    let hidden_ones = found.iter().filter(|one| !is_shown(one));
    document.extend(changed_plans(run, judged, hidden_ones, options.all));
    // Rows of CSV are figures only.
    let is_asked = !options.tests.is_empty() || options.all || options.format == Format::Csv;
    let is_short = shown.len() > FEW && !is_asked;
    if is_short {
        document.extend(in_short((run, &comparison), judged, &shown));
        shown.clear();
    }
    for one in &shown {
        document.push(Block::Heading(2, format!("{}: {}", one.test, pair(run, one))));
        document.extend(difference(&comparison, judged, one).map(Block::Text));
        document.extend(findings(run, (&comparison, judged), one));
    }
    if options.tests.is_empty() && !is_short {
        let has_line = |test: &str| shown.iter().any(|one| one.test == test && one.commits.is_some());
        document.extend(certificate::commits(&comparison, |test| !has_line(test))?.block());
    }
    if let Some(judged) = judged.filter(|_| !shown.is_empty()) {
        document.push(Block::Text(legend(judged, &shown)));
    }
    document.push_warnings(&warnings);
    if !is_short {
        document.extend(differences(run, &comparison, &found));
    }
    document.extend(notes(&found));
    document.extend(flamegraphs_only(run, &with_flamegraphs).map(Block::Text));
    document.extend(no_figures(&rates_only).map(Block::Text));
    document.extend(nothing_explains(&unexplained, judged.is_some()).map(Block::Text));
    if [&found, &rates_only, &with_flamegraphs, &unexplained].iter().all(|all| all.is_empty()) {
        let has_ratios = invalid::has_ratios(&comparison);
        let named_tests = !options.tests.is_empty();
        if invalid.is_empty() || has_ratios && !named_tests {
            document.push(Block::Text(no_explanations(run, judged, named_tests, has_ratios)));
        }
    }
    if hidden > 0 && hidden < found.len() {
        let is_of_one_arm = found.iter().all(|one| one.arm == found[0].arm);
        let others = counted(hidden, if is_of_one_arm { "test" } else { "pair of test and arm" });
        let others = others.strip_prefix("1 ").unwrap_or(&others);
        let has_verdicts = judged.is_none_or(Judged::has_verdicts);
        document.push(Block::Text(unchanged(run, has_verdicts, &format!("the other {others}"))));
    }
    document.warn(&warnings);
    render(&document, options.format, options.screen)
}

fn title(run: &Run, is_judged: bool) -> Block {
    let what = match (is_judged || is_without_blocks_yet(run), run.meta.is_imported()) {
        (true, _) => "verdicts",
        (false, true) => "differences between single results",
        (false, false) => "differences in a single pass",
    };
    Block::Heading(1, format!("Why: {what} of {}", run.folder.name()))
}

fn largest_first(found: &mut Vec<Explanation>, size: impl Fn(&Explanation) -> (u8, f64)) {
    let mut sized: Vec<((u8, f64), Explanation)> = found.drain(..).map(|one| (size(&one), one)).collect();
    sized.sort_by(|((a, a_size), _), ((b, b_size), _)| a.cmp(b).then(a_size.total_cmp(b_size)));
    found.extend(sized.into_iter().map(|(_, one)| one));
}

/// Sorts the worst verdict first; without verdicts, the largest difference, but first of tests on which more than the
/// host differed.
fn size(comparison: &Comparison<'_>, judged: Option<&Judged<'_>>, one: &Explanation) -> (u8, f64) {
    let Some(judged) = judged else {
        let ratio = ratio_of(comparison, one);
        let is_of_host = one.findings.first().is_none_or(|first| first.word == Word::TheHost);
        return (u8::from(is_of_host), ratio.map_or(0.0, |ratio| -ratio.ln().abs()));
    };
    let rank = judged.lines(one.arm, |test| test == one.test).first().and_then(Line::rank);
    rank.unwrap_or((u8::MAX, 0.0))
}

/// How the figures of verdicts and of explanations are computed.
fn legend(judged: &Judged<'_>, shown: &[&Explanation]) -> String {
    let lines = judged.all_lines();
    let sessions = match shown.iter().any(|one| one.decomposition.is_some()) {
        true => {
            " Session CPU is that of what serves the clients; CPU time of verdicts is that of the whole server, background \
             processes too."
        }
        false => "",
    };
    format!(
        "Verdicts are means of the ratios block by block, with intervals of {}. The time of an operation has the verdict's \
         ratio; other figures are means over the same blocks, with intervals of 99 %.{sessions}",
        confidences(&lines)
    )
}

/// Whether an imported test has no other figures than rates on both arms, so that nothing could be found.
fn has_rates_only(run: &Run, one: &Explanation) -> bool {
    let has_figures = |arm: usize| {
        let windows = run.windows.iter().filter(|window| window.action.arm == run.arms[arm].name);
        let mut of_test = windows.filter(|window| window.action.step == one.test);
        of_test
            .any(|window| window.metrics.keys().any(|name| !["cpus", RATE_WAS_SET].contains(&name.as_str())))
    };
    run.meta.is_imported() && one.findings.is_empty() && !(has_figures(one.base) && has_figures(one.arm))
}

/// Whether a flamegraph of the test was imported, of either arm.
fn has_flamegraph(run: &Run, one: &Explanation) -> bool {
    let arms = [one.base, one.arm].map(|arm| &run.arms[arm].name);
    run.profiles.iter().any(|profile| profile.result.test == one.test && arms.contains(&&profile.action.arm))
}

/// Whether figures were compared, and none accounts for any of the difference.
fn is_unexplained(one: &Explanation) -> bool {
    one.searched
        && one.decomposition.is_none()
        && one.findings.iter().all(|found| found.word == Word::NotExplained)
}

fn take_out(found: &mut Vec<Explanation>, is_taken: impl Fn(&Explanation) -> bool) -> Vec<Explanation> {
    let (taken, left) = std::mem::take(found).into_iter().partition(is_taken);
    *found = left;
    taken
}

/// Says it once for all tests.
fn no_figures(rates_only: &[Explanation]) -> Option<String> {
    Some(format!(
        "The imported files have rates of {} and no figures to explain them from. Output of vmstat, iostat and perf stat, and \
         flamegraphs, tell more if they are given to the import beside the results.",
        tests_of(rates_only)?
    ))
}

/// The same of tests that have flamegraphs.
fn flamegraphs_only(run: &Run, all: &[Explanation]) -> Option<String> {
    Some(format!(
        "The imported files have rates and flamegraphs of {}, and no figures to explain them from. \
         `rqps report {} --html FILE` draws the flamegraphs, and their difference if both arms have one. \
         Output of vmstat, iostat and perf stat tells more if it is given to the import beside the results.",
        tests_of(all)?,
        run.folder.name()
    ))
}

/// The same of tests with figures.
fn nothing_explains(unexplained: &[Explanation], has_blocks: bool) -> Option<String> {
    let why = match has_blocks {
        true => "none differs by more than noise",
        false => "without repeats, noise is unknown, so that no figure can be told from it",
    };
    Some(format!(
        "No figure of the imported files explains a difference in {}: {why}.",
        tests_of(unexplained)?
    ))
}

/// `scan`, or `scan and 3 other tests`.
fn tests_of(all: &[Explanation]) -> Option<String> {
    let mut tests: Vec<&str> = Vec::new();
    for one in all {
        if !tests.contains(&one.test.as_str()) {
            tests.push(&one.test);
        }
    }
    let first = tests.first()?;
    Some(match tests.len() {
        1 => (*first).to_owned(),
        2 => format!("{first} and 1 other test"),
        count => format!("{first} and {} other tests", count - 1),
    })
}

/// The sentences of a run's explanations without their figures, for a report.
pub(crate) fn sentences(run: &Run, judged: Option<&Judged<'_>>) -> Result<Vec<Block>> {
    let found = explain(run, judged.map(|judged| &judged.verdicts), &ExplainRequest::default())?;
    let item = |one: &Explanation| {
        let (first, others) = one.findings.split_first()?;
        let others = others.iter().map(|finding| format!(". {}", words::capitalized(&sentence(finding))));
        Some(format!("{} ({}): {}{}", one.test, pair(run, one), sentence(first), others.collect::<String>()))
    };
    let items: Vec<String> = found.iter().filter(|one| is_reported(judged, one)).filter_map(item).collect();
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let more = format!("`rqps explain {}` shows the figures behind these.", run.folder.name());
    let once = "These are from a single pass, which does not show its noise: rates are explained from 5 % on, other figures \
                named from 10 % on, and any of them may be chance.";
    let caveat = judged.is_none().then(|| Block::Text(once.to_owned()));
    Ok(caveat.into_iter().chain([Block::Items(items), Block::Text(more)]).collect())
}

/// Whether a report includes the explanation: only of changes and missed background rates, not of
/// inconclusive tests.
pub(crate) fn is_reported(judged: Option<&Judged<'_>>, one: &Explanation) -> bool {
    judged.is_none_or(|judged| {
        let mut verdicts = judged.verdicts.of_arm(one.arm).filter(|verdict| verdict.test == one.test);
        judged.missed(one.arm, &one.test).is_some() || verdicts.any(|verdict| verdict.class.is_change())
    })
}

/// An explanation without its heading: findings, supporting figures, parts of the time, and notes.
pub(crate) fn blocks_of(
    run: &Run,
    comparison: &Comparison<'_>,
    judged: Option<&Judged<'_>>,
    one: &Explanation,
) -> Vec<Block> {
    findings(run, (comparison, judged), one).into_iter().chain(notes(std::slice::from_ref(one))).collect()
}

fn findings(
    run: &Run,
    (comparison, judged): (&Comparison<'_>, Option<&Judged<'_>>),
    one: &Explanation,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(judged.and_then(|judged| if_real(judged, one)).map(Block::Text));
    let items: Vec<String> =
        one.findings.iter().map(|finding| words::capitalized(&sentence(finding))).collect();
    blocks.extend((!items.is_empty()).then_some(Block::Items(items)));
    blocks.extend(more_than_whole(one).map(Block::Text));
    let no_cause = match (one.searched, one.findings.as_slice()) {
        (true, []) => Some("No cause found."),
        (true, _) => None,
        (false, []) => Some("No verdict shows a change, so no cause was searched for."),
        (false, _) => Some("No verdict shows a change, so no other cause was searched for."),
    };
    blocks.extend(no_cause.map(|text| Block::Text(text.to_owned())));
    let evidence = evidence(run, one);
    if !evidence.rows.is_empty() {
        blocks.push(Block::Table(evidence));
    }
    blocks.extend(one.decomposition.as_ref().map(|split| Block::Table(parts(run, one, split))));
    let commits = one.commits.as_ref();
    blocks.extend(commits.map(|found| {
        let [base, arm] = [one.base, one.arm].map(|arm| &*run.arms[arm].name);
        Block::Text(found.text(base, arm, one.decomposition.as_ref()))
    }));
    for figure in one.findings.iter().flat_map(|finding| &finding.evidence) {
        let text = figure.text.as_ref().filter(|text| text.contains('\n'));
        blocks.extend(text.map(|text| Block::Fold(figure.what.clone(), vec![Block::Code(text.clone())])));
    }
    comparison.warned_on(&run.arms[one.arm], &run.arms[one.base], blocks)
}

fn evidence(run: &Run, one: &Explanation) -> Table {
    let (base, arm) = (&run.arms[one.base].name, &run.arms[one.arm].name);
    let columns = vec![
        Column::number(base.as_str(), "base"),
        Column::number(arm.as_str(), "arm"),
        Column::number("ratio", "ratio"),
        Column::number("noise", "noise"),
        Column::words("unit"),
        Column::words("cause").optional(1),
        Column::words("figure"),
    ];
    let mut table = Table::new("explanation", "Supporting figures", columns, 3)
        .about("test", &one.test)
        .about("candidate", arm);
    table.together = true;
    table.hides_unknown = true;
    for finding in &one.findings {
        for figure in &finding.evidence {
            if let Some(cells) = evidence_cells(figure, finding.cause.key()) {
                table.row(cells);
            }
        }
    }
    table
}

/// From this ratio on, decimals say nothing.
const LARGE_RATIO: f64 = 100.0;

/// Whether a figure differs by no more than its noise: it supports nothing, though a verdict may show a change of it.
fn is_within_noise(figure: &Evidence) -> bool {
    let change =
        figure.base.zip(figure.arm).map(|(base, arm)| (arm - base).abs() / base.abs().max(arm.abs()));
    change.zip(figure.noise).is_some_and(|(change, noise)| change <= noise)
}

/// None for evidence that is text, and for figures that are 0 on both arms or within noise.
fn evidence_cells(figure: &Evidence, cause: &str) -> Option<Vec<Cell>> {
    let figures = [figure.base, figure.arm];
    if figures.iter().all(Option::is_none)
        || figures.iter().all(|one| one.is_some_and(|value| plain(value) == "0"))
        || is_within_noise(figure)
    {
        return None;
    }
    Some(vec![
        Cell::printed(figure.base, plain),
        Cell::printed(figure.arm, plain),
        Cell::printed(number::ratio(figure.arm, figure.base), |ratio| match ratio {
            large if large >= LARGE_RATIO => plain(large),
            ratio => format!("{ratio:.3}"),
        }),
        Cell::printed(figure.noise, |noise| format!("{} %", plain(100.0 * noise))),
        Cell::words(figure.unit.clone()),
        Cell::words(cause),
        Cell::words(figure.what.clone()),
    ])
}

/// Change of the time per operation, as a share of it, from which on a single block's parts are told as shares of it.
const SHARES_FROM: f64 = 0.1;

fn parts(run: &Run, one: &Explanation, split: &Decomposition) -> Table {
    let (base, arm) = (&run.arms[one.base].name, &run.arms[one.arm].name);
    let columns = vec![
        Column::number(base.as_str(), "base_us_per_op"),
        Column::number(arm.as_str(), "arm_us_per_op"),
        Column::number("change", "change_us_per_op"),
        Column::number("99 %", "interval_us_per_op"),
        Column::number("share", "share"),
        Column::words("part"),
    ];
    let clients = counted(split.clients as usize, "client");
    let title = format!("Time per operation, us/o, {clients}");
    let mut table =
        Table::new("decomposition", title, columns, 1).about("test", &one.test).about("candidate", arm);
    table.hides_unknown = true;
    // Shares of a change that may be zero are meaningless; one block doesn't tell, where it is small.
    let is_large = split.change_us_per_op().abs() >= SHARES_FROM * split.base_us_per_op;
    let is_change = if split.low.is_finite() { split.is_beyond_noise() } else { is_large };
    let change = if is_change && one.has_shares { split.change_us_per_op() } else { f64::NAN };
    let total = Part {
        name: PartName::Operation,
        base_us_per_op: split.base_us_per_op,
        arm_us_per_op: split.arm_us_per_op,
        change_us_per_op: split.change_us_per_op(),
        low: split.low,
        high: split.high,
        of: Vec::new(),
    };
    for part in &split.parts {
        add_part(&mut table, part, 0, change);
    }
    table.row(part_cells(&total, 0, change));
    table.footnotes.extend(overlap(split, [base, arm]));
    if let Some(background) = &split.background {
        table.footnotes.push(format!(
            "In addition, background processes use {} us of CPU per operation; on {base} {}.",
            plain(background.arm_us_per_op),
            plain(background.base_us_per_op)
        ));
    }
    let footnote = |figure: &Evidence| {
        let (own, of_base) = (figure.arm?, figure.base?);
        Some(format!("{}: {} per operation; on {base} {}", figure.what, plain(own), plain(of_base)))
    };
    table.footnotes.extend(split.beside.iter().filter_map(footnote));
    table
}

/// Where the CPU times of client and session are more than an operation takes, in all or in some blocks.
fn overlap(split: &Decomposition, arms: [&String; 2]) -> Option<String> {
    let waiting = split.parts.iter().find(|part| part.name == PartName::Waiting)?;
    let over = |part: &Part| {
        let times = [part.base_us_per_op, part.arm_us_per_op].into_iter().zip(arms);
        let over = times.filter(|(us, _)| *us < -NO_TIME_US);
        over.map(|(us, arm)| format!("{} us on {arm}", plain(-us))).collect::<Vec<_>>().join(", ")
    };
    let in_all = over(waiting);
    if !in_all.is_empty() {
        return Some(format!(
            "Client and session are on a CPU at the same time: together they take longer than an operation, by {in_all}, so the \
             waiting there is negative."
        ));
    }
    let in_some = over(waiting.of.iter().find(|kind| kind.name == PartName::Unexplained)?);
    (!in_some.is_empty()).then(|| {
        format!(
            "\"{}\" is negative, by {in_some}: in some blocks client and session were on a CPU at the same time, or their CPU \
             times, which are found apart from the rate, are of other slices.",
            PartName::Unexplained
        )
    })
}

/// Adds a part and its subparts; shares are of the `total` change.
fn add_part(table: &mut Table, part: &Part, depth: usize, total: f64) {
    table.row(part_cells(part, depth, total));
    // An only subpart that is unexplained would repeat its parent.
    for inner in part.of.iter().filter(|inner| part.of.len() > 1 || inner.name != PartName::Unexplained) {
        add_part(table, inner, depth + 1, total);
    }
}

fn part_cells(part: &Part, depth: usize, total: f64) -> Vec<Cell> {
    let time = |us: f64| match us.is_finite() {
        true => Cell::number(us, plain(us)),
        false => Cell::words(""),
    };
    let digits = part.digits();
    let share = part.change_us_per_op / total;
    let share = if share.is_finite() {
        // Without the sign of a share that rounds to 0.
        Cell::number(share, format!("{:.0} %", (100.0 * share).round() + 0.0))
    } else {
        Cell::words("")
    };
    vec![
        time(part.base_us_per_op),
        time(part.arm_us_per_op),
        Cell::number(part.change_us_per_op, digits.signed(part.change_us_per_op)),
        Cell::words(digits.interval().unwrap_or_default()),
        share,
        Cell::words(format!("{}{}", "  ".repeat(depth), part.name)),
    ]
}

/// Microseconds below which a time is a rounding error, shown as 0.
const NO_TIME_US: f64 = 1e-6;

/// A time with three significant digits.
fn plain(us: f64) -> String {
    significant(if us.abs() < NO_TIME_US { 0.0 } else { us }, 3)
}

/// What differs between arms and base, once per arm: it hardly depends on the test.
fn differences(run: &Run, comparison: &Comparison<'_>, found: &[Explanation]) -> Vec<Block> {
    let mut arms: Vec<(usize, &Explanation)> = Vec::new();
    for one in found.iter().filter(|one| !one.differences.is_empty()) {
        if arms.iter().all(|(arm, _)| *arm != one.arm) {
            arms.push((one.arm, one));
        }
    }
    let table = |(arm, one): &(usize, &Explanation)| {
        let warnings = comparison.warnings_on(&run.arms[*arm], &run.arms[one.base]);
        let (base, arm) = (&run.arms[one.base].name, &run.arms[*arm].name);
        let columns = vec![
            Column::words("kind"),
            Column { key: "base".to_owned(), ..Column::words(base) },
            Column { key: "arm".to_owned(), ..Column::words(arm) },
            Column::words("name"),
        ];
        let mut table =
            Table::new("differences", format!("What differs between {arm} and {base}"), columns, 1);
        table.warnings = Some(warnings);
        for one in &one.differences {
            let cell = |value: &Option<String>| value.clone().map_or_else(Cell::missing, Cell::words);
            table.row(vec![
                Cell::words(one.kind.key()),
                cell(&one.base),
                cell(&one.arm),
                Cell::words(one.name.clone()),
            ]);
        }
        Block::Table(table)
    };
    arms.iter().map(table).collect()
}

pub(crate) fn pair(run: &Run, one: &Explanation) -> String {
    format!("{} against {}", run.arms[one.arm].name, run.arms[one.base].name)
}

fn arm_index(run: &Run, name: &str) -> Result<usize> {
    run.arms.iter().position(|arm| arm.name == name).ok_or_else(|| Error::UnknownArm {
        name: name.to_owned(),
        known: run.arms.iter().map(|arm| arm.name.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::evidence_cells;
    use rqps_explain::Evidence;

    fn is_shown(base: Option<f64>, arm: Option<f64>, noise: Option<f64>) -> bool {
        let mut figure = Evidence::default();
        (figure.base, figure.arm, figure.noise) = (base, arm, noise);
        evidence_cells(&figure, "wal").is_some()
    }

    #[test]
    fn figures_within_noise_support_nothing() {
        assert!(!is_shown(Some(60.8), Some(58.6), Some(0.097)));
        assert!(is_shown(Some(60.8), Some(50.0), Some(0.097)) && is_shown(Some(60.8), Some(58.6), None));
    }

    /// What neither arm has explains nothing.
    #[test]
    fn figures_that_are_0_on_both_arms_are_left_out() {
        let is_shown = |base, arm| is_shown(base, arm, None);
        assert!(!is_shown(Some(0.0), Some(0.0)) && !is_shown(Some(3e-9), Some(0.0)) && !is_shown(None, None));
        assert!(
            is_shown(Some(0.0), Some(2.0)) && is_shown(Some(0.04), Some(0.0)) && is_shown(None, Some(0.0))
        );
    }
}
