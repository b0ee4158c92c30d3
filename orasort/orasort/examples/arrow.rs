//! Sorts Arrow arrays: one of strings where it is, and several of different types as rows.
//!
//! `cargo run -p rqps-orasort --features arrow --example arrow`

use arrow_array::{Float64Array, StringViewArray, UInt32Array};
use orasort::arrow::{ArrayOptions, argsort, column};
use orasort::row::{Field, Kind, RowEncoder};
use orasort::{Options, Order, Sorter};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let names =
        StringViewArray::from(vec![Some("a name longer than its view"), Some("elm"), None, Some("ash")]);
    let mut sorter = Sorter::new();
    assert_eq!(argsort(&mut sorter, &names, ArrayOptions::default()), [0, 3, 1, 2]);
    let descending = Options { order: Order::Descending, stable: true };
    let rows = argsort(&mut sorter, &names, ArrayOptions { sort: descending, nulls_first: true });
    assert_eq!(rows, [2, 1, 3, 0]);

    // order by tenant, amount desc, name nulls first
    let tenants = UInt32Array::from(vec![2, 1, 2, 2]);
    let amounts = Float64Array::from(vec![0.5, 7.0, 9.25, 9.25]);
    let encoder = RowEncoder::new(vec![
        Field::new(Kind::U32),
        Field::new(Kind::F64).descending(),
        Field::new(Kind::Bytes).nulls_first(),
    ]);
    let columns = [column(&tenants), column(&amounts), column(&names)];
    let columns: Vec<_> = columns.into_iter().collect::<Option<_>>().ok_or("a type that rows do not know")?;
    let rows = sorter.argsort(&encoder.encode(&columns)?);
    assert_eq!(rows, [1, 2, 3, 0]);
    println!("rows in order: {rows:?}");
    Ok(())
}
