//! What an upgrade changes: the options of a config, defaults, query plans, and each test's rate, cost and latency.
//!
//! | column | means |
//! | --- | --- |
//! | `option`, `value` | of the config that both versions were given |
//! | `on the new version` | why it was left out or adjusted |
//! | `use instead` | what to write instead, if the new version has that |
//! | `old`, `new` | defaults of the two versions |
//! | `rate`, `rQPS`, `cost`, `cost/op` | as in the table of verdicts |
//! | `likely` | a change that is likely but not established: `5 % more CPU time` |
//! | `p50 old`, `p95 new`, … | latency of an event on the old and the new version, microseconds, over all windows |
//! | `p50 us`, … | both, on a terminal |
//!
//! A terminal has the same in short: the answer, the table, and of long lists what matters most.

mod config;
mod defaults;
mod only;
mod short;
mod table;
mod warnings;

use rqps_explain::{Cause, ExplainRequest, Explanation, differences, explain, plan_changes};
use rqps_model::counted;
use rqps_store::{Arm, Run, Status};
use rqps_verdicts::{VarianceRow, variance};

use crate::answers::answers;
use crate::comparison::{Comparison, StepKind};
use crate::document::{Block, Document};
use crate::error::{Error, Result};
use crate::explain::is_reported;
use crate::explain_summary::sentence;
use crate::format::{Format, Screen};
use crate::reading::{Reading, is_upgrade};
use crate::render::render;
use crate::tables::{conditions, plans, remarks, trust, undecided, verdicts};
use crate::verdict_lines::Judged;
use crate::words;

/// Tests, or options, that a sentence names.
const NAMES_MAX: usize = 6;

/// Returns what changes from a run's base to its other arms.
///
/// # Errors
/// If the run cannot be read.
pub fn upgrade(run: &Run, format: Format, screen: Screen) -> Result<String> {
    let readings = [Reading::new(run)];
    let comparison = Comparison::new(&readings, None, &[])?;
    let base = comparison.base_in(run);
    let judged = Judged::all(&comparison)?;
    let Some(judged) = judged.first() else {
        return render(&unmeasured(run, &comparison, base, format)?, format, screen);
    };
    let found = explain(run, Some(&judged.verdicts), &ExplainRequest::default())?;
    let latencies = variance(run, base)?;
    let mut document = Document { answers: answers(&comparison, format)?, ..Document::default() };
    for arm in judged.candidates() {
        let report = Upgrade { comparison: &comparison, run, base, arm };
        document.push(Block::Heading(1, report.title()));
        let found: Vec<&Explanation> = found.iter().filter(|one| one.arm == arm).collect();
        document.extend(match format {
            Format::Text => report.in_short(judged, &found, &latencies)?,
            _ => report.blocks(judged, &found, &latencies)?,
        });
    }
    match format {
        Format::Text => document.extend(short::measured(judged)),
        _ => {
            document.push(Block::Text("How far to trust these verdicts:".to_owned()));
            document.push(trust::items(judged));
            let problems = remarks::blocks(&comparison);
            if !problems.is_empty() {
                document.push(Block::Text("Problems during the run:".to_owned()));
                document.extend(problems);
            }
        }
    }
    render(&document, format, screen)
}

/// The report on a run without a complete block: what is known of its versions once they were started.
fn unmeasured<'a>(
    run: &'a Run,
    comparison: &Comparison<'a>,
    base: usize,
    format: Format,
) -> Result<Document> {
    let mut document = Document::default();
    let is_running = run.state() == Status::Running;
    for arm in (0..run.arms.len()).filter(|arm| *arm != base && !run.arms[*arm].control) {
        let report = Upgrade { comparison, run, base, arm };
        let are_known = [report.old_arm(), report.new_arm()].iter().all(|arm| !arm.settings.is_empty());
        document.push(Block::Heading(1, report.title()));
        document.extend(report.starts().map(Block::Text));
        if !are_known {
            document.extend(report.before_start(is_running));
            continue;
        }
        let parts = if format == Format::Text { report.options_in_short()? } else { report.options()? };
        document.extend(with_headings(parts));
    }
    document.push(Block::Text(match is_running {
        true => format!(
            "Nothing is judged yet: the run is still running and has no complete block; `rqps status {}` shows how far it \
             is.",
            run.folder.name()
        ),
        false => format!("Nothing is judged: {}", Error::no_blocks(run)),
    }));
    Ok(document)
}

/// A part of a report: its heading and its blocks.
type Part = (&'static str, Vec<Block>);

fn with_headings(parts: Vec<Part>) -> impl Iterator<Item = Block> {
    let heading = |heading: &str| Block::Heading(2, heading.to_owned());
    parts.into_iter().flat_map(move |(name, blocks)| std::iter::once(heading(name)).chain(blocks))
}

/// What other reports on a run that `rqps upgrade` began have of an upgrade besides their own parts: what becomes of
/// the config's options, defaults, query plans, and the table of tests. Nothing for other runs.
pub(crate) fn parts<'a>(comparison: &Comparison<'a>, judged: &Judged<'a>) -> Result<Vec<Part>> {
    let (run, base) = (judged.run, judged.base);
    if !is_upgrade(run) {
        return Ok(Vec::new());
    }
    let latencies = variance(run, base)?;
    let mut parts = Vec::new();
    for arm in judged.candidates() {
        let report = Upgrade { comparison, run, base, arm };
        parts.push(report.test_by_test(judged, &latencies));
        parts.extend(report.changed(&report.plans()?)?);
    }
    Ok(parts)
}

/// Whether the new versions of an upgrade start with the config, a sentence each if not. Nothing for other runs.
pub(crate) fn starts<'a>(comparison: &Comparison<'a>, judged: &Judged<'a>) -> Vec<String> {
    let (run, base) = (judged.run, judged.base);
    let is_upgrade = is_upgrade(run);
    let arms = judged.candidates().filter(|_| is_upgrade);
    let report = |arm| Upgrade { comparison, run, base, arm };
    arms.filter_map(|arm| report(arm).start()).collect()
}

/// The report on one arm.
struct Upgrade<'r, 'a> {
    comparison: &'r Comparison<'a>,
    run: &'a Run,
    /// Index in the run's arms, as `arm`.
    base: usize,
    arm: usize,
}

/// Query plans of two versions.
struct Plans {
    /// Tests of which both versions' were read.
    compared: usize,
    /// Test, and what changed.
    changed: Vec<(String, String)>,
}

impl Plans {
    fn sentence(&self) -> String {
        let mut tests: Vec<&str> = self.changed.iter().map(|(test, _)| test.as_str()).collect();
        tests.dedup();
        match tests.len() {
            0 if self.compared == 0 => "No query plans were read.".to_owned(),
            0 => {
                format!("No query plan changed; those of {} were compared.", counted(self.compared, "test"))
            }
            count => {
                format!(
                    "Query plans changed in {count} of {}: {}.",
                    counted(self.compared, "test"),
                    words::names(&tests, NAMES_MAX)
                )
            }
        }
    }

    fn items(&self) -> Vec<String> {
        self.changed.iter().map(|(test, change)| format!("{test} {change}")).collect()
    }
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

    /// Of the new and the old version.
    fn labels(&self, judged: &Judged<'_>) -> [String; 2] {
        [self.arm, self.base].map(|arm| judged.label(self.comparison, arm))
    }

    /// What is known before both versions were started: what they said of the config's options when they were asked.
    fn before_start(&self, is_running: bool) -> Vec<Block> {
        let why = match is_running {
            true => "the run is still running and has not started both versions yet",
            false => "the run ended before both versions had started",
        };
        let Some(options) = self.run.folder.upgrade_options() else {
            return vec![Block::Text(format!("Changed options and defaults are not known: {why}."))];
        };
        let (old, new) = (product(self.old_arm()), product(self.new_arm()));
        let asked = match options.is_empty() {
            true => vec![Block::Text(format!(
                "Asked for their options, {old} and {new} know every option of config {}, and {new} takes its values.",
                self.new_arm().config_name
            ))],
            false => {
                vec![Block::Text("Options that the upgrade concerns:".to_owned()), Block::Items(options)]
            }
        };
        let unknown = "Changed defaults, and what servers say of other options, are not known";
        let heading = Block::Heading(2, "Your config".to_owned());
        [vec![heading], asked, vec![Block::Text(format!("{unknown}: {why}."))]].concat()
    }

    fn warnings(&self) -> Vec<Block> {
        let warnings = self.comparison.warnings_on(self.new_arm(), self.old_arm());
        warnings.iter().map(|warning| Block::warning(warning)).collect()
    }

    fn blocks(
        &self,
        judged: &Judged<'_>,
        found: &[&Explanation],
        latencies: &[VarianceRow],
    ) -> Result<Vec<Block>> {
        let lines = judged.lines(self.arm, |_| true);
        let [label, base] = self.labels(judged);
        let plans = self.plans()?;
        let mut blocks: Vec<Block> = self.starts().into_iter().map(Block::Text).collect();
        let conditions = conditions::blocks(&[(judged.run, judged.base)]);
        let first = (true, conditions, verdicts::CHANGES_MAX);
        blocks.extend(verdicts::opening(judged, self.arm, &lines, (&label, &base), first));
        blocks.push(Block::Text(plans.sentence()));
        blocks.extend(undecided::open(judged, &lines).map(Block::Text));
        blocks.extend(self.warnings());
        let mut parts = vec![self.test_by_test(judged, latencies)];
        parts.extend(self.changed(&plans)?);
        let why = causes(judged, found);
        if !why.is_empty() {
            let item = |(one, sentence): &(&Explanation, String)| format!("{}: {sentence}", one.test);
            let why = Block::Items(why.iter().map(item).collect());
            parts.push(("Why", [why].into_iter().chain(self.only_one_had()).collect()));
        }
        blocks.extend(with_headings(parts));
        Ok(blocks)
    }

    /// What changes before anything is measured.
    fn changed(&self, plans: &Plans) -> Result<Vec<Part>> {
        let mut parts = self.options()?;
        let of_plans = match plans.changed.is_empty() {
            true => Block::Text(plans.sentence()),
            false => Block::Items(plans.items()),
        };
        parts.push(("Query plans that changed", vec![of_plans]));
        Ok(parts)
    }

    /// What changes once the server starts.
    fn options(&self) -> Result<Vec<Part>> {
        let differences = differences(self.run, self.base, self.arm)?;
        let warnings = self.start_warnings().blocks();
        let config = [self.config(&differences)].into_iter().chain(warnings).collect();
        let defaults = [self.defaults(&differences)].into_iter().chain(self.new_settings()).collect();
        Ok(vec![("Your config", config), ("Defaults that changed", defaults)])
    }

    fn test_by_test(&self, judged: &Judged<'_>, latencies: &[VarianceRow]) -> Part {
        let lines = judged.lines(self.arm, |_| true);
        let base = judged.label(self.comparison, self.base);
        (
            "Test by test",
            vec![self.tests(&lines, latencies, &base).block().unwrap_or_else(verdicts::none_judged)],
        )
    }

    fn plans(&self) -> Result<Plans> {
        let compared = |arm: &Arm| self.comparison.find(arm).unwrap_or(&self.comparison.base);
        let (old, new) = (compared(self.old_arm()), compared(self.new_arm()));
        let mut plans = Plans { compared: 0, changed: Vec::new() };
        for step in self.comparison.steps(StepKind::Tests) {
            let Some(changed) = plans::changed(old, new, &step)? else { continue };
            plans.compared += 1;
            for (before, after) in changed {
                let changes = plan_changes(&before, &after).join("; ");
                plans.changed.push((step.name.clone(), format!("({}): {changes}", after.statement)));
            }
        }
        Ok(plans)
    }
}

/// `MySQL 8.0.31`.
fn product(arm: &Arm) -> String {
    format!("{} {}", words::dbms(&arm.dbms), arm.build_version)
}

/// The first cause of each test that changed, other than another plan, in a sentence.
fn causes<'e>(judged: &Judged<'_>, found: &[&'e Explanation]) -> Vec<(&'e Explanation, String)> {
    let reported = found.iter().copied().filter(|one| is_reported(Some(judged), one));
    reported
        .filter_map(|one| {
            let first = one.findings.first().filter(|finding| finding.cause != Cause::QueryPlan)?;
            Some((one, sentence(first)))
        })
        .collect()
}
