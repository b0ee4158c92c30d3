//! Arrow arrays of all types of keys, sliced or not, sort as their values do, and their nulls stand where they should.
#![cfg(all(feature = "arrow", not(miri)))]
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    LargeBinaryArray, LargeStringArray, StringArray, StringViewArray, UInt8Array,
};
use orasort::arrow::{ArrayOptions, argsort, argsort_any, column};
use orasort::row::{Field, Kind, RowEncoder};
use orasort::{Options, Order, Sorter};
use std::sync::Arc;

/// Texts of one length, for fixed-size arrays too; every seventh is null. They share beginnings, and some are equal.
fn values(count: u32) -> Vec<Option<String>> {
    let value =
        |row: u32| format!("a shared beginning {:06}", row.wrapping_mul(2_654_435_761) % (count * 2 / 3 + 1));
    (0..count).map(|row| (row % 7 != 3).then(|| value(row))).collect()
}

fn arrays(values: &[Option<String>]) -> Vec<ArrayRef> {
    let texts = || values.iter().map(Option::as_deref);
    let bytes = || values.iter().map(|value| value.as_ref().map(String::as_bytes));
    let mut fixed = FixedSizeBinaryBuilder::new(25);
    bytes().for_each(|value| match value {
        Some(value) => fixed.append_value(value).unwrap(),
        None => fixed.append_null(),
    });
    vec![
        Arc::new(texts().collect::<StringArray>()),
        Arc::new(texts().collect::<LargeStringArray>()),
        Arc::new(texts().collect::<StringViewArray>()),
        Arc::new(bytes().collect::<BinaryArray>()),
        Arc::new(bytes().collect::<LargeBinaryArray>()),
        Arc::new(bytes().collect::<BinaryViewArray>()),
        Arc::new(fixed.finish()),
    ]
}

fn expected(values: &[Option<String>], options: ArrayOptions) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..values.len() as u32).collect();
    rows.sort_by(|a, b| {
        let (a, b) = (&values[*a as usize], &values[*b as usize]);
        match (a, b) {
            (Some(a), Some(b)) if options.sort.order == Order::Descending => b.cmp(a),
            (Some(a), Some(b)) => a.cmp(b),
            // Of `is_none`, false is less.
            _ if options.nulls_first => b.is_none().cmp(&a.is_none()),
            _ => a.is_none().cmp(&b.is_none()),
        }
    });
    rows
}

#[test]
fn arrays_of_every_type_sort_with_nulls_on_either_end() {
    let all = values(1200);
    for (nulls_first, order) in [
        (false, Order::Ascending),
        (true, Order::Ascending),
        (false, Order::Descending),
        (true, Order::Descending),
    ] {
        let options = ArrayOptions { sort: Options { order, stable: true }, nulls_first };
        for array in arrays(&all) {
            let found = argsort_any(&mut Sorter::new(), &array, options).unwrap();
            assert_eq!(found, expected(&all, options), "{:?} {options:?}", array.data_type());
            let slice = array.slice(5, 1001);
            let found = argsort_any(&mut Sorter::new(), &slice, options).unwrap();
            assert_eq!(
                found,
                expected(&all[5..1006], options),
                "slice of {:?} {options:?}",
                array.data_type()
            );
        }
    }
}

#[test]
fn arrays_without_nulls_and_without_rows_are_sorted() {
    let mut sorter = Sorter::new();
    let names =
        StringViewArray::from(vec!["a name that does not fit the view: b", "b", "", "a name that does"]);
    assert_eq!(argsort(&mut sorter, &names, ArrayOptions::default()), [2, 3, 0, 1]);
    assert_eq!(orasort::argsort(&names), [2, 3, 0, 1]);
    assert!(
        argsort(&mut sorter, &BinaryArray::from(Vec::<&[u8]>::new()), ArrayOptions::default()).is_empty()
    );
    let nulls = StringArray::from(vec![None::<&str>; 3]);
    assert_eq!(argsort(&mut sorter, &nulls, ArrayOptions::default()), [0, 1, 2]);
}

#[test]
fn other_types_are_no_keys() {
    assert_eq!(argsort_any(&mut Sorter::new(), &Int64Array::from(vec![1]), ArrayOptions::default()), None);
    assert!(column(&arrow_array::BooleanArray::from(vec![true])).is_none());
}

#[test]
fn arrays_are_columns_of_rows() {
    let arrays: [ArrayRef; 6] = [
        Arc::new(Int64Array::from(vec![Some(0), Some(5), None, Some(-5), Some(5), Some(5)])),
        Arc::new(StringViewArray::from(vec!["", "x", "x", "x", "x", "x"])),
        Arc::new(Float64Array::from(vec![0.0, 1.5, 1.5, 1.5, -0.5, 1.5])),
        Arc::new(Date32Array::from(vec![0, 1, 1, 1, 1, 1])),
        Arc::new(Decimal128Array::from(vec![0, 1, 1, 1, 1, 1])),
        Arc::new(UInt8Array::from(vec![0, 7, 7, 7, 7, 6])),
    ];
    let encoder = RowEncoder::new(vec![
        Field::new(Kind::I64).descending().nulls_first(),
        Field::new(Kind::Bytes),
        Field::new(Kind::F64),
        Field::new(Kind::I32),
        Field::new(Kind::I128),
        Field::new(Kind::U8),
    ]);
    let slices: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(1, 5)).collect();
    let columns: Vec<_> = slices.iter().map(|array| column(array).unwrap()).collect();
    assert_eq!(orasort::argsort(&encoder.encode(&columns).unwrap()), [1, 3, 4, 0, 2]);
}
