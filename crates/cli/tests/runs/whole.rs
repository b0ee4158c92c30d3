//! The whole sequence with short steps: the run folder agrees with the server's counters.

use std::collections::BTreeMap;

use rqps_probe::postgres::counters::OWN_COMMITS;
use rqps_store::{LatencyFrom, Recorded, Run, Window};
use rqps_workloads::microbenchmarks;

use crate::bench::Bench;

const CLIENTS: u64 = 2;
/// The test whose windows run for a time, so that they have per-second series.
const BY_TIME: &str = "points-covered-si";

/// The whole sequence with fixed work instead of time.
fn workload() -> String {
    let mut text = format!(
        "tables = 2\nrows = 10_000\nclients = {CLIENTS}\nread_seconds = 2\n\
         settle_seconds_max = 60\n"
    );
    for step in microbenchmarks::sequence(false) {
        let (test, _) = microbenchmarks::step::test_and_role(&step);
        let Some(test) = microbenchmarks::test_by_name(test) else {
            continue;
        };
        let events = match test.name {
            "scan" => 4,
            name if name == BY_TIME => continue,
            _ if test.range >= 10_000 => 20,
            _ => 200,
        };
        text.push_str(&format!("[test.\"{}\"]\nevents = {events}\n", step));
    }
    text
}

/// Differences of the server's counters in a window, by view and column; tables summed.
fn counters(run: &Run, window: &Recorded<Window>) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for counter in run.counters(window.action.seq).unwrap() {
        let of_all = counter.view == "pg_stat_all_tables" && counter.object == "all";
        let of_database = counter.view == "pg_stat_database" && counter.object == "bench";
        if let (true, Some(delta)) = (of_all || of_database, counter.delta()) {
            *sums.entry(counter.column.clone()).or_insert(0.0) += delta;
        }
    }
    sums
}

fn check_counters(run: &Run, window: &Recorded<Window>) {
    let result = &window.result;
    let test = microbenchmarks::test_by_name(&result.test).unwrap();
    let counters = counters(run, window);
    let found = |column: &str| counters.get(column).copied().unwrap_or(0.0);
    // Each session flushes its statistics by a statement.
    let flushes = if result.test == BY_TIME { 1 } else { 1 + CLIENTS };
    let commits = result.events.unwrap() + OWN_COMMITS + flushes;
    let step = &window.action.step;
    assert_eq!(found("xact_commit"), commits as f64, "{step}");
    assert_eq!(found("xact_rollback"), 0.0, "{step}");
    let of_kind = |kind: &str| -> f64 {
        let statements = test.statements().filter(|s| s.kind == kind).count() as u64;
        (statements * result.events.unwrap()) as f64
    };
    let updated = match result.test.as_str() {
        // Ten random ids per statement, some of them equal.
        "update-inlist" => result.rows.unwrap() as f64,
        _ => of_kind("update-index") + of_kind("update-nonindex"),
    };
    let deleted = of_kind("delete");
    let inserted = of_kind("insert");
    // Every row exists until the deletes, which find some rows missing.
    let working = if test.shrinks { result.statements_working.unwrap() as f64 } else { deleted };
    assert_eq!(
        [found("n_tup_upd"), found("n_tup_del"), found("n_tup_ins")],
        [updated, working, inserted],
        "{step}"
    );
    assert_eq!(
        result.queries.unwrap(),
        result.events.unwrap() * u64::from(test.queries_per_event()),
        "{step}"
    );
    assert_eq!(
        result.statements.unwrap(),
        result.statements_working.unwrap() + result.noop_statements.unwrap(),
        "{step}"
    );
    if !test.writes() {
        assert_eq!(result.noop_statements.unwrap(), 0, "{step}");
    }
}

fn check_details(run: &Run, window: &Recorded<Window>) {
    let (seq, result, step) = (window.action.seq, &window.result, &window.action.step);
    let test = microbenchmarks::test_by_name(&result.test).unwrap();
    assert!(window.valid() && result.events.unwrap() > 0 && result.rate().unwrap() > 0.0, "{step}");
    assert_eq!((result.errors.unwrap(), result.clients), (0, CLIENTS as u32), "{step}");

    let cpu_us: Vec<f64> = window.connections.iter().map(|one| one.cpu_us).collect();
    assert_eq!(cpu_us.len() as u64, CLIENTS, "{step}");
    // In a window of some milliseconds a client may not get to run.
    let least = if step == BY_TIME { 1.0 } else { 0.0 };
    assert!(cpu_us.iter().all(|us| *us >= least), "{step}: {cpu_us:?}");
    assert!(cpu_us.iter().sum::<f64>() > 0.0, "{step}: {cpu_us:?}");
    for name in ["server_cpu_us", "client_cpu_us", "host_context_switches", "server_processes"] {
        assert!(window.metric(name).is_some_and(|value| value > 0.0), "{step}: {name}");
    }
    let backends: f64 = cpu_us.iter().sum();
    let server = window.metric("server_cpu_us").unwrap();
    assert!(backends <= server * 1.001, "{step}: {backends} of {server}");

    let plans = run.plans(seq).unwrap();
    let kinds: Vec<&str> = test.statements().map(|statement| statement.kind).collect();
    assert_eq!(plans.len(), kinds.len(), "{step}");
    assert!(plans.iter().all(|plan| plan.text.contains("cost=") && plan.json.starts_with('[')));

    let histograms = run.histograms(seq).unwrap();
    let count = |statement: &str| {
        let histogram = histograms.iter().find(|h| h.statement == statement && h.from == LatencyFrom::Sent);
        histogram.map(|histogram| histogram.count)
    };
    assert_eq!(count("event"), result.events, "{step}");
    let statements: u64 = kinds.iter().filter_map(|kind| count(kind)).sum();
    assert_eq!(statements, result.statements.unwrap(), "{step}");
    let transactions = result.events.filter(|_| test.transaction);
    assert_eq!((count("begin"), count("commit")), (transactions, transactions), "{step}");

    let fingerprint: BTreeMap<String, String> = run.fingerprint(seq).unwrap().into_iter().collect();
    for name in ["live_rows", "heap_bytes", "xid_age", "setting.shared_buffers"] {
        assert!(fingerprint.contains_key(name), "{step}: {name} not in {fingerprint:?}");
    }
}

#[test]
fn every_step_is_valid_and_agrees_with_what_the_server_counted() {
    let bench = Bench::new();
    // Autovacuum's transactions would be counted.
    let config = bench.path().join("small.conf");
    let text = std::fs::read_to_string(&config).unwrap() + "autovacuum = off\n";
    std::fs::write(&config, text).unwrap();
    let plan = bench.plan("certificate = true", &workload(), &["18"]);
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    bench.expect_complete(0);
    let run = bench.run();
    let tests: std::collections::BTreeSet<&str> =
        run.windows.iter().map(|window| window.result.test.as_str()).collect();
    assert_eq!(tests.len(), microbenchmarks::tests().len());
    for window in &run.windows {
        check_details(&run, window);
        // The server counts retried statements twice.
        if window.result.retries.is_empty() {
            check_counters(&run, window);
        }
    }
    assert!(run.settles.iter().all(|settle| settle.result.reached), "{:?}", run.settles);
    assert!(run.loads[0].result.rows_per_s().unwrap() > 0.0);

    let by_time = run.windows.iter().find(|w| w.action.step == BY_TIME).unwrap();
    let series = run.series(by_time.action.seq).unwrap();
    let values = |name: &str| &series.iter().find(|one| one.name == name).unwrap().values;
    assert_eq!(values("queries").iter().sum::<f64>(), by_time.result.queries.unwrap() as f64);
    assert!(values("queries").len() >= 2 && values("host_user").len() >= 2, "{series:?}");

    // A line per finished action, and the paths of the reports.
    for line in ["a  load ", "a  hot-points ", "(warm-up)", "a  stop ", "report.md", "report.html"] {
        assert!(ended.stderr.contains(line), "no {line:?} in\n{}", ended.stderr);
    }
    let host = &run.certificates;
    assert!(host.before.len() > 8 && host.after.len() == host.before.len(), "{host:?}");
    assert!(
        bench
            .call(&["show", "--section", "certificate"])
            .expect(0)
            .stdout
            .contains("rates of windows in a row can be judged")
    );
    let escape = '\u{1b}';
    assert!(!ended.stderr.contains(escape) && !ended.stdout.contains(escape));
    let report = std::fs::read_to_string(run.folder.path().join("report.md")).unwrap();
    assert!(tests.iter().all(|test| report.contains(test)));
    let page = std::fs::read_to_string(run.folder.path().join("report.html")).unwrap();
    assert!(tests.iter().all(|test| page.contains(test)));
}
