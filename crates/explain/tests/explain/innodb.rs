//! Made-up runs of MySQL with known causes: findings use InnoDB's terms and name the settings that affect
//! them.

use crate::common;
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

/// An operation of 250 us: 180 us of the session, 40 us of the client, 30 us of waiting. `effect` has the
/// factors of the rate and of instructions.
fn mysql(effect: (f64, f64), session_us: f64, extra: Vec<[Extra; 3]>) -> Spec {
    Spec {
        arms: vec![("old", "5.7.22"), ("control", "5.7.22"), ("new", "8.0.31")],
        dbms: "mysql",
        effects: vec![(2, TEST, effect.0, effect.1)],
        extra: common::cpu_times(TEST, session_us).into_iter().chain(extra).flatten().collect(),
        ..Spec::default()
    }
}

fn sentence(found: &Explanation, cause: Cause) -> (Word, &str) {
    let finding = common::finding(found, cause).unwrap_or_else(|| panic!("{:?}", found.findings));
    (finding.word, &finding.sentence)
}

#[test]
fn log_is_called_redo() {
    let found = explained(&mysql(
        (1.0, 1.0),
        180.0,
        vec![figure(Observed::Metric("server_wal_bytes"), 540.0, 720.0)],
    ));
    let text = "new writes 720 bytes of redo log per query, against 540 on old";
    assert_eq!(sentence(&found, Cause::Wal), (Word::MoreWork, text));
}

#[test]
fn waiting_commits_name_the_flush_setting() {
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
    let (word, text) = sentence(&found, Cause::Fsync);
    assert_eq!(word, Word::MoreWaiting);
    assert!(text.ends_with("the arms differ in innodb_flush_log_at_trx_commit (1, base 2)"), "{text}");
    let names: Vec<&str> = found.differences.iter().map(|difference| difference.name.as_str()).collect();
    assert_eq!(names, ["version", "innodb_adaptive_hash_index", "innodb_flush_log_at_trx_commit"]);
}

#[test]
fn long_history_at_the_start_needs_more_page_requests_to_be_a_debt() {
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
    let (_, text) = sentence(&found, Cause::DeadRows);
    assert!(text.starts_with("new starts with 450,000 transactions not yet purged"), "{text}");
    assert!(text.contains("(history list length; old: 30)"), "{text}");
    assert!(
        text.contains("new requests 14 buffer pool pages per query") && !text.contains("vacuum"),
        "{text}"
    );
    let unseen = explained(&spec(8.0, 1.0));
    assert!(common::finding(&unseen, Cause::DeadRows).is_none(), "{:?}", unseen.findings);
}

#[test]
fn small_pool_is_reported_in_pages() {
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
    let (_, text) = sentence(&found, Cause::BufferMisses);
    assert!(text.starts_with("new reads 3 pages into the buffer pool per query, none on old"), "{text}");
    assert!(text.contains("innodb_buffer_pool_size (8388608, base 134217728)"), "{text}");
}

/// Busy clients encounter more steal time, but steal does not execute instructions.
#[test]
fn effect_of_the_only_difference_comes_before_a_busier_host() {
    let host_metric = |name, base, arm| figure(Observed::Metric(name), base, arm);
    let figures = vec![
        figure(metric("buffer_pool_read_requests"), 12.0, 12.0),
        figure(status("innodb_pages_read"), 0.0, 3.0),
        host_metric("host_idle_us", 400.0, 400.0),
        host_metric("host_steal_us", 4.0, 400.0),
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
fn flushing_and_doublewrite_are_one_finding_without_session_cpu() {
    let flushed = vec![
        figure(status("innodb_buffer_pool_pages_flushed"), 0.1, 0.4),
        figure(status("innodb_dblwr_pages_written"), 0.1, 0.4),
    ];
    let found = explained(&mysql((0.88, 1.2), 215.0, flushed));
    let (_, text) = sentence(&found, Cause::Checkpoint);
    assert!(text.starts_with("new flushes 0.4 dirty pages per query, 4 times old's 0.1"), "{text}");
    assert!(common::finding(&found, Cause::Doublewrite).is_none(), "{:?}", found.findings);
    assert_eq!(sentence(&found, Cause::Instructions).0, Word::MoreWork);
}

/// MySQL 5.6 does not report which thread serves a session, so the CPU time of its threads is not comparable
/// background work.
#[test]
fn unnamed_threads_are_not_compared_with_named_ones() {
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
    let background = common::finding(&found, Cause::Background);
    assert!(background.is_none(), "{background:?}");
}
