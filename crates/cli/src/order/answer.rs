//! What the runs say of one arm, as a table, a sentence and JSON.

use super::journal::{Figures, Journal};
use super::steps::Sequence;
use crate::listing::{Cell, Column, Listing};
use rqps_model::{Digits, Metric};
use rqps_stats::order::{Answer, Carrier, Estimate, How, Measured, Outcome, Rules, search};
use rqps_store::{Arm, Role, RunFolder};
use serde_json::{Value, json};

/// What a difference may be judged by.
const METRICS: [Metric; 2] = [Metric::Rate, Metric::CpuUs];

/// What was found on one arm.
pub struct OfArm {
    pub arm: String,
    /// What it is judged by: the metric in which the test alone differs more clearly from the test in its place.
    pub metric: Metric,
    pub answer: Answer,
    measured: Measured,
}

impl OfArm {
    pub fn new(arm: &str, sequence: &Sequence, journal: &Journal, rules: &Rules) -> Self {
        let by = |metric| {
            let measured = measured(sequence, journal, metric, arm);
            let answer = search(sequence.earlier(), &measured, rules);
            OfArm { arm: arm.to_owned(), metric, answer, measured }
        };
        let [rate, cost] = METRICS.map(by);
        if cost.clearness() > rate.clearness() { cost } else { rate }
    }

    /// The difference between the test alone and in its place, in half widths of its interval.
    fn clearness(&self) -> f64 {
        let (Some(alone), Some(in_place)) = (self.answer.alone, self.answer.in_place) else {
            return 0.0;
        };
        let half = (alone.high - alone.value).hypot(in_place.high - in_place.value);
        (in_place.value - alone.value).abs() / half
    }

    /// The next variant to measure.
    pub fn next(&self) -> Option<&[usize]> {
        match &self.answer.outcome {
            Outcome::Open(variant) => Some(variant),
            _ => None,
        }
    }

    pub fn is_settled(&self) -> bool {
        matches!(self.answer.outcome, Outcome::Same | Outcome::Carried(_))
    }

    fn noun(&self) -> &'static str {
        if self.metric == Metric::Rate { "rQPS" } else { "cost/op (CPU time)" }
    }

    /// Every variant with its figure.
    pub fn table(&self, sequence: &Sequence, rules: &Rules) -> Listing {
        let mut table = Listing::new(vec![
            Column::elastic("steps before"),
            Column::number(self.noun()),
            Column::number("from"),
            Column::number("to"),
            Column::number("passes"),
        ]);
        let mut variants: Vec<&Vec<usize>> = self.measured.keys().collect();
        variants.sort_by_key(|variant| std::cmp::Reverse(variant.len()));
        for variant in variants {
            let names: Vec<&str> = variant.iter().map(|step| sequence.name(*step)).collect();
            let steps = match names.len() {
                0 => "none".to_owned(),
                all if all == sequence.earlier() => format!("all {all}"),
                _ => names.join(", "),
            };
            let estimate = rqps_stats::order::estimate(&self.measured, variant, rules);
            let [value, low, high] = estimate.map_or_else(|| [const { String::new() }; 3], figures);
            let passes = self.measured[variant].len().to_string();
            table.row([steps, value, low, high, passes].map(Cell::from).into());
        }
        table
    }

    /// The answer in a sentence.
    pub fn sentence(&self, sequence: &Sequence, base: &str, states: &[String]) -> String {
        let (test, arm) = (&sequence.test, &self.arm);
        let (Some(alone), Some(in_place)) = (self.answer.alone, self.answer.in_place) else {
            return format!("{test} on {arm}: not measured yet");
        };
        let head = format!(
            "{test} on {arm}: {} {} in its place, {} alone (relative to {base})",
            self.noun(),
            with_interval(in_place),
            with_interval(alone)
        );
        let tail = match &self.answer.outcome {
            Outcome::Open(_) => "not settled yet".to_owned(),
            Outcome::Same => "the steps before it make no difference of 2 % or more".to_owned(),
            Outcome::Undecided => {
                "too noisy to tell whether the steps before it matter: run it with a longer window, or on a quiet machine"
                    .to_owned()
            }
            Outcome::Carried(carriers) => {
                let what = if in_place.value.abs() < alone.value.abs() { "change" } else { self.what(in_place) };
                let carried: Vec<String> =
                    carriers.iter().map(|one| carrier(one, sequence, what)).collect();
                match states.first() {
                    Some(state) => format!("{}; in its place, {state}", carried.join("; ")),
                    None => carried.join("; "),
                }
            }
        };
        format!("{head}; {tail}.")
    }

    /// What the figure in its place is.
    fn what(&self, in_place: Estimate) -> &'static str {
        let is_worse = (in_place.value < 0.0) == (self.metric == Metric::Rate);
        if is_worse { "loss" } else { "gain" }
    }

    pub fn json(&self, sequence: &Sequence, states: &[String]) -> Value {
        let estimate =
            |at: Estimate| json!({ "ratio": at.value.exp(), "low": at.low.exp(), "high": at.high.exp() });
        let names =
            |steps: &[usize]| steps.iter().map(|step| sequence.name(*step).to_owned()).collect::<Vec<_>>();
        let carriers = match &self.answer.outcome {
            Outcome::Carried(carriers) => carriers.as_slice(),
            _ => &[],
        };
        let carried = carriers.iter().map(|one| {
            json!({ "steps": names(&one.steps), "how": how(one.how), "share": one.share.value,
                    "low": finite(one.share.low), "high": finite(one.share.high) })
        });
        json!({
            "arm": self.arm,
            "metric": self.metric.key(),
            "settled": self.is_settled(),
            "order_matters": match self.answer.outcome {
                Outcome::Carried(_) => Some(true),
                Outcome::Same => Some(false),
                _ => None,
            },
            "in_place": self.answer.in_place.map(estimate),
            "alone": self.answer.alone.map(estimate),
            "carried": carried.collect::<Vec<_>>(),
            "states": states,
        })
    }
}

/// How the arm's state differed from base's when the test began in its place.
pub fn states(sequence: &Sequence, journal: &Journal, arm: &str) -> anyhow::Result<Vec<String>> {
    let all: Vec<usize> = (0..sequence.earlier()).collect();
    let steps = sequence.steps(&all);
    let Some(found) = journal.runs().iter().find(|run| run.steps == steps) else {
        return Ok(Vec::new());
    };
    let run = RunFolder::open(&found.path)?;
    let place = |is: &dyn Fn(&Arm) -> bool| run.arms.iter().position(is);
    let (base, arm) = (place(&|one| one.role == Role::Base), place(&|one| one.name == arm));
    let (Some(base), Some(arm)) = (base, arm) else {
        return Ok(Vec::new());
    };
    let windows = rqps_explain::Windows::new(&run);
    Ok(rqps_explain::unlike_states(&windows, &sequence.test, base, arm)?)
}

fn measured(sequence: &Sequence, journal: &Journal, metric: Metric, arm: &str) -> Measured {
    let mut measured = Measured::new();
    for run in journal.runs() {
        let passes = Figures::passes(run, &sequence.test, metric, arm);
        if let Some(variant) = sequence.variant(&run.steps).filter(|_| !passes.is_empty()) {
            measured.entry(variant).or_default().extend(passes);
        }
    }
    measured
}

/// `90 % (71 to 104 %) of the loss comes with update-index before it`.
fn carrier(one: &Carrier, sequence: &Sequence, what: &str) -> String {
    let names: Vec<&str> = one.steps.iter().map(|step| sequence.name(*step)).collect();
    let steps = match one.how {
        How::Alone => format!("{} before it", names.join(", ")),
        How::Together => {
            format!("{} before it together, and with neither half of them alone", names.join(", "))
        }
        How::Any => {
            let either = if names.len() > 2 { "either half of them" } else { "either of them" };
            format!("{} before it, and much of it with {either} alone", names.join(", "))
        }
    };
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let share = match one.share {
        Estimate { value, low, high } if low == high => format!("all of the {what} ({} %)", percent(value)),
        Estimate { value, low, high } if low.is_finite() && high.is_finite() => {
            format!("{} % ({} to {} %) of the {what}", percent(value), percent(low), percent(high))
        }
        Estimate { value, .. } => format!("about {} % of the {what}", percent(value)),
    };
    format!("{share} comes with {steps}")
}

fn how(how: How) -> &'static str {
    match how {
        How::Alone => "alone",
        How::Together => "together",
        How::Any => "any",
    }
}

/// The ratio that a logarithm means, and the ends of its interval.
fn figures(at: Estimate) -> [String; 3] {
    digits(at).all(at.value.exp())
}

fn digits(at: Estimate) -> Digits {
    Digits::of_ratio((at.low.exp(), at.high.exp()), 3)
}

fn with_interval(at: Estimate) -> String {
    let interval = digits(at).interval().map_or_else(String::new, |interval| format!(" ({interval})"));
    format!("{}{interval}", digits(at).text(at.value.exp()))
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
