//! An upgrade's report for a terminal: the answer, the table of tests, then of each list what matters most, and where
//! the rest is.

use rqps_explain::{Explanation, Word, differences};
use rqps_store::UPGRADE_FILE;
use rqps_verdicts::VarianceRow;

use super::{Part, Upgrade, causes, with_headings};
use crate::document::Block;
use crate::error::Result;
use crate::explain_summary::{groups, likeness, sentence_of_group};
use crate::reading::is_upgrade;
use crate::tables::{answer, conditions, doubts, trust, undecided, verdicts};
use crate::verdict_lines::{Judged, Line, changed};
use crate::words;

/// Changes that are named above the table, plans and causes below it.
const CHANGES_MAX: usize = 4;
const PLANS_MAX: usize = 4;
const CAUSES_MAX: usize = 3;

impl Upgrade<'_, '_> {
    pub(super) fn in_short(
        &self,
        judged: &Judged<'_>,
        found: &[&Explanation],
        latencies: &[VarianceRow],
    ) -> Result<Vec<Block>> {
        let lines = judged.lines(self.arm, |_| true);
        let [label, base] = self.labels(judged);
        let plans = self.plans()?;
        let mut blocks = doubts::blocks(self.run);
        let answers = [
            self.starts(),
            Some(answer::text(judged, self.arm, (&label, &base), &lines)),
            largest(&lines),
            Some(plans.sentence()),
            undecided::open(judged, &lines),
            trust::alarm(judged),
        ];
        blocks.push(Block::Items(answers.into_iter().flatten().collect()));
        let name = &self.new_arm().name;
        blocks.extend(verdicts::without_result(self.run, |arm| arm == name));
        let tests = self.tests_in_short(&lines, latencies, &base).block();
        blocks.push(tests.unwrap_or_else(verdicts::none_judged));
        let mut parts = self.options_in_short()?;
        if !plans.changed.is_empty() {
            parts.push(("Query plans that changed", vec![self.first(plans.items(), PLANS_MAX)]));
        }
        let why = self.why(judged, &lines, found);
        if !why.is_empty() {
            let why = self.first(why, CAUSES_MAX);
            parts.push(("Why", [why].into_iter().chain(self.only_one_had()).collect()));
        }
        blocks.extend(with_headings(parts));
        blocks.extend(self.warnings());
        Ok(blocks)
    }

    pub(super) fn options_in_short(&self) -> Result<Vec<Part>> {
        let differences = differences(self.run, self.base, self.arm)?;
        let mut config = self.config_in_short(&differences);
        config.extend(self.start_warnings().in_short(&self.details()));
        config.push(Block::Text(self.defaults_in_short(&differences)));
        Ok(vec![("Your config", config)])
    }

    /// Where a reader finds what is left out here.
    pub(super) fn details(&self) -> String {
        match is_upgrade(self.run) {
            true => format!("see {UPGRADE_FILE}"),
            false => "see `--format markdown`".to_owned(),
        }
    }

    /// The first items of a list, and how many there are besides.
    fn first(&self, mut items: Vec<String>, most: usize) -> Block {
        let more = items.len().saturating_sub(most);
        items.truncate(most);
        items.extend((more > 0).then(|| format!("{more} more: {}", self.details())));
        Block::Items(items)
    }

    /// One test of each cause, the most changed first, with the number of the others; what is not explained comes last.
    fn why(&self, judged: &Judged<'_>, lines: &[Line<'_>], found: &[&Explanation]) -> Vec<String> {
        let mut caused: Vec<&Explanation> = causes(judged, found).into_iter().map(|(one, _)| one).collect();
        let order: Vec<&str> = changed(lines).into_iter().map(|(_, line)| line.test).collect();
        let is_open =
            |one: &Explanation| one.findings.first().is_none_or(|first| first.word == Word::NotExplained);
        caused.sort_by_key(|one| {
            (is_open(one), order.iter().position(|test| *test == one.test).unwrap_or(order.len()))
        });
        let item = |group: &Vec<&Explanation>| {
            let (one, others) = group.split_first()?;
            let others = others.len();
            let likewise = match others {
                0 => String::new(),
                _ => format!(" (likewise {})", words::plural(others, "other test")),
            };
            Some(format!("{}{likewise}: {}", one.test, sentence_of_group(one.findings.first()?, others)))
        };
        groups(caused, |one| likeness(Some(judged), one)).iter().filter_map(item).collect()
    }
}

/// The largest changes of rate and cost, what got worse first.
fn largest(lines: &[Line<'_>]) -> Option<String> {
    let changes = changed(lines).into_iter();
    let changes: Vec<String> = changes
        .filter_map(|(_, line)| Some(format!("{} {}", line.test, line.changes_in_short()?)))
        .take(CHANGES_MAX)
        .collect();
    let what = if changes.len() == 1 { "Largest change" } else { "Largest changes" };
    (!changes.is_empty()).then(|| format!("{what}: {}.", changes.join("; ")))
}

/// What the runs were measured under, and what casts doubt on them.
pub(super) fn measured(judged: &Judged<'_>) -> Vec<Block> {
    let trust = trust::lines(judged);
    let doubts = trust.iter().enumerate().filter(|(at, line)| *at == 0 || line.is_alarm);
    let doubts: Vec<String> = doubts.map(|(_, line)| line.text.clone()).collect();
    let mut blocks = conditions::blocks(&[(judged.run, judged.base)]);
    blocks.push(Block::Items(doubts));
    let whole = match is_upgrade(judged.run) {
        true => {
            let report = judged.run.folder.path().join(UPGRADE_FILE);
            format!("All options, defaults, causes and notes: {}", report.display())
        }
        false => "All options, defaults, causes and notes: `--format markdown`".to_owned(),
    };
    blocks.push(Block::Text(whole));
    blocks
}
