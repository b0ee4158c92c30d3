//! A server's address and login, in one value that error messages can show.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// The directory of the server's Unix socket.
    Unix(PathBuf),
    Tcp(IpAddr),
}

/// One server, one database, one user.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub host: Host,
    /// The TCP port; for a Unix socket, the number at the end of its file name.
    pub port: u16,
    pub user: String,
    /// Unused if the server trusts the connection.
    pub password: String,
    pub database: String,
}

/// For error messages: address, user and database, never the password.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Unix(directory) => write!(f, "socket {}, port {}", directory.display(), self.port)?,
            Host::Tcp(address) => write!(f, "host {address}, port {}", self.port)?,
        }
        write!(f, ", user {}, database {}", self.user, self.database)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .field("password", &"(hidden)")
            .field("database", &self.database)
            .finish()
    }
}
