//! Footnotes of tables of steps: why a cell is empty, which steps were repeated, which rates do not count queries,
//! which options a variant ran without.

use crate::background::{KEPT_MIN, MARK};
use crate::sides::{Missing, Side, Sides, TestStep};

/// Names listed before "and N more".
const NAMES_MAX: usize = 6;

/// Why steps have no value (`-`), and which steps were repeated.
pub(crate) fn of_steps(sides: &Sides<'_>, steps: &[TestStep]) -> Vec<String> {
    sides.all.iter().flat_map(|side| of_side(side, steps)).collect()
}

fn of_side(side: &Side<'_>, steps: &[TestStep]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut not_run = Vec::new();
    let mut repeated = Vec::new();
    for step in steps {
        match side.window(&step.name) {
            Err(Missing::Invalid(reason)) => {
                notes.push(format!("no value for {} on {}, invalid: {reason}", step.name, side.label()));
            }
            Err(Missing::NotRun) => not_run.push(step.name.as_str()),
            Ok(window) if window.action.attempt > 1 => repeated.push(step.name.as_str()),
            Ok(_) => {}
        }
    }
    if !not_run.is_empty() {
        notes.push(format!("no value on {}, not run: {}", side.label(), names(&not_run)));
    }
    if !repeated.is_empty() {
        let names = names(&repeated);
        let label = side.label();
        notes.push(format!("repeated on {label} after an interrupted attempt: {names}"));
    }
    notes
}

/// What the mark before a figure means, if there is one.
pub(crate) fn of_background(sides: &Sides<'_>, steps: &[TestStep]) -> Option<String> {
    let missed = |side: &Side<'_>| steps.iter().any(|step| side.missed(&step.name));
    sides.all.iter().any(missed).then(|| {
        format!(
            "{MARK} : the step missed its target rate of background writes (less than {KEPT_MIN} of it); its other \
             rates are not ranked"
        )
    })
}

/// Which rates do not count queries, and what they count.
pub(crate) fn of_rates(sides: &Sides<'_>, steps: &[TestStep]) -> Vec<String> {
    let units = sides.units(steps).into_iter().filter(|(unit, _)| !unit.is_queries());
    units
        .map(|(unit, tests)| format!("{}: {} per second, all clients", tests.join(", "), unit.many))
        .collect()
}

/// Options of its config that a variant's build does not support.
pub(crate) fn of_options(sides: &Sides<'_>) -> Vec<String> {
    let of_side = |side: &Side<'_>| {
        let options: Vec<&str> = side.arm.left_out.iter().map(|left_out| left_out.option.as_str()).collect();
        (!options.is_empty()).then(|| format!("options left out on {}: {}", side.label(), names(&options)))
    };
    sides.base_first().iter().filter_map(of_side).collect()
}

fn names(all: &[&str]) -> String {
    match all.len().checked_sub(NAMES_MAX) {
        Some(more) if more > 0 => format!("{} and {more} more", all[..NAMES_MAX].join(", ")),
        _ => all.join(", "),
    }
}
