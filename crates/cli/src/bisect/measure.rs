//! One measurement of a bisection: a run of blocks with a version beside the good one.

use super::journal::{Figures, Journal, Running, Step, Unchanged};
use crate::build_progress::with_build_progress;
use crate::context::Context;
use crate::{Usage, out, search};
use anyhow::Context as _;
use rqps_model::{BuildSpec, Detector};
use rqps_plan::Plan;
use rqps_plan::isolated::seconds_through;
use rqps_stats::bisect::Rules;
use rqps_stats::{Class, Verdict};
use rqps_store::RunFolder;
use rqps_verdicts::{RunVerdicts, judge_run, rules_of};

/// Names of the arms.
pub const GOOD: &str = "good";
pub const BAD: &str = "bad";

/// Blocks of the first measurement if fewer do not decide whether there is a change at all.
pub const FIRST_BLOCKS_MAX: usize = 8;

/// A measurement to make.
pub struct Order<'a> {
    pub version: &'a str,
    /// As users see it.
    pub title: String,
    pub build: BuildSpec,
    pub tests: Vec<String>,
    /// `None`: until it is decided whether the tests changed.
    pub blocks: Option<usize>,
}

/// Makes a measurement and writes it to the journal. A version that can't be had or started is skipped, unless it is
/// the bad one.
pub fn measure(
    context: &Context,
    journal: &mut Journal,
    template: &Plan,
    order: &Order<'_>,
) -> anyhow::Result<()> {
    let plan = plan(template, order)?;
    let is_bad = order.blocks.is_none();
    for arm in &plan.arms {
        let resolved = with_build_progress(context, &format!("getting {}", arm.build), None, |watch| {
            watch.shares_objects = true;
            rqps_builds::resolve_watched(&context.dirs, &arm.build, watch)
        });
        match resolved {
            Err(error) if !is_bad && arm.name == BAD && search::is_of_version(&error) => {
                return skip(journal, order, &error.short_text());
            }
            Err(error) if error.is_interruption() => {
                search::say_how_to_continue();
                return Err(error.into());
            }
            Err(error) if matches!(error, rqps_builds::Error::BuildFailed { .. }) => {
                let other = if arm.name == BAD { "an earlier" } else { "a later" };
                let remedy = format!("--{} does not compile; name {other} commit that does", arm.name);
                return Err(anyhow::Error::from(error).context(remedy));
            }
            other => other.map(|_build| ()).with_context(|| format!("--{} {}", arm.name, arm.build))?,
        }
    }
    let mut execution = crate::verbs::run::begin_in(context, plan, journal.folder())?;
    let folder = execution.folder();
    journal.running = Some(Running { version: order.version.to_owned(), run: search::name(&folder) });
    journal.write()?;
    let finish = search::run(context, &mut execution);
    drop(execution);
    match finish {
        Err(error) if !is_bad && error.faulty_arm() == Some(BAD) => {
            journal.running = None;
            rqps_executor::clean(&folder, &context.dirs)?;
            skip(journal, order, &error.short_text())
        }
        other => {
            other?;
            record(journal)
        }
    }
}

/// Ends the measurement that an earlier call began.
pub fn resume(context: &Context, journal: &mut Journal) -> anyhow::Result<()> {
    let Some(running) = journal.running.clone() else {
        return Ok(());
    };
    if !search::resume(context, &journal.folder().join(&running.run), &running.version)? {
        journal.running = None;
        return journal.write();
    }
    record(journal)
}

/// Estimated seconds of a measurement of these tests.
pub fn seconds(plan: &Plan) -> f64 {
    seconds_through(plan, Rules::default().blocks_min)
}

/// The plan of a measurement.
pub fn plan(template: &Plan, order: &Order<'_>) -> anyhow::Result<Plan> {
    let mut plan = template.clone();
    let first_max = FIRST_BLOCKS_MAX.min(plan.blocks().blocks_max as usize);
    let mut blocks = plan.blocks();
    blocks.control = false;
    blocks.blocks_min = u32::try_from(order.blocks.unwrap_or(0))?;
    blocks.blocks_max = u32::try_from(order.blocks.unwrap_or(first_max))?;
    plan.isolated = Some(blocks);
    plan.arms.retain(|arm| !arm.control);
    plan.budget = None;
    // One certificate of the host suffices.
    plan.certificate &= order.blocks.is_none();
    plan.workload.steps.clone_from(&order.tests);
    for arm in plan.arms.iter_mut().filter(|arm| arm.name == BAD) {
        arm.build = order.build.clone();
    }
    plan.name = "step".to_owned();
    // Checked like any other plan.
    Ok(crate::verbs::plan::check_plan(&plan.to_toml()?, "the plan of a step")?.plan)
}

fn skip(journal: &mut Journal, order: &Order<'_>, why: &str) -> anyhow::Result<()> {
    out::message(&format!("skipping {}: {why}", order.title));
    journal.skip(order.version, why)
}

/// Moves the running measurement's figures to the journal.
fn record(journal: &mut Journal) -> anyhow::Result<()> {
    let Some(Running { version, run: name }) = journal.running.take() else {
        return Ok(());
    };
    let run = RunFolder::open(&journal.folder().join(&name))?;
    let verdicts = judge_run(&run, &rules_of(&run)?)?;
    if journal.measured.is_empty() {
        for test in &verdicts.experiment.tests {
            let all = judged(&verdicts, &test.name);
            // Its cost, or else its rate.
            if let Some(changed) = all.iter().find(|verdict| verdict.class.is_change()) {
                journal.metrics.insert(test.name.clone(), changed.metric.key().to_owned());
            } else {
                let all = all.into_iter().map(unchanged).collect();
                journal.verdicts.insert(test.name.clone(), all);
            }
        }
    }
    let figures = figures(&verdicts);
    if figures.is_empty() {
        let place = run.folder.path().display();
        return Err(Usage(format!("{place} has no valid block: `rqps show {place}` says why")).into());
    }
    journal.add(Step { version, run: name, figures })
}

fn unchanged(verdict: &Verdict) -> Unchanged {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite() && *value > 0.0);
    Unchanged {
        metric: verdict.metric.key().to_owned(),
        is_same: verdict.class == Class::Same,
        ratio: verdict.ratio,
        low: finite(verdict.low),
        high: finite(verdict.high),
        blocks: verdict.blocks,
    }
}

/// The verdicts on a test's cost and rate.
fn judged<'v>(verdicts: &'v RunVerdicts, test: &str) -> Vec<&'v Verdict> {
    let Some(arm) = verdicts.experiment.compared().next() else { return Vec::new() };
    [Detector::Cost, Detector::Rate].into_iter().filter_map(|one| verdicts.verdict(test, arm, one)).collect()
}

fn figures(verdicts: &RunVerdicts) -> Figures {
    let experiment = &verdicts.experiment;
    let Some(arm) = experiment.compared().next() else {
        return Figures::new();
    };
    let mut figures = Figures::new();
    for test in &experiment.tests {
        for data in &test.metrics {
            let blocks =
                data.blocks.iter().filter_map(|block| Some(block.ln[arm]? - block.ln[experiment.base]?));
            figures
                .entry(test.name.clone())
                .or_default()
                .insert(data.metric.key().to_owned(), blocks.collect());
        }
    }
    figures
}
