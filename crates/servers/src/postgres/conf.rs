//! Parses lines of `postgresql.conf`.

use rqps_model::Dbms;

use crate::option::{ANNOTATION, Line, Setting, annotation};

/// Parses one line: `name value` or `name = value`, the value bare or in single quotes, with an optional
/// comment.
pub(crate) fn parse_line(line: &str) -> Result<Line, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(Line::Empty);
    }
    let name_end =
        line.find(|c: char| !(c.is_ascii_alphanumeric() || "_$.".contains(c))).unwrap_or(line.len());
    let (name, rest) = line.split_at(name_end);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Err(format!("`{line}` does not start with the name of an option"));
    }
    let value_text = rest.trim_start();
    let value_text = value_text.strip_prefix('=').unwrap_or(value_text).trim_start();
    if value_text.len() == rest.len() && !rest.is_empty() {
        return Err(format!("expected a space or `=` after `{name}`"));
    }
    if value_text.is_empty() || value_text.starts_with('#') {
        return Err(format!("`{name}` has no value: write `{name} = ''` for an empty one"));
    }
    let (value, after) = match value_text.strip_prefix('\'') {
        Some(quoted) => {
            parse_quoted(quoted).ok_or_else(|| format!("the quoted value of `{name}` is not terminated"))?
        }
        None => parse_bare(value_text).map_err(|c| {
            format!("`{c}` is not allowed in an unquoted value: put the value of `{name}` in single quotes")
        })?,
    };
    let after = after.trim_start();
    if !after.is_empty() && !after.starts_with('#') {
        return Err(format!(
            "`{after}` after the value of `{name}`: put the value in single quotes, or a # before a comment"
        ));
    }
    let name = name.to_ascii_lowercase();
    if name == "include" {
        return Ok(Line::Include(value));
    }
    if name == "include_if_exists" {
        return Ok(Line::IncludeIfExists(value));
    }
    if name == "include_dir" {
        return Ok(Line::IncludeDir(value, "conf"));
    }
    let is_version = |text: &str| Dbms::Postgres.version_num(text) > 0;
    let annotation = after
        .strip_prefix(ANNOTATION)
        .map(|comment| annotation(comment, is_version, |value| parse_bare(value).is_ok()))
        .transpose()?;
    Ok(Line::Option(Setting { name, value, loose: false, annotation }))
}

/// Parses a bare value, which ends at a space or comment; returns the rest, too.
fn parse_bare(text: &str) -> Result<(String, &str), char> {
    let end = text.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(text.len());
    let (value, after) = text.split_at(end);
    match value.chars().find(|c| c.is_ascii() && !(c.is_ascii_alphanumeric() || "_.:/+-".contains(*c))) {
        Some(unexpected) => Err(unexpected),
        None => Ok((value.to_owned(), after)),
    }
}

/// Parses a quoted value after its opening quote; returns the rest, too. `''` is a quote, and a backslash
/// escapes as in C.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let at = rest.find(['\'', '\\'])?;
        value.push_str(&rest[..at]);
        let escape = rest[at..].starts_with('\\');
        rest = &rest[at + 1..];
        if escape {
            let c = rest.chars().next()?;
            let digits = rest.bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            if digits > 0 {
                value.push(char::from(u8::from_str_radix(&rest[..digits], 8).ok()?));
                rest = &rest[digits..];
                continue;
            }
            value.push(match c {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            });
            rest = &rest[c.len_utf8()..];
        } else if let Some(after_quote) = rest.strip_prefix('\'') {
            value.push('\'');
            rest = after_quote;
        } else {
            return Some((value, rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::{Annotation, quoted};

    fn option(line: &str) -> (String, String) {
        match parse_line(line).unwrap() {
            Line::Option(setting) => (setting.name, setting.value),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_are_parsed_like_postgres_does() {
        for (line, name, value) in [
            ("jit=off", "jit", "off"),
            ("  Jit   off  # why", "jit", "off"),
            ("work_mem = 4MB#x", "work_mem", "4MB"),
            ("a.b_c = -1", "a.b_c", "-1"),
            ("search_path = '\"$user\", public' # x", "search_path", "\"$user\", public"),
            ("log_line_prefix='it''s \\'%m\\' \\101\\\\'", "log_line_prefix", "it's '%m' A\\"),
            ("x = ''", "x", ""),
            ("temp_tablespaces 'ä#b'", "temp_tablespaces", "ä#b"),
        ] {
            assert_eq!(option(line), (name.to_owned(), value.to_owned()), "{line}");
        }
        assert_eq!(parse_line("   # jit = off"), Ok(Line::Empty));
        for bad in ["jit", "jit =", "= off", "jit = 'off", "jit = off on", "a = b,c", "jit'off'", "jit # off"]
        {
            assert!(parse_line(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_value_for_older_versions() {
        let Ok(Line::Option(setting)) = parse_line("x = 2000 # rqps: before 10: 1000") else {
            panic!("not an option");
        };
        let before = Annotation::Before { version: "10".to_owned(), value: "1000".to_owned() };
        assert_eq!(setting.annotation, Some(before));
        assert!(parse_line("x = 2000 # rqps: 9.6 has 1000").is_err());
        assert!(matches!(
            parse_line("x = 1 # before 10: 2"),
            Ok(Line::Option(Setting { annotation: None, .. }))
        ));
    }

    #[test]
    fn a_quoted_value_reads_back() {
        for value in ["", "it's", "back\\slash\\n", "two\nlines", "#"] {
            let line = format!("x = {}", quoted(value));
            assert_eq!(option(&line).1, value, "{line}");
        }
    }
}
