//! Made-up runs whose arms differ in a plan, a setting, the state at the start, the host or one function:
//! findings name the difference only if its mechanism is visible.

use crate::common;
use rqps_explain::{Cause, Difference, Explanation, Word};
use rqps_model::QueryPlan;
use rqps_verdicts::testing::{Detail, Extra, Observed, Spec};

const TEST: &str = "update-index";
const TABLES_IO: &str = "pg_statio_all_tables";

fn explained(spec: &Spec) -> Explanation {
    common::explained(spec, TEST, 2)
}

fn figure(what: Observed, base: f64, arm: f64) -> [Extra; 3] {
    common::figure(TEST, what, base, arm)
}

/// A tenth slower, with a fifth more instructions and the given figures.
fn slower(extra: Vec<[Extra; 3]>) -> Spec {
    Spec {
        effects: vec![(2, TEST, 0.88, 1.2)],
        extra: common::cpu_times(TEST, 215.0).into_iter().chain(extra).flatten().collect(),
        ..Spec::default()
    }
}

fn plan(node: &str) -> QueryPlan {
    let json = format!(
        r#"[{{"Plan":{{"Node Type":"{node}","Relation Name":"sbtest1","Alias":"sbtest1","Total Cost":8.4}}}}]"#
    );
    QueryPlan { statement: "update".into(), sql: String::new(), text: format!("{node} on sbtest1"), json }
}

fn detail(arm: usize, plans: Vec<QueryPlan>, fingerprint: &[(&'static str, u64)]) -> Detail {
    Detail { arm, test: TEST, plans, fingerprint: fingerprint.to_vec() }
}

fn sentence(found: &Explanation, cause: Cause) -> Option<(Word, &str)> {
    common::finding(found, cause).map(|finding| (finding.word, finding.sentence.as_str()))
}

#[test]
fn changed_plan_names_the_planner_setting_that_differs() {
    let found = explained(&Spec {
        details: vec![detail(0, vec![plan("Index Scan")], &[]), detail(2, vec![plan("Seq Scan")], &[])],
        settings: vec![
            (0, "random_page_cost", "4"),
            (2, "random_page_cost", "400"),
            (0, "wal_compression", "off"),
            (2, "wal_compression", "lz4"),
            (0, "port", "5432"),
            (2, "port", "5433"),
        ],
        ..slower(vec![])
    });
    assert_eq!(found.findings[0].cause, Cause::QueryPlan, "{:?}", found.findings);
    let (word, text) = sentence(&found, Cause::QueryPlan).unwrap_or_else(|| panic!("{:?}", found.findings));
    assert_eq!(word, Word::AnotherPlan);
    assert!(text.starts_with("Index Scan on sbtest became Seq Scan (statement update)"), "{text}");
    assert!(text.ends_with("the arms differ in random_page_cost (400, base 4)"), "{text}");
    let names: Vec<&str> = found.differences.iter().map(|Difference { name, .. }| name.as_str()).collect();
    assert_eq!(names, ["version", "random_page_cost", "wal_compression"]);
}

#[test]
fn changed_plan_without_effect_is_no_cause() {
    let found = explained(&Spec {
        details: vec![detail(0, vec![plan("Index Scan")], &[]), detail(2, vec![plan("Seq Scan")], &[])],
        ..Spec::default()
    });
    let plan = common::finding(&found, Cause::QueryPlan).unwrap();
    assert!(found.may_be_chance && plan.weight == 0.0, "{found:?}");
}

#[test]
fn a_plan_that_the_control_also_has_is_no_cause() {
    let [index, seq] = ["Index Scan", "Seq Scan"].map(|node| vec![plan(node)]);
    let of = |control: &Vec<QueryPlan>| {
        let details = [(0, &index), (1, control), (2, &seq)];
        let details = details.map(|(arm, plans)| detail(arm, plans.clone(), &[])).to_vec();
        let found = explained(&Spec { details, ..slower(vec![]) });
        common::finding(&found, Cause::QueryPlan).is_some()
    };
    assert_eq!([of(&index), of(&seq)], [true, false]);
}

#[test]
fn a_plan_explains_the_cpu_time_of_parallel_workers_and_of_no_other_process() {
    let takes = |metric: &'static str, role: &str| {
        let details = vec![detail(0, vec![plan("Index Scan")], &[]), detail(2, vec![plan("Seq Scan")], &[])];
        let found = explained(&Spec { details, ..slower(vec![figure(Observed::Metric(metric), 1.0, 60.0)]) });
        let of_plan = common::finding(&found, Cause::QueryPlan).unwrap();
        of_plan.evidence.iter().any(|figure| figure.what == format!("CPU time of the {role}"))
    };
    assert!(takes("server_role.parallel_worker_us", "parallel worker"));
    assert!(!takes("server_role.wal_writer_us", "wal writer"));
}

fn heap_blocks(base: f64, arm: f64) -> Vec<[Extra; 3]> {
    let counter = |column| Observed::Counter(TABLES_IO, "all", column);
    vec![figure(counter("heap_blks_hit"), base, arm), figure(counter("heap_blks_read"), 0.0, 0.0)]
}

#[test]
fn dead_rows_at_the_start_need_more_work_to_be_a_debt() {
    let states = vec![
        detail(0, vec![], &[("live_rows", 100_000), ("dead_rows", 500)]),
        detail(2, vec![], &[("live_rows", 100_000), ("dead_rows", 70_000)]),
    ];
    let found = explained(&Spec { details: states.clone(), ..slower(heap_blocks(4.0, 7.0)) });
    let (word, text) = sentence(&found, Cause::DeadRows).unwrap_or_else(|| panic!("{:?}", found.findings));
    assert_eq!(word, Word::MoreWork, "in blocks no test leaves anything to another");
    assert!(text.contains("since the load"), "{text}");
    assert!(text.starts_with("new starts with 70,000 dead rows, 70 % of the live rows (old: 500)"), "{text}");
    assert!(text.contains("new touches 7 blocks of tables per query"), "{text}");
    assert!(
        sentence(&found, Cause::BlocksTouched).is_none(),
        "the blocks belong to it: {:?}",
        found.findings
    );

    let mut unseen = slower(heap_blocks(4.0, 4.0));
    unseen.effects = vec![(2, TEST, 0.88, 1.0)];
    let found = explained(&Spec { details: states, ..unseen });
    assert!(sentence(&found, Cause::DeadRows).is_none(), "{:?}", found.findings);
}

#[test]
fn other_programs_are_named_only_if_the_slower_arm_suffered() {
    let rest = |base, arm| {
        vec![
            figure(Observed::Metric("rest_us"), base, arm),
            figure(Observed::Metric("host_idle_us"), 400.0, 400.0),
        ]
    };
    let found = explained(&slower(rest(5.0, 120.0)));
    let (word, text) = sentence(&found, Cause::OtherLoad).unwrap_or_else(|| panic!("{:?}", found.findings));
    assert_eq!(word, Word::TheHost);
    assert!(text.contains("of the machine's CPU; while old was, 1."), "{text}");
    // Who sleeps at each commit leaves the CPU to others.
    let durable = Spec {
        settings: vec![
            (0, "fsync", "on"),
            (0, "synchronous_commit", "off"),
            (2, "fsync", "on"),
            (2, "synchronous_commit", "on"),
        ],
        ..slower(rest(5.0, 120.0))
    };
    assert!(sentence(&explained(&durable), Cause::OtherLoad).is_none());
    let found = explained(&slower(rest(120.0, 5.0)));
    assert!(sentence(&found, Cause::OtherLoad).is_none(), "{:?}", found.findings);
}

#[test]
fn between_dbmss_what_they_use_themselves_comes_before_the_host() {
    let slow = Spec {
        effects: vec![(2, TEST, 0.3, 1.0)],
        extra: [
            figure(Observed::SessionCpuUs, 180.0, 650.0),
            figure(Observed::Metric("client_cpu_us"), 40.0, 110.0),
            figure(Observed::Metric("rest_us"), 5.0, 400.0),
            figure(Observed::Metric("host_idle_us"), 400.0, 400.0),
        ]
        .concat(),
        ..Spec::default()
    };
    let first = |dbms: &str| {
        let found = common::explained_after(&slow, TEST, 2, |run| dbms.clone_into(&mut run.arms[2].dbms));
        (found.findings[0].word, found.findings[0].cause)
    };
    assert_eq!(first("postgres"), (Word::TheHost, Cause::OtherLoad));
    assert_eq!(first("mysql"), (Word::NotExplained, Cause::CpuTime));
}

const STACKS: &str =
    "backend;main;exec;scan;compare 6000\nbackend;main;plan;cost 4000\ncheckpointer;main;write 9000\n";

#[test]
fn only_functions_of_sessions_are_named() {
    let arm = STACKS.replace("cost 4000", "cost 5940").replace("write 9000", "write 90");
    let arm: &'static str = arm.leak();
    let found = explained(&Spec { profiles: vec![(0, TEST, STACKS), (2, TEST, arm)], ..slower(vec![]) });
    let (word, text) = sentence(&found, Cause::Function).unwrap_or_else(|| panic!("{:?}", found.findings));
    assert_eq!(word, Word::MoreWork);
    assert!(text.contains("cost 34.9 us more (base: 72.1)"), "{text}");
    assert!(!text.contains("compare") && !text.contains("write"), "{text}");
    assert!(found.remarks.iter().all(|remark| !remark.contains("no CPU profile")), "{:?}", found.remarks);
}

#[test]
fn time_spread_over_all_functions_names_none() {
    let found = explained(&Spec { profiles: vec![(0, TEST, STACKS), (2, TEST, STACKS)], ..slower(vec![]) });
    assert!(sentence(&found, Cause::Function).is_none(), "{:?}", found.findings);
    assert!(found.remarks.iter().any(|remark| remark.contains("spread evenly over all functions")));
}

/// Whoever took the profiles that a note asked for is told what they show.
#[test]
fn profiles_are_told_of_where_the_cpu_time_of_windows_does_not_differ() {
    let arm: &'static str = STACKS.replace("cost 4000", "cost 5940").leak();
    let extra = common::cpu_times(TEST, 180.0).into_iter().flatten().collect();
    let found =
        explained(&Spec { profiles: vec![(0, TEST, STACKS), (2, TEST, arm)], extra, ..slower(vec![]) });
    assert!(sentence(&found, Cause::Function).is_none(), "{:?}", found.findings);
    let remark = found.remarks.iter().find(|remark| remark.contains("in the profiles"));
    assert!(
        remark.is_some_and(|remark| remark.contains(": cost ") && remark.contains(" us more (base: ")),
        "{found:?}"
    );
}

/// What a patch adds is told with the cost, not only in a note below all tests.
#[test]
fn functions_that_base_never_runs_are_told_with_the_cost() {
    let arm: &'static str = STACKS.replace("cost 4000", "cost 4000\nbackend;main;plan;hook 900").leak();
    let extra = common::cpu_times(TEST, 180.0).into_iter().flatten().collect();
    let found =
        explained(&Spec { profiles: vec![(0, TEST, STACKS), (2, TEST, arm)], extra, ..slower(vec![]) });
    let (_, text) = sentence(&found, Cause::Instructions).unwrap_or_else(|| panic!("{:?}", found.findings));
    assert!(text.contains("of CPU per query in hook, where old has no sample"), "{text}");
    assert!(!text.contains("cost"), "{text}");
    let equal = Spec { profiles: vec![(0, TEST, arm), (2, TEST, arm)], ..slower(vec![]) };
    assert!(!explained(&equal).findings.iter().any(|one| one.sentence.contains("hook")));
}

#[test]
fn missing_profile_is_reported_with_the_command_to_take_it() {
    let found = explained(&Spec { profiles: vec![(0, TEST, STACKS)], ..slower(vec![]) });
    let remark = found.remarks.iter().find(|remark| remark.contains("no CPU profile of new"));
    assert!(remark.is_some_and(|remark| remark.contains("`rqps profile made-up")), "{:?}", found.remarks);
}

#[test]
fn the_only_difference_is_told_where_no_counter_tells_how() {
    let alone = |settings: Vec<(usize, &'static str, &'static str)>| {
        let spec = Spec {
            arms: vec![("old", "17.7"), ("control", "17.7"), ("new", "17.7")],
            effects: vec![(2, TEST, 0.8, 1.0)],
            settings,
            ..Spec::default()
        };
        explained(&spec).findings.remove(0)
    };
    let one = |name, base, arm| vec![(0, name, base), (1, name, base), (2, name, arm)];
    // Nothing is known of what it does.
    let found = alone(one("my_extension.mode", "calm", "eager"));
    assert_eq!(found.word, Word::OnlyDifference, "{found:?}");
    assert_eq!(found.sentence, "my_extension.mode: calm -> eager; no counter tells how");
    let two = [one("my_extension.mode", "calm", "eager"), one("my_extension.size", "1", "2")].concat();
    let found = alone(two);
    assert_eq!(found.word, Word::NotExplained, "{found:?}");
}
