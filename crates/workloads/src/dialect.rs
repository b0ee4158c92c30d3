//! How a benchmark's SQL is spelled for one DBMS.

use crate::model::{Param, Statement};

/// A family of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
}

/// The name of table number `table` (from 1).
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// Statements that make an empty table number `table`, replacing one of an earlier try.
pub fn create_table(dialect: Dialect, table: u32) -> Vec<String> {
    let name = table_name(table);
    let id = match dialect {
        Dialect::Postgres => "SERIAL",
    };
    vec![
        format!("DROP TABLE IF EXISTS {name}"),
        format!(
            "CREATE TABLE {name} (id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
        ),
    ]
}

/// Statements to run when table number `table` has its rows: the secondary index, and ids that go on after them.
pub fn finish_table(dialect: Dialect, table: u32, rows: u64) -> Vec<String> {
    let name = table_name(table);
    let index = format!("CREATE INDEX k_{table} ON {name}(k)");
    match dialect {
        Dialect::Postgres => vec![index, format!("SELECT setval('{name}_id_seq', {rows})")],
    }
}

/// How many values a statement's parameter list has, lists counted by length.
pub fn value_count(statement: &Statement, range: u32) -> usize {
    let count = |param: &Param| match param {
        Param::Keys | Param::HotKeys => range as usize,
        _ => 1,
    };
    statement.params.iter().map(count).sum()
}

/// The SQL of a prepared statement on table number `table`; `range` is the length of its list.
pub fn prepared_sql(dialect: Dialect, statement: &Statement, table: u32, range: u32) -> String {
    let mut number = 0;
    let mut next = || {
        number += 1;
        match dialect {
            Dialect::Postgres => format!("${number}"),
        }
    };
    expand(statement.sql, table, |place| match place {
        Place::Value => next(),
        Place::List => (0..range).map(|_| next()).collect::<Vec<_>>().join(","),
    })
}

/// The SQL with literal values in place of parameters, lists counted by length; texts are quoted where the statement's
/// own SQL doesn't. For query plans and for statements sent as text.
pub fn literal_sql(statement: &Statement, table: u32, range: u32, values: &[String]) -> String {
    let mut values = values.iter();
    let mut next = || values.next().cloned().unwrap_or_default();
    expand(statement.sql, table, |place| match place {
        Place::Value => next(),
        Place::List => (0..range).map(|_| next()).collect::<Vec<_>>().join(","),
    })
}

enum Place {
    Value,
    List,
}

fn expand(sql: &str, table: u32, mut fill: impl FnMut(Place) -> String) -> String {
    let sql = sql.replace("{t}", &table_name(table));
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql.as_str();
    while let Some(at) = rest.find(['?', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{list}") {
            out.push_str(&fill(Place::List));
            rest = after;
        } else {
            out.push_str(&fill(Place::Value));
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::microbenchmarks::test_by_name;

    #[test]
    fn placeholders_are_numbered_and_lists_expanded() {
        let inlist = test_by_name("update-inlist").unwrap();
        let statement = &inlist.parts[0].statements[0];
        assert_eq!(
            prepared_sql(Dialect::Postgres, statement, 3, 4),
            "UPDATE sbtest3 SET c=$1 WHERE id IN ($2,$3,$4,$5)"
        );
        assert_eq!(value_count(statement, 4), 5);
        let insert = &test_by_name("insert").unwrap().parts[0].statements[0];
        let values = ["7", "abc", "def"].map(String::from);
        assert_eq!(
            literal_sql(insert, 1, 1, &values),
            "INSERT INTO sbtest1 (k, c, pad) VALUES (7, 'abc', 'def')"
        );
    }
}
