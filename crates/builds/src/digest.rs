//! SHA-256 as lowercase hex.

use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::Error;

/// Hashes a reader to its end.
pub(crate) fn feed(hasher: &mut Sha256, mut content: impl Read) -> Result<()> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

pub(crate) fn sha256_of_file(path: &Path) -> crate::Result<String> {
    let file = File::open(path).map_err(Error::file("open", path))?;
    let mut hasher = Sha256::new();
    feed(&mut hasher, file).map_err(Error::file("read", path))?;
    Ok(hex(&hasher.finalize()))
}

pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
