//! HammerDB's jobs database: what must be found in one, and that no damage to one makes reading panic.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rqps_import::{Format, Work};
use rusqlite::Connection;

use crate::fuzz::{damage, damaged, end};

/// Two jobs as HammerDB 4.6 and later write them, of which one built a schema and has no result.
fn database() -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let connection = Connection::open(file.path()).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE JOBMAIN(jobid TEXT, db TEXT, bm TEXT, jobdict TEXT, timestamp DATETIME);
             CREATE TABLE JOBTIMING(jobid TEXT, vu INTEGER, procname TEXT, calls INTEGER, min_ms REAL, avg_ms REAL,
                max_ms REAL, total_ms REAL, p99_ms REAL, p95_ms REAL, p50_ms REAL, sd REAL, ratio_pct REAL,
                summary INTEGER, elapsed_ms REAL);
             CREATE TABLE JOBTCOUNT(jobid TEXT, counter INTEGER, metric TEXT, timestamp DATETIME);
             CREATE TABLE JOBOUTPUT(jobid TEXT, vu INTEGER, output TEXT);
             INSERT INTO JOBMAIN VALUES ('A', 'PostgreSQL', 'TPC-C', '{tpcc {pg_count_ware 1}}', '2026-01-01'),
                ('B', 'PostgreSQL', 'TPC-C', '{tpcc {pg_count_ware 1}}', '2026-01-01');
             INSERT INTO JOBOUTPUT VALUES ('A', 1, 'SCHEMA COMPLETE'),
                ('B', 0, 'TEST RESULT : System achieved 42332 NOPM from 97427 PostgreSQL TPM'),
                ('B', 1, '2 Active Virtual Users configured');
             INSERT INTO JOBTCOUNT VALUES ('B', 90000, 'PostgreSQL tpm', '1'), ('B', 98000, 'PostgreSQL tpm', '2');
             INSERT INTO JOBTIMING VALUES
                ('B', 2, 'NEWORD', 100, 1, 2.0, 9, 200, 8.0, 5.0, 2, 1, 50, 0, 400),
                ('B', 3, 'NEWORD', 300, 1, 4.0, 9, 1200, 9.0, 6.0, 2, 1, 50, 0, 400);",
        )
        .unwrap();
    connection.close().unwrap();
    std::fs::read(file.path()).unwrap()
}

#[test]
fn jobs_with_a_result_are_found() {
    let bytes = database();
    assert_eq!(Format::of(&bytes), [Format::HammerdbJobs]);
    let found = Format::HammerdbJobs.parse(&*bytes).unwrap().measurements;
    assert_eq!(found.len(), 1, "{found:?}");
    let value =
        |name: &str| found[0].values.iter().find(|value| value.name == name).and_then(|value| value.value);
    assert_eq!(found[0].work.as_ref().map(Work::per_second), Some(42_332.0 / 60.0));
    assert_eq!((value("nopm"), value("tpm"), found[0].clients), (Some(42_332.0), Some(97_427.0), Some(2)));
    assert_eq!((value("warehouses"), &*found[0].series[0].values), (Some(1.0), &[90_000.0, 98_000.0][..]));
    // Over the calls of both virtual users.
    assert_eq!(value("neword_latency_avg_ms"), Some(3.5));
    assert_eq!(found[0].dbms.as_deref(), Some("postgres"));
}

#[test]
fn no_damage_to_a_database_makes_reading_panic() {
    let (bytes, until) = (database(), end());
    let mut rounds = 0u64;
    loop {
        let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
        let done = TestRunner::new(config).run(&prop::collection::vec(damage(), 1..6), |all| {
            if let Err(broken) = Format::HammerdbJobs.parse(&*damaged(bytes.clone(), &all)) {
                assert!(!broken.why.is_empty());
            }
            Ok(())
        });
        done.unwrap();
        rounds += 1;
        if until.is_none_or(|until| std::time::Instant::now() >= until) {
            println!("{} damaged databases", rounds * 100);
            return;
        }
    }
}
