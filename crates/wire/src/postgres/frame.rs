//! Messages read whole from the read buffer.

use std::io::{self, Read};

use super::scan::HEADER_BYTES;
use crate::inbox::{FRAME_BYTES_MAX, Inbox, unexpected};

/// Returns the tag of the next message without consuming it.
pub(super) fn peek_tag(inbox: &mut Inbox, source: &mut impl Read) -> io::Result<u8> {
    Ok(inbox.peek(source, 1)?.first().copied().unwrap_or_default())
}

/// Consumes and returns the next message, header included.
pub(super) fn frame<'a>(inbox: &'a mut Inbox, source: &mut impl Read) -> io::Result<&'a [u8]> {
    let mut length = [0; 4];
    length.copy_from_slice(inbox.peek(source, HEADER_BYTES)?.get(1..HEADER_BYTES).unwrap_or_default());
    let bytes = u32::from_be_bytes(length) as usize + 1;
    if !(HEADER_BYTES..=FRAME_BYTES_MAX).contains(&bytes) {
        return Err(unexpected(&format!(
            "a message of {bytes} bytes where at most {FRAME_BYTES_MAX} are expected"
        )));
    }
    inbox.take(source, bytes)
}
