//! All tests in one table: the verdicts on each variant, or relative rates if there are none. Rows can be
//! filtered by change and link to their test.

use maud::{Markup, html};
use rqps_model::Unit;
use rqps_model::counted;
use rqps_stats::{Detector, Metric, Verdict};

use super::Page;
use super::marks::{Mark, figure, interval};
use super::{breakable, short_names};
use crate::background::MARK;
use crate::comparison::{Layout, TestStep};
use crate::document::Block;
use crate::error::Result;
use crate::number;
use crate::render::html as blocks;
use crate::section::Section;
use crate::verdict_lines::Judged;
use crate::words;

/// Tables that only runs of one benchmark have: latencies of syncs, of transactions, the shape of an LSM tree.
const OF_ONE_BENCHMARK: [Section; 3] = [Section::Syncs, Section::Transactions, Section::Lsm];
/// Rates as tables.
const RATES: [Section; 3] = [Section::Relative, Section::Absolute, Section::Chain];

/// The section, with the full tables collapsed.
pub(super) fn section(page: &Page<'_>) -> Result<Markup> {
    let full = match &page.judged {
        Some(_) => page.blocks(&[Section::Verdicts, Section::Evidence])?,
        // The other tables are in the section of steps.
        None if page.comparison.layout() == Layout::Consecutive => page.blocks(&[Section::Chain])?,
        None => page.blocks(&RATES)?,
    };
    let is_table = |block: &Block| matches!(block, Block::Table(_));
    let full: Vec<Block> = full.into_iter().filter(is_table).collect();
    let mut own = page.blocks(&OF_ONE_BENCHMARK)?;
    own.retain(|block| matches!(block, Block::Table(_) | Block::Text(_)));
    let is_compared = !page.candidates().is_empty();
    let title = match &page.judged {
        Some(judged) if judged.has_verdicts() => "Every figure behind the verdicts",
        Some(_) => "Every figure",
        None => "Rates, as tables",
    };
    Ok(html! {
        section #verdicts {
            h2 { (page.verdicts_title()) }
            @if is_compared { p.legend {
                @if let Some(judged) = &page.judged {
                    @let [rates, costs] =
                        [Detector::Rate, Detector::Cost].map(|one| page.detectors().contains(&one));
                    @let (what, means) = match (rates, costs) {
                        (true, true) => {
                            ("Rate and cost per operation", "A rate below 1 is slower; a cost above 1 is more expensive")
                        }
                        (false, true) => ("Cost per operation", "A cost above 1 is more expensive; rates were not judged"),
                        _ => ("Rate", "A rate below 1 is slower"),
                    };
                    (what) " relative to " strong { (page.comparison.base.arm.name) }
                    @if judged.has_intervals() { ", with the confidence interval of the ratio (" (page.levels()) ")" }
                    ". " (means) ". "
                    @let legend = if rates { Detector::Rate } else { Detector::Cost };
                    @for mark in Mark::ALL.into_iter().filter(|mark| judged.has_verdicts() || *mark == Mark::Open) {
                        span.mark.(mark.class()) { (mark.symbol()) " " (mark.word(legend)) } " "
                    }
                } @else {
                    "Rate relative to " strong { (page.comparison.base.arm.name) } "; below 1 is slower. Coloured at 0.95 \
                    and below, and at 1.05 and above."
                }
            } }
            div.filters.script-only {
                @if is_compared { label { input type="checkbox" #only-changes; " Only changes" } }
                label { "Test " input type="search" #find-test placeholder="part of its name"; }
                span #shown role="status" {}
            }
            @match &page.judged {
                Some(judged) => (verdict_table(page, judged)),
                None => (rate_table(page)),
            }
            (blocks::blocks(&own, 3))
            @if !full.is_empty() { details { summary { (title) } (blocks::blocks(&full, 3)) } }
            @if page.judged.is_some() && page.comparison.layout() == Layout::Independent {
                @let rates = page.blocks(&RATES)?;
                @if !rates.is_empty() {
                    details { summary { "Rates, as tables" } (blocks::blocks(&rates, 3)) }
                }
            }
        }
    })
}

/// Arms with columns in the table: candidates, then the control.
fn columns(page: &Page<'_>, judged: &Judged<'_>) -> Vec<usize> {
    page.candidates().into_iter().chain(judged.verdicts.experiment.control).collect()
}

/// Detectors with a column; resources are only in charts and with their test.
fn headlines(page: &Page<'_>) -> Vec<Detector> {
    page.detectors().into_iter().filter(|detector| !detector.is_resource()).collect()
}

/// The heading of a column.
fn column(page: &Page<'_>, detector: Detector) -> String {
    match detector {
        Detector::Cost => format!("cost ({})", page.cost_metrics(&page.steps)),
        other => words::subject(other).to_owned(),
    }
}

fn verdict_table(page: &Page<'_>, judged: &Judged<'_>) -> Markup {
    let arms = columns(page, judged);
    let control = judged.verdicts.experiment.control;
    let with_notes = page.candidates().len() == 1;
    let detectors = headlines(page);
    let what = if judged.has_verdicts() { "Verdicts" } else { "Ratios" };
    let width = 1 + detectors.len() * arms.len() + usize::from(with_notes);
    let (names, common) = short_names(&arms.iter().map(|arm| page.name(*arm)).collect::<Vec<_>>());
    html! {
        div.scroll tabindex="0" role="group" aria-label=(format!("{what} of all tests")) {
            table.sortable.verdict-table {
                caption { (what) " relative to " (page.comparison.base.arm.name) (in_common(common)) }
                thead {
                    @if arms.len() > 1 {
                        tr {
                            td {}
                            @for (arm, name) in arms.iter().zip(&names) {
                                th colspan=(detectors.len()) scope="colgroup" title=(page.name(*arm)) {
                                    (breakable(name)) @if Some(*arm) == control { " (A/A control)" }
                                }
                            }
                            @if with_notes { td {} }
                        }
                    }
                    tr {
                        th scope="col" { "test" }
                        @for arm in &arms {
                            @let name = if arms.len() > 1 { format!("{} ", page.name(*arm)) } else { String::new() };
                            @for detector in &detectors {
                                th.num scope="col" { span.sr { (name) } (column(page, *detector)) }
                            }
                        }
                        @if with_notes { th scope="col" { "notes" } }
                    }
                }
                @for of_group in page.steps.chunk_by(|a, b| a.group == b.group) {
                    tbody {
                        tr.group {
                            th colspan=(width) scope="rowgroup" { span { (of_group[0].group.title) } }
                        }
                        @for step in of_group { (verdict_row(page, judged, &arms, step, with_notes)) }
                    }
                }
            }
        }
    }
}

fn verdict_row(
    page: &Page<'_>,
    judged: &Judged<'_>,
    arms: &[usize],
    step: &TestStep,
    with_notes: bool,
) -> Markup {
    let verdict = |arm: usize, detector| judged.verdicts.verdict(&step.name, arm, detector);
    let changed = arms
        .iter()
        .flat_map(|arm| Detector::ALL.map(|detector| verdict(*arm, detector)))
        .flatten()
        .any(|verdict| verdict.class.is_change() && !verdict.is_control);
    html! {
        tr data-changed=[changed.then_some("")] {
            th scope="row" { a href=(page.href(&step.name)) { (breakable(&step.name)) } }
            @for arm in arms {
                @for detector in headlines(page) { (verdict_cell(page, verdict(*arm, detector))) }
            }
            @if with_notes { td.why { (note(page, judged, arms[0], step)) } }
        }
    }
}

fn verdict_cell(page: &Page<'_>, verdict: Option<&Verdict>) -> Markup {
    let Some(verdict) = verdict else {
        return html! { td.num { "-" } };
    };
    let mark = Mark::from(verdict);
    let title = match verdict.detector {
        Detector::Rate => counted(verdict.blocks, "block"),
        _ => format!("{}, {}", verdict.metric.measure().label, counted(verdict.blocks, "block")),
    };
    let is_other = |metric: Metric| verdict.detector == Detector::Cost && metric != verdict.metric;
    let is_other = page.judged.as_ref().is_some_and(|judged| is_other(judged.cost_metric()));
    let other = is_other.then(|| verdict.metric.measure().label);
    html! {
        td.num.tint-worse[mark == Mark::Worse].tint-better[mark == Mark::Better] data-sort=(verdict.ratio)
            title=(title) {
            (figure(verdict))
            @if let Some(interval) = interval(verdict) { span.interval { (interval) } }
            @if let Some(metric) = other { span.interval { (metric) } }
        }
    }
}

/// The first finding of the explanation, else the missed background rate, else remarks on the verdicts.
fn note(page: &Page<'_>, judged: &Judged<'_>, arm: usize, step: &TestStep) -> String {
    if let Some(finding) = page.first_finding(&step.name, arm) {
        return finding;
    }
    if let Some(missed) = judged.missed(arm, &step.name) {
        return missed.text;
    }
    let verdict_remarks = |detector| {
        let verdict = judged.verdicts.verdict(&step.name, arm, detector)?;
        let remaining = (!verdict.class.is_decided()).then(|| judged.remaining(verdict)).flatten();
        let remarks: Vec<String> = remaining.into_iter().chain(words::remarks(verdict)).collect();
        (!remarks.is_empty()).then(|| format!("{}: {}", words::subject(detector), remarks.join("; ")))
    };
    [Detector::Rate, Detector::Cost]
        .into_iter()
        .filter_map(verdict_remarks)
        .chain(judged.remarks_on(&step.name, arm))
        .collect::<Vec<_>>()
        .join(". ")
}

/// What the names of columns leave out.
fn in_common(common: Option<String>) -> Markup {
    html! { @if let Some(common) = common { span.preamble { " (arms: " (common) ")" } } }
}

fn rate_table(page: &Page<'_>) -> Markup {
    let arms = page.candidates();
    let units = page.comparison.units(&page.steps);
    let unit = match units.as_slice() {
        [(unit, _)] => format!("{}/s", unit.many),
        // The cells name theirs.
        _ => "per second".to_owned(),
    };
    let (names, common) = short_names(&arms.iter().map(|arm| page.name(*arm)).collect::<Vec<_>>());
    html! {
        div.scroll tabindex="0" role="group" aria-label="Relative rates of all tests" {
            table.sortable.verdict-table {
                caption {
                    @if arms.is_empty() { "Rates" } @else { "Rate relative to " (page.comparison.base.arm.name) }
                    (in_common(common))
                }
                thead {
                    tr {
                        th scope="col" { "test" }
                        @for (arm, name) in arms.iter().zip(&names) {
                            th.num scope="col" title=(page.name(*arm)) { (breakable(name)) }
                        }
                        th.num scope="col" { (breakable(&page.comparison.base.arm.name)) ", " (unit) }
                    }
                }
                @for of_group in page.steps.chunk_by(|a, b| a.group == b.group) {
                    tbody {
                        tr.group {
                            th colspan=(arms.len() + 2) scope="rowgroup" {
                                span { (of_group[0].group.title) }
                            }
                        }
                        @for step in of_group {
                            @let own = units.iter().find(|(_, steps)| steps.contains(&step.name.as_str()));
                            (rate_row(page, &arms, step, own.filter(|_| units.len() > 1).map(|(unit, _)| *unit)))
                        }
                    }
                }
            }
        }
    }
}

fn rate_row(page: &Page<'_>, arms: &[usize], step: &TestStep, unit: Option<&Unit>) -> Markup {
    let pairs = arms.iter().map(|arm| page.pair(*arm));
    let ratios: Vec<(Option<f64>, bool)> =
        pairs.map(|pair| (pair.ratio(&step.name), pair.missed(&step.name))).collect();
    let band = |ratio: &Option<f64>| ratio.map_or(0, number::side_of_band);
    let changed = ratios.iter().any(|(ratio, missed)| *missed || band(ratio) != 0);
    let base = page.comparison.base.rate(&step.name);
    html! {
        tr data-changed=[changed.then_some("")] {
            th scope="row" { a href=(page.href(&step.name)) { (breakable(&step.name)) } }
            @for (ratio, missed) in &ratios {
                @let (worse, better) = (band(ratio) < 0 && !missed, band(ratio) > 0 && !missed);
                td.num.tint-worse[worse].tint-better[better].unranked[*missed] data-sort=[*ratio] {
                    @match ratio {
                        Some(ratio) if *missed => { (MARK) (number::ratio_alone(*ratio)) }
                        Some(ratio) => {
                            (match number::side_of_band(*ratio) { -1 => "▼ ", 1 => "▲ ", _ => "" })
                            (number::ratio_alone(*ratio))
                        }
                        None => "-",
                    }
                }
            }
            td.num data-sort=[base] {
                (base.map_or_else(|| "-".to_owned(), number::rate))
                @if let Some(unit) = unit.filter(|_| base.is_some()) { " " (unit.many) }
            }
        }
    }
}
