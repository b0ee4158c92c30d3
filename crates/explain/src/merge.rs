//! Which findings belong together: one mechanism is one finding, however many counters show it.

use crate::context::Context;
use crate::counters::blocks_touched;
use crate::decompose::queued_us;
use crate::figures::{BACKENDS, CLIENT_CPU_US, Cell};
use crate::host;
use crate::mechanisms::Suspects;
use crate::model::{Cause, Finding, Shows, Word};
use crate::words;
use rqps_model::Unit;

/// A cause takes CPU time as its effect only if what it works by changed by at least this share of that.
const DRIVES: f64 = 0.5;
/// Waiting for a CPU goes along with work as long as it grew by no more than this times what that did.
const ALONG: f64 = 1.5;
/// Log per operation, in bytes, from which on writing it takes CPU time that counts beside the rest of a statement.
const WAL_BYTES_MIN: f64 = 100.0;

/// CPU time, which is an effect of nearly everything.
const CPU: [Cause; 3] = [Cause::Instructions, Cause::CpuTime, Cause::KernelTime];

/// What goes through the kernel takes CPU time that no instruction in user mode tells of.
const KERNEL_WORK: [Cause; 4] = [Cause::Fsync, Cause::BufferMisses, Cause::Reads, Cause::TempFiles];

/// Which findings take others in, the nearest to a cause first. CPU time goes to whom can account for it.
const MERGES: [(Cause, &[Cause]); 17] = [
    (Cause::OtherLoad, &[Cause::CpuSteal, Cause::Waiting, Cause::CpuQueue, Cause::Cycles]),
    (Cause::CpuSteal, &[Cause::Waiting, Cause::CpuQueue, Cause::Cycles]),
    (
        Cause::QueryPlan,
        &[Cause::Rows, Cause::HeapBlocks, Cause::DeadRows, Cause::TempFiles, Cause::Background],
    ),
    // The session that inserts waits for the one that deletes.
    (
        Cause::TailEntries,
        &[
            Cause::DeadRows,
            Cause::HeapBlocks,
            Cause::Rows,
            Cause::Size,
            Cause::Planning,
            Cause::Waiting,
            Cause::CpuQueue,
        ],
    ),
    (Cause::HotUpdates, &[Cause::DeadRows, Cause::HeapBlocks, Cause::Wal]),
    (Cause::DeadRows, &[Cause::DeadRows, Cause::HeapBlocks, Cause::Rows, Cause::Size]),
    (Cause::Size, &[Cause::HeapBlocks]),
    (Cause::Function, &[]),
    (Cause::Rows, &[Cause::HeapBlocks]),
    (Cause::TempFiles, &[]),
    (Cause::HeapBlocks, &[]),
    (Cause::BufferMisses, &[Cause::BackendWrites, Cause::Reads]),
    (Cause::Reads, &[]),
    (Cause::Checkpoint, &[Cause::Doublewrite]),
    (Cause::Wal, &[]),
    (Cause::BinaryLog, &[]),
    (Cause::Fsync, &[]),
];

/// Causes of waiting, in the order in which they are believed.
const WAITS: [Cause; 4] = [Cause::Fsync, Cause::BufferMisses, Cause::Reads, Cause::Locks];
/// A block that has to be fetched costs as much CPU time as about so many that are found in the buffers: a system call
/// and 8 kB to copy.
const MISS_COSTS: f64 = 10.0;
/// Fsyncs more or less per operation from which on they can account for time, where the disk's own time is not known.
const FSYNCS_MIN: f64 = 0.1;
/// Share of a change in waiting from which on the host has a part in it, and from which on it is all of it.
const HOST_PART: f64 = 0.25;
const HOST_WHOLE: f64 = 0.75;
/// Where about each operation makes one, and none did, each waits: for the disk, and for what delays a commit besides.
const EACH_WAITS: f64 = 0.5;
/// Share of a change in waiting that fsyncs have to account for, by the time that one takes on this disk.
const FSYNC_SHARE: f64 = 0.25;

pub(crate) fn merge_all(cx: &Context<'_>, found: Vec<Finding>, suspects: &Suspects) -> Vec<Finding> {
    let mut findings = same_cause(found);
    for (cause, takes) in MERGES {
        merge(cx, &mut findings, cause, takes, suspects);
    }
    vacuum_of_tail(&mut findings);
    full_page_images(cx.operation(), &mut findings);
    queue_of_work(cx, &mut findings);
    waiting(cx, &mut findings, suspects);
    findings
}

/// Findings of one cause that point the same way are one: that with the largest change gives the sentence, the
/// others are evidence. Of the log the first gives it, its bytes.
fn same_cause(found: Vec<Finding>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for mut finding in found {
        let alike =
            findings.iter_mut().find(|known| known.cause == finding.cause && known.word == finding.word);
        match alike {
            Some(known) => {
                if own_share(&finding) > own_share(known) && finding.cause != Cause::Wal {
                    std::mem::swap(known, &mut finding);
                }
                take(known, finding);
            }
            None => findings.push(finding),
        }
    }
    findings
}

/// By how much the first figure changed, as a share of the larger value. A plan or a profile has no such figure, and
/// may change anything.
fn own_share(finding: &Finding) -> f64 {
    finding.figure().map_or(1.0, |(base, arm)| share(base, arm))
}

fn share(base: f64, arm: f64) -> f64 {
    let larger = base.abs().max(arm.abs());
    if larger > 0.0 { (arm - base).abs() / larger } else { 0.0 }
}

/// By how much that changed through which a finding costs CPU time. Rows and blocks cost it by all blocks that a
/// statement touches: a row more or less is nothing beside a thousand.
fn drive(cx: &Context<'_>, finding: &Finding) -> f64 {
    match finding.cause {
        // What deletes take is no part of the queries beside them.
        Cause::TailEntries if cx.figures.unit.as_ref().is_some_and(Unit::is_queries) => 0.0,
        Cause::DeadRows | Cause::Rows | Cause::HeapBlocks | Cause::Size => {
            blocks_touched(cx).map_or(0.0, |found| found.share())
        }
        Cause::BufferMisses | Cause::Reads => {
            let all = blocks_touched(cx).map_or(0.0, |found| found.base.max(found.arm));
            finding.figure().map_or(0.0, |(base, arm)| MISS_COSTS * (arm - base).abs() / all.max(1.0))
        }
        Cause::Wal => match cx.figures.per_op("server_wal_bytes") {
            Some(found) if found.base.max(found.arm) >= WAL_BYTES_MIN => found.share(),
            _ => 0.0,
        },
        Cause::Fsync if finding.figure().is_none_or(|(base, arm)| (arm - base).abs() < FSYNCS_MIN) => 0.0,
        // Threads of their own flush pages.
        Cause::OtherLoad | Cause::CpuSteal | Cause::Checkpoint => 0.0,
        _ => own_share(finding),
    }
}

/// Whether the client's CPU time moved along with the server's, which is then for the machine to account for.
fn is_of_the_host(finding: &Finding) -> bool {
    finding.cause == Cause::CpuTime && finding.shown(&Shows::ClientCpu).is_some()
}

/// How much of what a finding says its taker accounts for, from 0 to 1. Waiting may be the host's in part.
fn part_of(cx: &Context<'_>, taker: Cause, finding: &Finding) -> f64 {
    match (taker, finding.cause) {
        (Cause::OtherLoad | Cause::CpuSteal, Cause::Cycles) if !host::slowed_the_client(cx) => 0.0,
        (Cause::OtherLoad | Cause::CpuSteal, Cause::Waiting | Cause::CpuQueue) => {
            let waited_us = finding.figure().map_or(0.0, |(base, arm)| (arm - base).abs());
            match host::accounts_for_us(cx, taker) {
                Some(us) if us < HOST_PART * waited_us => 0.0,
                Some(us) if us < HOST_WHOLE * waited_us => us / waited_us,
                _ => 1.0,
            }
        }
        _ => 1.0,
    }
}

/// Whether a finding that none of the arms' differences can make would take one that a difference can: log that moved
/// by chance takes no instructions of a constraint.
fn is_foreign(suspects: &Suspects, taker: &Finding, taken: &Finding) -> bool {
    taker.word != Word::TheHost && suspects.account_for(taken) && !suspects.account_for(taker)
}

fn merge(cx: &Context<'_>, findings: &mut Vec<Finding>, cause: Cause, takes: &[Cause], suspects: &Suspects) {
    let Some(at) = position(findings, cause) else { return };
    let mut taker = findings.remove(at);
    let (direction, drive) = (taker.direction(), drive(cx, &taker));
    let mut kept = Vec::new();
    for mut finding in findings.drain(..) {
        let agrees = direction.is_none() || finding.direction() == direction;
        let is_effect = CPU.contains(&finding.cause) && drive >= DRIVES * own_share(&finding);
        let is_kernel = KERNEL_WORK.contains(&cause) && finding.cause == Cause::Cycles;
        let is_slow = taker.word == Word::TheHost && is_of_the_host(&finding);
        let part = if takes.contains(&finding.cause) { part_of(cx, cause, &finding) } else { 0.0 };
        let is_foreign = is_foreign(suspects, &taker, &finding);
        if agrees && !is_foreign && (is_effect || is_slow || is_kernel || part == 1.0) {
            also(cx, &mut taker, &finding);
            take(&mut taker, finding);
            continue;
        }
        if agrees
            && !is_foreign
            && part > 0.0
            && let Some(share) = finding.share
        {
            taker.share = Some(taker.share.unwrap_or(0.0) + part * share);
            finding.share = Some((1.0 - part) * share);
        }
        kept.push(finding);
    }
    kept.insert(at.min(kept.len()), taker);
    *findings = kept;
}

fn take(taker: &mut Finding, taken: Finding) {
    // Two mechanisms may rest on one figure.
    for evidence in taken.evidence {
        if !taker.evidence.contains(&evidence) {
            taker.evidence.push(evidence);
        }
    }
    taker.share = match (taker.share, taken.share) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
}

/// What the sentence gains when CPU time or waiting belongs to it.
fn also(cx: &Context<'_>, taker: &mut Finding, taken: &Finding) {
    let Some((base, arm)) = taken.figure() else { return };
    let operation = cx.operation();
    let gain = match taken.cause {
        Cause::Instructions => format!("instructions per {operation} {}", up(base, arm)),
        Cause::CpuTime => format!("CPU time per {operation} {}", up(base, arm)),
        Cause::Waiting | Cause::CpuQueue => longer(cx, base, arm),
        Cause::Reads if taken.evidence[0].shows == Shows::StorageReads => {
            let (arm, base) = (words::number(arm), words::number(base));
            format!("{arm} bytes per {operation} come from storage (base: {base})")
        }
        _ => return,
    };
    taker.add(&gain);
}

fn up(base: f64, arm: f64) -> String {
    let ratio = arm / base;
    match ratio {
        _ if ratio >= 2.0 => format!("{} times as much", words::number(ratio)),
        _ if ratio > 1.0 => format!("up {}", words::percent(ratio - 1.0)),
        _ => format!("down {}", words::percent(1.0 - ratio)),
    }
}

fn longer(cx: &Context<'_>, base: f64, arm: f64) -> String {
    let longer = if arm > base { "longer" } else { "less" };
    format!("clients wait {} us {longer} per {}", words::number((arm - base).abs()), cx.operation())
}

fn position(findings: &[Finding], cause: Cause) -> Option<usize> {
    findings.iter().position(|finding| finding.cause == cause)
}

/// What lies at the tail grew because autovacuum ran less often, or the other way round: its sentence has both.
fn vacuum_of_tail(findings: &mut Vec<Finding>) {
    let Some(tail) = position(findings, Cause::TailEntries) else { return };
    let Some(vacuum) = position(findings, Cause::Autovacuum) else { return };
    if findings[vacuum].direction() != findings[tail].direction() {
        let taken = findings.remove(vacuum);
        findings[tail - usize::from(vacuum < tail)].evidence.extend(taken.evidence);
    }
}

/// Log that grew by full-page images says so, and whether a checkpoint made them necessary.
fn full_page_images(operation: &str, findings: &mut Vec<Finding>) {
    let Some(mut wal) = position(findings, Cause::Wal) else { return };
    let its = &findings[wal];
    let images = its.shown(&Shows::FullPageImages).and_then(|images| images.base.zip(images.arm));
    let Some((base, arm)) = images else { return };
    if its.evidence[0].shows != Shows::FullPageImages {
        let (arm, base) = (words::number(arm), words::number(base));
        findings[wal].add(&format!("{arm} full-page images per {operation} (base: {base})"));
    }
    let checkpoint = findings
        .iter()
        .position(|finding| finding.cause == Cause::Checkpoint && finding.direction() == Some(arm > base));
    if let Some(at) = checkpoint {
        let taken = findings.remove(at);
        wal -= usize::from(at < wal);
        findings[wal].add(&taken.sentence);
        take(&mut findings[wal], taken);
    }
}

/// Who works longer on a busy machine also waits longer for a CPU. Where that grew by no more than the work did, it is
/// no mechanism of its own and goes to the finding that has most of the CPU time.
fn queue_of_work(cx: &Context<'_>, findings: &mut Vec<Finding>) {
    let Some(at) = position(findings, Cause::CpuQueue) else { return };
    let ratio = |value: fn(Cell<'_>) -> Option<f64>| {
        cx.figures.quantity(|cell| Some(value(cell)? / cell.operations())).map(|found| found.arm / found.base)
    };
    let work = ratio(|cell| Some(cell.metric(BACKENDS)? + cell.metric(CLIENT_CPU_US)?));
    let is_along = ratio(queued_us).zip(work).is_some_and(|(queued, work)| {
        let (larger, smaller) = if work >= 1.0 { (queued, work) } else { (work, queued) };
        larger <= ALONG * smaller
    });
    let direction = findings[at].direction();
    let has_cpu_time = |finding: &Finding| {
        finding.cause != Cause::CpuQueue
            && finding.share.is_some_and(|share| share > 0.0)
            && (finding.direction() == direction || finding.direction().is_none())
    };
    let shares = findings.iter().enumerate().filter(|(_, finding)| has_cpu_time(finding));
    let most = shares.max_by(|(_, a), (_, b)| a.share.unwrap_or(0.0).total_cmp(&b.share.unwrap_or(0.0)));
    if let (true, Some((into, _))) = (is_along, most) {
        let queue = findings.remove(at);
        take(&mut findings[into - usize::from(at < into)], queue);
    }
}

/// A counter of something to wait for is waiting only where clients do wait longer; else it is work. And waiting that
/// nobody measured is for what the counters show.
fn waiting(cx: &Context<'_>, findings: &mut Vec<Finding>, suspects: &Suspects) {
    if let Some(at) = position(findings, Cause::Waiting) {
        let waits = findings.remove(at);
        match waited_for(cx, findings, &waits)
            .filter(|place| !is_foreign(suspects, &findings[*place], &waits))
        {
            Some(place) => {
                if let Some((base, arm)) = waits.figure() {
                    findings[place].add(&longer(cx, base, arm));
                }
                take(&mut findings[place], waits);
            }
            None => findings.insert(at, waits),
        }
    }
    for finding in findings.iter_mut().filter(|finding| finding.share.is_none() && !is_looked_at(finding)) {
        finding.word = match finding.word {
            Word::MoreWaiting => Word::MoreWork,
            Word::LessWaiting => Word::LessWork,
            word => word,
        };
    }
}

/// The finding that `waits` is explained by; none where nothing known does.
fn waited_for(cx: &Context<'_>, findings: &[Finding], waits: &Finding) -> Option<usize> {
    let more = waits.direction()?;
    let waited_us = waits.figure().map_or(0.0, |(base, arm)| (arm - base).abs());
    WAITS.into_iter().find_map(|cause| {
        findings.iter().position(|finding| {
            let is_along = finding.cause == cause && finding.direction() == Some(more);
            is_along && (cause != Cause::Fsync || fsyncs_account_for(cx, finding, waited_us))
        })
    })
}

/// Whether fsyncs are many enough to make clients wait `waited_us` per operation.
fn fsyncs_account_for(cx: &Context<'_>, finding: &Finding, waited_us: f64) -> bool {
    if is_looked_at(finding) {
        return true;
    }
    let Some((base, arm)) = finding.figure() else { return false };
    let fsyncs = (arm - base).abs();
    if fsyncs >= EACH_WAITS && base.min(arm) < FSYNCS_MIN {
        return true;
    }
    let canaries = cx.run.canaries.iter().filter(|canary| canary.name == "fsync_us");
    let canaries: Vec<f64> = canaries.map(|canary| canary.value).collect();
    match canaries.len() {
        0 => fsyncs >= FSYNCS_MIN,
        count => fsyncs * canaries.iter().sum::<f64>() / count as f64 >= FSYNC_SHARE * waited_us,
    }
}

/// Whether the sessions were seen waiting.
fn is_looked_at(finding: &Finding) -> bool {
    finding.shown(&Shows::SeenWaiting).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Certainty, Evidence};

    fn finding(cause: Cause, word: Word, what: &str, base: f64, arm: f64) -> Finding {
        let evidence =
            Evidence { what: what.to_owned(), base: Some(base), arm: Some(arm), ..Evidence::default() };
        Finding {
            word,
            cause,
            sentence: what.to_owned(),
            weight: 1.0,
            share: None,
            certainty: Certainty::SinglePass,
            evidence: vec![evidence],
        }
    }

    #[test]
    fn the_largest_of_one_cause_speaks_but_the_log_speaks_by_its_bytes() {
        let found = same_cause(vec![
            finding(Cause::HeapBlocks, Word::MoreWork, "tables", 10.0, 11.0),
            finding(Cause::HeapBlocks, Word::MoreWork, "indexes", 10.0, 20.0),
            finding(Cause::HeapBlocks, Word::LessWork, "others", 2.0, 1.0),
            finding(Cause::Wal, Word::MoreWork, "bytes", 100.0, 110.0),
            finding(Cause::Wal, Word::MoreWork, "full-page images", 0.0, 1.0),
        ]);
        let said: Vec<(&str, usize)> =
            found.iter().map(|finding| (finding.sentence.as_str(), finding.evidence.len())).collect();
        assert_eq!(said, [("indexes", 2), ("others", 1), ("bytes", 2)]);
    }

    #[test]
    fn full_page_images_name_the_checkpoint_that_made_them_necessary() {
        let wal = |base: f64, arm: f64| {
            let mut wal =
                finding(Cause::Wal, Word::work(arm > base), "bytes", 100.0 * base + 1.0, 100.0 * arm + 1.0);
            let images = finding(Cause::Wal, Word::MoreWork, "images", base, arm).evidence.remove(0);
            wal.evidence.push(images.showing(Shows::FullPageImages));
            wal
        };
        let checkpoint = || finding(Cause::Checkpoint, Word::MoreWork, "3 checkpoints", 0.0, 3.0);
        let mut risen = vec![checkpoint(), wal(0.0, 1.0)];
        full_page_images("query", &mut risen);
        assert_eq!(risen.len(), 1);
        assert!(risen[0].sentence.ends_with("; 3 checkpoints"), "{}", risen[0].sentence);
        let mut fallen = vec![checkpoint(), wal(1.0, 0.0)];
        full_page_images("query", &mut fallen);
        assert_eq!(fallen.len(), 2, "a checkpoint makes no images fewer");
    }
}
