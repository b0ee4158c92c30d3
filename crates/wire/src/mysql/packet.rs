//! Packets: three bytes of length, a number that counts them, a payload. What is longer than the
//! length can say goes in several.

use std::io::{self, Read};

use crate::inbox::{Inbox, unexpected};

/// Length and number of every packet.
pub(super) const HEADER_BYTES: usize = 4;

/// Payload of a packet that another one continues.
pub(super) const PAYLOAD_BYTES_MAX: usize = 0xff_ffff;

/// Ends a login or a statement well.
pub(super) const OK: u8 = 0x00;
/// Ends definitions or rows, where the payload is shorter than [`EOF_BYTES`]; asks for another
/// method in a login.
pub(super) const EOF: u8 = 0xfe;
/// Payload bytes that no EOF packet reaches: longer ones are rows that begin with a long text.
pub(super) const EOF_BYTES: usize = 9;
pub(super) const ERROR: u8 = 0xff;

pub(super) const QUIT: u8 = 0x01;
pub(super) const QUERY: u8 = 0x03;
pub(super) const PREPARE: u8 = 0x16;
pub(super) const EXECUTE: u8 = 0x17;

/// Puts one command into `out`, whole.
pub(super) fn command(out: &mut Vec<u8>, code: u8, body: &[u8]) {
    out.clear();
    out.reserve(HEADER_BYTES + 1 + body.len());
    out.extend_from_slice(&[0, 0, 0, 0, code]);
    out.extend_from_slice(body);
    seal(out, 0);
}

/// Fills in the header at the front of `out`, for the packet with this number.
#[inline]
pub(super) fn seal(out: &mut Vec<u8>, number: u8) {
    let payload_bytes = out.len() - HEADER_BYTES;
    if payload_bytes >= PAYLOAD_BYTES_MAX {
        return split(out, number);
    }
    if let Some(header) = out.first_chunk_mut::<HEADER_BYTES>() {
        *header = header_of(payload_bytes, number);
    }
}

fn header_of(payload_bytes: usize, number: u8) -> [u8; HEADER_BYTES] {
    let [l0, l1, l2, _] = (payload_bytes as u32).to_le_bytes();
    [l0, l1, l2, number]
}

/// Cuts a payload into packets; the last one is shorter than the longest, if need be empty.
#[cold]
fn split(out: &mut Vec<u8>, mut number: u8) {
    let payload = out.split_off(HEADER_BYTES);
    out.clear();
    let mut rest = payload.as_slice();
    loop {
        let (part, behind) = rest.split_at(rest.len().min(PAYLOAD_BYTES_MAX));
        out.extend_from_slice(&header_of(part.len(), number));
        out.extend_from_slice(part);
        if part.len() < PAYLOAD_BYTES_MAX {
            return;
        }
        rest = behind;
        number = number.wrapping_add(1);
    }
}

/// The number that a reply to a command of `bytes` bytes, headers included, begins with.
#[inline]
pub(super) fn reply_number(bytes: usize) -> u8 {
    if bytes < PAYLOAD_BYTES_MAX { 1 } else { (bytes / (HEADER_BYTES + PAYLOAD_BYTES_MAX) + 1) as u8 }
}

/// Reads whole packets one after another, and that they are numbered so.
pub(super) struct Packets {
    /// The number that the next one must have.
    pub(super) next: u8,
}

impl Packets {
    /// The next payload, of several packets if it is long; of more than `bytes_max`, only the start.
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
            // A server that ends the connection unasked numbers its last words as it likes.
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

/// Server and client are out of step.
#[cold]
pub(super) fn out_of_order(number: u8, expected: u8) -> io::Error {
    unexpected(&format!("packet number {number} where {expected} was expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_payloads_go_in_several_packets_and_come_back_whole() {
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
