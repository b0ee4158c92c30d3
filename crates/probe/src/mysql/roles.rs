//! Roles of MySQL's and MariaDB's threads, named alike for all versions: from a thread's name in performance_schema,
//! otherwise from its name in the kernel.

/// Role of the first thread, which accepts connections.
pub(crate) const MAIN: &str = "main";
/// Role of sessions other than the measured clients'.
const OTHER_SESSION: &str = "other session";
/// Role of unknown threads.
const UNKNOWN: &str = "other thread";

/// Names in performance_schema, without path and suffix, that differ from the role.
const INSTRUMENTS: [(&str, &str); 11] = [
    ("one_connection", OTHER_SESSION),
    ("srv_purge", "purge"),
    ("srv_worker", "purge worker"),
    ("srv_master", "master"),
    ("page_flush", "page cleaner"),
    ("page_flush_coordinator", "page cleaner"),
    ("srv_lock_timeout", "lock timeout"),
    ("srv_error_monitor", "error monitor"),
    ("srv_monitor", "monitor"),
    ("thread_pool", "task pool"),
    ("InnoDB purge coordinator", "purge"),
];

/// Names of threads in MySQL 8.0 and later, truncated by the kernel to 15 characters, without trailing numbers.
const NAMES: [(&str, &str); 19] = [
    ("connection", OTHER_SESSION),
    ("ib_src_main", "master"),
    ("ib_srv_purge", "purge"),
    ("ib_srv_wkr", "purge worker"),
    ("ib_pg_flush_co", "page cleaner"),
    ("ib_pg_flush", "page cleaner"),
    ("ib_io_rd", "io read"),
    ("ib_io_wr", "io write"),
    ("ib_io_ibuf", "io ibuf"),
    ("ib_io_log", "io log"),
    ("ib_log_checkpt", "log checkpointer"),
    ("ib_log_flush", "log flusher"),
    ("ib_log_fl_notif", "log flush notifier"),
    ("ib_log_writer", "log writer"),
    ("ib_log_wr_notif", "log write notifier"),
    ("ib_log_files_g", "log files governor"),
    ("ib_srv_lock_to", "lock timeout"),
    ("ib_srv_err_mon", "error monitor"),
    ("ib_srv_mon", "monitor"),
];

/// Role of a thread by its name in performance_schema (`thread/innodb/io_read_thread` is `io read`), or by the state
/// of a background thread in MariaDB's process list: `InnoDB purge worker`.
pub(crate) fn role_of_instrument(path: &str) -> String {
    let name =
        path.strip_prefix("thread/").and_then(|path| path.split_once('/')).map_or(path, |(_, name)| name);
    let name = name.strip_suffix("_thread").unwrap_or(name);
    match INSTRUMENTS.iter().find(|(known, _)| *known == name) {
        Some((_, role)) => (*role).to_owned(),
        None if path.starts_with("thread/mysqlx/") => format!("mysqlx {}", name.replace('_', " ")),
        None => name.trim_start_matches("InnoDB ").replace('_', " "),
    }
}

/// Role of a thread by its name in the kernel.
pub(crate) fn role_of_name(name: &str) -> String {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    match NAMES.iter().find(|(known, _)| *known == base) {
        Some((_, role)) => (*role).to_owned(),
        // Unnamed threads have the program's name.
        None if ["mysqld", "mariadbd"].contains(&name) => UNKNOWN.to_owned(),
        None => base.strip_prefix("ib_").unwrap_or(base).replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_all_versions_have_the_same_roles() {
        for (path, role) in [
            ("thread/sql/one_connection", OTHER_SESSION),
            ("thread/sql/main", MAIN),
            ("thread/innodb/page_cleaner_thread", "page cleaner"),
            ("thread/innodb/page_flush_coordinator_thread", "page cleaner"),
            ("thread/innodb/log_writer_thread", "log writer"),
            ("thread/innodb/srv_purge_thread", "purge"),
            ("thread/sql/signal_handler", "signal handler"),
            ("thread/mysqlx/worker", "mysqlx worker"),
            ("InnoDB purge coordinator", "purge"),
            ("InnoDB purge worker", "purge worker"),
        ] {
            assert_eq!(role_of_instrument(path), role, "{path}");
        }
        for (name, role) in [
            ("connection", OTHER_SESSION),
            ("ib_io_rd-3", "io read"),
            ("ib_pg_flush_co", "page cleaner"),
            ("ib_clone_gtid", "clone gtid"),
            ("mysqld", UNKNOWN),
        ] {
            assert_eq!(role_of_name(name), role, "{name}");
        }
    }
}
