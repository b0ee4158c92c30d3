//! This library's ways to sort a whole data set.

use super::peers::{in_place, in_place_owned};
use super::{Algorithm, Input, Side};
use crate::check::Output;
use crate::cost::{Cost, Meter};
use orasort::{Arena, Order, Sorter};

pub const ALL: [Algorithm; 8] = [
    Algorithm { name: "sort_unstable", side: Side::Ours, run: sort_unstable },
    Algorithm { name: "sort", side: Side::Ours, run: sort },
    Algorithm { name: "argsort", side: Side::Ours, run: argsort },
    Algorithm { name: "arrow-argsort", side: Side::Ours, run: arrow_argsort },
    Algorithm { name: "sort_arrays", side: Side::Ours, run: sort_arrays },
    Algorithm { name: "owned", side: Side::Ours, run: owned },
    Algorithm { name: "sorter", side: Side::Reused, run: sorter },
    Algorithm { name: "sorter-argsort", side: Side::Reused, run: sorter_argsort },
];

type Measured<'a> = Option<(Output<'a>, Cost)>;

fn sort_unstable<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place(input, meter, orasort::sort_unstable)
}

fn sort<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place(input, meter, orasort::sort)
}

fn arena<'a>(input: &Input<'a>) -> Arena<'a, usize> {
    Arena { bytes: input.data.bytes(), offsets: input.data.offsets() }
}

fn argsort<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let (rows, cost) = meter.measure(|| orasort::argsort(&arena(input)));
    Some((Output::Rows(rows), cost))
}

fn arrow_argsort<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let array = input.array.as_ref()?;
    let (rows, cost) = meter.measure(|| orasort::argsort(array));
    Some((Output::Rows(rows), cost))
}

fn arrays<'a, const N: usize>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let mut keys = input.data.arrays::<N>().to_vec();
    let ((), cost) = meter.measure(|| orasort::sort_arrays(&mut keys, Order::Ascending));
    Some((Output::Arena(keys.into_flattened()), cost))
}

fn sort_arrays<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    of_width!(input.data, arrays(input, meter))
}

/// Items that own their keys, each by itself.
fn owned<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    in_place_owned(input, meter, orasort::sort_unstable)
}

/// A sorter that has sorted the same before, so that its memory is there.
fn sorter<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let mut sorter = Sorter::new();
    sorter.sort_unstable(&mut input.keys.to_vec());
    in_place(input, meter, |keys| sorter.sort_unstable(keys))
}

fn sorter_argsort<'a>(input: &Input<'a>, meter: &mut Meter) -> Measured<'a> {
    let mut sorter = Sorter::new();
    sorter.argsort(&arena(input));
    let (rows, cost) = meter.measure(|| sorter.argsort(&arena(input)));
    Some((Output::Rows(rows), cost))
}
