//! Made-up runs in which two arms run the same program and differ in one thing: it is named first if it can
//! have caused the change, and not at all if it cannot.

use crate::common::{self, blocks, cpu_times, figure, finding, first, names};
use rqps_explain::{Cause, Certainty, Explanation, PartName, Word};
use rqps_model::QueryPlan;
use rqps_verdicts::testing::{Detail, Extra, Observed, Spec};

const WRITES: &str = "update-index";
const READS: &str = "point-query";

fn explained(spec: &Spec, test: &str) -> Explanation {
    common::explained(spec, test, 2)
}

/// Three arms of one build; the third is slower with a fifth more instructions.
fn slower(test: &'static str, extra: Vec<[Extra; 3]>) -> Spec {
    Spec {
        arms: vec![("old", "17.7"), ("control", "17.7"), ("new", "17.7")],
        effects: vec![(2, test, 0.86, 1.2)],
        extra: cpu_times(test, 215.0).into_iter().chain(extra).flatten().collect(),
        ..Spec::default()
    }
}

/// Figures that differ because each arm was loaded separately and its rows are on other pages.
fn unlike_data(test: &'static str) -> Vec<[Extra; 3]> {
    let mut figures = blocks(test, 4.0, 9.0);
    figures.push(figure(test, Observed::Metric("server_wal_bytes"), 540.0, 720.0));
    figures
}

#[test]
fn constraint_comes_before_log_that_it_cannot_cause() {
    let check = "ALTER TABLE sbtest1 ADD CONSTRAINT c CHECK (k > 0)";
    let found =
        explained(&Spec { after_load: vec![(2, check)], ..slower(WRITES, unlike_data(WRITES)) }, WRITES);
    assert_eq!(first(&found).cause, Cause::Instructions, "{:?}", found.findings);
    let sentence = &first(&found).sentence;
    assert!(sentence.ends_with(&format!("only this arm ran after its load: {check}")), "{sentence}");
    assert!(!sentence.contains("WAL per query"), "the log is no part of it: {sentence}");
    assert_eq!(names(&found, check), 1, "{:?}", found.findings);
}

#[test]
fn constraint_is_not_named_for_reads() {
    let check = "ALTER TABLE sbtest1 ADD CONSTRAINT c CHECK (k > 0)";
    let found = explained(&Spec { after_load: vec![(2, check)], ..slower(READS, vec![]) }, READS);
    assert_eq!(names(&found, "CHECK"), 0, "{:?}", found.findings);
}

#[test]
fn waiting_commits_come_before_blocks_of_unlike_data() {
    let fsyncs = [
        figure(WRITES, Observed::Metric("server_fsyncs"), 0.0, 1.0),
        figure(WRITES, Observed::Counter("pg_stat_io", "client backend/wal/normal", "fsyncs"), 0.0, 1.0),
    ];
    let settings = vec![(0, "synchronous_commit", "off"), (2, "synchronous_commit", "on")];
    let extra = unlike_data(WRITES).into_iter().chain(fsyncs).collect();
    let found = explained(&Spec { settings, ..slower(WRITES, extra) }, WRITES);
    assert_eq!(first(&found).cause, Cause::Fsync, "{:?}", found.findings);
    assert!(first(&found).sentence.contains("synchronous_commit (on, base off)"), "{:?}", found.findings);
}

#[test]
fn compressed_images_are_more_work_whatever_was_counted() {
    let images = [
        figure(WRITES, Observed::Counter("pg_stat_wal", "", "wal_fpi"), 0.5, 0.5),
        figure(WRITES, Observed::Metric("server_wal_bytes"), 5000.0, 900.0),
    ];
    let spec = Spec {
        effects: vec![(2, WRITES, 0.24, 44.0)],
        extra: cpu_times(WRITES, 1008.0).into_iter().chain(images).flatten().collect(),
        settings: vec![(0, "wal_compression", "off"), (2, "wal_compression", "pglz")],
        ..slower(WRITES, vec![])
    };
    let found = explained(&spec, WRITES);
    assert_eq!((first(&found).word, first(&found).cause), (Word::MoreWork, Cause::Instructions));
    assert!(first(&found).sentence.contains("wal_compression (pglz, base off)"), "{:?}", found.findings);
    assert!(found.findings.iter().all(|finding| finding.word != Word::FasterWork), "{:?}", found.findings);
}

/// A preloaded library that reads its settings from the environment can make sessions sleep. Sessions that
/// slept also wait a little for a CPU and find cold caches. On base, client and session may overlap, so that
/// their CPU time exceeds the time of an operation.
#[test]
fn waiting_comes_first_if_the_environment_can_cause_it() {
    for base_us in [20.0, 23.0] {
        let times = [
            figure(READS, Observed::SessionCpuUs, base_us, base_us + 20.0),
            figure(READS, Observed::Metric("client_cpu_us"), 4.0, 4.0),
            figure(READS, Observed::Metric("server_backends_queued_us"), 0.1, 20.0),
        ];
        let found = explained(
            &Spec {
                effects: vec![(2, READS, 0.2, 1.0)],
                extra: times.into_iter().flatten().collect(),
                env: vec![(2, "SLEEP_US", "200")],
                ..slower(READS, vec![])
            },
            READS,
        );
        let first = first(&found);
        assert_eq!((first.word, first.cause), (Word::MoreWaiting, Cause::Waiting), "{found:#?}");
        assert!(first.sentence.contains("SLEEP_US (200, base none)"), "{found:#?}");
    }
}

/// Sessions that sleep also queue for a CPU when they wake up, and leave more CPU time to other programs.
/// Those account only for the queueing.
#[test]
fn other_programs_account_only_for_queueing() {
    // On a busy machine each return from a sleep queues, and client and session become slower, too: the wait
    // still comes first.
    for (queued_us, client_us) in [(40.0, 4.0), (45.0, 7.0)] {
        let found = explained(&sleeping(queued_us, client_us), READS);
        assert_eq!(
            (first(&found).word, first(&found).cause),
            (Word::MoreWaiting, Cause::Waiting),
            "{found:#?}"
        );
        let others = finding(&found, Cause::OtherLoad).unwrap();
        assert!(others.weight > 0.2, "{found:#?}");
    }
}

/// An arm whose queries sleep, and queue for a CPU so much longer; `client_us` is the CPU time of its client.
fn sleeping(queued_us: f64, client_us: f64) -> Spec {
    let times = [
        figure(READS, Observed::SessionCpuUs, 20.0, 24.0),
        figure(READS, Observed::Metric("client_cpu_us"), 4.0, client_us),
        figure(READS, Observed::Metric("server_backends_queued_us"), 0.1, queued_us),
        figure(READS, Observed::Metric("rest_us"), 5.0, 120.0),
        figure(READS, Observed::Metric("host_idle_us"), 400.0, 400.0),
    ];
    Spec {
        effects: vec![(2, READS, 0.2, 1.0)],
        extra: times.into_iter().flatten().collect(),
        env: vec![(2, "SLEEP_US", "200")],
        ..slower(READS, vec![])
    }
}

/// Clients of an engine are threads of its process. The rqps that waits for them uses more CPU time per operation the
/// fewer operations there are: that shows nothing about the host, and is no cause.
#[test]
fn an_rqps_that_waits_for_an_engine_is_no_client() {
    let times = [
        figure(READS, Observed::SessionCpuUs, 20.0, 60.0),
        figure(READS, Observed::Metric("client_cpu_us"), 1.0, 3.0),
        figure(READS, Observed::Metric("server_role.rqps_us"), 0.1, 2.0),
        figure(READS, Observed::Metric("server_backends_queued_us"), 0.1, 0.1),
        figure(READS, Observed::Metric("rest_us"), 5.0, 60.0),
        figure(READS, Observed::Metric("host_idle_us"), 400.0, 400.0),
    ];
    let spec = |dbms, version| Spec {
        dbms,
        arms: vec![("old", version), ("control", version), ("new", version)],
        effects: vec![(2, READS, 0.4, 3.0)],
        extra: times.into_iter().flatten().collect(),
        ..Spec::default()
    };
    let is_of_client = |found: &Explanation| {
        let of_part = found
            .decomposition
            .as_ref()
            .is_some_and(|split| split.parts.iter().any(|part| part.name == PartName::Client));
        let is_named = |text: &str| names(found, text) > 0;
        [
            of_part,
            is_named("client's CPU"),
            is_named("in the rqps"),
            finding(found, Cause::OtherLoad).is_some(),
        ]
    };
    assert_eq!(is_of_client(&explained(&spec("rocksdb", "10.10.1"), READS)), [false; 4]);
    let server = explained(&spec("postgres", "17.7"), READS);
    assert!(is_of_client(&server).into_iter().any(|is_there| is_there), "{server:#?}");
}

/// If the rate is undecided, the reason for the cost's verdict comes first.
#[test]
fn more_work_does_not_explain_a_lower_cost() {
    let wal = figure(WRITES, Observed::Metric("server_wal_bytes"), 468.0, 628.0);
    let spec = Spec {
        effects: vec![(2, WRITES, 1.0, 0.86)],
        block_sd: 0.05,
        extra: cpu_times(WRITES, 155.0).into_iter().chain([wal]).flatten().collect(),
        after_load: vec![(2, "ALTER TABLE sbtest1 SET (fillfactor = 10)")],
        ..slower(WRITES, vec![])
    };
    let found = explained(&spec, WRITES);
    assert!(
        found.findings.iter().any(|finding| finding.cause == Cause::Wal && finding.word == Word::MoreWork)
    );
    assert_eq!(
        (first(&found).word, first(&found).cause),
        (Word::LessWork, Cause::Instructions),
        "{found:#?}"
    );
}

#[test]
fn settings_without_a_known_mechanism_are_never_named() {
    for name in
        ["cluster_name", "log_line_prefix", "extra_float_digits", "log_autovacuum_min_duration", "nosuch"]
    {
        let settings = vec![(0, name, "a"), (2, name, "b")];
        let found = explained(&Spec { settings, ..slower(WRITES, unlike_data(WRITES)) }, WRITES);
        assert!(!found.findings.is_empty());
        assert_eq!(names(&found, name), 0, "{:?}", found.findings);
    }
}

#[test]
fn statement_is_named_if_nothing_else_explains_the_change() {
    let given = "SELECT pg_create_logical_replication_slot('s', 'test_decoding')";
    let alone = Spec {
        arms: vec![("old", "17.7"), ("control", "17.7"), ("new", "17.7")],
        effects: vec![(2, READS, 0.8, 1.0)],
        after_load: vec![(2, given)],
        ..Spec::default()
    };
    let found = explained(&alone, READS);
    assert_eq!((first(&found).word, first(&found).cause), (Word::NotExplained, Cause::Unknown));
    let sentence = &first(&found).sentence;
    assert!(
        sentence.contains("only this arm ran after its load: SELECT pg_create_logical_replication_slot"),
        "{sentence}"
    );
    let harmless = Spec { after_load: vec![(2, "COMMENT ON TABLE sbtest1 IS 'x'")], ..alone };
    assert_eq!(names(&explained(&harmless, READS), "COMMENT"), 0);
}

#[test]
fn nothing_is_named_without_a_changed_verdict() {
    let spec = Spec {
        effects: vec![],
        settings: vec![(0, "synchronous_commit", "off"), (2, "synchronous_commit", "on")],
        after_load: vec![(2, "SELECT nobody_knows()")],
        extra: vec![],
        ..slower(READS, vec![])
    };
    let found = explained(&spec, READS);
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

/// Two versions with one config: version 12 does not know the option, and defaults differ too.
fn versions(extra: Vec<[Extra; 3]>) -> Spec {
    Spec {
        arms: vec![("old", "12.22"), ("control", "12.22"), ("new", "17.7")],
        defaults: vec![
            (0, "ssl_min_protocol_version", "TLSv1"),
            (2, "ssl_min_protocol_version", "TLSv1.2"),
            (0, "vacuum_cost_page_miss", "10"),
            (2, "vacuum_cost_page_miss", "2"),
            (0, "autovacuum_vacuum_insert_scale_factor", "0"),
            (2, "autovacuum_vacuum_insert_scale_factor", "0.2"),
            (0, "checkpoint_completion_target", "0.5"),
            (2, "checkpoint_completion_target", "0.9"),
        ],
        ..slower(WRITES, extra)
    }
}

#[test]
fn defaults_without_effect_are_not_named() {
    let found = explained(&versions(unlike_data(WRITES)), WRITES);
    assert!(found.findings.len() > 1, "{:?}", found.findings);
    for name in ["ssl_min", "vacuum_", "checkpoint_"] {
        assert_eq!(names(&found, name), 0, "{:?}", found.findings);
    }
    assert_eq!(found.differences.len(), 5, "they are still listed as differences: {:?}", found.differences);
}

#[test]
fn autovacuum_default_is_named_if_autovacuum_ran() {
    let tables = Observed::Counter("pg_stat_all_tables", "all", "autovacuum_count");
    let found = explained(&versions(vec![figure(WRITES, tables, 0.0, 1e-4)]), WRITES);
    let vacuum = finding(&found, Cause::Autovacuum);
    let sentence = &vacuum.unwrap_or_else(|| panic!("{:?}", found.findings)).sentence;
    assert!(sentence.contains("autovacuum_vacuum_insert_scale_factor (0.2, base 0)"), "{sentence}");
    assert!(!sentence.contains("ssl"), "{sentence}");
}

#[test]
fn disabled_binary_log_counts_as_no_bytes() {
    let file = |object, column| Observed::Counter("file_io", object, column);
    let of_arms = |what, arms: &[usize], per_query| {
        arms.iter().map(|arm| Extra { arm: *arm, test: WRITES, what, per_query }).collect::<Vec<_>>()
    };
    let spec = Spec {
        dbms: "mysql",
        arms: vec![("old", "8.0.31"), ("control", "8.0.31"), ("new", "8.0.31")],
        effects: vec![(2, WRITES, 1.2, 0.9)],
        extra: [
            of_arms(file("sql/binlog", "bytes_write"), &[0, 1], 900.0),
            of_arms(file("innodb/innodb_log_file", "bytes_write"), &[0, 1, 2], 700.0),
        ]
        .concat(),
        settings: vec![(0, "log_bin", "ON"), (2, "log_bin", "OFF")],
        ..Spec::default()
    };
    let found = explained(&spec, WRITES);
    assert_eq!((first(&found).word, first(&found).cause), (Word::LessWork, Cause::BinaryLog), "{found:?}");
    assert!(first(&found).sentence.contains("log_bin (OFF, base ON)"), "{found:?}");
}

/// The arm takes a fifth less time and instructions, and writes less log.
fn faster(extra: Vec<[Extra; 3]>) -> Spec {
    let times = [
        figure(WRITES, Observed::SessionCpuUs, 180.0, 140.0),
        figure(WRITES, Observed::Metric("client_cpu_us"), 40.0, 40.0),
        figure(WRITES, Observed::Metric("server_wal_bytes"), 720.0, 540.0),
    ];
    Spec {
        effects: vec![(2, WRITES, 1.2, 0.8)],
        extra: times.into_iter().chain(extra).flatten().collect(),
        ..slower(WRITES, vec![])
    }
}

#[test]
fn causes_of_more_work_do_not_explain_less() {
    let blocks = blocks(WRITES, 9.0, 4.0);
    for given in [
        "CREATE INDEX extra ON sbtest1 (pad)",
        "ALTER TABLE sbtest1 ADD COLUMN twice int GENERATED ALWAYS AS (k * 2) STORED",
        "ALTER TABLE sbtest1 REPLICA IDENTITY FULL",
    ] {
        let on = |arm| Spec { after_load: vec![(arm, given)], ..faster(blocks.clone()) };
        let found = explained(&on(2), WRITES);
        assert!(found.findings.len() > 1, "{:?}", found.findings);
        assert_eq!(names(&found, given), 0, "{:?}", found.findings);
        let on_base = Spec { after_load: vec![(0, given), (1, given)], ..faster(blocks.clone()) };
        let found = explained(&on_base, WRITES);
        assert!(names(&found, given) > 0, "{given}: {:?}", found.findings);
    }
    for (name, low, high) in [
        ("track_commit_timestamp", "off", "on"),
        ("statement_timeout", "0", "60s"),
        ("wal_level", "replica", "logical"),
    ] {
        let from = |base, arm| Spec {
            settings: vec![(0, name, base), (1, name, base), (2, name, arm)],
            ..faster(blocks.clone())
        };
        let found = explained(&from(low, high), WRITES);
        assert_eq!(names(&found, name), 0, "{:?}", found.findings);
        let found = explained(&from(high, low), WRITES);
        assert!(names(&found, name) > 0, "{name}: {:?}", found.findings);
    }
}

#[test]
fn causes_without_a_direction_are_named_for_both() {
    let given = "UPDATE sbtest1 SET pad = pad";
    for spec in [faster(vec![]), slower(WRITES, vec![])] {
        let found = explained(&Spec { after_load: vec![(2, given)], ..spec }, WRITES);
        assert!(names(&found, given) > 0, "{:?}", found.findings);
    }
}

#[test]
fn statements_on_other_tables_are_not_named() {
    let plan = QueryPlan {
        statement: "update".into(),
        sql: "UPDATE sbtest1 SET k = k + 1 WHERE id = 1".into(),
        text: "Update on sbtest1".into(),
        json: String::new(),
    };
    let detail = |arm| Detail { arm, test: WRITES, plans: vec![plan.clone()], fingerprint: Vec::new() };
    let is_named = |given| {
        let details = (0..3).map(detail).collect();
        let spec = Spec { after_load: vec![(2, given)], details, ..slower(WRITES, unlike_data(WRITES)) };
        let found = explained(&spec, WRITES);
        assert!(!found.findings.is_empty());
        names(&found, given) > 0
    };
    assert!(!is_named("INSERT INTO parent SELECT generate_series(1, 1000)"));
    assert!(!is_named("CREATE INDEX i ON other (k)"));
    assert!(!is_named("CREATE TABLE other (id int PRIMARY KEY)"));
    assert!(is_named("CREATE INDEX i ON public.sbtest1 (k)"));
    assert!(is_named("ALTER TABLE sbtest1 ADD FOREIGN KEY (k) REFERENCES parent (id)"));
    assert!(is_named("CREATE TABLE child (id int REFERENCES sbtest1 (id))"));
}

#[test]
fn values_without_effect_are_not_named() {
    for (name, base, arm, named) in [
        ("log_min_duration_statement", "-1", "60s", false),
        ("log_min_duration_statement", "-1", "0", true),
        ("statement_timeout", "10s", "60s", false),
        ("statement_timeout", "0", "60s", true),
    ] {
        let settings = vec![(0, name, base), (1, name, base), (2, name, arm)];
        let found = explained(&Spec { settings, ..slower(WRITES, vec![]) }, WRITES);
        assert_eq!(names(&found, name) > 0, named, "{name} = {arm}: {:?}", found.findings);
    }
    let given = "ALTER TABLE sbtest1 REPLICA IDENTITY FULL";
    for (level, named) in [("replica", false), ("logical", true)] {
        let settings = (0..3).map(|arm| (arm, "wal_level", level)).collect();
        let spec = Spec { settings, after_load: vec![(2, given)], ..slower(WRITES, unlike_data(WRITES)) };
        let found = explained(&spec, WRITES);
        assert_eq!(names(&found, given) > 0, named, "{level}: {:?}", found.findings);
    }
}

#[test]
fn a_figure_whose_verdict_is_open_explains_nothing() {
    // Of 22 % more WAL, 4 % of noise leave three blocks in doubt, but not twelve.
    let spec = |blocks| Spec {
        blocks,
        ..slower(WRITES, vec![figure(WRITES, Observed::Noisy("server_wal_bytes"), 540.0, 660.0)])
    };
    for (blocks, is_shown) in [(3, false), (12, true)] {
        let found = explained(&spec(blocks), WRITES);
        let names_wal = found.findings.iter().any(|finding| finding.cause == Cause::Wal);
        assert_eq!(names_wal, is_shown, "{blocks}: {:?}", found.findings);
    }
}

/// Three blocks establish no change of a count: as a likely one it comes last, and not where it works against what is
/// established.
#[test]
fn a_count_that_few_blocks_do_not_establish_is_told_as_likely() {
    let log = |blocks, wal_bytes| {
        let extra = vec![figure(WRITES, Observed::Metric("server_wal_bytes"), 540.0, wal_bytes)];
        let found = explained(&Spec { blocks, ..slower(WRITES, extra) }, WRITES);
        let at = found.findings.iter().position(|finding| finding.cause == Cause::Wal);
        at.map(|at| (found.findings[at].certainty, at + 1 == found.findings.len(), found))
    };
    let (certainty, is_last, found) = log(3, 700.0).unwrap();
    assert!(certainty == Certainty::Likely { blocks: 3 } && is_last && found.findings.len() > 1, "{found:?}");
    let likely = found.findings.last().unwrap();
    assert!(likely.share().is_none() && likely.sentence.contains("likely, not established"), "{likely:?}");
    assert!(log(3, 400.0).is_none_or(|(_, _, found)| panic!("against the change: {found:?}")));
    let (certainty, ..) = log(5, 700.0).unwrap();
    assert_eq!(certainty, Certainty::Replicated { blocks: 5 });
}

#[test]
fn an_imported_run_is_explained_by_figures_of_its_host() {
    let spec = Spec {
        protocol: rqps_store::IMPORTED,
        effects: vec![(2, WRITES, 0.8, 1.0)],
        extra: figure(WRITES, Observed::Metric("host_user_us"), 190.0, 350.0).to_vec(),
        ..Spec::default()
    };
    let found = explained(&spec, WRITES);
    assert_eq!((first(&found).word, first(&found).cause), (Word::MoreWork, Cause::CpuTime), "{found:?}");
    assert!(first(&found).sentence.contains("us of the host's CPU time per query"), "{found:?}");
}
