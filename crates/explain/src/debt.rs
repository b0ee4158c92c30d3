//! The state in which a step begins: what earlier steps left on one arm and not on the other.
//!
//! A state alone is no cause. It is named where it differs by more than a little and the test does the work that such a
//! state makes: touches more blocks, or executes more instructions, on the arm that has it. Where the query plan is
//! another one, blocks and instructions follow from that, and nothing is said here.

use rqps_store::{Recorded, Run, Window};

use crate::context::Context;
use crate::counters::pages_touched;
use crate::error::Result;
use crate::figures::{COUNTED, Cell};
use crate::model::{Cause, Evidence, Finding, Shows, Word};
use crate::quantity::Quantity;
use crate::words;

/// Dead rows, as a share of live ones, that make a difference: autovacuum itself waits for 5 to 20 %.
const DEAD_SHARE_MIN: f64 = 0.02;
/// By how much tables and indexes have to be larger.
const SIZE_RATIO_MIN: f64 = 1.05;
/// Share of pages that index-only scans need not look at.
const VISIBLE_SHARE_MIN: f64 = 0.10;
/// Log since the checkpoint: by how much, and how many times as much, one arm has to have more than OTHER.
const WAL_MIN_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
const WAL_RATIO_MIN: f64 = 2.0;

/// Transactions that wait for purge: by how many, and how many times as many, one arm has to have more than OTHER.
const HISTORY_MIN: f64 = 10_000.0;
const HISTORY_RATIO_MIN: f64 = 2.0;
/// Share of the buffer pool that is dirty.
const DIRTY_SHARE_MIN: f64 = 0.10;

const TABLES_IO: &str = "pg_statio_all_tables";

/// Stands for the name of the arm without the debt.
const OTHER: &str = "OTHER";

/// What a fingerprint says of the data, over all tables.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct State {
    live_rows: f64,
    dead_rows: f64,
    bytes: f64,
    pages: f64,
    visible_pages: f64,
    wal_bytes: f64,
    vacuums: f64,
    /// Transactions on InnoDB's history list. 5.6 leaves there what is purged.
    history: f64,
    /// Those of them that the purge has not come to, where that is known.
    unpurged: Option<f64>,
    dirty_pages: f64,
    /// Pages of the buffer pool.
    pool_pages: f64,
    /// Redo log since the place from which InnoDB would recover.
    redo_bytes: f64,
}

impl State {
    fn of(fingerprint: &[(String, String)]) -> Self {
        let mut state = Self::default();
        for (key, value) in fingerprint {
            let Ok(value) = value.parse::<f64>() else { continue };
            let of_table = key.strip_prefix("table.").and_then(|rest| rest.rsplit_once('.'));
            match (key.as_str(), of_table.map(|(_, figure)| figure)) {
                ("live_rows", _) => state.live_rows = value,
                ("dead_rows", _) => state.dead_rows = value,
                ("heap_bytes" | "data_bytes" | "index_bytes", _) => state.bytes += value,
                ("history_list_length", _) => state.history = value,
                ("unpurged_transactions", _) => state.unpurged = Some(value),
                ("dirty_pages", _) => state.dirty_pages = value,
                ("data_pages" | "free_pages", _) => state.pool_pages += value,
                ("checkpoint_age_bytes", _) => state.redo_bytes = value,
                ("wal_since_checkpoint_bytes", _) => state.wal_bytes = value,
                (_, Some("pages")) => state.pages += value,
                (_, Some("all_visible_pages")) => state.visible_pages += value,
                (_, Some("vacuums" | "autovacuums")) => state.vacuums += value,
                _ => {}
            }
        }
        state
    }

    /// Transactions whose old row versions wait for purge.
    fn waiting_for_purge(&self) -> f64 {
        self.unpurged.map_or(self.history, |unpurged| unpurged.min(self.history))
    }

    fn dead_share(&self) -> f64 {
        if self.live_rows > 0.0 { self.dead_rows / self.live_rows } else { 0.0 }
    }

    fn dirty_share(&self) -> f64 {
        self.dirty_pages / self.pool_pages.max(1.0)
    }

    fn visible_share(&self) -> f64 {
        self.visible_pages / self.pages.max(1.0)
    }
}

/// A kind of debt: how much of it a state has, and what it makes a test do.
struct Kind {
    cause: Cause,
    /// How much more the second state has than the first, 1 where it begins to count; negative where it has less.
    more: fn(&State, &State) -> f64,
    /// What the state is, as evidence names it, with its unit.
    what: &'static str,
    unit: &'static str,
    value: fn(&State) -> f64,
    /// As the sentence says it of the arm that has more debt, and then of the other, which is named by [`OTHER`].
    says: fn(&State, &State) -> String,
    effects: &'static [Effect],
    /// Whether the test does what the debt acts on, where its effects alone do not tell.
    applies: fn(&Context<'_>) -> Result<bool>,
}

/// Work that a debt makes.
struct Effect {
    /// `touches {} blocks of tables`.
    phrase: &'static str,
    what: &'static str,
    unit: &'static str,
    shows: &'static Shows,
    /// Below this it is next to nothing on both arms.
    floor: f64,
    per_op: fn(Cell<'_>) -> Option<f64>,
}

const TABLE_BLOCKS: Effect = Effect {
    phrase: "touches {} blocks of tables",
    what: "table blocks touched",
    unit: "blocks",
    shows: &Shows::Itself,
    floor: 0.1,
    per_op: |cell| blocks(cell, ["heap_blks_hit", "heap_blks_read"]),
};
const INDEX_BLOCKS: Effect = Effect {
    phrase: "touches {} blocks of indexes",
    what: "index blocks touched",
    unit: "blocks",
    shows: &Shows::Itself,
    floor: 0.1,
    per_op: |cell| blocks(cell, ["idx_blks_hit", "idx_blks_read"]),
};
const INDEX_ENTRIES: Effect = Effect {
    phrase: "reads {} index entries",
    what: "index entries read",
    unit: "entries",
    shows: &Shows::Itself,
    floor: 0.1,
    per_op: |cell| Some(cell.counter("pg_stat_all_indexes", "all", "idx_tup_read")? / cell.operations()),
};
const INSTRUCTIONS: Effect = Effect {
    phrase: "executes {} instructions",
    what: "instructions",
    unit: "instructions",
    shows: &Shows::Itself,
    floor: 1.0,
    per_op: |cell| {
        Some(cell.metric("server_instructions_user").or(cell.metric(COUNTED))? / cell.operations())
    },
};
const PAGE_IMAGES: Effect = Effect {
    phrase: "writes {} full-page images to WAL",
    what: "full-page images in WAL",
    shows: &Shows::FullPageImages,
    unit: "images",
    floor: 0.001,
    per_op: |cell| Some(cell.counter_sum("pg_stat_wal", "wal_fpi", |_| true)? / cell.operations()),
};

const PAGES: Effect = Effect {
    phrase: "asks the buffer pool for {} pages",
    what: "pages asked for in the buffer pool",
    unit: "pages",
    shows: &Shows::Itself,
    floor: 0.1,
    per_op: |cell| Some(pages_touched(cell)? / cell.operations()),
};
const FLUSHED: Effect = Effect {
    phrase: "flushes {} dirty pages",
    what: "dirty pages flushed",
    unit: "pages",
    shows: &Shows::Itself,
    floor: 0.005,
    per_op: |cell| {
        Some(cell.counter("global_status", "", "innodb_buffer_pool_pages_flushed")? / cell.operations())
    },
};

const KINDS: [Kind; 7] = [
    Kind {
        cause: Cause::DeadRows,
        more: |first, second| (second.dead_share() - first.dead_share()) / DEAD_SHARE_MIN,
        what: "dead rows when the step began",
        unit: "rows",
        value: |state| state.dead_rows,
        says: |more, less| {
            format!(
                "begins with {} dead rows, {} of its live ones (OTHER: {})",
                words::number(more.dead_rows),
                words::percent(more.dead_share()),
                words::number(less.dead_rows)
            )
        },
        effects: &[INDEX_ENTRIES, TABLE_BLOCKS, INDEX_BLOCKS, INSTRUCTIONS],
        applies: |_| Ok(true),
    },
    Kind {
        cause: Cause::Size,
        more: |first, second| ratio_beyond(first.bytes, second.bytes, SIZE_RATIO_MIN),
        what: "size of tables and indexes when the step began",
        unit: "MB",
        value: |state| state.bytes / 1e6,
        says: |more, less| {
            let ratio = more.bytes / less.bytes.max(1.0) - 1.0;
            format!(
                "begins with tables and indexes of {} MB, {} more than OTHER",
                words::number(more.bytes / 1e6),
                words::percent(ratio)
            )
        },
        effects: &[TABLE_BLOCKS, INDEX_BLOCKS, PAGES],
        applies: |_| Ok(true),
    },
    Kind {
        cause: Cause::DeadRows,
        more: |first, second| {
            let (first, second) = (first.waiting_for_purge(), second.waiting_for_purge());
            let enough = (first - second).abs() >= HISTORY_MIN;
            if enough { ratio_beyond(first, second, HISTORY_RATIO_MIN) } else { 0.0 }
        },
        what: "history list length when the step began",
        unit: "transactions",
        value: State::waiting_for_purge,
        says: |more, less| {
            format!(
                "begins with {} transactions whose old row versions are not purged yet (history list length; OTHER: \
                 {}), which reads may have to pass over and purge threads remove meanwhile",
                words::number(more.waiting_for_purge()),
                words::number(less.waiting_for_purge())
            )
        },
        effects: &[PAGES, INSTRUCTIONS],
        applies: |_| Ok(true),
    },
    Kind {
        cause: Cause::Checkpoint,
        more: |first, second| (second.dirty_share() - first.dirty_share()) / DIRTY_SHARE_MIN,
        what: "share of the buffer pool that was dirty when the step began",
        unit: "%",
        value: |state| 100.0 * state.dirty_share(),
        says: |more, less| {
            format!(
                "begins with {} of its buffer pool dirty (OTHER: {})",
                words::percent(more.dirty_share()),
                words::percent(less.dirty_share())
            )
        },
        effects: &[FLUSHED],
        applies: |_| Ok(true),
    },
    Kind {
        cause: Cause::Checkpoint,
        more: |first, second| {
            let enough = (first.redo_bytes - second.redo_bytes).abs() >= WAL_MIN_BYTES;
            if enough { ratio_beyond(first.redo_bytes, second.redo_bytes, WAL_RATIO_MIN) } else { 0.0 }
        },
        what: "redo log since the checkpoint when the step began",
        unit: "MB",
        value: |state| state.redo_bytes / 1e6,
        says: |more, less| {
            format!(
                "begins {} MB of redo log after its checkpoint (OTHER: {} MB), and flushes pages the faster the nearer \
                 that comes to the log's size",
                words::number(more.redo_bytes / 1e6),
                words::number(less.redo_bytes / 1e6)
            )
        },
        effects: &[FLUSHED],
        applies: |_| Ok(true),
    },
    Kind {
        cause: Cause::HeapBlocks,
        more: |first, second| (first.visible_share() - second.visible_share()) / VISIBLE_SHARE_MIN,
        what: "pages known to be all visible when the step began",
        unit: "%",
        value: |state| 100.0 * state.visible_share(),
        says: |more, less| {
            format!(
                "begins with {} of its pages known to be all visible (OTHER: {}), so that index-only scans look \
                 into the table for the rest",
                words::percent(more.visible_share()),
                words::percent(less.visible_share())
            )
        },
        effects: &[TABLE_BLOCKS],
        applies: |cx| crate::plans::has_node(cx, "Index Only Scan"),
    },
    Kind {
        cause: Cause::Wal,
        more: |first, second| {
            let enough = (first.wal_bytes - second.wal_bytes).abs() >= WAL_MIN_BYTES;
            if enough { ratio_beyond(second.wal_bytes, first.wal_bytes, WAL_RATIO_MIN) } else { 0.0 }
        },
        what: "WAL since the last checkpoint when the step began",
        unit: "MB",
        value: |state| state.wal_bytes / 1e6,
        says: |more, less| {
            format!(
                "begins {} MB of WAL after its last checkpoint (OTHER: {} MB), and the first change of a page after \
                 a checkpoint writes it whole",
                words::number(more.wal_bytes / 1e6),
                words::number(less.wal_bytes / 1e6)
            )
        },
        effects: &[PAGE_IMAGES],
        applies: |_| Ok(true),
    },
];

/// 1 or more where `second` is at least `ratio` times `first`, -1 or less where it is the other way round.
fn ratio_beyond(first: f64, second: f64, ratio: f64) -> f64 {
    (second.max(1.0) / first.max(1.0)).ln() / ratio.ln()
}

fn blocks(cell: Cell<'_>, columns: [&str; 2]) -> Option<f64> {
    let [hit, read] = columns.map(|column| cell.counter(TABLES_IO, "all", column));
    Some((hit? + read?) / cell.operations())
}

/// Debts that one arm begins this test with, where its work shows them.
pub(crate) fn of_test(cx: &Context<'_>) -> Result<Vec<Finding>> {
    let (Some(base), Some(arm)) = (Begin::of(cx, cx.base)?, Begin::of(cx, cx.arm)?) else {
        return Ok(Vec::new());
    };
    let mut findings = Vec::new();
    for kind in &KINDS {
        let more = (kind.more)(&base.state, &arm.state);
        if more.abs() < 1.0 {
            continue;
        }
        let effects = effects(cx, kind, more > 0.0);
        if effects.is_empty() || !(kind.applies)(cx)? {
            continue;
        }
        let since = since(cx.run, kind, &base, &arm)?;
        findings.push(finding(cx, kind, [&base, &arm], &effects, since.as_ref()));
    }
    if findings.is_empty() || !crate::plans::of_test(cx)?.is_empty() {
        return Ok(Vec::new());
    }
    Ok(findings)
}

/// How a test began on one arm.
struct Begin<'a> {
    window: &'a Recorded<Window>,
    state: State,
}

impl<'a> Begin<'a> {
    fn of(cx: &Context<'a>, arm: usize) -> Result<Option<Self>> {
        for window in cx.windows(arm) {
            let fingerprint = cx.run.fingerprint(window.action.seq)?;
            if !fingerprint.is_empty() {
                return Ok(Some(Self { window, state: State::of(&fingerprint) }));
            }
        }
        Ok(None)
    }
}

/// What the arm with more debt does more of, beyond noise.
fn effects<'k>(cx: &Context<'_>, kind: &'k Kind, arm_has_more: bool) -> Vec<(&'k Effect, Quantity)> {
    let effects = kind.effects.iter().filter_map(|effect| Some((effect, cx.figures.of(effect.per_op)?)));
    effects
        .filter(|(effect, found)| {
            found.matters() && found.rose() == arm_has_more && found.base.max(found.arm) >= effect.floor
        })
        .collect()
}

/// From when on the arms differ.
struct Since {
    /// The step that was run before they did; none when they differ since the first step.
    after: Option<String>,
    /// Whether the arm that has the debt was vacuumed since.
    vacuumed: bool,
}

/// Walks back over the steps of both arms as long as they differ by at least half of what they differ by now.
fn since(run: &Run, kind: &Kind, base: &Begin<'_>, arm: &Begin<'_>) -> Result<Option<Since>> {
    let now = (kind.more)(&base.state, &arm.state);
    let debtor = if now > 0.0 { arm } else { base };
    let mut first_vacuums = debtor.state.vacuums;
    let (before, after) = (earlier(run, base.window), earlier(run, arm.window));
    for window in after.iter().rev() {
        let Some(other) = before.iter().find(|other| other.action.step == window.action.step) else {
            continue;
        };
        let states = (fingerprint(run, other)?, fingerprint(run, window)?);
        let (Some(base_state), Some(arm_state)) = states else { continue };
        if (kind.more)(&base_state, &arm_state) / now < 0.5 {
            let vacuumed = debtor.state.vacuums > first_vacuums;
            return Ok(Some(Since { after: Some(window.action.step.clone()), vacuumed }));
        }
        first_vacuums = if now > 0.0 { arm_state.vacuums } else { base_state.vacuums };
    }
    let vacuumed = debtor.state.vacuums > first_vacuums;
    Ok((!after.is_empty()).then_some(Since { after: None, vacuumed }))
}

fn fingerprint(run: &Run, window: &Recorded<Window>) -> Result<Option<State>> {
    let fingerprint = run.fingerprint(window.action.seq)?;
    Ok((!fingerprint.is_empty()).then(|| State::of(&fingerprint)))
}

/// The windows of the same arm and block that came before.
fn earlier<'a>(run: &'a Run, of: &Recorded<Window>) -> Vec<&'a Recorded<Window>> {
    let block = |window: &Recorded<Window>| window.placement.map(|at| at.block);
    run.windows
        .iter()
        .filter(|window| window.action.arm == of.action.arm && block(window) == block(of))
        .filter(|window| window.action.seq < of.action.seq)
        .collect()
}

fn finding(
    cx: &Context<'_>,
    kind: &Kind,
    [base, arm]: [&Begin<'_>; 2],
    effects: &[(&Effect, Quantity)],
    since: Option<&Since>,
) -> Finding {
    let (arm_name, base_name) = (&cx.its_arm().name, &cx.base_arm().name);
    let arm_has_more = (kind.more)(&base.state, &arm.state) > 0.0;
    let (debtor, other, more, less) = match arm_has_more {
        true => (arm_name, base_name, &arm.state, &base.state),
        false => (base_name, arm_name, &base.state, &arm.state),
    };
    let mut sentence = format!("{debtor} {}", (kind.says)(more, less).replace(OTHER, other));
    // What one was loaded with is no debt of earlier steps; and in blocks no test leaves anything to another.
    let left_by = since.and_then(|since| Some((since.after.as_ref()?, since.vacuumed)));
    let left_by = left_by.filter(|_| cx.run.meta.protocol != "isolated");
    match left_by {
        Some((step, vacuumed)) => {
            sentence.push_str(&format!("; the two differ in this since {step}"));
            if more.dead_rows > 0.0 && kind.cause == Cause::DeadRows && !vacuumed {
                sentence.push_str(", and no vacuum has run on it since");
            }
        }
        None => sentence.push_str("; the two differ in this since the load"),
    }
    let (effect, found) = &effects[0];
    let does = effect.phrase.replace("{}", &words::number(found.arm));
    let than = words::than(found, base_name);
    sentence.push_str(&format!("; {arm_name} {does} per {}, {than}", cx.operation()));
    let of_effects = effects.iter().map(|(effect, found)| {
        Evidence::of(effect.what, cx.per_op(effect.unit), found).showing(effect.shows.clone())
    });
    let of_state = Evidence {
        what: kind.what.to_owned(),
        unit: kind.unit.to_owned(),
        base: Some((kind.value)(&base.state)),
        arm: Some((kind.value)(&arm.state)),
        noise: None,
        text: None,
        shows: Shows::Itself,
    };
    Finding {
        word: if left_by.is_some() { Word::InheritedDebt } else { Word::work(found.rose()) },
        cause: kind.cause,
        sentence,
        weight: effects.iter().map(|(_, found)| found.clearness()).fold(0.0, f64::max),
        certainty: cx.certainty(found),
        evidence: of_effects.chain([of_state]).collect(),
    }
}
