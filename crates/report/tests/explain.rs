//! Explanations of synthetic runs with known causes. `INSTA_UPDATE=always` accepts a change.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use insta::assert_snapshot;
use rqps_model::{QueryPlan, Setting};
use rqps_report::{ExplainOptions, Format, Options, Section, explain_text, markdown_report, show};
use rqps_store::{Run, RunFolder};
use rqps_verdicts::testing::{Detail, Extra, Observed, Spec, write_run};
use serde_json::Value;

/// `update-index` is slower: it writes more WAL and uses more CPU per session.
fn spec() -> Spec {
    let figures = [
        (Observed::SessionCpuUs, 180.0, 230.0),
        (Observed::Metric("client_cpu_us"), 40.0, 40.0),
        (Observed::Metric("server_wal_bytes"), 540.0, 720.0),
        (Observed::Metric("server_role.checkpointer_us"), 0.5, 0.5),
        (Observed::Counter("pg_stat_wal", "", "wal_fpi"), 0.01, 0.04),
    ];
    let extra = |(what, base, arm): (Observed, f64, f64)| {
        [(0, base), (1, base), (2, arm)].map(|(arm, per_query)| Extra {
            arm,
            test: "update-index",
            what,
            per_query,
        })
    };
    Spec {
        effects: vec![(2, "update-index", 0.8, 1.15)],
        extra: figures.into_iter().flat_map(extra).collect(),
        ..Spec::default()
    }
}

fn with_run<T>(spec: &Spec, f: impl Fn(&Run) -> T) -> T {
    let results = tempfile::tempdir().unwrap();
    f(&RunFolder::open(&write_run(results.path(), spec).unwrap()).unwrap())
}

fn explained(format: Format) -> String {
    with_run(&spec(), |run| {
        let options = ExplainOptions { format, ..ExplainOptions::default() };
        explain_text(run, &options).unwrap().replace(&run.folder.name(), "RUN")
    })
}

#[test]
fn explanations_as_text() {
    assert_snapshot!("explain_text", explained(Format::Text));
}

/// A client reads the first rows while its session still makes the last ones.
#[test]
fn less_than_no_waiting_is_told() {
    let mut spec = spec();
    let of_client = |extra: &&mut Extra| matches!(extra.what, Observed::Metric("client_cpu_us"));
    spec.extra.iter_mut().filter(of_client).for_each(|extra| extra.per_query = 90.0);
    let text = with_run(&spec, |run| explain_text(run, &ExplainOptions::default()).unwrap());
    let row = text.lines().find(|line| line.ends_with("  waiting")).unwrap_or_else(|| panic!("{text}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert!(cells[..2].iter().all(|cell| cell.starts_with('-')), "so that parts add up: {row}");
    let told = [
        "together they take longer than an operation, by ",
        " us on old, ",
        "so the waiting there is negative",
    ];
    assert!(told.iter().all(|told| text.contains(told)), "{text}");
}

/// In three blocks the log is only likely to have grown.
#[test]
fn a_count_in_few_blocks_says_how_many_would_do() {
    with_run(&Spec { blocks: 3, ..spec() }, |run| {
        let sections = vec![Section::Verdicts];
        let shown = show(run, &Options { sections, ..Options::default() }).unwrap();
        let explained = explain_text(run, &ExplainOptions::default()).unwrap();
        let told = "seen in all 3 blocks, too few to establish a change of a count; 5 would do";
        assert!(shown.contains(told), "{shown}");
        // What a finding tells of is not told again with a doubt.
        assert!(explained.contains("WAL per") && !explained.contains(told), "{explained}");
    });
}

/// Of 6 blocks the verdict has 5, and the noise sets quotients of means apart from means of ratios.
#[test]
fn what_stands_beside_a_verdict_has_its_ratio() {
    let json = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    with_run(&Spec { blocks: 6, block_sd: 0.05, ..spec() }, |run| {
        let tests = vec!["update-index".to_owned()];
        let sections = vec![Section::Absolute, Section::PerOp, Section::Evidence];
        let shown = json(
            show(
                run,
                &Options { format: Format::Json, sections, tests: tests.clone(), ..Options::default() },
            )
            .unwrap(),
        );
        let rows = |id: &str| -> Vec<Value> {
            let tables = shown["tables"].as_array().unwrap().iter().filter(|table| table["id"] == id);
            tables.flat_map(|table| table["rows"].as_array().unwrap().clone()).collect()
        };
        let verdict = |metric: &str| {
            let found =
                rows("evidence").into_iter().find(|row| row["arm"] == "new" && row["metric"] == metric);
            let found = found.unwrap_or_else(|| panic!("{shown}"));
            assert_eq!((found["blocks"].as_f64(), found["blocks_measured"].as_f64()), (Some(5.0), Some(6.0)));
            found["ratio"].as_f64().unwrap()
        };
        let quotient = |above: &Value, below: &Value| above.as_f64().unwrap() / below.as_f64().unwrap();
        let alike =
            |quotient: f64, ratio: f64| assert!((quotient / ratio - 1.0).abs() < 1e-9, "{quotient} {ratio}");
        let qps = &rows("qps")[0];
        alike(quotient(&qps["new"], &qps["old"]), verdict("rate"));
        let costs = rows("per_op");
        alike(quotient(&costs[2]["ops_per_s"], &costs[0]["ops_per_s"]), verdict("rate"));
        alike(quotient(&costs[2]["cpu_us_per_op"], &costs[0]["cpu_us_per_op"]), verdict("cpu_us"));
        let asked = ExplainOptions { format: Format::Json, tests, ..ExplainOptions::default() };
        let split = &json(explain_text(run, &asked).unwrap())["explanations"][0]["decomposition"];
        alike(quotient(&split["base_us_per_op"], &split["arm_us_per_op"]), verdict("rate"));
        alike(1e6 / split["base_us_per_op"].as_f64().unwrap(), qps["old"].as_f64().unwrap());
    });
}

#[test]
fn explanations_as_json() {
    assert_snapshot!("explain_json", explained(Format::Json));
}

#[test]
fn a_test_that_changed_on_two_arms_counts_once() {
    let arms = vec![("old", "17.7"), ("control", "17.7"), ("new", "18.1"), ("newer", "19.0")];
    let effects = vec![(2, "update-index", 0.8, 1.15), (3, "update-index", 0.8, 1.15)];
    let text = with_run(&Spec { arms, effects, ..Spec::default() }, |run| {
        explain_text(run, &ExplainOptions::default()).unwrap()
    });
    assert!(text.contains("1 test changed, 2 changes on 2 arms. Cause unknown in 2."), "{text}");
}

#[test]
fn whether_and_how_much_slower_comes_before_the_causes() {
    let arms = vec![("old", "17.7"), ("control", "17.7"), ("new", "18.1"), ("newer", "19.0")];
    let effects =
        [2, 3].into_iter().flat_map(|arm| [(arm, "update-index", 0.8, 1.15), (arm, "insert", 0.7, 1.0)]);
    let spec = Spec { arms, effects: effects.collect(), ..Spec::default() };
    let text = with_run(&spec, |run| explain_text(run, &ExplainOptions::default()).unwrap());
    let first = text.lines().take(12).collect::<Vec<_>>().join("\n");
    assert!(
        first.contains("Slower than old: new in 2 of 6 tests, newer in 2; ")
            && first.contains("- new: insert (")
            && first.contains("- newer: insert ("),
        "{text}"
    );
    assert!(first.contains("\n- insert (new against old): ") && first.contains(" % slower"), "{text}");
    let other = ExplainOptions { arms: vec!["newer".to_owned()], ..ExplainOptions::default() };
    let text = with_run(&spec, |run| explain_text(run, &other).unwrap());
    assert!(text.lines().nth(3).unwrap().contains("(newer) is slower than "), "{text}");
}

#[test]
fn reports_explain_changes_only() {
    let report = with_run(&spec(), |run| markdown_report(run).unwrap());
    let (_, why) = report.split_once("## Why\n").unwrap();
    let first = "- update-index (new against old): more work (80 % of the change): new writes";
    assert!(why.trim_start().starts_with(first), "{why}");
    let unchanged = with_run(&Spec::default(), |run| markdown_report(run).unwrap());
    assert!(!unchanged.contains("## Why"), "there is no change to explain");
}

#[test]
fn without_changes_the_text_says_how_to_examine_a_test() {
    let options = ExplainOptions::default();
    let (text, error) = with_run(&Spec { effects: vec![], ..Spec::default() }, |run| {
        let unknown = ExplainOptions { arms: vec!["v9".to_owned()], ..options.clone() };
        let near = ExplainOptions { tests: vec!["hot-point".to_owned()], ..options.clone() };
        let near = explain_text(run, &near).unwrap_err().to_string();
        assert!(near.contains("Did you mean `hot-points`? It has: "), "{near}");
        (explain_text(run, &options).unwrap(), explain_text(run, &unknown).unwrap_err().to_string())
    });
    assert!(text.contains("examines a test anyway"), "{text}");
    assert_eq!(error, "no arm named \"v9\"; the arms are: old, control, new");
}

/// Base's plan and another one of `new`, in a test whose verdicts stay open.
fn with_another_plan() -> Spec {
    let plan = |arm: usize, text: &str| Detail {
        arm,
        test: "insert",
        plans: vec![QueryPlan {
            statement: "insert".into(),
            sql: String::new(),
            text: text.into(),
            json: String::new(),
        }],
        fingerprint: Vec::new(),
    };
    let details = vec![plan(0, "Index Scan on t"), plan(2, "Seq Scan on t")];
    Spec { details, effects: vec![(2, "insert", 0.97, 1.0)], block_sd: 0.1, blocks: 3, ..Spec::default() }
}

#[test]
fn a_changed_plan_of_an_inconclusive_test_is_a_fact() {
    let of = |tests: &[&str]| {
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        let options = ExplainOptions { tests, ..ExplainOptions::default() };
        with_run(&with_another_plan(), |run| explain_text(run, &options).unwrap())
    };
    let unasked = of(&[]);
    assert!(
        unasked.contains("- insert (new against old): another plan: Index Scan on t became"),
        "{unasked}"
    );
    let named = of(&["insert"]);
    assert!(named.contains("\n- Another plan: Index Scan on t became"), "{named}");
    let told = [&unasked, &named].map(|text| text.matches("undecided").count());
    assert_eq!(told, [1, 0], "the verdicts of a named test say so: {unasked}\n{named}");
    assert_eq!(named.matches("Undecided after 3 blocks").count(), 1, "{named}");
}

/// Large differences that no verdict shows are told as what they are, in one sentence.
#[test]
fn an_undecided_change_is_told_as_if_it_were_real() {
    let effects = vec![(2, "update-index", 0.3, 1.0)];
    let spec = |seed| Spec { effects: effects.clone(), block_sd: 0.25, blocks: 3, seed, ..spec() };
    let tests = vec!["update-index".to_owned()];
    let options = ExplainOptions { tests, ..ExplainOptions::default() };
    let texts = (1..=12).map(|seed| with_run(&spec(seed), |run| explain_text(run, &options).unwrap()));
    let start = "Undecided after 3 blocks; if real, the change is: ";
    let text = texts.into_iter().find(|text| text.contains(start)).unwrap();
    let told = text.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(told.contains(" % slower") && told.ends_with(" What would explain it:"), "{told}");
    assert!(!text.contains("of the change)") && !text.contains("may be chance"), "{text}");
}

/// What the section of query plans says after a change of the run.
fn plans_of(spec: &Spec, change: impl Fn(&mut Run)) -> String {
    let results = tempfile::tempdir().unwrap();
    let mut run = RunFolder::open(&write_run(results.path(), spec).unwrap()).unwrap();
    change(&mut run);
    show(&run, &Options { sections: vec![Section::Plans], ..Options::default() }).unwrap()
}

#[test]
fn plans_that_were_not_compared_are_not_called_the_same() {
    let none = Spec { details: Vec::new(), ..with_another_plan() };
    let text = plans_of(&none, |run| {
        run.meta.method.push(Setting { name: "driver".into(), value: "HammerDB 5.0".into() });
    });
    assert!(text.contains("none were read, because HammerDB 5.0 sends the statements"), "{text}");
    assert!(!text.contains("same plan"), "{text}");
    let text = plans_of(&with_another_plan(), |run| {
        run.arms.truncate(3);
        run.arms[1].dbms = "mysql".into();
        run.arms[2].dbms = "mysql".into();
    });
    assert!(text.contains("no variant runs the same kind of DBMS as base"), "{text}");
    let text = plans_of(&none, |run| run.arms.iter_mut().for_each(|arm| arm.dbms = "rocksdb".into()));
    assert!(text.contains("There is nothing to show"), "{text}");
}

#[test]
fn a_run_of_blocks_that_has_none_yet_is_no_single_pass() {
    let results = tempfile::tempdir().unwrap();
    let mut run = RunFolder::open(&write_run(results.path(), &spec()).unwrap()).unwrap();
    run.blocks.clear();
    let text = explain_text(&run, &ExplainOptions::default()).unwrap();
    assert!(text.starts_with("Why: verdicts of ") && text.contains("No block is done yet"), "{text}");
}
