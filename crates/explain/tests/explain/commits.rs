//! Made-up runs whose commits wait for the disk, beside what its certificate promises.

use crate::common;
use rqps_explain::{Cause, Explanation};
use rqps_model::{HostFigure, HostQuantity};
use rqps_verdicts::testing::{Observed, Spec};

/// 4,000 commits per second of one client.
const TEST: &str = "update-index";

/// A disk that writes in 20 us and syncs in this time, by 20 % more and less.
fn disk(sync_us: f64) -> Vec<HostFigure> {
    let figure = |quantity, us: f64| HostFigure { quantity, value: us, low: 0.8 * us, high: 1.2 * us };
    vec![figure(HostQuantity::Write, 20.0), figure(HostQuantity::Sync, sync_us)]
}

fn text(found: &Explanation) -> Option<String> {
    found.commits.as_ref().map(|commits| commits.text("old", "new", found.decomposition.as_ref()))
}

/// Base commits asynchronously, the arm waits.
fn postgres(certificate: Vec<HostFigure>) -> Spec {
    let settings = vec![
        (0, "fsync", "on"),
        (2, "fsync", "on"),
        (0, "synchronous_commit", "off"),
        (2, "synchronous_commit", "on"),
    ];
    Spec { settings, certificate, block_sd: 0.0, blocks: 2, ..Spec::default() }
}

#[test]
fn commits_that_wait_are_shown_beside_what_the_disk_promises() {
    let syncs = common::figure(TEST, Observed::Counter("pg_stat_wal", "", "wal_sync"), 0.001, 1.0);
    let spec = Spec { extra: syncs.into(), ..postgres(disk(180.0)) };
    assert_eq!(
        text(&common::explained(&spec, TEST, 2)).unwrap(),
        "Commits wait for the disk. At the disk's latency before the run one client can do at most 5,000 per \
         second, 4,167 to 6,250 by the slowest and the fastest slices: 20 us to write 16 KiB, 180 us for fdatasync. \
         new did 4,000 per second, 80 % of that, with 1.00 syncs of the log per commit."
    );
    // Postgres before 14 does not count syncs; and a disk that was twice as fast in the windows.
    let uncounted = text(&common::explained(&postgres(disk(480.0)), TEST, 2)).unwrap();
    let end = "new did 4,000 per second, 2 times that. That is more than at the fastest slices: the disk was faster in these windows, or \
               one sync served several commits.";
    assert!(uncounted.ends_with(end), "{uncounted}");
    // Within what the slices saw: nothing that needs a reason.
    let within = text(&common::explained(&postgres(disk(270.0)), TEST, 2)).unwrap();
    assert!(within.ends_with("new did 4,000 per second, 116 % of that."), "{within}");
}

#[test]
fn commits_that_do_not_wait_are_not_shown() {
    let shown = |spec: &Spec, test| text(&common::explained(spec, test, 2));
    assert_eq!(shown(&postgres(disk(180.0)), "point-query"), None, "nothing is written");
    assert_eq!(shown(&postgres(disk(0.5)), TEST), None, "in memory");
    assert_eq!(shown(&postgres(vec![]), TEST), None, "no certificate");
    let asynchronous = common::figure(TEST, Observed::Counter("pg_stat_wal", "", "wal_sync"), 0.001, 0.001);
    let by_statement = Spec { extra: asynchronous.into(), ..postgres(disk(180.0)) };
    assert_eq!(shown(&by_statement, TEST), None, "a setting of the session that no table shows");
    let through = Spec {
        settings: [postgres(vec![]).settings, vec![(2, "wal_sync_method", "open_datasync")]].concat(),
        extra: common::figure(TEST, Observed::Counter("pg_stat_wal", "", "wal_sync"), 0.001, 0.0).into(),
        ..postgres(disk(180.0))
    };
    let text_through = shown(&through, TEST).expect("commits wait for the disk");
    assert!(!text_through.contains("0 syncs of the log per commit"), "{text_through}");
    let innodb = |redo, sync_binlog| Spec {
        dbms: "mysql",
        settings: vec![
            (2, "innodb_flush_log_at_trx_commit", redo),
            (2, "log_bin", "ON"),
            (2, "sync_binlog", sync_binlog),
        ],
        ..postgres(disk(180.0))
    };
    assert_eq!(shown(&innodb("2", "0"), TEST), None);
    assert!(shown(&innodb("1", "0"), TEST).is_some());
    assert!(shown(&innodb("2", "1"), TEST).is_some(), "the binary log is synced");
    // InnoDB's log is synced by its background thread alone.
    let counted = |redo: f64, spec: Spec| {
        let redo =
            common::figure(TEST, Observed::Counter("global_status", "", "innodb_os_log_fsyncs"), 0.001, redo);
        let binary =
            common::figure(TEST, Observed::Counter("file_io", "sql/binlog", "count_misc"), 0.001, 1.0);
        shown(&Spec { extra: redo.into_iter().chain(binary).collect(), ..spec }, TEST)
    };
    let binary = counted(0.001, innodb("0", "1")).expect("commits wait for the binary log");
    assert!(binary.ends_with("80 % of that, with 1.00 syncs of the log per commit."), "{binary}");
    assert_eq!(counted(0.001, innodb("1", "0")), None, "the binary log's syncs are nobody's wait");
    let both = counted(1.0, innodb("1", "1")).unwrap();
    assert!(both.contains("with 2 syncs of the logs per commit (each commit waits for two logs"), "{both}");
}

/// On a busy host whoever comes back from a sync queues for a CPU. The syncs are the cause, not the queue.
#[test]
fn queueing_after_syncs_is_put_down_to_the_syncs() {
    let times = [
        common::figure(TEST, Observed::SessionCpuUs, 180.0, 200.0),
        common::figure(TEST, Observed::Metric("client_cpu_us"), 40.0, 42.0),
        common::figure(TEST, Observed::Metric("server_backends_queued_us"), 5.0, 2000.0),
    ];
    let queueing = |spec: Spec| Spec {
        effects: vec![(2, TEST, 0.1, 1.0)],
        extra: times.into_iter().flatten().chain(spec.extra).collect(),
        block_sd: 0.01,
        blocks: 5,
        ..spec
    };
    let counted = common::figure(TEST, Observed::Counter("pg_stat_wal", "", "wal_sync"), 0.001, 1.0);
    let spec = queueing(Spec { extra: counted.into(), ..postgres(disk(180.0)) });
    let found = common::explained(&spec, TEST, 2);
    assert_eq!(found.findings[0].cause, Cause::Fsync, "{:#?}", found.findings);
    assert!(found.findings[0].sentence.contains("clients wait"), "{}", found.findings[0].sentence);
    assert!(found.findings.iter().all(|one| one.cause != Cause::CpuQueue), "{:#?}", found.findings);
    // One log more to wait for, whose syncs the server does not count.
    let binary_log = |arm| vec![(arm, "innodb_flush_log_at_trx_commit", "1"), (arm, "log_bin", "ON")];
    let settings = [binary_log(0), binary_log(2), vec![(0, "sync_binlog", "0"), (2, "sync_binlog", "1")]];
    let spec = queueing(Spec { dbms: "mysql", settings: settings.concat(), ..postgres(disk(180.0)) });
    let found = common::explained(&spec, TEST, 2);
    let wait = common::finding(&found, Cause::Waiting).unwrap();
    assert!(wait.sentence.contains("for a CPU after the syncs of commits"), "{}", wait.sentence);
    // Without a difference in what commits wait for, the queue is the cause.
    let spec = queueing(Spec { settings: vec![], ..postgres(disk(180.0)) });
    let found = common::explained(&spec, TEST, 2);
    assert!(common::finding(&found, Cause::CpuQueue).is_some(), "{:#?}", found.findings);
}
