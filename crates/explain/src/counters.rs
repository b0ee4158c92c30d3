//! Server counters in words of those who run servers: which of them mean something, what, and for whom it is work or
//! waiting. A counter that no entry names is never spoken of: most follow from others.

mod mysql;
mod postgres;

pub(crate) use mysql::pages_touched;
pub(crate) use postgres::{autovacuumed, checkpoints};

use crate::context::Context;
use crate::figures::Cell;
use crate::model::{Cause, Certainty, Evidence, Finding, Shows, Word};
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
    what: &'static str,
    unit: &'static str,
    /// As the sentence says it, `{}` being the figure.
    phrase: &'static str,
    per: Per,
    /// Value below which both arms have next to none of it.
    floor: f64,
    value: fn(Cell<'_>) -> Option<f64>,
    shows: &'static Shows,
}

/// What an entry is where it says nothing else.
const WORK_PER_OPERATION: Entry = Entry {
    cause: Cause::Unknown,
    rise: Rise::Work,
    what: "",
    unit: "",
    phrase: "",
    per: Per::Operation,
    floor: 0.0,
    value: |_| None,
    shows: &Shows::Itself,
};

/// What a rise of a figure means.
#[derive(Clone, Copy, PartialEq)]
enum Rise {
    Work,
    Waiting,
    /// The more of it the less work: HOT updates.
    LessWork,
}

/// The object that stands for all objects of a view.
const ALL: &str = "all";

/// Blocks of tables and indexes touched per operation.
pub(crate) fn blocks_touched(cx: &Context<'_>) -> Option<Quantity> {
    let touched = |cell: Cell<'_>| {
        postgres::blocks_touched(cell)
            .or_else(|| mysql::pages_touched(cell))
            .map(|all| all / cell.operations())
    };
    cx.figures.of(touched)
}

/// Blocks or pages that were not in the buffers.
pub(crate) fn misses(cell: Cell<'_>) -> Option<f64> {
    postgres::misses(cell).or_else(|| mysql::misses(cell))
}

/// The figures that findings are made of, in the words of the DBMS that they are about.
fn entries(dbms: &str) -> &'static [Entry] {
    match dbms {
        "mysql" | "mariadb" => &mysql::ENTRIES,
        _ => &postgres::ENTRIES,
    }
}

/// What stands out among counters.
pub(crate) fn of_test(cx: &Context<'_>) -> Vec<Finding> {
    entries(&cx.its_arm().dbms).iter().filter_map(|entry| entry.finding(cx)).collect()
}

/// Work that is the same on both arms, in words: `rows, blocks and WAL`; empty where nothing is known to be.
pub(crate) fn same_work(cx: &Context<'_>) -> String {
    let per_op = |metric: &str| cx.figures.per_op(metric);
    let log = if cx.its_arm().dbms == "postgres" { "WAL" } else { "redo" };
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
        let unit = if self.per == Per::Operation { cx.per_op(self.unit) } else { self.unit.to_owned() };
        Evidence { noise: found.noise(), shows: self.shows.clone(), ..Evidence::of(self.what, unit, &said) }
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
