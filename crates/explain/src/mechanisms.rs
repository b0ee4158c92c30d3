//! By what a setting or another difference between two arms can act on a test, and which findings it is named beside.
//!
//! A difference alone is no finding: it is named only where what it acts by was itself seen, and then as a
//! difference, not as the cause.

mod mysql;
mod postgres;

use crate::model::{Cause, Difference, DifferenceKind, Finding};
use crate::settings::LEFT_OUT;

/// More differences than these are not named in a sentence.
const NAMED_MAX: usize = 4;
/// Longer texts are cut in a sentence.
const TEXT_MAX: usize = 90;

/// What code that is another, or is brought in from outside, can act by.
const OF_CODE: [Cause; 5] =
    [Cause::Instructions, Cause::Cycles, Cause::CpuTime, Cause::KernelTime, Cause::Function];

/// What an environment variable that loads a library can act by besides: the library can do anything.
const OF_LIBRARY: [Cause; 3] = [Cause::Waiting, Cause::Fsync, Cause::Wal];

/// What a difference can act by without a counter or a plan that would have shown it.
const UNSEEN: [Cause; 8] = [
    Cause::Planning,
    Cause::Instructions,
    Cause::Cycles,
    Cause::CpuTime,
    Cause::KernelTime,
    Cause::Function,
    Cause::Fsync,
    Cause::Waiting,
];

/// Words of statements, and what such a statement can act by.
const STATEMENTS: [(&str, &[Cause]); 6] = [
    (
        "INDEX",
        &[Cause::QueryPlan, Cause::Wal, Cause::HeapBlocks, Cause::HotUpdates, Cause::Size, Cause::Rows],
    ),
    ("FILLFACTOR", &[Cause::HotUpdates, Cause::Size, Cause::HeapBlocks, Cause::Wal]),
    ("AUTOVACUUM", postgres::AUTOVACUUM),
    ("STATISTICS", &[Cause::QueryPlan]),
    ("ANALYZE", &[Cause::QueryPlan]),
    ("TRIGGER", &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Wal, Cause::Rows]),
];

/// What a setting can act by; none where nothing is known of it.
pub(crate) fn causes_of(setting: &str) -> &'static [Cause] {
    // No two DBMSs give a name to different things, as long as the narrower patterns are asked first.
    let mut all = mysql::SETTINGS.iter().chain(&postgres::SETTINGS);
    all.find(|(pattern, _)| fits(pattern, setting)).map_or(&[], |(_, causes)| causes)
}

/// Whether a pattern of these tables means a setting.
fn fits(pattern: &str, setting: &str) -> bool {
    match pattern.split_once('*') {
        None => setting == pattern,
        Some((start, rest)) => {
            let rest = rest.trim_end_matches('*');
            setting.strip_prefix(start).is_some_and(|end| rest.is_empty() || end.contains(rest))
        }
    }
}

/// What a difference can act by.
pub(crate) fn causes(difference: &Difference) -> Vec<Cause> {
    match difference.kind {
        DifferenceKind::Setting | DifferenceKind::DefaultSetting | DifferenceKind::LeftOut => {
            causes_of(&difference.name).to_vec()
        }
        DifferenceKind::Build => OF_CODE.to_vec(),
        DifferenceKind::Environment if difference.name == "LD_PRELOAD" => {
            [&OF_CODE[..], &OF_LIBRARY].concat()
        }
        DifferenceKind::Environment => OF_CODE.to_vec(),
        DifferenceKind::AfterLoad => of_statements(difference),
        DifferenceKind::Host | DifferenceKind::Version => Vec::new(),
    }
}

/// Statements act by what they are about, and by each setting that they name.
fn of_statements(difference: &Difference) -> Vec<Cause> {
    let text =
        [&difference.base, &difference.arm].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    let upper = text.to_uppercase();
    let words = STATEMENTS.iter().filter(|(word, _)| upper.contains(word)).flat_map(|(_, causes)| *causes);
    let names = text
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'))
        .filter(|name| name.contains('_'));
    let mut causes: Vec<Cause> = words.copied().chain(names.flat_map(causes_of).copied()).collect();
    causes.sort_unstable();
    causes.dedup();
    causes
}

/// Names in each finding's sentence the differences that can act by its cause; in one that is not explained, those that
/// could act on it unseen and are in no other finding.
pub(crate) fn attach(findings: &mut [Finding], differences: &[Difference]) {
    let of_cause = |cause: Cause| -> Vec<&Difference> {
        differences.iter().filter(|difference| causes(difference).contains(&cause)).collect()
    };
    let mut named: Vec<String> = Vec::new();
    for finding in findings.iter_mut().filter(|finding| finding.cause != Cause::Unknown) {
        let mut theirs = of_cause(finding.cause);
        if finding.cause == Cause::QueryPlan {
            theirs.retain(|difference| acts_on_plan(&difference.name, &finding.sentence));
        }
        named.extend(theirs.iter().map(|difference| difference.name.clone()));
        if let Some(phrase) = phrase(&theirs) {
            finding.sentence.push_str("; ");
            finding.sentence.push_str(&phrase);
        }
    }
    for finding in findings.iter_mut().filter(|finding| finding.cause == Cause::Unknown) {
        let could = |difference: &&Difference| {
            difference.kind != DifferenceKind::DefaultSetting
                && !named.contains(&difference.name)
                && causes(difference).iter().any(|cause| UNSEEN.contains(cause))
        };
        if let Some(phrase) = phrase(&differences.iter().filter(could).collect::<Vec<_>>()) {
            finding.sentence.push_str(&format!("; {phrase}, which could be part of it"));
        }
    }
}

/// Settings that act on some kinds of nodes alone, and words of a plan's change of which one must be there.
const NODES: [(&str, &[&str]); 14] = [
    ("hash_mem_multiplier", &["Hash"]),
    ("work_mem", &["Hash", "Sort", "Aggregate", "Bitmap", "Materialize", "Memoize"]),
    ("jit*", &["JIT"]),
    ("max_parallel_*", &["parallel", "Parallel", "Gather"]),
    ("min_parallel_*", &["parallel", "Parallel", "Gather"]),
    ("parallel_*", &["parallel", "Parallel", "Gather"]),
    ("enable_seqscan", &["Seq Scan"]),
    ("enable_indexscan", &["Index Scan"]),
    ("enable_indexonlyscan", &["Index Only Scan"]),
    ("enable_bitmapscan", &["Bitmap"]),
    ("enable_hash*", &["Hash"]),
    ("enable_sort", &["Sort"]),
    ("enable_incremental_sort", &["Incremental Sort"]),
    ("enable_memoize", &["Memoize"]),
];

/// Whether a setting can have made this change of a plan.
fn acts_on_plan(setting: &str, change: &str) -> bool {
    let of_setting = NODES.iter().find(|(pattern, _)| fits(pattern, setting));
    of_setting.is_none_or(|(_, words)| words.iter().any(|word| change.contains(word)))
}

/// `the arms differ in random_page_cost (1.1, base 4)`; none where there is nothing to name.
fn phrase(differences: &[&Difference]) -> Option<String> {
    let (statements, others): (Vec<&Difference>, Vec<&Difference>) =
        differences.iter().copied().partition(|difference| difference.kind == DifferenceKind::AfterLoad);
    let mut parts = Vec::new();
    if !others.is_empty() {
        let names: Vec<String> = others.iter().take(NAMED_MAX).map(|difference| named(difference)).collect();
        let more = match others.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        parts.push(format!("the arms differ in {}{more}", names.join(", ")));
    }
    for difference in statements {
        let ran = |on: &str, text: &Option<String>| {
            text.as_ref().map(|text| format!("after the load {on} was given: {}", short(text)))
        };
        parts.extend(ran("the arm alone", &difference.arm));
        parts.extend(ran("base alone", &difference.base));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn named(difference: &Difference) -> String {
    let value = |value: &Option<String>| match value.as_deref() {
        None if matches!(difference.kind, DifferenceKind::Setting) => "default".to_owned(),
        None => "none".to_owned(),
        Some("") => "empty".to_owned(),
        Some(text) if difference.kind == DifferenceKind::LeftOut && text.starts_with(LEFT_OUT) => {
            if text.contains("know") { "not known to the build" } else { LEFT_OUT }.to_owned()
        }
        Some(value) => short(value),
    };
    format!("{} ({}, base {})", difference.name, value(&difference.arm), value(&difference.base))
}

fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Certainty, Word};

    fn finding(cause: Cause) -> Finding {
        Finding {
            word: Word::AnotherPlan,
            cause,
            sentence: "seen".into(),
            weight: 1.0,
            certainty: Certainty::Fact,
            evidence: Vec::new(),
        }
    }

    fn setting(name: &str, base: &str, arm: &str) -> Difference {
        Difference {
            kind: DifferenceKind::Setting,
            name: name.into(),
            base: Some(base.into()),
            arm: Some(arm.into()),
        }
    }

    #[test]
    fn a_setting_is_named_only_beside_what_it_acts_by() {
        let differences = [setting("random_page_cost", "4", "1.1"), setting("log_statement", "none", "all")];
        let mut findings = [finding(Cause::QueryPlan), finding(Cause::Wal), finding(Cause::Instructions)];
        attach(&mut findings, &differences);
        let told = findings.map(|finding| finding.sentence);
        assert_eq!(
            told,
            [
                "seen; the arms differ in random_page_cost (1.1, base 4)",
                "seen",
                "seen; the arms differ in log_statement (all, base none)",
            ]
        );
    }

    #[test]
    fn a_setting_is_named_only_beside_nodes_that_it_acts_on() {
        for (setting, change, acts) in [
            ("hash_mem_multiplier", "Bitmap Heap Scan on t (k_1) became Index Only Scan", false),
            ("hash_mem_multiplier", "Sort became HashAggregate", true),
            ("enable_bitmapscan", "Bitmap Heap Scan on t (k_1) became Seq Scan", true),
            ("enable_hashjoin", "Index Scan on t became Seq Scan", false),
            ("max_parallel_workers_per_gather", "2 parallel workers planned (none before)", true),
            ("random_page_cost", "Index Scan on t became Seq Scan", true),
        ] {
            assert_eq!(acts_on_plan(setting, change), acts, "{setting}: {change}");
        }
    }

    #[test]
    fn what_is_not_explained_names_what_no_finding_has() {
        let differences = [
            setting("random_page_cost", "4", "1.1"),
            setting("synchronous_commit", "off", "on"),
            setting("autovacuum", "on", "off"),
        ];
        let mut findings = [finding(Cause::QueryPlan), finding(Cause::Unknown)];
        attach(&mut findings, &differences);
        assert_eq!(
            findings[1].sentence,
            "seen; the arms differ in synchronous_commit (on, base off), which could be part of it",
            "autovacuum would have shown in counters"
        );
    }

    #[test]
    fn statements_after_the_load_act_by_what_they_are_about() {
        let statement = |arm: &str| Difference {
            kind: DifferenceKind::AfterLoad,
            name: "statements after the load".into(),
            base: None,
            arm: Some(arm.into()),
        };
        assert!(causes(&statement("DROP INDEX k_1")).contains(&Cause::QueryPlan));
        assert!(
            causes(&statement("ALTER DATABASE rqps SET synchronous_commit = on")).contains(&Cause::Fsync)
        );
        assert!(causes(&statement("SELECT 1")).is_empty());
        let mut findings = [finding(Cause::QueryPlan)];
        attach(&mut findings, &[statement("DROP INDEX k_1")]);
        assert_eq!(findings[0].sentence, "seen; after the load the arm alone was given: DROP INDEX k_1");
    }

    #[test]
    fn the_longest_pattern_that_is_meant_counts() {
        assert_eq!(causes_of("log_checkpoints"), []);
        assert!(causes_of("log_statement").contains(&Cause::Instructions));
        assert!(causes_of("autovacuum").contains(&Cause::DeadRows));
        assert!(!causes_of("autovacuum_vacuum_cost_limit").contains(&Cause::Size));
        assert_eq!(causes_of("port"), []);
    }
}
