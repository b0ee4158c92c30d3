//! Which causes a setting or another difference between two arms can affect in a test, and which findings
//! name it.
//!
//! A difference alone is no finding. A difference that can have an effect in a test, because what it needs
//! was active there, is a suspect, and findings of causes that it can affect name it. If the arms run the
//! same build, nothing else varied: then findings that a suspect accounts for come first, and if there are
//! none, the suspects themselves are listed.

mod mysql;
mod needs;
mod postgres;
mod rocksdb;
mod rule;
mod statements;
mod way;

use crate::connections::WORKERS;
use crate::context::Context;
use crate::counters::LOG_FSYNCS;
use crate::debt::ALL_VISIBLE;
use crate::error::Result;
use crate::model::{Cause, Difference, DifferenceKind, Finding, PlanPart, Shows};
use crate::settings::{AFTER_LOAD, PROGRAM_FILES, only_with};
use needs::Needs;
use rqps_model::clipped;
use rule::{Rule, fits};
use statements::Statement;
use way::Way;

/// Maximum number of differences named in a sentence.
const NAMED_MAX: usize = 4;
/// Maximum length of a text in a sentence; longer ones are clipped.
const TEXT_MAX: usize = 90;

/// Causes that another program, or code loaded into it, can affect.
const CODE_CAUSES: [Cause; 5] =
    [Cause::Instructions, Cause::Cycles, Cause::CpuTime, Cause::KernelTime, Cause::Function];

/// Further causes that the environment can affect: it loads and configures libraries, which can do anything.
const LIBRARY_CAUSES: [Cause; 3] = [Cause::Waiting, Cause::Fsync, Cause::Wal];

/// Whether any two versions differ in this cause regardless of their settings, so that a changed default is
/// not named for it.
fn differs_between_versions(cause: Cause) -> bool {
    use Cause::{Background, CpuQueue, Locks, Planning, Unknown, Waiting};
    CODE_CAUSES.contains(&cause)
        || matches!(cause, Planning | Waiting | CpuQueue | Locks | Background | Unknown)
}

/// Whether a difference can affect this cause without a visible change of a counter or plan.
fn is_uncounted(cause: Cause) -> bool {
    CODE_CAUSES.contains(&cause) || matches!(cause, Cause::Planning | Cause::Fsync | Cause::Waiting)
}

fn rule_of(setting: &str) -> Option<&'static Rule> {
    rule::rule_of(mysql::SETTINGS.iter().chain(&postgres::SETTINGS).chain(&rocksdb::SETTINGS), setting)
}

/// Whether a setting can make a difference to tests.
pub fn can_act(setting: &str) -> bool {
    rule_of(setting).is_some_and(|(_, causes, ..)| !causes.is_empty())
}

/// Whether a setting is for those who develop the server: nobody else sets it.
pub fn is_of_developers(setting: &str) -> bool {
    ["debug", "trace_"].iter().any(|beginning| setting.starts_with(beginning))
}

/// A cause that a suspect can affect, and whether the arm has more of it; `None` if either is possible.
type Effect = (Cause, Option<bool>);

/// The effects of a difference that increased on the arm (`Some(true)`), decreased, or neither.
fn effects(causes: &[Cause], way: Way, rose: Option<bool>) -> Vec<Effect> {
    causes.iter().map(|cause| (*cause, way.is_more(*cause, rose))).collect()
}

/// A difference that can have an effect in the test.
#[derive(Debug)]
struct Suspect {
    /// For statements run after the load: one statement.
    difference: Difference,
    effects: Vec<Effect>,
    /// Whether it was chosen for the arm, as opposed to coming with the version.
    chosen: bool,
}

/// The differences between two arms that can have an effect in a test.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    list: Vec<Suspect>,
    /// Whether both arms run the same build, so that nothing but the suspects varied.
    same_build: bool,
}

impl Suspects {
    /// Selects the differences that can have an effect.
    pub fn find(cx: &Context<'_>, differences: &[Difference]) -> Result<Self> {
        let (base, arm) = (cx.base_arm(), cx.candidate());
        let same_build = base.build_hash == arm.build_hash && base.dbms == arm.dbms;
        // If one config results in different settings on two builds, that was not chosen.
        let same_config = base.config_hash == arm.config_hash;
        let mut list = Vec::new();
        for difference in differences {
            let chosen = match difference.kind {
                DifferenceKind::Setting => same_build || !same_config,
                DifferenceKind::DefaultSetting | DifferenceKind::LeftOut => same_build,
                _ => true,
            };
            match difference.kind {
                DifferenceKind::AfterLoad => list.extend(statements(cx)?),
                _ => list.extend(suspect(cx, difference.clone(), chosen)?),
            }
        }
        Ok(Self { list, same_build })
    }

    /// Whether a suspect can cause a finding and nothing else varied.
    pub fn account_for(&self, finding: &Finding) -> bool {
        self.same_build && self.list.iter().any(|suspect| suspect.can_cause(finding))
    }

    /// Whether findings that a suspect accounts for take precedence over the others.
    pub fn are_only_difference(&self) -> bool {
        self.same_build && !self.list.is_empty()
    }

    fn differences(&self, wanted: impl Fn(&Suspect) -> bool) -> Vec<&Difference> {
        self.list.iter().filter(|suspect| wanted(suspect)).map(|suspect| &suspect.difference).collect()
    }

    /// A clause that lists suspects if no measured figure explains a change and nothing else varied. `more`:
    /// whether operations take longer on the arm.
    pub fn unseen(&self, more: Option<bool>) -> Option<String> {
        self.same_build.then(|| phrase(&self.differences(|suspect| suspect.is_unseen(more)))).flatten()
    }

    /// Adds to each finding's sentence the differences that can affect its cause. An unexplained finding gets
    /// those that can act unseen and are named by no other finding.
    pub fn attach(&self, findings: &mut [Finding]) {
        let mut named: Vec<&Difference> = Vec::new();
        for finding in findings.iter_mut().filter(|finding| finding.cause != Cause::Unknown) {
            let matching = self.differences(|suspect| suspect.can_cause(finding));
            named.extend(&matching);
            add(finding, phrase(&matching), "");
        }
        // If nothing else varied and no finding names a suspect, the suspects are already listed.
        if self.same_build && named.is_empty() {
            return;
        }
        for finding in findings.iter_mut().filter(|finding| finding.cause == Cause::Unknown) {
            let more = finding.direction();
            let matching = self.differences(|suspect| {
                suspect.chosen && suspect.is_unseen(more) && !named.contains(&&suspect.difference)
            });
            add(finding, phrase(&matching), ", which may contribute");
        }
    }
}

impl Suspect {
    fn can_cause(&self, finding: &Finding) -> bool {
        let name = &self.difference.name;
        let is_setting = self.difference.kind != DifferenceKind::AfterLoad;
        let matches = |(cause, more): &Effect| *cause == finding.cause && agrees(*more, finding.direction());
        self.effects.iter().any(matches)
            && (self.chosen || !differs_between_versions(finding.cause) || runs_processes(name, finding))
            && (!is_setting || evidence_matches(name, finding))
            && !(name == FLUSH_METHOD && is_of_log(finding) && !self.has_value(SYNCHRONOUS_LOG))
    }

    /// Whether one of the arms has it.
    fn has_value(&self, wanted: &str) -> bool {
        [&self.difference.base, &self.difference.arm]
            .into_iter()
            .any(|value| value.as_deref() == Some(wanted))
    }

    /// Whether it can make operations longer or shorter without a visible change of a counter or plan.
    /// Statements change what is stored, and little of that is counted.
    fn is_unseen(&self, more: Option<bool>) -> bool {
        let is_visible =
            |cause: &Cause| self.difference.kind != DifferenceKind::AfterLoad && !is_uncounted(*cause);
        self.effects.iter().any(|(cause, expected)| !is_visible(cause) && agrees(*expected, more))
    }
}

/// Whether an expected direction is consistent with an observed one; unknown directions are.
fn agrees(expected: Option<bool>, observed: Option<bool>) -> bool {
    expected.zip(observed).is_none_or(|(expected, observed)| expected == observed)
}

fn add(finding: &mut Finding, phrase: Option<String>, end: &str) {
    if let Some(phrase) = phrase {
        finding.sentence.push_str(&format!("; {phrase}{end}"));
    }
}

/// A difference as a suspect; `None` if it cannot have an effect in this test.
fn suspect(cx: &Context<'_>, difference: Difference, chosen: bool) -> Result<Option<Suspect>> {
    let (effects, needs) = match difference.kind {
        DifferenceKind::Setting | DifferenceKind::DefaultSetting | DifferenceKind::LeftOut => {
            let Some((_, causes, needs, way)) = rule_of(&difference.name) else { return Ok(None) };
            (effects(causes, *way, rose(&difference)), *needs)
        }
        DifferenceKind::Environment => {
            (effects(&[&CODE_CAUSES[..], &LIBRARY_CAUSES].concat(), Way::Either, None), Needs::Nothing)
        }
        DifferenceKind::Build => (effects(&CODE_CAUSES, Way::Either, None), Needs::Nothing),
        DifferenceKind::AfterLoad | DifferenceKind::Host | DifferenceKind::Version => return Ok(None),
    };
    let can = !effects.is_empty() && needs.are_met(cx, &difference)?;
    Ok(can.then_some(Suspect { difference, effects, chosen }))
}

/// Whether a setting is higher on the arm than on base; `None` if unknown.
fn rose(difference: &Difference) -> Option<bool> {
    // One side holds a reason instead of a value.
    if difference.kind == DifferenceKind::LeftOut {
        return None;
    }
    way::rose(&difference.name, difference.base.as_ref()?, difference.arm.as_ref()?)
}

/// Statements that were run on only one of the arms, one suspect each.
fn statements(cx: &Context<'_>) -> Result<Vec<Suspect>> {
    let (before, after) = (&cx.base_arm().after_load, &cx.candidate().after_load);
    let only = |these: &[String], others: &[String]| -> Vec<String> {
        these.iter().filter(|sql| !others.contains(sql)).cloned().collect()
    };
    let of_arm = only(after, before).into_iter().map(|sql| (None, Some(sql)));
    let of_base = only(before, after).into_iter().map(|sql| (Some(sql), None));
    let mut suspects = Vec::new();
    for (base, arm) in of_arm.chain(of_base) {
        let sql = arm.as_ref().or(base.as_ref()).cloned().unwrap_or_default();
        let difference =
            Difference { kind: DifferenceKind::AfterLoad, name: AFTER_LOAD.to_owned(), base, arm };
        let effects = effects_of_statement(cx, &sql, &difference)?;
        if !effects.is_empty() {
            suspects.push(Suspect { difference, effects, chosen: true });
        }
    }
    Ok(suspects)
}

/// The effects of a statement in this test; empty if it has none.
fn effects_of_statement(cx: &Context<'_>, sql: &str, difference: &Difference) -> Result<Vec<Effect>> {
    let tables = statements::tables(sql);
    // Statements on tables that the test does not use have no effect. The test's tables are known from its
    // plans.
    if !tables.is_empty() && needs::has_plans(cx)? && !needs::touches(cx, &tables)? {
        return Ok(Vec::new());
    }
    Ok(match Statement::parse(sql) {
        Statement::Nothing => Vec::new(),
        Statement::Unknown => Cause::ALL
            .into_iter()
            .filter(|cause| is_reachable_by_sql(*cause))
            .map(|cause| (cause, None))
            .collect(),
        Statement::Kind(causes, needs, way) if needs.are_met(cx, difference)? => {
            // What makes writes more expensive can make reads cheaper by another plan, which is seen only if
            // plans were recorded.
            let is_seen = needs::has_plans(cx)? || Needs::Log.are_met(cx, difference)?;
            let rose = statements::removes(sql).map(|removes| difference.arm.is_some() != removes);
            effects(causes, way, rose.filter(|_| is_seen))
        }
        Statement::Kind(..) => Vec::new(),
        Statement::Settings(names) => {
            let mut found = Vec::new();
            for (_, causes, needs, _) in names.iter().filter_map(|name| rule_of(name)) {
                if needs.are_met(cx, difference)? {
                    found.extend(effects(causes, Way::Either, None));
                }
            }
            found
        }
    })
}

/// Whether any statement can affect this cause; the others depend on the machine or the client.
fn is_reachable_by_sql(cause: Cause) -> bool {
    use Cause::{BackgroundRate, Canary, Client, CpuSteal, Frequency, OtherLoad, Swap, Unknown};
    !matches!(cause, OtherLoad | CpuSteal | Canary | Swap | Client | Frequency | BackgroundRate | Unknown)
}

/// Whether sessions do the work of some background processes or leave it to them.
const LOG_WRITERS: &str = "innodb_log_writer_threads";

/// Whether a setting decides that these background processes work at all, so that its default explains them too.
fn runs_processes(setting: &str, finding: &Finding) -> bool {
    setting == LOG_WRITERS && finding.cause == Cause::Background
}

/// Settings that affect only some background processes, and the prefixes of these roles in metrics.
const ROLES: [(&str, &[&str]); 11] = [
    ("autovacuum*", &["autovacuum"]),
    ("checkpoint_*", &["checkpointer"]),
    ("max_wal_size", &["checkpointer"]),
    ("wal_writer_*", &["wal_writer"]),
    ("synchronous_commit", &["wal_writer"]),
    ("bgwriter_*", &["background_writer"]),
    ("io_*", &["io_worker"]),
    ("max_parallel_*", &WORKERS),
    ("innodb_purge_*", &["purge"]),
    (LOG_WRITERS, &["log_write", "log_flush"]),
    ("innodb_log_*", &["log_", "io_log"]),
];

/// Settings of RocksDB that affect what compactions do and not what flushes write.
const OF_COMPACTIONS: [&str; 6] = [
    "compaction_*",
    "max_compaction_bytes",
    "max_bytes_for_level_*",
    "num_levels",
    "level0_*",
    "level_compaction_*",
];

/// VACUUM leaves rows and pages alone that it would clean up, or mark as all-visible.
const DEFERS_CLEANUP: &str = "vacuum_defer_cleanup_age";

/// How MySQL flushes files: those of the log alike, but with the one value that writes them synchronously.
const FLUSH_METHOD: &str = "innodb_flush_method";
const SYNCHRONOUS_LOG: &str = "O_DSYNC";

fn is_of_log(finding: &Finding) -> bool {
    finding.evidence.first().is_some_and(|figure| figure.what == LOG_FSYNCS)
}

/// Whether a finding's evidence is specific to what a setting affects.
fn evidence_matches(setting: &str, finding: &Finding) -> bool {
    match finding.cause {
        Cause::QueryPlan => {
            let changed = finding.evidence.iter().filter_map(|figure| match &figure.shows {
                Shows::Plan(parts) => Some(parts),
                _ => None,
            });
            affects_plan(setting, &changed.flatten().collect::<Vec<_>>())
        }
        Cause::Background => {
            let of_setting = ROLES.iter().find(|(pattern, _)| fits(pattern, setting));
            // The first evidence is the finding's subject.
            let role = finding.evidence.first().map(|figure| &figure.shows);
            of_setting.is_none_or(|(_, starts)| match role {
                Some(Shows::Role(role)) => starts.iter().any(|start| role.starts_with(start)),
                _ => false,
            })
        }
        // Flushes write what memtables hold, whatever compactions do.
        Cause::Compaction if OF_COMPACTIONS.iter().any(|pattern| fits(pattern, setting)) => {
            finding.evidence.iter().any(|figure| figure.shows != Shows::Flushes)
        }
        // Blocks and rows are touched for many reasons.
        Cause::BlocksTouched | Cause::Rows if setting == DEFERS_CLEANUP => {
            finding.evidence.iter().any(|figure| figure.what == ALL_VISIBLE)
        }
        Cause::Wal if matches!(setting, "wal_buffers" | "innodb_log_buffer_size") => {
            finding.shown(&Shows::LogBufferFull).is_some()
        }
        _ => true,
    }
}

/// The part of a plan that some settings are limited to.
enum OnPlan {
    /// Nodes whose EXPLAIN type contains one of these.
    Nodes(&'static [&'static str]),
    Workers,
    Jit,
}

const ON_PLANS: [(&str, OnPlan); 14] = [
    ("hash_mem_multiplier", OnPlan::Nodes(&["Hash"])),
    ("work_mem", OnPlan::Nodes(&["Hash", "Sort", "Aggregate", "Bitmap", "Materialize", "Memoize"])),
    ("jit*", OnPlan::Jit),
    ("max_parallel_*", OnPlan::Workers),
    ("min_parallel_*", OnPlan::Workers),
    ("parallel_*", OnPlan::Workers),
    ("enable_seqscan", OnPlan::Nodes(&["Seq Scan"])),
    ("enable_indexscan", OnPlan::Nodes(&["Index Scan"])),
    ("enable_indexonlyscan", OnPlan::Nodes(&["Index Only Scan"])),
    ("enable_bitmapscan", OnPlan::Nodes(&["Bitmap"])),
    ("enable_hash*", OnPlan::Nodes(&["Hash"])),
    ("enable_sort", OnPlan::Nodes(&["Sort"])),
    ("enable_incremental_sort", OnPlan::Nodes(&["Incremental Sort"])),
    ("enable_memoize", OnPlan::Nodes(&["Memoize"])),
];

impl OnPlan {
    fn is_about(&self, part: &PlanPart) -> bool {
        match (self, part) {
            (OnPlan::Nodes(kinds), PlanPart::Node(kind)) => kinds.iter().any(|part| kind.contains(part)),
            (OnPlan::Workers, PlanPart::Node(kind)) => {
                ["Parallel", "Gather"].iter().any(|part| kind.contains(part))
            }
            (OnPlan::Workers, PlanPart::Workers) | (OnPlan::Jit, PlanPart::Jit) => true,
            _ => false,
        }
    }
}

/// Whether a setting can cause these changes of a plan.
fn affects_plan(setting: &str, changed: &[&PlanPart]) -> bool {
    let of_setting = ON_PLANS.iter().find(|(pattern, _)| fits(pattern, setting));
    of_setting.is_none_or(|(_, on)| changed.iter().any(|part| on.is_about(part)))
}

/// `the arms differ in random_page_cost (1.1, base 4)`; `None` if there is nothing to name.
pub(crate) fn phrase(differences: &[&Difference]) -> Option<String> {
    let (statements, others): (Vec<&Difference>, Vec<&Difference>) =
        differences.iter().copied().partition(|difference| difference.kind == DifferenceKind::AfterLoad);
    let (of_one, others): (Vec<&Difference>, Vec<&Difference>) =
        others.into_iter().partition(|difference| only_with(difference).is_some());
    let mut parts = Vec::new();
    if !others.is_empty() {
        parts.push(format!("the arms differ in {}", some(others.iter().map(|difference| named(difference)))));
    }
    for (arm, is_base) in [("this arm", false), ("base", true)] {
        let set = of_one.iter().filter_map(|difference| {
            let (value, _) = only_with(difference).filter(|(_, of_base)| *of_base == is_base)?;
            Some(format!("{} = {}", difference.name, clipped(value, TEXT_MAX)))
        });
        let set = some(set);
        if !set.is_empty() {
            parts.push(format!("only {arm} was measured with {set} of its config, which can be the cause"));
        }
    }
    for difference in statements.into_iter().take(NAMED_MAX) {
        let ran = |arm: &str, text: &Option<String>| {
            text.as_ref().map(|text| format!("only {arm} ran after its load: {}", clipped(text, TEXT_MAX)))
        };
        parts.extend(ran("this arm", &difference.arm));
        parts.extend(ran("base", &difference.base));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The first names of a list, and how many there are besides.
fn some(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    let more = match names.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(NAMED_MAX);
    format!("{}{more}", names.join(", "))
}

/// Hashes say nothing in a sentence; what differs is listed once, with them.
fn named(difference: &Difference) -> String {
    if difference.name == PROGRAM_FILES {
        return difference.name.clone();
    }
    let value = |value: &Option<String>| match value.as_deref() {
        None if matches!(difference.kind, DifferenceKind::Setting) => "default".to_owned(),
        None => "none".to_owned(),
        Some("") => "empty".to_owned(),
        Some(value) => clipped(value, TEXT_MAX),
    };
    format!("{} ({}, base {})", difference.name, value(&difference.arm), value(&difference.base))
}

#[cfg(test)]
mod tests;
