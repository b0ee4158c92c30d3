//! A server's debt after writes, used as exit conditions of settle steps: dead rows, dirty buffers, checkpoints,
//! running autovacuum, and the kernel's dirty memory. Nothing here acts on them.

use rqps_wire::Error as WireError;
use rqps_wire::postgres::Connection;

use super::{CONTROL_SINCE, query, query_value};
use crate::error::{Error, Result};
use crate::host;

/// First `server_version_num` with `pg_buffercache_summary()`, which does not list every buffer.
const SUMMARY_SINCE: u32 = 160_000;

const DEAD_ROWS_SQL: &str =
    "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_all_tables WHERE schemaname = 'public'";

/// A partitioned table has no pages of its own.
const NOT_ALL_VISIBLE_SQL: &str = "SELECT coalesce(sum(greatest(relpages - relallvisible, 0)), 0) FROM pg_class \
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'public') AND relkind IN ('r', 'm')";

/// Before 9.6, where the position cannot be read: a running server writes the control file at the end of a checkpoint.
const CONTROL_FILE_SQL: &str = "SELECT md5(encode(pg_read_binary_file('global/pg_control'), 'hex'))";

/// A server's debt at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct SettleFacts {
    /// Dead row versions in schema public, by the server's estimate.
    pub dead_rows: u64,
    /// Pages of the tables in schema public that are not all-visible, as of the last VACUUM or ANALYZE.
    pub unseen_pages: u64,
    /// Dirty shared buffers, or why their number is unknown.
    pub dirty_buffers: std::result::Result<u64, String>,
    /// Checkpoints since the statistics were reset. Before 18 it includes one that has just begun, in 17 also those
    /// skipped because nothing had happened. Updated a moment after CHECKPOINT returns.
    pub checkpoints: u64,
    /// WAL position of the last completed checkpoint, or a hash in its place: changes exactly when one completes.
    pub checkpoint_lsn: String,
    pub autovacuum_workers: u64,
    /// Memory that the kernel has yet to write to disks, bytes.
    pub kernel_dirty_bytes: u64,
}

/// Pages of tables in schema public in which no row has ever been: several COPYs at a time extend a table by more
/// pages than they fill (16 and later), and VACUUM leaves these as they are. Of a page that is new, `pd_upper` is 0
/// (`PageIsNew` in `bufpage.h`). Read from files, so after a checkpoint.
pub(super) const NEW_PAGES_SQL: &str = "\
    SELECT c.relname, count(*) AS pages, count(*) * page_bytes AS bytes FROM pg_class c \
    CROSS JOIN (SELECT current_setting('block_size')::bigint AS page_bytes, setting::bigint AS segment_pages \
      FROM pg_settings WHERE name = 'segment_size') sizes \
    CROSS JOIN LATERAL generate_series(0, c.relpages::bigint - 1) AS page \
    WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'public') AND c.relkind IN ('r', 'm') \
      AND c.relpages > c.relallvisible \
      AND pg_read_binary_file(pg_relation_filepath(c.oid) || CASE WHEN page < segment_pages THEN '' \
        ELSE '.' || page / segment_pages END, page % segment_pages * page_bytes + 14, 2) = '\\x0000'";

/// Pages in which no row has ever been, and which are therefore never all-visible. Looks at each page of the tables
/// that have any.
pub fn new_pages(connection: &mut Connection) -> Result<u64> {
    let sql = format!(
        "SELECT coalesce(sum(pages), 0) FROM ({NEW_PAGES_SQL} GROUP BY c.relname, page_bytes) new_pages"
    );
    query_value(connection, "new pages", &sql)
}

pub fn facts(connection: &mut Connection) -> Result<SettleFacts> {
    let version_num = connection.server_version_num();
    let checkpoints = match version_num {
        180_000.. => "SELECT num_done FROM pg_stat_checkpointer",
        170_000.. => "SELECT num_timed + num_requested FROM pg_stat_checkpointer",
        _ => "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter",
    };
    let checkpoint_lsn = match version_num {
        100_000.. => "SELECT checkpoint_lsn FROM pg_control_checkpoint()",
        CONTROL_SINCE.. => "SELECT checkpoint_location FROM pg_control_checkpoint()",
        _ => CONTROL_FILE_SQL,
    };
    let workers = match version_num {
        100_000.. => "backend_type = 'autovacuum worker'",
        _ => "query LIKE 'autovacuum:%' AND pid <> pg_backend_pid()",
    };
    let workers = format!("SELECT count(*) FROM pg_stat_activity WHERE {workers}");
    Ok(SettleFacts {
        dead_rows: query_value(connection, "dead rows", DEAD_ROWS_SQL)?,
        unseen_pages: query_value(connection, "pages that are not all-visible", NOT_ALL_VISIBLE_SQL)?,
        dirty_buffers: dirty_buffers(connection)?,
        checkpoints: query_value(connection, "checkpoints", checkpoints)?,
        checkpoint_lsn: query_value(connection, "last checkpoint", checkpoint_lsn)?,
        autovacuum_workers: query_value(connection, "autovacuum workers", &workers)?,
        kernel_dirty_bytes: host::dirty_bytes()?,
    })
}

/// Dirty shared buffers of the whole server, or as inner error why they are unknown. Before 16 the server lists every
/// buffer, which takes about a second per 8 GB of shared buffers.
fn dirty_buffers(connection: &mut Connection) -> Result<std::result::Result<u64, String>> {
    let known =
        query(connection, "extensions", "SELECT 1 FROM pg_extension WHERE extname = 'pg_buffercache'")?;
    if known.rows.is_empty() {
        match connection.query("CREATE EXTENSION pg_buffercache") {
            Ok(_) => {}
            Err(WireError::Db { message, .. }) => {
                return Ok(Err(format!("no pg_buffercache: {message}")));
            }
            Err(error) => return Err(Error::database("dirty buffers")(error)),
        }
    }
    let sql = if connection.server_version_num() >= SUMMARY_SINCE {
        "SELECT buffers_dirty FROM pg_buffercache_summary()"
    } else {
        "SELECT count(*) FROM pg_buffercache WHERE isdirty"
    };
    query_value(connection, "dirty buffers", sql).map(Ok)
}
