//! Merges findings of one mechanism into one finding, however many counters show it.

use crate::connections;
use crate::context::Context;
use crate::counters::blocks_touched;
use crate::debt::ALL_VISIBLE;
use crate::decompose::queued_us;
use crate::figures::{BACKENDS, CLIENT_CPU_US, Cell};
use crate::host;
use crate::mechanisms::Suspects;
use crate::model::{Cause, Finding, PartName, Shows, Word};
use crate::quantity::{DRIVES, relative_change};
use crate::time::{find_part, share_of};
use crate::words;
use rqps_model::Unit;
use rqps_stats::Metric;

/// Waiting for a CPU is a side effect of work if it grew by at most this times as much.
const ALONG: f64 = 1.5;
/// The same of work that takes this many times the CPU time: what lasts longer than a turn of the scheduler is also
/// kept from running more often.
const ALONG_LONG_WORK: f64 = 4.0;
const LONG_WORK: f64 = 2.0;
/// Minimum log per operation, in bytes, whose writing takes a noticeable part of a statement's CPU time.
const WAL_BYTES_MIN: f64 = 100.0;

/// CPU time is an effect of nearly every cause.
const CPU: [Cause; 3] = [Cause::Instructions, Cause::CpuTime, Cause::KernelTime];

/// Causes that enter the kernel, whose CPU time user-mode instructions do not show.
const KERNEL_WORK: [Cause; 4] = [Cause::Fsync, Cause::BufferMisses, Cause::Reads, Cause::TempFiles];

/// Which findings absorb others, those closest to a cause first. CPU time goes to the first that can account
/// for it.
const MERGES: [(Cause, &[Cause]); 19] = [
    (Cause::OtherLoad, &[Cause::CpuSteal, Cause::Waiting, Cause::CpuQueue, Cause::Cycles]),
    (Cause::CpuSteal, &[Cause::Waiting, Cause::CpuQueue, Cause::Cycles]),
    (
        Cause::QueryPlan,
        &[Cause::Rows, Cause::BlocksTouched, Cause::DeadRows, Cause::TempFiles, Cause::Background],
    ),
    // The session that inserts waits for the one that deletes.
    (
        Cause::TailEntries,
        &[
            Cause::DeadRows,
            Cause::BlocksTouched,
            Cause::Rows,
            Cause::Size,
            Cause::Planning,
            Cause::Waiting,
            Cause::CpuQueue,
        ],
    ),
    (Cause::HotUpdates, &[Cause::DeadRows, Cause::BlocksTouched, Cause::Wal]),
    (Cause::DeadRows, &[Cause::DeadRows, Cause::BlocksTouched, Cause::Rows, Cause::Size]),
    (Cause::Size, &[Cause::BlocksTouched]),
    (Cause::Function, &[]),
    (Cause::Rows, &[Cause::BlocksTouched]),
    (Cause::TempFiles, &[]),
    (Cause::BlocksTouched, &[]),
    (Cause::BufferMisses, &[Cause::BackendWrites, Cause::Reads]),
    (Cause::Reads, &[]),
    (Cause::Checkpoint, &[Cause::Doublewrite]),
    (Cause::WriteStall, &[]),
    (Cause::Compaction, &[Cause::Background]),
    (Cause::Wal, &[]),
    (Cause::BinaryLog, &[]),
    (Cause::Fsync, &[]),
];

/// Whether findings of a cause have those of another as their effect.
pub(crate) fn absorbs(cause: Cause, other: Cause) -> bool {
    MERGES.iter().any(|(absorber, absorbed)| *absorber == cause && absorbed.contains(&other))
}

/// Causes of waiting by precedence.
const WAITS: [Cause; 5] = [Cause::WriteStall, Cause::Fsync, Cause::BufferMisses, Cause::Reads, Cause::Locks];
/// CPU cost of reading a block (a system call and a copy of 8 kB), in blocks that are found in the buffers;
/// approximate.
const MISS_COSTS: f64 = 10.0;
/// Minimum change of fsyncs per operation that can account for time if the disk's fsync time is unknown.
const FSYNCS_MIN: f64 = 0.1;
/// Shares of a change in waiting from which on the host accounts for a part of it, and for all of it.
const HOST_PART: f64 = 0.25;
const HOST_WHOLE: f64 = 0.75;
/// If one arm makes at least this many fsyncs per operation and the other next to none, each operation waits
/// for the disk and whatever else delays a commit.
const EACH_WAITS: f64 = 0.5;
/// Minimum share of a change in waiting that fsyncs have to account for, at the fsync time of this disk.
const FSYNC_SHARE: f64 = 0.25;

pub(crate) fn merge_all(cx: &Context<'_>, found: Vec<Finding>, suspects: &Suspects) -> Vec<Finding> {
    let mut findings = same_cause(found);
    log_writes(&mut findings);
    data_blocks(&mut findings);
    for (cause, absorbed) in MERGES {
        merge(cx, &mut findings, cause, absorbed, suspects);
    }
    vacuum_of_tail(&mut findings);
    full_page_images(cx.operation(), &mut findings);
    queue_of_work(cx, &mut findings);
    waiting(cx, &mut findings, suspects);
    told_by_cpu_time(&mut findings);
    findings
}

/// Merges findings of one cause and direction: the one with the largest change gives the sentence, the others
/// are evidence. For WAL the first, its bytes, gives the sentence; of background processes the one whose time changed
/// most, and the others are named.
fn same_cause(found: Vec<Finding>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for mut finding in found {
        let alike =
            findings.iter_mut().find(|known| known.cause == finding.cause && known.word == finding.word);
        match alike {
            Some(known) => {
                let is_of_processes = finding.cause == Cause::Background;
                let size = if is_of_processes { own_change } else { own_share };
                if size(&finding) > size(known) && finding.cause != Cause::Wal {
                    std::mem::swap(known, &mut finding);
                }
                if is_of_processes {
                    known.add(&connections::beside(&finding).unwrap_or_else(|| finding.sentence.clone()));
                    known.weight = known.weight.max(finding.weight);
                }
                absorb(known, finding);
            }
            None => findings.push(finding),
        }
    }
    findings
}

/// More bytes of log in fewer writes are more log, and fewer bytes in more writes less: the writes are evidence.
fn log_writes(findings: &mut Vec<Finding>) {
    let has_bytes = |finding: &Finding| finding.shown(&Shows::LogBytes).is_some();
    let Some(bytes) = findings.iter().position(has_bytes) else { return };
    let is_other = |finding: &Finding| {
        finding.cause == Cause::Wal && !has_bytes(finding) && finding.shown(&Shows::LogBufferFull).is_none()
    };
    if let Some(at) = findings.iter().position(is_other) {
        let writes = findings.remove(at);
        absorb(&mut findings[bytes - usize::from(at < bytes)], writes);
    }
}

/// A lookup of data costs more than those in indexes and filters: all lookups together are evidence for it, whichever
/// way they moved.
fn data_blocks(findings: &mut Vec<Finding>) {
    let shows_data = |finding: &Finding| finding.shown(&Shows::DataBlocks).is_some();
    let Some(data) = findings.iter().position(shows_data) else { return };
    let is_other = |finding: &Finding| finding.cause == Cause::BlocksTouched && !shows_data(finding);
    if let Some(at) = findings.iter().position(is_other) {
        let all = findings.remove(at);
        let data = &mut findings[data - usize::from(at < data)];
        if let Some((base, arm)) = all.figure() {
            let (base, arm) = (words::number(base), words::number(arm));
            data.add(&format!("with those of indexes and filters, {arm} blocks (base: {base})"));
        }
        absorb(data, all);
    }
}

/// Relative change of the first figure, as a share of the larger value. 1 for plans and profiles, which have
/// no such figure and may change anything.
fn own_share(finding: &Finding) -> f64 {
    finding.figure().map_or(1.0, |(base, arm)| relative_change(base, arm))
}

/// Absolute change of the first figure; 0 if there is none.
fn own_change(finding: &Finding) -> f64 {
    finding.figure().map_or(0.0, |(base, arm)| (arm - base).abs())
}

/// Relative change of the quantity by which a finding costs CPU time. For rows and blocks that is all blocks
/// that a statement touches: one row is nothing beside a thousand blocks.
fn drive(cx: &Context<'_>, finding: &Finding) -> f64 {
    match finding.cause {
        // Work of deletes is not part of the concurrent queries.
        Cause::TailEntries if cx.figures.unit.as_ref().is_some_and(Unit::is_queries) => 0.0,
        Cause::BlocksTouched if finding.shown(&Shows::DataBlocks).is_some() => own_share(finding),
        Cause::DeadRows | Cause::Rows | Cause::BlocksTouched | Cause::Size => {
            blocks_touched(cx).map_or(0.0, |found| found.share())
        }
        Cause::BufferMisses | Cause::Reads => {
            let all = blocks_touched(cx).map_or(0.0, |found| found.base.max(found.arm));
            MISS_COSTS * own_change(finding) / all.max(1.0)
        }
        Cause::Wal => match cx.figures.per_op("server_wal_bytes") {
            Some(found) if found.base.max(found.arm) >= WAL_BYTES_MIN => found.share(),
            _ => 0.0,
        },
        Cause::Fsync if finding.figure().is_none_or(|(base, arm)| (arm - base).abs() < FSYNCS_MIN) => 0.0,
        // Pages are flushed by other threads.
        Cause::OtherLoad | Cause::CpuSteal | Cause::Checkpoint => 0.0,
        _ => own_share(finding),
    }
}

/// Whether the client's CPU time moved with the server's: then the machine's speed accounts for it.
fn is_host_speed(finding: &Finding) -> bool {
    finding.cause == Cause::CpuTime && finding.shown(&Shows::ClientCpu).is_some()
}

/// The share of a finding that its absorber accounts for, from 0 to 1. The host may account for a part of
/// waiting.
fn absorbed_share(cx: &Context<'_>, absorber: Cause, finding: &Finding) -> f64 {
    match (absorber, finding.cause) {
        // Of background processes, a plan moves only its parallel workers.
        (Cause::QueryPlan, Cause::Background) if !connections::is_of_workers(finding) => 0.0,
        (Cause::OtherLoad | Cause::CpuSteal, Cause::Cycles) if !host::slowed_the_client(cx) => 0.0,
        (Cause::OtherLoad | Cause::CpuSteal, Cause::Waiting | Cause::CpuQueue) => {
            let waited_us = own_change(finding);
            match host::accounts_for_us(cx, absorber) {
                Some(us) if us < HOST_PART * waited_us => 0.0,
                Some(us) if us < HOST_WHOLE * waited_us => us / waited_us,
                _ => 1.0,
            }
        }
        _ => 1.0,
    }
}

/// Whether a finding that no difference of the arms can cause would absorb one that a difference can. For
/// example, WAL that changed by chance must not absorb the instructions of a constraint.
fn is_foreign(suspects: &Suspects, absorber: &Finding, other: &Finding) -> bool {
    absorber.word != Word::TheHost && suspects.account_for(other) && !suspects.account_for(absorber)
}

fn merge(
    cx: &Context<'_>,
    findings: &mut Vec<Finding>,
    cause: Cause,
    absorbed: &[Cause],
    suspects: &Suspects,
) {
    let Some(at) = position(findings, cause) else { return };
    let mut absorber = findings.remove(at);
    let (direction, drive) = (absorber.direction(), drive(cx, &absorber));
    let mut kept = Vec::new();
    for mut finding in findings.drain(..) {
        let agrees = direction.is_none() || finding.direction() == direction;
        let is_effect = CPU.contains(&finding.cause) && drive >= DRIVES * own_share(&finding);
        let is_kernel = KERNEL_WORK.contains(&cause) && finding.cause == Cause::Cycles;
        let is_host = absorber.word == Word::TheHost && is_host_speed(&finding);
        let part = if absorbed.contains(&finding.cause) { absorbed_share(cx, cause, &finding) } else { 0.0 };
        let is_foreign = is_foreign(suspects, &absorber, &finding);
        if agrees && !is_foreign && (is_effect || is_host || is_kernel || part == 1.0) {
            add_clause(cx, &mut absorber, &finding);
            absorb(&mut absorber, finding);
            continue;
        }
        if agrees
            && !is_foreign
            && part > 0.0
            && let Some(share) = finding.share
        {
            absorber.share = Some(absorber.share.unwrap_or(0.0) + part * share);
            finding.share = Some((1.0 - part) * share);
        }
        kept.push(finding);
    }
    kept.insert(at.min(kept.len()), absorber);
    *findings = kept;
}

fn absorb(absorber: &mut Finding, other: Finding) {
    // Two mechanisms may share a figure.
    for evidence in other.evidence {
        if !absorber.evidence.contains(&evidence) {
            absorber.evidence.push(evidence);
        }
    }
    absorber.share = match (absorber.share, other.share) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
}

/// Adds a clause to the sentence for absorbed CPU time or waiting.
fn add_clause(cx: &Context<'_>, absorber: &mut Finding, other: &Finding) {
    let Some((base, arm)) = other.figure() else { return };
    let operation = cx.operation();
    let gain = match other.cause {
        Cause::Instructions => moved(cx, Metric::Instructions, "instructions", (base, arm)),
        Cause::CpuTime => moved(cx, Metric::CpuUs, &other.evidence[0].what, (base, arm)),
        Cause::Waiting | Cause::CpuQueue => wait_clause(cx, base, arm),
        Cause::BlocksTouched => {
            let Some(visible) = all_visible(cx, other) else { return };
            visible
        }
        Cause::Reads if other.evidence[0].shows == Shows::StorageReads => {
            let (arm, base) = (words::number(arm), words::number(base));
            format!("{arm} bytes per {operation} come from storage (base: {base})")
        }
        _ => return,
    };
    absorber.add(&gain);
}

/// `CPU time of the sessions per query down 12 %`. Of a metric whose verdict has told the ratio, a mean of ratios, only
/// the figures: a quotient of means would be a second answer to one question.
fn moved(cx: &Context<'_>, metric: Metric, what: &str, (base, arm): (f64, f64)) -> String {
    let operation = cx.operation();
    if cx.is_shown(metric) != Some(true) {
        return format!("{what} per {operation} {}", change_phrase(base, arm));
    }
    let unit = if metric == Metric::CpuUs { " us" } else { "" };
    let (arm, base, name) = (words::number(arm), words::number(base), cx.names().1);
    format!("{what} per {operation}: {arm}{unit}, against {base} on {name}")
}

fn change_phrase(base: f64, arm: f64) -> String {
    let ratio = arm / base;
    match ratio {
        _ if ratio >= 2.0 => format!("{} times as much", words::number(ratio)),
        _ if ratio > 1.0 => format!("up {}", words::percent(ratio - 1.0)),
        _ => format!("down {}", words::percent(1.0 - ratio)),
    }
}

/// The state that makes index-only scans visit the table, if a finding has it.
fn all_visible(cx: &Context<'_>, finding: &Finding) -> Option<String> {
    let state = finding.evidence.iter().find(|figure| figure.what == ALL_VISIBLE)?;
    let (base, arm) = state.base.zip(state.arm)?;
    let [of_arm, of_base] = [arm, base].map(words::number);
    let (arm, base) = cx.names();
    Some(format!("{of_arm} % of the pages are all-visible on {arm}, {of_base} % on {base}"))
}

fn wait_clause(cx: &Context<'_>, base: f64, arm: f64) -> String {
    let longer = if arm > base { "longer" } else { "less" };
    format!("clients wait {} us {longer} per {}", words::number((arm - base).abs()), cx.operation())
}

fn position(findings: &[Finding], cause: Cause) -> Option<usize> {
    findings.iter().position(|finding| finding.cause == cause)
}

/// More deleted rows at the tail go with fewer autovacuum runs, and vice versa. The tail's sentence already
/// names both.
fn vacuum_of_tail(findings: &mut Vec<Finding>) {
    let Some(tail) = position(findings, Cause::TailEntries) else { return };
    let Some(vacuum) = position(findings, Cause::Autovacuum) else { return };
    if findings[vacuum].direction() != findings[tail].direction() {
        let other = findings.remove(vacuum);
        findings[tail - usize::from(vacuum < tail)].evidence.extend(other.evidence);
    }
}

/// If full-page images explain the growth of the log, says so, and names the checkpoint that caused them.
fn full_page_images(operation: &str, findings: &mut Vec<Finding>) {
    let Some(mut wal) = position(findings, Cause::Wal) else { return };
    let finding = &findings[wal];
    let images = finding.shown(&Shows::FullPageImages).and_then(|images| images.base.zip(images.arm));
    let Some((base, arm)) = images else { return };
    if finding.evidence[0].shows != Shows::FullPageImages {
        let (arm, base) = (words::number(arm), words::number(base));
        findings[wal].add(&format!("{arm} full-page images per {operation} (base: {base})"));
    }
    let checkpoint = findings
        .iter()
        .position(|finding| finding.cause == Cause::Checkpoint && finding.direction() == Some(arm > base));
    if let Some(at) = checkpoint {
        let other = findings.remove(at);
        wal -= usize::from(at < wal);
        findings[wal].add(&other.sentence);
        absorb(&mut findings[wal], other);
    }
}

/// On a busy machine, more CPU time means more waiting for a CPU. If that waiting grew along with the work, it is no
/// separate mechanism: the finding with the largest share of CPU time absorbs it.
fn queue_of_work(cx: &Context<'_>, findings: &mut Vec<Finding>) {
    let ratio = |value: fn(Cell<'_>) -> Option<f64>| {
        cx.figures.quantity(|cell| Some(value(cell)? / cell.operations())).map(|found| found.arm / found.base)
    };
    let work = ratio(|cell| Some(cell.metric(BACKENDS)? + cell.metric(CLIENT_CPU_US)?));
    let Some((queued, work)) = ratio(queued_us).zip(work) else { return };
    let is_of_long_work = work.max(work.recip()) >= LONG_WORK;
    let (larger, smaller) = if work >= 1.0 { (queued, work) } else { (work, queued) };
    if larger > smaller * if is_of_long_work { ALONG_LONG_WORK } else { ALONG } {
        return;
    }
    let at = position(findings, Cause::CpuQueue);
    let direction = at.map_or(Some(work >= 1.0), |at| findings[at].direction());
    let has_cpu_time = |finding: &Finding| {
        finding.cause != Cause::CpuQueue
            && finding.share.is_some_and(|share| share > 0.0)
            && (finding.direction() == direction || finding.direction().is_none())
    };
    let shares = findings.iter().enumerate().filter(|(_, finding)| has_cpu_time(finding));
    let most = shares.max_by(|(_, a), (_, b)| a.share.unwrap_or(0.0).total_cmp(&b.share.unwrap_or(0.0)));
    let Some((into, _)) = most else { return };
    match at {
        Some(at) => {
            let queue = findings.remove(at);
            absorb(&mut findings[into - usize::from(at < into)], queue);
        }
        // It varies too much for a finding of its own, but is a part of the time.
        None if is_of_long_work => {
            let split = cx.decomposition.as_ref();
            let part = split.and_then(|split| {
                let part = find_part(&split.parts, &[PartName::Waiting, PartName::ForCpu])?;
                share_of(cx, split, part.change_us_per_op)
            });
            if let (Some(share), Some(part)) = (&mut findings[into].share, part) {
                *share += part.max(0.0);
            }
        }
        None => {}
    }
}

/// Merges unmeasured waiting into the finding that explains it. A counter of waits shows waiting only if
/// clients did wait longer; otherwise it shows work.
fn waiting(cx: &Context<'_>, findings: &mut Vec<Finding>, suspects: &Suspects) {
    if let Some(at) = position(findings, Cause::Waiting) {
        let waits = findings.remove(at);
        match waited_for(cx, findings, &waits)
            .filter(|place| !is_foreign(suspects, &findings[*place], &waits))
        {
            Some(place) => {
                if let Some((base, arm)) = waits.figure() {
                    findings[place].add(&wait_clause(cx, base, arm));
                }
                absorb(&mut findings[place], waits);
            }
            None => findings.insert(at, waits),
        }
    }
    counted_waits_as_work(findings);
}

/// Whoever waits for a CPU or a lock does nothing meanwhile, nor does an engine that stalls writes.
const ONLY_WAITS: [Cause; 4] = [Cause::WriteStall, Cause::CpuQueue, Cause::Locks, Cause::Waiting];

fn counted_waits_as_work(findings: &mut [Finding]) {
    let may_be_work =
        |one: &&mut Finding| one.share.is_none() && !is_sampled(one) && !ONLY_WAITS.contains(&one.cause);
    for finding in findings.iter_mut().filter(may_be_work) {
        finding.word = match finding.word {
            Word::MoreWaiting => Word::MoreWork,
            Word::LessWaiting => Word::LessWork,
            word => word,
        };
    }
}

/// What background processes do is told by their CPU time, which more work and slower work both take.
fn told_by_cpu_time(findings: &mut [Finding]) {
    use Cause::{Autovacuum, Background, Checkpoint, Purge, Reads};
    for finding in findings {
        let is_of_processes = matches!(finding.cause, Autovacuum | Background | Checkpoint | Purge | Reads);
        let is_time = finding.evidence.first().is_some_and(|figure| figure.unit.starts_with("us/"));
        finding.word = match finding.word {
            Word::MoreWork | Word::LessWork if is_of_processes && is_time => {
                Word::cpu_time(finding.word == Word::MoreWork)
            }
            word => word,
        };
    }
}

/// The finding that explains `waits`, if any.
fn waited_for(cx: &Context<'_>, findings: &[Finding], waits: &Finding) -> Option<usize> {
    let more = waits.direction()?;
    let waited_us = own_change(waits);
    WAITS.into_iter().find_map(|cause| {
        findings.iter().position(|finding| {
            let agrees = finding.cause == cause && finding.direction() == Some(more);
            agrees && (cause != Cause::Fsync || fsyncs_account_for(cx, finding, waited_us))
        })
    })
}

/// Whether there are enough fsyncs to make clients wait `waited_us` per operation.
fn fsyncs_account_for(cx: &Context<'_>, finding: &Finding, waited_us: f64) -> bool {
    if is_sampled(finding) {
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

/// Whether sessions were sampled while waiting.
fn is_sampled(finding: &Finding) -> bool {
    finding.shown(&Shows::SeenWaiting).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Evidence;

    fn finding(cause: Cause, word: Word, what: &str, base: f64, arm: f64) -> Finding {
        let evidence =
            Evidence { what: what.to_owned(), base: Some(base), arm: Some(arm), ..Evidence::default() };
        Finding::made(word, cause, what, vec![evidence])
    }

    #[test]
    fn largest_change_gives_the_sentence_except_for_wal_bytes() {
        let found = same_cause(vec![
            finding(Cause::BlocksTouched, Word::MoreWork, "tables", 10.0, 11.0),
            finding(Cause::BlocksTouched, Word::MoreWork, "indexes", 10.0, 20.0),
            finding(Cause::BlocksTouched, Word::LessWork, "others", 2.0, 1.0),
            finding(Cause::Wal, Word::MoreWork, "bytes", 100.0, 110.0),
            finding(Cause::Wal, Word::MoreWork, "full-page images", 0.0, 1.0),
        ]);
        let merged: Vec<(&str, usize)> =
            found.iter().map(|finding| (finding.sentence.as_str(), finding.evidence.len())).collect();
        assert_eq!(merged, [("indexes", 2), ("others", 1), ("bytes", 2)]);
    }

    #[test]
    fn waiting_for_a_cpu_is_never_called_work() {
        let causes = [Cause::CpuQueue, Cause::Locks, Cause::Waiting, Cause::Fsync];
        let mut found = causes.map(|cause| finding(cause, Word::MoreWaiting, "waits", 1.0, 2.0));
        counted_waits_as_work(&mut found);
        let words = found.map(|one| one.word);
        assert_eq!(words, [Word::MoreWaiting, Word::MoreWaiting, Word::MoreWaiting, Word::MoreWork]);
    }

    #[test]
    fn full_page_images_name_the_checkpoint_that_caused_them() {
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
        assert_eq!(fallen.len(), 2, "a checkpoint does not reduce images");
    }
}
