//! Made-up runs of MySQL whose causes are known: they are told in InnoDB's words and with the settings that act on
//! them.

mod common;

use rqps_explain::{Cause, Explanation, Word};
use rqps_verdicts::testing::{Detail, Extra, Observed, Spec};

const TEST: &str = "update-index";

fn explained(spec: &Spec) -> Explanation {
    common::explained(spec, TEST, 2)
}

fn figure(what: Observed, base: f64, arm: f64) -> [Extra; 3] {
    common::figure(TEST, what, base, arm)
}

fn status(name: &'static str) -> Observed {
    Observed::Counter("global_status", "", name)
}

fn metric(name: &'static str) -> Observed {
    Observed::Counter("innodb_metrics", "", name)
}

/// An operation of 250 us: 180 us of the session, 40 us of the client, 30 us of neither; `effect` is the factor of the
/// rate and of instructions.
fn mysql(effect: (f64, f64), session_us: f64, extra: Vec<[Extra; 3]>) -> Spec {
    let times = [
        figure(Observed::SessionCpuUs, 180.0, session_us),
        figure(Observed::Metric("client_cpu_us"), 40.0, 40.0),
    ];
    Spec {
        arms: vec![("old", "5.7.22"), ("control", "5.7.22"), ("new", "8.0.31")],
        dbms: "mysql",
        effects: vec![(2, TEST, effect.0, effect.1)],
        extra: times.into_iter().chain(extra).flatten().collect(),
        ..Spec::default()
    }
}

/// What is said of a finding of that cause.
fn told(found: &Explanation, cause: Cause) -> (Word, &str) {
    let finding = found.findings.iter().find(|its| its.cause == cause);
    finding.map(|its| (its.word, its.sentence.as_str())).unwrap_or_else(|| panic!("{:?}", found.findings))
}

#[test]
fn the_log_is_called_redo() {
    let found = explained(&mysql(
        (1.0, 1.0),
        180.0,
        vec![figure(Observed::Metric("server_wal_bytes"), 540.0, 720.0)],
    ));
    let said = "new writes 720 bytes of redo log per query, 33 % more than old (540)";
    assert_eq!(told(&found, Cause::Wal), (Word::MoreWork, said));
}

#[test]
fn commits_that_wait_name_the_setting_that_makes_them() {
    let fsyncs = vec![
        figure(Observed::Metric("server_fsyncs"), 0.0, 1.0),
        figure(status("innodb_os_log_fsyncs"), 0.0, 1.0),
    ];
    let found = explained(&Spec {
        settings: vec![
            (0, "innodb_flush_log_at_trx_commit", "2"),
            (2, "innodb_flush_log_at_trx_commit", "1"),
            (0, "innodb_adaptive_hash_index", "OFF"),
            (2, "innodb_adaptive_hash_index", "ON"),
            (0, "optimizer_switch", "index_merge=on,mrr=on"),
            (2, "optimizer_switch", "index_merge=on,mrr=on,hash_join=on"),
        ],
        ..mysql((0.5, 1.0), 180.0, fsyncs)
    });
    let (word, said) = told(&found, Cause::Fsync);
    assert_eq!(word, Word::MoreWaiting);
    assert!(said.ends_with("the arms differ in innodb_flush_log_at_trx_commit (1, base 2)"), "{said}");
    let names: Vec<&str> = found.differences.iter().map(|difference| difference.name.as_str()).collect();
    assert_eq!(names, ["version", "innodb_adaptive_hash_index", "innodb_flush_log_at_trx_commit"]);
}

#[test]
fn a_long_history_at_the_start_is_a_debt_where_more_pages_are_asked_for() {
    let state = |arm: usize, history: u64| Detail {
        arm,
        test: TEST,
        plans: vec![],
        fingerprint: vec![("live_rows", 100_000), ("history_list_length", history), ("dirty_pages", 10)],
    };
    let spec = |pages: f64, instructions: f64| Spec {
        details: vec![state(0, 30), state(2, 450_000)],
        ..mysql((0.88, instructions), 215.0, vec![figure(metric("buffer_pool_read_requests"), 8.0, pages)])
    };
    let found = explained(&spec(14.0, 1.2));
    let (_, said) = told(&found, Cause::DeadRows);
    assert!(said.starts_with("new starts with 450,000 transactions not yet purged"), "{said}");
    assert!(said.contains("(history list length; old: 30)"), "{said}");
    assert!(
        said.contains("new requests 14 buffer pool pages per query") && !said.contains("vacuum"),
        "{said}"
    );
    let unseen = explained(&spec(8.0, 1.0));
    assert!(unseen.findings.iter().all(|its| its.cause != Cause::DeadRows), "{:?}", unseen.findings);
}

#[test]
fn a_pool_too_small_is_told_in_pages() {
    let misses = vec![
        figure(metric("buffer_pool_read_requests"), 12.0, 12.0),
        figure(status("innodb_pages_read"), 0.0, 3.0),
    ];
    let found = explained(&Spec {
        settings: vec![
            (0, "innodb_buffer_pool_size", "134217728"),
            (2, "innodb_buffer_pool_size", "8388608"),
        ],
        ..mysql((0.5, 1.0), 260.0, misses)
    });
    let (_, said) = told(&found, Cause::BufferMisses);
    assert!(said.starts_with("new reads 3 pages into the buffer pool per query, none on old"), "{said}");
    assert!(said.contains("innodb_buffer_pool_size (8388608, base 134217728)"), "{said}");
}

/// Who works more meets other guests of the host more often; they make no instructions.
#[test]
fn a_host_that_was_busier_too_goes_behind_what_an_only_difference_accounts_for() {
    let metric_of_host = |name, base, arm| figure(Observed::Metric(name), base, arm);
    let figures = vec![
        figure(metric("buffer_pool_read_requests"), 12.0, 12.0),
        figure(status("innodb_pages_read"), 0.0, 3.0),
        metric_of_host("host_idle_us", 400.0, 400.0),
        metric_of_host("host_steal_us", 4.0, 400.0),
    ];
    let found = explained(&Spec {
        settings: vec![
            (0, "innodb_buffer_pool_size", "134217728"),
            (2, "innodb_buffer_pool_size", "8388608"),
        ],
        arms: vec![("old", "8.0.31"), ("control", "8.0.31"), ("new", "8.0.31")],
        ..mysql((0.2, 1.4), 260.0, figures)
    });
    let causes: Vec<Cause> = found.findings.iter().map(|finding| finding.cause).collect();
    assert_eq!(causes[0], Cause::BufferMisses, "{:#?}", found.findings);
    assert!(causes.contains(&Cause::CpuSteal), "{:#?}", found.findings);
}

#[test]
fn pages_that_are_flushed_and_written_twice_are_one_finding_and_no_cpu_time_of_sessions() {
    let flushed = vec![
        figure(status("innodb_buffer_pool_pages_flushed"), 0.1, 0.4),
        figure(status("innodb_dblwr_pages_written"), 0.1, 0.4),
    ];
    let found = explained(&mysql((0.88, 1.2), 215.0, flushed));
    let (_, said) = told(&found, Cause::Checkpoint);
    assert!(said.starts_with("new flushes 0.4 dirty pages per query, 4 times old's 0.1"), "{said}");
    assert!(found.findings.iter().all(|its| its.cause != Cause::Doublewrite), "{:?}", found.findings);
    assert_eq!(told(&found, Cause::Instructions).0, Word::MoreWork);
}

/// MySQL 5.6 does not say which thread serves a session: what all its threads used is no background work to compare.
#[test]
fn threads_without_names_are_not_held_against_named_ones() {
    let one = |what: Observed, arm: usize, per_query: f64| Extra { arm, test: TEST, what, per_query };
    let role = Observed::Metric;
    let found = explained(&Spec {
        arms: vec![("old", "5.6.14"), ("control", "5.6.14"), ("new", "8.0.31")],
        dbms: "mysql",
        effects: vec![(2, TEST, 0.8, 1.2)],
        extra: vec![
            one(role("server_role.other_thread_us"), 0, 190.0),
            one(role("server_role.other_thread_us"), 1, 190.0),
            one(Observed::SessionCpuUs, 2, 180.0),
            one(role("server_role.purge_us"), 2, 30.0),
        ],
        ..Spec::default()
    });
    let background = found.findings.iter().find(|its| its.cause == Cause::Background);
    assert!(background.is_none(), "{background:?}");
}
