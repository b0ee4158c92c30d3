//! What has to be active in a test for a setting or statement to have an effect there.

use crate::context::Context;
use crate::counters;
use crate::error::Result;
use crate::figures::{CLIENT_TIME, Cell};
use crate::model::Difference;
use crate::settings;
use rqps_store::{Recorded, Window};

use super::way;

/// Log per operation, in bytes, above what background threads alone write.
const LOG_BYTES_MIN: f64 = 16.0;
/// Below this, events per operation are negligible.
const EVENTS_MIN: f64 = 0.01;
/// Below this, full-page images per operation are negligible.
const IMAGES_MIN: f64 = 0.002;

/// What has to be active on at least one of the arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Needs {
    /// It affects every statement, or a counter shows its effect.
    Nothing,
    /// Statements write to the log.
    Log,
    /// Full-page images are written.
    Images,
    /// Blocks are read into the buffer pool.
    Misses,
    /// RocksDB asks filters whether a table has a key: scans do not.
    Filters,
    /// RocksDB flushes in the step.
    Flushes,
    /// It flushes or compacts in the step.
    Rewrites,
    /// It compacts in the step, or did before.
    Compactions,
    /// Autovacuum ran, in the windows or before.
    Autovacuum,
    /// A checkpoint began in the windows.
    Checkpoint,
    /// A statement is JIT-compiled.
    Jit,
    /// The difference's value on either arm contains this text.
    Value(&'static str),
    /// A statement of the test contains this text.
    Sql(&'static str),
    /// This status variable rises.
    Status(&'static str),
    /// This InnoDB metric rises.
    Metric(&'static str),
    /// It is off on exactly one arm; other values have the same effect.
    Switched,
    /// Operations take, on average, at least as long as its value on either arm.
    LongOperations,
    /// Another setting has this value, or its value is unknown.
    Setting(&'static str, &'static str),
}

impl Needs {
    /// Whether what `difference` needs was active on either arm.
    pub fn are_met(self, cx: &Context<'_>, difference: &Difference) -> Result<bool> {
        Ok(match self {
            Needs::Nothing => true,
            Needs::Log => is_above(cx, LOG_BYTES_MIN, |cell| cell.metric("server_wal_bytes")),
            Needs::Images => match has(cx, images) {
                true => is_above(cx, IMAGES_MIN, images),
                // Versions before 14 do not count them.
                false => Needs::Log.are_met(cx, difference)?,
            },
            Needs::Misses => is_above(cx, EVENTS_MIN, counters::misses),
            Needs::Filters => {
                !has(cx, |cell| cell.metric("server_blocks_touched")) || is_above(cx, 0.0, counters::filtered)
            }
            Needs::Flushes => is_above_or_unknown(cx, counters::flushed),
            Needs::Rewrites => {
                is_above_or_unknown(cx, counters::flushed) || is_above_or_unknown(cx, counters::compacted)
            }
            Needs::Compactions => {
                is_above_or_unknown(cx, counters::compacted) || is_above(cx, 0.0, counters::had_levels)
            }
            // If one arm has it off, debt accumulates without any run of autovacuum.
            Needs::Autovacuum => difference.name == "autovacuum" || autovacuum(cx)?,
            Needs::Checkpoint => is_above(cx, 0.0, counters::checkpoints),
            Needs::Jit => plans_have(cx, |plan| plan.text.contains("JIT:") || plan.json.contains("\"JIT\""))?,
            Needs::Value(part) => [&difference.base, &difference.arm]
                .into_iter()
                .flatten()
                .any(|value| value.to_lowercase().contains(part)),
            Needs::Sql(part) => plans_have(cx, |plan| plan.sql.to_uppercase().contains(part))?,
            Needs::Status(name) => is_above(cx, EVENTS_MIN, |cell| cell.counter("global_status", "", name)),
            Needs::Metric(name) => is_above(cx, EVENTS_MIN, |cell| cell.counter("innodb_metrics", "", name)),
            Needs::Switched => {
                let is_off = |value: &Option<String>| value.as_deref().map(way::is_off);
                is_off(&difference.base).zip(is_off(&difference.arm)).is_none_or(|(base, arm)| base != arm)
            }
            Needs::LongOperations => [&difference.base, &difference.arm].into_iter().flatten().any(|value| {
                way::limit_us(value)
                    .is_none_or(|limit| limit == 0.0 || is_above(cx, limit, |cell| cell.metric(CLIENT_TIME)))
            }),
            Needs::Setting(name, wanted) => {
                let is = |arm| {
                    settings::value(cx, arm, name).map(|value| value.is_none_or(|value| value == wanted))
                };
                is(cx.base)? || is(cx.arm)?
            }
        })
    }
}

fn images(cell: Cell<'_>) -> Option<f64> {
    cell.counter("pg_stat_wal", "", "wal_fpi")
}

/// Whether either arm has this counter.
fn has(cx: &Context<'_>, value: fn(Cell<'_>) -> Option<f64>) -> bool {
    [false, true].into_iter().any(|of_arm| cx.figures.total(of_arm, value).is_some())
}

/// Whether either arm has some of it, or neither counts it.
fn is_above_or_unknown(cx: &Context<'_>, value: fn(Cell<'_>) -> Option<f64>) -> bool {
    !has(cx, value) || is_above(cx, 0.0, value)
}

/// Whether either arm has more than `floor` of something per operation. Arms may count different things, so
/// each is tested by itself.
fn is_above(cx: &Context<'_>, floor: f64, value: impl Fn(Cell<'_>) -> Option<f64>) -> bool {
    [false, true].into_iter().any(|of_arm| {
        let operations = cx.figures.total(of_arm, |cell| Some(cell.operations())).unwrap_or(0.0);
        cx.figures.total(of_arm, &value).is_some_and(|total| total > floor * operations && total > 0.0)
    })
}

/// Whether a predicate holds for any window of either arm.
fn any_window(cx: &Context<'_>, holds: impl Fn(&Recorded<Window>) -> Result<bool>) -> Result<bool> {
    for window in [cx.base, cx.arm].into_iter().flat_map(|arm| cx.windows(arm)) {
        if holds(window)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether autovacuum processed a table, in the windows or between the load and the test.
fn autovacuum(cx: &Context<'_>) -> Result<bool> {
    let ran = |(key, value): &(String, String)| {
        key.ends_with(".autovacuums") && value.parse::<f64>().is_ok_and(|count| count > 0.0)
    };
    let ran_before = |window: &Recorded<Window>| Ok(cx.run.fingerprint(window.action.seq)?.iter().any(ran));
    Ok(is_above(cx, 0.0, counters::autovacuumed) || any_window(cx, ran_before)?)
}

/// Whether plans of either arm were recorded.
pub(super) fn has_plans(cx: &Context<'_>) -> Result<bool> {
    plans_have(cx, |_| true)
}

/// Whether a plan or statement of the test mentions one of these tables.
pub(super) fn touches(cx: &Context<'_>, tables: &[String]) -> Result<bool> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let has = |text: &str| {
        text.split(|c| !is_part(c)).any(|word| tables.iter().any(|table| table.eq_ignore_ascii_case(word)))
    };
    plans_have(cx, |plan| has(&plan.sql) || has(&plan.text))
}

fn plans_have(cx: &Context<'_>, matches: impl Fn(&rqps_model::QueryPlan) -> bool) -> Result<bool> {
    any_window(cx, |window| Ok(cx.run.plans(window.action.seq)?.iter().any(&matches)))
}
