//! When the server's statistics are up to date. Sessions keep their counters to themselves for a while:
//!
//! * 15 and later: a session that becomes idle reports at most once a second, and then again only after ten seconds of
//!   idleness. `pg_stat_force_next_flush()` makes it report at the end of that very transaction, at no wait.
//! * before 15: a session reports at the end of a transaction, at most every 500 ms, to a collector process, whose
//!   file other sessions accept while it is up to 500 ms old. An idle session reports nothing more.
//! * all versions: a session reports everything when it ends.
//!
//! Procedure before a snapshot that has to be exact: every session of the database that has done anything, the one that
//! takes the snapshot included and last, stays idle for `idle_ms`, runs `session_sql` as a statement of its own, and
//! does nothing more; after `settle_ms` the snapshot is taken. Sessions that have ended, and whose processes have gone,
//! need no statement, only the `settle_ms`. Background processes report by themselves, the checkpointer at the end of
//! a checkpoint, and are not held to this.

use crate::server::FlushProcedure;

/// First `server_version_num` with statistics in shared memory.
pub(crate) const FORCED_SINCE: u32 = 150_000;
/// Makes the session report at the end of the transaction. A session that has counted nothing but commits would not
/// report them even so, hence the look into a table: a shared one, which is not counted as this database's.
pub(crate) const FORCE_SQL: &str = "SELECT pg_stat_force_next_flush() FROM pg_database LIMIT 1";

/// Milliseconds to wait where the server promises 500.
const OLD_WAIT_MS: u64 = 530;

/// The procedure for a server of `server_version_num`.
pub fn procedure(server_version_num: u32) -> FlushProcedure {
    if server_version_num >= FORCED_SINCE {
        FlushProcedure { idle_ms: 0, session_sql: FORCE_SQL, settle_ms: 0 }
    } else {
        FlushProcedure { idle_ms: OLD_WAIT_MS, session_sql: "SELECT 1", settle_ms: OLD_WAIT_MS }
    }
}
