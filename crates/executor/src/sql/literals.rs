//! A test's statements with literal values, for EXPLAIN.

use crate::system::Example;
use rqps_model::random::{C_LEN, PAD_LEN, Stream};
use rqps_workloads::expression::{Event, Value};
use rqps_workloads::{Dialect, Param, Protocol, Statement, Test, dialect};

/// A statement on table 1 with keys from the middle of the table and lists spread evenly over it. The
/// same for every arm, so that query plans can be compared.
pub(crate) fn example(dialect: Dialect, test: &Test, statement: &Statement, rows: u64) -> Example {
    let range = u64::from(test.range);
    let key = (rows / 2).saturating_sub(range).max(1);
    let mut stream = Stream::new(&[0]);
    let mut values = Vec::new();
    for param in statement.params {
        match param {
            Param::Key | Param::K => values.push(key.to_string()),
            Param::RangeEnd => values.push((key + range - 1).to_string()),
            Param::Keys => values.extend((0..range).map(|i| (1 + i * rows / range).to_string())),
            Param::HotKeys => values.extend((0..range).map(|i| (rows / 2 + i + 1).to_string())),
            Param::Drawn(at) => values.push(drawn(test, usize::from(*at)).to_string()),
            Param::C => values.push(text::<C_LEN>(&mut stream, statement)),
            Param::Pad => values.push(text::<PAD_LEN>(&mut stream, statement)),
        }
    }
    let sql = dialect::literal_sql(dialect, statement, 1, test.range, &values);
    let prepared = (statement.protocol == Protocol::Prepared && !values.is_empty())
        .then(|| (dialect::prepared_sql(dialect, statement, 1, test.range), values));
    Example { kind: statement.kind, sql, prepared }
}

/// The value of a variable of a script, with the middle of each range for what is random.
fn drawn(test: &Test, at: usize) -> i64 {
    let of_script = test.scripts.iter().map(|script| script.draws.0).filter(|first| *first <= at).max();
    let mut values = Vec::new();
    for expression in &test.draws[of_script.unwrap_or(0)..=at] {
        let value = expression.value(&mut Event { values: &values, client: 0, random: None });
        // A plan is read only if it has one.
        values.push(value.unwrap_or(Value::Whole(0)));
    }
    values.last().and_then(|value| value.whole().ok()).unwrap_or(0)
}

fn text<const LEN: usize>(stream: &mut Stream, statement: &Statement) -> String {
    let mut digits = [0; LEN];
    stream.digits(&mut digits);
    let digits: String = digits.iter().map(|d| char::from(*d)).collect();
    match statement.protocol {
        Protocol::Prepared => format!("'{digits}'"),
        Protocol::Text => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_workloads::microbenchmarks::tests;

    #[test]
    fn every_statement_becomes_sql_without_gaps() {
        for test in tests() {
            for statement in test.statements() {
                for dialect in [Dialect::Postgres, Dialect::Mysql] {
                    let sql = example(dialect, test, statement, 100_000).sql;
                    assert!(!sql.contains(['?', '{', '$']), "{}: {sql}", test.name);
                    assert!(!sql.contains("()") && !sql.contains(",,"), "{}: {sql}", test.name);
                    assert_eq!(sql.matches('\'').count() % 2, 0, "{}: {sql}", test.name);
                }
            }
        }
    }
}
