//! Hashes of directories that are builds, kept in the cache: computing one takes a second, and nothing is written
//! into a directory that is not ours.

use std::fs;
use std::path::Path;

use rqps_plan::Dbms;
use serde::{Deserialize, Serialize};

use crate::dirs::{Dirs, create_open_dir};
use crate::error::Result;
use crate::identity::{ProgramFiles, sha256_hex};

/// A hash computed before, and the state of the files it was computed from.
#[derive(Serialize, Deserialize)]
struct KnownHash {
    fingerprint: String,
    hash: String,
}

/// The hash of the files at `root`, from an earlier computation when none of them has changed since.
pub(crate) fn of(dirs: &Dirs, dbms: Dbms, root: &Path, files: &ProgramFiles) -> Result<String> {
    let known_dir = dirs.cache.join(dbms.name()).join("directories");
    let name = sha256_hex(root.as_os_str().as_encoded_bytes());
    let known_path = known_dir.join(format!("{}.json", &name[..16]));
    let fingerprint = files.fingerprint();
    let known =
        fs::read_to_string(&known_path).ok().and_then(|text| serde_json::from_str::<KnownHash>(&text).ok());
    if let Some(known) = known
        && known.fingerprint == fingerprint
    {
        return Ok(known.hash);
    }
    let hash = files.hash()?;
    let known = KnownHash { fingerprint, hash: hash.clone() };
    // Only saves time next time; a cache that cannot be written is no obstacle.
    if create_open_dir(&known_dir).is_ok()
        && let Ok(text) = serde_json::to_string(&known)
    {
        let _not_needed = fs::write(&known_path, text);
    }
    Ok(hash)
}
