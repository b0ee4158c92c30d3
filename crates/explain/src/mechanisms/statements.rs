//! By what a statement can act that was run on one arm alone after its load.

use super::needs::Needs::{self, Log, Nothing, Setting};
use super::postgres;
use super::rule::{CODE, PLANNING, Rule};
use super::way::Way::{self, Each, Either, Less, More};
use crate::model::Cause::{
    self, BackendWrites, Background, BinaryLog, BufferMisses, Checkpoint, CpuTime, Cycles, DeadRows,
    Doublewrite, Fsync, Function, HeapBlocks, HotUpdates, Instructions, KernelTime, Locks, Planning, Purge,
    QueryPlan, Reads, Rows, Size, Waiting, Wal,
};

/// What is stored, where and how much of it.
const LAYOUT: &[Cause] = &[
    QueryPlan,
    Planning,
    Size,
    HeapBlocks,
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
/// What other statements that run with each change can do.
const MORE_STATEMENTS: &[Cause] = &[
    Rows,
    HeapBlocks,
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

/// Kinds of statements: words of which a statement has one, with bars between them; what it can act by; what has to be
/// at work for that; which way it moves it. One that takes away what another adds moves it the other way. The first
/// that fits counts.
static KINDS: [Rule; 22] = [
    ("AUTOVACUUM", postgres::AUTOVACUUM, Needs::Autovacuum, Either),
    ("TRIGGER", MORE_STATEMENTS, Log, More),
    ("CREATE RULE", MORE_STATEMENTS, Nothing, Either),
    // What identifies a row is logged for logical replication alone.
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

/// Beginnings of statements that change nothing of what measured statements do.
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

/// What a statement can act by.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    /// By nothing that is measured.
    Nothing,
    /// By these, where what it needs is at work, in this way.
    Kind(&'static [Cause], Needs, Way),
    /// By what the settings act by that it names.
    Settings(Vec<String>),
    /// Nothing is known of it: it may have done anything.
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
        let other_table = text.starts_with("CREATE TABLE") || text.starts_with("CREATE UNLOGGED TABLE");
        let is_of_another = ["PARTITION OF", " REFERENCES "].iter().any(|words| text.contains(words));
        if other_table && !is_of_another || text.starts_with("CREATE TEMP") {
            return Statement::Nothing;
        }
        let padded = format!(" {text} ");
        let kind = KINDS.iter().find(|(words, ..)| words.split('|').any(|word| padded.contains(word)));
        kind.map_or(Statement::Unknown, |(_, causes, needs, way)| Statement::Kind(causes, *needs, *way))
    }
}

/// In capitals, with single blanks, and one before each bracket.
fn upper(sql: &str) -> String {
    sql.to_uppercase().replace('(', " (").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a statement takes away what others of its kind add; none where it does both.
pub(super) fn takes_away(sql: &str) -> Option<bool> {
    let text = format!(" {} ", upper(sql));
    let takes = [" DROP ", " DISABLE ", " IDENTITY NOTHING ", " IDENTITY DEFAULT ", " IDENTITY USING "]
        .iter()
        .any(|words| text.contains(words));
    (!takes || !text.contains(" ADD ")).then_some(takes)
}

/// Words before the table that a statement is about, by how it begins; the first that is there counts.
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
/// Words that can stand between those and the name.
const BETWEEN: [&str; 7] = ["IF", "EXISTS", "ONLY", "LOCAL", "VERBOSE", "FREEZE", "CONCURRENTLY"];

/// Tables that a statement acts on, that of a foreign key among them; none where it does not say, or says it in a way
/// that is not read.
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
    // A table that is made here is no table of a test.
    if own.is_none() && !text.starts_with("CREATE TABLE ") {
        return Vec::new();
    }
    let found: Option<Vec<String>> = own.into_iter().chain(other).map(name).collect();
    found.unwrap_or_default()
}

/// A table's name without its schema; none where it is a list, or no name.
fn name(word: &str) -> Option<String> {
    let plain = word.rsplit('.').next()?.trim_matches(['"', '`']);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    (!plain.is_empty() && plain.chars().all(is_name)).then(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts_by(sql: &str, cause: Cause) -> bool {
        matches!(Statement::parse(sql), Statement::Kind(causes, ..) if causes.contains(&cause))
    }

    #[test]
    fn a_check_acts_by_code_and_not_by_the_log() {
        let check = "ALTER TABLE sbtest1 ADD CONSTRAINT c CHECK (k > 0)";
        assert!(acts_by(check, Cause::Instructions) && !acts_by(check, Cause::Wal));
        assert_eq!(Statement::parse("alter table t add check(k>0)"), Statement::Kind(CODE, Log, More));
    }

    #[test]
    fn each_kind_acts_by_what_it_is_about() {
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
            ("VACUUM FULL t", Cause::HeapBlocks),
        ] {
            assert!(acts_by(sql, cause), "{sql}");
        }
    }

    #[test]
    fn what_changes_nothing_is_told_from_what_is_not_known() {
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
    fn what_a_statement_takes_away_is_told_from_what_it_adds() {
        for (sql, takes) in [
            ("CREATE INDEX ON t (k)", Some(false)),
            ("DROP INDEX k_1", Some(true)),
            ("ALTER TABLE t REPLICA IDENTITY DEFAULT", Some(true)),
            ("ALTER TABLE t DROP CONSTRAINT a, ADD CONSTRAINT b CHECK (k > 0)", None),
        ] {
            assert_eq!(takes_away(sql), takes, "{sql}");
        }
    }

    #[test]
    fn a_statement_says_which_tables_it_acts_on() {
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
