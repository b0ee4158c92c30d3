//! Sync latency: whether writes, or the syncs after them, take longer, and what the file systems differ in.

use crate::context::Context;
use crate::mechanisms::phrase;
use crate::model::{Cause, Difference, DifferenceKind, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// Times as fio reports them, summed over its jobs, in microseconds.
const PARTS: [(&str, &str, Cause); 2] =
    [("fio_write_us", "write", Cause::Waiting), ("fio_sync_us", "sync", Cause::Fsync)];

/// Findings on the parts of a write's time that changed by more than noise; none in other benchmarks.
pub(crate) fn findings(cx: &Context<'_>, differences: &[Difference]) -> Vec<Finding> {
    let parts: Vec<(Quantity, &str, Cause)> = PARTS
        .into_iter()
        .filter_map(|(metric, noun, cause)| Some((cx.figures.per_op(metric)?, noun, cause)))
        .collect();
    let whole: f64 = parts.iter().map(|(found, ..)| found.change()).sum();
    let of_place: Vec<&Difference> =
        differences.iter().filter(|difference| difference.kind == DifferenceKind::Build).collect();
    let (arm, base) = cx.names();
    let finding = |(found, noun, cause): (Quantity, &str, Cause)| {
        if !found.matters() {
            return None;
        }
        let sentence =
            format!("on {arm} a {noun} takes {} us, {}", words::number(found.arm), words::than(&found, base));
        let evidence = vec![Evidence::figure(format!("time of a {noun}"), cx.per_op("us"), &found)];
        let mut finding = cx.finding(Word::waiting(found.rose()), cause, sentence, &found, evidence);
        finding.share = (whole != 0.0).then(|| found.change() / whole);
        if let Some(clause) = phrase(&of_place) {
            finding.add(&clause);
        }
        Some(finding)
    };
    parts.into_iter().filter_map(finding).collect()
}
