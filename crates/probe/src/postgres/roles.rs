//! Roles of Postgres processes, from their process titles.

/// Role of the first process.
pub(crate) const POSTMASTER: &str = "postmaster";
/// Role of sessions other than the measured clients'.
pub(crate) const OTHER_SESSION: &str = "other session";

/// Prefixes of titles, after `postgres: `, and their roles. Before 11 most titles end in ` process`; 10 prefixes
/// workers of extensions with `bgworker: `.
const TITLES: [(&str, &str); 21] = [
    ("checkpointer", "checkpointer"),
    ("background writer", "background writer"),
    ("writer process", "background writer"),
    ("bgwriter", "background writer"),
    ("walwriter", "wal writer"),
    ("wal writer", "wal writer"),
    ("walreceiver", "wal receiver"),
    ("wal receiver", "wal receiver"),
    ("walsender", "wal sender"),
    ("wal sender", "wal sender"),
    ("walsummarizer", "wal summarizer"),
    ("autovacuum launcher", "autovacuum launcher"),
    ("autovacuum worker", "autovacuum worker"),
    ("stats collector", "stats collector"),
    ("io worker", "io worker"),
    ("parallel worker", "parallel worker"),
    ("logical replication", "logical replication"),
    ("archiver", "archiver"),
    ("logger", "logger"),
    ("startup", "startup"),
    ("slotsync worker", "slot sync worker"),
];

/// Role of the process with this title, named alike for all versions.
pub(crate) fn role_of(title: &str) -> &'static str {
    let Some(rest) = title.strip_prefix("postgres: ") else {
        return POSTMASTER;
    };
    // With cluster_name set, its value precedes the role: `postgres: main: checkpointer`.
    known(rest).or_else(|| known(rest.split_once(": ")?.1)).unwrap_or(OTHER_SESSION)
}

fn known(title: &str) -> Option<&'static str> {
    let title = title.strip_prefix("bgworker: ").unwrap_or(title);
    TITLES.iter().find(|(start, _)| title.starts_with(start)).map(|(_, role)| *role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_all_versions_have_the_same_roles() {
        for (title, role) in [
            ("/opt/pg/bin/postgres -D /data -p 5433", POSTMASTER),
            ("postgres: checkpointer process", "checkpointer"),
            ("postgres: checkpointer", "checkpointer"),
            ("postgres: 18/main: checkpointer", "checkpointer"),
            ("postgres: writer process", "background writer"),
            ("postgres: wal writer process", "wal writer"),
            ("postgres: walwriter", "wal writer"),
            ("postgres: autovacuum worker process   bench", "autovacuum worker"),
            ("postgres: bgworker: logical replication launcher", "logical replication"),
            ("postgres: io worker 2", "io worker"),
            ("postgres: bench bench [local] SELECT", OTHER_SESSION),
            ("postgres: main: bench bench 127.0.0.1(5000) idle", OTHER_SESSION),
        ] {
            assert_eq!(role_of(title), role, "{title}");
        }
    }
}
