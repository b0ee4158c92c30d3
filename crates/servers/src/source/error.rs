//! What can go wrong between source code and a build.

use std::path::PathBuf;

use rqps_plan::Dbms;

/// An error of a build from source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No shipped flavour has this name.
    #[error(
        "no flavour is called `{name}`; shipped: {shipped}; for your own write its path, such as ./{name}.toml"
    )]
    UnknownFlavour {
        /// The name as written.
        name: String,
        /// All shipped names.
        shipped: String,
    },

    /// A flavour's file says what it must not.
    #[error("flavour {flavour}: {reason}")]
    BadFlavour {
        /// Its name or file.
        flavour: String,
        /// What is wrong and what to write.
        reason: String,
    },

    /// The place holds no source code that can be built.
    #[error("{place} is no source of {dbms}: {reason}")]
    NotSource {
        /// The place as written.
        place: String,
        /// The DBMS that was to be built.
        dbms: Dbms,
        /// What is missing and what to do.
        reason: String,
    },

    /// git refused.
    #[error("git cannot {action} {place}: {reason}")]
    Git {
        /// What was tried, as a verb.
        action: &'static str,
        /// The repository.
        place: String,
        /// What git said.
        reason: String,
    },

    /// Programs or headers that the build needs are not here.
    #[error(
        "cannot build {what}: this system lacks {missing}; on Debian or Ubuntu run `apt-get install {packages}`"
    )]
    MissingTools {
        /// What was to be built.
        what: String,
        /// Names of programs and headers.
        missing: String,
        /// Debian packages that hold them.
        packages: String,
    },

    /// A program of the build ended with a failure.
    #[error("building {what} failed while {phase} ({status}); {log} ends with:\n{tail}")]
    Failed {
        /// What was being built.
        what: String,
        /// In which phase.
        phase: &'static str,
        /// How the program ended.
        status: String,
        /// The whole log.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },

    /// The caller asked to give up.
    #[error("interrupted while building {what}; nothing of it was kept")]
    Interrupted {
        /// What was being built.
        what: String,
    },
}

impl SourceError {
    /// Whether the request was at fault: a place, reference or flavour that a user named.
    pub fn is_usage(&self) -> bool {
        !matches!(self, SourceError::Failed { .. } | SourceError::Interrupted { .. })
    }
}
