//! Reports of synthetic runs with blocks and known effects. `INSTA_UPDATE=always` accepts a change.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use insta::assert_snapshot;
use rqps_model::Setting;
use rqps_report::{ExplainOptions, Format, GateRules, Options, Screen, Section, explain_text, gate, show};
use rqps_stats::Detector;
use rqps_store::{Run, RunFolder};
use rqps_verdicts::testing::{Spec, write_run};
use rqps_verdicts::{judge_run, rules_of};
use std::collections::BTreeSet;

fn run(results: &std::path::Path, spec: &Spec) -> Run {
    RunFolder::open(&write_run(results, spec).unwrap()).unwrap()
}

fn shown(spec: &Spec, sections: &[Section], format: Format) -> String {
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), spec);
    let options = Options { sections: sections.to_vec(), format, ..Options::default() };
    show(&run, &options).unwrap().replace(&run.folder.name(), "RUN")
}

#[test]
fn runs_with_blocks_show_verdicts_by_default() {
    assert_snapshot!("verdicts_text", shown(&Spec::mixed(), &[], Format::Text));
}

#[test]
fn text_fits_a_terminal_of_80_columns_and_loses_nothing() {
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &Spec::mixed());
    let at = |width| {
        let screen = Screen { width, ..Screen::default() };
        let sections = Section::ALL.to_vec();
        show(&run, &Options { sections, screen, ..Options::default() }).unwrap()
    };
    let (narrow, wide) = (at(Some(80)), at(None));
    let too_wide: Vec<&str> = narrow.lines().filter(|line| line.chars().count() > 80).collect();
    assert_eq!(too_wide, [""; 0]);
    let word = |text: &str| text.trim_end_matches(':').to_owned();
    let words = |text: &str| text.split_whitespace().map(word).collect::<BTreeSet<String>>();
    let lost: Vec<String> = words(&wide).difference(&words(&narrow)).cloned().collect();
    assert_eq!(lost, ["why"], "the name of a column without any text");
    let verdicts = Options { screen: Screen { width: Some(80), ..Screen::default() }, ..Options::default() };
    let text = show(&run, &verdicts).unwrap().replace(&run.folder.name(), "RUN");
    assert_snapshot!("verdicts_at_80_columns", text);
}

#[test]
fn verdicts_in_the_other_formats() {
    for format in [Format::Markdown, Format::Csv, Format::Json] {
        assert_snapshot!(format!("verdicts_{format}"), shown(&Spec::mixed(), &[Section::Verdicts], format));
    }
}

#[test]
fn more_passes_are_promised_to_those_verdicts_alone_that_are_not_too_noisy() {
    let sentences = (1..=8).map(|seed| {
        let spec =
            Spec { protocol: "sequence", blocks: 3, block_sd: 0.02, counted: false, seed, ..Spec::default() };
        let text = shown(&spec, &[Section::Verdicts], Format::Text);
        let found = text.lines().find(|line| line.contains("More passes would probably decide"));
        found.unwrap_or_default().to_owned()
    });
    let of_some: Vec<String> = sentences.filter(|line| line.contains("too noisy")).collect();
    assert!(!of_some.is_empty());
    assert!(of_some.iter().all(|line| line.contains("decide the rest.")), "{of_some:#?}");
}

#[test]
fn stalls_are_reported() {
    let stalls = vec![(2, "hot-points", 150_000)];
    let spec = Spec { stalls, blocks: 8, block_sd: 0.002, ..Spec::default() };
    let text = shown(&spec, &[Section::Verdicts], Format::Text);
    let change = "REGRESSION in stalls hot-points: stalls take 2.67 % more of the time";
    assert!(text.contains(change) && text.contains("Stalls: more in 1"), "{text}");
    assert_snapshot!("variance_text", shown(&spec, &[Section::Variance], Format::Text));
}

#[test]
fn evidence_and_blocks() {
    let spec = Spec { void: 1, blocks: 4, ..Spec::mixed() };
    assert_snapshot!("evidence_text", shown(&spec, &[Section::Evidence, Section::Blocks], Format::Text));
}

#[test]
fn costs_of_a_run_with_blocks_pool_all_windows() {
    assert_snapshot!(
        "per_op_of_blocks",
        shown(&Spec::mixed(), &[Section::Relative, Section::PerOp], Format::Csv)
    );
}

/// What the headline gives of a test is what its verdicts give.
#[test]
fn the_headline_has_the_ratios_of_verdicts() {
    // Four blocks, of which verdicts use three.
    let spec = Spec { blocks: 4, block_sd: 0.02, effects: vec![(2, "insert", 0.8, 1.2)], ..Spec::default() };
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &spec);
    let judged = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
    let ratio = |detector| judged.verdict("insert", 2, detector).unwrap().ratio;
    let sections = vec![Section::Headline];
    let shown = show(&run, &Options { sections, format: Format::Json, ..Options::default() }).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let row = &shown["tables"][0]["rows"][0];
    assert_eq!(row["test"], "insert", "{shown:#}");
    assert_eq!(row["rqps"].as_f64(), Some(ratio(Detector::Rate)));
    assert_eq!(row["cpu_us_per_op_ratio"].as_f64(), Some(ratio(Detector::Cpu)));
}

/// A run is resumed for all of its arms together, so each of them says the same.
#[test]
fn how_much_longer_to_measure_is_one_figure() {
    let spec = Spec {
        arms: vec![("old", "17.7"), ("control", "17.7"), ("new", "18.1"), ("other", "18.2")],
        effects: vec![(2, "range-covered-pk", 0.985, 1.0), (3, "read-only_range=10", 0.985, 1.0)],
        cut_tests: [("range-covered-pk", 3), ("read-only_range=10", 3)].into(),
        ..Spec::default()
    };
    let text = shown(&spec, &[Section::Verdicts], Format::Text);
    let told = text.lines().filter_map(|line| Some(line.split_once(" inconclusive. About ")?.1));
    let told: Vec<&str> = told.map(|line| line.split(' ').next().unwrap()).collect();
    let commands: Vec<&str> = text.match_indices("--more ").map(|(at, _)| &text[at + 7..at + 9]).collect();
    assert!(told.len() == 2 && told[0] == told[1], "{text}");
    assert_eq!(commands, ["5m", "5m"], "a resume has more to do than to measure: {text}");
    assert!(
        text.contains("(other): rate the same within 2 % in 5, inconclusive in 1; cost the same"),
        "{text}"
    );
    assert!(text.contains("more blocks; suspect") && !text.contains("more blocks, about"), "{text}");
}

#[test]
fn many_changes_are_listed_and_the_largest_explained() {
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
    let (list, _) = short.split_once("Figures of the 3 largest changes follow").unwrap();
    let listed: Vec<usize> = ["insert", "update-index", "hot-points", "point-query"]
        .iter()
        .map(|test| list.find(&format!("- {test} (new against old): ")).unwrap())
        .collect();
    assert!(listed.is_sorted(), "the largest first: {list}");
    assert_eq!(headings(&short).len(), 3, "{short}");
    let all = explained(ExplainOptions { all: true, ..ExplainOptions::default() });
    assert!(headings(&all).len() == 4 && !all.contains("largest changes"), "{all}");
    let one =
        explained(ExplainOptions { tests: vec!["point-query".to_owned()], ..ExplainOptions::default() });
    assert_eq!(headings(&one), ["point-query: new against old"], "{one}");
}

#[test]
fn changes_are_traced_to_versions() {
    let arms = vec![("v16", "16.11"), ("control", "16.11"), ("v17", "17.7"), ("v18", "18.1")];
    let effects =
        ["hot-points", "insert"].iter().flat_map(|test| [(2, *test, 0.95, 1.03), (3, *test, 0.95, 1.03)]);
    let spec = Spec { arms, effects: effects.collect(), blocks: 6, ..Spec::default() };
    assert_snapshot!("arrivals_text", shown(&spec, &[Section::Arrivals], Format::Text));
}

#[test]
fn false_alarms_and_void_blocks_are_reported() {
    // The control differs from base, and a third of the blocks are void.
    let spec = Spec { effects: vec![(1, "insert", 0.9, 1.05)], void: 2, blocks: 6, ..Spec::default() };
    let text = shown(&spec, &[Section::Verdicts], Format::Text);
    assert!(text.contains("3 false alarms in 32 verdicts: insert rate 0.90"), "{text}");
    assert!(text.contains("ALARM"), "{text}");
    assert!(text.contains("2 of 6 blocks are void"), "{text}");
}

#[test]
fn reports_begin_with_verdicts() {
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &Spec::mixed());
    let markdown = rqps_report::markdown_report(&run).unwrap();
    let heads: Vec<&str> = markdown.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(heads[0], "## Verdicts");
    assert!(!markdown.contains("There are no error bars"), "only single passes have that caveat");
    assert!(markdown.contains("### Evidence of") && markdown.contains("### Blocks of"));
}

#[test]
fn comparing_protocols_shows_state_dependent_changes() {
    let results = tempfile::tempdir().unwrap();
    let isolated = run(results.path(), &Spec { blocks: 8, ..Spec::default() });
    let effects = vec![(2, "hot-points", 0.90, 1.0)];
    let sequence = Spec { protocol: "sequence", effects, counted: false, seed: 1, ..Spec::default() };
    let sequence = run(results.path(), &Spec { name: "lasting", ..sequence });
    let options = rqps_report::CompareOptions::default();
    let names = [isolated.folder.name(), sequence.folder.name()];
    let text = rqps_report::compare(&[sequence, isolated], &options).unwrap();
    let text = text.replace(&names[0], "ISOLATED").replace(&names[1], "SEQUENCE");
    let (_, last) = text.split_once("Changes that only the sequence shows").unwrap();
    assert_snapshot!("state_dependent_text", last);
}

/// Two candidates that are slower in the same test; the second was built by another compiler.
fn run_with_other_compiler(results: &std::path::Path) -> Run {
    let arms = vec![("old", "17.7"), ("control", "17.7"), ("alike", "18.1"), ("unlike", "18.2")];
    let effects = vec![(2, "insert", 0.9, 1.1), (3, "insert", 0.9, 1.1)];
    let mut run = run(results, &Spec { arms, effects, ..Spec::default() });
    for (arm, compiler) in run.arms.iter_mut().zip(["gcc 12.2.0", "gcc 12.2.0", "gcc 12.4.0", "clang 14.0.6"])
    {
        arm.facts.push(Setting { name: "family.compiler".into(), value: compiler.into() });
    }
    run
}

#[test]
fn tables_about_one_arm_have_only_its_build_warnings() {
    let results = tempfile::tempdir().unwrap();
    let run = run_with_other_compiler(results.path());
    let warning = "postgres-18.2 was built with clang 14.0.6 with unknown flags, base postgres-17.7 with gcc 12.2.0 with \
                   unknown flags: part of a difference may come from the build";
    let shown = |sections: &[Section], format| {
        show(&run, &Options { sections: sections.to_vec(), format, ..Options::default() }).unwrap()
    };
    let tables = shown(&[Section::Verdicts, Section::Evidence], Format::Json);
    let tables: serde_json::Value = serde_json::from_str(&tables).unwrap();
    let warnings: Vec<usize> = tables["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["warnings"].as_array().unwrap().iter().filter(|found| *found == warning).count())
        .collect();
    let tables = "verdicts and resources of alike, then of unlike, evidence of both, counts of both";
    assert_eq!(warnings, [0, 0, 1, 1, 1, 1], "{tables}");
    let times = |text: &str| text.matches(warning).count();
    let csv = shown(&[Section::Verdicts], Format::Csv);
    assert!(csv.contains("alike") && times(&csv) == 2, "both arms are in one table of each kind: {csv}");
    let explained = explain_text(&run, &ExplainOptions::default()).unwrap();
    let (head, rest) = explained.split_once("insert: alike against old").unwrap();
    let (alike, unlike) = rest.split_once("insert: unlike against old").unwrap();
    assert!(times(head) == 1 && times(alike) == 0 && times(unlike) > 0, "{explained}");
    let gate = gate(&run, &GateRules::default()).unwrap();
    let suites = gate.junit.split("<testsuite ").filter(|suite| suite.contains("<property "));
    assert!(
        suites.clone().count() > 0 && suites.clone().all(|suite| suite.contains("\"unlike.")),
        "{}",
        gate.junit
    );
    let folded: Vec<&str> = gate.markdown.split("<details>").collect();
    assert!(times(folded[0]) == 1 && times(folded[1]) == 0 && times(folded[2]) > 0, "{}", gate.markdown);
}

#[test]
fn costs_come_before_rates_with_intervals() {
    let spec = Spec {
        protocol: "sequence",
        arms: vec![("old", "17.7"), ("new", "18.1")],
        effects: vec![(1, "hot-points", 0.80, 1.05)],
        blocks: 2,
        counted: false,
        ..Spec::default()
    };
    let text = shown(&spec, &[Section::Costs], Format::Text);
    assert_snapshot!("costs_text", text);
    let header = text.lines().find(|line| line.ends_with("test")).unwrap();
    assert!(header.find("cost/op").unwrap() < header.find("rQPS").unwrap(), "{header}");
    assert_eq!(header.matches("from").count(), 2, "{header}");
    assert!(text.contains("noise: hot-points"), "{text}");
}

/// What is said of one metric on one arm of a test is one figure, wherever it stands.
#[test]
fn costs_and_verdicts_have_one_interval() {
    let text = shown(&Spec::mixed(), &[Section::Verdicts, Section::Costs], Format::Json);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = |table: &str| {
        let tables = json["tables"].as_array().unwrap();
        let rows = tables.iter().find(|one| one["id"] == table).unwrap()["rows"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["test"] == "insert").unwrap()
    };
    let (verdict, cost) = (row("verdicts"), row("costs"));
    for key in ["rqps", "rqps_low", "rqps_high", "cost_ratio", "cost_low", "cost_high"] {
        assert!(verdict[key].is_number() && verdict[key] == cost[key], "{key}: {verdict} {cost}");
    }
}

/// A run of windows too short for rates says so in every format, with no figure of them.
#[test]
fn a_plan_may_leave_rates_unjudged() {
    let results = tempfile::tempdir().unwrap();
    let folder = write_run(results.path(), &Spec { block_sd: 0.03, ..Spec::default() }).unwrap();
    let plan = folder.join("plan.toml");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, format!("{text}\n[verdict]\nrates = false\n")).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    let page = rqps_report::html_report(&run).unwrap();
    let verdicts = Options { sections: vec![Section::Verdicts], ..Options::default() };
    let shown = show(&run, &verdicts).unwrap();
    let gate = gate(&run, &GateRules::default()).unwrap().markdown;
    for text in [&page, &shown, &gate, &rqps_report::markdown_report(&run).unwrap()] {
        assert!(text.contains("Rate: not judged."), "{text}");
        assert!(!text.contains("its rate is") && !text.contains("Rate: inconclusive"), "{text}");
    }
    assert!(!shown.contains("rQPS") && page.contains("rates were not judged"), "{shown}");
    assert!(!page.contains("Relative rate (rQPS)"));
    let rules = GateRules { fail_on: vec![Detector::Rate], ..GateRules::default() };
    let asked = rqps_report::gate(&run, &rules).unwrap().markdown;
    assert!(asked.contains("Its plan keeps the run from judging rate,"), "{asked}");
}

/// The page and the report of an upgrade have what its own report has.
#[test]
fn an_upgrade_is_on_every_page_of_its_run() {
    let results = tempfile::tempdir().unwrap();
    let folder = write_run(results.path(), &Spec::mixed()).unwrap();
    let both = || {
        let run = RunFolder::open(&folder).unwrap();
        [rqps_report::html_report(&run).unwrap(), rqps_report::markdown_report(&run).unwrap()]
    };
    let parts = ["Your config", "Defaults that changed", "Query plans that changed", "p95 new"];
    for text in both() {
        assert!(parts.iter().all(|part| !text.contains(part)), "it is none");
    }
    std::fs::write(folder.join(rqps_store::UPGRADE_FILE), "").unwrap();
    for text in both() {
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn the_check_of_base_against_itself_is_told_once() {
    let results = tempfile::tempdir().unwrap();
    let arms = vec![("old", "17.7"), ("control", "17.7"), ("new", "18.1"), ("newer", "18.2")];
    let page = rqps_report::html_report(&run(results.path(), &Spec { arms, ..Spec::default() })).unwrap();
    assert_eq!(page.matches(" A/A check: ").count(), 1);
}
