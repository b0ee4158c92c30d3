//! The query session: sends queries one after another until all rows are inserted and deleted.

use super::sending::Sending;
use super::shared::{Report, Shared};
use rqps_model::random::{Stream, name_word};
use rqps_wire::{Error, ParamType, Params, Session};
use rqps_workloads::Dialect;
use rqps_workloads::insert_benchmark::{POINT_KEYS, Query, max_sql, min_sql};
use std::sync::atomic::Ordering;

/// The largest key is looked up again after this many queries.
const RESYNC_QUERIES: u64 = 100;

/// A session with its queries prepared.
pub(super) struct Asker<S: Session> {
    session: S,
    table: u32,
    dialect: Dialect,
    queries: Vec<Prepared<S::Statement>>,
    params: Params<S::Encoding>,
    text: String,
    values: Vec<i64>,
    /// The smallest key before the window.
    low: i64,
    max_sql: String,
    draws_keys: bool,
}

struct Prepared<P> {
    query: &'static Query,
    /// Index among the test's statements.
    kind: usize,
    /// `None` for MySQL, where queries are sent as text.
    statement: Option<P>,
}

impl<S: Session> Asker<S> {
    /// Prepares the queries for a client's table.
    pub fn new(mut session: S, shared: &Shared<'_>, client: u32) -> Result<Self, Error> {
        let spec = shared.spec;
        let table = spec.table(client);
        let all = shared.queue.queries.map(|mix| mix.queries()).unwrap_or_default();
        let mut queries = Vec::new();
        for query in all {
            let kind =
                shared.no_tallies.iter().position(|tally| tally.kind == query.kind).unwrap_or_default();
            let statement = match spec.dialect {
                Dialect::Postgres => {
                    let types = vec![ParamType::Int8; query.values as usize];
                    Some(session.prepare(&query.prepared_sql(spec.dialect, table), &types)?)
                }
                Dialect::Mysql => None,
            };
            queries.push(Prepared { query, kind, statement });
        }
        let draws_keys = all.iter().any(|query| query.draw_max.is_none());
        let low = if draws_keys { session.number(&min_sql(table))? } else { None };
        Ok(Self {
            session,
            table,
            dialect: spec.dialect,
            queries,
            params: Params::new(),
            text: String::new(),
            values: Vec::with_capacity(POINT_KEYS),
            low: low.unwrap_or(0),
            max_sql: max_sql(table),
            draws_keys,
        })
    }

    pub fn session(&mut self) -> &mut S {
        &mut self.session
    }

    /// Sends queries until no session of the step inserts or deletes any more.
    pub fn ask(&mut self, shared: &Shared<'_>, report: &mut Report) -> Result<(), Error> {
        let spec = shared.spec;
        let client = report.worker.client;
        let low_key = &shared.clients[client as usize].low_key;
        let mut stream =
            Stream::new(&[spec.seed, name_word(&spec.step), u64::from(spec.draws), u64::from(client)]);
        let mut sending = Sending::new(shared, &report.worker);
        let mut high = 0;
        for number in 0.. {
            if self.draws_keys && number % RESYNC_QUERIES == 0 {
                high = self.session.number(&self.max_sql)?.unwrap_or(0);
                report.lookups += 1;
            }
            if shared.all_written() {
                break;
            }
            let which =
                if self.queries.len() > 1 { stream.key(self.queries.len() as u64) as usize - 1 } else { 0 };
            let Prepared { query, kind, statement } = &self.queries[which];
            let low = low_key.load(Ordering::Relaxed).max(self.low);
            draw(&mut self.values, query, &mut stream, low, high);
            let sent = match statement {
                Some(statement) => {
                    self.params.clear();
                    self.values.iter().for_each(|value| self.params.push_int(*value));
                    sending.send(report, || self.session.execute(statement, &self.params))?
                }
                None => {
                    self.text.clear();
                    query.write(&mut self.text, self.dialect, self.table, &self.values);
                    sending.send(report, || self.session.simple(&self.text))?
                }
            };
            let rows = sent.outcome.rows;
            sending.count(report, *kind, &sent, rows, rows > ROWS_MAX);
        }
        Ok(())
    }
}

/// Most rows that a query may return.
const ROWS_MAX: u64 = rqps_workloads::insert_benchmark::ROWS_PER_QUERY as u64;

/// Draws a query's values: a value of a column, or keys in `low..high`.
fn draw(values: &mut Vec<i64>, query: &Query, stream: &mut Stream, low: i64, high: i64) {
    let (first, count) = match query.draw_max {
        Some(max) => (0, max),
        None => (low, high.saturating_sub(low).max(1) as u64),
    };
    values.clear();
    values.extend((0..query.values).map(|_| first + stream.key(count) as i64 - 1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_workloads::QueryMix;

    #[test]
    fn point_keys_are_uniform_from_the_smallest_to_the_largest_key() {
        let mut stream = Stream::new(&[3]);
        let query = &QueryMix::Point.queries()[0];
        let mut values = Vec::new();
        let mut seen = [0; 20];
        for _ in 0..2000 {
            draw(&mut values, query, &mut stream, 1000, 1020);
            assert_eq!(values.len(), POINT_KEYS);
            for key in &values {
                seen[usize::try_from(key - 1000).unwrap()] += 1;
            }
        }
        assert!(seen.iter().all(|n| (800..1200).contains(n)), "{seen:?}");
        // A table emptied by deletes.
        draw(&mut values, query, &mut stream, 1000, 0);
        assert_eq!(values, [1000; POINT_KEYS]);
    }
}
