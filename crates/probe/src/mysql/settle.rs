//! The debt a server has after writes, as facts on which a settle step can end: old row versions, dirty pages, redo log
//! since the last checkpoint, and what the kernel has still to write. What to do about them is decided elsewhere.

use rqps_wire::mysql::Connection;

use super::innodb_status::{self, CHECKPOINT_AGE_BYTES, DIRTY_PAGES, HISTORY_LIST_LENGTH, InnodbStatus};
use crate::error::{Error, Result};
use crate::host;

/// A server's debt at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct SettleFacts {
    /// Transactions whose old row versions wait for the purge, or are purged and not yet taken off the list: that is
    /// done every 128th time unless `innodb_purge_rseg_truncate_frequency` says otherwise, so a server at rest keeps
    /// some.
    pub history_list_length: u64,
    /// Transaction numbers that the purge has not come to, each transaction that writes taking two. Before 8.0 a purge
    /// that waited for a reader goes on when somebody writes; 9.7 keeps a few.
    pub unpurged_transactions: u64,
    /// Pages of the buffer pool that differ from their place on disk.
    pub dirty_pages: u64,
    /// Pages of the buffer pool that hold data.
    pub data_pages: u64,
    /// Redo log from which a crash now would recover, bytes. A server without dirty pages may leave some.
    pub checkpoint_age_bytes: u64,
    /// Reads, writes and flushes that InnoDB has asked for and that are not done.
    pub pending_io: u64,
    /// Memory the kernel has still to write to disks, bytes.
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
    let begun = figure(status, "trx_id_counter")?;
    Ok(begun.saturating_sub(figure(status, "purge_done_trx")?))
}

pub(super) fn figure(status: &InnodbStatus, name: &str) -> Result<u64> {
    let unknown = || Error::Answer { what: "state of InnoDB".to_owned(), found: format!("no {name}") };
    status.get(name).map(|value| value as u64).ok_or_else(unknown)
}
