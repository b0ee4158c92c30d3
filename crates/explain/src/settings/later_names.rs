//! Settings that a later version has under another name.

use super::Known;
use crate::renamed;

/// Gives settings that another version has only under a later name that name, and the value that they have under it.
pub(super) fn take_later_names(known: &mut Known, other: &Known) {
    let gone: Vec<String> = known.keys().filter(|name| !other.contains_key(*name)).cloned().collect();
    for name in gone {
        let is_later = |later: &str| other.contains_key(later) && !known.contains_key(later);
        let value_of = |name: &str| known.get(name).map(|(value, _)| value.clone());
        let value = value_of(&name).unwrap_or_default();
        let later = renamed::replacement((&name, &value), value_of, is_later);
        if let Some((later, value)) = later.and_then(|later| Some((later.name, later.value?)))
            && let Some((_, is_default)) = known.remove(&name)
        {
            known.insert(later, (value, is_default));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings;
    use super::*;

    #[test]
    fn a_renamed_setting_is_compared_under_its_later_name() {
        let set = |name: &str, value: &str, default| (name.to_owned(), (value.to_owned(), default));
        let old = Known::from([
            set("force_parallel_mode", "on", false),
            set("slave_parallel_workers", "0", true),
            set("wal_keep_segments", "4", false),
        ]);
        let new = Known::from([
            set("debug_parallel_query", "on", false),
            set("replica_parallel_workers", "4", true),
            set("wal_keep_size", "64MB", false),
        ]);
        for (base, arm) in [(&old, &new), (&new, &old)] {
            let (mut base, mut arm) = (base.clone(), arm.clone());
            take_later_names(&mut base, &arm);
            take_later_names(&mut arm, &base);
            let found: Vec<String> = settings(&base, &arm).into_iter().map(|one| one.name).collect();
            assert_eq!(found, ["replica_parallel_workers"]);
        }
    }
}
