//! Scripts of the user's own: SQL statements that end with `;`, and of pgbench's language `\set` and `:variable`.

use std::ops::RangeInclusive;

use crate::Dialect;
use crate::expression::{self, CLIENT_ID, Event, Expression, Value, variable_meant};
use crate::model::Expect;

use super::pieces::{DELIMITER, Mistakes, Piece, ROWS, Split, in_words, is_word, split_all};

/// A parsed script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub draws: Vec<Expression>,
    /// Whether it begins with BEGIN and ends with COMMIT, which are not among the statements.
    pub transaction: bool,
    pub statements: Vec<Parsed>,
}

/// A statement with a `?` for each value, and `?` and `{` of its own replaced by [`crate::dialect::escaped`].
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The line on which it starts, from 1.
    pub line: usize,
    pub sql: String,
    /// The variable of each `?`, by its index in [`Script::draws`].
    pub variables: Vec<u16>,
    pub expect: Expect,
}

/// Lengths of names and numbers are limited by the plan's; this many variables suffice for any script, also one with a
/// long list.
pub(super) const VARIABLES_MAX: usize = 1000;
/// Weights of scripts. Those of pgbench are no larger.
pub(super) const WEIGHTS: RangeInclusive<u64> = 1..=1_000_000;

/// The variables of a script.
#[derive(Default)]
struct Variables {
    names: Vec<String>,
    expressions: Vec<Expression>,
    /// Values with the middle of each range for what is random.
    samples: Vec<Value>,
    /// Names with a mistake, which is reported once.
    mistaken: Vec<String>,
}

impl Variables {
    fn add(&mut self, name: &str, expression: Expression) -> Result<(), String> {
        if self.names.iter().any(|known| known == name) {
            return Err(format!("`{name}` is set twice"));
        }
        if self.names.len() == VARIABLES_MAX {
            return Err(format!("more than {VARIABLES_MAX} variables"));
        }
        let mut event = Event { values: &self.samples, client: 0, random: None };
        let sample = expression.value(&mut event)?;
        self.names.push(name.to_owned());
        self.expressions.push(expression);
        self.samples.push(sample);
        Ok(())
    }

    /// Adds the variable that a `\set` sets.
    fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        let expression = expression::parse(text, &self.names);
        let Err(why) = expression.and_then(|expression| self.add(name, expression)) else { return Ok(()) };
        // What follows from a mistake in another variable is none.
        let follows = self.mistaken.iter().any(|name| {
            text.split(':').skip(1).any(|after| after.split(|c| !is_word(c)).next() == Some(name.as_str()))
        });
        self.mistaken.push(name.to_owned());
        if follows { Ok(()) } else { Err(why) }
    }

    /// The index of a variable that a statement uses; of one with a mistake, any.
    fn index(&mut self, name: &str) -> Result<u16, String> {
        if self.mistaken.iter().any(|mistaken| mistaken == name) {
            return Ok(0);
        }
        if name == CLIENT_ID && !self.names.iter().any(|known| known == name) {
            self.add(name, Expression::ClientId)?;
        }
        let index = self.names.iter().position(|known| known == name);
        if let Some(index) = index.filter(|index| matches!(self.samples[*index], Value::Whole(_))) {
            return Ok(index as u16);
        }
        self.mistaken.push(name.to_owned());
        let value = if name == "scale" { "10" } else { "random(1, 1000)" };
        Err(match index {
            Some(_) => {
                format!("`{name}` is not a whole number, as parameters are: write int(…) in its \\set")
            }
            None => match variable_meant(name, &self.names) {
                Some(near) => {
                    format!("no variable `{name}`: did you mean `:{near}`? Or add \\set {name} {value}")
                }
                None => format!("no variable `{name}`: add \\set {name} {value}"),
            },
        })
    }
}

/// Parses a script.
///
/// # Errors
/// All its mistakes, each with its line.
pub fn parse(text: &str, dialect: Dialect) -> Result<Script, Vec<String>> {
    let (mut variables, mut mistakes) = (Variables::default(), Mistakes::new());
    // Keeps the lines' numbers.
    let mut sql_text = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        sql_text.push('\n');
        let Some(command) = line.trim_start().strip_prefix('\\') else {
            sql_text.insert_str(sql_text.len() - 1, line);
            continue;
        };
        let mut command = command.trim_end().to_owned();
        // A command goes on in the next line.
        while command.ends_with('\\') {
            command.pop();
            let Some((_, next)) = lines.next() else { break };
            command.push_str(next.trim_end());
            sql_text.push('\n');
        }
        mistakes.extend(set(&command, &mut variables).err().map(|why| (at + 1, why)));
    }
    let Split { mut pieces, last, mistakes: of_text } =
        split_all(&sql_text, dialect, &mut DELIMITER.to_owned());
    pieces.extend(last);
    mistakes.extend(of_text);
    let mut statements: Vec<(usize, Parsed)> = pieces
        .iter()
        .map(|piece| (piece.line, statement(piece, dialect, &mut variables, &mut mistakes)))
        .collect();
    let transaction = take_transaction(&mut statements, &mut mistakes);
    if !mistakes.is_empty() {
        return Err(in_words(mistakes));
    }
    if statements.is_empty() {
        return Err(vec!["it has no statement".to_owned()]);
    }
    let draws = variables.expressions;
    Ok(Script { draws, transaction, statements: statements.into_iter().map(|(_, one)| one).collect() })
}

/// A statement that controls a transaction.
#[derive(Clone, Copy, PartialEq)]
enum Control {
    Begin,
    Commit,
    /// It ends the transaction without a COMMIT.
    Rollback,
    /// It needs a transaction and stays in it.
    Savepoint,
}

impl Control {
    fn of(sql: &str) -> Option<Self> {
        let upper = sql.to_ascii_uppercase();
        let words: Vec<&str> = upper.split_whitespace().collect();
        Some(match words.as_slice() {
            ["BEGIN"] | ["BEGIN" | "START", "TRANSACTION"] | ["BEGIN", "WORK"] => Self::Begin,
            ["COMMIT" | "END"] | ["COMMIT" | "END", "TRANSACTION" | "WORK"] => Self::Commit,
            ["SAVEPOINT" | "RELEASE", ..] | ["ROLLBACK", "TO", ..] | ["ROLLBACK", _, "TO", ..] => {
                Self::Savepoint
            }
            ["ROLLBACK" | "ABORT", ..] => Self::Rollback,
            _ => return None,
        })
    }
}

/// Removes BEGIN and COMMIT around the statements; whether they were there.
fn take_transaction(statements: &mut Vec<(usize, Parsed)>, mistakes: &mut Mistakes) -> bool {
    let is = |parsed: &Parsed, control| Control::of(&parsed.sql) == Some(control);
    let transaction = statements.first().is_some_and(|(_, first)| is(first, Control::Begin));
    if transaction {
        let (line, _) = statements.remove(0);
        let ends = statements.pop_if(|(_, last)| is(last, Control::Commit)).is_some();
        // That is told of the ROLLBACK.
        if !ends && !statements.last().is_some_and(|(_, last)| is(last, Control::Rollback)) {
            mistakes.push((line, "a script that starts with BEGIN must end with COMMIT".to_owned()));
        }
    }
    for (line, parsed) in statements.iter() {
        let word = parsed.sql.split_whitespace().next().unwrap_or_default();
        let why = match Control::of(&parsed.sql) {
            Some(Control::Begin | Control::Commit) => {
                "BEGIN can only be the first statement, COMMIT the last".to_owned()
            }
            Some(Control::Rollback) => format!(
                "`{word}` is not supported: a transaction ends with COMMIT, the last statement of its script"
            ),
            Some(Control::Savepoint) if !transaction => format!(
                "`{word}` is not in a transaction: BEGIN must be the first statement, COMMIT the last"
            ),
            Some(Control::Savepoint) | None => continue,
        };
        mistakes.push((*line, why));
    }
    transaction
}

/// `set id random(1, 1000)`.
fn set(command: &str, variables: &mut Variables) -> Result<(), String> {
    let mut words = command.splitn(3, char::is_whitespace);
    let word = words.next().unwrap_or_default();
    if word != "set" {
        return Err(unsupported(word));
    }
    let (Some(name), Some(text)) = (words.next(), words.next()) else {
        return Err("write \\set NAME EXPRESSION".to_owned());
    };
    if name.is_empty() || !name.chars().all(is_word) {
        return Err(format!("`{name}` is not a variable's name: use letters, digits and _"));
    }
    variables.set(name, text)
}

/// Why a command other than `\set` is none here, and what to do.
fn unsupported(word: &str) -> String {
    let remedy = match word {
        "sleep" => "leave it out; `rate_per_second` in [test.NAME] paces clients",
        "if" | "elif" | "else" | "endif" => {
            "write a script for each branch and mix them by weight, or CASE … END in a \\set"
        }
        "gset" | "aset" => "what a statement returns is not kept; let the next statement select it",
        "shell" | "setshell" => "no other program runs while a test is measured; compute the value by \\set",
        "startpipeline" | "endpipeline" | "syncpipeline" => {
            "leave it out; each statement waits for the one before"
        }
        "setrandom" => "write \\set NAME random(LOW, HIGH)",
        "g" | "G" => "end the statement with ;",
        _ => "write \\set NAME EXPRESSION, for example \\set id random(1, 1000)",
    };
    format!("`\\{word}` is not supported: {remedy}")
}

/// Replaces `:name` by `?`.
fn statement(piece: &Piece, dialect: Dialect, names: &mut Variables, mistakes: &mut Mistakes) -> Parsed {
    let mut mistake = |line: usize, why: String| mistakes.push((line, why));
    let mut sql = String::new();
    let mut variables = Vec::new();
    let mut at = 0;
    let text = piece.text.as_str();
    while at < text.len() {
        if let Some((_, end)) = piece.quoted().iter().find(|(from, _)| *from == at) {
            let end = (*end).min(text.len());
            sql.push_str(&crate::dialect::escaped(&text[at..end]));
            at = end;
            continue;
        }
        let rest = &text[at..];
        let c = rest.chars().next().unwrap_or_default();
        let name: String = rest[c.len_utf8()..].chars().take_while(|c| is_word(*c)).collect();
        // MySQL's `\N` is NULL; nothing else outside of quotes has a backslash.
        if c == '\\' && !(dialect == Dialect::Mysql && name == "N") {
            let line = piece.line + text[..at].matches('\n').count();
            mistake(
                line,
                match name.as_str() {
                    "set" => "`\\set` must be the first of its line".to_owned(),
                    word => unsupported(word),
                },
            );
            // All of the line is the command's.
            at += rest.find('\n').unwrap_or(rest.len());
        // `::` is a cast of Postgres, `:=` an assignment of MySQL.
        } else if rest.starts_with("::") {
            sql.push_str("::");
            at += 2;
        } else if c == ':' && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let line = piece.line + text[..at].matches('\n').count();
            variables.push(names.index(&name).unwrap_or_else(|why| {
                mistake(line, why);
                0
            }));
            sql.push('?');
            at += 1 + name.len();
        } else {
            if is_parameter(&text[..at], rest, dialect) {
                let line = piece.line + text[..at].matches('\n').count();
                let sign = if c == '?' { "?".to_owned() } else { format!("${name}") };
                mistake(
                    line,
                    format!("`{sign}` has no value: use \\set id random(1, 1000) and :id in its place"),
                );
            }
            sql.push_str(&crate::dialect::escaped(&rest[..c.len_utf8()]));
            at += c.len_utf8();
        }
    }
    let expect = expect(piece).unwrap_or_else(|why| {
        mistake(piece.line, why);
        Expect::AnyRows
    });
    Parsed { line: piece.line, sql, variables, expect }
}

/// Whether a parameter begins that has no value, as a prepared statement of another program has: `$1`, or `?` of MySQL.
fn is_parameter(before: &str, rest: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Postgres => {
            let is_numbered =
                rest.strip_prefix('$').is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()));
            is_numbered && !before.ends_with(is_word)
        }
        Dialect::Mysql => rest.starts_with('?'),
    }
}

const WRITES: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"];

fn expect(piece: &Piece) -> Result<Expect, String> {
    let is = |word: &str, verbs: &[&str]| verbs.iter().any(|verb| word.eq_ignore_ascii_case(verb));
    let mut words = piece.text.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    let verb = words.next().unwrap_or_default();
    // These may change rows without saying how many.
    let writes_within =
        is(verb, &["CALL", "DO"]) || is(verb, &["WITH"]) && words.any(|word| is(word, &WRITES));
    match (is(verb, &WRITES), piece.rows) {
        (false, Some(_)) if writes_within => {
            Err(format!("`-- {ROWS}` is not supported before a {verb} that may change rows"))
        }
        (false, None) if writes_within => Ok(Expect::AnyChanged),
        (false, Some(rows)) => Ok(Expect::Rows(rows)),
        (false, None) => Ok(Expect::AnyRows),
        (true, Some(rows)) => Ok(Expect::ChangedRows(rows)),
        (true, None) => Ok(Expect::AnyChanged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Script, Vec<String>> {
        super::parse(text, Dialect::Postgres)
    }

    #[test]
    fn statements_that_may_write_are_known() {
        let expect = |sql: &str| parse(sql).unwrap().statements[0].expect;
        assert_eq!(
            expect("WITH d AS (DELETE FROM t RETURNING id) SELECT count(*) FROM d"),
            Expect::AnyChanged
        );
        assert_eq!(expect("WITH d AS (SELECT 1) SELECT * FROM d"), Expect::AnyRows);
    }

    #[test]
    fn a_script_of_pgbench_is_parsed() {
        let script = parse(
            "\\set aid random(1, 100000 * 2)\n\\set hot random_zipfian(1, 50, 1.2)\nBEGIN;\n\
             UPDATE accounts SET n = n + :hot WHERE aid = :aid; -- a comment; with a semicolon\n-- rows: 1\n\
             SELECT n::int, ':aid', '{\"a\": 1}' ? 'a' FROM accounts\n WHERE aid = :aid;\nEND;\n",
        )
        .unwrap();
        assert!(script.transaction);
        let sample =
            |at: usize| script.draws[at].value(&mut Event { values: &[], client: 0, random: None }).unwrap();
        assert_eq!((sample(0), sample(1)), (Value::Whole(100_000), Value::Whole(25)));
        let [update, select] = script.statements.as_slice() else { panic!("{script:?}") };
        assert_eq!(update.sql, "UPDATE accounts SET n = n + ? WHERE aid = ?");
        assert_eq!((update.variables.as_slice(), update.expect), ([1, 0].as_slice(), Expect::AnyChanged));
        assert_eq!((select.variables.as_slice(), select.expect), ([0].as_slice(), Expect::Rows(1)));
        assert!(
            select.sql.contains("n::int, ':aid'") && select.sql.matches('?').count() == 1,
            "{}",
            select.sql
        );
    }

    #[test]
    fn a_transaction_may_have_savepoints() {
        let text = "BEGIN WORK;\nSAVEPOINT a;\nSELECT 1;\nROLLBACK WORK TO a;\nRELEASE a;\nEND TRANSACTION;";
        let script = parse(text).unwrap();
        assert_eq!((script.transaction, script.statements.len()), (true, 4));
        assert_eq!(parse("BEGIN;\nROLLBACK").unwrap_err().len(), 1, "one mistake is told once");
    }

    #[test]
    fn a_backslash_is_no_command_in_quotes_or_as_null_of_mysql() {
        assert!(parse("SELECT E'\\n', '\\gset';").is_ok());
        assert!(super::parse("SELECT \\N;", Dialect::Mysql).is_ok());
        assert!(super::parse("SELECT 1\\G", Dialect::Mysql).is_err());
    }

    /// Variables of variables, and a command that goes on in the next line.
    #[test]
    fn expressions_of_pgbench_are_parsed() {
        let script = parse(
            "\\set scale 3\n\\set rows \\\n  100 * :scale\n\\set id random(1, :rows) + :client_id\n\
             SELECT :id, :client_id;\nSELECT 1 FROM t WHERE a = :b;",
        );
        assert_eq!(script.unwrap_err().join(", "), "line 6: no variable `b`: add \\set b random(1, 1000)");
        let script = parse(
            "\\set scale 3\n\\set rows 100 * :scale\n\\set id random(1, :rows)\nSELECT :id, :client_id;",
        )
        .unwrap();
        assert_eq!(script.statements[0].variables, [2, 3]);
        let mut values = Vec::new();
        for expression in &script.draws {
            let value = expression.value(&mut Event { values: &values, client: 7, random: None }).unwrap();
            values.push(value);
        }
        assert_eq!(values, [3, 300, 150, 7].map(Value::Whole));
    }

    #[test]
    fn mistakes_name_their_line() {
        let all = parse(
            "\\set a random(9, 1)\n\\set b :a + 1\n\\sleep 1\n\\set c 5 / (:a - 1)\n-- rows: one\nSELECT :a, :b;\n\
             SELECT :c,\n:d, :d;\n-- rows: 1\nCALL pay(:e);\nCOMMIT;\nSELECT 'x\n",
        );
        assert_eq!(
            all.unwrap_err(),
            [
                "line 1: 9 is above 1",
                "line 3: `\\sleep` is not supported: leave it out; `rate_per_second` in [test.NAME] paces clients",
                "line 5: write -- rows: and a whole number",
                "line 8: no variable `d`: add \\set d random(1, 1000)",
                "line 10: no variable `e`: add \\set e random(1, 1000)",
                "line 10: `-- rows:` is not supported before a CALL that may change rows",
                "line 11: BEGIN can only be the first statement, COMMIT the last",
                "line 12: the quote does not end",
            ]
        );
        for (text, words) in [
            ("", "no statement"),
            ("SELECT 1;\n\\sleep 1", "line 2: `\\sleep` is not supported: leave it out"),
            ("\\if 1 > 0\nSELECT 1;", "line 1: `\\if` is not supported: write a script for each branch"),
            ("SELECT 1 \\\n\\gset\n", "line 2: `\\gset` is not supported"),
            ("SELECT 1; \\gset\n", "line 1: `\\gset` is not supported: what a statement returns is not kept"),
            ("SELECT 1;\nSELECT 2 \\gset p_\nSELECT 3;", "line 2: `\\gset` is not supported"),
            ("SELECT 1; \\set a random(1, :b)", "line 1: `\\set` must be the first of its line"),
            ("SELECT 1\\G", "line 1: `\\G` is not supported: end the statement with ;"),
            ("\\set a 5 / 2.0\nSELECT :a", "line 2: `a` is not a whole number"),
            ("\\set a 1 / 0\nSELECT :a", "line 1: a division by zero"),
            ("\\set a 1\n\\set a 2\nSELECT :a", "line 2: `a` is set twice"),
            ("SELECT 1;\nSELECT $1", "line 2: `$1` has no value: use \\set id random(1, 1000) and :id"),
            ("SELECT :scale", "line 1: no variable `scale`: add \\set scale 10"),
            ("\\set a random(9, 1)\nSELECT :a", "line 1: 9 is above 1"),
            ("SELECT 1;\n\nSELECT :b", "line 3: no variable `b`"),
            (
                "\\set id random(1, 9)\nSELECT :id;\nSELECT :idd",
                "line 3: no variable `idd`: did you mean `:id`? Or add \\set idd random(1, 1000)",
            ),
            ("SELECT :clientid", "line 1: no variable `clientid`: did you mean `:client_id`?"),
            (
                "\\set customers 10\n\\set c random(1, :custmers)\nSELECT :c",
                "line 2: no variable `custmers` is set before; did you mean `:customers`?",
            ),
            ("\\set c 1\nSELECT :cc", "line 2: no variable `cc`: did you mean `:c`?"),
            // A letter is not a slip of another.
            ("\\set a 1\nSELECT :b", "line 2: no variable `b`: add"),
            ("SELECT 'a", "line 1: the quote does not end"),
            ("BEGIN; SELECT 1;", "must end with COMMIT"),
            ("SELECT 1; BEGIN; SELECT 2", "line 1: BEGIN can only be the first"),
            ("SELECT 1;\nrollback;", "line 2: `rollback` is not supported: a transaction ends with COMMIT"),
            ("BEGIN;\nSELECT 1;\nABORT WORK", "line 3: `ABORT` is not supported"),
            (
                "SELECT 1;\nSAVEPOINT a;",
                "line 2: `SAVEPOINT` is not in a transaction: BEGIN must be the first",
            ),
            ("RELEASE a;\nSELECT 1;", "line 1: `RELEASE` is not in a transaction"),
            ("SELECT 1;\nROLLBACK TO a;", "line 2: `ROLLBACK` is not in a transaction"),
            ("-- rows: many\nSELECT 1", "line 1: write -- rows: and a whole number"),
            ("-- row: 1\nSELECT 1", "line 1: write -- rows: and a whole number"),
            ("-- rows: 1\nCALL pay()", "line 2: `-- rows:` is not supported before a CALL"),
        ] {
            let message = parse(text).unwrap_err().join(", ");
            assert!(message.contains(words), "{text:?}: {message}");
        }
    }
}
