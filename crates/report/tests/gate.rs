//! The gate on synthetic runs with known effects. `INSTA_UPDATE=always` accepts a change.
#![allow(clippy::unwrap_used)] // helpers of tests are not `#[test]` functions

use insta::assert_snapshot;
use rqps_model::{HostFigure, HostQuantity};
use rqps_report::{Gate, GateRules, Options, Outcome, Screen, Section, gate, show};
use rqps_stats::Detector;
use rqps_store::{Run, RunFolder, Status};
use rqps_verdicts::testing::{Extra, Observed, Spec, write_run};

/// The gate of a run, with the run's name replaced.
fn at_gate(spec: &Spec, rules: GateRules) -> rqps_report::Result<Gate> {
    let results = tempfile::tempdir().unwrap();
    let run = RunFolder::open(&write_run(results.path(), spec).unwrap()).unwrap();
    let name = run.folder.name();
    let mut gate = gate(&run, &rules)?;
    for text in [&mut gate.markdown, &mut gate.junit, &mut gate.json] {
        *text = text.replace(&name, "RUN");
    }
    Ok(gate)
}

/// Slower in one test, more expensive in another, better in a third; a fourth has too few blocks.
fn mixed() -> Spec {
    Spec { arms: vec![("base", "17.7"), ("control", "17.7"), ("head", "18.1")], ..Spec::mixed() }
}

#[test]
fn what_ended_a_run_is_its_state_and_a_running_one_needs_no_resume() {
    let results = tempfile::tempdir().unwrap();
    let few = Spec { blocks: 2, ..Spec::default() };
    let mut run = RunFolder::open(&write_run(results.path(), &few).unwrap()).unwrap();
    let shown = |run: &Run| show(run, &Options::default()).unwrap();
    run.status.reason = Some("budget used up after 2 of at most 18 blocks".to_owned());
    let ended = shown(&run);
    assert!(ended.contains("(ended: budget used up after 2 of at most 18 blocks)"), "{ended}");
    assert!(ended.contains("would give the first verdicts: rqps resume"), "{ended}");
    run.status.status = Status::Running;
    let _writer = RunFolder::open_for_writing(run.folder.path()).unwrap();
    let running = shown(&run);
    assert!(running.contains("(running)") && running.contains("While the run goes on"), "{running}");
    assert!(!running.contains("rqps resume"), "{running}");
}

#[test]
fn a_host_that_is_not_quiet_is_told_of_once_whatever_the_arms() {
    let results = tempfile::tempdir().unwrap();
    let arms = vec![("base", "16.11"), ("control", "16.11"), ("a", "17.7"), ("b", "18.1")];
    let noisy = Spec { arms, block_sd: 1.0, counted: false, blocks: 3, ..Spec::default() };
    let mut run = RunFolder::open(&write_run(results.path(), &noisy).unwrap()).unwrap();
    let others = HostFigure { quantity: HostQuantity::OtherPrograms, value: 60.0, low: 60.0, high: 60.0 };
    let steal = HostFigure { quantity: HostQuantity::Steal, value: 0.0, low: 0.0, high: 0.0 };
    run.certificates.before = vec![others, steal];
    let told = |text: &str| text.matches("not quiet: other programs").count();
    let by_section =
        |sections: Vec<Section>| show(&run, &Options { sections, ..Options::default() }).unwrap();
    let both = by_section(vec![Section::Verdicts, Section::Remarks]);
    assert_eq!(told(&both), 1, "{both}");
    let gate = gate(&run, &GateRules::default()).unwrap();
    assert_eq!(told(&gate.markdown), 1, "{}", gate.markdown);
    // Without verdicts to explain, it is remarked.
    let clear = Spec { arms: noisy.arms, ..Spec::mixed() };
    let mut clear = RunFolder::open(&write_run(results.path(), &clear).unwrap()).unwrap();
    clear.certificates.before = run.certificates.before.clone();
    assert_eq!(told(&show(&clear, &Options::default()).unwrap()), 1);
}

#[test]
fn regressions_fail_the_gate_in_every_output() {
    let gate = at_gate(&mixed(), GateRules::default()).unwrap();
    assert_eq!(gate.outcome, Outcome::Regressed);
    assert_snapshot!("gate_markdown", gate.markdown);
    // At a terminal it is text that fits.
    let text = gate.text(Screen { width: Some(80), ..Screen::default() }).unwrap();
    assert!(
        text.starts_with(gate.heading())
            && gate
                .heading()
                .starts_with("rqps gate: FAILED: regression of rate in 1, of cost in 2 of 6 tests"),
        "{text}"
    );
    assert!(!text.contains("<details>") && !text.contains("| --- |"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_snapshot!("gate_junit", gate.junit);
    assert_snapshot!("gate_json", gate.json);
}

#[test]
fn a_gate_shows_what_it_judges() {
    let effects = vec![(2, "insert", 0.99, 1.03), (2, "point-query", 1.0, 0.97)];
    let cpu = |arm| Extra { arm, test: "insert", what: Observed::Metric("server_cpu_us"), per_query: 100.0 };
    let spec = Spec { effects, extra: [0, 1, 2].map(cpu).to_vec(), ..Spec::default() };
    let rules = GateRules { fail_on: vec![Detector::Cost, Detector::Cpu], ..GateRules::default() };
    let Gate { markdown, junit, json, .. } = at_gate(&spec, rules).unwrap();
    let heading = markdown.lines().next().unwrap();
    assert!(!heading.contains("inconclusive"), "all that it asks for is decided: {heading}");
    assert!(markdown.contains("fails on regressions of cost or CPU time; all of these"), "{markdown}");
    assert!(markdown.contains("of no consequence here: rate, "), "{markdown}");
    assert!(markdown.contains("| CPU time | ratio |") && !markdown.contains("rQPS"), "{markdown}");
    assert!(junit.contains("new.cpu") && !junit.contains("new.rate"), "{junit}");
    assert!(json.contains("CPU time") && !json.contains("time per operation"), "{json}");
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
    assert_eq!(cases, 32, "six tests with five verdicts each, and two verdicts on WAL");
}

#[test]
fn rules_decide_what_fails_the_gate() {
    let outcome = |spec: &Spec, rules| at_gate(spec, rules).unwrap().outcome;
    let all = GateRules::default;
    let higher_cost = Spec { effects: vec![(2, "insert", 1.0, 1.02)], ..Spec::default() };
    assert_eq!(outcome(&higher_cost, all()), Outcome::Regressed);
    assert_eq!(outcome(&higher_cost, GateRules { fail_on: vec![Detector::Rate], ..all() }), Outcome::Passed);
    let strict = || GateRules { inconclusive: true, ..all() };
    assert_eq!(outcome(&Spec::default(), strict()), Outcome::Passed, "all are the same");
    let noisy = Spec { block_sd: 0.03, ..Spec::default() };
    assert_eq!(outcome(&noisy, all()), Outcome::Passed);
    let text = at_gate(&noisy, all()).unwrap().markdown;
    let heading = text.lines().next().unwrap();
    // Rates and costs are never counted together.
    assert!(
        heading.contains("passed; decided: rate in ") && heading.contains(" tests, cost in 6 of 6"),
        "{heading}"
    );
    assert!(text.contains("passes, unless `--inconclusive-is-failure` is given."), "{text}");
    assert_eq!(outcome(&noisy, strict()), Outcome::Undecided);
    assert_eq!(outcome(&noisy, GateRules { fail_on: vec![Detector::Cost], ..strict() }), Outcome::Passed);
}

/// Effects on `update-index` in the newer server, as ratios of rate, instructions, WAL and blocks touched.
fn update_index(rate: f64, instructions: f64, wal: f64, blocks: f64) -> Spec {
    let extra =
        |name, per_query| Extra { arm: 2, test: "update-index", what: Observed::Metric(name), per_query };
    Spec {
        effects: vec![(2, "update-index", rate, instructions)],
        extra: vec![extra("server_wal_bytes", 540.0 * wal), extra("server_blocks_touched", 4.0 * blocks)],
        ..Spec::default()
    }
}

/// 12 % fewer instructions, 78 % less WAL and 9.7 % more blocks touched are not a regression of the cost, but
/// of blocks if `fail_on` names them.
#[test]
fn resources_fail_the_gate_only_if_named() {
    let only = |on: &[Detector]| GateRules { fail_on: on.to_vec(), ..GateRules::default() };
    let better = update_index(1.52, 0.88, 0.22, 1.097);
    let gate = at_gate(&better, GateRules::default()).unwrap();
    assert_eq!(gate.outcome, Outcome::Passed, "{}", gate.markdown);
    assert!(
        gate.markdown.contains("improvement in cost") || gate.markdown.contains("improvement update-index")
    );
    assert!(gate.markdown.contains("touches 9.70 % more blocks") && !gate.markdown.contains("REGRESSION"));
    assert_eq!(at_gate(&better, only(&[Detector::Blocks])).unwrap().outcome, Outcome::Regressed);
    assert_eq!(at_gate(&better, only(&[Detector::Wal])).unwrap().outcome, Outcome::Passed);
    // More WAL with the same instructions is not a regression of the cost.
    let more_wal = update_index(1.0, 1.0, 1.5, 1.0);
    assert_eq!(at_gate(&more_wal, GateRules::default()).unwrap().outcome, Outcome::Passed);
    assert_eq!(at_gate(&more_wal, only(&[Detector::Wal])).unwrap().outcome, Outcome::Regressed);
}

/// More instructions with less WAL are mixed, which fails the gate only on request.
#[test]
fn mixed_changes_fail_the_gate_only_on_request() {
    let mixed = update_index(1.0, 1.03, 0.5, 1.0);
    let gate = at_gate(&mixed, GateRules::default()).unwrap();
    assert_eq!(gate.outcome, Outcome::Passed, "{}", gate.markdown);
    assert!(gate.markdown.contains("MIXED update-index") && !gate.markdown.contains("REGRESSION"));
    let rules = GateRules { mixed: true, ..GateRules::default() };
    assert_eq!(at_gate(&mixed, rules).unwrap().outcome, Outcome::Regressed);
    let fewer_blocks = update_index(1.0, 1.03, 1.0, 0.5);
    let gate = at_gate(&fewer_blocks, GateRules::default()).unwrap();
    assert_eq!(gate.outcome, Outcome::Regressed, "fewer blocks touched do not make a change mixed");
}

#[test]
fn changes_of_the_control_do_not_fail_the_gate() {
    let spec = Spec { effects: vec![(1, "insert", 0.9, 1.05)], ..Spec::default() };
    let gate = at_gate(&spec, GateRules::default()).unwrap();
    assert_eq!(gate.outcome, Outcome::Passed);
    assert!(gate.markdown.contains("ALARM"), "{}", gate.markdown);
}

/// An arm that was measured alone, as after a resume, has no block with base.
#[test]
fn an_arm_without_verdicts_does_not_pass() {
    let arms = vec![("base", "17.7"), ("same", "17.7"), ("head", "18.1")];
    let spec = Spec { arms, cut_arms: [(2, 2)].into(), ..Spec::default() };
    let gate = at_gate(&spec, GateRules::default()).unwrap();
    assert_eq!(gate.outcome, Outcome::Undecided, "{}", gate.markdown);
    assert!(gate.markdown.contains("There is no verdict on head: too few"), "{}", gate.markdown);
}

#[test]
fn runs_without_verdicts_do_not_pass() {
    let undecided = at_gate(&Spec { blocks: 2, ..Spec::default() }, GateRules::default()).unwrap();
    let text = &undecided.markdown;
    assert_eq!(undecided.outcome, Outcome::Undecided);
    assert!(text.contains("too few valid blocks for any verdict (2; it takes 3)."), "{text}");
    assert!(
        undecided.junit.contains("<error message=\"undecided, which is no pass. The run has"),
        "{}",
        undecided.junit
    );
    assert!(
        text.contains("About 4 min more (1 block) would give the first verdicts: rqps resume "),
        "{text}"
    );
    assert_eq!(text.matches(" --more ").count(), 1, "one figure: {text}");
    // What was not measured is not judged, unless it is in the default list alone.
    let rules = |fail_on: &[Detector]| GateRules { fail_on: fail_on.to_vec(), ..GateRules::default() };
    let without = at_gate(&Spec::default(), rules(&[Detector::Rate, Detector::Fsyncs])).unwrap();
    assert_eq!(without.outcome, Outcome::Undecided);
    assert!(without.markdown.contains("no figures of fsyncs,"), "{}", without.markdown);
    assert!(without.junit.contains("<error message"), "{}", without.junit);
    assert!(without.junit.contains("<skipped message=\"the run has no figures of it\""), "{}", without.junit);
    let noisy = Spec { block_sd: 0.05, ..Spec::default() };
    let text = at_gate(&noisy, rules(&[Detector::Fsyncs])).unwrap().markdown;
    assert!(text.contains("no figures of fsyncs,") && !text.contains("too few"), "{text}");
    let none = at_gate(&Spec { blocks: 0, ..Spec::default() }, GateRules::default());
    let text = none.unwrap_err().to_string();
    assert!(text.contains("has no complete block") && text.contains("rqps resume"), "{text}");
}
