//! What Postgres' settings act by. From the chapters "Server Configuration" and "Query Planning" of its documentation.
//!
//! A setting that no entry names is never named as a cause. Some have an entry without a cause, so that a wider
//! pattern does not catch them.

use super::needs::Needs::{self, Images, Jit, Log, LongOperations, Misses, Nothing, Sql, Switched, Value};
use super::rule::{CODE, PLANNING, Rule};
use super::way::Way::{self, Each, Either, Less, More};
use crate::model::Cause::{
    self, Autovacuum, BackendWrites, Background, BufferMisses, Checkpoint, CpuTime, Cycles, DeadRows, Fsync,
    Function, HeapBlocks, Instructions, KernelTime, Locks, Planning, QueryPlan, Reads, Rows, Size,
    TailEntries, TempFiles, Waiting, Wal,
};

/// What autovacuum's settings act by, and statements that set them for a table.
pub(super) const AUTOVACUUM: &[Cause] = &[Autovacuum, DeadRows, TailEntries, Size, HeapBlocks, Background];
/// What costs CPU time and system calls at each statement.
const CALLS: &[Cause] = &[Instructions, CpuTime, Function, Cycles, KernelTime, Waiting, Background];
const PLANS: &[Cause] = &[QueryPlan];
const COMMITS: &[Cause] = &[Fsync, Waiting, KernelTime, CpuTime, Background];
/// Who waits for the disk calls the kernel; what that makes of CPU time, and of other processes, is another thing.
const FLUSHES: Way = Each { more: &[Fsync, Waiting, KernelTime], less: &[] };
/// Autovacuum that runs more often, and what it leaves less of.
const VACUUMS: Way = Each { more: &[Autovacuum], less: &[DeadRows, TailEntries, Size] };
/// The same for what makes it run less often.
const SPARES: Way = Each { more: &[DeadRows, TailEntries, Size], less: &[Autovacuum] };
const LOG: &[Cause] = &[Wal, Instructions, CpuTime, Function, KernelTime];
const LIBRARY: &[Cause] = &[Instructions, CpuTime, Function, Cycles, Planning];

/// By what settings act, what has to be at work for that, and the way that they move it.
pub(super) static SETTINGS: [Rule; 52] = [
    ("enable_partition*", &[QueryPlan, Planning], Nothing, Either),
    (
        "enable_* random_page_cost seq_page_cost cpu_* parallel_* min_parallel_* force_parallel_mode \
         debug_parallel_query effective_cache_size",
        PLANS,
        Nothing,
        Either,
    ),
    // Measured sessions are superusers, whom policies don't hold.
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
    // Between `minimal` and `replica` the records of rows are the same.
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
    ("autovacuum", AUTOVACUUM, Needs::Autovacuum, VACUUMS),
    (
        "autovacuum_naptime autovacuum_vacuum_scale_factor autovacuum_vacuum_threshold",
        AUTOVACUUM,
        Needs::Autovacuum,
        SPARES,
    ),
    ("autovacuum_*", AUTOVACUUM, Needs::Autovacuum, Either),
    ("vacuum_buffer_usage_limit maintenance_io_concurrency", &[Autovacuum], Needs::Autovacuum, Either),
    ("vacuum_*", &[Autovacuum, DeadRows, TailEntries], Needs::Autovacuum, Either),
    ("maintenance_work_mem", &[Autovacuum], Needs::Autovacuum, Less),
    ("bgwriter_*", &[BackendWrites, Background], Log, Either),
    ("backend_flush_after", &[BackendWrites, KernelTime, Waiting], Log, Either),
    ("io_*", &[Reads, Background, Waiting, KernelTime], Misses, Either),
    ("effective_io_concurrency", &[Reads, Waiting, KernelTime], Misses, Either),
    ("debug_io_direct", &[Reads, Waiting, Fsync], Nothing, Either),
    // Of what is logged, these are written for each statement; the others at connecting, checkpoints, vacuums, errors.
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
    // How long it is makes no difference to statements that end before.
    ("statement_timeout transaction_timeout idle_in_transaction_session_timeout", CALLS, Switched, More),
    // Its timer starts where a lock has to be waited for.
    ("lock_timeout deadlock_timeout", &[Locks], Nothing, Either),
    ("default_transaction_isolation", &[Locks, Instructions, CpuTime, Function], Nothing, Either),
    ("synchronize_seqscans", &[Reads, BufferMisses], Misses, Either),
    ("session_replication_role", &[Instructions, CpuTime, Function, Rows], Log, Less),
];
