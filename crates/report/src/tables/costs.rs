//! For runs too short for verdicts: the server's cost per operation relative to base, with its interval, then
//! the rate.
//!
//! | column | means |
//! | --- | --- |
//! | `cost/op` | cost per operation, arm over base, mean over passes or blocks: instructions if they were counted in all tests, else the server's CPU time |
//! | `rQPS` | rate, arm over base; other programs on the machine affect it more than the cost |
//! | `from`, `to` | interval of the ratio to their left; see `estimates.rs` of the verdicts crate |
//! | `test` | the test |

use std::collections::BTreeMap;

use rqps_model::{counted, sample};
use rqps_stats::{Experiment, Metric};
use rqps_store::{Recorded, Run, Window};
use rqps_verdicts::{Estimate, estimates};

use crate::comparison::{Comparison, StepKind};
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::tables::disturbed;
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

/// The most precise cost metric that all tests have.
fn cost_metric(experiment: &Experiment) -> Metric {
    let has =
        |metric| experiment.tests.iter().all(|test| test.metrics.iter().any(|data| data.metric == metric));
    if has(Metric::Instructions) { Metric::Instructions } else { Metric::CpuUs }
}

fn arm_blocks(comparison: &Comparison<'_>, judged: &Judged<'_>, arm: usize) -> [Block; 2] {
    let experiment = &judged.verdicts.experiment;
    let metric = cost_metric(experiment);
    let by_test = |metric| -> BTreeMap<String, Estimate> {
        estimates(experiment, metric, arm).into_iter().map(|one| (one.test.clone(), one)).collect()
    };
    let (costs, rates) = (by_test(metric), by_test(Metric::Rate));
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
    table.subject = Some(("arm", judged.run.arms[arm].name.clone()));
    table.preamble.push(format!("Relative to: {}", judged.label(comparison, judged.base)));
    for line in &lines {
        let mut cells = figures(costs.get(line.test));
        cells.extend(figures(rates.get(line.test)));
        cells.push(Cell::words(line.test));
        table.row_in(&line.group.title, cells);
    }
    let program = judged.run.terms().program;
    let of_cost = format!("cost/op: {what} of the {program} per operation; below 1 is cheaper. ");
    table.footnotes = vec![
        format!("{}rQPS: rate; below 1 is slower", if has_costs { &of_cost } else { "" }),
        "from, to: 99 % confidence interval; it assumes the noise of the median test, or the test's own if that is larger. \
         An interval that includes 1 shows no difference"
            .to_owned(),
    ];
    let text = match has_costs {
        true => sentence(&label, what, &lines, &costs),
        false => no_costs(judged.run, &label),
    };
    [Block::Text(text), Block::Table(table)]
}

fn figures(estimate: Option<&Estimate>) -> Vec<Cell> {
    estimate.map_or_else(
        || vec![Cell::missing(); 3],
        |one| {
            let (low, high) = one.interval.unwrap_or((f64::NAN, f64::NAN));
            Cell::estimate((one.ratio, low, high), RATIO_DECIMALS_MAX).to_vec()
        },
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

/// The median over tests, and the tests whose interval excludes 1.
fn sentence(label: &str, what: &str, lines: &[Line<'_>], costs: &BTreeMap<String, Estimate>) -> String {
    let estimates: Vec<&Estimate> = lines.iter().filter_map(|line| costs.get(line.test)).collect();
    let ratios: Vec<f64> = estimates.iter().map(|one| one.ratio).collect();
    let names = |is: fn((f64, f64)) -> bool| {
        let found = estimates.iter().filter(|one| one.interval.is_some_and(is));
        let names: Vec<&str> = found.map(|one| one.test.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let median = sample::median(&ratios).map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}"));
    format!(
        "{label}: {what} per operation relative to base, median of {}: {median}. More expensive, beyond noise: {}; cheaper: {}.",
        counted(estimates.len(), "test"),
        names(|(low, _)| low > 1.0),
        names(|(_, high)| high < 1.0),
    )
}
