//! What differs between two arms before anything is measured: settings, their defaults, options left out, how
//! the server was built, its environment, statements run on only one arm, the version.
//!
//! Whether a difference matters is decided elsewhere: see [`crate::mechanisms`].

mod derived;
mod later_names;
mod rocksdb;
mod switches;

pub use derived::{follows_machine, has_by_default, is_of_version};
use later_names::take_later_names;
pub use switches::new_switches;
pub(crate) use switches::only_known_switches;
use switches::switches;

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::{LeftOut, ServerSetting, Setting, size_bytes};
use rqps_store::{Arm, Run};

use crate::context::Context;
use crate::error::Result;
use crate::figures::Windows;
use crate::model::{Difference, DifferenceKind};
use crate::renamed;

/// Settings that depend on the server's location, the session or the version: they differ even between arms
/// that are configured alike.
const NOT_COMPARED: &str = "\
    DateStyle TimeZone application_name archive_command basedir bind_address build_id character_sets_dir cluster_name \
    config_file data_directory data_directory_mode datadir db_host_id db_log_dir default_text_search_config \
    error_count event_source explain_json_format_version external_pid_file general_log_file gtid_binlog_pos \
    gtid_binlog_state gtid_current_pos gtid_executed gtid_purged hba_file hostname ident_file in_hot_standby \
    information_schema_stats_expiry innodb_version is_superuser krb_server_keyfile last_gtid lc_messages \
    lc_messages_dir lc_monetary lc_numeric lc_time listen_addresses log_bin_basename log_bin_index log_directory \
    log_error log_timezone max_connections max_stack_depth open_files_limit original_server_version pid_file \
    plugin_dir port protocol_version pseudo_thread_id relay_log relay_log_basename relay_log_index \
    replica_load_tmpdir report_port secure_file_priv server_uid server_uuid server_version server_version_num \
    session_authorization shared_memory_size shared_memory_size_in_huge_pages slave_load_tmpdir \
    slow_query_log_file socket system_time_zone timestamp tls_version tmpdir unix_socket_directories version \
    version_comment version_compile_machine version_compile_os version_compile_zlib version_malloc_library \
    version_source_revision version_ssl_library wal_dir warning_count";

/// Units of sizes, in bytes.
pub(crate) const SIZES: [(&str, i64); 5] =
    [("B", 1), ("kB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30), ("TB", 1 << 40)];
/// Units of times, in microseconds.
pub(crate) const TIMES: [(&str, i64); 6] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("min", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];
/// Begins what takes the place of a value on the arm that was measured without the option.
const LEFT_OUT: &str = "left out: ";
/// Name of the difference that consists of statements run after the load.
pub(crate) const AFTER_LOAD: &str = "statements after the load";

/// Differences of two arms, by their indexes in [`Run::arms`]. A run that did not record settings has those of a
/// `test`.
pub(crate) fn differences(
    run: &Run,
    test: Option<(&Windows<'_>, &str)>,
    (base, arm): (usize, usize),
) -> Result<Vec<Difference>> {
    let mut known = (known(run, test, base)?, known(run, test, arm)?);
    take_later_names(&mut known.0, &known.1);
    take_later_names(&mut known.1, &known.0);
    let (base, arm) = (&run.arms[base], &run.arms[arm]);
    let of_one_kind = crate::of_one_kind(&base.dbms, &arm.dbms);
    let mut differences = versions(base, arm);
    // Until both have started for blocks, what these set is in the entry of one of them alone.
    let is_of_one_start = |name: &str| base.has_of_blocks(name) != arm.has_of_blocks(name);
    let mut left_out = left_out(base, arm);
    left_out.retain(|difference| !is_of_one_start(&difference.name));
    let managed: BTreeSet<&str> =
        base.managed.iter().chain(&arm.managed).map(|setting| setting.name.as_str()).collect();
    let is_skipped = |name: &str| {
        managed.contains(name)
            || NOT_COMPARED.split(' ').any(|one| one == name)
            || left_out.iter().any(|difference| difference.name == name)
            || is_replaced(base, arm, name)
            || is_of_one_start(name)
    };
    // Of an arm that was given up before its settings were read, nothing is known.
    let are_known = !known.0.is_empty() && !known.1.is_empty();
    let mut settings = if are_known { settings(&known.0, &known.1) } else { Vec::new() };
    settings.retain(|difference| !is_skipped(&difference.name) && of_one_kind);
    // Explicit settings come before changed defaults.
    settings.sort_by_key(|difference| difference.kind);
    differences.extend(settings);
    differences.extend(left_out.into_iter().filter(|_| of_one_kind));
    differences.extend(environment(base, arm));
    differences.extend(after_load(base, arm));
    differences.extend(build(base, arm));
    Ok(differences)
}

/// The value of each setting, and whether it is a default, not set explicitly.
type Known = BTreeMap<String, (String, bool)>;

/// Sources of values that were not set explicitly: the program itself, or what it found at start.
const IMPLICIT_SOURCES: [&str; 5] = ["default", "override", "COMPILED", "COMPILE-TIME", "AUTO"];
/// The source given by servers that do not report where a value comes from.
const UNKNOWN: &str = "unknown";

/// The difference of builds of which nothing else is known, in digits that tell them apart.
pub(crate) const PROGRAM_FILES: &str = "program files";
const HASH_CHARS: usize = 12;

const ROCKSDB: &str = "rocksdb";

/// The option of the block cache; settings have its parts.
const BLOCK_CACHE: &str = "block_based_table_factory.block_cache";

/// The fact of a directory that is a list.
const MOUNT_OPTIONS: &str = "mount_options";

/// All settings of an arm. For a run that did not record them, those in a window's fingerprint: settings
/// missing there have an unknown default, and those present may have been written by initdb.
fn known(run: &Run, test: Option<(&Windows<'_>, &str)>, arm: usize) -> Result<Known> {
    let (settings, config_text) = (&run.arms[arm].settings, &run.arms[arm].config_text);
    if !settings.is_empty() {
        let is_default = |setting: &ServerSetting| match setting.source.as_str() {
            UNKNOWN => !is_in_config(config_text, &setting.name),
            source => setting.default || IMPLICIT_SOURCES.contains(&source),
        };
        let known = settings
            .iter()
            .map(|setting| (setting.name.clone(), (setting.value.clone(), is_default(setting))));
        let mut known: Known = known.collect();
        if run.arms[arm].dbms == ROCKSDB {
            let left_out: Vec<&str> =
                run.arms[arm].left_out.iter().map(|left| left.option.as_str()).collect();
            add_asked(&mut known, config_text, &left_out);
        }
        follow_older(&mut known);
        return Ok(known);
    }
    for window in test.into_iter().flat_map(|(windows, test)| windows.of(test, arm)) {
        let fingerprint = run.fingerprint(window.action.seq)?;
        let known: Known = fingerprint
            .iter()
            .filter_map(|(key, value)| {
                let name = key.strip_prefix("setting.")?.to_owned();
                let is_default = !is_in_config(config_text, &name);
                Some((name, (formatted(value), is_default)))
            })
            .collect();
        if !known.is_empty() {
            return Ok(known);
        }
    }
    Ok(Known::new())
}

/// Gives variables of MySQL 8 the values in effect where the config sets the older ones that they follow: the server
/// shows their defaults.
fn follow_older(known: &mut Known) {
    let number = |name: &str| known.get(name).and_then(|(value, _)| value.parse::<u64>().ok());
    let is_set = |name: &str| known.get(name).is_some_and(|(_, default)| !default);
    let sizes = [number("innodb_log_file_size"), number("innodb_log_files_in_group")];
    let capacity = match sizes {
        [Some(size), Some(files)]
            if !is_set("innodb_redo_log_capacity")
                && (is_set("innodb_log_file_size") || is_set("innodb_log_files_in_group")) =>
        {
            Some(size * files)
        }
        _ => None,
    };
    let days = number("expire_logs_days").filter(|days| *days > 0 && is_set("expire_logs_days"));
    let expiry = days.filter(|_| number("binlog_expire_logs_seconds") == Some(0)).map(|days| days * 86_400);
    for (name, value) in [("innodb_redo_log_capacity", capacity), ("binlog_expire_logs_seconds", expiry)] {
        if let (Some(known), Some(value)) = (known.get_mut(name), value) {
            *known = (value.to_string(), false);
        }
    }
}

/// Adds options of RocksDB that its options files do not list, as the config gives them.
fn add_asked(known: &mut Known, config_text: &str, left_out: &[&str]) {
    let lines = config_text.lines().filter(|line| !line.starts_with('#'));
    for (name, value) in lines.filter_map(|line| line.split_once('=')) {
        let is_listed = known.contains_key(name) || name == BLOCK_CACHE;
        if !is_listed && !left_out.contains(&name) {
            known.insert(name.to_owned(), (value.to_owned(), false));
        }
    }
}

/// The value of a setting on an arm; `None` if unknown.
pub(crate) fn value(cx: &Context<'_>, arm: usize, name: &str) -> Result<Option<String>> {
    Ok(known(cx.run, Some((cx.windows, cx.test)), arm)?.remove(name).map(|(value, _)| value))
}

/// Whether a config sets the option, as opposed to the file that initdb wrote before it. MySQL accepts `-`
/// for `_` in names, options without a value, and the prefix `loose_` for options that a version may not
/// know.
pub fn is_in_config(text: &str, option: &str) -> bool {
    let set = |line: &str| {
        let name = line.split_once('=').map_or(line, |(name, _)| name).trim().replace('-', "_");
        name.strip_prefix("loose_").unwrap_or(&name) == option
    };
    let config = text.split_once("\n# Config ").map_or(text, |(_, config)| config);
    config.lines().any(set)
}

/// Settings that differ. A setting that one arm lacks counts only if it was set explicitly on the other: each
/// version adds settings.
fn settings(base: &Known, arm: &Known) -> Vec<Difference> {
    let names: BTreeSet<&String> = base.keys().chain(arm.keys()).collect();
    let difference = |name: &String| {
        let (before, after) = (base.get(name), arm.get(name));
        let value = |known: Option<&(String, bool)>| known.map(|(value, _)| value.clone());
        let is_default = |known: Option<&(String, bool)>| known.is_none_or(|(_, default)| *default);
        let kind = match is_default(before) && is_default(after) {
            true if before.is_none() || after.is_none() => return None,
            true => DifferenceKind::DefaultSetting,
            false => DifferenceKind::Setting,
        };
        let (mut base, mut arm) = (value(before), value(after));
        if let (Some(old), Some(new)) = (&base, &arm) {
            match switches(old, new) {
                Some((old, _)) if old.is_empty() => return None,
                Some((old, new)) => (base, arm) = (Some(old), Some(new)),
                None if meaning(old) == meaning(new) => return None,
                None if rocksdb::is_one_value(name, old, new) => return None,
                None => {}
            }
        }
        Some(Difference { kind, name: name.clone(), base, arm })
    };
    names.into_iter().filter_map(difference).collect()
}

/// Normalizes a value: versions differ in whether they print units of sizes, the empty string for `off`,
/// switches in upper case, and in the number of decimals.
fn meaning(value: &str) -> String {
    match size_bytes(value, None) {
        Some(bytes) => bytes.to_string(),
        _ if value.is_empty() => "off".to_owned(),
        _ if value.contains('.') => {
            value.parse::<f64>().map_or_else(|_| value.to_owned(), |number| number.to_string())
        }
        _ if value.eq_ignore_ascii_case("on") || value.eq_ignore_ascii_case("off") => value.to_lowercase(),
        _ => value.to_owned(),
    }
}

/// Formats a setting of a fingerprint, `770048 x 8kB (configuration file)`, as `SHOW` does: `6016MB`.
fn formatted(fingerprint: &str) -> String {
    let value = fingerprint.rsplit_once(" (").map_or(fingerprint, |(value, _)| value);
    let Some((number, unit)) = value.split_once(" x ") else { return value.to_owned() };
    let split = unit.find(|c: char| !c.is_ascii_digit()).unwrap_or(unit.len());
    let (factor, name) = unit.split_at(split);
    let (Ok(number), factor) = (number.parse::<i64>(), factor.parse::<i64>().unwrap_or(1)) else {
        return value.to_owned();
    };
    if number <= 0 {
        return number.to_string();
    }
    let has_unit = |units: &&[(&str, i64)]| units.iter().any(|(unit, _)| *unit == name);
    let Some(units) = [&SIZES[..], &TIMES].into_iter().find(has_unit) else { return value.to_owned() };
    let own = units.iter().find(|(unit, _)| *unit == name).map_or(1, |(_, size)| *size);
    let total = number.saturating_mul(factor).saturating_mul(own);
    let fits = units.iter().rev().find(|(_, size)| total % size == 0);
    fits.map_or_else(|| value.to_owned(), |(unit, size)| format!("{}{unit}", total / size))
}

fn versions(base: &Arm, arm: &Arm) -> Vec<Difference> {
    let program = ("program", &base.dbms, &arm.dbms);
    let version = ("version", &base.build_version, &arm.build_version);
    let found = [program, version].into_iter();
    found
        .filter_map(|(name, base, arm)| differing(DifferenceKind::Version, name, Some(base), Some(arm)))
        .collect()
}

fn differing(kind: DifferenceKind, name: &str, base: Option<&str>, arm: Option<&str>) -> Option<Difference> {
    (base != arm).then(|| Difference {
        kind,
        name: name.to_owned(),
        base: base.map(str::to_owned),
        arm: arm.map(str::to_owned),
    })
}

/// Options that exactly one of the two builds does not know. Those that a build took with another value are settings,
/// and so are those that it has under a later name, if that is set.
fn left_out(base: &Arm, arm: &Arm) -> Vec<Difference> {
    let is_out = |left: &&LeftOut| left.taken.is_none();
    let find = |list: &[LeftOut], option: &str| {
        list.iter().filter(is_out).find(|left| left.option == option).cloned()
    };
    let names: BTreeSet<&String> =
        base.left_out.iter().chain(&arm.left_out).filter(is_out).map(|left| &left.option).collect();
    let difference = |name: &String| {
        let (before, after) = (find(&base.left_out, name), find(&arm.left_out, name));
        let (value, reason) = match (&before, &after) {
            (Some(left), None) | (None, Some(left)) => (left.value.clone(), left.reason.clone()),
            _ => return None,
        };
        // What one of them has by default anyway is no difference that the config made.
        let with = if before.is_some() { arm } else { base };
        if has_by_default(with, name) {
            return None;
        }
        let (set, left) = (Some(value), Some(format!("{LEFT_OUT}{reason}")));
        let (base, arm) = if before.is_some() { (left, set) } else { (set, left) };
        Some(Difference { kind: DifferenceKind::LeftOut, name: name.clone(), base, arm })
    };
    names.into_iter().filter(|name| !is_replaced(base, arm, name)).filter_map(difference).collect()
}

/// The value of an option that only one of two arms was measured with, and whether that is base.
pub(crate) fn only_with(difference: &Difference) -> Option<(&str, bool)> {
    let Difference { kind, base, arm, .. } = difference;
    let is_set = |value: &&str| *kind == DifferenceKind::LeftOut && !value.starts_with(LEFT_OUT);
    let [base, arm] = [base, arm].map(|value| value.as_deref().filter(is_set));
    base.map(|value| (value, true)).or(arm.map(|value| (value, false)))
}

/// Whether one of two arms has an option of its config under a later name.
fn is_replaced(base: &Arm, arm: &Arm, option: &str) -> bool {
    [base, arm].iter().any(|one| renamed::set_as(one, option).is_some())
}

fn environment(base: &Arm, arm: &Arm) -> Vec<Difference> {
    let names: BTreeSet<&String> = base.env.keys().chain(arm.env.keys()).collect();
    let value = |arm: &'_ Arm, name: &String| arm.env.get(name).cloned();
    let difference = |name: &String| {
        let (before, after) = (value(base, name), value(arm, name));
        differing(DifferenceKind::Environment, name, before.as_deref(), after.as_deref())
    };
    names.into_iter().filter_map(difference).collect()
}

fn after_load(base: &Arm, arm: &Arm) -> Option<Difference> {
    let text = |arm: &Arm| (!arm.after_load.is_empty()).then(|| arm.after_load.join("; "));
    let (before, after) = (text(base), text(arm));
    differing(DifferenceKind::AfterLoad, AFTER_LOAD, before.as_deref(), after.as_deref())
}

/// Differences between two directories: their file systems, mount options (only those that differ) and devices.
pub(crate) fn directory(base: &Arm, arm: &Arm) -> Vec<Difference> {
    let value = |arm: &Arm, name: &str| arm.fact(name).map(str::to_owned);
    // What is unknown of one of them may be the same.
    let is_known =
        |name: &&String| [base, arm].iter().all(|arm| arm.fact(name).is_some_and(|fact| fact != UNKNOWN));
    let mut names: Vec<&String> = base.facts.iter().map(|fact| &fact.name).filter(is_known).collect();
    // Mount options, which someone chose, before the rest.
    names.sort_by_key(|name| (name.as_str() != MOUNT_OPTIONS, name.as_str()));
    names.dedup();
    let difference = |name: &String| {
        let (mut before, mut after) = (value(base, name), value(arm, name));
        if let (MOUNT_OPTIONS, Some(own), Some(others)) = (name.as_str(), &before, &after) {
            let [own, others] = [own, others].map(|list| list.split(',').map(str::to_owned).collect());
            (before, after) = (only_in(&own, &others, ","), only_in(&others, &own, ","));
        }
        differing(DifferenceKind::Build, name, before.as_deref(), after.as_deref())
    };
    names.into_iter().filter_map(difference).collect()
}

/// The words that another list lacks; `None` if there are none.
fn only_in(these: &BTreeSet<String>, others: &BTreeSet<String>, separator: &str) -> Option<String> {
    let words: Vec<&str> = these.difference(others).map(String::as_str).collect();
    (!words.is_empty()).then(|| words.join(separator))
}

/// Differences in how the servers were built; for flags, only the words that differ.
fn build(base: &Arm, arm: &Arm) -> Vec<Difference> {
    let kind = DifferenceKind::Build;
    if base.is_directory() {
        return directory(base, arm);
    }
    let compiler = |arm: &Arm| {
        let (_, by) = arm.build_version_text.split_once("compiled by ")?;
        Some(by.rsplit_once(", ").map_or(by, |(compiler, _)| compiler).to_owned())
    };
    // Of what one build does not tell nothing is known to differ.
    let mut found: Vec<Difference> = (compiler(base).zip(compiler(arm)))
        .and_then(|(before, after)| differing(kind, "compiler", Some(&before), Some(&after)))
        .into_iter()
        .collect();
    for name in ["cflags", "cppflags", "ldflags", "configure"] {
        let (before, after) = (words_of(&base.facts, name), words_of(&arm.facts, name));
        let (Some(before), Some(after)) = (before, after) else { continue };
        let (removed, added) = (only_in(&before, &after, " "), only_in(&after, &before, " "));
        found.extend(differing(kind, name, removed.as_deref(), added.as_deref()));
    }
    if found.is_empty() && base.build_version == arm.build_version {
        let [before, after] =
            [base, arm].map(|arm| arm.build_hash.chars().take(HASH_CHARS).collect::<String>());
        found.extend(differing(kind, PROGRAM_FILES, Some(&before), Some(&after)));
    }
    found
}

/// The words of a build fact that can change the program: neither paths nor warnings.
fn words_of(facts: &[Setting], name: &str) -> Option<BTreeSet<String>> {
    let fact = facts.iter().find(|fact| fact.name == name)?;
    let is_path = |word: &str| {
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        ["-I", "-L", "-Wl,"].iter().any(|start| option.starts_with(start))
            || option.ends_with("prefix")
            || option.ends_with("dir")
            || option.ends_with("PATH")
            || option.ends_with("-prefix-map")
            || ["/", "-I", "-L"].iter().any(|start| value.starts_with(start))
            // Its contents are in the flags themselves.
            || option == "CFLAGS"
    };
    let is_warning = |word: &str| word.starts_with("-W");
    let words = words(&fact.value).into_iter().filter(|word| !is_path(word) && !is_warning(word));
    Some(words.collect())
}

/// Splits at blanks outside quotes.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_settings_are_formatted_like_show() {
        // Output of SHOW on a server.
        let pairs = [
            ("770048 x 8kB (configuration file)", "6016MB"),
            ("16384 x 8kB (default)", "128MB"),
            ("1800 x s (configuration file)", "30min"),
            ("10 x s (configuration file)", "10s"),
            ("100 x ms (configuration file)", "100ms"),
            ("16777216 x B (override)", "16MB"),
            ("-1 x ms (default)", "-1"),
            ("on (configuration file)", "on"),
            ("%m [%p]  (configuration file)", "%m [%p] "),
        ];
        for (stored, value) in pairs {
            assert_eq!(formatted(stored), value);
        }
    }

    #[test]
    fn a_variable_of_mysql_8_follows_the_older_ones() {
        let set = |name: &str, value: &str, default| (name.to_owned(), (value.to_owned(), default));
        let mut known = Known::from([
            set("innodb_log_file_size", "268435456", false),
            set("innodb_log_files_in_group", "2", true),
            set("innodb_redo_log_capacity", "104857600", true),
            set("expire_logs_days", "7", false),
            set("binlog_expire_logs_seconds", "0", true),
        ]);
        follow_older(&mut known);
        assert_eq!(known["innodb_redo_log_capacity"], ("536870912".to_owned(), false));
        assert_eq!(known["binlog_expire_logs_seconds"], ("604800".to_owned(), false));
        let defaults = Known::from([
            set("innodb_log_file_size", "50331648", true),
            set("innodb_log_files_in_group", "2", true),
            set("innodb_redo_log_capacity", "104857600", true),
        ]);
        let mut same = defaults.clone();
        follow_older(&mut same);
        assert_eq!(same, defaults);
    }

    #[test]
    fn options_that_no_options_file_lists_come_from_the_config() {
        let known = |config: &str, left_out: &[&str], memtable: &str| {
            let mut known = Known::from([
                ("memtable_factory".to_owned(), (memtable.to_owned(), false)),
                ("write_buffer_size".to_owned(), ("65536".to_owned(), false)),
            ]);
            add_asked(&mut known, config, left_out);
            known
        };
        let text = |base: &Known, arm: &Known| -> Vec<String> {
            let value = |value: Option<String>| value.unwrap_or_default();
            let found = settings(base, arm).into_iter();
            found.map(|one| format!("{}: {} -> {}", one.name, value(one.base), value(one.arm))).collect()
        };
        let plain = "# Config mini\nwrite_buffer_size=1000\n\
                     block_based_table_factory.block_cache={capacity=1}\n";
        let limited = format!("{plain}rate_limiter_bytes_per_sec=4194304\nnosuch=1\n");
        let base = known(plain, &[], "SkipListFactory");
        let arm = known(&limited, &["nosuch"], "{id=VectorRepFactory;count=0}");
        assert_eq!(
            text(&base, &arm),
            [
                "memtable_factory: SkipListFactory -> {id=VectorRepFactory;count=0}",
                "rate_limiter_bytes_per_sec:  -> 4194304"
            ]
        );
        let other = known(plain, &[], "{lookahead=0;id=SkipListFactory;}");
        assert_eq!(text(&base, &other), [""; 0]);
    }

    #[test]
    fn mysql_option_names_are_normalized() {
        let text = "[mysqld]\nloose-innodb_idle_flush_pct=1\nskip-name-resolve\ninnodb_page_size = 16k\n";
        let is_set = |option: &str| is_in_config(text, option);
        assert!(is_set("innodb_idle_flush_pct") && is_set("skip_name_resolve") && is_set("innodb_page_size"));
        assert!(!is_set("innodb_page"));
    }

    #[test]
    fn only_different_values_are_reported() {
        let known = |settings: &[(&str, &str, bool)]| -> Known {
            settings
                .iter()
                .map(|(name, value, default)| ((*name).into(), ((*value).into(), *default)))
                .collect()
        };
        let base = known(&[
            ("effective_io_concurrency", "1", true),
            ("jit", "off", false),
            ("log_connections", "off", true),
            ("random_page_cost", "4", true),
            ("track_activity_query_size", "1024", true),
            ("vacuum_cleanup_index_scale_factor", "0.1", true),
            ("work_mem", "4MB", true),
        ]);
        let arm = known(&[
            ("effective_io_concurrency", "16", true),
            ("io_method", "worker", true),
            ("io_workers", "8", false),
            ("jit", "off", false),
            ("log_connections", "", true),
            ("random_page_cost", "1.1", false),
            ("track_activity_query_size", "1kB", true),
            ("work_mem", "4MB", false),
        ]);
        let found = settings(&base, &arm);
        let changed: Vec<(DifferenceKind, &str)> =
            found.iter().map(|difference| (difference.kind, difference.name.as_str())).collect();
        assert_eq!(
            changed,
            [
                (DifferenceKind::DefaultSetting, "effective_io_concurrency"),
                (DifferenceKind::Setting, "io_workers"),
                (DifferenceKind::Setting, "random_page_cost"),
            ]
        );
    }

    /// What a build has under a later name is a setting of its own.
    #[test]
    fn options_that_are_replaced_are_not_left_out() {
        let left = |option: &str| {
            let (value, reason) = ("7".to_owned(), "unknown".to_owned());
            LeftOut { option: option.to_owned(), value, reason, ..LeftOut::default() }
        };
        let setting = |name: &str, default| ServerSetting {
            name: name.to_owned(),
            value: String::new(),
            source: String::new(),
            default,
        };
        let base = rqps_store::testing::arm("old", rqps_store::Role::Base, "8.0.31");
        let mut arm = rqps_store::testing::arm("new", rqps_store::Role::Candidate, "9.7.4");
        arm.left_out = ["expire_logs_days", "wal_keep_segments"].map(left).to_vec();
        arm.settings = vec![setting("binlog_expire_logs_seconds", false), setting("wal_keep_size", true)];
        let names: Vec<String> =
            left_out(&base, &arm).into_iter().map(|difference| difference.name).collect();
        assert_eq!(names, ["wal_keep_segments"]);
    }

    #[test]
    fn only_flags_that_change_the_program_are_reported() {
        let fact = |value: &str| [Setting { name: "configure".into(), value: value.into() }];
        let words = |value: &str| words_of(&fact(value), "configure").unwrap();
        let (base, arm) = (
            words("'--prefix=/a b' '--with-llvm' 'CFLAGS=-O2 -g' 'PYTHON=/usr/bin/python3'"),
            words("'--prefix=/c' '--libdir=/c/lib' 'CFLAGS=-O3' '--enable-cassert' '--with-libs=/opt/lib'"),
        );
        assert_eq!(base.difference(&arm).collect::<Vec<_>>(), ["--with-llvm"]);
        assert_eq!(arm.difference(&base).collect::<Vec<_>>(), ["--enable-cassert"]);
        let mounts = ["nobarrier,relatime,rw", "relatime,rw"]
            .map(|list| list.split(',').map(str::to_owned).collect::<BTreeSet<_>>());
        assert_eq!(only_in(&mounts[0], &mounts[1], ",").as_deref(), Some("nobarrier"));
        assert_eq!(only_in(&mounts[1], &mounts[0], ","), None);
    }
}
