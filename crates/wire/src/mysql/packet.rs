//! Packets: three bytes of length, a sequence number, a payload. A payload that is too long for the length
//! field is split into several packets.

use std::io::{self, Read};

use crate::inbox::{Inbox, unexpected};

/// Length and sequence number.
pub(super) const HEADER_BYTES: usize = 4;

/// Longest payload; a packet of this length is continued by the next one.
pub(super) const PAYLOAD_BYTES_MAX: usize = 0xff_ffff;

/// Success of a login or a statement.
pub(super) const OK: u8 = 0x00;
/// Ends definitions or rows, if the payload is shorter than [`EOF_BYTES`]; during login, requests another
/// method.
pub(super) const EOF: u8 = 0xfe;
/// EOF packets have shorter payloads than this. Others that begin with [`EOF`] are rows that begin with a
/// long text.
pub(super) const EOF_BYTES: usize = 9;
pub(super) const ERROR: u8 = 0xff;

pub(super) const QUIT: u8 = 0x01;
pub(super) const QUERY: u8 = 0x03;
pub(super) const PREPARE: u8 = 0x16;
pub(super) const EXECUTE: u8 = 0x17;

/// Replaces `out` by a command.
pub(super) fn command(out: &mut Vec<u8>, code: u8, body: &[u8]) {
    out.clear();
    out.reserve(HEADER_BYTES + 1 + body.len());
    out.extend_from_slice(&[0, 0, 0, 0, code]);
    out.extend_from_slice(body);
    seal(out, 0);
}

/// Fills in the header at the front of `out`, for the packet with this sequence number.
#[inline]
pub(super) fn seal(out: &mut Vec<u8>, number: u8) {
    let payload_bytes = out.len() - HEADER_BYTES;
    if payload_bytes >= PAYLOAD_BYTES_MAX {
        return split(out, number);
    }
    if let Some(header) = out.first_chunk_mut::<HEADER_BYTES>() {
        *header = new_header(payload_bytes, number);
    }
}

fn new_header(payload_bytes: usize, number: u8) -> [u8; HEADER_BYTES] {
    let [l0, l1, l2, _] = (payload_bytes as u32).to_le_bytes();
    [l0, l1, l2, number]
}

/// Splits a payload into packets. The last one is shorter than the maximum and may be empty.
#[cold]
fn split(out: &mut Vec<u8>, mut number: u8) {
    let payload = out.split_off(HEADER_BYTES);
    out.clear();
    let mut rest = payload.as_slice();
    loop {
        let (part, behind) = rest.split_at(rest.len().min(PAYLOAD_BYTES_MAX));
        out.extend_from_slice(&new_header(part.len(), number));
        out.extend_from_slice(part);
        if part.len() < PAYLOAD_BYTES_MAX {
            return;
        }
        rest = behind;
        number = number.wrapping_add(1);
    }
}

/// The first sequence number of the reply to a command of `bytes` bytes, headers included.
#[inline]
pub(super) fn reply_number(bytes: usize) -> u8 {
    if bytes < PAYLOAD_BYTES_MAX { 1 } else { (bytes / (HEADER_BYTES + PAYLOAD_BYTES_MAX) + 1) as u8 }
}

/// Reads whole packets and checks their sequence numbers.
pub(super) struct Packets {
    /// The expected sequence number.
    pub(super) next: u8,
}

impl Packets {
    /// Reads the next payload, which may span several packets; truncates it to `bytes_max`.
    pub(super) fn read(
        &mut self,
        inbox: &mut Inbox,
        source: &mut impl Read,
        bytes_max: usize,
    ) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            let [l0, l1, l2, number] = *inbox
                .peek(source, HEADER_BYTES)?
                .first_chunk::<HEADER_BYTES>()
                .ok_or_else(|| unexpected("no header"))?;
            let bytes = u32::from_le_bytes([l0, l1, l2, 0]) as usize;
            // A server that ends the connection sends its last error with any sequence number.
            if number != self.next
                && inbox.peek(source, HEADER_BYTES + bytes.min(1))?.get(HEADER_BYTES) != Some(&ERROR)
            {
                return Err(out_of_order(number, self.next));
            }
            let packet = inbox.take(source, HEADER_BYTES + bytes)?;
            let part = packet.get(HEADER_BYTES..).unwrap_or_default();
            self.next = number.wrapping_add(1);
            let room = bytes_max.saturating_sub(payload.len());
            payload.extend_from_slice(part.get(..room).unwrap_or(part));
            if bytes < PAYLOAD_BYTES_MAX {
                return Ok(payload);
            }
        }
    }
}

#[cold]
pub(super) fn out_of_order(number: u8, expected: u8) -> io::Error {
    unexpected(&format!("packet number {number} where {expected} was expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_payloads_are_split_into_packets_and_joined_again() {
        for body_bytes in [0, PAYLOAD_BYTES_MAX - 2, PAYLOAD_BYTES_MAX - 1, PAYLOAD_BYTES_MAX + 10] {
            let mut out = Vec::new();
            command(&mut out, QUERY, &vec![b'x'; body_bytes]);
            let packets = 1 + (body_bytes + 1) / PAYLOAD_BYTES_MAX;
            assert_eq!(out.len(), body_bytes + 1 + packets * HEADER_BYTES);
            assert_eq!(usize::from(reply_number(out.len())), packets);
            let payload =
                Packets { next: 0 }.read(&mut Inbox::new(64), &mut out.as_slice(), usize::MAX).unwrap();
            assert!(payload.len() == body_bytes + 1 && payload[0] == QUERY, "{body_bytes}");
        }
    }
}
