//! Figures of imported runs that should be checked before they are used: those that contradict themselves or all
//! others. An import notes them with their results.

use rqps_store::{ActionRecord, Outcome, Run};

use crate::document::Block;

/// Maximum figures that reports begin with; the remarks have all.
const NAMED_MAX: usize = 5;

/// What a report on an imported run begins with; empty without doubts.
pub(crate) fn blocks(run: &Run) -> Vec<Block> {
    sentence(run).map(Block::Alarm).into_iter().collect()
}

/// `CHECK FIRST: b on old: base is the odd one: …`.
pub(crate) fn sentence(run: &Run) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    for action in doubtful(run) {
        let text =
            format!("{} on {}: {}", action.step, action.arm, action.note.as_deref().unwrap_or_default());
        if !named.contains(&text) {
            named.push(text);
        }
    }
    let more = named.len().saturating_sub(NAMED_MAX);
    named.truncate(NAMED_MAX);
    let more = if more > 0 { format!("; {more} more in the remarks") } else { String::new() };
    (!named.is_empty()).then(|| {
        format!(
            "CHECK FIRST: {}{more}. Such figures may be mistakes of measurement, or misprints; so may the ratios made of them.",
            named.join("; ")
        )
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
