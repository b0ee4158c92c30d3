//! What is measured: this library's functions, and what there is otherwise to sort byte-array keys in memory.

use crate::check::Output;
use crate::cost::{Cost, Meter};
use crate::data::DataSet;
use anyhow::{Result, bail};
use arrow_array::{BinaryArray, BinaryViewArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use std::sync::Arc;

/// The widths of keys that are compiled in, for what needs to know them then.
macro_rules! of_width {
    ($data:expr, $work:ident($($argument:expr),*)) => {
        match $data.width()? {
            4 => $work::<4>($($argument),*),
            8 => $work::<8>($($argument),*),
            16 => $work::<16>($($argument),*),
            32 => $work::<32>($($argument),*),
            _ => None,
        }
    };
}

mod ours;
mod peers;

/// Who an algorithm belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This library, with fresh memory at each call, as a peer has it.
    Ours,
    /// This library with a sorter that has sorted before and kept its memory.
    Reused,
    /// A peer.
    Peer,
}

/// One way to sort.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Its name in the tables.
    pub name: &'static str,
    /// Who it belongs to.
    pub side: Side,
    run: for<'a> fn(&Input<'a>, &mut Meter) -> Option<(Output<'a>, Cost)>,
}

impl Algorithm {
    /// Whether it can sort such keys. Some need the width of keys when they are compiled.
    #[must_use]
    pub fn takes(&self, data: &DataSet) -> bool {
        !["rdst", "sort_arrays"].contains(&self.name) || matches!(data.width(), Some(4 | 8 | 16 | 32))
    }

    /// Sorts once and measures the sort alone; nothing where the algorithm can't have such keys.
    pub fn run<'a>(&self, input: &Input<'a>, meter: &mut Meter) -> Option<(Output<'a>, Cost)> {
        (self.run)(input, meter)
    }
}

/// Every algorithm.
#[must_use]
pub fn all() -> Vec<Algorithm> {
    ours::ALL.into_iter().chain(peers::ALL).collect()
}

/// The algorithms of a comma-separated list of names; `all`, `ours` and `peers` stand for several.
///
/// # Errors
/// When a name is unknown.
pub fn choose(names: &str) -> Result<Vec<Algorithm>> {
    let mut chosen: Vec<Algorithm> = Vec::new();
    for name in names.split(',') {
        let wanted = |algorithm: &Algorithm| match name {
            "all" => true,
            "ours" => algorithm.side != Side::Peer,
            "peers" => algorithm.side == Side::Peer,
            _ => algorithm.name == name,
        };
        if !all().iter().any(wanted) {
            let known: Vec<&str> = all().iter().map(|algorithm| algorithm.name).collect();
            bail!("no algorithm is called {name}: take all, ours, peers or {}", known.join(", "));
        }
        chosen.extend(all().into_iter().filter(wanted));
    }
    Ok(chosen)
}

/// A data set as each algorithm wants to have it. To make it costs nothing of what is measured.
#[derive(Debug)]
pub struct Input<'a> {
    /// The keys in one arena.
    pub data: &'a DataSet,
    /// The same as slices.
    pub keys: &'a [&'a [u8]],
    /// The same as an Arrow array with offsets, when all bytes together are at most 2 GB.
    pub array: Option<BinaryArray>,
    /// The same as an Arrow array of views.
    pub views: Option<BinaryViewArray>,
    /// The same one behind the other, each ended by a zero, when no key has a zero byte.
    pub strings: Option<Vec<u8>>,
}

impl<'a> Input<'a> {
    /// Without Arrow's arrays.
    #[must_use]
    pub fn plain(data: &'a DataSet, keys: &'a [&'a [u8]]) -> Self {
        Self { data, keys, array: None, views: None, strings: strings(keys) }
    }

    /// With Arrow's arrays.
    #[must_use]
    pub fn new(data: &'a DataSet, keys: &'a [&'a [u8]]) -> Self {
        let offsets: Option<Vec<i32>> =
            data.offsets().iter().map(|offset| i32::try_from(*offset).ok()).collect();
        let array = offsets.map(|offsets| {
            let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
            BinaryArray::new(offsets, Buffer::from_vec(data.bytes().to_vec()), None)
        });
        let views = array.is_some().then(|| BinaryViewArray::from_iter_values(keys.iter().copied()));
        Self { data, keys, array, views, strings: strings(keys) }
    }

    /// Arrow's array as what its kernels take.
    fn column(&self) -> Option<arrow_array::ArrayRef> {
        self.array.as_ref().map(|array| Arc::new(array.clone()) as arrow_array::ArrayRef)
    }
}

/// Keys ended by zeros, if there is none in them.
fn strings(keys: &[&[u8]]) -> Option<Vec<u8>> {
    let mut strings = Vec::new();
    for key in keys {
        strings.extend_from_slice(key);
        strings.push(0);
    }
    let zeros = strings.iter().filter(|byte| **byte == 0).count();
    (zeros == keys.len()).then_some(strings)
}
