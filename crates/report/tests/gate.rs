//! The gate against made-up folders whose truth is known. `INSTA_UPDATE=always` accepts a change.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use insta::assert_snapshot;
use rqps_report::{Gate, GateRules, Outcome, gate};
use rqps_store::RunFolder;
use rqps_verdicts::testing::{Spec, write_run};

/// A run at the gate, and the run's name.
fn at_gate(spec: &Spec, rules: GateRules) -> rqps_report::Result<Gate> {
    let results = tempfile::tempdir().unwrap();
    let run = RunFolder::open(&write_run(results.path(), spec).unwrap()).unwrap();
    let name = run.folder.name();
    let gate = gate(&run, rules)?;
    let [markdown, junit, json] =
        [gate.markdown, gate.junit, gate.json].map(|text| text.replace(&name, "RUN"));
    Ok(Gate { outcome: gate.outcome, markdown, junit, json })
}

/// Slower in one test, dearer in another, better in a third; a fourth was measured too seldom.
fn mixed() -> Spec {
    Spec { arms: vec![("base", "17.7"), ("control", "17.7"), ("head", "18.1")], ..Spec::mixed() }
}

#[test]
fn a_regression_closes_the_gate_in_every_output() {
    let gate = at_gate(&mixed(), GateRules::default()).unwrap();
    assert_eq!(gate.outcome, Outcome::Regressed);
    assert_snapshot!("gate_markdown", gate.markdown);
    assert_snapshot!("gate_junit", gate.junit);
    assert_snapshot!("gate_json", gate.json);
}

#[test]
fn the_junit_file_is_well_formed() {
    let gate = at_gate(&mixed(), GateRules::default()).unwrap();
    let mut reader = quick_xml::Reader::from_str(&gate.junit);
    reader.config_mut().check_end_names = true;
    let mut cases = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Eof => break,
            quick_xml::events::Event::Start(tag) if tag.name().as_ref() == "testcase" => cases += 1,
            _ => {}
        }
    }
    assert_eq!(cases, 12, "six tests, a verdict of each detector");
}

#[test]
fn what_closes_the_gate_is_for_the_user_to_say() {
    let outcome = |spec: &Spec, rules| at_gate(spec, rules).unwrap().outcome;
    let all = GateRules::default();
    let dearer = Spec { effects: vec![(2, "insert", 1.0, 1.02)], ..Spec::default() };
    assert_eq!(outcome(&dearer, all), Outcome::Regressed);
    assert_eq!(outcome(&dearer, GateRules { cost: false, ..all }), Outcome::Passed);
    let strict = GateRules { inconclusive: true, ..all };
    assert_eq!(outcome(&Spec::default(), strict), Outcome::Passed, "all are the same");
    let noisy = Spec { block_sd: 0.03, ..Spec::default() };
    assert_eq!(outcome(&noisy, all), Outcome::Passed);
    assert_eq!(outcome(&noisy, strict), Outcome::Undecided);
    assert_eq!(outcome(&noisy, GateRules { rate: false, ..strict }), Outcome::Passed);
}

#[test]
fn a_change_of_the_control_closes_no_gate() {
    let spec = Spec { effects: vec![(1, "insert", 0.9, 1.05)], ..Spec::default() };
    let gate = at_gate(&spec, GateRules::default()).unwrap();
    assert_eq!(gate.outcome, Outcome::Passed);
    assert!(gate.markdown.contains("ALARM"), "{}", gate.markdown);
}

#[test]
fn what_nobody_looked_at_does_not_pass() {
    let refused = |spec: &Spec| at_gate(spec, GateRules::default()).unwrap_err().to_string();
    let text = refused(&Spec { blocks: 2, ..Spec::default() });
    assert!(text.contains("has 2 blocks that count, too few") && text.contains("--more"), "{text}");
    let text = refused(&Spec { blocks: 0, ..Spec::default() });
    assert!(text.contains("has no blocks"), "{text}");
}
