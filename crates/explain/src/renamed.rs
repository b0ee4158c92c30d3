//! Options that a later version has under another name. Sources: settings of PostgreSQL 9.6 to 18, one by one; the
//! manuals of MySQL 8.4 and 9.0, "Server Variables Removed".

use rqps_model::{ServerSetting, later_words, natural};
use rqps_store::Arm;

use crate::settings::{is_in_config, only_known_switches};

/// What becomes of an option's value under its new name.
#[derive(Clone, Copy)]
enum Value {
    Same,
    /// Multiplied, with a unit after it.
    Times(u64, &'static str),
    Always(&'static str),
    /// The size of each of several files becomes that of all.
    SizeOfFiles,
    /// `log_warnings` from 0 becomes a verbosity from 1 to 3.
    Verbosity,
    Plugin,
    /// TLS that is off becomes an empty list of protocols; it is on by default.
    NoProtocols,
}

const RENAMED: [(&str, &str, Value); 20] = [
    ("checkpoint_segments", "max_wal_size", Value::Times(48, "MB")),
    ("default_authentication_plugin", POLICY, Value::Plugin),
    ("expire_logs_days", "binlog_expire_logs_seconds", Value::Times(86_400, "")),
    ("force_parallel_mode", "debug_parallel_query", Value::Same),
    ("innodb_file_io_threads", "innodb_read_io_threads", Value::Same),
    (SIZE_OPTION, "innodb_redo_log_capacity", Value::SizeOfFiles),
    ("innodb_stats_sample_pages", "innodb_stats_transient_sample_pages", Value::Same),
    ("innodb_undo_logs", "innodb_rollback_segments", Value::Same),
    ("log_slow_queries", "slow_query_log", Value::Always("ON")),
    ("log_warnings", "log_error_verbosity", Value::Verbosity),
    ("min_parallel_relation_size", "min_parallel_table_scan_size", Value::Same),
    ("skip_host_cache", "host_cache_size", Value::Always("0")),
    ("skip_ssl", "tls_version", Value::Always(EMPTY)),
    ("ssl", "tls_version", Value::NoProtocols),
    ("ssl_ecdh_curve", "ssl_groups", Value::Same),
    ("storage_engine", "default_storage_engine", Value::Same),
    ("table_cache", "table_open_cache", Value::Same),
    ("tx_isolation", "transaction_isolation", Value::Same),
    ("tx_read_only", "transaction_read_only", Value::Same),
    ("wal_keep_segments", "wal_keep_size", Value::Times(16, "MB")),
];

/// Two names of one option in MariaDB, neither of them deprecated.
const ALIAS_IN_MARIADB: &str = "expire_logs_days";

/// As written in `my.cnf`.
const EMPTY: &str = "''";
const OFF: [&str; 3] = ["0", "off", "false"];

const FILES_OPTION: &str = "innodb_log_files_in_group";
const SIZE_OPTION: &str = "innodb_log_file_size";
/// MySQL's default of [`FILES_OPTION`].
const FILES_DEFAULT: u64 = 2;
const POLICY: &str = "authentication_policy";
/// Not in MySQL 9.0 and later.
const REMOVED_PLUGIN: &str = "mysql_native_password";

const LATER_PLUGIN: &str = "caching_sha2_password";
const MOVE_ACCOUNTS: &str =
    "accounts must move to caching_sha2_password first; MySQL 9 has no mysql_native_password";
const MOVE_LATER: &str = "accounts must move to caching_sha2_password before MySQL 9";

/// Options that went, and the version without them: neither version of an upgrade need know them. Source of those of
/// PostgreSQL: its release notes.
const REMOVED: [(&str, &str); 11] = [
    (REMOVED_PLUGIN, "MySQL 9.0"),
    ("db_user_namespace", "PostgreSQL 17"),
    ("old_snapshot_threshold", "PostgreSQL 17"),
    ("operator_precedence_warning", "PostgreSQL 14"),
    ("promote_trigger_file", "PostgreSQL 16"),
    ("replacement_sort_tuples", "PostgreSQL 11"),
    ("sql_inheritance", "PostgreSQL 10"),
    ("stats_temp_directory", "PostgreSQL 15"),
    ("trace_recovery_messages", "PostgreSQL 17"),
    ("vacuum_cleanup_index_scale_factor", "PostgreSQL 14"),
    ("vacuum_defer_cleanup_age", "PostgreSQL 16"),
];

/// Values that a later version has under other names, and what to know besides.
const RENAMED_VALUES: [(&str, &str, &str, &str); 2] = [
    ("character_set_server", "utf8", "utf8mb3", "what utf8 meant; or utf8mb4"),
    ("password_encryption", "on", "md5", "what on meant; or scram-sha-256, since 18 deprecates md5"),
];

/// Values of which a version says only in its manual that they are deprecated, not in its log: the DBMS, the first such
/// version, and what to use. Source: PostgreSQL 18, "Release Notes".
const DEPRECATED_VALUES: [(&str, &str, &str, &str, &str); 1] =
    [("postgres", "password_encryption", "md5", "18", "scram-sha-256")];

/// Elements of lists that later versions refuse: MySQL 8.0.28 removed old versions of TLS, MySQL 8.0 modes.
const REMOVED_ELEMENTS: [(&str, &[&str]); 2] = [
    (
        "sql_mode",
        &[
            "DB2",
            "MAXDB",
            "MSSQL",
            "MYSQL323",
            "MYSQL40",
            "NO_AUTO_CREATE_USER",
            "NO_FIELD_OPTIONS",
            "NO_KEY_OPTIONS",
            "NO_TABLE_OPTIONS",
            "ORACLE",
            "POSTGRESQL",
        ],
    ),
    ("tls_version", &["TLSv1", "TLSv1.1"]),
];

/// Beginnings of collations' names, old and new.
const UTF8: (&str, &str) = ("utf8_", "utf8mb3_");

/// Each of MySQL's that is not set follows from those that are.
const CHARACTER_SETS: [&str; 6] = [
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "character_set_server",
    "collation_connection",
    "collation_server",
];

/// What to write in place of an option's value that a version refuses. `in_effect` is the value that it has there.
pub fn replaced_value(option: &str, value: &str, in_effect: &str) -> Option<Replacement> {
    let replacement =
        |value: String, advice| Replacement { name: option.to_owned(), value: Some(value), advice };
    let renamed =
        RENAMED_VALUES.iter().find(|(name, old, ..)| *name == option && old.eq_ignore_ascii_case(value));
    if let Some((_, _, new, advice)) = renamed {
        return Some(replacement((*new).to_owned(), advice));
    }
    if option == POLICY && value.contains(REMOVED_PLUGIN) {
        return Some(replacement(value.replace(REMOVED_PLUGIN, LATER_PLUGIN), MOVE_ACCOUNTS));
    }
    let removed = REMOVED_ELEMENTS.iter().find(|(name, _)| *name == option).map(|(_, removed)| *removed);
    let without_removed = removed.and_then(|removed| {
        let elements: Vec<&str> = value.split(',').map(str::trim).collect();
        let is_removed = |one: &&&str| removed.iter().any(|removed| removed.eq_ignore_ascii_case(one));
        let kept: Vec<&str> = elements.iter().filter(|one| !is_removed(one)).copied().collect();
        (!kept.is_empty() && kept.len() < elements.len()).then(|| kept.join(","))
    });
    let collation = || {
        let lower = value.to_ascii_lowercase();
        let rest = lower.strip_prefix(UTF8.0).filter(|_| option == "collation_server")?;
        Some(format!("{}{rest}", UTF8.1))
    };
    let new = without_removed.or_else(collation).or_else(|| only_known_switches(value, in_effect))?;
    Some(replacement(new, ""))
}

/// The version that removed an option.
pub fn removed(option: &str) -> Option<&'static str> {
    REMOVED.iter().find(|(removed, _)| *removed == option).map(|(_, version)| *version)
}

/// Whether a server derives a setting from an option.
pub fn follows(setting: &str, option: &str) -> bool {
    setting != option && [setting, option].iter().all(|name| CHARACTER_SETS.contains(name))
}

/// An option to use in place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub name: String,
    /// Its value; `None` if only the user can choose one.
    pub value: Option<String>,
    /// What to know besides.
    advice: &'static str,
}

impl Replacement {
    /// As in a config, `wal_keep_size = 512MB`, with advice in parentheses if there is any.
    pub fn text(&self) -> String {
        let line = self.value.as_ref().map_or_else(|| self.name.clone(), |value| self.line_with(value));
        if self.advice.is_empty() { line } else { format!("{line} ({})", self.advice) }
    }

    /// As in a config; `None` without a value.
    pub fn line(&self) -> Option<String> {
        self.value.as_ref().map(|value| self.line_with(value))
    }

    fn line_with(&self, value: &str) -> String {
        if value.is_empty() { self.name.clone() } else { format!("{} = {value}", self.name) }
    }
}

/// Names under which a later version may have an option.
pub fn later_names(option: &str) -> Vec<String> {
    let listed = RENAMED.iter().find(|(old, ..)| *old == option).map(|(_, new, _)| (*new).to_owned());
    listed.into_iter().chain(later_words(option)).collect()
}

/// The later name under which an arm has an option of its config that its build does not know, if that is set, be it to
/// what is the default.
pub fn set_as<'a>(arm: &'a Arm, option: &str) -> Option<&'a str> {
    arm.left_out.iter().find(|left| left.option == option && left.taken.is_none())?;
    // The size of the log's files stands for their number, too.
    let later = later_names(if option == FILES_OPTION { SIZE_OPTION } else { option });
    let is_set = |setting: &ServerSetting| !setting.default || is_in_config(&arm.config_text, &setting.name);
    let setting = arm.settings.iter().find(|setting| later.contains(&setting.name) && is_set(setting))?;
    Some(&setting.name)
}

/// Settings of `old`'s config that `new` still takes under their former names, with the name and the value that they
/// have now.
pub fn former_names<'a>(old: &'a Arm, new: &'a Arm) -> impl Iterator<Item = (&'a str, Replacement)> {
    let is_managed = |name: &str| old.managed.iter().any(|managed| managed.name == name);
    let is_known = |name: &str| new.settings.iter().any(|setting| setting.name == name);
    let is_left_out = |name: &str| new.left_out.iter().any(|left| left.option == name);
    let is_alias = |name: &str| new.dbms == "mariadb" && name == ALIAS_IN_MARIADB;
    let set = old.settings.iter().filter(move |one| {
        let is_kept = is_managed(&one.name) || is_left_out(&one.name) || is_alias(&one.name);
        !is_kept && is_in_config(&old.config_text, &one.name)
    });
    set.filter_map(move |one| {
        let replacement = replacement((&one.name, &one.value), |_| None, is_known)?;
        let is_set = is_in_config(&new.config_text, &replacement.name);
        (replacement.name != one.name && !is_set).then_some((one.name.as_str(), replacement))
    })
}

/// Values of an arm's config that its version deprecates without a word in its log: the option, the value, the first
/// such version, and what to use.
pub fn deprecated_values(
    arm: &Arm,
) -> impl Iterator<Item = (&'static str, &'static str, &'static str, Replacement)> {
    let is_set = |option: &str, value: &str| {
        let mut settings = arm.settings.iter();
        is_in_config(&arm.config_text, option)
            && settings.any(|one| one.name == option && one.value.eq_ignore_ascii_case(value))
    };
    let known = DEPRECATED_VALUES.iter().filter(move |(dbms, option, value, since, _)| {
        arm.dbms == *dbms && natural(since, &arm.build_version).is_le() && is_set(option, value)
    });
    known.map(|(_, option, value, since, instead)| {
        let instead =
            Replacement { name: (*option).to_owned(), value: Some((*instead).to_owned()), advice: "" };
        (*option, *value, *since, instead)
    })
}

/// What replaces an option that a build does not know, among those that it does know. `other` returns the config's
/// value of another option.
pub fn replacement(
    (option, value): (&str, &str),
    other: impl Fn(&str) -> Option<String>,
    is_known: impl Fn(&str) -> bool,
) -> Option<Replacement> {
    let name = later_names(option).into_iter().find(|name| is_known(name))?;
    let rule = RENAMED.iter().find(|(old, new, _)| *old == option && *new == name);
    let number = || value.parse::<u64>().ok();
    let (value, advice) = match rule.map_or(Value::Same, |(_, _, rule)| *rule) {
        Value::Same => (Some(value.to_owned()), ""),
        Value::Times(factor, unit) => {
            (number().and_then(|n| n.checked_mul(factor)).map(|product| format!("{product}{unit}")), "")
        }
        Value::Always(value) => (Some(value.to_owned()), ""),
        Value::SizeOfFiles => {
            let files = other(FILES_OPTION).map_or(Some(FILES_DEFAULT), |files| files.parse().ok());
            let unit_at = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
            let (size, unit) = value.split_at(unit_at);
            let all = size.parse::<u64>().ok().zip(files).and_then(|(size, files)| size.checked_mul(files));
            (all.map(|all| format!("{all}{unit}")), "")
        }
        Value::Verbosity => (number().map(|warnings| (warnings + 1).min(3).to_string()), ""),
        // A version that still has the option has the plugin as well.
        Value::Plugin if value == REMOVED_PLUGIN && is_known(option) => (Some(value.to_owned()), MOVE_LATER),
        Value::Plugin if value == REMOVED_PLUGIN => (Some(LATER_PLUGIN.to_owned()), MOVE_ACCOUNTS),
        Value::Plugin => (Some(value.to_owned()), ""),
        Value::NoProtocols if OFF.iter().any(|off| off.eq_ignore_ascii_case(value)) => {
            (Some(EMPTY.to_owned()), "")
        }
        Value::NoProtocols => return None,
    };
    Some(Replacement { name, value, advice })
}

/// Whether a setting is worth setting in a config: others only tell how the server was built or started, and sizes of
/// the performance schema follow other settings.
pub fn is_worth_setting(setting: &str) -> bool {
    const ONLY_SHOWN: [&str; 13] = [
        "character_set_database",
        "character_set_system",
        "collation_database",
        "data_directory_mode",
        "huge_pages_status",
        "in_hot_standby",
        "lc_collate",
        "lc_ctype",
        "license",
        "num_os_semaphores",
        "shared_memory_size",
        "shared_memory_size_in_huge_pages",
        "ssl_library",
    ];
    let is_hidden =
        ["have_", "version", "performance_schema_"].iter().any(|start| setting.starts_with(start));
    !is_hidden && !ONLY_SHOWN.contains(&setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_named_only_if_the_build_knows_it() {
        let known = [
            "wal_keep_size",
            "replica_parallel_workers",
            "rpl_semi_sync_source_wait_for_replica_count",
            "group_replication_ip_allowlist",
            "max_wal_size",
            "binlog_expire_logs_seconds",
            "innodb_redo_log_capacity",
            "authentication_policy",
            "log_error_verbosity",
            "tls_version",
        ];
        let replacement = |option: &str, value: &str| {
            let other = |name: &str| (name == FILES_OPTION).then(|| "3".to_owned());
            replacement((option, value), other, |name| known.contains(&name))
        };
        let line = |option, value| replacement(option, value).unwrap().line();
        assert_eq!(line("wal_keep_segments", "32").as_deref(), Some("wal_keep_size = 512MB"));
        assert_eq!(line("slave_parallel_workers", "4").as_deref(), Some("replica_parallel_workers = 4"));
        assert_eq!(
            line("rpl_semi_sync_master_wait_for_slave_count", "1").as_deref(),
            Some("rpl_semi_sync_source_wait_for_replica_count = 1")
        );
        assert_eq!(
            line("group_replication_ip_whitelist", "AUTOMATIC").as_deref(),
            Some("group_replication_ip_allowlist = AUTOMATIC")
        );
        assert_eq!(line("checkpoint_segments", "32").as_deref(), Some("max_wal_size = 1536MB"));
        assert_eq!(line("expire_logs_days", "7").as_deref(), Some("binlog_expire_logs_seconds = 604800"));
        assert_eq!(line("innodb_log_file_size", "128M").as_deref(), Some("innodb_redo_log_capacity = 384M"));
        assert_eq!(line("log_warnings", "2").as_deref(), Some("log_error_verbosity = 3"));
        assert_eq!(line("expire_logs_days", "seven"), None);
        assert_eq!(line("ssl", "OFF").as_deref(), Some("tls_version = ''"));
        assert_eq!(replacement("ssl", "1"), None);
        let native = replacement("default_authentication_plugin", "mysql_native_password").unwrap();
        assert_eq!(native.line().as_deref(), Some("authentication_policy = caching_sha2_password"));
        assert!(native.text().contains("caching_sha2_password first"), "{native:?}");
        let is_of_8_0 = |name: &str| [POLICY, "default_authentication_plugin"].contains(&name);
        let native =
            |plugin| super::replacement(("default_authentication_plugin", plugin), |_| None, is_of_8_0);
        assert_eq!(
            native("mysql_native_password").unwrap().line().as_deref(),
            Some("authentication_policy = mysql_native_password")
        );
        assert_eq!(replacement("tx_isolation", "READ-COMMITTED"), None);
        assert_eq!(replacement("work_mem", "4MB"), None);
    }

    #[test]
    fn a_refused_value_has_one_to_write_instead() {
        let text = |option, value, in_effect| replaced_value(option, value, in_effect).map(|one| one.text());
        for (option, value, in_effect, instead) in [
            (
                "character_set_server",
                "UTF8",
                "",
                "character_set_server = utf8mb3 (what utf8 meant; or utf8mb4)",
            ),
            ("collation_server", "utf8_general_ci", "", "collation_server = utf8mb3_general_ci"),
            ("tls_version", "TLSv1,TLSv1.1,TLSv1.2", "", "tls_version = TLSv1.2"),
            ("sql_mode", "STRICT_ALL_TABLES,no_auto_create_user", "", "sql_mode = STRICT_ALL_TABLES"),
            ("optimizer_switch", "mrr=on,gone=off", "mrr=off,x=on", "optimizer_switch = mrr=on"),
            (
                "authentication_policy",
                "mysql_native_password,,",
                "",
                "authentication_policy = caching_sha2_password,, (accounts must move to caching_sha2_password first; \
                 MySQL 9 has no mysql_native_password)",
            ),
        ] {
            assert_eq!(text(option, value, in_effect).as_deref(), Some(instead));
        }
        for (option, value) in
            [("character_set_server", "latin1"), ("tls_version", "TLSv1"), ("port", "a=b,c=d")]
        {
            assert_eq!(text(option, value, ""), None, "{option}");
        }
    }
}
