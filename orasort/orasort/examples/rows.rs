//! Sorts rows of several columns, each with its own type, direction and place of nulls, as one sort of byte strings.
//!
//! `cargo run -p rqps-orasort --example rows`

use orasort::row::{Column, Field, Kind, RowEncoder, RowError};

fn main() -> Result<(), RowError> {
    // order by tenant, amount desc, name nulls last
    let tenants = [2u32, 1, 2, 1, 1];
    let amounts = [9.5, -3.0, 9.5, 120.25, 120.25];
    let names = [Some("oak"), Some("elm"), Some("ash"), None, Some("fir")];

    let encoder = RowEncoder::new(vec![
        Field::new(Kind::U32),
        Field::new(Kind::F64).descending(),
        Field::new(Kind::Bytes).nulls_last(),
    ]);
    let rows = encoder.encode(&[Column::new(&tenants), Column::new(&amounts), Column::new(&names)])?;
    let order = orasort::argsort(&rows);
    assert_eq!(order, [4, 3, 1, 2, 0]);
    for row in order {
        let row = row as usize;
        println!(
            "{:>2} {:>8} {:<4} {:02x?}",
            tenants[row],
            amounts[row],
            names[row].unwrap_or("-"),
            rows.row(row)
        );
    }

    // A single row of the same fields, to look for among them: it compares with the encoded columns.
    let mut wanted = Vec::new();
    encoder.row(&mut wanted).push(1u32)?.push(-3.0)?.push(Some("elm"))?.finish()?;
    assert_eq!(rows.row(1), wanted);
    Ok(())
}
