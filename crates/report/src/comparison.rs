//! The arms of a comparison, from one or several runs, and their steps.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rqps_model::{self as model, Group, Settle, Unit};
use rqps_stats::Metric;
use rqps_store::{
    Arm, Load, Outcome, PROFILE_KIND, PlannedStep, RATE_WAS_SET, Recorded, Role, Run, Status, Window,
};

use crate::background::Background;
use crate::document::{Block, Column};
use crate::error::{Error, Result};
use crate::families;
use crate::number;
use crate::per_op::Cost;
use crate::reading::{Reading, is_unmeasured};
use crate::verdict_lines::Judged;
use crate::words;

/// An arm with its run.
#[derive(Clone, Copy)]
pub(crate) struct ComparedArm<'a> {
    pub run: &'a Run,
    pub arm: &'a Arm,
    reading: &'a Reading<'a>,
    /// Whether several runs have an arm of that name.
    ambiguous: bool,
}

/// Arms relative to a base, the steps to show, and warnings for every table.
#[derive(Clone)]
pub(crate) struct Comparison<'a> {
    pub base: ComparedArm<'a>,
    /// All arms with results, base included, in the plan's order.
    pub arms: Vec<ComparedArm<'a>>,
    /// The other arms of runs that have results: no table of results has a place for them.
    unmeasured: Vec<ComparedArm<'a>>,
    run_warnings: Vec<String>,
    /// Warnings about missed target rates of background writes.
    rate_warnings: Vec<String>,
    /// Steps to show; None: all.
    selected: Option<BTreeSet<&'a str>>,
    /// The verdicts of each run, computed when they are first needed.
    pub(crate) judged: OnceCell<Vec<Rc<Judged<'a>>>>,
}

/// Why a window has no value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// The step is invalid, with the reason.
    Invalid(String),
    NotRun,
}

/// A measured step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestStep {
    pub name: String,
    pub group: Group,
}

/// How the tables of a run are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Independent tests: one row each, grouped.
    Independent,
    /// Consecutive steps on the same data: one column each, in order.
    Consecutive,
}

/// Which steps a table shows. Warm-ups (`.warm`, `.warmpre`) are never shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    Tests,
    /// Tests that ran before any write (`.pre`).
    Pre,
}

impl StepKind {
    fn role(self) -> model::Role {
        match self {
            StepKind::Tests => model::Role::Test,
            StepKind::Pre => model::Role::Pre,
        }
    }
}

impl<'a> ComparedArm<'a> {
    /// The arm's label in tables: its variant, its own name if that differs, and its run if several runs have
    /// an arm of that name.
    pub fn label(&self) -> String {
        let variant = self.arm.variant();
        match (variant == self.arm.name, self.ambiguous) {
            (true, false) => variant,
            (true, true) => format!("{variant} ({})", self.run.folder.name()),
            (false, _) => format!("{variant} ({})", self.reference()),
        }
    }

    /// The arm's name on the command line and in CSV and JSON: `name`, or `run:name` if ambiguous.
    pub fn reference(&self) -> String {
        match self.ambiguous {
            true => self.qualified(),
            false => self.arm.name.clone(),
        }
    }

    fn qualified(&self) -> String {
        format!("{}:{}", self.run.folder.name(), self.arm.name)
    }

    /// The arm's window of a step, or why there is none.
    pub fn window(&self, step: &str) -> std::result::Result<&'a Recorded<Window>, Missing> {
        let of_step = |action: &rqps_store::ActionRecord| {
            action.arm == self.arm.name && action.step == step && action.kind != PROFILE_KIND
        };
        let window = self.reading.window(&self.arm.name, step);
        if let Some(window) = window.filter(|window| window.valid()) {
            return Ok(window);
        }
        if let Some(action) =
            self.run.actions.iter().find(|action| of_step(action) && action.outcome == Outcome::Invalid)
        {
            let reason = action.note.clone().unwrap_or_else(|| "no reason given".to_owned());
            return Err(Missing::Invalid(reason));
        }
        Err(Missing::NotRun)
    }

    /// The first valid window of a step, whose details are shown.
    pub fn first_window(&self, step: &str) -> Option<&'a Recorded<Window>> {
        self.window(step).ok()?;
        self.reading.first_window(&self.arm.name, step)
    }

    /// All valid windows of a step, in the order of measurement.
    pub fn all_windows(&self, step: &str) -> impl Iterator<Item = &'a Recorded<Window>> {
        self.reading.windows(&self.arm.name, step)
    }

    /// The arm's load; None if its tables were left empty for the steps to fill.
    pub fn load(&self) -> Option<&'a Recorded<Load>> {
        let is_own = |load: &Recorded<Load>| load.action.arm == self.arm.name && load.valid();
        self.run.loads.iter().find(|load| is_own(load) && load.result.rows > 0)
    }

    /// The arm's settles, in order.
    pub fn settles(&self) -> impl Iterator<Item = &'a Recorded<Settle>> {
        let name = &self.arm.name;
        self.run.settles.iter().filter(move |settle| settle.action.arm == *name)
    }

    /// The background writes of a step; None if it is missing or has none.
    pub fn background(&self, step: &str) -> Option<Background> {
        Background::from_window(self.window(step).ok()?)
    }

    /// Whether a step missed its target rate of background writes.
    pub fn missed(&self, step: &str) -> bool {
        self.background(step).is_some_and(|background| !background.kept)
    }

    /// The rate of a step, in blocks as the verdict gives it; None if it is missing or its duration is zero.
    pub fn rate(&self, step: &str) -> Option<f64> {
        let window = self.window(step).ok()?;
        self.of_verdicts(step, Metric::Rate).or_else(|| window.result.rate())
    }

    /// The costs of a step, in blocks with rate and CPU time as verdicts give them; None if it is missing.
    pub fn cost(&self, step: &str) -> Option<Cost<'a>> {
        let cost = Cost::from(self.window(step).ok()?);
        let [rate, cpu_us] = [Metric::Rate, Metric::CpuUs].map(|metric| self.of_verdicts(step, metric));
        Some(cost.with(rate, cpu_us))
    }

    fn of_verdicts(&self, step: &str, metric: Metric) -> Option<f64> {
        self.reading.of_verdicts(&self.arm.name, step, metric)?.figure
    }
}

impl<'a> Comparison<'a> {
    /// Compares all arms with the arm named `base`, or with the first run's base. Shows the steps of `tests`,
    /// or all if empty.
    pub fn new(readings: &'a [Reading<'a>], base: Option<&str>, tests: &[String]) -> Result<Self> {
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        let all =
            || readings.iter().flat_map(|reading| reading.run.arms.iter().map(move |arm| (reading, arm)));
        for (_, arm) in all() {
            *names.entry(&arm.name).or_default() += 1;
        }
        let arms: Vec<ComparedArm<'a>> = all()
            .map(|(reading, arm)| ComparedArm {
                run: reading.run,
                arm,
                reading,
                ambiguous: names.get(arm.name.as_str()).is_some_and(|count| *count > 1),
            })
            .collect();
        let base = match base {
            Some(name) => find(&arms, name)?,
            None => {
                let base = arms.iter().find(|compared| compared.arm.role == Role::Base).or(arms.first());
                let run = || readings.first().map(|reading| reading.run.folder.name()).unwrap_or_default();
                *base.ok_or_else(|| Error::NoArms { run: run() })?
            }
        };
        let run_warnings = readings.iter().filter_map(|reading| incomplete(reading.run)).collect();
        let is_left_out = |compared: &ComparedArm<'a>| {
            !std::ptr::eq(compared.arm, base.arm) && is_unmeasured(compared.run, &compared.arm.name)
        };
        let (unmeasured, arms) = arms.into_iter().partition(is_left_out);
        let comparison = Self {
            base,
            arms,
            unmeasured,
            run_warnings,
            rate_warnings: Vec::new(),
            selected: None,
            judged: OnceCell::new(),
        };
        comparison.of_tests(tests)
    }

    /// The same with the steps of `tests`, or all if empty. Verdicts that are known are not computed again.
    pub fn of_tests(&self, tests: &[String]) -> Result<Self> {
        let mut comparison = Self { selected: self.steps_of(tests)?, ..self.clone() };
        comparison.rate_warnings =
            comparison.arms.iter().filter_map(|compared| comparison.rate_warning(compared)).collect();
        Ok(comparison)
    }

    /// Adds warnings about the runs before all others.
    pub fn warn(&mut self, warnings: &[String]) {
        self.run_warnings.splice(0..0, warnings.iter().cloned());
    }

    /// Warnings for a table of all arms.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings_among(&self.base, &self.arms)
    }

    /// Warnings for a table of one arm and its base: of those about builds, only those about these two.
    pub fn warnings_on(&self, arm: &Arm, base: &Arm) -> Vec<String> {
        let is_shown =
            |compared: &&ComparedArm<'a>| std::ptr::eq(compared.arm, arm) || std::ptr::eq(compared.arm, base);
        let pair: Vec<ComparedArm<'a>> = self.arms.iter().filter(is_shown).copied().collect();
        self.warnings_among(self.find(base).unwrap_or(&self.base), &pair)
    }

    /// Adds the warnings about one arm and its base to the tables of `blocks`.
    pub fn warned_on(&self, arm: &Arm, base: &Arm, mut blocks: Vec<Block>) -> Vec<Block> {
        let warnings = self.warnings_on(arm, base);
        blocks.iter_mut().for_each(|block| block.warn(&warnings));
        blocks
    }

    fn warnings_among(&self, base: &ComparedArm<'_>, arms: &[ComparedArm<'_>]) -> Vec<String> {
        let build_warnings = families::warnings(base, arms, &self.arms);
        [&self.run_warnings[..], &build_warnings, &self.rate_warnings].concat()
    }

    pub fn find(&self, arm: &Arm) -> Option<&ComparedArm<'a>> {
        self.arms.iter().chain(&self.unmeasured).find(|compared| std::ptr::eq(compared.arm, arm))
    }

    /// Base first, then the others, also those without results.
    pub fn all_arms(&self) -> Vec<ComparedArm<'a>> {
        self.base_first().into_iter().chain(self.unmeasured.iter().copied()).collect()
    }

    /// Names the arms without results, with why if that is known; `None` if all have some.
    pub fn without_results(&self) -> Option<String> {
        let each = self.unmeasured.iter().map(|compared| {
            let is_own = |note: &&rqps_store::Note| note.arm.as_deref() == Some(&*compared.arm.name);
            let why = compared.run.notes.iter().rev().find(is_own).map(|note| format!(" ({})", note.text));
            format!("{}{}", compared.label(), why.unwrap_or_default())
        });
        let each: Vec<String> = each.collect();
        let them = if each.len() == 1 { "it" } else { "them" };
        (!each.is_empty())
            .then(|| format!("Without results so far: {}; tables leave {them} out.", each.join("; ")))
    }

    /// Whether no run's rates are judged.
    pub fn leaves_out_rates(&self) -> Result<bool> {
        let judged = Judged::all(self)?;
        let judges_rates = |judged: &Rc<Judged<'_>>| judged.verdicts.rules.rates;
        Ok(!judged.is_empty() && judged.len() == self.runs().len() && !judged.iter().any(judges_rates))
    }

    /// Whether all tests are shown.
    pub fn shows_all(&self) -> bool {
        self.selected.is_none()
    }

    /// The runs, each once.
    pub fn runs(&self) -> Vec<&'a Run> {
        let mut runs: Vec<&'a Run> = Vec::new();
        for arm in &self.arms {
            if !runs.iter().any(|run| std::ptr::eq(*run, arm.run)) {
                runs.push(arm.run);
            }
        }
        runs
    }

    /// The steps of these tests; None if `tests` is empty.
    fn steps_of(&self, tests: &[String]) -> Result<Option<BTreeSet<&'a str>>> {
        let mut steps = BTreeSet::new();
        for test in tests {
            let planned = self.arms.iter().flat_map(|arm| &arm.run.steps);
            let found: Vec<&str> = planned.filter(|step| is_of(step, test)).map(|step| &*step.name).collect();
            if found.is_empty() {
                let mut known: Vec<String> = Vec::new();
                for step in self.arms.iter().flat_map(|arm| &arm.run.steps) {
                    if step.group.is_some() && !known.contains(&step.name) {
                        known.push(step.name.clone());
                    }
                }
                return Err(Error::UnknownTest { name: test.clone(), known });
            }
            steps.extend(found);
        }
        Ok((!tests.is_empty()).then_some(steps))
    }

    /// Whether a step is shown.
    pub fn shows(&self, step: &str) -> bool {
        self.selected.as_ref().is_none_or(|selected| selected.contains(step))
    }

    /// All arms but base, in the plan's order.
    pub fn others(&self) -> impl Iterator<Item = &ComparedArm<'a>> {
        self.arms.iter().filter(|compared| !std::ptr::eq(compared.arm, self.base.arm))
    }

    /// That no arm has results to compare with base's.
    pub fn nothing_to_compare(&self) -> String {
        let with_results = if self.unmeasured.is_empty() { "" } else { " with results" };
        format!("There is no other arm{with_results} to compare {} with.", self.base.label())
    }

    /// Why arms of several runs have ratios and no verdicts.
    pub fn no_common_blocks(&self) -> String {
        let remedy = match self.runs().iter().all(|run| run.meta.is_imported()) {
            true => "import the files of all arms together: rqps import base=… head=…",
            false => "measure the arms together, in one run",
        };
        format!(
            "These are ratios without verdicts, since repeats of different runs are not paired; for verdicts {remedy}"
        )
    }

    /// All arms but base, each paired with base.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'a>> {
        self.others().map(|arm| self.pair(*arm))
    }

    pub fn pair(&self, arm: ComparedArm<'a>) -> Pair<'a> {
        Pair { base: self.base, arm }
    }

    /// Base first, then the others.
    pub fn base_first(&self) -> Vec<ComparedArm<'a>> {
        std::iter::once(self.base).chain(self.others().copied()).collect()
    }

    /// The index of the arm that a run's others are compared with: base, or the run's own if base is in
    /// another run.
    pub fn base_in(&self, run: &Run) -> usize {
        let is_base = |arm: &Arm| std::ptr::eq(arm, self.base.arm);
        let own = || run.arms.iter().position(|arm| arm.role == Role::Base);
        run.arms.iter().position(is_base).or_else(own).unwrap_or(0)
    }

    /// A warning that names the arm's steps that missed their target rate of background writes.
    fn rate_warning(&self, arm: &ComparedArm<'_>) -> Option<String> {
        let missed = |step: &TestStep| {
            let background = arm.background(&step.name).filter(|background| !background.kept)?;
            Some(format!("{} ({})", step.name, background.as_text()))
        };
        let steps: Vec<String> = self.steps(StepKind::Tests).iter().filter_map(missed).collect();
        (!steps.is_empty()).then(|| {
            let (name, steps) = (arm.reference(), steps.join(", "));
            format!("{name} missed its target rate of background writes in {steps}: not ranked there")
        })
    }

    /// Consecutive if all steps are.
    pub fn layout(&self) -> Layout {
        let steps = self.steps(StepKind::Tests);
        match !steps.is_empty() && steps.iter().all(|step| step.group.consecutive) {
            true => Layout::Consecutive,
            false => Layout::Independent,
        }
    }

    /// The steps to show, by group; within a group alphabetical, or as planned if they are consecutive.
    pub fn steps(&self, which: StepKind) -> Vec<TestStep> {
        let mut steps: Vec<(u32, TestStep)> = Vec::new();
        for arm in &self.arms {
            let is_shown = |step: &&PlannedStep| step.role == Some(which.role()) && self.shows(&step.name);
            for step in arm.run.steps.iter().filter(is_shown) {
                let Some(group) = step.group.clone() else { continue };
                let (position, step) = (step.position, TestStep { name: step.name.clone(), group });
                if !steps.iter().any(|(_, known)| *known == step) {
                    steps.push((position, step));
                }
            }
        }
        steps.sort_by(|(a_at, a), (b_at, b)| {
            a.group.order(&a.name, *a_at).cmp(&b.group.order(&b.name, *b_at))
        });
        steps.into_iter().map(|(_, step)| step).collect()
    }

    /// The units of the steps' rates in order of appearance, with the steps of each.
    pub fn units<'s>(&self, steps: &'s [TestStep]) -> Vec<(&'a Unit, Vec<&'s str>)> {
        let mut units: Vec<(&'a Unit, Vec<&'s str>)> = Vec::new();
        for step in steps {
            let mut windows = self.arms.iter().filter_map(|compared| compared.window(&step.name).ok());
            let Some(window) = windows.next() else { continue };
            match units.iter_mut().find(|(unit, _)| **unit == window.result.unit) {
                Some((_, of_unit)) => of_unit.push(&step.name),
                None => units.push((&window.result.unit, vec![&step.name])),
            }
        }
        units
    }
}

/// An arm and what it is relative to.
pub(crate) struct Pair<'a> {
    pub base: ComparedArm<'a>,
    pub arm: ComparedArm<'a>,
}

impl Pair<'_> {
    /// The arm's rate over base's, in blocks as the verdict gives it; None if either is missing or base's is zero.
    pub fn ratio(&self, step: &str) -> Option<f64> {
        let of_verdicts = self.of_verdicts(step, Metric::Rate);
        of_verdicts.or_else(|| number::ratio(self.arm.rate(step), self.base.rate(step)))
    }

    /// The arm's figure over base's as verdicts on blocks give it; `None` without them.
    pub fn of_verdicts(&self, step: &str, metric: Metric) -> Option<f64> {
        let relative = |arm: &ComparedArm<'_>| arm.reading.of_verdicts(&arm.arm.name, step, metric);
        let of_one_run = std::ptr::eq(self.arm.run, self.base.run);
        let (arm, base) = relative(&self.arm).zip(relative(&self.base)).filter(|_| of_one_run)?;
        number::ratio(Some(arm.ratio), Some(base.ratio))
    }

    /// Whether either missed its target rate of background writes, so that their rates are not comparable.
    pub fn missed(&self, step: &str) -> bool {
        self.base.missed(step) || self.arm.missed(step)
    }

    /// Whether an option of the program set the rate of either.
    pub fn was_set(&self, step: &str) -> bool {
        let is_set = |window: &Recorded<Window>| window.metric(RATE_WAS_SET).is_some_and(|set| set > 0.0);
        [&self.base, &self.arm].iter().any(|arm| arm.window(step).is_ok_and(is_set))
    }

    /// The ratio; None if either missed its target rate of background writes, or has a rate that was set.
    pub fn ranked_ratio(&self, step: &str) -> Option<f64> {
        self.ratio(step).filter(|_| !(self.missed(step) || self.was_set(step)))
    }
}

/// Columns `col-1`, `col-2`…, one for each arm.
pub(crate) fn numbered(arms: &[ComparedArm<'_>]) -> Vec<Column> {
    let arms = arms.iter().enumerate();
    arms.map(|(index, arm)| Column::numbered(index, arm.reference(), arm.label())).collect()
}

/// Whether a step has this name, or is the early pass of this test.
fn is_of(step: &PlannedStep, test: &str) -> bool {
    step.name == test || step.role == Some(model::Role::Pre) && step.test.as_deref() == Some(test)
}

fn find<'a>(all: &[ComparedArm<'a>], name: &str) -> Result<ComparedArm<'a>> {
    let named: Vec<ComparedArm<'a>> = all
        .iter()
        .filter(|compared| compared.arm.name == name || compared.qualified() == name)
        .copied()
        .collect();
    let known = |arms: &[ComparedArm<'_>]| arms.iter().map(ComparedArm::reference).collect();
    match named.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::UnknownArm { name: name.to_owned(), known: known(all) }),
        several => Err(Error::AmbiguousArm { name: name.to_owned(), known: known(several) }),
    }
}

/// A warning if the run is incomplete.
fn incomplete(run: &Run) -> Option<String> {
    let state = match (run.state(), &run.status.reason) {
        (Status::Complete, _) => return None,
        (state, Some(reason)) => format!("{state}: {reason}"),
        (_, None) => words::state(run),
    };
    let done = match run.meta.actions_total {
        0 => {
            let done = run.blocks_done();
            format!("{} done", rqps_model::counted(done, "block"))
        }
        total => format!("{} of {total} actions done", run.scheduled().count()),
    };
    Some(format!("{} is incomplete, {done} ({state})", run.folder.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_verdicts::testing::{Spec, write_run};

    /// A page has a comparison for each test: judging the run for each of them takes most of its time.
    #[test]
    fn verdicts_of_a_run_are_computed_once() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let results = tempfile::tempdir()?;
        let run = rqps_store::RunFolder::open(&write_run(results.path(), &Spec::default())?)?;
        let readings = [Reading::new(&run)];
        let whole = Comparison::new(&readings, None, &[])?;
        let judged = Judged::all(&whole)?;
        let one = whole.of_tests(&["insert".to_owned()])?;
        assert!(Rc::ptr_eq(&judged[0], &Judged::all(&one)?[0]));
        assert!(one.shows("insert") && !one.shows("hot-points") && whole.shows("hot-points"));
        assert!(whole.of_tests(&["inserts".to_owned()]).is_err());
        Ok(())
    }
}
