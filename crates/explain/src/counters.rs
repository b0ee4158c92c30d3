//! Server counters in words of those who run servers: which of them mean something, what, and for whom it is work or
//! waiting. A counter that no entry names is never spoken of: most follow from others.

use crate::context::Context;
use crate::figures::Cell;
use crate::model::{Cause, Certainty, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// Events that a single pass has to have seen on one arm before their number is compared.
const EVENTS_MIN: f64 = 100.0;

/// Work that differs by less than this share is called the same.
const SAME_SHARE: f64 = 0.01;

/// What the value of an entry is.
#[derive(Clone, Copy, PartialEq)]
enum Per {
    /// A total, spoken of per operation.
    Operation,
    /// A share of something, or a ratio: the value itself.
    Itself,
    /// A number of rare events in all windows.
    Windows,
}

/// A figure made of counters.
struct Entry {
    cause: Cause,
    /// The word for a rise; a fall has the opposite one.
    rise: Rise,
    /// As evidence names it.
    what: &'static str,
    unit: &'static str,
    /// As the sentence says it, `{}` being the figure.
    phrase: &'static str,
    per: Per,
    /// Value below which both arms have next to none of it.
    floor: f64,
    value: fn(Cell<'_>) -> Option<f64>,
}

/// What a rise of a figure means.
#[derive(Clone, Copy, PartialEq)]
enum Rise {
    Work,
    Waiting,
    /// The more of it the less work: HOT updates.
    LessWork,
}

const TABLES: &str = "pg_stat_all_tables";
const TABLES_IO: &str = "pg_statio_all_tables";
const INDEXES: &str = "pg_stat_all_indexes";
const ALL: &str = "all";

/// The figures that findings are made of. Versions count some of them in other places: what both arms have is compared.
const ENTRIES: [Entry; 22] = [
    Entry {
        cause: Cause::DeadRows,
        rise: Rise::Work,
        what: "index entries read for each row fetched",
        unit: "entries/row",
        phrase: "reads {} index entries for each row that it fetches",
        per: Per::Itself,
        floor: 0.5,
        value: entries_per_row,
    },
    Entry {
        cause: Cause::Rows,
        rise: Rise::Work,
        what: "rows fetched through indexes",
        unit: "rows",
        phrase: "fetches {} rows through indexes",
        per: Per::Operation,
        floor: 0.05,
        value: |cell| cell.counter(TABLES, ALL, "idx_tup_fetch"),
    },
    Entry {
        cause: Cause::Rows,
        rise: Rise::Work,
        what: "rows read by sequential scans",
        unit: "rows",
        phrase: "reads {} rows by sequential scans",
        per: Per::Operation,
        floor: 0.05,
        value: |cell| cell.counter(TABLES, ALL, "seq_tup_read"),
    },
    Entry {
        cause: Cause::HeapBlocks,
        rise: Rise::Work,
        what: "table blocks touched",
        unit: "blocks",
        phrase: "touches {} blocks of tables",
        per: Per::Operation,
        floor: 0.1,
        value: |cell| sum(cell, TABLES_IO, ["heap_blks_hit", "heap_blks_read"]),
    },
    Entry {
        cause: Cause::HeapBlocks,
        rise: Rise::Work,
        what: "index blocks touched",
        unit: "blocks",
        phrase: "touches {} blocks of indexes",
        per: Per::Operation,
        floor: 0.1,
        value: |cell| sum(cell, TABLES_IO, ["idx_blks_hit", "idx_blks_read"]),
    },
    Entry {
        cause: Cause::HotUpdates,
        rise: Rise::LessWork,
        what: "share of updates that are HOT",
        unit: "%",
        phrase: "does {} % of its updates as HOT updates",
        per: Per::Itself,
        floor: 1.0,
        value: hot_percent,
    },
    Entry {
        cause: Cause::BufferMisses,
        rise: Rise::Work,
        what: "blocks that were not in shared buffers",
        unit: "blocks",
        phrase: "reads {} blocks into shared buffers",
        per: Per::Operation,
        floor: 0.05,
        value: |cell| sum(cell, TABLES_IO, ["heap_blks_read", "idx_blks_read"]),
    },
    Entry {
        cause: Cause::Reads,
        rise: Rise::Waiting,
        what: "bytes read from storage by the server",
        unit: "bytes",
        phrase: "reads {} bytes from storage",
        per: Per::Operation,
        floor: 800.0,
        value: |cell| cell.metric("server_read_bytes"),
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Work,
        what: "bytes of write-ahead log",
        unit: "bytes",
        phrase: "writes {} bytes of WAL",
        per: Per::Operation,
        floor: 1.0,
        value: |cell| cell.metric("server_wal_bytes"),
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Work,
        what: "records of write-ahead log",
        unit: "records",
        phrase: "writes {} WAL records",
        per: Per::Operation,
        floor: 0.05,
        value: |cell| cell.counter("pg_stat_wal", "", "wal_records"),
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Work,
        what: "full-page images in the log",
        unit: "images",
        phrase: "writes {} full-page images to the WAL",
        per: Per::Operation,
        floor: 0.002,
        value: |cell| cell.counter("pg_stat_wal", "", "wal_fpi"),
    },
    Entry {
        cause: Cause::Wal,
        rise: Rise::Waiting,
        what: "times that WAL buffers were full",
        unit: "times",
        phrase: "finds the WAL buffers full {} times",
        per: Per::Operation,
        floor: 0.001,
        value: |cell| cell.counter("pg_stat_wal", "", "wal_buffers_full"),
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "fsyncs of log and data",
        unit: "fsyncs",
        phrase: "makes {} fsyncs",
        per: Per::Operation,
        floor: 0.01,
        value: |cell| cell.counter_sum("pg_stat_io", "fsyncs", |_| true).and(cell.metric("server_fsyncs")),
    },
    Entry {
        cause: Cause::Fsync,
        rise: Rise::Waiting,
        what: "fsyncs of the log",
        unit: "fsyncs",
        phrase: "makes {} fsyncs of the WAL",
        per: Per::Operation,
        floor: 0.01,
        value: |cell| cell.counter("pg_stat_wal", "", "wal_sync"),
    },
    Entry {
        cause: Cause::BackendWrites,
        rise: Rise::Work,
        what: "pages written by backends themselves",
        unit: "pages",
        phrase: "lets its backends write {} pages themselves",
        per: Per::Operation,
        floor: 0.005,
        value: |cell| {
            cell.counter_sum("pg_stat_io", "writes", |object| object.starts_with("client backend/relation/"))
        },
    },
    Entry {
        cause: Cause::BackendWrites,
        rise: Rise::Work,
        what: "pages written or added by backends themselves",
        unit: "pages",
        phrase: "lets its backends write or add {} pages themselves",
        per: Per::Operation,
        floor: 0.005,
        value: |cell| cell.counter("pg_stat_bgwriter", "", "buffers_backend"),
    },
    Entry {
        cause: Cause::TempFiles,
        rise: Rise::Work,
        what: "bytes of temporary files",
        unit: "bytes",
        phrase: "writes {} bytes of temporary files",
        per: Per::Operation,
        floor: 10.0,
        value: |cell| cell.counter_sum("pg_stat_database", "temp_bytes", |_| true),
    },
    Entry {
        cause: Cause::Locks,
        rise: Rise::Waiting,
        what: "deadlocks",
        unit: "deadlocks",
        phrase: "runs into {} deadlocks",
        per: Per::Operation,
        floor: 1e-5,
        value: |cell| cell.counter_sum("pg_stat_database", "deadlocks", |_| true),
    },
    Entry {
        cause: Cause::Checkpoint,
        rise: Rise::Work,
        what: "checkpoints in the windows",
        unit: "checkpoints",
        phrase: "checkpoints in the windows: {}",
        per: Per::Windows,
        floor: 0.0,
        value: checkpoints,
    },
    Entry {
        cause: Cause::Autovacuum,
        rise: Rise::Work,
        what: "tables that autovacuum finished in the windows",
        unit: "tables",
        phrase: "tables that autovacuum went through in the windows: {}",
        per: Per::Windows,
        floor: 0.0,
        value: |cell| cell.counter(TABLES, ALL, "autovacuum_count"),
    },
    Entry {
        cause: Cause::Autovacuum,
        rise: Rise::Work,
        what: "CPU time of autovacuum workers",
        unit: "us",
        phrase: "spends {} us of CPU in autovacuum workers",
        per: Per::Operation,
        floor: 0.2,
        value: |cell| {
            cell.metrics_of("server_role.").first().map(|_| cell.metric(VACUUM_ROLE).unwrap_or(0.0))
        },
    },
    Entry {
        cause: Cause::Checkpoint,
        rise: Rise::Work,
        what: "CPU time of the checkpointer",
        unit: "us",
        phrase: "spends {} us of CPU in the checkpointer",
        per: Per::Operation,
        floor: 0.2,
        value: |cell| {
            cell.metrics_of("server_role.").first().map(|_| cell.metric(CHECKPOINT_ROLE).unwrap_or(0.0))
        },
    },
];

const VACUUM_ROLE: &str = "server_role.autovacuum_worker_us";
const CHECKPOINT_ROLE: &str = "server_role.checkpointer_us";

fn sum(cell: Cell<'_>, view: &str, columns: [&str; 2]) -> Option<f64> {
    columns.iter().try_fold(0.0, |sum, column| Some(sum + cell.counter(view, ALL, column)?))
}

/// Blocks of tables and indexes touched per operation.
pub(crate) fn blocks_touched(cx: &Context<'_>) -> Option<Quantity> {
    cx.figures.of(|cell| {
        let heap = sum(cell, TABLES_IO, ["heap_blks_hit", "heap_blks_read"])?;
        Some((heap + sum(cell, TABLES_IO, ["idx_blks_hit", "idx_blks_read"])?) / cell.operations())
    })
}

/// Index entries that scans returned for each row that was then fetched: entries of dead rows are among the first only.
/// Only where rows are fetched at all: an index-only scan fetches none.
fn entries_per_row(cell: Cell<'_>) -> Option<f64> {
    let (entries, rows) =
        (cell.counter(INDEXES, ALL, "idx_tup_read")?, cell.counter(TABLES, ALL, "idx_tup_fetch")?);
    (rows >= 0.5 * cell.operations()).then_some(entries / rows)
}

fn hot_percent(cell: Cell<'_>) -> Option<f64> {
    let (hot, all) = (cell.counter(TABLES, ALL, "n_tup_hot_upd")?, cell.counter(TABLES, ALL, "n_tup_upd")?);
    (all >= 0.01 * cell.operations()).then_some(100.0 * hot / all)
}

/// Checkpoints that were begun, as each version counts them.
fn checkpoints(cell: Cell<'_>) -> Option<f64> {
    let both = |view: &str, columns: [&str; 2]| {
        columns.iter().try_fold(0.0, |sum, column| Some(sum + cell.counter(view, "", column)?))
    };
    both("pg_stat_checkpointer", ["num_timed", "num_requested"])
        .or_else(|| both("pg_stat_bgwriter", ["checkpoints_timed", "checkpoints_req"]))
}

/// What stands out among counters.
pub(crate) fn of_test(cx: &Context<'_>) -> Vec<Finding> {
    ENTRIES.iter().filter_map(|entry| entry.finding(cx)).collect()
}

/// Work that is the same on both arms, in words: `rows, blocks and WAL`; empty where nothing is known to be.
pub(crate) fn same_work(cx: &Context<'_>) -> String {
    let per_op = |metric: &str| cx.figures.per_op(metric);
    let kinds = [
        (per_op("server_rows_touched"), "rows", 0.1),
        (blocks_touched(cx), "blocks", 0.1),
        (per_op("server_wal_bytes"), "WAL", 1.0),
    ];
    let is_same = |found: Option<Quantity>, floor: f64| {
        found.is_some_and(|found| found.base > floor && found.share() < SAME_SHARE)
    };
    let same = kinds.into_iter().filter(|(found, _, floor)| is_same(*found, *floor));
    words::list(&same.map(|(_, name, _)| name.to_owned()).collect::<Vec<_>>())
}

impl Entry {
    fn quantity(&self, cx: &Context<'_>) -> Option<Quantity> {
        let per = self.per;
        let of_cell = |cell: Cell<'_>| {
            let value = (self.value)(cell)?;
            Some(if per == Per::Operation { value / cell.operations() } else { value })
        };
        let found = cx.figures.of(of_cell)?;
        (found.base.max(found.arm) > self.floor).then_some(found)
    }

    fn finding(&self, cx: &Context<'_>) -> Option<Finding> {
        let found = self.quantity(cx).filter(|found| found.matters() && self.is_plenty(cx, found))?;
        let (arm, base) = (cx.its_arm().name.as_str(), cx.base_arm().name.as_str());
        let said = self.said(cx, &found);
        let figure = if self.per == Per::Windows { words::number(said.arm) } else { words::count(said.arm) };
        let phrase = self.phrase.replace("{}", &figure);
        let per = cx.operation();
        let sentence = match self.per {
            Per::Operation => format!("{arm} {phrase} per {per}, {}", words::than(&said, base)),
            Per::Itself => format!("{arm} {phrase}, {}", words::than(&said, base)),
            Per::Windows => format!("{phrase} on {arm}, {} on {base}", words::number(said.base)),
        };
        Some(Finding {
            word: self.word(found.rose()),
            cause: self.cause,
            sentence,
            weight: found.clearness(),
            certainty: cx.certainty(&found),
            evidence: vec![self.evidence(cx, &found)],
        })
    }

    /// Rare events are said as their number in all windows, though their noise is that of one block's.
    fn said(&self, cx: &Context<'_>, found: &Quantity) -> Quantity {
        if self.per != Per::Windows {
            return *found;
        }
        let total = |of_arm| cx.figures.total(of_arm, self.value).unwrap_or(0.0);
        Quantity { base: total(false), arm: total(true), ..*found }
    }

    fn evidence(&self, cx: &Context<'_>, found: &Quantity) -> Evidence {
        let said = self.said(cx, found);
        Evidence {
            what: self.what.to_owned(),
            unit: if self.per == Per::Operation { cx.per_op(self.unit) } else { self.unit.to_owned() },
            base: Some(said.base),
            arm: Some(said.arm),
            noise: found.noise(),
            text: None,
        }
    }

    /// In one pass a few events more or less are chance. Rare events are counted whole: one is a fact.
    fn is_plenty(&self, cx: &Context<'_>, found: &Quantity) -> bool {
        let events = |of_arm, per_op: f64| {
            per_op * cx.figures.total(of_arm, |cell| Some(cell.operations())).unwrap_or(0.0)
        };
        self.per != Per::Operation
            || !found.half_width.is_nan()
            || events(false, found.base).max(events(true, found.arm)) >= EVENTS_MIN
    }

    fn word(&self, rose: bool) -> Word {
        match self.rise {
            Rise::Work => Word::work(rose),
            Rise::LessWork => Word::work(!rose),
            Rise::Waiting => Word::waiting(rose),
        }
    }
}

impl Context<'_> {
    /// How well a quantity's change is known.
    pub(crate) fn certainty(&self, found: &Quantity) -> Certainty {
        match found.half_width.is_nan() {
            true => Certainty::SinglePass,
            false => Certainty::Replicated { blocks: found.blocks },
        }
    }
}
