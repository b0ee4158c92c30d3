//! What settings of MySQL and MariaDB can affect. Source: the chapters on server and InnoDB variables of
//! their documentation.
//!
//! A setting without an entry is never named as a cause. Some entries have no cause, so that a wider pattern
//! does not match.

use super::needs::Needs::{Log, Metric, Misses, Nothing, Sql, Status, Switched, Value};
use super::rule::{CODE, PLANNING, Rule};
use super::way::Way::{self, Each, Either, Less, More};
use crate::model::Cause::{
    self, BackendWrites, Background, BinaryLog, BlocksTouched, BufferMisses, Checkpoint, CpuQueue, CpuTime,
    Cycles, DeadRows, Doublewrite, Fsync, Function, Instructions, KernelTime, Locks, Planning, Purge,
    QueryPlan, Reads, Rows, Size, TailEntries, TempFiles, Waiting, Wal,
};

const CALLS: &[Cause] = &[Instructions, CpuTime, Function, Cycles, KernelTime, Waiting];
const FLUSHING: &[Cause] = &[Checkpoint, BackendWrites, Background];
const SPINNING: &[Cause] = &[CpuTime, Cycles, Waiting];
const COMMITS: &[Cause] = &[Fsync, Waiting, KernelTime, CpuTime];
/// Waiting for the disk enters the kernel. The effect on CPU time and on bytes of log can go either way.
const FLUSHES: Way = Each { more: &[Fsync, Waiting, KernelTime], less: &[] };
/// A larger log delays checkpoints.
const DELAYS: Way = Each { more: &[], less: &[Checkpoint] };
const BINARY_LOG: &[Cause] = &[BinaryLog, Fsync, Instructions, CpuTime, Function, Waiting];
const PURGE: &[Cause] = &[Purge, DeadRows, TailEntries, Background];
const MISSES: &[Cause] = &[BufferMisses, Reads];

/// The causes that settings can affect, what has to be active for that, and the direction.
pub(super) static SETTINGS: [Rule; 72] = [
    ("innodb_flush_log_at_trx_commit", &[Fsync, Waiting, Wal, KernelTime, CpuTime], Log, FLUSHES),
    ("innodb_flush_log_at_timeout", &[Fsync, Background], Log, Either),
    ("innodb_flush_method", &[Fsync, Reads, KernelTime, Waiting], Nothing, Either),
    ("innodb_use_fdatasync", &[Waiting, KernelTime], Log, Either),
    ("innodb_data_file_buffering", &[Fsync, Reads, KernelTime], Nothing, Either),
    (
        "innodb_data_file_write_through innodb_log_file_buffering innodb_log_file_mmap \
         innodb_extend_and_initialize",
        &[Fsync, KernelTime],
        Log,
        Either,
    ),
    ("innodb_log_file_write_through innodb_fsync_threshold", &[Fsync], Log, Either),
    ("innodb_log_buffer_size", &[Wal, Fsync, Waiting], Status("innodb_log_waits"), Either),
    ("innodb_log_writer_threads", &[Fsync, Waiting, Background, CpuTime, Instructions], Log, Either),
    ("innodb_log_checksums", CODE, Log, More),
    ("innodb_log_compressed_pages", &[Wal], Log, More),
    ("innodb_log_write_ahead_size", &[Wal, Reads], Log, Either),
    ("innodb_log_spin_* innodb_log_wait_for_flush_spin_hwm", SPINNING, Log, Either),
    ("innodb_log_file_size innodb_log_files_in_group innodb_redo_log_capacity", FLUSHING, Log, DELAYS),
    ("innodb_redo_log_encrypt innodb_undo_log_encrypt", CALLS, Log, More),
    ("innodb_dedicated_server", &[BufferMisses, Reads, Checkpoint], Nothing, Either),
    ("innodb_buffer_pool_size", &[BufferMisses, Reads, BackendWrites, Checkpoint], Nothing, Less),
    ("innodb_buffer_pool_instances innodb_spin_wait_* innodb_sync_*", SPINNING, Nothing, Either),
    ("innodb_buffer_pool_load_at_startup", MISSES, Nothing, Either),
    ("innodb_old_blocks_* innodb_random_read_ahead innodb_read_ahead_threshold", MISSES, Misses, Either),
    ("innodb_lru_*", &[BackendWrites, Background], Misses, Either),
    (
        "innodb_io_capacity* innodb_max_dirty_pages_* innodb_adaptive_flushing* innodb_idle_flush_pct \
         innodb_flush_neighbors innodb_flush_sync innodb_flushing_avg_loops innodb_page_cleaners \
         innodb_write_io_threads",
        FLUSHING,
        Log,
        Either,
    ),
    ("innodb_doublewrite_* binlog_expire_* optimizer_trace_*", &[], Nothing, Either),
    ("innodb_doublewrite", &[Doublewrite, Checkpoint, BackendWrites, Background, Fsync, Waiting], Log, More),
    (
        "innodb_checksum_algorithm innodb_monitor_* character_set_server collation_server \
         init_connect",
        CODE,
        Nothing,
        Either,
    ),
    (
        "innodb_page_size",
        &[BlocksTouched, Reads, BufferMisses, Size, Wal, Instructions, CpuTime, Function],
        Nothing,
        Either,
    ),
    // Where its guesses fail, a search from the root comes on top.
    (
        "innodb_adaptive_hash_index*",
        &[BlocksTouched, Instructions, CpuTime, Function, Cycles],
        Metric("adaptive_hash_searches_btree"),
        Either,
    ),
    ("innodb_change_buffer*", &[BufferMisses, Reads, BlocksTouched, Background], Misses, Either),
    ("innodb_read_io_threads", &[Reads, Background], Misses, Either),
    ("innodb_use_native_aio", &[Reads, Checkpoint, KernelTime], Nothing, Either),
    ("innodb_purge_*", PURGE, Log, Either),
    ("innodb_max_purge_lag*", &[Purge, DeadRows, TailEntries, Waiting], Log, Either),
    ("innodb_undo_log_truncate innodb_rollback_segments", &[Purge], Log, Either),
    ("innodb_thread_*", &[Waiting, CpuTime, Instructions], Nothing, Either),
    ("innodb_concurrency_tickets", &[Waiting], Nothing, Either),
    ("innodb_commit_concurrency", &[Waiting], Log, Either),
    ("innodb_deadlock_detect* innodb_snapshot_isolation", &[Locks, CpuTime], Log, Either),
    ("innodb_lock_wait_timeout", &[Locks], Log, Either),
    ("innodb_autoinc_lock_mode", &[Waiting, CpuTime], Log, Either),
    ("innodb_fill_factor innodb_default_row_format", &[Size, BlocksTouched], Nothing, Either),
    ("innodb_stats_* optimizer_switch optimizer_*", PLANNING, Nothing, Either),
    ("innodb_numa_interleave", &[Cycles, CpuTime], Nothing, Either),
    ("sync_binlog", COMMITS, Log, FLUSHES),
    ("log_bin gtid_mode", BINARY_LOG, Log, More),
    ("binlog_transaction_dependency_*", CODE, Log, Either),
    ("binlog_group_commit_*", &[Fsync, Waiting], Log, Each { more: &[], less: &[Fsync] }),
    ("binlog_*", BINARY_LOG, Log, Either),
    ("max_binlog_size", &[Fsync, Waiting], Log, Either),
    ("general_log log_queries_not_using_indexes", CALLS, Nothing, More),
    ("log_output", CALLS, Status("slow_queries"), Either),
    ("slow_query_log long_query_time log_slow_extra", CALLS, Status("slow_queries"), More),
    (
        "performance_schema performance_schema_instrument* performance_schema_consumer* userstat \
         session_track_*",
        CODE,
        Nothing,
        More,
    ),
    ("optimizer_trace", CODE, Value("enabled=on"), More),
    ("optimizer_prune_level optimizer_search_depth", PLANNING, Sql("JOIN"), Either),
    ("eq_range_index_dive_limit", PLANNING, Sql(" IN ("), Either),
    ("range_optimizer_max_mem_size", &[QueryPlan], Sql(" IN ("), Either),
    ("use_stat_tables", &[QueryPlan, Planning], Nothing, Either),
    (
        "query_cache_*",
        &[Instructions, CpuTime, Function, Rows, BlocksTouched, Waiting],
        Status("qcache_hits"),
        Either,
    ),
    (
        "sort_buffer_size",
        &[TempFiles, Instructions, CpuTime],
        Status("sort_rows"),
        Each { more: &[], less: &[TempFiles] },
    ),
    ("max_length_for_sort_data", &[QueryPlan], Status("sort_rows"), Either),
    ("join_buffer_size", &[QueryPlan], Sql("JOIN"), Either),
    ("tmp_table_size max_heap_table_size", &[TempFiles], Nothing, Less),
    ("temptable_*", &[TempFiles], Nothing, Either),
    ("internal_tmp_* big_tables", &[TempFiles, Instructions, CpuTime], Status("created_tmp_tables"), Either),
    (
        "table_open_cache*",
        &[Instructions, CpuTime, KernelTime, Function, Waiting],
        Status("opened_tables"),
        Less,
    ),
    (
        "table_definition_cache",
        &[Instructions, CpuTime, KernelTime, Function],
        Status("opened_table_definitions"),
        Less,
    ),
    ("thread_handling", &[Waiting, CpuTime, CpuQueue], Nothing, Either),
    ("transaction_isolation tx_isolation", &[Locks, Instructions, CpuTime, Function], Nothing, Either),
    ("unique_checks", &[BufferMisses, BlocksTouched, Instructions, CpuTime], Log, More),
    ("foreign_key_checks", &[Rows, Instructions, CpuTime], Log, More),
    ("plugin_load*", CALLS, Nothing, Either),
    ("max_execution_time", CALLS, Switched, More),
];
