//! The debt a server has after writes, as facts on which a settle step can end: dead rows, dirty buffers, checkpoints,
//! autovacuum at work, and what the kernel has still to write. What to do about them is decided elsewhere.

use rqps_wire::Error as WireError;
use rqps_wire::postgres::Connection;

use super::{ask, ask_number};
use crate::error::{Error, Result};
use crate::host;

/// First `server_version_num` whose pg_buffercache can sum up without listing every buffer.
const SUMMARY_SINCE: u32 = 160_000;

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
    Ok(SettleFacts {
        dead_rows: dead_rows(connection)?,
        unseen_pages: unseen_pages(connection)?,
        dirty_buffers: dirty_buffers(connection)?,
        checkpoints: checkpoints(connection)?,
        checkpoint_lsn: checkpoint_lsn(connection)?,
        autovacuum_workers: autovacuum_workers(connection)?,
        kernel_dirty_bytes: host::dirty_bytes()?,
    })
}

/// Dead row versions of all tables in schema public, by the server's estimate.
pub fn dead_rows(connection: &mut Connection) -> Result<u64> {
    let sql = "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_all_tables WHERE schemaname = 'public'";
    ask_number(connection, "dead rows", sql)
}

/// As [`SettleFacts::unseen_pages`] says. A partitioned table has no pages of its own.
pub fn unseen_pages(connection: &mut Connection) -> Result<u64> {
    let sql = "SELECT coalesce(sum(greatest(relpages - relallvisible, 0)), 0) FROM pg_class \
               WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'm')";
    ask_number(connection, "pages that are not all-visible", sql)
}

/// Dirty shared buffers of the whole server; inside, why they are not known. Before 16 the server lists every buffer
/// for it, which takes about a second for each 8 GB of shared buffers.
pub fn dirty_buffers(connection: &mut Connection) -> Result<std::result::Result<u64, String>> {
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

/// Checkpoints counted, as [`SettleFacts::checkpoints`] says.
pub fn checkpoints(connection: &mut Connection) -> Result<u64> {
    let sql = match connection.server_version_num() {
        180_000.. => "SELECT num_done FROM pg_stat_checkpointer",
        170_000.. => "SELECT num_timed + num_requested FROM pg_stat_checkpointer",
        _ => "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter",
    };
    ask_number(connection, "checkpoints", sql)
}

/// Place in the WAL of the last finished checkpoint.
pub fn checkpoint_lsn(connection: &mut Connection) -> Result<String> {
    let column =
        if connection.server_version_num() >= 100_000 { "checkpoint_lsn" } else { "checkpoint_location" };
    ask_number(connection, "last checkpoint", &format!("SELECT {column} FROM pg_control_checkpoint()"))
}

pub fn autovacuum_workers(connection: &mut Connection) -> Result<u64> {
    let sql = if connection.server_version_num() >= 100_000 {
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'"
    } else {
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'autovacuum:%' AND pid <> pg_backend_pid()"
    };
    ask_number(connection, "autovacuum workers", sql)
}
