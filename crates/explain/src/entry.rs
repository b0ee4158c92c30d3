//! One measured figure as findings report it: its name, unit and sentence, and which of its changes count.
//! The searches of counters, inherited debt and the host are tables of these.

use rqps_stats::Metric;

use crate::context::Context;
use crate::figures::{Cell, ELAPSED};
use crate::model::{Cause, Certainty, Evidence, Finding, Shows, Word};
use crate::quantity::{APART, Quantity};
use crate::time::share_of;
use crate::words;

/// Minimum number of events on one arm before a single pass compares them.
const EVENTS_MIN: f64 = 100.0;
/// Units of what is measured, not counted.
const AMOUNTS: [&str; 5] = ["us", "bytes", "bytes/miss", "kB", "%"];

/// How an entry's value is reported.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Per {
    /// A total, divided by operations.
    Operation,
    /// A total, divided by the seconds of the windows: work that goes on beside operations.
    Second,
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
    /// The most that `value` may be, if that is not known exactly.
    at_most: Option<fn(Cell<'_>) -> Option<f64>>,
    /// Whether it is work told by the CPU time that it took.
    is_cpu_time: bool,
}

/// A figure that grows with work. By default its value is a total, reported per operation.
pub(crate) const fn work(cause: Cause, name: &'static str, unit: &'static str, floor: f64) -> Entry {
    let (rise, per, shows) = (Rise::Work, Per::Operation, &Shows::Itself);
    let value = |_: Cell<'_>| None;
    let (phrase, judged, at_most, is_cpu_time) = ("", None, None, false);
    Entry { cause, name, unit, phrase, floor, rise, per, value, shows, judged, at_most, is_cpu_time }
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

    /// `value` is the least that it may be: it differs only if the arm with less has less even at most.
    pub const fn at_most(self, at_most: fn(Cell<'_>) -> Option<f64>) -> Self {
        Self { at_most: Some(at_most), ..self }
    }

    /// Work told by its CPU time, which depends on the host, too: in a single pass it differs only by [`APART`].
    pub const fn cpu_time(self, value: fn(Cell<'_>) -> Option<f64>) -> Self {
        Self { is_cpu_time: true, ..self.value(value) }
    }

    /// Its values on both arms. None if it was not measured or both are at or below the floor.
    pub fn quantity(&self, cx: &Context<'_>) -> Option<Quantity> {
        self.quantity_of(cx, self.value).filter(|found| found.base.max(found.arm) > self.floor)
    }

    fn quantity_of(&self, cx: &Context<'_>, value: fn(Cell<'_>) -> Option<f64>) -> Option<Quantity> {
        cx.figures.quantity(|cell| self.divided(cell, value))
    }

    fn divided(&self, cell: Cell<'_>, value: fn(Cell<'_>) -> Option<f64>) -> Option<f64> {
        let total = value(cell)?;
        Some(match self.per {
            Per::Operation => total / cell.operations(),
            Per::Second => total / (cell.metric(ELAPSED)? / 1e6),
            Per::Itself | Per::Windows => total,
        })
    }

    /// Whether one arm waits in every block much longer than the other in any, or does in every block what the other
    /// never does: where such events are rare, their interval is wide.
    fn is_separate(&self, cx: &Context<'_>, found: &Quantity) -> bool {
        let may_be_rare = self.rise == Rise::Waiting || found.base.min(found.arm) == 0.0;
        may_be_rare && cx.figures.is_separate(APART, |cell| self.divided(cell, self.value))
    }

    /// Whether the arms differ whatever each is between its least and its most.
    fn is_apart(&self, cx: &Context<'_>, found: &Quantity) -> bool {
        if self.is_cpu_time && found.may_be_the_hosts() {
            return false;
        }
        let most = self.at_most.and_then(|at_most| self.quantity_of(cx, at_most));
        most.is_none_or(|most| if found.rose() { most.base < found.arm } else { most.arm < found.base })
    }

    /// The finding that it changed, if it did.
    pub fn finding(&self, cx: &Context<'_>) -> Option<Finding> {
        let found = self.quantity(cx).filter(|found| found.matters() || self.is_separate(cx, found))?;
        // What most blocks lack is not of the test.
        let is_rare = 2 * found.blocks < cx.figures.blocks();
        if is_rare || !self.is_frequent(cx, &found) || !self.is_apart(cx, &found) {
            return None;
        }
        // What has a verdict explains something only if that shows a change, or finds one likely.
        let is_open = self.judged.and_then(|metric| cx.is_shown(metric)) == Some(false);
        let likely = self.judged.filter(|_| is_open).and_then(|metric| cx.likely(metric, found.rose()));
        if is_open && likely.is_none() {
            return None;
        }
        let (arm, base) = cx.names();
        let reported = self.reported(cx, &found);
        let figure =
            if self.per == Per::Windows { words::number(reported.arm) } else { words::count(reported.arm) };
        let phrase = self.phrase.replace("{}", &figure);
        let than = match self.judged {
            Some(metric) => cx.than(metric, &reported),
            None if AMOUNTS.contains(&self.unit) => words::than(&reported, base),
            None => words::than_many(&reported, base),
        };
        let sentence = match self.per {
            Per::Operation => format!("{arm} {phrase} per {}, {than}", cx.operation()),
            Per::Second => format!("{arm} {phrase} per second, {than}"),
            Per::Itself => format!("{arm} {phrase}, {than}"),
            Per::Windows => format!("{phrase} on {arm}, {} on {base}", words::number(reported.base)),
        };
        let evidence = vec![self.evidence(cx, &found)];
        let mut finding = cx.finding(self.word(found.rose()), self.cause, sentence, &found, evidence);
        if let Some(verdict) = likely {
            finding.certainty = Certainty::Likely { blocks: verdict.blocks };
            finding.add(&words::likely(verdict));
        }
        if found.matters() {
            return Some(finding);
        }
        // Its interval says nothing of how clear it is, nor does that of the whole time off the CPU.
        let us = cx.decomposition.as_ref().filter(|_| self.per == Per::Operation && self.unit == "us");
        let share =
            us.and_then(|split| share_of(cx, split, found.change())).map(|share| share.clamp(-1.0, 1.0));
        Some(Finding { weight: found.share(), share, ..finding })
    }

    pub fn evidence(&self, cx: &Context<'_>, found: &Quantity) -> Evidence {
        let unit = match self.per {
            Per::Operation => cx.per_op(self.unit),
            Per::Second => format!("{}/s", self.unit),
            Per::Itself | Per::Windows => self.unit.to_owned(),
        };
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
