//! By what a setting or another difference between two arms can act on a test, and which findings it is named beside.
//!
//! A difference alone is no finding. One that can act in a test, since what it acts by was at work there, is a
//! suspect. It is named beside findings of what it acts by. Where the arms are of one build, nothing else was varied:
//! there findings that a suspect accounts for go first, and where none does, the suspects themselves are listed.

mod mysql;
mod needs;
mod postgres;
mod rule;
mod statements;
mod way;

use crate::connections::ENDED;
use crate::context::Context;
use crate::error::Result;
use crate::model::{Cause, Difference, DifferenceKind, Finding, PlanPart, Shows};
use crate::settings::AFTER_LOAD;
use needs::Needs;
use rqps_model::clipped;
use rule::{Rule, fits};
use statements::Statement;
use way::Way;

/// More differences than these are not named in a sentence.
const NAMED_MAX: usize = 4;
/// Longer texts are cut in a sentence.
const TEXT_MAX: usize = 90;

/// What another program, or code brought in from outside, can act by.
const OF_CODE: [Cause; 5] =
    [Cause::Instructions, Cause::Cycles, Cause::CpuTime, Cause::KernelTime, Cause::Function];

/// What the environment can act by besides: it loads libraries, and configures them, and they can do anything.
const OF_LIBRARY: [Cause; 3] = [Cause::Waiting, Cause::Fsync, Cause::Wal];

/// Whether two versions differ by it whatever their settings: a default that changed along is not named for it.
fn is_of_versions(cause: Cause) -> bool {
    use Cause::{Background, CpuQueue, Locks, Planning, Unknown, Waiting};
    OF_CODE.contains(&cause) || matches!(cause, Planning | Waiting | CpuQueue | Locks | Background | Unknown)
}

/// Whether a difference can act by it without a counter or a plan that would have shown it.
fn is_unseen(cause: Cause) -> bool {
    OF_CODE.contains(&cause) || matches!(cause, Cause::Planning | Cause::Fsync | Cause::Waiting)
}

fn rule_of(setting: &str) -> Option<&'static Rule> {
    rule::rule_of(mysql::SETTINGS.iter().chain(&postgres::SETTINGS), setting)
}

/// What a suspect can act by, and whether it makes more of that on the arm; none where it can go either way.
type Act = (Cause, Option<bool>);

/// What is moved by a difference that rose on the arm, or fell, or neither.
fn acts(causes: &[Cause], way: Way, rose: Option<bool>) -> Vec<Act> {
    causes.iter().map(|cause| (*cause, way.is_more(*cause, rose))).collect()
}

/// A difference that can act in the test.
#[derive(Debug)]
struct Suspect {
    /// Of statements: one of them.
    difference: Difference,
    /// What it can act by.
    acts: Vec<Act>,
    /// Whether somebody chose it, and no version brought it along.
    chosen: bool,
}

/// What can act in a test of what differs between its two arms.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    list: Vec<Suspect>,
    /// Whether both arms run the same program: then nothing but these was varied.
    alone: bool,
}

impl Suspects {
    /// Those of the differences that can act.
    pub fn find(cx: &Context<'_>, differences: &[Difference]) -> Result<Self> {
        let (base, arm) = (cx.base_arm(), cx.candidate());
        let same_build = base.build_hash == arm.build_hash && base.dbms == arm.dbms;
        // What one config comes to on two builds, nobody chose.
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
        Ok(Self { list, alone: same_build })
    }

    /// Whether a finding is what one of them makes, where nothing else was varied.
    pub fn account_for(&self, finding: &Finding) -> bool {
        self.alone && self.list.iter().any(|suspect| suspect.acts_by(finding))
    }

    /// Whether findings that none of them can account for are to give way to those that one can.
    pub fn are_alone(&self) -> bool {
        self.alone && !self.list.is_empty()
    }

    fn differences(&self, wanted: impl Fn(&Suspect) -> bool) -> Vec<&Difference> {
        self.list.iter().filter(|suspect| wanted(suspect)).map(|suspect| &suspect.difference).collect()
    }

    /// A clause that lists them where no measured figure explains a change, and nothing else was varied;
    /// `more`, whether operations take longer on the arm.
    pub fn remain(&self, more: Option<bool>) -> Option<String> {
        self.alone.then(|| phrase(&self.differences(|suspect| suspect.is_unseen(more)))).flatten()
    }

    /// Names in each finding's sentence the differences that can act by its cause; in one that is not explained, those
    /// that could act on it unseen and are in no other finding.
    pub fn attach(&self, findings: &mut [Finding]) {
        let mut named: Vec<&Difference> = Vec::new();
        for finding in findings.iter_mut().filter(|finding| finding.cause != Cause::Unknown) {
            let theirs = self.differences(|suspect| suspect.acts_by(finding));
            named.extend(&theirs);
            add(finding, phrase(&theirs), "");
        }
        // Where nothing else was varied and none of them is in a finding, what remains is listed already.
        if self.alone && named.is_empty() {
            return;
        }
        for finding in findings.iter_mut().filter(|finding| finding.cause == Cause::Unknown) {
            let more = finding.direction();
            let theirs = self.differences(|suspect| {
                suspect.chosen && suspect.is_unseen(more) && !named.contains(&&suspect.difference)
            });
            add(finding, phrase(&theirs), ", which may contribute");
        }
    }
}

impl Suspect {
    fn acts_by(&self, finding: &Finding) -> bool {
        let name = &self.difference.name;
        let is_setting = self.difference.kind != DifferenceKind::AfterLoad;
        let moves = |(cause, more): &Act| *cause == finding.cause && goes(*more, finding.direction());
        self.acts.iter().any(moves)
            && (self.chosen || !is_of_versions(finding.cause))
            && (!is_setting || is_its_evidence(name, finding))
    }

    /// Whether it can make operations longer, or shorter, without a counter or a plan that would have shown it.
    /// Statements change what is stored, and of that little is counted.
    fn is_unseen(&self, more: Option<bool>) -> bool {
        let is_seen = |cause: &Cause| self.difference.kind != DifferenceKind::AfterLoad && !is_unseen(*cause);
        self.acts.iter().any(|(cause, its)| !is_seen(cause) && goes(*its, more))
    }
}

/// Whether what goes one way, or either, can be seen as this.
fn goes(its: Option<bool>, seen: Option<bool>) -> bool {
    its.zip(seen).is_none_or(|(its, seen)| its == seen)
}

fn add(finding: &mut Finding, phrase: Option<String>, end: &str) {
    if let Some(phrase) = phrase {
        finding.sentence.push_str(&format!("; {phrase}{end}"));
    }
}

/// A difference as a suspect; none where it cannot act in this test.
fn suspect(cx: &Context<'_>, difference: Difference, chosen: bool) -> Result<Option<Suspect>> {
    let (acts, needs) = match difference.kind {
        DifferenceKind::Setting | DifferenceKind::DefaultSetting | DifferenceKind::LeftOut => {
            let Some((_, causes, needs, way)) = rule_of(&difference.name) else { return Ok(None) };
            (acts(causes, *way, rose(&difference)), *needs)
        }
        DifferenceKind::Environment => {
            (acts(&[&OF_CODE[..], &OF_LIBRARY].concat(), Way::Either, None), Needs::Nothing)
        }
        DifferenceKind::Build => (acts(&OF_CODE, Way::Either, None), Needs::Nothing),
        DifferenceKind::AfterLoad | DifferenceKind::Host | DifferenceKind::Version => return Ok(None),
    };
    let can = !acts.is_empty() && needs.are_met(cx, &difference)?;
    Ok(can.then_some(Suspect { difference, acts, chosen }))
}

/// Whether a setting is higher on the arm than on base; none where that can't be said.
fn rose(difference: &Difference) -> Option<bool> {
    // One of the two has a reason there instead of a value.
    if difference.kind == DifferenceKind::LeftOut {
        return None;
    }
    way::rose(&difference.name, difference.base.as_ref()?, difference.arm.as_ref()?)
}

/// Statements that one of the two was given alone, each by itself.
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
        let acts = acts_of_statement(cx, &sql, &difference)?;
        if !acts.is_empty() {
            suspects.push(Suspect { difference, acts, chosen: true });
        }
    }
    Ok(suspects)
}

/// What a statement can act by in this test; nothing where it cannot.
fn acts_of_statement(cx: &Context<'_>, sql: &str, difference: &Difference) -> Result<Vec<Act>> {
    let tables = statements::tables(sql);
    // What is done to other tables than the test's is nothing to it. Without plans they are not known.
    if !tables.is_empty() && needs::has_plans(cx)? && !needs::touches(cx, &tables)? {
        return Ok(Vec::new());
    }
    Ok(match Statement::parse(sql) {
        Statement::Nothing => Vec::new(),
        Statement::Unknown => Cause::ALL
            .into_iter()
            .filter(|cause| is_of_statements(*cause))
            .map(|cause| (cause, None))
            .collect(),
        Statement::Kind(causes, needs, way) if needs.are_met(cx, difference)? => {
            // Reads can become cheaper by what makes writes more expensive: another plan, which would be seen.
            let is_seen = needs::has_plans(cx)? || Needs::Log.are_met(cx, difference)?;
            let rose = statements::takes_away(sql).map(|takes| difference.arm.is_some() != takes);
            acts(causes, way, rose.filter(|_| is_seen))
        }
        Statement::Kind(..) => Vec::new(),
        Statement::Settings(names) => {
            let mut found = Vec::new();
            for (_, causes, needs, _) in names.iter().filter_map(|name| rule_of(name)) {
                if needs.are_met(cx, difference)? {
                    found.extend(acts(causes, Way::Either, None));
                }
            }
            found
        }
    })
}

/// Whether some statement can act by it: the machine and the client do the rest.
fn is_of_statements(cause: Cause) -> bool {
    use Cause::{BackgroundRate, Canary, Client, CpuSteal, Frequency, OtherLoad, Swap, Unknown};
    !matches!(cause, OtherLoad | CpuSteal | Canary | Swap | Client | Frequency | BackgroundRate | Unknown)
}

/// Settings that act on some background processes alone, and how the roles of these begin, as metrics are named.
const ROLES: [(&str, &[&str]); 10] = [
    ("autovacuum*", &["autovacuum"]),
    ("checkpoint_*", &["checkpointer"]),
    ("max_wal_size", &["checkpointer"]),
    ("wal_writer_*", &["wal_writer"]),
    ("synchronous_commit", &["wal_writer"]),
    ("bgwriter_*", &["background_writer"]),
    ("io_*", &["io_worker"]),
    ("max_parallel_*", &["parallel", ENDED]),
    ("innodb_purge_*", &["purge"]),
    ("innodb_log_*", &["log_", "io_log"]),
];

/// Whether a finding is about what a setting acts by, and not about another thing of the same cause.
fn is_its_evidence(setting: &str, finding: &Finding) -> bool {
    match finding.cause {
        Cause::QueryPlan => {
            let changed = finding.evidence.iter().filter_map(|figure| match &figure.shows {
                Shows::Plan(parts) => Some(parts),
                _ => None,
            });
            acts_on_plan(setting, &changed.flatten().collect::<Vec<_>>())
        }
        Cause::Background => {
            let of_setting = ROLES.iter().find(|(pattern, _)| fits(pattern, setting));
            // The first is the one that the finding is about.
            let role = finding.evidence.first().map(|figure| &figure.shows);
            of_setting.is_none_or(|(_, starts)| match role {
                Some(Shows::Role(role)) => starts.iter().any(|start| role.starts_with(start)),
                _ => false,
            })
        }
        Cause::Wal if matches!(setting, "wal_buffers" | "innodb_log_buffer_size") => {
            finding.shown(&Shows::LogBufferFull).is_some()
        }
        _ => true,
    }
}

/// What of a plan some settings alone act on.
enum OnPlan {
    /// Nodes whose kind has one of these in it, as EXPLAIN calls them.
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

/// Whether a setting can have made these changes of a plan.
fn acts_on_plan(setting: &str, changed: &[&PlanPart]) -> bool {
    let of_setting = ON_PLANS.iter().find(|(pattern, _)| fits(pattern, setting));
    of_setting.is_none_or(|(_, on)| changed.iter().any(|part| on.is_about(part)))
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
    for difference in statements.into_iter().take(NAMED_MAX) {
        let ran = |who: &str, text: &Option<String>| {
            text.as_ref().map(|text| format!("only {who} ran after its load: {}", clipped(text, TEXT_MAX)))
        };
        parts.extend(ran("this arm", &difference.arm));
        parts.extend(ran("base", &difference.base));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn named(difference: &Difference) -> String {
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
