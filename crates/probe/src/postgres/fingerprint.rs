//! The state a step starts from. Two arms whose steps start from unlike states (one with dead rows, one just vacuumed,
//! one far from its last checkpoint) are not comparable, however like their work is.

use rqps_wire::Table;
use rqps_wire::postgres::Connection;

use super::{ask, ask_number, understand};
use crate::cells::{cell, text};
use crate::error::Result;
use rqps_model::ServerSetting;

/// State of the database just before a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fingerprint {
    /// Each table of schema public, by name.
    pub tables: Vec<TableState>,
    /// Size of the whole database, bytes.
    pub database_bytes: u64,
    /// WAL written since the place from which a crash now would recover, bytes.
    pub wal_since_checkpoint_bytes: u64,
    /// Transactions since the oldest row that is not frozen.
    pub xid_age: u64,
    /// Files of WAL that are there, those kept for later among them; none where the server does not tell (before 10).
    pub wal_files: Option<u64>,
    /// Settings that are not at their default, by name; those of the asking session and
    /// the places of files are left out.
    pub settings: Vec<ServerSetting>,
}

/// State of one table. Row counts are the server's estimates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableState {
    pub name: String,
    pub live_rows: u64,
    /// Row versions that are dead and not yet removed.
    pub dead_rows: u64,
    /// Size of the rows' file, bytes.
    pub heap_bytes: u64,
    /// Size of all its indexes, bytes.
    pub index_bytes: u64,
    /// Size of everything that belongs to it, bytes.
    pub total_bytes: u64,
    /// Pages, at its last vacuum or analyze.
    pub pages: u64,
    /// Pages whose rows all transactions see, at its last vacuum or analyze.
    pub all_visible_pages: u64,
    pub vacuums: u64,
    pub autovacuums: u64,
    pub analyzes: u64,
    pub autoanalyzes: u64,
    /// A hash of all that the planner knows of its columns: equal where ANALYZE found the same.
    pub statistics: String,
}

/// A partitioned table has no pages of its own, which its entry tells as -1; its partitions have entries of theirs.
const TABLES_SQL: &str = "\
    SELECT s.relname, coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0), pg_relation_size(c.oid), \
      pg_indexes_size(c.oid), pg_total_relation_size(c.oid), \
      greatest(c.relpages, 0), greatest(c.relallvisible, 0), \
      s.vacuum_count, s.autovacuum_count, s.analyze_count, s.autoanalyze_count, \
      (SELECT coalesce(md5(string_agg(concat_ws(' ', p.attname, p.null_frac, p.avg_width, p.n_distinct, \
         p.most_common_vals::text, p.most_common_freqs::text, p.histogram_bounds::text, p.correlation), ' ' \
         ORDER BY p.attname)), '') \
       FROM pg_stats p WHERE p.schemaname = s.schemaname AND p.tablename = s.relname) \
    FROM pg_stat_all_tables s JOIN pg_class c ON c.oid = s.relid \
    WHERE s.schemaname = 'public' ORDER BY s.relname";

const SETTINGS_SQL: &str = "\
    SELECT name, setting || coalesce(' x ' || unit, ''), source FROM pg_settings \
    WHERE source NOT IN ('default', 'client', 'session') AND name NOT LIKE 'transaction_%' \
      AND name NOT IN ('config_file', 'data_directory', 'hba_file', 'ident_file') ORDER BY name";

const WAL_SQL: &str =
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) FROM pg_control_checkpoint()";
/// The same before 10.
const WAL_OLD_SQL: &str = "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), redo_location) FROM pg_control_checkpoint()";

pub fn fingerprint(connection: &mut Connection) -> Result<Fingerprint> {
    let wal_sql = if connection.server_version_num() >= 100_000 { WAL_SQL } else { WAL_OLD_SQL };
    let settings = ask(connection, "settings", SETTINGS_SQL)?;
    Ok(Fingerprint {
        tables: tables(&ask(connection, "table states", TABLES_SQL)?)?,
        database_bytes: ask_number(
            connection,
            "database size",
            "SELECT pg_database_size(current_database())",
        )?,
        wal_since_checkpoint_bytes: ask_number(connection, "WAL since the last checkpoint", wal_sql)?,
        xid_age: ask_number(
            connection,
            "transaction age",
            "SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()",
        )?,
        wal_files: wal_files(connection)?,
        settings: settings.rows.iter().map(|row| setting(row)).collect(),
    })
}

fn wal_files(connection: &mut Connection) -> Result<Option<u64>> {
    if connection.server_version_num() < 100_000 {
        return Ok(None);
    }
    let sql = "SELECT count(*) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'";
    ask_number(connection, "files of WAL", sql).map(Some)
}

fn tables(table: &Table) -> Result<Vec<TableState>> {
    let state = |row: &Vec<Option<String>>| -> Result<TableState> {
        let figure = |at: usize| understand("table states", cell(row, at));
        Ok(TableState {
            name: text(row, 0),
            live_rows: figure(1)?,
            dead_rows: figure(2)?,
            heap_bytes: figure(3)?,
            index_bytes: figure(4)?,
            total_bytes: figure(5)?,
            pages: figure(6)?,
            all_visible_pages: figure(7)?,
            vacuums: figure(8)?,
            autovacuums: figure(9)?,
            analyzes: figure(10)?,
            autoanalyzes: figure(11)?,
            statistics: text(row, 12),
        })
    };
    table.rows.iter().map(state).collect()
}

/// With its unit in the value.
fn setting(row: &[Option<String>]) -> ServerSetting {
    ServerSetting { name: text(row, 0), value: text(row, 1), source: text(row, 2), default: false }
}

impl Fingerprint {
    /// Live rows of all tables.
    pub fn live_rows(&self) -> u64 {
        self.tables.iter().map(|table| table.live_rows).sum()
    }

    /// Dead row versions of all tables.
    pub fn dead_rows(&self) -> u64 {
        self.tables.iter().map(|table| table.dead_rows).sum()
    }

    /// Everything as names and values, sums first, then each table (`table.sbtest1.dead_rows`), then the settings
    /// (`setting.shared_buffers`, with unit and source).
    pub fn key_values(&self) -> Vec<(String, String)> {
        let sum = |field: fn(&TableState) -> u64| self.tables.iter().map(field).sum::<u64>();
        let mut facts: Vec<(String, String)> = [
            ("live_rows", self.live_rows()),
            ("dead_rows", self.dead_rows()),
            ("heap_bytes", sum(|table| table.heap_bytes)),
            ("index_bytes", sum(|table| table.index_bytes)),
            ("database_bytes", self.database_bytes),
            ("wal_since_checkpoint_bytes", self.wal_since_checkpoint_bytes),
            ("xid_age", self.xid_age),
        ]
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .to_vec();
        facts.extend(self.wal_files.map(|files| ("wal_files".to_owned(), files.to_string())));
        for table in &self.tables {
            let named =
                |(field, value): (&str, u64)| (format!("table.{}.{field}", table.name), value.to_string());
            facts.extend(table.figures().map(named));
            facts.push((format!("table.{}.statistics", table.name), table.statistics.clone()));
        }
        let setting = |setting: &ServerSetting| {
            (format!("setting.{}", setting.name), format!("{} ({})", setting.value, setting.source))
        };
        facts.extend(self.settings.iter().map(setting));
        facts
    }
}

impl TableState {
    fn figures(&self) -> [(&'static str, u64); 11] {
        [
            ("live_rows", self.live_rows),
            ("dead_rows", self.dead_rows),
            ("heap_bytes", self.heap_bytes),
            ("index_bytes", self.index_bytes),
            ("total_bytes", self.total_bytes),
            ("pages", self.pages),
            ("all_visible_pages", self.all_visible_pages),
            ("vacuums", self.vacuums),
            ("autovacuums", self.autovacuums),
            ("analyzes", self.analyzes),
            ("autoanalyzes", self.autoanalyzes),
        ]
    }
}
