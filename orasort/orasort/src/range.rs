//! Ranges of entries, and the frames that describe those that wait.

use crate::entry::Entry;

/// The two arrays of entries.
pub(crate) type Sides<'a> = [&'a mut [Entry]; 2];

/// What is known about a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Fresh,
    Tied,
    Open,
    Near,
    Sorted,
}

/// Positions `start..end` of one side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) side: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Bytes that all keys share; where words begin, once there are any.
    pub(crate) depth: usize,
    /// Bytes that keys of equal words share, unless they end before.
    pub(crate) shared: usize,
    /// How many steps in a row told few of the keys apart.
    pub(crate) stuck: u8,
}

impl Range {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// The entries of the range.
    pub(crate) fn of<'s>(&self, sides: &'s Sides<'_>) -> &'s [Entry] {
        &sides[self.side][self.start..self.end]
    }

    pub(crate) fn of_mut<'s>(&self, sides: &'s mut Sides<'_>) -> &'s mut [Entry] {
        &mut sides[self.side][self.start..self.end]
    }

    /// The entries of the range, and its shadow.
    pub(crate) fn both_mut<'s>(&self, sides: &'s mut Sides<'_>) -> [&'s mut [Entry]; 2] {
        let [left, right] = sides;
        let (its, other) = if self.side == 0 { (left, right) } else { (right, left) };
        [&mut its[self.start..self.end], &mut other[self.start..self.end]]
    }

    /// The range as a frame, with what is known about it and the side of the range behind it.
    pub(crate) fn to_frame(self, kind: Kind, next_side: usize) -> Entry {
        // A window has at most 64 bytes.
        let window = (self.shared - self.depth) as u128;
        self.end as u128
            | (kind as u128) << 40
            | u128::from(self.stuck) << 43
            | (next_side as u128) << 48
            | window << 56
            | (self.depth as u128) << 64
    }

    /// What `to_frame` put into a frame, of a range that begins at `start` of a side.
    pub(crate) fn of_frame(frame: Entry, side: usize, start: usize) -> (Range, Kind, usize) {
        let kind = match (frame >> 40) as u8 & 7 {
            0 => Kind::Fresh,
            1 => Kind::Tied,
            2 => Kind::Open,
            3 => Kind::Near,
            _ => Kind::Sorted,
        };
        let (depth, window) = ((frame >> 64) as usize, (frame >> 56) as usize & 0xff);
        let (end, stuck) = ((frame & 0xff_ffff_ffff) as usize, (frame >> 43) as u8 & 31);
        (Range { side, start, end, depth, shared: depth + window, stuck }, kind, (frame >> 48) as usize & 1)
    }
}
