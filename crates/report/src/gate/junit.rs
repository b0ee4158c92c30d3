//! The gate as JUnit XML: one suite per candidate and detector, one case per test. The format is described in
//! <https://github.com/testmoapp/junitxml>.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesText, Event};
use rqps_model::Role::Test;
use rqps_stats::{Class, Detector};
use rqps_store::{InvalidInPart, NoResult, PlannedStep, Role, Run};
use rqps_verdicts::MissedBy;

use crate::error::{Error, Result};
use crate::gate::{ArmAtGate, Found, GateRules, Outcome, summary};
use crate::verdict_lines::{Judged, Line};
use crate::words;

struct Case<'a> {
    test: &'a str,
    message: String,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Passed,
    Failed,
    /// The gate as a whole does not pass, whatever its verdicts.
    Error,
    /// No verdict, or an inconclusive one.
    Skipped,
}

impl State {
    fn of(fails: bool, is_open: bool) -> Self {
        match (fails, is_open) {
            (true, _) => Self::Failed,
            (false, true) => Self::Skipped,
            (false, false) => Self::Passed,
        }
    }
}

/// An arm's verdicts by one detector.
#[derive(Default)]
struct Suite<'a> {
    name: String,
    /// Warnings that apply to every verdict.
    warnings: &'a [String],
    /// Where the builds come from.
    builds: &'a [String],
    cases: Vec<Case<'a>>,
}

pub(super) fn xml(
    judged: &Judged<'_>,
    arms: &[ArmAtGate<'_>],
    rules: &GateRules,
    found: &Found<'_>,
) -> Result<String> {
    let mut suites: Vec<Suite<'_>> = Vec::new();
    for ArmAtGate { arm, lines, warnings, builds } in arms {
        for detector in Detector::ALL {
            let cases: Vec<Case<'_>> =
                lines.iter().filter_map(|line| case(judged, line, detector, rules)).collect();
            if !cases.is_empty() {
                let name = format!("{}.{}", judged.run.arms[*arm].name, detector.key());
                suites.push(Suite { name, warnings, builds, cases });
            }
        }
        suites.extend(unjudged(judged.run, *arm, lines));
    }
    if !found.unmeasured.is_empty() {
        let case = |detector: &Detector| Case {
            test: detector.key(),
            message: "the run has no figures of it".to_owned(),
            state: State::of(rules.inconclusive, true),
        };
        let cases = found.unmeasured.iter().map(case).collect();
        suites.push(Suite { name: "without figures".to_owned(), cases, ..Suite::default() });
    }
    let is_verdict = matches!(found.outcome, Outcome::Passed | Outcome::Regressed);
    if !is_verdict || found.cut_off.is_some() {
        let reasons = summary::reasons(judged, arms.is_empty(), found).join(" ");
        suites.push(of_run(format!("{}. {reasons}", summary::word(found.outcome)).trim_end().to_owned()));
    }
    of_suites(judged.run, suites)
}

/// The same of a run that has no verdicts: an error.
pub(super) fn without_verdicts(run: &Run, why: &str) -> Result<String> {
    let candidates = (0..run.arms.len()).filter(|arm| run.arms[*arm].role == Role::Candidate);
    let suites = candidates.filter_map(|arm| unjudged(run, arm, &[]));
    of_suites(run, suites.chain([of_run(why.to_owned())]).collect())
}

/// Whoever reads no failure would take it for a pass.
fn of_run<'a>(message: String) -> Suite<'a> {
    let case = Case { test: "run", message, state: State::Error };
    Suite { name: "run".to_owned(), cases: vec![case], ..Suite::default() }
}

/// The tests without a verdict on an arm; none if all have one.
fn unjudged<'a>(run: &'a Run, arm: usize, lines: &[Line<'_>]) -> Option<Suite<'a>> {
    let is_unjudged = |test: &str| lines.iter().all(|line| line.test != test);
    let tests = run.steps_once().filter(|step| step.role == Some(Test) && is_unjudged(&step.name));
    let case = |step: &'a PlannedStep| Case {
        test: &step.name,
        message: "no verdict: too few blocks, or passes, have a valid result".to_owned(),
        state: State::Skipped,
    };
    let cases: Vec<Case<'_>> = tests.map(case).collect();
    let name = format!("{}.no verdict", run.arms[arm].name);
    (!cases.is_empty()).then(|| Suite { name, cases, ..Suite::default() })
}

fn of_suites<'a>(run: &'a Run, suites: Vec<Suite<'a>>) -> Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut writer, run, suites).map_err(Error::output)?;
    Ok(String::from_utf8(writer.into_inner()).map_err(Error::output)? + "\n")
}

fn write<'a>(writer: &mut Writer<Vec<u8>>, run: &'a Run, mut suites: Vec<Suite<'a>>) -> io::Result<()> {
    writer.write_event(Event::Decl(quick_xml::events::BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let without_result = run.without_result();
    if !without_result.is_empty() {
        let case = |missing: &NoResult<'a>| Case {
            test: missing.step,
            message: format!("no valid result on {}: {}", missing.arm, missing.reason),
            state: State::Failed,
        };
        let cases = without_result.iter().map(case).collect();
        suites.push(Suite { name: "no valid result".to_owned(), cases, ..Suite::default() });
    }
    let in_part = run.invalid_in_part();
    if !in_part.is_empty() {
        let case = |one: &InvalidInPart<'a>| Case {
            test: one.step,
            message: format!("on {}, {}", one.arm, one.text()),
            state: State::Failed,
        };
        let cases = in_part.iter().map(case).collect();
        suites.push(Suite { name: "invalid in part".to_owned(), cases, ..Suite::default() });
    }
    let all: Vec<&Case<'_>> = suites.iter().flat_map(|suite| &suite.cases).collect();
    writer
        .create_element("testsuites")
        .with_attributes(counts(&run.folder.name(), &all).iter().map(|(key, value)| (*key, value.as_str())))
        .write_inner_content(|writer| suites.iter().try_for_each(|one| suite(writer, one)))?;
    Ok(())
}

fn case<'a>(
    judged: &Judged<'_>,
    line: &'a Line<'a>,
    detector: Detector,
    rules: &GateRules,
) -> Option<Case<'a>> {
    if let Some(missed) = line.missed.as_ref().filter(|_| detector == Detector::Rate) {
        let state = State::of(rules.fails_on_missed(missed), missed.by == MissedBy::Unclear);
        return Some(Case { test: line.test, message: missed.text.clone(), state });
    }
    let verdict = line.all().find(|verdict| verdict.detector == detector)?;
    Some(Case {
        test: line.test,
        message: match words::signed_change(verdict).filter(|_| verdict.class == Class::Same) {
            Some(change) => format!("{change}: {}", line.part(verdict, judged)),
            None => line.part(verdict, judged),
        },
        state: State::of(rules.fails_on(verdict), verdict.class == Class::Inconclusive),
    })
}

/// The attributes of a suite, or of all.
fn counts(name: &str, cases: &[&Case<'_>]) -> [(&'static str, String); 5] {
    let count = |state| cases.iter().filter(|case| case.state == state).count().to_string();
    [
        ("name", name.to_owned()),
        ("tests", cases.len().to_string()),
        ("failures", count(State::Failed)),
        ("errors", count(State::Error)),
        ("skipped", count(State::Skipped)),
    ]
}

fn suite(
    writer: &mut Writer<Vec<u8>>,
    Suite { name, warnings, builds, cases }: &Suite<'_>,
) -> io::Result<()> {
    let counts = counts(name, &cases.iter().collect::<Vec<_>>());
    writer
        .create_element("testsuite")
        .with_attributes(counts.iter().map(|(key, value)| (*key, value.as_str())))
        .write_inner_content(|writer| {
            let builds = builds.iter().map(|build| ("build", build));
            let all = warnings.iter().map(|warning| ("warning", warning)).chain(builds);
            properties(writer, &all.collect::<Vec<_>>())?;
            cases.iter().try_for_each(|case| {
                let element = writer.create_element("testcase");
                let element = element.with_attributes([("classname", name.as_str()), ("name", case.test)]);
                element.write_inner_content(|writer| write_message(writer, case)).map(|_| ())
            })
        })?;
    Ok(())
}

fn properties(writer: &mut Writer<Vec<u8>>, all: &[(&str, &String)]) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writer.create_element("properties").write_inner_content(|writer| {
        all.iter().try_for_each(|(name, value)| {
            let property = [("name", *name), ("value", value.as_str())];
            writer.create_element("property").with_attributes(property).write_empty().map(|_| ())
        })
    })?;
    Ok(())
}

fn write_message(writer: &mut Writer<Vec<u8>>, case: &Case<'_>) -> io::Result<()> {
    let element = match case.state {
        State::Passed => {
            writer.create_element("system-out").write_text_content(BytesText::new(&case.message))?;
            return Ok(());
        }
        State::Failed => "failure",
        State::Error => "error",
        State::Skipped => "skipped",
    };
    writer.create_element(element).with_attributes([("message", case.message.as_str())]).write_empty()?;
    Ok(())
}
