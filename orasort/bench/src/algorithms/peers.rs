//! The peers: sorts of std and of other crates that take byte-array keys.
//!
//! Each gets what suits it best, ready before its clock starts: slices, an arena, an Arrow array, arrays of one width.

use super::{Algorithm, Input, Side};
use crate::check::Output;
use crate::cost::{Cost, Meter};
use afsort::AFSortable;
use arrow_ord::sort::sort_to_indices;
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use rdst::{RadixKey, RadixSort};
use rqps_orasort_bench_cpp::Sort;
use stringzilla::sz;

pub const ALL: [Algorithm; 16] = [
    Algorithm { name: "std-unstable", side: Side::Peer, run: std_unstable },
    Algorithm { name: "std-stable", side: Side::Peer, run: std_stable },
    Algorithm { name: "std-owned", side: Side::Peer, run: std_owned },
    Algorithm { name: "prefix8+std", side: Side::Peer, run: prefix_std },
    Algorithm { name: "orasort-0.1-mut", side: Side::Peer, run: crate_mut },
    Algorithm { name: "orasort-0.1", side: Side::Peer, run: crate_indices },
    Algorithm { name: "arrow-binary", side: Side::Peer, run: arrow_binary },
    Algorithm { name: "arrow-view", side: Side::Peer, run: arrow_view },
    Algorithm { name: "arrow-row", side: Side::Peer, run: arrow_row },
    Algorithm { name: "stringzilla", side: Side::Peer, run: stringzilla },
    Algorithm { name: "afsort", side: Side::Peer, run: af_sort },
    Algorithm { name: "rdst", side: Side::Peer, run: rdst },
    Algorithm { name: "mkqs-cached", side: Side::Peer, run: cpp::<{ Sort::Cached as u8 }> },
    Algorithm { name: "tlx-radix", side: Side::Peer, run: cpp::<{ Sort::TlxRadix as u8 }> },
    Algorithm { name: "tlx-s5", side: Side::Peer, run: cpp::<{ Sort::TlxSample as u8 }> },
    Algorithm { name: "tlx-cached", side: Side::Peer, run: cpp::<{ Sort::TlxCached as u8 }> },
];

type Measured<'a> = Option<(Output<'a>, Cost)>;

/// A sort in place of a copy of the slices.
pub(super) fn in_place<'a>(
    input: &Input<'a>,
    meter: &mut Meter,
    sort: impl FnOnce(&mut [&'a [u8]]),
) -> Measured<'a> {
    let mut keys = input.keys.to_vec();
    let ((), cost) = meter.measure(|| sort(&mut keys));
    Some((Output::Keys(keys), cost))
}

/// A sort in place of keys that are allocated one by one and owned by their items.
pub(super) fn in_place_owned<'a>(
    input: &Input<'a>,
    meter: &mut Meter,
    sort: impl FnOnce(&mut [Vec<u8>]),
) -> Measured<'a> {
    let mut keys: Vec<Vec<u8>> = input.keys.iter().map(|key| key.to_vec()).collect();
    let ((), cost) = meter.measure(|| sort(&mut keys));
    Some((Output::Copies(keys), cost))
}

fn std_owned<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place_owned(input, meter, <[_]>::sort_unstable)
}

fn std_unstable<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place(input, meter, <[_]>::sort_unstable)
}

fn std_stable<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place(input, meter, <[_]>::sort)
}

/// The first 8 bytes of a key as a number that orders like them.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

fn prefix_std<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place(input, meter, |keys| {
        let mut pairs: Vec<(u64, &[u8])> = keys.iter().map(|key| (prefix(key), *key)).collect();
        pairs.sort_unstable();
        keys.iter_mut().zip(pairs).for_each(|(place, (_, key))| *place = key);
    })
}

fn crate_mut<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place(input, meter, orasort_0_1::orasort_mut)
}

fn crate_indices<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let (rows, cost) = meter.measure(|| orasort_0_1::orasort(input.keys));
    Some((Output::WideRows(rows), cost))
}

fn arrow_binary<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let array = input.array.as_ref()?;
    let (rows, cost) = meter.measure(|| sort_to_indices(array, None, None));
    Some((Output::Rows(rows.ok()?.values().to_vec()), cost))
}

fn arrow_view<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let array = input.views.as_ref()?;
    let (rows, cost) = meter.measure(|| sort_to_indices(array, None, None));
    Some((Output::Rows(rows.ok()?.values().to_vec()), cost))
}

/// As its documentation sorts several columns: converts them to rows, then sorts rows with their numbers.
fn arrow_row<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let column = input.column()?;
    let converter = RowConverter::new(vec![SortField::new(DataType::Binary)]).ok()?;
    let (rows, cost) = meter.measure(|| {
        let rows = converter.convert_columns(std::slice::from_ref(&column)).ok()?;
        let mut order: Vec<_> = rows.iter().enumerate().collect();
        order.sort_unstable_by_key(|(_, row)| *row);
        Some(order.into_iter().map(|(row, _)| row).collect())
    });
    Some((Output::WideRows(rows?), cost))
}

fn stringzilla<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let (rows, cost) = meter.measure(|| {
        let mut rows = vec![0; input.keys.len()];
        sz::argsort(input.keys, &mut rows, sz::ArgsortOptions::default()).ok().map(|()| rows)
    });
    Some((Output::WideRows(rows?), cost))
}

fn af_sort<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place(input, meter, AFSortable::af_sort_unstable)
}

/// A key of one width without a row: all that a radix sort of fixed width has to move.
#[derive(Clone, Copy)]
struct Fixed<const N: usize>([u8; N]);

impl<const N: usize> RadixKey for Fixed<N> {
    const LEVELS: usize = N;

    fn get_level(&self, level: usize) -> u8 {
        self.0[N - 1 - level]
    }
}

fn fixed<'a, const N: usize>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let mut keys: Vec<Fixed<N>> = input.data.arrays().iter().map(|key| Fixed(*key)).collect();
    let ((), cost) =
        meter.measure(|| keys.radix_sort_builder().with_single_threaded_tuner().with_parallel(false).sort());
    Some((Output::Arena(keys.iter().flat_map(|key| key.0).collect()), cost))
}

fn rdst<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    of_width!(input.data, fixed(input, meter))
}

/// A sort in C++, which needs strings that end with a zero and have none in them.
fn cpp<'a, const SORT: u8>(input: &Input<'a>, _: &mut Meter) -> Measured<'a> {
    let sort = [Sort::Cached, Sort::TlxRadix, Sort::TlxSample, Sort::TlxCached]
        .into_iter()
        .find(|sort| *sort as u8 == SORT)?;
    let strings = input.strings.as_ref()?;
    let first: Vec<usize> =
        (0..).zip(input.data.offsets()).map(|(row, offset): (usize, _)| offset + row).collect();
    let first = &first[..input.keys.len()];
    let mut starts = first.to_vec();
    let cpu_ns = rqps_orasort_bench_cpp::sort(sort, strings, &mut starts)?;
    let row = |start: &usize| first.binary_search(start).map_or(usize::MAX, |row| row);
    let cost = Cost { cpu_ns, elapsed_ns: cpu_ns, ..Cost::default() };
    Some((Output::WideRows(starts.iter().map(row).collect()), cost))
}
