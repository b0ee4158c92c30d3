//! The steps before a test, as units that can be left out.

use crate::Usage;
use rqps_model::did_you_mean;
use rqps_plan::{Plan, Protocol, SETTLE};

/// A test and the steps before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    pub test: String,
    /// Settle steps that precede all tests: they are never left out.
    start: Vec<String>,
    /// Each test before it, with the settle steps that follow that test.
    earlier: Vec<Vec<String>>,
}

impl Sequence {
    /// Of a plan with this name or file.
    pub fn before((plan, name): (&Plan, &str), test: &str) -> Result<Self, Usage> {
        let steps = &plan.workload.steps;
        let Some(place) = steps.iter().position(|step| step == test && step != SETTLE) else {
            let names = steps.iter().map(String::as_str);
            let remedy =
                did_you_mean(test, names).unwrap_or_else(|| format!("`rqps plan show {name}` lists them."));
            return Err(Usage(format!("--test: no step `{test}` in this plan. {remedy}")));
        };
        let mut sequence = Sequence { test: test.to_owned(), start: Vec::new(), earlier: Vec::new() };
        for step in &steps[..place] {
            match sequence.earlier.last_mut() {
                Some(group) if step == SETTLE => group.push(step.clone()),
                None if step == SETTLE => sequence.start.push(step.clone()),
                _ => sequence.earlier.push(vec![step.clone()]),
            }
        }
        if sequence.earlier.is_empty() {
            return Err(Usage(format!(
                "--test: {test} is the plan's first test, so nothing before it can matter"
            )));
        }
        Ok(sequence)
    }

    /// The number of steps that can be left out.
    pub fn earlier(&self) -> usize {
        self.earlier.len()
    }

    /// The name of an earlier test.
    pub fn name(&self, step: usize) -> &str {
        &self.earlier[step][0]
    }

    /// All steps of a variant.
    pub fn steps(&self, variant: &[usize]) -> Vec<String> {
        let earlier = variant.iter().flat_map(|step| &self.earlier[*step]);
        self.start.iter().chain(earlier).chain([&self.test]).cloned().collect()
    }

    /// The variant that has these steps.
    pub fn variant(&self, steps: &[String]) -> Option<Vec<usize>> {
        let variant: Vec<usize> =
            (0..self.earlier.len()).filter(|step| steps.contains(&self.earlier[*step][0])).collect();
        (self.steps(&variant) == steps).then_some(variant)
    }

    /// `update-zipf after update-index, delete`, for progress.
    pub fn text(&self, variant: &[usize]) -> String {
        let names: Vec<&str> = variant.iter().map(|step| self.name(*step)).collect();
        match names.len() {
            0 => format!("{} alone", self.test),
            1 if self.earlier() == 1 => format!("{} in its place, after {}", self.test, names[0]),
            all if all == self.earlier() => format!("{} in its place, after all {all} steps", self.test),
            _ => format!("{} after {}", self.test, names.join(", ")),
        }
    }
}

/// Refuses plans whose steps have no order that could be changed.
pub fn check(plan: &Plan, name: &str) -> Result<(), Usage> {
    if plan.protocol != Protocol::Sequence {
        return Err(Usage(format!(
            "the plan {name} has protocol = \"isolated\": there every test starts from the loaded state, so their order \
             does not matter; order needs protocol = \"sequence\""
        )));
    }
    if !plan.work.has_independent_tests() {
        return Err(Usage(format!(
            "the steps of the plan {name} build on each other, so that none can be left out or moved"
        )));
    }
    if plan.arms.len() < 2 {
        return Err(Usage(format!("the plan {name} has one arm: order compares arms with base")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence() -> Sequence {
        let steps = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Sequence {
            test: "update-zipf".to_owned(),
            start: steps(&["settle"]),
            earlier: vec![steps(&["scan"]), steps(&["update-index", "settle", "settle"])],
        }
    }

    #[test]
    fn a_settle_step_goes_with_the_test_before_it() {
        let sequence = sequence();
        assert_eq!(sequence.steps(&[]), ["settle", "update-zipf"]);
        assert_eq!(sequence.steps(&[1]), ["settle", "update-index", "settle", "settle", "update-zipf"]);
        assert_eq!(sequence.steps(&[0]), ["settle", "scan", "update-zipf"]);
        let steps = sequence.steps(&[1]);
        assert_eq!(sequence.variant(&steps), Some(vec![1]));
        assert_eq!(sequence.variant(&steps[1..]), None);
        assert_eq!(sequence.text(&[1]), "update-zipf after update-index");
    }
}
