//! The real HammerDB on a real server: it exits with 0 whatever happens, and failures are seen all the same.

#![allow(clippy::unwrap_used, reason = "a failed unwrap in a helper fails the test")]

use rqps_driver::hammerdb::{Build, Error, Installed, System, Target, TimedRun, build, run};
use rqps_driver::{Observer, StepError};
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::postgres::Connection;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

/// HammerDB, installed where it is missing.
fn hammerdb() -> Installed {
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/hammerdb-install");
    let output = Command::new(tool).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "these tests need HammerDB, and it could not be installed: {said}");
    Installed { home: String::from_utf8_lossy(&output.stdout).trim().into() }
}

struct Patient;

impl Observer for Patient {
    fn window_opens(&mut self, _sessions: &[u32]) {}
    fn window_closes(&mut self) {}
    fn statistics_complete(&mut self) {}
    fn progress(&mut self, _phase: &'static str, _elapsed_s: f64, _events: u64) {}
    fn cancelled(&mut self) -> bool {
        false
    }
    fn force(&mut self) {}
}

#[test]
fn failures_are_seen_and_a_build_can_be_stopped() {
    let hammerdb = hammerdb();
    assert_eq!(hammerdb.version().unwrap(), "5.0");
    let server = Scratch::start("18").unwrap();
    let endpoint = by_socket(&server);
    let target = Target {
        system: System::Postgres { has_procedures: true },
        endpoint: endpoint.clone(),
        session_name: "rqps client".to_owned(),
    };

    // Nothing is loaded.
    let timed = TimedRun {
        users: 1,
        rampup: Duration::from_secs(6),
        duration: Duration::from_secs(6),
        all_warehouses: true,
        keying_and_think_time: false,
    };
    let error = run(&hammerdb, &target, &timed, &mut Patient).unwrap_err();
    let StepError::HammerDb(error) = error else { panic!("{error}") };
    assert!(error.words().is_some_and(|words| words.contains("\"warehouse\" does not exist")), "{error}");

    // Killed.
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("hammerdbcli");
    fs::write(&program, "#!/bin/sh\nkill -KILL $$\n").unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let killed = run(&Installed { home: home.path().into() }, &target, &timed, &mut Patient).unwrap_err();
    assert!(killed.to_string().contains("it ended early (signal: 9 (SIGKILL))"), "{killed}");

    // Stopped as soon as rows are loaded.
    let one = Build { warehouses: 1, users: 1, partitions: false };
    let mut phases = Vec::new();
    let stopped = build(&hammerdb, &target, &one, &mut |phase| {
        phases.push(phase);
        phase != "items"
    });
    assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
    assert!(phases.contains(&"items"), "{phases:?}");

    // Its tables are there now.
    let again = build(&hammerdb, &target, &one, &mut |_| true).unwrap_err();
    assert!(again.words().is_some_and(|words| words.contains("not empty")), "{again}");

    // The error does not repeat the password, which HammerDB prints.
    assert!(!again.to_string().contains(&endpoint.password), "{again}");
    Connection::connect(&endpoint, "rqps client").unwrap();
    drop(server);
    let gone = build(&hammerdb, &target, &one, &mut |_| true).unwrap_err();
    assert!(gone.lost_server(), "{gone}");
}
