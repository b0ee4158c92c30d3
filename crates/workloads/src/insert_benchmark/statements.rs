//! The DELETE statements and queries of the queue, in both dialects. Frequent statements are appended to a
//! reused buffer.

use std::fmt::Write as _;

use super::rows::{CASH_REGISTERS, PRICES, PRODUCTS};
use super::tables::table_name;
use crate::dialect::Dialect;
use crate::model::QueryMix;

/// Maximum number of rows that a query returns.
pub const ROWS_PER_QUERY: u32 = 10;
/// Keys of a point query.
pub const POINT_KEYS: usize = 10;

rqps_model::words! {
    /// How a DELETE selects its rows. In Postgres, this determines the planner's index lookups each time it plans.
    DeleteForm {
        /// The next rows from a key on, by a subquery (Postgres) or LIMIT (MySQL): always the requested number.
        In = "in",
        /// A range of keys, the form in use until 2024: fewer rows if keys have gaps.
        Range = "range",
    }
}

/// Appends the DELETE of the next `rows` rows of a table; `key` is the (estimated) smallest primary key.
pub fn write_delete(text: &mut String, form: DeleteForm, dialect: Dialect, table: u32, key: i64, rows: u32) {
    // Writing to a String can't fail.
    let _ = match (form, dialect) {
        (DeleteForm::In, Dialect::Postgres) => write!(
            text,
            "DELETE FROM pi{table} WHERE transactionid IN (SELECT transactionid FROM pi{table} \
             WHERE transactionid >= {key} ORDER BY transactionid ASC LIMIT {rows})"
        ),
        (DeleteForm::In, Dialect::Mysql) => write!(
            text,
            "DELETE FROM pi{table} WHERE transactionid >= {key} ORDER BY transactionid ASC LIMIT {rows}"
        ),
        (DeleteForm::Range, _) => {
            let end = key.saturating_add(i64::from(rows));
            write!(text, "DELETE FROM pi{table} WHERE transactionid >= {key} AND transactionid < {end}")
        }
    };
}

/// Returns a table's smallest primary key.
pub fn min_sql(table: u32) -> String {
    format!("SELECT min(transactionid) FROM {}", table_name(table))
}

/// Returns a table's largest primary key.
pub fn max_sql(table: u32) -> String {
    format!("SELECT max(transactionid) FROM {}", table_name(table))
}

/// A query of a step.
#[derive(Debug, PartialEq, Eq)]
pub struct Query {
    /// Its kind, as in [`Test::statements`](crate::Test::statements).
    pub kind: &'static str,
    /// Number of values.
    pub values: u32,
    /// Its value is uniform over `0..draw_max`; if `None`, keys between the table's smallest and largest.
    pub draw_max: Option<u64>,
    /// SQL with `{t}` for the table, `{hint}` for an index hint, `?` for a value.
    pub(super) sql: &'static str,
    /// The index that MySQL is forced to use.
    index: Option<&'static str>,
}

/// Starts at a product, in index order.
pub(super) const BY_PRODUCT: Query = Query {
    kind: "range-product",
    values: 1,
    draw_max: Some(PRODUCTS),
    sql: "SELECT productid, customerid, price FROM {t}{hint} WHERE (productid >= ?) \
          ORDER BY productid, customerid, price LIMIT 10",
    index: Some("marketsegment"),
};
/// Starts after a cash register, in index order.
pub(super) const BY_REGISTER: Query = Query {
    kind: "range-register",
    values: 1,
    draw_max: Some(CASH_REGISTERS),
    sql: "SELECT cashregisterid, customerid, price FROM {t}{hint} WHERE (cashregisterid > ?) \
          ORDER BY cashregisterid, customerid, price LIMIT 10",
    index: Some("registersegment"),
};
/// Starts at a price, oldest rows first, which are being deleted.
pub(super) const BY_PRICE: Query = Query {
    kind: "range-price",
    values: 1,
    draw_max: Some(PRICES),
    sql: "SELECT price, dateandtime, customerid FROM {t}{hint} WHERE (price >= ?) \
          ORDER BY price, dateandtime, customerid LIMIT 10",
    index: Some("pdc"),
};
/// Ten rows by primary key in one statement.
pub(super) const POINTS: Query = Query {
    kind: "point-10",
    values: POINT_KEYS as u32,
    draw_max: None,
    sql: "SELECT transactionid, productid, data FROM {t}{hint} WHERE transactionid IN (?,?,?,?,?,?,?,?,?,?)",
    index: None,
};

impl QueryMix {
    /// The queries; each time, one is drawn uniformly.
    pub fn queries(self) -> &'static [Query] {
        match self {
            QueryMix::Range => &[BY_PRODUCT, BY_REGISTER, BY_PRICE],
            QueryMix::Point => &[POINTS],
        }
    }
}

impl Query {
    /// The SQL to prepare, with placeholders `$1` … (Postgres) or `?` (MySQL).
    pub fn prepared_sql(&self, dialect: Dialect, table: u32) -> String {
        let mut sql = String::new();
        self.expand(&mut sql, dialect, table, |text, number| {
            let _ = match dialect {
                Dialect::Postgres => write!(text, "${}", number + 1),
                Dialect::Mysql => write!(text, "?"),
            };
        });
        sql
    }

    /// Appends the SQL with `values`; a missing value is 0.
    pub fn write(&self, text: &mut String, dialect: Dialect, table: u32, values: &[i64]) {
        self.expand(text, dialect, table, |text, number| {
            let _ = write!(text, "{}", values.get(number).copied().unwrap_or(0));
        });
    }

    fn expand(
        &self,
        text: &mut String,
        dialect: Dialect,
        table: u32,
        mut fill: impl FnMut(&mut String, usize),
    ) {
        let mut number = 0;
        let mut rest = self.sql;
        while let Some(at) = rest.find(['?', '{']) {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("{t}") {
                let _ = write!(text, "pi{table}");
                rest = after;
            } else if let Some(after) = rest.strip_prefix("{hint}") {
                if let (Dialect::Mysql, Some(index)) = (dialect, self.index) {
                    let _ = write!(text, " FORCE INDEX (pi{table}_{index})");
                }
                rest = after;
            } else {
                fill(text, number);
                number += 1;
                rest = &rest[1..];
            }
        }
        text.push_str(rest);
    }
}

/// A statement of `kind` with typical values, for EXPLAIN: an INSERT of one row, a DELETE from key `low` on,
/// points between `low` and `high`. `None` for an unknown kind.
pub fn example_sql(
    kind: &str,
    dialect: Dialect,
    form: DeleteForm,
    table: u32,
    rows: u32,
    (low, high): (i64, i64),
) -> Option<String> {
    let mut sql = String::new();
    match kind {
        "insert" => {
            let mut stream = super::statement_stream(0, 0, 0);
            super::write_insert(&mut sql, table, &mut stream, 0, 1);
        }
        "delete" => write_delete(&mut sql, form, dialect, table, low, rows),
        "min" => sql = min_sql(table),
        _ => {
            let queries = [QueryMix::Range, QueryMix::Point].map(QueryMix::queries);
            let query = queries.into_iter().flatten().find(|query| query.kind == kind)?;
            let middle = query.draw_max.map(|max| max as i64 / 2);
            let step = (high - low) / POINT_KEYS as i64;
            let values: Vec<i64> =
                (0..i64::from(query.values)).map(|number| middle.unwrap_or(low + number * step)).collect();
            query.write(&mut sql, dialect, table, &values);
        }
    }
    Some(sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delete(form: DeleteForm, dialect: Dialect) -> String {
        let mut text = String::new();
        write_delete(&mut text, form, dialect, 2, 1001, 50);
        text
    }

    #[test]
    fn deletes_are_spelled_as_published() {
        assert_eq!(
            delete(DeleteForm::In, Dialect::Postgres),
            "DELETE FROM pi2 WHERE transactionid IN (SELECT transactionid FROM pi2 WHERE transactionid >= 1001 \
             ORDER BY transactionid ASC LIMIT 50)"
        );
        assert_eq!(
            delete(DeleteForm::In, Dialect::Mysql),
            "DELETE FROM pi2 WHERE transactionid >= 1001 ORDER BY transactionid ASC LIMIT 50"
        );
        let range = "DELETE FROM pi2 WHERE transactionid >= 1001 AND transactionid < 1051";
        assert_eq!(delete(DeleteForm::Range, Dialect::Postgres), range);
        assert_eq!(delete(DeleteForm::Range, Dialect::Mysql), range);
    }

    #[test]
    fn queries_are_spelled_as_published() {
        let written = |query: &Query, dialect| {
            let mut text = String::new();
            query.write(&mut text, dialect, 1, &(1..=10).collect::<Vec<_>>());
            text
        };
        let all: Vec<[String; 3]> = [QueryMix::Range, QueryMix::Point]
            .into_iter()
            .flat_map(QueryMix::queries)
            .map(|query| {
                [
                    query.prepared_sql(Dialect::Postgres, 1),
                    query.prepared_sql(Dialect::Mysql, 1),
                    written(query, Dialect::Mysql),
                ]
            })
            .collect();
        insta::assert_debug_snapshot!(all);
        let keys = QueryMix::Point.queries()[0].prepared_sql(Dialect::Postgres, 3);
        assert!(keys.ends_with("FROM pi3 WHERE transactionid IN ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)"), "{keys}");
    }

    #[test]
    fn every_kind_of_every_step_has_an_example() {
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            for statement in super::super::tests().iter().flat_map(crate::Test::statements) {
                let sql = example_sql(statement.kind, dialect, DeleteForm::In, 1, 5, (100, 200)).unwrap();
                assert!(sql.contains("pi1") && !sql.contains(['{', '?']), "{sql}");
            }
        }
        assert_eq!(example_sql("scan", Dialect::Postgres, DeleteForm::In, 1, 5, (1, 2)), None);
    }
}
