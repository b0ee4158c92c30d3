//! Verdicts in plain words: names of classes, sentences about ratios and metrics, durations.

use std::borrow::Borrow;

use rqps_model::{Dbms, Digits, Measure};
use rqps_stats::{Class, Detector, Metric, Tag, Verdict};
use rqps_store::{Run, Status};
use rqps_verdicts::{HostRemark, Remark, RunVerdicts, UnlikeData};

use crate::document::{Cell, Tint};

/// From this ratio on, a change is given as a multiple, not a percentage.
const TIMES_FROM: f64 = 2.0;

/// The DBMS's display name; an unknown name is returned unchanged.
pub(crate) fn dbms(name: &str) -> &str {
    name.parse::<Dbms>().map_or(name, |dbms| dbms.title())
}

/// With a capital as its first letter, as at the beginning of a sentence.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What those are called who work at the same time in a run, singular.
pub(crate) fn client_noun(run: &Run) -> &'static str {
    run.windows.first().map_or("client", |window| window.result.unit.client_noun())
}

/// A run's state, with what continues an interrupted one, and what ended one of blocks.
pub(crate) fn state(run: &Run) -> String {
    match (run.state(), &run.status.reason) {
        (Status::Interrupted, _) => {
            format!("interrupted; `rqps resume {}` continues it", run.folder.name())
        }
        (Status::Complete, Some(why)) => format!("ended: {why}"),
        (state, _) => state.to_string(),
    }
}

/// A verdict's name in tables, CSV and JSON: its class, or `mixed`.
pub(crate) fn verdict(verdict: &Verdict) -> &'static str {
    if verdict.is_mixed() { "mixed" } else { verdict.class.key() }
}

/// A verdict as a cell.
pub(crate) fn verdict_cell(one: &Verdict) -> Cell {
    let tint = match one.class {
        _ if one.is_mixed() => Tint::None,
        Class::Regression { .. } => Tint::Red,
        Class::Improvement { .. } => Tint::Green,
        Class::Same | Class::Inconclusive => Tint::None,
    };
    Cell { tint, ..Cell::words(verdict(one)) }
}

/// The detector's subject in a word or two.
pub(crate) fn subject(detector: Detector) -> &'static str {
    let resource = detector.measure().filter(|_| detector.is_resource());
    resource.map_or(detector.key(), |measure| measure.label)
}

/// A count and a noun, whose plural ends in s: `1 false alarm`, `3 false alarms`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A share in percent: two decimals below 1 %, else one.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 0.995 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}

/// The smallest change that matters: `2.0 %`, or of what operations have little of `0.01 per operation`.
pub(crate) fn what_matters(one: &Verdict) -> String {
    match one.mei_is_per_op {
        true => format!("{} per operation", one.metric.measure().per_op_min),
        false => percent(one.mei),
    }
}

/// The smallest change that could have been detected.
pub(crate) fn detectable(share: f64) -> String {
    match share {
        0.0 => "any change".to_owned(),
        beyond if beyond > 1.0 => "over 100 %".to_owned(),
        whole if whole > 0.999 => "over 99.9 %".to_owned(),
        share => percent(share),
    }
}

/// As a list, if there are at most so many; of more the first.
pub(crate) fn names<S: Borrow<str>>(all: &[S], most: usize) -> String {
    match all.len().saturating_sub(most) {
        0 => all.join(", "),
        more => format!("{} and {more} more", all[..most].join(", ")),
    }
}

/// A level of confidence: `99 %`, `99.92 %`.
pub(crate) fn level(share: f64) -> String {
    format!("{:.2} %", share * 100.0).replace(".00 %", " %")
}

/// Most decimals of a change in percent.
const DECIMALS_MAX: usize = 3;

/// The change in percent, positive in its own direction: at most three digits.
fn in_percent(one: &Verdict) -> Digits {
    let percent = ((one.ratio - 1.0) * 100.0).abs();
    let decimals_max = match percent.is_finite() && percent > 0.0 {
        true => (2.0 - percent.log10().floor()).clamp(0.0, DECIMALS_MAX as f64) as usize,
        false => DECIMALS_MAX,
    };
    let digits = Digits::of_percent((one.low, one.high), decimals_max).telling_sides();
    if one.ratio < 1.0 { digits.negated() } else { digits }
}

/// `3.1 % slower (2.4 to 3.9 %)`, `executes 4.0 % more instructions (3.9 to 4.1 %)`.
pub(crate) fn change(one: &Verdict) -> String {
    let size = size(one);
    match (one.metric, one.ratio < 1.0) {
        (Metric::Rate, true) => format!("{size} slower{}", interval(one)),
        (Metric::Rate, false) => format!("{size} faster{}", interval(one)),
        (Metric::StallFactor, _) if one.ratio >= TIMES_FROM => {
            format!("stalls make it take {} times as long{}", times(one).text(one.ratio), in_times(one))
        }
        (Metric::StallFactor, less) => {
            format!("stalls take {size} {} of the time{}", if less { "less" } else { "more" }, interval(one))
        }
        (metric, less) => {
            let Measure { verb, noun: name, is_countable: few, .. } = metric.measure();
            let direction = if less { self::less(&[metric]) } else { "more" };
            if one.ratio.is_infinite() {
                return format!("{verb} {name}; base needs none");
            }
            if one.ratio >= TIMES_FROM {
                let much = if *few { "many" } else { "much" };
                return format!(
                    "{verb} {} times as {much} {name}{}",
                    times(one).text(one.ratio),
                    in_times(one)
                );
            }
            format!("{verb} {size} {direction} {name}{}", interval(one))
        }
    }
}

/// A change of rate or cost without its interval: `3.1 % slower`, `4.0 % more instructions`.
pub(crate) fn change_in_short(one: &Verdict) -> String {
    let Measure { noun, is_countable: few, .. } = one.metric.measure();
    match (one.detector, one.ratio < 1.0) {
        (Detector::Rate, true) => format!("{} slower", size(one)),
        (Detector::Rate, false) => format!("{} faster", size(one)),
        (_, false) if one.ratio >= TIMES_FROM => {
            format!("{} times as {} {noun}", times(one).text(one.ratio), if *few { "many" } else { "much" })
        }
        (_, is_less) => {
            format!("{} {} {noun}", size(one), if is_less { less(&[one.metric]) } else { "more" })
        }
    }
}

/// `0.03 (0.01 to 0.11) times base's rate`, or `CPU time`
pub(crate) fn times_base(verdict: &Verdict) -> String {
    let digits = Digits::of_ratio((verdict.low, verdict.high), 2);
    let interval = digits.interval().map(|interval| format!(" ({interval})")).unwrap_or_default();
    let of = if verdict.detector == Detector::Rate { "rate" } else { "CPU time" };
    format!("{}{interval} times base's {of}", digits.text(verdict.ratio))
}

/// What is said of a lower amount of these.
pub fn less(metrics: &[Metric]) -> &'static str {
    if metrics.iter().all(|metric| metric.measure().is_countable) { "fewer" } else { "less" }
}

/// A change as a multiple.
fn times(one: &Verdict) -> Digits {
    Digits::of_ratio((one.low, one.high), 1)
}

/// ` (2.8 to 3.4)`.
fn in_times(one: &Verdict) -> String {
    times(one).interval().map_or_else(String::new, |interval| format!(" ({interval})"))
}

fn size(one: &Verdict) -> String {
    format!("{} %", in_percent(one).text((one.ratio - 1.0).abs() * 100.0))
}

/// ` (2.4 to 3.9 %)`: the interval of the change; empty if there is none.
fn interval(one: &Verdict) -> String {
    if one.tags.contains(&Tag::Exact) && one.low == one.high {
        return " (in every block)".to_owned();
    }
    in_percent(one).interval().map_or_else(String::new, |interval| format!(" ({interval} %)"))
}

/// A change with its sign, `+8 % (-2 to +18 %)`, with the digits of ratios in tables; `None` if it is unknown.
pub(crate) fn signed_change(one: &Verdict) -> Option<String> {
    let change = (one.ratio - 1.0) * 100.0;
    let digits = Digits::of_percent((one.low, one.high), 2);
    let interval = digits.signed_interval().map_or_else(String::new, |interval| format!(" ({interval} %)"));
    change.is_finite().then(|| format!("{} %{interval}", digits.signed(change)))
}

/// Remarks on a verdict, each a few words.
pub(crate) fn remarks(verdict: &Verdict) -> Vec<String> {
    let mut remarks = Vec::new();
    if RunVerdicts::has_one_ratio(verdict) {
        remarks.push(
            "its repeats have one and the same ratio to the last digit, so they are not independent"
                .to_owned(),
        );
    }
    if let Class::Regression { proven: false } | Class::Improvement { proven: false } = verdict.class {
        let nearest = if verdict.low > 1.0 { verdict.low - 1.0 } else { 1.0 - verdict.high };
        remarks.push(match nearest > verdict.mei {
            true => "its size takes more blocks to confirm".to_owned(),
            false => format!("may be smaller than the {} that matters", what_matters(verdict)),
        });
    }
    remarks.extend(verdict.tags.iter().filter_map(|tag| match tag {
        Tag::TinyShift => {
            Some(format!("a real change, but smaller than the {} that matters", what_matters(verdict)))
        }
        Tag::Bimodal => {
            Some("bimodal: the blocks are of two kinds, as if the arm were in one of two states".to_owned())
        }
        Tag::OutlierBlock => {
            let digits = Digits::of_ratio((verdict.low, verdict.high), DECIMALS_MAX);
            Some(format!(
                "outlier block: with it downweighted the ratio is {}",
                digits.text(verdict.huber_ratio)
            ))
        }
        Tag::LaterBlocksDisagree if verdict.class == Class::Inconclusive => {
            Some("earlier blocks showed a change that later ones do not confirm".to_owned())
        }
        Tag::LaterBlocksDisagree => Some("later blocks do not confirm it".to_owned()),
        Tag::Mixed => {
            let names: Vec<&str> = verdict.opposed_by.iter().map(|opposed| opposed.measure().label).collect();
            Some(format!("mixed: {} moved the other way", names.join(", ")))
        }
        Tag::Likely if verdict.tags.iter().any(|tag| matches!(tag, Tag::FewBlocks | Tag::NotSignificant)) => {
            None
        }
        Tag::Likely => Some("likely".to_owned()),
        Tag::NotSignificant => Some("likely: may be chance among so many verdicts".to_owned()),
        Tag::FewBlocks => Some(format!("likely: {}", few_blocks(verdict))),
        Tag::BeyondLooks if verdict.looks_reached == 0 => Some("too few blocks".to_owned()),
        Tag::BeyondLooks => Some("too noisy".to_owned()),
        Tag::TooShort => Some("not measured long enough to rule out stalls".to_owned()),
        Tag::Exact | Tag::Zeros | Tag::FromZero => None,
    }));
    remarks
}

/// Why a count that differs in every block is not established.
pub(crate) fn few_blocks(verdict: &Verdict) -> String {
    let enough = verdict.blocks_enough().map(|blocks| format!("; {blocks} would do")).unwrap_or_default();
    format!("seen in all {} blocks, too few to establish a change of a count{enough}", verdict.blocks)
}

/// A remark on a test of an arm.
pub(crate) fn remark(remark: &Remark) -> String {
    match remark {
        Remark::NoSteadyState { last_over_first: Some(ratio) } => format!(
            "no steady state: its rate changes by {:+.1} % from the first to the last window of a block",
            (ratio - 1.0) * 100.0
        ),
        Remark::NoSteadyState { last_over_first: None } => {
            "no steady state: its rate shifts to another level within windows".to_owned()
        }
        Remark::InTotal { ratio } => format!(
            "in all its time, stalls and interruptions included, the rate is {} times base's",
            crate::number::significant(*ratio, 2)
        ),
        Remark::LayoutSuspect => {
            "layout suspect: the rate changed and the number of instructions did not; it waits more or less, or its code is laid out differently in memory"
                .to_owned()
        }
        Remark::CountsPart { instructions, cpu_us } => format!(
            "instruction counts not used: instructions ({instructions:.2} times base's) and CPU time ({cpu_us:.2} times) \
             disagree too much"
        ),
        Remark::UnlikeData(UnlikeData::NotAllVisible { table, pages, of }) => {
            format!("data differ: {pages} of {of} pages of {table} are not all-visible")
        }
        Remark::UnlikeData(UnlikeData::LoadsDiffer { key, values }) => {
            format!("data differ: loads have different {key}: {}", values.join(", "))
        }
    }
}

/// What canaries measure.
const CANARIES: [(&str, &str); 3] =
    [("spin_ns", "a fixed loop"), ("memory_ns", "loads from memory"), ("fsync_us", "a write to the disk")];

fn work_of(canary: &str) -> &'static str {
    CANARIES.iter().find(|(name, _)| *name == canary).map_or("fixed work", |(_, work)| work)
}

/// `before and after the block, spin_ns: the time of a fixed loop, …`.
pub(crate) fn canaries(names: &[&str]) -> String {
    let each: Vec<String> =
        names.iter().map(|name| format!("{name}: the time of {}", work_of(name))).collect();
    format!("before and after the block, {}", each.join("; "))
}

/// Remarks on the host, of a run that counts instructions or does not; those about canaries are combined into one.
pub fn host_remarks(remarks: &[HostRemark], has_instructions: bool) -> Vec<String> {
    let (mut texts, mut canaries) = (Vec::new(), Vec::new());
    for remark in remarks {
        match remark {
            HostRemark::ManyVoid { void, cut_off, done } => {
                let cut_off = match cut_off {
                    0 => String::new(),
                    count => format!(" ({count} ended with rqps, which says nothing about the host)"),
                };
                texts.push(format!(
                    "{void} of {} blocks are void{cut_off}, so that the others may be no fair sample: section blocks of \
                     `rqps show` says why. If the machine was busy, measure again on a quiet one",
                    void + done
                ));
            }
            HostRemark::CanaryMoved { name, ratio } => {
                canaries.push(format!("the time of {} ({name}) varied {ratio:.1}-fold", work_of(name)));
            }
        }
    }
    if !canaries.is_empty() {
        let suffer = if has_instructions { ", counted instructions do not" } else { "" };
        texts.push(format!(
            "noisy machine: around valid blocks, {}. Other programs use this machine, or its CPU frequency changes; \
             see section blocks of `rqps show`. Rates suffer most{suffer}",
            canaries.join(", ")
        ));
    }
    texts
}
