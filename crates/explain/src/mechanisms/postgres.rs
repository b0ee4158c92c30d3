//! What Postgres' settings act by. From the chapters "Server Configuration" and "Query Planning" of its documentation.
//!
//! A setting that no entry names is never named as a cause. Some have an entry without a cause, so that a wider
//! pattern does not catch them.

use super::Rule;
use super::needs::Needs::{
    Autovacuum, Checkpoint, Images, Jit, Log, LongOperations, Misses, Nothing, Sql, Switched, Value,
};
use super::way::Way::{self, Each, Either, Less, More};
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
/// Who waits for the disk calls the kernel; what that makes of CPU time, and of other processes, is another thing.
const FLUSHES: Way = Each { more: &[Cause::Fsync, Cause::Waiting, Cause::KernelTime], less: &[] };
/// Autovacuum that comes by more often, and what it leaves less of.
const VACUUMS: Way =
    Each { more: &[Cause::Autovacuum], less: &[Cause::DeadRows, Cause::TailEntries, Cause::Size] };
/// The same of what makes it come by less often.
const SPARES: Way =
    Each { more: &[Cause::DeadRows, Cause::TailEntries, Cause::Size], less: &[Cause::Autovacuum] };
const LOG: &[Cause] = &[Cause::Wal, Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::KernelTime];
const LIBRARY: &[Cause] =
    &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles, Cause::Planning];

/// Settings by name, or by its beginning where a `*` ends it, what they act by, what has to be at work for that,
/// and the way that they move it. The first that fits counts.
pub(super) static SETTINGS: [Rule; 101] = [
    ("enable_partition*", &[Cause::QueryPlan, Cause::Planning], Nothing, Either),
    ("enable_*", PLANS, Nothing, Either),
    ("random_page_cost", PLANS, Nothing, Either),
    ("seq_page_cost", PLANS, Nothing, Either),
    ("cpu_*", PLANS, Nothing, Either),
    ("parallel_*", PLANS, Nothing, Either),
    ("min_parallel_*", PLANS, Nothing, Either),
    ("max_parallel_maintenance_workers", &[], Nothing, Either),
    ("max_parallel_*", &[Cause::QueryPlan, Cause::Background], Nothing, Either),
    ("force_parallel_mode", PLANS, Nothing, Either),
    ("debug_parallel_query", PLANS, Nothing, Either),
    ("effective_cache_size", PLANS, Nothing, Either),
    ("work_mem", &[Cause::QueryPlan, Cause::TempFiles], Nothing, Less),
    ("hash_mem_multiplier", &[Cause::QueryPlan, Cause::TempFiles], Nothing, Less),
    ("logical_decoding_work_mem", &[], Nothing, Either),
    ("temp_buffers", &[Cause::TempFiles], Nothing, Less),
    (
        "jit*",
        &[Cause::QueryPlan, Cause::Planning, Cause::Instructions, Cause::CpuTime, Cause::Function],
        Jit,
        Either,
    ),
    ("plan_cache_mode", PLANNING, Nothing, Either),
    ("default_statistics_target", PLANNING, Nothing, Either),
    ("constraint_exclusion", PLANNING, Nothing, Either),
    ("geqo*", PLANNING, Sql("JOIN"), Either),
    ("from_collapse_limit", PLANNING, Sql("JOIN"), Either),
    ("join_collapse_limit", PLANNING, Sql("JOIN"), Either),
    ("cursor_tuple_fraction", &[], Nothing, Either),
    (
        "shared_buffers",
        &[Cause::BufferMisses, Cause::Reads, Cause::BackendWrites],
        Nothing,
        Each { more: &[], less: &[Cause::BufferMisses, Cause::Reads] },
    ),
    ("huge_page*", &[Cause::Cycles, Cause::CpuTime, Cause::KernelTime], Nothing, Less),
    ("shared_memory_type", &[Cause::Cycles, Cause::CpuTime, Cause::KernelTime], Nothing, Either),
    (
        "wal_compression",
        LOG,
        Images,
        Each { more: &[Cause::Instructions, Cause::CpuTime, Cause::Function], less: &[Cause::Wal] },
    ),
    ("full_page_writes", LOG, Images, More),
    // Between `minimal` and `replica` the records of rows are the same.
    ("wal_level", LOG, Value("logical"), More),
    ("wal_log_hints", LOG, Log, More),
    ("wal_init_zero", &[Cause::Fsync, Cause::KernelTime, Cause::Waiting], Log, Either),
    ("wal_recycle", &[Cause::Fsync, Cause::KernelTime, Cause::Waiting], Log, Either),
    ("wal_consistency_checking", LOG, Log, More),
    ("track_commit_timestamp", LOG, Log, More),
    (
        "data_checksums",
        &[Cause::Wal, Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles],
        Nothing,
        More,
    ),
    ("checkpoint_timeout", &[Cause::Checkpoint, Cause::Wal, Cause::Background], Checkpoint, Less),
    ("max_wal_size", &[Cause::Checkpoint, Cause::Wal, Cause::Background], Checkpoint, Less),
    ("checkpoint_warning", &[], Nothing, Either),
    ("checkpoint_*", &[Cause::Checkpoint, Cause::Background], Checkpoint, Either),
    ("fsync", COMMITS, Log, FLUSHES),
    ("synchronous_commit", COMMITS, Log, FLUSHES),
    ("synchronous_standby_names", COMMITS, Log, FLUSHES),
    ("commit_delay", COMMITS, Log, Each { more: &[Cause::Waiting], less: &[Cause::Fsync] }),
    ("commit_siblings", &[Cause::Waiting], Log, Either),
    ("wal_sync_method", COMMITS, Log, Either),
    ("wal_buffers", &[Cause::Fsync, Cause::Wal, Cause::Waiting, Cause::KernelTime], Log, Either),
    ("wal_writer_*", &[Cause::Fsync, Cause::Background], Log, Either),
    (
        "autovacuum_*cost*",
        &[Cause::Autovacuum, Cause::DeadRows, Cause::TailEntries, Cause::Background],
        Autovacuum,
        Either,
    ),
    ("autovacuum", AUTOVACUUM, Autovacuum, VACUUMS),
    ("autovacuum_naptime", AUTOVACUUM, Autovacuum, SPARES),
    ("autovacuum_vacuum_scale_factor", AUTOVACUUM, Autovacuum, SPARES),
    ("autovacuum_vacuum_threshold", AUTOVACUUM, Autovacuum, SPARES),
    ("autovacuum_*", AUTOVACUUM, Autovacuum, Either),
    ("vacuum_buffer_usage_limit", &[Cause::Autovacuum], Autovacuum, Either),
    ("vacuum_*", &[Cause::Autovacuum, Cause::DeadRows, Cause::TailEntries], Autovacuum, Either),
    ("maintenance_work_mem", &[Cause::Autovacuum], Autovacuum, Less),
    ("bgwriter_*", &[Cause::BackendWrites, Cause::Background], Log, Either),
    ("backend_flush_after", &[Cause::BackendWrites, Cause::KernelTime, Cause::Waiting], Log, Either),
    ("io_*", &[Cause::Reads, Cause::Background, Cause::Waiting, Cause::KernelTime], Misses, Either),
    ("effective_io_concurrency", &[Cause::Reads, Cause::Waiting, Cause::KernelTime], Misses, Either),
    ("maintenance_io_concurrency", &[Cause::Autovacuum], Autovacuum, Either),
    ("debug_io_direct", &[Cause::Reads, Cause::Waiting, Cause::Fsync], Nothing, Either),
    // Of what is logged, these are written for each statement; the others at connecting, checkpoints, vacuums, errors.
    ("log_statement", CALLS, Nothing, More),
    ("log_statement_stats", CALLS, Nothing, More),
    ("log_statement_sample_rate", CALLS, Nothing, More),
    ("log_transaction_sample_rate", CALLS, Nothing, More),
    ("log_duration", CALLS, Nothing, More),
    ("log_min_duration_*", CALLS, LongOperations, More),
    ("log_min_messages", CALLS, Value("debug"), More),
    ("log_parser_stats", CALLS, Nothing, More),
    ("log_planner_stats", CALLS, Nothing, More),
    ("log_executor_stats", CALLS, Nothing, More),
    ("log_replication_commands", &[], Nothing, Either),
    ("client_min_messages", CALLS, Value("debug"), More),
    ("track_wal_io_timing", CODE, Log, More),
    ("track_io_timing", CODE, Misses, More),
    ("track_functions", CODE, Nothing, More),
    ("track_activity_query_size", &[], Nothing, Either),
    ("track_*", CODE, Nothing, More),
    ("stats_fetch_consistency", &[], Nothing, Either),
    ("compute_query_id", LIBRARY, Nothing, More),
    ("shared_preload_libraries", LIBRARY, Nothing, More),
    ("session_preload_libraries", LIBRARY, Nothing, More),
    ("local_preload_libraries", LIBRARY, Nothing, More),
    ("auto_explain.*", CALLS, Nothing, Either),
    ("pg_stat_statements.*", LIBRARY, Nothing, Either),
    ("debug_*", CALLS, Nothing, More),
    ("trace_*", CALLS, Nothing, More),
    ("update_process_title", CALLS, Nothing, More),
    // How long it is makes no difference to statements that end before.
    ("statement_timeout", CALLS, Switched, More),
    ("transaction_timeout", CALLS, Switched, More),
    // Its timer starts where a lock has to be waited for.
    ("lock_timeout", &[Cause::Locks], Nothing, Either),
    ("idle_in_transaction_session_timeout", CALLS, Switched, More),
    // Measured sessions are superusers, whom policies don't hold.
    ("row_security", &[], Nothing, Either),
    ("lc_collate", PLANNING, Nothing, Either),
    ("deadlock_timeout", &[Cause::Locks], Nothing, Either),
    (
        "default_transaction_isolation",
        &[Cause::Locks, Cause::Instructions, Cause::CpuTime, Cause::Function],
        Nothing,
        Either,
    ),
    ("synchronize_seqscans", &[Cause::Reads, Cause::BufferMisses], Misses, Either),
    ("old_snapshot_threshold", CODE, Nothing, More),
    (
        "session_replication_role",
        &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Rows],
        Log,
        Less,
    ),
];
