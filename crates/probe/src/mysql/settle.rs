//! A server's debt after writes, used as exit conditions of settle steps: old row versions, dirty pages, redo log since
//! the last checkpoint, and the kernel's dirty memory. Nothing here acts on them.

use rqps_wire::mysql::Connection;

use super::innodb_status::{self, CHECKPOINT_AGE_BYTES, DIRTY_PAGES, HISTORY_LIST_LENGTH, InnodbStatus};
use crate::error::{Error, Result};
use crate::host;

/// A server's debt at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct SettleFacts {
    /// Transactions whose old row versions wait for the purge, or are purged but still in the list. The list is
    /// truncated at every 128th purge, or every `innodb_purge_rseg_truncate_frequency`, so an idle server keeps some.
    pub history_list_length: u64,
    /// Transaction numbers not yet purged; each writing transaction takes two. Before 8.0, a purge that waited for a
    /// reader resumes only when a transaction writes; 9.7 keeps a few.
    pub unpurged_transactions: u64,
    /// Modified pages of the buffer pool that are not flushed yet.
    pub dirty_pages: u64,
    /// Pages of the buffer pool with data.
    pub data_pages: u64,
    /// Redo log that recovery after a crash would read, bytes. A server without dirty pages may keep some.
    pub checkpoint_age_bytes: u64,
    /// InnoDB's pending reads, writes and flushes.
    pub pending_io: u64,
    /// Memory that the kernel has yet to write to disks, bytes.
    pub kernel_dirty_bytes: u64,
}

pub fn facts(connection: &mut Connection) -> Result<SettleFacts> {
    let status = innodb_status::read(connection)?;
    Ok(SettleFacts {
        history_list_length: figure(&status, HISTORY_LIST_LENGTH)?,
        unpurged_transactions: unpurged(&status)?,
        dirty_pages: figure(&status, DIRTY_PAGES)?,
        data_pages: figure(&status, "data_pages")?,
        checkpoint_age_bytes: figure(&status, CHECKPOINT_AGE_BYTES)?,
        pending_io: status.pending_io() as u64,
        kernel_dirty_bytes: host::dirty_bytes()?,
    })
}

/// See [`SettleFacts::unpurged_transactions`].
pub(super) fn unpurged(status: &InnodbStatus) -> Result<u64> {
    let next_transaction = figure(status, "trx_id_counter")?;
    Ok(next_transaction.saturating_sub(figure(status, "purge_done_trx")?))
}

pub(super) fn figure(status: &InnodbStatus, name: &str) -> Result<u64> {
    let unknown = || Error::Answer { what: "state of InnoDB".to_owned(), found: format!("no {name}") };
    status.get(name).map(|value| value as u64).ok_or_else(unknown)
}
