//! Every arm does the same work: after the whole sequence its tables have the same content as base's.
//!
//! With one client every byte is equal. With several, the operations of each client are the same, but not the order
//! in which clients reach a row. So ids and inserted rows are equal; values that several clients write (`c`, and `k`
//! if rows are deleted and inserted again) depend on the last writer.

use rqps_store::{Recorded, Run, Window};

use crate::bench::Bench;
use crate::data::{ALL_COLUMNS, Kept};

/// Enough that a fast machine does not delete the whole share during warm-up, which would leave nothing for the window.
const ROWS: u64 = 40_000;
const DELETE_SHARE: f64 = 0.3;

/// Runs these steps on two arms and opens their data.
fn two_arms(builds: [&str; 2], clients: u32, steps: &str) -> (Bench, Run, [Kept; 2]) {
    let bench = Bench::new();
    let workload = format!(
        "rows = {ROWS}\nclients = {clients}\nwarmup_seconds = 0.1\ndelete_share_max = {DELETE_SHARE}\nsteps = [{steps}]\n"
    );
    let plan = bench.plan("", &workload, &builds);
    bench.call(&["run", "--keep-data", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    let invalid: Vec<_> = run.windows.iter().filter(|window| !window.valid()).map(|w| &w.action).collect();
    assert!(invalid.is_empty(), "{invalid:?}");
    let data = ["a", "b"].map(|arm| Kept::open(&bench, arm));
    (bench, run, data)
}

/// The events of each client in warm-up and window.
fn work(run: &Run, window: &Recorded<Window>) -> [Vec<f64>; 2] {
    let series = run.series(window.action.seq).unwrap();
    ["work-warmup", "work-window"].map(|name| {
        let found = series.iter().find(|series| series.name == name);
        found.expect("each step tells its work").values.clone()
    })
}

#[track_caller]
fn expect_same_work(run: &Run) {
    let of_arm = |arm: &'static str| run.windows.iter().filter(move |w| w.action.arm == arm);
    for (base, other) in of_arm("a").zip(of_arm("b")) {
        assert_eq!(work(run, base), work(run, other), "{}", base.action.step);
    }
}

#[track_caller]
fn expect_delete_share(run: &Run, data: &mut Kept) {
    let left: f64 = data.value(&format!("SELECT count(*) FROM sbtest1 WHERE id <= {ROWS}")).parse().unwrap();
    let gone = 1.0 - left / ROWS as f64;
    let delete = run.windows.iter().find(|w| w.action.step == "delete").unwrap();
    let ended_by = delete.result.ended_by;
    // Each client may be in the middle of another event when the first has done its part.
    assert!(gone > 0.0 && gone < DELETE_SHARE + 0.01, "{gone} gone, ended by {ended_by}");
}

#[test]
fn one_client_leaves_the_same_rows_on_every_version() {
    let steps = "\"update-inlist\", \"update-index\", \"update-nonindex\", \"update-one\", \"update-zipf\", \"write-only\", \
        \"read-write_range=10\", \"delete\", \"insert\"";
    let (_bench, run, [mut base, mut other]) = two_arms(["14", "18"], 1, steps);
    expect_same_work(&run);
    let checksum = base.checksum(ALL_COLUMNS, "true");
    assert_eq!(other.checksum(ALL_COLUMNS, "true"), checksum);
    expect_delete_share(&run, &mut base);
    let inserted = base.value(&format!("SELECT count(*) FROM sbtest1 WHERE id > {ROWS}"));
    assert_ne!(inserted, "0");
}

#[test]
fn several_clients_leave_the_same_ids_and_insert_the_same_rows() {
    // Deletes and inserts of one transaction collide: deadlocks and duplicate keys, which are retried.
    let steps = "\"update-index\", \"update-inlist\", \"delete\", \"insert\"";
    let (_bench, run, [mut base, mut other]) = two_arms(["18", "18"], 4, steps);
    expect_same_work(&run);
    let loaded = format!("id <= {ROWS}");
    let inserted = format!("id > {ROWS}");
    for (columns, condition) in [
        ("id", "true"),
        ("id, k, pad", loaded.as_str()),
        // Ids are assigned to rows in varying order.
        ("k, c, pad", inserted.as_str()),
    ] {
        let checksum = base.checksum(columns, condition);
        assert_eq!(other.checksum(columns, condition), checksum, "{columns} where {condition}");
    }
    expect_delete_share(&run, &mut base);
}

#[test]
fn transactions_tried_again_leave_every_id_in_place() {
    let bench = Bench::new();
    // On so few rows so many clients collide all the time.
    let workload = "rows = 1_000\nclients = 32\nsteps = [\"write-only\"]\n";
    let plan = bench.plan("", workload, &["18", "18"]);
    bench.call(&["run", "--keep-data", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    expect_same_work(&run);
    let retries: u64 = run.windows.iter().flat_map(|w| w.result.retries.values()).sum();
    assert!(retries > 0, "{:?}", run.windows);
    for arm in ["a", "b"] {
        let ids =
            Kept::open(&bench, arm).value("SELECT count(*) || ' ' || min(id) || ' ' || max(id) FROM sbtest1");
        assert_eq!(ids, "1000 1 1000");
    }
}
