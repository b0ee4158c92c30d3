//! The real sysbench as the driver of a run: with Postgres and MySQL, with its own tests and rqps' Lua tests.

use rqps_store::Status;

use crate::bench::Bench;

const WORKLOAD: &str =
    "driver = \"sysbench\"\nsteps = [\"point-query\", \"update-inlist\", \"delete\", \"scan\"]\n";

#[test]
fn it_does_the_steps_of_a_plan_and_what_it_prints_is_what_the_servers_counted() {
    let bench = Bench::new();
    let plan = bench.plan("", WORKLOAD, &["18", "mysql-5.7.22"]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    assert_eq!(run.status.status, Status::Complete);
    let driver =
        run.meta.method.iter().find(|setting| setting.name == "driver").expect("the driver is recorded");
    assert!(driver.value.starts_with("sysbench "), "{}", driver.value);
    assert_eq!(run.windows.len(), 8);
    for window in &run.windows {
        let (step, result) = (&window.action.step, &window.result);
        assert!(window.valid() && result.events.unwrap() > 0, "{step}: {result:?}");
        assert!(window.metrics["client_cpu_us"] > 0.0, "{step}: sysbench is the client");
        // Base runs for a time, the other arm repeats its work.
        if step == "delete" {
            assert!(result.noop_statements < result.statements);
        }
    }
    let events = |arm: &str, step: &str| {
        run.windows.iter().find(|window| window.action.arm == arm && window.action.step == step).unwrap()
    };
    for step in ["update-inlist", "delete"] {
        assert_eq!(events("a", step).result.events, events("b", step).result.events, "{step}: equal work");
    }
    let counters = run.counters(events("b", "update-inlist").action.seq).unwrap();
    let updates = counters.iter().find(|c| c.view == "global_status" && c.column == "com_update").unwrap();
    let updates = updates.after.unwrap() - updates.before.unwrap();
    assert_eq!(updates, events("b", "update-inlist").result.events.unwrap() as f64);
}
