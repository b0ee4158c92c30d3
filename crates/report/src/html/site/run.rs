//! A run's page in a site, lighter than its report: without the details of each test. And what the other pages tell of
//! the run.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rqps_charts::RatioPoint;
use rqps_stats::{Detector, Verdict};
use rqps_store::{Arm, Run, Status};
use rqps_verdicts::version_key;

use super::super::marks::Mark;
use super::super::shell::Frame;
use super::super::{Page, consecutive, method, overview, ratios, summary, versions};
use super::date::Date;
use super::{FRAME_BYTES, PAGE_BYTES_MAX};
use crate::comparable::workload_settings;
use crate::comparison::{ComparedArm, TestStep};
use crate::error::Result;
use crate::number;
use crate::reading::Reading;
use crate::tables::{answer, arrivals, doubts, headline as rates_headline};
use crate::verdict_lines::{Judged, changed};
use crate::words;

/// What the pages of a site tell of a run.
#[derive(Debug, Clone)]
pub struct SiteRun {
    /// Name of its page.
    pub(super) stem: String,
    pub(super) name: String,
    /// Its name without time: of all runs with one label, the newest has a badge.
    pub(super) label: String,
    pub(super) created_at_ms: i64,
    pub(super) date: Date,
    /// When its results were last added to.
    pub(super) updated_at_ms: i64,
    /// Why its results are not final: `running`, `interrupted`, `failed`. None if it is complete.
    pub(super) unfinished: Option<&'static str>,
    /// What should be checked before its figures are used.
    pub(super) check_first: Option<String>,
    pub(super) workload_title: String,
    /// What was compared with what.
    pub(super) title: String,
    /// `postgres 18.1`, each once.
    pub(super) versions: Vec<String>,
    /// What was found on each arm.
    pub(super) sentences: Vec<String>,
    /// The rates of the arm with the most changes, of several the last, in a sentence; its costs where nobody judges
    /// rates. None: there is only one arm, or nothing was measured on two.
    pub(super) headline: Option<String>,
    /// What `counts` are of: rates, or costs where nobody judges rates.
    pub(super) counted: Detector,
    /// How many have each verdict; empty without verdicts.
    pub(super) counts: Vec<(Mark, usize)>,
    /// Changes with their figures, the worst first.
    pub(super) changes: Vec<String>,
    pub(super) tests: Vec<TestOfRun>,
}

/// A test's results in a run.
#[derive(Debug, Clone)]
pub(super) struct TestOfRun {
    pub name: String,
    /// What it ran with, as far as is known.
    pub settings: BTreeMap<String, String>,
    /// One for each candidate, or of the only arm.
    pub results: Vec<ArmResult>,
    /// Where a change of this test came, in words.
    pub arrivals: Vec<String>,
}

/// An arm's result against base.
#[derive(Debug, Clone)]
pub(super) struct ArmResult {
    pub arm: ArmOfResult,
    /// None in a run of one arm.
    pub base: Option<ArmOfResult>,
    /// The arm's own rate with its unit: `12345 queries`.
    pub per_second: Option<String>,
    /// Its rate relative to base's.
    pub rate: Option<RatioPoint>,
    /// None without verdicts.
    pub judged: Option<JudgedResult>,
    /// Whether its figures, or those of base, are to be checked first.
    pub is_doubtful: bool,
}

impl ArmResult {
    /// Whether it has a rate or a cost relative to base's.
    pub(super) fn is_compared(&self) -> bool {
        self.rate.is_some() || self.judged.as_ref().is_some_and(|judged| judged.cost.is_some())
    }
}

/// What an arm is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArmOfResult {
    pub name: String,
    pub dbms: String,
    pub version: String,
    pub config: String,
}

impl ArmOfResult {
    fn new(arm: &Arm) -> Self {
        Self {
            name: arm.name.clone(),
            dbms: words::dbms(&arm.dbms).to_string(),
            version: arm.build_version.clone(),
            config: arm.config_name.clone(),
        }
    }

    /// `PostgreSQL 18.1`; empty if nobody said.
    pub fn release(&self) -> String {
        format!("{} {}", self.dbms, self.version).trim().to_owned()
    }
}

/// An arm's verdicts on a test.
#[derive(Debug, Clone)]
pub(super) struct JudgedResult {
    pub rate: Option<Verdict>,
    pub cost: Option<Verdict>,
}

/// Returns a run's page, whose path is `runs/STEM.html`, and what the other pages need.
///
/// # Errors
/// If the run cannot be read or judged.
pub fn site_run(run: &Run, stem: &str) -> Result<(super::SiteFile, SiteRun)> {
    let readings = [Reading::new(run)];
    let page = Page { in_site: true, ..Page::new(run, &readings)? };
    let content = run_page(&page)?;
    let file = super::SiteFile { path: format!("runs/{stem}.html"), content };
    Ok((file, facts(&page, stem)?))
}

/// Parts of the page, the most important first.
fn run_page(page: &Page<'_>) -> Result<String> {
    let steps = consecutive::section(page)?.unwrap_or_default();
    let across = versions::section(page)?.unwrap_or_default();
    let is_compared = !page.candidates().is_empty();
    let ratios = if is_compared { ratios::section(page) } else { Markup::default() };
    let parts = [
        ("summary", "Summary", summary::section(page)?),
        ("verdicts", page.verdicts_title(), overview::section(page)?),
        ("versions", "Versions", across),
        ("steps", "Steps", steps),
        ("ratios", "Ratios", ratios),
        ("method", "Method", method::section(page)?),
    ];
    let mut links = vec![("../index.html".to_owned(), "All runs")];
    let shown = parts.iter().filter(|(_, _, part)| !part.0.is_empty());
    links.extend(shown.map(|(id, title, _)| (format!("#{id}"), *title)));
    let main = fitting(&parts, PAGE_BYTES_MAX - FRAME_BYTES);
    let name = page.run.folder.name();
    let frame = Frame {
        title: format!("rqps: {name}"),
        program_version: &page.run.meta.program_version,
        links,
        feed: Some("../feed.xml"),
        footer: html! {
            p {
                "Run folder " code { (name) } ", written by rqps " (page.run.meta.program_version) ". Series over time, \
                latencies, " (page.run.terms().of_tests) " and causes of each test are in its full report: "
                code { "rqps report " (name) " --html" } "."
            }
        },
    };
    Ok(frame.page(&html! { @for part in main { (part) } }))
}

/// The parts, each if there is room for it after those before it, or else a sentence in its place.
fn fitting(parts: &[(&str, &str, Markup)], bytes_max: usize) -> Vec<Markup> {
    let mut left = bytes_max;
    let fits = |(id, title, part): &(&str, &str, Markup)| match left.checked_sub(part.0.len()) {
        Some(rest) => {
            left = rest;
            part.clone()
        }
        None => html! {
            section id=(id) { h2 { (title) } p { "Too large for this page; the run's full report has it." } }
        },
    };
    parts.iter().map(fits).collect()
}

fn facts(page: &Page<'_>, stem: &str) -> Result<SiteRun> {
    let run = page.run;
    let mut versions: Vec<String> = Vec::new();
    for arm in &run.arms {
        let version = ArmOfResult::new(arm).release();
        if !version.is_empty() && !versions.contains(&version) {
            versions.push(version);
        }
    }
    let mut sentences = Vec::new();
    let mut changes = Vec::new();
    let mut headline: Option<(usize, String)> = None;
    let mut counts = Mark::ALL.map(|mark| (mark, 0));
    let counted = if page.comparison.leaves_out_rates()? { Detector::Cost } else { Detector::Rate };
    if let Some(judged) = &page.judged {
        let base = judged.label(&page.comparison, judged.base);
        for arm in judged.measured() {
            let label = judged.label(&page.comparison, arm);
            let lines = judged.lines(arm, |_| true);
            sentences.push(answer::text(judged, arm, (&label, &base), &lines));
            let of_lines = || lines.iter().filter_map(|line| line.of(counted));
            for verdict in of_lines() {
                let mark = Mark::from(verdict);
                counts.iter_mut().filter(|(one, _)| *one == mark).for_each(|(_, count)| *count += 1);
            }
            let changed_here = of_lines().filter(|verdict| verdict.class.is_change()).count();
            if headline.as_ref().is_none_or(|(most, _)| changed_here >= *most) {
                headline =
                    Some((changed_here, answer::of_one(counted, (judged, arm), (&label, &base), &lines)));
            }
            changes.extend(
                changed(&lines).iter().map(|(_, line)| format!("{label}: {}", line.sentence(judged))),
            );
        }
    } else {
        let pairs = page.comparison.pairs();
        sentences.extend(pairs.map(|pair| rates_headline::sentence(&page.comparison, &pair, &page.steps)));
        headline = sentences.last().map(|last| (0, last.clone()));
    }
    let tests = tests(page)?;
    let are_unpaired = page
        .judged
        .as_ref()
        .is_some_and(|judged| judged.measured().any(|arm| !judged.unpaired(arm).is_empty()));
    let has_results = are_unpaired || tests.iter().flat_map(|test| &test.results).any(ArmResult::is_compared);
    Ok(SiteRun {
        stem: stem.to_owned(),
        name: run.folder.name(),
        label: run.folder.label(),
        created_at_ms: run.meta.created_at_ms,
        date: Date::of(run)?,
        updated_at_ms: run.status.changed_at_ms.max(run.meta.created_at_ms),
        unfinished: unfinished(run),
        check_first: doubts::sentence(run),
        workload_title: run.meta.workload_title.clone(),
        title: summary::title(page),
        versions,
        sentences,
        headline: headline.filter(|_| has_results).map(|(_, text)| text),
        counted,
        counts: if counts.iter().any(|(_, count)| *count > 0) { counts.to_vec() } else { Vec::new() },
        changes,
        tests,
    })
}

fn unfinished(run: &Run) -> Option<&'static str> {
    match run.state() {
        Status::Complete => None,
        Status::Running => Some("running"),
        Status::Interrupted => Some("interrupted"),
        Status::Failed => Some("failed"),
    }
}

fn tests(page: &Page<'_>) -> Result<Vec<TestOfRun>> {
    let judged = page.judged.as_deref();
    let rows = judged.map_or(Ok(&[][..]), Judged::versions)?;
    let arrivals = |test: &str| {
        let mut found = Vec::new();
        for (judged, row) in rows.iter().flat_map(|row| judged.map(|judged| (judged, row))) {
            for arrival in row.arrivals.iter().filter(|arrival| arrival.tests.iter().any(|one| one == test)) {
                let own = rqps_stats::series::Arrival { tests: vec![test.to_owned()], ..arrival.clone() };
                let is_likely = |metric| arrivals::is_likely(judged, row, &own, metric);
                let moved = arrivals::moved(&row.steps, &own, is_likely);
                found.push(format!("{}: {moved}", row.span(page.run, &own)));
            }
        }
        found
    };
    let mut arms = page.candidates();
    if arms.is_empty() {
        arms.push(page.comparison.base_in(page.run));
    }
    let with_rates = !page.comparison.leaves_out_rates()?;
    let of_step = |step: &TestStep| TestOfRun {
        name: step.name.clone(),
        settings: workload_settings(page.run, &step.name),
        results: arms.iter().map(|arm| result(page, step, *arm, with_rates)).collect(),
        arrivals: arrivals(&step.name),
    };
    let mut tests: Vec<TestOfRun> = page.steps.iter().map(of_step).collect();
    // Of two versions, a change arrived in the newer one.
    for test in tests.iter_mut().filter(|_| rows.is_empty()) {
        test.arrivals = test.results.iter().filter_map(arrival_between).collect();
    }
    Ok(tests)
}

/// `16.4: rate 0.85, instructions 1.03 of that of 16.3`: changes between two versions of one config.
fn arrival_between(result: &ArmResult) -> Option<String> {
    let (arm, base) = (&result.arm, result.base.as_ref()?);
    let judged = result.judged.as_ref()?;
    let verdicts = [&judged.rate, &judged.cost].into_iter().flatten();
    let changed: Vec<&Verdict> = verdicts.filter(|verdict| verdict.class.is_change()).collect();
    let is_alike = (&arm.dbms, &arm.config) == (&base.dbms, &base.config);
    let is_known = !arm.version.is_empty() && !base.version.is_empty() && arm.version != base.version;
    let is_newer = version_key(&arm.version) > version_key(&base.version);
    let (newer, older) = if is_newer { (arm, base) } else { (base, arm) };
    let moved: Vec<String> = changed
        .iter()
        .map(|verdict| {
            let ratio = if is_newer { verdict.ratio } else { 1.0 / verdict.ratio };
            // Costs change by less.
            let decimals = if verdict.detector == Detector::Rate { 2 } else { 3 };
            format!("{} {ratio:.decimals$}", verdict.metric.measure().label)
        })
        .collect();
    (is_alike && is_known && !moved.is_empty())
        .then(|| format!("{}: {} of that of {}", newer.version, moved.join(", "), older.version))
}

fn result(page: &Page<'_>, step: &TestStep, index: usize, with_rates: bool) -> ArmResult {
    let (arm, base) = (&page.run.arms[index], page.comparison.base.arm);
    let is_base = page.is_base(index);
    let verdict = |detector| page.judged.as_ref()?.verdicts.verdict(&step.name, index, detector).cloned();
    let compared = page.comparison.find(arm);
    let per_second = |one: &ComparedArm<'_>| {
        let unit = &one.window(&step.name).ok()?.result.unit.many;
        Some(format!("{} {unit}", number::rate(one.rate(&step.name)?)))
    };
    ArmResult {
        arm: ArmOfResult::new(arm),
        base: (!is_base).then(|| ArmOfResult::new(base)),
        per_second: compared.filter(|_| with_rates).and_then(per_second),
        rate: if is_base { None } else { ratios::point(page, index, step, Detector::Rate) },
        judged: page
            .judged
            .is_some()
            .then(|| JudgedResult { rate: verdict(Detector::Rate), cost: verdict(Detector::Cost) }),
        is_doubtful: [arm, base].iter().any(|arm| !doubts::on(page.run, &step.name, &arm.name).is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_replaced_and_its_link_still_works() {
        let part = |length: usize| html! { (String::from("x").repeat(length)) };
        let parts = [("a", "A", part(500)), ("b", "B", part(600)), ("c", "C", part(400))];
        let fitted = fitting(&parts, 1000);
        assert_eq!([fitted[0].0.len(), fitted[2].0.len()], [500, 400]);
        assert!(fitted[1].0.contains("id=\"b\"") && fitted[1].0.contains("Too large"), "{}", fitted[1].0);
    }
}
