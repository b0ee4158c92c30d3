//! How what a run of blocks measures next is told.

use super::next::next_number;
use rqps_model::{counted, part_of};
use rqps_stats::{Detector, Verdict};
use rqps_store::Run;

/// `3 of at most 18 blocks`, `3 of at most 18 blocks, 1 void not counted`
pub(super) fn blocks_text(run: &Run, done: usize, blocks_max: usize) -> String {
    // Of one test, of which others may have fewer.
    let done = match done > blocks_max {
        true => counted(done, "block"),
        false => format!("{done} of at most {}", counted(blocks_max, "block")),
    };
    match run.blocks.len() - run.blocks_done() {
        0 => done,
        void => format!("{done}, {void} void not counted"),
    }
}

/// `block 3 of at least 3`, `block 5, 2 of 3 valid so far, 2 void`: blocks are named by their numbers, which void ones
/// have, too.
pub(super) fn block_text(run: &Run, done: usize, of: Option<&str>) -> String {
    let number = next_number(run);
    let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
    if number as usize == done + 1 {
        return format!("block {number}{of}");
    }
    let void = run.blocks.len() - run.blocks_done();
    let void = if void > 0 { format!(", {void} void") } else { String::new() };
    format!("block {number}, {done}{of} valid so far{void}")
}

/// `3 rates, 1 cost, 2 stalls`
pub(super) fn kinds(open: &[&Verdict]) -> String {
    let of = |detector| open.iter().filter(|verdict| verdict.detector == detector).count();
    let (rates, costs, stalls) = (of(Detector::Rate), of(Detector::Cost), of(Detector::Stalls));
    let others = open.len() - rates - costs - stalls;
    let named = [(rates, "rate"), (costs, "cost"), (stalls, "stall")];
    let named = named.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| counted(count, name));
    let others = (others > 0).then(|| format!("{others} of log or fsyncs"));
    named.chain(others).collect::<Vec<_>>().join(", ")
}

/// The open verdicts, after how many were reached.
pub(super) fn the_open(open: usize, reached: usize) -> String {
    match (reached, open) {
        (0, 1) => "it".to_owned(),
        (0, _) => "them".to_owned(),
        (_, 1) => "the other".to_owned(),
        // Reports count fewer: without stalls and logs.
        _ => "the rest".to_owned(),
    }
}

/// `2 of 6 verdicts on rate and cost reached`, as reports count: without stalls and logs.
pub(super) fn state_of(all: &[&Verdict]) -> String {
    let is_main = |one: &&&Verdict| one.detector.is_rate_or_cost();
    let main: Vec<&Verdict> = all.iter().filter(is_main).copied().collect();
    let all = if main.is_empty() { all } else { &main };
    let reached = all.iter().filter(|one| one.class.is_decided()).count();
    let verdicts = counted(all.len(), "verdict");
    format!("{} reached", part_of(reached, format!("{verdicts}{}", subjects(all))))
}

/// ` on rate and cost`
pub(super) fn subjects(all: &[&Verdict]) -> &'static str {
    if !all.iter().all(|verdict| verdict.detector.is_rate_or_cost()) {
        return "";
    }
    let has = |detector| all.iter().any(|verdict| verdict.detector == detector);
    match (has(Detector::Rate), has(Detector::Cost)) {
        (true, true) => " on rate and cost",
        (true, false) => " on rate",
        (false, true) => " on cost",
        (false, false) => "",
    }
}
