//! CPU time by connection and by background process: which of them changed.

use crate::context::Context;
use crate::counters::has_writer;
use crate::decompose::time_per_op;
use crate::figures::{CONNECTIONS, ROLE};
use crate::model::{Cause, Evidence, Finding, Shows, Word};
use crate::profile;
use crate::quantity::Quantity;
use crate::words;

/// Begins the name of a background process' figure.
const CPU_TIME_OF: &str = "CPU time of ";
/// Minimum CPU time of the busiest connection, relative to the median one, that is reported if only one arm
/// has it.
const UNEVEN: f64 = 1.5;
/// Minimum change of a background process, as a share of the time per operation or of its CPU time.
const SHARE_MIN: f64 = 0.02;
/// Role of workers that exited before the end of the window.
const ENDED: &str = "ended_within_the_window";
/// What roles of parallel workers begin with: background processes that a query plan uses.
pub(crate) const WORKERS: [&str; 2] = ["parallel", ENDED];
/// Roles that other findings cover.
const REPORTED_ELSEWHERE: [&str; 5] =
    ["autovacuum_worker", "checkpointer", "page_cleaner", "purge", "purge_worker"];

/// Roles that read blocks for sessions.
const READERS: [&str; 2] = ["io_worker", "io_read"];

pub(crate) fn findings(cx: &Context<'_>) -> Vec<Finding> {
    uneven(cx).into_iter().chain(roles(cx)).collect()
}

/// Whether a finding is about the CPU time of parallel workers.
pub(crate) fn is_of_workers(finding: &Finding) -> bool {
    finding.evidence.first().is_some_and(|figure| match &figure.shows {
        Shows::Role(role) => WORKERS.iter().any(|start| role.starts_with(start)),
        _ => false,
    })
}

/// One connection that uses more CPU time than the others, on only one of the arms.
fn uneven(cx: &Context<'_>) -> Option<Finding> {
    let found = cx.figures.quantity(|cell| cell.metric(CONNECTIONS))?;
    let (higher, lower) = (found.base.max(found.arm), found.base.min(found.arm));
    if !found.matters() || higher < UNEVEN || lower >= UNEVEN {
        return None;
    }
    let (arm, base) = cx.names();
    let sentence = format!(
        "the busiest connection uses {} times the CPU time of the median one on {arm}, {} times on {base}",
        words::number(found.arm),
        words::number(found.base),
    );
    let evidence =
        Evidence::figure("CPU time of the busiest connection over that of the median one", "", &found);
    let word = Word::work(found.rose());
    let finding = cx.finding(word, Cause::Connections, sentence, &found, vec![evidence]);
    Some(Finding { weight: found.clearness() / 2.0, ..finding })
}

/// Background processes whose CPU time changed by a noticeable share of the time per operation; where only CPU time is
/// known to have changed, of that.
pub(crate) fn roles(cx: &Context<'_>) -> Vec<Finding> {
    // What a background writer of RocksDB causes is compared by the second, with its counters.
    if has_writer(cx) {
        return Vec::new();
    }
    let Some(time) = cx.figures.quantity(time_per_op) else { return Vec::new() };
    let cpu = cx.changed_cpu();
    let names = cx.figures.metrics_of(ROLE);
    names.iter().filter_map(|name| role(cx, name, (time.base, cpu.as_ref()))).collect()
}

/// A background process beside another one that a sentence has named with the arms and the unit: `in the log writer
/// 12 us, against 53.6`. `None` if the finding is of no single process.
pub(crate) fn beside(finding: &Finding) -> Option<String> {
    let evidence = finding.evidence.first().filter(|evidence| matches!(evidence.shows, Shows::Role(_)))?;
    let (role, (base, arm)) = (evidence.what.strip_prefix(CPU_TIME_OF)?, finding.figure()?);
    Some(format!("in {role} {} us, against {}", words::number(arm), words::number(base)))
}

/// The one of a metric, which changed by a noticeable share of the time of an operation, or of its CPU time if that is
/// given.
fn role(cx: &Context<'_>, metric: &str, (time_us, cpu): (f64, Option<&Quantity>)) -> Option<Finding> {
    let name = metric.strip_prefix(ROLE)?.strip_suffix("_us")?;
    let found = cx.figures.quantity(|cell| Some(cell.roles_us(&[name])? / cell.operations()))?;
    let share = found.change() / cpu.map_or(time_us, |cpu| cpu.base);
    if REPORTED_ELSEWHERE.contains(&name) || !found.matters() || share.abs() < SHARE_MIN {
        return None;
    }
    // How long a flush takes differs between equal arms.
    if profile::BACKGROUND.contains(&name) && found.may_be_the_hosts() {
        return None;
    }
    let (arm, base) = cx.names();
    let role = match name {
        ENDED => "processes that ended within the window".to_owned(),
        _ => format!("the {}", name.replace('_', " ")),
    };
    let sentence = format!(
        "{arm} uses {} us of CPU per {} in {role}, {}",
        words::number(found.arm),
        cx.operation(),
        words::than(&found, base)
    );
    // Readers work because sessions miss blocks in the buffers.
    let cause = if READERS.contains(&name) { Cause::Reads } else { Cause::Background };
    let evidence = Evidence::figure(format!("{CPU_TIME_OF}{role}"), cx.per_op("us"), &found)
        .showing(Shows::Role(name.to_owned()));
    let finding = cx.finding(Word::work(found.rose()), cause, sentence, &found, vec![evidence]);
    let of_change = cpu.filter(|cpu| cpu.exceeds_noise()).map(|cpu| found.change() / cpu.change());
    Some(Finding { weight: share.abs().min(1.0) * found.clearness(), share: of_change, ..finding })
}
