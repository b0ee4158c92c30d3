//! Settings that nobody set and whose values are no defaults all the same, and set ones that are.

use rqps_store::Arm;

/// What servers adapt while they run, compute from other settings, are started with by rqps or generate (certificates),
/// and, last, what MariaDB 11 accepts without effect.
const NO_DEFAULTS: [&str; 10] = [
    "innodb_buffer_pool_chunk_size",
    "innodb_thread_sleep_delay",
    "log_slow_query_file",
    "ssl_ca",
    "ssl_capath",
    "ssl_cert",
    "ssl_crl",
    "ssl_crlpath",
    "ssl_key",
    "optimizer_adjust_secondary_key_costs",
];

/// What MySQL 8.4 and later and MariaDB compute from the number of CPUs, the size of the memory or the disk.
const OF_MACHINE: [&str; 11] = [
    "innodb_buffer_pool_instances",
    "innodb_log_file_buffering",
    "innodb_log_file_mmap",
    "innodb_log_write_ahead_size",
    "innodb_log_writer_threads",
    "innodb_page_cleaners",
    "innodb_parallel_read_threads",
    "innodb_purge_threads",
    "innodb_read_io_threads",
    "temptable_max_ram",
    "thread_pool_size",
];

/// Whether a value that nobody set tells of the version. A path tells where the build or its data are.
pub fn is_of_version(setting: &str, value: &str) -> bool {
    !value.starts_with('/') && !NO_DEFAULTS.contains(&setting)
}

/// Whether a default may be another one on another machine.
pub fn follows_machine(setting: &str) -> bool {
    OF_MACHINE.contains(&setting)
}

/// Whether a config gives an arm the value of an option that its build has without it.
pub fn has_by_default(arm: &Arm, option: &str) -> bool {
    arm.settings.iter().any(|setting| setting.name == option && setting.default)
}
