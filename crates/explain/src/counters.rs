//! Server counters in operators' terms: which of them are meaningful, and whether more of one is work or
//! waiting. Counters without an entry are never reported: most follow from others.

mod imported;
mod mysql;
mod postgres;
mod rocksdb;

pub(crate) use mysql::{LOG_FSYNCS, PAGES_FLUSHED, PAGES_TOUCHED};
pub(crate) use postgres::{INDEX_BLOCKS, PAGE_IMAGES, TABLE_BLOCKS, autovacuumed, checkpoints};
pub(crate) use rocksdb::{compacted, filtered, flushed, had_levels, has_writer};

use crate::context::Context;
use crate::figures::Cell;
use crate::model::{Cause, Finding};
use crate::quantity::{MATERIAL_SHARE, Quantity};
use crate::words;
use rqps_stats::Metric;

/// Work that differs by less than this relative change counts as the same.
const SAME_SHARE: f64 = 0.01;

/// Blocks of tables and indexes touched per operation.
pub(crate) fn blocks_touched(cx: &Context<'_>) -> Option<Quantity> {
    let touched = |cell: Cell<'_>| postgres::blocks_touched(cell).or_else(|| mysql::pages_touched(cell));
    cx.figures.quantity(|cell| Some(touched(cell)? / cell.operations()))
}

/// Blocks or pages that were not in the buffer pool.
pub(crate) fn misses(cell: Cell<'_>) -> Option<f64> {
    postgres::misses(cell).or_else(|| mysql::misses(cell)).or_else(|| rocksdb::misses(cell))
}

/// Counters that changed, in the terms of the candidate's DBMS.
pub(crate) fn findings(cx: &Context<'_>) -> Vec<Finding> {
    let entries = match cx.candidate().dbms.as_str() {
        "mysql" | "mariadb" => &mysql::ENTRIES[..],
        "rocksdb" => rocksdb::entries(cx),
        _ => &postgres::ENTRIES,
    };
    let of_host = if cx.run.meta.is_imported() { &imported::ENTRIES[..] } else { &[] };
    let found = entries.iter().chain(of_host).filter_map(|entry| entry.finding(cx));
    found.filter(|finding| !is_little_of_the_same(cx, finding)).collect()
}

/// Whether it is a little of what a verdict says is the same, such as blocks of tables of all blocks.
fn is_little_of_the_same(cx: &Context<'_>, finding: &Finding) -> bool {
    let (metric, whole) = match finding.cause {
        Cause::BlocksTouched => (Metric::Blocks, blocks_touched(cx)),
        Cause::Rows => (Metric::Rows, cx.figures.per_op("server_rows_touched")),
        _ => return false,
    };
    let is_little = |((base, arm), whole): ((f64, f64), Quantity)| {
        (arm - base).abs() < MATERIAL_SHARE * whole.base.max(whole.arm)
    };
    cx.is_same(metric) && finding.figure().zip(whole).is_some_and(is_little)
}

/// Names the work that is the same on both arms: `rows, blocks and WAL`; empty if none is known to be.
pub(crate) fn same_work(cx: &Context<'_>) -> String {
    let per_op = |metric: &str| cx.figures.per_op(metric);
    let log = if matches!(cx.candidate().dbms.as_str(), "mysql" | "mariadb") { "redo" } else { "WAL" };
    let kinds = [
        (per_op("server_rows_touched"), "rows", 0.1),
        (blocks_touched(cx), "blocks", 0.1),
        (per_op("server_wal_bytes"), log, 1.0),
    ];
    let is_same = |found: Option<Quantity>, floor: f64| {
        found.is_some_and(|found| found.base > floor && found.share() < SAME_SHARE)
    };
    let same = kinds.into_iter().filter(|(found, _, floor)| is_same(*found, *floor));
    words::list(&same.map(|(_, name, _)| name.to_owned()).collect::<Vec<_>>())
}
