//! Build facts and settings as the server reports them.

use std::collections::HashMap;

use rqps_wire::mysql::Connection;

use super::query;
use crate::cells::cell;
use crate::error::Result;
use rqps_model::ServerSetting;

/// Variables that describe the build, with the names they are stored under.
const BUILD_FACTS: [(&str, &str); 9] = [
    ("version_comment", "comment"),
    ("version_compile_machine", "machine"),
    ("version_compile_os", "os"),
    ("version_compile_zlib", "zlib"),
    ("version_source_revision", "source_revision"),
    ("version_malloc_library", "malloc"),
    ("version_ssl_library", "ssl"),
    ("tls_library_version", "ssl"),
    ("innodb_version", "innodb"),
];

/// The source of a setting if the version does not report it.
pub(crate) const UNKNOWN_SOURCE: &str = "unknown";

/// First version of MySQL that reports the sources of settings.
const SOURCES_SINCE: u32 = 80_000;
/// Sources of defaults: MySQL's compiled-in values, MariaDB's compiled-in and auto-detected ones.
const DEFAULT_SOURCES: [&str; 3] = ["COMPILED", "COMPILE-TIME", "AUTO"];

const MYSQL_SOURCES: &str =
    "SELECT lower(variable_name), variable_source, NULL FROM performance_schema.variables_info";
const MARIADB_SOURCES: &str = "SELECT lower(variable_name), global_value_origin, default_value \
    FROM information_schema.system_variables";

/// How the server was built, as name and text: `comment`, `machine`, `os`, and others that this version reports.
/// Compiler and flags are not among them.
pub fn build_facts(connection: &mut Connection) -> Result<Vec<(String, String)>> {
    let variables = variables(connection)?;
    let mut facts: Vec<(String, String)> = Vec::new();
    for (variable, fact) in BUILD_FACTS {
        let value = variables.iter().find(|(name, _)| name == variable).map(|(_, value)| value);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.push((fact.to_owned(), value.clone()));
        }
    }
    Ok(facts)
}

/// All settings of `SHOW GLOBAL VARIABLES`, by name.
///
/// MySQL 8.0 and later and MariaDB report sources; otherwise the source is `unknown`. A setting is at its default if
/// its source is the build, or, in MariaDB, its value equals the default. Settings of unknown source never count as
/// defaults.
pub fn settings(connection: &mut Connection) -> Result<Vec<ServerSetting>> {
    let variables = variables(connection)?;
    let sources = sources(connection)?;
    let setting = |(name, value): (String, String)| {
        let (source, default) = match sources.get(&name) {
            Some((source, default)) => {
                let is_default =
                    DEFAULT_SOURCES.contains(&source.as_str()) || default.as_ref() == Some(&value);
                (source.clone(), is_default)
            }
            None => (UNKNOWN_SOURCE.to_owned(), false),
        };
        ServerSetting { name, value, source, default }
    };
    Ok(variables.into_iter().map(setting).collect())
}

fn variables(connection: &mut Connection) -> Result<Vec<(String, String)>> {
    let table = query(connection, "settings", "SHOW GLOBAL VARIABLES")?;
    let pair = |row: &Vec<Option<String>>| {
        Some((cell(row, 0)?.to_ascii_lowercase(), cell(row, 1).unwrap_or_default().to_owned()))
    };
    let mut variables: Vec<(String, String)> = table.rows.iter().filter_map(pair).collect();
    variables.sort();
    Ok(variables)
}

/// By setting: its source, and its default value if known.
fn sources(connection: &mut Connection) -> Result<HashMap<String, (String, Option<String>)>> {
    let sql = if connection.is_mariadb() {
        MARIADB_SOURCES
    } else if connection.server_version_num() >= SOURCES_SINCE {
        MYSQL_SOURCES
    } else {
        return Ok(HashMap::new());
    };
    let table = query(connection, "sources of settings", sql)?;
    let source = |row: &Vec<Option<String>>| {
        let default = cell(row, 2).map(str::to_owned);
        Some((cell(row, 0)?.to_owned(), (cell(row, 1)?.to_owned(), default)))
    };
    Ok(table.rows.iter().filter_map(source).collect())
}
