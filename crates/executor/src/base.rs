//! The events that base did in each step, for the arms that repeat them, and those of any arm, for itself.

use crate::error::Result;
use crate::observe::{WORK_WARMUP, WORK_WINDOW};
use rqps_model::FixedWork;
use rqps_store::Run;
use std::collections::BTreeMap;

/// Events of each of base's clients, by step.
pub(crate) type BaseSteps = BTreeMap<String, FixedWork>;

/// Reads what base did in an earlier process. An invalid step counts too: it changed rows like any other.
pub(crate) fn read(run: &Run, base: &str) -> Result<BaseSteps> {
    let mut steps = BaseSteps::new();
    // In reverse, so that the first pass, which all others repeat, is inserted last.
    for action in run.actions.iter().rev().filter(|action| action.arm == base && action.kind == "measure") {
        if let Some(work) = work_of(run, action.seq)? {
            steps.insert(action.step.clone(), work);
        }
    }
    Ok(steps)
}

/// What an arm did in an action; `None` if that was not counted.
pub(crate) fn work_of(run: &Run, seq: u32) -> Result<Option<FixedWork>> {
    let series = run.series(seq)?;
    let counts = |name: &str| -> Vec<u64> {
        let found = series.iter().find(|series| series.name == name);
        found.map_or_else(Vec::new, |s| s.values.iter().map(|n| *n as u64).collect())
    };
    let work = FixedWork { warmup: counts(WORK_WARMUP), window: counts(WORK_WINDOW) };
    Ok(Some(work).filter(|work| !work.window.is_empty()))
}
