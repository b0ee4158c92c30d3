//! Scripts of the user's own: SQL statements that end with `;`, and of pgbench's language `\set` and `:variable`.

use crate::Dialect;
use crate::expression::{self, Event, Expression, Value};
use crate::model::Expect;

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
    pub sql: String,
    /// The variable of each `?`, by its index in [`Script::draws`].
    pub variables: Vec<u16>,
    pub expect: Expect,
}

/// Lengths of names and numbers are limited by the plan's; this many variables suffice for any script, also one with a
/// long list.
pub(super) const VARIABLES_MAX: usize = 1000;
/// A variable that every script has.
const CLIENT_ID: &str = "client_id";
/// A comment before a statement that says how many rows it returns or changes.
const ROWS: &str = "rows:";

/// The variables of a script.
#[derive(Default)]
struct Variables {
    names: Vec<String>,
    expressions: Vec<Expression>,
    /// Values with the middle of each range for what is random.
    samples: Vec<Value>,
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

    /// The index of a variable that a statement uses.
    fn index(&mut self, name: &str) -> Result<u16, String> {
        if name == CLIENT_ID && !self.names.iter().any(|known| known == name) {
            self.add(name, Expression::ClientId)?;
        }
        let Some(index) = self.names.iter().position(|known| known == name) else {
            let value = if name == "scale" { "10" } else { "random(1, 1000)" };
            return Err(format!("no variable `{name}`: add \\set {name} {value}"));
        };
        match self.samples[index] {
            Value::Whole(_) => Ok(index as u16),
            _ => Err(format!("`{name}` is not a whole number, as parameters are: write int(…) in its \\set")),
        }
    }
}

/// Parses a script; an error names the line, from 1.
pub fn parse(text: &str, dialect: Dialect) -> Result<Script, String> {
    let mut variables = Variables::default();
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
        set(&command, &mut variables).map_err(|why| format!("line {}: {why}", at + 1))?;
    }
    let mut statements = Vec::new();
    for piece in split(&sql_text, dialect)? {
        let parsed =
            statement(&piece, &mut variables).map_err(|why| format!("line {}: {why}", piece.line))?;
        statements.push((piece.line, parsed));
    }
    let is = |parsed: &Parsed, words: &[&str]| words.iter().any(|word| parsed.sql.eq_ignore_ascii_case(word));
    let begins = ["BEGIN", "START TRANSACTION"];
    let ends = ["COMMIT", "END"];
    let transaction = statements.first().is_some_and(|(_, first)| is(first, &begins));
    if transaction {
        statements.remove(0);
        if statements.pop().is_none_or(|(_, last)| !is(&last, &ends)) {
            return Err("a script that starts with BEGIN must end with COMMIT".to_owned());
        }
    }
    if let Some((line, _)) = statements.iter().find(|(_, one)| is(one, &begins) || is(one, &ends)) {
        return Err(format!("line {line}: BEGIN can only be the first statement, COMMIT the last"));
    }
    if statements.is_empty() {
        return Err("it has no statement".to_owned());
    }
    let draws = variables.expressions;
    Ok(Script { draws, transaction, statements: statements.into_iter().map(|(_, one)| one).collect() })
}

/// `set id random(1, 1000)`.
fn set(command: &str, variables: &mut Variables) -> Result<(), String> {
    let mut words = command.splitn(3, char::is_whitespace);
    let word = words.next().unwrap_or_default();
    if word != "set" {
        let remedy = match word {
            "sleep" => "leave it out; `rate_per_second` in [test.NAME] paces clients",
            "if" | "elif" | "else" | "endif" => {
                "write a script for each branch and mix them by weight, or CASE … END in a \\set"
            }
            "gset" | "aset" => "what a statement returns is not kept; let the next statement select it",
            "shell" | "setshell" => {
                "no other program runs while a test is measured; compute the value by \\set"
            }
            "startpipeline" | "endpipeline" | "syncpipeline" => {
                "leave it out; each statement waits for the one before"
            }
            "setrandom" => "write \\set NAME random(LOW, HIGH)",
            _ => "write \\set NAME EXPRESSION, for example \\set id random(1, 1000)",
        };
        return Err(format!("`\\{word}` is not supported: {remedy}"));
    }
    let (Some(name), Some(text)) = (words.next(), words.next()) else {
        return Err("write \\set NAME EXPRESSION".to_owned());
    };
    if name.is_empty() || !name.chars().all(is_word) {
        return Err(format!("`{name}` is not a variable's name: use letters, digits and _"));
    }
    variables.add(name, expression::parse(text, &variables.names)?)
}

pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A statement as written, without its `;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The line on which it starts, from 1.
    pub line: usize,
    pub text: String,
    /// The comment `-- rows: N` before it.
    pub rows: Option<u32>,
    /// Ranges of `text` in quotes, where a colon does not name a variable.
    quoted: Vec<(usize, usize)>,
}

impl Piece {
    /// Ranges of the text in quotes.
    pub(super) fn quoted(&self) -> &[(usize, usize)] {
        &self.quoted
    }
}

/// Splits SQL into statements at `;` outside of quotes and comments; drops comments, except those with hints to an
/// optimizer (`/*+`) or with SQL for some versions of MySQL (`/*!`).
pub fn split(text: &str, dialect: Dialect) -> Result<Vec<Piece>, String> {
    let (mut pieces, last) = split_some(text, dialect, &mut DELIMITER.to_owned())?;
    pieces.extend(last);
    Ok(pieces)
}

/// What ends a statement if a script does not say.
pub(super) const DELIMITER: &str = ";";

/// As [`split`], also returns a last statement that no delimiter ends. `delimiter` is the one at the start, and becomes
/// the one at the end.
pub(super) fn split_some(
    text: &str,
    dialect: Dialect,
    delimiter: &mut String,
) -> Result<(Vec<Piece>, Option<Piece>), String> {
    let mut pieces = Vec::new();
    let empty = |line| Piece { line, text: String::new(), rows: None, quoted: Vec::new() };
    let (mut line, mut piece) = (1, empty(1));
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let before = text[..text.len() - rest.len()].chars().next_back();
        let length = if is_comment(rest, dialect) {
            let comment = rest.lines().next().unwrap_or_default();
            let comment_text = comment.trim_start_matches(['-', '#']).trim();
            if comment_text.starts_with("row:") {
                return Err(format!("line {line}: write -- {ROWS} and a whole number"));
            }
            if let Some(rows) = comment_text.strip_prefix(ROWS) {
                let rows = rows.trim().parse();
                piece.rows =
                    Some(rows.map_err(|_| format!("line {line}: write -- {ROWS} and a whole number"))?);
            }
            rest = &rest[comment.len()..];
            continue;
        } else if rest.starts_with("/*") {
            let end = comment_length(rest, dialect);
            let end = end.ok_or_else(|| format!("line {line}: the comment does not end"))?;
            if rest[2..].starts_with(['+', '!']) {
                end
            } else {
                line += rest[..end].matches('\n').count();
                rest = &rest[end..];
                continue;
            }
        } else {
            let quoted = quoted_length(rest, before, dialect);
            quoted.ok_or_else(|| format!("line {line}: the quote does not end"))?
        };
        if length == 0 && rest.starts_with(delimiter.as_str()) {
            if !piece.text.trim().is_empty() {
                pieces.push(std::mem::replace(&mut piece, empty(line)));
            }
            rest = &rest[delimiter.len()..];
            continue;
        }
        if dialect == Dialect::Mysql
            && piece.text.trim().is_empty()
            && let Some(new) = new_delimiter(rest)
        {
            new.clone_into(delimiter);
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        if piece.text.trim().is_empty() {
            piece.text.clear();
            piece.quoted.clear();
            piece.line = line;
        }
        let length = if length > 0 {
            piece.quoted.push((piece.text.len(), piece.text.len() + length));
            length
        } else {
            c.len_utf8()
        };
        piece.text.push_str(&rest[..length]);
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    let mut last = (!piece.text.trim().is_empty()).then_some(piece);
    pieces.iter_mut().chain(&mut last).for_each(|piece| piece.text.truncate(piece.text.trim_end().len()));
    Ok((pieces, last))
}

/// The delimiter that a line of the `mysql` program sets: `DELIMITER //`.
fn new_delimiter(text: &str) -> Option<&str> {
    let mut words = text.lines().next()?.split_whitespace();
    words.next().filter(|word| word.eq_ignore_ascii_case("DELIMITER"))?;
    words.next()
}

/// The length of the comment in `/* */` that begins here; None if it does not end. Those of Postgres nest.
fn comment_length(text: &str, dialect: Dialect) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") && (depth == 0 || dialect == Dialect::Postgres) {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    None
}

/// Whether a comment to the end of the line begins here.
fn is_comment(text: &str, dialect: Dialect) -> bool {
    match (dialect, text.strip_prefix("--")) {
        (Dialect::Postgres, after) => after.is_some(),
        (Dialect::Mysql, Some(after)) => after.is_empty() || after.starts_with(char::is_whitespace),
        (Dialect::Mysql, None) => text.starts_with('#'),
    }
}

/// The length of the quoted text that begins here: 0 if none does, None if it does not end. `before` is the character
/// before it.
fn quoted_length(text: &str, before: Option<char>, dialect: Dialect) -> Option<usize> {
    let quote = match (dialect, text.chars().next()) {
        (_, Some(quote @ ('\'' | '"'))) | (Dialect::Mysql, Some(quote @ '`')) => quote,
        (Dialect::Postgres, Some('$')) => return dollar_quoted_length(text),
        _ => return Some(0),
    };
    let escapes = match dialect {
        Dialect::Postgres => quote == '\'' && before.is_some_and(|c| c.eq_ignore_ascii_case(&'E')),
        Dialect::Mysql => quote != '`',
    };
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && escapes {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// [`quoted_length`] of Postgres' `$tag$ … $tag$`.
fn dollar_quoted_length(text: &str) -> Option<usize> {
    let is_tag = |tag: &&str| tag.chars().all(is_word) && !tag.starts_with(|c: char| c.is_ascii_digit());
    let Some(tag) = text[1..].find('$').map(|end| &text[1..=end]).filter(is_tag) else {
        return Some(0);
    };
    let quote = &text[..tag.len() + 2];
    Some(quote.len() + text[quote.len()..].find(quote)? + quote.len())
}

/// Replaces `:name` by `?`.
fn statement(piece: &Piece, names: &mut Variables) -> Result<Parsed, String> {
    let mut sql = String::new();
    let mut variables = Vec::new();
    let mut at = 0;
    let text = piece.text.as_str();
    while at < text.len() {
        if let Some((_, end)) = piece.quoted.iter().find(|(from, _)| *from == at) {
            let end = (*end).min(text.len());
            sql.push_str(&crate::dialect::escaped(&text[at..end]));
            at = end;
            continue;
        }
        let rest = &text[at..];
        let c = rest.chars().next().unwrap_or_default();
        let name: String = rest[c.len_utf8()..].chars().take_while(|c| is_word(*c)).collect();
        // `::` is a cast of Postgres, `:=` an assignment of MySQL.
        if rest.starts_with("::") {
            sql.push_str("::");
            at += 2;
        } else if c == ':' && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            variables.push(names.index(&name)?);
            sql.push('?');
            at += 1 + name.len();
        } else {
            sql.push_str(&crate::dialect::escaped(&rest[..c.len_utf8()]));
            at += c.len_utf8();
        }
    }
    Ok(Parsed { sql, variables, expect: expect(piece)? })
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

/// The tables that a schema creates, as it names them.
pub fn created_tables(schema: &[Piece]) -> Vec<String> {
    let created = |piece: &Piece| -> Option<String> {
        let mut words = piece.text.split_whitespace();
        let mut next = || words.next();
        let is = |word: Option<&str>, known: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(known));
        if !is(next(), "CREATE") {
            return None;
        }
        let mut word = next();
        if is(word, "UNLOGGED") {
            word = next();
        }
        if !is(word, "TABLE") {
            return None;
        }
        let mut name = next()?;
        if name.eq_ignore_ascii_case("IF") {
            next();
            next();
            name = next()?;
        }
        // A quoted name may contain blanks.
        let from = name.as_ptr() as usize - piece.text.as_ptr() as usize;
        let is_quoted = |at: usize| piece.quoted.iter().any(|(from, to)| (*from..*to).contains(&at));
        let end = piece.text[from..]
            .char_indices()
            .find(|(at, c)| (c.is_whitespace() || *c == '(') && !is_quoted(from + at));
        Some(piece.text[from..end.map_or(piece.text.len(), |(at, _)| from + at)].to_owned())
    };
    schema.iter().filter_map(created).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Script, String> {
        super::parse(text, Dialect::Postgres)
    }

    fn texts(sql: &str, dialect: Dialect) -> Vec<String> {
        split(sql, dialect).unwrap().into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn quotes_and_comments_are_those_of_the_dialect() {
        let (postgres, mysql) = (Dialect::Postgres, Dialect::Mysql);
        assert_eq!(
            texts(r"SELECT 'C:\'; SELECT E'a\';b''', $$;$$ # 1;", postgres),
            [r"SELECT 'C:\'", r"SELECT E'a\';b''', $$;$$ # 1"]
        );
        assert_eq!(
            texts("SELECT 'a\\';b', \"\\\";\", `c\\`; SELECT 2--1 # x;\n-- y;\n;", mysql),
            ["SELECT 'a\\';b', \"\\\";\", `c\\`", "SELECT 2--1"]
        );
        assert_eq!(
            texts("/*!40101 SET a = 1 */; SELECT /*+ NO_MERGE(t) */ /* x */1", mysql),
            ["/*!40101 SET a = 1 */", "SELECT /*+ NO_MERGE(t) */ 1"]
        );
        let expect = |sql: &str| parse(sql).unwrap().statements[0].expect;
        assert_eq!(
            expect("WITH d AS (DELETE FROM t RETURNING id) SELECT count(*) FROM d"),
            Expect::AnyChanged
        );
        assert_eq!(expect("WITH d AS (SELECT 1) SELECT * FROM d"), Expect::AnyRows);
        assert_eq!(texts("/* a ; /* b ; */ c */ SELECT 1; SELECT 2", postgres), ["SELECT 1", "SELECT 2"]);
        assert_eq!(
            texts("DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END//\ndelimiter ;\nSELECT 2;", mysql),
            ["CREATE PROCEDURE p() BEGIN SELECT 1; END", "SELECT 2"]
        );
        assert_eq!(split("# rows: 3\nSELECT 1", mysql).unwrap()[0].rows, Some(3));
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

    /// Variables of variables, and a command that goes on in the next line.
    #[test]
    fn expressions_of_pgbench_are_parsed() {
        let script = parse(
            "\\set scale 3\n\\set rows \\\n  100 * :scale\n\\set id random(1, :rows) + :client_id\n\
             SELECT :id, :client_id;\nSELECT 1 FROM t WHERE a = :b;",
        );
        assert_eq!(script.unwrap_err(), "line 6: no variable `b`: add \\set b random(1, 1000)");
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
        for (text, words) in [
            ("", "no statement"),
            ("SELECT 1;\n\\sleep 1", "line 2: `\\sleep` is not supported: leave it out"),
            ("\\if 1 > 0\nSELECT 1;", "line 1: `\\if` is not supported: write a script for each branch"),
            ("SELECT 1 \\\n\\gset\n", "line 2: `\\gset` is not supported"),
            ("\\set a 5 / 2.0\nSELECT :a", "line 2: `a` is not a whole number"),
            ("\\set a 1 / 0\nSELECT :a", "line 1: a division by zero"),
            ("\\set a 1\n\\set a 2\nSELECT :a", "line 2: `a` is set twice"),
            ("SELECT :scale", "line 1: no variable `scale`: add \\set scale 10"),
            ("\\set a random(9, 1)\nSELECT :a", "line 1: 9 is above 1"),
            ("SELECT 1;\n\nSELECT :b", "line 3: no variable `b`"),
            ("SELECT 'a", "line 1: the quote does not end"),
            ("BEGIN; SELECT 1;", "must end with COMMIT"),
            ("SELECT 1; BEGIN; SELECT 2", "line 1: BEGIN can only be the first"),
            ("-- rows: many\nSELECT 1", "line 1: write -- rows: and a whole number"),
            ("-- row: 1\nSELECT 1", "line 1: write -- rows: and a whole number"),
            ("-- rows: 1\nCALL pay()", "line 2: `-- rows:` is not supported before a CALL"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(words), "{text:?}: {message}");
        }
    }

    #[test]
    fn a_schema_is_split_and_its_tables_are_found() {
        let schema = split(
            "CREATE TABLE s.\"d e\"(id int); CREATE TABLE a (id int, t text DEFAULT 'x;y');\ncreate table if not exists s.b(id int);\n\
             CREATE FUNCTION f() RETURNS int AS $x$ SELECT 1; $x$ LANGUAGE sql;\nCREATE UNLOGGED TABLE c (id int);\n\
             INSERT INTO a SELECT i FROM generate_series(1, 10) i",
            Dialect::Postgres,
        )
        .unwrap();
        assert_eq!(schema.len(), 6);
        assert_eq!(schema[3].text, "CREATE FUNCTION f() RETURNS int AS $x$ SELECT 1; $x$ LANGUAGE sql");
        assert_eq!(schema[5].line, 5);
        assert_eq!(created_tables(&schema), ["s.\"d e\"", "a", "s.b", "c"]);
    }
}
