//! Imported repeats that cannot be paired with base's: rates of each arm, and the ratio of their medians.
//!
//! | column | means |
//! | --- | --- |
//! | `repeats` | repeats of the arm |
//! | `median`, `lowest`, `highest` | of their rates |
//! | `ratio` | the median divided by base's |
//!
//! There is no verdict on them. A comparison of unpaired repeats takes all of an arm for independent draws from the
//! same host; where nothing tells which were measured together, a drift of the host would pass for a difference.

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{clipped, sample};
use rqps_store::{RATE_WAS_SET, Recorded, Run, Window};

use crate::document::{Cell, Column, Table};
use crate::reading::is_result;

/// Of tests in a sentence.
const TESTS_CHARS_MAX: usize = 200;

/// Repeats of a test on an arm and on base, of which none have one number.
pub(crate) struct Unpaired<'a> {
    pub test: &'a str,
    /// Rates of base.
    base: Vec<f64>,
    own: Vec<f64>,
}

impl<'a> Unpaired<'a> {
    /// All tests of an arm in the order of the plan.
    pub fn of(run: &'a Run, arm: usize, base: usize) -> Vec<Self> {
        if !run.meta.is_imported() {
            return Vec::new();
        }
        let by_step = |arm: usize| {
            let mut of_step: BTreeMap<&str, Vec<&'a Recorded<Window>>> = BTreeMap::new();
            let of_arm = run.windows.iter().filter(|window| window.action.arm == run.arms[arm].name);
            for window in of_arm.filter(|window| is_result(run, window)) {
                of_step.entry(&window.action.step).or_default().push(window);
            }
            of_step
        };
        let (base, own) = (by_step(base), by_step(arm));
        let blocks = |windows: &[&Recorded<Window>]| -> BTreeSet<u32> {
            windows.iter().filter_map(|window| Some(window.placement?.block)).collect()
        };
        let rates =
            |windows: &[&Recorded<Window>]| windows.iter().filter_map(|one| one.result.rate()).collect();
        let unpaired = |step: &'a str| {
            let (base, own) = (base.get(step)?, own.get(step)?);
            let was_set = |one: &&Recorded<Window>| one.metric(RATE_WAS_SET).is_some_and(|set| set > 0.0);
            let are_apart = blocks(base).is_disjoint(&blocks(own));
            (are_apart && !base.iter().chain(own).any(was_set)).then(|| Self {
                test: step,
                base: rates(base),
                own: rates(own),
            })
        };
        run.steps.iter().filter_map(|step| unpaired(&step.name)).collect()
    }

    fn ratio(&self) -> Option<f64> {
        Some(sample::median(&self.own)? / sample::median(&self.base).filter(|base| *base > 0.0)?)
    }
}

/// `no verdict on head in 1 test, since its repeats cannot be paired with those of base: tpcb-like (7 and 5)`.
pub(crate) fn sentence(unpaired: &[Unpaired<'_>], label: &str, base: &str) -> Option<String> {
    let tests: Vec<String> = unpaired
        .iter()
        .map(|one| format!("{} ({} and {})", one.test, one.own.len(), one.base.len()))
        .collect();
    (!tests.is_empty()).then(|| {
        format!(
            "no verdict on {label} in {}, since its repeats cannot be paired with those of {base}: {}",
            rqps_model::counted(tests.len(), "test"),
            clipped(&tests.join(", "), TESTS_CHARS_MAX)
        )
    })
}

/// What to do about it.
pub(crate) const REMEDY: &str = "\
     No repeat of one has the number of a repeat of the other, and they are not equally many. To pair them, import \
     again with files called after their repeats (base/1.log and head/1.log, measured one after the other), with \
     equally many of each arm, or with each repeat of all arms as --repeat PATH.";

/// Rates without a verdict, a row for each test and arm.
pub(crate) fn table(unpaired: &[Unpaired<'_>], label: &str, base: &str) -> Table {
    let columns = vec![
        Column::number("ratio", "ratio"),
        Column::number("median", "median_per_s"),
        Column::number("lowest", "lowest_per_s"),
        Column::number("highest", "highest_per_s"),
        Column::number("repeats", "repeats"),
        Column::words("dbms"),
        Column::words("test"),
    ];
    let mut table = Table::new(
        "unpaired",
        format!("Rates per second of {label}, not paired with those of {base}"),
        columns,
        2,
    );
    for one in unpaired {
        for (label, rates, ratio) in [(base, &one.base, None), (label, &one.own, one.ratio())] {
            let ends = [rates.iter().copied().reduce(f64::min), rates.iter().copied().reduce(f64::max)];
            let mut row = vec![Cell::fixed(ratio, 2), Cell::rate(sample::median(rates))];
            row.extend(ends.map(Cell::rate));
            row.extend([Cell::count(rates.len() as u64), Cell::words(label), Cell::words(one.test)]);
            table.row(row);
        }
    }
    table.footnotes.push(
        "ratio: median rate / base's. Without pairs a drift of the host looks like a difference: this is no verdict"
            .to_owned(),
    );
    table
}
