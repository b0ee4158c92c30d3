//! Tables of the Insert Benchmark, from runs made by hand.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

#[path = "builder/insert.rs"]
mod builder;

use builder::{InsertSpec, WENT_ON, build};
use insta::assert_snapshot;
use rqps_report::{
    CompareOptions, ExplainOptions, Format, GateRules, Options, Outcome, Section, compare, explain_text,
    gate, markdown_report, show,
};
use rqps_store::{Run, RunFolder};

/// The run, kept as long as its directory.
struct Made {
    run: Run,
    _results: tempfile::TempDir,
}

fn made(spec: &InsertSpec) -> Made {
    let results = tempfile::tempdir().unwrap();
    let run = RunFolder::open(&build(results.path(), spec)).unwrap();
    Made { run, _results: results }
}

/// What is shown of a run, without the time in its name.
fn shown(spec: &InsertSpec, sections: &[Section], change: impl Fn(&mut Options)) -> String {
    let made = made(spec);
    let mut options = Options { sections: sections.to_vec(), ..Options::default() };
    change(&mut options);
    timeless(&show(&made.run, &options).unwrap(), &made.run)
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
fn the_three_tables_fit_a_terminal() {
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
fn a_rate_that_was_not_kept_is_marked_in_every_table_without_colour_and_not_ranked() {
    let made = made(&missed());
    let made_of = |section, format, color| {
        let options = Options { sections: vec![section], format, color, ..Options::default() };
        show(&made.run, &options).unwrap()
    };
    for section in Section::ALL {
        let name = section.key();
        for format in Format::ALL {
            let text = made_of(section, format, false);
            let has_table = match format {
                Format::Json => !text.contains("\"tables\": []"),
                _ => text.lines().any(|line| line.contains("dbms") || line.contains("qr1000")),
            };
            // The headline is a sentence in which they are named.
            assert!(
                (section, format) != (Section::Headline, Format::Text)
                    || text.contains("writes: qr1000, qp1000"),
                "{text}"
            );
            let has_table = has_table && section != Section::Headline;
            assert!(!has_table || text.contains("missed its target rate"), "{name} as {format}: {text}");
        }
    }
    let colored = made_of(Section::Absolute, Format::Text, true);
    let gray = colored.matches("\x1b[90m!").count();
    assert_eq!(gray, 2, "{colored}");
    // The faster of the two let its writes slip: the other is alone in its column, so it has no colour.
    let qr1000 = colored.lines().find(|line| line.ends_with(" on")).unwrap();
    assert!(qr1000.contains(" 5000") || qr1000.contains(" 50"), "{qr1000}");
    let plain = made_of(Section::Absolute, Format::Text, false);
    let codes = ["\x1b[31m", "\x1b[32m", "\x1b[90m", "\x1b[0m"];
    assert_eq!(codes.iter().fold(colored, |text, code| text.replace(code, "")), plain);
}

#[test]
fn a_base_that_did_not_keep_the_rate_ranks_nobody() {
    let spec = InsertSpec { missed: vec![(0, "qr500", 0.5)], ..InsertSpec::default() };
    let text = shown(&spec, &[Section::Relative], |options| options.color = true);
    let marked = text.lines().filter(|line| line.contains("\x1b[90m!")).count();
    assert_eq!(marked, 2, "base and the arm held against it: {text}");
}

#[test]
fn an_arm_that_ended_early_has_empty_cells_and_says_so() {
    let spec = InsertSpec { cut: Some((1, "qp100")), ..InsertSpec::default() };
    assert_snapshot!(shown(&spec, &[Section::Absolute, Section::Background, Section::Connections], |_| {}));
}

#[test]
fn a_step_that_went_on_after_it_was_cut_off_has_no_figures_and_says_why() {
    let spec = InsertSpec { went_on: Some((1, "l.i1")), ..InsertSpec::default() };
    let whole = made(&InsertSpec::default());
    let lost = made(&spec);
    for section in Section::ALL {
        let name = section.key();
        let text = |made: &Made| {
            let tests = vec!["l.i1".to_owned()];
            let options = Options { sections: vec![section], tests, ..Options::default() };
            timeless(&show(&made.run, &options).unwrap(), &made.run)
        };
        let (whole, lost) = (text(&whole), text(&lost));
        assert!(!lost.contains("NaN"), "{name}: {lost}");
        let has_figures =
            matches!(section, Section::Absolute | Section::Relative | Section::Cpu | Section::State);
        assert!(!has_figures || whole != lost && lost.contains(WENT_ON), "{name}: {lost}");
    }
    let remarks = shown(&spec, &[Section::Remarks], |_| {});
    assert!(remarks.contains("invalid") && remarks.contains(WENT_ON), "{remarks}");
}

#[test]
fn clients_have_a_row_each_where_they_are_few() {
    let of = |clients| {
        let spec = InsertSpec { clients, ..InsertSpec::default() };
        shown(&spec, &[Section::Connections], |options| options.tests = vec!["l.i2".into()])
    };
    assert_snapshot!(of(2));
    let eight = of(8);
    assert!(eight.contains(" all ") && !eight.lines().any(|line| line.contains("  0       on")), "{eight}");
}

#[test]
fn response_times_as_text() {
    let only = |options: &mut Options| options.tests = vec!["qr1000".into(), "l.i0".into()];
    let text = shown(&missed(), &[Section::Responses], only);
    let of_queries = text.lines().filter(|line| line.ends_with("  query")).count();
    assert_eq!(of_queries, 2, "none in l.i0: {text}");
    assert_snapshot!(text);
}

#[test]
fn innodb_has_a_history_list_where_postgres_has_dead_rows_and_planning_buffers() {
    let text = shown(&InsertSpec::default(), &[Section::State], |_| {});
    assert!(text.contains("plan buf") && !text.contains("history"), "{text}");
    let mysql = InsertSpec { dbms: "mysql", ..InsertSpec::default() };
    let text = shown(&mysql, &[Section::State], |_| {});
    assert!(!text.contains("plan buf") && text.contains("history"), "{text}");
}

#[test]
fn every_section_in_every_format_has_one_shape() {
    let made = made(&missed());
    for section in Section::ALL {
        let name = section.key();
        let of = |format| {
            let options = Options { sections: vec![section], format, ..Options::default() };
            show(&made.run, &options).unwrap()
        };
        let json: serde_json::Value = serde_json::from_str(&of(Format::Json)).unwrap();
        for table in json["tables"].as_array().unwrap() {
            let columns = table["columns"].as_array().unwrap().len();
            for row in table["rows"].as_array().unwrap() {
                assert!(row.as_object().unwrap().len() >= columns, "{name}: two columns share a key: {row}");
            }
        }
        let csv = of(Format::Csv);
        let data: String =
            csv.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
        for part in data.split("\n\n") {
            let mut reader = csv::Reader::from_reader(part.as_bytes());
            assert!(reader.records().all(|record| record.is_ok()), "{name}: {part}");
        }
    }
}

#[test]
fn a_whole_report_as_markdown() {
    let made = made(&missed());
    assert_snapshot!(timeless(&markdown_report(&made.run).unwrap(), &made.run));
}

#[test]
fn passes_have_verdicts_in_the_order_of_steps_and_none_on_rates_that_were_not_kept() {
    let spec = InsertSpec { passes: 3, ..missed() };
    let made = made(&spec);
    let text = timeless(&show(&made.run, &Options::default()).unwrap(), &made.run);
    let place =
        |step: &str| text.find(&format!("\n{step} ")).unwrap_or_else(|| panic!("no {step} in {text}"));
    let places = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500"].map(place);
    assert!(places.is_sorted(), "{text}");
    assert!(text.contains(
        "not ranked: the target rate of background writes was missed: off did 612 of 1000 rows/s, on met it"
    ));
    let at_gate = gate(&made.run, &GateRules::default()).unwrap();
    assert_eq!(at_gate.outcome, Outcome::Regressed);
    assert!(
        at_gate.junit.contains("not ranked: the target rate of background writes was missed"),
        "{}",
        at_gate.junit
    );
    assert!(at_gate.markdown.contains("REGRESSION qr1000: not ranked"), "{}", at_gate.markdown);
}

#[test]
fn a_base_that_fell_short_closes_no_gate() {
    let spec = InsertSpec {
        passes: 3,
        deletes_more_expensive: 1.0,
        arms: vec!["on", "same"],
        missed: vec![(0, "qr1000", 0.5)],
        ..InsertSpec::default()
    };
    let made = made(&spec);
    let rules = GateRules { fail_on: vec![rqps_stats::Detector::Rate], ..GateRules::default() };
    let at_gate = gate(&made.run, &rules).unwrap();
    assert!(at_gate.markdown.contains("improvement qr1000: not ranked"), "{}", at_gate.markdown);
    assert!(!at_gate.junit.contains("testcase classname=\"same.rate\" name=\"qr1000\">\n    <failure"));
}

#[test]
fn indexes_of_unlike_dbmss_are_not_to_be_compared() {
    let (one, other) =
        (made(&InsertSpec::default()), made(&InsertSpec { dbms: "mysql", ..InsertSpec::default() }));
    let runs = [one.run, other.run];
    let of = |sections: Vec<Section>| {
        let options = CompareOptions { show: Options { sections, ..Options::default() }, force: true };
        compare(&runs, &options).unwrap()
    };
    for section in [Section::Absolute, Section::Relative] {
        assert!(of(vec![section]).contains("l.x: compare only within one DBMS"), "{section}");
    }
    assert!(!shown(&InsertSpec::default(), &[Section::Absolute], |_| {}).contains("only within one DBMS"));
}

#[test]
fn two_runs_stand_in_one_table() {
    let (one, other) = (made(&InsertSpec::default()), made(&missed()));
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

/// What is said of one test, verdicts given.
fn explained(spec: &InsertSpec, test: &str) -> String {
    let made = made(spec);
    let options = ExplainOptions { tests: vec![test.to_owned()], ..ExplainOptions::default() };
    timeless(&explain_text(&made.run, &options).unwrap(), &made.run)
}

#[test]
fn dearer_deletes_are_explained_by_what_lies_at_the_tail_and_by_the_setting_that_left_it_there() {
    let text = explained(&InsertSpec { passes: 3, ..InsertSpec::default() }, "l.i2");
    let first = text.lines().find(|line| line.starts_with("- ")).unwrap();
    let said = [
        "the delete session of off uses",
        "69 % more than on",
        "planning each DELETE walks the dead index entries at the tail",
        "485 buffers at the end of the step (on: 16)",
        "autovacuum (off, base on)",
    ];
    for part in said {
        assert!(first.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("not explained"), "{text}");
}

#[test]
fn a_dearer_session_of_one_pass_is_told_unasked_though_the_rate_is_as_before() {
    let made = made(&InsertSpec { slower: 0.0, ..InsertSpec::default() });
    let text = explain_text(&made.run, &ExplainOptions::default()).unwrap();
    assert!(text.contains("\nl.i2: ") && text.contains("dead index entries at the tail"), "{text}");
}

#[test]
fn purge_lag_is_named_where_planning_costs_nothing() {
    let text = explained(&InsertSpec { passes: 3, dbms: "mysql", ..InsertSpec::default() }, "l.i2");
    assert!(text.contains("purge lag: each DELETE steps over the rows at the tail"), "{text}");
    assert!(text.contains("innodb_max_purge_lag"), "the setting that differs: {text}");
}

#[test]
fn nothing_is_said_of_the_tail_where_deletes_cost_the_same() {
    let text =
        explained(&InsertSpec { passes: 3, deletes_more_expensive: 1.0, ..InsertSpec::default() }, "l.i2");
    assert!(!text.contains("tail") && !text.contains("autovacuum ("), "{text}");
}

#[test]
fn a_rate_that_was_not_kept_is_a_finding_and_the_rates_of_queries_are_none() {
    for passes in [1, 3] {
        let text = explained(&InsertSpec { passes, ..missed() }, "qr1000");
        let first = text.lines().find(|line| line.starts_with("- ")).unwrap();
        assert!(first.starts_with("- not comparable: the background write rate was not sustained"), "{text}");
        assert!(
            first.contains("off wrote 612 of 1,000 rows/s (61 %), on wrote 999 of 1,000 rows/s"),
            "{text}"
        );
    }
    // It is explained unasked, though the rate looks better than base's.
    let made = made(&missed());
    let all = explain_text(&made.run, &ExplainOptions::default()).unwrap();
    assert!(all.contains("qr1000: off") || all.contains("qr1000: postgres"), "{all}");
}

#[test]
fn explanations_come_in_the_order_of_steps_and_speak_of_rows_and_queries() {
    let made = made(&InsertSpec { passes: 3, ..missed() });
    let text = explain_text(&made.run, &ExplainOptions::default()).unwrap();
    let place =
        |step: &str| text.find(&format!("\n{step}: ")).unwrap_or_else(|| panic!("no {step} in {text}"));
    assert!(["l.i1", "l.i2", "qp100", "qr1000"].map(place).is_sorted(), "{text}");
    assert!(text.contains("per row") && text.contains("per query"), "{text}");
}
