//! The hot part of reading a reply: walks over message headers in place, counts rows, and stops at messages
//! that can't be skipped. Does no I/O.

use crate::Outcome;

/// Tag byte and length of every server message.
pub(super) const HEADER_BYTES: usize = 5;

/// Longest command tag or status; the server's own limit is 64.
const TAG_BYTES_MAX: usize = 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The reply is complete; it ends at `used`.
    Ready { used: usize },
    /// More bytes are needed after `used`, except for the first `skip` ones: they belong to a message that is
    /// counted already.
    More { used: usize, skip: usize },
    /// A message that must be parsed whole (an error, a notice, ...) begins at `used`.
    Unskippable { used: usize },
    /// The bytes at `used` are not a server message.
    Malformed { used: usize },
}

/// Classes of messages. The first two are skipped, and their value is what they add to the row count.
const SKIPPED: u8 = 0;
const ROW: u8 = 1;
const COMPLETE: u8 = 2;
const READY: u8 = 3;
const OTHER: u8 = 4;

/// Class by tag byte.
const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [OTHER; 256];
    // ParseComplete, BindComplete, CloseComplete, row and parameter descriptions, NoData, EmptyQuery,
    // PortalSuspended, and the messages of a COPY to the client.
    let skipped = b"123TtnIsHdc";
    let mut at = 0;
    while at < skipped.len() {
        classes[skipped[at] as usize] = SKIPPED;
        at += 1;
    }
    classes[b'D' as usize] = ROW;
    classes[b'C' as usize] = COMPLETE;
    classes[b'Z' as usize] = READY;
    classes
}

/// Scans the messages in `bytes` and adds their rows to `outcome`.
#[inline]
pub(super) fn scan(bytes: &[u8], outcome: &mut Outcome) -> Stop {
    let mut rest = bytes;
    while let Some((&[tag, l0, l1, l2, l3], behind_header)) = rest.split_first_chunk::<HEADER_BYTES>() {
        // The length includes itself. A value below 4 wraps to more than any buffer holds.
        let body_bytes = u32::from_be_bytes([l0, l1, l2, l3]).wrapping_sub(4) as usize;
        let class = CLASSES[usize::from(tag)];
        let Some(behind) = behind_header.get(body_bytes..) else {
            return incomplete(bytes.len(), rest.len(), class, body_bytes, outcome);
        };
        if class <= ROW {
            outcome.rows += u64::from(class);
        } else if class == COMPLETE {
            outcome.affected += affected(behind_header.get(..body_bytes).unwrap_or_default());
        } else if class == READY {
            return Stop::Ready { used: bytes.len() - behind.len() };
        } else {
            return Stop::Unskippable { used: bytes.len() - rest.len() };
        }
        rest = behind;
    }
    Stop::More { used: bytes.len() - rest.len(), skip: 0 }
}

/// Handles a message whose body has not arrived completely.
fn incomplete(bytes: usize, rest: usize, class: u8, body_bytes: usize, outcome: &mut Outcome) -> Stop {
    let used = bytes - rest;
    match class {
        _ if body_bytes > i32::MAX as usize => Stop::Malformed { used },
        SKIPPED | ROW => {
            outcome.rows += u64::from(class);
            Stop::More { used: bytes, skip: body_bytes - (rest - HEADER_BYTES) }
        }
        COMPLETE | READY if body_bytes > TAG_BYTES_MAX => Stop::Malformed { used },
        COMPLETE | READY => Stop::More { used, skip: 0 },
        _ => Stop::Unskippable { used },
    }
}

/// The row count at the end of a command tag; 0 for commands that don't change rows.
#[inline]
fn affected(tag: &[u8]) -> u64 {
    if tag.first() == Some(&b'S') || !changes_rows(tag) {
        return 0;
    }
    let digits = tag.strip_suffix(b"\0").unwrap_or(tag);
    let mut count = 0;
    let mut unit = 1_u64;
    for &digit in digits.iter().rev().take_while(|byte| byte.is_ascii_digit()) {
        count += u64::from(digit - b'0').wrapping_mul(unit);
        unit = unit.wrapping_mul(10);
    }
    count
}

#[inline]
fn changes_rows(tag: &[u8]) -> bool {
    ["INSERT ", "UPDATE ", "DELETE ", "MERGE ", "COPY "]
        .iter()
        .any(|command| tag.starts_with(command.as_bytes()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::postgres) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend((body.len() as u32 + 4).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn command_tags() {
        let cases: [(&[u8], u64); 9] = [
            (b"INSERT 0 1\0", 1),
            (b"UPDATE 100\0", 100),
            (b"DELETE 0\0", 0),
            (b"COPY 10000000\0", 10_000_000),
            (b"MERGE 7\0", 7),
            (b"SELECT 101\0", 0),
            (b"BEGIN\0", 0),
            (b"CREATE INDEX\0", 0),
            (b"UPDATE 18446744073709551615\0", u64::MAX),
        ];
        for (tag, count) in cases {
            assert_eq!(affected(tag), count, "{}", String::from_utf8_lossy(tag));
        }
    }

    #[test]
    fn row_that_has_not_arrived_whole_is_counted_once_and_skipped() {
        let mut outcome = Outcome::default();
        let row = message(b'D', &[0; 1000]);
        assert_eq!(scan(&row[..700], &mut outcome), Stop::More { used: 700, skip: 305 });
        assert_eq!(outcome.rows, 1);
    }

    #[test]
    fn command_tag_that_has_not_arrived_whole_is_not_counted() {
        let mut outcome = Outcome::default();
        let mut bytes = message(b'2', b"");
        bytes.extend(message(b'C', b"DELETE 12\0"));
        assert_eq!(scan(&bytes[..bytes.len() - 1], &mut outcome), Stop::More { used: 5, skip: 0 });
        assert_eq!(outcome.affected, 0);
    }

    #[test]
    fn impossible_length_is_malformed() {
        let mut outcome = Outcome::default();
        assert_eq!(scan(&[b'D', 0, 0, 0, 3], &mut outcome), Stop::Malformed { used: 0 });
        assert_eq!(scan(b"HTTP/1.1", &mut outcome), Stop::More { used: 8, skip: 0x5454502f - 4 - 3 });
    }
}
