//! A bisection's course and its answer, as text and JSON.

use super::journal::{Journal, Unchanged};
use super::line::{Found, Line};
use crate::listing::{Cell, Column, Listing};
use rqps_model::sample::{mean, squares};
use rqps_model::{Digits, Metric, counted};
use rqps_stats::bisect::{Answer, Step};
use rqps_stats::t_upper;
use serde_json::{Value, json};

/// Probability beyond each end of a version's interval.
const OUTSIDE: f64 = 0.025;
const RATIO_DECIMALS_MAX: usize = 4;

/// What was found for one test.
pub struct OfTest {
    pub test: String,
    /// `None`: it did not change between the good and the bad version.
    pub found: Option<(Metric, Found)>,
    /// The plan and config of the search, as arguments: ` --plan small.toml`.
    pub options: String,
    /// Whether the plan allows no more blocks than the first measurement makes.
    pub is_capped: bool,
}

/// A version's figure relative to the good one.
struct Level {
    version: String,
    blocks: usize,
    ratio: f64,
    low: f64,
    high: f64,
}

impl Level {
    /// Of logarithms of ratios, a block each.
    fn of(version: &str, blocks: &[f64]) -> Self {
        let count = blocks.len() as f64;
        let mean = mean(blocks);
        let variance = squares(blocks) / (count - 1.0).max(1.0);
        let half = t_upper(OUTSIDE, count - 1.0) * (variance / count).sqrt();
        let (low, high) = ((mean - half).exp(), (mean + half).exp());
        Level { version: version.to_owned(), blocks: blocks.len(), ratio: mean.exp(), low, high }
    }
}

impl OfTest {
    /// The measured versions, in the order of the row.
    fn levels(&self, journal: &Journal) -> Vec<Level> {
        let Some((metric, found)) = &self.found else {
            return Vec::new();
        };
        let measured = journal.blocks(&self.test, *metric);
        let level = |version: &String| Some(Level::of(version, measured.get(version)?));
        found.row.versions.iter().filter_map(level).collect()
    }

    /// The version that brought the change, if it is one, and settled; of several between which none can be measured,
    /// the last.
    pub fn only_step(&self) -> Option<&str> {
        let (_, found) = self.found.as_ref()?;
        let [step] = found.answer.steps.as_slice() else { return None };
        let place = step.places.last()?;
        found.answer.is_settled.then(|| &*found.row.versions[place + 1])
    }

    /// The course as a table.
    pub fn table(&self, journal: &Journal, line: &dyn Line) -> Option<Listing> {
        let (metric, found) = self.found.as_ref()?;
        let mut table = Listing::new(vec![
            Column::elastic("version"),
            Column::number(if *metric == Metric::Rate { "rQPS" } else { "cost/op" }),
            Column::number("from"),
            Column::number("to"),
            Column::number("blocks"),
            Column::text("remark"),
        ]);
        let levels = self.levels(journal);
        let Answer { steps, is_settled, .. } = &found.answer;
        let came_at = |at: usize| {
            let step =
                at.checked_sub(1).and_then(|place| steps.iter().find(|step| step.places.contains(&place)))?;
            Some(if step.places.len() == 1 && *is_settled { "the change" } else { "may be the change" })
        };
        for (at, version) in found.row.versions.iter().enumerate() {
            let came = came_at(at);
            let level = levels.iter().find(|level| level.version == *version);
            let (remark, figures) = match level {
                Some(level) => (
                    came.unwrap_or_default(),
                    Digits::of_ratio((level.low, level.high), RATIO_DECIMALS_MAX).all(level.ratio),
                ),
                None if at == 0 => ("good", [1.0.to_string(), String::new(), String::new()]),
                None => {
                    let remark = match (journal.skipped.contains_key(version), came) {
                        (true, Some(_)) => "skipped, may be the change",
                        (true, None) => "skipped",
                        (false, came) => came.unwrap_or_default(),
                    };
                    (remark, [const { String::new() }; 3])
                }
            };
            if level.is_none() && remark.is_empty() {
                continue;
            }
            let blocks = level.map_or_else(String::new, |level| level.blocks.to_string());
            let [ratio, low, high] = figures;
            table.row(
                [line.title(version), ratio, low, high, blocks, remark.to_owned()].map(Cell::from).into(),
            );
        }
        Some(table)
    }

    /// Whether the good and the bad version do the same, by their cost and their rate.
    pub fn is_same(&self, journal: &Journal) -> bool {
        let verdicts = journal.verdicts(&self.test);
        !verdicts.is_empty() && verdicts.iter().all(|one| one.is_same)
    }

    /// Why there is nothing to search.
    fn without_change(&self, journal: &Journal, line: &dyn Line) -> String {
        let verdicts = journal.verdicts(&self.test);
        let figure = |one: &Unchanged| {
            let what = one.metric.parse().map_or(&*one.metric, |metric: Metric| metric.measure().label);
            let interval = one.low.zip(one.high);
            let digits = Digits::of_ratio(interval.unwrap_or((f64::NAN, f64::NAN)), RATIO_DECIMALS_MAX);
            let [ratio, low, high] = digits.all(one.ratio);
            let interval = interval.map_or_else(String::new, |_| format!(" ({low} to {high})"));
            format!("{what} {ratio} times{interval} in {}", counted(one.blocks, "block"))
        };
        let figures: Vec<String> = verdicts.iter().map(figure).collect();
        let figures = if figures.is_empty() { String::new() } else { format!(": {}", figures.join(", ")) };
        if self.is_same(journal) {
            return format!(
                "{}: the good and the bad version do the same, so there is nothing to bisect{figures}.",
                self.test
            );
        }
        let longer = match self.is_capped {
            true => "A plan with a larger `blocks_max` measures longer.".to_owned(),
            false => format!(
                "`rqps upgrade {} {} --tests {}{}` measures longer.",
                line.build(line.good()),
                line.build(line.bad()),
                self.test,
                self.options
            ),
        };
        format!(
            "{}: undecided whether the bad version differs from the good one, so nothing was searched{figures}. {longer}",
            self.test
        )
    }

    /// The answer in a sentence, with what it rests on.
    pub fn sentence(&self, journal: &Journal, line: &dyn Line) -> String {
        let test = &self.test;
        let Some((metric, found)) = &self.found else {
            return self.without_change(journal, line);
        };
        let answer = &found.answer;
        let steps: Vec<String> =
            answer.steps.iter().map(|step| step_text(step, *metric, found, line)).collect();
        let head = if answer.is_settled { "" } else { "not settled yet: " };
        let number = match answer.steps.len() {
            1 => format!("one step, not two: {}", percent(1.0 - answer.two_steps)),
            _ => format!("two steps, not one: {}", percent(answer.two_steps)),
        };
        let levels = self.levels(journal);
        let blocks: usize = levels.iter().map(|level| level.blocks).sum();
        let skipped: Vec<String> = found
            .row
            .versions
            .iter()
            .filter(|one| journal.skipped.contains_key(*one))
            .map(|one| line.title(one))
            .collect();
        let skipped = if skipped.is_empty() {
            String::new()
        } else {
            format!(" Could not be measured: {}.", skipped.join(", "))
        };
        format!(
            "{test}: {head}{}. Probability {} ({number}), from {} of {}, judged by {}.{skipped}",
            steps.join("; "),
            percent(answer.probability),
            counted(blocks, "block"),
            counted(levels.len(), "version"),
            if *metric == Metric::Rate { "rate" } else { metric.measure().label },
        )
    }

    pub fn json(&self, journal: &Journal) -> Value {
        let level = |level: Level| {
            let Level { version, blocks, ratio, low, high } = level;
            json!({ "version": version, "blocks": blocks, "ratio": ratio, "low": low, "high": high })
        };
        let Some((metric, found)) = &self.found else {
            let verdicts = journal.verdicts(&self.test);
            let changed = self.is_same(journal).then_some(false);
            return json!({ "test": self.test, "changed": changed, "verdicts": verdicts });
        };
        let step = |step: &Step| {
            let places = step.places.iter().map(|place| {
                json!({ "after": found.row.versions[*place], "version": found.row.versions[place + 1] })
            });
            json!({ "places": places.collect::<Vec<_>>(), "ratio": step.ratio, "low": step.low, "high": step.high })
        };
        let answer = &found.answer;
        json!({
            "test": self.test,
            "changed": true,
            "metric": metric.key(),
            "settled": answer.is_settled,
            "probability": answer.probability,
            "two_steps_probability": answer.two_steps,
            "steps": answer.steps.iter().map(step).collect::<Vec<_>>(),
            "course": self.levels(journal).into_iter().map(level).collect::<Vec<_>>(),
        })
    }
}

/// `17.0 (after 16.15) brought 48.2 % less CPU time per operation (47.1 to 49.0 %)`.
fn step_text(step: &Step, metric: Metric, found: &Found, line: &dyn Line) -> String {
    let version = |place: usize| line.title(&found.row.versions[place + 1]);
    let names: Vec<String> = step.places.iter().map(|place| version(*place)).collect();
    let before = step.places.first().map(|place| line.title(&found.row.versions[*place])).unwrap_or_default();
    let who = match names.as_slice() {
        [one] => format!("{one} (after {before})"),
        // Not all that lie between were looked at.
        [.., last] if !found.answer.is_settled => format!("one of those after {before} up to {last}"),
        several => format!("one of {} (after {before})", several.join(", ")),
    };
    let (worse, better) =
        if step.ratio > 1.0 { ("more", "higher") } else { (rqps_report::less(&[metric]), "lower") };
    let digits = Digits::of_percent((step.low, step.high), 1);
    let digits = if step.ratio > 1.0 { digits } else { digits.negated() };
    let size = digits.text((step.ratio - 1.0).abs() * 100.0);
    let what = match metric {
        Metric::Rate => format!("a rate {size} % {better}"),
        other => format!("{size} % {worse} {} per operation", other.measure().noun),
    };
    let interval = digits.interval().map_or_else(String::new, |interval| format!(" ({interval} %)"));
    format!("{who} brought {what}{interval}")
}

fn percent(p: f64) -> String {
    // More digits would suggest a precision that the model lacks.
    if p > 0.995 { "over 99 %".to_owned() } else { format!("{:.0} %", p * 100.0) }
}
