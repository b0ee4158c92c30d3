//! Small files of JSON.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(Error::file("read", path))?;
    serde_json::from_slice(&text)
        .map_err(|error| Error::Unreadable { path: path.to_owned(), why: error.to_string() })
}

/// Replaces a file as a whole.
pub(crate) fn write_synced(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec(value).map_err(|error| Error::file("write", path)(error.into()))?;
    let partial = path.with_extension("new");
    let written = File::create(&partial)
        .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&partial, path));
    written.map_err(Error::file("write", path))
}
