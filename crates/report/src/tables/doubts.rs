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

/// `CHECK FIRST: b on old: base is the odd one: …`; what is of several tests of an arm once.
pub(crate) fn sentence(run: &Run) -> Option<String> {
    let mut found: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for action in doubtful(run) {
        let key = (action.arm.as_str(), action.note.as_deref().unwrap_or_default());
        let step = action.step.as_str();
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, steps)) if steps.contains(&step) => {}
            Some((_, steps)) => steps.push(step),
            None => found.push((key, vec![step])),
        }
    }
    let more = found.len().saturating_sub(NAMED_MAX);
    found.truncate(NAMED_MAX);
    let more = if more > 0 { format!("; {more} more in the remarks") } else { String::new() };
    let text = |((arm, note), steps): &((&str, &str), Vec<&str>)| match steps[..] {
        [step] => format!("{step} on {arm}: {note}"),
        _ => format!("{} tests on {arm}: {note}", steps.len()),
    };
    let named: Vec<String> = found.iter().map(text).collect();
    (!named.is_empty()).then(|| {
        format!(
            "CHECK FIRST: {}{more}. Such figures may be mistakes of measurement, or misprints; so may the ratios made of them.",
            named.join("; ")
        )
    })
}

/// Whether an import found figures that should be checked before they are used.
pub(crate) fn any(run: &Run) -> bool {
    doubtful(run).next().is_some()
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
