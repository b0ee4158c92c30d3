//! Figures of real MySQL and MariaDB servers, and their exactness for known work.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod conditions;
mod servers;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use conditions::until;
use rqps_model::Dbms;
use rqps_probe::counters::CounterSet;
use rqps_probe::mysql::counters::{OWN_QUESTIONS, snapshot};
use rqps_probe::mysql::work::work;
use rqps_probe::mysql::{about, explain, fingerprint, settle, threads, waits};
use rqps_probe::waits::RUNNING;
use rqps_probe::{PerfCounters, ServerTarget, WindowProbe, WorkIn};
use rqps_servers::config_from_text;
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::Session;
use rqps_wire::mysql::Connection;
use servers::{ROWS, assert_always_found, change, run_known_statements, sample_states};
use tempfile::TempDir;

/// States of the sessions of `check_waits`.
const STATES: [&str; 3] = ["Client", "Lock", RUNNING];
/// More flushes per second than idle background threads do.
const BACKGROUND_FLUSHES_PER_S_MAX: f64 = 20.0;

fn connect(server: &Scratch) -> Connection {
    let endpoint = by_socket(server);
    Connection::connect(&endpoint, "rqps-probe-test").unwrap()
}

/// A server with performance_schema, a log flush at each commit, and one table of [`ROWS`] rows; and a connection to
/// it. It is on a disk: in memory, MariaDB maps its log, which needs no fsync.
fn server_with_table(dbms: Dbms, version: &str) -> (Scratch, Connection, TempDir) {
    let permissions = Permissions::from_mode(0o755);
    let disk = tempfile::Builder::new().permissions(permissions).tempdir_in("/var/tmp").unwrap();
    let server = Scratch::start_of(dbms, version, |spec| {
        spec.data_dir = disk.path().join("data");
        let text = "innodb_buffer_pool_size = 64M\nperformance_schema = ON\ninnodb_flush_log_at_trx_commit = 1\n\
            thread_cache_size = 0\ninnodb_stats_auto_recalc = OFF\n";
        spec.config = config_from_text(dbms, "watched", text).unwrap();
    });
    let server = server.unwrap();
    let mut monitor = connect(&server);
    monitor.simple("CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL) ENGINE = InnoDB").unwrap();
    let rows: Vec<String> = (1..=ROWS).map(|id| format!("({id}, {id})")).collect();
    monitor.simple(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
    monitor.query("ANALYZE TABLE t").unwrap();
    (server, monitor, disk)
}

/// Statements, rows, pages, log and flushes match the work done, immediately and with the clients still connected.
fn check_exact(server: &Scratch, monitor: &mut Connection) {
    let mut clients = [connect(server), connect(server)];
    run_known_statements(&mut clients);
    let mut before = snapshot(monitor).unwrap();
    for round in 0..2 {
        let began = Instant::now();
        run_known_statements(&mut clients);
        let after = snapshot(monitor).unwrap();
        let deltas = CounterSet::difference(&before, &after);
        let what = format!("{}, round {round}", monitor.server_version());
        assert_eq!(change(&deltas, "global_status", "", "questions"), ROWS + OWN_QUESTIONS, "{what}");
        assert_eq!(change(&deltas, "global_status", "", "com_update"), 400, "{what}");
        assert_eq!(change(&deltas, "table_io", "t", "rows_updated"), 400, "{what}");
        assert_eq!(change(&deltas, "table_io", "all", "rows_read"), ROWS, "{what}");
        let done = work(&deltas);
        let what = format!("{what}: {done:?}");
        // Each statement reads its row by key, and 400 update it.
        assert_eq!(done.rows_touched, Some(1_400.0), "{what}");
        // Purge and the page cleaner touch pages, too: on a busy machine more than the statements.
        assert!((1_400.0..60_000.0).contains(&done.blocks_touched.unwrap()), "{what}");
        assert!((40_000.0..800_000.0).contains(&done.wal_bytes.unwrap()), "{what}");
        // One per update. 8.0 may write the log of a commit in two parts; background threads flush, too, in
        // proportion to the elapsed time.
        let most = 1_000.0 + BACKGROUND_FLUSHES_PER_S_MAX * began.elapsed().as_secs_f64();
        assert!((390.0..most).contains(&done.fsyncs.unwrap()), "{what}, at most {most}");
        before = after;
    }
    let idle = work(&CounterSet::difference(&before, &snapshot(monitor).unwrap()));
    assert_eq!(idle.rows_touched, Some(0.0), "{idle:?}");
}

/// Settings have the configured values, and those that were set are not at their default.
fn check_about(monitor: &mut Connection, has_sources: bool) {
    let facts = about::build_facts(monitor).unwrap();
    assert!(facts.iter().any(|(name, value)| name == "machine" && value == "x86_64"), "{facts:?}");
    let settings = about::settings(monitor).unwrap();
    let setting = |name: &str| settings.iter().find(|setting| setting.name == name).unwrap();
    assert_eq!(setting("innodb_buffer_pool_size").value, (64 << 20).to_string());
    assert!(!setting("innodb_buffer_pool_size").default, "{:?}", setting("innodb_buffer_pool_size"));
    assert_eq!(setting("innodb_io_capacity").default, has_sources, "{:?}", setting("innodb_io_capacity"));
    assert_eq!(setting("innodb_io_capacity").source == "unknown", !has_sources);
}

fn check_plan(monitor: &mut Connection) {
    for sql in ["DELETE FROM t WHERE id = 7;", "SELECT v, 'a;b' FROM t WHERE id BETWEEN 3 AND 9"] {
        let plan = explain::explain(monitor, "kind", sql).unwrap().unwrap();
        assert!(plan.text.contains("PRIMARY") && !plan.text.contains("not executable"), "{}", plan.text);
        let json: serde_json::Value = serde_json::from_str(&plan.json).unwrap();
        assert!(json["query_block"].to_string().contains("PRIMARY"), "{json}");
    }
    for sql in ["SELECT 1; DELETE FROM t", "ANALYZE DELETE FROM t", "EXPLAIN DELETE FROM t"] {
        assert_eq!(explain::explain(monitor, "kind", sql).unwrap(), None, "{sql}");
    }
    let left = monitor.query("SELECT count(*) FROM t").unwrap();
    assert_eq!(left.value(), Some("1000"), "nothing was executed");
}

/// Updates during an old read view create history and dirty pages; after the reader commits and pages are flushed, both
/// disappear, and the facts show it.
fn check_debt(server: &Scratch, monitor: &mut Connection) {
    let mut reader = connect(server);
    reader.simple("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    reader.simple("SELECT count(*) FROM t").unwrap();
    // A server that is idle for a moment flushes its dirty pages, so new ones are needed.
    let held = until("dirty pages and a log behind them", || {
        for id in 1..=200 {
            monitor.simple(&format!("UPDATE t SET v = v + 1 WHERE id = {id}")).unwrap();
        }
        let held = settle::facts(monitor).unwrap();
        (held.dirty_pages > 0 && held.checkpoint_age_bytes > 200 * 50).then_some(held)
    });
    let state = fingerprint::fingerprint(monitor).unwrap();
    assert!(held.history_list_length >= 190, "{held:?}");
    assert!(held.dirty_pages < held.data_pages, "{held:?}");
    let table_figure = |figure: &str| state.number(&format!("table.t.{figure}")).unwrap();
    assert!(
        (900..=1_100).contains(&table_figure("live_rows")) && table_figure("data_bytes") >= 16_384,
        "{state:?}"
    );
    // There is only one table.
    assert_eq!(state.number("live_rows"), Some(table_figure("live_rows")));
    table_figure("changed_rows");
    let has = |name: &str| state.get(name).is_some();
    assert!(has("history_list_length") && has("setting.innodb_buffer_pool_size"), "{state:?}");
    assert!(!has("setting.datadir") && !has("setting.information_schema_stats_expiry"));

    reader.simple("COMMIT").unwrap();
    for sql in [
        "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
        "SET GLOBAL innodb_max_dirty_pages_pct = 0",
        // Purged transactions leave the list immediately.
        "SET GLOBAL innodb_purge_rseg_truncate_frequency = 1",
        // 5.7 purges nothing before the next write.
        "UPDATE t SET v = v + 1 WHERE id = 1",
    ] {
        monitor.simple(sql).unwrap();
    }
    until("a server at rest", || {
        let now = settle::facts(monitor).unwrap();
        let is_at_rest = now.history_list_length < held.history_list_length / 2
            && now.dirty_pages == 0
            && now.pending_io == 0;
        is_at_rest.then_some(())
    });
}

/// Kills a session on drop, also if the test fails, which would otherwise wait for hours.
struct KillOnDrop<'a> {
    monitor: &'a mut Connection,
    id: u32,
}

impl Drop for KillOnDrop<'_> {
    fn drop(&mut self) {
        let killed = self.monitor.simple(&format!("KILL {}", self.id));
        assert!(killed.is_ok() || std::thread::panicking(), "{killed:?}");
    }
}

/// A session that waits for a row lock is found waiting, a working one running, and the holder of the lock waits for
/// its client.
fn check_waits(server: &Scratch, monitor: &mut Connection) {
    let mut holder = connect(server);
    holder.simple("BEGIN").unwrap();
    holder.simple("UPDATE t SET v = v + 1 WHERE id = 7").unwrap();
    let mut worker = connect(server);
    let mut waiter = connect(server);
    let ids = [holder.backend_id(), worker.backend_id(), waiter.backend_id()];
    let mut query = waits::state_query(connect(server), &ids).unwrap();
    // A wait for a lock that begins after the first sample is found, too.
    until("three sessions asleep", || {
        query().unwrap().iter().all(|(kind, _)| kind == "Client").then_some(())
    });
    let waits = std::thread::scope(|scope| {
        let waiting = scope.spawn(move || waiter.simple("DELETE FROM t WHERE id = 7").unwrap());
        // Runs for hours.
        let working =
            scope.spawn(move || worker.query("SELECT benchmark(1000000000000, md5('a'))").map(|_| ()));
        let killer = KillOnDrop { monitor, id: ids[1] };
        let waits = sample_states(&STATES, query);
        drop(killer);
        holder.simple("ROLLBACK").unwrap();
        waiting.join().unwrap();
        // The result of a killed session differs between versions.
        let _result = working.join().unwrap();
        waits
    });
    assert_always_found(&STATES, &waits);
}

/// CPU of a session is its thread's, that of an ended session is not lost, and the roles of the other threads are
/// known. All parts add up to the process's CPU.
fn check_window(server: &Scratch, monitor: &mut Connection) {
    const WORK: &str = "SELECT benchmark(3000000, md5('a'))";
    let mut client = connect(server);
    let perf = PerfCounters::attach(server.pid());
    let gone = connect(server).backend_id();
    // The server removes closed sessions with a delay.
    let others = "SELECT count(*) FROM information_schema.processlist WHERE user = 'rqps'";
    until("only two sessions", || (monitor.number(others).unwrap() == Some(2)).then_some(()));
    let sessions = threads::os_threads(monitor, &[client.backend_id(), gone + 1_000]).unwrap();
    assert!(sessions[0].is_some() && sessions[1].is_none(), "{sessions:?}");
    let roles = threads::roles(monitor).unwrap();
    let target = ServerTarget { pid: server.pid(), work_in: WorkIn::Threads(roles) };
    let ids = sessions.iter().map(|thread| thread.unwrap_or(0)).collect();
    let probe = WindowProbe::new(target, ids, Some(perf));
    let begin = probe.begin().unwrap();
    client.query(WORK).unwrap();
    let mut short = connect(server);
    let thread = threads::os_threads(monitor, &[short.backend_id()]).unwrap()[0].unwrap();
    short.query(WORK).unwrap();
    drop(short);
    until("the end of a thread", || {
        (!std::path::Path::new(&format!("/proc/{}/task/{thread}", server.pid())).exists()).then_some(())
    });
    let cost = probe.end(&begin).unwrap();

    let server_us = cost.server.cpu.cpu_us as f64;
    let session_us = cost.server.backends[0].cpu_us.unwrap() as f64;
    let by_role = |role: &str| cost.server.background.iter().find(|found| found.role == role);
    let ended_us = by_role("ended within the window").map_or(0.0, |role| role.cpu_us as f64);
    assert!((0.25..0.75).contains(&(session_us / server_us)), "{cost:?}");
    assert!((0.25..0.75).contains(&(ended_us / server_us)), "{cost:?}");
    assert!(cost.server.backends[0].queued_us.is_some() && cost.server.backends[1].cpu_us.is_none());
    let background: u64 = cost.server.background.iter().map(|role| role.cpu_us).sum();
    assert_eq!(cost.server.backends[0].cpu_us.unwrap() + background, cost.server.cpu.cpu_us, "{cost:?}");
    for role in ["main", "page cleaner", "signal handler", "other session"] {
        assert_eq!(
            by_role(role).map(|role| role.processes),
            Some(1),
            "{role} in {:?}",
            cost.server.background
        );
    }
    // MySQL 5.7 has a few threads that are not in performance_schema; they wake up now and then.
    let other_us = by_role("other thread").map_or(0, |role| role.cpu_us);
    assert!(
        other_us as f64 <= server_us / 100.0 + cost.elapsed_us as f64 / 1000.0,
        "{:?}",
        cost.server.background
    );
    assert!(cost.server.memory.private_kb > 10_000 && cost.server.io.is_some(), "{:?}", cost.server);
    assert!(cost.server.voluntary_switches > 0, "{:?}", cost.server);
    if let Some(clock_us) = cost.perf.task_clock_us {
        // They are read one after the other, with a delay on a busy machine.
        let apart_us = (clock_us as f64 - server_us).abs();
        assert!(apart_us < 100_000.0 + 0.05 * server_us, "{clock_us} us by perf, {server_us} us by /proc");
    }
}

fn check_all(dbms: Dbms, version: &str, has_sources: bool) {
    let (server, mut monitor, _disk) = server_with_table(dbms, version);
    check_exact(&server, &mut monitor);
    check_about(&mut monitor, has_sources);
    check_plan(&mut monitor);
    check_window(&server, &mut monitor);
    check_waits(&server, &mut monitor);
    check_debt(&server, &mut monitor);
}

#[test]
fn mysql_5_figures_are_exact() {
    check_all(Dbms::Mysql, "5.7.22", false);
}

#[test]
fn mysql_8_figures_are_exact() {
    check_all(Dbms::Mysql, "8.0.31", true);
}

#[test]
fn mariadb_figures_are_exact() {
    check_all(Dbms::Mariadb, "10.11", true);
}

/// MariaDB's default. Threads of sessions are known, others are not, and figures from performance_schema are left out.
#[test]
fn a_server_without_performance_schema_has_the_other_figures() {
    let server = Scratch::start_of(Dbms::Mariadb, "11.4", |spec| {
        spec.config = config_from_text(Dbms::Mariadb, "blind", "performance_schema = OFF\n").unwrap();
    });
    let server = server.unwrap();
    let mut monitor = connect(&server);
    monitor.simple("CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL) ENGINE = InnoDB").unwrap();
    monitor.simple("INSERT INTO t VALUES (1, 1), (2, 2)").unwrap();
    let before = snapshot(&mut monitor).unwrap();
    monitor.simple("UPDATE t SET v = v + 1").unwrap();
    let after = snapshot(&mut monitor).unwrap();
    let deltas = CounterSet::difference(&before, &after);
    assert!(!after.views().contains("table_io") && after.views().contains("innodb_metrics"));
    assert_eq!(change(&deltas, "global_status", "", "questions"), 1 + OWN_QUESTIONS);
    assert_eq!(work(&deltas).rows_touched, Some(4.0), "{:?}", work(&deltas));
    let own = monitor.backend_id();
    let thread = threads::os_threads(&mut monitor, &[own]).unwrap()[0].unwrap();
    assert_eq!(threads::roles(&mut monitor).unwrap()[&thread], "other session");
    let client = connect(&server);
    let mut query = waits::state_query(monitor, &[client.backend_id()]).unwrap();
    // It is still working for a moment after the login.
    let asleep = [("Client".to_owned(), "Sleep".to_owned())];
    until("a session asleep", || (query().unwrap() == asleep).then_some(()));
}
