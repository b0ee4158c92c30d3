//! What the host could do before and after a run, and what that means for its rates.
//!
//! | column | means |
//! | --- | --- |
//! | `before`, `after` | the median of 8 slices measured before the first action, after the last |
//! | `low`, `high` | the lowest and the highest of these slices |
//! | `change` | after over before; of a share the difference in points. In parentheses if the slices overlap: noise |
//! | `unit`, `figure` | what was measured |
//! | `run` | the run, if there are several |
//! | `commits/s`, `sessions` | commits that wait for the disk, and the connections that make them |
//! | `each/promised` | a connection's commits over what the disk promises one |
//! | `syncs` | the server's syncs of its log per commit, where it counts them |

use rqps_explain::{WaitingCommits, Windows, promise_of, waiting_commits};
use rqps_model::{HostFigure, HostQuantity};
use rqps_store::{Arm, Run};
use rqps_verdicts::{CommitPromise, DataMount, WindowOrder, host_answers, host_changes, host_doubt, pooled};

use crate::comparison::{Comparison, StepKind};
use crate::document::{Block, Cell, Column, Table};
use crate::error::Result;
use crate::number;
use crate::tables::undecided;
use crate::verdict_lines::Judged;
use std::rc::Rc;

/// The table, with plain answers about each run's host; empty without certificates.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Result<Vec<Block>> {
    let runs: Vec<&Run> = comparison.runs().into_iter().filter(|run| is_certified(run)).collect();
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let mut blocks = vec![Block::Table(table(&runs))];
    for run in &runs {
        let mount = DataMount::of(run);
        let answers = host_answers(&run.certificates.before, mount, WindowOrder::of(run));
        let name = if runs.len() > 1 { format!(" ({})", run.folder.name()) } else { String::new() };
        let items =
            answers.iter().map(|one| format!("{}: {}, {}", one.question.title(), one.answer, one.text));
        let place = mount.described().map(|place| format!(", its disk that of {place}")).unwrap_or_default();
        blocks.push(Block::Text(format!("The host before the run{name}{place}:")));
        blocks.push(Block::Items(items.collect()));
    }
    let first = runs[0];
    for other in &runs[1..] {
        let differences = differences(first, other);
        let [a, b] = [first, other].map(|run| run.folder.name());
        blocks.push(Block::Text(match differences.is_empty() {
            true => format!(
                "The hosts of {a} and {b} do not differ beyond noise: the slices of each figure, of before and after the run together, \
                 overlap."
            ),
            false => {
                format!("The hosts of {a} and {b} differ beyond noise; the slices of all other figures overlap:")
            }
        }));
        blocks.extend((!differences.is_empty()).then_some(Block::Items(differences)));
    }
    blocks.extend(commits(comparison, |_| true)?.block());
    Ok(blocks)
}

/// The commits of a test on an arm, if they wait for the disk.
pub(crate) struct Waiting<'a> {
    pub test: String,
    pub arm: &'a Arm,
    pub commits: WaitingCommits,
}

/// All commits of a run that wait for the disk, and what it promises; none without a certificate.
pub(crate) fn waiting<'a>(
    run: &'a Run,
    comparison: &Comparison<'_>,
) -> Result<Option<(CommitPromise, Vec<Waiting<'a>>)>> {
    let Some(promise) = promise_of(run) else { return Ok(None) };
    let windows = Windows::new(run);
    let mut all = Vec::new();
    for step in comparison.steps(StepKind::Tests) {
        for (index, arm) in run.arms.iter().enumerate() {
            let rate = comparison.find(arm).and_then(|shown| shown.rate(&step.name));
            let found = waiting_commits(&windows, (&step.name, index), promise, rate)?;
            all.extend(found.map(|commits| Waiting { test: step.name.clone(), arm, commits }));
        }
    }
    Ok(Some((promise, all)))
}

const ABOVE_PROMISED: &str =
    ". Where it is more, the disk was faster in those windows, or one sync served several commits";

const TWO_LOGS: &str = ". Commits with innodb_flush_log_at_trx_commit 1 or 3 and sync_binlog 1 wait for two logs, each with a sync of its own";

const NO_COMMITS: &str = ". Statements that found nothing to change are in rates and are no commits";

/// Tests whose commits wait for the disk, beside what it promises a client.
pub(crate) fn commits(comparison: &Comparison<'_>, is_shown: impl Fn(&str) -> bool) -> Result<Table> {
    let mut columns: Vec<Column> = [
        ("commits/s", "commits_per_s"),
        ("sessions", "sessions"),
        ("each/promised", "share_of_promised"),
        ("syncs", "log_syncs_per_commit"),
    ]
    .map(|(name, key)| Column::number(name, key))
    .into();
    columns.extend(["test", "arm"].map(Column::words));
    let mut table = Table::new("commits", "Commits that wait for the disk", columns, 2);
    for run in comparison.runs() {
        let Some((promise, all)) = waiting(run, comparison)? else { continue };
        let before = table.rows.len();
        let of_two_logs = all.iter().any(|one| one.commits.logs > 1 && is_shown(&one.test));
        let is_above = all.iter().any(|one| one.commits.share > 1.0);
        let is_unchanged = |one: &Waiting<'_>| one.commits.unchanged_per_s > 0.0 && is_shown(&one.test);
        let has_unchanged = all.iter().any(is_unchanged);
        for Waiting { test, arm, commits } in all.into_iter().filter(|one| is_shown(&one.test)) {
            let shown = comparison.find(arm);
            table.row(vec![
                Cell::rate(Some(commits.per_s)),
                Cell::count(commits.sessions.into()),
                Cell::fixed(Some(commits.share), 2),
                Cell::fixed(commits.log_syncs, 2),
                Cell::words(test),
                Cell::words(shown.map_or_else(|| arm.name.clone(), |arm| arm.label())),
            ]);
        }
        if table.rows.len() > before {
            let [low, middle, high] = [promise.low_per_s, promise.per_s, promise.high_per_s]
                .map(|per_s| number::significant(per_s, 3));
            table.footnotes.push(format!(
                "{}: promised is what one client can do at the disk's latency {}: {middle} commits per second, {low} to {high} by \
                 the slowest and the fastest slices, each of 16 KiB and an fdatasync{}{}{}",
                run.folder.name(),
                promise.when(),
                if is_above { ABOVE_PROMISED } else { "" },
                if of_two_logs { TWO_LOGS } else { "" },
                if has_unchanged { NO_COMMITS } else { "" }
            ));
        }
    }
    Ok(table)
}

/// What makes a run's rates doubtful, what changed during a run, and how the hosts of several runs differed.
/// Verdicts tell why most of them are inconclusive.
pub(crate) fn remarks(comparison: &Comparison<'_>) -> Vec<String> {
    let judged = Judged::all(comparison).unwrap_or_default();
    let runs: Vec<&Run> = comparison.runs().into_iter().filter(|run| is_certified(run)).collect();
    let mut remarks = Vec::new();
    for run in &runs {
        let (name, certificates) = (run.folder.name(), &run.certificates);
        let is_said =
            |one: &Rc<Judged<'_>>| one.run.folder.name() == name && undecided::not_quiet(one).is_some();
        if !judged.iter().any(is_said)
            && let Some(doubt) = host_doubt(&certificates.before, WindowOrder::of(run))
        {
            remarks.push(format!("{name}: the host was {doubt}"));
        }
        let changes = host_changes(&certificates.before, &certificates.after).into_iter();
        remarks.extend(
            changes.map(|change| format!("{name}: the host changed: {}", change.text("before", "after"))),
        );
    }
    if let [first, others @ ..] = runs.as_slice() {
        let all = others.iter().flat_map(|other| differences(first, other));
        remarks.extend(all.map(|difference| format!("the hosts differed: {difference}")));
    }
    remarks
}

/// What differs between the hosts of two runs by more than all slices of either, with the figures. Those that changed
/// during a run are compared before with before and after with after: the slices of both together overlap with much.
fn differences(first: &Run, other: &Run) -> Vec<String> {
    let of = [first, other].map(|run| &run.certificates);
    let moved: Vec<HostQuantity> = of
        .iter()
        .flat_map(|of| host_changes(&of.before, &of.after))
        .map(|change| change.before.quantity)
        .collect();
    let only = |figures: &[HostFigure], is_moved: bool| -> Vec<HostFigure> {
        figures.iter().filter(|one| moved.contains(&one.quantity) == is_moved).copied().collect()
    };
    let moments = [
        ("in", of.map(pooled), false),
        ("before", of.map(|of| of.before.clone()), true),
        ("after", of.map(|of| of.after.clone()), true),
    ];
    let mut found = Vec::new();
    for (moment, figures, is_moved) in moments {
        let [a, b] = figures.map(|figures| only(&figures, is_moved));
        let names = [first, other].map(|run| format!("{moment} {}", run.folder.name()));
        found.extend(host_changes(&a, &b).into_iter().map(|change| change.text(&names[0], &names[1])));
    }
    found
}

fn is_certified(run: &Run) -> bool {
    !run.certificates.before.is_empty()
}

fn table(runs: &[&Run]) -> Table {
    let figures = ["before", "low", "high", "after", "low", "high"];
    let keys = ["before", "before_low", "before_high", "after", "after_low", "after_high"];
    let column = |(name, key)| match name {
        "low" | "high" => Column::number(name, key).optional(1),
        _ => Column::number(name, key),
    };
    let mut columns: Vec<Column> = figures.into_iter().zip(keys).map(column).collect();
    columns.push(Column::number("change", "change"));
    columns.extend(["unit", "figure"].map(Column::words));
    if runs.len() > 1 {
        columns.push(Column::words("run"));
    }
    let labels = columns.len() - keys.len() - 2;
    let mut table = Table::new("certificate", "What the host could do", columns, labels);
    for quantity in HostQuantity::ALL {
        for run in runs {
            let of =
                |figures: &[HostFigure]| figures.iter().find(|figure| figure.quantity == quantity).copied();
            let (before, after) = (of(&run.certificates.before), of(&run.certificates.after));
            if before.is_none() && after.is_none() {
                continue;
            }
            let mut cells: Vec<Cell> = [before, after].into_iter().flat_map(figure_cells).collect();
            cells.push(change(before, after));
            cells.extend([quantity.unit(), quantity.title()].map(Cell::words));
            if runs.len() > 1 {
                cells.push(Cell::words(run.folder.name()));
            }
            table.row(cells);
        }
    }
    if !table.rows.is_empty() {
        table.footnotes.push("Changes in parentheses are noise: slices before and after overlap".to_owned());
    }
    table
}

fn figure_cells(figure: Option<HostFigure>) -> [Cell; 3] {
    let cell = |value: Option<f64>| {
        Cell::printed(value, |value| figure.map_or_else(String::new, |one| one.digits().text(value)))
    };
    [figure.map(|one| one.value), figure.map(|one| one.low), figure.map(|one| one.high)].map(cell)
}

fn change(before: Option<HostFigure>, after: Option<HostFigure>) -> Cell {
    let (Some(before), Some(after)) = (before, after) else {
        return Cell::missing();
    };
    let is_noise = host_changes(&[before], &[after]).is_empty();
    let bracketed = |text: String| if is_noise { format!("({text})") } else { text };
    match before.quantity.is_share() {
        true => Cell::number(
            after.value - before.value,
            bracketed(format!("{:+.1} points", after.value - before.value)),
        ),
        false => Cell::printed(number::ratio(Some(after.value), Some(before.value)), |ratio| {
            bracketed(format!("{ratio:.3}"))
        }),
    }
}
