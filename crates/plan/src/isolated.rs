//! Blocks of the protocol `isolated`: when and where arms start, and the order of windows.
//!
//! A block is a pure function of plan, number, its tests and their windows, so an interrupted block is drawn again
//! identically.
//! Everything that could favour an arm by its place is drawn at random: the order of starts, the side
//! (directory and socket), the order of tests, and the order of arms within a test, which is then mirrored: `ABC
//! CBA`, and with four windows `ABC CBA CBA ABC`. So a drift that is linear in time cancels within each test.

use rqps_model::random::Stream;

use crate::estimate::load_seconds;
use crate::model::{Arm, Isolated};
use crate::plan::Plan;
use crate::step::StepDef;
use rqps_model::{BuildSource, BuildSpec, Dbms, LOADS, load_of};

/// Separates the draws of blocks from those of keys.
const BLOCK_WORD: u64 = 0x0062_6c6f_636b;
/// Separates the draws of copies from those of blocks.
const COPY_WORD: u64 = 0x0063_6f70_7965;

#[derive(Debug, Clone)]
pub struct BlockPlan {
    /// From 1.
    pub number: u32,
    pub seed: u64,
    /// Indices of [`Plan::arms`] in the order in which their servers start.
    pub starts: Vec<usize>,
    /// The side of each arm, by index of [`Plan::arms`]; from 0.
    pub sides: Vec<usize>,
    /// Which of their loads the arms start from, from 1 to [`LOADS`].
    pub load: u32,
    /// The copy of its build that each arm runs, by index of [`Plan::arms`], from 1 to [`crate::Isolated::copies`].
    pub copies: Vec<u32>,
    /// Which of the host's CPUs serves single clients: an index modulo their number.
    pub cpu_turn: u32,
    /// The tests, reading tests first.
    pub tests: Vec<Turns>,
}

/// The windows of one test in a block, in order.
#[derive(Debug, Clone)]
pub struct Turns {
    pub test: StepDef,
    pub slots: Vec<Slot>,
}

impl Turns {
    /// Windows of each arm.
    pub fn windows(&self) -> u32 {
        self.slots.iter().map(|slot| slot.window).max().unwrap_or(0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Index in [`Plan::arms`].
    pub arm: usize,
    /// The index, from 1, of the arm's window of this test: windows of the same number repeat the same operations.
    pub window: u32,
}

/// Draws a block with this many windows of each reading test. Writing tests have those of the plan, so that they leave
/// the same data behind in every block.
pub fn block(plan: &Plan, number: u32, tests: &[String], windows_of_reads: u32) -> BlockPlan {
    let mut stream = Stream::new(&[plan.seed, BLOCK_WORD, u64::from(number)]);
    let seed = stream.bits();
    let arms = plan.arms.len();
    let starts = stream.permutation(arms);
    let sides = stream.permutation(arms);
    let known = tests.iter().filter_map(|name| plan.step(name));
    let (writes, reads): (Vec<_>, Vec<_>) = known.partition(|test| test.writes);
    let mut turns = Vec::new();
    for group in [reads, writes] {
        for at in stream.permutation(group.len()) {
            let (test, order) = (group[at].clone(), stream.permutation(arms));
            let windows = if test.writes { plan.blocks().windows } else { windows_of_reads };
            turns.push(Turns { test, slots: mirrored(&order, windows) });
        }
    }
    // CPUs rotate, so that no run depends on one being drawn often.
    BlockPlan {
        number,
        seed,
        starts,
        sides,
        load: load_of(number),
        copies: copies_of(plan, number),
        cpu_turn: number - 1,
        tests: turns,
    }
}

/// Each arm runs each of its copies once in as many blocks, in an order of its own: arms of one build, such as base and
/// its control, are seldom both on the same copy.
fn copies_of(plan: &Plan, number: u32) -> Vec<u32> {
    let copies = plan.blocks().copies;
    let (cycle, at) = ((number - 1) / copies, (number - 1) % copies);
    let mut stream = Stream::new(&[plan.seed, COPY_WORD, u64::from(cycle)]);
    plan.arms.iter().map(|_| stream.permutation(copies as usize)[at as usize] as u32 + 1).collect()
}

/// Alternates `order` and its mirror image so that consecutive pairs are mirrored, too: `ABBA BAAB`.
fn mirrored(order: &[usize], windows: u32) -> Vec<Slot> {
    let mut slots = Vec::new();
    for window in 1..=windows {
        // 1 forward, 2 and 3 backward, 4 and 5 forward, …
        let backward = window % 4 == 2 || window % 4 == 3;
        let arms: Vec<usize> = if backward { order.iter().rev().copied().collect() } else { order.to_vec() };
        slots.extend(arms.into_iter().map(|arm| Slot { arm, window }));
    }
    slots
}

/// Blocks that should fit into the budget if the plan does not set the length of windows. Equal servers differ by their
/// start more than the windows of one start do, so many short blocks tell more than few long ones.
const BLOCKS_WANTED: f64 = 8.0;
/// Share of the budget for blocks; load and pilot take the rest.
const BLOCKS_SHARE: f64 = 0.85;
/// Longest and shortest window of such a plan, seconds.
const WINDOW_MAX_SECONDS: f64 = 2.5;
const WINDOW_MIN_SECONDS: f64 = 0.2;
const WINDOW_OVERHEAD_SECONDS: f64 = 0.15;

/// Seconds of a block outside windows, measured on 2 virtual CPUs with tables of 20,000 to 200,000 rows: a restart of
/// an arm, and counting the instructions of a test on an arm. A writing test has a third session.
struct Overhead {
    restart: f64,
    count: f64,
    count_writes: f64,
}

impl Overhead {
    fn for_dbms(dbms: Dbms) -> Self {
        match dbms {
            Dbms::Postgres => Self { restart: 0.8, count: 0.9, count_writes: 1.5 },
            // These copy a redo log, start slowly, and run events that split index pages before counting.
            Dbms::Mysql | Dbms::Mariadb => Self { restart: 5.0, count: 2.0, count_writes: 6.0 },
            // Its instructions are not counted under an instrument.
            Dbms::Rocksdb => Self { restart: 0.5, count: 0.0, count_writes: 0.0 },
            // It starts nothing and fills its file.
            Dbms::Directory => Self { restart: 1.0, count: 0.0, count_writes: 0.0 },
        }
    }
}

/// Warm-up on top of a window, as a share of it.
const WARMUP_SHARE: f64 = 0.2;

/// The window length with which eight blocks of all tests fit into the budget; the longest without a budget.
pub(crate) fn fitting_window_seconds(plan: &Plan) -> f64 {
    let Some(budget) = plan.budget else {
        return WINDOW_MAX_SECONDS;
    };
    let (windows, overhead) = windows_and_overhead(plan, plan.workload.steps.len());
    let seconds = budget.as_secs_f64() * BLOCKS_SHARE / BLOCKS_WANTED - overhead;
    let window = seconds / (windows * (1.0 + WARMUP_SHARE)).max(1.0);
    // More decimals would suggest a precision that the estimate lacks.
    ((window * 100.0).floor() / 100.0).clamp(WINDOW_MIN_SECONDS, WINDOW_MAX_SECONDS)
}

/// Estimated seconds of the loads before the first block; builds themselves may tell of more arms that share one.
pub fn loads_seconds(plan: &Plan) -> f64 {
    let has_own =
        |(at, arm): &(usize, &Arm)| !plan.arms[..*at].iter().any(|earlier| share_load(earlier, arm));
    let loading = plan.arms.iter().enumerate().filter(has_own).count();
    loading as f64 * f64::from(LOADS) * load_seconds(plan)
}

/// Whether both start from one load, as far as the plan tells: releases of one major version of PostgreSQL.
fn share_load(one: &Arm, other: &Arm) -> bool {
    let major = |arm: &Arm| match &arm.build {
        BuildSpec { dbms: Dbms::Postgres, source: BuildSource::Version(version) } => {
            let number = Dbms::Postgres.version_num(version);
            Some(if number >= 100_000 { number / 10_000 } else { number / 100 })
        }
        _ => None,
    };
    let is_own = |arm: &Arm| arm.control || arm.own_load;
    major(one).is_some_and(|version| major(other) == Some(version))
        && (&one.config, &one.after_load) == (&other.config, &other.after_load)
        && !is_own(one)
        && !is_own(other)
}

/// Estimated seconds of a block of `tests` tests, before one has been measured.
pub fn block_seconds(plan: &Plan, tests: usize) -> f64 {
    windows_and_overhead(plan, tests).1 + windows_seconds(plan, tests)
}

/// The share of counting instructions in the time of a block, if they are counted under an instrument.
pub fn counting_share(plan: &Plan, tests: usize) -> f64 {
    let with = |count_instructions| {
        let isolated = Some(Isolated { count_instructions, ..plan.blocks() });
        block_seconds(&Plan { isolated, ..plan.clone() }, tests)
    };
    1.0 - with(false) / with(true)
}

/// Those in windows, whose length is given: they take as long on a busy host.
pub fn windows_seconds(plan: &Plan, tests: usize) -> f64 {
    windows_and_overhead(plan, tests).0 * plan.blocks().window_seconds * (1.0 + WARMUP_SHARE)
}

/// Seconds of what takes `quiet_s` on a quiet host, `windows_s` of them in windows, on a host on which work takes
/// `longer` times as long.
pub fn seconds_beside_others(quiet_s: f64, windows_s: f64, longer: f64) -> f64 {
    windows_s + (quiet_s - windows_s).max(0.0) * longer
}

/// Estimated seconds of the loads and this many blocks of all tests.
pub fn seconds_through(plan: &Plan, blocks: usize) -> f64 {
    loads_seconds(plan) + blocks as f64 * block_seconds(plan, plan.workload.steps.len())
}

/// The number of windows in a block, and its seconds outside windows.
fn windows_and_overhead(plan: &Plan, tests: usize) -> (f64, f64) {
    let isolated = plan.blocks();
    let tests = tests as f64;
    let names = plan.workload.steps.iter();
    let writes = names.filter_map(|name| plan.step(name)).filter(|test| test.writes);
    let writes = (writes.count() as f64).min(tests);
    let windows = plan.arms.len() as f64 * tests * f64::from(isolated.windows);
    let arm_overhead = |arm: &Arm| {
        let overhead = Overhead::for_dbms(arm.build.dbms);
        let counting = (tests - writes) * overhead.count + writes * overhead.count_writes;
        (1.0 + writes) * overhead.restart + if isolated.count_instructions { counting } else { 0.0 }
    };
    (windows, windows * WINDOW_OVERHEAD_SECONDS + plan.arms.iter().map(arm_overhead).sum::<f64>())
}
