//! What a finished sort gives: records in order, borrowed or owned.

use super::ExternalError;
use super::merge::Merge;
use core::fmt;
use std::vec::Vec;

/// A record, as long as the next one is not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
    /// Bytes that the key shares with the key before; 0 for the first record. When it is the length of both keys, they
    /// are equal: groups and duplicates are found without comparing keys.
    pub lcp: usize,
}

/// The records of a finished sort, in order.
///
/// [`Records::next_record`] lends them, which copies nothing; as an `Iterator` it gives owned ones. After an error
/// there are no more: what came before is in order, what would have come is not known.
pub struct Records<'a> {
    merge: Merge<'a>,
    failed: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(merge: Merge<'a>) -> Self {
        Self { merge, failed: false }
    }

    /// The next record, `None` behind the last one.
    ///
    /// # Errors
    /// When a run cannot be read, or is not what was written.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, ExternalError> {
        if self.failed {
            return Ok(None);
        }
        match self.merge.advance() {
            Ok(true) => Ok(Some(self.merge.record())),
            Ok(false) => Ok(None),
            Err(error) => {
                self.failed = true;
                Err(error)
            }
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>), ExternalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.next_record().transpose()?;
        Some(record.map(|record| (record.key.to_vec(), record.payload.to_vec())))
    }
}

impl fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("failed", &self.failed).finish_non_exhaustive()
    }
}
