//! The gate as JUnit XML: one suite per candidate and detector, one case per test. The format is described in
//! <https://github.com/testmoapp/junitxml>.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesText, Event};
use rqps_stats::{Class, Detector};
use rqps_store::{InvalidInPart, NoResult, Run, Status};
use rqps_verdicts::MissedBy;

use crate::error::{Error, Result};
use crate::gate::{ArmAtGate, GateRules};
use crate::verdict_lines::{Judged, Line};
use crate::words;

struct Case<'a> {
    test: &'a str,
    message: String,
    fails: bool,
    /// Whether the verdict is inconclusive or a change that may be chance.
    open: bool,
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
    unmeasured: &[Detector],
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
    }
    if !unmeasured.is_empty() {
        let case = |detector: &Detector| Case {
            test: detector.key(),
            message: "the run has no figures of it".to_owned(),
            fails: rules.inconclusive,
            open: true,
        };
        let cases = unmeasured.iter().map(case).collect();
        suites.push(Suite { name: "without figures".to_owned(), cases, ..Suite::default() });
    }
    of_suites(judged.run, suites)
}

/// The same of a run that has no verdicts.
pub(super) fn without_verdicts(run: &Run) -> Result<String> {
    of_suites(run, Vec::new())
}

/// The same of a run that ended before there was anything to judge: one failed case.
pub(super) fn failed(run: &Run, why: &str) -> Result<String> {
    of_suites(run, vec![of_run(why.to_owned())])
}

fn of_run<'a>(message: String) -> Suite<'a> {
    let case = Case { test: "run", message, fails: true, open: false };
    Suite { name: "run".to_owned(), cases: vec![case], ..Suite::default() }
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
            fails: true,
            open: false,
        };
        let cases = without_result.iter().map(case).collect();
        suites.push(Suite { name: "no valid result".to_owned(), cases, ..Suite::default() });
    }
    let in_part = run.invalid_in_part();
    if !in_part.is_empty() {
        let case = |one: &InvalidInPart<'a>| Case {
            test: one.step,
            message: format!("on {}, {}", one.arm, one.text()),
            fails: true,
            open: false,
        };
        let cases = in_part.iter().map(case).collect();
        suites.push(Suite { name: "invalid in part".to_owned(), cases, ..Suite::default() });
    }
    // Whoever reads no failure would take it for a pass.
    if suites.is_empty() && run.status.status != Status::Complete {
        let message = "the run ended before there was anything to judge".to_owned();
        suites.push(of_run(message));
    }
    let cases = || suites.iter().flat_map(|suite| &suite.cases);
    writer
        .create_element("testsuites")
        .with_attributes([
            ("name", run.folder.name().as_str()),
            ("tests", cases().count().to_string().as_str()),
            ("failures", cases().filter(|case| case.fails).count().to_string().as_str()),
        ])
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
        let fails = rules.fails_on_missed(missed);
        let open = missed.by == MissedBy::Unclear;
        return Some(Case { test: line.test, message: missed.text.clone(), fails, open });
    }
    let verdict = line.all().find(|verdict| verdict.detector == detector)?;
    let may_be_chance = verdict.class.is_change() && !verdict.significant;
    Some(Case {
        test: line.test,
        message: match words::signed_change(verdict).filter(|_| verdict.class == Class::Same) {
            Some(change) => format!("{change}: {}", line.part(verdict, judged)),
            None => line.part(verdict, judged),
        },
        fails: rules.fails_on(verdict),
        open: verdict.class == Class::Inconclusive || may_be_chance,
    })
}

fn suite(
    writer: &mut Writer<Vec<u8>>,
    Suite { name, warnings, builds, cases }: &Suite<'_>,
) -> io::Result<()> {
    let count = |is: fn(&Case<'_>) -> bool| cases.iter().filter(|case| is(case)).count().to_string();
    writer
        .create_element("testsuite")
        .with_attributes([
            ("name", name.as_str()),
            ("tests", cases.len().to_string().as_str()),
            ("failures", count(|case| case.fails).as_str()),
            ("skipped", count(is_skipped).as_str()),
        ])
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

/// An open case that does not fail the gate has neither passed nor failed.
fn is_skipped(case: &Case<'_>) -> bool {
    case.open && !case.fails
}

fn write_message(writer: &mut Writer<Vec<u8>>, case: &Case<'_>) -> io::Result<()> {
    let message = [("message", case.message.as_str())];
    if case.fails {
        writer.create_element("failure").with_attributes(message).write_empty()?;
    } else if is_skipped(case) {
        writer.create_element("skipped").with_attributes(message).write_empty()?;
    } else {
        writer.create_element("system-out").write_text_content(BytesText::new(&case.message))?;
    }
    Ok(())
}
