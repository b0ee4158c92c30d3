//! Presents a run to tables with one window per arm and step, whatever the protocol.
//!
//! In a run with blocks, a step has several windows on each arm. Tables of totals pool the valid ones. What verdicts
//! are about, rates and CPU time per operation, is theirs: base's figure over the blocks of the verdict, and times its
//! ratio that of another arm. So figures divide to the ratios that verdicts have.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{EndedBy, Metrics};
use rqps_stats::{Metric, Verdict, base_figure, blocks_of};
use rqps_store::{Arm, BlockStatus, RATE_WAS_SET, Recorded, Role, Run, Window};

/// Metrics that are states, not totals: pooled by maximum.
const STATES: [&str; 7] = [
    "cpus",
    "server_processes",
    "server_private_kb",
    "server_shared_max_kb",
    "server_proportional_kb",
    "server_perf_multiplexed",
    RATE_WAS_SET,
];
/// Pooled by minimum: a window that missed its target is not compensated by another.
const SMALLEST: [&str; 3] = ["background_kept", "background_rows_per_s", "background_bytes_per_s"];
/// Name endings of metrics that are values at a moment or rates: pooled by mean.
const MEANS: [&str; 5] = ["_before", "_after", "_per_s", "_per_query", "_amplification"];
/// The metric from which tables take instructions.
const INSTRUCTIONS: &str = "server_instructions_user";

/// By arm, step and metric.
type OfVerdicts = BTreeMap<(String, String, Metric), OfVerdict>;
/// Windows by arm and step.
type Windows = BTreeMap<(String, String), Recorded<Window>>;

/// Whether an arm has no result, although another arm of its run has one.
pub(crate) fn is_unmeasured(run: &Run, arm: &str) -> bool {
    let of_windows = run.windows.iter().map(|window| &window.action);
    let of_loads = run.loads.iter().filter(|load| load.result.rows > 0).map(|load| &load.action);
    // An invalid step may have left an action alone.
    let of_steps = run.actions.iter().filter(|action| action.kind == "measure");
    let mut arms = of_windows.chain(of_loads).chain(of_steps).map(|action| &action.arm).peekable();
    arms.peek().is_some() && arms.all(|other| other != arm)
}

/// What a verdict is about, on one arm.
#[derive(Clone, Copy)]
pub(crate) struct OfVerdict {
    /// Arm over base.
    pub ratio: f64,
    /// The rate, or microseconds per operation; `None` if base has none.
    pub figure: Option<f64>,
}

/// A run, with its windows pooled if it has blocks.
pub(crate) struct Reading<'a> {
    pub run: &'a Run,
    /// None for a run without blocks.
    pooled: Option<Windows>,
    /// The results of each arm and step, in the order of measurement.
    results: BTreeMap<(&'a str, &'a str), Vec<&'a Recorded<Window>>>,
    /// Of blocks: each arm's rate and CPU time as verdicts give them. Judged when first asked for: most reports have
    /// verdicts of their own and no rates.
    of_verdicts: OnceCell<OfVerdicts>,
}

impl<'a> Reading<'a> {
    pub fn new(run: &'a Run) -> Self {
        let pooled = (!run.blocks.is_empty()).then(|| pool(run));
        let mut results: BTreeMap<(&str, &str), Vec<&Recorded<Window>>> = BTreeMap::new();
        for window in run.windows.iter().filter(|window| is_result(run, window)) {
            results.entry((&window.action.arm, &window.action.step)).or_default().push(window);
        }
        Self { run, pooled, results, of_verdicts: OnceCell::new() }
    }

    /// An arm's rate or CPU time in blocks; `None` without a verdict.
    pub fn of_verdicts(&self, arm: &str, step: &str, metric: Metric) -> Option<OfVerdict> {
        self.pooled.as_ref()?;
        let found = self.of_verdicts.get_or_init(|| of_verdicts(self.run));
        found.get(&(arm.to_owned(), step.to_owned(), metric)).copied()
    }

    /// The window of an arm's step, pooled if the run has blocks.
    pub fn window(&self, arm: &str, step: &str) -> Option<&Recorded<Window>> {
        match &self.pooled {
            Some(pooled) => pooled.get(&(arm.to_owned(), step.to_owned())),
            None => self.run.windows.iter().find(|window| is_of(window, arm, step)),
        }
    }

    /// The first valid window of an arm's step, whose details (latencies, counters, plans) are shown.
    pub fn first_window(&self, arm: &str, step: &str) -> Option<&'a Recorded<Window>> {
        self.windows(arm, step).next()
    }

    /// All valid windows of an arm's step, in the order of measurement.
    pub fn windows(&self, arm: &str, step: &str) -> impl Iterator<Item = &'a Recorded<Window>> {
        self.results.get(&(arm, step)).cloned().unwrap_or_default().into_iter()
    }
}

fn of_verdicts(run: &Run) -> OfVerdicts {
    // A run that cannot be judged says why where its verdicts would be.
    let Ok(judged) = rqps_verdicts::rules_of(run).and_then(|rules| rqps_verdicts::judge_run(run, &rules))
    else {
        return OfVerdicts::new();
    };
    let Some(base) = run.arms.iter().find(|arm| arm.role == Role::Base) else { return OfVerdicts::new() };
    let is_shown =
        |one: &&Verdict| matches!(one.metric, Metric::Rate | Metric::CpuUs) && one.ratio.is_finite();
    let mut verdicts: Vec<&Verdict> = judged.judgement.verdicts.iter().filter(is_shown).collect();
    // An arm that was given up has fewer blocks than base.
    verdicts.sort_by_key(|one| std::cmp::Reverse(one.blocks));
    let mut found = OfVerdicts::new();
    for one in verdicts {
        let Some(arm) = run.arms.get(one.arm) else { continue };
        let key = |arm: &Arm| (arm.name.clone(), one.test.clone(), one.metric);
        let of_base = *found.entry(key(base)).or_insert_with(|| {
            let figure = base_figure(&blocks_of(&judged.experiment, one));
            OfVerdict { ratio: 1.0, figure }
        });
        let figure = of_base.figure.map(|figure| figure * one.ratio);
        found.insert(key(arm), OfVerdict { ratio: one.ratio, figure });
    }
    found
}

fn is_of(window: &Recorded<Window>, arm: &str, step: &str) -> bool {
    window.action.arm == arm && window.action.step == step
}

/// Whether a window is a result: it is valid and in a completed block, or the run has no blocks.
pub(crate) fn is_result(run: &Run, window: &Recorded<Window>) -> bool {
    match window.placement {
        Some(at) => window.valid() && is_done(run, at.block),
        None => run.blocks.is_empty() && window.valid(),
    }
}

fn is_done(run: &Run, number: u32) -> bool {
    run.blocks.iter().any(|block| block.number == number && block.status == BlockStatus::Done)
}

/// Whether a window has a counterpart: of imports, arms may have unequal numbers of repeats, and rates would be of
/// others than relative rates are. Base's counterpart is any other arm.
fn pairing(run: &Run) -> impl Fn(&Recorded<Window>) -> bool {
    let is_base = |name: &str| run.arms.iter().any(|arm| arm.name == name && arm.role == Role::Base);
    let key = |window: &Recorded<Window>| Some((window.action.step.clone(), window.placement?.block));
    let (base, others): (Vec<&Recorded<Window>>, Vec<&Recorded<Window>>) = run
        .windows
        .iter()
        .filter(|window| run.meta.is_imported() && is_result(run, window))
        .partition(|window| is_base(&window.action.arm));
    let keys = |windows: &[&Recorded<Window>]| windows.iter().filter_map(|window| key(window)).collect();
    let (of_base, of_others): (BTreeSet<_>, BTreeSet<_>) = (keys(&base), keys(&others));
    let tests: BTreeSet<String> = of_base
        .iter()
        .filter(|(step, _)| of_others.iter().any(|(other, _)| other == step))
        .map(|(step, _)| step.clone())
        .collect();
    move |window| {
        let counterparts = if is_base(&window.action.arm) { &of_others } else { &of_base };
        // A test of one arm only has no relative rates.
        key(window).is_none_or(|key| !tests.contains(&key.0) || counterparts.contains(&key))
    }
}

fn pool(run: &Run) -> Windows {
    let mut all: BTreeMap<(String, String), Vec<&Recorded<Window>>> = BTreeMap::new();
    let is_paired = pairing(run);
    for window in run.windows.iter().filter(|window| is_result(run, window) && is_paired(window)) {
        let key = (window.action.arm.clone(), window.action.step.clone());
        all.entry(key).or_default().push(window);
    }
    let mut pooled = Windows::new();
    for ((arm, step), windows) in all {
        if let Some(mut window) = sum(&windows) {
            if !window.metrics.contains_key(INSTRUCTIONS) {
                let counted =
                    counted_per_op(run, &arm, &step).map(|per_op| per_op * window.result.operations);
                window.metrics.extend(counted.map(|total| (INSTRUCTIONS.to_owned(), total)));
            }
            pooled.insert((arm, step), window);
        }
    }
    pooled
}

/// Whether `rqps upgrade` began the run, and wrote its report.
pub(crate) fn is_upgrade(run: &Run) -> bool {
    run.folder.path().join(rqps_store::UPGRADE_FILE).exists()
}

/// Pools windows. A metric that one of them lacks is left out: its total would not cover all operations.
fn sum(windows: &[&Recorded<Window>]) -> Option<Recorded<Window>> {
    let mut pooled = (*windows.first()?).clone();
    for window in &windows[1..] {
        let (into, from) = (&mut pooled.result, &window.result);
        into.elapsed_us += from.elapsed_us;
        // A total that one of them lacks would not cover all windows.
        for (total, part) in [
            (&mut into.warmup_us, from.warmup_us),
            (&mut into.events, from.events),
            (&mut into.queries, from.queries),
            (&mut into.statements, from.statements),
            (&mut into.statements_working, from.statements_working),
            (&mut into.noop_statements, from.noop_statements),
            (&mut into.rows, from.rows),
            (&mut into.errors, from.errors),
        ] {
            *total = total.zip(part).map(|(total, part)| total + part);
        }
        into.operations += from.operations;
        for (state, count) in &from.retries {
            *into.retries.entry(state.clone()).or_default() += count;
        }
        if from.ended_by == EndedBy::Error {
            into.ended_by = EndedBy::Error;
        }
        for (total, part) in pooled.connections.iter_mut().zip(&window.connections) {
            total.cpu_us += part.cpu_us;
        }
        pooled.metrics = sum_metrics(&pooled.metrics, &window.metrics);
        pooled.action.attempt = pooled.action.attempt.max(window.action.attempt);
        pooled.action.finished_at_ms = window.action.finished_at_ms;
    }
    let count = windows.len() as f64;
    for (_, value) in pooled.metrics.iter_mut().filter(|(name, _)| is_mean(name)) {
        *value /= count;
    }
    Some(pooled)
}

fn is_mean(name: &str) -> bool {
    MEANS.iter().any(|end| name.ends_with(end)) && !SMALLEST.contains(&name)
}

fn sum_metrics(all: &Metrics, more: &Metrics) -> Metrics {
    let both = all.iter().filter_map(|(name, value)| Some((name, *value, *more.get(name)?)));
    both.map(|(name, a, b)| {
        let value = match name.as_str() {
            state if STATES.contains(&state) => a.max(b),
            smallest if SMALLEST.contains(&smallest) => a.min(b),
            _ => a + b,
        };
        (name.clone(), value)
    })
    .collect()
}

/// Mean instructions per operation, counted by a program in completed blocks.
fn counted_per_op(run: &Run, arm: &str, step: &str) -> Option<f64> {
    let counts = run.counts.iter().filter(|count| {
        let is_in_done_block = count.placement.is_some_and(|at| is_done(run, at.block));
        is_in_done_block && count.valid() && count.action.arm == arm && count.action.step == step
    });
    let per_op: Vec<f64> = counts.filter_map(|count| count.result.instructions_per_op()).collect();
    (!per_op.is_empty()).then(|| per_op.iter().sum::<f64>() / per_op.len() as f64)
}
