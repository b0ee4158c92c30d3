//! The headline of a run with consecutive steps: disturbances, and for each system the steps farthest from
//! base and those that missed their target rate of background writes.

use crate::comparison::{ComparedArm, Comparison, Pair, StepKind, TestStep};
use crate::document::Block;
use crate::number;
use crate::tables::{disturbed, doubts, headline};

/// A sentence per disturbance and per system, and what was measured with.
pub(crate) fn blocks(comparison: &Comparison<'_>) -> Vec<Block> {
    let steps = comparison.steps(StepKind::Tests);
    let mut blocks: Vec<Block> = comparison.runs().into_iter().flat_map(doubts::blocks).collect();
    blocks.extend(disturbed::sentences(comparison, &steps).into_iter().map(Block::Alarm));
    let sentences: Vec<String> = comparison.pairs().map(|pair| sentence(&pair, &steps)).collect();
    blocks.push(match sentences.is_empty() {
        true => Block::Text(comparison.nothing_to_compare()),
        false => Block::Items(sentences),
    });
    blocks.extend(headline::measured_with(comparison));
    blocks
}

fn sentence(pair: &Pair<'_>, steps: &[TestStep]) -> String {
    let ranked: Vec<(f64, &str)> =
        steps.iter().filter_map(|step| Some((pair.ranked_ratio(&step.name)?, step.name.as_str()))).collect();
    let far = |band: i8| -> String {
        let mut far: Vec<&(f64, &str)> =
            ranked.iter().filter(|(ratio, _)| number::side_of_band(*ratio) == band).collect();
        far.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
        match far.as_slice() {
            [] => "none".to_owned(),
            far => {
                far.iter().map(|(ratio, step)| format!("{step} {ratio:.2}")).collect::<Vec<_>>().join(", ")
            }
        }
    };
    let missed = |arm: &ComparedArm<'_>| {
        let missed = steps.iter().filter(|step| arm.missed(&step.name));
        let names: Vec<&str> = missed.map(|step| step.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let sentence = format!(
        "{} relative to {}: at 0.95 or below {}; at 1.05 or above {}",
        pair.arm.label(),
        pair.base.label(),
        far(-1),
        far(1)
    );
    // Of imported results nobody may know the target.
    let has_background =
        |arm: &ComparedArm<'_>| steps.iter().any(|step| arm.background(&step.name).is_some());
    if !(has_background(&pair.arm) || has_background(&pair.base)) {
        return sentence;
    }
    format!(
        "{sentence}. Missed target of background writes: {} ({}: {})",
        missed(&pair.arm),
        pair.base.reference(),
        missed(&pair.base)
    )
}
