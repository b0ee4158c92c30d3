//! The state a step starts from. Two arms whose steps start from unlike states (one with old row versions, one purged,
//! one full of dirty pages) are not comparable, however like their work is.

use rqps_wire::Table;
use rqps_wire::mysql::Connection;

use super::innodb_status::{self, CHECKPOINT_AGE_BYTES, DIRTY_PAGES, HISTORY_LIST_LENGTH};
use super::settle::{figure, unpurged};
use super::{about, ask};
use crate::cells::{cell, number};
use crate::error::{Error, Result};
use rqps_model::ServerSetting;

/// First version of MySQL that keeps figures of tables for a day unless it is told otherwise.
const KEPT_SINCE: u32 = 80_000;
const KEEP_NOTHING_SQL: &str = "SET SESSION information_schema_stats_expiry = 0";

const TABLES_SQL: &str = "\
    SELECT table_name, table_rows, data_length, index_length, data_free \
    FROM information_schema.tables WHERE table_schema = DATABASE() AND engine = 'InnoDB' ORDER BY table_name";

const STATISTICS_SQL: &str = "\
    SELECT table_name, index_name, stat_name, stat_value FROM mysql.innodb_index_stats \
    WHERE database_name = DATABASE() ORDER BY table_name, index_name, stat_name";

/// Settings that say where files are and which server it is; and those of the session that asks.
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

/// State of the database just before a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fingerprint {
    /// Each table of the database, by name.
    pub tables: Vec<TableState>,
    /// Transactions whose old row versions wait for the purge, or are purged and not yet taken off the list.
    pub history_list_length: u64,
    /// Transaction numbers that the purge has not come to, as in [`super::settle::SettleFacts`].
    pub unpurged_transactions: u64,
    /// Pages of the buffer pool that differ from their place on disk.
    pub dirty_pages: u64,
    /// Pages of the buffer pool that hold data.
    pub data_pages: u64,
    /// Pages of the buffer pool that hold nothing.
    pub free_pages: u64,
    /// Redo log written since the place from which a crash now would recover, bytes.
    pub checkpoint_age_bytes: u64,
    /// Settings that are not at their default, by name; the places of files are left out. Of servers that do not tell
    /// what the default is: those of InnoDB.
    pub settings: Vec<ServerSetting>,
}

/// State of one table, by the server's statistics.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableState {
    pub name: String,
    /// Rows, estimated.
    pub live_rows: u64,
    /// Size of the rows, which are in the primary key's index, bytes.
    pub data_bytes: u64,
    /// Size of all other indexes, bytes.
    pub index_bytes: u64,
    /// Size of what is allocated and not in use, bytes.
    pub free_bytes: u64,
    /// Rows inserted, deleted, or updated in a column of an index since these statistics were made, by which the server
    /// decides when to make them anew; none where it does not tell.
    pub changed_rows: Option<u64>,
    /// What the optimizer knows of its indexes: sizes and distinct values, where they are kept.
    pub statistics: String,
}

/// Reads the state now.
///
/// # Errors
/// When the server does not answer, or not as expected.
pub fn fingerprint(connection: &mut Connection) -> Result<Fingerprint> {
    let tables = tables(connection)?;
    let status = innodb_status::read(connection)?;
    let settings = about::settings(connection)?.into_iter().filter(is_state);
    Ok(Fingerprint {
        tables,
        history_list_length: figure(&status, HISTORY_LIST_LENGTH)?,
        unpurged_transactions: unpurged(&status)?,
        dirty_pages: figure(&status, DIRTY_PAGES)?,
        data_pages: figure(&status, "data_pages")?,
        free_pages: figure(&status, "free_pages")?,
        checkpoint_age_bytes: figure(&status, CHECKPOINT_AGE_BYTES)?,
        settings: settings.collect(),
    })
}

fn is_state(setting: &ServerSetting) -> bool {
    if NOT_STATE.contains(&setting.name.as_str()) || setting.default {
        return false;
    }
    setting.source != about::UNKNOWN_SOURCE || setting.name.starts_with("innodb_")
}

/// Has the server tell this session figures of tables as they are.
pub(super) fn keep_nothing(connection: &mut Connection) -> Result<()> {
    if !connection.is_mariadb() && connection.server_version_num() >= KEPT_SINCE {
        ask(connection, "fresh states of tables", KEEP_NOTHING_SQL)?;
    }
    Ok(())
}

fn tables(connection: &mut Connection) -> Result<Vec<TableState>> {
    let is_mysql = !connection.is_mariadb();
    let version_num = connection.server_version_num();
    keep_nothing(connection)?;
    // This opens every table; before, the other view knows nothing of those that nobody has used.
    let tables = ask(connection, "states of tables", TABLES_SQL)?;
    let view =
        if is_mysql && version_num >= KEPT_SINCE { "innodb_tablestats" } else { "innodb_sys_tablestats" };
    let changed = format!(
        "SELECT substring_index(name, '/', -1), modified_counter FROM information_schema.{view} \
         WHERE name LIKE concat(DATABASE(), '/%')"
    );
    let changed = ask(connection, "changed rows", &changed)?;
    let statistics = ask(connection, "statistics of indexes", STATISTICS_SQL)?;
    let state = |row: &Vec<Option<String>>| -> Result<TableState> {
        let name = cell(row, 0).unwrap_or_default();
        let figure = |at: usize| {
            let found = cell(row, at).unwrap_or("NULL").to_owned();
            number(row, at).ok_or(Error::Answer { what: "states of tables".to_owned(), found })
        };
        let of_table = changed.rows.iter().find(|row| cell(row, 0) == Some(name));
        Ok(TableState {
            name: name.to_owned(),
            live_rows: figure(1)?,
            data_bytes: figure(2)?,
            index_bytes: figure(3)?,
            free_bytes: figure(4)?,
            changed_rows: of_table.and_then(|row| number(row, 1)),
            statistics: statistics_of(&statistics, name),
        })
    };
    tables.rows.iter().map(state).collect()
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

impl Fingerprint {
    #[must_use]
    pub fn live_rows(&self) -> u64 {
        self.sum(|table| table.live_rows)
    }

    fn sum(&self, field: fn(&TableState) -> u64) -> u64 {
        self.tables.iter().map(field).sum()
    }

    /// Everything as names and values, sums first, then each table (`table.sbtest1.live_rows`), then the settings
    /// (`setting.innodb_io_capacity`, with source).
    #[must_use]
    pub fn key_values(&self) -> Vec<(String, String)> {
        let mut facts: Vec<(String, String)> = [
            ("live_rows", self.live_rows()),
            ("data_bytes", self.sum(|table| table.data_bytes)),
            ("index_bytes", self.sum(|table| table.index_bytes)),
            ("database_bytes", self.sum(|table| table.data_bytes + table.index_bytes + table.free_bytes)),
            ("history_list_length", self.history_list_length),
            ("unpurged_transactions", self.unpurged_transactions),
            ("dirty_pages", self.dirty_pages),
            ("data_pages", self.data_pages),
            ("free_pages", self.free_pages),
            ("checkpoint_age_bytes", self.checkpoint_age_bytes),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .to_vec();
        for table in &self.tables {
            let figures = table.figures().into_iter();
            facts.extend(figures.map(|(field, value)| (format!("table.{}.{field}", table.name), value)));
        }
        let setting = |setting: &ServerSetting| {
            (format!("setting.{}", setting.name), format!("{} ({})", setting.value, setting.source))
        };
        facts.extend(self.settings.iter().map(setting));
        facts
    }
}

impl TableState {
    fn figures(&self) -> Vec<(&'static str, String)> {
        let figures = [
            ("live_rows", Some(self.live_rows)),
            ("data_bytes", Some(self.data_bytes)),
            ("index_bytes", Some(self.index_bytes)),
            ("free_bytes", Some(self.free_bytes)),
            ("changed_rows", self.changed_rows),
        ];
        let figures = figures.into_iter().filter_map(|(name, value)| Some((name, value?.to_string())));
        figures.chain([("statistics", self.statistics.clone())]).collect()
    }
}
