//! The server's cost per operation relative to base, with its interval, then the rate, also of runs too short for
//! verdicts.
//!
//! | column | means |
//! | --- | --- |
//! | `cost/op` | cost per operation, arm over base, mean over passes or blocks: instructions if they were counted, else the server's CPU time |
//! | `rQPS` | rate, arm over base; other programs on the machine affect it more than the cost |
//! | `from`, `to` | interval of the ratio to their left: that of the verdict, or, of too few blocks for one, see `estimates.rs` of the verdicts crate |
//! | `test` | the test |

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{Digits, counted};
use rqps_stats::{Detector, Metric, Verdict};
use rqps_store::{Recorded, Run, Window};
use rqps_verdicts::{Estimate, estimates};

use crate::comparison::{Comparison, StepKind};
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::number;
use crate::tables::disturbed;
use crate::tables::verdicts::{COST_DECIMALS_MAX, confidences};
use crate::verdict_lines::{Judged, Line};

/// Few replicates don't support more.
const RATIO_DECIMALS_MAX: usize = 3;

/// Metrics of the host that stand for CPU time of its programs, the server among them.
const HOST_CPU: [&str; 2] = ["host_user_us", "host_busy_us"];

/// Disturbances by other programs, then a table per arm; empty for runs without passes or blocks.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Result<Vec<Block>> {
    let judged = Judged::all(comparison)?;
    if judged.is_empty() {
        return Ok(Vec::new());
    }
    let disturbed = disturbed::sentences(comparison, &comparison.steps(StepKind::Tests));
    let mut blocks: Vec<Block> = disturbed.into_iter().map(Block::Alarm).collect();
    for judged in &judged {
        blocks.extend(judged.measured().flat_map(|arm| arm_blocks(comparison, judged, arm)));
    }
    Ok(blocks)
}

/// A ratio with its interval.
struct Figure {
    ratio: f64,
    interval: (f64, f64),
}

/// The ratios of rate or cost by test: those of the verdicts if there are enough blocks for these, so that a cell has
/// one figure in all tables; else with intervals from few replicates.
fn by_test(judged: &Judged<'_>, detector: Detector, arm: usize) -> BTreeMap<String, Figure> {
    let experiment = &judged.verdicts.experiment;
    let verdicts =
        experiment.tests.iter().filter_map(|test| judged.verdicts.verdict(&test.name, arm, detector));
    if judged.has_verdicts() {
        let of_verdict = |one: &Verdict| Figure { ratio: one.ratio, interval: (one.low, one.high) };
        return verdicts.map(|one| (one.test.clone(), of_verdict(one))).collect();
    }
    let tests: BTreeSet<(Metric, &str)> = verdicts.map(|one| (one.metric, one.test.as_str())).collect();
    let metrics: BTreeSet<Metric> = tests.iter().map(|(metric, _)| *metric).collect();
    let found = metrics.into_iter().flat_map(|metric| {
        let mut of_metric = estimates(experiment, metric, arm);
        of_metric.retain(|one| tests.contains(&(metric, one.test.as_str())));
        of_metric
    });
    let of_few = |one: Estimate| {
        (one.test, Figure { ratio: one.ratio, interval: one.interval.unwrap_or((f64::NAN, f64::NAN)) })
    };
    found.map(of_few).collect()
}

fn arm_blocks(comparison: &Comparison<'_>, judged: &Judged<'_>, arm: usize) -> [Block; 2] {
    let metric = judged.cost_metric();
    let [costs, rates] = [Detector::Cost, Detector::Rate].map(|detector| by_test(judged, detector, arm));
    let lines = judged.lines(arm, |test| comparison.shows(test));
    let label = judged.label(comparison, arm);
    let number = Column::number;
    let columns = vec![
        number("cost/op", "cost_ratio"),
        number("from", "cost_low"),
        number("to", "cost_high"),
        number("rQPS", "rqps"),
        number("from", "rqps_low"),
        number("to", "rqps_high"),
        Column::words("test"),
    ];
    let what = metric.measure().label;
    let has_costs = !costs.is_empty();
    let title =
        if has_costs { format!("{what} per operation on {label}") } else { format!("Rates on {label}") };
    let mut table = Table::new("costs", title, columns, 1);
    table.subject.push(("arm", judged.run.arms[arm].name.clone()));
    table.preamble.push(format!("Relative to: {}", judged.label(comparison, judged.base)));
    for line in &lines {
        let mut cells = figures(costs.get(line.test), decimals_max(judged));
        cells.extend(figures(rates.get(line.test), RATIO_DECIMALS_MAX));
        cells.push(Cell::words(line.test));
        table.row_in(&line.group.title, cells);
    }
    let program = judged.run.terms().program;
    let of_cost = format!("cost/op: {what} of the {program} per operation; below 1 is cheaper. ");
    table.footnotes = vec![
        format!("{}rQPS: rate; below 1 is slower", if has_costs { &of_cost } else { "" }),
        match judged.has_verdicts() {
            true => format!(
                "from, to: confidence interval of the ratio, {}, as with the verdicts",
                confidences(&lines)
            ),
            false => "from, to: 99 % confidence interval; too few blocks for verdicts, it assumes the noise of the median \
                      test, or the test's own if that is larger. An interval that includes 1 shows no difference"
                .to_owned(),
        },
    ];
    let is_other = |test: &&str| {
        let verdict = judged.verdicts.verdict(test, arm, Detector::Cost);
        verdict.is_some_and(|one| costs.contains_key(*test) && one.metric != metric)
    };
    let others: Vec<&str> = lines.iter().map(|line| line.test).filter(is_other).collect();
    if !others.is_empty() {
        let other = Metric::CpuUs.measure().label;
        table.footnotes.push(format!("by {other}, since {what} were not used: {}", others.join(", ")));
    }
    let text = match has_costs {
        true => sentence(judged, arm, &lines, (&label, &costs)),
        false => no_costs(judged.run, &label),
    };
    [Block::Text(text), Block::Table(table)]
}

fn decimals_max(judged: &Judged<'_>) -> usize {
    if judged.has_verdicts() { COST_DECIMALS_MAX } else { RATIO_DECIMALS_MAX }
}

fn figures(figure: Option<&Figure>, decimals_max: usize) -> Vec<Cell> {
    figure.map_or_else(
        || vec![Cell::missing(); 3],
        |one| Cell::estimate((one.ratio, one.interval.0, one.interval.1), decimals_max).to_vec(),
    )
}

/// Why there is no cost, and where the nearest figure to it is.
fn no_costs(run: &Run, label: &str) -> String {
    let has = |window: &Recorded<Window>| HOST_CPU.iter().any(|name| window.metrics.contains_key(*name));
    let of_host = match run.windows.iter().any(has) {
        true => "; CPU time of the whole host per operation is in section per-op",
        false => "",
    };
    let program = run.terms().program;
    format!("{label}: cost per operation unknown: CPU time of the {program} was not measured{of_host}.")
}

/// The median over tests, and the tests with a verdict of a change; without verdicts, those whose interval excludes 1.
fn sentence(
    judged: &Judged<'_>,
    arm: usize,
    lines: &[Line<'_>],
    (label, costs): (&str, &BTreeMap<String, Figure>),
) -> String {
    let found: Vec<(&str, &Figure)> =
        lines.iter().filter_map(|line| Some((line.test, costs.get(line.test)?))).collect();
    let verdict = |test: &str| judged.verdicts.verdict(test, arm, Detector::Cost).map(|one| one.class);
    let is_more = |test: &str, one: &Figure| match judged.has_verdicts() {
        true => verdict(test).is_some_and(|class| class.is_regression()),
        false => one.interval.0 > 1.0,
    };
    let is_less = |test: &str, one: &Figure| match judged.has_verdicts() {
        true => verdict(test).is_some_and(|class| class.is_change() && !class.is_regression()),
        false => one.interval.1 < 1.0,
    };
    let names = |is: &dyn Fn(&str, &Figure) -> bool| {
        let names: Vec<&str> =
            found.iter().filter(|(test, one)| is(test, one)).map(|(test, _)| *test).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let ratio = |(_, one): &(&str, &Figure)| {
        (one.ratio, Digits::of_ratio(one.interval, decimals_max(judged)).text(one.ratio))
    };
    let median = number::median(found.iter().map(ratio).collect());
    let median = median.map_or_else(|| "unknown".to_owned(), |(_, text)| text);
    format!(
        "{label}: {} per operation relative to base, median of {}: {median}. More expensive, beyond noise: {}; cheaper: {}.",
        judged.cost_metric().measure().label,
        counted(found.len(), "test"),
        names(&is_more),
        names(&is_less),
    )
}
