//! What a server says of itself: how it was built, and every setting with its value.

use std::collections::HashMap;

use rqps_wire::mysql::Connection;

use super::ask;
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

/// Where a value comes from, for a version that does not tell.
pub(crate) const UNKNOWN_SOURCE: &str = "unknown";

/// First version of MySQL that tells where values come from.
const SOURCES_SINCE: u32 = 80_000;
/// The source of a value that MySQL was compiled with.
const COMPILED: &str = "COMPILED";
/// The sources of MariaDB's values that nobody set: compiled-in and auto-detected ones.
const GIVEN_BY_NOBODY: [&str; 2] = ["COMPILE-TIME", "AUTO"];

const MYSQL_SOURCES: &str =
    "SELECT lower(variable_name), variable_source, NULL FROM performance_schema.variables_info";
const MARIADB_SOURCES: &str = "SELECT lower(variable_name), global_value_origin, default_value \
    FROM information_schema.system_variables";

/// How the server was built, as pairs of name and text: `comment`, `machine`, `os`, and what else this version tells.
/// Compiler and flags it does not know.
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

/// All settings, by name, as `SHOW GLOBAL VARIABLES` has them.
///
/// Where a value comes from is told by MySQL from 8.0 on and by MariaDB; else the source is `unknown`. A setting is at
/// its default when MySQL says that it was compiled in, and in MariaDB when nobody gave it or it is what it would be
/// then; where the source is unknown, nothing counts as a default.
pub fn settings(connection: &mut Connection) -> Result<Vec<ServerSetting>> {
    let variables = variables(connection)?;
    let sources = sources(connection)?;
    let setting = |(name, value): (String, String)| {
        let (source, default) = match sources.get(&name) {
            Some((source, by_default)) => {
                let is_default = source == COMPILED
                    || GIVEN_BY_NOBODY.contains(&source.as_str())
                    || by_default.as_ref() == Some(&value);
                (source.clone(), is_default)
            }
            None => (UNKNOWN_SOURCE.to_owned(), false),
        };
        ServerSetting { name, value, source, default }
    };
    Ok(variables.into_iter().map(setting).collect())
}

fn variables(connection: &mut Connection) -> Result<Vec<(String, String)>> {
    let table = ask(connection, "settings", "SHOW GLOBAL VARIABLES")?;
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
    let table = ask(connection, "sources of settings", sql)?;
    let source = |row: &Vec<Option<String>>| {
        let by_default = cell(row, 2).map(str::to_owned);
        Some((cell(row, 0)?.to_owned(), (cell(row, 1)?.to_owned(), by_default)))
    };
    Ok(table.rows.iter().filter_map(source).collect())
}
