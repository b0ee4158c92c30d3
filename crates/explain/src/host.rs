//! The machine while each arm was measured: other programs, other guests, paging.
//!
//! What affected the whole run (canaries, CPU frequency over all arms) is not a difference between arms and
//! is covered by the remarks of verdicts.

use crate::commits::wait_more_on_the_first;
use crate::context::Context;
use crate::decompose::{queued_us, time_per_op};
use crate::entry::{Entry, Per, work};
use crate::figures::{BACKENDS, CLIENT_CPU_US, Cell, ELAPSED};
use crate::model::{Cause, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// CPU time of the whole machine by state.
const ALL_CPU: [&str; 5] =
    ["host_user_us", "host_system_us", "host_iowait_us", "host_steal_us", "host_idle_us"];

/// Twenty ticks of the clock by which the kernel tells what CPUs do: of windows of 5 to 36 ms none shows a process that
/// others keep from running.
const ELAPSED_MIN_US: f64 = 2e5;
/// Minimum share of the change in time per operation that an entry has to account for.
const PART_MIN: f64 = 0.1;
/// From this relative change of the client's CPU time on, the machine behaved differently.
const CLIENT_SHARE_MIN: f64 = 0.05;

/// Other activity of the machine. The arms have to differ by at least the floor; reading a page takes about
/// 0.1 ms.
const ENTRIES: [Entry; 4] = [
    work(Cause::OtherLoad, "machine CPU used by neither server nor client", "%", 3.0)
        .per(Per::Itself)
        .phrase("other programs, kernel threads included, took {} of the machine's CPU")
        .value(|cell| percent_of_cpu(cell, "rest_us")),
    work(Cause::CpuSteal, "machine CPU taken by other guests (steal)", "%", 1.0)
        .per(Per::Itself)
        .phrase("other guests of the host took {} of the machine's CPU (steal)")
        .value(|cell| percent_of_cpu(cell, "host_steal_us")),
    work(Cause::Swap, "pages swapped in and out", "pages/s", 100.0)
        .per(Per::Itself)
        .phrase("the machine swapped {}")
        .value(|cell| {
            let pages = cell.metric("host_swap_in_pages")? + cell.metric("host_swap_out_pages")?;
            per_second(cell, pages)
        }),
    work(Cause::Swap, "major page faults", "faults/s", 200.0)
        .per(Per::Itself)
        .phrase("the machine took {} from disk (major page faults)")
        .value(|cell| per_second(cell, cell.metric("host_major_faults")?)),
];

fn per_second(cell: Cell<'_>, total: f64) -> Option<f64> {
    Some(total / (cell.metric(ELAPSED)? / 1e6))
}

/// A metric as percent of the machine's CPU time; `None` of windows too short for the clock that it is of.
fn percent_of_cpu(cell: Cell<'_>, metric: &str) -> Option<f64> {
    cell.metric(ELAPSED).filter(|elapsed_us| *elapsed_us >= ELAPSED_MIN_US)?;
    let all = ALL_CPU.iter().filter_map(|name| cell.metric(name)).sum::<f64>();
    // A remainder below 0 is noise of the clocks that it is the remainder of.
    (all > 0.0).then_some((100.0 * cell.metric(metric)? / all).max(0.0))
}

/// What the machine did more of while the slower arm was measured. Activity that slowed down the faster arm
/// explains nothing.
pub(crate) fn findings(cx: &Context<'_>) -> Vec<Finding> {
    let Some(time) = cx.figures.quantity(time_per_op).filter(Quantity::matters) else {
        return Vec::new();
    };
    let slower_first = if time.rose() { (cx.arm, cx.base) } else { (cx.base, cx.arm) };
    let waits_more = wait_more_on_the_first(cx.windows, cx.test, slower_first);
    let found = ENTRIES.iter().filter_map(|entry| Some((entry, entry.quantity(cx)?)));
    found
        .filter(|(entry, found)| {
            // A session that sleeps at each commit queues for a CPU at each, and leaves it to others meanwhile.
            !(waits_more && entry.cause == Cause::OtherLoad)
                && can_account(cx, entry.cause, &time)
                && found.exceeds_noise()
                && found.change().abs() >= entry.floor
                && found.rose() == time.rose()
        })
        .map(|(entry, found)| finding(cx, entry, &found))
        .collect()
}

/// Microseconds per operation that other activity on the machine can account for; `None` if not measured.
/// Other programs also use CPU time that a waiting server leaves idle, so their share alone means nothing:
/// what counts is how much longer backends and clients queued for a CPU, beyond what more CPU time of their own would
/// have queued among the same programs. Other guests account for the time that they took.
pub(crate) fn accounts_for_us(cx: &Context<'_>, cause: Cause) -> Option<f64> {
    let per_op = |value: fn(Cell<'_>) -> Option<f64>| {
        cx.figures.quantity(|cell| Some(value(cell)? / cell.operations()))
    };
    match cause {
        Cause::OtherLoad => {
            let queued = per_op(queued_us)?;
            let work = per_op(|cell| Some(cell.metric(BACKENDS)? + cell.metric(CLIENT_CPU_US)?));
            let (less, more) = (queued.base.min(queued.arm), queued.base.max(queued.arm));
            let grew =
                work.map_or(1.0, |work| if queued.rose() { work.ratio() } else { work.ratio().recip() });
            Some((more - less * grew.max(1.0)).max(0.0))
        }
        Cause::CpuSteal => per_op(|cell| cell.metric("host_steal_us")).map(|found| found.change().abs()),
        _ => None,
    }
}

/// Whether the CPU time of the client, whose work is the same on both arms if it speaks one protocol, changed: then the
/// machine behaved differently.
pub(crate) fn slowed_the_client(cx: &Context<'_>) -> bool {
    let client = cx.figures.per_op(CLIENT_CPU_US).filter(|_| cx.of_one_kind());
    client.is_some_and(|client| client.matters() && client.share() >= CLIENT_SHARE_MIN)
}

/// Whether it can account for a part of the change.
fn can_account(cx: &Context<'_>, cause: Cause, time: &Quantity) -> bool {
    let accounts = accounts_for_us(cx, cause);
    accounts.is_none_or(|us| us >= PART_MIN * time.change().abs()) || slowed_the_client(cx)
}

fn finding(cx: &Context<'_>, entry: &Entry, found: &Quantity) -> Finding {
    let (arm, base) = cx.names();
    let figure = |value: f64| format!("{} {}", words::number(value.max(0.0)), entry.unit);
    let sentence = format!(
        "while {arm} was measured, {}; while {base} was, {}",
        entry.phrase.replace("{}", &figure(found.arm)),
        figure(found.base)
    );
    cx.finding(Word::TheHost, entry.cause, sentence, found, vec![entry.evidence(cx, found)])
}
