//! Explanations of runs with known causes, which their plans introduce. A wrong finding is worse than none, so each
//! test also checks for findings that must be absent.
//!
//! A separate program with one run at a time, since other servers would affect the results.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

#[allow(dead_code, reason = "parts of it are only for the tests in runs/")]
#[path = "../runs/bench.rs"]
mod bench;

use std::sync::{Mutex, PoisonError};

use rqps_explain::{Cause, ExplainRequest, Explanation, Finding, Part, PartName, Word, explain};
use rqps_store::Run;

use bench::{Bench, exact_version};

/// Held during a run.
static ALONE: Mutex<()> = Mutex::new(());

/// The explanations of all tests and arms of a run.
struct Why {
    run: Run,
    explanations: Vec<Explanation>,
}

impl Why {
    fn of(bench: &Bench) -> Self {
        Self::explained(bench, true)
    }

    /// Looks for causes whatever the verdicts are: on a busy machine CPU time may contradict large counts, and then
    /// nothing is judged by them.
    fn whatever_the_verdicts(bench: &Bench) -> Self {
        Self::explained(bench, false)
    }

    fn explained(bench: &Bench, by_verdicts: bool) -> Self {
        let run = bench.run();
        let mut tests: Vec<String> = run.windows.iter().map(|window| window.action.step.clone()).collect();
        tests.sort_unstable();
        tests.dedup();
        let judged = (by_verdicts && rqps_verdicts::has_blocks(&run)).then(|| {
            let rules = rqps_verdicts::rules_of(&run).unwrap();
            rqps_verdicts::judge_run(&run, &rules).unwrap()
        });
        let arms = (0..run.arms.len()).filter(|arm| run.arms[*arm].name != "a").collect();
        let explanations =
            explain(&run, judged.as_ref(), &ExplainRequest { tests, arms, base: None }).unwrap();
        Self { run, explanations }
    }

    #[track_caller]
    fn explanation(&self, arm: &str, test: &str) -> &Explanation {
        let of = |explanation: &&Explanation| {
            self.run.arms[explanation.arm].name == arm && explanation.test == test
        };
        self.explanations.iter().find(of).unwrap_or_else(|| panic!("nothing on {test} of {arm}"))
    }

    #[track_caller]
    fn expect(&self, arm: &str, test: &str, word: Word, cause: Cause) -> &Finding {
        let explanation = self.explanation(arm, test);
        let found =
            explanation.findings.iter().find(|finding| (finding.word, finding.cause) == (word, cause));
        found.unwrap_or_else(|| panic!("no {word} by {cause} in {arm} {test}: {:#?}", explanation.findings))
    }

    /// Asserts that all findings are among `allowed`.
    #[track_caller]
    fn expect_only(&self, arm: &str, test: &str, allowed: &[Word]) {
        let explanation = self.explanation(arm, test);
        let wrong: Vec<&Finding> =
            explanation.findings.iter().filter(|finding| !allowed.contains(&finding.word)).collect();
        assert!(wrong.is_empty(), "{arm} {test}: {wrong:#?}");
    }
}

/// Findings that noise can cause.
const NOISE: [Word; 7] = [
    Word::NotExplained,
    Word::OnlyDifference,
    Word::TheHost,
    Word::SlowerWork,
    Word::FasterWork,
    Word::MoreWaiting,
    Word::LessWaiting,
];

/// An arm; all have the same build.
fn arm(bench: &Bench, name: &str, options: &str, keys: &str) -> String {
    let config = format!("{name}.conf");
    std::fs::write(bench.path().join(&config), format!("include './small.conf'\n{options}\n")).unwrap();
    let build = exact_version("18");
    format!("\n[[arm]]\nname = \"{name}\"\nbuild = \"postgres-{build}\"\nconfig = \"./{config}\"\n{keys}\n")
}

fn run(bench: &Bench, top: &str, arms: &[String]) {
    let text = format!("name = \"t\"\nbase = \"a\"\nseed = 7\n{top}{}", arms.concat());
    let plan = bench.plan_text(&text);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    bench.expect_no_process();
}

const BLOCKS: &str =
    "protocol = \"isolated\"\nbudget = \"20m\"\n[workload]\nrows = 2_000\nsettle_seconds_max = 5\n";
const THREE: &str = "[isolated]\nwindows = 2\nwindow_seconds = 0.1\nblocks_min = 3\nblocks_max = 3\n";
/// With three blocks a factor of three can stay inconclusive if blocks vary by 2 %.
const FOUR: &str = "[isolated]\nwindows = 2\nwindow_seconds = 0.1\nblocks_min = 4\nblocks_max = 4\n";

#[test]
fn a_changed_plan_is_named_with_what_made_it() {
    let bench = Bench::new();
    let off = "enable_indexscan = off\nenable_indexonlyscan = off\nenable_bitmapscan = off";
    let arms = [
        arm(&bench, "a", "", ""),
        arm(&bench, "setting", off, ""),
        arm(&bench, "dropped", "", "after_load = [\"DROP INDEX k_1\"]"),
    ];
    let steps = "steps = [\"point-query\", \"range-notcovered-si\"]\n";
    run(&bench, &format!("{BLOCKS}{steps}{THREE}count_instructions = false\ncontrol = false\n"), &arms);
    let why = Why::of(&bench);

    for test in ["point-query", "range-notcovered-si"] {
        let finding = why.expect("setting", test, Word::AnotherPlan, Cause::QueryPlan);
        assert!(finding.sentence.contains("Seq Scan"), "{}", finding.sentence);
        assert!(finding.sentence.contains("enable_"), "the setting that made it: {}", finding.sentence);
        let first = &why.explanation("setting", test).findings[0];
        assert_eq!(first.word, Word::AnotherPlan, "the plan goes before what follows from it");
    }
    let dropped = why.expect("dropped", "range-notcovered-si", Word::AnotherPlan, Cause::QueryPlan);
    assert!(
        dropped.sentence.contains("k_1") && !dropped.sentence.contains("enable_"),
        "{}",
        dropped.sentence
    );
    why.expect_only("dropped", "point-query", &NOISE);

    let output = bench.call(&["explain", "last", "range-notcovered-si"]).expect(0).stdout;
    assert!(output.contains("Another plan") && output.contains("DROP INDEX k_1"), "{output}");
}

/// The keys of an arm with a dose, given by the environment variable.
fn dosed(bench: &Bench, variable: &str, dose: u32) -> String {
    let library = rqps_calibrate::shim::write_to(bench.path()).unwrap();
    format!("env = {{ LD_PRELOAD = \"{}\", {variable} = \"{dose}\" }}", library.display())
}

/// If the change of a statement's time is clear, `part` is the largest part of it, the queue for a CPU aside: on a busy
/// machine the change may be unclear, and a longer statement loses its CPU more often.
fn expect_part(why: &Why, arm: &str, test: &str, part: PartName) {
    let parts = why.explanation(arm, test).decomposition.clone().unwrap();
    let found = parts.parts.iter().find(|found| found.name == part).unwrap_or_else(|| panic!("{parts:#?}"));
    let is_clear = parts.low > 0.0;
    assert!(
        !is_clear
            || parts
                .parts
                .iter()
                .all(|other| { other.name == part || without_queue(other) <= found.change_us_per_op }),
        "{part} makes the change of {arm}: {parts:#?}"
    );
}

/// The change of a part without what waits for a CPU.
fn without_queue(part: &Part) -> f64 {
    let queue = part.of.iter().filter(|part| part.name == PartName::ForCpu);
    part.change_us_per_op - queue.map(|part| part.change_us_per_op).sum::<f64>()
}

#[test]
fn instructions_and_misses_are_more_work() {
    let bench = Bench::new();
    let arms = [
        arm(&bench, "a", "", &dosed(&bench, "RQPS_DOSE_SPIN", 0)),
        arm(&bench, "spins", "", &dosed(&bench, "RQPS_DOSE_SPIN", 60_000)),
        arm(&bench, "pool", "shared_buffers = 1MB", &dosed(&bench, "RQPS_DOSE_SPIN", 0)),
    ];
    let blocks = BLOCKS.replace("rows = 2_000", "rows = 10_000");
    // The hundred rows of a query are a hundred misses, and a dose is small in comparison.
    let points = "random-points_range=100";
    run(&bench, &format!("{blocks}steps = [\"{points}\"]\n{THREE}control = false\n"), &arms);
    let why = Why::whatever_the_verdicts(&bench);

    let spins = why.expect("spins", points, Word::MoreWork, Cause::Instructions);
    assert!(spins.sentence.contains("instructions"), "{}", spins.sentence);
    let pool = why.expect("pool", points, Word::MoreWork, Cause::BufferMisses);
    assert!(pool.sentence.contains("shared_buffers"), "{}", pool.sentence);
    let findings = &why.explanation("spins", points).findings;
    assert!(findings.first().is_none_or(|first| first.word != Word::MoreWaiting), "{findings:#?}");
    assert!(findings.iter().all(|finding| finding.word != Word::AnotherPlan), "{findings:#?}");
    expect_part(&why, "spins", points, PartName::Server);
}

#[test]
fn sleep_is_more_waiting() {
    let bench = Bench::new();
    let arms = [
        arm(&bench, "a", "", &dosed(&bench, "RQPS_DOSE_SLEEP_US", 0)),
        arm(&bench, "sleeps", "", &dosed(&bench, "RQPS_DOSE_SLEEP_US", 1000)),
    ];
    run(&bench, &format!("{BLOCKS}steps = [\"point-query\"]\n{FOUR}count_instructions = false\n"), &arms);
    let why = Why::of(&bench);

    // Sleep affects the rate. If the host is too noisy for a verdict on that, there is no finding, or one on the CPU
    // time that cold caches cost after each sleep: it names the setting, and no work.
    let findings = &why.explanation("sleeps", "point-query").findings;
    let is_sleep = |first: &Finding| match first.word {
        Word::MoreWaiting | Word::OnlyDifference => true,
        Word::NotExplained => first.sentence.contains("differ in RQPS_DOSE_SLEEP_US"),
        _ => false,
    };
    assert!(findings.first().is_none_or(is_sleep), "{findings:#?}");
    assert!(findings.iter().all(|finding| finding.word != Word::AnotherPlan), "{findings:#?}");
    why.expect_only("a-again", "point-query", &NOISE);
    expect_part(&why, "sleeps", "point-query", PartName::Waiting);
}

#[test]
fn debt_and_checkpoints_of_a_sequence_are_named() {
    let bench = Bench::new();
    // Fixed work, since a slow machine would write too little WAL in a given time for a checkpoint. Statistics
    // updated by autovacuum must not change the query plan.
    let still = "enable_bitmapscan = off\nenable_seqscan = off\ncheckpoint_timeout = 1h\nmax_wal_size = 4GB";
    let vacuums = format!(
        "{still}\nautovacuum_naptime = 1s\nautovacuum_vacuum_scale_factor = 0.01\n\
         autovacuum_vacuum_cost_delay = 0"
    );
    let arms = [
        arm(&bench, "a", &vacuums, ""),
        arm(&bench, "unvacuumed", &format!("{still}\nautovacuum = off"), ""),
        arm(&bench, "checkpoints", &format!("{vacuums}\nmax_wal_size = 32MB\nmin_wal_size = 32MB"), ""),
    ];
    let workload = "[workload]\nrows = 20_000\nread_seconds = 2\nwarmup_seconds = 1\n\
        settle_seconds_max = 5\nvacuum_after_load = true\nsteps = [\"update-index\", \"range-covered-si\"]\n\
        [test.update-index]\nevents = 40_000\n";
    run(&bench, workload, &arms);
    let why = Why::of(&bench);

    let debt = &why.explanation("unvacuumed", "range-covered-si").findings;
    let inherited = debt.iter().find(|finding| finding.word == Word::InheritedDebt);
    let inherited = inherited.unwrap_or_else(|| panic!("{debt:#?}"));
    assert!(inherited.sentence.contains("update-index"), "the step it came with: {}", inherited.sentence);

    let checkpoints = why.expect("checkpoints", "update-index", Word::MoreWork, Cause::Wal);
    assert!(checkpoints.sentence.contains("checkpoint"), "{}", checkpoints.sentence);
    for explanation in &why.explanations {
        assert!(explanation.findings.iter().all(|finding| finding.word != Word::AnotherPlan));
    }
}

#[test]
fn what_lies_at_the_tail_of_a_queue_is_named_with_the_setting_that_left_it_there() {
    let bench = Bench::new();
    let often = "autovacuum = on\nautovacuum_naptime = 1\nautovacuum_vacuum_scale_factor = 0.02\n\
                 autovacuum_vacuum_cost_delay = 0";
    let arms = [arm(&bench, "a", often, ""), arm(&bench, "never", "autovacuum = off", "")];
    // The settle gathers statistics: without them the planner does not read the end of the index.
    let steps = "steps = [\"l.i0\", \"l.x\", \"settle\", \"l.i1\", \"l.i2\"]\n";
    let workload = format!("[workload]\nbenchmark = \"insert\"\nsettle_seconds_max = 10\n{steps}");
    run(&bench, &format!("{workload}[insert]\nload_rows = 160_000\nwrite_rows = 150_000\n"), &arms);
    let why = Why::of(&bench);

    let found = why.expect("never", "l.i2", Word::MoreWork, Cause::TailEntries);
    let expected =
        ["planning each DELETE walks the dead index entries at the tail", "autovacuum (off, base on)"];
    for part in expected {
        assert!(found.sentence.contains(part), "{part}: {}", found.sentence);
    }
    // Unasked, the figures are those of the first tests that changed, and other load can come before a cause.
    let output = bench.call(&["explain", "last", "l.i2"]).expect(0).stdout;
    assert!(output.contains("l.i2: ") && output.contains("dead index entries at the tail"), "{output}");
}
