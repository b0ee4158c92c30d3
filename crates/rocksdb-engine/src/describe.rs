//! What a library is: the version and the options that RocksDB writes into a new database.

use std::fs;
use std::path::Path;

use crate::api::Api;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::protocol::OpenOptions;

/// Start of the names of the files in which a database keeps its options.
const OPTIONS_FILE: &str = "OPTIONS-";

/// The options of a new database in an empty directory, as RocksDB writes them, its version included.
pub(crate) fn library(library: &Path, path: &Path) -> Result<String> {
    drop(Database::open(Api::load(library)?, path, "", OpenOptions::default())?);
    newest_options(path)
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
