//! Times of which `pg_stat_statements` has only a parameter. `DATE $1` is no SQL, and no whole number can be cast to a
//! date: so an expression computes one from a variable.

use super::super::pieces::is_word;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Date,
    Timestamp,
    TimestampTz,
    OfDay,
    Interval,
}

/// Names of types, the longer ones first.
const NAMES: [(&str, Time); 7] = [
    ("TIMESTAMP WITH TIME ZONE", Time::TimestampTz),
    ("TIMESTAMP WITHOUT TIME ZONE", Time::Timestamp),
    ("TIMESTAMPTZ", Time::TimestampTz),
    ("TIMESTAMP", Time::Timestamp),
    ("DATE", Time::Date),
    ("TIME", Time::OfDay),
    ("INTERVAL", Time::Interval),
];

impl Time {
    /// One of this type, from a variable: a day, or for each hour or second another one.
    pub fn expression(self, name: &str) -> String {
        match self {
            Time::Date => format!("(date '2024-01-01' + :{name}::int)"),
            Time::Timestamp => format!("(timestamp '2024-01-01' + :{name} * interval '1 hour')"),
            Time::TimestampTz => format!("(timestamptz '2024-01-01' + :{name} * interval '1 hour')"),
            Time::OfDay => format!("(time '00:00' + :{name} * interval '1 second')"),
            Time::Interval => format!("(:{name} * interval '1 day')"),
        }
    }
}

/// Where the type's name right before a literal begins, and which it is: of `d > DATE `, 4.
pub(super) fn named_before(text: &str) -> Option<(usize, Time)> {
    let text = text.trim_end();
    let is_end = |name: &str| {
        let at = text.len().checked_sub(name.len())?;
        let is_name = text.get(at..)?.eq_ignore_ascii_case(name);
        let is_whole = !text[..at].ends_with(|c: char| is_word(c) || ".\"".contains(c));
        (is_name && is_whole).then_some(at)
    };
    NAMES.iter().find_map(|(name, time)| Some((is_end(name)?, *time)))
}

/// The type that a cast around a literal names: `::date`, or `CAST(` before and ` AS date` after it.
pub(super) fn cast_to(before: &str, after: &str) -> Option<Time> {
    let before = before.trim_end().strip_suffix('(').map(str::trim_end).unwrap_or_default();
    let is_cast =
        before.get(before.len().saturating_sub(4)..).is_some_and(|word| word.eq_ignore_ascii_case("CAST"));
    let after = after.trim_start();
    let by_word =
        || after.get(..2).filter(|word| is_cast && word.eq_ignore_ascii_case("AS")).map(|_| &after[2..]);
    let rest = after.strip_prefix("::").or_else(by_word)?.trim_start();
    let begins = |name: &str| {
        rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
            && !rest[name.len()..].starts_with(is_word)
    };
    NAMES.iter().find(|(name, _)| begins(name)).map(|(_, time)| *time)
}
