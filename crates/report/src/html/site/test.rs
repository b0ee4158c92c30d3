//! A test over all runs: its course over versions, where changes arrived, and every result.

use maud::{Markup, html};
use rqps_charts::{Mark as ChartMark, RatioPoint, VersionChart, VersionLine};
use rqps_stats::Verdict;
use rqps_store::counted;
use rqps_verdicts::version_key;

use super::super::marks::{figure as verdict_figure, interval};
use super::super::shell::Frame;
use super::super::{breakable, versions_figure};
use super::run::{ArmOfResult, ArmResult, SiteRun};
use super::{FRAME_BYTES, PAGE_BYTES_MAX, SiteFile, SiteTest};
use crate::number;

/// Maximum lines of a chart, and charts: more cannot be distinguished, or read.
const LINES_MAX: usize = 8;
const CHARTS_MAX: usize = 12;
/// Fewest versions of a course, base included.
const VERSIONS_MIN: usize = 3;
/// Maximum arrivals listed.
const ARRIVALS_MAX: usize = 200;
/// Maximum size of the table.
const ROWS_BYTES_MAX: usize = PAGE_BYTES_MAX - FRAME_BYTES - 900_000;

/// A run's result, newest run first.
type Found<'a> = (&'a SiteRun, &'a ArmResult);

pub(super) fn page(test: &SiteTest<'_>, runs: &[SiteRun]) -> SiteFile {
    let of_runs = || test.runs.iter().map(|(run, place)| (&runs[*run], &runs[*run].tests[*place]));
    let found: Vec<Found<'_>> =
        of_runs().flat_map(|(run, test)| test.results.iter().map(move |result| (run, result))).collect();
    let arrivals: Vec<(&SiteRun, &String)> =
        of_runs().flat_map(|(run, test)| test.arrivals.iter().map(move |arrival| (run, arrival))).collect();
    let courses = courses(&found);
    let main = html! {
        section #course {
            h1 { (test.name) }
            p.about { (test.workload) ", " (counted(test.runs.len(), "run")) "." }
            h2 { "Over versions" }
            @if courses.is_empty() {
                p { "No runs with one base have " (VERSIONS_MIN) " versions; the table has every result." }
            }
            div.charts { @for chart in &courses { (versions_figure(chart)) } }
            h2 { "Where changes arrived" }
            @if arrivals.is_empty() {
                p { "No change was traced to a version: that takes three versions or more in a run with verdicts." }
            }
            ul {
                @for (run, arrival) in arrivals.iter().take(ARRIVALS_MAX) {
                    li { (arrival) " (" (link(run)) ", " (day(run)) (unfinished(run)) ")" }
                }
            }
            @if arrivals.len() > ARRIVALS_MAX {
                p { "The newest " (ARRIVALS_MAX) " of " (arrivals.len()) "." }
            }
        }
        (results(&found))
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

fn results(found: &[Found<'_>]) -> Markup {
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
                "Rate and cost relative to the arm after " em { "against" } ", in the same run, with the interval of the \
                ratio where there are verdicts. A rate below 1 is slower; a cost above 1 is more expensive. Rates per \
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
            th scope="row" { (link(run)) span.interval { (number::utc(run.created_at_ms)) (unfinished(run)) } }
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
pub(super) fn rate(result: &ArmResult) -> Markup {
    match (&result.judged, &result.rate) {
        (Some(judged), _) => judged.rate.as_ref().map_or_else(|| html! { "-" }, verdict_figure),
        (None, Some(point)) => html! { (format!("{:.2}", point.ratio)) },
        (None, None) => html! { "-" },
    }
}

fn link(run: &SiteRun) -> Markup {
    html! { a href=(format!("../runs/{}.html", run.stem)) { (breakable(&run.label)) } }
}

/// Says that a run's results are not final.
pub(super) fn unfinished(run: &SiteRun) -> Markup {
    html! {
        @if let Some(state) = run.unfinished { " " strong.unfinished { (state) } }
        @if run.is_doubtful { " " strong.unfinished { "check first" } }
    }
}

fn day(run: &SiteRun) -> String {
    number::utc(run.created_at_ms).chars().take("2026-07-30".len()).collect()
}

/// A result with a version, against a base with one of the same DBMS: the run, the base, the result.
type OfSeries<'a> = (&'a SiteRun, &'a ArmOfResult, &'a ArmResult);

/// A chart for each DBMS and version of base, of the newest runs.
fn courses(found: &[Found<'_>]) -> Vec<VersionChart> {
    let mut found: Vec<OfSeries<'_>> = found.iter().filter_map(of_series).collect();
    let key = |base: &ArmOfResult| (base.dbms.clone(), version_key(&base.version));
    // A stable order: within a base, the newest run stays first.
    found.sort_by_cached_key(|(_, base, _)| key(base));
    let of_bases = found.chunk_by(|(_, a, _), (_, b, _)| key(a) == key(b));
    of_bases.filter_map(course).take(CHARTS_MAX).enumerate().map(numbered).collect()
}

fn of_series<'a>((run, result): &Found<'a>) -> Option<OfSeries<'a>> {
    let base = result.base.as_ref()?;
    let is_version = base.dbms == result.arm.dbms && !result.arm.version.is_empty();
    is_version.then_some((*run, base, *result))
}

fn numbered((number, chart): (usize, VersionChart)) -> VersionChart {
    VersionChart { id: format!("course-{number}"), ..chart }
}

fn course(found: &[OfSeries<'_>]) -> Option<VersionChart> {
    let (_, base, _) = found.first()?;
    // Arms of a run that differ in their config are lines of their own.
    let mut lines: Vec<((&SiteRun, &str), Vec<&ArmResult>)> = Vec::new();
    for (run, _, result) in found {
        let config = result.arm.config.as_str();
        match lines.iter_mut().find(|((of, known), _)| of.stem == run.stem && *known == config) {
            Some((_, results)) => results.push(result),
            None => lines.push(((run, config), vec![result])),
        }
    }
    let all = lines.len();
    lines.truncate(LINES_MAX);
    let mut versions: Vec<&str> =
        lines.iter().flat_map(|(_, results)| results).map(|result| result.arm.version.as_str()).collect();
    versions.push(&base.version);
    versions.sort_by_key(|version| version_key(version));
    versions.dedup();
    if versions.len() < VERSIONS_MIN {
        return None;
    }
    let several = |run: &SiteRun| lines.iter().filter(|((of, _), _)| of.stem == run.stem).count() > 1;
    let line = |((run, config), results): &((&SiteRun, &str), Vec<&ArmResult>)| {
        let config = if several(run) { format!(", {config}") } else { String::new() };
        let state = run.unfinished.map_or_else(String::new, |state| format!(" ({state})"));
        VersionLine {
            label: format!("{}{config}{state}", run.name),
            points: versions.iter().map(|version| point(base, version, results)).collect(),
        }
    };
    let base = base.release();
    let part = if all > LINES_MAX { format!(", the newest {LINES_MAX} of {all}") } else { String::new() };
    Some(VersionChart {
        id: String::new(),
        title: format!("Rate relative to {base}{part}"),
        axis: format!("rate relative to {base}"),
        versions: versions.iter().map(|version| (*version).to_owned()).collect(),
        lines: lines.iter().map(line).collect(),
        width: 0.0,
    })
}

fn point(base: &ArmOfResult, version: &str, results: &[&ArmResult]) -> Option<RatioPoint> {
    match results.iter().find(|result| result.arm.version == version) {
        Some(result) => result.rate,
        None if version == base.version => {
            Some(RatioPoint { ratio: 1.0, low: f64::NAN, high: f64::NAN, mark: ChartMark::Same })
        }
        None => None,
    }
}
