//! Keeps doses secret until the verdicts are written, and proves that they were not chosen afterwards.
//!
//! The file of doses contains an unpredictable nonce, so its digest does not reveal the doses. The digest is
//! in every arm's environment, which the run folder records before anything is measured.

use crate::dose::Dose;
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The doses of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    pub nonce: String,
    pub doses: BTreeMap<String, Dose>,
}

impl Sealed {
    /// Reads the file, which must have the digest `committed`.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or its digest differs.
    pub fn open(path: &Path, committed: &str) -> Result<Self> {
        read(path, committed, |path, found, committed| Error::SealBroken { path, found, committed })
    }
}

/// Writes a value as JSON and returns the file's digest.
///
/// # Errors
/// Returns an error if it cannot be written.
pub(crate) fn write(path: &Path, value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|source| Error::Format { path: path.to_owned(), source })?;
    fs::write(path, &text).map_err(Error::file("write", path))?;
    Ok(digest(text.as_bytes()))
}

/// Reads a value from a file that must have the digest `committed`. Otherwise `changed` makes the error from
/// the path, the digest found and the committed one.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    committed: &str,
    changed: fn(PathBuf, String, String) -> Error,
) -> Result<T> {
    let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let found = digest(text.as_bytes());
    if found != committed {
        return Err(changed(path.to_owned(), found, committed.to_owned()));
    }
    serde_json::from_str(&text).map_err(|source| Error::Format { path: path.to_owned(), source })
}

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doses_changed_after_the_seal_are_rejected() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("doses.json");
        let doses =
            BTreeMap::from([("a02".to_owned(), Dose::spin(1234)), ("a03".to_owned(), Dose::default())]);
        let sealed = Sealed { nonce: "00ff".to_owned(), doses };
        let committed = write(&path, &sealed).unwrap();
        assert_eq!(Sealed::open(&path, &committed).unwrap(), sealed);
        let changed = fs::read_to_string(&path).unwrap().replace("1234", "1235");
        fs::write(&path, changed).unwrap();
        let error = Sealed::open(&path, &committed).unwrap_err().to_string();
        assert!(error.contains("not the ones that were sealed") && error.contains(&committed), "{error}");
    }

    #[test]
    fn the_digest_is_sha_256() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(digest(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
