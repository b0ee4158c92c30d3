//! A plan from a workload that was captured: a slow query log of MySQL or MariaDB, or `pg_stat_statements` as CSV.

mod keys;
mod literals;
mod once;
mod sources;
mod times;

use std::collections::BTreeMap;
use std::io::BufRead;

use rqps_model::counted;

use super::pieces::{Piece, split};
use super::script::{VARIABLES_MAX, WEIGHTS};
use crate::Dialect;
use literals::{Literal, Seen, Shape, list_lengths};

/// Kinds of statements that become tests.
const TESTS_MAX: usize = 20;
/// Kinds that are told apart; an application has some hundreds.
const KINDS_MAX: usize = 20_000;
/// Lengths of lists that are told apart.
const FORMS_MAX: usize = 100;
/// Bounds of a value that the source does not have.
const RANGE_UNKNOWN: (i64, i64) = (1, 1000);
/// Longer statements load data.
const STATEMENT_BYTES_MAX: usize = 10_000;
const VERBS: [&str; 7] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "REPLACE", "CALL"];

/// Executions of a statement.
struct Execution {
    piece: Piece,
    calls: u64,
    seconds: f64,
}

/// Statements that differ only in their literals and in the lengths of IN-lists.
#[derive(Default)]
struct Kind {
    /// Those with lists of the same lengths.
    forms: BTreeMap<String, Form>,
    /// What was seen in each place of a literal.
    seen: Vec<Seen>,
    calls: u64,
    seconds: f64,
}

struct Form {
    /// The first of them.
    piece: Piece,
    literals: Vec<Literal>,
    calls: u64,
}

impl Kind {
    /// The form that was executed most often.
    fn form(&self) -> Option<&Form> {
        self.forms.values().max_by_key(|form| form.calls)
    }

    fn text(&self) -> &str {
        self.form().map_or("", |form| form.piece.text.as_str())
    }

    /// The key that it inserts, so that it can run only once.
    fn key(&self) -> Option<String> {
        let piece = &self.form()?.piece;
        keys::inserted_key(piece, &table_of(&words(&piece.text)))
    }

    /// `; lists of 2 to 7 values, most often 3`, if statements differ in that.
    fn lists(&self) -> String {
        let longest = |form: &Form| list_lengths(&form.literals).into_values().max().unwrap_or(0);
        let lengths = self.forms.values().map(longest);
        match (lengths.clone().min(), lengths.max(), self.form()) {
            (Some(least), Some(most), Some(form)) if least < most => {
                format!("; lists of {least} to {most} values, most often {}", longest(form))
            }
            _ => String::new(),
        }
    }
}

/// Reads a source and returns a plan that measures its statements, those with the greatest total time first.
///
/// # Errors
/// If it is of no known kind or has no statement, with the remedy.
pub fn plan_of(source: &mut dyn BufRead, name: &str) -> Result<String, String> {
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    let mut left_out = 0;
    let dialect = sources::read(source, &mut |execution| {
        let verb = execution.piece.text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let is_short = execution.piece.text.len() <= STATEMENT_BYTES_MAX;
        let of_statistics = execution.piece.text.contains("pg_stat_statements");
        if is_short && !of_statistics && VERBS.iter().any(|known| verb.eq_ignore_ascii_case(known)) {
            add(&mut kinds, execution);
        } else {
            left_out += execution.calls;
        }
    })?;
    let (waits, mut kinds): (Vec<Kind>, Vec<Kind>) =
        kinds.into_values().partition(|kind| kind.form().is_some_and(|form| once::waits(&form.piece)));
    kinds.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    if kinds.is_empty() {
        return Err(format!("{name} has no statement that reads or changes rows"));
    }
    let (again, once): (Vec<Kind>, Vec<Kind>) = kinds.into_iter().partition(|kind| kind.key().is_none());
    if again.is_empty() {
        return Err(format!(
            "{name} has no statement that can run again: each INSERT gives its rows their keys, which are there then"
        ));
    }
    Ok(written(&Kinds { again, once, waits }, dialect, name, left_out))
}

fn add(kinds: &mut BTreeMap<String, Kind>, Execution { piece, calls, seconds }: Execution) {
    let Shape { form, key, literals } = literals::shape(&piece);
    if kinds.len() == KINDS_MAX && !kinds.contains_key(&key) {
        return;
    }
    let kind = kinds.entry(key).or_default();
    for literal in &literals {
        kind.seen.resize_with(kind.seen.len().max(literal.slot + 1), Seen::default);
        kind.seen[literal.slot].add(literal, &piece.text[literal.from..literal.to]);
    }
    kind.calls += calls;
    kind.seconds += seconds;
    if kind.forms.len() < FORMS_MAX || kind.forms.contains_key(&form) {
        kind.forms.entry(form).or_insert(Form { piece, literals, calls: 0 }).calls += calls;
    }
}

/// The kinds of statements of a source.
struct Kinds {
    again: Vec<Kind>,
    /// Those that can run only once: they are comments in the plan.
    once: Vec<Kind>,
    /// Those that sleep, which takes time on any server. Comments, too.
    waits: Vec<Kind>,
}

/// Columns of comments.
const COMMENT_COLUMNS: usize = 110;

/// A text as lines of a comment.
fn comment(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), "#".to_owned());
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > COMMENT_COLUMNS {
            lines.push_str(&format!("{line}\n"));
            "#".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    format!("{lines}{line}\n")
}

fn written(kinds: &Kinds, dialect: Dialect, source: &str, left_out: u64) -> String {
    let Kinds { again, once, waits } = kinds;
    let total: f64 = again.iter().chain(once).map(|kind| kind.seconds).sum();
    let share = |seconds: f64| if total > 0.0 { 100.0 * seconds / total } else { 0.0 };
    let tests = &again[..again.len().min(TESTS_MAX)];
    let covered = share(tests.iter().map(|kind| kind.seconds).sum());
    let (scheme, dump, old, new) = match dialect {
        Dialect::Postgres => {
            ("postgresql", "pg_dump --no-owner DATABASE > dump.sql", "postgres-17", "postgres-18")
        }
        Dialect::Mysql => ("mysql", "mysqldump --hex-blob DATABASE > dump.sql", "mysql-8.0", "mysql-9.7"),
    };
    let mut head = format!(
        "Captured from {source}: {} of {} kinds of statements, {covered:.0} % of their time.",
        tests.len(),
        again.len() + once.len()
    );
    if left_out > 0 {
        head.push_str(&format!(
            " {left_out} other statements (transactions, settings, schema, bulk loads) are left out."
        ));
    }
    let has_values =
        !tests.iter().filter_map(Kind::form).flat_map(|form| &form.literals).any(|one| one.is_parameter);
    head.push_str(match has_values {
        true => " Check the ranges of the values, and",
        false => {
            " The source keeps no values: each random(1, 1000) is invented, and so are times: days after 2024-01-01. \
             Give them ranges, write texts in place of their variables, and"
        }
    });
    head.push_str(" name your versions, then: rqps run THIS_FILE. Before an upgrade, with your config:");
    let mut text = format!(
        "{}# rqps upgrade {old} {new} --config FILE --plan THIS_FILE\n\n\
         name = \"captured\"\nbase = \"old\"\nprotocol = \"isolated\"\nbudget = \"15m\"\n\n\
         [workload]\nbenchmark = \"sql\"\n\n\
         [sql]\ndump = \"dump.sql\"   # beside this file: {dump}\n\
         # or a database that is there: dump = \"{scheme}://USER@HOST:PORT/DATABASE\"\n\n[sql.tests]\n",
        comment(&head)
    );
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    let mut mix = Vec::new();
    for kind in tests {
        let name = name_of(kind.text());
        let repeated = names.entry(name.clone()).or_default();
        *repeated += 1;
        let name = if *repeated > 1 { format!("{name}-{repeated}") } else { name };
        let Captured { script, changes_once } = script_of(kind, dialect);
        let quoted = match script.contains("'''") {
            true => toml::Value::from(script).to_string(),
            false => format!("'''\n{script}'''"),
        };
        let (calls, lists) = (counted(kind.calls, "call"), kind.lists());
        text.push_str(&comment(&format!("{calls}, {:.1} % of the time{lists}", share(kind.seconds))));
        if changes_once {
            text.push_str(&comment(CHANGES_ONCE));
        }
        text.push_str(&format!("{name} = {quoted}\n"));
        mix.push((name, kind.calls));
    }
    text.push_str(&mix_of(&mix));
    for kind in once.iter().take(TESTS_MAX) {
        let (calls, share) = (counted(kind.calls, "call"), share(kind.seconds));
        let key = kind.key().unwrap_or_default();
        text.push_str(&left_out_kind(kind, &format!(
            "Left out: {calls}, {share:.1} % of the time. It inserts rows with their key ({key}), which fails once they are \
             there. Let the server make the key, or draw it from a range without rows:"
        )));
    }
    for kind in waits.iter().take(TESTS_MAX) {
        let calls = counted(kind.calls, "call");
        text.push_str(&left_out_kind(
            kind,
            &format!("Left out: {calls}. It sleeps, equally long on any version:"),
        ));
    }
    for (name, build) in [("old", old), ("new", new)] {
        text.push_str(&format!("\n[[arm]]\nname = \"{name}\"\nbuild = \"{build}\"\nconfig = \"sized\"\n"));
    }
    text
}

/// A kind as a comment, after the reason.
fn left_out_kind(kind: &Kind, why: &str) -> String {
    let lines = kind.text().lines().map(|line| format!("#   {line}\n"));
    std::iter::once(comment(why)).chain(lines).collect()
}

/// A mix of all tests by their calls, as a comment: it is another test, which takes its time.
fn mix_of(tests: &[(String, u64)]) -> String {
    let most = tests.iter().map(|(_, calls)| *calls).max().unwrap_or(0);
    if tests.len() < 2 || most == 0 {
        return String::new();
    }
    let of_weights = |calls: u64| match most > *WEIGHTS.end() {
        true => (calls as f64 / most as f64 * *WEIGHTS.end() as f64).round() as u64,
        false => calls,
    };
    let weights = tests.iter().map(|(name, calls)| format!("{name} = {}", of_weights(*calls).max(1)));
    let weights = weights.collect::<Vec<_>>().join(", ");
    format!(
        "{}# mix = {{ {weights} }}\n",
        comment("All of them as one more test, each as often as it was called:")
    )
}

/// A statement as a script.
struct Captured {
    script: String,
    /// Whether it changes nothing once it has run.
    changes_once: bool,
}

const CHANGES_ONCE: &str = "It changes nothing once it has run: draw what it sets, or which rows it changes.";

/// The statement as a script: values that vary become variables.
fn script_of(kind: &Kind, dialect: Dialect) -> Captured {
    let (text, literals) = kind.form().map_or(("", &[][..]), |form| (&form.piece.text, &form.literals));
    let (mut sets, mut sql, mut at) = (String::new(), String::new(), 0);
    let mut names: Vec<String> = Vec::new();
    for literal in literals.iter().take(VARIABLES_MAX) {
        let seen = &kind.seen[literal.slot];
        let (Seen { range, decimals, .. }, texts) = (seen, seen.texts());
        let vary = dialect == Dialect::Mysql && texts.iter().any(|text| *text != texts[0]);
        let (low, high) = match (range, literal.is_parameter) {
            // Postgres takes parameters for whole numbers.
            (Some((low, high)), _) if low < high && (*decimals == 0 || dialect == Dialect::Mysql) => {
                (*low, *high)
            }
            (_, true) => RANGE_UNKNOWN,
            _ if vary => (1, texts.len() as i64),
            _ => continue,
        };
        let column = literal.column.clone().filter(|column| !names.contains(column));
        let name = column.unwrap_or_else(|| format!("p{}", names.len() + 1));
        sets.push_str(&format!("\\set {name} random({low}, {high})\n"));
        sql.push_str(&text[at..literal.from]);
        match vary {
            true => sql.push_str(&format!("ELT(:{name}, {})", texts.join(", "))),
            false if *decimals > 0 => {
                let unit = format!("0.{:0>1$}", 1, *decimals as usize);
                sql.push_str(&format!("(:{name} * {unit})"));
            }
            false => match literal.time {
                Some(time) => sql.push_str(&time.expression(&name)),
                None => sql.push_str(&format!(":{name}")),
            },
        }
        at = literal.to;
        names.push(name);
    }
    sql.push_str(&text[at..]);
    let changes_once = names.is_empty() && kind.form().is_some_and(|form| once::changes_once(&form.piece));
    Captured { script: format!("{sets}{sql};\n"), changes_once }
}

/// The words of a statement in lower case.
fn words(statement: &str) -> Vec<String> {
    statement
        .split(|c: char| c.is_whitespace() || "(),;`\"".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

/// The first table that is named; may be empty.
fn table_of(words: &[String]) -> String {
    let before_table = |word: &String| ["from", "into", "update", "call"].contains(&word.as_str());
    let table = words.iter().position(before_table).and_then(|at| words.get(at + 1));
    table.map_or("", |table| table.rsplit('.').next().unwrap_or_default()).to_owned()
}

/// `select-orders`.
fn name_of(statement: &str) -> String {
    let words = words(statement);
    let verb = words.first().map_or("", String::as_str);
    let table = table_of(&words);
    let name = if table.is_empty() { verb.to_owned() } else { format!("{verb}-{table}") };
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    name.chars().filter(is_plain).take(50).collect()
}

/// The only statement of a text; `None` if there is none or it cannot be read.
fn statement(text: &str, dialect: Dialect) -> Option<Piece> {
    let is_setting = |piece: &Piece| {
        let upper = piece.text.to_ascii_uppercase();
        let mut words = upper.split([' ', '=']);
        match words.next() {
            Some("USE") => true,
            Some("SET") => words.next() == Some("TIMESTAMP"),
            _ => false,
        }
    };
    split(text, dialect).ok()?.into_iter().find(|piece| !is_setting(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW_LOG: &str = "mysqld, Version: 8.0.31 (MySQL). started with:\nTcp port: 3306  Unix socket: /s\n\
        Time                 Id Command    Argument\n\
        # Time: 2026-11-25T10:00:00.1Z\n# User@Host: a[a] @ localhost []  Id: 8\n\
        # Query_time: 0.500000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\nuse shop;\nSET timestamp=1;\n\
        SELECT note FROM shop.orders\nWHERE id = 17 AND kind = 'a;b' LIMIT 10;\n\
        # Time: 2026-11-25T10:00:01.1Z\n# User@Host: a[a] @ localhost []  Id: 8\n\
        # Query_time: 0.250000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\nSET timestamp=2;\n\
        SELECT note FROM shop.orders\nWHERE id = 3 AND kind = 'b' LIMIT 10;\n\
        # Query_time: 0.010000  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n# administrator command: Ping;\n\
        # Query_time: 0.250000  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n\
        UPDATE `orders` SET n2 = n2 + 1.5 WHERE id=9;\n\
        # Query_time: 0.0 Lock_time: 0.0 Rows_sent: 0 Rows_examined: 0\nCOMMIT;\n";

    fn plan(text: &str) -> Result<String, String> {
        plan_of(&mut text.as_bytes(), "the log")
    }

    #[test]
    fn a_slow_log_becomes_a_plan() {
        let plan = plan(SLOW_LOG).unwrap();
        assert!(plan.contains("2 of 2 kinds of statements, 100 % of their time. 1 other "), "{plan}");
        let select = "# 2 calls, 75.0 % of the time\nselect-orders = '''\n\\set id random(3, 17)\n\
                      \\set kind random(1, 2)\nSELECT note FROM shop.orders\n\
                      WHERE id = :id AND kind = ELT(:kind, 'a;b', 'b') LIMIT 10;\n'''\n";
        assert!(plan.contains(select), "{plan}");
        assert!(
            plan.contains("update-orders = '''\nUPDATE `orders` SET n2 = n2 + 1.5 WHERE id=9;\n'''"),
            "{plan}"
        );
        assert!(plan.contains("build = \"mysql-8.0\"") && plan.contains("mysqldump --hex-blob"), "{plan}");
        assert!(
            plan.contains("# rqps upgrade mysql-8.0 mysql-9.7 --config FILE --plan THIS_FILE\n"),
            "{plan}"
        );
        let read: toml::Table = plan.parse().unwrap();
        assert_eq!(read["sql"]["tests"].as_table().unwrap().len(), 2);
    }

    /// They are one kind; all values of a list have the same range.
    #[test]
    fn lists_of_different_lengths_are_one_test() {
        let logged =
            |sql: &str| format!("# Query_time: 1.0  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n{sql};\n");
        let log: String = [
            "SELECT a FROM t WHERE id IN (5, 3) AND b = 1",
            "SELECT a FROM t WHERE id IN (4,9,12) AND b = 1",
            "SELECT a FROM t WHERE id IN (20, 4) AND b = 1",
            "SELECT f(1, 2) FROM t",
            "SELECT f(1) FROM t",
            "SELECT a FROM t WHERE d = DATE '2026-01-01'",
            "SELECT a FROM t WHERE d = DATE '2026-01-02'",
        ]
        .into_iter()
        .map(logged)
        .collect();
        let plan = plan(&log).unwrap();
        assert!(plan.contains("4 of 4 kinds"), "{plan}");
        let lists = "# 3 calls, 42.9 % of the time; lists of 2 to 3 values, most often 2\nselect-t = '''\n\
                     \\set p1 random(3, 20)\n\\set p2 random(3, 20)\n\
                     SELECT a FROM t WHERE id IN (:p1, :p2) AND b = 1;\n'''\n";
        assert!(plan.contains(lists), "{plan}");
        assert!(plan.contains("WHERE d = DATE '2026-01-01';"), "a literal of several words: {plan}");
    }

    /// Drawn with as many decimals as the longest has. A text is drawn as often as it came, also if one comes late.
    #[test]
    fn decimals_and_repeated_texts_vary() {
        let logged = |values: (&str, &str, &str)| {
            let (price, tax, kind) = values;
            format!(
                "# Query_time: 1.0  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n\
                 SELECT a FROM t WHERE price = {price} AND tax > {tax} AND kind = '{kind}' AND f = 1.50;\n"
            )
        };
        let rows = [("7.5", "3", "a"), ("12.34", "0.05", "a"), ("8", "0.125", "a"), ("9.1", "1e1", "a")];
        let last = [("8", "1", "b")].into_iter().cycle().take(10);
        let log: String = rows.into_iter().cycle().take(30).chain(last).map(logged).collect();
        let plan = plan(&log).unwrap();
        let script = "\\set price random(750, 1234)\n\\set kind random(1, 4)\n\
                      SELECT a FROM t WHERE price = (:price * 0.01) AND tax > 3 AND \
                      kind = ELT(:kind, 'a', 'a', 'a', 'b') AND f = 1.50;\n";
        assert!(plan.contains(script), "{plan}");
    }

    #[test]
    fn statements_of_pg_stat_statements_become_a_plan() {
        let csv = "userid,query,calls,total_exec_time,rows\n\
            1,\"SELECT * FROM \"\"T\"\" WHERE a = $1 AND b IN ($2, $3)\",10,1500.5,10\n1,COMMIT,7,1,0\n\
            1,\"INSERT INTO t (v) VALUES ($1)\",3,500,3\n\
            1,\"SELECT pg_stat_statements_reset()\",1,9000,1\n";
        let plan = plan(csv).unwrap();
        let select = "select-t = '''\n\\set a random(1, 1000)\n\\set p2 random(1, 1000)\n\\set p3 random(1, 1000)\n\
                      SELECT * FROM \"T\" WHERE a = :a AND b IN (:p2, :p3);\n'''";
        assert!(plan.contains("# 10 calls, 75.0 % of the time\n") && plan.contains(select), "{plan}");
        assert!(plan.contains("insert-t = ") && plan.contains(". 8 other "), "{plan}");
        let head = plan.replace("\n#", "");
        assert!(head.contains("are left out. The source keeps no values: each random(1, 1000)"), "{plan}");
        assert!(plan.contains("build = \"postgres-18\""), "{plan}");
    }

    /// A variable is a whole number, which is no time.
    #[test]
    fn times_are_computed_from_their_variables() {
        let csv = "query,calls,total_exec_time\n\
            \"SELECT a FROM t WHERE d >= date $1 AND e < DATE $2 + interval $3 AND f > $4::timestamptz\",1,1\n\
            \"UPDATE u SET f = CAST($1 AS timestamp with time zone), update_time = $2 WHERE id = $3::int\",1,1\n";
        let plan = plan(csv).unwrap();
        let select = "SELECT a FROM t WHERE d >= (date '2024-01-01' + :d::int) AND \
                      e < (date '2024-01-01' + :e::int) + (:p3 * interval '1 day') AND \
                      f > (timestamptz '2024-01-01' + :f * interval '1 hour')::timestamptz;\n";
        assert!(plan.contains(select), "{plan}");
        let update = "UPDATE u SET f = CAST((timestamptz '2024-01-01' + :p1 * interval '1 hour') AS timestamp with \
                      time zone), update_time = :update_time WHERE id = :id::int;\n";
        assert!(plan.contains(update), "{plan}");
        assert!(plan.replace("\n#", "").contains("days after 2024-01-01"), "{plan}");
    }

    #[test]
    fn an_insert_of_a_key_becomes_a_comment() {
        let insert = "# Query_time: 1.000000  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n\
                      INSERT INTO orders (id, note)\nVALUES (18, 'x');\n";
        let plan = plan(&format!("{SLOW_LOG}{insert}")).unwrap();
        assert!(plan.contains("2 of 3 kinds of statements, 50 % of their time"), "{plan}");
        let said =
            "# Left out: 1 call, 50.0 % of the time. It inserts rows with their key (id), which fails once ";
        assert!(plan.contains(said), "{plan}");
        assert!(plan.contains("#   INSERT INTO orders (id, note)\n#   VALUES (18, 'x')\n"), "{plan}");
        let read: toml::Table = plan.parse().unwrap();
        assert_eq!(read["sql"]["tests"].as_table().unwrap().len(), 2);
        let alone = super::plan_of(&mut insert.as_bytes(), "the log").unwrap_err();
        assert!(alone.contains("no statement that can run again"), "{alone}");
    }

    #[test]
    fn what_sleeps_is_left_out_and_what_changes_once_is_marked() {
        let logged =
            |sql: &str| format!("# Query_time: 1.0  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n{sql};\n");
        let log: String = [
            "UPDATE t SET a = 7, b = 'x, y' WHERE id = 400",
            "UPDATE u SET a = a + 1 WHERE id = 400",
            "SELECT SLEEP(2)",
            "SELECT sleep FROM t",
            "SELECT sleep FROM t",
        ]
        .into_iter()
        .map(logged)
        .collect();
        let plan = plan(&log).unwrap();
        assert!(plan.contains("3 of 3 kinds of statements, 100 % of their time"), "{plan}");
        assert!(
            plan.contains("# 2 calls, 50.0 % of the time\nselect-t = "),
            "its time is not counted: {plan}"
        );
        assert!(plan.contains("It sleeps, equally long on any version:\n#   SELECT SLEEP(2)\n"), "{plan}");
        assert!(plan.contains(&format!("# {CHANGES_ONCE}\nupdate-t = ")), "{plan}");
        assert_eq!(plan.matches(CHANGES_ONCE).count(), 1, "{plan}");
        assert!(plan.contains("\n# mix = { select-t = 2, "), "{plan}");
        let mixed: toml::Table = plan.replace("# mix =", "mix =").parse().unwrap();
        assert_eq!(mixed["sql"]["tests"]["mix"]["update-u"].as_integer(), Some(1));
    }

    #[test]
    fn other_files_are_refused_with_the_remedy() {
        for (text, words) in [
            ("", "the file is empty: give a slow query log"),
            ("SELECT 1;\n", "slow query log"),
            ("query,rows\nSELECT 1,2\n", "column `calls`"),
            ("# Query_time: 0.1 Lock_time: 0\nCOMMIT;\n", "no statement that reads or changes rows"),
        ] {
            let why = plan(text).unwrap_err();
            assert!(why.contains(words), "{text:?}: {why}");
        }
    }
}
