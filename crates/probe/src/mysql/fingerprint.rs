//! The state of a MySQL or MariaDB database before a step.
//!
//! | figure | what |
//! | --- | --- |
//! | `live_rows` | an estimate |
//! | `data_bytes`, `index_bytes` | size of the primary key's index, which has the rows; of all other indexes |
//! | `database_bytes` | both, and allocated but unused space (`table.NAME.free_bytes`) |
//! | `history_list_length`, `unpurged_transactions` | as in [`super::settle::SettleFacts`] |
//! | `dirty_pages`, `data_pages`, `free_pages` | of the buffer pool: not yet flushed; with data; empty |
//! | `checkpoint_age_bytes` | redo log that recovery after a crash would read |
//! | `table.NAME.changed_rows` | rows inserted, deleted, or updated in an indexed column since the statistics were gathered; the server gathers them again by this number |
//! | `table.NAME.statistics` | sizes and distinct values of its indexes, if persistent |
//! | `setting.NAME` | settings that are not at their default, except file locations; those of InnoDB if the server does not report defaults |

use rqps_model::ServerSetting;
use rqps_wire::Table;
use rqps_wire::mysql::Connection;

use super::innodb_status::{self, CHECKPOINT_AGE_BYTES, DIRTY_PAGES, HISTORY_LIST_LENGTH};
use super::settle::{figure, unpurged};
use super::{about, query};
use crate::cells::{cell, number};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, TableState, sum};

/// First version of MySQL that caches table statistics for a day by default.
const CACHED_SINCE: u32 = 80_000;
const NO_CACHE_SQL: &str = "SET SESSION information_schema_stats_expiry = 0";

const TABLES_SQL: &str = "\
    SELECT table_name AS name, table_rows AS live_rows, data_length AS data_bytes, index_length AS index_bytes, \
    data_free AS free_bytes \
    FROM information_schema.tables WHERE table_schema = DATABASE() AND engine = 'InnoDB' ORDER BY table_name";

const STATISTICS_SQL: &str = "\
    SELECT table_name, index_name, stat_name, stat_value FROM mysql.innodb_index_stats \
    WHERE database_name = DATABASE() ORDER BY table_name, index_name, stat_name";

/// Locations of files, identity of the server, and settings of rqps' own session.
const NOT_STATE: [&str; 22] = [
    "basedir",
    "character_sets_dir",
    "datadir",
    "explain_json_format_version",
    "foreign_key_checks",
    "general_log_file",
    "hostname",
    "information_schema_stats_expiry",
    "lc_messages_dir",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "pid_file",
    "plugin_dir",
    "port",
    "report_port",
    "secure_file_priv",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "tmpdir",
];

/// Reads the current state.
///
/// # Errors
/// If a query fails or its result is unexpected.
pub fn fingerprint(connection: &mut Connection) -> Result<Fingerprint> {
    let tables = tables(connection)?;
    let status = innodb_status::read(connection)?;
    let settings: Vec<ServerSetting> = about::settings(connection)?.into_iter().filter(is_state).collect();
    let database = ["data_bytes", "index_bytes", "free_bytes"].map(|figure| sum(&tables, figure));
    let totals = [
        ("live_rows", sum(&tables, "live_rows")),
        ("data_bytes", database[0]),
        ("index_bytes", database[1]),
        ("database_bytes", database.iter().sum()),
        ("history_list_length", figure(&status, HISTORY_LIST_LENGTH)?),
        ("unpurged_transactions", unpurged(&status)?),
        ("dirty_pages", figure(&status, DIRTY_PAGES)?),
        ("data_pages", figure(&status, "data_pages")?),
        ("free_pages", figure(&status, "free_pages")?),
        ("checkpoint_age_bytes", figure(&status, CHECKPOINT_AGE_BYTES)?),
    ];
    Ok(Fingerprint::new(&totals, &tables, &settings))
}

fn is_state(setting: &ServerSetting) -> bool {
    if NOT_STATE.contains(&setting.name.as_str()) || setting.default {
        return false;
    }
    setting.source != about::UNKNOWN_SOURCE || setting.name.starts_with("innodb_")
}

/// Disables cached table statistics in this session.
pub(super) fn disable_statistics_cache(connection: &mut Connection) -> Result<()> {
    if !connection.is_mariadb() && connection.server_version_num() >= CACHED_SINCE {
        query(connection, "fresh states of tables", NO_CACHE_SQL)?;
    }
    Ok(())
}

fn tables(connection: &mut Connection) -> Result<Vec<TableState>> {
    disable_statistics_cache(connection)?;
    // This query opens every table; the next one shows open tables only.
    let mut tables = TableState::from_rows(&query(connection, "table states", TABLES_SQL)?)?;
    let is_new = !connection.is_mariadb() && connection.server_version_num() >= CACHED_SINCE;
    let view = if is_new { "innodb_tablestats" } else { "innodb_sys_tablestats" };
    let changed = format!(
        "SELECT substring_index(name, '/', -1), modified_counter FROM information_schema.{view} \
         WHERE name LIKE concat(DATABASE(), '/%')"
    );
    let changed = query(connection, "changed rows", &changed)?;
    let statistics = query(connection, "index statistics", STATISTICS_SQL)?;
    for table in &mut tables {
        let of_table = changed.rows.iter().find(|row| cell(row, 0) == Some(&table.name));
        let changed_rows = of_table.and_then(|row| number(row, 1));
        table.figures.extend(changed_rows.map(|rows| ("changed_rows".to_owned(), rows)));
        table.statistics = statistics_of(&statistics, &table.name);
    }
    Ok(tables)
}

/// The figures of a table in one line.
fn statistics_of(all: &Table, table: &str) -> String {
    let of_table = all.rows.iter().filter(|row| cell(row, 0) == Some(table));
    let figure = |row: &Vec<Option<String>>| {
        let [index, name, value] = [1, 2, 3].map(|at| cell(row, at).unwrap_or_default());
        format!("{index}.{name}={value}")
    };
    of_table.map(figure).collect::<Vec<_>>().join(" ")
}
