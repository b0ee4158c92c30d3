//! A test's statements prepared on one session, and the hot path: draw, send, count.

use crate::clock::Moment;
use crate::error::StepError;
use crate::repeated::Repeated;
use crate::result::{KindResult, worked};
use crate::spec::StepSpec;
use hdrhistogram::Histogram;
use rqps_model::random::{C_LEN, PAD_LEN, Stream};
use rqps_wire::{Encoding, Error, ParamType, Params, Session};
use rqps_workloads::expect::{Answers, TableState, bounds};
use rqps_workloads::expression::{Event, Expression, Value};
use rqps_workloads::zipf::{EXPONENT, Zipf};
use rqps_workloads::{Key, Param, Protocol, Script, Statement, Table, Test, dialect};
use std::ops::Range;

/// Longest latency that histograms distinguish, in ns: an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
/// Shortest latency that histograms distinguish, in ns.
const LATENCY_NS_MIN: u64 = 256;

/// An empty latency histogram, in ns, with three significant digits.
pub fn latency_histogram() -> Result<Histogram<u64>, StepError> {
    Histogram::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, 3)
        .map_err(|e| StepError::Histogram(e.to_string()))
}

/// Counts of one client.
#[derive(Debug, Clone)]
pub(crate) struct Tallies {
    /// In the order of the test's statements.
    pub statements: Vec<KindResult>,
    /// BEGIN and COMMIT, if the test has them.
    pub control: Vec<KindResult>,
    /// The scripts of a mix, each as a whole.
    pub scripts: Vec<KindResult>,
    pub noop_statements: u64,
    pub rows: u64,
    pub changed_rows: u64,
}

impl Tallies {
    pub fn new(test: &'static Test, no_latency: &Histogram<u64>) -> Self {
        let tally =
            |kind| KindResult { kind, answers: Answers::default(), sent_ns: no_latency.clone(), retries: 0 };
        let control: &[&'static str] = if test.has_transactions() { &["begin", "commit"] } else { &[] };
        Self {
            statements: test.statements().map(|s| tally(s.kind)).collect(),
            control: control.iter().map(|kind| tally(kind)).collect(),
            scripts: test.scripts.iter().map(|script| tally(script.name)).collect(),
            noop_statements: 0,
            rows: 0,
            changed_rows: 0,
        }
    }

    /// The statements', then BEGIN and COMMIT, then the scripts'.
    pub fn iter(&self) -> impl Iterator<Item = &KindResult> {
        self.statements.iter().chain(&self.control).chain(&self.scripts)
    }

    pub fn clear(&mut self) {
        for tally in self.statements.iter_mut().chain(&mut self.control).chain(&mut self.scripts) {
            tally.answers = Answers::default();
            tally.retries = 0;
            // `clear` would keep the maximum.
            tally.sent_ns.reset();
        }
        (self.noop_statements, self.rows, self.changed_rows) = (0, 0, 0);
    }
}

/// How a statement is sent, one entry per table.
enum Sender<P> {
    Prepared(Vec<P>),
    /// The SQL text split at its values.
    Text(Vec<Vec<String>>),
}

struct Ready<P> {
    statement: &'static Statement,
    sender: Sender<P>,
}

/// A session with a test's statements prepared.
pub(crate) struct Client<S: Session> {
    session: S,
    test: &'static Test,
    tables: u32,
    own_table: usize,
    rows: u64,
    state: TableState,
    zipf: Option<Zipf>,
    drawn: Drawn,
    /// Statements of part 0, then part 1, …
    ready: Vec<Ready<S::Statement>>,
    control: Option<[S::Statement; 2]>,
    params: Params<S::Encoding>,
    text: String,
    in_transaction: bool,
    mix: Option<Mix>,
}

/// The scripts of which an event runs one.
struct Mix {
    scripts: &'static [Script],
    /// The index of each script's first statement.
    first: Vec<usize>,
    weights_total: u64,
    /// The script in work, by its index.
    current: usize,
}

impl Mix {
    fn of(test: &Test) -> Option<Self> {
        let first = test.parts.iter().scan(0, |next, part| {
            let first = *next;
            *next += part.statements.len();
            Some(first)
        });
        (!test.scripts.is_empty()).then(|| Self {
            scripts: test.scripts,
            first: first.collect(),
            weights_total: test.scripts.iter().map(|script| u64::from(script.weight)).sum(),
            current: 0,
        })
    }

    fn draw(&mut self, stream: &mut Stream) -> usize {
        let mut at = stream.key(self.weights_total);
        let beyond = |script: &Script| match at.checked_sub(u64::from(script.weight)) {
            None | Some(0) => true,
            Some(left) => {
                at = left;
                false
            }
        };
        self.current = self.scripts.iter().position(beyond).unwrap_or_default();
        self.current
    }
}

impl<S: Session> Client<S> {
    /// Prepares every statement for every table.
    pub fn new(mut session: S, spec: &StepSpec, client: u32) -> Result<Self, Error> {
        let test = spec.test;
        let mut ready = Vec::new();
        for statement in test.statements() {
            let sender = match statement.protocol {
                Protocol::Prepared => Sender::Prepared(prepare(&mut session, spec, statement)?),
                Protocol::Text => Sender::Text(text_pieces(spec, statement)),
            };
            ready.push(Ready { statement, sender });
        }
        let control = if test.has_transactions() {
            Some([session.prepare("BEGIN", &[])?, session.prepare("COMMIT", &[])?])
        } else {
            None
        };
        Ok(Self {
            session,
            test,
            tables: spec.tables,
            own_table: (client % spec.tables) as usize,
            rows: spec.state.rows,
            state: spec.state,
            zipf: test.uses_zipf().then(|| Zipf::new(spec.state.rows, EXPONENT)),
            drawn: Drawn::of(test.draws, client),
            ready,
            control,
            params: Params::new(),
            text: String::new(),
            in_transaction: false,
            mix: Mix::of(test),
        })
    }
}

impl<S: Session> Repeated for Client<S> {
    fn backend_id(&self) -> u32 {
        self.session.backend_id()
    }

    fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.session.simple(sql).map(|_| ())
    }

    fn roll_back(&mut self, tallies: &mut Tallies) -> Result<(), Error> {
        if let Some(mix) = &self.mix {
            tallies.scripts[mix.current].retries += 1;
        }
        if std::mem::take(&mut self.in_transaction) {
            self.session.simple("ROLLBACK")?;
        }
        Ok(())
    }

    fn event(&mut self, stream: &mut Stream, tallies: &mut Tallies, sent: Moment) -> Result<Moment, Error> {
        if self.mix.is_some() {
            return self.event_of_mix(stream, tallies, sent);
        }
        let mut sent = sent;
        if self.control.is_some() {
            sent = self.control_statement(0, tallies, sent)?;
            self.in_transaction = true;
        }
        if !self.drawn.numbers.is_empty() {
            self.drawn.draw(stream, 0..self.test.draws.len())?;
        }
        let mut first = 0;
        for part in self.test.parts {
            let table = match part.table {
                Table::Random if self.tables == 1 => 0,
                Table::Random => stream.key(u64::from(self.tables)) as usize - 1,
                Table::OfClient => self.own_table,
            };
            for _ in 0..part.times {
                let key = match (part.key, &self.zipf) {
                    (Key::Uniform, _) => stream.key(self.rows),
                    (Key::Zipf, Some(zipf)) => draw_zipf(zipf, stream),
                    (Key::Zipf, None) | (Key::First, _) => 1,
                    (Key::None, _) => 0,
                };
                for index in first..first + part.statements.len() {
                    sent = self.statement(index, table, key, stream, tallies, sent)?;
                }
            }
            first += part.statements.len();
        }
        if self.control.is_some() {
            sent = self.control_statement(1, tallies, sent)?;
            self.in_transaction = false;
        }
        Ok(sent)
    }
}

impl<S: Session> Client<S> {
    /// Draws a script and runs it. Out of line: tests of one script do not pay for it.
    #[inline(never)]
    fn event_of_mix(
        &mut self,
        stream: &mut Stream,
        tallies: &mut Tallies,
        began: Moment,
    ) -> Result<Moment, Error> {
        let Some(mix) = &mut self.mix else { return Ok(began) };
        let at = mix.draw(stream);
        let (script, first) = (mix.scripts[at], mix.first[at]);
        let mut sent = began;
        if script.transaction {
            sent = self.control_statement(0, tallies, sent)?;
            self.in_transaction = true;
        }
        let (draws, count) = script.draws;
        self.drawn.draw(stream, draws..draws + count)?;
        for index in first..first + self.test.parts[at].statements.len() {
            sent = self.statement(index, self.own_table, 0, stream, tallies, sent)?;
        }
        if script.transaction {
            sent = self.control_statement(1, tallies, sent)?;
            self.in_transaction = false;
        }
        let tally = &mut tallies.scripts[at];
        tally.answers.count += 1;
        tally.sent_ns.saturating_record(sent.ns_since(began));
        Ok(sent)
    }

    fn control_statement(
        &mut self,
        which: usize,
        tallies: &mut Tallies,
        sent: Moment,
    ) -> Result<Moment, Error> {
        if let Some(control) = &self.control {
            self.params.clear();
            self.session.execute(&control[which], &self.params)?;
        }
        let done = Moment::now();
        let tally = &mut tallies.control[which];
        tally.answers.count += 1;
        tally.sent_ns.saturating_record(done.ns_since(sent));
        Ok(done)
    }

    #[inline]
    fn statement(
        &mut self,
        index: usize,
        table: usize,
        key: u64,
        stream: &mut Stream,
        tallies: &mut Tallies,
        sent: Moment,
    ) -> Result<Moment, Error> {
        let ready = &self.ready[index];
        let statement = ready.statement;
        let range = self.test.range;
        let outcome = match &ready.sender {
            Sender::Prepared(prepared) => {
                let (rows, drawn) = (self.rows, &*self.drawn.numbers);
                fill_params(&mut self.params, statement, (range, rows, key, drawn), stream);
                self.session.execute(&prepared[table], &self.params)?
            }
            Sender::Text(pieces) => {
                let (rows, drawn) = (self.rows, &*self.drawn.numbers);
                fill_text(&mut self.text, &pieces[table], statement, (rows, key, drawn), stream);
                self.session.simple(&self.text)?
            }
        };
        let done = Moment::now();
        let tally = &mut tallies.statements[index];
        let rows = if statement.expect.writes() {
            tallies.changed_rows += outcome.affected;
            outcome.affected
        } else {
            tallies.rows += outcome.rows;
            outcome.rows
        };
        let (low, high) = bounds(statement.expect, range, key, &self.state);
        tally.answers.count += 1;
        tally.answers.rows += rows;
        tally.answers.violations += u64::from(rows < low || rows > high);
        tallies.noop_statements += u64::from(!worked(statement, rows));
        tally.sent_ns.saturating_record(done.ns_since(sent));
        Ok(done)
    }
}

fn prepare<S: Session>(
    session: &mut S,
    spec: &StepSpec,
    statement: &'static Statement,
) -> Result<Vec<S::Statement>, Error> {
    let range = spec.test.range;
    let types: Vec<ParamType> = statement
        .params
        .iter()
        .flat_map(|param| {
            let (kind, count) = match param {
                Param::Keys | Param::HotKeys => (ParamType::Int8, range as usize),
                Param::C | Param::Pad => (ParamType::Text, 1),
                Param::Key | Param::RangeEnd | Param::K | Param::Drawn(_) => (ParamType::Int8, 1),
            };
            std::iter::repeat_n(kind, count)
        })
        .collect();
    (1..=spec.tables)
        .map(|table| {
            let sql = dialect::prepared_sql(spec.dialect, statement, table, range);
            session.prepare(&sql, &types)
        })
        .collect()
}

/// The SQL for each table, split at its values.
fn text_pieces(spec: &StepSpec, statement: &'static Statement) -> Vec<Vec<String>> {
    let range = spec.test.range;
    let marks = vec!["\0".to_owned(); dialect::value_count(statement, range)];
    (1..=spec.tables)
        .map(|table| {
            let sql = dialect::literal_sql(spec.dialect, statement, table, range, &marks);
            sql.split('\0').map(str::to_owned).collect()
        })
        .collect()
}

#[inline]
fn fill_params<E: Encoding>(
    params: &mut Params<E>,
    statement: &Statement,
    (range, rows, key, drawn): (u32, u64, u64, &[i64]),
    stream: &mut Stream,
) {
    params.clear();
    for param in statement.params {
        match param {
            Param::Drawn(at) => params.push_int(drawn[usize::from(*at)]),
            Param::Key => params.push_int(key as i64),
            Param::RangeEnd => params.push_int((key + u64::from(range) - 1) as i64),
            other => push_drawn(params, other, range, rows, stream),
        }
    }
}

/// Out of line: its floating-point code would slow down tests that don't use it.
#[inline(never)]
fn draw_zipf(zipf: &Zipf, stream: &mut Stream) -> u64 {
    zipf.draw(stream)
}

/// The values of a test's [`Test::draws`] in an event.
struct Drawn {
    expressions: &'static [Expression],
    client: u32,
    values: Vec<Value>,
    /// The values as parameters.
    numbers: Vec<i64>,
}

impl Drawn {
    fn of(expressions: &'static [Expression], client: u32) -> Self {
        let count = expressions.len();
        Self { expressions, client, values: vec![Value::Whole(0); count], numbers: vec![0; count] }
    }

    /// Out of line: it would slow down tests without draws.
    #[inline(never)]
    fn draw(&mut self, stream: &mut Stream, which: Range<usize>) -> Result<(), Error> {
        for at in which.clone() {
            let values = &self.values[which.start..at];
            let mut event = Event { values, client: self.client, random: Some(stream) };
            let value = self.expressions[at].value(&mut event).map_err(Error::Value)?;
            self.values[at] = value;
            // Plans have only whole numbers as parameters.
            self.numbers[at] = value.whole().unwrap_or_default();
        }
        Ok(())
    }
}

/// Pushes parameters that need draws or are lists. Out of line: it would slow down statements without them.
#[inline(never)]
fn push_drawn<E: Encoding>(
    params: &mut Params<E>,
    param: &Param,
    range: u32,
    rows: u64,
    stream: &mut Stream,
) {
    match param {
        Param::Keys => {
            for _ in 0..range {
                params.push_int(stream.key(rows) as i64);
            }
        }
        Param::HotKeys => {
            for i in 1..=u64::from(range) {
                params.push_int(hot_key(rows, i) as i64);
            }
        }
        Param::K => params.push_int(stream.key(rows) as i64),
        Param::C => push_digits::<C_LEN, E>(params, stream),
        Param::Pad => push_digits::<PAD_LEN, E>(params, stream),
        // Handled by the caller.
        Param::Key | Param::RangeEnd | Param::Drawn(_) => {}
    }
}

/// The i-th hot key (from 1): neighbours in the middle of the table, which wrap around in small tables.
fn hot_key(rows: u64, i: u64) -> u64 {
    (rows / 2 + i - 1) % rows + 1
}

fn push_digits<const LEN: usize, E: Encoding>(params: &mut Params<E>, stream: &mut Stream) {
    let mut text = [0; LEN];
    stream.digits(&mut text);
    params.push_text(&text);
}

/// Out of line: it would slow down tests without text statements.
#[inline(never)]
fn fill_text(
    text: &mut String,
    pieces: &[String],
    statement: &Statement,
    (rows, key, drawn): (u64, u64, &[i64]),
    stream: &mut Stream,
) {
    text.clear();
    let mut pieces = pieces.iter();
    text.extend(pieces.next().map(String::as_str));
    for (param, piece) in statement.params.iter().zip(pieces) {
        match param {
            Param::K => push_number(text, stream.key(rows)),
            Param::C => push_text_digits::<C_LEN>(text, stream),
            Param::Pad => push_text_digits::<PAD_LEN>(text, stream),
            Param::Key | Param::RangeEnd | Param::Keys | Param::HotKeys => push_number(text, key),
            Param::Drawn(at) => push_number(text, drawn[usize::from(*at)]),
        }
        text.push_str(piece);
    }
}

fn push_number(text: &mut String, number: impl std::fmt::Display) {
    use std::fmt::Write;
    // Writing to a String can't fail.
    let _ = write!(text, "{number}");
}

fn push_text_digits<const LEN: usize>(text: &mut String, stream: &mut Stream) {
    let mut digits = [0; LEN];
    stream.digits(&mut digits);
    text.extend(digits.iter().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_workloads::microbenchmarks::test_by_name;

    #[test]
    fn nothing_of_the_warm_up_is_left_in_cleared_tallies() {
        let test = test_by_name("read-write_range=10").unwrap();
        let mut tallies = Tallies::new(test, &latency_histogram().unwrap());
        for tally in tallies.statements.iter_mut().chain(&mut tallies.control) {
            tally.sent_ns.record(1_000_000_000).unwrap();
        }
        tallies.clear();
        assert!(tallies.iter().all(|tally| tally.sent_ns.max() < 1_000 && tally.sent_ns.is_empty()));
    }
}
