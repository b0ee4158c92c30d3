//! Explanations as JSON with stable keys, listed in `docs/SCHEMA.md`. Unknown values are null.

use rqps_explain::{
    Certainty, Commits, Decomposition, Difference, Evidence, Explanation, Finding, Part, WaitingCommits,
};
use rqps_store::Run;
use rqps_verdicts::CommitPromise;
use serde_json::{Value, json};

use crate::error::Result;
use crate::explain_summary::Summary;
use crate::invalid::Invalid;
use crate::render::json::pretty;
use crate::tables::certificate::Waiting;

/// All explanations of a run as one object, with the commits that wait for the disk, also those of unchanged tests.
pub(crate) fn text(
    run: &Run,
    headline: &str,
    found: &[Explanation],
    invalid: &[Invalid],
    waiting: Option<(CommitPromise, Vec<Waiting<'_>>)>,
    warnings: &[String],
) -> Result<String> {
    let explanations: Vec<Value> = found.iter().map(|one| explanation(run, one)).collect();
    let commits: Vec<Value> = waiting
        .iter()
        .flat_map(|(promise, all)| all.iter().map(move |one| (promise, one)))
        .map(|(promise, one)| {
            let mut object = did(&one.commits);
            object["test"] = json!(one.test);
            object["arm"] = json!(one.arm.name);
            object["promised_per_s"] = json!(promise.per_s);
            object
        })
        .collect();
    pretty(&json!({
        "run": run.folder.name(),
        "headline": headline,
        "summary": Summary::of(found).json(),
        "warnings": warnings,
        "explanations": explanations,
        "invalid": invalid.iter().map(Invalid::json).collect::<Vec<_>>(),
        "commits": commits,
    }))
}

fn explanation(run: &Run, one: &Explanation) -> Value {
    json!({
        "test": one.test,
        "group": one.group,
        "arm": run.arms[one.arm].name,
        "base": run.arms[one.base].name,
        "searched": one.searched,
        "may_be_chance": one.may_be_chance,
        "findings": one.findings.iter().map(finding).collect::<Vec<_>>(),
        "decomposition": one.decomposition.as_ref().map(decomposition),
        "commits": one.commits.as_ref().map(commits),
        "differences": one.differences.iter().map(difference).collect::<Vec<_>>(),
        "remarks": one.remarks,
    })
}

fn finding(finding: &Finding) -> Value {
    let (certainty, blocks) = match finding.certainty {
        Certainty::Replicated { blocks } => ("replicated", Some(blocks)),
        Certainty::Likely { blocks } => ("likely", Some(blocks)),
        Certainty::SinglePass => ("single pass", None),
        Certainty::Fact => ("fact", None),
    };
    json!({
        "word": finding.word.key(),
        "cause": finding.cause.key(),
        "sentence": finding.sentence,
        "weight": finding.weight,
        "share": finding.share(),
        "certainty": certainty,
        "blocks": blocks,
        "evidence": finding.evidence.iter().map(evidence).collect::<Vec<_>>(),
    })
}

fn commits(one: &Commits) -> Value {
    json!({
        "promised_per_s": one.promise.per_s,
        "promised_low_per_s": one.promise.low_per_s,
        "promised_high_per_s": one.promise.high_per_s,
        "write_us": one.promise.write_us,
        "sync_us": one.promise.sync_us,
        "base": one.base.as_ref().map(did),
        "arm": one.arm.as_ref().map(did),
    })
}

fn did(commits: &WaitingCommits) -> Value {
    json!({
        "sessions": commits.sessions,
        "commits_per_s": commits.per_s,
        "unchanged_per_s": commits.unchanged_per_s,
        "share_of_promised": commits.share,
        "log_syncs_per_commit": commits.log_syncs,
    })
}

fn evidence(one: &Evidence) -> Value {
    json!({
        "what": one.what,
        "unit": one.unit,
        "base": one.base,
        "arm": one.arm,
        "noise": one.noise,
        "text": one.text,
    })
}

fn difference(one: &Difference) -> Value {
    json!({ "kind": one.kind.key(), "name": one.name, "base": one.base, "arm": one.arm })
}

fn decomposition(split: &Decomposition) -> Value {
    json!({
        "clients": split.clients,
        "base_us_per_op": split.base_us_per_op,
        "arm_us_per_op": split.arm_us_per_op,
        "change_us_per_op": split.change_us_per_op(),
        "low_us_per_op": split.low,
        "high_us_per_op": split.high,
        "parts": split.parts.iter().map(part).collect::<Vec<_>>(),
        "unexplained_us_per_op": split.unexplained_us_per_op,
        "background": split.background.as_ref().map(part),
        "beside": split.beside.iter().map(evidence).collect::<Vec<_>>(),
    })
}

/// serde_json turns values that are not finite into null.
fn part(part: &Part) -> Value {
    json!({
        "name": part.name,
        "base_us_per_op": part.base_us_per_op,
        "arm_us_per_op": part.arm_us_per_op,
        "change_us_per_op": part.change_us_per_op,
        "low_us_per_op": part.low,
        "high_us_per_op": part.high,
        "of": part.of.iter().map(self::part).collect::<Vec<_>>(),
    })
}
