//! Configs of RocksDB in the syntax of its own `OPTIONS` files: sections, and a line `name=value` for each option.
//!
//! Options of tables have the prefix [`TABLE`] in their name here, by which RocksDB itself calls them elsewhere.

use crate::option::{ANNOTATION, Line, Setting, annotation};
use rqps_model::Dbms;

/// Prefix of options that are in the section of block-based tables.
pub(crate) const TABLE: &str = "block_based_table_factory.";

/// Options that name directories.
const PLACES: [&str; 4] = ["wal_dir", "db_log_dir", "db_paths", "cf_paths"];

/// In every `OPTIONS` file that RocksDB writes. Passed on, it would take tables back to their defaults where RocksDB,
/// which takes options in no certain order, came to it after [`TABLE`].
const BLOCK_BASED: (&str, &str) = ("table_factory", "BlockBasedTable");

const INCLUDE: &str = "!include";

/// Parses one line of a file.
pub(crate) fn parse_line(section: &mut String, line: &str) -> Result<Line, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(Line::Empty);
    }
    if let Some(name) = line.strip_prefix(INCLUDE) {
        return Ok(Line::Include(name.trim().to_owned()));
    }
    if let Some(header) = line.strip_prefix('[') {
        let header = header.strip_suffix(']').ok_or("a section ends with ]")?;
        *section = known_section(header)?;
        return Ok(Line::Empty);
    }
    let (name, rest) = line.split_once('=').ok_or("expected `name=value`")?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!("`{name}` is not the name of an option"));
    }
    let prefix = match section.as_str() {
        "" => return Err("an option belongs to a section: begin with [DBOptions]".to_owned()),
        "Version" => return Ok(Line::Empty),
        "TableOptions" => TABLE,
        _ => "",
    };
    let (value, comment) = match rest.split_once(ANNOTATION) {
        Some((value, comment)) => (value, Some(comment)),
        None => (rest.split(" #").next().unwrap_or(rest), None),
    };
    let is_version = |text: &str| Dbms::Rocksdb.version_num(text) > 0;
    if PLACES.contains(&name) {
        return match value.trim() {
            "" => Ok(Line::Empty),
            _ => Err(format!(
                "rqps places the files of a database itself, so `{name}` cannot be set: remove it"
            )),
        };
    }
    if (name, value.trim()) == BLOCK_BASED {
        return Ok(Line::Empty);
    }
    let annotation = comment.map(|comment| annotation(comment, is_version, |value| !value.is_empty()));
    Ok(Line::Option(Setting {
        name: format!("{prefix}{name}"),
        value: value.trim().to_owned(),
        loose: false,
        annotation: annotation.transpose()?,
    }))
}

/// The kind of a section, without the name of its column family, of which there is one.
fn known_section(header: &str) -> Result<String, String> {
    let (kind, family) = header.split_once(' ').unwrap_or((header, ""));
    let family = family.trim().trim_matches('"');
    if !family.is_empty() && family != "default" {
        return Err(format!("there is no column family \"{family}\": the benchmark uses \"default\" only"));
    }
    match kind {
        "Version" | "DBOptions" | "CFOptions" => Ok(kind.to_owned()),
        "TableOptions/BlockBasedTable" => Ok("TableOptions".to_owned()),
        _ => Err(format!(
            "unknown section [{kind}]: write [DBOptions], [CFOptions \"default\"] or [TableOptions/BlockBasedTable \
             \"default\"]"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(section: &mut String, line: &str) -> (String, String) {
        match parse_line(section, line) {
            Ok(Line::Option(setting)) => (setting.name, setting.value),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn an_options_file_of_rocksdb_is_read() {
        let mut section = String::new();
        assert_eq!(parse_line(&mut section, "[Version]"), Ok(Line::Empty));
        assert_eq!(parse_line(&mut section, "  rocksdb_version=10.10.1"), Ok(Line::Empty));
        parse_line(&mut section, "[CFOptions \"default\"]").unwrap();
        let option = parsed(&mut section, "  compression_opts={level=3;window_bits=-14;}");
        assert_eq!(option, ("compression_opts".to_owned(), "{level=3;window_bits=-14;}".to_owned()));
        assert_eq!(parse_line(&mut section, "  table_factory=BlockBasedTable"), Ok(Line::Empty));
        parse_line(&mut section, "[TableOptions/BlockBasedTable \"default\"]").unwrap();
        let option = parsed(&mut section, "block_size=8192 # two pages");
        assert_eq!(option, ("block_based_table_factory.block_size".to_owned(), "8192".to_owned()));
    }

    #[test]
    fn mistakes_name_the_remedy() {
        let mistake = |section: &str, line: &str| parse_line(&mut section.to_owned(), line).unwrap_err();
        assert!(mistake("", "block_size=1").contains("begin with [DBOptions]"));
        assert!(mistake("", "[CFOptions \"hot\"]").contains("uses \"default\" only"));
        assert!(mistake("", "[Options]").contains("unknown section [Options]"));
        assert!(mistake("DBOptions", "max_open_files").contains("name=value"));
        assert!(mistake("DBOptions", "wal_dir=/fast").contains("`wal_dir` cannot be set"));
        assert_eq!(parse_line(&mut "DBOptions".to_owned(), "wal_dir="), Ok(Line::Empty));
    }
}
