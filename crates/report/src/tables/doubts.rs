//! Figures of imported runs that should be checked before they are used: those that contradict themselves or all
//! others. An import notes them with their results.

use rqps_store::{ActionRecord, Outcome, Run};

use crate::document::Block;

/// Maximum figures that reports begin with; the remarks have all.
const NAMED_MAX: usize = 5;

/// What is to be checked, once, with the arms and tests that it is about.
struct Found<'a> {
    note: &'a str,
    arms: Vec<&'a str>,
    steps: Vec<&'a str>,
}

/// What a report on an imported run begins with; empty without doubts.
pub(crate) fn blocks(run: &Run) -> Vec<Block> {
    sentence(run).map(Block::Alarm).into_iter().collect()
}

/// `CHECK FIRST: b on old: base is the odd one: …`; what is of several tests or arms once.
pub(crate) fn sentence(run: &Run) -> Option<String> {
    let mut found: Vec<Found<'_>> = Vec::new();
    for action in doubtful(run) {
        let (arm, note, step) =
            (action.arm.as_str(), action.note.as_deref().unwrap_or_default(), action.step.as_str());
        let at = found.iter().position(|known| known.note == note).unwrap_or_else(|| {
            found.push(Found { note, arms: Vec::new(), steps: Vec::new() });
            found.len() - 1
        });
        let known = &mut found[at];
        known.arms.extend(Some(arm).filter(|arm| !known.arms.contains(arm)));
        known.steps.extend(Some(step).filter(|step| !known.steps.contains(step)));
    }
    let more = found.len().saturating_sub(NAMED_MAX);
    found.truncate(NAMED_MAX);
    let more = if more > 0 { format!("; {more} more in the remarks") } else { String::new() };
    let text = |one: &Found<'_>| {
        let (arms, note) = (one.arms.join(", "), one.note);
        match one.steps[..] {
            [step] => format!("{step} on {arms}: {note}"),
            _ => format!("{} tests on {arms}: {note}", one.steps.len()),
        }
    };
    let named: Vec<String> = found.iter().map(text).collect();
    (!named.is_empty()).then(|| {
        format!("CHECK FIRST: {}{more}. Ratios made of these figures are as doubtful.", named.join("; "))
    })
}

/// The doubts about a test of an arm.
pub(crate) fn on<'a>(run: &'a Run, test: &'a str, arm: &'a str) -> Vec<&'a str> {
    let mut texts: Vec<&str> = Vec::new();
    for action in doubtful(run).filter(|action| action.step == test && action.arm == arm) {
        texts.extend(action.note.as_deref().filter(|note| !texts.contains(note)));
    }
    texts
}

fn doubtful(run: &Run) -> impl Iterator<Item = &ActionRecord> {
    let is_doubtful = |action: &&ActionRecord| action.outcome == Outcome::Done && action.note.is_some();
    run.actions.iter().filter(|_| run.meta.is_imported()).filter(is_doubtful)
}
