//! Every table in every format, from synthetic run folders.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

mod builder;
#[path = "builder/shape.rs"]
mod shape;

use std::path::Path;
use std::sync::Mutex;

use builder::{RunSpec, build};
use insta::assert_snapshot;
use rqps_model::Setting;
use rqps_report::{
    CompareOptions, ExplainOptions, Format, Options, Screen, Section, compare, explain_text, markdown_report,
    report, show,
};
use rqps_store::{PlannedStep, Run, RunFolder, Status};

fn run(results: &Path, spec: &RunSpec) -> Run {
    RunFolder::open(&build(results, spec)).unwrap()
}

/// The sections of a run, without the times in the folder's name and in notes.
fn shown(spec: &RunSpec, sections: &[Section], change: impl Fn(&mut Options)) -> String {
    let results = tempfile::tempdir().unwrap();
    shown_sections(&run(results.path(), spec), sections, change)
}

fn shown_sections(run: &Run, sections: &[Section], change: impl Fn(&mut Options)) -> String {
    let mut options = Options { sections: sections.to_vec(), ..Options::default() };
    change(&mut options);
    timeless(&show(run, &options).unwrap(), &[run])
}

fn timeless(text: &str, runs: &[&Run]) -> String {
    let mut text = text.to_owned();
    for run in runs {
        let name = run.folder.name();
        let stem = name.split('-').next().unwrap().to_owned();
        text = text.replace(&"=".repeat(6 + name.len()), "======").replace(&name, &stem);
        for note in &run.notes {
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(note.at_ms as u64);
            let at = humantime::format_rfc3339_seconds(at).to_string();
            text = text.replace(&at.replace('T', " ").replace('Z', " UTC"), "TIME");
        }
    }
    text
}

fn in_format(spec: &RunSpec, sections: &[Section], format: Format) -> String {
    shown(spec, sections, |options| options.format = format)
}

#[test]
fn default_sections_as_text() {
    assert_snapshot!(shown(&RunSpec::default(), &[], |_| {}));
}

#[test]
fn relative_in_each_format() {
    for format in [Format::Markdown, Format::Csv, Format::Json] {
        assert_snapshot!(
            format!("relative_{format}"),
            in_format(&RunSpec::default(), &[Section::Relative], format)
        );
    }
}

#[test]
fn colours_match_printed_values() {
    let text = shown(&RunSpec::default(), &[Section::Relative], |options| options.screen.color = true);
    for line in text.lines() {
        for field in line.split("  ").map(str::trim) {
            let Some((color, rest)) = field.strip_prefix("\x1b[3").and_then(|rest| rest.split_once('m'))
            else {
                continue;
            };
            let value: f64 = rest.strip_suffix("\x1b[0m").unwrap().parse().unwrap();
            assert!(if color == "1" { value <= 0.95 } else { value >= 1.05 }, "{field:?}");
        }
    }
    assert!(text.contains("\x1b[31m0.94\x1b[0m") && text.contains("\x1b[32m1.06\x1b[0m"), "{text}");
    let plain = shown(&RunSpec::default(), &[Section::Relative], |_| {});
    assert_eq!(text.replace("\x1b[31m", "").replace("\x1b[32m", "").replace("\x1b[0m", ""), plain);
}

#[test]
fn a_whole_report_as_markdown() {
    let results = tempfile::tempdir().unwrap();
    let spec = RunSpec { trouble: true, ..RunSpec::default() };
    let run = run(results.path(), &spec);
    assert_snapshot!(timeless(&markdown_report(&run).unwrap(), &[&run]));
    for format in [Format::Text, Format::Csv, Format::Json] {
        assert!(!report(&run, format, Screen::default()).unwrap().is_empty());
    }
}

#[test]
fn costs_per_operation() {
    let only = |options: &mut Options| {
        options.tests = vec!["point-query".into(), "scan".into(), "update-index".into()]
    };
    assert_snapshot!("per_op_text", shown(&RunSpec::default(), &[Section::PerOp], only));
    assert_snapshot!("per_op_csv", in_format(&RunSpec::default(), &[Section::PerOp], Format::Csv));
}

#[test]
fn other_sections_as_text() {
    let spec = RunSpec { trouble: true, ..RunSpec::default() };
    let only = |options: &mut Options| options.tests = vec!["hot-points".into(), "delete".into()];
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &spec);
    for section in [
        Section::Rates,
        Section::Latency,
        Section::Counters,
        Section::Connections,
        Section::Loads,
        Section::Settles,
        Section::LeftOut,
        Section::Fingerprints,
        Section::Plans,
        Section::Remarks,
        Section::Arms,
        Section::Host,
    ] {
        assert_snapshot!(format!("section_{section}"), shown_sections(&run, &[section], only));
    }
}

#[test]
fn an_invalid_test_is_named_where_differences_are_explained() {
    let results = tempfile::tempdir().unwrap();
    let spec = RunSpec { trouble: true, arm_names: vec!["old", "new", "newer"], ..RunSpec::default() };
    let run = run(results.path(), &spec);
    let explained = |format, tests: &[&str]| {
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        explain_text(&run, &ExplainOptions { tests, format, ..ExplainOptions::default() }).unwrap()
    };
    let sentence = "delete is invalid on new, so it is not compared: the server died: out of memory";
    assert!(explained(Format::Text, &[]).contains(sentence), "{}", explained(Format::Text, &[]));
    let of_test = explained(Format::Text, &["delete"]);
    assert!(of_test.contains(sentence) && !of_test.contains("delete: new against old"), "{of_test}");
    assert!(of_test.contains("delete: newer against old"), "{of_test}");
    assert!(!explained(Format::Text, &["scan"]).contains("invalid"));
    let json = explained(Format::Json, &[]);
    assert!(json.contains(r#""why": "the server died: out of memory""#), "{json}");
}

#[test]
fn a_test_with_a_load_of_its_own_is_said_to_have_one() {
    let results = tempfile::tempdir().unwrap();
    let mut run = run(results.path(), &RunSpec::default());
    let text = |run: &Run, section: Section| {
        show(run, &Options { sections: vec![section], ..Options::default() }).unwrap()
    };
    assert!(markdown_report(&run).unwrap().contains("each on the state that earlier tests left"));
    let tests: Vec<String> = run.steps.iter().map(|step| step.name.clone()).collect();
    let loads: Vec<PlannedStep> = tests
        .iter()
        .map(|test| PlannedStep {
            kind: "load".to_owned(),
            name: format!("load-{test}"),
            ..run.steps[0].clone()
        })
        .collect();
    run.steps.extend(loads);
    run.loads.iter_mut().for_each(|load| load.action.step = "load".to_owned());
    let more = run.loads.to_vec();
    run.loads.extend(more.into_iter().map(|mut load| {
        load.action.step = "load-scan".to_owned();
        load.result.rows = 1_234;
        load
    }));
    let loads = text(&run, Section::Loads);
    assert!(loads.contains("load-scan") && loads.contains("1234"), "{loads}");
    let size = Setting { name: rqps_model::SIZE.to_owned(), value: "7 warehouses".to_owned() };
    run.meta.method.push(size);
    let report = markdown_report(&run).unwrap();
    assert!(report.contains("each on tables loaded for it alone"), "{report}");
    assert!(
        report.contains("clients, 7 warehouses, ") || report.contains("client, 7 warehouses, "),
        "{report}"
    );
    assert!(!report.contains("data: "), "{report}");
    assert!(report.contains("the first of 2 loads; section loads has all"), "{report}");
}

#[test]
fn every_section_has_a_consistent_shape() {
    let spec = RunSpec { trouble: true, ..RunSpec::default() };
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &spec);
    shape::check_every_section(|section, format| {
        shown_sections(&run, &[section], |options| options.format = format)
    });
}

#[test]
fn tests_before_any_write_are_shown_on_request() {
    let text = shown(&RunSpec::default(), &[Section::Relative], |options| options.include_pre = true);
    assert!(text.contains("point-query.pre"));
    let without = shown(&RunSpec::default(), &[Section::Relative, Section::Absolute], |_| {});
    assert!(!without.contains(".pre") && !without.contains(".warm"));
}

#[test]
fn a_run_whose_process_is_gone_is_not_running() {
    let results = tempfile::tempdir().unwrap();
    let mut run = run(results.path(), &RunSpec::default());
    run.status.status = Status::Running;
    let state = format!("interrupted; `rqps resume {}` continues it", run.folder.name());
    for text in [show(&run, &Options::default()).unwrap(), markdown_report(&run).unwrap()] {
        assert!(text.lines().take(3).any(|line| line.contains(&state)), "{text}");
    }
    let _writer = RunFolder::open_for_writing(run.folder.path()).unwrap();
    assert!(show(&run, &Options::default()).unwrap().contains("(running)"));
}

#[test]
fn tables_of_incomplete_runs_have_a_warning() {
    let spec = RunSpec { cut: true, ..RunSpec::default() };
    assert_snapshot!("incomplete_text", shown(&spec, &[Section::Headline, Section::Relative], |_| {}));
    let markdown = in_format(&spec, &[Section::Relative, Section::Absolute], Format::Markdown);
    assert!(markdown.matches("### ").count() > 1, "{markdown}");
    assert_eq!(
        markdown.matches("WARNING: small is incomplete, 30 of 36 actions done").count(),
        1,
        "{markdown}"
    );
    // Rows of CSV are figures: the warning goes elsewhere, once.
    static WARNED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let warn: fn(&str) = |warning| WARNED.lock().unwrap().push(warning.to_owned());
    let options = Options {
        format: Format::Csv,
        screen: Screen { warn: Some(warn), ..Screen::default() },
        sections: vec![Section::Relative, Section::Absolute],
        ..Options::default()
    };
    let results = tempfile::tempdir().unwrap();
    let csv = show(&run(results.path(), &spec), &options).unwrap();
    let warned = WARNED.lock().unwrap();
    assert!(warned.len() == 1 && warned[0].contains(" is incomplete, 30 of 36 actions done"), "{warned:?}");
    assert!(!csv.contains("incomplete"), "{csv}");
    assert!(
        csv.contains("\nscan,range queries without aggregation,1.03,\n"),
        "missing is empty, not 0: {csv}"
    );
}

const VERSIONS: [&str; 12] =
    ["9.6.24", "10.23", "11.22", "12.22", "13.23", "14.20", "15.15", "16.11", "17.7", "18.0", "18.1", "18.2"];

#[test]
fn failed_transactions_and_lost_windows_are_named_and_the_page_counts_transactions() {
    let results = tempfile::tempdir().unwrap();
    let spec = RunSpec { failed_transactions: Some(7), ..RunSpec::default() };
    let mut run = run(results.path(), &spec);
    let transactions = |run: &Run| shown_sections(run, &[Section::Transactions], |_| {});
    let text = transactions(&run);
    assert!(
        text.contains("Transactions FAILED: 7 in ")
            && text.contains("NOPM does not")
            && !text.contains("FAILED: 0"),
        "{text}"
    );
    assert!(!text.contains("fewer windows"), "{text}");
    let page = rqps_report::html_report(&run).unwrap();
    assert!(page.contains("Transactions per second") && !page.contains("Queries per second"));
    // The kinds with the most and with the least time.
    for kind in ["new-order", "order-status"] {
        assert!(page.contains(&format!("Latency, {kind}")), "{kind}");
    }
    let of_one_arm = run.windows.iter().find(|window| window.action.step == "update-index").unwrap().clone();
    run.windows.push(of_one_arm);
    for window in &mut run.windows {
        window.metrics.insert("failed_transactions".into(), 0.0);
    }
    let text = transactions(&run);
    assert!(text.contains("fewer windows than others") && text.contains("update-index (1 of 2)"), "{text}");
    assert!(text.contains("NOPM") && !text.contains("FAILED"), "{text}");
}

#[test]
fn twelve_arms_fit() {
    let spec = RunSpec { arms: VERSIONS.map(|version| (version, "x10a")).to_vec(), ..RunSpec::default() };
    let text = shown(&spec, &[Section::Relative, Section::Chain], |_| {});
    let widest = text.lines().filter(|line| line.starts_with(' ')).map(str::len).max().unwrap();
    assert!(widest <= 120, "{widest} characters");
    assert_snapshot!(text);
}

#[test]
fn the_headline_is_limited_to_the_farthest_tests() {
    let spec = RunSpec { arms: VERSIONS.map(|version| (version, "x10a")).to_vec(), ..RunSpec::default() };
    let text = shown(&spec, &[Section::Headline], |_| {});
    let rows = text.lines().filter(|line| line.starts_with("0.") || line.starts_with("1."));
    assert_eq!(rows.count(), 40, "{text}");
    assert!(text.contains("the 40 farthest from 1 of "), "{text}");
}

#[test]
fn one_arm_alone_has_no_ratios() {
    let spec = RunSpec { arms: vec![("18.1", "x10b")], ..RunSpec::default() };
    let text = shown(&spec, &[], |_| {});
    assert!(text.contains("no other arm to compare") && text.contains("\nQPS\n"), "{text}");
    assert!(!text.contains("Relative"), "{text}");
}

#[test]
fn disturbances_come_first() {
    let headline = |others_share| {
        let spec = RunSpec { others_share, ..RunSpec::default() };
        shown(&spec, &[Section::Headline], |_| {})
    };
    let busy = headline(0.31);
    let disturbed = busy.find("DISTURBED: other programs used").unwrap();
    assert!(disturbed < busy.find("median rQPS").unwrap(), "{busy}");
    assert!(busy.contains("of postgres-18.1.x10b_c8r32 (up to 31 %)"), "{busy}");
    assert!(!headline(0.04).contains("DISTURBED"));
}

#[test]
fn base_can_be_chosen_by_name() {
    let text = shown(&RunSpec::default(), &[Section::Relative], |options| {
        options.base = Some("postgres-18.1.x10b_c8r32".into());
    });
    assert!(
        text.contains("Relative to: postgres-18.1.x10b_c8r32\ncol-1 : postgres-16.11.x10a_c8r32\n"),
        "{text}"
    );
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &RunSpec::default());
    let error = |options: Options| show(&run, &options).unwrap_err().to_string();
    let unknown = error(Options { base: Some("nobody".into()), ..Options::default() });
    assert!(unknown.contains("postgres-17.7.x10a_c8r32"), "{unknown}");
    let unknown = error(Options { tests: vec!["point-qury".into()], ..Options::default() });
    assert!(unknown.contains("point-qury"), "{unknown}");
}

#[test]
fn alike_runs_are_compared_and_arms_of_one_name_told_apart() {
    let results = tempfile::tempdir().unwrap();
    let runs = [
        run(results.path(), &RunSpec::default()),
        run(results.path(), &RunSpec { name: "later", ..RunSpec::default() }),
    ];
    let ambiguous = CompareOptions {
        show: Options { base: Some("postgres-16.11.x10a_c8r32".into()), ..Options::default() },
        ..CompareOptions::default()
    };
    let error = timeless(&compare(&runs, &ambiguous).unwrap_err().to_string(), &[&runs[0], &runs[1]]);
    assert!(
        error.contains("use one of: small:postgres-16.11.x10a_c8r32, later:postgres-16.11.x10a_c8r32"),
        "{error}"
    );
    let base = format!("{}:postgres-16.11.x10a_c8r32", runs[1].folder.name());
    let options = CompareOptions {
        show: Options { base: Some(base), sections: vec![Section::Relative], ..Options::default() },
        ..CompareOptions::default()
    };
    assert_snapshot!(timeless(&compare(&runs, &options).unwrap(), &[&runs[0], &runs[1]]));
}

#[test]
fn different_runs_are_refused_or_compared_with_warnings() {
    let results = tempfile::tempdir().unwrap();
    let other =
        RunSpec { name: "later", kernel: "6.5.0", seed: 43, config_hash: "0badc0de", ..RunSpec::default() };
    let runs = [run(results.path(), &RunSpec::default()), run(results.path(), &other)];
    let both = [&runs[0], &runs[1]];
    let error = compare(&runs, &CompareOptions::default()).unwrap_err();
    assert_snapshot!("refused", timeless(&error.to_string(), &both));
    for format in Format::ALL {
        let options = CompareOptions {
            show: Options {
                format,
                sections: vec![Section::Relative],
                tests: vec!["point-query".into()],
                ..Options::default()
            },
            force: true,
        };
        let text = timeless(&compare(&runs, &options).unwrap(), &both);
        assert_snapshot!(format!("forced_{format}"), text);
    }
    let twice =
        [RunFolder::open(runs[0].folder.path()).unwrap(), RunFolder::open(runs[0].folder.path()).unwrap()];
    assert!(compare(&twice, &CompareOptions::default()).is_err());
}

#[test]
fn certificates_are_shown_side_by_side_and_what_changed_is_named() {
    let results = tempfile::tempdir().unwrap();
    let spec = |name, host_speeds| RunSpec { name, host_speeds, ..RunSpec::default() };
    let runs = [
        run(results.path(), &spec("small", vec![1.0, 1.0])),
        run(results.path(), &spec("later", vec![0.7, 0.5])),
    ];
    let shown = |sections| {
        let options = Options { sections, ..Options::default() };
        let text = compare(&runs, &CompareOptions { show: options, ..CompareOptions::default() }).unwrap();
        timeless(&text, &[&runs[0], &runs[1]])
    };
    assert_snapshot!("certificates_text", shown(vec![Section::Certificate, Section::Remarks]));
    // Hosts that changed in opposite directions have the same range.
    let crossed = [
        run(results.path(), &spec("slower", vec![1.0, 0.5])),
        run(results.path(), &spec("faster", vec![0.5, 1.0])),
    ];
    let options = Options { sections: vec![Section::Certificate], ..Options::default() };
    let text = compare(&crossed, &CompareOptions { show: options, ..CompareOptions::default() }).unwrap();
    assert!(!text.contains("do not differ") && text.contains(" M/s before slower"), "{text}");
    let first = show(&runs[0], &Options::default()).unwrap();
    assert!(!first.contains("the host"), "nothing to remark: {first}");
    let second = show(&runs[1], &Options::default()).unwrap();
    assert!(
        second.contains("not fit for judging rates") && second.contains("the host changed: integer speed"),
        "{second}"
    );
}

#[test]
fn names_cannot_break_a_markdown_table() {
    let spec = RunSpec { arm_names: vec!["old|*er*", "new`er", "<b>"], ..RunSpec::default() };
    let markdown = in_format(&spec, &[Section::Arms], Format::Markdown);
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    let cells = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|row| cells(row) == cells(rows[0])), "{markdown}");
    assert!(
        markdown.contains("(old\\|\\*er\\*)")
            && markdown.contains("(new\\`er)")
            && markdown.contains("(&lt;b>)")
    );
}

/// Builds by two compilers, one with its own C library, and one of another DBMS.
fn different_families() -> RunSpec {
    let ours = ["gcc 12.2.0", "-O2", "system glibc 2.36"];
    RunSpec {
        families: vec![
            ours,
            ["gcc 4.4.7", "-O2", "system glibc 2.36"],
            ["gcc 12.4.0", "-O2", "its own glibc 2.41"],
        ],
        dbms_last: "mysql",
        ..RunSpec::default()
    }
}

#[test]
fn every_table_warns_about_other_compilers() {
    let spec = different_families();
    let compiled = "postgres-17.7 was built with gcc 4.4.7 -O2, base postgres-16.11 with gcc 12.2.0 -O2: part of a \
                    difference may come from the build";
    let linked = "mysql-18.1 runs with its own glibc 2.41, base postgres-16.11 with system glibc 2.36: part of a \
                  difference may come from the build";
    let unlike = "the arms run different DBMSs (PostgreSQL, MySQL): they differ in more than a version";
    let all: Vec<Section> = Section::ALL.to_vec();
    let report: serde_json::Value = serde_json::from_str(&in_format(&spec, &all, Format::Json)).unwrap();
    let tables = report["tables"].as_array().unwrap();
    assert!(tables.len() > 20);
    for table in tables {
        assert_eq!(table["warnings"], serde_json::json!([unlike, compiled, linked]), "{}", table["title"]);
    }
    let adjacent = in_format(&spec, &[Section::Chain], Format::Text);
    assert!(adjacent.contains("17.7") && !adjacent.contains("mysql-18.1.x10b relative"), "{adjacent}");
    for format in [Format::Text, Format::Markdown] {
        let text = in_format(&spec, &[Section::Relative], format);
        assert!([unlike, compiled, linked].iter().all(|warning| text.contains(warning)), "{text}");
    }
    let results = tempfile::tempdir().unwrap();
    let run = run(results.path(), &spec);
    for text in [markdown_report(&run).unwrap(), rqps_report::html_report(&run).unwrap()] {
        assert_eq!(text.matches(unlike).count(), 1, "once, above all tables");
        assert!(text.contains("gcc 4.4.7"));
    }
    let alike =
        RunSpec { families: vec![["gcc 12.2.0", "-O2", "system glibc 2.36"]; 3], ..RunSpec::default() };
    assert!(!in_format(&alike, &[], Format::Text).contains("WARNING"));
}
