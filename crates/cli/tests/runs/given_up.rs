//! Arms that cannot be measured are given up with a reason, and the others continue.

use std::fs;

use rqps_store::{BlockStatus, Run, Status};

use crate::bench::{Bench, exact_version};

/// Moves the rows to a table with two partitions.
const PARTITIONED: &str = "after_load = [\"CREATE TABLE parted (LIKE sbtest1) PARTITION BY RANGE (id)\", \
    \"CREATE TABLE low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (1000)\", \
    \"CREATE TABLE high PARTITION OF parted FOR VALUES FROM (1000) TO (MAXVALUE)\", \
    \"INSERT INTO parted SELECT * FROM sbtest1\", \"DROP TABLE sbtest1\", \"ALTER TABLE parted RENAME TO sbtest1\", \
    \"ALTER TABLE sbtest1 ADD PRIMARY KEY (id)\", \"CREATE INDEX k_1 ON sbtest1 (k)\"]";

/// No test can run on this arm.
const WITHOUT_TABLE: &str = "after_load = [\"ALTER TABLE sbtest1 RENAME TO gone\"]";

/// A plan of base, a partitioned arm, and these others.
fn plan(bench: &Bench, top: &str, others: &[(&str, &str)]) -> String {
    let build = format!("build = \"postgres-{}\"", exact_version("18"));
    let mut text = format!("name = \"t\"\nbase = \"a\"\nseed = 7\n{top}\n");
    for (name, more) in [("a", ""), ("parted", PARTITIONED)].iter().chain(others) {
        let config = if more.contains("config =") { "" } else { "config = \"./small.conf\"" };
        text.push_str(&format!("[[arm]]\nname = \"{name}\"\n{build}\n{config}\n{more}\n\n"));
    }
    bench.plan_text(&text).to_str().unwrap().to_owned()
}

const BLOCKS: &str = "protocol = \"isolated\"\nbudget = \"1s\"\n[workload]\ntables = 1\nrows = 2_000\nclients = 1\n\
    steps = [\"point-query\", \"update-index\"]\n\
    [isolated]\nwindow_seconds = 0.1\nwindows = 2\ncontrol = false\ncount_instructions = false\n";

const SEQUENCE: &str = "[workload]\ntables = 1\nrows = 2_000\nclients = 1\nread_seconds = 1\nwrite_seconds = 1\n\
    warmup_seconds = 0\nsettle_seconds_max = 5\nsteps = [\"point-query\", \"settle\", \"update-index\"]\n";

/// The number of valid windows of each arm.
fn windows(run: &Run) -> Vec<(&str, usize)> {
    let of = |arm: &str| run.windows.iter().filter(|w| w.action.arm == arm && w.valid()).count();
    run.arms.iter().map(|arm| (arm.name.as_str(), of(&arm.name))).collect()
}

#[test]
fn blocks_go_on_without_an_arm_that_cannot_be_measured() {
    let bench = Bench::new();
    let plan = plan(&bench, BLOCKS, &[("tableless", WITHOUT_TABLE)]);
    let ended = bench.call(&["run", &plan]).expect(3);
    for words in
        ["arm tableless", "\"sbtest1\" does not exist", "giving up tableless; blocks continue without it"]
    {
        assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
    }
    let run = bench.run();
    assert_eq!(run.status.status, Status::Failed);
    assert_eq!(windows(&run), [("a", 4), ("parted", 4), ("tableless", 0)], "{}", ended.stderr);
    let done = run.blocks.iter().find(|block| block.status == BlockStatus::Done).unwrap();
    let arms: Vec<&str> = done.arms.iter().map(|arm| arm.arm.as_str()).collect();
    assert_eq!(arms, ["a", "parted"]);
    for verb in ["status", "report"] {
        let output = bench.call(&[verb]).expect(0).stdout;
        assert!(output.contains("tableless") && output.contains("given up"), "{verb}:\n{output}");
    }
    bench.expect_no_process();
    bench.call(&["clean", "last"]).expect(0);
}

#[test]
fn a_sequence_goes_on_without_an_arm_that_cannot_be_measured() {
    let bench = Bench::new();
    let plan = plan(&bench, SEQUENCE, &[("tableless", WITHOUT_TABLE), ("last", "")]);
    let ended = bench.call(&["run", &plan]).expect(3);
    assert!(ended.stderr.contains("arm tableless"), "{}", ended.stderr);
    let run = bench.run();
    assert_eq!(windows(&run), [("a", 2), ("parted", 2), ("tableless", 0), ("last", 2)], "{}", ended.stderr);
    let status = bench.call(&["status"]).expect(0).stdout;
    assert!(status.contains("given up"), "{status}");
    bench.expect_no_process();
}

#[test]
fn what_is_wrong_with_the_last_arm_is_said_before_the_first_is_measured() {
    for top in [SEQUENCE, BLOCKS] {
        let bench = Bench::new();
        fs::write(bench.path().join("banana.conf"), "shared_buffers = banana\n").unwrap();
        let preload = ("preload", "env = { LD_PRELOAD = \"/nowhere/dose.so\" }");
        let banana = ("banana", "config = \"./banana.conf\"");
        for others in [&[preload][..], &[banana]] {
            let (name, _) = others[0];
            let text = format!("on_server_death = \"stop\"\n{top}");
            let plan = plan(&bench, &text, others);
            let ended = bench.call(&["run", &plan]);
            assert!([2, 3].contains(&ended.code().unwrap()), "{}", ended.stderr);
            assert!(ended.stderr.contains(name), "no {name} in\n{}", ended.stderr);
            for folder in bench.folders() {
                let run = rqps_store::RunFolder::open(&folder).unwrap();
                assert_eq!((run.windows.len(), run.loads.len()), (0, 0), "{}", ended.stderr);
                fs::remove_dir_all(folder).unwrap();
            }
            bench.expect_no_process();
        }
        // With the default policy the others continue, and the message comes before the first load.
        let plan = plan(&bench, top, &[banana, preload]);
        let ended = bench.call(&["run", &plan]).expect(3);
        let at =
            |words: &str| ended.stderr.find(words).unwrap_or_else(|| panic!("{words}:\n{}", ended.stderr));
        let loaded = ended.stderr.find("rows/s with indexes").unwrap();
        assert!(at("banana") < loaded && at("/nowhere/dose.so") < loaded, "{}", ended.stderr);
        let run = bench.run();
        assert!(windows(&run)[..2].iter().all(|(_, windows)| *windows > 0), "{}", ended.stderr);
        assert!(run.loads.iter().all(|load| load.action.arm != "banana"));
    }
}
