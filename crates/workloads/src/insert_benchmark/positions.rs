//! How far each step moves the queue, in statements and rows. Computed from the plan alone.

use super::INDEX_STEP_ROWS;
use super::tables::{Partitions, sequence_cache};
use crate::dialect::Dialect;
use crate::model::{Queue, Test};

/// The sizes of the steps. Rows are per client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of l.i0.
    pub load_rows: u64,
    /// Rows of l.i1 and l.i2 together: four fifths and one fifth.
    pub write_rows: u64,
    /// Seconds that a query step lasts at its rate.
    pub query_seconds: u32,
    pub clients: u32,
    /// Whether all clients use one table. Nothing is deleted then.
    pub shared_table: bool,
}

impl Sizes {
    /// Rows that a step inserts per client; 0 for a test of another benchmark.
    pub fn rows_of(&self, test: &Test) -> u64 {
        let small_batch_rows = (self.write_rows / 5).max(1);
        match (test.name, test.queue) {
            ("l.i0", _) => self.load_rows,
            ("l.x", _) => INDEX_STEP_ROWS,
            ("l.i1", _) => self.write_rows.saturating_sub(small_batch_rows).max(1),
            ("l.i2", _) => small_batch_rows,
            (_, Some(Queue { rows_per_second: Some(rate), .. })) => {
                u64::from(rate) * u64::from(self.query_seconds)
            }
            _ => 0,
        }
    }

    /// Whether a step deletes as many rows as it inserts.
    pub fn deletes(&self, test: &Test) -> bool {
        !self.shared_table && test.queue.is_some_and(|queue| queue.deletes)
    }

    /// Partitions that the rows of all steps fill evenly; `None` if `count` is below 2.
    pub fn partitions<'t>(
        &self,
        count: u32,
        tests: impl IntoIterator<Item = &'t Test>,
    ) -> Option<Partitions> {
        let client_rows: u64 = tests.into_iter().map(|test| self.rows_of(test)).sum();
        let table_rows = client_rows * if self.shared_table { u64::from(self.clients) } else { 1 };
        (count > 1).then(|| Partitions { count, keys: table_rows.div_ceil(u64::from(count)).max(1) })
    }
}

/// The position of a client's queue: the work since the table was empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// INSERT statements, which is also the number of the next one.
    pub statements: u64,
    pub inserted: u64,
    pub deleted: u64,
}

/// How one step moves the queue.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    pub test: &'static Test,
    /// The position before the step.
    pub from: Position,
    /// The position after the step.
    pub to: Position,
}

fn rows_per_statement(test: &Test) -> u64 {
    test.queue.map_or(1, |queue| u64::from(queue.rows_per_statement))
}

/// The stretches of a client whose steps are these tests, in order.
pub fn stretches(tests: impl IntoIterator<Item = &'static Test>, sizes: &Sizes) -> Vec<Stretch> {
    let mut at = Position::default();
    let stretch = |test: &'static Test| {
        let rows = sizes.rows_of(test);
        let from = at;
        at.statements += rows.div_ceil(rows_per_statement(test));
        at.inserted += rows;
        at.deleted += if sizes.deletes(test) { rows } else { 0 };
        Stretch { test, from, to: at }
    };
    tests.into_iter().map(stretch).collect()
}

/// Rows that the first `statements` INSERT statements of a client insert.
pub fn rows_before(stretches: &[Stretch], statements: u64) -> u64 {
    let Some(stretch) = stretches.iter().find(|stretch| statements <= stretch.to.statements) else {
        return stretches.last().map_or(0, |last| last.to.inserted);
    };
    // Only the last statement of a stretch may have fewer rows.
    let rows = statements.saturating_sub(stretch.from.statements) * rows_per_statement(stretch.test);
    (stretch.from.inserted + rows).min(stretch.to.inserted)
}

/// Keys of a client's own table that these stretches use up. In Postgres, the session of each stretch takes
/// keys by the thousand and leaves the rest of the last thousand unused.
pub fn keys_taken(stretches: &[Stretch], dialect: Dialect) -> u64 {
    let cache = sequence_cache(dialect);
    let keys = |stretch: &Stretch| (stretch.to.inserted - stretch.from.inserted).div_ceil(cache) * cache;
    stretches.iter().map(keys).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insert_benchmark::{TESTS, test_by_name};

    const SIZES: Sizes =
        Sizes { load_rows: 1_050, write_rows: 503, query_seconds: 3, clients: 2, shared_table: false };

    #[test]
    fn every_step_begins_where_the_one_before_ended() {
        let stretches = stretches(&TESTS, &SIZES);
        let at = |name: &str| {
            let stretch = stretches.iter().find(|stretch| stretch.test.name == name).unwrap();
            (stretch.to.statements, stretch.to.inserted, stretch.to.deleted)
        };
        assert_eq!(at("l.i0"), (11, 1_050, 0), "the last of the statements has 50 rows");
        assert_eq!(at("l.x"), (12, 1_150, 0));
        assert_eq!(at("l.i1"), (21, 1_553, 403), "403 rows by 50");
        assert_eq!(at("l.i2"), (41, 1_653, 503), "100 rows by 5");
        assert_eq!(at("qr100"), (47, 1_953, 803));
        assert_eq!(at("qp1000"), (41 + 2 * (6 + 30 + 60), 1_653 + 2 * 4_800, 503 + 2 * 4_800));
        for pair in stretches.windows(2) {
            assert_eq!(pair[0].to, pair[1].from);
        }
    }

    #[test]
    fn rows_before_a_statement_depend_on_the_batches_of_its_stretch() {
        let stretches = stretches(&TESTS, &SIZES);
        let rows = [0, 1, 10, 11, 12, 13, 20, 21, 22, 41, 42].map(|n| rows_before(&stretches, n));
        assert_eq!(rows, [0, 100, 1_000, 1_050, 1_150, 1_200, 1_550, 1_553, 1_558, 1_653, 1_703]);
        assert_eq!(rows_before(&stretches, u64::MAX), stretches[9].to.inserted);
        assert_eq!(rows_before(&[], 3), 0);
    }

    #[test]
    fn each_postgres_session_takes_whole_thousands_of_keys() {
        let stretches = stretches(&TESTS, &SIZES);
        let taken = |count: usize, dialect| keys_taken(&stretches[..count], dialect);
        assert_eq!([0, 1, 2, 3].map(|count| taken(count, Dialect::Postgres)), [0, 2_000, 3_000, 4_000]);
        assert_eq!([0, 1, 2, 3].map(|count| taken(count, Dialect::Mysql)), [0, 1_050, 1_150, 1_553]);
    }

    #[test]
    fn writes_are_divided_four_to_one_and_a_shared_table_keeps_its_rows() {
        let rows = |write_rows, name| Sizes { write_rows, ..SIZES }.rows_of(test_by_name(name).unwrap());
        assert_eq!((rows(500_000, "l.i1"), rows(500_000, "l.i2")), (400_000, 100_000));
        assert_eq!((rows(1, "l.i1"), rows(1, "l.i2")), (1, 1));
        let shared = Sizes { shared_table: true, ..SIZES };
        assert_eq!(stretches(&TESTS, &shared)[9].to.deleted, 0);
        let all = 1_653 + 2 * 4_800;
        assert_eq!(SIZES.partitions(4, &TESTS), Some(Partitions { count: 4, keys: u64::div_ceil(all, 4) }));
        assert_eq!(
            shared.partitions(4, &TESTS),
            Some(Partitions { count: 4, keys: u64::div_ceil(2 * all, 4) })
        );
        assert_eq!(SIZES.partitions(0, &TESTS), None);
    }
}
