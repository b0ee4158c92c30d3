//! What a library is: the version and the options that RocksDB writes into a new database.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::api::Api;
use crate::database::{Database, accepts};
use crate::error::{Error, Result};
use crate::protocol::OpenOptions;

/// Start of the names of the files in which a database keeps its options.
const OPTIONS_FILE: &str = "OPTIONS-";

/// The options of a new database in an empty directory, as RocksDB writes them, its version included.
pub(crate) fn library(library: &Path, path: &Path) -> Result<String> {
    drop(Database::open(Api::load(library)?, path, "", OpenOptions::default())?);
    newest_options(path)
}

/// Values of which one suits an option that a new database does not list: nothing for lists, a number for sizes.
const SUITING: [&str; 2] = ["", "1"];
/// A value that suits no option. Options that a release reads and ignores take any.
const UNSUITING: &str = "rqps?";

/// Whether a library knows an option and obeys it, also one that is not among the options of a new database.
pub(crate) fn knows(library: &Path, option: &str) -> Result<bool> {
    let api = Api::load(library)?;
    let accepts = |value: &str| {
        accepts(
            api,
            &match option.strip_prefix(OF_TABLES_DOTTED) {
                Some(of_tables) => format!("{OF_TABLES}{of_tables}={value};}};"),
                None => format!("{option}={value};"),
            },
        )
    };
    Ok(SUITING.iter().any(|value| accepts(value)) && !accepts(UNSUITING))
}

/// The newest options file of a database.
pub(crate) fn newest_options(path: &Path) -> Result<String> {
    let list = fs::read_dir(path).map_err(Error::io(format!("list {}", path.display())))?;
    let names = list.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let number = |name: &String| name.strip_prefix(OPTIONS_FILE)?.parse::<u64>().ok();
    let newest = names.filter(|name| number(name).is_some()).max_by_key(number);
    let Some(newest) = newest else {
        return Err(Error::Misuse(format!("{} has no options file", path.display())));
    };
    let file = path.join(newest);
    fs::read_to_string(&file).map_err(Error::io(format!("read {}", file.display())))
}

/// The version in an options file.
pub(crate) fn version_in(options: &str) -> Option<&str> {
    options.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version="))
}

/// What an options string says of the block cache: names and values, sizes in bytes. A cache that is a number is its
/// capacity.
pub(crate) fn block_cache(options: &str) -> Vec<(&str, String)> {
    let Some((_, rest)) = options.split_once("block_cache=") else { return Vec::new() };
    match rest.strip_prefix('{') {
        Some(inner) => {
            let inner = inner.split('}').next().unwrap_or_default();
            let parts = inner.split(';').filter_map(|part| part.split_once('='));
            parts.map(|(name, value)| (name.trim(), in_bytes(value.trim()))).collect()
        }
        None => {
            let value = rest.split([';', '}']).next().unwrap_or_default();
            vec![("capacity", in_bytes(value.trim()))]
        }
    }
}

/// The bits a key of the bloom filter in an options string: `filter_policy=bloomfilter:10:false`.
pub(crate) fn filter_bits(options: &str) -> Option<&str> {
    let (_, rest) = options.split_once("filter_policy=bloomfilter:")?;
    rest.split([':', ';', '}']).next()
}

/// Options of a step that fills the database, which no config has.
const OF_FILLING: [&str; 2] = ["allow_concurrent_memtable_write", "memtable_factory"];

/// What differs between two options files in the options that an options string sets, and in those of filling:
/// `name: value in the second instead of the first's`.
pub(crate) fn other_options(configured: &str, wanted: &str, found: &str) -> Vec<String> {
    let set = configured.split([';', '{']).filter_map(|part| part.trim().split_once('='));
    let names: BTreeSet<&str> = set.map(|(name, _)| name).chain(OF_FILLING).collect();
    let found: BTreeMap<&str, &str> = listed(found).collect();
    let differing = listed(wanted)
        .filter(|(name, value)| names.contains(name) && found.get(name).is_some_and(|found| found != value));
    differing.map(|(name, value)| format!("{name}: {} instead of {value}", found[name])).collect()
}

/// Names and values in an options file. No two sections share a name that a config sets.
fn listed(options: &str) -> impl Iterator<Item = (&str, &str)> {
    options.lines().filter_map(|line| line.trim().split_once('='))
}

/// A size such as `64M` as its number; other values as they are.
fn in_bytes(value: &str) -> String {
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let unit = units.iter().find(|(letter, _)| value.to_ascii_lowercase().ends_with(*letter));
    let number = unit.and_then(|(_, bits)| Some(value[..value.len() - 1].parse::<u64>().ok()? << bits));
    number.map_or_else(|| value.to_owned(), |bytes| bytes.to_string())
}

/// The value of an option in an options string, at its top level.
pub(crate) fn option_in<'t>(options: &'t str, name: &str) -> Option<&'t str> {
    let parts = options.split(';').filter_map(|part| part.trim().split_once('='));
    parts.filter(|(found, _)| *found == name).map(|(_, value)| value).next_back()
}

/// The options of an options string, each as it is written in a config, and as an options string of its own.
pub(crate) fn each_option(options: &str) -> Vec<(&str, String)> {
    let mut all = Vec::new();
    for option in split(options) {
        match option.strip_prefix(OF_TABLES).and_then(|rest| rest.strip_suffix('}')) {
            Some(inner) => {
                all.extend(split(inner).into_iter().map(|one| (one, format!("{OF_TABLES}{one};}};"))));
            }
            None => all.push((option, format!("{option};"))),
        }
    }
    all
}

/// An options string without one of its options, as [`each_option`] writes it.
pub(crate) fn without(options: &str, left_out: &str) -> String {
    let others = |options: &str| -> String {
        let others = split(options).into_iter().filter(|option| *option != left_out);
        others.map(|option| format!("{option};")).collect()
    };
    let of_tables = |option: &str| Some(others(option.strip_prefix(OF_TABLES)?.strip_suffix('}')?));
    let kept = others(options);
    let all = split(&kept).into_iter().map(|option| match of_tables(option) {
        Some(inner) => format!("{OF_TABLES}{inner}}};"),
        None => format!("{option};"),
    });
    all.collect()
}

/// How the options of tables begin in an options string.
const OF_TABLES: &str = "block_based_table_factory={";

/// How the names of options of tables begin elsewhere.
const OF_TABLES_DOTTED: &str = "block_based_table_factory.";

/// Splits at semicolons outside braces.
fn split(options: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = options.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ';' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIGURED: &str = "max_background_jobs=2;block_based_table_factory={block_size=8192;filter_policy=bloomfilter:\
                              10:false;block_cache={capacity=64M;num_shard_bits=4};};";

    #[test]
    fn a_config_s_cache_and_filter_are_read() {
        let cache = [("capacity", "67108864".to_owned()), ("num_shard_bits", "4".to_owned())];
        assert_eq!(block_cache(CONFIGURED), cache);
        assert_eq!(filter_bits(CONFIGURED), Some("10"));
        assert_eq!(filter_bits("filter_policy=nullptr;"), None);
    }

    #[test]
    fn each_option_can_be_tried_alone() {
        let of_tables = |option: &str| format!("block_based_table_factory={{{option};}};");
        let (size, filter) = ("block_size=8192", "filter_policy=bloomfilter:10:false");
        let cache = "block_cache={capacity=64M;num_shard_bits=4}";
        let jobs = ("max_background_jobs=2", "max_background_jobs=2;".to_owned());
        let tables = [size, filter, cache].map(|option| (option, of_tables(option)));
        assert_eq!(each_option(CONFIGURED), [vec![jobs], tables.to_vec()].concat());
        assert_eq!(
            without(&without(CONFIGURED, cache), "max_background_jobs=2"),
            format!("block_based_table_factory={{{size};{filter};}};")
        );
    }

    #[test]
    fn only_what_a_config_sets_or_filling_needs_is_compared() {
        let wanted = "[DBOptions]\n  max_background_jobs=2\n  wal_dir=/db\n[CFOptions \"default\"]\n  \
                      memtable_factory=VectorRepFactory\n[TableOptions/BlockBasedTable \"default\"]\n  block_size=8192\n";
        let found =
            wanted.replace("wal_dir=/db", "wal_dir=").replace("=8192", "=4096").replace("Vector", "SkipList");
        assert_eq!(
            other_options(CONFIGURED, wanted, &found),
            [
                "memtable_factory: SkipListRepFactory instead of VectorRepFactory",
                "block_size: 4096 instead of 8192"
            ]
        );
        assert!(other_options(CONFIGURED, wanted, wanted).is_empty());
    }
}
