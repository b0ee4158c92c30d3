//! Where a server listens and who logs in, in one value that can be put into every error message.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// The directory that holds the server's Unix socket.
    Unix(PathBuf),
    /// An address to reach by TCP.
    Tcp(IpAddr),
}

/// One server, one database, one user.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The socket directory or address.
    pub host: Host,
    /// The TCP port; for a Unix socket, the number its file name ends in.
    pub port: u16,
    /// The role to log in as.
    pub user: String,
    /// Its password; unused when the server trusts the connection.
    pub password: String,
    pub database: String,
}

/// For error messages: place, user and database, never the password.
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
