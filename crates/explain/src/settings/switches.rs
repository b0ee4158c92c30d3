//! Settings that are lists of switches: `a=on,b=off`, or RocksDB's `{a=1;b=2;}`.

use std::collections::BTreeMap;

use rqps_store::Arm;

/// None if the value is not such a list.
fn list(value: &str) -> Option<BTreeMap<&str, &str>> {
    let braced = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let (inner, separator) = braced.map_or((value, ','), |inner| (inner.trim_end_matches(';'), ';'));
    let pairs: Option<BTreeMap<_, _>> = inner.split(separator).map(|switch| switch.split_once('=')).collect();
    pairs.filter(|pairs| pairs.len() > 1)
}

/// The elements that differ between two lists, ignoring those that one version does not know. None if the values are
/// not such lists.
pub(super) fn switches(before: &str, after: &str) -> Option<(String, String)> {
    let (before, after) = (list(before)?, list(after)?);
    let differing = |these: &BTreeMap<&str, &str>, others: &BTreeMap<&str, &str>| {
        let found =
            these.iter().filter(|(name, value)| others.get(*name).is_some_and(|other| other != *value));
        found.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    };
    Some((differing(&before, &after), differing(&after, &before)))
}

/// The switches that only `new` has, of settings that both have: `optimizer_switch hash_set_operations=on`.
pub fn new_switches(old: &Arm, new: &Arm) -> Vec<String> {
    let of_setting = |name: &str, value: &str| {
        let before = old.settings.iter().find(|setting| setting.name == name)?;
        let (before, after) = (list(&before.value)?, list(value)?);
        let added = after.iter().filter(|(switch, _)| !before.contains_key(*switch));
        Some(added.map(|(switch, value)| format!("{name} {switch}={value}")).collect::<Vec<_>>())
    };
    let settings = new.settings.iter();
    settings.filter_map(|setting| of_setting(&setting.name, &setting.value)).flatten().collect()
}

/// The switches of a config's value that a server with the value `in_effect` knows; `None` if these are no such lists,
/// or it knows all or none.
pub(crate) fn only_known_switches(written: &str, in_effect: &str) -> Option<String> {
    let known = list(in_effect)?;
    let is_known =
        |switch: &&str| switch.split_once('=').is_some_and(|(name, _)| known.contains_key(name.trim()));
    let all: Vec<&str> = written.split(',').collect();
    let kept: Vec<&str> = all.iter().copied().filter(is_known).collect();
    (!kept.is_empty() && kept.len() < all.len()).then(|| kept.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_switches_are_left_out_of_a_value() {
        let known = |written| only_known_switches(written, "mrr=off,hash_join=on");
        assert_eq!(known("mrr=on,engine_condition_pushdown=off").as_deref(), Some("mrr=on"));
        assert_eq!((known("mrr=maybe"), known("loosescan=on"), known("4096")), (None, None, None));
    }

    #[test]
    fn only_switches_known_to_both_versions_are_compared() {
        assert_eq!(switches("a=on,b=on", "a=on,b=off,c=on"), Some(("b=on".into(), "b=off".into())));
        assert_eq!(switches("a=on,b=on", "a=on,b=on,c=on"), Some((String::new(), String::new())));
        assert_eq!(switches("4096", "8192"), None);
        assert_eq!(switches("{ttl=0;a=1;}", "{b=2;a=3;}"), Some(("a=1".into(), "a=3".into())));
    }
}
