//! Encoded rows order as the tuples they were made of, for all types, directions and places of nulls.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use orasort::row::{Column, Field, Kind, Nulls, RowEncoder, RowError, Rows};
use orasort::{Keys, Order};
use proptest::prelude::*;
use std::cmp::Ordering;

/// A value as the test compares it: each type by its own order, knowing nothing of bytes.
#[derive(Clone, Debug)]
enum Datum {
    Bool(bool),
    I8(i8),
    I64(i64),
    I128(i128),
    U16(u16),
    U64(u64),
    F32(f32),
    F64(f64),
    Bytes(Vec<u8>),
}

impl Datum {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::I8(a), Self::I8(b)) => a.cmp(b),
            (Self::I64(a), Self::I64(b)) => a.cmp(b),
            (Self::I128(a), Self::I128(b)) => a.cmp(b),
            (Self::U16(a), Self::U16(b)) => a.cmp(b),
            (Self::U64(a), Self::U64(b)) => a.cmp(b),
            (Self::F32(a), Self::F32(b)) => a.total_cmp(b),
            (Self::F64(a), Self::F64(b)) => a.total_cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            _ => panic!("values of one column have one type"),
        }
    }
}

const KINDS: [Kind; 9] =
    [Kind::Bool, Kind::I8, Kind::I64, Kind::I128, Kind::U16, Kind::U64, Kind::F32, Kind::F64, Kind::Bytes];

fn datum(kind: Kind) -> BoxedStrategy<Datum> {
    let specials =
        [0.0, -0.0, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, f64::MIN_POSITIVE];
    match kind {
        Kind::Bool => any::<bool>().prop_map(Datum::Bool).boxed(),
        Kind::I8 => any::<i8>().prop_map(Datum::I8).boxed(),
        Kind::I64 => prop_oneof![any::<i64>(), -2..3i64].prop_map(Datum::I64).boxed(),
        Kind::I128 => prop_oneof![any::<i128>(), -2..3i128].prop_map(Datum::I128).boxed(),
        Kind::U16 => prop_oneof![any::<u16>(), 0..3u16].prop_map(Datum::U16).boxed(),
        Kind::U64 => prop_oneof![any::<u64>(), 0..3u64].prop_map(Datum::U64).boxed(),
        Kind::F32 => any::<u32>().prop_map(|bits| Datum::F32(f32::from_bits(bits))).boxed(),
        Kind::F64 => {
            prop_oneof![any::<u64>().prop_map(f64::from_bits), prop::sample::select(specials.to_vec())]
                .prop_map(Datum::F64)
                .boxed()
        }
        // Few letters, among them both that have a meaning in the byte form: many share beginnings.
        Kind::Bytes => prop::collection::vec(prop::sample::select(vec![0, 1, b'a', u8::MAX]), 0..12)
            .prop_map(Datum::Bytes)
            .boxed(),
        other => panic!("no values for {other:?}"),
    }
}

type Row = Vec<Option<Datum>>;

/// Fields and rows that fit them.
fn tables() -> impl Strategy<Value = (Vec<Field>, Vec<Row>)> {
    let nulls = prop::sample::select(vec![Nulls::Never, Nulls::First, Nulls::Last]);
    let order = prop::sample::select(vec![Order::Ascending, Order::Descending]);
    let field = (prop::sample::select(KINDS.to_vec()), order, nulls).prop_map(|(kind, order, nulls)| Field {
        kind,
        order,
        nulls,
    });
    prop::collection::vec(field, 1..4).prop_flat_map(|fields| {
        let row: Vec<_> = fields
            .iter()
            .map(|field| match field.nulls {
                Nulls::Never => datum(field.kind).prop_map(Some).boxed(),
                _ => prop::option::weighted(0.7, datum(field.kind)).boxed(),
            })
            .collect();
        (Just(fields), prop::collection::vec(row, 2..12))
    })
}

fn compare(fields: &[Field], a: &Row, b: &Row) -> Ordering {
    let by_field = |(field, (a, b)): (&Field, (&Option<Datum>, &Option<Datum>))| match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) if field.nulls == Nulls::First => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) if field.nulls == Nulls::First => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) if field.order == Order::Descending => b.compare(a),
        (Some(a), Some(b)) => a.compare(b),
    };
    fields.iter().zip(a.iter().zip(b)).map(by_field).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Writes the row value by value.
fn write(encoder: &RowEncoder, row: &Row, bytes: &mut Vec<u8>) -> Result<(), RowError> {
    let mut writer = encoder.row(bytes);
    for (value, field) in row.iter().zip(encoder.fields()) {
        macro_rules! push {
            ($($kind:ident),*) => {
                match (value, field.kind) {
                    $((Some(Datum::$kind(value)), _) => writer.push(value.clone())?,)*
                    (None, Kind::Bool) => writer.push(None::<bool>)?,
                    (None, Kind::I8) => writer.push(None::<i8>)?,
                    (None, Kind::I64) => writer.push(None::<i64>)?,
                    (None, Kind::I128) => writer.push(None::<i128>)?,
                    (None, Kind::U16) => writer.push(None::<u16>)?,
                    (None, Kind::U64) => writer.push(None::<u64>)?,
                    (None, Kind::F32) => writer.push(None::<f32>)?,
                    (None, Kind::F64) => writer.push(None::<f64>)?,
                    (None, _) => writer.push(None::<&str>)?,
                }
            };
        }
        push!(Bool, I8, I64, I128, U16, U64, F32, F64, Bytes);
    }
    writer.finish().map(|_| ())
}

/// Encodes the rows column by column.
fn encode(encoder: &RowEncoder, rows: &[Row]) -> Result<Rows, RowError> {
    macro_rules! columns {
        ($($vector:ident $kind:ident $type:ty),*) => {{
            $(let mut $vector: Vec<Vec<Option<$type>>> = Vec::new();)*
            for (at, field) in encoder.fields().iter().enumerate() {
                match field.kind {
                    $(Kind::$kind => $vector.push(rows.iter().map(|row| match &row[at] {
                        Some(Datum::$kind(value)) => Some(value.clone()),
                        _ => None,
                    }).collect()),)*
                    other => panic!("no column of {other:?}"),
                }
            }
            $(let mut $vector = $vector.iter();)*
            let columns: Vec<Column<'_>> = encoder.fields().iter().map(|field| match field.kind {
                $(Kind::$kind => Column::new($vector.next().unwrap()),)*
                other => panic!("no column of {other:?}"),
            }).collect();
            encoder.encode(&columns)
        }};
    }
    columns!(bools Bool bool, i8s I8 i8, i64s I64 i64, i128s I128 i128, u16s U16 u16, u64s U64 u64, f32s F32 f32,
        f64s F64 f64, bytes Bytes Vec<u8>)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

    #[test]
    fn bytes_order_as_tuples((fields, rows) in tables()) {
        let encoder = RowEncoder::new(fields.clone());
        let encoded = encode(&encoder, &rows).unwrap();
        prop_assert_eq!(encoded.len(), rows.len());
        for (a, left) in rows.iter().enumerate() {
            let mut alone = Vec::new();
            write(&encoder, left, &mut alone).unwrap();
            prop_assert_eq!(encoded.row(a), &alone[..], "row {} by columns and alone", a);
            for (b, right) in rows.iter().enumerate() {
                let (found, expected) = (encoded.row(a).cmp(encoded.row(b)), compare(&fields, left, right));
                prop_assert_eq!(found, expected, "{:?} and {:?}", left, right);
            }
        }
    }
}

#[test]
fn no_row_is_the_beginning_of_another() {
    let encoder = RowEncoder::new(vec![Field::new(Kind::Bytes).descending().nulls_last()]);
    let values =
        [None, Some(&b""[..]), Some(b"\0"), Some(b"\0\0"), Some(b"\0\xff"), Some(b"a"), Some(b"a\0")];
    let rows = encoder.encode(&[Column::new(&values)]).unwrap();
    for a in 0..rows.len() {
        for b in (0..rows.len()).filter(|b| *b != a) {
            assert!(!rows.row(a).starts_with(rows.row(b)), "{:?} begins with {:?}", values[a], values[b]);
        }
    }
}

#[test]
fn the_bytes_of_a_row_are_what_the_documentation_says() {
    let fields = vec![
        Field::new(Kind::I16),
        Field::new(Kind::Bytes),
        Field::new(Kind::U8).descending().nulls_last(),
        Field::new(Kind::Bool).nulls_first(),
    ];
    let encoder = RowEncoder::new(fields);
    let mut bytes = vec![9];
    let place = encoder
        .row(&mut bytes)
        .push(-2i16)
        .unwrap()
        .push("x\0y")
        .unwrap()
        .push(None::<u8>)
        .unwrap()
        .push(true)
        .unwrap()
        .finish();
    assert_eq!(place, Ok(1..12));
    assert_eq!(bytes, [9, 0x7f, 0xfe, b'x', 0, 0xff, b'y', 0, 0, 2, 1, 1]);
}

#[test]
fn more_rows_than_a_chunk_and_a_second_batch_stand_one_after_the_other() {
    let encoder = RowEncoder::new(vec![Field::new(Kind::Bytes), Field::new(Kind::U32)]);
    let names: Vec<String> = (0..3000).map(|row| format!("name{}", row % 7)).collect();
    let numbers: Vec<u32> = (0..3000).collect();
    let mut rows = Rows::default();
    for part in [0..2500, 2500..2500, 2500..3000] {
        encoder
            .encode_into(&[Column::keys(&names[part.clone()]), Column::new(&numbers[part])], &mut rows)
            .unwrap();
    }
    assert_eq!(rows, encoder.encode(&[Column::new(&names), Column::new(&numbers)]).unwrap());
    assert_eq!(rows.offsets().last(), Some(&rows.bytes().len()));
    let sorted = orasort::argsort(&rows);
    assert!(sorted.is_sorted_by_key(|row| (row % 7, *row)));
    rows.clear();
    assert!(rows.is_empty() && Keys::len(&rows) == 0);
}

#[test]
fn validity_bits_with_an_offset_name_the_nulls() {
    let encoder = RowEncoder::new(vec![Field::new(Kind::U8).nulls_first()]);
    let column = Column::new(&[7u8, 8, 9]).valid_bits(&[0b1010_0000, 0b0000_0000], 5).unwrap();
    let rows = encoder.encode(&[column]).unwrap();
    assert_eq!(
        (0..3).map(|row| rows.row(row).to_vec()).collect::<Vec<_>>(),
        [vec![1, 7], vec![0], vec![1, 9]]
    );
    let few = Column::new(&[7u8, 8, 9]).valid_bits(&[0xff], 6).map(|_| ());
    assert_eq!(few, Err(RowError::Bits { expected: 3, found: 2 }));
}

#[test]
fn what_does_not_fit_the_fields_is_refused_and_leaves_nothing() {
    let encoder = RowEncoder::new(vec![Field::new(Kind::U8), Field::new(Kind::I64)]);
    let (bytes, longs) = (Column::new(&[1u8, 2]), [1i64, 2]);
    let mut rows = Rows::default();
    let mut refused = |columns: &[Column<'_>]| encoder.encode_into(columns, &mut rows).unwrap_err();
    assert_eq!(refused(&[]), RowError::Columns { expected: 2, found: 0 });
    assert_eq!(
        refused(&[Column::new(&longs), Column::new(&longs)]),
        RowError::Kind { column: 0, expected: Kind::U8, found: Kind::I64 }
    );
    assert_eq!(
        refused(&[bytes, Column::new(&longs[..1])]),
        RowError::Length { column: 1, expected: 2, found: 1 }
    );
    let holes = [Some(1i64), None];
    assert_eq!(refused(&[Column::new(&[1u8, 2]), Column::new(&holes)]), RowError::Null { column: 1, row: 1 });
    assert!(rows.is_empty() && rows.bytes().is_empty());

    let mut buffer = vec![5];
    assert_eq!(
        encoder.row(&mut buffer).push(1u8).unwrap().finish(),
        Err(RowError::Columns { expected: 2, found: 1 })
    );
    assert_eq!(buffer, [5]);
    let mut writer = encoder.row(&mut buffer);
    writer.push(1u8).unwrap();
    assert_eq!(writer.push(None::<i64>).map(|_| ()), Err(RowError::Null { column: 1, row: 0 }));
    writer.push(-1i64).unwrap();
    assert_eq!(writer.push(-1i64).map(|_| ()), Err(RowError::Columns { expected: 2, found: 3 }));
    assert_eq!(writer.finish(), Ok(1..10));
}
