//! Flamegraphs of a test: base, each profiled arm, and the difference of the two. They are the largest part of the
//! page, so they share a budget.

use maud::{Markup, html};
use rqps_charts::{flamegraph, flamegraph_difference};
use rqps_store::{Profile, Recorded};

use super::Page;
use super::flame::embedded;
use crate::error::{Error, Result};
use crate::sides::TestStep;

/// Bytes of all flamegraphs of a page, and the most of one.
const BYTES_MAX: usize = 2_500_000;
const BYTES_MAX_EACH: usize = 150_000;

/// Bytes of each flamegraph of the page: they share what there is.
pub(super) fn bytes_each(page: &Page<'_>) -> usize {
    // Every profile is drawn, and all but base's again as a difference.
    let drawn = 2 * page.run.profiles.len();
    (BYTES_MAX / drawn.max(1)).min(BYTES_MAX_EACH)
}

/// The flamegraphs of one test; nothing where it was not profiled.
pub(super) fn flamegraphs(page: &Page<'_>, step: &TestStep, bytes_max: usize) -> Result<Markup> {
    let profile = |arm: &str| {
        page.run
            .profiles
            .iter()
            .find(|one| one.action.arm == arm && one.result.test == step.name && one.valid())
    };
    let base = profile(&page.sides.base.arm.name);
    let profiled: Vec<&Recorded<Profile>> =
        page.sides.base_first().iter().filter_map(|side| profile(&side.arm.name)).collect();
    let mut shown = Vec::new();
    for one in &profiled {
        shown.push(graph(page, one, None, bytes_max)?);
        if let Some(base) = base.filter(|base| base.action.arm != one.action.arm) {
            shown.push(graph(page, one, Some(base), bytes_max)?);
        }
    }
    Ok(html! {
        @if !shown.is_empty() {
            details {
                summary { "CPU profiles" }
                p.legend {
                    "Width is CPU time. Profiles come from a separate pass, not from measured windows."
                    span.script-only { " Click a frame to zoom in, the bottom frame to zoom out." }
                }
                @for one in shown { (one) }
            }
        }
    })
}

/// A profile, or what differs in it from base's.
fn graph(
    page: &Page<'_>,
    one: &Recorded<Profile>,
    base: Option<&Recorded<Profile>>,
    bytes_max: usize,
) -> Result<Markup> {
    let (profile, arm) = (&one.result, &one.action.arm);
    let folded = page.run.folded(profile)?;
    let drawn = match base {
        None => flamegraph(&folded, &format!("{arm}, {}", profile.test)),
        Some(base) => {
            let title = format!("{arm} against {}, {}: red takes more", base.action.arm, profile.test);
            let operations = (base.result.operations, profile.operations);
            flamegraph_difference(&page.run.folded(&base.result)?, &folded, &title, Some(operations))
        }
    };
    let damaged = |reason: String| Error::Output(format!("{}: {reason}", profile.file));
    let drawn = drawn.map_err(|error| damaged(error.to_string()))?;
    let label = format!("Flamegraph of {arm}, {}", profile.test);
    let drawn = embedded(&drawn, &label, bytes_max).map_err(|error| damaged(error.to_string()))?;
    Ok(html! {
        figure.flame {
            figcaption {
                @match base {
                    None => { (arm) }
                    Some(base) => { (arm) " against " (base.action.arm) ": red takes more, blue less" }
                }
            }
            @if let Some((graph, left_out)) = drawn {
                div.scroll tabindex="0" role="group" aria-label=(label) { (graph) }
                @if left_out > 0 {
                    p.legend {
                        (left_out) " of the narrowest frames are left out; all stacks are in "
                        code { (profile.file) } " in the run folder."
                    }
                }
            }
            @if base.is_none() {
                p.legend {
                    (profile.samples) " samples of " (profile.event) " by " (profile.sampled_by)
                    @if profile.lost_samples > 0 { ", " (profile.lost_samples) " lost" }
                    "." @if let Some(note) = &profile.note { " " (note) }
                }
            }
        }
    })
}
