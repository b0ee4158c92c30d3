//! The gate as a list for benchmark-action's `customSmallerIsBetter`. Every value is a ratio to base in the
//! same blocks, so a change of machine does not show as a step in their history.

use rqps_model::{Digits, counted};
use rqps_stats::{Metric, Verdict};
use rqps_store::Run;
use serde_json::{Value, json};

use crate::error::Result;
use crate::gate::ArmAtGate;
use crate::render::json::pretty;
use crate::words;

/// Most decimals of a range's ends.
const DECIMALS_MAX: usize = 4;

pub(super) fn json(run: &Run, arms: &[ArmAtGate<'_>]) -> Result<String> {
    let mut entries: Vec<Value> = Vec::new();
    for ArmAtGate { arm, lines, warnings, builds } in arms {
        let name = &run.arms[*arm].name;
        for line in lines {
            entries.extend(line.all().filter_map(|one| entry(name, line.test, one, (warnings, builds))));
        }
    }
    pretty(&Value::Array(entries))
}

/// The entry of a metric; its name is the same in every run. None if the ratio is not finite, which charts
/// cannot show.
fn entry(arm: &str, test: &str, one: &Verdict, (warnings, builds): (&[String], &[String])) -> Option<Value> {
    // A smaller rate is worse, so the entry has its inverse.
    let (what, value, low, high) = match one.metric {
        Metric::Rate => ("time per operation", one.ratio.recip(), one.high.recip(), one.low.recip()),
        metric => (metric.measure().label, one.ratio, one.low, one.high),
    };
    let range = match low.is_finite() && high.is_finite() {
        true => {
            let [_, low, high] = Digits::of_ratio((low, high), DECIMALS_MAX).all(value);
            format!("{low} to {high}")
        }
        false => String::new(),
    };
    let counted = format!("{}, {}", words::verdict(one), counted(one.blocks, "block"));
    let extra: Vec<&str> =
        std::iter::once(&counted).chain(warnings).chain(builds).map(String::as_str).collect();
    value.is_finite().then(|| {
        json!({
            "name": format!("{arm}: {test}, {what}"),
            "unit": "x base",
            "value": value,
            "range": range,
            "extra": extra.join("; "),
        })
    })
}
