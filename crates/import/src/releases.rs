//! Versions of a DBMS in names.

use rqps_model::Dbms;

use crate::arms::version_in_name;
use crate::words::placed;

/// What programs call a DBMS: the number at the end of such a word is that of a version.
const OF_VERSIONS: [(&str, Dbms); 8] = [
    ("pg", Dbms::Postgres),
    ("postgres", Dbms::Postgres),
    ("postgresql", Dbms::Postgres),
    ("rel", Dbms::Postgres),
    ("my", Dbms::Mysql),
    ("mysql", Dbms::Mysql),
    ("maria", Dbms::Mariadb),
    ("mariadb", Dbms::Mariadb),
];
/// The DBMS that is called so.
pub fn dbms_of_word(word: &str) -> Option<Dbms> {
    let is = |(name, _): &&(&str, Dbms)| word.eq_ignore_ascii_case(name);
    OF_VERSIONS.iter().find(is).map(|(_, dbms)| *dbms)
}

/// Where a name tells a version: `pg17`, `mysql-8.0.36`, `8.4.6`, or a DBMS alone.
pub fn version_at(stem: &str) -> Option<(usize, usize)> {
    let all = placed(stem);
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.len() < 9;
    let is_version = |word: &str| {
        let parts: Option<Vec<u32>> = word.split('.').map(|part| part.parse().ok()).collect();
        parts.is_some_and(|parts| parts.len() > 2 || parts.len() == 2 && (5..=30).contains(&parts[0]))
    };
    let of_word = |at: usize| {
        let (from, word) = all[at];
        let to = from + word.len();
        let next = all.get(at + 1).filter(|(_, next)| is_number(next));
        if let Some(known) = dbms_of_word(word) {
            let of_next = next.map(|(at, next)| at + next.len());
            let is_version = |to: &usize| version_in_name(&stem[from..*to], known).is_some();
            let is_whole = !["rel", "my", "pg", "maria"].contains(&&*word.to_ascii_lowercase());
            return of_next.filter(is_version).or(is_whole.then_some(to)).map(|to| (from, to));
        }
        let is_of_dbms = || {
            let name = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            dbms_of_word(name).is_some_and(|dbms| version_in_name(word, dbms).is_some())
        };
        (is_version(word) || is_of_dbms()).then_some((from, to))
    };
    (0..all.len()).find_map(of_word)
}

/// The version that a name tells.
pub fn version_of(stem: &str) -> Option<&str> {
    version_at(stem).map(|(from, to)| &stem[from..to])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_versions() {
        for (stem, version) in [
            ("mysql80", Some("mysql80")),
            ("oltp_read_only_pg17", Some("pg17")),
            ("mysql-8.0.36-ro", Some("mysql-8.0.36")),
            ("8.4.6_ro", Some("8.4.6")),
            ("mariadb", Some("mariadb")),
            ("pg_17", Some("pg_17")),
            ("ro-1.1", None),
            ("page-4", None),
            ("pg1", None),
        ] {
            assert_eq!(version_of(stem), version, "{stem}");
        }
    }
}
