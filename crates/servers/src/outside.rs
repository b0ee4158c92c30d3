//! Options of a config that reach beyond a run: into files of the server that the config is from, to programs, and to
//! other servers, which a throw-away server must neither change nor wait for.

use rqps_model::LeftOut;

/// Options of Postgres that run programs, wait for other servers, keep files elsewhere, or name a group of users of
/// another machine. Of archiving also the switch: without a program, log files would be kept for it.
pub(crate) const OF_POSTGRES: [&str; 12] = [
    "archive_cleanup_command",
    "archive_command",
    "archive_library",
    "archive_mode",
    "primary_conninfo",
    "promote_trigger_file",
    "recovery_end_command",
    "restore_command",
    "ssl_passphrase_command",
    "stats_temp_directory",
    "synchronous_standby_names",
    "unix_socket_group",
];

/// Options of MySQL and MariaDB whose name of files stays without its directory: without a value, they switch a log on.
const NAMES_OF_LOGS: [&str; 1] = ["log_bin"];

/// Options of MySQL and MariaDB that have commits wait for replicas, none of which connects.
const WAITS_FOR_REPLICAS: [&str; 2] = ["rpl_semi_sync_master_timeout", "rpl_semi_sync_source_timeout"];

/// Beginning of MySQL's options that have a server join others.
const JOINS: &str = "group_replication_";

/// In names of options whose files are only read, and that make a difference: certificates and keys.
const ONLY_READ: [&str; 2] = ["ssl_", "_key_path"];

const REASON: &str = "it points outside the test server";

/// Why such an option is left out.
pub(crate) fn left_out() -> LeftOut {
    LeftOut { reason: REASON.to_owned(), ..LeftOut::default() }
}

/// An option of MySQL or MariaDB with paths out of the data directory or that depends on other servers, and the value
/// that is set instead; empty if none is. `None` if it is no such option.
pub(crate) fn of_mysql(option: &str, value: &str) -> Option<(LeftOut, String)> {
    let left = LeftOut { option: option.to_owned(), value: value.to_owned(), ..left_out() };
    if option.starts_with(JOINS) {
        return Some((left, String::new()));
    }
    if WAITS_FOR_REPLICAS.contains(&option) && value != "0" {
        let reason = "0 is used: no replica connects, and commits would wait for one".to_owned();
        let taken = Some("0".to_owned());
        return Some((LeftOut { reason, taken, ..left }, "0".to_owned()));
    }
    let leads_out = |path: &str| path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
    if ONLY_READ.iter().any(|part| option.contains(part)) || !value.split([';', ':']).any(leads_out) {
        return None;
    }
    let name = value.rsplit('/').next().filter(|_| NAMES_OF_LOGS.contains(&option)).unwrap_or_default();
    let mut left = left;
    if !name.is_empty() {
        (left.reason, left.taken) = (format!("{name} is used: {REASON}"), Some(name.to_owned()));
    }
    Some((left, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_out_of_the_data_directory_are_left_out() {
        let instead = |option, value| of_mysql(option, value).map(|(left, name)| (left.taken, name));
        assert_eq!(
            instead("log_bin", "/var/log/mysql/mysql-bin"),
            Some((Some("mysql-bin".to_owned()), "mysql-bin".to_owned()))
        );
        for (option, value) in [
            ("innodb_undo_directory", "/srv/undo"),
            ("general_log_file", "../general.log"),
            ("innodb_data_file_path", "ibdata1:12M;/srv/ibdata2:12M:autoextend"),
            ("innodb_directories", "/a;/b"),
            ("relay_log", "~/relay"),
            ("group_replication_group_seeds", "db1:33061,db2:33061"),
        ] {
            assert_eq!(instead(option, value), Some((None, String::new())), "{option}");
        }
        let timeout = instead("rpl_semi_sync_source_timeout", "4294967295");
        assert_eq!(timeout, Some((Some("0".to_owned()), "0".to_owned())));
        for (option, value) in [
            ("log_bin", "binlog"),
            ("innodb_data_file_path", "ibdata1:12M:autoextend"),
            ("innodb_ft_server_stopword_table", "a/b"),
            ("ssl_ca", "/etc/mysql/ca.pem"),
            ("innodb_buffer_pool_size", "1G"),
        ] {
            assert_eq!(instead(option, value), None, "{option}");
        }
    }
}
