//! How much the order of a plan's steps matters for each test: the spread of its ratio over drawn orders, beside the
//! spread over passes of one order.

use super::journal::{Figures, Journal};
use crate::listing::{Cell, Column, Listing};
use rqps_model::Metric;
use rqps_model::random::Stream;
use rqps_plan::{Plan, SETTLE};
use rqps_stats::order::Spread;
use serde_json::{Value, json};

/// Passes of each order: two tell the noise.
pub const PASSES: usize = 2;
/// Seeds of orders, apart from other uses of the plan's seed.
const STREAM: u64 = 0x6f72_6465;

/// The steps in the `number`-th drawn order, which is none of those before it until all were drawn; settle steps stay
/// behind the test that they follow.
pub fn order(plan: &Plan, number: u64) -> Vec<String> {
    let mut groups: Vec<Vec<String>> = vec![Vec::new()];
    for step in &plan.workload.steps {
        match groups.last_mut() {
            Some(last) if step == SETTLE => last.push(step.clone()),
            _ => groups.push(vec![step.clone()]),
        }
    }
    let start = groups.remove(0);
    let possible = (1..=groups.len() as u64).try_fold(1, u64::checked_mul).unwrap_or(u64::MAX);
    let mut drawn: Vec<Vec<usize>> = Vec::new();
    for draw in 0.. {
        let order = Stream::new(&[plan.seed, STREAM, draw]).permutation(groups.len());
        if !drawn.contains(&order) {
            drawn.push(order);
        }
        if drawn.len() as u64 > number % possible {
            break;
        }
    }
    let order = drawn.pop().unwrap_or_default();
    start.into_iter().chain(order.into_iter().flat_map(|at| groups[at].clone())).collect()
}

/// From this probability of mere noise on, orders are not said to differ. Each is measured in a run of its own, so that
/// a host that changed between runs differs too.
const P_MAX: f64 = 0.01;

/// All tests of all arms.
pub struct Shuffled(Vec<(String, String, Spread)>);

fn percent(sd: f64) -> String {
    format!("{:.1} %", sd * 100.0)
}

impl Shuffled {
    pub fn new(journal: &Journal, plan: &Plan) -> Self {
        let mut all = Vec::new();
        for arm in plan.arms.iter().filter(|arm| arm.name != plan.base) {
            for test in plan.workload.steps.iter().filter(|step| *step != SETTLE) {
                let of_run = |run: &Figures| run.passes(test, Metric::Rate, &arm.name);
                let runs: Vec<Vec<f64>> = journal.runs().iter().map(of_run).collect();
                all.extend(Spread::of(&runs).map(|spread| (test.clone(), arm.name.clone(), spread)));
            }
        }
        Shuffled(all)
    }

    pub fn table(&self) -> Listing {
        let mut table = Listing::new(vec![
            Column::text("test"),
            Column::text("arm"),
            Column::number("orders"),
            Column::number("rQPS"),
            Column::number("lowest"),
            Column::number("highest"),
            Column::number("by order"),
            Column::number("by noise"),
            Column::text("remark"),
        ]);
        for (test, arm, one) in &self.0 {
            let figures = [one.mean, one.low, one.high].map(|ratio| format!("{ratio:.2}"));
            let [mean, low, high] = figures;
            let remark = if one.p < P_MAX { "orders differ, or the host between their runs" } else { "" };
            let cells = [
                test.clone(),
                arm.clone(),
                one.orders.to_string(),
                mean,
                low,
                high,
                percent(one.order_sd),
                percent(one.noise_sd),
                remark.to_owned(),
            ];
            table.row(cells.map(Cell::from).into());
        }
        table
    }

    /// What differs most between orders, if that is more than passes of one order differ by.
    fn widest(&self) -> Option<&(String, String, Spread)> {
        let wide = self.0.iter().filter(|(_, _, one)| one.order_sd > one.noise_sd);
        wide.max_by(|(.., one), (.., other)| one.order_sd.total_cmp(&other.order_sd))
    }

    /// The answer in a sentence.
    pub fn sentence(&self) -> String {
        let differ = self.0.iter().filter(|(_, _, one)| one.p < P_MAX);
        let named: Vec<String> = differ.map(|(test, arm, _)| format!("{test} ({arm})")).collect();
        match named.is_empty() {
            true if self.0.is_empty() => {
                "Too few orders were measured to tell whether they matter.".to_owned()
            }
            true => match self.widest() {
                Some((test, arm, one)) => format!(
                    "The order is not shown to matter. Most of all, orders differ by {} for {test} ({arm}), passes of one order by \
                     {}: {} orders are too few to tell that from chance.",
                    percent(one.order_sd),
                    percent(one.noise_sd),
                    one.orders
                ),
                None => {
                    "The order is not shown to matter: orders differ by no more than passes of one order."
                        .to_owned()
                }
            },
            false => format!(
                "The order may matter for {}: orders differ by more than passes of one order, or the host did between their \
                 runs.",
                named.join(", ")
            ),
        }
    }

    pub fn json(&self) -> Value {
        let one = |(test, arm, one): &(String, String, Spread)| {
            json!({
                "test": test, "arm": arm, "orders": one.orders, "rqps": one.mean, "low": one.low,
                "high": one.high, "order_sd": one.order_sd, "noise_sd": one.noise_sd,
                "orders_differ": one.p < P_MAX,
            })
        };
        json!({ "tests": self.0.iter().map(one).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_order_is_drawn_twice_before_all_were() {
        let mut plan = crate::verbs::plan::read_plan("verdicts").unwrap();
        plan.workload.steps = ["point-query", "scan", "settle", "hot-points"].map(str::to_owned).to_vec();
        let drawn: BTreeSet<Vec<String>> = (0..6).map(|number| order(&plan, number)).collect();
        assert_eq!(drawn.len(), 6);
        assert!(drawn.iter().all(|steps| steps.windows(2).any(|two| two == ["scan", "settle"])), "{drawn:?}");
        assert!(drawn.contains(&order(&plan, 6)), "then they come again");
    }
}
