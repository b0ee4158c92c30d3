//! The summary: which tests became slower, all of them in a figure, how reliable that is, and why.

use maud::{Markup, PreEscaped, html};
use rqps_model::counted;
use rqps_stats::{Class, Detector, Verdict};
use rqps_store::Arm;

use super::marks::Mark;
use super::{Page, all_tests};
use crate::comparison::Layout;
use crate::document::Block;
use crate::error::Result;
use crate::markdown_report::{ONE_PASS_OF_CONSECUTIVE, ONE_RESULT, THRESHOLDS};
use crate::number;
use crate::render::html as blocks;
use crate::section::Section;
use crate::tables::{answer, conditions, disturbed, doubts, host, trust, undecided, unpaired, verdicts};
use crate::title;
use crate::upgrade;
use crate::verdict_lines::{IMPROVEMENTS, Judged, Line, NOT_RANKED, changed};
use crate::words;

/// Maximum changes listed per direction: with few variants, and with many.
const LISTED_MAX: usize = 5;
const LISTED_MAX_OF_MANY: usize = 2;
/// So many variants are many.
const MANY: usize = 4;

/// The summary, with the page's title.
pub(super) fn section(page: &Page<'_>) -> Result<Markup> {
    Ok(html! {
        section #summary {
            h1 { (title(page)) }
            @match &page.judged {
                Some(judged) => (verdict_summary(page, judged)),
                None => (rate_summary(page)?),
            }
        }
    })
}

/// What was compared with what.
pub(super) fn title(page: &Page<'_>) -> String {
    let candidates: Vec<&Arm> = page.candidates().into_iter().map(|arm| &page.run.arms[arm]).collect();
    title::of(page.comparison.base.arm, &candidates, &page.run.arms)
}

fn about(page: &Page<'_>) -> String {
    let meta = &page.run.meta;
    let host = |key: &str| page.run.host_fact(key);
    let cpus = host("cpus_online").map(|cpus| format!(" ({cpus} CPUs)")).unwrap_or_default();
    let clients = match meta.clients {
        0 => String::new(),
        // The line of conditions has them all.
        clients if page.run.windows.iter().any(|window| window.result.clients != clients) => String::new(),
        clients => format!(" with {}", counted(clients as usize, words::client_noun(page.run))),
    };
    let machine = host("cpu_model").map(|cpu| format!(", on {cpu}{cpus}"));
    format!(
        "{}{}, {}{}{}{}. {} {}, {}.",
        if page.in_site { format!("Run {}: ", page.run.folder.name()) } else { String::new() },
        meta.workload_title,
        counted(page.steps.len(), "test"),
        clients,
        host::driven_by(page.run),
        machine.unwrap_or_default(),
        if meta.is_imported() { "Imported" } else { "Started" },
        number::utc(meta.created_at_ms),
        words::state(page.run)
    )
}

fn verdict_summary<'a>(page: &Page<'a>, judged: &Judged<'a>) -> Markup {
    let trust = trust::lines(judged);
    let arms: Vec<(usize, Vec<Line<'_>>)> =
        judged.measured().map(|arm| (arm, judged.lines(arm, |_| true))).collect();
    let open = [undecided::not_quiet(judged), undecided::open(judged, &judged.all_lines())];
    let open: Vec<Block> = open.into_iter().flatten().map(Block::Text).collect();
    html! {
        @if let Some(doubts) = doubts::sentence(judged.run) { p.callout.alarm { (doubts) } }
        @for start in upgrade::starts(&page.comparison, judged) { p.callout.alarm { (start) } }
        @let text = |arm: usize, lines| answer::text(judged, arm, (page.name(arm), page.name(judged.base)), lines);
        @if let [(arm, lines)] = arms.as_slice() {
            p.headline { (text(*arm, lines)) (aa_check(judged)) }
        } @else {
            p.headline { (of_several(page, judged, &arms)) (aa_check(judged)) }
        }
        (measured_with(page))
        (all_tests::figures(page))
        (warnings(page))
        @for text in disturbed::of_passes(&page.comparison) { p.callout.alarm { (text) } }
        @if let Some(text) = page.comparison.without_results() { p.callout { (text) } }
        p.about { (about(page)) }
        @if arms.len() > 1 {
            ul { @for (arm, lines) in &arms { li { (page.name(*arm)) ": " (answer::brief(judged, *arm, lines)) } } }
        }
        @for (arm, _) in &arms { (unpaired_rates(page, judged, *arm)) }
        @if let Some(invalid) = verdicts::without_result(judged.run, |_| true) { (blocks::blocks(&[invalid], 2)) }
        (blocks::blocks(&open, 2))
        @for (arm, lines) in &arms {
            div.verdict-of {
                @if arms.len() > 1 {
                    h2 { (page.name(*arm)) }
                    p { (text(*arm, lines)) }
                }
                @for detector in page.detectors() { (tally(&tally_title(page, detector), detector, lines)) }
                (changes(page, judged, *arm, lines))
            }
        }
        @for line in trust.iter().filter(|line| line.is_alarm) { p.callout.alarm { (line.text) "." } }
        h2 { "How reliable is this?" }
        p { (reliability(judged)) }
        ul { @for line in trust.iter().filter(|line| !line.is_alarm) { li { (line.text) } } }
    }
}

/// Rates of repeats that cannot be paired with base's.
fn unpaired_rates(page: &Page<'_>, judged: &Judged<'_>, arm: usize) -> Markup {
    let found = judged.unpaired(arm);
    let table = unpaired::table(&found, page.name(arm), page.name(judged.base));
    html! { @if let Some(table) = table.block() { (blocks::blocks(&[table], 2)) } }
}

/// The answer on several arms in a sentence or two; the list below the figures has the rest.
fn of_several(page: &Page<'_>, judged: &Judged<'_>, arms: &[(usize, Vec<Line<'_>>)]) -> String {
    if !judged.has_verdicts() {
        return "There is no verdict yet.".to_owned();
    }
    let named: Vec<_> = arms.iter().map(|(arm, lines)| (page.name(*arm), lines.as_slice())).collect();
    answer::of_several(judged, &named, page.name(judged.base))
}

/// What was measured with, directly below the answer, and warnings of builds that few others use.
fn measured_with(page: &Page<'_>) -> Markup {
    let line = conditions::line(page.run, page.comparison.base_in(page.run));
    html! {
        p.about { (line) }
        @for warning in conditions::warnings(page.run) {
            div.callout.alarm { (blocks::blocks(&[Block::Text(warning)], 2)) }
        }
    }
}

/// What casts doubt on all figures; the answer and they come before it.
fn warnings(page: &Page<'_>) -> Markup {
    html! {
        @for warning in page.comparison.warnings() {
            p.callout.alarm { strong { "Warning. " } (warning) "." }
        }
    }
}

/// How base fared against itself.
fn aa_check(judged: &Judged<'_>) -> String {
    let check = judged.verdicts.false_alarms.as_ref().filter(|check| check.verdicts > 0);
    check.map_or_else(String::new, |check| {
        let alarms = words::plural(check.alarms.len(), "false alarm");
        format!(" A/A check: {alarms} in {} verdicts.", check.verdicts)
    })
}

fn tally_title(page: &Page<'_>, detector: Detector) -> String {
    match detector {
        Detector::Cost => format!("Cost per operation ({})", page.cost_metrics(&page.steps)),
        other => words::capitalized(words::subject(other)),
    }
}

/// The number of tests by verdict, as a labelled bar.
fn tally(title: &str, detector: Detector, lines: &[Line<'_>]) -> Markup {
    let mark_of = |line: &Line<'_>| line.all().find(|one| one.detector == detector).map(Mark::from);
    let count = |mark| lines.iter().filter(|line| mark_of(line) == Some(mark)).count();
    let mut counts = Mark::ALL.map(|mark| (mark, count(mark)));
    let likely = count(Mark::Likely);
    for (mark, count) in &mut counts {
        *count = match mark {
            Mark::Likely => 0,
            Mark::Open => *count + likely,
            _ => *count,
        };
    }
    html! {
        div.tally {
            span.tally-title { (title) }
            div.tally-bar aria-hidden="true" {
                @for (mark, count) in counts.iter().filter(|(_, count)| *count > 0) {
                    span.(mark.class()) style=(format!("flex-grow:{count}")) {}
                }
            }
            ul.tally-words {
                @for (mark, count) in counts.iter().filter(|(_, count)| *count > 0) {
                    li.mark.(mark.class()) {
                        span aria-hidden="true" { (mark.symbol()) " " } (count) " " (mark.word(detector))
                        @if *mark == Mark::Open && likely > 0 { ", " (likely) " of them likely" }
                    }
                }
            }
        }
    }
}

/// The changes to check first, each with the first finding of its explanation.
fn changes(page: &Page<'_>, judged: &Judged<'_>, arm: usize, lines: &[Line<'_>]) -> Markup {
    let changed = changed(lines);
    let (not_ranked, changed): (Vec<_>, Vec<_>) =
        changed.into_iter().partition(|(rank, _)| rank.0 == NOT_RANKED);
    let (worse, better): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(rank, _)| rank.0 < IMPROVEMENTS);
    let shown = if page.candidates().len() < MANY { LISTED_MAX } else { LISTED_MAX_OF_MANY };
    // An arm among several has a heading of its own.
    let is_alone = page.candidates().len() == 1;
    let list = |title: &str, lines: &[((u8, f64), &Line<'_>)]| {
        html! {
            @if !lines.is_empty() {
                @if is_alone { h2 { (title) } } @else { h3 { (title) } }
                ol.told {
                    @for (_, line) in lines.iter().take(shown) { (change(page, judged, arm, line)) }
                }
                @if lines.len() > shown {
                    p.more { (lines.len() - shown) " more in the " a href="#verdicts" { "table" } }
                }
            }
        }
    };
    html! {
        (list("Worse or mixed: check these first", &worse))
        (list("Better", &better))
        (list("Not ranked", &not_ranked))
    }
}

fn change(page: &Page<'_>, judged: &Judged<'_>, arm: usize, line: &Line<'_>) -> Markup {
    let changes: Vec<String> = line
        .all()
        .filter(|verdict| verdict.class.is_change())
        .map(|verdict| line.part(verdict, judged))
        .chain(line.missed.iter().map(|missed| missed.text.clone()))
        .collect();
    html! {
        li {
            a href=(page.href(line.test)) { (line.test) } ": " (changes.join("; ")) "."
            @if let Some(finding) = page.first_finding(line.test, arm) { " " span.why { (words::capitalized(&finding)) "." } }
        }
    }
}

/// What the verdicts are based on, and what they could have detected.
fn reliability(judged: &Judged<'_>) -> String {
    let alpha = words::percent(judged.verdicts.rules.alpha);
    let mut detectable: Vec<f64> = judged
        .measured()
        .flat_map(|arm| judged.verdicts.of_arm(arm))
        .filter(|verdict| verdict.detector == Detector::Rate && verdict.blocks >= judged.blocks_min())
        .map(|verdict| verdict.mde80)
        .filter(|share| share.is_finite())
        .collect();
    detectable.sort_by(f64::total_cmp);
    let shown = match (detectable.get(detectable.len() / 2), detectable.last()) {
        (Some(half), Some(last)) => format!(
            " Smallest slowdown that could have been detected (80 % probability): {} in the median test, {} in the worst.",
            words::detectable(*half),
            words::detectable(*last)
        ),
        _ => String::new(),
    };
    let lines = judged.all_lines();
    let is_open = |verdict: &&Verdict| verdict.class == Class::Inconclusive;
    let open = lines.iter().flat_map(Line::judged).filter(is_open).count();
    let open = match open {
        0 => String::new(),
        1 => " 1 verdict is inconclusive: neither a change nor its absence could be established.".to_owned(),
        open => format!(
            " {open} verdicts are inconclusive: neither a change nor its absence could be established."
        ),
    };
    let changed = if judged.verdicts.rules.rates { "slower or faster" } else { "more or less expensive" };
    let measured = match (judged.run.meta.is_imported(), judged.uneven_repeats()) {
        (true, Some(repeats)) => format!("Arms have unequal numbers of repeats: {repeats}"),
        (true, None) => format!("{}, a repeat each", measured_in(judged)),
        // What a pass is, the list below says.
        (false, _) if judged.sample() == "pass" => measured_in(judged),
        (false, _) => {
            let each = if judged.verdicts.blocks_done == 1 { "" } else { "each " };
            format!("{}, {each}{}", measured_in(judged), judged.run.terms().anew)
        }
    };
    if !judged.has_verdicts() {
        return format!("{measured}.");
    }
    format!(
        "{measured}. If nothing changed, at most {alpha} of tests \
         are called {changed} by mistake.{shown}{open}"
    )
}

/// `Every test was measured on every arm in 5 blocks`, of those with valid windows of the arm and base.
fn measured_in(judged: &Judged<'_>) -> String {
    let is_meant = |one: &&Verdict| one.detector.is_rate_or_cost();
    let of_arms = judged.measured().flat_map(|arm| judged.verdicts.of_arm(arm).filter(is_meant));
    let verdicts: Vec<&Verdict> = of_arms.collect();
    let blocks: Vec<usize> = verdicts.iter().map(|one| one.blocks_measured).collect();
    let until = match verdicts.iter().any(|one| one.blocks_measured > one.blocks) {
        true => format!("; verdicts, rates and costs rest on the {} until the last look", judged.samples()),
        false => String::new(),
    };
    match (blocks.iter().min(), blocks.iter().max()) {
        (Some(least), Some(most)) if least < most => {
            let blocks = counted(*most, judged.sample());
            format!("Tests were measured on arms and base in {least} to {blocks}{until}")
        }
        (_, most) => {
            let all = most.copied().unwrap_or(judged.verdicts.blocks_done);
            format!("Every test was measured on every arm in {}{until}", counted(all, judged.sample()))
        }
    }
}

/// How a plan of a sequence gets verdicts.
const MORE_PASSES: PreEscaped<&str> =
    PreEscaped(" A plan with <code>passes = 3</code> or more gives verdicts.");

fn rate_summary(page: &Page<'_>) -> Result<Markup> {
    // What was measured with stands below the answer already.
    let said: Vec<Block> = conditions::blocks(&[(page.run, page.comparison.base_in(page.run))]);
    let is_said = |text: &str| said.iter().any(|one| matches!(one, Block::Text(said) if said == text));
    let is_text = |block: &Block| match block {
        Block::Text(text) => !is_said(text),
        other => matches!(other, Block::Alarm(_) | Block::Items(_)),
    };
    let texts = page.blocks(&[Section::Headline])?.into_iter().filter(is_text);
    let (disturbed, texts): (Vec<Block>, Vec<Block>) =
        texts.partition(|block| matches!(block, Block::Alarm(_)));
    Ok(html! {
        // Of several arms the headlines would push the figure out of sight.
        @let headlines = html! { @for arm in page.candidates() { (rate_headline(page, arm)) } };
        @let is_one = page.candidates().len() == 1;
        @if !disturbed.is_empty() { div.callout.alarm { (blocks::blocks(&disturbed, 2)) } }
        @if is_one { (headlines) }
        (measured_with(page))
        (all_tests::figures(page))
        (warnings(page))
        p.about { (about(page)) }
        @if !is_one { (headlines) }
        @if page.candidates().is_empty() {
        } @else if page.run.meta.is_imported() { p.callout { (ONE_RESULT) } } @else { p.callout {
            strong { "A single pass, without error bars. " }
            @if page.comparison.layout() == Layout::Consecutive {
                (ONE_PASS_OF_CONSECUTIVE) " " (THRESHOLDS) (MORE_PASSES)
            } @else {
                (page.run.terms().single_pass) " " (THRESHOLDS)
                @if page.run.has_independent_tests() {
                    " The protocol " code { "isolated" } " gives verdicts."
                } @else { (MORE_PASSES) }
            }
        } }
        (blocks::blocks(&texts, 2))
    })
}

fn rate_headline(page: &Page<'_>, arm: usize) -> Markup {
    let pair = page.pair(arm);
    let mut ratios: Vec<(f64, &str)> = page
        .steps
        .iter()
        .filter_map(|step| Some((pair.ranked_ratio(&step.name)?, step.name.as_str())))
        .collect();
    ratios.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let below = ratios.iter().filter(|(ratio, _)| number::side_of_band(*ratio) < 0).count();
    let above = ratios.iter().filter(|(ratio, _)| number::side_of_band(*ratio) > 0).count();
    let list = |ratios: &[(f64, &str)]| {
        html! {
            @for (index, (ratio, test)) in ratios.iter().enumerate() {
                @if index > 0 { ", " }
                a href=(page.href(test)) { (test) } (format!(" {ratio:.2}"))
            }
        }
    };
    let (low, high): (Vec<_>, Vec<_>) = (
        ratios.iter().take(below.min(LISTED_MAX)).copied().collect(),
        ratios.iter().rev().take(above.min(LISTED_MAX)).copied().collect(),
    );
    html! {
        div.verdict-of {
            p.headline {
                strong { (page.name(arm)) } " against " strong { (page.comparison.base.arm.name) } ": of "
                (ratios.len()) " tests " (below) " at 0.95 or below, " (above) " at 1.05 or above, "
                (ratios.len() - below - above) " between."
            }
            @if !low.is_empty() { p { "Lowest: " (list(&low)) } }
            @if !high.is_empty() { p { "Highest: " (list(&high)) } }
        }
    }
}
