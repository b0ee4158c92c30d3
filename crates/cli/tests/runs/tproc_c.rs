//! `benchmark = "tproc-c"`: virtual users on a warehouse, in a sequence.

use crate::bench::{Bench, exact_version};

#[test]
fn virtual_users_work_on_partitioned_warehouses() {
    let bench = Bench::new();
    let version = exact_version("18");
    let plan = bench.plan_text(&format!(
        "base = \"a\"\n[workload]\nbenchmark = \"tproc-c\"\nsteps = [\"w1-vu2\"]\n\
         [tproc-c]\nwarehouses = 1\nvirtual_users = 2\nrampup = \"1s\"\nduration = \"2s\"\npartitions = 2\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-{version}\"\nconfig = \"./small.conf\"\n\
         [[arm]]\nname = \"lost-orders\"\nbuild = \"postgres-{version}\"\nconfig = \"./small.conf\"\n\
         after_load = [\"DELETE FROM orders WHERE o_id = 7\"]\n"
    ));
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(3).stderr;
    assert!(ended.contains("arm lost-orders: the load is wrong: condition 4"), "{ended}");
    assert!(ended.contains("the arm's after_load"), "{ended}");
    let run = bench.run();
    let [window] = run.windows.as_slice() else { panic!("{} windows", run.windows.len()) };
    assert!(window.valid(), "{:?}", window.action.note);
    let metric = |name: &str| window.metric(name).unwrap();
    let kinds = ["new_order", "payment", "delivery", "stock_level", "order_status", "new_order_rolled_back"];
    let sum: f64 = kinds.iter().map(|kind| metric(&format!("transactions_{kind}"))).sum();
    assert_eq!(sum, window.result.events.unwrap() as f64);
    assert_eq!(window.result.operations, metric("transactions_new_order"));
    let shown = bench.call(&["show", "last", "--section", "transactions"]).expect(0).stdout;
    assert!(shown.contains("NOPM") && shown.contains("w1-vu2"), "{shown}");
    assert!(shown.contains("conditions held after the window and the load before it."), "{shown}");
}
