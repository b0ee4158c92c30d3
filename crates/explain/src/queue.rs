//! Tables used as a queue, with inserts at one end and deletes at the other: what makes deletes more
//! expensive than inserts, and whether background writes kept their rate.
//!
//! Planning the DELETE looks up the smallest key in the index. Entries of deleted rows that are not vacuumed
//! yet are at that end, and planning walks over all of them. So the CPU time of the deleting session grows
//! with the time since the last vacuum, unlike that of the inserting one. EXPLAIN counts the buffers that
//! planning touches, which only those entries change. InnoDB's planning does not do this, but its DELETE
//! steps over the same rows until purge removes them.

use rqps_store::{Recorded, Window};

use crate::context::Context;
use crate::counters::autovacuumed;
use crate::figures::{Cell, Windows};
use crate::foreground::{SESSIONS, WINDOWS};
use crate::model::{Cause, Certainty, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// Minimum factor by which the buffers touched by planning have to grow, and minimum number of buffers. If
/// only the planning time is known: its minimum factor.
const BUFFERS_RATIO_MIN: f64 = 1.3;
const BUFFERS_MIN: f64 = 4.0;
const PLANNING_RATIO_MIN: f64 = 1.5;
/// Minimum factor and number by which unpurged transactions have to grow.
const HISTORY_RATIO_MIN: f64 = 2.0;
const HISTORY_MIN: f64 = 1_000.0;
/// How much more deletes have to change than inserts; otherwise something makes all work more expensive.
/// Counted buffers prove what planning walks over, so any excess will do; a history list affects other
/// readers too.
const BEYOND_INSERTS_PLANNED: f64 = 1.0;
const BEYOND_INSERTS_PURGE: f64 = 1.5;
/// A connection that is on a CPU for at least this share of a step limits its rate.
const BUSY: f64 = 0.8;

/// Whether background writes missed the requested rate in a valid window of a test on one of two arms, among the blocks
/// that both have.
pub(crate) fn missed(windows: &Windows<'_>, test: &str, arms: [usize; 2]) -> bool {
    let windows = arms.map(|arm| windows.of(test, arm));
    windows.iter().zip([1, 0]).any(|(own, other)| common(own, windows[other]).any(has_missed))
}

fn has_missed(window: &Recorded<Window>) -> bool {
    window.metric("background_kept") == Some(0.0)
}

/// Those of an arm's windows in whose block another arm has some, too.
fn common<'a>(
    own: &'a [&'a Recorded<Window>],
    other: &'a [&'a Recorded<Window>],
) -> impl Iterator<Item = &'a Recorded<Window>> {
    let block = |window: &Recorded<Window>| window.placement.map(|at| at.block);
    own.iter().copied().filter(move |one| other.iter().any(|other| block(other) == block(one)))
}

/// Whether the deletes became more expensive than the inserts, whatever the rate is.
pub(crate) fn is_more_expensive(cx: &Context<'_>) -> bool {
    tail(cx).is_some()
}

pub(crate) fn findings(cx: &Context<'_>) -> Vec<Finding> {
    not_comparable(cx).into_iter().chain(tail(cx)).collect()
}

/// CPU time of a role's connections.
fn sessions(cell: Cell<'_>, role: &str) -> Option<f64> {
    cell.metric(&format!("{SESSIONS}{role}"))
}

fn per_deleted_row(cell: Cell<'_>) -> Option<f64> {
    Some(sessions(cell, "delete")? / cell.metric("deleted_rows")?)
}

fn per_inserted_row(cell: Cell<'_>) -> Option<f64> {
    Some(sessions(cell, "insert")? / cell.metric("inserted_rows")?)
}

/// The mean over windows of a figure taken at one moment of each.
fn mean(cell: Cell<'_>, metric: &str) -> Option<f64> {
    Some(cell.metric(metric)? / cell.metric(WINDOWS)?)
}

/// The mean of a figure at the start and at the end of a step.
fn between(cell: Cell<'_>, metric: &str) -> Option<f64> {
    let at = |moment: &str| mean(cell, &format!("{metric}_{moment}"));
    Some(f64::midpoint(at("before")?, at("after")?))
}

/// Background writes that missed their rate: queries had less concurrent work, so rates are not comparable.
fn not_comparable(cx: &Context<'_>) -> Option<Finding> {
    let windows = [cx.base, cx.arm].map(|arm| cx.windows(arm));
    let common = [common(windows[0], windows[1]), common(windows[1], windows[0])];
    let [of_base, of_arm] = common.map(Iterator::collect::<Vec<_>>);
    let missed = [&of_base, &of_arm].map(|windows| windows.iter().any(|window| has_missed(window)));
    if missed == [false, false] {
        return None;
    }
    // As tables show it: the slowest block, since one does not make up for another.
    let slowest = |windows: &[&Recorded<Window>], what: &str| {
        let rates = windows.iter().filter_map(|window| window.metric(what));
        rates.min_by(f64::total_cmp)
    };
    let quantity = |what: &str| {
        let (base, arm) = (slowest(&of_base, what)?, slowest(&of_arm, what)?);
        Some(Quantity { base, arm, half_width: f64::NAN, blocks: of_arm.len() })
    };
    let of = |what: &'static str| {
        let rate = quantity(&format!("background_{what}_per_s"))?;
        Some((what, rate, quantity(&format!("background_target_{what}_per_s"))?))
    };
    let (what, rate, target) = of("rows").or_else(|| of("bytes"))?;
    let unit = format!("{what}/s");
    let (arm, base) = cx.names();
    let format = |name: &str, written: f64, target: f64| {
        let (share, written, target) =
            (words::percent(written / target), words::number(written), words::number(target));
        format!("{name} wrote {written} of {target} {unit} ({share})")
    };
    // The one that missed it by more goes first.
    let mut wrote = [
        (rate.arm / target.arm, format(arm, rate.arm, target.arm)),
        (rate.base / target.base, format(base, rate.base, target.base)),
    ];
    wrote.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [(_, first), (_, second)] = wrote;
    let mut sentence = format!(
        "the background write rate was not sustained: {first}, {second}, so query rates are not comparable"
    );
    for (arm, _) in [(cx.base, missed[0]), (cx.arm, missed[1])].into_iter().filter(|(_, missed)| *missed) {
        sentence.extend(busiest(cx, arm).map(|busy| format!("; {busy}")));
    }
    let evidence = vec![
        Evidence::figure(format!("background {what} written"), &*unit, &rate),
        Evidence::figure(format!("background {what} requested"), &*unit, &target),
    ];
    let finding = cx.finding(Word::NotComparable, Cause::BackgroundRate, sentence, &rate, evidence);
    Some(Finding { weight: 1.0, certainty: Certainty::Fact, ..finding })
}

/// The connection that limited an arm's rate of writes, if one did.
fn busiest(cx: &Context<'_>, arm: usize) -> Option<String> {
    let share = |window: &Recorded<Window>, role: &str| {
        let connections = window.connections.iter().filter(|one| one.role == role);
        connections.map(|one| one.cpu_us / window.result.elapsed_us.max(1) as f64).max_by(f64::total_cmp)
    };
    let windows = cx.windows(arm);
    let mean_share = |role: &'static str| {
        let shares: Vec<f64> = windows.iter().filter_map(|window| share(window, role)).collect();
        (!shares.is_empty()).then(|| (shares.iter().sum::<f64>() / shares.len() as f64, role))
    };
    let found = ["insert", "delete"].into_iter().filter_map(mean_share).max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, role) = found.filter(|(share, _)| *share >= BUSY)?;
    let name = &cx.run.arms[arm].name;
    Some(format!("the {role} session of {name} is on a CPU for {} of the step", words::percent(share)))
}

/// Work at the tail, as a clause with its evidence.
struct Tail {
    clause: String,
    evidence: Vec<Evidence>,
}

impl Tail {
    /// Adds evidence, and appends `phrase` to the clause, with `{}` replaced by the arm's figure, and base's
    /// in parentheses.
    fn add(&mut self, base: &str, phrase: &str, name: &str, unit: &str, found: &Quantity) {
        let phrase = phrase.replace("{}", &words::number(found.arm));
        self.clause.push_str(&format!("{phrase} ({base}: {})", words::number(found.base)));
        self.evidence.push(Evidence::figure(name, unit, found));
    }
}

/// Deletes whose cost grew more than that of inserts while work at the tail grew too.
fn tail(cx: &Context<'_>) -> Option<Finding> {
    let deletes = cx.figures.quantity(per_deleted_row).filter(Quantity::matters)?;
    let inserts = cx.figures.quantity(per_inserted_row)?;
    let expected = inserts.ratio().ln() * if deletes.rose() { 1.0 } else { -1.0 };
    let own = deletes.ratio().ln().abs();
    let exceeds = |times: f64| own.is_finite() && own > times * expected;
    let planned = if exceeds(BEYOND_INSERTS_PLANNED) { planned(cx, deletes.rose()) } else { None };
    let found = match planned {
        None if exceeds(BEYOND_INSERTS_PURGE) => not_purged(cx, deletes.rose()),
        found => found,
    }?;
    let (arm, base) = cx.names();
    let mut evidence = vec![
        Evidence::figure("CPU time of the delete sessions", "us/deleted row", &deletes),
        Evidence::figure("CPU time of the insert sessions", "us/inserted row", &inserts),
    ];
    evidence.extend(found.evidence);
    let sentence = format!(
        "the delete session of {arm} uses {} us of CPU per row, {}, the insert session {} ({base}: {}): {}",
        words::number(deletes.arm),
        words::than(&deletes, base),
        words::number(inserts.arm),
        words::number(inserts.base),
        found.clause
    );
    Some(cx.finding(Word::work(deletes.rose()), Cause::TailEntries, sentence, &deletes, evidence))
}

/// Whether something changed in the given direction, beyond noise, and by the minimum factor.
fn changed(found: &Quantity, rose: bool, ratio: f64, ratio_min: f64) -> bool {
    found.exceeds_noise() && found.rose() == rose && (ratio >= ratio_min || ratio <= 1.0 / ratio_min)
}

/// Index entries that planning walks over.
fn planned(cx: &Context<'_>, rose: bool) -> Option<Tail> {
    let base = cx.names().1;
    let buffers = cx.figures.quantity(|cell| mean(cell, "planning_buffers_after"));
    let time = cx.figures.quantity(|cell| mean(cell, "planning_us_after"));
    let fewer = if rose { "the" } else { "fewer" };
    let clause = format!("planning each DELETE walks {fewer} dead index entries at the tail");
    let mut tail = Tail { clause, evidence: Vec::new() };
    let (name_of_time, unit) = ("time to plan the DELETE", "us");
    if let Some(found) = &buffers {
        let is_large = found.change().abs() >= BUFFERS_MIN;
        if !is_large || !changed(found, rose, found.ratio(), BUFFERS_RATIO_MIN) {
            return None;
        }
        let clause = " and touches {} buffers at the end of the step";
        tail.add(base, clause, "buffers touched planning the DELETE", "buffers", found);
        tail.evidence.extend(time.map(|found| Evidence::figure(name_of_time, unit, &found)));
    } else {
        let found = time.filter(|found| changed(found, rose, found.ratio(), PLANNING_RATIO_MIN))?;
        tail.add(base, " and takes {} us at the end of the step", name_of_time, unit, &found);
    }
    if let Some(dead) = cx.figures.quantity(|cell| between(cell, "dead_rows")) {
        tail.add(base, "; {} dead rows on average", "dead rows, mean of start and end", "rows", &dead);
    }
    if let Some(found) = cx.figures.quantity(autovacuumed) {
        tail.add(base, "; autovacuum finished {} times in the step", "autovacuum runs finished", "", &found);
    }
    let lookups = |cell: Cell<'_>| Some(cell.metric("min_lookup_us")? / cell.metric("min_lookups")?);
    tail.evidence.extend(
        cx.figures
            .quantity(lookups)
            .map(|found| Evidence::figure("lookup of the smallest key", "us", &found)),
    );
    Some(tail)
}

/// Deleted rows that are not purged yet.
fn not_purged(cx: &Context<'_>, rose: bool) -> Option<Tail> {
    let history = cx.figures.quantity(|cell| between(cell, "history_list_length"))?;
    let ratio = history.arm.max(1.0) / history.base.max(1.0);
    if history.change().abs() < HISTORY_MIN || !changed(&history, rose, ratio, HISTORY_RATIO_MIN) {
        return None;
    }
    let fewer = if rose { "the" } else { "fewer" };
    let clause =
        format!("purge lag: each DELETE steps over {fewer} rows at the tail that are deleted but not purged");
    let mut tail = Tail { clause, evidence: Vec::new() };
    let (clause, name) =
        ("; the history list averages {} transactions", "history list length, mean of start and end");
    tail.add(cx.names().1, clause, name, "transactions", &history);
    Some(tail)
}
