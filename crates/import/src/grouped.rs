//! Values by what they have in common.

use std::collections::BTreeMap;

/// All values of each key, in their order.
pub fn grouped<K: Ord, V, C: Default + Extend<V>>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, C> {
    let mut groups: BTreeMap<K, C> = BTreeMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().extend([value]);
    }
    groups
}
