//! Proofs of a password for the two authentication methods; they do not reveal it.

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Length of the server's challenge, which is new for each connection.
pub(super) const NONCE_BYTES: usize = 20;

/// `mysql_native_password`: SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))). Empty for an empty
/// password.
pub(super) fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(nonce).chain_update(twice).finalize();
    xor(&once, &mask)
}

/// `caching_sha2_password`: SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce). Empty for an empty
/// password.
pub(super) fn caching_sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new().chain_update(twice).chain_update(nonce).finalize();
    xor(&once, &mask)
}

/// `bytes` XOR `mask`, repeated as needed.
pub(super) fn xor(bytes: &[u8], mask: &[u8]) -> Vec<u8> {
    bytes.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
}
