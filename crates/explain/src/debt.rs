//! The state in which a step starts: debt that earlier steps left on one arm but not on the other.
//!
//! A state alone is no cause. It is reported if it differs clearly and the arm that has it also does the work
//! that such a state causes: touches more blocks, or executes more instructions. If the query plan changed,
//! it explains blocks and instructions, and nothing is reported here.

use std::collections::BTreeMap;

use rqps_model::sample::mean;
use rqps_store::{Recorded, Run, Window};

use crate::context::Context;
use crate::counters::{INDEX_BLOCKS, PAGE_IMAGES, PAGES_FLUSHED, PAGES_TOUCHED, TABLE_BLOCKS};
use crate::entry::{Entry, work};
use crate::error::Result;
use crate::figures::{ALL, Windows};
use crate::model::{Cause, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// Minimum difference of log since the checkpoint: a factor and a number of bytes.
const LOG_DIFFERS: Differs = Differs::Times { ratio: 2.0, by: 64.0 * 1024.0 * 1024.0 };

/// The state of the data in a fingerprint, over all tables.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct State {
    live_rows: f64,
    dead_rows: f64,
    bytes: f64,
    pages: f64,
    visible_pages: f64,
    wal_bytes: f64,
    vacuums: f64,
    /// Transactions on InnoDB's history list. MySQL 5.6 leaves purged ones on it.
    history: f64,
    /// Those that are not purged yet, if known.
    unpurged: Option<f64>,
    dirty_pages: f64,
    /// Pages of the buffer pool.
    pool_pages: f64,
    /// Redo log since the position from which InnoDB would recover.
    redo_bytes: f64,
}

impl State {
    fn from_fingerprint(fingerprint: &[(String, String)]) -> Self {
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

    /// Transactions whose old row versions are not purged yet.
    fn unpurged_transactions(&self) -> f64 {
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

/// The minimum difference between two states.
enum Differs {
    By(f64),
    /// One is at least `ratio` times the other, and larger by at least `by`.
    Times {
        ratio: f64,
        by: f64,
    },
}

impl Differs {
    /// How much more `second` is than `first`, in units of the minimum difference; negative if it is less.
    fn more(&self, first: f64, second: f64) -> f64 {
        match self {
            Differs::By(by) => (second - first) / by,
            Differs::Times { by, .. } if (second - first).abs() < *by => 0.0,
            Differs::Times { ratio, .. } => (second.max(1.0) / first.max(1.0)).ln() / ratio.ln(),
        }
    }
}

/// A kind of debt: how much of it a state has, and which work it causes.
struct Kind {
    cause: Cause,
    /// Name and unit of the state in evidence.
    name: &'static str,
    unit: &'static str,
    value: fn(&State) -> f64,
    /// The amount that is compared, and its minimum difference.
    amount: fn(&State) -> f64,
    differs: Differs,
    /// Whether the state with the smaller amount is the one in debt.
    less_is_debt: bool,
    /// The sentence about the arm in debt: `{more}` and `{less}` are the values on it and on the other arm,
    /// whose name is `{other}`.
    phrase: &'static str,
    effects: &'static [Entry],
    /// A node type that a plan of the test must contain for the debt to have an effect.
    node: Option<&'static str>,
}

const INDEX_ENTRIES: Entry = work(Cause::DeadRows, "index entries read", "entries", 0.1)
    .phrase("reads {} index entries")
    .value(|cell| cell.counter("pg_stat_all_indexes", ALL, "idx_tup_read"));
const INSTRUCTIONS: Entry = work(Cause::Instructions, "instructions", "instructions", 1.0)
    .phrase("executes {} instructions")
    .value(|cell| cell.instructions());
const FLUSHED: Entry = PAGES_FLUSHED.above(0.005);

/// The state for which index-only scans need not visit the table.
pub(crate) const ALL_VISIBLE: &str = "all-visible pages at the start of the step";

const KINDS: [Kind; 7] = [
    Kind {
        cause: Cause::DeadRows,
        name: "dead rows at the start of the step",
        unit: "rows",
        value: |state| state.dead_rows,
        amount: State::dead_share,
        // As a share of the live rows; autovacuum starts at 5 to 20 %.
        differs: Differs::By(0.02),
        less_is_debt: false,
        phrase: "starts with {more} dead rows, {dead_share} of the live rows ({other}: {less})",
        effects: &[INDEX_ENTRIES, TABLE_BLOCKS, INDEX_BLOCKS, INSTRUCTIONS],
        node: None,
    },
    Kind {
        cause: Cause::Size,
        name: "size of tables and indexes at the start of the step",
        unit: "MB",
        value: |state| state.bytes / 1e6,
        amount: |state| state.bytes,
        differs: Differs::Times { ratio: 1.05, by: 0.0 },
        less_is_debt: false,
        phrase: "starts with {more} MB of tables and indexes ({other}: {less} MB)",
        effects: &[TABLE_BLOCKS, INDEX_BLOCKS, PAGES_TOUCHED],
        node: None,
    },
    Kind {
        cause: Cause::DeadRows,
        name: "history list length at the start of the step",
        unit: "transactions",
        value: State::unpurged_transactions,
        amount: State::unpurged_transactions,
        differs: Differs::Times { ratio: 2.0, by: 10_000.0 },
        less_is_debt: false,
        phrase: "starts with {more} transactions not yet purged (history list length; {other}: {less}): reads may have \
               to step over their old row versions while purge threads remove them",
        effects: &[PAGES_TOUCHED, INSTRUCTIONS],
        node: None,
    },
    Kind {
        cause: Cause::Checkpoint,
        name: "dirty share of the buffer pool at the start of the step",
        unit: "%",
        value: |state| 100.0 * state.dirty_share(),
        amount: State::dirty_share,
        differs: Differs::By(0.10),
        less_is_debt: false,
        phrase: "starts with {more} of its buffer pool dirty ({other}: {less})",
        effects: &[FLUSHED],
        node: None,
    },
    Kind {
        cause: Cause::Checkpoint,
        name: "redo log since the checkpoint at the start of the step",
        unit: "MB",
        value: |state| state.redo_bytes / 1e6,
        amount: |state| state.redo_bytes,
        differs: LOG_DIFFERS,
        less_is_debt: false,
        phrase: "starts with {more} MB of redo log since its checkpoint ({other}: {less} MB); the nearer that comes to \
               the size of the log, the faster pages are flushed",
        effects: &[FLUSHED],
        node: None,
    },
    Kind {
        cause: Cause::BlocksTouched,
        name: ALL_VISIBLE,
        unit: "%",
        value: |state| 100.0 * state.visible_share(),
        amount: State::visible_share,
        differs: Differs::By(0.10),
        less_is_debt: true,
        phrase: "starts with {more} of its pages all-visible ({other}: {less}); for the rest index-only scans visit the \
               table",
        effects: &[TABLE_BLOCKS],
        node: Some("Index Only Scan"),
    },
    Kind {
        cause: Cause::Wal,
        name: "WAL since the last checkpoint at the start of the step",
        unit: "MB",
        value: |state| state.wal_bytes / 1e6,
        amount: |state| state.wal_bytes,
        differs: LOG_DIFFERS,
        less_is_debt: true,
        phrase: "starts {more} MB of WAL after its last checkpoint ({other}: {less} MB); the first change of a page after \
               a checkpoint writes a full-page image",
        effects: &[PAGE_IMAGES.above(0.001)],
        node: None,
    },
];

impl Kind {
    /// How much more of the debt `second` has than `first`, in units of the minimum difference; negative if
    /// it has less.
    fn more(&self, first: &State, second: &State) -> f64 {
        let more = self.differs.more((self.amount)(first), (self.amount)(second));
        if self.less_is_debt { -more } else { more }
    }

    /// The sentence about the arm in debt, of base and another arm with their names.
    fn phrase(&self, [base, arm]: [(&str, &State); 2]) -> String {
        let arm_is_debtor = self.more(base.1, arm.1) > 0.0;
        let ((debtor, more), (other, less)) = if arm_is_debtor { (arm, base) } else { (base, arm) };
        let phrase = self
            .phrase
            .replace("{more}", &self.formatted(more))
            .replace("{less}", &self.formatted(less))
            .replace("{dead_share}", &words::percent(more.dead_share()))
            .replace("{other}", other);
        format!("{debtor} {phrase}")
    }

    fn formatted(&self, state: &State) -> String {
        let value = (self.value)(state);
        if self.unit == "%" { words::percent(value / 100.0) } else { words::number(value) }
    }
}

/// Debts with which one arm starts this test, if its work shows their effect.
pub(crate) fn findings(cx: &Context<'_>) -> Result<Vec<Finding>> {
    let start = |arm| Start::find(cx.windows, cx.test, arm);
    let (Some(base), Some(arm)) = (start(cx.base)?, start(cx.arm)?) else {
        return Ok(Vec::new());
    };
    let mut findings = Vec::new();
    for kind in &KINDS {
        let more = kind.more(&base.state, &arm.state);
        let effects = if more.abs() < 1.0 { Vec::new() } else { effects(cx, kind, more > 0.0) };
        let can_have_effect = || kind.node.map_or(Ok(true), |node| crate::plans::has_node(cx, node));
        if !effects.is_empty() && can_have_effect()? {
            let since = since(cx.run, kind, &base, &arm)?;
            findings.push(finding(cx, kind, [&base, &arm], &effects, since));
        }
    }
    if findings.is_empty() || !crate::plans::findings(cx)?.is_empty() {
        return Ok(Vec::new());
    }
    Ok(findings)
}

/// How the states differ in which a test starts on an arm and on base, one sentence each, whether or not that has an
/// effect. The largest difference, compared with the smallest that counts, comes first.
pub(crate) fn unlike_states(
    windows: &Windows<'_>,
    test: &str,
    base: usize,
    arm: usize,
) -> Result<Vec<String>> {
    if let Some(sentence) = unlike_trees(windows, test, base, arm) {
        return Ok(vec![sentence]);
    }
    let start = |arm| Start::find(windows, test, arm);
    let (Some(on_base), Some(on_arm)) = (start(base)?, start(arm)?) else { return Ok(Vec::new()) };
    let run = windows.run;
    let mut unlike: Vec<(f64, String)> = Vec::new();
    for kind in &KINDS {
        let more = kind.more(&on_base.state, &on_arm.state).abs();
        if more >= 1.0 {
            let named = [(base, &on_base.state), (arm, &on_arm.state)];
            unlike.push((more, kind.phrase(named.map(|(arm, state)| (&*run.arms[arm].name, state)))));
        }
    }
    unlike.sort_by(|one, other| other.0.total_cmp(&one.0));
    Ok(unlike.into_iter().map(|(_, sentence)| sentence).collect())
}

/// Level 0 of an LSM tree holds files that no compaction has merged: each is looked into by every read.
const LEVEL0_FILES: &str = "lsm_level0_files_before";
const LEVEL0_DIFFERS: Differs = Differs::Times { ratio: 2.0, by: 4.0 };

/// In one pass, such as after a restart between two steps, which writes a file of what was in memory.
const LEVEL0_DIFFERS_IN_PASS: Differs = Differs::Times { ratio: 2.0, by: 2.0 };

/// How the trees differ with which windows of a test begin: on the mean, else in the pass in which they differ most;
/// `None` if they don't or there are none.
fn unlike_trees(windows: &Windows<'_>, test: &str, base: usize, arm: usize) -> Option<String> {
    let files = |arm| -> BTreeMap<u32, f64> {
        { windows.of(test, arm).iter() }
            .filter_map(|one| Some((one.placement.map_or(0, |at| at.block), one.metric(LEVEL0_FILES)?)))
            .collect()
    };
    let (on_base, on_arm) = (files(base), files(arm));
    let all = |files: &BTreeMap<u32, f64>| mean(&files.values().copied().collect::<Vec<_>>());
    if on_base.is_empty() || on_arm.is_empty() {
        return None;
    }
    let names = [base, arm].map(|arm| windows.run.arms[arm].name.as_str());
    let sentence = |files: [f64; 2]| {
        let [less, more] = if files[1] > files[0] { [0, 1] } else { [1, 0] };
        format!(
            "{} starts with {} files in level 0, not compacted yet ({}: {})",
            names[more],
            words::number(files[more]),
            names[less],
            words::number(files[less])
        )
    };
    let means = [all(&on_base), all(&on_arm)];
    if LEVEL0_DIFFERS.more(means[0], means[1]).abs() >= 1.0 {
        return Some(sentence(means));
    }
    if on_base.len() < 2 {
        return None;
    }
    let in_both = on_base.iter().filter_map(|(pass, files)| Some((pass, [*files, *on_arm.get(pass)?])));
    let differing =
        in_both.map(|(pass, files)| (LEVEL0_DIFFERS_IN_PASS.more(files[0], files[1]).abs(), pass, files));
    let (_, pass, files) =
        differing.filter(|(more, ..)| *more >= 1.0).max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(format!("in pass {pass}, {}", sentence(files)))
}

struct Start<'a> {
    window: &'a Recorded<Window>,
    state: State,
}

impl<'a> Start<'a> {
    fn find(windows: &Windows<'a>, test: &str, arm: usize) -> Result<Option<Self>> {
        for window in windows.of(test, arm).iter().copied() {
            if let Some(state) = state(windows.run, window)? {
                return Ok(Some(Self { window, state }));
            }
        }
        Ok(None)
    }
}

/// The state at the start of a window; `None` if it was not recorded.
fn state(run: &Run, window: &Recorded<Window>) -> Result<Option<State>> {
    let fingerprint = run.fingerprint(window.action.seq)?;
    Ok((!fingerprint.is_empty()).then(|| State::from_fingerprint(&fingerprint)))
}

/// Work that the arm with more debt does more of, beyond noise.
fn effects<'k>(cx: &Context<'_>, kind: &'k Kind, arm_has_more: bool) -> Vec<(&'k Entry, Quantity)> {
    let effects = kind.effects.iter().filter_map(|effect| Some((effect, effect.quantity(cx)?)));
    effects.filter(|(_, found)| found.matters() && found.rose() == arm_has_more).collect()
}

/// Since when the arms have differed.
struct Since<'a> {
    /// The last step before which they did not; `None` if they have differed since the first step.
    after: Option<&'a str>,
    /// Whether the arm in debt was vacuumed since then.
    vacuumed: bool,
}

/// Walks back over the steps of both arms while they differ by at least half of the current difference. None
/// if there is no earlier step.
fn since<'a>(run: &'a Run, kind: &Kind, base: &Start<'_>, arm: &Start<'_>) -> Result<Option<Since<'a>>> {
    let now = kind.more(&base.state, &arm.state);
    let in_debt = |base: &State, arm: &State| if now > 0.0 { arm.vacuums } else { base.vacuums };
    let vacuums = in_debt(&base.state, &arm.state);
    let mut first_vacuums = vacuums;
    let (before, after) = (earlier(run, base.window), earlier(run, arm.window));
    for window in after.iter().rev() {
        let Some(other) = before.iter().find(|other| other.action.step == window.action.step) else {
            continue;
        };
        let (Some(base_state), Some(arm_state)) = (state(run, other)?, state(run, window)?) else { continue };
        if kind.more(&base_state, &arm_state) / now < 0.5 {
            let after = Some(window.action.step.as_str());
            return Ok(Some(Since { after, vacuumed: vacuums > first_vacuums }));
        }
        first_vacuums = in_debt(&base_state, &arm_state);
    }
    Ok((!after.is_empty()).then_some(Since { after: None, vacuumed: vacuums > first_vacuums }))
}

/// Earlier windows of the same arm and block.
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
    [base, arm]: [&Start<'_>; 2],
    effects: &[(&Entry, Quantity)],
    since: Option<Since<'_>>,
) -> Finding {
    let (arm_name, base_name) = cx.names();
    let arm_is_debtor = kind.more(&base.state, &arm.state) > 0.0;
    let more = if arm_is_debtor { &arm.state } else { &base.state };
    let phrase = kind.phrase([(base_name, &base.state), (arm_name, &arm.state)]);
    // A state from the load is not a debt of earlier steps, and with protocol `isolated` tests leave nothing
    // behind.
    let left_by = since.and_then(|since| Some((since.after?, since.vacuumed)));
    let left_by = left_by.filter(|_| cx.run.meta.protocol != "isolated");
    let mut sentence = format!(
        "{phrase}; the two have differed in this since {}",
        left_by.map_or("the load", |(step, _)| step)
    );
    if more.dead_rows > 0.0 && kind.cause == Cause::DeadRows && left_by.is_some_and(|(_, vacuumed)| !vacuumed)
    {
        sentence.push_str(", and no vacuum has run on it since");
    }
    let (effect, found) = &effects[0];
    let work = effect.phrase.replace("{}", &words::number(found.arm));
    let than = words::than(found, base_name);
    sentence.push_str(&format!("; {arm_name} {work} per {}, {than}", cx.operation()));
    let state = Evidence {
        what: kind.name.to_owned(),
        unit: kind.unit.to_owned(),
        base: Some((kind.value)(&base.state)),
        arm: Some((kind.value)(&arm.state)),
        ..Evidence::default()
    };
    let evidence = effects.iter().map(|(effect, found)| effect.evidence(cx, found)).chain([state]).collect();
    let word = if left_by.is_some() { Word::InheritedDebt } else { Word::work(found.rose()) };
    Finding {
        weight: effects.iter().map(|(_, found)| found.clearness()).fold(0.0, f64::max),
        ..cx.finding(word, kind.cause, sentence, found, evidence)
    }
}
