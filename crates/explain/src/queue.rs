//! A table that is a queue: rows come in at one end and are deleted at the other. What makes deletes more expensive
//! than inserts, and whether the writes beside queries were what they should have been.
//!
//! Each planning of the DELETE asks the index for its lowest key. The entries of rows that are deleted and not yet
//! vacuumed lie there, and all of them are walked over: so the deleting session takes more CPU time the longer
//! nobody vacuums, and the inserting one does not. EXPLAIN counts the buffers that planning touches, which nothing
//! but those entries changes. InnoDB plans without that, but its DELETE passes over the same rows until purge has
//! removed them.

use rqps_store::{Recorded, Run, Window};

use crate::context::Context;
use crate::counters::autovacuumed;
use crate::figures::{Cell, windows_of};
use crate::foreground::{SESSIONS, WINDOWS};
use crate::model::{Cause, Certainty, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// How many times as many buffers planning has to touch, or how much longer it has to take, where that is all that is
/// known; and by how many buffers.
const BUFFERS_RATIO_MIN: f64 = 1.3;
const BUFFERS_MIN: f64 = 4.0;
const PLANNING_RATIO_MIN: f64 = 1.5;
/// How many times as many transactions have to wait for purge, and by how many.
const HISTORY_RATIO_MIN: f64 = 2.0;
const HISTORY_MIN: f64 = 1_000.0;
/// By what the change of deletes has to be beyond that of inserts: else something makes all work more expensive.
/// Counted buffers are proof of what planning walks over, so there any more will do; a history list has other readers.
const BEYOND_INSERTS_PLANNED: f64 = 1.0;
const BEYOND_INSERTS_PURGE: f64 = 1.5;
/// A connection that is on a CPU for this share of a step sets its pace.
const BUSY: f64 = 0.8;

/// Whether the test's queries ran beside fewer writes than asked for in a window that counts.
pub(crate) fn missed(run: &Run, test: &str, arm: usize) -> bool {
    windows_of(run, test, arm).into_iter().any(|window| window.metric("background_kept") == Some(0.0))
}

/// Whether one of its sessions became more expensive than the others, whatever the rate is.
pub(crate) fn is_more_expensive(cx: &Context<'_>) -> bool {
    tail(cx).is_some()
}

/// What is found of a queue's step.
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

/// The mean over windows of what is true of a moment.
fn mean(cell: Cell<'_>, metric: &str) -> Option<f64> {
    Some(cell.metric(metric)? / cell.metric(WINDOWS)?)
}

/// What it was on average between the beginning and the end of a step.
fn between(cell: Cell<'_>, metric: &str) -> Option<f64> {
    let at = |moment: &str| mean(cell, &format!("{metric}_{moment}"));
    Some(f64::midpoint(at("before")?, at("after")?))
}

/// Writes that did not come as fast as they should have: then queries had less beside them, and rates say nothing.
fn not_comparable(cx: &Context<'_>) -> Option<Finding> {
    let missed = [cx.base, cx.arm].map(|arm| missed(cx.run, cx.test, arm));
    if missed == [false, false] {
        return None;
    }
    let rate = cx.figures.quantity(|cell| mean(cell, "background_rows_per_s"))?;
    let target = cx.figures.quantity(|cell| mean(cell, "background_target_rows_per_s"))?;
    let (arm, base) = cx.names();
    let wrote = |name: &str, wrote: f64, target: f64| {
        let (share, wrote, target) =
            (words::percent(wrote / target), words::number(wrote), words::number(target));
        format!("{name} wrote {wrote} of {target} rows/s ({share})")
    };
    let mut sentence = format!(
        "the background write rate was not sustained: {}, {}, so query rates are not comparable",
        wrote(arm, rate.arm, target.arm),
        wrote(base, rate.base, target.base)
    );
    for (arm, _) in [(cx.base, missed[0]), (cx.arm, missed[1])].into_iter().filter(|(_, missed)| *missed) {
        sentence.extend(busiest(cx, arm).map(|busy| format!("; {busy}")));
    }
    let evidence = vec![
        Evidence::figure("background rows written", "rows/s", &rate),
        Evidence::figure("background rows requested", "rows/s", &target),
    ];
    let finding = cx.finding(Word::NotComparable, Cause::BackgroundRate, sentence, &rate, evidence);
    Some(Finding { weight: 1.0, certainty: Certainty::Fact, ..finding })
}

/// Which of an arm's connections set the pace of its writes, if one did.
fn busiest(cx: &Context<'_>, arm: usize) -> Option<String> {
    let share = |window: &Recorded<Window>, role: &str| {
        let its = window.connections.iter().filter(|one| one.role == role);
        its.map(|one| one.cpu_us / window.result.elapsed_us.max(1) as f64).max_by(f64::total_cmp)
    };
    let windows = cx.windows(arm);
    let of_role = |role: &'static str| {
        let shares: Vec<f64> = windows.iter().filter_map(|window| share(window, role)).collect();
        (!shares.is_empty()).then(|| (shares.iter().sum::<f64>() / shares.len() as f64, role))
    };
    let found = ["insert", "delete"].into_iter().filter_map(of_role).max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, role) = found.filter(|(share, _)| *share >= BUSY)?;
    let name = &cx.run.arms[arm].name;
    Some(format!("the {role} session of {name} is on a CPU for {} of the step", words::percent(share)))
}

/// What lies at the tail, as a clause with its evidence.
struct Tail {
    says: String,
    evidence: Vec<Evidence>,
}

impl Tail {
    /// Adds evidence, and to the clause what it says of the arm, `{}` being the figure, with base's behind it.
    fn add(&mut self, base: &str, says: &str, name: &str, unit: &str, found: &Quantity) {
        let said = says.replace("{}", &words::number(found.arm));
        self.says.push_str(&format!("{said} ({base}: {})", words::number(found.base)));
        self.evidence.push(Evidence::figure(name, unit, found));
    }
}

/// Deletes whose cost grew beyond that of inserts, where what lies at the tail grew along.
fn tail(cx: &Context<'_>) -> Option<Finding> {
    let deletes = cx.figures.quantity(per_deleted_row).filter(Quantity::matters)?;
    let inserts = cx.figures.quantity(per_inserted_row)?;
    let along = inserts.ratio().ln() * if deletes.rose() { 1.0 } else { -1.0 };
    let own = deletes.ratio().ln().abs();
    let is_beyond = |times: f64| own.is_finite() && own > times * along;
    let planned = if is_beyond(BEYOND_INSERTS_PLANNED) { planned(cx, deletes.rose()) } else { None };
    let found = match planned {
        None if is_beyond(BEYOND_INSERTS_PURGE) => not_purged(cx, deletes.rose()),
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
        found.says
    );
    Some(cx.finding(Word::work(deletes.rose()), Cause::TailEntries, sentence, &deletes, evidence))
}

/// Whether something changed that way, beyond noise, and by that factor.
fn changed(found: &Quantity, rose: bool, ratio: f64, ratio_min: f64) -> bool {
    found.stands_out() && found.rose() == rose && (ratio >= ratio_min || ratio <= 1.0 / ratio_min)
}

/// Index entries that planning walks over.
fn planned(cx: &Context<'_>, rose: bool) -> Option<Tail> {
    let base = cx.names().1;
    let buffers = cx.figures.quantity(|cell| mean(cell, "planning_buffers_after"));
    let time = cx.figures.quantity(|cell| mean(cell, "planning_us_after"));
    let fewer = if rose { "the" } else { "fewer" };
    let says = format!("planning each DELETE walks {fewer} dead index entries at the tail");
    let mut tail = Tail { says, evidence: Vec::new() };
    let (name_of_time, unit) = ("time to plan the DELETE", "us");
    if let Some(found) = &buffers {
        let is_large = found.change().abs() >= BUFFERS_MIN;
        if !is_large || !changed(found, rose, found.ratio(), BUFFERS_RATIO_MIN) {
            return None;
        }
        let says = " and touches {} buffers at the end of the step";
        tail.add(base, says, "buffers touched planning the DELETE", "buffers", found);
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

/// Rows that are marked as deleted and wait for purge.
fn not_purged(cx: &Context<'_>, rose: bool) -> Option<Tail> {
    let history = cx.figures.quantity(|cell| between(cell, "history_list_length"))?;
    let ratio = history.arm.max(1.0) / history.base.max(1.0);
    if history.change().abs() < HISTORY_MIN || !changed(&history, rose, ratio, HISTORY_RATIO_MIN) {
        return None;
    }
    let fewer = if rose { "the" } else { "fewer" };
    let says =
        format!("purge lag: each DELETE steps over {fewer} rows at the tail that are deleted but not purged");
    let mut tail = Tail { says, evidence: Vec::new() };
    let (says, name) =
        ("; the history list averages {} transactions", "history list length, mean of start and end");
    tail.add(cx.names().1, says, name, "transactions", &history);
    Some(tail)
}
