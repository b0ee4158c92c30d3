//! What a rule about settings consists of, and which settings it is about.

use super::needs::Needs;
use super::way::Way;
use crate::model::Cause::{self, CpuTime, Cycles, Function, Instructions, Planning, QueryPlan};

/// Settings by name, with blanks between them; what they can act by; what has to be at work for that; which way they
/// move it. In a name a `*` stands for anything. Of several rules for a setting the one with the longest name counts.
pub(super) type Rule = (&'static str, &'static [Cause], Needs, Way);

/// What costs CPU time at each statement.
pub(super) const CODE: &[Cause] = &[Instructions, CpuTime, Function, Cycles];
/// What can lead to another query plan, or to more planning.
pub(super) const PLANNING: &[Cause] = &[QueryPlan, Planning, Instructions, CpuTime, Function];

/// The rule for a setting; none where nothing is known of it. No two DBMSs give one name to different things.
pub(super) fn rule_of<'a>(rules: impl Iterator<Item = &'a Rule>, setting: &str) -> Option<&'a Rule> {
    let matching = rules.flat_map(|rule| rule.0.split(' ').map(move |name| (name, rule)));
    let (_, rule) = matching
        .filter(|(name, _)| fits(name, setting))
        .max_by_key(|(name, _)| (*name == setting, name.len()))?;
    Some(rule)
}

/// Whether a name with `*` means a setting.
pub(super) fn fits(pattern: &str, setting: &str) -> bool {
    match pattern.split_once('*') {
        None => setting == pattern,
        Some((start, rest)) => {
            let rest = rest.trim_end_matches('*');
            setting.strip_prefix(start).is_some_and(|end| rest.is_empty() || end.contains(rest))
        }
    }
}
