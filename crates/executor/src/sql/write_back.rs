//! Having the kernel write to the disk what it still holds of a server's data.

use crate::error::{Error, Result};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the user's wish is looked at while the kernel works.
const LOOK: Duration = Duration::from_millis(50);

/// Has the kernel write what it still holds for the file system of the data, the log of earlier steps included. False
/// when `look` asked for the end; the kernel then goes on by itself.
pub(crate) fn write_back(data_dir: &Path, look: &mut dyn FnMut() -> bool) -> Result<bool> {
    let failed = |source| Error::File { action: "write back", path: data_dir.to_owned(), source };
    let dir = std::fs::File::open(data_dir).map_err(failed)?;
    let (done, outcome) = channel();
    let sync = move || {
        // Nobody listens any more when the end was asked for.
        let _told = done.send(rustix::fs::syncfs(dir));
    };
    std::thread::Builder::new().name("write-back".to_owned()).spawn(sync).map_err(failed)?;
    loop {
        match outcome.recv_timeout(LOOK) {
            Ok(synced) => return synced.map(|()| true).map_err(|e| failed(e.into())),
            Err(RecvTimeoutError::Timeout) if look() => {}
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed(std::io::Error::other("its thread ended")));
            }
        }
    }
}
