//! Options that a later version has under another name. Sources: the release notes of PostgreSQL 10, 13, 16; the
//! manual of MySQL 8.4, "Server Variables Removed".

const RENAMED: [(&str, &str); 15] = [
    ("default_authentication_plugin", "authentication_policy"),
    ("expire_logs_days", "binlog_expire_logs_seconds"),
    ("force_parallel_mode", "debug_parallel_query"),
    ("innodb_file_io_threads", "innodb_read_io_threads"),
    ("innodb_log_file_size", "innodb_redo_log_capacity"),
    ("innodb_undo_logs", "innodb_rollback_segments"),
    ("log_slow_queries", "slow_query_log"),
    ("log_warnings", "log_error_verbosity"),
    ("min_parallel_relation_size", "min_parallel_table_scan_size"),
    ("skip_host_cache", "host_cache_size"),
    ("storage_engine", "default_storage_engine"),
    ("table_cache", "table_open_cache"),
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("wal_keep_segments", "wal_keep_size"),
];

/// What replaces an option that a build does not know, among those that it does know.
pub(super) fn replacement(option: &str, is_known: impl Fn(&str) -> bool) -> Option<String> {
    let listed = RENAMED.iter().find(|(old, _)| *old == option).map(|(_, new)| (*new).to_owned());
    // MySQL 8.0.26 began to rename everything that has to do with replication.
    let candidates =
        [listed, Some(option.replace("slave", "replica")), Some(option.replace("master", "source"))];
    candidates.into_iter().flatten().find(|name| name != option && is_known(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_named_only_if_the_build_knows_it() {
        let known = ["wal_keep_size", "replica_parallel_workers"];
        let replacement = |option: &str| replacement(option, |name| known.contains(&name));
        assert_eq!(replacement("wal_keep_segments").as_deref(), Some("wal_keep_size"));
        assert_eq!(replacement("slave_parallel_workers").as_deref(), Some("replica_parallel_workers"));
        assert_eq!(replacement("tx_isolation"), None);
        assert_eq!(replacement("work_mem"), None);
    }
}
