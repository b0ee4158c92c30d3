//! Scripts of the user's own: SQL statements that end with `;`, and of pgbench's language `\set`, `random()`,
//! `random_zipfian()` and `:variable`.

use std::ops::RangeInclusive;

use crate::Dialect;
use crate::model::{Draw, Expect};

/// A parsed script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub draws: Vec<Draw>,
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

/// Lengths of names and numbers are limited by the plan's; this many variables suffice for any script.
const VARIABLES_MAX: usize = 100;
/// A zipfian distribution with an exponent of 1 or below is not one that pgbench allows.
const EXPONENTS: RangeInclusive<f64> = 1.001..=1000.0;
const NUMBER_MAX: u64 = 1_000_000_000_000_000;
/// A comment before a statement that says how many rows it returns or changes.
const ROWS: &str = "rows:";

/// Parses a script; an error names the line, from 1.
pub fn parse(text: &str, dialect: Dialect) -> Result<Script, String> {
    let mut names: Vec<String> = Vec::new();
    let mut draws = Vec::new();
    // Keeps the lines' numbers.
    let mut sql_text = String::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(command) = line.trim_start().strip_prefix('\\') {
            let (name, draw) = set(command).map_err(|why| format!("line {}: {why}", at + 1))?;
            if names.contains(&name) {
                return Err(format!("line {}: `{name}` is set twice", at + 1));
            }
            if names.len() == VARIABLES_MAX {
                return Err(format!("line {}: more than {VARIABLES_MAX} variables", at + 1));
            }
            names.push(name);
            draws.push(draw);
        } else {
            sql_text.push_str(line);
        }
        sql_text.push('\n');
    }
    let mut statements = Vec::new();
    for piece in split(&sql_text, dialect)? {
        let parsed = statement(&piece, &names).map_err(|why| format!("line {}: {why}", piece.line))?;
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
    Ok(Script { draws, transaction, statements: statements.into_iter().map(|(_, one)| one).collect() })
}

/// `set id random(1, 1000)`.
fn set(command: &str) -> Result<(String, Draw), String> {
    let known = "write \\set NAME random(LOW, HIGH), or random_zipfian(LOW, HIGH, EXPONENT)";
    let rest =
        command.strip_prefix("set ").ok_or_else(|| format!("unknown command `\\{command}`; {known}"))?;
    let (name, value) = rest.trim().split_once(char::is_whitespace).ok_or(known)?;
    if !name.chars().all(is_word) {
        return Err(format!("`{name}` is not a variable's name: use letters, digits and _"));
    }
    let value = value.trim();
    let arguments = |function: &str| -> Option<Vec<&str>> {
        let inner = value.strip_prefix(function)?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(str::trim).collect())
    };
    let bounds = |low: &str, high: &str| -> Result<(i64, i64), String> {
        let (low, high) = (number(low)?, number(high)?);
        if low > high { Err(format!("{low} is above {high}")) } else { Ok((low, high)) }
    };
    if let Some([low, high]) = arguments("random").as_deref() {
        let (low, high) = bounds(low, high)?;
        return Ok((name.to_owned(), Draw { low, high, exponent: None }));
    }
    if let Some([low, high, exponent]) = arguments("random_zipfian").as_deref() {
        let (low, high) = bounds(low, high)?;
        let exponent = exponent.parse().ok().filter(|exponent| EXPONENTS.contains(exponent));
        let exponent = exponent.ok_or("the exponent must be a number from 1.001 to 1000")?;
        return Ok((name.to_owned(), Draw { low, high, exponent: Some(exponent) }));
    }
    Err(format!("`{value}` is not supported; {known}"))
}

/// A whole number, or a product of several.
fn number(text: &str) -> Result<i64, String> {
    let factors = text.split('*').map(|factor| factor.trim().replace('_', "").parse::<i64>().ok());
    let product = factors.reduce(|a, b| a?.checked_mul(b?)).flatten();
    let product = product.filter(|product| product.unsigned_abs() <= NUMBER_MAX);
    product.ok_or_else(|| format!("`{text}` is not a whole number up to {NUMBER_MAX}"))
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
fn statement(piece: &Piece, names: &[String]) -> Result<Parsed, String> {
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
            let index = names.iter().position(|known| *known == name);
            let index =
                index.ok_or_else(|| format!("no variable `{name}`: add \\set {name} random(1, 1000)"))?;
            variables.push(index as u16);
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
        assert_eq!(
            script.draws,
            [Draw { low: 1, high: 200_000, exponent: None }, Draw { low: 1, high: 50, exponent: Some(1.2) }]
        );
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
    fn mistakes_name_their_line() {
        for (text, words) in [
            ("", "no statement"),
            ("SELECT 1;\n\\sleep 1", "line 2: unknown command `\\sleep 1`"),
            ("\\set a 5\nSELECT :a", "line 1: `5` is not supported"),
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
