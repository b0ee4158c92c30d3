//! A test over all runs: its course over versions, where changes arrived, and every result.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rqps_charts::VersionChart;
use rqps_model::counted;
use rqps_stats::Verdict;

use super::super::marks::{figure as verdict_figure, interval};
use super::super::shell::Frame;
use super::super::{breakable, captions, versions_figure};
use super::course::{Charted, Found, VERSIONS_MIN, courses};
use super::joined::{Joined, joined};
use super::run::{ArmOfResult, ArmResult, SiteRun, TestOfRun};
use super::{FRAME_BYTES, PAGE_BYTES_MAX, SiteFile, SiteTest};
use crate::tables::verdicts::confidences_of;

/// Maximum arrivals listed.
const ARRIVALS_MAX: usize = 200;
/// Maximum size of the table.
const ROWS_BYTES_MAX: usize = PAGE_BYTES_MAX - FRAME_BYTES - 900_000;

pub(super) fn page(test: &SiteTest<'_>, runs: &[SiteRun]) -> SiteFile {
    let of_runs = || test.runs.iter().map(|(run, place)| (&runs[*run], &runs[*run].tests[*place]));
    let found: Vec<Found<'_>> =
        of_runs().flat_map(|(run, test)| test.results.iter().map(move |result| (run, result))).collect();
    let arrivals: Vec<(&SiteRun, &String)> =
        of_runs().flat_map(|(run, test)| test.arrivals.iter().map(move |arrival| (run, arrival))).collect();
    let all: Vec<OfRun<'_>> = of_runs().collect();
    let workloads = workloads(&all);
    let is_one = workloads.len() == 1;
    let is_doubtful =
        |run: &SiteRun| found.iter().any(|(other, result)| other.stem == run.stem && result.is_doubtful);
    let has_course = workloads.iter().any(|of| !of.courses.is_empty());
    let levels = levels(&found);
    let main = html! {
        section #course {
            h1 { (test.name) }
            p.about { (test.workload) ", " (counted(test.runs.len(), "run")) "." }
            h2 { "Over versions" }
            @if !is_one {
                p { "Runs of " (workloads.len()) " workloads, each with its own course: ratios of one say nothing of another." }
            }
            @if !has_course {
                p {
                    "A course takes " (VERSIONS_MIN) " versions that were measured against one base, or that runs with a \
                    version in common join. There are not as many; the table has every result."
                }
            }
            @if levels.is_some() && has_course {
                p.legend { (captions::whiskers("")) }
            }
            @for of in workloads.iter().filter(|of| !of.courses.is_empty()) {
                @if !is_one { h3 { (settings(&of.settings)) ", " (counted(of.runs, "run")) } }
                @for course in &of.courses {
                    @for one in &course.joined { (of_joined(one)) }
                    div.charts { @for chart in &course.charts { (versions_figure(chart)) } }
                }
            }
            h2 { "Where changes arrived" }
            @if arrivals.is_empty() {
                p { "No change was traced to a version: no run of two versions or more has a verdict of a change in rate or cost." }
            }
            ul {
                @for (run, arrival) in arrivals.iter().take(ARRIVALS_MAX) {
                    li { (arrival) " (" (link(run)) ", " (run.date.day()) (unfinished(run, is_doubtful(run))) ")" }
                }
            }
            @if arrivals.len() > ARRIVALS_MAX {
                p { "The newest " (ARRIVALS_MAX) " of " (arrivals.len()) "." }
            }
        }
        (results(&found, levels.as_deref()))
    };
    let links = [("../index.html", "All runs"), ("#course", "Over versions"), ("#results", "All results")];
    let frame = Frame {
        title: format!("{}, {}", test.name, test.workload),
        program_version: env!("CARGO_PKG_VERSION"),
        links: links.map(|(link, title)| (link.to_owned(), title)).to_vec(),
        feed: Some("../feed.xml"),
        footer: html! { p { "Written by rqps " (env!("CARGO_PKG_VERSION")) "." } },
    };
    SiteFile { path: test.path(), content: frame.page(&main) }
}

/// A run with its results of the test.
type OfRun<'a> = (&'a SiteRun, &'a TestOfRun);

/// Runs of one workload.
struct OfWorkload<'a> {
    settings: BTreeMap<String, String>,
    runs: usize,
    /// Of rates, then of costs; without those that have nothing to show.
    courses: Vec<Course<'a>>,
}

/// Charts of rates or of one cost.
struct Course<'a> {
    charts: Vec<VersionChart>,
    joined: Vec<Joined<'a>>,
}

/// Runs by what they ran with, newest first. What a run does not tell is no difference.
fn workloads<'a>(all: &[OfRun<'a>]) -> Vec<OfWorkload<'a>> {
    let mut groups: Vec<(BTreeMap<String, String>, Vec<OfRun<'a>>)> = Vec::new();
    for (run, test) in all {
        let fits = |known: &BTreeMap<String, String>| {
            test.settings.iter().all(|(name, value)| known.get(name).is_none_or(|known| known == value))
        };
        match groups.iter_mut().find(|(known, _)| fits(known)) {
            Some((known, members)) => {
                known.extend(test.settings.clone());
                members.push((run, test));
            }
            None => groups.push((test.settings.clone(), vec![(run, test)])),
        }
    }
    let of_group = |(number, (settings, members)): (usize, (BTreeMap<String, String>, Vec<OfRun<'a>>))| {
        let results = |(run, test): &OfRun<'a>| -> Vec<Found<'a>> {
            let (run, test) = (*run, *test);
            test.results.iter().map(|result| (run, result)).collect()
        };
        let found: Vec<Found<'a>> = members.iter().flat_map(results).collect();
        let course = |(place, charted): (usize, Charted)| {
            let mut charts = courses(&found, charted);
            let mut joined = joined(&found, &charts, charted);
            // Each chart of a page has a name of its own.
            for chart in charts.iter_mut().chain(joined.iter_mut().map(|one| &mut one.chart)) {
                chart.id = match (number, place) {
                    (0, 0) => chart.id.clone(),
                    _ => format!("{}-of-{number}-{place}", chart.id),
                };
            }
            (!charts.is_empty() || !joined.is_empty()).then_some(Course { charts, joined })
        };
        let courses = Charted::all(&found).into_iter().enumerate().filter_map(course).collect();
        OfWorkload { settings, runs: members.len(), courses }
    };
    groups.into_iter().enumerate().map(of_group).collect()
}

/// `clients 2, scale 1`
fn settings(settings: &BTreeMap<String, String>) -> String {
    let all: Vec<String> = settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    all.join(", ")
}

/// All runs in one chart, and how each version is joined to the others.
fn of_joined(joined: &Joined<'_>) -> Markup {
    let Joined { charted, chart, base, chained, .. } = joined;
    let (word, decimals) = (charted.word(), charted.decimals());
    let ratio = |ratio: f64| format!("{ratio:.decimals$}");
    html! {
        div.charts { (versions_figure(chart)) }
        @if *chained > 0 {
            p.legend {
                "No run has all these versions. " (chained) " of them " (if *chained == 1 { "was" } else { "were" }) " not measured against " (base) ", but against \
                a version that other runs compare with it: their ratios are products, with the errors of each run and \
                what changed from one run to the next, so there is no verdict on them."
            }
        }
        details {
            summary { "How versions are joined" }
            div.scroll tabindex="0" role="group" aria-label="How versions are joined" {
                table.names {
                    caption { (charted.title()) " relative to " (base) }
                    thead {
                        tr {
                            th scope="col" { "version" }
                            th.num scope="col" { (word) }
                            th scope="col" { "compared with" }
                            th.num scope="col" { "there" }
                            th scope="col" { "in run" }
                        }
                    }
                    tbody {
                        @for joint in &joined.joints {
                            tr {
                                th scope="row" { (joint.version) }
                                td.num { (ratio(joint.ratio)) }
                                td { (joint.against) }
                                td.num { (ratio(joint.there)) }
                                td {
                                    (link(joint.run))
                                    span.interval { (joint.run.date.day()) (unfinished(joint.run, joint.is_doubtful)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The confidence levels of all intervals.
fn levels(found: &[Found<'_>]) -> Option<String> {
    let verdicts = || {
        let judged = found.iter().filter_map(|(_, result)| result.judged.as_ref());
        judged.flat_map(|judged| [&judged.rate, &judged.cost].into_iter().flatten())
    };
    verdicts().any(|one| one.confidence.is_finite()).then(|| confidences_of(verdicts))
}

fn results(found: &[Found<'_>], levels: Option<&str>) -> Markup {
    let mut left = ROWS_BYTES_MAX;
    let mut rows: Vec<Markup> = Vec::new();
    for (run, result) in found {
        let row = row(run, result);
        let Some(rest) = left.checked_sub(row.0.len()) else { break };
        left = rest;
        rows.push(row);
    }
    html! {
        section #results {
            h2 { "All results" }
            p.legend {
                "Rate and cost relative to the arm after " em { "against" } ", in the same run, with the confidence \
                interval of the ratio where there are verdicts"
                @if let Some(levels) = levels { " (" (levels) ")" }
                ". A rate below 1 is slower; a cost above 1 is more expensive. Rates per \
                second of different runs are of different hosts or days."
            }
            @if rows.len() < found.len() {
                p { "The newest " (rows.len()) " of " (found.len()) ". The pages of runs have all." }
            }
            div.scroll tabindex="0" role="group" aria-label="All results" {
                table.sortable.verdict-table.names {
                    caption { "All results, newest run first" }
                    thead {
                        tr {
                            th scope="col" { "run" }
                            th scope="col" { "arm" }
                            th scope="col" { "against" }
                            th.num scope="col" { "rate" }
                            th.num scope="col" { "cost" }
                            th.num scope="col" { "blocks" }
                            th.num scope="col" { "per second" }
                        }
                    }
                    tbody { @for row in rows { (row) } }
                }
            }
        }
    }
}

fn row(run: &SiteRun, result: &ArmResult) -> Markup {
    let judged = result.judged.as_ref();
    let blocks =
        judged.and_then(|judged| judged.rate.as_ref().or(judged.cost.as_ref())).map(|verdict| verdict.blocks);
    html! {
        tr {
            th scope="row" { (link(run)) span.interval { (run.date.text()) (unfinished(run, result.is_doubtful)) } }
            (arm_cell(Some(&result.arm)))
            (arm_cell(result.base.as_ref()))
            (rate_cell(result))
            @match judged.and_then(|judged| judged.cost.as_ref()) {
                Some(cost) => (verdict_cell(cost)),
                None => td.num { "-" },
            }
            td.num { @if let Some(blocks) = blocks { (blocks) } @else { "-" } }
            td.num { (result.per_second.as_deref().unwrap_or("-")) }
        }
    }
}

fn arm_cell(arm: Option<&ArmOfResult>) -> Markup {
    html! {
        @match arm {
            Some(arm) => td { (breakable(&arm.name)) span.interval { (arm.release()) } },
            None => td { "-" },
        }
    }
}

fn rate_cell(result: &ArmResult) -> Markup {
    match (&result.judged, &result.rate) {
        (Some(judged), _) => judged.rate.as_ref().map_or_else(|| html! { td.num { "-" } }, verdict_cell),
        (None, Some(point)) => html! { td.num data-sort=(point.ratio) { (rate(result)) } },
        (None, None) => html! { td.num { "-" } },
    }
}

fn verdict_cell(verdict: &Verdict) -> Markup {
    html! {
        td.num data-sort=(verdict.ratio) {
            (verdict_figure(verdict))
            @if let Some(interval) = interval(verdict) { span.interval { (interval) } }
        }
    }
}

/// The ratio of a rate: with its verdict if there is one.
fn rate(result: &ArmResult) -> Markup {
    match (&result.judged, &result.rate) {
        (Some(judged), _) => judged.rate.as_ref().map_or_else(|| html! { "-" }, verdict_figure),
        (None, Some(point)) => html! { (format!("{:.2}", point.ratio)) },
        (None, None) => html! { "-" },
    }
}

/// The ratio of a rate, or of a cost where nobody judges rates.
pub(super) fn newest(result: &ArmResult) -> Markup {
    match result.judged.as_ref().and_then(|judged| judged.cost.as_ref()) {
        Some(cost) if result.rate.is_none() => html! { (verdict_figure(cost)) span.interval { "cost" } },
        _ => rate(result),
    }
}

fn link(run: &SiteRun) -> Markup {
    html! { a href=(format!("../runs/{}.html", run.stem)) { (breakable(&run.label)) } }
}

/// Says that results of a run are not final.
pub(super) fn unfinished(run: &SiteRun, is_doubtful: bool) -> Markup {
    html! {
        @if let Some(state) = run.unfinished { " " strong.unfinished { (state) } }
        @if is_doubtful { " " strong.unfinished { "check first" } }
    }
}
