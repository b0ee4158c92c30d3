//! What the logins of all protocols share: limits, and what is said when no server is reached.

use std::io;
use std::time::Duration;

use crate::socket::Socket;
use crate::{Endpoint, Error};

/// How long the server may take over the login, a busy one included: one that hangs is not waited for much longer than
/// one that died.
pub(crate) const LOGIN_TIMEOUT: Duration = Duration::from_secs(15);

/// A socket for a login, which ends when the server takes longer than it may; `file` is the Unix socket's name in its
/// directory.
pub(crate) fn open(endpoint: &Endpoint, file: &str, server: &'static str) -> Result<Socket, Error> {
    let opened = Socket::open(endpoint, file).and_then(|mut socket| {
        socket.set_timeout(Some(LOGIN_TIMEOUT))?;
        Ok(socket)
    });
    opened.map_err(|source| unreachable(endpoint, source, server))
}

/// The error for a server that can't be reached, breaks off the login, or isn't a `server` at all.
pub(crate) fn unreachable(endpoint: &Endpoint, source: io::Error, server: &'static str) -> Error {
    let remedy = match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            "check that the server is running and listens on this socket directory or address and port"
        }
        io::ErrorKind::PermissionDenied => "check that this user may enter the socket directory",
        io::ErrorKind::InvalidInput => {
            "use a shorter path for the socket directory, and names without zero bytes"
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "the server accepts but doesn't answer: see its log and the machine's load"
        }
        io::ErrorKind::InvalidData => "check which DBMS listens there",
        _ => "see the server's log",
    };
    Error::Connect { server, endpoint: endpoint.to_string(), source, remedy }
}
