//! By what a statement can act that was run on one arm alone after its load.

use super::needs::Needs::{self, Autovacuum, Log, Nothing};
use super::postgres;
use crate::model::Cause;

const CODE: &[Cause] = &[Cause::Instructions, Cause::CpuTime, Cause::Function, Cause::Cycles];
const PLANNING: &[Cause] =
    &[Cause::QueryPlan, Cause::Planning, Cause::Instructions, Cause::CpuTime, Cause::Function];
/// What is stored, where and how much of it.
const LAYOUT: &[Cause] = &[
    Cause::QueryPlan,
    Cause::Planning,
    Cause::Size,
    Cause::HeapBlocks,
    Cause::HotUpdates,
    Cause::Rows,
    Cause::DeadRows,
    Cause::BufferMisses,
    Cause::Reads,
    Cause::BackendWrites,
    Cause::Checkpoint,
    Cause::Doublewrite,
    Cause::Wal,
    Cause::BinaryLog,
    Cause::Purge,
    Cause::Instructions,
    Cause::CpuTime,
    Cause::Function,
    Cause::Cycles,
    Cause::KernelTime,
];
/// What other statements that run with each change can do.
const MORE_STATEMENTS: &[Cause] = &[
    Cause::Rows,
    Cause::HeapBlocks,
    Cause::HotUpdates,
    Cause::BufferMisses,
    Cause::Reads,
    Cause::Wal,
    Cause::BinaryLog,
    Cause::Locks,
    Cause::Fsync,
    Cause::Waiting,
    Cause::KernelTime,
    Cause::Instructions,
    Cause::CpuTime,
    Cause::Function,
    Cause::Cycles,
];
const WHAT_IS_LOGGED: &[Cause] = &[
    Cause::Wal,
    Cause::Fsync,
    Cause::Waiting,
    Cause::KernelTime,
    Cause::Instructions,
    Cause::CpuTime,
    Cause::Function,
    Cause::Cycles,
];

/// A kind of statement: words of which it has all, what it can act by, and what has to be at work for that.
type Kind = (&'static [&'static str], &'static [Cause], Needs);

/// Kinds of statements, the narrower first: the first that fits counts.
static KINDS: [Kind; 34] = [
    (&["AUTOVACUUM"], postgres::AUTOVACUUM, Autovacuum),
    (&["TRIGGER"], MORE_STATEMENTS, Log),
    (&["CREATE RULE"], MORE_STATEMENTS, Nothing),
    (&["REPLICA IDENTITY"], WHAT_IS_LOGGED, Log),
    (&["PUBLICATION"], WHAT_IS_LOGGED, Log),
    (&["UNLOGGED"], WHAT_IS_LOGGED, Log),
    (&[" SET LOGGED"], WHAT_IS_LOGGED, Log),
    (&["PARALLEL_WORKERS"], &[Cause::QueryPlan, Cause::Background], Nothing),
    (&[" STATISTICS"], PLANNING, Nothing),
    (&["N_DISTINCT"], PLANNING, Nothing),
    (&["HISTOGRAM"], PLANNING, Nothing),
    (&[" STATS_"], PLANNING, Nothing),
    (&["VACUUM"], LAYOUT, Nothing),
    (&["ANALYZE"], PLANNING, Nothing),
    (&["POLICY"], PLANNING, Nothing),
    (&["ROW LEVEL SECURITY"], PLANNING, Nothing),
    (&["ADD COLUMN"], LAYOUT, Nothing),
    (&["FOREIGN KEY"], MORE_STATEMENTS, Log),
    (&[" REFERENCES "], MORE_STATEMENTS, Log),
    (&["INDEX"], LAYOUT, Nothing),
    (&["UNIQUE"], LAYOUT, Nothing),
    (&["PRIMARY KEY"], LAYOUT, Nothing),
    (&[" CHECK "], CODE, Log),
    (&[" NOT NULL"], CODE, Log),
    (&["ALTER TABLE"], LAYOUT, Nothing),
    (&["CREATE TABLE", "PARTITION OF"], LAYOUT, Nothing),
    (&["CLUSTER"], LAYOUT, Nothing),
    (&["OPTIMIZE"], LAYOUT, Nothing),
    (&["INSERT"], LAYOUT, Nothing),
    (&["UPDATE"], LAYOUT, Nothing),
    (&["DELETE"], LAYOUT, Nothing),
    (&["TRUNCATE"], LAYOUT, Nothing),
    (&["COPY"], LAYOUT, Nothing),
    (&["RENAME"], LAYOUT, Nothing),
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
    /// By these, where what it needs is at work.
    Kind(&'static [Cause], Needs),
    /// By what the settings act by that it names.
    Settings(Vec<String>),
    /// Nothing is known of it: it may have done anything.
    Unknown,
}

impl Statement {
    pub fn of(sql: &str) -> Self {
        let upper = sql.to_uppercase().replace('(', " (");
        let text = upper.split_whitespace().collect::<Vec<_>>().join(" ");
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
        if other_table && !text.contains("PARTITION OF") || text.starts_with("CREATE TEMP") {
            return Statement::Nothing;
        }
        let padded = format!(" {text} ");
        let kind = KINDS.iter().find(|(words, ..)| words.iter().all(|word| padded.contains(word)));
        kind.map_or(Statement::Unknown, |(_, causes, needs)| Statement::Kind(causes, *needs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts_by(sql: &str, cause: Cause) -> bool {
        matches!(Statement::of(sql), Statement::Kind(causes, _) if causes.contains(&cause))
    }

    #[test]
    fn a_check_acts_by_code_and_not_by_the_log() {
        let check = "ALTER TABLE sbtest1 ADD CONSTRAINT c CHECK (k > 0)";
        assert!(acts_by(check, Cause::Instructions) && !acts_by(check, Cause::Wal));
        assert_eq!(Statement::of("alter table t add check(k>0)"), Statement::Kind(CODE, Log));
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
            assert_eq!(Statement::of(sql), Statement::Nothing, "{sql}");
        }
        assert_eq!(Statement::of("SELECT pg_create_logical_replication_slot('a', 'b')"), Statement::Unknown);
        assert_eq!(
            Statement::of("ALTER DATABASE bench SET synchronous_commit = on"),
            Statement::Settings(vec!["synchronous_commit".into()])
        );
    }
}
