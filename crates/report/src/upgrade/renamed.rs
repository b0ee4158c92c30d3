//! Options that a later version has under another name. Sources: the release notes of PostgreSQL 10, 13, 16; the
//! manual of MySQL 8.4, "Server Variables Removed".

/// What becomes of an option's value under its new name.
#[derive(Clone, Copy)]
enum Value {
    Same,
    /// Multiplied, with a unit after it.
    Times(u64, &'static str),
    Always(&'static str),
    /// Explained in words.
    Words(&'static str),
}

const RENAMED: [(&str, &str, Value); 15] = [
    ("default_authentication_plugin", "authentication_policy", Value::Same),
    ("expire_logs_days", "binlog_expire_logs_seconds", Value::Times(86_400, "")),
    ("force_parallel_mode", "debug_parallel_query", Value::Same),
    ("innodb_file_io_threads", "innodb_read_io_threads", Value::Same),
    (
        "innodb_log_file_size",
        "innodb_redo_log_capacity",
        Value::Words("the size of a file times the number of files"),
    ),
    ("innodb_undo_logs", "innodb_rollback_segments", Value::Same),
    ("log_slow_queries", "slow_query_log", Value::Always("ON")),
    ("log_warnings", "log_error_verbosity", Value::Words("1 for 0, 2 for 1, 3 for 2")),
    ("min_parallel_relation_size", "min_parallel_table_scan_size", Value::Same),
    ("skip_host_cache", "host_cache_size", Value::Always("0")),
    ("storage_engine", "default_storage_engine", Value::Same),
    ("table_cache", "table_open_cache", Value::Same),
    ("tx_isolation", "transaction_isolation", Value::Same),
    ("tx_read_only", "transaction_read_only", Value::Same),
    ("wal_keep_segments", "wal_keep_size", Value::Times(16, "MB")),
];

/// An option to use in place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    pub name: String,
    /// As in a config: `wal_keep_size = 512MB`.
    pub line: String,
}

/// What replaces an option that a build does not know, among those that it does know.
pub(super) fn replacement(option: &str, value: &str, is_known: impl Fn(&str) -> bool) -> Option<Replacement> {
    let listed = RENAMED.iter().find(|(old, ..)| *old == option);
    let listed = listed.map(|(_, new, value)| ((*new).to_owned(), *value));
    // MySQL 8.0.26 began to rename everything that has to do with replication.
    let renamed = |old: &str, new: &str| Some((option.replace(old, new), Value::Same));
    let candidates = [listed, renamed("slave", "replica"), renamed("master", "source")];
    let (name, new_value) =
        candidates.into_iter().flatten().find(|(name, _)| name != option && is_known(name))?;
    let line = match new_value {
        Value::Same if value.is_empty() => name.clone(),
        Value::Same => format!("{name} = {value}"),
        Value::Times(factor, unit) => match value.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)) {
            Some(product) => format!("{name} = {product}{unit}"),
            None => name.clone(),
        },
        Value::Always(value) => format!("{name} = {value}"),
        Value::Words(words) => format!("{name}: {words}"),
    };
    Some(Replacement { name, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_named_only_if_the_build_knows_it() {
        let known = ["wal_keep_size", "replica_parallel_workers", "binlog_expire_logs_seconds"];
        let replacement = |option: &str, value: &str| {
            replacement(option, value, |name| known.contains(&name)).map(|one| one.line)
        };
        let line = |option, value| replacement(option, value).unwrap();
        assert_eq!(line("wal_keep_segments", "32"), "wal_keep_size = 512MB");
        assert_eq!(line("slave_parallel_workers", "4"), "replica_parallel_workers = 4");
        assert_eq!(line("expire_logs_days", "7"), "binlog_expire_logs_seconds = 604800");
        assert_eq!(line("expire_logs_days", "seven"), "binlog_expire_logs_seconds");
        assert_eq!(replacement("tx_isolation", "READ-COMMITTED"), None);
        assert_eq!(replacement("work_mem", "4MB"), None);
    }
}
