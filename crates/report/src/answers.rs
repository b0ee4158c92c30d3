//! The answers of a comparison's runs, for JSON.

use rqps_stats::{Class, Verdict};

use crate::answer::{Answer, Change, OfArm, Trust};
use crate::comparison::Comparison;
use crate::error::Result;
use crate::format::Format;
use crate::tables::{answer, trust};
use crate::tame::tame;
use crate::verdict_lines::{Judged, Line};

/// The answers of all runs that have verdicts; of other formats the blocks tell them.
///
/// # Errors
/// If a run cannot be judged.
pub(crate) fn answers(comparison: &Comparison<'_>, format: Format) -> Result<Vec<Answer>> {
    if format != Format::Json {
        return Ok(Vec::new());
    }
    let all = Judged::all(comparison)?;
    Ok(all.iter().map(|judged| of_run(comparison, judged)).collect())
}

fn of_run(comparison: &Comparison<'_>, judged: &Judged<'_>) -> Answer {
    let trust = trust::lines(judged).into_iter();
    Answer {
        run: judged.run.folder.name(),
        arms: judged.measured().map(|arm| of_arm(comparison, judged, arm)).collect(),
        trust: trust.map(|line| Trust { text: tamed(&line.text), is_alarm: line.is_alarm }).collect(),
    }
}

fn of_arm(comparison: &Comparison<'_>, judged: &Judged<'_>, arm: usize) -> OfArm {
    let lines = judged.lines(arm, |test| comparison.shows(test));
    let (label, base) = (judged.label(comparison, arm), judged.label(comparison, judged.base));
    let verdicts = || lines.iter().flat_map(Line::all);
    let changes = |is_asked: &dyn Fn(&Verdict) -> bool| -> Vec<Change> {
        verdicts().filter(|one| is_asked(one)).map(change).collect()
    };
    let alone = |one: &Verdict| one.class.is_change() && one.opposed_by.is_empty();
    OfArm {
        headline: tamed(&answer::text(judged, arm, (&label, &base), &lines)),
        worse: changes(&|one| matches!(one.class, Class::Regression { .. }) && alone(one)),
        better: changes(&|one| matches!(one.class, Class::Improvement { .. }) && alone(one)),
        mixed: changes(&|one| one.class.is_change() && !one.opposed_by.is_empty()),
        likely: lines.iter().flat_map(Line::likely).map(change).collect(),
        arm: tamed(&label),
        base: tamed(&base),
    }
}

fn tamed(text: &str) -> String {
    tame(text).into_owned()
}

fn change(verdict: &Verdict) -> Change {
    let number = |value: f64| value.is_finite().then_some(value);
    Change {
        test: tamed(&verdict.test),
        of: verdict.detector.key(),
        metric: verdict.metric.key(),
        ratio: number(verdict.ratio),
        low: number(verdict.low),
        high: number(verdict.high),
        blocks: verdict.blocks,
    }
}
