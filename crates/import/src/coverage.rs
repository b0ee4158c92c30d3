//! Figures of the host that are means of other seconds than those in which the result beside them was measured.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use rqps_model::counted;

use crate::error::{Error, Result};
use crate::model::Sampled;
use crate::placed::{Assembled, Doubt, Placed};

/// What samples must cover of a run's seconds, but for those at its ends.
const COVERED_MIN: f64 = 0.8;
const ENDS_S: f64 = 1.5;
/// How much longer they may take: programs start and end, and warm up.
const LONGER: f64 = 1.25;
const LONGER_S: f64 = 30.0;

/// Examines figures of the host beside all results.
///
/// # Errors
/// If some were taken before or after the run that they are beside.
pub fn examine(assembled: &Assembled) -> Result<Vec<Doubt>> {
    let mut doubts = Vec::new();
    for placed in &assembled.results {
        for (source, sampled) in &placed.sampled {
            let Some(text) = of_other_seconds(assembled, placed, *source, sampled)? else { continue };
            let text = format!("{text} ({})", assembled.sources[*source].path);
            doubts.push(Doubt::of(placed, text));
        }
    }
    Ok(doubts)
}

fn of_other_seconds(
    assembled: &Assembled,
    placed: &Placed,
    source: usize,
    sampled: &Sampled,
) -> Result<Option<String>> {
    let work = placed.measurement.work.as_ref();
    let Some(elapsed_us) = work.and_then(|work| work.elapsed_us) else { return Ok(None) };
    let (program, samples) = (sampled.program, sampled.samples);
    let elapsed_s = elapsed_us as f64 / 1e6;
    let warmup_s = work.and_then(|work| work.warmup_us).unwrap_or(0) as f64 / 1e6;
    let seconds = sampled.seconds.unwrap_or(samples as f64);
    if let Some((at, share)) = overlap(assembled, placed, sampled, elapsed_s) {
        if share <= 0.0 {
            let (from, to) = sampled.utc_ms.unwrap_or_default();
            return Err(Error::Contradiction {
                path: PathBuf::from(&assembled.sources[source].path),
                line: 1,
                why: format!(
                    "its samples are from {} to {}, but {} beside it is of {}, {elapsed_s:.0} s long: give the {program} of that \
                     run, or leave it out",
                    utc(from),
                    utc(to),
                    assembled.sources[placed.source].path,
                    utc(at),
                ),
            });
        }
        if share < COVERED_MIN {
            let share = share * 100.0;
            return Ok(Some(format!(
                "the samples of {program} cover {share:.0} % of the {elapsed_s:.0} s of this run: its CPU time and I/O are means \
                 of other seconds"
            )));
        }
    }
    let of_program = format!("{} of {program}", counted(samples as usize, "sample"));
    let many = match sampled.seconds {
        Some(seconds) => format!("{of_program} in {seconds:.0} s"),
        None => format!("{of_program}, if one was taken per second,"),
    };
    let remedy =
        if sampled.seconds.is_none() && program == "vmstat" { "; `vmstat -t` tells when" } else { "" };
    Ok(if seconds + ENDS_S < elapsed_s * COVERED_MIN {
        Some(format!(
            "{many} {} at most {:.0} % of the {elapsed_s:.0} s of this run: its CPU time and I/O are means of these only{remedy}",
            if samples == 1 { "covers" } else { "cover" },
            seconds / elapsed_s * 100.0
        ))
    } else if seconds > (elapsed_s + warmup_s) * LONGER + LONGER_S {
        Some(format!(
            "{many} are more than the {elapsed_s:.0} s of this run: its CPU time and I/O are means of other seconds, too{remedy}"
        ))
    } else {
        None
    })
}

/// The date of a result, and the share of its seconds that samples cover, if both tell their times. Some programs tell
/// when they began, others when they ended: the better of the two counts.
fn overlap(assembled: &Assembled, placed: &Placed, sampled: &Sampled, elapsed_s: f64) -> Option<(i64, f64)> {
    // The date of a file with several results is that of one of them.
    let is_only = assembled.results.iter().filter(|one| one.source == placed.source).count() == 1;
    let at = assembled.sources[placed.source].measured_at_ms.filter(|_| is_only)?;
    let (from, to) = sampled.utc_ms?;
    let elapsed_ms = elapsed_s * 1e3;
    let covered = |begin: f64| {
        let (first, last) = ((from as f64).max(begin), (to as f64).min(begin + elapsed_ms));
        (last - first).max(0.0) / elapsed_ms
    };
    Some((at, covered(at as f64).max(covered(at as f64 - elapsed_ms))))
}

/// `2026-07-30T22:10:05Z`
fn utc(at_ms: i64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(u64::try_from(at_ms).unwrap_or(0));
    humantime::format_rfc3339_seconds(at).to_string()
}
