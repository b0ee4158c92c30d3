//! Types common to the servers of all DBMSs.

/// How to make sessions flush their statistics, so that a snapshot of the server's counters is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlushProcedure {
    /// Idle time of a session before it runs `session_sql`, milliseconds.
    pub idle_ms: u64,
    /// The statement that each session runs; the server counts it, too.
    pub session_sql: &'static str,
    /// Waiting time after the last session's `session_sql` or end, milliseconds.
    pub settle_ms: u64,
}
