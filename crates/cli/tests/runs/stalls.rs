//! A server that stalls now and then: its mean hardly changes, but stalls get a verdict.

use rqps_stats::{Class, Detector};
use rqps_verdicts::{judge_run, rules_of, variance};

use crate::bench::{Bench, exact_version};

/// Length of a stall, and messages between stalls: one or two per window of 6,000 events, which takes a fifth of a
/// second on an idle machine.
const STALL_US: u32 = 60_000;
const STALL_EVERY: u32 = 4_500;

/// Every server loads the library, so that arms differ only in stalls.
fn plan(bench: &Bench) -> String {
    let library = rqps_calibrate::shim::write_to(bench.path()).unwrap().display().to_string();
    let build = exact_version("18");
    let arm = |name: &str, stall_us: u32| {
        format!(
            "[[arm]]\nname = \"{name}\"\nbuild = \"postgres-{build}\"\nconfig = \"./small.conf\"\n\
             env = {{ LD_PRELOAD = \"{library}\", RQPS_DOSE_STALL_US = \"{stall_us}\", \
             RQPS_DOSE_STALL_EVERY = \"{STALL_EVERY}\" }}\n"
        )
    };
    let text = format!(
        "name = \"t\"\nbase = \"a\"\nprotocol = \"isolated\"\n[workload]\nrows = 1_000\nsteps = [\"point-query\"]\n\
         [test.point-query]\nevents = 6_000\nrate_mei_percent = 50\n\
         [isolated]\nwindow_seconds = 0.2\nwindows = 2\nblocks_min = 8\nblocks_max = 8\n\
         count_instructions = false\n{}{}",
        arm("a", 0),
        arm("b", STALL_US)
    );
    bench.plan_text(&text).display().to_string()
}

#[test]
fn stalls_are_a_regression_where_the_mean_is_none() {
    let bench = Bench::new();
    let ended = bench.call(&["run", &plan(&bench)]).expect(0);
    let run = bench.run();
    let verdicts = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
    let arm = |name: &str| run.arms.iter().position(|arm| arm.name == name).unwrap();
    let of = |name: &str, detector| verdicts.verdict("point-query", arm(name), detector).unwrap();
    let stalls = of("b", Detector::Stalls);
    let rows = variance(&run, arm("a")).unwrap();
    let latency = |name: &str| rows.iter().find(|row| row.arm == arm(name)).unwrap().latency.unwrap();
    // Where the host stalls too, blocks may differ too much for a verdict, or base may have stalls as long.
    let of_host = latency("a").stalls + latency("a-again").stalls;
    let is_clear = stalls.ratio.ln() > 6.0 * stalls.block_sd && of_host == 0;
    assert!(stalls.class.is_regression() || !is_clear, "{stalls:?}\n{}", ended.stderr);
    assert!(stalls.class.is_regression() || !stalls.class.is_change(), "{stalls:?}");
    // Stalls take at most a fifth of the time, less than the plan's MEI.
    assert!(!of("b", Detector::Rate).class.is_regression(), "{:?}", of("b", Detector::Rate));
    assert_eq!(of("a-again", Detector::Stalls).class, Class::Inconclusive, "too short to say more");

    assert!(latency("b").stalls >= 16, "one in each of 16 windows: {:?}", latency("b"));
    assert!(latency("b").max_us >= f64::from(STALL_US), "{:?}", latency("b"));

    let gate = |what: &str| bench.call(&["gate", "last", "--fail-on", what]);
    gate("rate").expect(if of("b", Detector::Rate).class.is_decided() { 0 } else { 4 });
    if stalls.class.is_regression() {
        let output = gate("stalls").expect(1).stdout;
        assert!(output.contains("REGRESSION in stalls point-query: stalls take"), "{output}");
    }
}
