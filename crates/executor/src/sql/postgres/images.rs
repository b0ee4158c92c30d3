//! Images of whole pages in the log: the first change to a page after a checkpoint writes one, so that what a change
//! costs depends on how long ago the checkpoint was. Counting takes both ends of that.

use rqps_wire::Error as Wire;
use rqps_wire::postgres::Connection;
use std::time::{Duration, Instant};

/// How long the checkpointer may take to follow a setting; under an instrument it takes tenths of a second.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// Has the next change to any page come with its image. False where the server writes none.
pub(super) fn dense(connection: &mut Connection) -> Result<bool, Wire> {
    if shown(connection, "SHOW full_page_writes")?.as_deref() != Some("on") {
        return Ok(false);
    }
    connection.query("CHECKPOINT")?;
    Ok(true)
}

/// Has no change come with an image. The checkpointer turns them off for all sessions, and each checkpoint says whether
/// it has; so there is one after the other until it did. False where it has not in good time.
pub(super) fn bare(connection: &mut Connection) -> Result<bool, Wire> {
    for sql in ["ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()"] {
        connection.query(sql)?;
    }
    let since = Instant::now();
    while since.elapsed() < FOLLOWED_WITHIN {
        connection.query("CHECKPOINT")?;
        let known = shown(connection, "SELECT full_page_writes FROM pg_control_checkpoint()")?;
        if known.as_deref() == Some("f") {
            return Ok(true);
        }
        std::thread::sleep(POLL);
    }
    Ok(false)
}

/// Bytes of log that were ever written.
pub(super) fn log_bytes(connection: &mut Connection) -> Result<Option<f64>, Wire> {
    let sql = match connection.server_version_num() {
        100_000.. => "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
        _ => "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')",
    };
    Ok(shown(connection, sql)?.and_then(|text| text.parse().ok()))
}

fn shown(connection: &mut Connection, sql: &str) -> Result<Option<String>, Wire> {
    Ok(connection.query(sql)?.value().map(str::to_owned))
}
