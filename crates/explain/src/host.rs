//! The machine while one arm was measured and while the other was: other programs, other guests, paging.
//!
//! What the whole run had in common (canaries, frequency of the processor over all arms) is no difference between arms
//! and belongs to the remarks of verdicts.

use crate::context::Context;
use crate::decompose::{queued_us, time_per_op};
use crate::figures::{CLIENT_CPU_US, Cell, ELAPSED};
use crate::model::{Cause, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// CPU time of the whole machine, by what it was spent on.
const ALL_CPU: [&str; 5] =
    ["host_user_us", "host_system_us", "host_iowait_us", "host_steal_us", "host_idle_us"];

/// Share of the change in time per operation that something has to account for to be spoken of.
const PART_MIN: f64 = 0.1;
/// Change of the client's own CPU time, as a share, from which on the machine was another.
const CLIENT_SHARE_MIN: f64 = 0.05;

/// Something that the machine does besides.
struct Entry {
    cause: Cause,
    /// As the sentence says it, `{}` being the figure.
    phrase: &'static str,
    what: &'static str,
    unit: &'static str,
    /// The unit as the sentence says it, with the blank before it.
    said: &'static str,
    /// By how much the arms have to differ, in the unit; a page that is read takes about 0.1 ms.
    change_min: f64,
    value: fn(Cell<'_>) -> Option<f64>,
}

const ENTRIES: [Entry; 4] = [
    Entry {
        cause: Cause::OtherLoad,
        phrase: "programs other than server and client, the kernel's own threads among them, took {} of the machine's \
                 CPU",
        what: "CPU of the machine that is neither the server's nor the client's",
        unit: "%",
        said: " %",
        change_min: 3.0,
        value: |cell| of_all(cell, "rest_us"),
    },
    Entry {
        cause: Cause::CpuSteal,
        phrase: "other guests of the host took {} of the machine's CPU (steal)",
        what: "CPU of the machine that other guests took",
        unit: "%",
        said: " %",
        change_min: 1.0,
        value: |cell| of_all(cell, "host_steal_us"),
    },
    Entry {
        cause: Cause::Swap,
        phrase: "the machine swapped {}",
        what: "pages swapped in and out",
        unit: "pages/s",
        said: " pages a second",
        change_min: 100.0,
        value: |cell| {
            let pages = cell.metric("host_swap_in_pages")? + cell.metric("host_swap_out_pages")?;
            Some(pages / (cell.metric(ELAPSED)? / 1e6))
        },
    },
    Entry {
        cause: Cause::Swap,
        phrase: "the machine had {}",
        what: "major page faults",
        unit: "faults/s",
        said: " major page faults a second",
        change_min: 200.0,
        value: |cell| Some(cell.metric("host_major_faults")? / (cell.metric(ELAPSED)? / 1e6)),
    },
];

/// A metric as percent of all CPU time there was.
fn of_all(cell: Cell<'_>, metric: &str) -> Option<f64> {
    let all = ALL_CPU.iter().filter_map(|name| cell.metric(name)).sum::<f64>();
    (all > 0.0).then_some(100.0 * cell.metric(metric)? / all)
}

/// What the machine did more of while the slower of the two was measured. What slowed the faster one down explains
/// nothing.
pub(crate) fn of_test(cx: &Context<'_>) -> Vec<Finding> {
    let Some(time) = cx.figures.of(time_per_op).filter(Quantity::matters) else {
        return Vec::new();
    };
    let found = ENTRIES.iter().filter_map(|entry| Some((entry, cx.figures.of(entry.value)?)));
    found
        .filter(|(entry, _)| had_a_part(cx, entry, &time))
        .filter(|(entry, found)| {
            found.stands_out() && found.change().abs() >= entry.change_min && found.rose() == time.rose()
        })
        .map(|(entry, found)| finding(cx, entry, &found))
        .collect()
}

/// Microseconds per operation that something else on the machine can account for; none where nobody measured that.
/// Other programs also use what a server that waits leaves them, so their share alone says nothing: what counts is how
/// much longer backends and clients queued for a CPU. Other guests account for the time they took.
pub(crate) fn accounts_for_us(cx: &Context<'_>, cause: Cause) -> Option<f64> {
    let per_op = |value: fn(Cell<'_>) -> Option<f64>| {
        cx.figures.of(|cell| Some(value(cell)? / cell.operations())).map(|found| found.change().abs())
    };
    match cause {
        Cause::OtherLoad => per_op(queued_us),
        Cause::CpuSteal => per_op(|cell| cell.metric("host_steal_us")),
        _ => None,
    }
}

/// Whether the client, whose work is the same on both arms, took another time for it: then the machine was another.
pub(crate) fn slowed_the_client(cx: &Context<'_>) -> bool {
    let client = cx.figures.per_op(CLIENT_CPU_US);
    client.is_some_and(|client| client.matters() && client.share() >= CLIENT_SHARE_MIN)
}

/// Whether it can have had a part in the change.
fn had_a_part(cx: &Context<'_>, entry: &Entry, time: &Quantity) -> bool {
    let accounts = accounts_for_us(cx, entry.cause);
    accounts.is_none_or(|us| us >= PART_MIN * time.change().abs()) || slowed_the_client(cx)
}

fn finding(cx: &Context<'_>, entry: &Entry, found: &Quantity) -> Finding {
    let (arm, base) = (&cx.its_arm().name, &cx.base_arm().name);
    let figure = |value: f64| format!("{}{}", words::number(value.max(0.0)), entry.said);
    Finding {
        word: Word::TheHost,
        cause: entry.cause,
        sentence: format!(
            "while {arm} was measured, {}; while {base} was, {}",
            entry.phrase.replace("{}", &figure(found.arm)),
            figure(found.base)
        ),
        weight: found.clearness(),
        certainty: cx.certainty(found),
        evidence: vec![Evidence::of(entry.what, entry.unit, found)],
    }
}
