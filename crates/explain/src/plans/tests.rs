//! Plans of real servers from 9.6 to 18: same plans have the same fingerprint, different plans different
//! ones, and changes are described correctly. Each file of `golden` holds one version's answers to the same
//! statements on two tables of 20,000 rows, made with `rqps serve postgres-VERSION --tables 2 --rows 20000 --
//! psql`.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rqps_model::QueryPlan;
use serde_json::Value;

use super::*;

const VERSIONS: [(&str, &str); 10] = [
    ("9.6", include_str!("golden/9.6.jsonl")),
    ("10", include_str!("golden/10.jsonl")),
    ("11", include_str!("golden/11.jsonl")),
    ("12", include_str!("golden/12.jsonl")),
    ("13", include_str!("golden/13.jsonl")),
    ("14", include_str!("golden/14.jsonl")),
    ("15", include_str!("golden/15.jsonl")),
    ("16", include_str!("golden/16.jsonl")),
    ("17", include_str!("golden/17.jsonl")),
    ("18", include_str!("golden/18.jsonl")),
];

fn plan(json: String) -> QueryPlan {
    QueryPlan { statement: "statement".into(), sql: String::new(), text: String::new(), json }
}

/// A version's plans by name, from its golden file.
pub(super) fn golden_of(versions: &[(&str, &str)], version: &str) -> BTreeMap<String, QueryPlan> {
    let (_, lines) = versions.iter().find(|(name, _)| *name == version).unwrap();
    let plan = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["name"].as_str().unwrap().to_owned(), plan(line["json"].to_string()))
    };
    lines.lines().map(plan).collect()
}

fn golden(version: &str) -> BTreeMap<String, QueryPlan> {
    golden_of(&VERSIONS, version)
}

fn plan_of(version: &str, name: &str) -> QueryPlan {
    golden(version).remove(name).unwrap()
}

#[test]
fn versions_print_the_same_plan_with_the_same_fingerprint() {
    // These really are planned differently: index-only scans depend on vacuum, 13 added incremental sort, 14
    // added Memoize, 17 knows that primary keys are not null.
    let differing =
        ["range-covered", "group-hash", "not-in", "semi", "sorted-prefix", "join-many", "initplan"];
    let first = golden("9.6");
    let mut found = Vec::new();
    for (version, _) in VERSIONS {
        for (name, plan) in golden(version) {
            let (base, arm) = (Fingerprint::of(&first[&name]), Fingerprint::of(&plan));
            if base != arm && !differing.contains(&name.as_str()) {
                found.push(format!("{name} of {version}:\n{}{}", base.as_str(), arm.as_str()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn fingerprints_ignore_literals_and_numbers_of_tables_only() {
    for (version, _) in VERSIONS {
        let plans = golden(version);
        let same = |a: &str, b: &str| Fingerprint::of(&plans[a]) == Fingerprint::of(&plans[b]);
        assert!(same("point", "point-other-literal"), "{version}");
        assert!(same("point", "point-other-table"), "{version}");
        assert!(same("points", "points-more"), "{version}");
        for other in ["range-bitmap", "range-seq"] {
            assert!(!same("range-index", other), "{version}: {other}");
        }
        assert!(same("point", "prepared"), "{version}: the same nodes, planned for all values");
        assert!(!same("range", "range-filter"), "{version}: a filter");
        assert!(!same("join-hash", "join-merge"), "{version}");
    }
}

#[test]
fn changes_are_described_in_terms_of_plans() {
    let described = |from: (&str, &str), to: (&str, &str)| {
        changes(&plan_of(from.0, from.1), &plan_of(to.0, to.1)).join("; ")
    };
    let on = |version: &'static str, from: &'static str, to: &'static str| {
        described((version, from), (version, to))
    };
    assert_eq!(on("18", "range-index", "range-seq"), "Index Scan on sbtest using k_1 became Seq Scan");
    assert_eq!(on("18", "range-bitmap", "range-index"), "Bitmap Heap Scan on sbtest (k_1) became Index Scan");
    let pairs = [
        (
            "group-sort",
            "group-hash",
            "Seq Scan on sbtest became Index Only Scan using k_1; Sort + GroupAggregate became HashAggregate",
        ),
        ("scan", "parallel-scan", "Aggregate is new; 2 parallel workers planned (none before)"),
        ("left-join", "join-hash", "Hash Right Join became Hash Join"),
        ("range", "range-filter", "filter (pad ~~ ?) is new"),
        (
            "points-or",
            "point",
            "Bitmap Heap Scan on sbtest (sbtest1_pkey, k_1) became Index Scan using sbtest1_pkey",
        ),
        ("order", "distinct", "Unique is new"),
    ];
    for (from, to, words) in pairs {
        assert_eq!(on("18", from, to), words);
    }
    assert_eq!(
        described(("16", "not-in"), ("17", "not-in")),
        "Index Only Scan on sbtest using k_1 became Seq Scan",
        "and nothing of how 17 prints the subplan"
    );
}

/// Changes costs, rows and widths of a plan, and adds fields that no version has yet.
fn reestimated(value: &mut Value, factor: f64, added: &str) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| reestimated(value, factor, added)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match field.as_f64().filter(|_| name != "Workers Planned") {
                    Some(figure) => *field = (figure * factor).into(),
                    None => reestimated(field, factor, added),
                }
            }
            fields.insert(format!("New {added}"), factor.into());
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn estimates_are_ignored(factor in 0.01..100.0_f64, added in "[A-Z][a-z]{1,8}") {
        for (name, original) in golden("18") {
            let mut value: Value = serde_json::from_str(&original.json).unwrap();
            reestimated(&mut value, factor, &added);
            let other = plan(value.to_string());
            prop_assert_eq!(Fingerprint::of(&original), Fingerprint::of(&other), "{}", name);
            prop_assert!(changes(&original, &other).is_empty());
        }
    }
}

#[test]
fn all_different_plans_have_a_described_change() {
    let plans = golden("17");
    for (a, before) in &plans {
        for (b, after) in &plans {
            let described = changes(before, after);
            assert_eq!(
                described.is_empty(),
                Fingerprint::of(before) == Fingerprint::of(after),
                "{a} to {b}: {described:?}"
            );
        }
    }
}

#[test]
fn without_json_texts_are_compared() {
    let text = |text: &str| QueryPlan { text: text.to_owned(), ..plan(String::new()) };
    let a = text(
        "Index Scan using sbtest1_pkey on sbtest1  (cost=0.42..8.44 rows=1 width=121)\n  Index Cond: (id = 12)",
    );
    let b = text(
        "Index Scan using sbtest1_pkey on sbtest1  (cost=0.43..9.44 rows=9 width=121)\n  Index Cond: (id = 7)",
    );
    assert!(changes(&a, &b).is_empty());
    let other = text(&b.text.replace("sbtest1_pkey", "k_1"));
    assert_eq!(
        changes(&a, &other),
        ["Index Scan using sbtest1_pkey on sbtest1 became Index Scan using k_1 on sbtest1"]
    );
}
