//! Which options of a config a build knows, and how they are passed to it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rqps_builds::Build;
use rqps_builds::rocksdb::{describe, knows, library_of};

use super::conf::{TABLE, parse_line};
use crate::applied::{select_options, unknown_option};
use crate::config::Config;
use crate::error::Result;
use crate::option::Line;
use crate::spec::Applied;
use crate::system::Known;

/// What a build knows: the names that a new database of it lists, and those that it accepts if it is asked. Lists that
/// are empty and objects that are missing are not listed.
pub(crate) struct KnownOptions<'a> {
    build: &'a Build,
    listed: Arc<Vec<String>>,
}

impl Known for KnownOptions<'_> {
    fn has(&self, option: &str) -> Result<bool> {
        Ok(self.listed.iter().any(|name| name == option) || obeys(self.build, option)?)
    }

    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.listed.iter().map(String::as_str))
    }
}

/// Asks a build, once for each library.
pub(crate) fn known(build: &Build) -> Result<KnownOptions<'_>> {
    static ASKED: Mutex<BTreeMap<String, Arc<Vec<String>>>> = Mutex::new(BTreeMap::new());
    let asked = || ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(names) = asked().get(&build.hash) {
        return Ok(KnownOptions { build, listed: Arc::clone(names) });
    }
    let listed = Arc::new(names_in(&describe(&library_of(build)?)?));
    asked().insert(build.hash.clone(), Arc::clone(&listed));
    Ok(KnownOptions { build, listed })
}

/// Asks a build whether it obeys an option that it does not list, once for each library and option.
fn obeys(build: &Build, option: &str) -> Result<bool> {
    static ASKED: Mutex<BTreeMap<(String, String), bool>> = Mutex::new(BTreeMap::new());
    let asked = || ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (build.hash.clone(), option.to_owned());
    if let Some(answer) = asked().get(&key) {
        return Ok(*answer);
    }
    let answer = knows(&library_of(build)?, option)?;
    asked().insert(key, answer);
    Ok(answer)
}

/// The options of an options file.
fn names_in(text: &str) -> Vec<String> {
    let mut section = String::new();
    // Later releases have sections that configs cannot have.
    let lines = text.lines().filter_map(|line| parse_line(&mut section, line).ok());
    lines
        .filter_map(|line| match line {
            Line::Option(setting) => Some(setting.name),
            _ => None,
        })
        .collect()
}

/// Splits a config into options that a build knows and those left out.
pub(crate) fn apply(build: &Build, config: &Config) -> Result<Applied> {
    let (kept, applied) = split(build, config)?;
    Ok(Applied { config_as_used: applied.render(config, &kept, "", format_option), ..applied })
}

pub(crate) fn format_option(name: &str, value: &str) -> String {
    format!("{name}={value}")
}

fn split(build: &Build, config: &Config) -> Result<(Vec<(String, String)>, Applied)> {
    let known = known(build)?;
    let (kept, left_out) =
        select_options(config, build, &[], |option, _| Ok((!known.has(option)?).then(unknown_option)))?;
    Ok((kept, Applied { left_out, added: Vec::new(), config_as_used: String::new() }))
}

/// The options as RocksDB parses them: `name=value;…;block_based_table_factory={name=value;…}`.
pub(crate) fn string(build: &Build, config: &Config) -> Result<String> {
    Ok(join(&split(build, config)?.0))
}

fn join(options: &[(String, String)]) -> String {
    let mut text = String::new();
    let mut of_table = String::new();
    for (name, value) in options {
        match name.strip_prefix(TABLE) {
            Some(name) => of_table.push_str(&format!("{name}={value};")),
            None => text.push_str(&format!("{name}={value};")),
        }
    }
    if !of_table.is_empty() {
        text.push_str(&format!("{}={{{of_table}}};", TABLE.trim_end_matches('.')));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_tables_are_joined_in_braces() {
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let options = [
            option("max_background_jobs", "4"),
            option("block_based_table_factory.block_size", "8192"),
            option("block_based_table_factory.block_cache", "{capacity=1048576;num_shard_bits=6}"),
        ];
        let text = "max_background_jobs=4;block_based_table_factory={block_size=8192;block_cache={capacity=1048576;\
                    num_shard_bits=6};};";
        assert_eq!(join(&options), text);
    }

    #[test]
    fn names_have_those_of_all_sections() {
        let text = "[Version]\n  rocksdb_version=9.8.4\n[DBOptions]\n  max_open_files=-1\n[CFOptions \"default\"]\n  \
                    num_levels=7\n[TableOptions/BlockBasedTable \"default\"]\n  block_size=4096\n[New/Section \"x\"]\n";
        assert_eq!(names_in(text), ["max_open_files", "num_levels", "block_based_table_factory.block_size"]);
    }
}
