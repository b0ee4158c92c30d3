//! A server, or one of its processes, is killed in a step: only that step is lost.

use std::fs;
use std::time::Duration;

use rqps_store::Status;
use rustix::process::Signal;

use crate::bench::{Bench, Running, send, wait_for};

const STEPS: &str = "steps = [\"update-index\", \"point-query\", \"scan\"]\n";

/// Waits until a step has ended and the next one has sessions, then kills a process of the server: the main one, or a
/// backend. Pauses rqps while searching, so that the step does not end meanwhile.
fn kill_in_step(bench: &Bench, running: &mut Running, after: &[&str], backend: bool) {
    running.expect_line(after);
    wait_for("sessions of a step", || {
        running.signal(Signal::STOP);
        let before = sessions(bench);
        // Sessions that are closing disappear.
        std::thread::sleep(Duration::from_millis(20));
        let stay: Vec<u32> = sessions(bench).into_iter().filter(|pid| before.contains(pid)).collect();
        // The first session is the administrative one.
        let found = stay.last().zip(bench.postmaster()).filter(|_| stay.len() > 1);
        if let Some((client, main)) = found {
            send(if backend { *client } else { main }, Signal::KILL);
        }
        running.signal(Signal::CONT);
        found.map(|_| ())
    });
}

/// Processes of the server that serve a client.
fn sessions(bench: &Bench) -> Vec<u32> {
    let serves_client = |arguments: &str| {
        arguments.starts_with("postgres: rqps bench")
            && ["SELECT", "idle"].iter().any(|word| arguments.contains(word))
    };
    let processes = bench.processes().into_iter();
    processes.filter(|(_, arguments)| serves_client(arguments)).map(|(pid, _)| pid).collect()
}

#[test]
fn the_other_arms_go_on_without_the_one_whose_server_died() {
    let bench = Bench::new();
    let plan = bench.plan("on_server_death = \"next-arm\"", STEPS, &["18", "18", "18"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    kill_in_step(&bench, &mut running, &["b ", "update-index"], false);
    let ended = running.end().expect(3);
    bench.expect_no_process();
    for words in [
        "arm b: the server died in step point-query: its main process ended (signal: 9",
        "b/data.log:",
        "ready to accept connections",
        "kernel's OOM killer",
        "rqps resume",
    ] {
        assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
    }
    assert!(ended.stdout.contains("not run: point-query, scan"), "{}", ended.stdout);
    let run = bench.run();
    assert_eq!(run.status.status, Status::Failed);
    let windows = |arm: &str| run.windows.iter().filter(|w| w.action.arm == arm).count();
    assert_eq!((windows("a"), windows("b"), windows("c")), (3, 1, 3));
    let status = bench.call(&["status"]).expect(0).stdout;
    assert!(status.contains("failed") && status.contains("died in step"), "{status}");
    bench.call(&["resume"]).expect(0);
    bench.expect_complete(1);
}

#[test]
fn a_server_that_dies_in_its_turn_does_not_end_the_step_of_the_others() {
    let bench = Bench::new();
    let plan = bench.plan("passes = 2", STEPS, &["18", "18", "18"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    running.expect_line(&["c  update-index"]);
    let of_b = |arguments: &str| arguments.contains("/b/data") && !arguments.starts_with("postgres:");
    wait_for("sessions of the next step", || (sessions(&bench).len() > 3).then_some(()));
    let mut processes = bench.processes().into_iter();
    send(processes.find(|(_, arguments)| of_b(arguments)).unwrap().0, Signal::KILL);
    let ended = running.end().expect(3);
    bench.expect_no_process();
    for words in
        ["arm b: the server died in step point-query", "given up in pass 1: pass 2 measures it again"]
    {
        assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
    }
    let run = bench.run();
    let windows = |arm: &str| run.windows.iter().filter(|w| w.action.arm == arm).count();
    assert_eq!((windows("a"), windows("b"), windows("c")), (6, 4, 6));
    let of_step = run.windows.iter().filter(|w| w.action.step == "point-query").take(2);
    let of_step: Vec<_> = of_step.map(|w| (w.action.attempt, w.result.events)).collect();
    assert!(of_step[0].0 == 1 && of_step[0] == of_step[1], "the others went on: {of_step:?}");
}

#[test]
fn a_run_stops_where_the_plan_says_so_or_where_base_dies() {
    // With `time` no arm waits for base's work.
    let cases = [("stop", "time"), ("next-arm", "as-base")];
    for (policy, write_work) in cases {
        let bench = Bench::new();
        let top = format!("on_server_death = \"{policy}\"");
        let workload = format!("write_work = \"{write_work}\"\n{STEPS}");
        let plan = bench.plan(&top, &workload, &["18", "18"]);
        let mut running = bench.start(&["run", plan.to_str().unwrap()]);
        // One backend is killed; the server ends all others and restarts.
        kill_in_step(&bench, &mut running, &["a ", "update-index"], true);
        let ended = running.end().expect(3);
        bench.expect_no_process();
        for words in
            ["one of its processes crashed", "was terminated by signal 9", "rqps clean", "rqps resume"]
        {
            assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
        }
        let run = bench.run();
        let last = run.actions.last().unwrap();
        assert_eq!((last.arm.as_str(), last.step.as_str()), ("a", "update-index"));
        if policy == "next-arm" {
            bench.call(&["resume"]).expect(0);
            bench.expect_complete(1);
        }
    }
}

#[test]
fn what_a_run_given_up_leaves_can_be_removed() {
    let bench = Bench::new();
    let plan = bench.plan("", STEPS, &["18"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    running.expect_line(&["a ", "update-index"]);
    let folder = bench.folder();
    let refused = bench.call(&["clean", "last"]).expect(2).stderr;
    assert!(refused.contains(&format!("pid {}", running.pid())), "{refused}");
    running.kill();
    bench.expect_no_process();
    let nothing = bench.call(&["clean"]).expect(0);
    assert!(nothing.stderr.contains("nothing to remove"), "{nothing:?}");
    let copy = bench.path().join("copy");
    fs::rename(&folder, &copy).unwrap();
    let gone = bench.call(&["resume", copy.to_str().unwrap()]).expect(2).stderr;
    assert!(gone.contains("data directory"), "{gone}");
    // The folder has moved, so its data are orphaned.
    let removed = bench.call(&["clean"]).expect(0).stdout;
    assert!(removed.starts_with("removed "), "{removed}");
    assert_eq!(fs::read_dir(bench.work()).unwrap().count(), 0);
}

#[test]
fn a_server_that_stands_still_is_ended_and_named() {
    let bench = Bench::new();
    let plan = bench.plan("", "read_seconds = 3600\nsteps = [\"point-query\"]\n", &["18"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    running.expect_line(&["a ", "load"]);
    // A session with some CPU time is in the window.
    let ticks = |pid: u32| -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(11)?.parse().ok()
    };
    wait_for("work", || sessions(&bench).into_iter().filter_map(ticks).find(|ticks| *ticks > 50));
    for (pid, arguments) in bench.processes() {
        if arguments.contains("postgres") {
            send(pid, Signal::STOP);
        }
    }
    let ended = running.end().expect(3);
    assert!(ended.stderr.contains("its server is paused"), "{}", ended.stderr);
    bench.expect_no_process();
}

#[test]
fn a_server_killed_between_its_windows_is_said_to_have_died() {
    let bench = Bench::new();
    // Windows with a rate run one after the other, while the other servers are frozen.
    let workload = "steps = [\"point-query\"]\n\
        [isolated]\nwindow_seconds = 2\nwindows = 2\ncontrol = false\ncount_instructions = false\n\
        [test.point-query]\nrate_per_second = 500\n";
    let plan = bench.plan("protocol = \"isolated\"\nbudget = \"1s\"\n", workload, &["18", "18"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    running.expect_line(&["block 1 of"]);
    let frozen = || {
        let mains = bench.processes().into_iter().filter(|(_, line)| line.contains("bin/postgres"));
        let is_frozen = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains(") T ")
        };
        mains.map(|(pid, _)| pid).find(is_frozen)
    };
    send(wait_for("a server that is held still", frozen), Signal::KILL);
    let ended = running.end().expect(0);
    assert!(ended.stderr.contains("void, will be repeated"), "{}", ended.stderr);
    assert!(ended.stderr.contains("the server died in step"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("cannot pin"), "{}", ended.stderr);
    bench.expect_no_process();
}
