//! What settings of Postgres can affect. Source: the chapters "Server Configuration" and "Query Planning" of
//! its documentation.
//!
//! A setting without an entry is never named as a cause. Some entries have no cause, so that a wider pattern
//! does not match.

use super::needs::Needs::{self, Images, Jit, Log, LongOperations, Misses, Nothing, Sql, Switched, Value};
use super::rule::{CODE, PLANNING, Rule};
use super::way::Way::{self, Each, Either, Less, More};
use crate::model::Cause::{
    self, Autovacuum, BackendWrites, Background, BlocksTouched, BufferMisses, Checkpoint, CpuTime, Cycles,
    DeadRows, Fsync, Function, Instructions, KernelTime, Locks, Planning, QueryPlan, Reads, Rows, Size,
    TailEntries, TempFiles, Waiting, Wal,
};

/// What autovacuum's settings can affect, also if set per table by a statement.
pub(super) const AUTOVACUUM: &[Cause] = &[Autovacuum, DeadRows, TailEntries, Size, BlocksTouched, Background];
/// What old row versions make of tables, and of the pages that index-only scans need not visit.
const CLEANUP: &[Cause] = &[DeadRows, TailEntries, Size, BlocksTouched, Rows];
/// CPU time and system calls of each statement.
const CALLS: &[Cause] = &[Instructions, CpuTime, Function, Cycles, KernelTime, Waiting, Background];
const PLANS: &[Cause] = &[QueryPlan];
const COMMITS: &[Cause] = &[Fsync, Waiting, KernelTime, CpuTime, Background];
/// Waiting for the disk enters the kernel. The effect on CPU time and on other processes can go either way.
const FLUSHES: Way = Each { more: &[Fsync, Waiting, KernelTime], less: &[] };
/// Autovacuum runs more often and leaves less behind.
const MORE_VACUUM: Way = Each { more: &[Autovacuum], less: &[DeadRows, TailEntries, Size] };
/// Autovacuum runs less often.
const LESS_VACUUM: Way = Each { more: &[DeadRows, TailEntries, Size], less: &[Autovacuum] };
const LOG: &[Cause] = &[Wal, Instructions, CpuTime, Function, KernelTime];
const LIBRARY: &[Cause] = &[Instructions, CpuTime, Function, Cycles, Planning];

/// The causes that settings can affect, what has to be active for that, and the direction.
pub(super) static SETTINGS: [Rule; 53] = [
    ("enable_partition*", &[QueryPlan, Planning], Nothing, Either),
    (
        "enable_* random_page_cost seq_page_cost cpu_* parallel_* min_parallel_* force_parallel_mode \
         debug_parallel_query effective_cache_size",
        PLANS,
        Nothing,
        Either,
    ),
    // Measured sessions are superusers, to which row security does not apply.
    (
        "max_parallel_maintenance_workers logical_decoding_work_mem cursor_tuple_fraction \
         checkpoint_warning log_replication_commands track_activity_query_size \
         stats_fetch_consistency row_security",
        &[],
        Nothing,
        Either,
    ),
    ("max_parallel_*", &[QueryPlan, Background], Nothing, Either),
    ("work_mem hash_mem_multiplier", &[QueryPlan, TempFiles], Nothing, Less),
    ("temp_buffers", &[TempFiles], Nothing, Less),
    ("jit*", PLANNING, Jit, Either),
    ("plan_cache_mode default_statistics_target constraint_exclusion lc_collate", PLANNING, Nothing, Either),
    ("geqo* from_collapse_limit join_collapse_limit", PLANNING, Sql("JOIN"), Either),
    (
        "shared_buffers",
        &[BufferMisses, Reads, BackendWrites],
        Nothing,
        Each { more: &[], less: &[BufferMisses, Reads] },
    ),
    ("huge_page*", &[Cycles, CpuTime, KernelTime], Nothing, Less),
    ("shared_memory_type", &[Cycles, CpuTime, KernelTime], Nothing, Either),
    ("wal_compression", LOG, Images, Each { more: &[Instructions, CpuTime, Function], less: &[Wal] }),
    ("full_page_writes", LOG, Images, More),
    // `minimal` and `replica` write the same records for rows.
    ("wal_level", LOG, Value("logical"), More),
    ("wal_log_hints wal_consistency_checking track_commit_timestamp", LOG, Log, More),
    ("wal_init_zero wal_recycle", &[Fsync, KernelTime, Waiting], Log, Either),
    ("data_checksums", &[Wal, Instructions, CpuTime, Function, Cycles], Nothing, More),
    ("checkpoint_timeout max_wal_size", &[Checkpoint, Wal, Background], Needs::Checkpoint, Less),
    ("checkpoint_*", &[Checkpoint, Background], Needs::Checkpoint, Either),
    ("fsync synchronous_commit synchronous_standby_names", COMMITS, Log, FLUSHES),
    ("commit_delay", COMMITS, Log, Each { more: &[Waiting], less: &[Fsync] }),
    ("commit_siblings", &[Waiting], Log, Either),
    ("wal_sync_method", COMMITS, Log, Either),
    ("wal_buffers", &[Fsync, Wal, Waiting, KernelTime], Log, Either),
    ("wal_writer_*", &[Fsync, Background], Log, Either),
    ("autovacuum_*cost*", &[Autovacuum, DeadRows, TailEntries, Background], Needs::Autovacuum, Either),
    ("autovacuum", AUTOVACUUM, Needs::Autovacuum, MORE_VACUUM),
    (
        "autovacuum_naptime autovacuum_vacuum_scale_factor autovacuum_vacuum_threshold",
        AUTOVACUUM,
        Needs::Autovacuum,
        LESS_VACUUM,
    ),
    ("autovacuum_*", AUTOVACUUM, Needs::Autovacuum, Either),
    ("vacuum_buffer_usage_limit maintenance_io_concurrency", &[Autovacuum], Needs::Autovacuum, Either),
    ("vacuum_*", &[Autovacuum, DeadRows, TailEntries], Needs::Autovacuum, Either),
    // Also for the VACUUM after a load, and for what queries clean up.
    ("vacuum_defer_cleanup_age", CLEANUP, Nothing, More),
    ("maintenance_work_mem", &[Autovacuum], Needs::Autovacuum, Less),
    ("bgwriter_*", &[BackendWrites, Background], Log, Either),
    ("backend_flush_after", &[BackendWrites, KernelTime, Waiting], Log, Either),
    ("io_*", &[Reads, Background, Waiting, KernelTime], Misses, Either),
    ("effective_io_concurrency", &[Reads, Waiting, KernelTime], Misses, Either),
    ("debug_io_direct", &[Reads, Waiting, Fsync], Nothing, Either),
    // These log on every statement; other logging is at connection, checkpoint, vacuum or error.
    (
        "log_statement log_statement_stats log_statement_sample_rate log_transaction_sample_rate \
         log_duration log_parser_stats log_planner_stats log_executor_stats debug_* trace_* \
         update_process_title",
        CALLS,
        Nothing,
        More,
    ),
    ("log_min_duration_*", CALLS, LongOperations, More),
    ("log_min_messages client_min_messages", CALLS, Value("debug"), More),
    ("track_wal_io_timing", CODE, Log, More),
    ("track_io_timing", CODE, Misses, More),
    ("track_functions track_* old_snapshot_threshold", CODE, Nothing, More),
    (
        "compute_query_id shared_preload_libraries session_preload_libraries local_preload_libraries",
        LIBRARY,
        Nothing,
        More,
    ),
    ("auto_explain.*", CALLS, Nothing, Either),
    ("pg_stat_statements.*", LIBRARY, Nothing, Either),
    // The length of the timeout is irrelevant to statements that end before it.
    ("statement_timeout transaction_timeout idle_in_transaction_session_timeout", CALLS, Switched, More),
    // The timer starts when a statement has to wait for a lock.
    ("lock_timeout deadlock_timeout", &[Locks], Nothing, Either),
    ("default_transaction_isolation", &[Locks, Instructions, CpuTime, Function], Nothing, Either),
    ("synchronize_seqscans", &[Reads, BufferMisses], Misses, Either),
    ("session_replication_role", &[Instructions, CpuTime, Function, Rows], Log, Less),
];
