//! How a benchmark's SQL is spelled for one DBMS. What differs is data: a [`Spelling`] for each dialect.

use crate::model::{Param, Statement};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    /// MySQL, and MariaDB, which spells all of this alike.
    Mysql,
}

/// What a dialect writes differently. `{t}` stands for a table's name, `{rows}` for its number of rows.
struct Spelling {
    /// Type of a column whose values the server hands out.
    id: &'static str,
    /// What follows a table's columns.
    table_options: &'static str,
    /// Parameters of a prepared statement.
    placeholder: Placeholder,
    /// Makes ids go on after those that the load gave.
    ids_go_on: &'static [&'static str],
    /// Statements of tests that sysbench writes in other words for this dialect: the common text, and its own.
    own_words: &'static [(&'static str, &'static str)],
}

enum Placeholder {
    /// `$1`, `$2`, …
    Numbered,
    /// `?`.
    Mark,
}

static POSTGRES: Spelling = Spelling {
    id: "SERIAL",
    table_options: "",
    placeholder: Placeholder::Numbered,
    ids_go_on: &["SELECT setval('{t}_id_seq', {rows})"],
    own_words: &[],
};

static MYSQL: Spelling = Spelling {
    id: "INTEGER NOT NULL AUTO_INCREMENT",
    table_options: " ENGINE=InnoDB",
    placeholder: Placeholder::Mark,
    // InnoDB's counter follows the largest id that a statement gave.
    ids_go_on: &[],
    // An id of 0 asks for the next one.
    own_words: &[(
        "INSERT INTO {t} (k, c, pad) VALUES (?, '?', '?')",
        "INSERT INTO {t} (id, k, c, pad) VALUES (0, ?, '?', '?')",
    )],
};

impl Dialect {
    fn spelling(self) -> &'static Spelling {
        match self {
            Dialect::Postgres => &POSTGRES,
            Dialect::Mysql => &MYSQL,
        }
    }

    fn own_words(self, sql: &'static str) -> &'static str {
        let own = self.spelling().own_words.iter().find(|(common, _)| *common == sql);
        own.map_or(sql, |(_, own)| own)
    }
}

/// The name of table number `table` (from 1).
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// Statements that make an empty table number `table`, replacing one of an earlier try.
pub fn create_table(dialect: Dialect, table: u32) -> Vec<String> {
    let name = table_name(table);
    let Spelling { id, table_options, .. } = dialect.spelling();
    vec![
        format!("DROP TABLE IF EXISTS {name}"),
        format!(
            "CREATE TABLE {name} (id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)){table_options}"
        ),
    ]
}

/// Statements to run when table number `table` has its rows: the secondary index, and ids that go on after them.
pub fn finish_table(dialect: Dialect, table: u32, rows: u64) -> Vec<String> {
    let name = table_name(table);
    let ids_go_on = dialect.spelling().ids_go_on.iter();
    let filled = ids_go_on.map(|sql| sql.replace("{t}", &name).replace("{rows}", &rows.to_string()));
    std::iter::once(format!("CREATE INDEX k_{table} ON {name}(k)")).chain(filled).collect()
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
        match dialect.spelling().placeholder {
            Placeholder::Numbered => format!("${number}"),
            Placeholder::Mark => "?".to_owned(),
        }
    };
    expand(dialect.own_words(statement.sql), table, |place| match place {
        Place::Value => next(),
        Place::List => (0..range).map(|_| next()).collect::<Vec<_>>().join(","),
    })
}

/// The SQL with literal values in place of parameters, lists counted by length; texts are quoted where the statement's
/// own SQL doesn't, in apostrophes, and hold none. For query plans and for statements sent as text.
pub fn literal_sql(
    dialect: Dialect,
    statement: &Statement,
    table: u32,
    range: u32,
    values: &[String],
) -> String {
    let mut values = values.iter();
    let mut next = || values.next().cloned().unwrap_or_default();
    expand(dialect.own_words(statement.sql), table, |place| match place {
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
            literal_sql(Dialect::Postgres, insert, 1, 1, &values),
            "INSERT INTO sbtest1 (k, c, pad) VALUES (7, 'abc', 'def')"
        );
    }

    #[test]
    fn mysql_marks_its_parameters_and_asks_for_the_next_id_with_0() {
        let inlist = &test_by_name("update-inlist").unwrap().parts[0].statements[0];
        assert_eq!(prepared_sql(Dialect::Mysql, inlist, 3, 2), "UPDATE sbtest3 SET c=? WHERE id IN (?,?)");
        let insert = &test_by_name("insert").unwrap().parts[0].statements[0];
        let values = ["7", "abc", "def"].map(String::from);
        assert_eq!(
            literal_sql(Dialect::Mysql, insert, 1, 1, &values),
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 7, 'abc', 'def')"
        );
        let create = create_table(Dialect::Mysql, 1).remove(1);
        assert!(
            create.contains("(id INTEGER NOT NULL AUTO_INCREMENT, k ") && create.ends_with(" ENGINE=InnoDB")
        );
        assert_eq!(finish_table(Dialect::Mysql, 1, 9), ["CREATE INDEX k_1 ON sbtest1(k)"]);
    }

    #[test]
    fn words_of_a_dialect_replace_a_statement_that_there_is_and_take_the_same_values() {
        let marks = |sql: &str| sql.matches('?').count();
        for (common, own) in [POSTGRES.own_words, MYSQL.own_words].concat() {
            let mut all = crate::microbenchmarks::tests().iter().flat_map(crate::Test::statements);
            assert!(all.any(|statement| statement.sql == common), "{common}");
            assert_eq!(marks(common), marks(own));
        }
    }
}
