//! One measured figure as findings report it: its name, unit and sentence, and which of its changes count.
//! The searches of counters, inherited debt and the host are tables of these.

use rqps_stats::{Class, Metric};

use crate::context::Context;
use crate::figures::Cell;
use crate::model::{Cause, Evidence, Finding, Shows, Word};
use crate::quantity::Quantity;
use crate::words;

/// Minimum number of events on one arm before a single pass compares them.
const EVENTS_MIN: f64 = 100.0;

/// How an entry's value is reported.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Per {
    /// A total, divided by operations.
    Operation,
    /// A share or a ratio, as it is.
    Itself,
    /// The number of rare events over all windows.
    Windows,
}

/// What a rise of a figure means.
#[derive(Clone, Copy, PartialEq)]
enum Rise {
    Work,
    Waiting,
    /// More of it means less work: HOT updates.
    LessWork,
}

#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub cause: Cause,
    /// Names of the figure and of its unit in evidence.
    pub name: &'static str,
    pub unit: &'static str,
    /// The sentence's verb phrase; `{}` is replaced by the figure.
    pub phrase: &'static str,
    /// If both arms are at or below this value, the entry is ignored.
    pub floor: f64,
    rise: Rise,
    per: Per,
    value: fn(Cell<'_>) -> Option<f64>,
    shows: &'static Shows,
    /// The metric of verdicts that it is, if it is one.
    judged: Option<Metric>,
}

/// A figure that grows with work. By default its value is a total, reported per operation.
pub(crate) const fn work(cause: Cause, name: &'static str, unit: &'static str, floor: f64) -> Entry {
    let (rise, per, shows) = (Rise::Work, Per::Operation, &Shows::Itself);
    Entry { cause, name, unit, phrase: "", floor, rise, per, value: |_| None, shows, judged: None }
}

/// A figure that grows with waiting.
pub(crate) const fn waiting(cause: Cause, name: &'static str, unit: &'static str, floor: f64) -> Entry {
    Entry { rise: Rise::Waiting, ..work(cause, name, unit, floor) }
}

/// A figure that falls with work.
pub(crate) const fn less_work(cause: Cause, name: &'static str, unit: &'static str, floor: f64) -> Entry {
    Entry { rise: Rise::LessWork, ..work(cause, name, unit, floor) }
}

impl Entry {
    pub const fn phrase(self, phrase: &'static str) -> Self {
        Self { phrase, ..self }
    }

    pub const fn value(self, value: fn(Cell<'_>) -> Option<f64>) -> Self {
        Self { value, ..self }
    }

    pub const fn per(self, per: Per) -> Self {
        Self { per, ..self }
    }

    pub const fn above(self, floor: f64) -> Self {
        Self { floor, ..self }
    }

    pub const fn showing(self, shows: &'static Shows) -> Self {
        Self { shows, ..self }
    }

    /// The window's total of a metric that has verdicts: no finding says more than these.
    pub const fn judged(self, metric: Metric, value: fn(Cell<'_>) -> Option<f64>) -> Self {
        Self { judged: Some(metric), ..self.value(value) }
    }

    /// Its values on both arms. None if it was not measured or both are at or below the floor.
    pub fn quantity(&self, cx: &Context<'_>) -> Option<Quantity> {
        let value = |cell: Cell<'_>| {
            let total = (self.value)(cell)?;
            Some(if self.per == Per::Operation { total / cell.operations() } else { total })
        };
        cx.figures.quantity(value).filter(|found| found.base.max(found.arm) > self.floor)
    }

    /// The finding that it changed, if it did.
    pub fn finding(&self, cx: &Context<'_>) -> Option<Finding> {
        let found = self.quantity(cx).filter(|found| found.matters() && self.is_frequent(cx, found))?;
        let open = match self.judged.and_then(|metric| cx.class_of(metric)) {
            Some(Class::Same) => return None,
            Some(Class::Inconclusive) => "; the verdict on it is inconclusive",
            _ => "",
        };
        let (arm, base) = cx.names();
        let reported = self.reported(cx, &found);
        let figure =
            if self.per == Per::Windows { words::number(reported.arm) } else { words::count(reported.arm) };
        let phrase = self.phrase.replace("{}", &figure);
        let than = format!("{}{open}", words::than(&reported, base));
        let sentence = match self.per {
            Per::Operation => format!("{arm} {phrase} per {}, {than}", cx.operation()),
            Per::Itself => format!("{arm} {phrase}, {than}"),
            Per::Windows => format!("{phrase} on {arm}, {} on {base}{open}", words::number(reported.base)),
        };
        Some(cx.finding(
            self.word(found.rose()),
            self.cause,
            sentence,
            &found,
            vec![self.evidence(cx, &found)],
        ))
    }

    pub fn evidence(&self, cx: &Context<'_>, found: &Quantity) -> Evidence {
        let unit = if self.per == Per::Operation { cx.per_op(self.unit) } else { self.unit.to_owned() };
        let evidence =
            Evidence::figure(self.name, unit, &self.reported(cx, found)).showing(self.shows.clone());
        Evidence { noise: found.noise(), ..evidence }
    }

    /// Rare events are reported as their number over all windows, but their noise is that of single blocks.
    fn reported(&self, cx: &Context<'_>, found: &Quantity) -> Quantity {
        if self.per != Per::Windows {
            return *found;
        }
        let total = |of_arm| cx.figures.total(of_arm, self.value).unwrap_or(0.0);
        Quantity { base: total(false), arm: total(true), ..*found }
    }

    /// In a single pass, a few events more or less are chance. A rare event counts even if it is the only
    /// one.
    fn is_frequent(&self, cx: &Context<'_>, found: &Quantity) -> bool {
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
