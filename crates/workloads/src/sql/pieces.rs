//! SQL split into statements, by the quotes and comments of a dialect.

use crate::Dialect;

/// A comment before a statement that says how many rows it returns or changes.
pub const ROWS: &str = "rows:";

pub fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Mistakes with their lines, from 1.
pub type Mistakes = Vec<(usize, String)>;

/// In the order of the lines, with the line in words.
pub fn in_words(mut mistakes: Mistakes) -> Vec<String> {
    mistakes.sort_by_key(|(line, _)| *line);
    mistakes.into_iter().map(|(line, why)| format!("line {line}: {why}")).collect()
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
    pub fn quoted(&self) -> &[(usize, usize)] {
        &self.quoted
    }
}

/// Splits SQL into statements at `;` outside of quotes and comments; drops comments, except those with hints to an
/// optimizer (`/*+`) or with SQL for some versions of MySQL (`/*!`).
///
/// # Errors
/// All mistakes, each with its line.
pub fn split(text: &str, dialect: Dialect) -> Result<Vec<Piece>, Vec<String>> {
    let Split { mut pieces, last, mistakes } = split_all(text, dialect, &mut DELIMITER.to_owned());
    pieces.extend(last);
    if mistakes.is_empty() { Ok(pieces) } else { Err(in_words(mistakes)) }
}

/// What ends a statement if a script does not say.
pub const DELIMITER: &str = ";";

/// SQL in statements.
pub struct Split {
    pub pieces: Vec<Piece>,
    /// A statement at the end that no delimiter ends.
    pub last: Option<Piece>,
    pub mistakes: Mistakes,
}

/// As [`split`]. `delimiter` is the one at the start, and becomes the one at the end.
pub fn split_all(text: &str, dialect: Dialect, delimiter: &mut String) -> Split {
    let mut mistakes = Mistakes::new();
    let mut pieces = Vec::new();
    let empty = |line| Piece { line, text: String::new(), rows: None, quoted: Vec::new() };
    let (mut line, mut piece) = (1, empty(1));
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let before = text[..text.len() - rest.len()].chars().next_back();
        let length = if is_comment(rest, dialect) {
            let comment = rest.lines().next().unwrap_or_default();
            let comment_text = comment.trim_start_matches(['-', '#']).trim();
            let rows = comment_text.strip_prefix(ROWS).map(|rows| rows.trim().parse().ok());
            piece.rows = rows.flatten().or(piece.rows);
            if comment_text.starts_with("row:") || rows == Some(None) {
                mistakes.push((line, format!("write -- {ROWS} and a whole number")));
            }
            rest = &rest[comment.len()..];
            continue;
        } else if rest.starts_with("/*") {
            let Some(end) = comment_length(rest, dialect) else {
                mistakes.push((line, "the comment does not end".to_owned()));
                return Split { pieces, last: None, mistakes };
            };
            if rest[2..].starts_with(['+', '!']) {
                end
            } else {
                line += rest[..end].matches('\n').count();
                rest = &rest[end..];
                continue;
            }
        } else {
            let Some(length) = quoted_length(rest, before, dialect) else {
                mistakes.push((line, "the quote does not end".to_owned()));
                return Split { pieces, last: None, mistakes };
            };
            length
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
    Split { pieces, last, mistakes }
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
        let is_quoted = |at: usize| piece.quoted().iter().any(|(from, to)| (*from..*to).contains(&at));
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
        assert_eq!(texts("/* a ; /* b ; */ c */ SELECT 1; SELECT 2", postgres), ["SELECT 1", "SELECT 2"]);
        assert_eq!(
            texts("DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END//\ndelimiter ;\nSELECT 2;", mysql),
            ["CREATE PROCEDURE p() BEGIN SELECT 1; END", "SELECT 2"]
        );
        assert_eq!(split("# rows: 3\nSELECT 1", mysql).unwrap()[0].rows, Some(3));
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
