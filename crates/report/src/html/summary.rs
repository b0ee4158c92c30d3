//! The summary: which tests got slower, how reliable that is, and why the worst of them did.

use maud::{Markup, html};
use rqps_stats::{Class, Detector, Verdict};
use rqps_store::counted;

use super::marks::{Mark, subject};
use super::{Page, anchor};
use crate::document::Block;
use crate::error::Result;
use crate::markdown_report::ONE_PASS_OF_CONSECUTIVE;
use crate::number;
use crate::render::html as blocks;
use crate::section::Section;
use crate::sides::Layout;
use crate::tables::{host, trust};
use crate::verdict_lines::{IMPROVEMENTS, Judged, Line, changed};
use crate::words;

/// Changes listed in the summary, per direction; with many variants fewer of each.
const LISTED_MAX: usize = 5;
const LISTED_MAX_OF_MANY: usize = 2;
/// From this many variants on there are many.
const MANY: usize = 4;

/// The summary, with the title of the page.
pub(super) fn section(page: &Page<'_>) -> Result<Markup> {
    Ok(html! {
        section #summary {
            h1 { (title(page)) }
            p.about { (about(page)) }
            @for warning in page.sides.warnings() {
                p.callout.alarm { strong { "Warning. " } (warning) "." }
            }
            @match &page.judged {
                Some(judged) => (of_verdicts(page, judged)),
                None => (of_rates(page)?),
            }
        }
    })
}

fn title(page: &Page<'_>) -> String {
    let base = page.sides.base.arm;
    let name = |arm: &rqps_store::Arm| format!("{} {}", words::dbms(&arm.dbms), arm.build_version);
    let candidates = page.candidates();
    let same_build = |arm: usize| page.run.arms[arm].build_hash == base.build_hash;
    match candidates.as_slice() {
        [] => name(base),
        [one] if same_build(*one) => format!("{} against {}", page.name(*one), base.name),
        [one] => format!("{} against {}", name(&page.run.arms[*one]), name(base)),
        several => format!("{} variants against {}", several.len(), name(base)),
    }
}

fn about(page: &Page<'_>) -> String {
    let meta = &page.run.meta;
    let host = |key: &str| page.run.host.iter().find(|fact| fact.key == key).map(|fact| fact.value.as_str());
    let cpus = host("cpus_online").map(|cpus| format!(" ({cpus} CPUs)")).unwrap_or_default();
    let machine = host("cpu_model").map(|cpu| format!(", on {cpu}{cpus}"));
    format!(
        "{}, {} with {}{}{}. Started {}, {}.",
        meta.workload_title,
        counted(page.steps.len(), "test"),
        counted(meta.clients as usize, "client"),
        host::driven_by(page.run),
        machine.unwrap_or_default(),
        number::utc(meta.created_at_ms),
        page.run.status.status
    )
}

fn of_verdicts(page: &Page<'_>, judged: &Judged<'_>) -> Markup {
    let trust = trust::lines(judged);
    html! {
        @for arm in judged.candidates() {
            @let lines = judged.lines(arm, |_| true);
            div.verdict-of {
                p.headline { (headline_of(page, judged, arm, &lines)) }
                (tally("Rate", Detector::Rate, &lines))
                (tally(&format!("Cost per operation ({})", page.cost_of()), Detector::Cost, &lines))
                @for detector in page.detectors().into_iter().skip(2) {
                    (tally(&capital(subject(detector)), detector, &lines))
                }
                (changes(page, judged, arm, &lines))
            }
        }
        @for line in trust.iter().filter(|line| line.is_alarm) { p.callout.alarm { (line.text) "." } }
        h2 { "How reliable is this?" }
        p { (reliability(judged)) }
        ul { @for line in trust.iter().filter(|line| !line.is_alarm) { li { (line.text) } } }
    }
}

/// `pg18 against pg17: 3 of 32 tests are slower (worst: scan 0.873), 5 faster, 24 the same; …`.
fn headline_of(page: &Page<'_>, judged: &Judged<'_>, arm: usize, lines: &[Line<'_>]) -> Markup {
    let rates = || lines.iter().filter_map(|line| line.rate);
    let count = |mark: Mark| rates().filter(|verdict| Mark::from(*verdict) == mark).count();
    let far = |mark: Mark| {
        let changed = rates().filter(move |verdict| Mark::from(*verdict) == mark);
        let far = changed.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()));
        far.map(|verdict| format!("{} {:.2}", verdict.test, verdict.ratio))
    };
    let named =
        |what: &str, one: Option<String>| one.map(|one| format!(" ({what}: {one})")).unwrap_or_default();
    let (slower, faster) = (count(Mark::Worse), count(Mark::Better));
    let tests = rates().count();
    html! {
        strong { (page.name(arm)) } " against " strong { (page.name(judged.base)) } ": "
        (slower) " of " (tests) (if tests == 1 { " test" } else { " tests" })
        (if slower == 1 { " is" } else { " are" }) " slower" (named("worst", far(Mark::Worse))) ", "
        (faster) " faster" (named("most", far(Mark::Better))) ", "
        (count(Mark::Same)) " the same"
        @if count(Mark::Open) > 0 { ", " (count(Mark::Open)) " inconclusive" }
        (costs(lines))
        @if let Some(check) = &judged.verdicts.false_alarms {
            "; A/A check: " (words::many(check.alarms.len(), "false alarm")) " in " (check.verdicts)
        }
        "."
    }
}

/// `; an operation costs more in 20, less in 11`: nothing where no cost has changed.
fn costs(lines: &[Line<'_>]) -> String {
    let count = |mark: Mark| {
        lines.iter().filter_map(|line| line.cost).filter(|verdict| Mark::from(*verdict) == mark).count()
    };
    match (count(Mark::Worse), count(Mark::Better)) {
        (0, 0) => String::new(),
        (more, 0) => format!("; cost per operation is higher in {more}"),
        (0, less) => format!("; cost per operation is lower in {less}"),
        (more, less) => format!("; cost per operation is higher in {more}, lower in {less}"),
    }
}

/// With a capital first letter.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// How many tests of each kind, as a bar whose parts are labelled.
fn tally(title: &str, detector: Detector, lines: &[Line<'_>]) -> Markup {
    let of = |line: &Line<'_>| line.all().find(|one| one.detector == detector).map(Mark::from);
    let counts = Mark::ALL.map(|mark| (mark, lines.iter().filter(|line| of(line) == Some(mark)).count()));
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
                    }
                }
            }
        }
    }
}

/// The changes to look at first, each with its first reason.
fn changes(page: &Page<'_>, judged: &Judged<'_>, arm: usize, lines: &[Line<'_>]) -> Markup {
    let changed = changed(lines);
    let (worse, better): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(rank, _)| rank.0 < IMPROVEMENTS);
    let most = if page.candidates().len() < MANY { LISTED_MAX } else { LISTED_MAX_OF_MANY };
    let list = |title: &str, of: &[((u8, f64), &Line<'_>)]| {
        html! {
            @if !of.is_empty() {
                h2 { (title) }
                ol.told {
                    @for (_, line) in of.iter().take(most) { (change(page, judged, arm, line)) }
                }
                @if of.len() > most {
                    p.more { (of.len() - most) " more in the " a href="#verdicts" { "table" } }
                }
            }
        }
    };
    html! {
        (list("Worse or mixed: check these first", &worse))
        (list("Better", &better))
    }
}

fn change(page: &Page<'_>, judged: &Judged<'_>, arm: usize, line: &Line<'_>) -> Markup {
    let changes: Vec<String> = line
        .all()
        .filter(|verdict| verdict.class.is_change())
        .map(|verdict| line.part(verdict, judged))
        .chain(line.missed.iter().map(|missed| missed.text.clone()))
        .collect();
    let why = page.first_reason(line.test, arm);
    html! {
        li {
            a href=(format!("#{}", anchor(line.test))) { (line.test) } ": " (changes.join("; ")) "."
            @if let Some(why) = why { " " span.why { (why) "." } }
        }
    }
}

/// What the verdicts are based on, in two sentences.
fn reliability(judged: &Judged<'_>) -> String {
    let alpha = words::percent(judged.verdicts.rules.alpha);
    let done = counted(judged.verdicts.blocks_done, "block");
    let mut detectable: Vec<f64> = judged
        .candidates()
        .flat_map(|arm| judged.verdicts.of_arm(arm))
        .filter(|verdict| verdict.detector == Detector::Rate)
        .map(|verdict| verdict.mde80)
        .filter(|share| share.is_finite())
        .collect();
    detectable.sort_by(f64::total_cmp);
    let shown = match (detectable.get(detectable.len() / 2), detectable.last()) {
        (Some(half), Some(last)) => format!(
            " Smallest slowdown that could have been detected (80 % probability): {} in the median test, {} in the worst.",
            words::percent(*half),
            words::percent(*last)
        ),
        _ => String::new(),
    };
    let is_open = |verdict: &&Verdict| {
        verdict.class == Class::Inconclusive && matches!(verdict.detector, Detector::Rate | Detector::Cost)
    };
    let open = judged.verdicts.on_candidates().filter(is_open).count();
    let open = match open {
        0 => String::new(),
        1 => " 1 verdict is inconclusive: neither a change nor its absence could be established.".to_owned(),
        many => format!(
            " {many} verdicts are inconclusive: neither a change nor its absence could be established."
        ),
    };
    format!(
        "Every test was measured on every arm in {done}, each after a restart. If nothing changed, at most {alpha} of tests \
         are called slower or faster by mistake.{shown}{open}"
    )
}

fn of_rates(page: &Page<'_>) -> Result<Markup> {
    let text = |block: &Block| matches!(block, Block::Text(_) | Block::Alarm(_) | Block::Items(_));
    let said: Vec<Block> = page.blocks(&[Section::Headline])?.into_iter().filter(text).collect();
    let (disturbed, said): (Vec<Block>, Vec<Block>) =
        said.into_iter().partition(|block| matches!(block, Block::Alarm(_)));
    Ok(html! {
        @for arm in page.candidates() { (headline_of_rates(page, arm)) }
        @if !disturbed.is_empty() { div.callout.alarm { (blocks::blocks(&disturbed, 2)) } }
        p.callout {
            strong { "A single pass, without error bars. " }
            @if page.sides.layout() == Layout::Consecutive {
                (ONE_PASS_OF_CONSECUTIVE) " A plan with " code { "passes = 3" } " or more gives verdicts."
            } @else {
                "Every figure is from one server start and one window per test. Differences of a few percent cannot be \
                 distinguished from noise: published repetitions of this kind of benchmark differ by 1 to 2 % in the \
                 median, by 2 to 10 % for one test in twenty. The thresholds 0.95 and 1.05 help with reading; they are \
                 not a test of significance. "
                "The protocol " code { "isolated" } " gives verdicts."
            }
        }
        (blocks::blocks(&said, 2))
    })
}

fn headline_of_rates(page: &Page<'_>, arm: usize) -> Markup {
    let mut ratios: Vec<(f64, &str)> = page
        .steps
        .iter()
        .filter_map(|step| Some((page.ranked_ratio(arm, &step.name)?, step.name.as_str())))
        .collect();
    ratios.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let below = ratios.iter().filter(|(ratio, _)| number::side_of_band(*ratio) < 0).count();
    let above = ratios.iter().filter(|(ratio, _)| number::side_of_band(*ratio) > 0).count();
    let named = |of: &[(f64, &str)]| {
        html! {
            @for (place, (ratio, test)) in of.iter().enumerate() {
                @if place > 0 { ", " }
                a href=(format!("#{}", anchor(test))) { (test) } (format!(" {ratio:.2}"))
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
                strong { (page.name(arm)) } " against " strong { (page.sides.base.arm.name) } ": of "
                (ratios.len()) " tests " (below) " at 0.95 or below, " (above) " at 1.05 or above, "
                (ratios.len() - below - above) " between."
            }
            @if !low.is_empty() { p { "Lowest: " (named(&low)) } }
            @if !high.is_empty() { p { "Highest: " (named(&high)) } }
        }
    }
}
