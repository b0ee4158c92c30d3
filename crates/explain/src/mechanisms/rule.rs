//! Rules about settings, and how they match names.

use super::needs::Needs;
use super::way::Way;
use crate::model::Cause::{self, CpuTime, Cycles, Function, Instructions, Planning, QueryPlan};

/// Names of settings, separated by blanks, with `*` as a wildcard; causes they can affect; what has to be
/// active for that; the direction. If several rules match a setting, the one with the longest name wins.
pub(super) type Rule = (&'static str, &'static [Cause], Needs, Way);

/// CPU time of each statement.
pub(super) const CODE: &[Cause] = &[Instructions, CpuTime, Function, Cycles];
/// A different query plan, or more planning.
pub(super) const PLANNING: &[Cause] = &[QueryPlan, Planning, Instructions, CpuTime, Function];

/// The rule for a setting, if any. No setting name means different things in two DBMSs.
pub(super) fn rule_of<'a>(rules: impl Iterator<Item = &'a Rule>, setting: &str) -> Option<&'a Rule> {
    let matching = rules.flat_map(|rule| rule.0.split(' ').map(move |name| (name, rule)));
    let (_, rule) = matching
        .filter(|(name, _)| fits(name, setting))
        .max_by_key(|(name, _)| (*name == setting, name.len()))?;
    Some(rule)
}

/// Whether a name with an optional `*` matches a setting.
pub(super) fn fits(pattern: &str, setting: &str) -> bool {
    match pattern.split_once('*') {
        None => setting == pattern,
        Some((start, rest)) => {
            let rest = rest.trim_end_matches('*');
            setting.strip_prefix(start).is_some_and(|end| rest.is_empty() || end.contains(rest))
        }
    }
}
