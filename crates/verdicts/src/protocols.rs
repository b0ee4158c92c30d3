//! Compares the same arms under both protocols: a change that shows only in the sequence comes from the state
//! that earlier tests leave.

use rqps_stats::{Class, Detector};
use rqps_store::{Arm, Run};

use crate::data::done_blocks;
use crate::error::Result;
use crate::judged::RunVerdicts;
use rqps_model::sample::mean;

/// A change that is significant in the sequence and absent when every test starts from the same data.
#[derive(Debug, Clone, PartialEq)]
pub struct StateDependent {
    pub test: String,
    /// Index of the arm in the sequence's run.
    pub arm: usize,
    pub detector: Detector,
    /// Whether it is a regression.
    pub is_regression: bool,
    /// The ratio in the sequence.
    pub in_sequence: f64,
    /// The ratio and class from equal data.
    pub isolated: (f64, Class),
    /// Mean dead rows before the test over the sequence's passes, of base and of the arm. `None` if not
    /// recorded.
    pub dead_rows: (Option<f64>, Option<f64>),
}

/// State-dependent changes of arms that both runs have; none if their bases differ.
///
/// # Errors
/// If the sequence's run folder cannot be read.
pub fn state_dependent(
    isolated: (&Run, &RunVerdicts),
    sequence: (&Run, &RunVerdicts),
) -> Result<Vec<StateDependent>> {
    let mut found = Vec::new();
    let base_of = |(run, verdicts): (&Run, &RunVerdicts)| run.arms.get(verdicts.experiment.base).cloned();
    let (Some(base), Some(other)) = (base_of(isolated), base_of(sequence)) else {
        return Ok(found);
    };
    if !is_same(&base, &other) {
        return Ok(found);
    }
    for verdict in sequence.1.on_candidates().filter(|verdict| verdict.class.is_change()) {
        let arm = &sequence.0.arms[verdict.arm];
        let same = isolated.0.arms.iter().position(|other| !other.control && is_same(arm, other));
        let there = same.and_then(|arm| isolated.1.verdict(&verdict.test, arm, verdict.detector));
        let Some(there) = there.filter(|there| there.class == Class::Same) else {
            continue;
        };
        found.push(StateDependent {
            test: verdict.test.clone(),
            arm: verdict.arm,
            detector: verdict.detector,
            is_regression: verdict.class.is_regression(),
            in_sequence: verdict.ratio,
            isolated: (there.ratio, there.class),
            dead_rows: (
                dead_rows(sequence.0, &other.name, &verdict.test)?,
                dead_rows(sequence.0, &arm.name, &verdict.test)?,
            ),
        });
    }
    Ok(found)
}

/// Whether two arms have the same build, config and environment.
fn is_same(a: &Arm, b: &Arm) -> bool {
    (&a.build_hash, &a.config_hash, &a.env) == (&b.build_hash, &b.config_hash, &b.env)
}

/// Mean dead rows before a step over done blocks.
fn dead_rows(run: &Run, arm: &str, step: &str) -> Result<Option<f64>> {
    let done = done_blocks(run);
    let mut found = Vec::new();
    for window in run.windows.iter().filter(|window| window.action.arm == arm && window.action.step == step) {
        if window.placement.is_some_and(|at| done.contains(&at.block)) {
            let state = run.fingerprint(window.action.seq)?;
            let dead = state.iter().find(|(key, _)| key == "dead_rows");
            found.extend(dead.and_then(|(_, value)| value.parse::<f64>().ok()));
        }
    }
    Ok((!found.is_empty()).then(|| mean(&found)))
}
