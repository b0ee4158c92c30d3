//! Plans of real servers of MySQL and MariaDB: the same plan has the same fingerprint in every version's format, and
//! what is said of a change is what changed. Each file of `golden` holds the answers of one server to the same
//! statements on two tables of 20,000 rows: MySQL 5.6.14, 5.7.22, 8.0.31 and 9.7.4 (three forms of it), MariaDB
//! 10.2.11, 10.11.5, 11.4.5.

use std::collections::BTreeMap;

use rqps_model::QueryPlan;

use super::*;

const VERSIONS: [(&str, &str); 9] = [
    ("mysql-5.6", include_str!("golden/mysql-5.6.jsonl")),
    ("mysql-5.7", include_str!("golden/mysql-5.7.jsonl")),
    ("mysql-8.0", include_str!("golden/mysql-8.0.jsonl")),
    ("mysql-9.7", include_str!("golden/mysql-9.7.jsonl")),
    ("mysql-9.7-iterators", include_str!("golden/mysql-9.7-iterators.jsonl")),
    ("mysql-9.7-hypergraph", include_str!("golden/mysql-9.7-hypergraph.jsonl")),
    ("mariadb-10.2", include_str!("golden/mariadb-10.2.jsonl")),
    ("mariadb-10.11", include_str!("golden/mariadb-10.11.jsonl")),
    ("mariadb-11.4", include_str!("golden/mariadb-11.4.jsonl")),
];

fn golden(version: &str) -> BTreeMap<String, QueryPlan> {
    super::tests::golden_of(&VERSIONS, version)
}

/// Statements whose plans differ, as what is said of each.
fn differing(base: &str, arm: &str) -> BTreeMap<String, String> {
    let (before, after) = (golden(base), golden(arm));
    let told = |(name, plan): (&String, &QueryPlan)| (name.clone(), changes(plan, &after[name]).join("; "));
    before.iter().map(told).filter(|(_, told)| !told.is_empty()).collect()
}

fn pairs(told: &[(&str, &str)]) -> BTreeMap<String, String> {
    told.iter().map(|(name, told)| ((*name).to_owned(), (*told).to_owned())).collect()
}

#[test]
fn versions_print_the_same_plan_with_the_same_fingerprint() {
    assert_eq!(differing("mysql-5.6", "mysql-5.7"), pairs(&[]));
    // What 8.0 really does in another way.
    let changed =
        [("group-noindex", "filesort is gone"), ("join-noindex", "block nested loop became hash join")];
    assert_eq!(differing("mysql-5.7", "mysql-8.0"), pairs(&changed));
    let lookup = "filter k = /* select#? */ select max k from sbtest2 where id < ? is gone";
    assert_eq!(differing("mysql-8.0", "mysql-9.7"), pairs(&[("subquery", lookup)]));
    assert_eq!(differing("mariadb-10.11", "mariadb-11.4"), pairs(&[]));
    // 10.2 names the tables of a join alike, so that one of them is lost.
    let lost = "range access on b using PRIMARY is new; nested loop is new";
    assert_eq!(differing("mariadb-10.2", "mariadb-10.11"), pairs(&[("join", lost)]));
}

#[test]
fn the_form_made_of_iterators_is_read_like_the_one_made_of_blocks() {
    let mut found = differing("mysql-9.7", "mysql-9.7-iterators");
    // This form has no subqueries of conditions, and no writes of the older optimizer.
    found.remove("subquery");
    found.retain(|name, _| !["update", "delete"].iter().any(|start| name.starts_with(start)));
    assert_eq!(found, pairs(&[]));
}

#[test]
fn what_the_hypergraph_optimizer_does_in_another_way_is_told() {
    let found = differing("mysql-9.7", "mysql-9.7-hypergraph");
    let told = |name: &str| found.get(name).map(String::as_str);
    assert_eq!(told("point"), Some("const access on sbtest became eq_ref access using PRIMARY"));
    assert_eq!(told("update-index"), Some("range access on sbtest using PRIMARY became eq_ref access"));
    assert_eq!(told("range"), Some("filter id between ? and ? is gone"));
    assert_eq!(told("range-notcovered-si"), Some("index condition k between ? and ? is gone"));
    assert_eq!((told("scan"), told("ref"), told("insert")), (None, None, None));
}

#[test]
fn another_plan_has_another_fingerprint_and_other_literals_or_tables_have_not() {
    for (version, _) in VERSIONS {
        let plans = golden(version);
        let same = |a: &str, b: &str| Fingerprint::of(&plans[a]) == Fingerprint::of(&plans[b]);
        assert!(same("point", "point-other-literal") && same("point", "point-other-table"), "{version}");
        assert!(same("points", "points-more"), "{version}");
        for (a, b) in [("ref", "ref-covered"), ("range", "range-filter"), ("order", "distinct")] {
            assert!(!same(a, b), "{version}: {a} and {b}");
        }
        let told = |a: &str, b: &str| changes(&plans[a], &plans[b]).join("; ");
        assert_eq!(
            told("range-covered-si", "range-covered-noindex"),
            "covering range access on sbtest using k_1 became full table scan (ALL)",
            "{version}"
        );
        assert_eq!(
            told("ref", "ref-covered"),
            "ref access on sbtest using k_1 became covering ref access",
            "{version}"
        );
        assert_eq!(told("order", "distinct"), "temporary table is new", "{version}");
    }
}
