//! The state of a Postgres database before a step.
//!
//! | figure | what |
//! | --- | --- |
//! | `live_rows`, `dead_rows` | estimates; dead are row versions not yet removed |
//! | `heap_bytes`, `index_bytes` | size of the heap, of a settled one without new pages; of all indexes |
//! | `database_bytes` | size of the whole database |
//! | `wal_since_checkpoint_bytes` | WAL that recovery after a crash would read; 9.6 and later |
//! | `xid_age` | transactions since the oldest row that is not frozen |
//! | `wal_files` | WAL segments on disk, including recycled ones; 10 and later |
//! | `table.NAME.total_bytes` | size of the table with its indexes and TOAST |
//! | `table.NAME.{pages,all_visible_pages}` | at its last vacuum or analyze; of a settled table without new pages |
//! | `table.NAME.{vacuums,autovacuums,analyzes,autoanalyzes}` | their number so far |
//! | `table.NAME.statistics` | a hash of the planner's column statistics |
//! | `setting.NAME` | settings that are not at their default, except the session's own and file locations |

use rqps_model::ServerSetting;
use rqps_wire::postgres::Connection;

use super::settle::NEW_PAGES_SQL;
use super::{CONTROL_SINCE, query, query_value};
use crate::cells::{number, text};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, TableState, sum};

/// A partitioned table has no pages of its own (-1 in pg_class); its partitions are listed themselves.
const TABLES_SQL: &str = "\
    SELECT s.relname, coalesce(s.n_live_tup, 0) AS live_rows, coalesce(s.n_dead_tup, 0) AS dead_rows, \
      pg_relation_size(c.oid) AS heap_bytes, pg_indexes_size(c.oid) AS index_bytes, \
      pg_total_relation_size(c.oid) AS total_bytes, \
      greatest(c.relpages, 0) AS pages, greatest(c.relallvisible, 0) AS all_visible_pages, \
      s.vacuum_count AS vacuums, s.autovacuum_count AS autovacuums, \
      s.analyze_count AS analyzes, s.autoanalyze_count AS autoanalyzes, \
      (SELECT coalesce(md5(string_agg(concat_ws(' ', p.attname, p.null_frac, p.avg_width, p.n_distinct, \
         p.most_common_vals::text, p.most_common_freqs::text, p.histogram_bounds::text, p.correlation), ' ' \
         ORDER BY p.attname)), '') \
       FROM pg_stats p WHERE p.schemaname = s.schemaname AND p.tablename = s.relname) AS statistics \
    FROM pg_stat_all_tables s JOIN pg_class c ON c.oid = s.relid \
    WHERE s.schemaname = 'public' ORDER BY s.relname";

const SETTINGS_SQL: &str = "\
    SELECT name, setting || coalesce(' x ' || unit, ''), source FROM pg_settings \
    WHERE source NOT IN ('default', 'client', 'session') AND name NOT LIKE 'transaction_%' \
      AND name NOT IN ('config_file', 'data_directory', 'hba_file', 'ident_file') ORDER BY name";

const WAL_SQL: &str =
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) FROM pg_control_checkpoint()";
/// For versions before 10.
const WAL_OLD_SQL: &str = "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), redo_location) FROM pg_control_checkpoint()";

/// WAL since a checkpoint up to which tables on disk are as in memory.
const SETTLED_WAL_BYTES_MAX: u64 = 64 << 10;
/// Of a table with more pages that are not all-visible, others are not, too.
const NEW_PAGES_MAX: u64 = 2_000;
/// Each takes some microseconds.
const LOOKED_AT_PAGES_MAX: u64 = 500_000;

pub fn fingerprint(connection: &mut Connection) -> Result<Fingerprint> {
    let wal_sql = match connection.server_version_num() {
        100_000.. => Some(WAL_SQL),
        CONTROL_SINCE.. => Some(WAL_OLD_SQL),
        _ => None,
    };
    let database_sql = "SELECT pg_database_size(current_database())";
    let age_sql = "SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()";
    let mut tables = TableState::from_rows(&query(connection, "table states", TABLES_SQL)?)?;
    let wal_bytes =
        wal_sql.map(|sql| query_value(connection, "WAL since the last checkpoint", sql)).transpose()?;
    if wal_bytes.is_some_and(|bytes: u64| bytes <= SETTLED_WAL_BYTES_MAX) {
        leave_out_new_pages(connection, &mut tables)?;
    }
    let sums = ["live_rows", "dead_rows", "heap_bytes", "index_bytes"];
    let mut totals: Vec<(&str, u64)> = sums.map(|figure| (figure, sum(&tables, figure))).to_vec();
    totals.extend([
        ("database_bytes", query_value(connection, "database size", database_sql)?),
        ("xid_age", query_value(connection, "transaction age", age_sql)?),
    ]);
    totals.extend(wal_bytes.map(|bytes| ("wal_since_checkpoint_bytes", bytes)));
    totals.extend(wal_files(connection)?.map(|files| ("wal_files", files)));
    let settings = query(connection, "settings", SETTINGS_SQL)?;
    let settings: Vec<ServerSetting> = settings.rows.iter().map(|row| setting(row)).collect();
    Ok(Fingerprint::new(&totals, &tables, &settings))
}

/// Subtracts pages in which no row has ever been: loads of the same rows have more of them or fewer, by chance.
fn leave_out_new_pages(connection: &mut Connection, tables: &mut [TableState]) -> Result<()> {
    let sql = format!(
        "{NEW_PAGES_SQL} AND c.relpages - c.relallvisible <= {NEW_PAGES_MAX} AND c.relpages <= {LOOKED_AT_PAGES_MAX} \
         GROUP BY c.relname, page_bytes"
    );
    for row in query(connection, "new pages", &sql)?.rows {
        let named = |figure: &str| match figure {
            "pages" => number(&row, 1),
            "heap_bytes" => number(&row, 2),
            _ => None,
        };
        let Some(table) = tables.iter_mut().find(|table| table.name == text(&row, 0)) else { continue };
        for (figure, value) in &mut table.figures {
            *value = value.saturating_sub(named(figure).unwrap_or(0));
        }
    }
    Ok(())
}

fn wal_files(connection: &mut Connection) -> Result<Option<u64>> {
    if connection.server_version_num() < 100_000 {
        return Ok(None);
    }
    let sql = "SELECT count(*) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'";
    query_value(connection, "WAL files", sql).map(Some)
}

/// The value includes the unit.
fn setting(row: &[Option<String>]) -> ServerSetting {
    ServerSetting { name: text(row, 0), value: text(row, 1), source: text(row, 2), default: false }
}
