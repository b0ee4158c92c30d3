//! HammerDB as the load engine: it builds its own schema, and runs its own script of a timed test.
//!
//! The script is HammerDB's, with a few lines added: virtual users print their session, and count and time their
//! transactions in the window. Figures are those that HammerDB prints, and these counts. The window cannot wait for
//! transactions in flight: the monitor reads the counts at its ends while the virtual users go on.

mod build;
mod counts;
pub(crate) mod error;
mod installed;
mod output;
mod process;
mod run;
mod script;

pub use build::{Build, BuildTimes, build};
pub use error::Error;
pub use installed::Installed;
pub use run::{TimedRun, run};

use rqps_wire::Endpoint;

/// A DBMS, as HammerDB tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Postgres {
        /// Stored procedures; else functions.
        has_procedures: bool,
    },
    Mysql,
    Mariadb,
}

/// The server, and how to reach it.
#[derive(Debug, Clone)]
pub struct Target {
    pub system: System,
    pub endpoint: Endpoint,
    /// The name of sessions, on a server that has such names.
    pub session_name: String,
}
