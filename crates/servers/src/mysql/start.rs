//! When a MySQL or MariaDB server is ready, and whether it was shut down cleanly.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rqps_builds::ServerUser;

use crate::error::{Error, Result};
use crate::private::write_private;

/// The socket's name in its directory.
pub(crate) const SOCKET: &str = "mysqld.sock";

/// Marks a data directory whose server was shut down cleanly: InnoDB's files record that differently from version to
/// version.
pub(crate) const SHUT_DOWN: &str = "rqps-shut-down";

/// Version of the protocol in a server's greeting; an error has another number in its place.
const PROTOCOL: u8 = 10;

pub(crate) fn note_shut_down(data_dir: &Path, user: &ServerUser) -> Result<()> {
    write_private(&data_dir.join(SHUT_DOWN), b"", Some(user))
}

/// Removes the mark: a running server may end in any way.
pub(crate) fn forget_shut_down(data_dir: &Path) -> Result<()> {
    let path = data_dir.join(SHUT_DOWN);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove", &path)(error))
        }
        _ => Ok(()),
    }
}

/// Whether the server accepts sessions now: it listens while starting, but sends its greeting only when ready.
pub(crate) fn is_ready(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    // Three bytes of length, a sequence number, then the payload.
    let mut start = [0; 5];
    stream.set_read_timeout(Some(Duration::from_secs(2))).is_ok()
        && stream.read_exact(&mut start).is_ok()
        && start[4] == PROTOCOL
}
