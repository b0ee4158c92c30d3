//! Which settings are named for which findings: tests of the tables alone, and of made-up findings.

use std::fmt::Write as _;

use super::*;
use crate::model::{Evidence, Word};

/// Every setting whose default differs between Postgres 9.6 to 18, MySQL 5.6 to 9.7 and MariaDB 10.2 to 11.4, or
/// RocksDB 5.18 to 10.10, as reported by these, and every option of a shipped config, which some version may not know.
/// Each line has the causes for which it may be named if the difference came with the version, and what has
/// to be active for that; `-` if it is never named.
const DEFAULTS: &str = include_str!("defaults.txt");

fn finding(cause: Cause, sentence: &str) -> Finding {
    Finding::made(Word::MoreWork, cause, sentence, Vec::new())
}

fn figure(shows: Shows) -> Evidence {
    Evidence { base: Some(0.0), arm: Some(1.0), shows, ..Evidence::default() }
}

fn suspects(kind: DifferenceKind, chosen: bool, names: &[&str]) -> Suspects {
    let suspect = |name: &&str| Suspect {
        difference: Difference { kind, name: (*name).into(), base: Some("1".into()), arm: Some("2".into()) },
        effects: rule_of(name).map_or(Vec::new(), |(_, causes, _, way)| effects(causes, *way, Some(true))),
        chosen,
    };
    Suspects { list: names.iter().map(suspect).collect(), same_build: false }
}

fn attached(suspects: &Suspects, cause: Cause, sentence: &str) -> String {
    let mut findings = [finding(cause, sentence)];
    suspects.attach(&mut findings);
    let [finding] = findings;
    finding.sentence
}

#[test]
fn new_defaults_are_named_only_for_their_own_counters() {
    let mut found = String::new();
    for line in DEFAULTS.lines() {
        let setting = line.split(':').next().unwrap();
        let name = setting.split(' ').nth(1).unwrap();
        let (causes, needs) =
            rule_of(name).map_or((&[][..], Needs::Nothing), |(_, causes, needs, _)| (*causes, *needs));
        let causes: Vec<&str> = causes
            .iter()
            .filter(|cause| !differs_between_versions(**cause))
            .map(|cause| cause.key())
            .collect();
        let causes = if causes.is_empty() { "-".to_owned() } else { causes.join(", ") };
        let needs =
            if needs == Needs::Nothing || causes == "-" { String::new() } else { format!(" if {needs:?}") };
        writeln!(found, "{setting}: {causes}{needs}").unwrap();
    }
    assert_eq!(found, DEFAULTS, "{found}");
}

#[test]
fn settings_are_named_only_for_causes_that_they_affect() {
    let both = suspects(DifferenceKind::Setting, true, &["random_page_cost", "log_statement"]);
    let plan = attached(&both, Cause::QueryPlan, "seen");
    assert_eq!(plan, "seen; the arms differ in random_page_cost (2, base 1)");
    assert_eq!(attached(&both, Cause::Wal, "seen"), "seen");
    let code = attached(&both, Cause::Instructions, "seen");
    assert_eq!(code, "seen; the arms differ in log_statement (2, base 1)");
}

#[test]
fn defaults_are_not_named_for_causes_that_differ_between_any_versions() {
    let names = ["jit", "performance_schema", "log_statement", "track_io_timing", "ssl_min_protocol_version"];
    let defaults = suspects(DifferenceKind::DefaultSetting, false, &names);
    for cause in Cause::ALL.into_iter().filter(|cause| differs_between_versions(*cause)) {
        assert_eq!(attached(&defaults, cause, "seen"), "seen", "{cause}");
    }
}

#[test]
fn settings_are_named_only_for_plan_nodes_that_they_affect() {
    for (setting, change, effects) in [
        ("hash_mem_multiplier", &["Bitmap Heap Scan", "Index Only Scan"][..], false),
        ("hash_mem_multiplier", &["Sort", "HashAggregate"], true),
        ("enable_bitmapscan", &["Bitmap Heap Scan", "Seq Scan"], true),
        ("enable_hashjoin", &["Index Scan", "Seq Scan"], false),
        ("jit", &["Seq Scan"], false),
        ("random_page_cost", &["Index Scan", "Seq Scan"], true),
    ] {
        let nodes: Vec<PlanPart> = change.iter().map(|kind| PlanPart::Node((*kind).into())).collect();
        let nodes: Vec<&PlanPart> = nodes.iter().collect();
        assert_eq!(affects_plan(setting, &nodes), effects, "{setting}: {change:?}");
    }
}

#[test]
fn settings_are_named_only_for_processes_that_they_affect() {
    let settings = ["bgwriter_delay", "wal_writer_delay", "innodb_purge_threads"];
    let all = suspects(DifferenceKind::Setting, true, &settings);
    let mut findings = [finding(Cause::Background, "seen")];
    findings[0].evidence.push(figure(Shows::Role("wal_writer".into())));
    all.attach(&mut findings);
    let sentence = &findings[0].sentence;
    assert!(
        sentence.contains("wal_writer_delay (2")
            && !sentence.contains("bgwriter")
            && !sentence.contains("purge"),
        "{sentence}"
    );
}

#[test]
fn log_buffers_are_named_only_if_full() {
    let buffers = suspects(DifferenceKind::Setting, true, &["wal_buffers"]);
    assert_eq!(attached(&buffers, Cause::Wal, "seen"), "seen");
    let mut full = [finding(Cause::Wal, "seen")];
    full[0].evidence.push(figure(Shows::LogBufferFull));
    buffers.attach(&mut full);
    assert!(full[0].sentence.contains("wal_buffers"), "{full:?}");
}

/// A version that no longer runs log writers by default has none of their CPU time; purge has no less for it.
#[test]
fn a_default_that_runs_processes_is_named_with_these() {
    let threads = suspects(DifferenceKind::DefaultSetting, false, &[LOG_WRITERS, "innodb_log_file_size"]);
    for (role, is_named) in [("log_writer", true), ("log_flush_notifier", true), ("purge", false)] {
        let mut findings = [finding(Cause::Background, "seen")];
        findings[0].evidence.push(figure(Shows::Role(role.to_owned())));
        threads.attach(&mut findings);
        let named = if is_named { "; the arms differ in innodb_log_writer_threads (2, base 1)" } else { "" };
        assert_eq!(findings[0].sentence, format!("seen{named}"), "{role}");
    }
    assert_eq!(attached(&threads, Cause::CpuTime, "seen"), "seen");
}

/// Rows and blocks are touched for many reasons: the pages must show that it acts.
#[test]
fn an_option_of_one_arm_alone_is_named_where_pages_are_not_all_visible() {
    let difference = Difference {
        kind: DifferenceKind::LeftOut,
        name: DEFERS_CLEANUP.to_owned(),
        base: Some("1000".to_owned()),
        arm: Some("left out: unknown".to_owned()),
    };
    let (_, causes, _, way) = rule_of(DEFERS_CLEANUP).unwrap();
    let effects = effects(causes, *way, rose(&difference));
    let all = Suspects { list: vec![Suspect { difference, effects, chosen: false }], same_build: false };
    assert_eq!(attached(&all, Cause::Rows, "seen"), "seen");
    let mut findings = [finding(Cause::Rows, "seen")];
    findings[0].evidence.push(Evidence { what: ALL_VISIBLE.to_owned(), ..Evidence::default() });
    all.attach(&mut findings);
    let named =
        "only base was measured with vacuum_defer_cleanup_age = 1000 of its config, which can be the cause";
    assert_eq!(findings[0].sentence, format!("seen; {named}"));
}

#[test]
fn unexplained_change_names_settings_that_no_finding_names() {
    let names = ["random_page_cost", "synchronous_commit", "autovacuum"];
    let mut findings = [finding(Cause::QueryPlan, "seen"), finding(Cause::Unknown, "seen")];
    suspects(DifferenceKind::Setting, true, &names).attach(&mut findings);
    assert_eq!(
        findings[1].sentence, "seen; the arms differ in synchronous_commit (2, base 1), which may contribute",
        "autovacuum would have shown in counters"
    );
}

#[test]
fn narrowest_pattern_wins() {
    let can_affect =
        |name: &str, cause: Cause| rule_of(name).is_some_and(|(_, causes, ..)| causes.contains(&cause));
    assert!(can_affect("log_statement", Cause::Instructions));
    assert!(can_affect("autovacuum", Cause::DeadRows));
    assert!(!can_affect("autovacuum_vacuum_cost_limit", Cause::Size));
    for name in ["log_checkpoints", "log_line_prefix", "port", "cluster_name", "binlog_expire_logs_seconds"] {
        assert!(rule_of(name).is_none_or(|(_, causes, ..)| causes.is_empty()), "{name}");
    }
    let all = || mysql::SETTINGS.iter().chain(&postgres::SETTINGS).chain(&rocksdb::SETTINGS);
    for (names, ..) in all() {
        for name in names.split(' ') {
            let found = rule_of(name.trim_end_matches('*')).map(|(names, ..)| *names);
            assert_eq!(found, Some(*names), "{name} is never used");
            assert_eq!(
                all().flat_map(|rule| rule.0.split(' ')).filter(|other| *other == name).count(),
                1,
                "{name}"
            );
        }
    }
}
