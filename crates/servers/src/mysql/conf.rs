//! Parses lines of `my.cnf`.

use rqps_model::Dbms;

use crate::option::{ANNOTATION, Line, Setting, annotation};

const INCLUDE: &str = "!include";
const INCLUDE_DIR: &str = "!includedir ";

/// Sections that every server reads. The empty name is the start of the file: our files need no section.
const SERVER_SECTIONS: [&str; 3] = ["", "mysqld", "server"];

/// Sections that only MariaDB reads.
const MARIADB_SECTIONS: [&str; 4] = ["mariadb", "mariadbd", "client-server", "galera"];

/// Beginnings of the names of sections that other programs read.
const OTHER_PROGRAMS: [&str; 7] =
    ["client", "mysql", "mariadb-", "myisam", "isamchk", "safe_mysqld", "embedded"];

/// Why a server does not read a section; `None` if it is one of another program.
pub(crate) fn why_not_read(section: &str) -> Option<String> {
    if let Some((name, series)) = section.split_once('-')
        && ["mysqld", "mariadb", "mariadbd"].contains(&name)
        && series.starts_with(|c: char| c.is_ascii_digit())
    {
        return Some(format!("only servers of {series} read it"));
    }
    let is_others = OTHER_PROGRAMS.iter().any(|program| section.starts_with(program));
    (!is_others).then(|| "not a section of this server".to_owned())
}

/// Whether servers of `version` read a section. Some are for one series: `mysqld-8.0`, and MariaDB's
/// `mariadb-10.11`.
fn is_read(section: &str, version: &str, is_mariadb: bool) -> bool {
    let is_mariadbs = |name: &str| is_mariadb && MARIADB_SECTIONS.contains(&name);
    let series = version.match_indices('.').nth(1).map_or(version, |(at, _)| &version[..at]);
    let is_of_series = |(name, of): (&str, &str)| of == series && (name == "mysqld" || is_mariadbs(name));
    SERVER_SECTIONS.contains(&section)
        || is_mariadbs(section)
        || section.split_once('-').is_some_and(is_of_series)
}

/// Parses one line: `[section]`, `!include other`, or an option `name = value` or `name` with an optional
/// comment.
pub(crate) fn parse_line(
    section: &mut String,
    line: &str,
    version: &str,
    is_mariadb: bool,
) -> Result<Line, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Ok(Line::Empty);
    }
    if let Some(header) = line.strip_prefix('[') {
        let name = header.split_once(']').ok_or_else(|| format!("`{line}` has no closing bracket"))?.0;
        *section = name.trim().to_ascii_lowercase();
        return Ok(Line::Empty);
    }
    if let Some(directory) = line.strip_prefix(INCLUDE_DIR).map(str::trim) {
        return Ok(Line::IncludeDir(directory.to_owned(), "cnf"));
    }
    if let Some(rest) = line.strip_prefix(INCLUDE) {
        return match rest.strip_prefix(char::is_whitespace).map(str::trim) {
            Some(name) if !name.is_empty() => Ok(Line::Include(name.to_owned())),
            _ => Err(format!("`{line}` is not supported: write {INCLUDE} other.cnf")),
        };
    }
    if !is_read(section, version, is_mariadb) {
        return Ok(Line::Other(section.clone()));
    }
    parse_option(line).map(Line::Option)
}

fn parse_option(line: &str) -> Result<Setting, String> {
    let (text, comment) = split_comment(line)?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), unquote(value.trim())),
        None => (text.trim(), String::new()),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!("`{name}` is not the name of an option: write name = value"));
    }
    let comment = comment.and_then(|comment| comment.strip_prefix(ANNOTATION));
    let is_version = |text: &str| Dbms::Mysql.version_num(text) > 0;
    let annotation = comment.map(|comment| annotation(comment, is_version, |_| true)).transpose()?;
    let written = normalized(name);
    let loose = written.starts_with(LOOSE);
    Ok(Setting { name: canonical(name), value, loose, annotation })
}

/// Prefix of options that a server may not know.
const LOOSE: &str = "loose_";

/// Normalizes an option's name: servers accept `-` for `_`, any case, and the prefix `loose_`.
pub(crate) fn canonical(name: &str) -> String {
    let name = normalized(name);
    name.strip_prefix(LOOSE).unwrap_or(&name).to_owned()
}

/// The option as a server takes it that may not know it.
pub(crate) fn loose(option: &str) -> String {
    format!("{LOOSE}{option}")
}

pub(crate) fn normalized(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Splits a line at a `#` outside of quotes; the comment keeps it.
fn split_comment(line: &str) -> Result<(&str, Option<&str>), String> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match quote {
            None if c == '#' => return Ok((&line[..at], Some(&line[at..]))),
            None if c == '\'' || c == '"' => quote = Some(c),
            Some(open) if c == open && !escaped => quote = None,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    match quote {
        None => Ok((line, None)),
        Some(_) => Err(format!("the quoted value in `{line}` is not terminated")),
    }
}

/// Removes quotes and escapes. An option without a value has an empty one here, so an empty value keeps its
/// quotes.
fn unquote(value: &str) -> String {
    let inner = ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let text = inner.unwrap_or(value);
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some(c) if "\\\"'".contains(c) => out.push(c),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    if out.is_empty() { EMPTY.to_owned() } else { out }
}

/// A value that is present but empty.
const EMPTY: &str = "''";

/// Formats an option for the server's file.
pub(crate) fn format_option(name: &str, value: &str) -> String {
    if value.is_empty() || value == EMPTY {
        return if value.is_empty() { name.to_owned() } else { format!("{name} = {EMPTY}") };
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:,/+-=%@*".contains(c);
    if value.chars().all(plain) {
        return format!("{name} = {value}");
    }
    let escaped = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
        .replace('\t', "\\t");
    format!("{name} = \"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Annotation;

    fn option(line: &str) -> (String, String) {
        match parse_line(&mut String::new(), line, "8.0.31", false).unwrap() {
            Line::Option(setting) => (setting.name, setting.value),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_are_parsed_like_the_server_does() {
        for (line, name, value) in [
            ("innodb_buffer_pool_size=23G", "innodb_buffer_pool_size", "23G"),
            ("Loose-InnoDB-log-writer-threads = OFF # why", "innodb_log_writer_threads", "OFF"),
            ("skip-name-resolve", "skip_name_resolve", ""),
            ("secure_file_priv =", "secure_file_priv", "''"),
            ("secure_file_priv = ''", "secure_file_priv", "''"),
            ("optimizer_switch='hypergraph_optimizer=on' # x", "optimizer_switch", "hypergraph_optimizer=on"),
            ("init_connect=\"SET @a='#1'\"", "init_connect", "SET @a='#1'"),
            ("x = a\\\\b\\n", "x", "a\\b\n"),
        ] {
            assert_eq!(option(line), (name.to_owned(), value.to_owned()), "{line}");
            assert_eq!(option(&format_option(name, value)), (name.to_owned(), value.to_owned()), "{line}");
        }
        for bad in ["= off", "a b = c", "x = 'off", "!includedirs /etc", "[mysqld"] {
            assert!(parse_line(&mut String::new(), bad, "8.0.31", false).is_err(), "{bad}");
        }
    }

    #[test]
    fn sections_of_other_programs_are_skipped() {
        let mut section = String::new();
        let mut parse = |line: &str, is_mariadb| {
            let version = if is_mariadb { "10.11.14" } else { "8.0.31" };
            parse_line(&mut section, line, version, is_mariadb).unwrap()
        };
        assert!(matches!(parse("a=1", false), Line::Option(_)));
        assert_eq!(parse("[Client]", false), Line::Empty);
        assert_eq!(parse("a=1", false), Line::Other("client".to_owned()));
        assert_eq!(parse("!include z12a_c8r32", false), Line::Include("z12a_c8r32".to_owned()));
        assert_eq!(parse("[mariadb]", false), Line::Empty);
        assert_eq!(parse("a=1", false), Line::Other("mariadb".to_owned()));
        assert!(matches!(parse("a=1", true), Line::Option(_)));
        for (section, is_mariadb, is_read) in [
            ("mysqld-8.0", false, true),
            ("mysqld-8.4", false, false),
            ("server-8.0", false, false),
            ("mysqld-10.11", true, true),
            ("mariadb-10.11", true, true),
            ("mariadb-10.1", true, false),
            ("mariadb-10.11", false, false),
        ] {
            parse(&format!("[{section}]"), is_mariadb);
            assert_eq!(matches!(parse("a=1", is_mariadb), Line::Option(_)), is_read, "{section}");
        }
    }

    #[test]
    fn a_value_for_older_versions() {
        let Line::Option(setting) =
            parse_line(&mut String::new(), "x=2 # rqps: before 8.0: 1", "", false).unwrap()
        else {
            panic!("not an option");
        };
        assert_eq!(
            (setting.value, setting.annotation),
            ("2".to_owned(), Some(Annotation::Before { version: "8.0".to_owned(), value: "1".to_owned() }))
        );
    }
}
