//! The gate in Markdown: outcome, changes, inconclusive verdicts, how far to trust them, and all verdicts
//! collapsed.

use rqps_verdicts::version_rows;

use crate::comparison::Comparison;
use crate::document::{Block, Document, Table};
use crate::error::Result;
use crate::format::{Format, Screen};
use crate::gate::{ArmAtGate, GateRules, Outcome};
use crate::render::render;
use crate::tables::{arrivals, trust, verdicts};
use crate::verdict_lines::{Judged, Line};

pub(super) fn markdown(
    judged: &Judged<'_>,
    comparison: &Comparison<'_>,
    arms: &[ArmAtGate<'_>],
    rules: &GateRules,
    (outcome, is_judged): (Outcome, bool),
) -> Result<String> {
    let warnings = comparison.warnings();
    let mut document = Document::default();
    let all = || arms.iter().flat_map(|arm| arm.lines.iter().flat_map(Line::all));
    let verdicts_of = || all().filter(|verdict| rules.requires(verdict));
    let open = verdicts_of().filter(|verdict| !verdict.class.is_decided()).count();
    let open = if open == 0 {
        String::new()
    } else {
        format!(", {open} of {} verdicts inconclusive", verdicts_of().count())
    };
    let result = match outcome {
        Outcome::Passed => "passed",
        Outcome::Regressed => "REGRESSION",
        Outcome::Incomplete => "INCOMPLETE",
        Outcome::Undecided => "undecided",
    };
    document.push(Block::Heading(2, format!("rqps gate: {result}{open}")));
    document.push_warnings(&warnings);
    if !is_judged {
        let run = judged.run.folder.name();
        let blocks = judged.verdicts.blocks_done;
        let is_alone = judged.candidates().next().is_none();
        let text = match judged.run.meta.is_imported() {
            true if is_alone => {
                format!("There is no other arm to compare {} with.", judged.run.arms[judged.base].name)
            }
            true => format!(
                "The run has too few repeats for any verdict ({blocks}; it takes {} of every arm): import more.",
                judged.blocks_min()
            ),
            false => format!(
                "The run has too few valid blocks for any verdict ({blocks}); `rqps resume {run} --more 15m` measures more."
            ),
        };
        document.push(Block::Text(text));
    }
    let base = judged.label(comparison, judged.base);
    for (at, ArmAtGate { arm, lines, warnings }) in arms.iter().enumerate() {
        let label = judged.label(comparison, *arm);
        document.extend(verdicts::opening(judged, lines, (&label, &base), at == 0));
        let table = verdicts::table(judged, *arm, lines, &label, &base);
        let tables = std::iter::once(table).chain(verdicts::resources(lines, &label, &base));
        let tables: Vec<Block> =
            tables.map(|table| Block::Table(Table { warnings: Some(warnings.clone()), ..table })).collect();
        document.push(Block::Fold(format!("All verdicts on {label}"), tables));
    }
    for row in version_rows(judged.run, &judged.verdicts) {
        document.push(arrivals::block(judged, &row));
    }
    if !arms.is_empty() {
        document.push(Block::Text("How far to trust these verdicts:".to_owned()));
        document.push(trust::items(judged));
    }
    document.warn(&warnings);
    render(&document, Format::Markdown, Screen::default())
}
