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
use crate::figures::{Cell, windows_of};
use crate::model::{Cause, Certainty, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// Key of the CPU time of all connections of a role, before the role.
const SESSIONS: &str = "sessions_cpu_us.";
/// Key of the number of windows.
const WINDOWS: &str = "queue_windows";
/// Role of connections that query.
const QUERY: &str = "query";

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

/// Whether a window is of a step whose clients have several connections each.
fn is_of_queue(window: &Recorded<Window>) -> bool {
    window.connections.iter().any(|one| !one.role.is_empty())
}

/// Whether the test's queries ran beside fewer writes than asked for in a window that counts.
pub(crate) fn missed(run: &Run, test: &str, arm: usize) -> bool {
    windows_of(run, test, arm).into_iter().any(|window| window.metric("background_kept") == Some(0.0))
}

/// What a window of such a step adds to an arm's totals: CPU time by role, and what an operation's time is made of,
/// which is that of connections that query or, where none does, insert and delete.
pub(crate) struct Foreground {
    /// Connections whose time an operation takes.
    pub connections: u32,
    /// CPU time of the server for them, microseconds.
    pub server_us: f64,
    /// CPU time of the client's threads that use them, microseconds; none where it is not known.
    pub client_us: Option<f64>,
    pub totals: Vec<(String, f64)>,
}

impl Foreground {
    pub fn of(window: &Recorded<Window>) -> Option<Self> {
        if !is_of_queue(window) {
            return None;
        }
        let queries = window.connections.iter().any(|one| one.role == QUERY);
        let roles: &[&str] = if queries { &[QUERY] } else { &["insert", "delete"] };
        let its = || window.connections.iter().filter(|one| roles.contains(&one.role.as_str()));
        let threads: Vec<f64> =
            roles.iter().filter_map(|role| window.metric(&format!("client_{role}_cpu_us"))).collect();
        let by_role = window.connections.iter().map(|one| (format!("{SESSIONS}{}", one.role), one.cpu_us));
        Some(Self {
            connections: its().count() as u32,
            server_us: its().map(|one| one.cpu_us).sum(),
            client_us: (!threads.is_empty()).then(|| threads.iter().sum()),
            totals: by_role.chain([(WINDOWS.to_owned(), 1.0)]).collect(),
        })
    }
}

/// Whether one of its sessions became more expensive than the others, whatever the rate is.
pub(crate) fn is_more_expensive(cx: &Context<'_>) -> bool {
    tail(cx).is_some()
}

/// What is found of a queue's step.
pub(crate) fn of_test(cx: &Context<'_>) -> Vec<Finding> {
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
    let rate = cx.figures.of(|cell| mean(cell, "background_rows_per_s"))?;
    let target = cx.figures.of(|cell| mean(cell, "background_target_rows_per_s"))?;
    let (base, arm) = (cx.base_arm().name.as_str(), cx.its_arm().name.as_str());
    let said = |name: &str, kept: f64, asked: f64| {
        let (share, kept, asked) = (words::percent(kept / asked), words::number(kept), words::number(asked));
        format!("{name} did {kept} of {asked} ({share})")
    };
    let busy: Vec<String> = [(cx.base, missed[0]), (cx.arm, missed[1])]
        .into_iter()
        .filter(|(_, missed)| *missed)
        .filter_map(|(arm, _)| busiest(cx, arm))
        .collect();
    let busy = if busy.is_empty() { String::new() } else { format!("; {}", busy.join("; ")) };
    Some(Finding {
        word: Word::NotComparable,
        cause: Cause::BackgroundRate,
        sentence: format!(
            "background rows per second were not kept: {}, {}; so the rates of queries are not comparable{busy}",
            said(arm, rate.arm, target.arm),
            said(base, rate.base, target.base)
        ),
        weight: 1.0,
        certainty: Certainty::Fact,
        evidence: vec![
            Evidence::of("background rows that came", "rows/s", &rate),
            Evidence::of("background rows asked for", "rows/s", &target),
        ],
    })
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

/// What stands at the tail, as the evidence tells it.
struct Tail {
    says: String,
    evidence: Vec<Evidence>,
}

/// Deletes whose cost grew beyond that of inserts, where what lies at the tail grew along.
fn tail(cx: &Context<'_>) -> Option<Finding> {
    let deletes = cx.figures.of(per_deleted_row).filter(Quantity::matters)?;
    let inserts = cx.figures.of(per_inserted_row)?;
    let along = inserts.ratio().ln() * if deletes.rose() { 1.0 } else { -1.0 };
    let own = deletes.ratio().ln().abs();
    let is_beyond = |times: f64| own.is_finite() && own > times * along;
    let planned = if is_beyond(BEYOND_INSERTS_PLANNED) { planned(cx, deletes.rose()) } else { None };
    let found = match planned {
        None if is_beyond(BEYOND_INSERTS_PURGE) => not_purged(cx, deletes.rose()),
        found => found,
    }?;
    let (base, arm) = (cx.base_arm().name.as_str(), cx.its_arm().name.as_str());
    let mut evidence = vec![
        Evidence::of("CPU time of the delete sessions", "us/deleted row", &deletes),
        Evidence::of("CPU time of the insert sessions", "us/inserted row", &inserts),
    ];
    evidence.extend(found.evidence);
    Some(Finding {
        word: Word::work(deletes.rose()),
        cause: Cause::TailEntries,
        sentence: format!(
            "the delete session of {arm} uses {} us of CPU per row, {}, the insert session {} ({base} {}): {}",
            words::number(deletes.arm),
            words::than(&deletes, base),
            words::number(inserts.arm),
            words::number(inserts.base),
            found.says
        ),
        weight: deletes.clearness(),
        certainty: cx.certainty(&deletes),
        evidence,
    })
}

/// Index entries that planning walks over.
fn planned(cx: &Context<'_>, rose: bool) -> Option<Tail> {
    let base = cx.base_arm().name.as_str();
    let buffers = cx.figures.of(|cell| mean(cell, "planning_buffers_after"));
    let time = cx.figures.of(|cell| mean(cell, "planning_us_after"));
    let beyond = |found: &Quantity, ratio: f64| found.ratio() >= ratio || found.ratio() <= 1.0 / ratio;
    let is_seen = match (&buffers, &time) {
        (Some(found), _) => {
            found.stands_out()
                && found.rose() == rose
                && found.change().abs() >= BUFFERS_MIN
                && beyond(found, BUFFERS_RATIO_MIN)
        }
        (None, Some(found)) => {
            found.stands_out() && found.rose() == rose && beyond(found, PLANNING_RATIO_MIN)
        }
        (None, None) => false,
    };
    if !is_seen {
        return None;
    }
    let work = match (&buffers, &time) {
        (Some(found), _) => format!(
            "which touches {} buffers at the end of the step ({base} {})",
            words::number(found.arm),
            words::number(found.base)
        ),
        (None, Some(found)) => format!(
            "which takes {} us at the end of the step ({base} {})",
            words::number(found.arm),
            words::number(found.base)
        ),
        (None, None) => return None,
    };
    let fewer = if rose { "" } else { "fewer " };
    let mut says =
        format!("{fewer}dead index entries at the tail are walked at every planning of the DELETE, {work}");
    let mut evidence: Vec<Evidence> = Vec::new();
    evidence.extend(
        buffers.map(|found| Evidence::of("buffers that planning the DELETE touches", "buffers", &found)),
    );
    evidence.extend(time.map(|found| Evidence::of("time that planning the DELETE takes", "us", &found)));
    if let Some(dead) = cx.figures.of(|cell| between(cell, "dead_rows")) {
        says.push_str(&format!(
            "; {} dead rows on average ({base} {})",
            words::number(dead.arm),
            words::number(dead.base)
        ));
        evidence.push(Evidence::of("dead rows, mean of beginning and end", "rows", &dead));
    }
    let vacuums = |cell: Cell<'_>| cell.counter("pg_stat_all_tables", "all", "autovacuum_count");
    if let Some(found) = cx.figures.of(vacuums) {
        says.push_str(&format!(
            "; autovacuum finished {} times in the step ({base} {})",
            words::number(found.arm),
            words::number(found.base)
        ));
        evidence.push(Evidence::of("times that autovacuum finished", "", &found));
    }
    let lookups = |cell: Cell<'_>| Some(cell.metric("min_lookup_us")? / cell.metric("min_lookups")?);
    evidence.extend(
        cx.figures.of(lookups).map(|found| Evidence::of("looking for the smallest key", "us", &found)),
    );
    Some(Tail { says, evidence })
}

/// Rows that are marked as deleted and wait for purge.
fn not_purged(cx: &Context<'_>, rose: bool) -> Option<Tail> {
    let history = cx.figures.of(|cell| between(cell, "history_list_length"))?;
    let ratio = history.arm.max(1.0) / history.base.max(1.0);
    let is_seen = history.stands_out()
        && history.rose() == rose
        && history.change().abs() >= HISTORY_MIN
        && (ratio >= HISTORY_RATIO_MIN || ratio <= 1.0 / HISTORY_RATIO_MIN);
    is_seen.then(|| Tail {
        says: format!(
            "purge lag: every DELETE passes over {} rows at the tail that are deleted and not purged; the history list \
             is {} transactions long on average ({} {})",
            if rose { "the" } else { "fewer" },
            words::number(history.arm),
            cx.base_arm().name,
            words::number(history.base)
        ),
        evidence: vec![Evidence::of("history list length, mean of beginning and end", "transactions", &history)],
    })
}
