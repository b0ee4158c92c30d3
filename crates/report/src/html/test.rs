//! All results of a test, collapsed under a line with its verdicts.

use maud::{Markup, html};
use rqps_charts::{PartsChart, Theme};
use rqps_explain::{Explanation, Part, PartName};
use rqps_stats::Detector;

use super::marks::{Mark, figure};
use super::{CHART_WIDTH, Page, anchor, figure as drawn, latency, plans, profiles, timeline};
use crate::comparison::{Layout, TestStep};
use crate::document::Block;
use crate::error::Result;
use crate::explain::blocks_of;
use crate::number;
use crate::render::html as blocks;
use crate::section::Section;
use crate::words;

/// Level of headings inside a test.
const LEVEL: u8 = 4;

/// The section of all tests, by group.
pub(super) fn sections(page: &Page<'_>) -> Result<Markup> {
    let flame_bytes = profiles::bytes_each(page);
    let mut groups_shown = Vec::new();
    for of_group in page.steps.chunk_by(|a, b| a.group == b.group) {
        let tests = of_group.iter().map(|step| test(page, step, flame_bytes));
        groups_shown.push((&*of_group[0].group.title, tests.collect::<Result<Vec<_>>>()?));
    }
    Ok(html! {
        section #tests {
            h2 { "Test by test" }
            p.legend {
                "Time series, latencies, " (page.run.terms().of_tests) " and causes. "
                span.script-only {
                    button type="button" #open-all { "Open all" } " " button type="button" #close-all { "Close all" }
                }
            }
            @for (title, tests) in groups_shown {
                h3 { (title) }
                @for test in tests { (test) }
            }
        }
    })
}

fn test(page: &Page<'_>, step: &TestStep, flame_bytes: usize) -> Result<Markup> {
    let comparison = page.comparison.of_tests(std::slice::from_ref(&step.name))?;
    let tables = |sections: &[Section]| -> Result<Markup> {
        Ok(blocks::blocks(&Section::all_blocks(sections, &comparison)?, LEVEL))
    };
    let terms = page.run.terms();
    let has_rates = !page.comparison.leaves_out_rates()?;
    Ok(html! {
        details.test id=(anchor(&step.name)) {
            summary { span.name { (step.name) } (results(page, step)) }
            div.body {
                (verdicts(page, step))
                (explanations(page, step))
                @if has_rates {
                    div.charts {
                        div { h4 { "Over time" } (timeline::charts(page, step)?) }
                        div { h4 { "Latency" } (latency::charts(page, step)?) }
                    }
                    (blocks::blocks(&page.variance_of(&step.name), LEVEL))
                    details {
                        summary { "Latency by kind of statement, as a table" }
                        (tables(&[Section::Latency])?)
                    }
                }
                h4 { (terms.costs) }
                (tables(&[Section::PerOp])?)
                (tables(&[Section::Lsm])?)
                (plans::side_by_side(page, step)?)
                (profiles::flamegraphs(page, step, flame_bytes)?)
                @if terms.has_program { details { summary { "Server counters" } (tables(&[Section::Counters])?) } }
                @if page.comparison.layout() == Layout::Consecutive {
                    h4 { "Response times" }
                    (tables(&[Section::Responses])?)
                    h4 { "CPU per connection, state before and after, outcome" }
                    (tables(&[Section::Connections, Section::Cpu, Section::State, Section::Ends])?)
                    details {
                        summary { "Statements, state before the step" }
                        (tables(&[Section::Rates, Section::Fingerprints])?)
                    }
                } @else {
                    details {
                        summary { (terms.before_tests) }
                        (tables(&[Section::Rates, Section::Connections, Section::Fingerprints])?)
                    }
                }
                p.back { a href="#verdicts" { "Back to all tests" } }
            }
        }
    })
}

/// The results of each candidate, in the test's summary line.
fn results(page: &Page<'_>, step: &TestStep) -> Markup {
    let arms = page.candidates();
    html! {
        @for arm in &arms {
            span.found {
                @if arms.len() > 1 { span.arm { (page.name(*arm)) } " " }
                @match &page.judged {
                    Some(judged) => {
                        @for detector in Detector::ALL {
                            @if let Some(verdict) = judged.verdicts.verdict(&step.name, *arm, detector) {
                                @let first = if judged.verdicts.rules.rates { Detector::Rate } else { Detector::Cost };
                                @let is_shown = detector == first || Mark::from(verdict).is_change();
                                @if is_shown { (figure(verdict)) " " span.what { (words::subject(detector)) } " " }
                            }
                        }
                    }
                    None => {
                        @let pair = page.pair(*arm);
                        @if pair.missed(&step.name) { span.what { "missed target of background writes" } }
                        @else if let Some(ratio) = pair.ratio(&step.name) {
                            span.num.worse[number::side_of_band(ratio) < 0].better[number::side_of_band(ratio) > 0] {
                                (number::ratio_alone(ratio))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The verdicts in words, arm by arm.
fn verdicts(page: &Page<'_>, step: &TestStep) -> Markup {
    let Some(judged) = &page.judged else {
        return html! {};
    };
    let arms = page.candidates();
    html! {
        ul.verdicts {
            @for arm in &arms {
                @for line in judged.lines(*arm, |test| test == step.name) {
                    li {
                        @if arms.len() > 1 { strong { (page.name(*arm)) } ": " }
                        @let sentence = line.sentence(judged);
                        (sentence.strip_prefix(&format!("{}: ", step.name)).unwrap_or(&sentence)) "."
                        @for remark in judged.remarks_on(&step.name, *arm) { " " (remark) "." }
                    }
                }
            }
        }
    }
}

/// The findings on each arm, and a chart of the time per operation.
fn explanations(page: &Page<'_>, step: &TestStep) -> Markup {
    let explained: Vec<&Explanation> = page.explanations.iter().filter(|one| one.test == step.name).collect();
    let several = explained.len() > 1;
    let parts = parts(page, step, &explained);
    html! {
        @if !explained.is_empty() {
            h4 { "Why" }
            @for one in &explained {
                @if several { h5 { (page.name(one.arm)) } }
                @let explanation = blocks_of(page.run, &page.comparison, page.judged.as_deref(), one);
                @let findings = explanation.iter().position(|block| matches!(block, Block::Items(_)));
                @let (told, figures) = explanation.split_at(findings.map_or(1, |at| at + 1));
                (blocks::blocks(told, LEVEL + 1))
                @if !figures.is_empty() {
                    details { summary { "Supporting figures" } (blocks::blocks(figures, LEVEL + 1)) }
                }
            }
            @if let Some(parts) = parts { (drawn(&parts.title, parts.svg(Theme::Page))) }
        }
    }
}

/// The parts of the time per operation, on base and each explained arm.
fn parts(page: &Page<'_>, step: &TestStep, explained: &[&Explanation]) -> Option<PartsChart> {
    let mut bars = Vec::new();
    for one in explained {
        let Some(decomposition) = &one.decomposition else { continue };
        let bar = |value: fn(&Part) -> f64| bar(&decomposition.parts, value);
        if bars.is_empty() {
            bars.push((page.name(one.base).to_owned(), bar(|part| part.base_us_per_op)));
        }
        bars.push((page.name(one.arm).to_owned(), bar(|part| part.arm_us_per_op)));
    }
    (!bars.is_empty()).then(|| PartsChart {
        id: format!("parts-{}", anchor(&step.name)),
        title: "Time per operation".to_owned(),
        unit: "µs per operation".to_owned(),
        bars,
        width: CHART_WIDTH * 1.2,
    })
}

/// Names and sizes of parts that add up to the time of an operation. Where client and session are on a CPU at the same
/// time, less than nothing is left for waiting: the client's time is drawn without it.
fn bar(parts: &[Part], value: impl Fn(&Part) -> f64) -> Vec<(String, f64)> {
    let overlap: f64 = parts.iter().map(&value).filter(|us| *us < 0.0).sum();
    let size = |part: &Part| match part.name {
        PartName::Client => (value(part) + overlap).max(0.0),
        _ => value(part).max(0.0),
    };
    parts.iter().map(|part| (part.name.to_string(), size(part))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Part, PartName, bar};

    #[test]
    fn a_bar_has_no_negative_part_and_is_as_long_as_an_operation() {
        let part = |name, us: f64| Part {
            name,
            base_us_per_op: us,
            arm_us_per_op: us,
            change_us_per_op: 0.0,
            low: f64::NAN,
            high: f64::NAN,
            of: Vec::new(),
        };
        let parts = [(PartName::Server, 10.0), (PartName::Client, 4.0), (PartName::Waiting, -1.0)]
            .map(|(name, us)| part(name, us));
        let sizes: Vec<f64> = bar(&parts, |part| part.base_us_per_op).into_iter().map(|(_, us)| us).collect();
        assert_eq!(sizes, [10.0, 3.0, 0.0]);
    }
}
