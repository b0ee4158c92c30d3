//! Ctrl-C and SIGTERM: servers are shut down cleanly and promptly, and a resumed run is complete.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::bench::{Bench, Running, wait_for};
use crate::data::connect;

/// Time limit from the signal to the end, in a debug build on a busy machine.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends a signal and expects a clean interruption.
#[track_caller]
fn interrupt(bench: &Bench, running: Running, signal: Signal) {
    let sent = Instant::now();
    running.signal(signal);
    let ended = running.end().expect(130);
    assert!(sent.elapsed() < STOP_TIMEOUT, "{:?}\n{}", sent.elapsed(), ended.stderr);
    assert!(ended.stderr.contains("rqps: interrupted"), "{}", ended.stderr);
    assert!(ended.stderr.contains("kept:           "), "{}", ended.stderr);
    bench.expect_no_process();
    let status = bench.call(&["status"]).expect(0).stdout;
    assert!(status.contains("interrupted"), "{status}");
}

#[test]
fn interrupted_in_every_kind_of_action_a_run_ends_up_complete() {
    let bench = Bench::new();
    let workload = "rows = 50_000\nvacuum_after_load = true\n\
        steps = [\"update-index\", \"settle\", \"scan\"]\n";
    let plan = bench.plan("", workload, &["18"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    // While the data directory is created, the server starts, rows are loaded, steps are measured; on a busy machine
    // everything is later.
    let moments = [(100, Signal::INT), (1400, Signal::TERM), (2200, Signal::TERM), (1800, Signal::INT)];
    for (wait_ms, signal) in moments {
        running.expect_line(&["run folder"]);
        std::thread::sleep(Duration::from_millis(wait_ms));
        if running.has_ended() {
            break;
        }
        interrupt(&bench, running, signal);
        running = bench.start(&["resume"]);
    }
    // The signal may come before the handler is active, or after the end.
    if !running.has_ended() {
        running.signal(Signal::INT);
    }
    let ended = running.end();
    if ended.code() != Some(0) {
        bench.call(&["resume"]).expect(0);
    }
    bench.expect_complete(5);
}

#[test]
fn a_statement_that_would_never_end_does_not_keep_it_from_stopping() {
    let bench = Bench::new();
    let workload = "read_seconds = 3\nsteps = [\"scan\", \"settle\"]\n";
    let plan = bench.plan("", workload, &["18"]);
    // A lock that blocks every statement of a step, and one that blocks only VACUUM.
    let cases = [("ACCESS EXCLUSIVE", ["a ", "load"]), ("SHARE UPDATE EXCLUSIVE", ["actions", "are done"])];
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    for (mode, after) in cases {
        running.expect_line(&after);
        let mut locker = connect(&bench);
        let lock = format!("BEGIN; LOCK TABLE sbtest1 IN {mode} MODE");
        locker.query(&lock).unwrap();
        wait_for("a blocked statement", || {
            let blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            (locker.query(blocked).unwrap().value() != Some("0")).then_some(())
        });
        interrupt(&bench, running, Signal::INT);
        drop(locker);
        let logs = bench.folder().join("logs/a/data.log");
        let log = fs::read_to_string(logs).unwrap();
        assert!(log.contains("canceling statement due to user request"), "{log}");
        assert!(log.trim_end().ends_with("database system is shut down"), "{log}");
        running = bench.start(&["resume"]);
    }
    running.end().expect(0);
    let log = fs::read_to_string(bench.folder().join("logs/a/data.log")).unwrap();
    assert!(!log.contains("not properly shut down"), "{log}");
    bench.expect_complete(2);
}

#[test]
fn under_nohup_a_closed_terminal_is_no_reason_to_stop() {
    let bench = Bench::new();
    let plan = bench.plan("", "steps = [\"point-query\"]\n", &["18"]);
    let run = bench.rqps(&["run", plan.to_str().unwrap()]);
    let mut ignoring = Command::new("sh");
    ignoring
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(run.get_program())
        .args(run.get_args())
        .env("RQPS_WORK", bench.work())
        .current_dir(bench.path());
    let mut running = Running::of(ignoring);
    running.expect_line(&["a ", "load"]);
    running.signal(Signal::HUP);
    running.end().expect(0);
    bench.expect_complete(0);
}

#[test]
fn nobody_to_tell_of_progress_is_no_reason_to_stop() {
    let bench = Bench::new();
    let plan = bench.plan("", "steps = [\"point-query\"]\n", &["18"]);
    let mut command = bench.rqps(&["run", plan.to_str().unwrap()]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command.stderr(writer.try_clone().unwrap()).stdout(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
    bench.expect_complete(0);
}

#[test]
fn the_making_of_a_mysql_server_is_no_reason_to_go_on() {
    let bench = Bench::new();
    // A config of which no empty cluster is kept.
    let config = bench.path().join("small.cnf");
    let own_id = format!("server_id = {}", std::process::id());
    let text = fs::read_to_string(&config).unwrap().replace("server_id = 1", &own_id);
    assert!(text.contains(&own_id), "{text}");
    fs::write(&config, text).unwrap();
    let plan = bench.plan("", "steps = [\"point-query\"]\n", &["mysql-8.0.31"]);
    for signal in [Signal::TERM, Signal::INT] {
        let mut running = match bench.folders().is_empty() {
            true => bench.start(&["run", plan.to_str().unwrap()]),
            false => bench.start(&["resume"]),
        };
        while !bench.processes().iter().any(|(_, line)| line.contains("--initialize")) {
            assert!(!running.has_ended());
            std::thread::sleep(Duration::from_millis(5));
        }
        interrupt(&bench, running, signal);
    }
    bench.call(&["clean", "last"]).expect(0);
    assert_eq!(fs::read_dir(bench.work()).unwrap().count(), 0);
    // `serve` creates its server in the same way.
    let mut running = bench.start(&["serve", "mysql-8.0.31", "--config", config.to_str().unwrap()]);
    while !bench.processes().iter().any(|(_, line)| line.contains("--initialize")) {
        assert!(!running.has_ended());
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::TERM);
    running.end().expect(130);
    bench.expect_no_process();
}

/// Its plan and doses are deleted with it, so it could not be resumed.
#[test]
fn a_calibration_interrupted_in_its_first_run_leaves_no_data() {
    let bench = Bench::new();
    let build = ["--build", "postgres-18", "--rows", "2000", "--tests", "point-query"];
    let mut running = bench.start(&[&["calibrate"], build.as_slice()].concat());
    running.expect_line(&["sizing"]);
    running.signal(Signal::TERM);
    let ended = running.end().expect(130);
    assert!(ended.stderr.contains("rqps: interrupted"), "{}", ended.stderr);
    bench.expect_no_process();
    assert_eq!(fs::read_dir(bench.work()).unwrap().count(), 0, "{}", ended.stderr);
}

#[test]
fn a_command_that_is_served_ends_with_its_server() {
    let bench = Bench::new();
    let mut running =
        bench.start(&["serve", "postgres-18", "--", "sh", "-c", "echo it runs >&2; exec sleep 3600"]);
    running.expect_line(&["it runs"]);
    running.signal(Signal::TERM);
    running.end().expect(130);
    bench.expect_no_process();
    assert_eq!(fs::read_dir(bench.work()).unwrap().count(), 0);
}
