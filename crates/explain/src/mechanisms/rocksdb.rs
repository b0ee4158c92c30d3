//! What options of RocksDB can affect. Source: the comments on options in its headers, and its tuning guide.
//!
//! An option without an entry is never named as a cause. Some entries have no cause, so that a wider pattern does not
//! match.

use super::needs::Needs::{Compactions, Filters, Flushes, Misses, Nothing, Rewrites, Setting};
use super::rule::{CODE, Rule};
use super::way::Way::{Either, Less, More};
use crate::model::Cause::{
    self, Background, BlocksTouched, BufferMisses, Compaction, CpuTime, Cycles, Fsync, Function,
    Instructions, KernelTime, Reads, Rows, Size, Waiting, Wal, WriteStall,
};

/// A block that is not in the cache is read, checked and decompressed.
const MISSES: &[Cause] = &[BufferMisses, Reads, Instructions, CpuTime, KernelTime, Function];
/// Which blocks a read looks up, and what that costs.
const LOOKUPS: &[Cause] = &[BlocksTouched, BufferMisses, Reads, Instructions, CpuTime, KernelTime, Function];
/// What decides how often an entry is rewritten, and how many tables a read looks into.
const TREE: &[Cause] = &[
    Compaction,
    WriteStall,
    Background,
    BlocksTouched,
    BufferMisses,
    Reads,
    Size,
    Instructions,
    CpuTime,
    Function,
];
/// What each flush and compaction does, and each read of a block from storage.
const STORED: &[Cause] = &[
    Compaction,
    WriteStall,
    Background,
    Reads,
    Size,
    Instructions,
    CpuTime,
    Function,
    Cycles,
    BlocksTouched,
    BufferMisses,
];
/// Checks of what is read and written, also by flushes and compactions.
const CHECKS: &[Cause] = &[Instructions, CpuTime, Function, Cycles, Compaction, Background];
const STALLS: &[Cause] = &[WriteStall, Waiting];
const WRITES: &[Cause] = &[Instructions, CpuTime, Function, Cycles, Waiting];
const STORAGE: &[Cause] = &[Reads, KernelTime, CpuTime, Waiting];

/// The causes that options can affect, what has to be active for that, and the direction.
pub(super) static SETTINGS: [Rule; 29] = [
    ("block_based_table_factory.block_cache.capacity", MISSES, Misses, Less),
    ("block_based_table_factory.block_cache.*", MISSES, Misses, Either),
    ("block_based_table_factory.no_block_cache", MISSES, Nothing, More),
    (
        "block_based_table_factory.decouple_partitioned_filters",
        LOOKUPS,
        Setting("block_based_table_factory.partition_filters", "true"),
        Either,
    ),
    (
        "block_based_table_factory.filter_policy block_based_table_factory.whole_key_filtering \
         block_based_table_factory.partition_filters \
         block_based_table_factory.optimize_filters_for_memory optimize_filters_for_hits",
        LOOKUPS,
        Filters,
        Either,
    ),
    (
        "block_based_table_factory.cache_index_and_filter_blocks block_based_table_factory.pin_* \
         block_based_table_factory.index_type block_based_table_factory.metadata_*",
        LOOKUPS,
        Nothing,
        Either,
    ),
    ("block_based_table_factory.cache_index_and_filter_blocks_with_high_priority", MISSES, Misses, Either),
    ("block_based_table_factory.prepopulate_block_cache", MISSES, Flushes, Either),
    (
        "block_based_table_factory.block_size block_based_table_factory.block_restart_interval \
         block_based_table_factory.index_block_restart_interval block_based_table_factory.data_block_index_type \
         block_based_table_factory.enable_index_compression",
        STORED,
        Nothing,
        Either,
    ),
    (
        "block_based_table_factory.checksum block_based_table_factory.verify_compression paranoid_* \
         block_protection_bytes_per_key",
        CHECKS,
        Nothing,
        Either,
    ),
    (
        "block_based_table_factory.format_version block_based_table_factory.read_amp_bytes_per_bit \
         force_consistency_checks report_bg_io_stats",
        CODE,
        Nothing,
        Either,
    ),
    (
        "block_based_table_factory.max_auto_readahead_size block_based_table_factory.initial_auto_readahead_size \
         block_based_table_factory.num_file_reads_for_auto_readahead compaction_readahead_size advise_random_on_open",
        STORAGE,
        Nothing,
        Either,
    ),
    ("compression* bottommost_compression*", STORED, Nothing, Either),
    ("compression_manager", &[], Nothing, Either),
    (
        "write_buffer_size max_write_buffer_number min_write_buffer_number_to_merge db_write_buffer_size \
         target_file_size_* level0_file_num_compaction_trigger disable_auto_compactions",
        TREE,
        Nothing,
        Either,
    ),
    (
        "max_bytes_for_level_* num_levels level_compaction_dynamic_level_bytes compaction_style compaction_pri \
         max_compaction_bytes compaction_options_universal",
        TREE,
        Compactions,
        Either,
    ),
    ("level0_slowdown_writes_trigger level0_stop_writes_trigger", STALLS, Nothing, Less),
    ("soft_pending_compaction_bytes_limit hard_pending_compaction_bytes_limit", STALLS, Nothing, Either),
    ("delayed_write_rate max_total_wal_size", STALLS, Nothing, Either),
    (
        "max_background_* base_background_compactions max_subcompactions",
        &[Compaction, WriteStall, Background, Waiting],
        Nothing,
        Either,
    ),
    ("rate_limiter_bytes_per_sec", &[Compaction, WriteStall, Background, Waiting], Rewrites, Either),
    ("use_direct_io_for_flush_and_compaction", STORAGE, Rewrites, Either),
    ("use_direct_* allow_mmap_*", STORAGE, Nothing, Either),
    (
        "bytes_per_sync wal_bytes_per_sync strict_bytes_per_sync use_fsync",
        &[Fsync, KernelTime, Waiting],
        Nothing,
        Either,
    ),
    (
        "memtable_* allow_concurrent_memtable_write enable_pipelined_write unordered_write two_write_queues \
         inplace_update_* enable_write_thread_adaptive_yield write_thread_* max_write_batch_group_size_bytes \
         bloom_locality arena_block_size",
        WRITES,
        Nothing,
        Either,
    ),
    ("manual_wal_flush", &[Wal, Fsync, Instructions, CpuTime, Function, Waiting], Nothing, Either),
    (
        "max_open_files",
        &[BufferMisses, Instructions, CpuTime, KernelTime, Function, Waiting],
        Nothing,
        Either,
    ),
    ("table_cache_numshardbits", &[Instructions, CpuTime, KernelTime, Function, Waiting], Nothing, Either),
    ("max_sequential_skip_in_iterations", &[Rows, Instructions, CpuTime, BlocksTouched], Nothing, Either),
];
