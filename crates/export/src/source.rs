//! One run as tables read it: which rows are results, and how a row begins.

use std::collections::BTreeSet;

use rqps_store::{BlockStatus, Profile, Recorded, Run};
use rqps_verdicts::RunVerdicts;

use crate::table::{Column, boolean, integer, text};
use crate::value::Value;

/// The column that every table begins with.
pub(crate) const RUN: Column = text("run", "name of the run's folder");

/// What every row of an observation begins with.
pub(crate) const PLACE: [Column; 9] = [
    RUN,
    integer("seq", "number of the action, which joins all tables of a run"),
    text("arm", "the arm"),
    text("step", "the step, such as `point-query` or `point-query.pre`"),
    text("test", "the test that the step measures").or_null(),
    text("test_group", "`point`, `range`, `range-aggregate`, `write`, `insert` or `background`").or_null(),
    integer("block", "the replicate; null in runs without").or_null(),
    integer("window_number", "which of the arm's windows of the step in the block, from 1").or_null(),
    boolean("is_result", "false: a warm-up, invalid, or of a block that is not done; leave it out"),
];

/// A run, and what its rows need to know of the whole.
pub(crate) struct Source<'a> {
    pub run: &'a Run,
    /// Name of the run's folder.
    pub name: String,
    /// None in runs without verdicts.
    pub judged: Option<RunVerdicts>,
    done: BTreeSet<u32>,
}

impl<'a> Source<'a> {
    pub fn new(run: &'a Run, judged: Option<RunVerdicts>) -> Self {
        let done = run.blocks.iter().filter(|block| block.status == BlockStatus::Done);
        Self { run, name: run.folder.name(), judged, done: done.map(|block| block.number).collect() }
    }

    /// Whether the file of a profile's stacks is there: whoever copies a database may leave it behind.
    pub fn has_stacks(&self, profile: &Profile) -> bool {
        self.run.folder.path().join(&profile.file).is_file()
    }

    /// Beginning of a row about `recorded`: the values of [`PLACE`].
    pub fn place<'r, T>(
        &'r self,
        recorded: &'r Recorded<T>,
        test: Option<(&'r str, &'r str)>,
    ) -> Vec<Value<'r>> {
        let at = recorded.placement;
        let window = at.map(|at| at.window).filter(|window| *window > 0);
        vec![
            (&self.name).into(),
            recorded.action.seq.into(),
            (&recorded.action.arm).into(),
            (&recorded.action.step).into(),
            test.map(|(test, _)| test).into(),
            test.map(|(_, group)| group).into(),
            at.map(|at| at.block).into(),
            window.into(),
            self.is_result(recorded).into(),
        ]
    }

    fn is_result<T>(&self, recorded: &Recorded<T>) -> bool {
        let step = &recorded.action.step;
        let is_warm_up = step.ends_with(".warm") || step.ends_with(".warmpre");
        let of_block = match recorded.placement {
            Some(at) => self.done.contains(&at.block),
            None => self.run.blocks.is_empty() || recorded.action.kind != "measure",
        };
        recorded.valid() && of_block && !is_warm_up
    }
}
