//! SHA-256 sums as hexadecimal digits.

use std::io::{Read, Result};

use sha2::{Digest, Sha256};

/// Hashes all that a reader has.
pub(crate) fn feed(hasher: &mut Sha256, mut content: impl Read) -> Result<()> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

pub(crate) fn sha256_of(content: impl Read) -> Result<String> {
    let mut hasher = Sha256::new();
    feed(&mut hasher, content)?;
    Ok(hex(&hasher.finalize()))
}

pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
