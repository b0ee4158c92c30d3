//! Why tests got slower or faster: explanations as blocks of a document, and as JSON of their own.
//!
//! | column | is |
//! | --- | --- |
//! | `us/o` | microseconds per operation, as one client sees it |
//! | `change` | candidate minus base |
//! | `99 %` | confidence interval of the change over blocks; none in a single pass |
//! | `share` | the part's share of the whole change |
//! | `part` | waiting: neither client nor server session is on a CPU; unexplained: not measured by any counter |
//! | `noise` | half width of the 99 % interval of the difference over base's value |

use rqps_explain::{Asked, Decomposition, Evidence, Explanation, Finding, Part, PartName, explain};
use rqps_store::{Run, counted};

use crate::document::{Block, Cell, Column, Document, Table};
use crate::error::{Error, Result};
use crate::explain_json;
use crate::format::Format;
use crate::number::{self, significant};
use crate::reading::Reading;
use crate::render::render;
use crate::sides::Sides;
use crate::verdict_lines::Judged;

/// What to explain, and how to show it.
#[derive(Debug, Clone, Default)]
pub struct ExplainOptions {
    pub format: Format,
    pub color: bool,
    /// Tests; when empty, those that changed or are not decided.
    pub tests: Vec<String>,
    /// Arms by name; when empty, all but base and its control.
    pub arms: Vec<String>,
    /// What they are compared with, by name; the plan's base when none.
    pub base: Option<String>,
}

/// Explanations of a run in any format.
///
/// # Errors
/// When a test or an arm is not in the run, or the run cannot be read.
pub fn explain_text(run: &Run, options: &ExplainOptions) -> Result<String> {
    let base = match &options.base {
        Some(name) => arm_of(run, name)?,
        None => plans_base(run)?,
    };
    let arms: Result<Vec<usize>> = options.arms.iter().map(|name| arm_of(run, name)).collect();
    let judged = Judged::from_run(run, base)?;
    let asked = Asked { tests: options.tests.clone(), arms: arms?, base: Some(base) };
    let found = explain(run, judged.as_ref().map(|judged| &judged.verdicts), &asked)?;
    let readings = [Reading::new(run)];
    let sides = Sides::new(&readings, Some(&run.arms[base].name), &[])?;
    let warnings = sides.warnings();
    if options.format == Format::Json {
        return explain_json::text(run, &found, &warnings);
    }
    let mut document = Document::default();
    let what = if judged.is_some() { "verdicts" } else { "differences in a single pass" };
    document.push(Block::Heading(1, format!("Why: {what} of {}", run.folder.name())));
    document.extend(warnings.iter().map(|warning| Block::Text(format!("WARNING: {warning}."))));
    for one in &found {
        document.push(Block::Heading(2, format!("{}: {}", one.test, pair(run, one))));
        document.extend(judged.as_ref().and_then(|judged| verdicts_of(judged, one)).map(Block::Text));
        document.extend(figures_of(run, &sides, one));
    }
    document.extend(differences(run, &sides, &found));
    document.extend(notes(&found));
    if found.is_empty() {
        document.push(Block::Text(nothing(run, judged.as_ref())));
    }
    document.warn(&warnings);
    render(&document, options.format, options.color)
}

/// The sentences of a run's explanations alone, for a report: a list for each arm.
pub(crate) fn sentences(run: &Run) -> Result<Vec<Block>> {
    let judged = Judged::from_run(run, plans_base(run)?)?;
    let found = explain(run, judged.as_ref().map(|judged| &judged.verdicts), &Asked::default())?;
    let told = |one: &Explanation| {
        let sentences: Vec<String> = one.findings.iter().map(sentence).collect();
        (!sentences.is_empty())
            .then(|| format!("{} ({}): {}", one.test, pair(run, one), sentences.join(". ")))
    };
    let items: Vec<String> =
        found.iter().filter(|one| is_reported(judged.as_ref(), one)).filter_map(told).collect();
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let more = format!("`rqps explain {}` shows the figures behind these.", run.folder.name());
    let once = "These are from a single pass: only their size, 10 % or more, distinguishes them from noise.";
    let caveat = judged.is_none().then(|| Block::Text(once.to_owned()));
    Ok(caveat.into_iter().chain([Block::Items(items), Block::Text(more)]).collect())
}

/// A report explains changes only, not inconclusive tests.
pub(crate) fn is_reported(judged: Option<&Judged<'_>>, one: &Explanation) -> bool {
    judged.is_none_or(|judged| {
        let of_test = judged.verdicts.of_arm(one.arm).filter(|verdict| verdict.test == one.test);
        let is_missed = judged.missed(one.arm, &one.test).is_some();
        is_missed || of_test.into_iter().any(|verdict| verdict.class.is_change())
    })
}

/// An explanation without its heading: findings, supporting figures, parts of the time, and what was not examined.
pub(crate) fn blocks_of(run: &Run, sides: &Sides<'_>, one: &Explanation) -> Vec<Block> {
    figures_of(run, sides, one).into_iter().chain(notes(std::slice::from_ref(one))).collect()
}

fn figures_of(run: &Run, sides: &Sides<'_>, one: &Explanation) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !one.findings.is_empty() {
        blocks.push(Block::Items(one.findings.iter().map(sentence).collect()));
    }
    let nothing = match (one.searched, one.findings.as_slice()) {
        (true, []) => Some("No cause found."),
        (true, _) => None,
        (false, []) => Some("No verdict shows a change, so no cause was searched for."),
        (false, _) => Some("No verdict shows a change, so no other cause was searched for."),
    };
    blocks.extend(nothing.map(|text| Block::Text(text.to_owned())));
    let evidence = evidence(run, one);
    if !evidence.rows.is_empty() {
        blocks.push(Block::Table(evidence));
    }
    blocks.extend(one.decomposition.as_ref().map(|split| Block::Table(parts(run, one, split))));
    for figure in one.findings.iter().flat_map(|finding| &finding.evidence) {
        let text = figure.text.as_ref().filter(|text| text.contains('\n'));
        blocks.extend(text.map(|text| Block::Fold(figure.what.clone(), vec![Block::Code(text.clone())])));
    }
    sides.warned_on(&run.arms[one.arm], &run.arms[one.base], blocks)
}

/// What was not examined, without repeating what holds for several tests.
fn notes(found: &[Explanation]) -> Vec<Block> {
    let mut notes: Vec<String> = Vec::new();
    for (one, remark) in found.iter().flat_map(|one| one.remarks.iter().map(move |remark| (one, remark))) {
        let note = match found {
            [_] => remark.clone(),
            _ => remark.replace(&format!("--test {}", one.test), "--test TEST"),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if notes.is_empty() {
        return Vec::new();
    }
    vec![Block::Items(notes.into_iter().map(|note| format!("note: {note}")).collect())]
}

/// `more work: pg18 writes 412 bytes of WAL per query, 31 % more than pg17 (315)`.
pub(crate) fn sentence(finding: &Finding) -> String {
    format!("{}: {}", finding.word, finding.sentence)
}

fn evidence(run: &Run, one: &Explanation) -> Table {
    let (base, arm) = (&run.arms[one.base].name, &run.arms[one.arm].name);
    let columns = vec![
        Column::number(base.as_str(), "base"),
        Column::number(arm.as_str(), "arm"),
        Column::number("ratio", "ratio"),
        Column::number("noise", "noise"),
        Column::words("unit"),
        Column::words("cause"),
        Column::words("figure"),
    ];
    let mut table = Table::new("explanation", "Supporting figures", columns, 3).about("test", &one.test);
    for finding in &one.findings {
        for figure in &finding.evidence {
            if let Some(cells) = figures(figure, finding.cause.key()) {
                table.row(cells);
            }
        }
    }
    table
}

/// A row of figures; none for evidence that is text.
fn figures(figure: &Evidence, cause: &str) -> Option<Vec<Cell>> {
    if figure.base.is_none() && figure.arm.is_none() {
        return None;
    }
    Some(vec![
        Cell::printed(figure.base, plain),
        Cell::printed(figure.arm, plain),
        Cell::fixed(number::ratio(figure.arm, figure.base), 3),
        Cell::printed(figure.noise, |noise| format!("{} %", plain(100.0 * noise))),
        Cell::words(figure.unit.clone()),
        Cell::words(cause),
        Cell::words(figure.what.clone()),
    ])
}

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
    let mut table = Table::new("decomposition", title, columns, 1).about("test", &one.test);
    // Shares of what may be nothing say nothing.
    let is_shown = !split.low.is_finite() || split.low > 0.0 || split.high < 0.0;
    let change = if is_shown { split.change_us_per_op() } else { f64::NAN };
    let whole = Part {
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
    table.row(part_cells(&whole, 0, change));
    if let Some(background) = &split.background {
        let said = format!(
            "In addition, background processes use {} us of CPU per operation; on {base} {}.",
            plain(background.arm_us_per_op),
            plain(background.base_us_per_op)
        );
        table.footnotes.push(said);
    }
    let said = |figure: &Evidence| {
        let (its, other) = (figure.arm?, figure.base?);
        Some(format!("{}: {} per operation; on {base} {}", figure.what, plain(its), plain(other)))
    };
    table.footnotes.extend(split.beside.iter().filter_map(said));
    table
}

fn add_part(table: &mut Table, part: &Part, depth: usize, whole: f64) {
    table.row(part_cells(part, depth, whole));
    // A part all of which is unexplained needs no second row to say so.
    for inner in part.of.iter().filter(|inner| part.of.len() > 1 || inner.name != PartName::Unexplained) {
        add_part(table, inner, depth + 1, whole);
    }
}

fn part_cells(part: &Part, depth: usize, whole: f64) -> Vec<Cell> {
    let finite = |value: f64| match value.is_finite() {
        true => Cell::number(value, plain(value)),
        false => Cell::words(""),
    };
    let interval = match part.low.is_finite() {
        true => Cell::words(format!("{} to {}", plain(part.low), plain(part.high))),
        false => Cell::words(""),
    };
    let share = part.change_us_per_op / whole;
    let share = if share.is_finite() {
        Cell::number(share, format!("{:.0} %", 100.0 * share))
    } else {
        Cell::words("")
    };
    vec![
        finite(part.base_us_per_op),
        finite(part.arm_us_per_op),
        Cell::number(part.change_us_per_op, signed(part.change_us_per_op)),
        interval,
        share,
        Cell::words(format!("{}{}", "  ".repeat(depth), part.name)),
    ]
}

/// Microseconds below which a time is a rounding error.
const NO_TIME_US: f64 = 1e-6;

/// A time with three significant digits at least.
fn plain(us: f64) -> String {
    significant(if us.abs() < NO_TIME_US { 0.0 } else { us }, 3)
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", plain(value)) } else { plain(value) }
}

/// What differs between the arms: once for each arm, since it hardly depends on the test.
fn differences(run: &Run, sides: &Sides<'_>, found: &[Explanation]) -> Vec<Block> {
    let mut arms: Vec<(usize, &Explanation)> = Vec::new();
    for one in found.iter().filter(|one| !one.differences.is_empty()) {
        if arms.iter().all(|(arm, _)| *arm != one.arm) {
            arms.push((one.arm, one));
        }
    }
    let table = |(arm, one): &(usize, &Explanation)| {
        let warnings = sides.warnings_on(&run.arms[*arm], &run.arms[one.base]);
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

fn pair(run: &Run, one: &Explanation) -> String {
    format!("{} against {}", run.arms[one.arm].name, run.arms[one.base].name)
}

/// The verdicts on the test.
fn verdicts_of(judged: &Judged<'_>, one: &Explanation) -> Option<String> {
    let lines = judged.lines(one.arm, |test| test == one.test);
    let line = lines.first()?;
    let told = line.verdicts().chain(line.changed_stalls()).chain(line.changed_resources());
    let said: Vec<String> = told.map(|verdict| line.part(verdict, judged)).collect();
    Some(format!("{}.", said.join("; ")))
}

fn nothing(run: &Run, judged: Option<&Judged<'_>>) -> String {
    let name = run.folder.name();
    let why = match judged {
        Some(judged) if judged.verdicts.blocks_done == 0 => {
            return "No block is done yet, so there are no verdicts to explain.".to_owned();
        }
        Some(_) => "Every verdict is \"same\"",
        None => "No rate differs by 5 % or more",
    };
    format!("{why}, so there is nothing to explain. `rqps explain {name} TEST` examines a test anyway.")
}

fn arm_of(run: &Run, name: &str) -> Result<usize> {
    run.arms.iter().position(|arm| arm.name == name).ok_or_else(|| Error::UnknownArm {
        name: name.to_owned(),
        known: run.arms.iter().map(|arm| arm.name.clone()).collect(),
    })
}

fn plans_base(run: &Run) -> Result<usize> {
    let readings = [Reading::new(run)];
    Ok(Sides::new(&readings, None, &[])?.base_in(run))
}
