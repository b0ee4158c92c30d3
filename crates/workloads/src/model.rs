//! The data model of a test: a test repeats an event, an event is a list of parts, optionally in a
//! transaction, and a part draws a table and a key and sends statements.

use rqps_model::{Group, Unit};

use crate::expression::Expression;

/// A test: one event shape, repeated by every client until the step ends.
#[derive(Debug)]
pub struct Test {
    /// Name in plans, tables and result files.
    pub name: &'static str,
    /// The section of tables in which it is shown.
    pub group: &'static Group,
    /// Rows per range, or keys per list; 1 if the test has neither.
    pub range: u32,
    /// Whether the parts run between BEGIN and COMMIT, which both count as queries.
    pub transaction: bool,
    /// The parts of an event, in order.
    pub parts: &'static [Part],
    /// The unit of its rate.
    pub unit: &'static Unit,
    /// Whether it reads whole tables. Its operations are then thousands of rows instead of queries.
    pub scans: bool,
    /// Whether it deletes rows for good. It stops at the plan's `delete_share_max`.
    pub shrinks: bool,
    /// Values that an event computes once, before its parts.
    pub draws: &'static [Expression],
    /// Weights of the statements if an event runs one of them, drawn by these; if empty, it runs all of them.
    pub weights: &'static [u32],
    /// Scripts, one for each part, if an event runs one of them, drawn by their weights; usually empty.
    pub scripts: &'static [Script],
    /// For a step of the Insert Benchmark: how its sessions move the queue. The parts then only list the
    /// statements.
    pub queue: Option<Queue>,
    /// The purpose of the test, in one sentence.
    pub about: &'static str,
}

/// One of the scripts of a mix.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    pub name: &'static str,
    pub weight: u32,
    /// Whether its statements run between BEGIN and COMMIT.
    pub transaction: bool,
    /// Its first of the test's [`Test::draws`], and how many there are.
    pub draws: (usize, usize),
}

/// A part of an event. One table is drawn for the part, and a key for each repetition.
#[derive(Debug)]
pub struct Part {
    pub table: Table,
    pub key: Key,
    /// How often the statements are sent, each time with a new key.
    pub times: u16,
    /// The statements; all use the same key.
    pub statements: &'static [Statement],
}

/// How a part chooses its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Random,
    /// Client i always uses table `i mod tables + 1`.
    OfClient,
}

/// How a part draws its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Uniform over `1..=rows`.
    Uniform,
    /// Zipf over `1..=rows` with exponent 0.8; key 1 is the hottest.
    Zipf,
    /// Always row 1.
    First,
    /// The statement takes no key.
    None,
}

/// One SQL statement of a test.
#[derive(Debug)]
pub struct Statement {
    /// The name of its latency histogram and query plan.
    pub kind: &'static str,
    /// SQL with `{t}` for the table, `?` for a parameter, `{list}` for as many parameters as the test's
    /// range.
    pub sql: &'static str,
    /// The parameters, in order; [`Param::Keys`] and [`Param::HotKeys`] stand for the whole list.
    pub params: &'static [Param],
    pub protocol: Protocol,
    /// The expected answer.
    pub expect: Expect,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param {
    Key,
    /// The part's key + range - 1.
    RangeEnd,
    /// A list of uniform keys, drawn with replacement, as long as the test's range.
    Keys,
    /// A list of fixed keys, as long as the test's range, starting at `rows / 2 + 1`.
    HotKeys,
    /// A uniform value for column k.
    K,
    /// A fresh string for column c.
    C,
    /// A fresh string for column pad.
    Pad,
    /// One of the test's [`Test::draws`], by its index.
    Drawn(u16),
}

/// How a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// As a server-side prepared statement.
    Prepared,
    /// As text, parsed and planned each time.
    Text,
}

/// What a statement must return if the table still has every id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Rows(u32),
    /// The ids of the range that exist: `min(range, rows - key + 1)` rows.
    RangeRows,
    /// The distinct values of c in the range: from 1 to the number of [`Expect::RangeRows`], since
    /// `update-inlist` sets several rows to the same c.
    RangeValues,
    /// One row per distinct key of a uniform list; checked on average over the window.
    DistinctKeys,
    /// Rows whose k is in a list of random values; checked on average over the window, loosely, since updates
    /// change k.
    KList,
    /// Rows whose k is in a range; checked like [`Expect::KList`].
    KRange,
    /// One row changed, or none if another client has changed it first.
    Changed,
    /// One row changed per distinct key of a uniform list; checked on average over the window.
    ChangedKeys,
    Inserted,
    /// Any number of rows returned.
    AnyRows,
    /// Any number of rows changed.
    AnyChanged,
    /// So many rows changed.
    ChangedRows(u32),
    /// A statement of the Insert Benchmark, whose driver checks row counts over the whole window.
    OfQueue,
}

/// How the sessions of a step of the Insert Benchmark move the queue. Rows and rates are per client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Rows per INSERT and DELETE statement; each is a transaction.
    pub rows_per_statement: u32,
    /// Whether a row is deleted at the tail for each row inserted at the head.
    pub deletes: bool,
    /// Rate of inserts in rows per second; `None` for no limit.
    pub rows_per_second: Option<u32>,
    /// Queries that run beside the writes, without a rate limit.
    pub queries: Option<QueryMix>,
    /// Whether the secondary indexes are built once the rows are inserted.
    pub builds_indexes: bool,
}

/// The queries of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryMix {
    /// Ten neighbouring entries of one of the three secondary indexes, which is drawn for each query.
    Range,
    /// Ten rows by primary key.
    Point,
}

impl Expect {
    /// Whether the statement changes rows.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Expect::Changed
                | Expect::ChangedKeys
                | Expect::Inserted
                | Expect::AnyChanged
                | Expect::ChangedRows(_)
        )
    }
}

impl Test {
    /// A test without a transaction that neither scans nor shrinks tables.
    pub(crate) const fn new(
        name: &'static str,
        group: &'static Group,
        unit: &'static Unit,
        range: u32,
        parts: &'static [Part],
        about: &'static str,
    ) -> Self {
        Self {
            name,
            group,
            range,
            transaction: false,
            parts,
            unit,
            scans: false,
            shrinks: false,
            draws: &[],
            weights: &[],
            scripts: &[],
            queue: None,
            about,
        }
    }

    /// Queries per event as sysbench counts them: every statement, BEGIN and COMMIT.
    pub fn queries_per_event(&self) -> u32 {
        if self.is_mix() {
            return 1;
        }
        self.statements_per_event() + if self.transaction { 2 } else { 0 }
    }

    /// Operations of `queries` queries that read `table_rows_read` rows of the table.
    pub fn operations(&self, queries: u64, table_rows_read: u64) -> f64 {
        if self.scans { table_rows_read as f64 / 1000.0 } else { queries as f64 }
    }

    /// Operations of an event on tables of `table_rows` rows.
    pub fn operations_per_event(&self, table_rows: u64) -> f64 {
        self.operations(u64::from(self.queries_per_event()), table_rows)
    }

    /// Statements per event without BEGIN and COMMIT.
    pub fn statements_per_event(&self) -> u32 {
        let count = |part: &Part| u32::from(part.times) * part.statements.len() as u32;
        self.parts.iter().map(count).sum()
    }

    /// Whether an event runs one of the statements, or one of the scripts.
    pub fn is_mix(&self) -> bool {
        !self.weights.is_empty() || !self.scripts.is_empty()
    }

    /// Whether any event has BEGIN and COMMIT.
    pub fn has_transactions(&self) -> bool {
        self.transaction || self.scripts.iter().any(|script| script.transaction)
    }

    /// Whether the test changes rows.
    pub fn writes(&self) -> bool {
        self.queue.is_some() || self.statements().any(|s| s.expect.writes())
    }

    /// The distinct statements, in order.
    pub fn statements(&self) -> impl Iterator<Item = &'static Statement> {
        self.parts.iter().flat_map(|part| part.statements)
    }

    /// Whether any part draws Zipf keys.
    pub fn uses_zipf(&self) -> bool {
        self.parts.iter().any(|part| part.key == Key::Zipf)
    }
}
