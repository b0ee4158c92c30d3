//! The options of `[insert]`: sizes, how rows are deleted and paced, what ends a query step.

use super::limits as own;
use std::fmt::Write as _;

use rqps_model::Pacer;
use rqps_model::grouped;
use rqps_plan::reader::{Found, Section};
use rqps_plan::{Problems, limits};
use serde::Serialize;

use super::memory::Memory;
use super::{DeleteForm, RATE_MAX, Sizes, WRITE_BATCH_ROWS, is_rate};

pub(super) const INSERT_KEYS: [&str; 12] = [
    "size",
    "load_rows",
    "write_rows",
    "query_seconds",
    "settle_seconds",
    "rates",
    "delete_form",
    "pacer",
    "ends_by",
    "shared_table",
    "partitions",
    "server_memory",
];
/// The options of the Insert Benchmark. Rows are per client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InsertOptions {
    /// Rows of l.i0.
    pub load_rows: u64,
    /// Rows of l.i1 and l.i2 together, 4 to 1.
    pub write_rows: u64,
    /// Seconds that a query step lasts at its rate.
    pub query_seconds: u32,
    /// A settle lasts at least this many seconds, plus one for each million rows loaded, but at most
    /// [`own::SETTLE_SECONDS_MAX`].
    pub settle_seconds: u32,
    pub delete_form: DeleteForm,
    /// How background writes are spread over a second.
    pub pacer: Pacer,
    pub ends_by: EndsBy,
    /// Whether all clients use one table. Nothing is deleted then.
    pub shared_table: bool,
    /// Number of ranges of the primary key that a table is partitioned into; not partitioned if below 2.
    #[serde(skip_serializing_if = "is_zero")]
    pub partitions: u32,
    /// Limit on the server's memory, including the page cache of its files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_memory: Option<Memory>,
}

rqps_model::words! {
    /// What ends a query step.
    EndsBy {
        /// After a given number of rows, however long that takes: every arm does the same work.
        Rows = "rows",
        /// After a given time, however many rows are inserted by then.
        Time = "time",
    }
}

#[derive(Debug, Clone, Copy)]
struct Preset {
    load_rows: u64,
    write_rows: u64,
    query_seconds: u32,
    settle_seconds: u32,
}

/// The sizes that a plan can name. `write_rows` over `load_rows`, how often the table is turned over, is 1/2
/// at small scale, 5/3 in the published cached set-up, 1/160 in the published IO-bound one.
const PRESETS: [(&str, Preset); 5] = [
    ("smoke", Preset { load_rows: 100_000, write_rows: 50_000, query_seconds: 5, settle_seconds: 0 }),
    ("mini", Preset { load_rows: 1_000_000, write_rows: 500_000, query_seconds: 40, settle_seconds: 0 }),
    ("small", Preset { load_rows: 5_000_000, write_rows: 2_500_000, query_seconds: 180, settle_seconds: 55 }),
    (
        "cached",
        Preset { load_rows: 30_000_000, write_rows: 50_000_000, query_seconds: 1_800, settle_seconds: 60 },
    ),
    (
        "io-bound",
        Preset { load_rows: 800_000_000, write_rows: 5_000_000, query_seconds: 1_800, settle_seconds: 60 },
    ),
];
/// The size if a plan names none.
const PRESET_DEFAULT: Preset = PRESETS[1].1;

impl InsertOptions {
    pub fn sizes(&self, clients: u32) -> Sizes {
        Sizes {
            load_rows: self.load_rows,
            write_rows: self.write_rows,
            query_seconds: self.query_seconds,
            clients,
            shared_table: self.shared_table,
        }
    }

    /// Minimum seconds of a settle.
    pub fn settle_seconds_min(&self, clients: u32) -> u32 {
        let rows = self.load_rows.saturating_mul(u64::from(clients));
        let seconds = u64::from(self.settle_seconds).saturating_add(rows.saturating_add(500_000) / 1_000_000);
        // Small sizes have no minimum.
        if self.settle_seconds == 0 { 0 } else { seconds.min(own::SETTLE_SECONDS_MAX) as u32 }
    }
}

fn defaults(preset: Preset) -> InsertOptions {
    InsertOptions {
        load_rows: preset.load_rows,
        write_rows: preset.write_rows,
        query_seconds: preset.query_seconds,
        settle_seconds: preset.settle_seconds,
        delete_form: DeleteForm::In,
        pacer: Pacer::Even,
        ends_by: EndsBy::Rows,
        shared_table: false,
        partitions: 0,
        server_memory: None,
    }
}

/// Reads `[insert]`; returns the defaults if there is none.
pub(super) fn read(section: Option<&Section<'_>>, problems: &Problems<'_>) -> InsertOptions {
    section.map_or_else(|| defaults(PRESET_DEFAULT), |section| read_options(section, problems))
}

fn read_options(section: &Section<'_>, problems: &Problems<'_>) -> InsertOptions {
    section.check_keys(&INSERT_KEYS, |key| match key {
        "clients" | "steps" | "transport" | "settle_seconds_max" => Some("[workload]".to_owned()),
        "rate_mei_percent" => Some("a table such as [test.\"l.i1\"]".to_owned()),
        _ => None,
    });
    let preset = section.choice("size", &PRESETS).unwrap_or(PRESET_DEFAULT);
    let load_rows =
        section.integer("load_rows", own::LOAD_ROWS).map_or(preset.load_rows, |found| found.value);
    // By default, the table is turned over as often as with the preset.
    let write_rows = u128::from(load_rows) * u128::from(preset.write_rows) / u128::from(preset.load_rows);
    let write_rows = u64::try_from(write_rows).unwrap_or(u64::MAX);
    let seconds =
        |key, range, default: u32| section.integer(key, range).map_or(default, |found| found.value as u32);
    let ends_by = section.choice("ends_by", &EndsBy::ALL.map(|ends| (ends.key(), ends)));
    if ends_by == Some(EndsBy::Time) {
        let what = "an arm that does not keep the rate inserts fewer rows, so the steps after start from different tables";
        let remedy = "Use \"rows\" unless a step must not last longer.";
        problems.warn(&section.key_at("ends_by"), section.place_of("ends_by"), what, remedy);
    }
    InsertOptions {
        load_rows,
        write_rows: section
            .integer("write_rows", own::WRITE_ROWS)
            .map_or(write_rows.max(*own::WRITE_ROWS.start()), |found| found.value),
        query_seconds: seconds("query_seconds", limits::WINDOW_SECONDS, preset.query_seconds),
        settle_seconds: seconds("settle_seconds", own::SETTLE_SECONDS, preset.settle_seconds),
        delete_form: section
            .choice("delete_form", &DeleteForm::ALL.map(|form| (form.key(), form)))
            .unwrap_or(DeleteForm::In),
        pacer: section.choice("pacer", &Pacer::ALL.map(|pacer| (pacer.key(), pacer))).unwrap_or(Pacer::Even),
        ends_by: ends_by.unwrap_or(EndsBy::Rows),
        shared_table: section.boolean("shared_table").is_some_and(|found| found.value),
        partitions: section.integer("partitions", own::PARTITIONS).map_or(0, |found| found.value as u32),
        server_memory: read_memory(section, problems),
    }
}

fn read_memory(section: &Section<'_>, problems: &Problems<'_>) -> Option<Memory> {
    let Found { value, at } = section.text("server_memory")?;
    match value.parse::<Memory>() {
        Ok(memory) => Some(memory),
        Err(what) => {
            let remedy = "Write for example \"512MiB\" or \"16GiB\".";
            problems.error(&at, section.place_of("server_memory"), what, remedy);
            None
        }
    }
}

/// Reads the rates of the query steps. They define the steps, so they conflict with `steps`.
pub(super) fn read_rates(
    section: &Section<'_>,
    workload: &Section<'_>,
    problems: &Problems<'_>,
) -> Option<Vec<u32>> {
    let list = section.list("rates", "whole numbers")?;
    let place = section.place_of("rates");
    if workload.node("steps").is_some() {
        let remedy = "Remove it, and list steps such as \"qr100\" and \"qp100\".";
        problems.error(&list.at, place, "has no effect beside `steps`", remedy);
        return None;
    }
    if list.value.len() > own::RATES_MAX {
        let what = format!("{} rates; a plan has at most {}", list.value.len(), own::RATES_MAX);
        problems.error(&list.at, place, what, "Divide it into several plans.");
        return None;
    }
    let mut rates: Vec<u32> = Vec::new();
    for node in list.value {
        let number =
            node.get_ref().as_integer().and_then(|number| number.as_str().replace('_', "").parse().ok());
        match number {
            Some(rate) if is_rate(rate) && !rates.contains(&rate) => rates.push(rate),
            Some(rate) if is_rate(rate) => {
                problems.error(
                    &node.span(),
                    &place,
                    format!("{rate} is listed twice"),
                    "Keep one of the two.",
                );
            }
            _ => {
                let what = "not a rate that statements of whole rows can keep";
                problems.error(&node.span(), &place, what, rate_remedy());
            }
        }
    }
    Some(rates)
}

pub(super) fn rate_remedy() -> String {
    let (batch, max) = (WRITE_BATCH_ROWS, grouped(u64::from(RATE_MAX), '_'));
    format!("Write rows per second and client: 1 to {batch}, or a multiple of {batch} up to {max}.")
}

fn is_zero(partitions: &u32) -> bool {
    *partitions == 0
}

pub(super) fn summary(insert: &InsertOptions) -> String {
    let deletes = match (insert.shared_table, insert.delete_form) {
        (true, _) => "nothing is deleted from a shared table".to_owned(),
        (false, form) => format!("deletes of the form \"{}\"", form.key()),
    };
    let pacer = match insert.pacer {
        Pacer::Even => "rates evenly spread",
        Pacer::Burst => "rates in a burst each second",
    };
    let ends = match insert.ends_by {
        EndsBy::Rows => "query steps end by rows",
        EndsBy::Time => "query steps end by time",
    };
    let mut text = format!("{deletes}; {pacer}; {ends}");
    if insert.partitions > 1 {
        let _ = write!(text, "; tables of {} partitions", insert.partitions);
    }
    if let Some(memory) = insert.server_memory {
        let _ = write!(text, "; servers of {memory}, page cache included");
    }
    text
}
