//! New orders per minute, how many transactions of each kind there were, and whether the tables stayed consistent.
//!
//! | column | means |
//! | --- | --- |
//! | `NOPM` | committed new orders per minute, in blocks as the verdict gives them |
//! | `relative` | `NOPM` relative to the base's; of blocks or passes, the rQPS of those that both have |
//! | `TPM` | transactions of all kinds per minute |
//! | `new-order` to `rolled back` | transactions of each kind; new orders that were rolled back are not among the others |
//! | `retries` | attempts that were repeated after a deadlock or serialization failure, all kinds; missing of HammerDB, which repeats none |
//! | `dbms`, `test` | the variant and the test |

use std::collections::BTreeMap;

use rqps_model::counted;
use rqps_store::{Recorded, Run, Window};

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};
use crate::document::{Block, Cell, Column, Figure, Table, cells};
use crate::tables::rates::{NEW_ORDERS, retried};
use crate::tables::{footnotes, host};

/// A step on an arm.
struct OfArm<'a> {
    window: &'a Recorded<Window>,
    /// New orders per second.
    rate: Option<f64>,
    /// The rate relative to the base's.
    relative: Option<f64>,
    run: &'a Run,
}

/// Most windows with violated conditions that are named.
const VIOLATED_MAX: usize = 3;

/// The number of consistency conditions that rqps checks, of clause 3.3.2 of TPC-C.
const CONDITIONS: f64 = 7.0;

/// The table and what was checked; none without such tests.
pub(crate) fn blocks(comparison: &Comparison<'_>, which: StepKind) -> Vec<Block> {
    let Some(table) = table(comparison, which) else { return Vec::new() };
    let texts = driven(comparison).into_iter().chain(own_tpm(comparison, which));
    let texts = texts.chain(failed(comparison, which)).chain(consistency(comparison)).map(Block::Text);
    std::iter::once(table).chain(texts).collect()
}

/// Which arms another program drove: its figures are not comparable with those of rqps' own clients.
fn driven(comparison: &Comparison<'_>) -> Vec<String> {
    let arms = comparison.base_first();
    let mut of_drivers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for arm in &arms {
        if let Some(driver) = host::driver(arm.run) {
            of_drivers.entry(driver).or_default().push(arm.label().to_owned());
        }
    }
    let text = |(driver, of_driver): (&str, Vec<String>)| match of_driver.len() == arms.len() {
        true => format!("These transactions were driven by {driver}."),
        false => format!("Driven by {driver}: {}.", of_driver.join(", ")),
    };
    of_drivers.into_iter().map(text).collect()
}

/// What HammerDB reports as TPM: it reads the server's counters of commits and rollbacks, so that those of other
/// sessions are in it.
fn own_tpm(comparison: &Comparison<'_>, which: StepKind) -> Option<String> {
    let tpm = |arm: ComparedArm<'_>, step: &TestStep| arm.window(&step.name).ok()?.metric("hammerdb_tpm");
    let found = of_steps(comparison, which, tpm)?;
    Some(format!(
        "HammerDB's own TPM, from the server's counters of commits and rollbacks: {found}. TPM in the table counts the \
         transactions that its users ended."
    ))
}

/// How many transactions ended with an error; none if all succeeded. HammerDB's procedures return as if they had.
fn failed(comparison: &Comparison<'_>, which: StepKind) -> Option<String> {
    let failed = |arm: ComparedArm<'_>, step: &TestStep| {
        let windows = arm.all_windows(&step.name);
        let count: f64 = windows.filter_map(|window| window.metric("failed_transactions")).sum();
        (count > 0.0).then_some(count)
    };
    let found = of_steps(comparison, which, failed)?;
    Some(format!(
        "Transactions FAILED: {found}. They were not repeated; TPM and the counts of kinds have them, NOPM does not."
    ))
}

/// `3 in w1-vu1 on pg17; …`, of steps that have the figure; none if none has.
fn of_steps(
    comparison: &Comparison<'_>,
    which: StepKind,
    figure: impl Fn(ComparedArm<'_>, &TestStep) -> Option<f64>,
) -> Option<String> {
    let steps = comparison.steps(which);
    let mut found = Vec::new();
    for arm in comparison.base_first() {
        let of_arm = steps.iter().filter_map(|step| Some((step, figure(arm, step)?)));
        found.extend(of_arm.map(|(step, figure)| format!("{figure:.0} in {} on {}", step.name, arm.label())));
    }
    (!found.is_empty()).then(|| found.join("; "))
}

/// Whether the consistency conditions held; none in runs that do not tell.
fn consistency(comparison: &Comparison<'_>) -> Option<String> {
    let of_arm = |arm: ComparedArm<'_>| {
        let windows = arm.run.windows.iter().filter(move |window| window.action.arm == arm.arm.name);
        let figures = |window: &Recorded<Window>| {
            let unread = window.metric("warehouses_not_read").unwrap_or(0.0);
            let (checked, held) = (window.metric("conditions_checked")?, window.metric("conditions_held")?);
            let which = (held < checked).then(|| violated_in(arm, window));
            Some((checked, unread, which))
        };
        windows.filter_map(figures).collect::<Vec<_>>()
    };
    let all: Vec<(f64, f64, Option<String>)> = comparison.base_first().into_iter().flat_map(of_arm).collect();
    let violated: Vec<&str> = all.iter().filter_map(|(.., which)| which.as_deref()).collect();
    let read = || all.iter().filter(|(checked, ..)| *checked >= CONDITIONS);
    let (whole, unread) = (read().count(), read().map(|(_, unread, _)| *unread).fold(0.0, f64::max));
    let windows = counted(all.len(), "window");
    let of_some = match unread > 0.0 {
        true => format!(", but for those of {}", counted(unread as usize, "warehouse")),
        false => String::new(),
    };
    let later = match whole == all.len() {
        true if unread > 0.0 => format!("; the conditions 4 to 7 were checked on all lines{of_some}"),
        true => String::new(),
        false => format!(
            "; the conditions 4 to 7, which read all lines{of_some}, were checked after {whole} of them"
        ),
    };
    match violated.len() {
        _ if all.is_empty() => None,
        0 => Some(format!(
            "TPC-C's consistency conditions held after {}{later}.{}",
            match all.len() {
                1 => "the window and the load before it".to_owned(),
                _ => format!("all {windows} and the loads before them"),
            },
            match comparison.base_first().into_iter().filter(|arm| of_arm(*arm).is_empty()).count() {
                0 => String::new(),
                without => format!(" {} without a window: the notes say why.", counted(without, "arm")),
            }
        )),
        count => Some(format!(
            "TPC-C's consistency conditions were VIOLATED after {count} of {windows}: these, and those before them on the \
             same data, are invalid{later}. {}{}.",
            violated[..count.min(VIOLATED_MAX)].join("; "),
            if count > VIOLATED_MAX { format!("; and {} more", count - VIOLATED_MAX) } else { String::new() },
        )),
    }
}

/// `w1-vu1 on pg18: condition 5: …`.
fn violated_in(arm: ComparedArm<'_>, window: &Recorded<Window>) -> String {
    let what = window.action.note.as_deref().unwrap_or("a condition does not hold");
    format!("{} on {}: {what}", window.action.step, arm.label())
}

/// One row per test and arm.
fn table(comparison: &Comparison<'_>, which: StepKind) -> Option<Block> {
    let count =
        |one: &OfArm<'_>, kind: &str| Cell::fixed(one.window.metric(&format!("transactions_{kind}")), 0);
    let per_minute = |one: &OfArm<'_>| one.rate.map(|per_s| 60.0 * per_s);
    let figures: [Figure<'_, OfArm<'_>>; 10] = [
        (Column::number("NOPM", "nopm"), &|one| Cell::fixed(per_minute(one), 0)),
        (Column::number("relative", "relative"), &|one| Cell::fixed(one.relative, 2)),
        (Column::number("TPM", "tpm"), &|one| {
            let result = &one.window.result;
            let all =
                per_minute(one).zip(result.events).map(|(new, all)| new * all as f64 / result.operations);
            Cell::fixed(all, 0)
        }),
        (Column::number("new-order", "new_order"), &|one| count(one, "new_order")),
        (Column::number("payment", "payment"), &|one| count(one, "payment")),
        (Column::number("delivery", "delivery"), &|one| count(one, "delivery")),
        (Column::number("stock-level", "stock_level"), &|one| count(one, "stock_level")),
        (Column::number("order-status", "order_status"), &|one| count(one, "order_status")),
        (Column::number("rolled back", "new_order_rolled_back"), &|one| count(one, "new_order_rolled_back")),
        (Column::number("retries", "retries"), &|one| {
            retried(one.run, &one.window.result).map_or_else(Cell::missing, Cell::count)
        }),
    ];
    let columns = figures.iter().map(|(column, _)| column.clone());
    let columns = columns.chain([Column::words("dbms"), Column::words("test")]).collect();
    let mut table = Table::new("transactions", "New orders per minute (NOPM)", columns, 2);
    for step in comparison.steps(which) {
        for arm in comparison.base_first() {
            let Some(window) =
                arm.window(&step.name).ok().filter(|window| window.result.unit.key == NEW_ORDERS)
            else {
                continue;
            };
            let (rate, relative) = (arm.rate(&step.name), comparison.pair(arm).ratio(&step.name));
            let mut row = cells(&figures, &OfArm { window, rate, relative, run: arm.run });
            row.extend([Cell::words(arm.label()), Cell::words(&*step.name)]);
            table.row_in(&step.group.title, row);
        }
    }
    table.footnotes.extend(footnotes::of_fewer_windows(comparison, &comparison.steps(which)));
    table.footnotes.extend(footnotes::of_rates_in_blocks(comparison));
    table.block()
}
