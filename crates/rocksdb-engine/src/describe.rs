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

/// The value of an option in an options string, at its top level.
pub(crate) fn option_in<'t>(options: &'t str, name: &str) -> Option<&'t str> {
    let parts = options.split(';').filter_map(|part| part.trim().split_once('='));
    parts.filter(|(found, _)| *found == name).map(|(_, value)| value).next_back()
}
