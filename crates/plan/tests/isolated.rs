//! Random draws of blocks: mirrored windows, varying positions, windows that fit a budget.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use rqps_model::LOADS;
use rqps_plan::estimate::load_seconds;
use rqps_plan::isolated::{block, block_seconds, loads_seconds};
use rqps_plan::{Plan, PlanContext};

fn parse(text: &str) -> Plan {
    Plan::parse(text, "p.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS)).unwrap().plan
}

/// A plan of two builds with these keys at the top and in `[isolated]`.
fn plan(top: &str, isolated: &str) -> Plan {
    parse(&format!(
        "protocol = \"isolated\"\n{top}\n[workload]\nrows = 1000\n[isolated]\n{isolated}\n\
         [matrix]\nbuilds = [\"postgres-17.1\", \"postgres-18.1\"]\nconfigs = [\"sized\"]\n"
    ))
}

#[test]
fn windows_are_mirrored_so_that_drift_cancels() {
    let plan = plan("", "windows = 4");
    let tests = plan.workload.steps.clone();
    assert_eq!((plan.arms.len(), tests.len()), (3, 32), "base is measured twice, all tests by default");
    for number in 1..=20 {
        let block = block(&plan, number, &tests, 4);
        for turns in &block.tests {
            let position_sum = |arm| -> usize {
                turns.slots.iter().enumerate().filter(|(_, slot)| slot.arm == arm).map(|(at, _)| at).sum()
            };
            let sums: Vec<usize> = (0..3).map(position_sum).collect();
            assert!(sums.iter().all(|sum| *sum == sums[0]), "{}: {sums:?}", turns.test.name);
            let windows: Vec<u32> = turns.slots.iter().filter(|s| s.arm == 1).map(|s| s.window).collect();
            assert_eq!(windows, [1, 2, 3, 4]);
        }
    }
}

#[test]
fn a_resolved_plan_of_blocks_parses_back_to_itself() {
    for control in [true, false] {
        let text = format!(
            "protocol = \"isolated\"\nbudget = \"1h 5m\"\n[workload]\nrows = 1000\nsteps = [\"scan\"]\n\
             [isolated]\ncontrol = {control}\n[test.scan]\nrate_mei_percent = 5\n[verdict.mei_percent]\nrate = 3\n\
             [[arm]]\nname = \"a\"\nbuild = \"postgres-17.1\"\nconfig = \"sized\"\nenv = {{ A = \"b c\" }}\nafter_load = [\"DROP INDEX k_1\"]\n\
             [[arm]]\nname = \"b\"\nbuild = \"postgres-18.1\"\nconfig = \"sized\"\n"
        );
        let plan = parse(&text);
        assert_eq!(plan, parse(&plan.to_toml().unwrap()));
        assert_eq!(plan.arms.iter().filter(|arm| arm.control).count(), usize::from(control));
    }
}

#[test]
fn releases_of_one_major_version_take_one_load() {
    let loads = |builds: &str, configs: &str| {
        let plan = parse(&format!(
            "protocol = \"isolated\"\n[workload]\nrows = 1000\n[isolated]\ncontrol = false\n\
             [matrix]\nbuilds = [{builds}]\nconfigs = [{configs}]\n"
        ));
        loads_seconds(&plan) / load_seconds(&plan) / f64::from(LOADS)
    };
    assert_eq!(loads("\"postgres-18\", \"postgres-18.1\"", "\"sized\""), 1.0);
    assert_eq!(loads("\"postgres-17.1\", \"postgres-18.1\"", "\"sized\""), 2.0);
    assert_eq!(loads("\"postgres-9.5.3\", \"postgres-9.6.24\"", "\"sized\""), 2.0);
    assert_eq!(loads("\"mysql-8.0.31\", \"mysql-8.0.42\"", "\"sized\""), 2.0);
    assert_eq!(loads("\"postgres-18.1\"", "\"sized\", \"sized_async\""), 2.0);
}

#[test]
fn several_numbers_of_clients_make_a_test_each() {
    let text = |clients: &str| {
        format!(
            "protocol = \"isolated\"\n[workload]\nrows = 1000\nclients = {clients}\n\
             steps = [\"point-query\", \"scan_clients=2\"]\n[test.point-query]\nrate_mei_percent = 5\n\
             [matrix]\nbuilds = [\"postgres-17.1\", \"postgres-18.1\"]\nconfigs = [\"sized\"]\n"
        )
    };
    let plan = parse(&text("[1, 8]"));
    let steps = ["point-query_clients=1", "point-query_clients=8", "scan_clients=2"];
    assert_eq!(plan.workload.steps, steps);
    assert_eq!(steps.map(|step| plan.clients_of(step)), [1, 8, 2]);
    let step = plan.step(steps[1]).unwrap();
    assert_eq!((step.test.as_str(), step.clients), ("point-query", 8));
    assert_eq!(plan.options_of(steps[1]).rate_mei_percent, Some(5.0), "of the test");
    assert_eq!(plan, parse(&plan.to_toml().unwrap()));
    assert_eq!(parse(&text("3")).workload.steps, ["point-query", "scan_clients=2"]);
    let mistake = |clients: &str, protocol: &str| {
        let text = text(clients).replace("isolated", protocol);
        Plan::parse(&text, "p.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS))
            .unwrap_err()
            .to_string()
    };
    assert!(mistake("[1, 8]", "sequence").contains("only blocks measure several numbers of clients"));
    assert!(mistake("[8, 8]", "isolated").contains("8 is listed twice"));
}

#[test]
fn windows_fit_the_budget_unless_the_plan_gives_them() {
    let seconds = |top: &str, isolated: &str| {
        let plan = plan(top, isolated);
        (plan.isolated.clone().unwrap().window_seconds, block_seconds(&plan, 32))
    };
    assert_eq!(seconds("", "").0, 2.5);
    assert_eq!(seconds("budget = \"15m\"", "window_seconds = 3").0, 3.0);
    assert_eq!(seconds("budget = \"1m\"", "").0, 0.2);
    for (budget, minutes) in [("40m", 40.0), ("1h", 60.0)] {
        let (window_s, block_s) = seconds(&format!("budget = \"{budget}\""), "");
        assert!((0.2..2.5).contains(&window_s), "{window_s}");
        let all = 8.0 * block_s / 60.0 / minutes;
        assert!((0.83..=0.86).contains(&all), "eight blocks of {block_s} s take {all} of {budget}");
    }
}

#[test]
fn positions_vary_from_block_to_block_and_repeat_with_the_seed() {
    let plan = plan("", "windows = 4");
    let tests = plan.workload.steps.clone();
    let starts: std::collections::BTreeSet<_> =
        (1..=40).map(|number| block(&plan, number, &tests, 4).starts).collect();
    assert_eq!(starts.len(), 6, "every order of three arms comes up in 40 blocks");
    assert_eq!(block(&plan, 7, &tests, 4).sides, block(&plan, 7, &tests, 4).sides);
    let order = |number| -> Vec<String> {
        block(&plan, number, &tests, 4).tests.into_iter().map(|turns| turns.test.name).collect()
    };
    assert_ne!(order(1), order(2));
    let first_write = block(&plan, 1, &tests, 4).tests.iter().position(|turns| turns.test.writes).unwrap();
    assert!(block(&plan, 1, &tests, 4).tests[first_write..].iter().all(|turns| turns.test.writes));
}

#[test]
fn windows_of_tproc_c_are_never_too_short_for_its_rare_transactions() {
    let tproc_c = parse(
        "protocol = \"isolated\"\nbudget = \"15s\"\n[workload]\nbenchmark = \"tproc-c\"\n\
         [matrix]\nbuilds = [\"postgres-17.1\", \"postgres-18.1\"]\nconfigs = [\"sized\"]\n",
    );
    // Of 23 transactions one is a delivery.
    let least = tproc_c.work.window_events_min();
    assert!(least >= 5 * 23, "{least}");
    assert!(tproc_c.work.window_of_blocks(0.2).contains(&format!("or {least} where these take longer")));
}
