//! Measurements of one test on base, arm and control: totals by block.
//!
//! A quantity is any function of one arm's totals in one block. Its change is the mean over blocks of arm
//! minus base within the block. Its noise pools how much this difference varies between blocks and how much
//! the control differs from base. The sampling units are blocks, as in verdicts, not windows.

use std::cell::OnceCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use rqps_model::Unit;
use rqps_model::{CounterName, EndedBy};
use rqps_store::{BlockStatus, Recorded, Run, Window};
use rqps_verdicts::{Apart, RunVerdicts, Turns};

use crate::error::Result;
use crate::foreground::Foreground;
use crate::quantity::{Quantity, quantity};
use crate::scale::{Judged, Scale};

/// CPU time of all programs of the host, microseconds, from a window's metrics by name. Imported results may have the
/// sum alone. `None` if it was not measured.
pub fn host_cpu_us(metric: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let sum = || Some(metric("host_user_us")? + metric("host_system_us")?);
    sum().or_else(|| metric("host_busy_us"))
}

/// Metric: CPU time of the client program.
pub(crate) const CLIENT_CPU_US: &str = "client_cpu_us";
/// Metrics of an rqps that waits for an engine: how long its threads used and queued for a CPU, and those of the engine
/// process that speak with it.
const OF_WAITING: [&str; 3] = [CLIENT_CPU_US, "client_queued_us", "server_role.rqps_us"];
/// Metrics of how long all sessions, and all threads of rqps, queued for a CPU.
const OF_QUEUES: [&str; 2] = [QUEUED, "client_queued_us"];
/// Metric: time that backends were runnable but had no CPU.
pub(crate) const QUEUED: &str = "server_backends_queued_us";
/// Metric: measured time summed over all clients, microseconds.
pub(crate) const CLIENT_TIME: &str = "client_time_us";
/// Metric: time of whole windows in which neither client nor backend was on a CPU, guards and interrupted slices
/// included, summed over all clients.
pub(crate) const OFF_CPU: &str = "off_cpu_us";
/// Metric: CPU time of the processes that serve measured clients.
pub(crate) const BACKENDS: &str = "backends_cpu_us";
/// Prefix of metrics with the CPU time of background work; the role and the unit follow.
pub(crate) const ROLE: &str = "server_role.";
/// The pseudo-object that stands for all objects of a view.
pub(crate) const ALL: &str = "all";
/// Metric: CPU time of threads without a name.
const UNNAMED: &str = "server_role.other_thread_us";
/// Metric: instructions counted by the processor.
pub(crate) const INSTRUCTIONS: &str = "server_instructions_user";
/// Metric: cycles of the server's processes.
pub(crate) const CYCLES: &str = "server_cycles_user";
/// Metric: instructions of a count, scaled to the operations of the windows.
pub(crate) const COUNTED: &str = "counted_instructions";
/// Metric: CPU time of the busiest client's backend over that of the median one.
pub(crate) const CONNECTIONS: &str = "connections_unevenness";
/// Metric: repeated transactions.
pub(crate) const RETRIES: &str = "retries";
/// Metric: length of the windows.
pub(crate) const ELAPSED: &str = "elapsed_us";

/// Metric: sizes of the block caches of the windows, each of which begins with an empty one.
pub(crate) const CACHES: &str = "block_caches_bytes";
/// Setting: size of RocksDB's block cache.
const CACHE: &str = "block_based_table_factory.block_cache.capacity";

/// Of 5 + 5 values, a random order puts all of one arm first or last with a probability of 0.8 %.
const SEPARATE_BLOCKS_MIN: usize = 5;
/// Of 3 + 3 values it does so with 10 %: enough only where one arm has none at all and the other always about as much.
const NONE_BLOCKS_MIN: usize = 3;

/// Counter ids by view, object and column.
type Names = HashMap<(String, String, String), u32>;

/// Totals of one arm in one block.
#[derive(Debug, Default, Clone)]
pub(crate) struct Totals {
    /// Operations, in the unit that tables divide by.
    pub operations: f64,
    metrics: BTreeMap<String, f64>,
    counters: HashMap<u32, f64>,
}

/// Measurements of one test on both arms and the control.
pub(crate) struct Figures {
    /// The unit of rates and costs; `None` if the test has no window.
    pub unit: Option<Unit>,
    /// Clients of the arm's windows.
    pub clients: u32,
    /// Whether there are blocks to estimate noise from.
    pub replicated: bool,
    names: Rc<Names>,
    /// For each block: base, arm, control.
    blocks: Vec<[Option<Rc<Totals>>; 3]>,
    /// Of base (and control), and of the arm.
    scales: [Scale; 2],
    /// Passes in which a resume measured one of the two after the other.
    pub apart: BTreeSet<u32>,
    /// Whether they are not among the blocks: there are others.
    pub leaves_apart_out: bool,
}

/// One arm's totals in one block: the argument of a quantity's function.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    figures: &'a Figures,
    totals: &'a Totals,
    scale: Scale,
}

impl Cell<'_> {
    pub fn operations(&self) -> f64 {
        self.totals.operations
    }

    /// A metric's total; `None` if it was not measured.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.totals.metrics.get(name).map(|value| value * self.scale.of(name))
    }

    /// A metric per operation; `None` if it was not measured.
    pub fn per_op(&self, name: &str) -> Option<f64> {
        Some(self.metric(name)? / self.operations())
    }

    /// How much a server counter rose; `None` if this server lacks it.
    pub fn counter(&self, view: &str, object: &str, column: &str) -> Option<f64> {
        let key = (view.to_owned(), object.to_owned(), column.to_owned());
        self.totals.counters.get(self.figures.names.get(&key)?).copied()
    }

    /// The sum of two columns of one object; `None` if this server lacks either.
    pub fn sum(&self, view: &str, object: &str, columns: [&str; 2]) -> Option<f64> {
        let [one, other] = columns.map(|column| self.counter(view, object, column));
        Some(one? + other?)
    }

    /// The sum of a column over the objects of a view that `matches` accepts; `None` if there are none.
    pub fn counter_sum(&self, view: &str, column: &str, matches: impl Fn(&str) -> bool) -> Option<f64> {
        let wanted = self.figures.names.iter().filter(|((its_view, object, its_column), _)| {
            its_view == view && its_column == column && matches(object)
        });
        let values: Vec<f64> = wanted.filter_map(|(_, id)| self.totals.counters.get(id).copied()).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }

    /// Instructions in user mode; the processor's count takes precedence over a counting program's.
    pub fn instructions(&self) -> Option<f64> {
        self.metric(INSTRUCTIONS).or(self.metric(COUNTED))
    }

    /// The names of all metrics that begin with `prefix`.
    pub fn metrics_of(&self, prefix: &str) -> Vec<&str> {
        self.totals.metrics.keys().filter(|name| name.starts_with(prefix)).map(String::as_str).collect()
    }

    /// The metrics with the CPU time of background work by role. None if the measured sessions cannot be
    /// separated from the rest: MySQL 5.6 does not name threads, so the roles include the sessions' work.
    pub fn roles(&self) -> Option<Vec<&str>> {
        let roles = self.metrics_of(ROLE);
        let separable = self.metric(BACKENDS).is_some() || !roles.contains(&UNNAMED);
        (separable && !roles.is_empty()).then_some(roles)
    }

    /// CPU time of background work in these roles; 0 if roles are known and none of these used a CPU.
    pub fn roles_us(&self, roles: &[&str]) -> Option<f64> {
        self.roles()?;
        let us = |role: &&str| self.metric(&format!("{ROLE}{role}_us")).unwrap_or(0.0);
        Some(roles.iter().map(us).fold(0.0, |sum, us| sum + us))
    }
}

/// The valid windows of a run, found once however often they are asked for.
#[derive(Debug)]
pub struct Windows<'a> {
    pub run: &'a Run,
    /// Read when first asked for.
    turns: OnceCell<Turns>,
    /// By arm's name and step, in the order they were measured.
    by_arm: HashMap<&'a str, HashMap<&'a str, Vec<&'a Recorded<Window>>>>,
}

impl<'a> Windows<'a> {
    pub fn new(run: &'a Run) -> Self {
        let done: BTreeSet<u32> = { run.blocks.iter() }
            .filter(|block| block.status == BlockStatus::Done)
            .map(|block| block.number)
            .collect();
        let counts = |window: &&Recorded<Window>| {
            let in_block = match window.placement {
                Some(at) => done.contains(&at.block),
                None => run.blocks.is_empty(),
            };
            in_block && window.valid() && window.result.ended_by != EndedBy::Error
        };
        let mut by_arm: HashMap<&str, HashMap<&str, Vec<&Recorded<Window>>>> = HashMap::new();
        for window in run.windows.iter().filter(counts) {
            let of_arm = by_arm.entry(&window.action.arm).or_default();
            of_arm.entry(&window.action.step).or_default().push(window);
        }
        Self { run, turns: OnceCell::new(), by_arm }
    }

    /// What turns tell of the windows that have them.
    pub(crate) fn turns(&self) -> Result<&Turns> {
        if let Some(known) = self.turns.get() {
            return Ok(known);
        }
        let turns = Turns::of(self.run)?;
        Ok(self.turns.get_or_init(|| turns))
    }

    /// Those of a step on one arm, in the order they were measured.
    pub(crate) fn of(&self, test: &str, arm: usize) -> &[&'a Recorded<Window>] {
        let of_arm = self.by_arm.get(&*self.run.arms[arm].name);
        of_arm.and_then(|steps| steps.get(test)).map_or(&[], Vec::as_slice)
    }
}

/// Reads figures and caches the totals that several arms of a test share.
pub(crate) struct Reader<'a> {
    windows: &'a Windows<'a>,
    names: Rc<Names>,
    /// Totals by arm and block of the test that was read last.
    totals: BTreeMap<usize, BTreeMap<u32, Rc<Totals>>>,
    test: String,
}

impl<'a> Reader<'a> {
    pub fn new(windows: &'a Windows<'a>) -> Result<Self> {
        let ids = windows.run.counter_names()?.into_iter();
        let names = ids.map(|(id, CounterName { view, object, column })| ((view, object, column), id));
        let (names, totals) = (Rc::new(names.collect()), BTreeMap::new());
        Ok(Self { windows, names, totals, test: String::new() })
    }

    /// Measurements of `test` on both arms, and on the control if it repeats `base`: of the blocks that verdicts
    /// rest on.
    pub fn figures(
        &mut self,
        judged: Option<&RunVerdicts>,
        test: &str,
        [base, arm]: [usize; 2],
        control: Option<usize>,
    ) -> Result<Figures> {
        let windows = self.windows.of(test, arm);
        let mut blocks: BTreeMap<u32, [Option<Rc<Totals>>; 3]> = BTreeMap::new();
        for (place, arm) in [Some(base), Some(arm), control].into_iter().enumerate() {
            let Some(arm) = arm else { continue };
            for (block, totals) in self.totals(test, arm)? {
                blocks.entry(*block).or_default()[place] = Some(Rc::clone(totals));
            }
        }
        let apart = passes_apart(self.windows, test, base, arm);
        let is_beside = |(block, [base, arm, _]): (&u32, &[Option<_>; 3])| {
            base.is_some() && arm.is_some() && !apart.contains(block)
        };
        let leaves_apart_out = blocks.iter().any(is_beside);
        blocks.retain(|block, _| !(leaves_apart_out && apart.contains(block)));
        let judged = judged.map(|judged| Judged::of(judged, test, arm));
        if let Some(judged) = &judged {
            blocks.retain(|block, _| judged.is_counted(*block));
        }
        let mut figures = Figures {
            scales: [Scale::NONE; 2],
            unit: windows.first().map(|window| window.result.unit.clone()),
            clients: windows.first().map_or(1, |window| window.result.clients),
            replicated: !self.windows.run.blocks.is_empty(),
            names: Rc::clone(&self.names),
            blocks: blocks.into_values().collect(),
            apart,
            leaves_apart_out,
        };
        if let Some(judged) = judged {
            figures.scales = judged.scales(&figures, windows);
        }
        Ok(figures)
    }

    fn totals(&mut self, test: &str, arm: usize) -> Result<&BTreeMap<u32, Rc<Totals>>> {
        if self.test != test {
            self.totals.clear();
            test.clone_into(&mut self.test);
        }
        Ok(match self.totals.entry(arm) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let totals = totals_of(self.windows, test, arm)?;
                place.insert(totals.into_iter().map(|(block, totals)| (block, Rc::new(totals))).collect())
            }
        })
    }
}

impl Figures {
    /// What an operation is called after a slash: `query`, `1000 rows`, `row`.
    pub fn operation(&self) -> &str {
        self.unit.as_ref().map_or("operation", |unit| &unit.per)
    }

    /// Number of blocks that both arms have; 1 in a single pass.
    pub fn blocks(&self) -> usize {
        self.blocks.iter().filter(|[base, arm, _]| base.is_some() && arm.is_some()).count()
    }

    /// Evaluates `value` on every block; `None` if no block has it for both arms.
    pub fn quantity(&self, value: impl Fn(Cell<'_>) -> Option<f64>) -> Option<Quantity> {
        let value = |at: usize, totals: &Option<Rc<Totals>>| {
            value(self.cell(at, totals)?).filter(|value| value.is_finite())
        };
        let triples = self.blocks.iter().map(|block| [0, 1, 2].map(|at| value(at, &block[at])));
        quantity(&triples.collect::<Vec<_>>(), self.replicated)
    }

    /// Whether an arm has more in every block than the other in any, by a factor. Base and its control are alike, so
    /// the control's blocks count as base's. Fewer than five blocks may be so by chance, unless one arm has none at all
    /// and the other within `factor` of as much in each.
    pub fn is_separate(&self, factor: f64, value: impl Fn(Cell<'_>) -> Option<f64>) -> bool {
        let value = |(at, totals): (usize, &Option<Rc<Totals>>)| {
            value(self.cell(at, totals)?).filter(|value| value.is_finite())
        };
        let all = |places: &[usize]| -> Vec<f64> {
            let places = places.iter().flat_map(|at| self.blocks.iter().map(move |block| (*at, &block[*at])));
            places.filter_map(value).collect()
        };
        let (base, arm) = (all(&[0, 2]), all(&[1]));
        let blocks = base.len().min(arm.len());
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let is_clear = |less: &[f64], more: &[f64]| {
            less.iter().all(|value| *value == 0.0) && more.iter().all(|value| factor * *value >= most(more))
        };
        let is_below = |less: &[f64], more: &[f64]| {
            more.iter().all(|value| *value > factor * most(less))
                && (blocks >= SEPARATE_BLOCKS_MIN || blocks >= NONE_BLOCKS_MIN && is_clear(less, more))
        };
        is_below(&base, &arm) || is_below(&arm, &base)
    }

    /// A metric per operation.
    pub fn per_op(&self, metric: &str) -> Option<Quantity> {
        self.quantity(|cell| cell.per_op(metric))
    }

    /// The arm's rate over base's.
    pub fn ratio(&self) -> Option<f64> {
        let time = self.per_op(CLIENT_TIME).or_else(|| self.per_op(ELAPSED))?;
        Some(time.base / time.arm)
    }

    /// Evaluates a change that needs both arms of a block at once, such as the split of a product: one value
    /// per block, and the same for the control against base.
    pub fn pairs<T>(&self, change: impl Fn(Cell<'_>, Cell<'_>) -> Option<T>) -> (Vec<T>, Vec<T>) {
        let pairs = |at: usize| {
            let pair = |block: &[Option<Rc<Totals>>; 3]| {
                change(self.cell(0, &block[0])?, self.cell(at, &block[at])?)
            };
            self.blocks.iter().filter_map(pair).collect()
        };
        (pairs(1), pairs(2))
    }

    /// Of base, the arm or the control. None if nothing was measured or no operation was done.
    fn cell<'a>(&'a self, at: usize, totals: &'a Option<Rc<Totals>>) -> Option<Cell<'a>> {
        let totals = totals.as_ref().filter(|totals| totals.operations > 0.0)?;
        Some(Cell { figures: self, totals, scale: self.scales[usize::from(at == 1)] })
    }

    /// Names of the metrics of any arm that begin with `prefix`.
    pub fn metrics_of(&self, prefix: &str) -> BTreeSet<String> {
        let totals = self.blocks.iter().flatten().flatten();
        totals
            .flat_map(|totals| totals.metrics.keys())
            .filter(|name| name.starts_with(prefix))
            .cloned()
            .collect()
    }

    /// Sums a value over all blocks of the arm (`true`) or of base.
    pub fn total(&self, of_arm: bool, value: impl Fn(Cell<'_>) -> Option<f64>) -> Option<f64> {
        let at = usize::from(of_arm);
        let cells = self.blocks.iter().filter_map(|block| self.cell(at, &block[at]));
        let values: Vec<f64> = cells.filter_map(value).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }
}

#[cfg(test)]
impl Totals {
    pub fn made(operations: f64, metrics: BTreeMap<String, f64>) -> Self {
        Self { operations, metrics, counters: HashMap::new() }
    }
}

#[cfg(test)]
impl Figures {
    /// Figures with one client, from blocks of base, arm and control.
    pub fn made(blocks: Vec<[Option<Totals>; 3]>) -> Self {
        let blocks = blocks.into_iter().map(|block| block.map(|totals| totals.map(Rc::new))).collect();
        Self {
            unit: None,
            clients: 1,
            replicated: true,
            names: Rc::default(),
            blocks,
            scales: [Scale::NONE; 2],
            apart: BTreeSet::new(),
            leaves_apart_out: false,
        }
    }
}

/// Number of sessions whose time is that of operations; 0 of imported results that do not tell.
pub(crate) fn sessions_of(window: &Recorded<Window>) -> u32 {
    Foreground::from_window(window).map_or(window.result.clients, |foreground| foreground.connections)
}

/// Passes in which a resume measured the test on one of two arms after the other.
fn passes_apart(windows: &Windows<'_>, test: &str, base: usize, arm: usize) -> BTreeSet<u32> {
    let apart = Apart::of(windows.run, base);
    let windows = windows.of(test, arm).iter().filter(|window| apart.contains(window));
    windows.filter_map(|window| Some(window.placement?.block)).collect()
}

/// Totals by block; in runs without blocks, all are block 0.
fn totals_of(windows: &Windows<'_>, test: &str, arm: usize) -> Result<BTreeMap<u32, Totals>> {
    let (run, turns) = (windows.run, windows.turns()?);
    let mut blocks: BTreeMap<u32, Totals> = BTreeMap::new();
    for window in windows.of(test, arm) {
        let operations = window.result.operations;
        let parts = turns.parts(window);
        let totals = blocks.entry(window.placement.map_or(0, |at| at.block)).or_default();
        totals.operations += operations;
        let elapsed_us = window.result.elapsed_us as f64;
        let foreground = Foreground::from_window(window);
        let sessions = sessions_of(window);
        let time_us = parts.map_or(elapsed_us, |parts| operations * 1e6 / parts.rate);
        let of_sessions = || window.connections.iter().map(|one| one.cpu_us).sum::<f64>();
        let backends = match (&foreground, parts) {
            (Some(foreground), _) => Some(foreground.server_us),
            (None, Some(parts)) => Some(operations * parts.sessions_us),
            (None, None) => (!window.connections.is_empty()).then(of_sessions),
        };
        let client_works = run.arms[arm].terms().client_works;
        let cache = run.arms[arm].settings.iter().find(|setting| setting.name == CACHE);
        let own_client_us = match (client_works, &foreground) {
            (true, Some(foreground)) => foreground.client_us,
            (true, None) => parts.map(|parts| operations * parts.client_us),
            (false, _) => Some(0.0),
        };
        let off_cpu_us = || {
            let server_us = foreground.as_ref().map_or_else(of_sessions, |foreground| foreground.server_us);
            let client_us = match (client_works, &foreground) {
                (true, Some(foreground)) => foreground.client_us?,
                (true, None) => window.metric(CLIENT_CPU_US)?,
                (false, _) => 0.0,
            };
            Some(elapsed_us * f64::from(sessions) - server_us - client_us)
        };
        let made = [
            (ELAPSED, Some(elapsed_us)),
            (OFF_CPU, parts.and_then(|_| off_cpu_us())),
            // Imported results may not tell their clients.
            (CLIENT_TIME, (sessions > 0).then(|| time_us * f64::from(sessions))),
            (RETRIES, Some(window.result.retries.values().sum::<u64>() as f64)),
            (BACKENDS, backends),
            (CLIENT_CPU_US, own_client_us),
            (QUEUED, foreground.as_ref().and_then(|foreground| foreground.queued_us)),
            (CACHES, cache.and_then(|cache| cache.value.parse().ok())),
        ];
        let made = made.into_iter().filter_map(|(name, value)| Some((name, value?)));
        // Cycles are counted with the guards, as the sessions' total is: without them both are less by one factor.
        let without_guards = parts.map_or(1.0, |parts| operations * parts.sessions_us / of_sessions());
        let stored = window.metrics.iter().map(|(name, value)| match name.as_str() {
            CYCLES => (CYCLES, without_guards * value),
            name => (name, *value),
        });
        // Other clients insert and delete beside the queries: their CPU time is not part of a query's time.
        let stored = stored.filter(|(name, _)| own_client_us.is_none() || *name != CLIENT_CPU_US);
        let stored = stored.filter(|(name, _)| client_works || !OF_WAITING.contains(name));
        // Nor is how long they queued for a CPU.
        let stored = stored.filter(|(name, _)| foreground.is_none() || !OF_QUEUES.contains(name));
        let of_roles = foreground
            .iter()
            .flat_map(|foreground| &foreground.totals)
            .map(|(name, us)| (name.as_str(), *us));
        for (name, value) in stored.chain(made).chain(of_roles) {
            *totals.metrics.entry(name.to_owned()).or_default() += value;
        }
        for (id, change) in run.counter_changes(window.action.seq)? {
            *totals.counters.entry(id).or_default() += change;
        }
    }
    for (block, unevenness) in unevenness(windows.of(test, arm)) {
        if let Some(totals) = blocks.get_mut(&block) {
            totals.metrics.insert(CONNECTIONS.to_owned(), unevenness);
        }
    }
    let name = &run.arms[arm].name;
    for count in run.counts.iter().filter(|count| count.valid() && count.action.step == test) {
        let block = count.placement.map_or(0, |at| at.block);
        if let (true, Some(per_op), Some(totals)) =
            (&count.action.arm == name, count.result.instructions_per_op(), blocks.get_mut(&block))
        {
            totals.metrics.insert(COUNTED.to_owned(), per_op * totals.operations);
        }
    }
    Ok(blocks)
}

/// CPU time of the busiest backend over that of the median one, by block.
fn unevenness(windows: &[&Recorded<Window>]) -> BTreeMap<u32, f64> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    // Connections with roles do different work, so they are not comparable.
    let is_even = |window: &&Recorded<Window>| {
        window.connections.len() > 1 && window.connections.iter().all(|one| one.role.is_empty())
    };
    for window in windows.iter().copied().filter(is_even) {
        let sums = blocks.entry(window.placement.map_or(0, |at| at.block)).or_default();
        sums.resize(sums.len().max(window.connections.len()), 0.0);
        sums.iter_mut().zip(&window.connections).for_each(|(sum, one)| *sum += one.cpu_us);
    }
    let ratio = |(block, mut sums): (u32, Vec<f64>)| {
        sums.sort_unstable_by(f64::total_cmp);
        let (most, median) = (sums[sums.len() - 1], sums[sums.len() / 2]);
        (median > 0.0).then(|| (block, most / median))
    };
    blocks.into_iter().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_vary_are_separate_if_no_block_has_as_few() {
        let made = |blocks: &[(f64, f64)]| {
            let totals =
                |us: f64| Some(Totals::made(1.0, BTreeMap::from([("engine_stall_us".to_owned(), us)])));
            Figures::made(blocks.iter().map(|(base, arm)| [totals(*base), totals(*arm), None]).collect())
        };
        let stalled = |cell: Cell<'_>| cell.metric("engine_stall_us");
        let long = [9.9, 69.0, 12.0, 60.0, 11.0];
        let figures = made(&long.map(|us| (0.0, us)));
        assert!(!figures.quantity(stalled).unwrap().exceeds_noise());
        assert!(figures.is_separate(2.0, stalled));
        assert!(made(&long.map(|us| (us, 0.0))).is_separate(2.0, stalled));
        assert!(!made(&long.map(|us| (5.0, us))).is_separate(2.0, stalled));
        assert!(!made(&long[..4].iter().map(|us| (0.0, *us)).collect::<Vec<_>>()).is_separate(2.0, stalled));
        assert!(!made(&[(0.0, 0.0); 5]).is_separate(2.0, stalled));
        let alike = [(0.0, 45.0), (0.0, 77.0), (0.0, 76.0)];
        assert!(made(&alike).is_separate(2.0, stalled), "none at all against about as much each time");
        assert!(!made(&alike[1..]).is_separate(2.0, stalled));
        assert!(!made(&[(0.0, 30.0), (0.0, 77.0), (0.0, 76.0)]).is_separate(2.0, stalled));
    }
}
