//! What an upgrade changes: the options of a config, defaults, query plans, and each test's rate, cost and latency.
//!
//! | column | means |
//! | --- | --- |
//! | `option`, `value` | of the config that both versions were given |
//! | `on the new version` | why it was left out or adjusted |
//! | `use instead` | what to write instead, if the new version has that |
//! | `old`, `new` | defaults of the two versions |
//! | `rate`, `rQPS`, `cost`, `cost/op` | as in the table of verdicts |
//! | `p50 old`, `p95 new`, … | latency of an event on the old and the new version, microseconds, over all windows |
//! | `p50 us`, … | both, on a terminal |

mod config;
mod warnings;

use rqps_explain::renamed;
use rqps_explain::{
    Cause, Difference, DifferenceKind, ExplainRequest, Explanation, differences, explain, follows_machine,
    is_in_config, is_of_version, new_switches, plan_changes,
};
use rqps_model::ServerSetting;
use rqps_store::{Arm, Run, UPGRADE_FILE};
use rqps_verdicts::{EventLatency, VarianceRow, variance};

use crate::comparison::{Comparison, StepKind};
use crate::document::{Block, Cell, Column, Document, Table};
use crate::error::{Error, Result};
use crate::explain::is_reported;
use crate::explain_summary::sentence;
use crate::format::{Format, Screen};
use crate::histograms::{QUANTILES, is_known};
use crate::reading::Reading;
use crate::render::render;
use crate::tables::{conditions, plans, trust, undecided, verdicts};
use crate::verdict_lines::{Judged, Line};
use crate::words;

/// Percentiles: headings and keys of the old and the new version, and the heading of both.
const LATENCIES: [([&str; 2], [&str; 2], &str); 3] = [
    (["p50 old", "p50 new"], ["p50_old_us", "p50_us"], "p50 us"),
    (["p95 old", "p95 new"], ["p95_old_us", "p95_us"], "p95 us"),
    (["p99 old", "p99 new"], ["p99_old_us", "p99_us"], "p99 us"),
];
/// The rank of the percentiles' columns: a narrow terminal has the 99th for longest.
const LATENCY_RANKS: [u8; 3] = [2, 3, 1];
/// The rank of intervals.
const INTERVALS: u8 = 4;

/// Returns what changes from a run's base to its other arms.
///
/// # Errors
/// If the run cannot be read.
pub fn upgrade(run: &Run, format: Format, screen: Screen) -> Result<String> {
    let readings = [Reading::new(run)];
    let comparison = Comparison::new(&readings, None, &[])?;
    let base = comparison.base_in(run);
    let Some(judged) = Judged::from_run(run, base)? else {
        return render(&unmeasured(run, &comparison, base)?, format, screen);
    };
    let found = explain(run, Some(&judged.verdicts), &ExplainRequest::default())?;
    let latencies = variance(run, base)?;
    let mut document = Document::default();
    for arm in judged.candidates() {
        let joins_latencies = format == Format::Text;
        let report = Upgrade { comparison: &comparison, run, base, arm, joins_latencies };
        document.push(Block::Heading(1, report.title()));
        let found: Vec<&Explanation> = found.iter().filter(|one| one.arm == arm).collect();
        document.extend(report.blocks(&judged, &found, &latencies)?);
    }
    document.push(Block::Text("How far to trust these verdicts:".to_owned()));
    document.push(trust::items(&judged));
    render(&document, format, screen)
}

/// The report on a run without a complete block: what is known of its versions once they were started.
fn unmeasured<'a>(run: &'a Run, comparison: &Comparison<'a>, base: usize) -> Result<Document> {
    let mut document = Document::default();
    for arm in (0..run.arms.len()).filter(|arm| *arm != base && !run.arms[*arm].control) {
        let report = Upgrade { comparison, run, base, arm, joins_latencies: false };
        let are_known = [report.old_arm(), report.new_arm()].iter().all(|arm| !arm.settings.is_empty());
        document.push(Block::Heading(1, report.title()));
        document.extend(report.start().map(Block::Text));
        if are_known {
            for (heading, of_part) in report.options()? {
                document.push(Block::Heading(2, heading.to_owned()));
                document.extend(of_part);
            }
        } else {
            let unknown = "What becomes of options and defaults is not known: the run ended before both versions started.";
            document.push(Block::Text(unknown.to_owned()));
        }
    }
    document.push(Block::Text(format!("Nothing is judged: {}", Error::no_blocks(run))));
    Ok(document)
}

/// A part of a report: its heading and its blocks.
type Part = (&'static str, Vec<Block>);

/// What other reports on a run that `rqps upgrade` began have of an upgrade besides their own parts: what becomes of
/// the config's options, defaults, query plans, and the table of tests. Nothing for other runs.
pub(crate) fn parts<'a>(comparison: &Comparison<'a>, judged: &Judged<'a>) -> Result<Vec<Part>> {
    let (run, base) = (judged.run, judged.base);
    if !run.folder.path().join(UPGRADE_FILE).exists() {
        return Ok(Vec::new());
    }
    let latencies = variance(run, base)?;
    let mut parts = Vec::new();
    for arm in judged.candidates() {
        let report = Upgrade { comparison, run, base, arm, joins_latencies: false };
        let mut of_arm = report.changed()?;
        of_arm.push(report.test_by_test(judged, &latencies));
        parts.append(&mut of_arm);
    }
    Ok(parts)
}

/// Whether the new versions of an upgrade start with the config, a sentence each if not. Nothing for other runs.
pub(crate) fn starts<'a>(comparison: &Comparison<'a>, judged: &Judged<'a>) -> Vec<String> {
    let (run, base) = (judged.run, judged.base);
    let is_upgrade = run.folder.path().join(UPGRADE_FILE).exists();
    let arms = judged.candidates().filter(|_| is_upgrade);
    let report = |arm| Upgrade { comparison, run, base, arm, joins_latencies: false };
    arms.filter_map(|arm| report(arm).start()).collect()
}

/// The report on one arm.
struct Upgrade<'r, 'a> {
    comparison: &'r Comparison<'a>,
    run: &'a Run,
    /// Index in the run's arms, as `arm`.
    base: usize,
    arm: usize,
    /// Whether a percentile of both versions is in one column, for a terminal.
    joins_latencies: bool,
}

impl Upgrade<'_, '_> {
    fn old_arm(&self) -> &Arm {
        &self.run.arms[self.base]
    }

    fn new_arm(&self) -> &Arm {
        &self.run.arms[self.arm]
    }

    fn title(&self) -> String {
        let (old, new) = (self.old_arm(), self.new_arm());
        // An imported arm has none.
        let config = Some(&new.config_name).filter(|name| !name.is_empty());
        let config = config.map(|name| format!(" with config {name}")).unwrap_or_default();
        format!("Upgrade from {} to {}{config}", product(old), product(new))
    }

    fn blocks(
        &self,
        judged: &Judged<'_>,
        found: &[&Explanation],
        latencies: &[VarianceRow],
    ) -> Result<Vec<Block>> {
        let lines = judged.lines(self.arm, |_| true);
        let (label, base) =
            (judged.label(self.comparison, self.arm), judged.label(self.comparison, self.base));
        let mut blocks: Vec<Block> = self.start().into_iter().map(Block::Text).collect();
        let conditions = conditions::blocks(&[(judged.run, judged.base)]);
        blocks.extend(verdicts::opening(judged, self.arm, &lines, (&label, &base), (true, conditions)));
        blocks.extend(undecided::open(judged, &lines).map(Block::Text));
        let warnings = self.comparison.warnings_on(self.new_arm(), self.old_arm());
        blocks.extend(warnings.iter().map(|warning| Block::warning(warning)));
        let mut parts = self.changed()?;
        let why = causes(judged, found);
        if !why.is_empty() {
            parts.push(("Why", vec![Block::Items(why)]));
        }
        parts.push(self.test_by_test(judged, latencies));
        for (heading, of_part) in parts {
            blocks.push(Block::Heading(2, heading.to_owned()));
            blocks.extend(of_part);
        }
        Ok(blocks)
    }

    /// What changes before anything is measured.
    fn changed(&self) -> Result<Vec<Part>> {
        let mut parts = self.options()?;
        parts.push(("Query plans that changed", vec![self.plans()?]));
        Ok(parts)
    }

    /// What changes once the server starts.
    fn options(&self) -> Result<Vec<Part>> {
        let differences = differences(self.run, self.base, self.arm)?;
        let (old, new) = (self.old_arm(), self.new_arm());
        let warnings = warnings::blocks((old, &product(old)), (new, &product(new)));
        let config = [self.config(&differences)].into_iter().chain(warnings).collect();
        let defaults = [self.defaults(&differences)].into_iter().chain(self.new_settings()).collect();
        Ok(vec![("Your config", config), ("Defaults that changed", defaults)])
    }

    fn test_by_test(&self, judged: &Judged<'_>, latencies: &[VarianceRow]) -> Part {
        let lines = judged.lines(self.arm, |_| true);
        let base = judged.label(self.comparison, self.base);
        ("Test by test", vec![Block::Table(self.tests(&lines, latencies, &base))])
    }

    /// Settings that the config leaves at their defaults, which differ.
    fn defaults(&self, differences: &[Difference]) -> Block {
        let columns = ["option", "old", "new"].map(Column::words).to_vec();
        let mut table = Table::new("defaults", "Defaults in effect", columns, 0);
        table.together = true;
        let new = self.new_arm();
        let refused = new.left_out.iter().filter(|left| left.refused && left.taken.is_none());
        let refused: Vec<&str> = refused.map(|left| left.option.as_str()).collect();
        let follows = |name: &str| refused.iter().any(|option| renamed::follows(name, option));
        let changed = differences.iter().filter(|one| {
            one.kind == DifferenceKind::DefaultSetting
                && renamed::is_worth_setting(&one.name)
                && [&one.base, &one.arm].into_iter().flatten().all(|value| is_of_version(&one.name, value))
                && !self.is_replacement(&one.name)
                && !follows(&one.name)
        });
        let mut has_of_machine = false;
        for one in changed {
            has_of_machine |= follows_machine(&one.name);
            let cell = |value: &Option<String>| value.as_deref().map_or_else(Cell::missing, Cell::words);
            table.row(vec![Cell::words(&*one.name), cell(&one.base), cell(&one.arm)]);
        }
        table.footnotes.push(
            "the config does not set these; to keep an old value, set it, if the new version still accepts it".to_owned(),
        );
        if has_of_machine {
            let is_open = |one: &&ServerSetting| {
                follows_machine(&one.name) && !is_in_config(&new.config_text, &one.name)
            };
            let names: Vec<&str> = new.settings.iter().filter(is_open).map(|one| &*one.name).collect();
            table.footnotes.push(format!(
                "{} computes these from the CPUs, the memory or the disk, so that another machine may have others, also \
                 where they are the same as before here: {}",
                product(new),
                names.join(", ")
            ));
        }
        if !refused.is_empty() {
            table.footnotes.push(format!(
                "{} was measured without {} of the config: a default that follows from such an option may be listed, too",
                product(new),
                refused.join(", ")
            ));
        }
        let managed: Vec<&str> = new.managed.iter().map(|setting| setting.name.as_str()).collect();
        let sizes = if new.dbms == "postgres" { "" } else { "; nor sizes of the performance schema" };
        table.footnotes.push(format!(
            "not shown, since rqps makes them alike on all versions: character set, data checksums and password \
             encryption of new data directories; {}{sizes}",
            managed.join(", ")
        ));
        table.block().unwrap_or_else(|| Block::Text("None that the config leaves to the server.".to_owned()))
    }

    /// Settings that only the new version has.
    fn new_settings(&self) -> Option<Block> {
        let (old, new) = (self.old_arm(), self.new_arm());
        let is_in_old = |name: &str| old.settings.iter().any(|setting| setting.name == name);
        let added = new.settings.iter().map(|setting| setting.name.as_str());
        let added: Vec<&str> = added
            .filter(|name| renamed::is_worth_setting(name) && !is_in_old(name) && !self.is_replacement(name))
            .collect();
        let switches = new_switches(old, new);
        let added: Vec<&str> = added.into_iter().chain(switches.iter().map(String::as_str)).collect();
        // Runs from before settings were recorded have none.
        (!old.settings.is_empty() && !added.is_empty())
            .then(|| Block::Text(format!("Only {} has: {}.", product(new), added.join(", "))))
    }

    fn plans(&self) -> Result<Block> {
        let compared = |arm: &Arm| self.comparison.find(arm).unwrap_or(&self.comparison.base);
        let (old, new) = (compared(self.old_arm()), compared(self.new_arm()));
        let (mut items, mut are_read) = (Vec::new(), false);
        for step in self.comparison.steps(StepKind::Tests) {
            let Some(changed) = plans::changed(old, new, &step)? else { continue };
            are_read = true;
            for (before, after) in changed {
                let changes = plan_changes(&before, &after).join("; ");
                items.push(format!("{} ({}): {changes}", step.name, after.statement));
            }
        }
        Ok(match items.is_empty() {
            true if !are_read => Block::Text("No query plans were read.".to_owned()),
            true => Block::Text("No statement has another plan.".to_owned()),
            false => Block::Items(items),
        })
    }

    fn tests(&self, lines: &[Line<'_>], latencies: &[VarianceRow], base: &str) -> Table {
        let number = Column::number;
        let mut columns = vec![
            Column::words("test"),
            Column::keyed_words("rate", "rate_verdict"),
            number("rQPS", "rqps"),
            number("from", "rqps_low").optional(INTERVALS),
            number("to", "rqps_high").optional(INTERVALS),
            Column::keyed_words("cost", "cost_verdict"),
            number("cost/op", "cost_ratio"),
            number("from", "cost_low").optional(INTERVALS),
            number("to", "cost_high").optional(INTERVALS),
        ];
        // A terminal has no room for what is the same in all rows.
        let metrics = || lines.iter().filter_map(|line| Some(line.cost?.metric));
        let metric =
            metrics().next().filter(|first| self.joins_latencies && metrics().all(|one| one == *first));
        if metric.is_none() {
            columns.push(Column::keyed_words("of", "cost_of"));
        }
        for ((names, keys, name), rank) in LATENCIES.into_iter().zip(LATENCY_RANKS) {
            match self.joins_latencies {
                true => columns.push(number(name, keys[1]).optional(rank)),
                false => columns.extend([number(names[0], keys[0]), number(names[1], keys[1])]),
            }
        }
        let mut table = Table::new("upgrade", "Rate, cost and latency in microseconds", columns, 0);
        table.preamble.push(format!("Relative to: {base}"));
        for line in lines {
            let latency = |arm: usize| {
                latencies
                    .iter()
                    .find(|row| row.arm == arm && row.test == line.test)
                    .and_then(|row| row.latency)
            };
            let (new, old) = (latency(self.arm), latency(self.base));
            let verdict = |verdict: Option<&rqps_stats::Verdict>| {
                verdict.map_or_else(Cell::missing, words::verdict_cell)
            };
            let ratio = |verdict: Option<&rqps_stats::Verdict>, decimals_max: usize| {
                verdict.map_or_else(
                    || std::array::from_fn(|_| Cell::missing()),
                    |one| Cell::estimate((one.ratio, one.low, one.high), decimals_max),
                )
            };
            let mut cells = vec![Cell::words(line.test), verdict(line.rate)];
            cells.extend(ratio(line.rate, 3));
            cells.push(verdict(line.cost));
            cells.extend(ratio(line.cost, 4));
            if metric.is_none() {
                let label = |cost: &rqps_stats::Verdict| Cell::words(cost.metric.measure().label);
                cells.push(line.cost.map_or_else(Cell::missing, label));
            }
            let percentiles = |of: EventLatency| [of.p50_us, of.p95_us, of.p99_us];
            for (at, share) in QUANTILES.into_iter().enumerate() {
                let percentile = |of: EventLatency| is_known(share, of.events).then(|| percentiles(of)[at]);
                let [old, new] = [old, new].map(|of| Cell::fixed(of.and_then(percentile), 0));
                match self.joins_latencies {
                    true => cells.push(Cell::words(format!("{} → {}", old.text, new.text))),
                    false => cells.extend([old, new]),
                }
            }
            table.row_in(&line.group.title, cells);
        }
        table
            .footnotes
            .push(format!("from, to: confidence interval of the ratio, {}", verdicts::confidences(lines)));
        let named = "the metric that `of` names";
        let metric = metric.map_or(named, |metric| metric.measure().label);
        table.footnotes.push(format!(
            "rQPS: rate / the old version's. cost/op: cost per operation / the old version's, in {metric}. p50, p95, p99: \
             latency of an event over all windows, without one where so few do not show it; they have no interval"
        ));
        table
    }
}

/// `MySQL 8.0.31`.
fn product(arm: &Arm) -> String {
    format!("{} {}", words::dbms(&arm.dbms), arm.build_version)
}

/// The first cause of each test that changed, other than another plan.
fn causes(judged: &Judged<'_>, found: &[&Explanation]) -> Vec<String> {
    let reported = found.iter().filter(|one| is_reported(Some(judged), one));
    reported
        .filter_map(|one| {
            let first = one.findings.first().filter(|finding| finding.cause != Cause::QueryPlan)?;
            Some(format!("{}: {}", one.test, sentence(first)))
        })
        .collect()
}
