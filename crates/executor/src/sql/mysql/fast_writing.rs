//! Settings under which InnoDB pays its debts as fast as the disk allows and makes statistics of all rows, for as long
//! as a settle step takes.

use crate::system::ADMIN_NAME;
use rqps_wire::mysql::Connection;
use rqps_wire::{Endpoint, Error};

/// MySQL's number of the error that a variable is not known.
const UNKNOWN_VARIABLE: u16 = 1193;
/// The settings, in the order in which they are set: each is within the bounds that the ones before it leave. They are
/// restored in the opposite order.
///
/// Both shares of dirty pages at 0 have the page cleaner write all that is dirty, at full capacity; a share of 1 would
/// leave a hundredth of the buffer pool. Purge takes what it has done off the history list every 128 batches, so an
/// idle server keeps about a hundred entries (seen on 5.7.22 and 8.0.31) unless it does so after each.
///
/// An index with no more leaf pages than are sampled is read whole, so that its statistics depend on its rows alone;
/// these are 1 GB of them.
const SETTINGS: [(&str, f64); 7] = [
    ("innodb_stats_persistent_sample_pages", 65_536.0),
    ("innodb_max_dirty_pages_pct_lwm", 0.0),
    ("innodb_max_dirty_pages_pct", 0.0),
    ("innodb_idle_flush_pct", 100.0),
    ("innodb_purge_rseg_truncate_frequency", 1.0),
    ("innodb_io_capacity_max", 20_000.0),
    ("innodb_io_capacity", 10_000.0),
];

/// A server that writes as fast as it can. Its settings are what they were when this is dropped, at the latest.
pub(super) struct FastWriting {
    endpoint: Endpoint,
    admin: Connection,
    /// What was changed, and what it was.
    before: Vec<(&'static str, String)>,
}

impl FastWriting {
    /// Sets what this version knows.
    pub fn begin(endpoint: &Endpoint) -> Result<Self, Error> {
        let admin = Connection::connect(endpoint, ADMIN_NAME)?;
        let mut fast_writing = Self { endpoint: endpoint.clone(), admin, before: Vec::new() };
        for (name, value) in SETTINGS {
            let known = match fast_writing.admin.query(&format!("SELECT @@GLOBAL.{name}")) {
                Err(error) if error.code() == Some(UNKNOWN_VARIABLE) => None,
                known => known?.value().map(str::to_owned),
            };
            let Some(known) = known else {
                continue;
            };
            // What is larger already stays.
            let may_be_larger = name.starts_with("innodb_io_capacity") || name.ends_with("sample_pages");
            if may_be_larger && known.parse::<f64>().is_ok_and(|known| known >= value) {
                continue;
            }
            fast_writing.admin.query(&format!("SET GLOBAL {name} = {value}"))?;
            fast_writing.before.push((name, known));
        }
        Ok(fast_writing)
    }

    pub fn end(mut self) -> Result<(), Error> {
        restore(&mut self.admin, &mut self.before)
    }
}

impl Drop for FastWriting {
    /// Also where a settle step failed. A server that is gone starts with the settings of its config.
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
