//! Budgets that are hopeless, and those that would do.

use super::now_seconds;
use crate::Usage;
use crate::busy::Busy;
use crate::search::{first_verdicts_seconds, verdict_blocks};
use rqps_model::counted;
use rqps_plan::estimate::duration_text;
use rqps_plan::isolated::seconds_through;
use rqps_plan::{Plan, limits};

/// A budget is hopeless if so many blocks need this many times as much, and so many seconds more.
#[derive(Clone, Copy)]
pub struct Hopeless {
    blocks: fn() -> usize,
    factor: f64,
    seconds: f64,
}

impl Hopeless {
    /// Not even one block fits. That of a small plan is soon measured, sooner than estimated, and may be all that is
    /// wanted.
    pub const FOR_BLOCKS: Self = Self { blocks: || 1, factor: 1.5, seconds: 60.0 };
    /// Whoever wants verdicts gets none from less; hosts may be faster than estimated, but not by so much.
    pub const FOR_VERDICTS: Self = Self { blocks: verdict_blocks, factor: 3.0, seconds: 0.0 };
}

/// Refuses a hopeless budget.
///
/// # Errors
/// If the budget of a new run is hopeless.
pub fn refuse_hopeless(plan: &Plan, hopeless: Hopeless) -> Result<(), Usage> {
    let Some(budget) = plan.budget.filter(|_| plan.blocks().blocks_min == 0) else {
        return Ok(());
    };
    let without = without_counting(plan);
    let (budget_s, blocks_s) = (budget.as_secs_f64(), seconds_through(&without, (hopeless.blocks)()));
    if blocks_s <= hopeless.factor * budget_s || blocks_s - budget_s <= hopeless.seconds {
        return Ok(());
    }
    let needed_s = first_verdicts_seconds(&without);
    let tests = plan.workload.steps.len();
    let now_s = now_seconds(plan, needed_s);
    Err(Usage(format!(
        "the budget of {} is far too short: the first verdicts on {} need about {}{}. {}",
        duration_text(budget_s),
        counted(tests, "test"),
        duration_text(now_s),
        Busy::beside(needed_s).note_of(needed_s),
        remedy_of_budget(now_s, tests)
    )))
}

/// What to do if this many seconds are needed: a budget has a limit.
fn remedy_of_budget(needed_s: f64, tests: usize) -> String {
    let enough_s = rounded_up(needed_s);
    let fewer = if tests > 1 { "fewer tests or rows" } else { "fewer rows" };
    match enough_s <= *limits::BUDGET_SECONDS.end() as f64 {
        true => format!("Give it {} or more, or {fewer}", duration_text(enough_s)),
        false => format!("No budget may be so long: take {fewer}"),
    }
}

/// Seconds as people ask for them: whole minutes, of days whole hours.
pub(super) fn rounded_up(seconds: f64) -> f64 {
    let unit = if seconds < 86_400.0 { 60.0 } else { 3_600.0 };
    (seconds / unit).ceil() * unit
}

/// Estimated seconds until the first verdicts of a plan, if no instructions are counted.
pub fn seconds_without_counting(plan: &Plan) -> f64 {
    first_verdicts_seconds(&without_counting(plan))
}

fn without_counting(plan: &Plan) -> Plan {
    let mut without = plan.clone();
    without.isolated.iter_mut().for_each(|blocks| blocks.count_instructions = false);
    without
}

#[cfg(test)]
mod tests {
    use super::remedy_of_budget;
    use rqps_plan::parse_budget;

    #[test]
    fn times_to_give_are_rounded_up_as_people_write_them() {
        let text = |seconds| remedy_of_budget(seconds, 1);
        assert_eq!(text(601.0), "Give it 11 min or more, or fewer rows");
        assert_eq!(text(11_716.0 * 60.0), "Give it 8 d 4 h or more, or fewer rows");
        assert_eq!(parse_budget("8 d 4 h").unwrap().as_secs(), 196 * 3_600, "it can be given so");
        assert!(text(40.0 * 86_400.0).starts_with("No budget may be so long"));
    }
}
