//! Flamegraphs of a test: base, each profiled arm, and its difference from base. They are the largest part of
//! the page, so they share a budget of bytes.

use maud::{Markup, html};
use rqps_charts::{flamegraph, flamegraph_difference};
use rqps_store::{Profile, Recorded};

use super::Page;
use super::flame::embedded;
use crate::comparison::TestStep;
use crate::error::{Error, Result};

/// Bytes of all flamegraphs on a page, and of one.
const BYTES_MAX: usize = 2_500_000;
const BYTES_MAX_EACH: usize = 150_000;

/// The budget of each flamegraph in bytes.
pub(super) fn bytes_each(page: &Page<'_>) -> usize {
    // Every profile is drawn, and all but base's also as a difference.
    let drawn = 2 * page.run.profiles.len();
    (BYTES_MAX / drawn.max(1)).min(BYTES_MAX_EACH)
}

/// The flamegraphs of a test; empty if it was not profiled.
pub(super) fn flamegraphs(page: &Page<'_>, step: &TestStep, bytes_max: usize) -> Result<Markup> {
    let profile = |arm: &str| {
        page.run
            .profiles
            .iter()
            .find(|one| one.action.arm == arm && one.result.test == step.name && one.valid())
    };
    let base = profile(&page.comparison.base.arm.name);
    let profiled: Vec<&Recorded<Profile>> =
        page.comparison.base_first().iter().filter_map(|compared| profile(&compared.arm.name)).collect();
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
                    @if page.run.meta.is_imported() { "Width is CPU time, of the imported flamegraphs." }
                    @else { "Width is CPU time. Profiles come from a separate pass, not from measured windows." }
                    span.script-only { " Click a frame to zoom in, the bottom frame to zoom out." }
                }
                @for one in shown { (one) }
            }
        }
    })
}

/// The flamegraph of a profile, or of its difference from base's.
fn graph(
    page: &Page<'_>,
    recorded: &Recorded<Profile>,
    base: Option<&Recorded<Profile>>,
    bytes_max: usize,
) -> Result<Markup> {
    let (profile, arm) = (&recorded.result, &recorded.action.arm);
    let folded = page.run.folded(profile)?;
    // Imported flamegraphs do not tell of how many operations they are: then shares are compared.
    let operations = base.map(|base| (base.result.operations, profile.operations));
    let operations = operations.filter(|(base, arm)| *base > 0.0 && *arm > 0.0);
    let drawn = match base {
        None => flamegraph(&folded, &format!("{arm}, {}", profile.test)),
        Some(base) => {
            let title =
                format!("{arm} against {}, {}: red functions take more", base.action.arm, profile.test);
            flamegraph_difference(&page.run.folded(&base.result)?, &folded, &title, operations)
        }
    };
    let more = match operations.is_some() {
        true => "more CPU time per operation",
        false => "a larger share of the CPU time",
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
                    Some(base) => {
                        (arm) " against " (base.action.arm) ": a function is red if all its calls together take " (more)
                        " than on " (base.action.arm) ", blue if less; a frame's title has both shares. A function that \
                        was renamed is new here."
                    }
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
                    @if page.run.meta.is_imported() {
                        (rqps_model::grouped(profile.samples, ',')) " samples, as the imported flamegraph counts them; frames too narrow \
                        to be drawn there are part of their callers."
                    } @else {
                        (profile.samples) " samples of " (profile.event) " by " (profile.sampled_by)
                        @if profile.lost_samples > 0 { ", " (profile.lost_samples) " lost" }
                        "." @if let Some(note) = &profile.note { " " (note) }
                    }
                }
            }
        }
    })
}
