//! Options of a config that reach beyond a run: into files of the server that the config is from, to programs, and to
//! other servers, which a throw-away server must neither change nor wait for.

use rqps_model::LeftOut;

/// Options of Postgres that run programs, wait for other servers, or keep files elsewhere. Of archiving also the
/// switch: without a program, log files would be kept for it.
pub(crate) const OF_POSTGRES: [&str; 11] = [
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
];

/// Options of MySQL and MariaDB whose name of files stays without its directory: without a value, they switch a log on.
const NAMES_OF_LOGS: [&str; 1] = ["log_bin"];

/// In names of options whose files are only read, and that make a difference: certificates and keys.
const ONLY_READ: [&str; 2] = ["ssl_", "_key_path"];

const REASON: &str = "it reaches beyond the run";

/// Why such an option is left out.
pub(crate) fn left_out() -> LeftOut {
    LeftOut { reason: REASON.to_owned(), ..LeftOut::default() }
}

/// An option of MySQL or MariaDB with paths out of the data directory, and the value that is set instead; empty if none
/// is. `None` if it has no such path.
pub(crate) fn of_mysql(option: &str, value: &str) -> Option<(LeftOut, String)> {
    let leads_out = |path: &str| path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
    if ONLY_READ.iter().any(|part| option.contains(part)) || !value.split([';', ':']).any(leads_out) {
        return None;
    }
    let name = value.rsplit('/').next().filter(|_| NAMES_OF_LOGS.contains(&option)).unwrap_or_default();
    let mut left = LeftOut { option: option.to_owned(), value: value.to_owned(), ..left_out() };
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
        ] {
            assert_eq!(instead(option, value), Some((None, String::new())), "{option}");
        }
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
