//! The arms of a comparison, whichever runs they come from, and the steps they share.

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{self as model, Group, Settle, Unit};
use rqps_store::{
    Arm, BlockStatus, Load, Outcome, PROFILE_KIND, PlannedStep, Recorded, Role, Run, Status, Window,
};

use crate::background::Background;
use crate::document::{Block, Column};
use crate::error::{Error, Result};
use crate::families;
use crate::reading::Reading;

/// One arm in a table.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub run: &'a Run,
    pub arm: &'a Arm,
    reading: &'a Reading<'a>,
    /// Whether several runs have an arm of that name.
    ambiguous: bool,
}

/// The arms of a table: what is compared with what, and warnings about it.
pub(crate) struct Sides<'a> {
    /// What the others are relative to.
    pub base: Side<'a>,
    /// All arms, base included, in the plan's order.
    pub all: Vec<Side<'a>>,
    /// Warnings about the runs, for every table.
    of_runs: Vec<String>,
    /// Warnings about missed target rates of background writes, for every table.
    of_rates: Vec<String>,
    /// Steps to show; all when none.
    only: Option<BTreeSet<&'a str>>,
}

/// Why a window has no value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// It ran and must not be used.
    Invalid(String),
    /// It has not run.
    NotRun,
}

/// A measured step of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestStep {
    pub name: String,
    pub group: Group,
}

/// How the tables of a run are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Tests that are measured for themselves: a row for each, under the title of its group.
    Independent,
    /// Steps that follow one another on the same data: a column for each, in their order.
    Consecutive,
}

/// Which steps a table shows. Warm-ups (`.warm`, `.warmpre`) are never shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    Tests,
    /// The tests that ran before any write (`.pre`).
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

impl<'a> Side<'a> {
    /// How the arm is called in tables: its variant, its own name where that says more, and its run where several
    /// have an arm of that name.
    pub fn label(&self) -> String {
        let variant = self.arm.variant();
        match (variant == self.arm.name, self.ambiguous) {
            (true, false) => variant,
            (true, true) => format!("{variant} ({})", self.run.folder.name()),
            (false, _) => format!("{variant} ({})", self.reference()),
        }
    }

    /// How the arm is called on the command line and in CSV and JSON: its name, or `run:name`.
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

    /// The window of a step whose details are shown: its only one, or the first that counts.
    pub fn first_window(&self, step: &str) -> Option<&'a Recorded<Window>> {
        self.window(step).ok()?;
        self.reading.first_window(&self.arm.name, step)
    }

    /// All windows of a step that count, in the order they were measured.
    pub fn all_windows(&self, step: &str) -> impl Iterator<Item = &'a Recorded<Window>> {
        self.reading.windows(&self.arm.name, step)
    }

    /// The arm's load; none where its tables were left empty for the steps to fill.
    pub fn load(&self) -> Option<&'a Recorded<Load>> {
        let is_its = |load: &&Recorded<Load>| load.action.arm == self.arm.name && load.valid();
        self.run.loads.iter().filter(is_its).find(|load| load.result.rows > 0)
    }

    /// The arm's settles, in order.
    pub fn settles(&self) -> impl Iterator<Item = &'a Recorded<Settle>> {
        let name = &self.arm.name;
        self.run.settles.iter().filter(move |settle| settle.action.arm == *name)
    }

    /// The background writes of a step; none when it is missing or has none.
    pub fn background(&self, step: &str) -> Option<Background> {
        Background::from_window(self.window(step).ok()?)
    }

    /// Whether a step missed its target rate of background writes.
    pub fn missed(&self, step: &str) -> bool {
        self.background(step).is_some_and(|background| !background.kept)
    }

    /// The rate of a step; none when it is missing or had no length.
    pub fn rate(&self, step: &str) -> Option<f64> {
        self.window(step).ok()?.result.rate()
    }
}

impl<'a> Sides<'a> {
    /// All arms of `runs`, relative to the arm called `base`, or to the first run's base. Steps are those of the tests
    /// in `only`, or all when that is empty.
    pub fn new(readings: &'a [Reading<'a>], base: Option<&str>, only: &[String]) -> Result<Self> {
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        let arms =
            || readings.iter().flat_map(|reading| reading.run.arms.iter().map(move |arm| (reading, arm)));
        for (_, arm) in arms() {
            *names.entry(&arm.name).or_default() += 1;
        }
        let all: Vec<Side<'a>> = arms()
            .map(|(reading, arm)| Side {
                run: reading.run,
                arm,
                reading,
                ambiguous: names.get(arm.name.as_str()).is_some_and(|count| *count > 1),
            })
            .collect();
        let base = match base {
            Some(name) => find(&all, name)?,
            None => all.iter().find(|side| side.arm.role == Role::Base).or(all.first()).copied().ok_or_else(
                || Error::NoArms {
                    run: readings.first().map(|reading| reading.run.folder.name()).unwrap_or_default(),
                },
            )?,
        };
        let of_runs = readings.iter().filter_map(|reading| incomplete(reading.run)).collect();
        let mut sides = Self { base, all, of_runs, of_rates: Vec::new(), only: None };
        sides.only = sides.steps_of(only)?;
        sides.of_rates = sides.all.iter().filter_map(|side| sides.missed(side)).collect();
        Ok(sides)
    }

    /// Warns of the runs, before all other warnings.
    pub fn warn(&mut self, of_runs: &[String]) {
        self.of_runs.splice(0..0, of_runs.iter().cloned());
    }

    /// Warnings for a table about all arms.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings_among(&self.base, &self.all)
    }

    /// Warnings for a table about one arm and its base: those about builds only if they concern these two.
    pub fn warnings_on(&self, arm: &Arm, base: &Arm) -> Vec<String> {
        let is_in_it = |side: &&Side<'a>| std::ptr::eq(side.arm, arm) || std::ptr::eq(side.arm, base);
        let pair: Vec<Side<'a>> = self.all.iter().filter(is_in_it).copied().collect();
        self.warnings_among(self.side(base).unwrap_or(&self.base), &pair)
    }

    /// Blocks about one arm and its base, with these warnings in their tables.
    pub fn warned_on(&self, arm: &Arm, base: &Arm, mut blocks: Vec<Block>) -> Vec<Block> {
        let warnings = self.warnings_on(arm, base);
        blocks.iter_mut().for_each(|block| block.warn(&warnings));
        blocks
    }

    fn warnings_among(&self, base: &Side<'_>, sides: &[Side<'_>]) -> Vec<String> {
        let of_builds = families::warnings(base, sides, &self.all);
        [&self.of_runs[..], &of_builds, &self.of_rates].concat()
    }

    /// An arm as a side of tables.
    pub fn side(&self, arm: &Arm) -> Option<&Side<'a>> {
        self.all.iter().find(|side| std::ptr::eq(side.arm, arm))
    }

    /// Whether no tests were picked out.
    pub fn shows_all(&self) -> bool {
        self.only.is_none()
    }

    /// The runs, each once.
    pub fn runs(&self) -> Vec<&'a Run> {
        let mut runs: Vec<&'a Run> = Vec::new();
        for side in &self.all {
            if !runs.iter().any(|run| std::ptr::eq(*run, side.run)) {
                runs.push(side.run);
            }
        }
        runs
    }

    /// The steps of these tests; none when all are wanted.
    fn steps_of(&self, tests: &[String]) -> Result<Option<BTreeSet<&'a str>>> {
        let mut steps = BTreeSet::new();
        for test in tests {
            let planned = self.all.iter().flat_map(|side| &side.run.steps);
            let found: Vec<&str> = planned.filter(|step| is_of(step, test)).map(|step| &*step.name).collect();
            if found.is_empty() {
                return Err(Error::UnknownTest { name: test.clone() });
            }
            steps.extend(found);
        }
        Ok((!tests.is_empty()).then_some(steps))
    }

    /// Whether a step is one of the tests that were picked out.
    pub fn shows(&self, step: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(step))
    }

    /// The arms that are compared with the base, in the plan's order.
    pub fn others(&self) -> impl Iterator<Item = &Side<'a>> {
        self.all.iter().filter(|side| !self.is_base(side))
    }

    /// Base first, then the others.
    pub fn base_first(&self) -> Vec<Side<'a>> {
        std::iter::once(self.base).chain(self.others().copied()).collect()
    }

    /// The arm of a run that its others are held against: base, or the run's own where base is of another run.
    pub fn base_in(&self, run: &Run) -> usize {
        let is_base = |arm: &Arm| std::ptr::eq(arm, self.base.arm);
        let own = || run.arms.iter().position(|arm| arm.role == Role::Base);
        run.arms.iter().position(is_base).or_else(own).unwrap_or(0)
    }

    fn is_base(&self, side: &Side<'_>) -> bool {
        std::ptr::eq(side.arm, self.base.arm)
    }

    /// Which steps of an arm missed their target rate of background writes.
    fn missed(&self, side: &Side<'_>) -> Option<String> {
        let missed = |step: &TestStep| {
            let background = side.background(&step.name).filter(|background| !background.kept)?;
            Some(format!("{} ({})", step.name, background.as_text()))
        };
        let steps: Vec<String> = self.steps(StepKind::Tests).iter().filter_map(missed).collect();
        (!steps.is_empty()).then(|| {
            let (name, steps) = (side.reference(), steps.join(", "));
            format!("{name} missed its target rate of background writes in {steps}: not ranked there")
        })
    }

    /// How the tables of these steps are laid out.
    pub fn layout(&self) -> Layout {
        let steps = self.steps(StepKind::Tests);
        match !steps.is_empty() && steps.iter().all(|step| step.group.consecutive) {
            true => Layout::Consecutive,
            false => Layout::Independent,
        }
    }

    /// The steps of a table: by group in the order of the tables; inside alphabetical, or as planned where a step finds
    /// what the one before it left.
    pub fn steps(&self, which: StepKind) -> Vec<TestStep> {
        let mut steps: Vec<(u32, TestStep)> = Vec::new();
        for side in &self.all {
            let wanted = |step: &&PlannedStep| step.role == Some(which.role()) && self.shows(&step.name);
            for step in side.run.steps.iter().filter(wanted) {
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

    /// What the rates of steps count, as they come, and the steps of each unit.
    pub fn units<'s>(&self, steps: &'s [TestStep]) -> Vec<(&'a Unit, Vec<&'s str>)> {
        let mut units: Vec<(&'a Unit, Vec<&'s str>)> = Vec::new();
        for step in steps {
            let mut windows = self.all.iter().filter_map(|side| side.window(&step.name).ok());
            let Some(window) = windows.next() else { continue };
            match units.iter_mut().find(|(unit, _)| **unit == window.result.unit) {
                Some((_, of_unit)) => of_unit.push(&step.name),
                None => units.push((&window.result.unit, vec![&step.name])),
            }
        }
        units
    }
}

/// Columns `col-1`, `col-2`…, one for each side.
pub(crate) fn numbered(sides: &[Side<'_>]) -> Vec<Column> {
    let sides = sides.iter().enumerate();
    sides.map(|(index, side)| Column::numbered(index, side.reference(), side.label())).collect()
}

/// Whether a step is the one of that name, or the early pass of that test.
fn is_of(step: &PlannedStep, test: &str) -> bool {
    step.name == test || step.role == Some(model::Role::Pre) && step.test.as_deref() == Some(test)
}

fn find<'a>(all: &[Side<'a>], name: &str) -> Result<Side<'a>> {
    let named: Vec<Side<'a>> =
        all.iter().filter(|side| side.arm.name == name || side.qualified() == name).copied().collect();
    let known = |sides: &[Side<'_>]| sides.iter().map(Side::reference).collect();
    match named.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::UnknownArm { name: name.to_owned(), known: known(all) }),
        several => Err(Error::AmbiguousArm { name: name.to_owned(), known: known(several) }),
    }
}

/// Warning about a run that is not complete.
fn incomplete(run: &Run) -> Option<String> {
    let state = match (run.status.status, run.folder.in_use_by()) {
        (Status::Complete, _) => return None,
        (Status::Running, None) => "interrupted; `rqps resume` continues it".to_owned(),
        (status, _) => match &run.status.reason {
            Some(reason) => format!("{status}: {reason}"),
            None => status.to_string(),
        },
    };
    let done = match run.meta.actions_total {
        0 => format!("{} done", rqps_store::counted(number_done(run), "block")),
        total => format!("{} of {total} actions done", run.scheduled().count()),
    };
    Some(format!("{} is incomplete, {done} ({state})", run.folder.name()))
}

fn number_done(run: &Run) -> usize {
    run.blocks.iter().filter(|block| block.status == BlockStatus::Done).count()
}
