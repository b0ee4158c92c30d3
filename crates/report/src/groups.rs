//! The groups of tests: the order in which tables show them, and what they are called.

/// Key, title and short name, in the order of the tables.
const GROUPS: [(&str, &str, &str); 4] = [
    ("point", "point queries", "point"),
    ("range", "range queries without aggregation", "range"),
    ("range-aggregate", "range queries with aggregation", "range with aggregation"),
    ("write", "writes", "writes"),
];

fn find(key: &str) -> Option<usize> {
    GROUPS.iter().position(|(known, _, _)| *known == key)
}

/// Place of a group among the tables; groups that are not known come last, by name.
pub(crate) fn order(key: &str) -> (usize, &str) {
    (find(key).unwrap_or(GROUPS.len()), key)
}

/// Heading of the group's table.
pub(crate) fn title(key: &str) -> &str {
    find(key).map_or(key, |index| GROUPS[index].1)
}

/// The group's name in a sentence.
pub(crate) fn short(key: &str) -> &str {
    find(key).map_or(key, |index| GROUPS[index].2)
}
