//! The SQL of the microbenchmarks for each DBMS. The differences are data: a [`Spelling`] for each dialect.

use crate::model::{Param, Statement};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    /// MySQL and MariaDB, which do not differ here.
    Mysql,
}

/// The SQL that differs between dialects. `{t}` stands for a table's name, `{rows}` for its number of rows.
struct Spelling {
    /// Type of an auto-increment column.
    id: &'static str,
    /// Follows the column list of CREATE TABLE.
    table_options: &'static str,
    placeholder: Placeholder,
    /// Statements that advance the id counter past the loaded ids.
    advance_ids: &'static [&'static str],
    /// Statements of tests that sysbench spells differently in this dialect: the common SQL and the
    /// dialect's.
    overrides: &'static [(&'static str, &'static str)],
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
    advance_ids: &["SELECT setval('{t}_id_seq', {rows})"],
    overrides: &[],
};

static MYSQL: Spelling = Spelling {
    id: "INTEGER NOT NULL AUTO_INCREMENT",
    table_options: " ENGINE=InnoDB",
    placeholder: Placeholder::Mark,
    // InnoDB's counter follows the largest inserted id.
    advance_ids: &[],
    // An id of 0 requests the next one.
    overrides: &[(
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

    /// `sql`, or its override in this dialect.
    fn override_of(self, sql: &'static str) -> &'static str {
        let found = self.spelling().overrides.iter().find(|(common, _)| *common == sql);
        found.map_or(sql, |(_, own)| own)
    }
}

/// The name of table number `table` (from 1).
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// Statements that create empty table number `table`; they drop an existing one.
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

/// Statements to run once table number `table` has its rows: they create the secondary index and advance the
/// id counter.
pub fn finish_table(dialect: Dialect, table: u32, rows: u64) -> Vec<String> {
    let name = table_name(table);
    let advance_ids = dialect.spelling().advance_ids.iter();
    let advance_ids = advance_ids.map(|sql| sql.replace("{t}", &name).replace("{rows}", &rows.to_string()));
    std::iter::once(format!("CREATE INDEX k_{table} ON {name}(k)")).chain(advance_ids).collect()
}

/// The number of values that a statement takes; a list of `range` keys is `range` values.
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
    let next = || {
        number += 1;
        match dialect.spelling().placeholder {
            Placeholder::Numbered => format!("${number}"),
            Placeholder::Mark => "?".to_owned(),
        }
    };
    expand(dialect.override_of(statement.sql), table, range, next)
}

/// The SQL with literal values in place of parameters, [`value_count`] in all. Texts must not contain
/// apostrophes, and must be in apostrophes unless the statement's SQL has them. For query plans and for
/// statements sent as text.
pub fn literal_sql(
    dialect: Dialect,
    statement: &Statement,
    table: u32,
    range: u32,
    values: &[String],
) -> String {
    let mut values = values.iter();
    expand(dialect.override_of(statement.sql), table, range, || values.next().cloned().unwrap_or_default())
}

/// Stand for `?` and `{` that are part of SQL.
const ESCAPES: [(char, &str); 2] = [('\u{1}', "?"), ('\u{2}', "{")];

/// SQL in which `?` and `{` have no meaning for rqps.
pub fn escaped(sql: &str) -> String {
    ESCAPES.iter().fold(sql.to_owned(), |sql, (escape, meant)| sql.replace(meant, &escape.to_string()))
}

/// Replaces `{t}`, each `?` by the next value, and `{list}` by `range` values.
fn expand(sql: &str, table: u32, range: u32, mut next: impl FnMut() -> String) -> String {
    let sql = sql.replace("{t}", &table_name(table));
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql.as_str();
    while let Some(at) = rest.find(['?', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{list}") {
            out.push_str(&(0..range).map(|_| next()).collect::<Vec<_>>().join(","));
            rest = after;
        } else {
            out.push_str(&next());
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    ESCAPES.iter().fold(out, |out, (escape, meant)| match out.contains(*escape) {
        true => out.replace(*escape, meant),
        false => out,
    })
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
    fn mysql_has_question_marks_and_requests_the_next_id_with_0() {
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
    fn overrides_replace_existing_statements_and_take_the_same_values() {
        let marks = |sql: &str| sql.matches('?').count();
        for (common, own) in [POSTGRES.overrides, MYSQL.overrides].concat() {
            let mut all = crate::microbenchmarks::tests().iter().flat_map(crate::Test::statements);
            assert!(all.any(|statement| statement.sql == common), "{common}");
            assert_eq!(marks(common), marks(own));
        }
    }
}
