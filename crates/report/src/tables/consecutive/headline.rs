//! What to read first of a run with consecutive steps: disturbances, and for each system the steps farthest from base
//! and those that missed their target rate of background writes.

use crate::document::Block;
use crate::number;
use crate::sides::{Side, Sides, StepKind, TestStep};
use crate::tables::disturbed;
use crate::tables::relative::{Pair, ratio};

/// A sentence for each disturbance and for each system.
pub(crate) fn blocks(sides: &Sides<'_>) -> Vec<Block> {
    let steps = sides.steps(StepKind::Tests);
    let mut blocks: Vec<Block> = disturbed::sentences(sides, &steps).into_iter().map(Block::Alarm).collect();
    match sides.others().next() {
        Some(_) => {
            let sentences = sides.others().map(|side| sentence(sides, side, &steps));
            blocks.push(Block::Items(sentences.collect()));
        }
        None => {
            blocks.push(Block::Text(format!("There is no other arm to compare {} with.", sides.base.label())))
        }
    }
    blocks
}

fn sentence(sides: &Sides<'_>, side: &Side<'_>, steps: &[TestStep]) -> String {
    let pair = Pair { base: sides.base, side: *side };
    let ranked: Vec<(f64, &str)> = steps
        .iter()
        .filter(|step| !pair.missed(step))
        .filter_map(|step| Some((ratio(&pair, &step.name)?, step.name.as_str())))
        .collect();
    let far = |wanted: fn(i8) -> bool| -> String {
        let mut far: Vec<&(f64, &str)> =
            ranked.iter().filter(|(ratio, _)| wanted(number::side_of_band(*ratio))).collect();
        far.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
        match far.as_slice() {
            [] => "none".to_owned(),
            far => {
                far.iter().map(|(ratio, step)| format!("{step} {ratio:.2}")).collect::<Vec<_>>().join(", ")
            }
        }
    };
    let of = |steps: Vec<&str>| if steps.is_empty() { "none".to_owned() } else { steps.join(", ") };
    let missed = |side: &Side<'_>| {
        of(steps.iter().filter(|step| side.missed(&step.name)).map(|step| step.name.as_str()).collect())
    };
    format!(
        "{} relative to {}: at 0.95 or below {}; at 1.05 or above {}. Missed target of background writes: {} ({}: {})",
        side.label(),
        sides.base.label(),
        far(|side| side < 0),
        far(|side| side > 0),
        missed(side),
        sides.base.reference(),
        missed(&sides.base)
    )
}
