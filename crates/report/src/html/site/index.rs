//! The lists of runs and tests, which a search filters. Older runs have pages of their own.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, PreEscaped, html};
use rqps_model::counted;
use rqps_verdicts::version_key;

use super::super::breakable;
use super::super::marks::Mark;
use super::super::shell::Frame;
use super::run::{ArmOfResult, ArmResult, SiteRun};
use super::{FRAME_BYTES, PAGE_BYTES_MAX, SiteFile, SiteTest, feed, test};
use crate::number;

/// Maximum size of the list of tests, which is on every page of the list of runs.
const TESTS_BYTES_MAX: usize = 1_000_000;
/// Maximum badges on the page; all others have their file only.
const BADGES_MAX: usize = 100;
/// Maximum versions in the name of what a row compares.
const VERSIONS_SHOWN: usize = 6;

/// `index.html`, and `index-2.html` and so on if one page cannot hold all runs.
pub(super) fn pages(runs: &[SiteRun], tests: &[SiteTest<'_>]) -> Vec<SiteFile> {
    let numbers: BTreeMap<(&str, &str), usize> =
        tests.iter().enumerate().map(|(number, test)| ((test.workload, test.name), number)).collect();
    let tests_shown = tests_section(tests, runs);
    let badges = badges_section(runs);
    let mut left = 0;
    let mut pages: Vec<Vec<Markup>> = Vec::new();
    for run in runs {
        let row = run_row(run, &numbers);
        if row.0.len() > left {
            pages.push(Vec::new());
            left = PAGE_BYTES_MAX - FRAME_BYTES - tests_shown.0.len() - badges.0.len();
        }
        left = left.saturating_sub(row.0.len());
        if let Some(page) = pages.last_mut() {
            page.push(row);
        }
    }
    let count = pages.len();
    let page = |(index, rows): (usize, Vec<Markup>)| SiteFile {
        path: path(index),
        content: page(index, count, &rows, runs, tests.len(), (&tests_shown, &badges)),
    };
    pages.into_iter().enumerate().map(page).collect()
}

fn path(index: usize) -> String {
    if index == 0 { "index.html".to_owned() } else { format!("index-{}.html", index + 1) }
}

fn page(
    index: usize,
    count: usize,
    rows: &[Markup],
    runs: &[SiteRun],
    tests: usize,
    (tests_shown, badges): (&Markup, &Markup),
) -> String {
    let main = html! {
        section #runs {
            h1 { "Results" }
            p.about {
                (counted(runs.len(), "run")) " of " (counted(tests, "test"))
                @if let Some(newest) = runs.first() { ", the newest of " (number::utc(newest.date.at_ms)) }
                @let unfinished = runs.iter().filter(|run| run.unfinished.is_some()).count();
                @if unfinished > 0 { "; " (unfinished) " of them unfinished" }
                "."
            }
            div.filters.script-only {
                label { "Search " input type="search" #find-row placeholder="test, version, run"; }
                span #shown role="status" {}
            }
            @if count > 1 {
                p {
                    "Runs, newest first, on " (count) " pages: "
                    @for other in 0..count {
                        @if other == index { strong { (other + 1) } } @else { a href=(path(other)) { (other + 1) } }
                        " "
                    }
                    "The search is in the runs of this page, and in all tests."
                }
            }
            div.scroll tabindex="0" role="group" aria-label="Runs" {
                table.sortable.verdict-table.names {
                    caption { "Runs, newest first" span.preamble { " (verdicts on rates; on costs where rates are not judged)" } }
                    thead {
                        tr {
                            th scope="col" { "run" }
                            th scope="col" { "verdicts" }
                            th scope="col" { "result" }
                            th scope="col" { "compares" }
                        }
                    }
                    tbody { @for row in rows { (row) } }
                }
            }
        }
        (tests_shown)
        (badges)
    };
    let links = [("#runs", "Runs"), ("#tests", "Tests"), ("#badges", "Badges"), ("feed.xml", "Feed")];
    let frame = Frame {
        title: "Results".to_owned(),
        program_version: env!("CARGO_PKG_VERSION"),
        links: links.map(|(link, title)| (link.to_owned(), title)).to_vec(),
        feed: Some("feed.xml"),
        footer: html! { p { "Written by rqps " (env!("CARGO_PKG_VERSION")) ". Nothing here loads from the network." } },
    };
    frame.page(&main)
}

fn run_row(run: &SiteRun, numbers: &BTreeMap<(&str, &str), usize>) -> Markup {
    let workload = run.workload_title.as_str();
    let found = run.tests.iter().filter_map(|test| numbers.get(&(workload, test.name.as_str())));
    let tests: Vec<String> = found.map(ToString::to_string).collect();
    let more = run.sentences.len().saturating_sub(1);
    html! {
        tr data-find=(format!("{} {}", run.name, run.versions.join(" "))) data-tests=(tests.join(" ")) {
            th scope="row" {
                a href=(format!("runs/{}.html", run.stem)) { (breakable(&run.label)) }
                span.interval { (run.date.text()) (test::unfinished(run, run.check_first.is_some())) }
            }
            (verdicts(run))
            td.wide-text {
                @match &run.headline {
                    Some(headline) => { (headline) "." }
                    None if run.sentences.is_empty() => span.interval { "Nothing to compare: one arm." },
                    None => span.interval { "No results to compare." },
                }
                @if run.headline.is_some() && run.counts.is_empty() { span.interval { "No verdicts." } }
                @if more > 0 && run.headline.is_some() { span.interval { "And " (more) " other " (if more == 1 { "arm." } else { "arms." }) } }
            }
            td.wide-text { (compares(run)) span.interval { (run.workload_title) ", " (counted(run.tests.len(), "test")) } }
        }
    }
}

/// How many rates or costs have each verdict, a line each.
fn verdicts(run: &SiteRun) -> Markup {
    let worse = run.counts.iter().find(|(mark, _)| *mark == Mark::Worse).map_or(0, |(_, count)| *count);
    html! {
        @if run.counts.is_empty() { td.line data-sort="-1" { "-" } }
        @else {
            td.line data-sort=(worse) {
                @for (mark, count) in run.counts.iter().filter(|(_, count)| *count > 0) {
                    div.mark.(mark.class()) {
                        span aria-hidden="true" { (mark.symbol()) " " } (count) " " (mark.phrase(run.counted))
                    }
                }
            }
        }
    }
}

fn compares(run: &SiteRun) -> String {
    match run.versions.len() {
        3..=VERSIONS_SHOWN => run.versions.join(", "),
        _ => run.title.clone(),
    }
}

fn tests_section(tests: &[SiteTest<'_>], runs: &[SiteRun]) -> Markup {
    let mut left = TESTS_BYTES_MAX;
    let mut rows: Vec<Markup> = Vec::new();
    for test in tests {
        let row = test_row(test, runs);
        let Some(rest) = left.checked_sub(row.0.len()) else { break };
        left = rest;
        rows.push(row);
    }
    html! {
        section #tests {
            h2 { "Tests" }
            p.legend { "Each test over versions and runs, and the version in which a change arrived." }
            @if rows.len() < tests.len() {
                p { "The first " (rows.len()) " of " (tests.len()) ". The pages of runs link to all their tests." }
            }
            div.scroll tabindex="0" role="group" aria-label="Tests" {
                table.sortable.names {
                    caption { "Tests" }
                    thead {
                        tr {
                            th scope="col" { "test" }
                            th.num scope="col" { "newest result" }
                            th scope="col" { "of" }
                            th.num scope="col" { "runs" }
                            th.num scope="col" { "versions" }
                            th scope="col" { "workload" }
                        }
                    }
                    tbody { @for row in rows { (row) } }
                }
            }
        }
    }
}

/// The number of a version: of `9.8.4.byrx` and `9.8.4.iobuf` it is one.
fn without_words(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').collect();
    let is_word = |part: &&&str| part.starts_with(|c: char| c.is_ascii_alphabetic());
    let numbers = parts.iter().take_while(|part| !is_word(part)).count().max(1);
    parts[..numbers].join(".")
}

fn test_row(test: &SiteTest<'_>, runs: &[SiteRun]) -> Markup {
    let results = test.runs.iter().flat_map(|(run, place)| &runs[*run].tests[*place].results);
    let arms = results.flat_map(|result| std::iter::once(&result.arm).chain(&result.base));
    let arms: Vec<&ArmOfResult> = arms.filter(|arm| !arm.version.is_empty()).collect();
    let versions: BTreeSet<String> = arms.iter().map(|arm| arm.release()).collect();
    let numbers: BTreeSet<(&str, String)> =
        arms.iter().map(|arm| (arm.dbms.as_str(), without_words(&arm.version))).collect();
    let newest = newest_result(test, runs, |run| run.unfinished.is_none())
        .or_else(|| newest_result(test, runs, |_| true));
    html! {
        tr data-find=(versions.iter().map(String::as_str).collect::<Vec<_>>().join(" ")) {
            th scope="row" { a href=(test.path()) { (breakable(test.name)) } }
            @match newest {
                Some((run, result)) => {
                    td.num { (test::newest(result)) }
                    td.wide-text {
                        (result.arm.name)
                        @if let Some(base) = &result.base { " against " (base.name) (test::unfinished(run, result.is_doubtful)) }
                        @else {
                            (test::unfinished(run, result.is_doubtful))
                            @if let Some(rate) = &result.per_second { span.interval { (rate) " per second" } }
                        }
                    }
                }
                None => { td.num { "-" } td {} }
            }
            td.num { (test.runs.len()) }
            td.num { @if versions.is_empty() { "-" } @else { (numbers.len()) } }
            td { (test.workload) }
        }
    }
}

/// The newest version of the newest run that has a rate or a cost.
fn newest_result<'a>(
    test: &SiteTest<'_>,
    runs: &'a [SiteRun],
    is_wanted: impl Fn(&SiteRun) -> bool,
) -> Option<(&'a SiteRun, &'a ArmResult)> {
    let mut wanted =
        test.runs.iter().map(|(run, place)| (&runs[*run], *place)).filter(|(run, _)| is_wanted(run));
    wanted.find_map(|(run, place)| {
        let has_any = |result: &&ArmResult| {
            result.is_compared() || result.base.is_none() && result.per_second.is_some()
        };
        let results = run.tests[place].results.iter().filter(has_any);
        Some((run, results.max_by_key(|result| version_key(&result.arm.version))?))
    })
}

fn badges_section(runs: &[SiteRun]) -> Markup {
    let newest = feed::newest_by_label(runs);
    html! {
        section #badges {
            h2 { "Badges" }
            p.legend { "Images for other pages: the newest complete run of each name. Their addresses do not change." }
            ul.badges {
                @for run in newest.iter().take(BADGES_MAX) {
                    li { a href=(feed::badge_path(run)) { (PreEscaped(feed::badge(run).svg())) } " "
                        code { (feed::badge_path(run)) } }
                }
            }
            @if newest.len() > BADGES_MAX { p { "And " (newest.len() - BADGES_MAX) " more in " code { "badges/" } "." } }
        }
    }
}
