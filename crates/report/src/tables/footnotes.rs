//! Footnotes of tables of steps: empty cells, repeated steps, units of rates, options that a variant ran
//! without.

use rqps_model::Unit;

use crate::background::{KEPT_MIN, MARK};
use crate::comparison::{ComparedArm, Comparison, Missing, TestStep};
use crate::tables::left_out;
use crate::words;

/// Names listed before "and N more".
const NAMES_MAX: usize = 6;

/// Why steps have no value (`-`), and which steps were repeated.
pub(crate) fn of_steps(comparison: &Comparison<'_>, steps: &[TestStep]) -> Vec<String> {
    comparison.arms.iter().flat_map(|arm| of_arm(arm, steps)).collect()
}

/// All footnotes of a table of rates.
pub(crate) fn of_rate_table(comparison: &Comparison<'_>, steps: &[TestStep]) -> Vec<String> {
    let mut notes = of_steps(comparison, steps);
    notes.extend(of_background(comparison, steps));
    notes.extend(of_rates(comparison, steps));
    notes
}

fn of_arm(arm: &ComparedArm<'_>, steps: &[TestStep]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut not_run = Vec::new();
    let mut repeated = Vec::new();
    for step in steps {
        match arm.window(&step.name) {
            Err(Missing::Invalid(reason)) => {
                notes.push(format!("no value for {} on {}, invalid: {reason}", step.name, arm.label()));
            }
            Err(Missing::NotRun) => not_run.push(step.name.as_str()),
            Ok(window) if window.action.attempt > 1 => repeated.push(step.name.as_str()),
            Ok(_) => {}
        }
    }
    if !not_run.is_empty() {
        let why = if arm.run.meta.is_imported() { "not among the files" } else { "not run" };
        notes.push(format!("no value on {}, {why}: {}", arm.label(), words::names(&not_run, NAMES_MAX)));
    }
    if !repeated.is_empty() {
        notes.push(format!(
            "repeated on {} after an interrupted attempt: {}",
            arm.label(),
            words::names(&repeated, NAMES_MAX)
        ));
    }
    notes
}

/// Arms with fewer windows than others of their run, such as those of a pass in which the server died: their totals are
/// of another time.
pub(crate) fn of_fewer_windows(comparison: &Comparison<'_>, steps: &[TestStep]) -> Vec<String> {
    let count = |arm: &ComparedArm<'_>, step: &TestStep| arm.all_windows(&step.name).count();
    let fewer = |arm: &ComparedArm<'_>| {
        let of_run = || comparison.arms.iter().filter(|other| std::ptr::eq(other.run, arm.run));
        let of_step = |step: &TestStep| {
            let (own, most) = (count(arm, step), of_run().map(|other| count(other, step)).max()?);
            (own > 0 && own < most).then(|| format!("{} ({own} of {most})", step.name))
        };
        let found: Vec<String> = steps.iter().filter_map(of_step).collect();
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        (!found.is_empty()).then(|| {
            format!(
                "fewer windows than others on {}, so totals are of another time: {}",
                arm.label(),
                words::names(&found, NAMES_MAX)
            )
        })
    };
    comparison.arms.iter().filter_map(fewer).collect()
}

/// Whether figures rest on blocks.
pub(crate) fn has_blocks(comparison: &Comparison<'_>) -> bool {
    comparison.runs().into_iter().any(rqps_verdicts::has_blocks)
}

/// In blocks, what rates are.
pub(crate) fn of_rates_in_blocks(comparison: &Comparison<'_>) -> Option<String> {
    has_blocks(comparison).then(|| {
        "rates: base's is the geometric mean over the blocks (or passes, repeats) of the verdict, without the most extreme \
         slices; that of another arm is base's times rQPS"
            .to_owned()
    })
}

/// In blocks, what costs are.
pub(crate) fn of_costs_in_blocks(comparison: &Comparison<'_>) -> Option<String> {
    has_blocks(comparison).then(|| {
        "cpu_us/o and rates: base's are geometric means over the blocks (or passes, repeats) of the verdict, without the most \
         extreme slices; those of another arm are base's times the verdict's ratio. The others are totals over all windows"
            .to_owned()
    })
}

/// What [`MARK`] means, if any figure has it.
pub(crate) fn of_background(comparison: &Comparison<'_>, steps: &[TestStep]) -> Option<String> {
    let missed = |arm: &ComparedArm<'_>| steps.iter().any(|step| arm.missed(&step.name));
    comparison.arms.iter().any(missed).then(|| {
        format!(
            "{MARK} : the step missed its target rate of background writes (less than {KEPT_MIN} of it); its other \
             rates are not ranked"
        )
    })
}

/// The units of rates that do not count queries.
pub(crate) fn of_rates(comparison: &Comparison<'_>, steps: &[TestStep]) -> Vec<String> {
    let units = comparison.units(steps);
    let is_one = units.len() == 1 && steps.len() > NAMES_MAX;
    let units = units.into_iter().filter(|(unit, _)| !unit.is_queries());
    let note = |(unit, tests): (&Unit, Vec<&str>)| {
        let tests = if is_one { "all tests".to_owned() } else { tests.join(", ") };
        format!("{tests}: {} per second, all {}s", unit.many, unit.client_noun())
    };
    units.map(note).collect()
}

/// Options of its config that a variant's build does not support, and those that it took with another value.
pub(crate) fn of_options(comparison: &Comparison<'_>) -> Vec<String> {
    // Arms that have a note in common.
    let mut notes: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut add = |start: String, options: &[String], label: String| {
        let options = words::names(options, NAMES_MAX);
        match notes.iter_mut().find(|(known, same, _)| *known == start && *same == options) {
            Some((_, _, labels)) => labels.push(label),
            None => notes.push((start, options, vec![label])),
        }
    };
    for compared in comparison.base_first() {
        let (mut without, mut adjusted) = (Vec::new(), Vec::new());
        for left in &compared.arm.left_out {
            match &left.taken {
                Some(taken) => adjusted.push(format!("{} from {} to {taken}", left.option, left.value)),
                None => without.push(left_out::name(compared.arm, left)),
            }
        }
        let starts =
            ["options left out".to_owned(), format!("adjusted by the {}", compared.run.terms().program)];
        for (start, options) in starts.into_iter().zip([without, adjusted]).filter(|(_, all)| !all.is_empty())
        {
            add(start, &options, compared.label());
        }
    }
    let note = |(start, options, labels): (String, String, Vec<String>)| {
        format!("{start} on {}: {options}", words::names(&labels, NAMES_MAX))
    };
    notes.into_iter().map(note).collect()
}
