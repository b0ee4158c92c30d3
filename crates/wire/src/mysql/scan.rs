//! The hot part of reading a reply: walks over packet headers in place, counts rows, and stops at packets
//! that can't be skipped. Does no I/O.
//!
//! A packet's meaning depends on those before it, so the scan keeps state. It needs neither the number of
//! columns nor their definitions: an EOF ends each part of a result.

use std::io;

use super::decode::{NULL, Reader};
use super::packet::{EOF, EOF_BYTES, ERROR, HEADER_BYTES, OK, PAYLOAD_BYTES_MAX};
use crate::Outcome;

/// Longest payload that is parsed whole here: an OK packet, which may report session state changes.
const WHOLE_BYTES_MAX: usize = 64 * 1024;

/// The status bit that announces another result.
pub(super) const MORE_RESULTS: u16 = 0x0008;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The reply is complete; it ends at `used`.
    Ready { used: usize },
    /// More bytes are needed after `used`, except for the first `skip` ones: they belong to a packet that is
    /// counted already.
    More { used: usize, skip: usize },
    /// An error begins at `used`; it must be parsed whole.
    Error { used: usize },
    /// A packet that is not allowed here.
    Malformed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// OK, an error, or the start of a result set.
    Start,
    /// Column definitions, up to an EOF; a server may omit those that the client has cached.
    Definitions,
    /// Rows, up to an EOF.
    Rows,
}

/// The state of a scan.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) outcome: Outcome,
    /// The next packet's expected sequence number.
    pub(super) number: u8,
    expected: Expected,
    /// Whether the next packet continues the last one, which had the maximum length.
    continued: bool,
}

impl Progress {
    /// The state before the first byte of a reply that begins with packet `number`.
    #[inline]
    pub(super) fn new(number: u8) -> Self {
        Self { outcome: Outcome::default(), number, expected: Expected::Start, continued: false }
    }
}

/// Scans the packets in `bytes` and updates `progress`.
#[inline]
pub(super) fn scan(bytes: &[u8], progress: &mut Progress) -> Stop {
    let mut rest = bytes;
    while let Some((&[l0, l1, l2, number], behind_header)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let payload_bytes = u32::from_le_bytes([l0, l1, l2, 0]) as usize;
        let first = behind_header.first().copied();
        if first.is_none() && payload_bytes > 0 {
            break;
        }
        if first == Some(ERROR) && !progress.continued {
            return Stop::Error { used: bytes.len() - rest.len() };
        }
        if number != progress.number {
            return misnumbered(number, progress.number);
        }
        let ends = progress.expected == Expected::Start || first == Some(EOF) && payload_bytes < EOF_BYTES;
        if ends && !progress.continued {
            let Some((payload, behind)) = behind_header.split_at_checked(payload_bytes) else {
                return incomplete(bytes.len() - rest.len(), payload_bytes);
            };
            rest = behind;
            match part(payload, progress) {
                Ok(true) => return Stop::Ready { used: bytes.len() - rest.len() },
                Ok(false) => {}
                Err(error) => return Stop::Malformed(error.to_string()),
            }
            progress.number = number.wrapping_add(1);
            continue;
        }
        progress.outcome.rows += u64::from(progress.expected == Expected::Rows && !progress.continued);
        progress.continued = payload_bytes == PAYLOAD_BYTES_MAX;
        progress.number = number.wrapping_add(1);
        let Some(behind) = behind_header.get(payload_bytes..) else {
            return Stop::More { used: bytes.len(), skip: payload_bytes - behind_header.len() };
        };
        rest = behind;
    }
    Stop::More { used: bytes.len() - rest.len(), skip: 0 }
}

/// Handles a packet that begins or ends a part of the reply; returns true at the reply's end.
#[inline]
fn part(payload: &[u8], progress: &mut Progress) -> io::Result<bool> {
    let mut reader = Reader(payload);
    let status = match (progress.expected, reader.int(1)? as u8) {
        (Expected::Start, OK) => {
            progress.outcome.affected += reader.length()?.unwrap_or_default();
            // The last AUTO_INCREMENT value.
            reader.length()?;
            reader.int(2)? as u16
        }
        (Expected::Start, NULL | EOF) => {
            return Err(crate::inbox::unexpected("a request for a local file, or an EOF without rows"));
        }
        (Expected::Start, _) => {
            progress.expected = Expected::Definitions;
            return Ok(false);
        }
        (Expected::Definitions, _) => {
            progress.expected = Expected::Rows;
            return Ok(false);
        }
        (Expected::Rows, _) => {
            // The number of warnings.
            reader.int(2)?;
            reader.int(2)? as u16
        }
    };
    progress.expected = Expected::Start;
    Ok(status & MORE_RESULTS == 0)
}

#[cold]
fn incomplete(used: usize, payload_bytes: usize) -> Stop {
    if payload_bytes > WHOLE_BYTES_MAX {
        return Stop::Malformed(format!("a packet of {payload_bytes} bytes where a short one was expected"));
    }
    Stop::More { used, skip: 0 }
}

#[cold]
fn misnumbered(number: u8, expected: u8) -> Stop {
    Stop::Malformed(super::packet::out_of_order(number, expected).to_string())
}
