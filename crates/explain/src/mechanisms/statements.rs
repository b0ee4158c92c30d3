//! What statements run on only one arm after its load can affect.

use super::needs::Needs::{self, Log, Nothing, Setting};
use super::postgres;
use super::rule::{CODE, PLANNING, Rule};
use super::way::Way::{self, Each, Either, Less, More};
use crate::model::Cause::{
    self, BackendWrites, Background, BinaryLog, BlocksTouched, BufferMisses, Checkpoint, CpuTime, Cycles,
    DeadRows, Doublewrite, Fsync, Function, HotUpdates, Instructions, KernelTime, Locks, Planning, Purge,
    QueryPlan, Reads, Rows, Size, Waiting, Wal,
};

/// What is stored, where, and its size.
const LAYOUT: &[Cause] = &[
    QueryPlan,
    Planning,
    Size,
    BlocksTouched,
    HotUpdates,
    Rows,
    DeadRows,
    BufferMisses,
    Reads,
    BackendWrites,
    Checkpoint,
    Doublewrite,
    Wal,
    BinaryLog,
    Purge,
    Instructions,
    CpuTime,
    Function,
    Cycles,
    KernelTime,
];
/// Effects of additional statements that run with each change.
const MORE_STATEMENTS: &[Cause] = &[
    Rows,
    BlocksTouched,
    HotUpdates,
    BufferMisses,
    Reads,
    Wal,
    BinaryLog,
    Locks,
    Fsync,
    Waiting,
    KernelTime,
    Instructions,
    CpuTime,
    Function,
    Cycles,
];
const WHAT_IS_LOGGED: &[Cause] = &[Wal, Fsync, Waiting, KernelTime, Instructions, CpuTime, Function, Cycles];

/// Kinds of statements: words of which a statement contains one, separated by bars; causes it can affect;
/// what has to be active for that; the direction, which is reversed for a statement that removes what another
/// adds. The first match wins.
static KINDS: [Rule; 22] = [
    ("AUTOVACUUM", postgres::AUTOVACUUM, Needs::Autovacuum, Either),
    ("TRIGGER", MORE_STATEMENTS, Log, More),
    ("CREATE RULE", MORE_STATEMENTS, Nothing, Either),
    // The row identity is only logged for logical replication.
    ("REPLICA IDENTITY", WHAT_IS_LOGGED, Setting("wal_level", "logical"), More),
    ("PUBLICATION", WHAT_IS_LOGGED, Log, More),
    ("UNLOGGED", WHAT_IS_LOGGED, Log, Less),
    (" SET LOGGED", WHAT_IS_LOGGED, Log, More),
    ("PARALLEL_WORKERS", &[QueryPlan, Background], Nothing, Either),
    (" STATISTICS|N_DISTINCT|HISTOGRAM| STATS_", PLANNING, Nothing, Either),
    ("VACUUM", LAYOUT, Nothing, Each { more: &[], less: &[Size, DeadRows] }),
    ("ANALYZE|POLICY|ROW LEVEL SECURITY", PLANNING, Nothing, Either),
    ("DROP COLUMN|ADD COLUMN", LAYOUT, Nothing, More),
    ("FOREIGN KEY| REFERENCES ", MORE_STATEMENTS, Log, More),
    ("CREATE INDEX|CREATE UNIQUE INDEX|ADD INDEX|DROP INDEX", LAYOUT, Nothing, More),
    ("INDEX", LAYOUT, Nothing, Either),
    ("UNIQUE", LAYOUT, Nothing, More),
    ("PRIMARY KEY", LAYOUT, Nothing, Either),
    ("DROP CONSTRAINT", LAYOUT, Nothing, More),
    (" CHECK | NOT NULL", CODE, Log, More),
    ("ALTER TABLE| PARTITION OF |CLUSTER|OPTIMIZE", LAYOUT, Nothing, Either),
    ("INSERT", LAYOUT, Nothing, Each { more: &[Size], less: &[] }),
    ("UPDATE|DELETE|TRUNCATE|COPY|RENAME", LAYOUT, Nothing, Either),
];

/// Prefixes of statements that do not affect measured statements.
const WITHOUT_EFFECT: [&str; 16] = [
    "COMMENT ",
    "GRANT ",
    "REVOKE ",
    "BEGIN",
    "COMMIT",
    "CHECKPOINT",
    "NOTIFY",
    "CREATE EXTENSION",
    "CREATE FUNCTION",
    "CREATE OR REPLACE FUNCTION",
    "CREATE PROCEDURE",
    "CREATE ROLE",
    "CREATE USER",
    "CREATE SCHEMA",
    "CREATE VIEW",
    "CREATE TYPE",
];

/// What a statement can affect.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    /// Nothing that is measured.
    Nothing,
    /// These causes, if what it needs is active, in this direction.
    Kind(&'static [Cause], Needs, Way),
    /// What the settings that it names can affect.
    Settings(Vec<String>),
    /// Unrecognized: it may have done anything.
    Unknown,
}

impl Statement {
    pub fn parse(sql: &str) -> Self {
        let text = upper(sql);
        let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
        if begins(&WITHOUT_EFFECT) || text.starts_with("SELECT ") && !text.contains('(') {
            return Statement::Nothing;
        }
        let sets = ["ALTER DATABASE ", "ALTER ROLE ", "ALTER USER ", "ALTER SYSTEM ", "SET ", "RESET "];
        if begins(&sets) {
            let names = sql.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'));
            let known = names.map(str::to_lowercase).filter(|name| super::rule_of(name).is_some());
            return Statement::Settings(known.collect());
        }
        let creates_table = text.starts_with("CREATE TABLE") || text.starts_with("CREATE UNLOGGED TABLE");
        let refers_to_another = ["PARTITION OF", " REFERENCES "].iter().any(|words| text.contains(words));
        if creates_table && !refers_to_another || text.starts_with("CREATE TEMP") {
            return Statement::Nothing;
        }
        let padded = format!(" {text} ");
        let kind = KINDS.iter().find(|(words, ..)| words.split('|').any(|word| padded.contains(word)));
        kind.map_or(Statement::Unknown, |(_, causes, needs, way)| Statement::Kind(causes, *needs, *way))
    }
}

/// Upper-cases and normalizes white space, with a blank before each parenthesis.
fn upper(sql: &str) -> String {
    sql.to_uppercase().replace('(', " (").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a statement removes what others of its kind add; `None` if it does both.
pub(super) fn removes(sql: &str) -> Option<bool> {
    let text = format!(" {} ", upper(sql));
    let removes = [" DROP ", " DISABLE ", " IDENTITY NOTHING ", " IDENTITY DEFAULT ", " IDENTITY USING "]
        .iter()
        .any(|words| text.contains(words));
    (!removes || !text.contains(" ADD ")).then_some(removes)
}

/// Keywords before a statement's table, by the statement's beginning; the first one present counts.
const BEFORE_TABLE: [(&str, &[&str]); 16] = [
    ("ALTER TABLE ", &["TABLE"]),
    ("INSERT ", &["INTO"]),
    ("UPDATE ", &["UPDATE"]),
    ("DELETE ", &["FROM"]),
    ("TRUNCATE ", &["TABLE", "TRUNCATE"]),
    ("COPY ", &["COPY"]),
    ("OPTIMIZE ", &["TABLE"]),
    ("CREATE STATISTICS ", &["FROM"]),
    ("CREATE TABLE ", &["OF"]),
    ("CREATE INDEX ", &["ON"]),
    ("CREATE UNIQUE INDEX ", &["ON"]),
    ("CREATE TRIGGER ", &["ON"]),
    ("CREATE PUBLICATION ", &["TABLE"]),
    ("CREATE POLICY ", &["ON"]),
    ("ANALYZE ", &["TABLE", "ANALYZE"]),
    ("VACUUM ", &["ANALYZE", "FULL", "VACUUM"]),
];
/// Keywords that may stand between those and the name.
const BETWEEN: [&str; 7] = ["IF", "EXISTS", "ONLY", "LOCAL", "VERBOSE", "FREEZE", "CONCURRENTLY"];

/// Tables that a statement acts on, including the one of a foreign key. Empty if there are none, or if they
/// are not recognized.
pub(super) fn tables(sql: &str) -> Vec<String> {
    let text = upper(sql);
    let Some((_, before)) = BEFORE_TABLE.iter().find(|(start, _)| text.starts_with(start)) else {
        return Vec::new();
    };
    let words: Vec<&str> = text.trim_end_matches(';').split(' ').collect();
    let after = |at: usize| words[at + 1..].iter().find(|word| !BETWEEN.contains(word)).copied();
    let place = |wanted: &str| words.iter().position(|word| *word == wanted);
    let own = before.iter().find_map(|word| after(place(word)?));
    let other = place("REFERENCES").and_then(after);
    // A table that the statement creates is not a table of the test.
    if own.is_none() && !text.starts_with("CREATE TABLE ") {
        return Vec::new();
    }
    let found: Option<Vec<String>> = own.into_iter().chain(other).map(name).collect();
    found.unwrap_or_default()
}

/// A table's name without its schema; `None` if it is a list or not a name.
fn name(word: &str) -> Option<String> {
    let plain = word.rsplit('.').next()?.trim_matches(['"', '`']);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    (!plain.is_empty() && plain.chars().all(is_name)).then(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affects(sql: &str, cause: Cause) -> bool {
        matches!(Statement::parse(sql), Statement::Kind(causes, ..) if causes.contains(&cause))
    }

    #[test]
    fn check_constraints_cost_code_but_no_wal() {
        let check = "ALTER TABLE sbtest1 ADD CONSTRAINT c CHECK (k > 0)";
        assert!(affects(check, Cause::Instructions) && !affects(check, Cause::Wal));
        assert_eq!(Statement::parse("alter table t add check(k>0)"), Statement::Kind(CODE, Log, More));
    }

    #[test]
    fn each_kind_affects_its_causes() {
        for (sql, cause) in [
            ("ALTER TABLE t ADD FOREIGN KEY (k) REFERENCES r (id)", Cause::Rows),
            ("ALTER TABLE t SET UNLOGGED", Cause::Wal),
            ("ALTER TABLE t REPLICA IDENTITY FULL", Cause::Wal),
            ("ALTER TABLE t ALTER k SET STATISTICS 1000", Cause::Planning),
            ("ALTER TABLE t ADD COLUMN x text DEFAULT 'y'", Cause::Size),
            ("ALTER TABLE t SET (fillfactor = 50)", Cause::HotUpdates),
            ("CREATE TRIGGER x BEFORE UPDATE ON t EXECUTE FUNCTION f()", Cause::Instructions),
            ("CREATE INDEX CONCURRENTLY ON t (k, pad)", Cause::Wal),
            ("DROP INDEX k_1", Cause::QueryPlan),
            ("DELETE FROM t WHERE id % 2 = 0", Cause::DeadRows),
            ("VACUUM FULL t", Cause::BlocksTouched),
        ] {
            assert!(affects(sql, cause), "{sql}");
        }
    }

    #[test]
    fn statements_without_effect_differ_from_unknown_ones() {
        for sql in [
            "COMMENT ON TABLE t IS 'x'",
            "GRANT SELECT ON t TO public",
            "SELECT 1",
            "CREATE TABLE other (id int PRIMARY KEY)",
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'begin return new; end'",
        ] {
            assert_eq!(Statement::parse(sql), Statement::Nothing, "{sql}");
        }
        assert_eq!(
            Statement::parse("SELECT pg_create_logical_replication_slot('a', 'b')"),
            Statement::Unknown
        );
        assert_eq!(
            Statement::parse("ALTER DATABASE bench SET synchronous_commit = on"),
            Statement::Settings(vec!["synchronous_commit".into()])
        );
    }

    #[test]
    fn removing_statements_are_recognized() {
        for (sql, expected) in [
            ("CREATE INDEX ON t (k)", Some(false)),
            ("DROP INDEX k_1", Some(true)),
            ("ALTER TABLE t REPLICA IDENTITY DEFAULT", Some(true)),
            ("ALTER TABLE t DROP CONSTRAINT a, ADD CONSTRAINT b CHECK (k > 0)", None),
        ] {
            assert_eq!(removes(sql), expected, "{sql}");
        }
    }

    #[test]
    fn tables_of_statements_are_recognized() {
        for (sql, expected) in [
            ("INSERT INTO public.parent SELECT 1", &["PARENT"][..]),
            ("ALTER TABLE IF EXISTS ONLY t ADD FOREIGN KEY (k) REFERENCES r(id)", &["T", "R"]),
            ("CREATE TABLE child (id int REFERENCES t(id) ON DELETE CASCADE)", &["T"]),
            ("CREATE TABLE p1 PARTITION OF t FOR VALUES IN (1)", &["T"]),
            ("CREATE INDEX CONCURRENTLY ON \"t\" (k)", &["T"]),
            ("VACUUM FULL t", &["T"]),
            ("VACUUM (ANALYZE) t", &[]),
            ("VACUUM", &[]),
            ("ANALYZE a, b", &[]),
            ("DROP INDEX k_1", &[]),
        ] {
            assert_eq!(tables(sql), expected, "{sql}");
        }
    }
}
