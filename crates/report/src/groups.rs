//! The groups of tests: the order in which tables show them, and what they are called.

/// Key, title and short name, in the order of the tables.
const GROUPS: [(&str, &str, &str); 6] = [
    ("point", "point queries", "point"),
    ("range", "range queries without aggregation", "range"),
    ("range-aggregate", "range queries with aggregation", "range with aggregation"),
    ("write", "writes", "writes"),
    (INSERT, "inserts", "inserts"),
    (BACKGROUND, "queries beside writes", "queries beside writes"),
];

/// Steps of the Insert Benchmark that write as fast as they can, and those that query beside writes at a given rate.
const INSERT: &str = "insert";
const BACKGROUND: &str = "background";

/// Whether the group's steps share a table that is a queue. Such a step finds what the one before it left, so tables
/// keep their order.
pub(crate) fn is_queue(key: &str) -> bool {
    matches!(key, INSERT | BACKGROUND)
}

/// Whether the group's steps query beside writes at a given rate.
pub(crate) fn is_background(key: &str) -> bool {
    key == BACKGROUND
}

/// What steps are sorted by: the group, then their place in the plan where that means something, else the name.
pub(crate) fn place<'a>(key: &'a str, name: &'a str, position: usize) -> ((usize, &'a str), usize, &'a str) {
    (order(key), if is_queue(key) { position } else { 0 }, name)
}

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
