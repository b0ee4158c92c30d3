//! The debt a server has after writes, as facts on which a settle step can end: dead rows, dirty buffers, checkpoints,
//! running autovacuum, and what the kernel has yet to write. What to do about them is decided elsewhere.

use rqps_wire::Error as WireError;
use rqps_wire::postgres::Connection;

use super::{ask, ask_number};
use crate::error::{Error, Result};
use crate::host;

/// First `server_version_num` whose pg_buffercache can sum up without listing every buffer.
const SUMMARY_SINCE: u32 = 160_000;

const DEAD_ROWS_SQL: &str =
    "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_all_tables WHERE schemaname = 'public'";

/// A partitioned table has no pages of its own.
const UNSEEN_PAGES_SQL: &str = "SELECT coalesce(sum(greatest(relpages - relallvisible, 0)), 0) FROM pg_class \
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'm')";

/// A server's debt at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct SettleFacts {
    /// Dead row versions in schema public, by the server's estimate.
    pub dead_rows: u64,
    /// Pages of the tables in schema public that are not known to hold only rows that all transactions see, as the last
    /// VACUUM or ANALYZE left them.
    pub unseen_pages: u64,
    /// Shared buffers that differ from their place on disk, or why that is not known.
    pub dirty_buffers: std::result::Result<u64, String>,
    /// Checkpoints counted since the statistics began; before 18 one that has just begun, and in 17 one that was
    /// skipped because nothing had happened, is counted too. Counted a moment after CHECKPOINT has answered.
    pub checkpoints: u64,
    /// Place in the WAL of the last finished checkpoint: changes exactly when one is finished.
    pub checkpoint_lsn: String,
    pub autovacuum_workers: u64,
    /// Memory the kernel has still to write to disks, bytes.
    pub kernel_dirty_bytes: u64,
}

pub fn facts(connection: &mut Connection) -> Result<SettleFacts> {
    let version_num = connection.server_version_num();
    let checkpoints = match version_num {
        180_000.. => "SELECT num_done FROM pg_stat_checkpointer",
        170_000.. => "SELECT num_timed + num_requested FROM pg_stat_checkpointer",
        _ => "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter",
    };
    let (checkpoint_lsn, workers) = if version_num >= 100_000 {
        ("SELECT checkpoint_lsn FROM pg_control_checkpoint()", "backend_type = 'autovacuum worker'")
    } else {
        (
            "SELECT checkpoint_location FROM pg_control_checkpoint()",
            "query LIKE 'autovacuum:%' AND pid <> pg_backend_pid()",
        )
    };
    let workers = format!("SELECT count(*) FROM pg_stat_activity WHERE {workers}");
    Ok(SettleFacts {
        dead_rows: ask_number(connection, "dead rows", DEAD_ROWS_SQL)?,
        unseen_pages: ask_number(connection, "pages that are not all-visible", UNSEEN_PAGES_SQL)?,
        dirty_buffers: dirty_buffers(connection)?,
        checkpoints: ask_number(connection, "checkpoints", checkpoints)?,
        checkpoint_lsn: ask_number(connection, "last checkpoint", checkpoint_lsn)?,
        autovacuum_workers: ask_number(connection, "autovacuum workers", &workers)?,
        kernel_dirty_bytes: host::dirty_bytes()?,
    })
}

/// Dirty shared buffers of the whole server; inside, why they are unknown. Before 16 the server lists every buffer for
/// it, which takes about a second for each 8 GB of shared buffers.
fn dirty_buffers(connection: &mut Connection) -> Result<std::result::Result<u64, String>> {
    let known = ask(connection, "extensions", "SELECT 1 FROM pg_extension WHERE extname = 'pg_buffercache'")?;
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
    ask_number(connection, "dirty buffers", sql).map(Ok)
}
