//! Detects when a MySQL or MariaDB server is ready, and records a clean shutdown.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rqps_builds::ServerUser;

use crate::error::{Error, Result};
use crate::private::write_private;

/// File name of the socket.
pub(crate) const SOCKET: &str = "mysqld.sock";

/// Marks a data directory after a clean shutdown: InnoDB's own record of that differs between versions.
pub(crate) const SHUT_DOWN: &str = "rqps-shut-down";

/// Protocol version in a server's greeting; an error packet has another byte in its place.
const PROTOCOL: u8 = 10;

pub(crate) fn note_shut_down(data_dir: &Path, user: &ServerUser) -> Result<()> {
    write_private(&data_dir.join(SHUT_DOWN), b"", Some(user))
}

/// Removes the mark when the server starts: it may not end cleanly.
pub(crate) fn forget_shut_down(data_dir: &Path) -> Result<()> {
    let path = data_dir.join(SHUT_DOWN);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove", &path)(error))
        }
        _ => Ok(()),
    }
}

/// Whether the server accepts sessions: it listens while starting, but sends its greeting only when ready.
pub(crate) fn is_ready(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    // A three-byte length, a sequence number, then the payload.
    let mut start = [0; 5];
    stream.set_read_timeout(Some(Duration::from_secs(2))).is_ok()
        && stream.read_exact(&mut start).is_ok()
        && start[4] == PROTOCOL
}
