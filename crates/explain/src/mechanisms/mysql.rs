//! What settings of MySQL and MariaDB act by. From the chapters on server and InnoDB variables of their documentation.
//!
//! A setting that no entry names is never named as a cause. Some have an entry without a cause, so that a wider
//! pattern does not catch them.

use super::Rule;
use super::needs::Needs::{Log, Metric, Misses, Nothing, Sql, Status, Switched, Value};
use super::way::Way::{self, Each, Either, Less, More};
use crate::model::Cause;

const CODE: &[Cause] = &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles];
const CALLS: &[Cause] =
    &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles, Cause::KernelTime, Cause::Waiting];
const FLUSHING: &[Cause] = &[Cause::Checkpoint, Cause::BackendWrites, Cause::Background];
const SPINNING: &[Cause] = &[Cause::CpuTime, Cause::Cycles, Cause::Waiting];
const COMMITS: &[Cause] = &[Cause::Fsync, Cause::Waiting, Cause::KernelTime, Cause::CpuTime];
/// Who waits for the disk calls the kernel; what that makes of CPU time, and of the log's bytes, is another thing.
const FLUSHES: Way = Each { more: &[Cause::Fsync, Cause::Waiting, Cause::KernelTime], less: &[] };
/// Room in the log puts off checkpoints.
const PUTS_OFF: Way = Each { more: &[], less: &[Cause::Checkpoint] };
const BINARY_LOG: &[Cause] =
    &[Cause::BinaryLog, Cause::Fsync, Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Waiting];
const PURGE: &[Cause] = &[Cause::Purge, Cause::DeadRows, Cause::TailEntries, Cause::Background];
const PLANNING: &[Cause] =
    &[Cause::QueryPlan, Cause::Planning, Cause::Instructions, Cause::CpuTime, Cause::Function];
const MISSES: &[Cause] = &[Cause::BufferMisses, Cause::Reads];

/// Settings by name, or by its beginning where a `*` ends it, what they act by, what has to be at work for that,
/// and the way that they move it. The first that fits counts.
pub(super) static SETTINGS: [Rule; 115] = [
    (
        "innodb_flush_log_at_trx_commit",
        &[Cause::Fsync, Cause::Waiting, Cause::Wal, Cause::KernelTime, Cause::CpuTime],
        Log,
        FLUSHES,
    ),
    ("innodb_flush_log_at_timeout", &[Cause::Fsync, Cause::Background], Log, Either),
    (
        "innodb_flush_method",
        &[Cause::Fsync, Cause::Reads, Cause::KernelTime, Cause::Waiting],
        Nothing,
        Either,
    ),
    ("innodb_use_fdatasync", &[Cause::Waiting, Cause::KernelTime], Log, Either),
    ("innodb_data_file_buffering", &[Cause::Fsync, Cause::Reads, Cause::KernelTime], Nothing, Either),
    ("innodb_data_file_write_through", &[Cause::Fsync, Cause::KernelTime], Log, Either),
    ("innodb_log_file_buffering", &[Cause::Fsync, Cause::KernelTime], Log, Either),
    ("innodb_log_file_write_through", &[Cause::Fsync], Log, Either),
    ("innodb_log_file_mmap", &[Cause::Fsync, Cause::KernelTime], Log, Either),
    ("innodb_fsync_threshold", &[Cause::Fsync], Log, Either),
    (
        "innodb_log_buffer_size",
        &[Cause::Wal, Cause::Fsync, Cause::Waiting],
        Status("innodb_log_waits"),
        Either,
    ),
    (
        "innodb_log_writer_threads",
        &[Cause::Fsync, Cause::Waiting, Cause::Background, Cause::CpuTime, Cause::Instructions],
        Log,
        Either,
    ),
    ("innodb_log_checksums", CODE, Log, More),
    ("innodb_log_compressed_pages", &[Cause::Wal], Log, More),
    ("innodb_log_write_ahead_size", &[Cause::Wal, Cause::Reads], Log, Either),
    ("innodb_log_spin_*", SPINNING, Log, Either),
    ("innodb_log_wait_for_flush_spin_hwm", SPINNING, Log, Either),
    ("innodb_log_file_size", FLUSHING, Log, PUTS_OFF),
    ("innodb_log_files_in_group", FLUSHING, Log, PUTS_OFF),
    ("innodb_redo_log_capacity", FLUSHING, Log, PUTS_OFF),
    ("innodb_redo_log_encrypt", CALLS, Log, More),
    ("innodb_undo_log_encrypt", CALLS, Log, More),
    ("innodb_dedicated_server", &[Cause::BufferMisses, Cause::Reads, Cause::Checkpoint], Nothing, Either),
    (
        "innodb_buffer_pool_size",
        &[Cause::BufferMisses, Cause::Reads, Cause::BackendWrites, Cause::Checkpoint],
        Nothing,
        Less,
    ),
    ("innodb_buffer_pool_instances", SPINNING, Nothing, Either),
    ("innodb_buffer_pool_load_at_startup", MISSES, Nothing, Either),
    ("innodb_old_blocks_*", MISSES, Misses, Either),
    ("innodb_lru_*", &[Cause::BackendWrites, Cause::Background], Misses, Either),
    ("innodb_io_capacity*", FLUSHING, Log, Either),
    ("innodb_max_dirty_pages_*", FLUSHING, Log, Either),
    ("innodb_adaptive_flushing*", FLUSHING, Log, Either),
    ("innodb_idle_flush_pct", FLUSHING, Log, Either),
    ("innodb_flush_neighbors", FLUSHING, Log, Either),
    ("innodb_flush_sync", FLUSHING, Log, Either),
    ("innodb_flushing_avg_loops", FLUSHING, Log, Either),
    ("innodb_page_cleaners", FLUSHING, Log, Either),
    ("innodb_write_io_threads", FLUSHING, Log, Either),
    ("innodb_doublewrite_*", &[], Nothing, Either),
    (
        "innodb_doublewrite",
        &[
            Cause::Doublewrite,
            Cause::Checkpoint,
            Cause::BackendWrites,
            Cause::Background,
            Cause::Fsync,
            Cause::Waiting,
        ],
        Log,
        More,
    ),
    ("innodb_checksum_algorithm", CODE, Nothing, Either),
    (
        "innodb_page_size",
        &[
            Cause::HeapBlocks,
            Cause::Reads,
            Cause::BufferMisses,
            Cause::Size,
            Cause::Wal,
            Cause::Instructions,
            Cause::CpuTime,
            Cause::Function,
        ],
        Nothing,
        Either,
    ),
    (
        "innodb_adaptive_hash_index*",
        &[Cause::HeapBlocks, Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles],
        Metric("adaptive_hash_searches"),
        Each { more: &[], less: &[Cause::HeapBlocks] },
    ),
    (
        "innodb_change_buffer*",
        &[Cause::BufferMisses, Cause::Reads, Cause::HeapBlocks, Cause::Background],
        Misses,
        Either,
    ),
    ("innodb_random_read_ahead", MISSES, Misses, Either),
    ("innodb_read_ahead_threshold", MISSES, Misses, Either),
    ("innodb_read_io_threads", &[Cause::Reads, Cause::Background], Misses, Either),
    ("innodb_use_native_aio", &[Cause::Reads, Cause::Checkpoint, Cause::KernelTime], Nothing, Either),
    ("innodb_purge_*", PURGE, Log, Either),
    (
        "innodb_max_purge_lag*",
        &[Cause::Purge, Cause::DeadRows, Cause::TailEntries, Cause::Waiting],
        Log,
        Either,
    ),
    ("innodb_undo_log_truncate", &[Cause::Purge], Log, Either),
    ("innodb_rollback_segments", &[Cause::Purge], Log, Either),
    ("innodb_spin_wait_*", SPINNING, Nothing, Either),
    ("innodb_sync_*", SPINNING, Nothing, Either),
    ("innodb_thread_*", &[Cause::Waiting, Cause::CpuTime, Cause::Instructions], Nothing, Either),
    ("innodb_concurrency_tickets", &[Cause::Waiting], Nothing, Either),
    ("innodb_commit_concurrency", &[Cause::Waiting], Log, Either),
    ("innodb_deadlock_detect*", &[Cause::Locks, Cause::CpuTime], Log, Either),
    ("innodb_lock_wait_timeout", &[Cause::Locks], Log, Either),
    ("innodb_autoinc_lock_mode", &[Cause::Waiting, Cause::CpuTime], Log, Either),
    ("innodb_snapshot_isolation", &[Cause::Locks, Cause::CpuTime], Log, Either),
    ("innodb_fill_factor", &[Cause::Size, Cause::HeapBlocks], Nothing, Either),
    ("innodb_default_row_format", &[Cause::Size, Cause::HeapBlocks], Nothing, Either),
    ("innodb_stats_*", PLANNING, Nothing, Either),
    ("innodb_monitor_*", CODE, Nothing, Either),
    ("innodb_numa_interleave", &[Cause::Cycles, Cause::CpuTime], Nothing, Either),
    ("innodb_extend_and_initialize", &[Cause::Fsync, Cause::KernelTime], Log, Either),
    ("sync_binlog", COMMITS, Log, FLUSHES),
    ("log_bin", BINARY_LOG, Log, More),
    ("binlog_expire_*", &[], Nothing, Either),
    ("binlog_transaction_dependency_*", CODE, Log, Either),
    (
        "binlog_group_commit_*",
        &[Cause::Fsync, Cause::Waiting],
        Log,
        Each { more: &[], less: &[Cause::Fsync] },
    ),
    ("binlog_*", BINARY_LOG, Log, Either),
    ("max_binlog_size", &[Cause::Fsync, Cause::Waiting], Log, Either),
    ("gtid_mode", BINARY_LOG, Log, More),
    ("general_log", CALLS, Nothing, More),
    ("log_output", CALLS, Status("slow_queries"), Either),
    ("slow_query_log", CALLS, Status("slow_queries"), More),
    ("long_query_time", CALLS, Status("slow_queries"), More),
    ("log_slow_extra", CALLS, Status("slow_queries"), More),
    ("log_queries_not_using_indexes", CALLS, Nothing, More),
    ("performance_schema", CODE, Nothing, More),
    ("performance_schema_instrument*", CODE, Nothing, More),
    ("performance_schema_consumer*", CODE, Nothing, More),
    ("userstat", CODE, Nothing, More),
    ("optimizer_switch", PLANNING, Nothing, Either),
    ("optimizer_trace", CODE, Value("enabled=on"), More),
    ("optimizer_trace_*", &[], Nothing, Either),
    ("optimizer_prune_level", PLANNING, Sql("JOIN"), Either),
    ("optimizer_search_depth", PLANNING, Sql("JOIN"), Either),
    ("optimizer_*", PLANNING, Nothing, Either),
    ("eq_range_index_dive_limit", PLANNING, Sql(" IN ("), Either),
    ("range_optimizer_max_mem_size", &[Cause::QueryPlan], Sql(" IN ("), Either),
    ("use_stat_tables", &[Cause::QueryPlan, Cause::Planning], Nothing, Either),
    (
        "query_cache_*",
        &[
            Cause::Instructions,
            Cause::CpuTime,
            Cause::Function,
            Cause::Rows,
            Cause::HeapBlocks,
            Cause::Waiting,
        ],
        Status("qcache_hits"),
        Either,
    ),
    (
        "sort_buffer_size",
        &[Cause::TempFiles, Cause::Instructions, Cause::CpuTime],
        Status("sort_rows"),
        Each { more: &[], less: &[Cause::TempFiles] },
    ),
    ("max_length_for_sort_data", &[Cause::QueryPlan], Status("sort_rows"), Either),
    ("join_buffer_size", &[Cause::QueryPlan], Sql("JOIN"), Either),
    ("tmp_table_size", &[Cause::TempFiles], Nothing, Less),
    ("max_heap_table_size", &[Cause::TempFiles], Nothing, Less),
    ("temptable_*", &[Cause::TempFiles], Nothing, Either),
    (
        "internal_tmp_*",
        &[Cause::TempFiles, Cause::Instructions, Cause::CpuTime],
        Status("created_tmp_tables"),
        Either,
    ),
    (
        "big_tables",
        &[Cause::TempFiles, Cause::Instructions, Cause::CpuTime],
        Status("created_tmp_tables"),
        Either,
    ),
    (
        "table_open_cache*",
        &[Cause::Instructions, Cause::CpuTime, Cause::KernelTime, Cause::Function, Cause::Waiting],
        Status("opened_tables"),
        Less,
    ),
    (
        "table_definition_cache",
        &[Cause::Instructions, Cause::CpuTime, Cause::KernelTime, Cause::Function],
        Status("opened_table_definitions"),
        Less,
    ),
    ("thread_handling", &[Cause::Waiting, Cause::CpuTime, Cause::CpuQueue], Nothing, Either),
    (
        "transaction_isolation",
        &[Cause::Locks, Cause::Instructions, Cause::CpuTime, Cause::Function],
        Nothing,
        Either,
    ),
    ("tx_isolation", &[Cause::Locks, Cause::Instructions, Cause::CpuTime, Cause::Function], Nothing, Either),
    (
        "unique_checks",
        &[Cause::BufferMisses, Cause::HeapBlocks, Cause::Instructions, Cause::CpuTime],
        Log,
        More,
    ),
    ("foreign_key_checks", &[Cause::Rows, Cause::Instructions, Cause::CpuTime], Log, More),
    ("character_set_server", CODE, Nothing, Either),
    ("collation_server", CODE, Nothing, Either),
    ("session_track_*", CODE, Nothing, More),
    ("init_connect", CODE, Nothing, Either),
    ("plugin_load*", CALLS, Nothing, Either),
    ("max_execution_time", CALLS, Switched, More),
];
