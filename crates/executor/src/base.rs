//! The events that base did in each step, for the arms that repeat them.

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
    for action in run.actions.iter().rev() {
        if action.arm != base || action.kind != "measure" {
            continue;
        }
        let series = run.series(action.seq)?;
        let counts = |name: &str| -> Vec<u64> {
            let found = series.iter().find(|series| series.name == name);
            found.map_or_else(Vec::new, |s| s.values.iter().map(|n| *n as u64).collect())
        };
        let work = FixedWork { warmup: counts(WORK_WARMUP), window: counts(WORK_WINDOW) };
        if !work.window.is_empty() {
            steps.insert(action.step.clone(), work);
        }
    }
    Ok(steps)
}
