//! Records in memory, in segments: they grow without being copied, and every byte of them is counted.

use crate::Keys;
use crate::bytes::prefetch;
use std::vec::Vec;

/// What the sort in memory needs for a key beyond the key: entries and their copy.
const SORT_BYTES: usize = 32;

/// Segments that the memory limit is worth, and the limits of their size.
const SEGMENTS: usize = 64;
const SEGMENT_BYTES_MIN: usize = 1 << 10;
const SEGMENT_BYTES_MAX: usize = 1 << 20;

/// The list of places grows by this part of itself, so that little of it is unused.
const GROWTH: usize = 8;
const PLACES_MIN: usize = 64;

/// Where a record is.
#[derive(Clone, Copy, Debug)]
struct Place {
    segment: u32,
    at: u32,
    key_len: u32,
    payload_len: u32,
}

/// Records of the run that is being collected.
#[derive(Debug)]
pub(super) struct Buffer {
    limit_bytes: usize,
    segment_bytes: usize,
    /// Bytes allocated for segments.
    segments_bytes: usize,
    segments: Vec<Vec<u8>>,
    /// The segment that records are added to.
    current: usize,
    places: Vec<Place>,
}

impl Buffer {
    pub(super) fn new(limit_bytes: usize) -> Self {
        let segment_bytes = (limit_bytes / SEGMENTS).clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX);
        let (segments, places) = (Vec::new(), Vec::new());
        Self { limit_bytes, segment_bytes, segments_bytes: 0, segments, current: 0, places }
    }

    /// Number of records.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Memory of the records and of their sort.
    pub(super) fn used_bytes(&self) -> usize {
        self.segments_bytes + self.places.capacity() * size_of::<Place>() + self.places.len() * SORT_BYTES
    }

    /// Whether a record of so many bytes can be added without going over the limit. One always can.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        if self.places.is_empty() {
            return true;
        }
        let segment = if self.fits_a_segment(bytes) { 0 } else { bytes.max(self.segment_bytes) };
        let places = if self.places.len() == self.places.capacity() { self.growth() } else { 0 };
        let more = segment + places * size_of::<Place>() + SORT_BYTES;
        self.used_bytes() + more <= self.limit_bytes && self.places.len() < u32::MAX as usize
    }

    fn growth(&self) -> usize {
        (self.places.len() / GROWTH).max(PLACES_MIN)
    }

    /// Whether the current segment, or a later one that is empty, has room.
    fn fits_a_segment(&self, bytes: usize) -> bool {
        self.segments[self.current.min(self.segments.len())..].iter().any(|segment| fits(segment, bytes))
    }

    pub(super) fn push(&mut self, key: &[u8], key_len: u32, payload: &[u8], payload_len: u32) {
        let bytes = key.len() + payload.len();
        while self.segments.get(self.current).is_some_and(|segment| !fits(segment, bytes)) {
            self.current += 1;
        }
        if self.current == self.segments.len() {
            let capacity = bytes.max(self.segment_bytes);
            self.segments.push(Vec::with_capacity(capacity));
            self.segments_bytes += capacity;
        }
        if self.places.len() == self.places.capacity() {
            self.places.reserve_exact(self.growth());
        }
        let segment = &mut self.segments[self.current];
        // Behind a record so long that the place does not fit 32 bits only empty ones fit, which may be anywhere.
        let (number, at) = (self.current as u32, segment.len() as u32);
        segment.extend_from_slice(key);
        segment.extend_from_slice(payload);
        self.places.push(Place { segment: number, at, key_len, payload_len });
    }

    /// Key and payload.
    #[inline]
    pub(super) fn record(&self, row: usize) -> (&[u8], &[u8]) {
        let place = self.places[row];
        let record = &self.segments[place.segment as usize][place.at as usize..];
        let (key, rest) = record.split_at(place.key_len as usize);
        (key, &rest[..place.payload_len as usize])
    }

    /// Removes all records and keeps the memory, but for segments of large records.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.segments.retain(|segment| segment.capacity() == self.segment_bytes);
        self.segments.iter_mut().for_each(Vec::clear);
        self.segments_bytes = self.segments.len() * self.segment_bytes;
        self.current = 0;
    }

    /// Removes all records and gives the memory back.
    pub(super) fn release(&mut self) {
        *self = Self::new(self.limit_bytes);
    }
}

fn fits(segment: &Vec<u8>, bytes: usize) -> bool {
    segment.capacity() - segment.len() >= bytes
}

impl Keys for Buffer {
    fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    fn key(&self, row: usize) -> &[u8] {
        let place = self.places[row];
        &self.segments[place.segment as usize][place.at as usize..][..place.key_len as usize]
    }

    #[inline]
    fn prefetch(&self, row: usize) {
        prefetch(self.places.as_ptr().wrapping_add(row));
    }
}
