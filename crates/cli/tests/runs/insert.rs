//! The Insert Benchmark with real servers: equal content of all arms, kills in the middle of a step, unreachable rates,
//! many clients.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rqps_model::{ConnectionCpu as Stored, Dbms, EndedBy, Pacer};
use rqps_servers::Server;
use rqps_store::{Outcome, Recorded, Run, Window};
use rqps_wire::{Endpoint, Host, mysql, postgres};
use rqps_workloads::Dialect;
use rqps_workloads::insert_benchmark::{checksum_sql, newest_number_sql};

use crate::bench::{Bench, exact_version};
use crate::data::kept;
use crate::data::password_on;

const MYSQL: &str = "mysql-8.0.31";
const MARIADB: &str = "mariadb-10.11.5";
/// Time limit of waiting for a server or for rows.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A plan with arms `a`, `b`, … of these builds (`18`, `mysql-8.0.31`); `workload` and `insert` go into the tables of
/// these names.
pub fn plan(bench: &Bench, workload: &str, insert: &str, builds: &[&str]) -> PathBuf {
    let mut text = format!(
        "name = \"t\"\nbase = \"a\"\nseed = 7\n[workload]\nbenchmark = \"insert\"\n\
         settle_seconds_max = 10\n{workload}\n[insert]\nsettle_seconds = 0\n{insert}\n"
    );
    for (name, build) in ('a'..).zip(builds) {
        let (build, config) = match build.contains('-') {
            true => ((*build).to_owned(), "./small.cnf"),
            false => (format!("postgres-{}", exact_version(build)), "./small.conf"),
        };
        text += &format!("[[arm]]\nname = \"{name}\"\nbuild = \"{build}\"\nconfig = \"{config}\"\n");
    }
    bench.plan_text(&text)
}

/// A session of either protocol.
pub enum Session {
    Postgres(postgres::Connection),
    Mysql(mysql::Connection),
}

impl Session {
    fn connect(dbms: Dbms, endpoint: &Endpoint) -> Result<Self, rqps_wire::Error> {
        Ok(match dbms {
            Dbms::Postgres => Self::Postgres(postgres::Connection::connect(endpoint, "test")?),
            Dbms::Mysql | Dbms::Mariadb => Self::Mysql(mysql::Connection::connect(endpoint, "test")?),
            Dbms::Rocksdb | Dbms::Directory => unreachable!("SQL for what has none"),
        })
    }

    fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Mysql(_) => Dialect::Mysql,
        }
    }

    /// The first value of a query, if any.
    pub fn value(&mut self, sql: &str) -> Option<String> {
        let table = match self {
            Self::Postgres(session) => session.query(sql),
            Self::Mysql(session) => session.query(sql),
        };
        table.unwrap().value().map(str::to_owned)
    }

    /// The number of the newest statement in the first table; 0 without any.
    fn newest(&mut self) -> u64 {
        let sql = newest_number_sql(self.dialect(), 1);
        self.value(&sql).map_or(0, |text| text.parse().unwrap())
    }
}

/// A session with a server on an arm's kept data, and that server.
fn session_on(bench: &Bench, arm: &str) -> (Session, Server) {
    let (server, dbms) = kept(bench, arm);
    (Session::connect(dbms, &rqps_executor::server::endpoint(&server)).unwrap(), server)
}

/// Checksums of an arm's tables 1 to `tables`.
pub fn content(bench: &Bench, arm: &str, tables: u32) -> Vec<String> {
    let (mut session, _server) = session_on(bench, arm);
    let dialect = session.dialect();
    (1..=tables).map(|table| session.value(&checksum_sql(dialect, table)).unwrap()).collect()
}

/// A summary of the keys in an arm's first table.
pub fn keys(bench: &Bench, arm: &str) -> String {
    let (mut session, _server) = session_on(bench, arm);
    let sql = "SELECT concat(count(*), ' from ', min(transactionid), ' to ', max(transactionid), ', in all ', \
        sum(transactionid)) FROM pi1";
    session.value(sql).unwrap()
}

/// A session with the server of an arm of the run in progress.
pub fn at_work(bench: &Bench, dbms: Dbms, arm: &str) -> Session {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let runs = std::fs::read_dir(bench.work()).unwrap().flatten();
        let data =
            runs.map(|run| run.path().join(arm).join("data")).find(|data| data.join("rqps.json").exists());
        let session = data.and_then(|data| {
            let endpoint = Endpoint {
                host: Host::Unix(data.with_extension("sock")),
                port: if dbms == Dbms::Postgres { 5432 } else { 3306 },
                user: rqps_servers::USER.to_owned(),
                password: password_on(&data)?,
                database: rqps_servers::DATABASE.to_owned(),
            };
            Session::connect(dbms, &endpoint).ok()
        });
        if let Some(session) = session {
            return session;
        }
        assert!(Instant::now() < deadline, "no server of arm {arm}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn window<'a>(run: &'a Run, arm: &str, step: &str) -> &'a Recorded<Window> {
    let found = run.windows.iter().find(|window| window.action.arm == arm && window.action.step == step);
    found.unwrap_or_else(|| panic!("no {step} on {arm}"))
}

#[track_caller]
fn metric(window: &Recorded<Window>, name: &str) -> f64 {
    window.metric(name).unwrap_or_else(|| panic!("{}: no {name}", window.action.step))
}

fn roles(window: &Recorded<Window>) -> Vec<(&str, u32)> {
    window.connections.iter().map(|Stored { role, client, .. }| (role.as_str(), *client)).collect()
}

/// Checks that each step has recorded all its figures.
fn check_windows(run: &Run, arm: &str, is_postgres: bool) {
    for window in run.windows.iter().filter(|window| window.action.arm == arm) {
        let step = window.action.step.as_str();
        assert_eq!(window.action.outcome, Outcome::Done, "{arm} {step}: {:?}", window.action.note);
        let deletes = !matches!(step, "l.i0" | "l.x");
        let asks = step.starts_with('q');
        let mut expected = vec!["insert"];
        expected.extend(deletes.then_some(["delete", "maker"]).into_iter().flatten());
        expected.extend(asks.then_some("query"));
        let by_client = |client| expected.iter().map(move |role| (*role, client));
        assert_eq!(roles(window), by_client(0).chain(by_client(1)).collect::<Vec<_>>(), "{arm} {step}");
        assert!(window.connections.iter().map(|one| one.cpu_us).sum::<f64>() > 0.0);
        assert_eq!(window.metric("deleted_rows"), deletes.then(|| metric(window, "inserted_rows")), "{step}");
        assert_eq!(window.result.ended_by, EndedBy::Work);
        if asks {
            let (achieved, target) =
                (metric(window, "background_rows_per_s"), metric(window, "background_target_rows_per_s"));
            let kept = achieved >= 0.95 * target;
            assert_eq!(
                metric(window, "background_kept"),
                f64::from(u8::from(kept)),
                "{achieved} of {target}"
            );
        }
        assert_eq!(window.result.pacer, asks.then_some(Pacer::Even));
        let debt = if is_postgres { "dead_rows" } else { "history_list_length" };
        for name in ["table_bytes", "index_bytes", debt] {
            metric(window, &format!("{name}_before"));
            metric(window, &format!("{name}_after"));
        }
        let names: Vec<String> =
            run.series(window.action.seq).unwrap().into_iter().map(|one| one.name).collect();
        for (name, there) in [("inserts", true), ("delete_max_us", deletes), ("queries", asks)] {
            assert_eq!(names.iter().any(|known| known == name), there, "{step}: {name} in {names:?}");
        }
        let kinds: Vec<String> =
            run.histograms(window.action.seq).unwrap().into_iter().map(|one| one.statement).collect();
        assert!(kinds.contains(&"insert".to_owned()) && !kinds.contains(&"min".to_owned()), "{kinds:?}");
    }
}

#[test]
fn arms_of_all_dbmss_hold_the_same_rows_after_each_client_s_writes() {
    let bench = Bench::new();
    let steps =
        "clients = 2\nsteps = [\"l.i0\", \"l.x\", \"l.i1\", \"l.i2\", \"settle\", \"qr100\", \"qp100\"]";
    let sizes = "load_rows = 3_030\nwrite_rows = 1_503\nquery_seconds = 1";
    let builds = ["18", "11", MYSQL, MARIADB];
    let plan = plan(&bench, steps, sizes, &builds);
    bench.call(&["run", "--keep-data", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    for (arm, build) in ["a", "b", "c", "d"].into_iter().zip(builds) {
        check_windows(&run, arm, !build.contains('-'));
        let loaded = window(&run, arm, "l.i0");
        assert_eq!((&*loaded.result.unit.key, loaded.result.rows.unwrap()), ("rows", 2 * 3_030));
        assert_eq!(window(&run, arm, "l.x").result.rows.unwrap(), 2 * 3_130, "rows that are indexed");
        let asked = window(&run, arm, "qr100");
        assert_eq!(asked.result.unit.key, "queries");
        assert_eq!(metric(asked, "background_target_rows_per_s"), 200.0);
        assert!((9.0..=10.0).contains(&metric(asked, "rows_per_query")), "{arm}");
        let tells_buffers = build == "18";
        assert_eq!(asked.metric("planning_buffers_after").is_some(), tells_buffers, "{arm}");
        let plans = run.plans(asked.action.seq).unwrap();
        assert!(plans.iter().any(|plan| plan.statement == "delete" && !plan.text.is_empty()), "{arm}");
    }
    let of_base = content(&bench, "a", 2);
    assert!(of_base[0].starts_with("3130:") && of_base[0] != of_base[1], "{of_base:?}");
    for arm in ["b", "c", "d"] {
        assert_eq!(content(&bench, arm, 2), of_base, "{arm}");
    }
}

/// Kills rqps and its servers once in l.i1 and once in qr500 on arm `a`; `b` is undisturbed.
fn killed_in_the_middle(build: &str, dbms: Dbms) {
    let bench = Bench::new();
    let steps = "steps = [\"l.i0\", \"l.x\", \"l.i1\", \"l.i2\", \"qr500\"]";
    let sizes = "load_rows = 10_000\nwrite_rows = 20_000\nquery_seconds = 3";
    let plan = plan(&bench, steps, sizes, &[build, build]);
    let mut running = bench.start(&["run", "--keep-data", plan.to_str().unwrap()]);
    // l.i1 has 320 statements from number 101 on; qr500 has the last 30, after 800 of l.i2.
    for (step_before, until) in [("l.x", 101 + 100), ("l.i2", 101 + 320 + 800 + 12)] {
        running.expect_line(&["a ", step_before]);
        let mut session = at_work(&bench, dbms, "a");
        let deadline = Instant::now() + TIMEOUT;
        while session.newest() < until {
            assert!(Instant::now() < deadline, "timeout: statement {until}");
            std::thread::sleep(Duration::from_millis(2));
        }
        running.kill();
        bench.expect_no_process();
        running = bench.start(&["resume", "--keep-data"]);
    }
    running.end().expect(3);
    let run = bench.run();
    let reason = "it was cut off when";
    for action in &run.actions {
        let cut_off = action.arm == "a" && matches!(action.step.as_str(), "l.i1" | "qr500");
        assert_eq!(action.attempt, if cut_off { 2 } else { 1 }, "{action:?}");
        let is_lost = action.note.as_ref().is_some_and(|note| note.contains(reason));
        assert_eq!(action.outcome == Outcome::Invalid, is_lost, "{action:?}");
        // A kill loses the last moments of work, which on a fast machine may be all of l.i1.
        assert!(is_lost == cut_off || action.step == "l.i1", "{action:?}");
    }
    let of_b = (content(&bench, "b", 1), keys(&bench, "b"));
    assert!(of_b.0[0].starts_with("10100:"), "{of_b:?}");
    assert_eq!((content(&bench, "a", 1), keys(&bench, "a")), of_b);
    assert!(bench.call(&["show", "--section", "absolute"]).expect(0).stdout.contains(reason));
    // The next resume measures the lost steps.
    let again = bench.call(&["resume", "--keep-data"]).expect(0);
    assert!(again.stderr.contains("arm a starts over from the load because"), "{}", again.stderr);
    let run = bench.run();
    assert!(run.actions.iter().all(|action| action.outcome == Outcome::Done && action.attempt == 1));
    assert_eq!((content(&bench, "a", 1), keys(&bench, "a")), of_b);
}

#[test]
fn a_postgres_run_killed_in_the_middle_of_steps_ends_with_the_planned_rows() {
    killed_in_the_middle("18", Dbms::Postgres);
}

#[test]
fn a_mysql_run_killed_in_the_middle_of_steps_ends_with_the_planned_rows() {
    killed_in_the_middle(MYSQL, Dbms::Mysql);
}

#[test]
fn a_load_and_an_index_build_that_were_cut_off_begin_anew() {
    let bench = Bench::new();
    let plan = plan(
        &bench,
        "steps = [\"l.i0\", \"l.x\", \"l.i1\"]",
        "load_rows = 60_000\nwrite_rows = 500",
        &["18"],
    );
    let mut running = bench.start(&["run", "--keep-data", plan.to_str().unwrap()]);
    running.expect_line(&["a ", "load"]);
    let mut session = at_work(&bench, Dbms::Postgres, "a");
    while session.newest() < 100 {
        std::thread::sleep(Duration::from_millis(2));
    }
    running.kill();
    bench.expect_no_process();
    let mut running = bench.start(&["resume", "--keep-data"]);
    running.expect_line(&["a ", "l.i0"]);
    let mut session = at_work(&bench, Dbms::Postgres, "a");
    while session.value("SELECT count(*) FROM pg_indexes WHERE tablename = 'pi1'").as_deref() == Some("1") {
        std::thread::sleep(Duration::from_millis(1));
    }
    running.kill();
    bench.expect_no_process();
    bench.call(&["resume", "--keep-data"]).expect(0);
    let run = bench.run();
    assert_eq!(metric(window(&run, "a", "l.i0"), "inserted_rows"), 60_000.0);
    assert_eq!(window(&run, "a", "l.x").result.rows.unwrap(), 60_100);
    let (mut session, _server) = session_on(&bench, "a");
    assert_eq!(session.value("SELECT count(*) FROM pi1").as_deref(), Some("60100"));
    assert_eq!(
        session.value("SELECT count(*) FROM pg_indexes WHERE tablename = 'pi1'").as_deref(),
        Some("4")
    );
}

#[test]
fn a_rate_that_cannot_be_kept_is_told_and_its_step_ends_by_time() {
    let bench = Bench::new();
    let steps = "steps = [\"l.i0\", \"l.x\", \"qr1000000\", \"qp100\"]";
    let options =
        "load_rows = 2_000\nwrite_rows = 500\nquery_seconds = 2\nends_by = \"time\"\npacer = \"burst\"";
    let plan = plan(&bench, steps, options, &["18"]);
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    assert!(ended.stderr.contains("TARGET MISSED"), "{}", ended.stderr);
    let run = bench.run();
    let missed = window(&run, "a", "qr1000000");
    assert_eq!((missed.result.ended_by, missed.result.pacer), (EndedBy::Time, Some(Pacer::Burst)));
    assert_eq!(metric(missed, "background_kept"), 0.0);
    assert!(metric(missed, "background_rows_per_s") < 950_000.0);
    assert_eq!(metric(missed, "inserted_rows"), metric(missed, "deleted_rows"));
    assert!(missed.result.queries.unwrap() > 0 && missed.valid());
    let kept = window(&run, "a", "qp100");
    assert!(
        kept.valid() && metric(kept, "inserted_rows") >= 100.0,
        "the next step goes on where the queue stands"
    );
}

#[test]
fn eight_clients_share_the_machine_or_even_a_table() {
    for (shared, tables) in [(false, 8), (true, 1)] {
        let bench = Bench::new();
        let steps = "clients = 8\nsteps = [\"l.i0\", \"l.x\", \"l.i1\", \"l.i2\", \"qr50\"]";
        let sizes = format!(
            "load_rows = 1_000\nwrite_rows = 500\nquery_seconds = 2\npartitions = 3\nserver_memory = \"512MiB\"\n\
             shared_table = {shared}"
        );
        let plan = plan(&bench, steps, &sizes, &["18"]);
        let ended = bench.call(&["run", "--keep-data", plan.to_str().unwrap()]);
        if ended.stderr.contains("cannot limit the server's memory") {
            println!("NOT RUN: a server's memory limit: {}", ended.stderr);
            return;
        }
        ended.expect(0);
        let run = bench.run();
        assert!(run.windows.iter().all(Recorded::valid), "{:?}", run.actions);
        let asked = window(&run, "a", "qr50");
        assert_eq!(asked.connections.len(), if shared { 16 } else { 32 });
        assert_eq!(metric(asked, "inserted_rows"), 800.0);
        let (mut session, _server) = session_on(&bench, "a");
        let mut rows = |table| session.value(&format!("SELECT count(*) FROM pi{table}")).unwrap();
        let expected = if shared { 8 * (1_000 + 100 + 500 + 100) } else { 1_100 };
        for table in 1..=tables {
            assert_eq!(rows(table), expected.to_string(), "pi{table}");
        }
    }
}

#[test]
fn steps_of_the_queue_are_driven_and_profiled_by_nothing_else() {
    let bench = Bench::new();
    let ended = bench.call(&["drive", "l.i1"]).expect(2);
    assert!(ended.stderr.contains("needs the queue that the steps before it leave"), "{}", ended.stderr);
    let plan = plan(&bench, "steps = [\"l.i0\"]", "load_rows = 1_000\nwrite_rows = 500", &["18"]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let ended = bench.call(&["profile", "--all"]).expect(2);
    assert!(ended.stderr.contains("can't be repeated for CPU profiles"), "{}", ended.stderr);
}
