//! Build facts and settings as the server reports them.

use rqps_wire::postgres::Connection;

use super::{CONTROL_SINCE, query};
use crate::cells::{cell, text};
use crate::error::Result;
use rqps_model::ServerSetting;

/// Names in `pg_config`, and the names they are stored under.
const BUILD_FACTS: [(&str, &str); 5] = [
    ("CC", "cc"),
    ("CFLAGS", "cflags"),
    ("CPPFLAGS", "cppflags"),
    ("LDFLAGS", "ldflags"),
    ("CONFIGURE", "configure"),
];

const BUILD_SQL: &str = "SELECT name, setting FROM pg_config";

/// A setting is at its default if its value is the compiled-in one, whatever its source.
const SETTINGS_SQL: &str = "\
    SELECT name, coalesce(current_setting(name, true), ''), source, (setting IS NOT DISTINCT FROM boot_val)::text \
    FROM pg_settings WHERE source NOT IN ('client', 'session') ORDER BY name";

/// Before 9.6, where every setting of the list can be read.
const SETTINGS_OLD_SQL: &str = "\
    SELECT name, coalesce(current_setting(name), ''), source, (setting IS NOT DISTINCT FROM boot_val)::text \
    FROM pg_settings WHERE source NOT IN ('client', 'session') ORDER BY name";

/// How the server was built, as pairs of name (`cc`, `cflags`, `cppflags`, `ldflags`, `configure`) and text. Needs a
/// superuser. Empty before 9.6, which does not tell.
pub fn build_facts(connection: &mut Connection) -> Result<Vec<(String, String)>> {
    if connection.server_version_num() < CONTROL_SINCE {
        return Ok(Vec::new());
    }
    let table = query(connection, "how the server was built", BUILD_SQL)?;
    let value_of =
        |wanted: &str| table.rows.iter().find(|row| cell(row, 0) == Some(wanted))?.get(1).cloned().flatten();
    let facts = BUILD_FACTS.iter().filter_map(|(name, key)| Some(((*key).to_owned(), value_of(name)?)));
    Ok(facts.collect())
}

/// All settings, by name.
pub fn settings(connection: &mut Connection) -> Result<Vec<ServerSetting>> {
    let is_old = connection.server_version_num() < CONTROL_SINCE;
    let table = query(connection, "settings", if is_old { SETTINGS_OLD_SQL } else { SETTINGS_SQL })?;
    let setting = |row: &Vec<Option<String>>| ServerSetting {
        name: text(row, 0),
        value: text(row, 1),
        source: text(row, 2),
        default: text(row, 3) == "true",
    };
    Ok(table.rows.iter().map(setting).collect())
}
