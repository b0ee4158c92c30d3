//! How any server, whatever DBMS it is of, is made to tell all.

/// How sessions are made to hand their statistics in, so that a snapshot of the server's counters has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlushProcedure {
    /// How long a session has to be idle before it runs `session_sql`, milliseconds.
    pub idle_ms: u64,
    /// What each session runs; it is itself one statement that the server counts.
    pub session_sql: &'static str,
    /// How long to wait after the last session's `session_sql` or end, milliseconds.
    pub settle_ms: u64,
}
