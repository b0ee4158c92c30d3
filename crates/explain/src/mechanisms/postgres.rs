//! What Postgres' settings act by. From the chapters "Server Configuration" and "Query Planning" of its documentation.
//!
//! A setting that no entry names is never named as a cause. Some have an entry without a cause, so that a wider
//! pattern does not catch them.

use super::Rule;
use super::needs::Needs::{Autovacuum, Checkpoint, Images, Jit, Log, Misses, Nothing, Sql, Value};
use crate::model::Cause;

/// What autovacuum's settings act by, and statements that set them for a table.
pub(super) const AUTOVACUUM: &[Cause] = &[
    Cause::Autovacuum,
    Cause::DeadRows,
    Cause::TailEntries,
    Cause::Size,
    Cause::HeapBlocks,
    Cause::Background,
];
/// What costs CPU time at each statement.
const CODE: &[Cause] = &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles];
/// That, and system calls.
const CALLS: &[Cause] = &[
    Cause::Instructions,
    Cause::CpuTime,
    Cause::Function,
    Cause::Cycles,
    Cause::KernelTime,
    Cause::Waiting,
    Cause::Background,
];
const PLANS: &[Cause] = &[Cause::QueryPlan];
const PLANNING: &[Cause] =
    &[Cause::QueryPlan, Cause::Planning, Cause::Instructions, Cause::CpuTime, Cause::Function];
const COMMITS: &[Cause] =
    &[Cause::Fsync, Cause::Waiting, Cause::KernelTime, Cause::CpuTime, Cause::Background];
const LOG: &[Cause] = &[Cause::Wal, Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::KernelTime];
const LIBRARY: &[Cause] =
    &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles, Cause::Planning];

/// Settings by name, or by its beginning where a `*` ends it, what they act by, and what has to be at work for that.
/// The first that fits counts.
pub(super) static SETTINGS: [Rule; 97] = [
    ("enable_partition*", &[Cause::QueryPlan, Cause::Planning], Nothing),
    ("enable_*", PLANS, Nothing),
    ("random_page_cost", PLANS, Nothing),
    ("seq_page_cost", PLANS, Nothing),
    ("cpu_*", PLANS, Nothing),
    ("parallel_*", PLANS, Nothing),
    ("min_parallel_*", PLANS, Nothing),
    ("max_parallel_maintenance_workers", &[], Nothing),
    ("max_parallel_*", &[Cause::QueryPlan, Cause::Background], Nothing),
    ("force_parallel_mode", PLANS, Nothing),
    ("debug_parallel_query", PLANS, Nothing),
    ("effective_cache_size", PLANS, Nothing),
    ("work_mem", &[Cause::QueryPlan, Cause::TempFiles], Nothing),
    ("hash_mem_multiplier", &[Cause::QueryPlan, Cause::TempFiles], Nothing),
    ("logical_decoding_work_mem", &[], Nothing),
    ("temp_buffers", &[Cause::TempFiles], Nothing),
    ("jit*", &[Cause::QueryPlan, Cause::Planning, Cause::Instructions, Cause::CpuTime, Cause::Function], Jit),
    ("plan_cache_mode", PLANNING, Nothing),
    ("default_statistics_target", PLANNING, Nothing),
    ("constraint_exclusion", PLANNING, Nothing),
    ("geqo*", PLANNING, Sql("JOIN")),
    ("from_collapse_limit", PLANNING, Sql("JOIN")),
    ("join_collapse_limit", PLANNING, Sql("JOIN")),
    ("cursor_tuple_fraction", &[], Nothing),
    ("shared_buffers", &[Cause::BufferMisses, Cause::Reads, Cause::BackendWrites], Nothing),
    ("huge_page*", &[Cause::Cycles, Cause::CpuTime, Cause::KernelTime], Nothing),
    ("shared_memory_type", &[Cause::Cycles, Cause::CpuTime, Cause::KernelTime], Nothing),
    ("wal_compression", LOG, Images),
    ("full_page_writes", LOG, Images),
    // Between `minimal` and `replica` the records of rows are the same.
    ("wal_level", LOG, Value("logical")),
    ("wal_log_hints", LOG, Log),
    ("wal_init_zero", &[Cause::Fsync, Cause::KernelTime, Cause::Waiting], Log),
    ("wal_recycle", &[Cause::Fsync, Cause::KernelTime, Cause::Waiting], Log),
    ("wal_consistency_checking", LOG, Log),
    ("track_commit_timestamp", LOG, Log),
    (
        "data_checksums",
        &[Cause::Wal, Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles],
        Nothing,
    ),
    ("checkpoint_timeout", &[Cause::Checkpoint, Cause::Wal, Cause::Background], Checkpoint),
    ("max_wal_size", &[Cause::Checkpoint, Cause::Wal, Cause::Background], Checkpoint),
    ("checkpoint_warning", &[], Nothing),
    ("checkpoint_*", &[Cause::Checkpoint, Cause::Background], Checkpoint),
    ("fsync", COMMITS, Log),
    ("synchronous_commit", COMMITS, Log),
    ("synchronous_standby_names", COMMITS, Log),
    ("commit_delay", COMMITS, Log),
    ("commit_siblings", COMMITS, Log),
    ("wal_sync_method", COMMITS, Log),
    ("wal_buffers", &[Cause::Fsync, Cause::Wal, Cause::Waiting, Cause::KernelTime], Log),
    ("wal_writer_*", &[Cause::Fsync, Cause::Background], Log),
    (
        "autovacuum_*cost*",
        &[Cause::Autovacuum, Cause::DeadRows, Cause::TailEntries, Cause::Background],
        Autovacuum,
    ),
    ("autovacuum*", AUTOVACUUM, Autovacuum),
    ("vacuum_buffer_usage_limit", &[Cause::Autovacuum], Autovacuum),
    ("vacuum_*", &[Cause::Autovacuum, Cause::DeadRows, Cause::TailEntries], Autovacuum),
    ("maintenance_work_mem", &[Cause::Autovacuum], Autovacuum),
    ("bgwriter_*", &[Cause::BackendWrites, Cause::Background], Log),
    ("backend_flush_after", &[Cause::BackendWrites, Cause::KernelTime, Cause::Waiting], Log),
    ("io_*", &[Cause::Reads, Cause::Background, Cause::Waiting, Cause::KernelTime], Misses),
    ("effective_io_concurrency", &[Cause::Reads, Cause::Waiting, Cause::KernelTime], Misses),
    ("maintenance_io_concurrency", &[Cause::Autovacuum], Autovacuum),
    ("debug_io_direct", &[Cause::Reads, Cause::Waiting, Cause::Fsync], Nothing),
    // Of what is logged, these are written for each statement; the others at connecting, checkpoints, vacuums, errors.
    ("log_statement", CALLS, Nothing),
    ("log_statement_stats", CALLS, Nothing),
    ("log_statement_sample_rate", CALLS, Nothing),
    ("log_transaction_sample_rate", CALLS, Nothing),
    ("log_duration", CALLS, Nothing),
    ("log_min_duration_*", CALLS, Nothing),
    ("log_min_messages", CALLS, Value("debug")),
    ("log_parser_stats", CALLS, Nothing),
    ("log_planner_stats", CALLS, Nothing),
    ("log_executor_stats", CALLS, Nothing),
    ("log_replication_commands", &[], Nothing),
    ("client_min_messages", CALLS, Value("debug")),
    ("track_wal_io_timing", CODE, Log),
    ("track_io_timing", CODE, Misses),
    ("track_functions", CODE, Nothing),
    ("track_activity_query_size", &[], Nothing),
    ("track_*", CODE, Nothing),
    ("stats_fetch_consistency", &[], Nothing),
    ("compute_query_id", LIBRARY, Nothing),
    ("shared_preload_libraries", LIBRARY, Nothing),
    ("session_preload_libraries", LIBRARY, Nothing),
    ("local_preload_libraries", LIBRARY, Nothing),
    ("auto_explain.*", CALLS, Nothing),
    ("pg_stat_statements.*", LIBRARY, Nothing),
    ("debug_*", CALLS, Nothing),
    ("trace_*", CALLS, Nothing),
    ("update_process_title", CALLS, Nothing),
    ("statement_timeout", CALLS, Nothing),
    ("transaction_timeout", CALLS, Nothing),
    ("lock_timeout", CALLS, Nothing),
    ("idle_in_transaction_session_timeout", CALLS, Nothing),
    // Measured sessions are superusers, whom policies don't hold.
    ("row_security", &[], Nothing),
    ("lc_collate", PLANNING, Nothing),
    ("deadlock_timeout", &[Cause::Locks], Nothing),
    (
        "default_transaction_isolation",
        &[Cause::Locks, Cause::Instructions, Cause::CpuTime, Cause::Function],
        Nothing,
    ),
    ("synchronize_seqscans", &[Cause::Reads, Cause::BufferMisses], Misses),
    ("old_snapshot_threshold", CODE, Nothing),
    ("session_replication_role", &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Rows], Log),
];
