//! MySQL and MariaDB: complete sequences, killed servers, blocks, many clients.

use std::time::{Duration, Instant};

use rqps_model::Dbms;
use rqps_store::{BlockStatus, Count, Recorded, Role, Run, Status};
use rqps_wire::mysql::Connection;
use rustix::process::Signal;

use crate::bench::{Bench, send, wait_for};
use crate::data::kept;
use crate::insert::at_work;

const OLD: &str = "mysql-5.7.22";
const NEW: &str = "mysql-8.0.31";
const MARIADB: &str = "mariadb-11.4.5";

/// Writing steps with a settle between them, and some reading ones; one of each kind by time.
const STEPS: &str = "steps = [\"update-index\", \"write-only\", \"settle\", \"points-covered-si\", \"scan\", \
    \"read-write_range=10\", \"delete\", \"insert\"]\n\
    [test.update-index]\nevents = 500\n[test.write-only]\nevents = 100\n[test.scan]\nevents = 2\n\
    [test.delete]\nevents = 300\n[test.insert]\nevents = 500\n";

/// The main process of the running server.
fn server(bench: &Bench) -> Option<u32> {
    let is_server = |arguments: &str| {
        let program = arguments.split(' ').next().unwrap_or_default();
        program.ends_with("/mysqld") || program.ends_with("/mariadbd")
    };
    bench.processes().into_iter().find(|(_, arguments)| is_server(arguments)).map(|(pid, _)| pid)
}

/// A checksum of the rows in an arm's kept data.
fn checksum(bench: &Bench, arm: &str) -> String {
    let (server, _) = kept(bench, arm);
    let mut connection = Connection::connect(&rqps_executor::server::endpoint(&server), "test").unwrap();
    let sql = "SELECT concat(count(*), ' rows, ', sum(crc32(concat_ws(':', id, k, c, pad)))) FROM sbtest1";
    connection.query(sql).unwrap().value().unwrap().to_owned()
}

/// The server's counters of a window match the statements sent, and each session has CPU time.
#[track_caller]
fn expect_counted(run: &Run) {
    for window in &run.windows {
        let (action, result) = (&window.action, &window.result);
        assert!(window.valid(), "{action:?}");
        assert_eq!(window.connections.len(), result.clients as usize);
        assert!(window.connections.iter().all(|one| one.cpu_us > 0.0), "{action:?}");
        let counters = run.counters(action.seq).unwrap();
        let changed = |name: &str| {
            let of_status = |c: &&rqps_model::Counter| c.view == "global_status" && c.column == name;
            let counter = counters.iter().find(of_status).unwrap_or_else(|| panic!("no {name}"));
            counter.after.unwrap() - counter.before.unwrap()
        };
        let expected = match action.step.as_str() {
            "update-index" => Some("com_update"),
            "delete" => Some("com_delete"),
            "insert" => Some("com_insert"),
            _ => None,
        };
        if let Some(name) = expected {
            // Exact, since there is one client.
            assert_eq!(changed(name), result.statements.unwrap() as f64, "{name} in {action:?}");
        }
    }
}

#[test]
fn a_sequence_leaves_the_same_rows_on_every_version() {
    let bench = Bench::new();
    let plan = bench.plan("", &format!("settle_seconds_max = 60\n{STEPS}"), &[OLD, NEW, MARIADB]);
    bench.call(&["run", "--keep-data", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    assert_eq!(run.status.status, Status::Complete);
    assert_eq!(run.windows.len(), 21);
    expect_counted(&run);
    assert_eq!(run.settles.len(), 3);
    for settle in &run.settles {
        assert!(settle.result.reached, "{:?}", settle.result);
    }
    // The settle restores the options that it sets, as the next step's fingerprint shows.
    for window in &run.windows {
        let state = run.fingerprint(window.action.seq).unwrap();
        let setting =
            |name: &str| state.iter().find(|(key, _)| key.contains(name)).map(|(_, value)| value.as_str());
        let share = setting("innodb_max_dirty_pages_pct_lwm").unwrap();
        assert!(share.starts_with("70."), "{share} in {:?}", window.action);
    }
    let base = checksum(&bench, "a");
    assert_eq!(checksum(&bench, "b"), base);
    assert_eq!(checksum(&bench, "c"), base);
}

#[test]
fn killed_servers_lose_the_step_in_hand_and_nothing_else() {
    // The last second of commits is only in the server's memory.
    let workload = "read_seconds = 4\nsteps = [\"update-nonindex\", \"insert\", \"point-query\"]\n\
        [test.update-nonindex]\nevents = 1_000\n[test.insert]\nevents = 1_500\n";
    let rows = |build: &str| {
        let bench = Bench::new();
        let plan = bench.plan("", workload, &[build]);
        let mut running = bench.start(&["run", "--keep-data", plan.to_str().unwrap()]);
        running.expect_line(&["a ", "insert"]);
        std::thread::sleep(Duration::from_millis(300));
        send(server(&bench).expect("a server runs"), Signal::KILL);
        let ended = running.end().expect(3);
        assert!(ended.stderr.contains("the server died in step point-query"), "{}", ended.stderr);
        bench.expect_no_process();
        bench.call(&["resume", "--keep-data"]).expect(0);
        let run = bench.run();
        let repeated = run.actions.iter().filter(|action| action.attempt > 1);
        let repeated: Vec<&str> = repeated.map(|action| action.step.as_str()).collect();
        assert_eq!(repeated, ["point-query"]);
        checksum(&bench, "a")
    };
    // All versions do the same work, so equal checksums show that none has lost rows.
    let of_mysql = rows(NEW);
    assert!(of_mysql.starts_with("3500 rows"), "{of_mysql}");
    assert_eq!(rows(MARIADB), of_mysql);
}

#[test]
fn statements_that_would_go_on_for_long_are_ended() {
    let bench = Bench::new();
    let workload = "rows = 20_000\nsteps = [\"point-query\"]\nvacuum_after_load = true\n";
    let text = std::fs::read_to_string(bench.plan("", workload, &[NEW])).unwrap();
    let slow =
        "after_load = [\"SELECT count(*) FROM sbtest1 a, sbtest1 b, sbtest1 c WHERE a.k + b.k + c.k < 0\"]\n";
    let plan = bench.plan_text(&format!("{text}{slow}"));
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    running.expect_line(&["a ", "start"]);
    let mut session = at_work(&bench, Dbms::Mysql, "a");
    let at_it = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT%sbtest1 c%' \
                 AND id <> connection_id()";
    wait_for("the statement that would take hours", || {
        (session.value(at_it).as_deref() == Some("1")).then_some(())
    });
    drop(session);
    let since = Instant::now();
    running.signal(Signal::INT);
    running.end().expect(130);
    assert!(since.elapsed() < Duration::from_secs(60), "{:?}", since.elapsed());
    bench.expect_no_process();
}

#[test]
fn a_block_restores_and_freezes_servers_side_by_side() {
    let bench = Bench::new();
    let top = "protocol = \"isolated\"\nbudget = \"1s\"\n";
    let workload = "rows = 5_000\nsteps = [\"scan\", \"update-index\"]\n\
        [isolated]\nwindow_seconds = 0.1\nwindows = 2\nblocks_min = 1\n";
    let plan = bench.plan(top, workload, &[OLD, MARIADB]);
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    // Blocks during which the host changed are repeated.
    let done: Vec<u32> =
        run.blocks.iter().filter(|b| b.status == BlockStatus::Done).map(|b| b.number).collect();
    assert_eq!(done.len(), 1, "{}", ended.stderr);
    let counts = |w: &&Recorded<rqps_store::Window>| w.placement.is_some_and(|at| at.block == done[0]);
    for test in ["scan", "update-index"] {
        let mut windows: Vec<_> =
            run.windows.iter().filter(counts).filter(|w| w.action.step == test).collect();
        windows.sort_by_key(|window| window.placement.unwrap().slot);
        let arms: Vec<&str> = windows.iter().map(|window| window.action.arm.as_str()).collect();
        assert_eq!(arms.len(), 6, "{test}: base, its control and one other, twice each");
        assert!(windows.iter().all(|w| w.valid() && w.result.events == windows[0].result.events), "{test}");
        // While other arms have their windows, a server is frozen and uses no CPU.
        let cpu_us = windows.iter().map(|w| w.metric("server_cpu_us").unwrap());
        assert!(cpu_us.clone().all(|us| us > 0.0), "{test}: {:?}", cpu_us.collect::<Vec<_>>());
    }
    // If purge merged and split index pages on its own schedule, these counts would differ by factors of 0.6 to 1.6.
    // Waits of threads on a busy machine remain, sometimes a tenth.
    let base = run.arms.iter().find(|arm| arm.role == Role::Base).unwrap();
    let control = run.arms.iter().find(|arm| arm.control).unwrap();
    let counted = |arm: &str| {
        let is_of_arm =
            |count: &&Recorded<Count>| count.action.arm == arm && count.result.test == "update-index";
        run.counts.iter().find(is_of_arm).unwrap().result.instructions
    };
    let ratio = counted(&control.name) / counted(&base.name);
    assert!((ratio - 1.0).abs() < 0.25, "{ratio}");
    bench.expect_no_process();
}

#[test]
fn forty_clients_do_the_same_on_every_arm() {
    let bench = Bench::new();
    let workload = "clients = 40\ntables = 2\nsteps = [\"point-query\", \"update-index\", \"read-write_range=10\"]\n\
        [test.point-query]\nevents = 2_000\n";
    let plan = bench.plan("", workload, &[NEW, MARIADB]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    bench.expect_complete(0);
    let run = bench.run();
    for step in ["point-query", "update-index", "read-write_range=10"] {
        let work = |arm: &str| {
            let of = |w: &&Recorded<rqps_store::Window>| w.action.step == step && w.action.arm == arm;
            let window = run.windows.iter().find(of).unwrap();
            assert_eq!(window.connections.len(), 40);
            assert!(window.connections.iter().all(|one| one.cpu_us.is_finite()), "{arm}: a thread each");
            let series = run.series(window.action.seq).unwrap();
            series.into_iter().find(|one| one.name == "work-window").unwrap().values
        };
        let base = work("a");
        assert_eq!(base.len(), 40);
        assert_eq!(work("b"), base, "{step}");
    }
    let loads = run.loads.iter().filter(|load| load.result.rows == 4_000).count();
    assert_eq!(loads, 2);
}

/// A MySQL arm whose plan drops an index is warmed up with its remaining indexes.
#[test]
fn blocks_need_no_index_that_an_arm_was_told_to_drop() {
    let bench = Bench::new();
    let workload = "steps = [\"points-covered-si\"]\n\
        [isolated]\nwindow_seconds = 0.1\nwindows = 2\ncontrol = false\ncount_instructions = false\n";
    let plan = bench.plan("protocol = \"isolated\"\nbudget = \"1s\"\n", workload, &[NEW, NEW]);
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, format!("{text}after_load = [\"DROP INDEX k_1 ON sbtest1\"]\n")).unwrap();
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    assert_eq!(run.windows.iter().filter(|window| window.action.arm == "b" && window.valid()).count(), 2);
    bench.expect_no_process();
}
