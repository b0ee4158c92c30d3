//! Run folders with known truth: made-up blocks, written through the store like real ones.

mod latencies;

pub use latencies::latencies;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rqps_model::{ConnectionCpu, EndedBy, HostFigure, Metrics, QueryPlan, ServerSetting};
use rqps_store::testing::{self as made, BEGUN_AT_MS};
use rqps_store::{
    ActionRecord, Arm, Block, BlockArm, BlockStatus, Canary, Count, Error, Fact, Measured, Meta, Moment,
    Observation, PROFILE_KIND, Placement, PlannedStep, Profile, Result, Role, RunFolder, RunWriter, Status,
    Window,
};

/// A test: name, group, queries per second, instructions per query, WAL bytes per query.
pub type Test = (&'static str, &'static str, f64, f64, f64);

/// Tests of a made-up run.
pub const TESTS: [Test; 6] = [
    ("point-query", "point", 40_000.0, 50_000.0, 0.0),
    ("hot-points", "point", 2_000.0, 900_000.0, 0.0),
    ("range-covered-pk", "range", 5_000.0, 400_000.0, 0.0),
    ("read-only_range=10", "range-aggregate", 9_000.0, 200_000.0, 0.0),
    ("update-index", "write", 4_000.0, 300_000.0, 540.0),
    ("insert", "write", 6_000.0, 250_000.0, 310.0),
];

/// Length of a block and of a window.
const BLOCK_MS: i64 = 130_000;
const WINDOW_MS: i64 = 2_000;
const EVENTS: u64 = 10_000;

/// Specifies a made-up run. Start from [`Spec::default`] and change what the test is about.
#[derive(Debug, Clone)]
pub struct Spec {
    pub name: &'static str,
    /// `isolated` or `sequence`.
    pub protocol: &'static str,
    /// Arms: name and version. The first is base; one called `control` is the control.
    pub arms: Vec<(&'static str, &'static str)>,
    pub dbms: &'static str,
    /// True effects: arm, test, factor of its rate, factor of its instructions.
    pub effects: Vec<(usize, &'static str, f64, f64)>,
    /// Rows of the table.
    pub rows: u64,
    pub tests: Vec<Test>,
    /// Standard deviation of the logarithm of a window's rate; instructions have a hundredth of it.
    pub block_sd: f64,
    /// Number of blocks.
    pub blocks: u32,
    /// How many of the first blocks are void.
    pub void: u32,
    /// Tests that only the first blocks have: name and number of blocks.
    pub cut_tests: BTreeMap<&'static str, u32>,
    /// Arms that only the first blocks have: place and number of blocks.
    pub cut_arms: BTreeMap<usize, u32>,
    /// Factor of the rate from each window of a block to the next.
    pub settling: f64,
    /// Whether instructions are counted by a program instead of the processor.
    pub counted: bool,
    /// Additional figures in every window of a test on an arm.
    pub extra: Vec<Extra>,
    /// Query plans and fingerprints of the first window of a test on an arm in each block.
    pub details: Vec<Detail>,
    /// Settings from arms' configs: arm, name, value.
    pub settings: Vec<(usize, &'static str, &'static str)>,
    /// Default settings of arms: arm, name, value.
    pub defaults: Vec<(usize, &'static str, &'static str)>,
    /// `after_load` statements: arm, SQL.
    pub after_load: Vec<(usize, &'static str)>,
    /// Environment of an arm's server: arm, name, value.
    pub env: Vec<(usize, &'static str, &'static str)>,
    /// Arms that stall once in each window of a test, at an unchanged rate: arm, test, microseconds. Windows
    /// of such a test have latencies on all arms.
    pub stalls: Vec<(usize, &'static str, u64)>,
    /// CPU profiles: arm, test, folded stacks.
    pub profiles: Vec<(usize, &'static str, &'static str)>,
    /// What the host could do before the run.
    pub certificate: Vec<HostFigure>,
    pub seed: u64,
}

/// Details of the first window of a test on an arm.
#[derive(Debug, Clone)]
pub struct Detail {
    /// Index in [`Spec::arms`].
    pub arm: usize,
    pub test: &'static str,
    pub plans: Vec<QueryPlan>,
    /// State of the server before the window: name and value.
    pub fingerprint: Vec<(&'static str, u64)>,
}

/// An additional figure in the windows of a test on an arm.
#[derive(Debug, Clone, Copy)]
pub struct Extra {
    /// Index in [`Spec::arms`].
    pub arm: usize,
    pub test: &'static str,
    pub what: Observed,
    /// Amount per query. Times vary from window to window as rates do, all else is exact.
    pub per_query: f64,
}

/// Kinds of additional figures.
#[derive(Debug, Clone, Copy)]
pub enum Observed {
    /// A metric by its name.
    Metric(&'static str),
    /// A metric that varies ten times as much as rates do.
    Noisy(&'static str),
    /// A server counter: view, object, column.
    Counter(&'static str, &'static str, &'static str),
    /// CPU time of the session, microseconds.
    SessionCpuUs,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            name: "made-up",
            protocol: "isolated",
            arms: vec![("old", "17.7"), ("control", "17.7"), ("new", "18.1")],
            dbms: "postgres",
            effects: vec![],
            rows: 100_000,
            tests: TESTS.to_vec(),
            block_sd: 0.004,
            blocks: 5,
            void: 0,
            cut_tests: BTreeMap::new(),
            cut_arms: BTreeMap::new(),
            settling: 1.0,
            counted: true,
            extra: vec![],
            details: vec![],
            settings: vec![],
            defaults: vec![],
            after_load: vec![],
            env: vec![],
            stalls: vec![],
            profiles: vec![],
            certificate: vec![],
            seed: 1,
        }
    }
}

impl Spec {
    /// One test that is slower and more expensive, one that is more expensive, one that is better, and one
    /// that is inconclusive because it was measured in too few blocks.
    pub fn mixed() -> Self {
        Self {
            effects: vec![
                (2, "hot-points", 0.95, 1.03),
                (2, "update-index", 1.0, 1.012),
                (2, "insert", 1.06, 0.97),
                (2, "range-covered-pk", 0.985, 1.0),
            ],
            cut_tests: [("range-covered-pk", 3)].into(),
            ..Self::default()
        }
    }
}

/// Writes a run of which a change of a rate may be chance among so many verdicts, and no other is a change.
///
/// # Errors
/// If it cannot be written.
pub fn write_run_of_chance(results: &Path) -> Result<PathBuf> {
    let arms =
        vec![("old", "17.0"), ("a", "17.1"), ("b", "17.2"), ("c", "17.3"), ("d", "17.4"), ("new", "17.5")];
    let effects = vec![(5, "hot-points", 0.988, 1.0)];
    let folder = write_run(results, &Spec { arms, effects, blocks: 3, ..Spec::default() })?;
    let path = folder.join("plan.toml");
    // The only look has the whole error; with the usual 2 % a change of this size would be none.
    let of_chance = "\n[isolated]\nblocks_max = 3\n[verdict.mei_percent]\nrate = 0.5\n";
    let written = std::fs::read_to_string(&path).and_then(|text| std::fs::write(&path, text + of_chance));
    written.map_err(|source| Error::Io { what: "write", path, source })?;
    Ok(folder)
}

/// Writes a run into `results` and returns its folder.
///
/// # Errors
/// If it cannot be written.
pub fn write_run(results: &Path, spec: &Spec) -> Result<PathBuf> {
    let folder = RunFolder::create(results, spec.name)?;
    let mut writer = RunFolder::open_for_writing(folder.path())?;
    let arms: Vec<Arm> = spec.arms.iter().map(|(name, version)| arm(spec, name, version)).collect();
    let host = [Fact { key: "kernel".into(), value: "6.1.0".into(), comparable: true }];
    writer.begin_run(&plan(spec), &meta(spec), &steps(spec), &arms, &host)?;
    writer.put_certificate(Moment::Before, &spec.certificate)?;
    let mut seq = 0;
    for number in 1..=spec.blocks {
        write_block(&mut writer, spec, number, &mut seq)?;
    }
    for (arm, test, folded) in &spec.profiles {
        let observation = profile(folder.path(), *arm, test, folded)?;
        finish(&mut writer, spec, *arm, test, BEGUN_AT_MS, &mut seq, &observation)?;
    }
    writer.set_status(Status::Complete, None)?;
    Ok(folder.path().to_owned())
}

fn write_block(writer: &mut RunWriter, spec: &Spec, number: u32, seq: &mut u32) -> Result<()> {
    let started_at_ms = BEGUN_AT_MS + i64::from(number - 1) * (BLOCK_MS + 1000);
    let measured = |test: &str| spec.cut_tests.get(test).is_none_or(|last| number <= *last);
    let tests: Vec<_> = spec.tests.iter().filter(|(test, ..)| measured(test)).collect();
    let arms = spec.arms.iter().enumerate().map(|(index, (name, _))| BlockArm {
        arm: (*name).to_owned(),
        start_position: (index as u32 + number) % spec.arms.len() as u32 + 1,
        side: char::from(b'a' + (index as u8 + number as u8) % spec.arms.len() as u8).to_string(),
        cpus: "0".into(),
        data_seq: None,
        copy: 1,
    });
    let is_void = number <= spec.void;
    writer.begin_block(&Block {
        number,
        seed: u64::from(number),
        status: if is_void { BlockStatus::Void } else { BlockStatus::Done },
        note: is_void.then(|| "spin_ns rose by 40 %".to_owned()),
        started_at_ms,
        finished_at_ms: Some(started_at_ms + BLOCK_MS),
        restored_by: "reflink".into(),
        tests: tests.iter().map(|(test, ..)| (*test).to_owned()).collect(),
        arms: arms.collect(),
    })?;
    let factor = if is_void { 1.4 } else { 1.0 + 0.002 * f64::from(number % 3) };
    let canaries = [("spin_ns", 1.25), ("memory_ns", 96.0), ("fsync_us", 410.0)].map(|(name, value)| {
        [Moment::Before, Moment::After].map(|moment| Canary {
            block: number,
            moment,
            name: name.to_owned(),
            value: value * factor,
        })
    });
    writer.put_canaries(&canaries.concat())?;
    for (place, test) in tests.into_iter().enumerate() {
        // Windows and counts of all arms run one after the other.
        let mut at_ms = started_at_ms + (place * 3 * spec.arms.len()) as i64 * WINDOW_MS;
        let mut next_ms = || {
            let begins_at_ms = at_ms;
            at_ms += WINDOW_MS;
            begins_at_ms
        };
        let has_arm = |arm: &usize| spec.cut_arms.get(arm).is_none_or(|last| number <= *last);
        for window in 1..=2 {
            for index in (0..spec.arms.len()).filter(has_arm) {
                let observation = observe(spec, test, index, number, window, *seq);
                finish(writer, spec, index, test.0, next_ms(), seq, &observation)?;
            }
        }
        for index in (0..spec.arms.len()).filter(|arm| spec.counted && has_arm(arm)) {
            let observation = count(spec, test, index, number);
            finish(writer, spec, index, test.0, next_ms(), seq, &observation)?;
        }
    }
    Ok(())
}

fn finish(
    writer: &mut RunWriter,
    spec: &Spec,
    arm: usize,
    step: &str,
    at_ms: i64,
    seq: &mut u32,
    observation: &Observation,
) -> Result<()> {
    let kind = match observation.measured {
        Measured::Count(_) => "count",
        Measured::Profile(_) => PROFILE_KIND,
        _ => "measure",
    };
    let record = ActionRecord {
        started_at_ms: at_ms,
        finished_at_ms: at_ms + WINDOW_MS,
        ..made::record(*seq, spec.arms[arm].0, kind, step)
    };
    *seq += 1;
    writer.finish_action(&record, Some(observation))
}

fn observe(spec: &Spec, test: &Test, arm: usize, block: u32, window: u32, seq: u32) -> Observation {
    let (name, group, rate, instructions, wal_bytes) = *test;
    let (rate_factor, work_factor) = truth(spec, arm, name);
    let rate = rate
        * rate_factor
        * spec.settling.powi(window as i32 - 1)
        * noise(spec, (name, arm, block, window), spec.block_sd).exp();
    let queries = EVENTS as f64;
    let per_op = |per_op: f64| per_op * queries;
    let mut metrics = Metrics::from([
        ("cpus".to_owned(), 8.0),
        ("host_user_us".to_owned(), per_op(30.0 * work_factor)),
        ("host_system_us".to_owned(), per_op(10.0)),
        ("server_cpu_us".to_owned(), per_op(1e6 / rate * 0.7)),
        ("server_wal_bytes".to_owned(), per_op(wal_bytes)),
        ("server_rows_touched".to_owned(), per_op(1.0)),
        ("server_blocks_touched".to_owned(), per_op(4.0)),
    ]);
    if !spec.counted {
        let noise = noise(spec, (name, arm, block, window + 10), spec.block_sd / 100.0).exp();
        let counted = per_op(instructions * work_factor * noise);
        metrics.insert("server_instructions_user".to_owned(), counted);
    }
    let window_us = (queries / rate * 1e6) as u64;
    let result = Window {
        clients: 1,
        seed: Some(spec.seed),
        warmup_us: Some(100_000),
        elapsed_us: window_us,
        ended_by: EndedBy::Work,
        ..made::window(name, group, EVENTS, 0.0)
    };
    let placement = Some(Placement { block, window, slot: seq % 6 + 1 });
    let mut observation = Observation {
        metrics,
        placement,
        fingerprint: vec![("dead_rows".into(), (arm * 1000).to_string())],
        ..Observation::new(Measured::Window(result))
    };
    for extra in spec.extra.iter().filter(|extra| extra.arm == arm && extra.test == name) {
        let noise = noise(spec, (name, arm, block, window), spec.block_sd).exp();
        add(&mut observation, extra, noise);
    }
    let of_test = || spec.stalls.iter().filter(|(_, test, _)| *test == name);
    if of_test().next().is_some() {
        let stall_us = of_test().find(|(stalled, ..)| *stalled == arm).map_or(0, |(.., us)| *us);
        observation.histograms.push(latencies::of_events(EVENTS, window_us, stall_us));
    }
    let is_first = |detail: &&Detail| window == 1 && detail.arm == arm && detail.test == name;
    if let Some(detail) = spec.details.iter().find(is_first) {
        let figure = |(key, value): &(&str, u64)| ((*key).to_owned(), value.to_string());
        observation.fingerprint = detail.fingerprint.iter().map(figure).collect();
        observation.plans = detail.plans.clone();
    }
    observation
}

/// The profile of an arm in a test; writes its stacks into the run folder.
fn profile(folder: &Path, arm: usize, test: &str, folded: &str) -> Result<Observation> {
    let file = format!("profiles/{arm}.{test}.folded");
    let path = folder.join(&file);
    std::fs::write(&path, folded).map_err(|source| Error::Io { what: "write", path, source })?;
    let samples = folded.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
    Ok(Observation::new(Measured::Profile(Profile {
        events: EVENTS,
        operations: EVENTS as f64,
        frequency_hz: 999.0,
        samples,
        ..made::profile(test, "write", &file)
    })))
}

fn add(observation: &mut Observation, extra: &Extra, noise: f64) {
    let total = extra.per_query * EVENTS as f64;
    match extra.what {
        Observed::Metric(name) => {
            let total = if name.ends_with("_us") { total / noise } else { total };
            observation.metrics.insert(name.to_owned(), total);
        }
        Observed::Noisy(name) => {
            observation.metrics.insert(name.to_owned(), total * noise.powi(10));
        }
        Observed::Counter(view, object, column) => {
            observation.counters.push(made::counter(view, object, column, total));
        }
        Observed::SessionCpuUs => observation.connections.push(ConnectionCpu::only(0, total / noise)),
    }
}

fn count(spec: &Spec, test: &Test, arm: usize, block: u32) -> Observation {
    let (name, group, _, instructions, _) = *test;
    let noise = noise(spec, (name, arm, block, 20), spec.block_sd / 100.0).exp();
    let result = Count {
        test: name.into(),
        group: group.into(),
        events: 500,
        operations: 500.0,
        instructions: 500.0 * instructions * truth(spec, arm, name).1 * noise,
        counted_by: "valgrind-3.19.0".into(),
    };
    let placement = Some(Placement { block, window: 0, slot: 1 });
    Observation { placement, ..Observation::new(Measured::Count(result)) }
}

/// True factors of rate and instructions.
fn truth(spec: &Spec, arm: usize, test: &str) -> (f64, f64) {
    let effect = spec.effects.iter().find(|(affected, name, ..)| *affected == arm && *name == test);
    effect.map_or((1.0, 1.0), |(_, _, rate, work)| (*rate, *work))
}

/// Approximately normal noise: the sum of twelve uniform draws has a variance of 1.
fn noise(spec: &Spec, (test, arm, block, salt): (&str, usize, u32, u32), sd: f64) -> f64 {
    let place = test.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut state = spec.seed ^ place ^ ((arm as u64) << 48) ^ (u64::from(block) << 24) ^ u64::from(salt);
    let mut uniform = || {
        // SplitMix64 (Steele, Lea, Flood 2014).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let sum: f64 = (0..12).map(|_| uniform()).sum();
    (sum - 6.0) * sd
}

fn arm(spec: &Spec, name: &str, version: &str) -> Arm {
    let of_arm = |(arm, ..): &&(usize, &str, &str)| spec.arms[*arm].0 == name;
    let set = spec.settings.iter().filter(of_arm);
    let defaults = spec.defaults.iter().filter(of_arm);
    let env = spec.env.iter().filter(of_arm);
    let config: Vec<String> = set.clone().map(|(_, name, value)| format!("{name}={value}")).collect();
    let after_load = spec.after_load.iter().filter(|(arm, _)| spec.arms[*arm].0 == name);
    let base = spec.arms[0].0 == name;
    Arm {
        control: name == "control",
        dbms: spec.dbms.into(),
        config_hash: format!("c0ffee00{}", config.join(";")),
        env: env.map(|(_, name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        after_load: after_load.map(|(_, sql)| (*sql).to_owned()).collect(),
        settings: set
            .map(|(_, name, value)| setting(name, value, false))
            .chain(defaults.map(|(_, name, value)| setting(name, value, true)))
            .collect(),
        ..made::arm(name, if base { Role::Base } else { Role::Candidate }, version)
    }
}

fn setting(name: &str, value: &str, default: bool) -> ServerSetting {
    let source = if default { "default" } else { "configuration file" }.to_owned();
    ServerSetting { name: name.to_owned(), value: value.to_owned(), source, default }
}

fn meta(spec: &Spec) -> Meta {
    let instructions = "counted under valgrind-3.19.0: no hardware counters here";
    Meta {
        protocol: spec.protocol.into(),
        seed: spec.seed,
        rows_per_table: spec.rows,
        clients: 1,
        method: vec![made::setting("instructions", instructions)],
        ..made::meta(spec.name)
    }
}

fn steps(spec: &Spec) -> Vec<PlannedStep> {
    let step = |(index, (name, group, ..)): (usize, &Test)| PlannedStep {
        clients: 1,
        amount: "10000 events".into(),
        ..made::step(index + 1, name, group)
    };
    spec.tests.iter().enumerate().map(step).collect()
}

fn plan(spec: &Spec) -> String {
    let mut text = format!("protocol = \"{}\"\n[workload]\nrows = 100000\n", spec.protocol);
    for (name, version) in spec.arms.iter().filter(|(name, _)| *name != "control") {
        text.push_str(&format!(
            "[[arm]]\nname = \"{name}\"\nbuild = \"postgres-{version}\"\nconfig = \"sized\"\n"
        ));
    }
    text
}
