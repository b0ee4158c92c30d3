//! What can go wrong between source code and a build.

use std::path::PathBuf;

use rqps_model::Dbms;

/// An error of a build from source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No shipped flavour has this name.
    #[error(
        "no flavour is called `{name}`; shipped: {shipped}; for your own write its path, such as ./{name}.toml"
    )]
    UnknownFlavour { name: String, shipped: String },

    /// A flavour's file says what it must not.
    #[error("flavour {flavour}: {reason}")]
    BadFlavour { flavour: String, reason: String },

    /// The place holds no source code that can be built.
    #[error("{place} is no source of {dbms}: {reason}")]
    NotSource { place: String, dbms: Dbms, reason: String },

    #[error("git cannot {action} {place}: {reason}")]
    Git { action: &'static str, place: String, reason: String },

    /// Programs or headers that the build needs are not here.
    #[error(
        "cannot build {what}: this system lacks {missing}; on Debian or Ubuntu run `apt-get install {packages}`"
    )]
    MissingTools { what: String, missing: String, packages: String },

    /// A program of the build ended with a failure.
    #[error("building {what} failed while {phase} ({status}); {log} ends with:\n{tail}")]
    Failed { what: String, phase: &'static str, status: String, log: PathBuf, tail: String },

    /// The caller asked to give up.
    #[error("interrupted while building {what}; nothing of it was kept")]
    Interrupted { what: String },
}

impl SourceError {
    /// Whether the request was at fault: a place, reference or flavour that a user named.
    pub fn is_usage(&self) -> bool {
        !matches!(self, SourceError::Failed { .. } | SourceError::Interrupted { .. })
    }
}
