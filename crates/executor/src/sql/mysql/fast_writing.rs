//! Settings during a settle step that let InnoDB pay its debt as fast as the disk allows and read all rows
//! for statistics.

use crate::system::ADMIN_NAME;
use rqps_wire::mysql::Connection;
use rqps_wire::{Endpoint, Error};

/// ER_UNKNOWN_SYSTEM_VARIABLE.
const UNKNOWN_VARIABLE: u16 = 1193;
/// The settings in the order in which they are set, since some limit others. They are restored in reverse.
///
/// With both percentages of dirty pages at 0, the page cleaner writes all dirty pages at full capacity; 1
/// would leave a hundredth of the buffer pool. By default, purge removes entries from the history list every
/// 128 batches, so that an idle server keeps about a hundred (seen on 5.7.22 and 8.0.31); here after each
/// batch.
///
/// An index with no more leaf pages than the sample is read completely, so that its statistics depend on its
/// rows alone. The sample is 1 GB of pages.
const SETTINGS: [(&str, f64); 7] = [
    ("innodb_stats_persistent_sample_pages", 65_536.0),
    ("innodb_max_dirty_pages_pct_lwm", 0.0),
    ("innodb_max_dirty_pages_pct", 0.0),
    ("innodb_idle_flush_pct", 100.0),
    ("innodb_purge_rseg_truncate_frequency", 1.0),
    ("innodb_io_capacity_max", 20_000.0),
    ("innodb_io_capacity", 10_000.0),
];

/// Fast writing on a server. Restores the settings when dropped, at the latest.
pub(super) struct FastWriting {
    endpoint: Endpoint,
    admin: Connection,
    /// Changed settings with their previous values.
    before: Vec<(&'static str, String)>,
}

impl FastWriting {
    /// Changes those settings that this version has.
    pub fn begin(endpoint: &Endpoint) -> Result<Self, Error> {
        let admin = Connection::connect(endpoint, ADMIN_NAME)?;
        let mut fast_writing = Self { endpoint: endpoint.clone(), admin, before: Vec::new() };
        for (name, value) in SETTINGS {
            let before = match fast_writing.admin.query(&format!("SELECT @@GLOBAL.{name}")) {
                Err(error) if error.code() == Some(UNKNOWN_VARIABLE) => None,
                before => before?.value().map(str::to_owned),
            };
            let Some(before) = before else {
                continue;
            };
            let may_be_larger = name.starts_with("innodb_io_capacity") || name.ends_with("sample_pages");
            if may_be_larger && before.parse::<f64>().is_ok_and(|before| before >= value) {
                continue;
            }
            fast_writing.admin.query(&format!("SET GLOBAL {name} = {value}"))?;
            fast_writing.before.push((name, before));
        }
        Ok(fast_writing)
    }

    pub fn end(mut self) -> Result<(), Error> {
        restore(&mut self.admin, &mut self.before)
    }
}

impl Drop for FastWriting {
    /// Restores the settings after a failed settle step too. A server that is gone restarts with those of its
    /// config.
    fn drop(&mut self) {
        if restore(&mut self.admin, &mut self.before).is_err()
            && let Ok(mut admin) = Connection::connect(&self.endpoint, ADMIN_NAME)
        {
            let _restored = restore(&mut admin, &mut self.before);
        }
    }
}

fn restore(admin: &mut Connection, before: &mut Vec<(&'static str, String)>) -> Result<(), Error> {
    while let Some((name, value)) = before.last() {
        admin.query(&format!("SET GLOBAL {name} = {value}"))?;
        before.pop();
    }
    Ok(())
}
