//! Series of made-up runs with known steps.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use insta::assert_snapshot;
use rqps_report::{Format, Screen, Series, SeriesLink};
use rqps_store::RunFolder;
use rqps_verdicts::testing::{Spec, write_run};

type Effects = Vec<(usize, &'static str, f64, f64)>;

/// A link; `anchor` is an arm of its own unless it is the earlier version.
fn link(
    results: &std::path::Path,
    arms: [&'static str; 3],
    effects: Effects,
    (blocks, seed): (u32, u64),
) -> SeriesLink {
    let [anchor, before, after] = arms;
    let names = [("before", before), ("after", after), ("anchor", anchor)];
    let count = if anchor == before { 2 } else { 3 };
    let spec = Spec { arms: names[..count].to_vec(), effects, blocks, seed, ..Spec::default() };
    let run = RunFolder::open(&write_run(results, &spec).unwrap()).unwrap();
    let page = format!("link-{seed}/report.html");
    SeriesLink { run, before: 0, after: 1, anchor: if count == 2 { 0 } else { 2 }, page }
}

/// In 17.0 hot-points gets twice as fast and insert 5 % slower. The host is a fifth slower in the second link.
fn links(results: &std::path::Path) -> Vec<SeriesLink> {
    let slower = |arms: &[usize], test| arms.iter().map(|arm| (*arm, test, 0.8, 1.0)).collect::<Effects>();
    let tests = ["point-query", "range-covered-pk", "read-only_range=10", "update-index"];
    let mut second: Effects = tests.iter().flat_map(|test| slower(&[0, 1, 2], test)).collect();
    second.extend([(0, "hot-points", 0.8, 1.0), (1, "hot-points", 1.6, 0.5), (2, "hot-points", 0.8, 1.0)]);
    second.extend([(0, "insert", 0.8, 1.0), (1, "insert", 0.76, 1.04), (2, "insert", 0.8, 1.0)]);
    vec![
        link(results, ["12.22", "12.22", "16.15"], vec![], (5, 1)),
        link(results, ["12.22", "16.15", "17.0"], second, (5, 2)),
    ]
}

fn names(versions: &[&str]) -> Vec<String> {
    versions.iter().map(|version| (*version).to_owned()).collect()
}

#[test]
fn steps_are_named_with_their_version_and_counters_and_drift_is_no_step() {
    let results = tempfile::tempdir().unwrap();
    let (versions, links) = (names(&["12.22", "16.15", "17.0"]), links(results.path()));
    let skipped = [("14.99".to_owned(), "not published".to_owned())];
    let series = Series::new(&versions, &links, &skipped).unwrap();
    let text = series.render(Format::Text, Screen::default()).unwrap();
    assert!(text.contains("16.15 after 12.22: no change shown in 6 tests"), "{text}");
    assert!(text.contains("12.22 itself ran at 0.89 to 1.12 of a test's mean rate"), "{text}");
    assert_snapshot!("series_text", text);
    assert_snapshot!("series_csv", series.render(Format::Csv, Screen::default()).unwrap());
    let page = series.page();
    assert!(page.contains("href=\"link-2/report.html\"") && page.contains("<svg"), "{page}");
    let chart = page
        .split("<svg")
        .find(|chart| chart.contains("cost per operation (instructions) relative"))
        .unwrap();
    for said in ["Base, at 1.0: postgres-12.22", "1 client", "Linux 6.1.0", "Whiskers: 99 %", "in 2 runs."] {
        assert!(chart.contains(said), "the figure lacks {said}: {chart}");
    }
}

/// Its one block says nothing of its noise, not even beside a link with more.
#[test]
fn a_link_of_one_block_has_neither_verdict_nor_interval() {
    let results = tempfile::tempdir().unwrap();
    let links = [
        link(results.path(), ["12.22", "12.22", "16.15"], vec![(1, "hot-points", 2.0, 0.5)], (1, 1)),
        link(results.path(), ["12.22", "16.15", "17.0"], vec![], (5, 2)),
    ];
    let versions = names(&["12.22", "16.15"]);
    let series = Series::new(&versions, &links[..1], &[]).unwrap();
    let csv = series.render(Format::Csv, Screen::default()).unwrap();
    assert!(
        csv.lines().any(|line| line.contains("hot-points") && line.contains(",,,inconclusive,")),
        "{csv}"
    );
    let versions = names(&["12.22", "16.15", "17.0"]);
    let series = Series::new(&versions, &links, &[]).unwrap();
    assert_eq!(series.undecided(), ["16.15"]);
    let text = series.render(Format::Text, Screen::default()).unwrap();
    assert!(text.contains("16.15 after 12.22: no verdict: too few blocks"), "{text}");
}

/// Counted instructions are used for 17.0 against 12.22, but not against 16.15, whose CPU time contradicts them.
#[test]
fn a_step_in_another_metric_than_the_course_says_so() {
    let results = tempfile::tempdir().unwrap();
    let spec = Spec {
        arms: vec![("before", "16.15"), ("after", "17.0"), ("anchor", "12.22")],
        effects: vec![(0, "insert", 0.5, 1.0)],
        blocks: 5,
        counted: true,
        ..Spec::default()
    };
    let run = RunFolder::open(&write_run(results.path(), &spec).unwrap()).unwrap();
    let links = [SeriesLink { run, before: 0, after: 1, anchor: 2, page: String::new() }];
    let versions = names(&["12.22", "16.15", "17.0"]);
    let csv = Series::new(&versions, &links, &[]).unwrap().render(Format::Csv, Screen::default()).unwrap();
    let row = csv.lines().find(|line| line.contains("insert") && line.contains("17.0")).unwrap();
    assert!(row.contains("instructions; step: CPU time"), "{row}");
}

/// A version that is left out keeps its link as a measurement of the others; its own step is not shown.
#[test]
fn links_of_other_versions_add_to_the_course_alone() {
    let results = tempfile::tempdir().unwrap();
    let mut links = links(results.path());
    links.push(link(results.path(), ["12.22", "12.22", "17.0"], vec![(1, "hot-points", 2.0, 0.5)], (3, 3)));
    let versions = names(&["12.22", "17.0"]);
    let csv = Series::new(&versions, &links, &[]).unwrap().render(Format::Csv, Screen::default()).unwrap();
    let row = csv.lines().find(|line| line.contains("hot-points") && line.contains("17.0")).unwrap();
    assert!(row.contains("improvement"), "{row}");
    assert!(row.contains(",8,") || row.ends_with(",8"), "blocks of two links: {row}");
}

/// Of two links that measured the same version, one was wrong.
#[test]
fn links_that_contradict_each_other_are_named() {
    let results = tempfile::tempdir().unwrap();
    let mut links = links(results.path());
    links[1] = link(results.path(), ["12.22", "16.15", "17.0"], vec![(0, "insert", 0.9, 1.0)], (8, 4));
    let versions = names(&["12.22", "16.15", "17.0"]);
    let text = Series::new(&versions, &links, &[]).unwrap().render(Format::Text, Screen::default()).unwrap();
    assert!(text.contains("insert 16.15 rate"), "{text}");
}
