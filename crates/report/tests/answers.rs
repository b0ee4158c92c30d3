//! What readers meet first: answers, the first sentence of a page, the summary of explanations, on synthetic runs.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use rqps_model::Setting;
use rqps_report::{
    CompareOptions, ExplainOptions, Format, Options, Screen, Section, compare, explain_text, show,
};
use rqps_stats::{Detector, Verdict};
use rqps_store::{Run, RunFolder};
use rqps_verdicts::testing::{Spec, write_run};
use rqps_verdicts::{judge_run, rules_of};
use std::path::Path;

fn run(results: &Path, spec: &Spec) -> Run {
    RunFolder::open(&write_run(results, spec).unwrap()).unwrap()
}

#[test]
fn what_is_likely_is_named_the_largest_first() {
    let effects =
        vec![(2, "hot-points", 0.93, 1.0), (2, "insert", 0.95, 1.0), (2, "update-index", 1.08, 1.0)];
    let spec = |seed| Spec { effects: effects.clone(), blocks: 3, block_sd: 0.02, seed, ..Spec::default() };
    let results = tempfile::tempdir().unwrap();
    let mut several = 0;
    for seed in 1..=12 {
        let run = run(&results.path().join(seed.to_string()), &spec(seed));
        let judged = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
        let mut likely: Vec<&Verdict> =
            judged.of_arm(2).filter(|one| one.detector == Detector::Rate && one.is_likely()).collect();
        likely.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        several += usize::from(likely.len() > 1);
        let text = show(&run, &Options { sections: vec![Section::Verdicts], ..Options::default() }).unwrap();
        let named = text.split_once("Likely, not established: ").map_or("", |(_, rest)| rest);
        let named = named.split_once(". ").map_or(named, |(named, _)| named);
        let places: Vec<_> = likely.iter().map(|one| named.find(&format!("{} (", one.test))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{likely:#?}: {named}: {text}");
    }
    assert!(several > 0, "no seed has two");
}

/// The first sentence below the title is the answer: on which arms most got worse, and on which better.
#[test]
fn a_page_of_several_arms_answers_first() {
    let results = tempfile::tempdir().unwrap();
    let arms = vec![("old", "17.7"), ("control", "17.7"), ("mid", "18.1"), ("new", "18.2"), ("same", "18.3")];
    let effects = vec![
        (2, "insert", 0.9, 1.0),
        (3, "insert", 0.8, 1.1),
        (3, "hot-points", 0.8, 1.1),
        (3, "update-index", 1.2, 0.9),
        (4, "update-index", 1.2, 1.0),
    ];
    let run = run(results.path(), &Spec { arms, effects, ..Spec::default() });
    let page = rqps_report::html_report(&run).unwrap();
    let (_, below) = page.split_once("</h1>").unwrap();
    let (first, rest) = below.split_once("</p>").unwrap();
    let text = first.rsplit_once('>').unwrap().1;
    let answer = "Slower than old: new in 2 of 6 tests, mid in 1; faster: new in 1, same in 1. \
                  More instructions per operation than old: new in 2 of 6 tests; fewer: new in 1.";
    assert!(text.starts_with(answer), "{text}");
    let places =
        ["Measured with ", "<svg", "Started ", "<li>mid: insert (1"].map(|part| rest.find(part).unwrap());
    assert!(places.is_sorted(), "then the conditions, the figure, each arm: {places:?}");
    let text = show(&run, &Options::default()).unwrap();
    let parts = [
        "Slower than old: new in 2 of 6 tests, mid in 1; faster: ",
        "- mid: insert (1",
        "- mid: REGRESSION insert: 1",
        "- new: improvement update-index: ",
        "Measured with ",
        "Relative QPS",
        "Verdicts on postgres-18.1",
    ];
    let places = parts.map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")));
    assert!(places.is_sorted(), "changes come before tables: {text}");
    assert_eq!(text.matches("REGRESSION insert").count(), 2, "each once: {text}");
    let equal = Spec { arms: vec![("old", "17.7"), ("a", "18.1"), ("b", "18.2")], ..Spec::default() };
    let page = rqps_report::html_report(&self::run(&results.path().join("equal"), &equal)).unwrap();
    assert!(page.contains("Slower than old: none shown; faster: none shown."), "{page}");
}

#[test]
fn many_changes_have_a_summary_and_their_figures_on_request() {
    let tests = ["hot-points", "point-query", "insert", "update-index"];
    let effects = [0.9, 0.95, 0.8, 0.85].into_iter().zip(tests).map(|(rate, test)| (2, test, rate, 1.0));
    let spec = Spec { effects: effects.collect(), ..Spec::default() };
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &spec);
    let explained = |options: ExplainOptions| explain_text(&run, &options).unwrap();
    let headings = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.ends_with(": new against old")).map(str::to_owned).collect()
    };
    let short = explained(ExplainOptions::default());
    let line = short.lines().find(|line| line.starts_with("- insert (new against old): ")).unwrap();
    let (_, likewise) = line.split_once("; likewise 3 other tests: ").unwrap();
    let places: Vec<_> =
        ["update-index 1", "hot-points 1", "point-query "].map(|test| likewise.find(test).unwrap()).into();
    assert!(
        places.is_sorted() && likewise.matches(" % slower").count() == 3,
        "the largest first: {likewise}"
    );
    assert!(headings(&short).is_empty() && short.contains(" TEST` shows the figures"), "{short}");
    assert!(!short.contains("What differs between"), "{short}");
    let all = explained(ExplainOptions { all: true, ..ExplainOptions::default() });
    assert!(headings(&all).len() == 4 && all.contains("What differs between"), "{all}");
    let csv = explained(ExplainOptions { format: Format::Csv, ..ExplainOptions::default() });
    assert!(tests.iter().all(|test| csv.contains(test)), "rows are all that it has: {csv}");
    let one =
        explained(ExplainOptions { tests: vec!["point-query".to_owned()], ..ExplainOptions::default() });
    assert_eq!(headings(&one), ["point-query: new against old"], "{one}");
}

/// Five versions, 32 tests, of which most changed on each, by one of two causes.
#[test]
fn a_summary_of_many_arms_and_tests_fits_two_screens_and_counts_all() {
    let names: Vec<&'static str> = (0..32).map(|number| &*format!("test-{number:02}").leak()).collect();
    let tests = names.iter().map(|name| (*name, "range", 3_000.0, 200_000.0, 0.0)).collect();
    let arms = vec![
        ("v14", "14.1"),
        ("control", "14.1"),
        ("v15", "15.1"),
        ("v16", "16.1"),
        ("v17", "17.1"),
        ("v18", "18.1"),
    ];
    // Every other change is of the number of instructions.
    let effect = |arm: usize, at: usize| {
        let rate = 0.8 + 0.005 * at as f64;
        (arm, names[at], rate, if at.is_multiple_of(2) { 1.0 / rate } else { 1.0 })
    };
    let effects = (2..6).flat_map(|arm| (0..28).map(move |at| effect(arm, at))).collect();
    let spec = Spec { arms, tests, effects, ..Spec::default() };
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &spec);
    let screen = Screen { width: Some(100), ..Screen::default() };
    let text = explain_text(&run, &ExplainOptions { screen, ..ExplainOptions::default() }).unwrap();
    let lines = text.lines().count();
    assert!(lines <= 60, "{lines} lines: {text}");
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for arm in ["v15", "v16", "v17", "v18"] {
        let items =
            unwrapped.split("- test-").skip(1).filter(|item| item.contains(&format!("({arm} against v14)")));
        let others = items.map(|item| {
            let likewise = item.split_once("; likewise ").map(|(_, rest)| rest);
            1 + likewise.map_or(0, |rest| rest.split(' ').next().unwrap().parse::<usize>().unwrap())
        });
        assert_eq!(others.sum::<usize>(), 28, "{arm}: {text}");
    }
}

#[test]
fn why_nobody_counts_instructions_makes_no_other_method() {
    let compared = |how: [&str; 2]| {
        let results = tempfile::tempdir().unwrap();
        let runs = how.map(|how| {
            let results = results.path().join(how.len().to_string());
            let mut run = run(&results, &Spec { counted: false, ..Spec::default() });
            run.meta.method = vec![Setting { name: "instructions".into(), value: how.into() }];
            run
        });
        compare(&runs, &CompareOptions::default()).map_err(|error| error.to_string())
    };
    let off = "none: the plan turns it off (no counters)";
    let text = compared([off, "none (no counters; install valgrind to count them)"]).unwrap();
    assert!(!text.contains("WARNING"), "{text}");
    let refused = compared([off, "counted under valgrind-3.19.0 (no counters)"]).unwrap_err();
    assert!(refused.contains("instructions: none in "), "{refused}");
}
