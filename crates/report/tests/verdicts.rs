//! Reports of synthetic runs with blocks and known effects. `INSTA_UPDATE=always` accepts a change.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use insta::assert_snapshot;
use rqps_model::{Digits, Setting};
use rqps_report::{ExplainOptions, Format, GateRules, Options, Screen, Section, explain_text, gate, show};
use rqps_stats::Detector;
use rqps_store::{Outcome, Run, RunFolder};
use rqps_verdicts::testing::{Spec, TESTS, write_run, write_run_of_chance};
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
fn text_fits_a_terminal_of_80_columns_and_names_what_it_leaves_out() {
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
    let is_figure = |word: &&String| word.starts_with(|c: char| c.is_ascii_digit());
    let (wide, narrow) = (words(&wide), words(&narrow));
    let lost: Vec<&String> = wide.difference(&narrow).filter(|word| !is_figure(word)).collect();
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
fn before_the_first_verdict_of_passes_one_remedy_is_named() {
    for seed in 1..=8 {
        let spec = Spec { protocol: "sequence", blocks: 2, seed, block_sd: 0.02, ..Spec::mixed() };
        let text = shown(&spec, &[], Format::Text);
        assert!(text.contains("Run the plan with `passes = 3` or more"), "{text}");
        assert!(text.contains("rate: too few blocks") && !text.contains(" more block"), "{text}");
    }
}

#[test]
fn more_passes_are_promised_to_those_verdicts_alone_that_are_not_too_noisy() {
    let sentences = (1..=8).map(|seed| {
        let spec =
            Spec { protocol: "sequence", blocks: 3, block_sd: 0.02, counted: false, seed, ..Spec::default() };
        let text = shown(&spec, &[Section::Verdicts], Format::Text);
        let found =
            text.lines().find(|line| line.contains("More `passes` in its plan would probably decide"));
        found.unwrap_or_default().to_owned()
    });
    let of_some: Vec<String> = sentences.filter(|line| line.contains("too noisy")).collect();
    assert!(!of_some.is_empty());
    assert!(of_some.iter().all(|line| line.contains("decide the other")), "{of_some:#?}");
}

/// A loss that few blocks cannot call is told first of what is open, with its size, and by a gate that passes it.
#[test]
fn the_largest_difference_that_stays_open_is_named() {
    let spec = |seed| Spec {
        protocol: "sequence",
        blocks: 3,
        block_sd: 0.05,
        counted: false,
        effects: vec![(2, "insert", 0.3, 3.0)],
        seed,
        ..Spec::default()
    };
    let results = tempfile::tempdir().unwrap();
    let is_open = |run: &Run| {
        let judged = judge_run(run, &rules_of(run).unwrap()).unwrap();
        !judged.verdict("insert", 2, Detector::Rate).unwrap().class.is_decided()
    };
    let run =
        (1..=8).map(|seed| run(&results.path().join(seed.to_string()), &spec(seed))).find(is_open).unwrap();
    let text = show(&run, &Options::default()).unwrap();
    let told = "insert differs most: it is at 0.";
    assert!(text.contains(told) && text.contains("3 passes are not enough to call a change"), "{text}");
    let gate = gate(&run, &GateRules::default()).unwrap();
    let told = "The largest difference that is inconclusive: insert on new, at 0.";
    assert!(gate.text(Screen::default()).unwrap().contains(told), "{}", gate.markdown);
}

#[test]
fn a_change_that_many_tests_show_together_is_told() {
    let more = ["scan", "points-covered-si", "range-covered-si", "range-notcovered-pk"];
    let more = more.map(|name| (name, "range", 3_000.0, 200_000.0, 0.0));
    let tests = [&TESTS[..], &more].concat();
    let effects = tests.iter().map(|(name, ..)| (2, *name, 0.96, 1.0)).collect();
    let spec = Spec { tests, effects, block_sd: 0.05, ..Spec::default() };
    let text = shown(&spec, &[Section::Verdicts], Format::Text);
    let told = "10 of 10 inconclusive rates are below postgres-17.7.sized (old)'s (p = 0.00";
    assert!(text.contains(told) && text.contains("together they may be a change"), "{text}");
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

/// Programs that read JSON get the answer first, with its figures.
#[test]
fn json_begins_with_the_answer() {
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &Spec::mixed());
    let text = show(&run, &Options { format: Format::Json, ..Options::default() }).unwrap();
    let at = ["answers", "headline", "worse", "better", "trust", "tables"]
        .map(|key| text.find(&format!("\"{key}\": ")).unwrap_or_else(|| panic!("no {key} in {text}")));
    assert!(at.is_sorted(), "{at:?}");
    let shown: serde_json::Value = serde_json::from_str(&text).unwrap();
    let arm = &shown["answers"][0]["arms"][0];
    assert!(shown["text"].as_array().unwrap().contains(&arm["headline"]), "{arm:#}");
    let judged = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
    let worse = arm["worse"].as_array().unwrap();
    assert!(!worse.is_empty());
    for change in worse {
        let detector = if change["of"] == "rate" { Detector::Rate } else { continue };
        let verdict = judged.verdict(change["test"].as_str().unwrap(), 2, detector).unwrap();
        assert!(verdict.class.is_change() && verdict.ratio < 1.0);
        assert!((change["ratio"].as_f64().unwrap() - verdict.ratio).abs() < 1e-9, "{change}");
    }
}

/// A run is resumed for all of its arms together, so it is said once.
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
    let commands: Vec<&str> = text.match_indices("--more ").map(|(at, _)| &text[at + 7..at + 9]).collect();
    assert_eq!(told.count(), 1, "{text}");
    assert_eq!(commands, ["5m"], "a resume has more to do than to measure: {text}");
    assert!(text.contains("; rate the same within 2 % in 5, inconclusive in 1; cost the same"), "{text}");
    assert!(text.contains("more blocks; likely") && !text.contains("more blocks, about"), "{text}");
}

#[test]
fn changes_are_traced_to_versions() {
    let arms = vec![("v16", "16.11"), ("control", "16.11"), ("v17", "17.7"), ("v18", "18.1")];
    let effects =
        ["hot-points", "insert"].iter().flat_map(|test| [(2, *test, 0.95, 1.03), (3, *test, 0.95, 1.03)]);
    let spec = Spec { arms, effects: effects.collect(), blocks: 6, ..Spec::default() };
    assert_snapshot!("arrivals_text", shown(&spec, &[Section::Arrivals], Format::Text));
    let results = tempfile::tempdir().unwrap();
    let files = rqps_report::chart_files(&run(results.path(), &spec)).unwrap();
    for name in ["versions-rate-0-0", "versions-cost-0-0"] {
        let chart = &files.iter().find(|file| file.name == name).unwrap().svg;
        assert!(chart.contains("Base, at 1.0: ") && chart.contains("Whiskers: "), "{chart}");
    }
    let of_time = &files.iter().find(|file| file.name == "time-insert").unwrap().svg;
    assert!(of_time.contains("(control)") && of_time.contains("(v17)"), "each line has its arm: {of_time}");
    let few = shown(&Spec { blocks: 2, ..spec.clone() }, &[Section::Arrivals], Format::Text);
    assert!(few.contains("(16.11, 17.7, 18.1): no verdict, which takes 3 blocks, and there are 2."), "{few}");
    // A change by 60 to 70 % has no tenths.
    let wide = Spec { effects: vec![(2, "insert", 2.7, 1.0)], block_sd: 0.1, blocks: 8, ..spec };
    let wide = shown(&wide, &[Section::Arrivals], Format::Text);
    let rate = wide.split_once("rate +").unwrap().1.split_once(" %").unwrap().0;
    assert!(rate.parse::<u32>().is_ok(), "{wide}");
}

#[test]
fn false_alarms_and_void_blocks_are_reported() {
    // The control differs from base, and a third of the blocks are void.
    let spec = Spec { effects: vec![(1, "insert", 0.9, 1.05)], void: 2, blocks: 6, ..Spec::default() };
    let text = shown(&spec, &[Section::Verdicts], Format::Text);
    assert!(text.contains("3 false alarms in 32 verdicts: insert rate 0.90"), "{text}");
    assert!(text.contains("ALARM"), "{text}");
    assert!(text.contains("2 of 6 blocks are void"), "{text}");
    assert!(
        text.contains("2 void (block 1: spin_ns rose by 40 %; the others in section blocks of `rqps show`)"),
        "{text}"
    );
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
    let tables = "rates, costs of all arms, verdicts and resources of alike, of unlike, evidence of both, counts of both";
    assert_eq!(warnings, [1, 1, 0, 0, 1, 1, 1, 1], "{tables}");
    let times = |text: &str| text.matches(warning).count();
    let csv = shown(&[Section::Verdicts], Format::Csv);
    assert!(csv.contains("alike") && times(&csv) == 0, "warnings are no rows: {csv}");
    let explained = explain_text(&run, &ExplainOptions::default()).unwrap();
    let (answer, rest) = explained.split_once("What differs between alike and old").unwrap();
    assert!(times(answer) == 1 && times(rest) == 0 && answer.trim_end().ends_with(&format!("{warning}.")));
    let gate = gate(&run, &GateRules::default()).unwrap();
    let suites = gate.junit.split("<testsuite ").filter(|suite| suite.contains("<property name=\"warning\""));
    assert!(
        suites.clone().count() > 0 && suites.clone().all(|suite| suite.contains("\"unlike.")),
        "{}",
        gate.junit
    );
    let (answer, rest) = gate.markdown.split_once("<details>").unwrap();
    assert!(times(answer) == 1 && times(rest) == 0, "{}", gate.markdown);
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
    let folder = {
        let effects = vec![(2, "insert", 1.0, 1.03)];
        write_run(results.path(), &Spec { block_sd: 0.03, effects, ..Spec::default() }).unwrap()
    };
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
    // Nor in tables and charts of rates, unless someone asks for them.
    let whole = rqps_report::markdown_report(&run).unwrap();
    for text in [&show(&run, &Options::default()).unwrap(), &whole, &page] {
        let tables = [
            "Relative QPS",
            "QPS\ncol-1",
            "Adjacent versions",
            "Queries per second",
            "o/s",
            "false alarms in 0",
        ];
        let found: Vec<&&str> = tables.iter().filter(|table| text.contains(**table)).collect();
        assert!(found.is_empty(), "{found:?}: {text}");
    }
    assert!(!page.contains("▼ slower") && page.contains("more or less expensive"));
    let absolute = Options { sections: vec![Section::Absolute], ..Options::default() };
    let asked = rqps_report::show(&run, &absolute).unwrap();
    assert!(asked.contains("rates are not judged in this run"), "{asked}");
    // A site shows its costs.
    let (_, facts) = rqps_report::site_run(&run, "quick").unwrap();
    let files = rqps_report::site_pages(vec![facts]).unwrap();
    for (end, part) in [
        ("index.html", "1 cost more"),
        ("index.html", "costs more instructions"),
        ("feed.xml", "costs more instructions"),
        ("badges/made-up.svg", "1 of 6 cost more"),
        (".insert.html", "18.1: instructions 1.030 of that of 17.7"),
    ] {
        let file = files
            .iter()
            .find(|file| file.path == end || end.starts_with('.') && file.path.ends_with(end))
            .unwrap();
        assert!(file.content.contains(part), "{part}: {}", file.content);
    }
    assert_eq!(rqps_report::fail_on_of(&run).unwrap(), [Detector::Cost, Detector::Cpu]);
    let rules = GateRules { fail_on: vec![Detector::Rate], ..GateRules::default() };
    let asked = rqps_report::gate(&run, &rules).unwrap().markdown;
    assert!(asked.contains("Its plan keeps the run from judging rate,"), "{asked}");
}

#[test]
fn the_check_of_base_against_itself_is_told_once() {
    let results = tempfile::tempdir().unwrap();
    let arms = vec![("old", "17.7"), ("control", "17.7"), ("new", "18.1"), ("newer", "18.2")];
    let page = rqps_report::html_report(&run(results.path(), &Spec { arms, ..Spec::default() })).unwrap();
    assert_eq!(page.matches(" A/A check: ").count(), 1);
}

/// A change that may be chance among so many verdicts is inconclusive everywhere, told as likely, and drawn pale.
#[test]
fn a_change_that_may_be_chance_is_likely() {
    let results = tempfile::tempdir().unwrap();
    let run = RunFolder::open(&write_run_of_chance(results.path()).unwrap()).unwrap();
    let verdicts = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
    assert!(verdicts.on_candidates().any(|one| one.detector == Detector::Rate && one.is_likely()));
    let rates = verdicts.tallies()[0].1;
    assert!((rates.regressions, rates.improvements) == (0, 0), "{rates:?}");
    let page = rqps_report::html_report(&run).unwrap();
    let (_, facts) = rqps_report::site_run(&run, "chance").unwrap();
    let site = rqps_report::site_pages(vec![facts]).unwrap();
    let shown = show(&run, &Options::default()).unwrap();
    for text in site.iter().map(|file| &file.content).chain([&page, &shown]) {
        let told = ["REGRESSION", "slower than old", "check these first", "1 slower"];
        assert!(told.iter().all(|told| !text.contains(told)), "{text}");
    }
    let likely = "Likely, not established: hot-points (1.2 % slower)";
    assert!(shown.contains(likely) && page.contains("1 of them likely"), "{shown}");
    let csv = show(&run, &Options { format: Format::Csv, ..Options::default() }).unwrap();
    assert!(csv.contains("likely: may be chance") && !csv.contains(",regression,"), "{csv}");
    let chart = rqps_report::chart_files(&run).unwrap().into_iter().find(|file| file.name == "all-rate");
    let chart = chart.unwrap().svg;
    assert!(!chart.contains("mark worse") && chart.contains("), likely, not established<"), "{chart}");
    let explained = explain_text(&run, &ExplainOptions::default()).unwrap();
    assert!(explained.contains("No verdict shows a change"), "{explained}");
}

/// What figures say of a cell is its verdict: the ratio and interval of the tables, with their digits, and the class.
#[test]
fn figures_show_the_verdicts() {
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &Spec::mixed());
    let files = rqps_report::chart_files(&run).unwrap();
    let of_all = &files.iter().find(|file| file.name == "all-rate").unwrap().svg;
    assert!(of_all.contains(", over 3 to 5 blocks;"), "as many as verdicts rest on: {of_all}");
    let verdicts = judge_run(&run, &rules_of(&run).unwrap()).unwrap();
    for one in verdicts.on_candidates() {
        let (file, decimals_max) = match one.detector {
            Detector::Rate => ("all-rate", 3),
            Detector::Cost => ("all-cost", 4),
            _ => continue,
        };
        let word = if one.is_likely() {
            "likely, not established"
        } else if one.is_mixed() {
            "mixed"
        } else {
            one.class.key()
        };
        let digits = Digits::of_ratio((one.low, one.high), decimals_max);
        let (ratio, interval) = (digits.text(one.ratio), digits.interval().unwrap());
        let told = format!("{}, new (PostgreSQL 18.1): {ratio} ({interval}), {word}<", one.test);
        let svg = &files.iter().find(|chart| chart.name == file).unwrap().svg;
        assert!(svg.contains(&told), "{file} lacks {told}: {svg}");
        assert!(svg.contains("Whiskers: 95 % confidence intervals"), "of one level: {svg}");
    }
}

#[test]
fn builds_of_one_version_are_told_apart_in_titles_and_figures() {
    let results = tempfile::tempdir().unwrap();
    let arms = vec![("base", "17.7"), ("head", "17.7")];
    let mut run = run(results.path(), &Spec { arms, ..Spec::default() });
    run.arms[1].build_hash = "0123456789abcdef".into();
    run.arms[1].build_origin = "directory /src/head".into();
    let page = rqps_report::html_report(&run).unwrap();
    let title = "PostgreSQL 17.7: head (directory /src/head) against base (registry)";
    assert!(page.contains(&format!("<h1>{title}</h1>")), "{page}");
    let figure = rqps_report::chart_files(&run).unwrap().swap_remove(0).svg;
    assert!(figure.contains(title), "{figure}");
    run.arms[1].build_origin = "registry".into();
    let whole = rqps_report::markdown_report(&run).unwrap();
    assert!(whole.contains("(head, build 0123456789ab) relative to"), "{whole}");
}

#[test]
fn a_run_of_one_block_says_that_there_are_no_verdicts_yet_and_is_drawn_hollow() {
    let results = tempfile::tempdir().unwrap();
    let arms = vec![("old", "17.7"), ("new", "18.1"), ("newer", "18.2")];
    let run = run(results.path(), &Spec { arms, blocks: 1, ..Spec::default() });
    let page = rqps_report::html_report(&run).unwrap();
    assert!(page.contains("1 block of the 3 that a verdict takes: no verdicts yet"), "{page}");
    assert!(page.contains("hollow: inconclusive") && !page.contains("Whiskers:"), "{page}");
    assert!(page.contains("a verdict takes 3 blocks, and one is done"), "what to do comes first");
    assert!(page.find("Measured with 1 client") < page.find("<svg"), "below the answer: {page}");
    let mut without = RunFolder::open(run.folder.path()).unwrap();
    let of_newer = without.windows.iter_mut().filter(|window| window.action.arm == "newer");
    of_newer.for_each(|window| window.action.outcome = Outcome::Invalid);
    without.counts.retain(|count| count.action.arm != "newer");
    // Each pass lists its steps.
    without.steps.extend_from_within(..);
    let told = show(&without, &Options::default()).unwrap();
    assert_eq!(told.matches("NO VALID RESULT hot-points on newer").count(), 1, "{told}");
    assert!(told.contains("- newer: no valid result in 6"), "{told}");
    let answer = told.find("no test has a rate to judge. ").unwrap();
    assert!(told.find("NO VALID RESULT") > Some(answer), "it stands with the arm that has none: {told}");
    assert_eq!(told.matches("a verdict takes 3 blocks, and one is done").count(), 1, "{told}");
    let shown = show(&run, &Options::default()).unwrap();
    let row = shown.lines().find(|line| line.starts_with("hot-points")).unwrap();
    let decimals = |word: &str| word.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    assert!(row.split_whitespace().all(|word| decimals(word) <= 2), "{row}");
}

#[test]
fn adjacent_versions_are_of_arms_that_are_no_control() {
    let arms = vec![("old", "17.7"), ("control", "17.7"), ("new", "18.1"), ("newer", "18.2")];
    let chain = shown(&Spec { arms, ..Spec::default() }, &[Section::Chain], Format::Text);
    assert!(chain.contains("(newer) relative to") && !chain.contains("control"), "{chain}");
}

#[test]
fn invalid_windows_beside_valid_ones_are_told_and_promise_no_verdict() {
    let results = tempfile::tempdir().unwrap();
    let told = |last: u32, arm: &str| {
        let mut run = run(results.path(), &Spec { blocks: 3, ..Spec::default() });
        let is_hit = |block: u32| (2..=last).contains(&block);
        let of_insert = run.windows.iter_mut().filter(|window| {
            window.action.step == "insert"
                && window.action.arm == arm
                && window.placement.is_some_and(|at| is_hit(at.block))
        });
        of_insert.for_each(|window| {
            window.action.outcome = Outcome::Invalid;
            window.action.note = Some("a row is lost".into());
        });
        let text = show(&run, &Options { sections: vec![Section::Verdicts], ..Options::default() }).unwrap();
        (text, gate(&run, &GateRules::default()).unwrap())
    };
    for arm in ["new", "old"] {
        let (text, gate) = told(3, arm);
        let line = format!("INVALID IN PART insert on {arm}: 4 of 6 windows are invalid: a row is lost");
        assert!(text.contains(&line), "{text}");
        assert!(text.contains("windows of insert are invalid in half of the blocks or more."), "{text}");
        assert!(!text.contains("would give the first verdicts"), "{text}");
        assert_eq!(gate.outcome, rqps_report::Outcome::Incomplete);
        assert!(gate.junit.contains("4 of 6 windows are invalid: a row is lost"), "{}", gate.junit);
    }
    let (text, _) = told(3, "new");
    assert!(text.contains(" 1 test has invalid windows."), "{text}");
    let (text, _) = told(2, "new");
    assert!(text.contains("INVALID IN PART insert on new: 2 of 6 windows are invalid"), "{text}");
    assert!(
        !text.contains("in half of the blocks or more"),
        "one block of three may be an exception: {text}"
    );
}
