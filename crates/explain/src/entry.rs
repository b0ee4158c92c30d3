//! One measured figure as findings speak of it: its name and unit, its words in a sentence, and which of its changes
//! count. Tables of these are what counters, inherited debt and the host are searched with.

use crate::context::Context;
use crate::figures::Cell;
use crate::model::{Cause, Evidence, Finding, Shows, Word};
use crate::quantity::Quantity;
use crate::words;

/// Events that a single pass has to have seen on one arm before their number is compared.
const EVENTS_MIN: f64 = 100.0;

/// What the value of an entry is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Per {
    /// A total, reported per operation.
    Operation,
    /// A share or a ratio: the value itself.
    Itself,
    /// A number of rare events in all windows.
    Windows,
}

/// What a rise of a figure means.
#[derive(Clone, Copy, PartialEq)]
enum Rise {
    Work,
    Waiting,
    /// The higher it is the less work: HOT updates.
    LessWork,
}

#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub cause: Cause,
    /// Names of the figure and of its unit, as evidence has them.
    pub name: &'static str,
    pub unit: &'static str,
    /// As a sentence says it, `{}` being the figure.
    pub phrase: &'static str,
    /// At or below this value both arms have next to none of it.
    pub floor: f64,
    rise: Rise,
    per: Per,
    value: fn(Cell<'_>) -> Option<f64>,
    shows: &'static Shows,
}

/// A figure of which more is more work. Its value is a total per operation unless the entry says otherwise.
pub(crate) const fn work(cause: Cause, name: &'static str, unit: &'static str, floor: f64) -> Entry {
    let (rise, per, shows) = (Rise::Work, Per::Operation, &Shows::Itself);
    Entry { cause, name, unit, phrase: "", floor, rise, per, value: |_| None, shows }
}

/// A figure of which more is more waiting.
pub(crate) const fn waiting(cause: Cause, name: &'static str, unit: &'static str, floor: f64) -> Entry {
    Entry { rise: Rise::Waiting, ..work(cause, name, unit, floor) }
}

/// A figure of which more is less work.
pub(crate) const fn less_work(cause: Cause, name: &'static str, unit: &'static str, floor: f64) -> Entry {
    Entry { rise: Rise::LessWork, ..work(cause, name, unit, floor) }
}

impl Entry {
    pub const fn says(self, phrase: &'static str) -> Self {
        Self { phrase, ..self }
    }

    pub const fn is(self, value: fn(Cell<'_>) -> Option<f64>) -> Self {
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

    /// Its values on both arms; none where it was not measured or both have next to none of it.
    pub fn quantity(&self, cx: &Context<'_>) -> Option<Quantity> {
        let of_cell = |cell: Cell<'_>| {
            let value = (self.value)(cell)?;
            Some(if self.per == Per::Operation { value / cell.operations() } else { value })
        };
        cx.figures.quantity(of_cell).filter(|found| found.base.max(found.arm) > self.floor)
    }

    /// The finding that it changed; none where it did not.
    pub fn finding(&self, cx: &Context<'_>) -> Option<Finding> {
        let found = self.quantity(cx).filter(|found| found.matters() && self.is_plenty(cx, found))?;
        let (arm, base) = cx.names();
        let said = self.said(cx, &found);
        let figure = if self.per == Per::Windows { words::number(said.arm) } else { words::count(said.arm) };
        let phrase = self.phrase.replace("{}", &figure);
        let than = words::than(&said, base);
        let sentence = match self.per {
            Per::Operation => format!("{arm} {phrase} per {}, {than}", cx.operation()),
            Per::Itself => format!("{arm} {phrase}, {than}"),
            Per::Windows => format!("{phrase} on {arm}, {} on {base}", words::number(said.base)),
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
        let said = Evidence::figure(self.name, unit, &self.said(cx, found)).showing(self.shows.clone());
        Evidence { noise: found.noise(), ..said }
    }

    /// Rare events are reported as their number in all windows, though their noise is that of one block's.
    fn said(&self, cx: &Context<'_>, found: &Quantity) -> Quantity {
        if self.per != Per::Windows {
            return *found;
        }
        let total = |of_arm| cx.figures.total(of_arm, self.value).unwrap_or(0.0);
        Quantity { base: total(false), arm: total(true), ..*found }
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
