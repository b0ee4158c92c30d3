//! What can go wrong outside: each with the place and what to do.

use core::fmt;
use std::io;
use std::path::PathBuf;

/// An external sort that could not go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExternalError {
    /// No file could be made.
    Create {
        /// Where it should have been.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A run could not be written.
    Write {
        /// Where its file is.
        directory: PathBuf,
        /// Bytes of the file before.
        file_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A run could not be read.
    Read {
        /// Where its file is.
        directory: PathBuf,
        /// Where in the file.
        file_bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A run is not what was written.
    Damaged {
        /// Where its file is.
        directory: PathBuf,
        /// Where in the file.
        file_bytes: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// A key or payload longer than 4 GiB.
    TooLong {
        /// Bytes of the key.
        key_bytes: usize,
        /// Bytes of the payload.
        payload_bytes: usize,
    },
}

impl fmt::Display for ExternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { directory, source } => {
                let directory = directory.display();
                write!(
                    f,
                    "no temporary file in {directory}: {source}; choose a directory that exists and is writable"
                )
            }
            Self::Write { directory, file_bytes, source } => {
                let directory = directory.display();
                write!(f, "writing a run to {directory} failed behind {file_bytes} bytes: {source}; ")?;
                write!(f, "make room there and repeat the call, or choose another directory")
            }
            Self::Read { directory, file_bytes, source } => {
                let directory = directory.display();
                write!(
                    f,
                    "reading a run in {directory} failed at byte {file_bytes}: {source}; check the disk"
                )
            }
            Self::Damaged { directory, file_bytes, what } => {
                let directory = directory.display();
                write!(
                    f,
                    "a run in {directory} is not as it was written, at byte {file_bytes}: {what}; check the disk"
                )
            }
            Self::TooLong { key_bytes, payload_bytes } => {
                write!(f, "a record with a key of {key_bytes} and a payload of {payload_bytes} bytes: ")?;
                write!(f, "each may have {} at most", u32::MAX)
            }
        }
    }
}

impl std::error::Error for ExternalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Create { source, .. } | Self::Write { source, .. } | Self::Read { source, .. } => {
                Some(source)
            }
            Self::Damaged { .. } | Self::TooLong { .. } => None,
        }
    }
}
