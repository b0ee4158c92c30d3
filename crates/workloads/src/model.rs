//! The words in which a test is written down: a test repeats an event, an event is an optional transaction around
//! parts, a part draws a table and a key and sends statements.

use rqps_model::{Group, Unit};

/// A test: one event shape, repeated by every client until the step ends.
#[derive(Debug)]
pub struct Test {
    /// Name in plans, tables and result files.
    pub name: &'static str,
    /// Section of the tables it is shown in.
    pub group: &'static Group,
    /// Rows per range, or keys per list; 1 where the test has neither.
    pub range: u32,
    /// BEGIN and COMMIT around the parts. Both count as queries.
    pub transaction: bool,
    /// What an event sends, in order.
    pub parts: &'static [Part],
    /// What its rate counts.
    pub unit: &'static Unit,
    /// It reads whole tables, and its operations are thousands of their rows; those of others are queries.
    pub scans: bool,
    /// The rows it deletes don't come back: it stops at the plan's `delete_share_max`.
    pub shrinks: bool,
    /// A step of the Insert Benchmark: how its sessions move the queue. The parts then only list the statements.
    pub queue: Option<Queue>,
    /// What the test is for, in one sentence.
    pub about: &'static str,
}

/// A stretch of an event: one table is drawn for all of it, one key for each repetition.
#[derive(Debug)]
pub struct Part {
    pub table: Table,
    pub key: Key,
    /// How often the statements are sent, each time with a new key.
    pub times: u16,
    /// The statements; all see the same key.
    pub statements: &'static [Statement],
}

/// How a part finds its table.
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
    /// Its kind: names its latency histogram and its query plan.
    pub kind: &'static str,
    /// SQL with `{t}` for the table, `?` for a parameter, `{list}` for as many parameters as the test's range.
    pub sql: &'static str,
    /// What the parameters are, in order; [`Param::Keys`] and [`Param::HotKeys`] stand for the whole list.
    pub params: &'static [Param],
    pub protocol: Protocol,
    /// What a right answer looks like.
    pub expect: Expect,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param {
    Key,
    /// The part's key + range - 1.
    RangeEnd,
    /// As many uniform keys as the range, with replacement.
    Keys,
    /// The same keys each time: as many as the range, from `rows / 2 + 1` on.
    HotKeys,
    /// A uniform value for column k.
    K,
    /// A fresh string for column c.
    C,
    /// A fresh string for column pad.
    Pad,
}

/// How a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// As a server-side prepared statement.
    Prepared,
    /// As text, parsed and planned each time.
    Text,
}

/// What a statement must return when the table still has every id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Rows(u32),
    /// The ids of the range that exist: `min(range, rows - key + 1)` rows.
    RangeRows,
    /// The distinct values of c in the range: between 1 and as many as [`Expect::RangeRows`], since `update-inlist`
    /// gives several rows the same c.
    RangeValues,
    /// One row per distinct key of a uniform list: checked on average over the window.
    DistinctKeys,
    /// Rows whose k is in a list of random values: checked on average over the window, loosely, since updates move k.
    KList,
    /// Rows whose k is in a range of values: as [`Expect::KList`].
    KRange,
    /// One row changed, or none when another client got there first.
    Changed,
    /// One row per distinct key of a uniform list changed: checked on average over the window.
    ChangedKeys,
    Inserted,
    /// A statement of the queue: the engine that moves the queue counts its rows over the whole window.
    OfQueue,
}

/// How the sessions of a step of the Insert Benchmark move the queue. Rows and rates are of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Rows of an insert, and of a delete; each is a transaction.
    pub rows_per_statement: u32,
    /// For each row inserted at the head one is deleted at the tail.
    pub deletes: bool,
    /// Rows that are due per second; none: as fast as they go.
    pub rows_per_second: Option<u32>,
    /// What is asked beside the writes, as fast as it goes.
    pub queries: Option<QueryMix>,
    /// The secondary indexes are built when the rows are in.
    pub builds_indexes: bool,
}

/// The queries of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryMix {
    /// Ten neighbours in one of the three secondary indexes, drawn anew each time.
    Range,
    /// Ten rows by primary key.
    Point,
}

impl Expect {
    /// True where the statement changes rows.
    pub fn writes(self) -> bool {
        matches!(self, Expect::Changed | Expect::ChangedKeys | Expect::Inserted)
    }
}

impl Test {
    /// Queries per event as sysbench counts them: every statement, BEGIN and COMMIT.
    pub fn queries_per_event(&self) -> u32 {
        self.statements_per_event() + if self.transaction { 2 } else { 0 }
    }

    /// Operations in queries that read so many rows of the table.
    pub fn operations(&self, queries: u64, table_rows_read: u64) -> f64 {
        if self.scans { table_rows_read as f64 / 1000.0 } else { queries as f64 }
    }

    /// Operations of an event on tables of so many rows.
    pub fn operations_per_event(&self, table_rows: u64) -> f64 {
        self.operations(u64::from(self.queries_per_event()), table_rows)
    }

    /// Statements per event without BEGIN and COMMIT.
    pub fn statements_per_event(&self) -> u32 {
        let count = |part: &Part| u32::from(part.times) * part.statements.len() as u32;
        self.parts.iter().map(count).sum()
    }

    /// True where the test changes rows.
    pub fn writes(&self) -> bool {
        self.queue.is_some() || self.statements().any(|s| s.expect.writes())
    }

    /// Its distinct statements, in order.
    pub fn statements(&self) -> impl Iterator<Item = &'static Statement> {
        self.parts.iter().flat_map(|part| part.statements)
    }

    /// True where some part draws Zipf keys.
    pub fn uses_zipf(&self) -> bool {
        self.parts.iter().any(|part| part.key == Key::Zipf)
    }
}
