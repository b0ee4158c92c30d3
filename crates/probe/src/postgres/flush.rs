//! How to flush sessions' statistics. Sessions report their counters with a delay:
//!
//! * 15 and later: a session that becomes idle reports at most once per second, and then again only after ten idle
//!   seconds. `pg_stat_force_next_flush()` makes it report at the end of the same transaction, without delay.
//! * before 15: a session reports at the end of a transaction, at most every 500 ms, to the stats collector, whose file
//!   other sessions accept while it is up to 500 ms old. An idle session reports nothing more.
//! * all versions: a session reports everything when it ends.
//!
//! Procedure before an exact snapshot: every session of the database that has done any work, the snapshot's own
//! session last, stays idle for `idle_ms`, runs `session_sql` as a single statement, and does nothing more; after
//! `settle_ms` the snapshot is taken. Ended sessions whose processes are gone need only the `settle_ms`. Background
//! processes report by themselves, the checkpointer at the end of a checkpoint, and are not covered by the procedure.

use std::time::{Duration, Instant};

use rqps_wire::postgres::Connection;
use rqps_wire::{Error, Session};

use crate::server::FlushProcedure;

/// First `server_version_num` with statistics in shared memory.
pub(crate) const FORCED_SINCE: u32 = 150_000;
/// Makes the session report at the end of the transaction. A session that has counted only commits would not report
/// them, hence the read of a table: a shared one, which is not counted for this database.
pub(crate) const FORCE_SQL: &str = "SELECT pg_stat_force_next_flush() FROM pg_database LIMIT 1";

/// The server's 500 ms, and a margin.
const OLD_WAIT_MS: u64 = 530;

/// The procedure for a server of `server_version_num`.
pub fn procedure(server_version_num: u32) -> FlushProcedure {
    if server_version_num >= FORCED_SINCE {
        FlushProcedure { idle_ms: 0, session_sql: FORCE_SQL, settle_ms: 0 }
    } else {
        FlushProcedure { idle_ms: OLD_WAIT_MS, session_sql: "SELECT 1", settle_ms: OLD_WAIT_MS }
    }
}

/// How long [`wait_for_ended`] waits.
const ENDED_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits, at most 10 s, until no other session of this database has an application name that starts with `prefix`. A
/// session that was closed still ends, and reports its last transactions just before: in the difference of two
/// snapshots, if the first one came earlier.
pub fn wait_for_ended(connection: &mut Connection, prefix: &str) -> Result<(), Error> {
    let others = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
         AND left(application_name, {}) = '{prefix}'",
        prefix.len()
    );
    let start = Instant::now();
    while connection.number(&others)? != Some(0) && start.elapsed() < ENDED_TIMEOUT {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
