//! Disturbed windows: other programs, or other guests of the host, used some of the machine's CPU.

use rqps_store::Run;
use rqps_verdicts::{Disturbance, IN_TURNS, WindowOrder};

use crate::comparison::{ComparedArm, Comparison, StepKind, TestStep};

/// A sentence per kind of disturbance that occurred.
pub(crate) fn sentences(comparison: &Comparison<'_>, steps: &[TestStep]) -> Vec<String> {
    Disturbance::ALL.into_iter().filter_map(|kind| sentence(comparison, steps, kind)).collect()
}

/// The same of runs in passes whose windows follow each other, so that other programs disturb one arm and not the
/// other; none for others.
pub(crate) fn of_passes(comparison: &Comparison<'_>) -> Vec<String> {
    let follow = |run: &Run| {
        run.meta.protocol == "sequence"
            && !run.meta.is_imported()
            && WindowOrder::of(run) == WindowOrder::OneAfterTheOther
    };
    match comparison.runs().into_iter().any(follow) {
        true => sentences(comparison, &comparison.steps(StepKind::Tests)),
        false => Vec::new(),
    }
}

/// Share of windows from which on those that take turns count as disturbed: whatever the machine does affects all arms.
const OF_TURNS_MIN: f64 = 0.1;

/// What a published figure says of it in a line; None if the host was quiet.
pub(crate) fn in_short(comparison: &Comparison<'_>, steps: &[TestStep]) -> Option<String> {
    let run = comparison.base.run;
    let least = match WindowOrder::of(run) {
        WindowOrder::OneAfterTheOther => 0.0,
        _ => OF_TURNS_MIN,
    };
    let part = |kind: Disturbance| {
        let arms = comparison.arms.iter();
        let windows = arms.flat_map(|arm| steps.iter().flat_map(move |step| arm.all_windows(&step.name)));
        let shares: Vec<f64> = windows.filter_map(|window| kind.share(window)).collect();
        let over = shares.iter().filter(|share| **share > kind.limit()).count();
        let most = shares.iter().copied().fold(0.0, f64::max);
        (over as f64 > least * shares.len() as f64).then(|| {
            let who = if kind == Disturbance::Guests { "other guests of the host" } else { "other programs" };
            format!(
                "{who} used more than {:.0} % of its CPU in {over} of {} windows, at most {:.0} %",
                kind.limit() * 100.0,
                shares.len(),
                most * 100.0
            )
        })
    };
    let parts: Vec<String> = Disturbance::ALL.into_iter().filter_map(part).collect();
    (!parts.is_empty() && !run.meta.is_imported())
        .then(|| format!("The host was disturbed during the run: {}.", parts.join("; ")))
}

fn sentence(comparison: &Comparison<'_>, steps: &[TestStep], kind: Disturbance) -> Option<String> {
    let what = match kind {
        Disturbance::Programs => "other programs used",
        Disturbance::Guests => "other guests of the host took",
    };
    let disturbed = |arm: &ComparedArm<'_>| {
        let windows = steps.iter().flat_map(|step| arm.all_windows(&step.name));
        let shares: Vec<f64> = windows.filter_map(|window| kind.share(window)).collect();
        let over = shares.iter().filter(|share| **share > kind.limit()).count();
        let most = shares.iter().copied().fold(0.0, f64::max);
        (over > 0).then(|| {
            let (label, all) = (arm.label(), shares.len());
            // Not the limit itself, which it is over.
            let digits = usize::from(most < 0.0995);
            format!("{over} of {all} windows of {label} (up to {:.digits$} %)", most * 100.0)
        })
    };
    let arms: Vec<String> = comparison.arms.iter().filter_map(disturbed).collect();
    let take_turns = comparison.runs().into_iter().all(|run| WindowOrder::of(run) == WindowOrder::InTurns);
    let so = match take_turns {
        true => {
            format!("{IN_TURNS}: verdicts and ratios hold, but rates and CPU times are those of a busy host")
        }
        false => {
            "Do not rely on rates and CPU times of these windows; measure again on a quiet host".to_owned()
        }
    };
    (!arms.is_empty()).then(|| {
        format!(
            "DISTURBED: {what} more than {:.0} % of the machine's CPU in {}. {so}.",
            kind.limit() * 100.0,
            arms.join(", ")
        )
    })
}
