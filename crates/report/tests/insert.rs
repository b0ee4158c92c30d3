//! Tables of the Insert Benchmark, from synthetic runs.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

#[path = "builder/insert.rs"]
mod builder;
#[path = "builder/shape.rs"]
mod shape;

use builder::{INTERRUPTED, InsertSpec, build};
use insta::assert_snapshot;
use rqps_report::{
    CompareOptions, ExplainOptions, Format, GateRules, Options, Outcome, Screen, Section, compare,
    explain_text, gate, markdown_report, show,
};
use rqps_stats::Detector;
use rqps_store::{Run, RunFolder};

/// A run in a temporary directory.
struct TempRun {
    run: Run,
    _results: tempfile::TempDir,
}

fn temp_run(spec: &InsertSpec) -> TempRun {
    let results = tempfile::tempdir().unwrap();
    let run = RunFolder::open(&build(results.path(), spec)).unwrap();
    TempRun { run, _results: results }
}

/// The sections of a run, without the time in its name.
fn shown(spec: &InsertSpec, sections: &[Section], change: impl Fn(&mut Options)) -> String {
    let temp = temp_run(spec);
    let mut options = Options { sections: sections.to_vec(), ..Options::default() };
    change(&mut options);
    timeless(&show(&temp.run, &options).unwrap(), &temp.run)
}

fn timeless(text: &str, run: &Run) -> String {
    let name = run.folder.name();
    text.replace(&"=".repeat(15 + name.len()), "======").replace(&name, "insert")
}

fn missed() -> InsertSpec {
    InsertSpec { missed: vec![(1, "qr1000", 0.612), (1, "qp1000", 0.87)], ..InsertSpec::default() }
}

#[test]
fn default_sections_as_text() {
    assert_snapshot!(shown(&missed(), &[], |_| {}));
}

#[test]
fn tables_fit_a_terminal() {
    let text = shown(&missed(), &[Section::Absolute, Section::Relative, Section::Background], |_| {});
    for line in text.lines().filter(|line| !line.starts_with("WARNING") && !line.contains(" : ")) {
        assert!(line.chars().count() <= 100 || line.contains(": rows"), "{line}");
    }
}

#[test]
fn rates_in_each_format() {
    let sections = [Section::Absolute, Section::Relative, Section::Background];
    for format in [Format::Markdown, Format::Csv, Format::Json] {
        assert_snapshot!(
            format!("rates_{format}"),
            shown(&missed(), &sections, |options| options.format = format)
        );
    }
}

#[test]
fn missed_rates_are_marked_and_not_ranked() {
    let temp = temp_run(&missed());
    let show_section = |section, format, color| {
        let options = Options {
            sections: vec![section],
            format,
            screen: Screen { color, ..Screen::default() },
            ..Options::default()
        };
        show(&temp.run, &options).unwrap()
    };
    for section in Section::ALL {
        let name = section.key();
        for format in Format::ALL {
            let text = show_section(section, format, false);
            let has_table = match format {
                Format::Json => !text.contains("\"tables\": []"),
                _ => text.lines().any(|line| line.contains("dbms") || line.contains("qr1000")),
            };
            // The headline names them in a sentence.
            assert!(
                (section, format) != (Section::Headline, Format::Text)
                    || text.contains("writes: qr1000, qp1000"),
                "{text}"
            );
            // Rows of CSV are figures.
            let has_table = has_table && section != Section::Headline && format != Format::Csv;
            assert!(!has_table || text.contains("missed its target rate"), "{name} as {format}: {text}");
        }
    }
    let colored = show_section(Section::Absolute, Format::Text, true);
    let gray = colored.matches("\x1b[90m!").count();
    assert_eq!(gray, 2, "{colored}");
    // The faster one missed its target, so the other is alone in its column and has no colour.
    let qr1000 = colored.lines().find(|line| line.ends_with(" on")).unwrap();
    assert!(qr1000.contains(" 5000") || qr1000.contains(" 50"), "{qr1000}");
    let plain = show_section(Section::Absolute, Format::Text, false);
    let codes = ["\x1b[31m", "\x1b[32m", "\x1b[90m", "\x1b[0m"];
    assert_eq!(codes.iter().fold(colored, |text, code| text.replace(code, "")), plain);
}

#[test]
fn if_base_missed_its_rate_no_arm_is_ranked() {
    let spec = InsertSpec { missed: vec![(0, "qr500", 0.5)], ..InsertSpec::default() };
    let text = shown(&spec, &[Section::Relative], |options| options.screen.color = true);
    let marked = text.lines().filter(|line| line.contains("\x1b[90m!")).count();
    assert_eq!(marked, 2, "base and the arm compared with it: {text}");
}

#[test]
fn an_arm_that_ended_early_has_empty_cells_and_says_so() {
    let spec = InsertSpec { cut: Some((1, "qp100")), ..InsertSpec::default() };
    assert_snapshot!(shown(&spec, &[Section::Absolute, Section::Background, Section::Connections], |_| {}));
}

#[test]
fn interrupted_steps_have_no_figures_but_the_reason() {
    let spec = InsertSpec { interrupted: Some((1, "l.i1")), ..InsertSpec::default() };
    let complete = temp_run(&InsertSpec::default());
    let invalid = temp_run(&spec);
    for section in Section::ALL {
        let name = section.key();
        let text = |temp: &TempRun| {
            let tests = vec!["l.i1".to_owned()];
            let options = Options { sections: vec![section], tests, ..Options::default() };
            timeless(&show(&temp.run, &options).unwrap(), &temp.run)
        };
        let (complete, invalid) = (text(&complete), text(&invalid));
        assert!(!invalid.contains("NaN"), "{name}: {invalid}");
        let has_figures =
            matches!(section, Section::Absolute | Section::Relative | Section::Cpu | Section::State);
        assert!(!has_figures || complete != invalid && invalid.contains(INTERRUPTED), "{name}: {invalid}");
    }
    let remarks = shown(&spec, &[Section::Remarks], |_| {});
    assert!(remarks.contains("invalid") && remarks.contains(INTERRUPTED), "{remarks}");
}

#[test]
fn clients_have_a_row_each_where_they_are_few() {
    let with_clients = |clients| {
        let spec = InsertSpec { clients, ..InsertSpec::default() };
        shown(&spec, &[Section::Connections], |options| options.tests = vec!["l.i2".into()])
    };
    assert_snapshot!("clients_have_a_row_each_where_they_are_few", with_clients(2));
    let eight = with_clients(8);
    assert!(eight.contains(" all ") && !eight.lines().any(|line| line.contains("  0       on")), "{eight}");
}

#[test]
fn response_times_as_text() {
    let only = |options: &mut Options| options.tests = vec!["qr1000".into(), "l.i0".into()];
    let text = shown(&missed(), &[Section::Responses], only);
    let query_rows = text.lines().filter(|line| line.ends_with("  query")).count();
    assert_eq!(query_rows, 2, "none in l.i0: {text}");
    assert_snapshot!(text);
}

#[test]
fn innodb_has_a_history_list_instead_of_planning_buffers() {
    let text = shown(&InsertSpec::default(), &[Section::State], |_| {});
    assert!(text.contains("plan buf") && !text.contains("history"), "{text}");
    let mysql = InsertSpec { dbms: "mysql", ..InsertSpec::default() };
    let text = shown(&mysql, &[Section::State], |_| {});
    assert!(!text.contains("plan buf") && text.contains("history"), "{text}");
}

#[test]
fn every_section_has_a_consistent_shape() {
    let temp = temp_run(&missed());
    shape::check_every_section(|section, format| {
        let options = Options { sections: vec![section], format, ..Options::default() };
        show(&temp.run, &options).unwrap()
    });
}

#[test]
fn a_whole_report_as_markdown() {
    let temp = temp_run(&missed());
    assert_snapshot!(timeless(&markdown_report(&temp.run).unwrap(), &temp.run));
}

#[test]
fn verdicts_follow_the_order_of_steps_and_omit_missed_rates() {
    let spec = InsertSpec { passes: 3, ..missed() };
    let temp = temp_run(&spec);
    let text = timeless(&show(&temp.run, &Options::default()).unwrap(), &temp.run);
    let place =
        |step: &str| text.find(&format!("\n{step} ")).unwrap_or_else(|| panic!("no {step} in {text}"));
    let places = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500"].map(place);
    assert!(places.is_sorted(), "{text}");
    assert!(text.contains(
        "not ranked: the target rate of background writes was missed: off did 612 of 1000 rows/s, on met it"
    ));
    let at_gate = gate(&temp.run, &GateRules::default()).unwrap();
    assert_eq!(at_gate.outcome, Outcome::Regressed);
    assert!(
        at_gate.junit.contains("not ranked: the target rate of background writes was missed"),
        "{}",
        at_gate.junit
    );
    assert!(at_gate.markdown.contains("qr1000: not ranked"), "{}", at_gate.markdown);
    assert!(!at_gate.markdown.contains("REGRESSION qr1000"), "{}", at_gate.markdown);
    let sentence = "REGRESSION: off missed the target rate of background writes in every block of qr1000, qp1000; on met it.";
    assert!(at_gate.markdown.contains(sentence), "{}", at_gate.markdown);
}

/// A host can make an arm miss it now and then.
#[test]
fn a_rate_that_was_missed_in_one_pass_is_no_regression() {
    let temp = temp_run(&InsertSpec { passes: 3, missed_only: Some(2), ..missed() });
    let rules = GateRules { fail_on: vec![Detector::Rate], ..GateRules::default() };
    let at_gate = gate(&temp.run, &rules).unwrap();
    assert!(
        at_gate.markdown.contains("off did 612 of 1000 rows/s in 1 of 3 blocks, on met it"),
        "{}",
        at_gate.markdown
    );
    assert_eq!(at_gate.outcome, Outcome::Passed, "{}", at_gate.markdown);
    let strict = gate(&temp.run, &GateRules { inconclusive: true, ..rules }).unwrap();
    assert_eq!(strict.outcome, Outcome::Undecided);
}

#[test]
fn a_pass_without_a_result_of_base_is_not_done() {
    let spec = InsertSpec { passes: 3, cut: Some((0, "l.i0")), ..InsertSpec::default() };
    let text = shown(&spec, &[Section::Verdicts, Section::Blocks], |_| {});
    assert!(text.contains("0 done, none void, 3 without a result of on;"), "{text}");
    assert_eq!(text.matches("no result of on").count(), 3, "{text}");
    // Base has done its part in the passes that another arm lacks.
    let spec = InsertSpec { passes: 3, cut: Some((1, "l.i0")), arms: vec!["on", "off", "same"], ..spec };
    let text = shown(&spec, &[Section::Verdicts, Section::Blocks], |_| {});
    assert!(text.contains("3 done, none void, 3 without a result of off;"), "{text}");
}

#[test]
fn an_arm_that_a_resume_measured_is_named_with_its_passes() {
    let spec = InsertSpec { passes: 3, resumed: Some((0, 2)), ..InsertSpec::default() };
    let text = shown(&spec, &[Section::Verdicts], |_| {});
    assert!(text.contains("a resume measured steps of on in pass 2,"), "{text}");
    let blocks = |spec: &InsertSpec, detector| {
        let temp = temp_run(spec);
        let verdicts = rqps_verdicts::judge_run(&temp.run, &rqps_stats::Rules::default()).unwrap();
        verdicts.verdict("l.i0", 1, detector).map_or(0, |verdict| verdict.blocks)
    };
    let of =
        |detector| [blocks(&spec, detector), blocks(&InsertSpec { resumed: None, ..spec.clone() }, detector)];
    assert_eq!(of(rqps_stats::Detector::Rate), [2, 3], "what the host may have changed is not judged");
    assert_eq!(of(rqps_stats::Detector::Wal), [3, 3], "the host changes no WAL");
    let why = |spec: &InsertSpec| {
        let asked = ExplainOptions { tests: vec!["qr1000".into()], ..ExplainOptions::default() };
        explain_text(&temp_run(spec).run, &asked).unwrap()
    };
    assert!(why(&spec).contains("pass 2 is left out of these figures: a resume measured"), "{}", why(&spec));
    let state = "unlike states: in pass 2, on starts with 3 files in level 0, not compacted yet (off: 1)";
    assert!(text.contains(state), "{text}");
    let text = shown(&InsertSpec { resumed: None, ..spec }, &[Section::Verdicts], |_| {});
    assert!(!text.contains("a resume"), "{text}");
}

#[test]
fn a_base_that_missed_its_rate_does_not_fail_the_gate() {
    let spec = InsertSpec {
        passes: 3,
        deletes_more_expensive: 1.0,
        arms: vec!["on", "same"],
        missed: vec![(0, "qr1000", 0.5)],
        ..InsertSpec::default()
    };
    let temp = temp_run(&spec);
    let rules = GateRules { fail_on: vec![rqps_stats::Detector::Rate], ..GateRules::default() };
    let at_gate = gate(&temp.run, &rules).unwrap();
    assert!(at_gate.markdown.contains("qr1000: not ranked"), "{}", at_gate.markdown);
    assert!(!at_gate.markdown.contains("improvement qr1000"), "{}", at_gate.markdown);
    assert!(!at_gate.junit.contains("testcase classname=\"same.rate\" name=\"qr1000\">\n    <failure"));
}

#[test]
fn index_builds_of_different_dbmss_have_a_footnote() {
    let (one, other) =
        (temp_run(&InsertSpec::default()), temp_run(&InsertSpec { dbms: "mysql", ..InsertSpec::default() }));
    let runs = [one.run, other.run];
    let compared = |sections: Vec<Section>| {
        let options = CompareOptions { show: Options { sections, ..Options::default() }, force: true };
        compare(&runs, &options).unwrap()
    };
    let refused = compare(&runs, &CompareOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("DBMS of the base: postgres in"), "{refused}");
    for section in [Section::Absolute, Section::Relative] {
        assert!(compared(vec![section]).contains("l.x: compare only within one DBMS"), "{section}");
    }
    assert!(!shown(&InsertSpec::default(), &[Section::Absolute], |_| {}).contains("only within one DBMS"));
}

#[test]
fn two_runs_can_share_a_table() {
    let (one, other) = (temp_run(&InsertSpec::default()), temp_run(&missed()));
    let runs = [one.run, other.run];
    let options = CompareOptions {
        show: Options { sections: vec![Section::Absolute], ..Options::default() },
        force: true,
    };
    let text = compare(&runs, &options).unwrap();
    assert_eq!(
        text.lines().filter(|line| line.ends_with(":on") || line.ends_with(":off")).count(),
        4,
        "{text}"
    );
}

/// The explanation of one test.
fn explained(spec: &InsertSpec, test: &str) -> String {
    let temp = temp_run(spec);
    let options = ExplainOptions { tests: vec![test.to_owned()], ..ExplainOptions::default() };
    timeless(&explain_text(&temp.run, &options).unwrap(), &temp.run)
}

#[test]
fn more_expensive_deletes_are_explained_by_dead_entries_and_the_setting() {
    let text = explained(&InsertSpec { passes: 3, ..InsertSpec::default() }, "l.i2");
    let first = text.lines().find(|line| line.starts_with("- ")).unwrap();
    let parts = [
        "the delete session of off uses",
        "69 % more than on",
        "planning each DELETE walks the dead index entries at the tail",
        "485 buffers at the end of the step (on: 16)",
        "autovacuum (off, base on)",
    ];
    for part in parts {
        assert!(first.contains(part), "{part}: {text}");
    }
    assert!(!text.to_lowercase().contains("not explained"), "{text}");
}

#[test]
fn a_more_expensive_session_is_explained_even_at_the_same_rate() {
    let temp = temp_run(&InsertSpec { slower: 0.0, ..InsertSpec::default() });
    let text = explain_text(&temp.run, &ExplainOptions { all: true, ..ExplainOptions::default() }).unwrap();
    assert!(text.contains("\nl.i2: ") && text.contains("dead index entries at the tail"), "{text}");
}

#[test]
fn purge_lag_is_the_cause_in_innodb() {
    let text = explained(&InsertSpec { passes: 3, dbms: "mysql", ..InsertSpec::default() }, "l.i2");
    assert!(text.contains("purge lag: each DELETE steps over the rows at the tail"), "{text}");
    assert!(text.contains("innodb_max_purge_lag"), "the setting that differs: {text}");
}

#[test]
fn the_tail_is_not_mentioned_if_deletes_cost_the_same() {
    let text =
        explained(&InsertSpec { passes: 3, deletes_more_expensive: 1.0, ..InsertSpec::default() }, "l.i2");
    assert!(!text.contains("tail") && !text.contains("autovacuum ("), "{text}");
}

#[test]
fn a_missed_write_rate_is_the_first_finding() {
    for passes in [1, 3] {
        let text = explained(&InsertSpec { passes, ..missed() }, "qr1000");
        let first = text.lines().find(|line| line.starts_with("- ")).unwrap();
        assert!(first.starts_with("- Not comparable: the background write rate was not sustained"), "{text}");
        assert!(
            first.contains("off wrote 612 of 1,000 rows/s (61 %), on wrote 999 of 1,000 rows/s"),
            "{text}"
        );
    }
    // It is explained by default, although the rate looks better than base's.
    let temp = temp_run(&missed());
    let all = explain_text(&temp.run, &ExplainOptions::default()).unwrap();
    let first = all.lines().find(|line| line.starts_with("- ")).unwrap();
    assert!(first.contains("not comparable: ") && first.contains("qr1000"), "{all}");
}

#[test]
fn explanations_follow_the_order_of_steps_and_name_units() {
    let temp = temp_run(&InsertSpec { passes: 3, ..missed() });
    let text = explain_text(&temp.run, &ExplainOptions { all: true, ..ExplainOptions::default() }).unwrap();
    let place =
        |step: &str| text.find(&format!("\n{step}: ")).unwrap_or_else(|| panic!("no {step} in {text}"));
    assert!(["l.i1", "l.i2", "qp100", "qr1000"].map(place).is_sorted(), "{text}");
    assert!(text.contains("per row") && text.contains("per query"), "{text}");
}
