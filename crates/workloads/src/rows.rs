//! The rows of the microbenchmarks' tables: a pure function of seed, table and id, the same for every arm,
//! loader and batch size.

use rqps_model::random::{C_LEN, PAD_LEN, Stream};

/// A row of `sbtestN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Primary key, 1..=rows.
    pub id: u64,
    /// Uniform over 1..=rows, indexed.
    pub k: u64,
    /// Ten groups of eleven digits.
    pub c: [u8; C_LEN],
    /// Five groups of eleven digits.
    pub pad: [u8; PAD_LEN],
}

/// The row with this id in table number `table` (from 1) of tables with `rows` rows each.
pub fn row(seed: u64, table: u32, rows: u64, id: u64) -> Row {
    let mut stream = Stream::new(&[seed, rqps_model::random::name_word("rows"), u64::from(table), id]);
    let mut row = Row { id, k: stream.key(rows), c: [0; C_LEN], pad: [0; PAD_LEN] };
    stream.digits(&mut row.c);
    stream.digits(&mut row.pad);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_depends_only_on_seed_table_and_id() {
        assert_eq!(row(1, 2, 1000, 3), row(1, 2, 1000, 3));
        for other in [row(2, 2, 1000, 3), row(1, 3, 1000, 3), row(1, 2, 1000, 4)] {
            assert_ne!(other.c, row(1, 2, 1000, 3).c);
        }
        let mean = (1..=10_000).map(|id| row(1, 1, 10_000, id).k).sum::<u64>() as f64 / 10_000.0;
        assert!((mean - 5_000.5).abs() < 5.0 * 28.9, "{mean}");
    }
}
