//! Encrypts a password with the server's public key, as `caching_sha2_password` requires over TCP if the
//! server has not cached the password. RSA with OAEP padding and SHA-1 (RFC 8017, 7.1.1).
//!
//! The server's key is not verified: this client is for servers on its own machine.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use sha1::{Digest, Sha1};

use super::password::xor;

/// Length of a SHA-1 digest.
const HASH_BYTES: usize = 20;

/// DER tags.
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;

pub(super) struct PublicKey {
    modulus: BigUint,
    exponent: BigUint,
}

impl PublicKey {
    /// Parses a `PUBLIC KEY` in PEM format; `None` if it is not an RSA key.
    pub(super) fn from_pem(pem: &str) -> Option<Self> {
        let lines = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
        let der = STANDARD.decode(lines.collect::<String>().trim_end_matches('\0')).ok()?;
        let mut outer = element(&mut der.as_slice(), SEQUENCE)?;
        element(&mut outer, SEQUENCE)?;
        // The first byte is the number of unused bits: 0.
        let mut bits = element(&mut outer, BIT_STRING)?.strip_prefix(&[0])?;
        let mut key = element(&mut bits, SEQUENCE)?;
        let modulus = BigUint::from_bytes_be(element(&mut key, INTEGER)?);
        let exponent = BigUint::from_bytes_be(element(&mut key, INTEGER)?);
        (modulus.bits() > 0).then_some(Self { modulus, exponent })
    }

    /// Encrypts `message` with `seed`, which must be random and new; `None` if the message is too long.
    pub(super) fn encrypt(&self, message: &[u8], seed: &[u8; HASH_BYTES]) -> Option<Vec<u8>> {
        let key_bytes = self.modulus.bits().div_ceil(8) as usize;
        let block_bytes = key_bytes.checked_sub(HASH_BYTES + 1)?;
        let zeros = block_bytes.checked_sub(HASH_BYTES + 1 + message.len())?;
        let mut block = Sha1::digest(b"").to_vec();
        block.resize(HASH_BYTES + zeros, 0);
        block.push(1);
        block.extend_from_slice(message);
        let block = xor(&block, &mask(seed, block_bytes));
        let seed = xor(seed, &mask(&block, HASH_BYTES));
        let padded = BigUint::from_bytes_be(&[seed, block].concat());
        let encrypted = padded.modpow(&self.exponent, &self.modulus).to_bytes_be();
        let mut out = vec![0; key_bytes - encrypted.len()];
        out.extend_from_slice(&encrypted);
        Some(out)
    }
}

/// A mask of `bytes` bytes generated from `seed` (MGF1, RFC 8017, B.2.1).
fn mask(seed: &[u8], bytes: usize) -> Vec<u8> {
    let blocks = (0_u32..).flat_map(|block| {
        Sha1::new().chain_update(seed).chain_update(block.to_be_bytes()).finalize().to_vec()
    });
    blocks.take(bytes).collect()
}

/// Removes the next element, which must have this tag, from `der` and returns its content.
fn element<'a>(der: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&found, rest) = der.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let (digits, behind) = rest.split_at_checked(usize::from(first & 0x7f))?;
        length = digits
            .iter()
            .try_fold(0_usize, |sum, digit| sum.checked_mul(256)?.checked_add(usize::from(*digit)))?;
        rest = behind;
    }
    let (content, behind) = rest.split_at_checked(length)?;
    *der = behind;
    (found == tag).then_some(content)
}
