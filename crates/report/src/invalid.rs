//! Tests whose steps are invalid, so that they are not compared, for explanations.

use rqps_store::Arm;
use serde_json::{Value, json};

use crate::comparison::{ComparedArm, Comparison, Missing, StepKind};
use crate::document::Block;

/// A test without a valid result on an arm.
pub(crate) struct Invalid {
    test: String,
    arm: String,
    why: String,
    is_base: bool,
}

impl Invalid {
    pub fn json(&self) -> Value {
        json!({ "test": self.test, "arm": self.arm, "why": self.why })
    }

    fn sentence(&self) -> String {
        let Self { test, arm, why, .. } = self;
        let what =
            if self.is_base { "no arm is compared with it in this test" } else { "it is not compared" };
        format!("{test} is invalid on {arm}, so {what}: {why}")
    }
}

/// Those of these tests and arms; if none are given, of all. Base's are always among them.
pub(crate) fn all(comparison: &Comparison<'_>, tests: &[String], arms: &[usize]) -> Vec<Invalid> {
    let base = &comparison.base.arm.name;
    let mut found = Vec::new();
    for step in comparison.steps(StepKind::Tests) {
        if !tests.is_empty() && !tests.contains(&step.name) {
            continue;
        }
        for compared in comparison.base_first() {
            let is_base = compared.arm.name == *base;
            let is_asked = arms.iter().any(|arm| compared.run.arms[*arm].name == compared.arm.name);
            if !(arms.is_empty() || is_asked || is_base) {
                continue;
            }
            if let Err(Missing::Invalid(why)) = compared.window(&step.name) {
                let arm = compared.arm.name.clone();
                found.push(Invalid { test: step.name.clone(), arm, why, is_base });
            }
        }
    }
    found
}

/// One item for each; None if there are none.
pub(crate) fn block(all: &[Invalid]) -> Option<Block> {
    (!all.is_empty()).then(|| Block::Items(all.iter().map(Invalid::sentence).collect()))
}

/// Whether a test has valid results on base and on an arm.
pub(crate) fn is_compared(comparison: &Comparison<'_>, arm: &Arm, test: &str) -> bool {
    let has_result = |compared: &ComparedArm<'_>| compared.window(test).is_ok();
    comparison.find(arm).is_some_and(has_result) && has_result(&comparison.base)
}

/// Whether any test has valid results on base and on another arm.
pub(crate) fn has_ratios(comparison: &Comparison<'_>) -> bool {
    let steps = comparison.steps(StepKind::Tests);
    comparison.pairs().any(|pair| steps.iter().any(|step| pair.ratio(&step.name).is_some()))
}
