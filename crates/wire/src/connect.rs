//! Shared by the logins of all protocols: limits, login errors, version numbers.

use std::io;
use std::time::Duration;

use crate::channel::ServerError;
use crate::error::number;
use crate::socket::Socket;
use crate::{Endpoint, Error};

/// Time limit of a login; long enough for a busy server.
pub(crate) const LOGIN_TIMEOUT: Duration = Duration::from_secs(15);

/// Opens a socket with the login's time limit; `file` is the Unix socket's name in its directory.
pub(crate) fn open(endpoint: &Endpoint, file: &str, server: &'static str) -> Result<Socket, Error> {
    let opened = Socket::open(endpoint, file).and_then(|mut socket| {
        socket.set_timeout(Some(LOGIN_TIMEOUT))?;
        Ok(socket)
    });
    opened.map_err(|source| unreachable(endpoint, source, server))
}

/// The error for a server that can't be reached, closes the connection during login, or isn't a `server` at
/// all.
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
            "the server accepts but doesn't answer: see its log and the load of the machine"
        }
        io::ErrorKind::InvalidData => "check which DBMS listens there",
        _ => "see the server's log",
    };
    Error::Connect { server, endpoint: endpoint.to_string(), source, remedy }
}

/// Why a login failed.
pub(crate) enum LoginError {
    Io(io::Error),
    Server(ServerError),
    /// The password check failed on the client's side, or needs an unsupported method.
    Method(String),
}

impl From<io::Error> for LoginError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The parts of a login error that differ between the protocols.
pub(crate) struct Refusal {
    /// The kind of server.
    pub(crate) server: &'static str,
    pub(crate) remedy_for: fn(&ServerError) -> &'static str,
    /// The remedy for [`LoginError::Method`]; names the supported methods.
    pub(crate) methods: &'static str,
}

/// The first three numbers of a version such as `9.6.24` or `10.11.5-MariaDB`; a missing or invalid one is 0.
pub(crate) fn version_parts(text: &str) -> [u32; 3] {
    let release = text.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

impl LoginError {
    pub(crate) fn explain(self, endpoint: &Endpoint, refusal: &Refusal) -> Error {
        match self {
            Self::Io(source) => unreachable(endpoint, source, refusal.server),
            Self::Server(error) => Error::Auth {
                endpoint: endpoint.to_string(),
                remedy: (refusal.remedy_for)(&error),
                reason: format!("{} ({}SQLSTATE {})", error.message, number(&error.code), error.sqlstate),
                sqlstate: Some(error.sqlstate),
            },
            Self::Method(what) => Error::Auth {
                endpoint: endpoint.to_string(),
                sqlstate: None,
                reason: format!("password authentication failed or uses an unsupported method: {what}"),
                remedy: refusal.methods,
            },
        }
    }
}
