//! Full-page images in the WAL: the first change to a page after a checkpoint writes one, so the cost of a
//! change depends on the time since the checkpoint. Instructions are counted at both extremes.

use rqps_wire::Error as Wire;
use rqps_wire::postgres::Connection;
use std::time::{Duration, Instant};

/// First `server_version_num` with `pg_control_checkpoint()`.
const CONTROL_SINCE: u32 = 90_600;
/// How long the checkpointer may take to apply a setting; under an instrument it takes tenths of a second.
const APPLY_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// Makes the next change to any page write its image, by a checkpoint. Returns false if the server writes no
/// images.
pub(super) fn dense(connection: &mut Connection) -> Result<bool, Wire> {
    if value(connection, "SHOW full_page_writes")?.as_deref() != Some("on") {
        return Ok(false);
    }
    connection.query("CHECKPOINT")?;
    Ok(true)
}

/// Turns page images off. The checkpointer does so for all sessions, and each checkpoint records whether it
/// has, so this repeats checkpoints until one has. Returns false after a timeout, and before 9.6.
pub(super) fn bare(connection: &mut Connection) -> Result<bool, Wire> {
    // Before, nothing tells whether they are off.
    if connection.server_version_num() < CONTROL_SINCE {
        return Ok(false);
    }
    for sql in ["ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()"] {
        connection.query(sql)?;
    }
    let since = Instant::now();
    while since.elapsed() < APPLY_TIMEOUT {
        connection.query("CHECKPOINT")?;
        let recorded = value(connection, "SELECT full_page_writes FROM pg_control_checkpoint()")?;
        if recorded.as_deref() == Some("f") {
            return Ok(true);
        }
        std::thread::sleep(POLL);
    }
    Ok(false)
}

/// Total bytes of WAL ever written.
pub(super) fn log_bytes(connection: &mut Connection) -> Result<Option<f64>, Wire> {
    let sql = match connection.server_version_num() {
        100_000.. => "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
        _ => "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')",
    };
    Ok(value(connection, sql)?.and_then(|text| text.parse().ok()))
}

fn value(connection: &mut Connection, sql: &str) -> Result<Option<String>, Wire> {
    Ok(connection.query(sql)?.value().map(str::to_owned))
}
