//! Writes dirty pages of the kernel's page cache to the disk.

use crate::error::{Error, Result};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often `look` is called while the kernel writes.
const POLL: Duration = Duration::from_millis(50);

/// Syncs the file system of the data directory, which includes the log of earlier steps. Returns false if
/// `look` ended it early; the kernel then continues in the background.
pub(crate) fn write_back(data_dir: &Path, look: &mut dyn FnMut() -> bool) -> Result<bool> {
    let failed = |source| Error::File { action: "write back", path: data_dir.to_owned(), source };
    let dir = std::fs::File::open(data_dir).map_err(failed)?;
    let (done, outcome) = channel();
    let sync = move || {
        // Fails if the receiver has given up.
        let _sent = done.send(rustix::fs::syncfs(dir));
    };
    std::thread::Builder::new().name("write-back".to_owned()).spawn(sync).map_err(failed)?;
    loop {
        match outcome.recv_timeout(POLL) {
            Ok(synced) => return synced.map(|()| true).map_err(|e| failed(e.into())),
            Err(RecvTimeoutError::Timeout) if look() => {}
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed(std::io::Error::other("its thread ended")));
            }
        }
    }
}
