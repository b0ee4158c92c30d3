//! rqps is killed: its child processes end, and a resumed run is complete.

use std::time::Duration;

use crate::bench::{Bench, wait_for};
use crate::data::{ALL_COLUMNS, Kept};

/// Number of kills, at moments derived from the seed.
const KILLS: u32 = 6;
const SEED: u64 = 20_261_121;
/// Maximum time from start to kill, ms: about half of the whole run.
const LIFE_MS_MAX: u64 = 4_500;

/// A step of each kind.
const WORKLOAD: &str = "rows = 20_000
steps = [\"point-query.warm\", \"update-index\", \"write-only\", \"settle\", \"scan\", \"delete\", \"insert\"]
vacuum_after_load = true
";

/// Random moments without a dependency: a linear congruential generator's upper bits.
fn moments(mut state: u64) -> impl Iterator<Item = Duration> {
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(30 + (state >> 33) % LIFE_MS_MAX)
    })
}

#[test]
fn killed_at_random_moments_a_run_ends_up_complete() {
    let bench = Bench::new();
    let plan = bench.plan("", WORKLOAD, &["14", "18"]);
    let mut cuts = 0;
    for moment in moments(SEED).take(KILLS as usize) {
        // Without a plan in the folder there is nothing to resume.
        let begun = bench.folders().len() == 1 && bench.call(&["status"]).code() == Some(0);
        let mut running = if begun {
            bench.start(&["resume"])
        } else {
            for folder in bench.folders() {
                std::fs::remove_dir_all(folder).unwrap();
            }
            let begins = bench.start(&["run", plan.to_str().unwrap()]);
            wait_for("a run folder", || bench.folders().into_iter().next());
            begins
        };
        std::thread::sleep(moment);
        if running.has_ended() {
            running.end().expect(0);
            break;
        }
        running.kill();
        cuts += 1;
        println!("killed after {moment:?}");
        bench.expect_no_process();
        for folder in bench.folders() {
            if bench.call(&["status"]).code() == Some(0) {
                let name = folder.file_name().unwrap().to_str().unwrap();
                assert!(bench.call(&["ls"]).expect(0).stdout.contains(name));
                let status = bench.call(&["status"]).expect(0).stdout;
                let told = ["interrupted", "reason: rqps was killed, or the host went down, at 2", "kept: "];
                assert!(told.iter().all(|told| status.contains(told)), "{status}");
                assert!(status.contains(&format!("to continue: rqps resume {name}\n")), "{status}");
                bench.call(&["show"]).expect(0);
            }
        }
    }
    let status = bench.call(&["status"]);
    if status.code() != Some(0) {
        // No kill left a run behind.
        bench.folders().iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
        bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    } else if !status.expect(0).stdout.contains("complete") {
        bench.call(&["resume"]).expect(0);
    }
    bench.expect_complete(cuts);
}

/// A shell's background processes inherit an ignored SIGQUIT. A server that inherited it would miss its rqps' death
/// while it starts.
#[test]
fn a_server_does_not_ignore_what_ends_it() {
    let script = "trap '' QUIT; \"$0\" __exec-server $$ 3 /bin/cat /proc/self/status; true";
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_rqps")])
        .output()
        .unwrap();
    let status = String::from_utf8(output.stdout).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect(&status);
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    assert_eq!(ignored & 1 << (3 - 1), 0, "SIGQUIT is ignored: {ignored:x}");
}

#[test]
fn a_finished_step_s_rows_survive_a_kill_in_the_next_one() {
    let workload = "steps = [\"update-nonindex\", \"delete\", \"insert\", \"point-query\"]\n\
        [test.update-nonindex]\nevents = 1_000\n[test.delete]\nevents = 500\n[test.insert]\nevents = 1_500\n";
    let checksum = |kill: bool| {
        let bench = Bench::new();
        let plan = bench.plan("", workload, &["18"]);
        let mut running = bench.start(&["run", "--keep-data", plan.to_str().unwrap()]);
        if kill {
            running.expect_line(&["a ", "insert"]);
            running.kill();
            bench.expect_no_process();
            bench.call(&["resume", "--keep-data"]).expect(0);
            let run = bench.run();
            let repeated = run.actions.iter().filter(|action| action.attempt > 1);
            let repeated: Vec<&str> = repeated.map(|action| action.step.as_str()).collect();
            assert!(repeated.is_empty() || repeated == ["point-query"], "{repeated:?}");
        } else {
            running.end().expect(0);
        }
        Kept::open(&bench, "a").checksum(ALL_COLUMNS, "true")
    };
    let undisturbed = checksum(false);
    assert!(undisturbed.starts_with("3"), "{undisturbed}");
    assert_eq!(checksum(true), undisturbed);
}
