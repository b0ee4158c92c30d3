//! Sync latency: whether writes, or the syncs after them, take longer, and what the file systems differ in.

use crate::context::Context;
use crate::mechanisms::phrase;
use crate::model::{Cause, Difference, DifferenceKind, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// Times as fio reports them, summed over its jobs, in microseconds.
const PARTS: [(&str, &str, Cause); 2] =
    [("fio_write_us", "write", Cause::Waiting), ("fio_sync_us", "sync", Cause::Fsync)];

/// Findings on the parts of a write's time that changed by more than noise, one for those that moved the same way; none
/// in other benchmarks.
pub(crate) fn findings(cx: &Context<'_>, differences: &[Difference]) -> Vec<Finding> {
    let parts: Vec<(Quantity, &str, Cause)> = PARTS
        .into_iter()
        .filter_map(|(metric, noun, cause)| Some((cx.figures.per_op(metric)?, noun, cause)))
        .collect();
    let whole: f64 = parts.iter().map(|(found, ..)| found.change()).sum();
    let mut changed: Vec<(Quantity, &str, Cause)> =
        parts.into_iter().filter(|(found, ..)| found.matters()).collect();
    changed.sort_by(|(a, ..), (b, ..)| b.change().abs().total_cmp(&a.change().abs()));
    let (arm, base) = cx.names();
    let mut findings: Vec<Finding> = Vec::new();
    for (found, noun, cause) in changed {
        let takes =
            format!("{noun} takes {} us per write, {}", words::number(found.arm), words::than(&found, base));
        let evidence = Evidence::figure(format!("time of a write's {noun}"), cx.per_op("us"), &found);
        let share = (whole != 0.0).then(|| found.change() / whole);
        let word = Word::waiting(found.rose());
        match findings.iter_mut().find(|known| known.word == word) {
            Some(known) => {
                known.add(&format!("the {takes}"));
                known.evidence.push(evidence);
                known.share = known.share.zip(share).map(|(known, share)| known + share);
            }
            None => {
                let sentence = format!("on {arm} the {takes}");
                let mut finding = cx.finding(word, cause, sentence, &found, vec![evidence]);
                finding.share = share;
                findings.push(finding);
            }
        }
    }
    let of_place: Vec<&Difference> =
        differences.iter().filter(|difference| difference.kind == DifferenceKind::Build).collect();
    let about_places = if cx.candidate().is_directory() && of_place.is_empty() {
        Some("nothing that is known of the two directories differs: it is the host, or noise".to_owned())
    } else {
        phrase(&of_place)
    };
    if let Some(clause) = about_places {
        findings.iter_mut().for_each(|finding| finding.add(&clause));
    }
    findings
}
