//! Dumps of databases in plain text, as `pg_dump` and `mysqldump` write them. They may have any size, so they are read
//! as a stream.

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use rqps_model::did_you_mean;
use rqps_plan::Reading;
use rqps_plan::reader::{Found, Section};
use sha2::{Digest, Sha256};
use toml::Table;

use super::dialect;
use super::pieces::{DELIMITER, Piece, Split, created_tables, split_all};
use crate::Dialect;

/// Rows that are read at a time, in bytes.
const ROWS_BYTES: usize = 256 << 10;
/// The line that ends the rows of a COPY.
const END_OF_ROWS: &[u8] = b"\\.";

/// Begins the address of a database, with the dialect of its DBMS.
const SCHEMES: [(&str, Dialect); 4] = [
    ("postgresql://", Dialect::Postgres),
    ("postgres://", Dialect::Postgres),
    ("mysql://", Dialect::Mysql),
    ("mariadb://", Dialect::Mysql),
];

/// A dump that a plan names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dump {
    /// Of a database whose dump has not been taken: its address; the rest is then of its tables without their rows.
    pub path: PathBuf,
    /// SHA-256 in hex: a run goes on with the same data only.
    pub sha256: String,
    pub bytes: u64,
    /// The tables that it creates, as it names them.
    pub tables: Vec<String>,
}

impl Dump {
    /// Reads a whole dump.
    ///
    /// # Errors
    /// What cannot be loaded, with its line.
    pub fn examine(path: PathBuf, source: impl BufRead, dialect: Dialect) -> Result<Dump, String> {
        let mut reader = DumpReader::new(source, dialect);
        let (mut tables, mut rows) = (Vec::new(), Vec::new());
        while let Some(item) = reader.next_item()? {
            match item {
                Item::Statement { piece, .. } => tables.extend(created_tables(&[piece])),
                Item::Copy { .. } => {
                    while reader.copy_rows(&mut rows)? {
                        rows.clear();
                    }
                }
            }
        }
        if tables.is_empty() {
            return Err("it creates no table; write it in plain text, as pg_dump and mysqldump do".to_owned());
        }
        Ok(Dump { path, bytes: reader.bytes, sha256: reader.sha256(), tables })
    }

    /// The address of a database whose dump has not been taken.
    pub fn address(&self) -> Option<&str> {
        self.path.to_str().filter(|path| dialect_of_address(path).is_some())
    }

    /// As a plan has it.
    pub(super) fn kept(&self) -> toml::Value {
        if let Some(address) = self.address() {
            return address.into();
        }
        let Self { path, sha256, bytes, tables } = self;
        let tables = tables.iter().map(|table| table.as_str().into()).collect();
        toml::Value::Table(Table::from_iter([
            ("path".to_owned(), path.to_string_lossy().as_ref().into()),
            ("sha256".to_owned(), sha256.as_str().into()),
            ("bytes".to_owned(), toml::Value::Integer(*bytes as i64)),
            ("tables".to_owned(), toml::Value::Array(tables)),
        ]))
    }
}

/// The dialect of the database that a text addresses; `None` of a path.
pub fn dialect_of_address(text: &str) -> Option<Dialect> {
    SCHEMES.into_iter().find(|(scheme, _)| text.starts_with(scheme)).map(|(_, dialect)| dialect)
}

/// What to write instead of a text that looks like an address and is none: `postgre://db/shop`, `mysql//db/shop`.
fn known_scheme(text: &str) -> Option<String> {
    let (scheme, _) = text.split_once("//")?;
    let name = scheme.trim_end_matches(':');
    if !name.chars().all(|c| c.is_ascii_alphanumeric()) || dialect_of_address(text).is_some() {
        return None;
    }
    let known = SCHEMES.map(|(scheme, _)| scheme.trim_end_matches("://"));
    let like = known.into_iter().find(|known| *known == name).map(|known| format!("Write {known}://…"));
    let like = like.or_else(|| did_you_mean(&format!("{name}://"), SCHEMES.map(|(scheme, _)| scheme)));
    let all = || "Write postgresql://…, mysql://… or mariadb://….".to_owned();
    like.or_else(|| scheme.ends_with(':').then(all))
}

/// The absolute path: a run is resumed from any directory.
fn at_any_place(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The path of a dump or the address of a database, or, in the plan that a run keeps, also what was found in the dump.
pub(super) fn read(section: &Section<'_>, plan: &Reading<'_>) -> Option<Dump> {
    section.node("dump")?;
    let place = section.place_of("dump");
    if section.node("dump").is_some_and(|(_, node)| node.get_ref().is_table()) {
        let kept = section.table("dump", "[sql.dump]")?;
        let tables = kept.list("tables", "names of tables")?.value.iter();
        return Some(Dump {
            path: at_any_place(&plan.directory.join(kept.text("path")?.value)),
            sha256: kept.text("sha256")?.value.to_owned(),
            bytes: kept.integer("bytes", 0..=i64::MAX as u64)?.value,
            tables: tables.filter_map(|name| Some(name.get_ref().as_str()?.to_owned())).collect(),
        });
    }
    let Found { value, at } = section.text("dump")?;
    let address = dialect_of_address(value);
    let dialects: Vec<Dialect> = plan.dbms.iter().map(|dbms| dialect(*dbms)).collect();
    let first = dialects.first().copied().or(address).unwrap_or(Dialect::Postgres);
    if address.is_some_and(|address| address != first) || dialects.iter().any(|dialect| *dialect != first) {
        let why = "PostgreSQL and MySQL cannot load the same dump".to_owned();
        plan.problems.error(&at, place, why, "Name arms of the DBMS that the dump is of.");
        return None;
    }
    let (path, source) = match (plan.open)(value) {
        Ok(opened) => opened,
        Err(why) if address.is_some() => {
            let remedy = "Correct the address (postgresql://, mysql:// or mariadb://USER@HOST:PORT/DATABASE), or name \
                          a file with the dump.";
            plan.problems.error(&at, place, why, remedy);
            return None;
        }
        Err(why) => {
            let path = || "Correct the path, which is relative to the plan's directory.".to_owned();
            let remedy = known_scheme(value).unwrap_or_else(path);
            plan.problems.error(&at, place, format!("cannot read {value}: {why}"), remedy);
            return None;
        }
    };
    if dialects.is_empty() && address.is_none() {
        // What its quotes mean depends on the arms, none of which is known.
        return None;
    }
    let path = if address.is_some() { path } else { at_any_place(&path) };
    Dump::examine(path, source, first)
        .map_err(|why| {
            let remedy =
                "pg_dump --no-owner DATABASE, or mysqldump --hex-blob DATABASE, writes a dump that can be loaded.";
            plan.problems.error(&at, place, format!("{value}: {why}"), remedy);
        })
        .ok()
}

/// A part of a dump.
#[derive(Debug)]
pub enum Item {
    Statement {
        piece: Piece,
        /// Whether the load goes on if it fails: it sets an option that another version may not have.
        optional: bool,
    },
    /// A `COPY … FROM stdin`. [`DumpReader::copy_rows`] reads its rows, which come next.
    Copy { statement: String },
}

/// Reads the parts of a dump in order.
pub struct DumpReader<R> {
    source: R,
    dialect: Dialect,
    delimiter: String,
    /// Lines read.
    lines: usize,
    bytes: u64,
    sum: Sha256,
    items: VecDeque<Item>,
}

impl<R: BufRead> DumpReader<R> {
    pub fn new(source: R, dialect: Dialect) -> Self {
        let delimiter = DELIMITER.to_owned();
        Self { source, dialect, delimiter, lines: 0, bytes: 0, sum: Sha256::new(), items: VecDeque::new() }
    }

    /// Lines read.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Bytes read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The sum of all that was read, in hex.
    pub fn sha256(self) -> String {
        self.sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// What cannot be read, with its line.
    pub fn next_item(&mut self) -> Result<Option<Item>, String> {
        let mut text = String::new();
        let (mut line, mut first_line) = (Vec::new(), self.lines + 1);
        while self.items.is_empty() {
            line.clear();
            if !self.read_line(&mut line)? {
                let Split { last, mistakes, .. } = split_all(&text, self.dialect, &mut self.delimiter);
                if let Some((_, why)) = mistakes.first() {
                    return Err(format!("after line {first_line}: {why}"));
                }
                self.items.extend(last.and_then(|piece| item(piece, self.dialect, first_line - 1)));
                break;
            }
            let words = std::str::from_utf8(&line)
                .map_err(|_| format!("line {} is not UTF-8; mysqldump needs --hex-blob", self.lines))?;
            if text.is_empty() && words.starts_with('\\') {
                self.check_command(words.trim())?;
                continue;
            }
            if text.is_empty() && (words.trim().is_empty() || words.starts_with("--")) {
                first_line = self.lines + 1;
                continue;
            }
            text.push_str(words);
            let end = words.trim_end();
            if !end.ends_with([';', '/']) && !end.ends_with(self.delimiter.as_str()) {
                continue;
            }
            // A quote or a comment may go on in the next line.
            let mut delimiter = self.delimiter.clone();
            let Split { pieces, last, mistakes } = split_all(&text, self.dialect, &mut delimiter);
            if last.is_some() || !mistakes.is_empty() {
                continue;
            }
            self.delimiter = delimiter;
            self.items
                .extend(pieces.into_iter().filter_map(|piece| item(piece, self.dialect, first_line - 1)));
            text.clear();
            first_line = self.lines + 1;
        }
        Ok(self.items.pop_front())
    }

    /// Appends rows of the COPY that was read last, with their line ends; false when there are no more.
    ///
    /// # Errors
    /// If the file cannot be read, or ends within the rows.
    pub fn copy_rows(&mut self, rows: &mut Vec<u8>) -> Result<bool, String> {
        let (start, mut line) = (rows.len(), Vec::new());
        while rows.len() < start + ROWS_BYTES {
            line.clear();
            if !self.read_line(&mut line)? {
                return Err(format!("line {}: the file ends within the rows of a COPY", self.lines));
            }
            if line.trim_ascii_end() == END_OF_ROWS {
                return Ok(false);
            }
            rows.extend_from_slice(&line);
        }
        Ok(true)
    }

    fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool, String> {
        let length = self
            .source
            .read_until(b'\n', line)
            .map_err(|error| format!("cannot read line {}: {error}", self.lines + 1))?;
        self.lines += usize::from(length > 0);
        self.bytes += length as u64;
        self.sum.update(&*line);
        Ok(length > 0)
    }

    /// A command of `psql`.
    fn check_command(&self, command: &str) -> Result<(), String> {
        let name = command.split_whitespace().next().unwrap_or_default();
        match name {
            // These protect the user's own machine.
            "\\restrict" | "\\unrestrict" => Ok(()),
            _ => Err(format!(
                "line {}: `{name}` is not supported; dump one database, without --create",
                self.lines
            )),
        }
    }
}

/// What to do with a statement; `None` if it has no effect on what is measured, or would leave the database of the arm.
fn item(piece: Piece, dialect: Dialect, lines_before: usize) -> Option<Item> {
    let mut piece = piece;
    piece.line += lines_before;
    if dialect == Dialect::Mysql {
        piece.text = without_definer(piece.text);
    }
    let words: Vec<String> =
        piece.text.split_whitespace().take(8).map(|word| word.to_ascii_uppercase()).collect();
    let starts = |with: &[&str]| with.len() <= words.len() && with.iter().zip(&words).all(|(a, b)| a == b);
    let has_owner = starts(&["ALTER"]) && words.windows(2).any(|two| two == ["OWNER", "TO"]);
    let is_left_out = has_owner
        || [
            &["GRANT"][..],
            &["REVOKE"],
            &["USE"],
            &["CREATE", "DATABASE"],
            &["ALTER", "DEFAULT", "PRIVILEGES"],
        ]
        .iter()
        .any(|with| starts(with));
    if is_left_out {
        return None;
    }
    let upper = piece.text.trim_end().to_ascii_uppercase();
    let mut from_end = upper.split_whitespace().rev();
    let takes_rows = from_end.next() == Some("STDIN") && from_end.next() == Some("FROM");
    if dialect == Dialect::Postgres && starts(&["COPY"]) && takes_rows {
        return Some(Item::Copy { statement: piece.text });
    }
    // Comments that MySQL reads: `/*!40101 SET …`.
    let of_mysql =
        upper.strip_prefix("/*!").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let optional = of_mysql.map_or(upper.as_str(), str::trim_start).starts_with("SET ")
        || starts(&["CREATE", "SCHEMA"])
        || starts(&["COMMENT", "ON", "EXTENSION"]);
    Some(Item::Statement { piece, optional })
}

/// A statement that creates a view, a routine or a trigger, without the user who defined it: the arm's server does not
/// have that user. `DEFINER=` comes before any quote and bracket.
fn without_definer(text: String) -> String {
    const DEFINER: &str = "DEFINER";
    let is_of_head = |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "_=*/!".contains(c);
    let head = &text[..text.find(|c| !is_of_head(c)).unwrap_or(text.len())];
    let upper = head.to_ascii_uppercase();
    if !upper.split_whitespace().any(|word| word.trim_end_matches("*/") == "CREATE") {
        return text;
    }
    let is_key = |at: &usize| {
        let before = upper[..*at].chars().next_back();
        before.is_some_and(char::is_whitespace) && text[at + DEFINER.len()..].trim_start().starts_with('=')
    };
    let Some(at) = upper.match_indices(DEFINER).map(|(at, _)| at).find(is_key) else { return text };
    let rest = text[at + DEFINER.len()..].trim_start()[1..].trim_start();
    let after = after_name(rest);
    let after = after.strip_prefix('@').map_or_else(|| after.strip_prefix("()").unwrap_or(after), after_name);
    format!("{}{}", &text[..at], after.trim_start())
}

/// What follows a name, in quotes or not.
fn after_name(text: &str) -> &str {
    match text.chars().next().filter(|c| "`'\"".contains(*c)) {
        Some(quote) => text[1..].split_once(quote).map_or("", |(_, after)| after),
        None => text.trim_start_matches(|c: char| c.is_alphanumeric() || "_.%$-".contains(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::SqlPlan;
    use super::*;
    use rqps_plan::{Opened, Plan, PlanContext};

    /// Each part of a dump in a line, with its own line's number.
    fn read(text: &str, dialect: Dialect) -> Result<Vec<String>, String> {
        let mut reader = DumpReader::new(text.as_bytes(), dialect);
        let mut read = Vec::new();
        while let Some(item) = reader.next_item()? {
            read.push(match item {
                Item::Statement { piece, optional } => {
                    format!("{} {}{}", piece.line, if optional { "? " } else { "" }, piece.text)
                }
                Item::Copy { statement } => {
                    let line = reader.lines();
                    let mut rows = Vec::new();
                    while reader.copy_rows(&mut rows)? {}
                    format!("{line} {statement}: {}", String::from_utf8_lossy(&rows))
                }
            });
        }
        Ok(read)
    }

    #[test]
    fn a_dump_of_postgres_is_read() {
        let text = "--\n-- PostgreSQL database dump;\n--\n\n\\restrict abc\n\nSET statement_timeout = 0;\n\
            SELECT pg_catalog.set_config('search_path', '', false);\n\
            CREATE FUNCTION public.f() RETURNS int\n    LANGUAGE plpgsql\n    AS $$BEGIN\n  RETURN 1;\nEND;$$;\n\n\
            ALTER TABLE public.t OWNER TO bob;\n\
            CREATE TABLE public.t (\n    id integer, -- a note;\n    v text DEFAULT 'a;\n'\n);\n\
            COPY public.t (id, v) FROM stdin;\n1\ta;b\n2\t\\\\.\n\\.\n\nGRANT SELECT ON t TO bob;\n\\unrestrict abc\n";
        let expected = [
            "7 ? SET statement_timeout = 0",
            "8 SELECT pg_catalog.set_config('search_path', '', false)",
            "9 CREATE FUNCTION public.f() RETURNS int\n    LANGUAGE plpgsql\n    AS $$BEGIN\n  RETURN 1;\nEND;$$",
            "16 CREATE TABLE public.t (\n    id integer, \n    v text DEFAULT 'a;\n'\n)",
            "21 COPY public.t (id, v) FROM stdin: 1\ta;b\n2\t\\\\.\n",
        ];
        assert_eq!(read(text, Dialect::Postgres).unwrap(), expected);
        let dump = Dump::examine("x.sql".into(), text.as_bytes(), Dialect::Postgres).unwrap();
        assert_eq!((dump.tables, dump.bytes), (vec!["public.t".to_owned()], text.len() as u64));
        assert_eq!(dump.sha256.len(), 64);
    }

    /// As a fleet has it beside its plans. An address that was not taken is written as it is.
    #[test]
    fn a_kept_dump_is_relative_to_its_plan() {
        let parsed = |dump: &str| {
            let text = format!(
                "base = \"a\"\n[workload]\nbenchmark = \"sql\"\n[sql.tests]\nlook = \"SELECT 1;\"\n{dump}\n\
                 [[arm]]\nname = \"a\"\nbuild = \"postgres-17\"\nconfig = \"sized\"\n"
            );
            let open = |path: &Path| match path.to_str() {
                Some("postgresql://me@db/shop") => Ok(Box::new(&b"CREATE TABLE t (id int);"[..]) as Opened),
                _ => Err(format!("{} was opened", path.display())),
            };
            let context = PlanContext { open: &open, ..PlanContext::trusting(crate::BENCHMARKS) };
            let plan = Plan::parse(&text, "/fleet/pieces/1.toml", &context).unwrap().plan;
            let dump = plan.work.of::<SqlPlan>().unwrap().dump().unwrap().clone();
            (dump, plan.to_toml().unwrap())
        };
        let (kept, _) =
            parsed("[sql.dump]\npath = \"data/d.sql\"\nsha256 = \"0\"\nbytes = 1\ntables = [\"t\"]");
        assert_eq!(kept.path, Path::new("/fleet/pieces/data/d.sql"));
        let (named, toml) = parsed("[sql]\ndump = \"postgresql://me@db/shop\"");
        assert_eq!(named.address(), Some("postgresql://me@db/shop"));
        assert!(toml.contains("dump = \"postgresql://me@db/shop\"") && !toml.contains("rows = "), "{toml}");
    }

    #[test]
    fn a_mistyped_address_gets_the_right_scheme() {
        for (text, expected) in [
            ("postgre://db/shop", Some("Did you mean `postgres://`?")),
            ("postgres//db/shop", Some("Write postgres://…")),
            ("mysqll://db/shop", Some("Did you mean `mysql://`?")),
            ("oracle://db/shop", Some("Write postgresql://…, mysql://… or mariadb://….")),
            ("mariadb://db/shop", None),
            ("dumps//shop.sql", None),
            ("../dumps//shop.sql", None),
        ] {
            assert_eq!(known_scheme(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_dump_of_mysql_is_read() {
        let text = "-- MySQL dump 10.13\n/*!40101 SET NAMES utf8 */;\nCREATE DATABASE x;\nUSE `x`;\n\
            DROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (\n  `id` int\n) ENGINE=InnoDB;\n\
            INSERT INTO `t` VALUES (1,'a;'),\n(2,'b\\'');\nDELIMITER ;;\n\
            CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW BEGIN\n SET @a = 1;\nEND ;;\n\
            CREATE TRIGGER b BEFORE UPDATE ON t FOR EACH ROW BEGIN\n SET @b = 1;\nEND ;;\nDELIMITER ;\nSELECT 1";
        let read = read(text, Dialect::Mysql).unwrap();
        let starts: Vec<&str> = read.iter().map(|one| &one[..one.len().min(24)]).collect();
        assert_eq!(
            starts,
            [
                "2 ? /*!40101 SET NAMES u",
                "5 DROP TABLE IF EXISTS `",
                "6 CREATE TABLE `t` (\n  `",
                "9 INSERT INTO `t` VALUES",
                "12 CREATE TRIGGER a BEFO",
                "15 CREATE TRIGGER b BEFO",
                "19 SELECT 1"
            ]
        );
        assert!(read[3].ends_with("(2,'b\\'')") && read[4].ends_with("SET @a = 1;\nEND"), "{read:?}");
    }

    #[test]
    fn a_definer_that_the_arm_does_not_have_is_left_out() {
        let text = "/*!50003 CREATE*/ /*!50017 DEFINER=`app`@`10.0.%`*/ /*!50003 TRIGGER a BEFORE INSERT ON t \
            FOR EACH ROW SET @a = 'DEFINER=x' */;\n\
            /*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`app`@`%` SQL SECURITY DEFINER */\n\
            /*!50001 VIEW `v` AS select 1 */;\n\
            CREATE DEFINER = app@localhost PROCEDURE p() SELECT 1;\nCREATE DEFINER=CURRENT_USER() FUNCTION f();\n\
            INSERT INTO t VALUES ('CREATE DEFINER=`a`@`b` VIEW');\n";
        let expected = [
            "1 /*!50003 CREATE*/ /*!50017 */ /*!50003 TRIGGER a BEFORE INSERT ON t FOR EACH ROW SET @a = 'DEFINER=x' */",
            "2 /*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS select 1 */",
            "5 CREATE PROCEDURE p() SELECT 1",
            "6 CREATE FUNCTION f()",
            "7 INSERT INTO t VALUES ('CREATE DEFINER=`a`@`b` VIEW')",
        ];
        assert_eq!(read(text, Dialect::Mysql).unwrap(), expected);
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, words) in [
            ("SELECT 1;\n\\connect shop\n", "line 2: `\\connect` is not supported"),
            ("CREATE TABLE t (id int);\nCOPY t FROM stdin;\n1\n", "line 3: the file ends within the rows"),
            ("CREATE TABLE t (v text DEFAULT 'a);\n", "the quote does not end"),
            ("SELECT 1;\n", "it creates no table"),
        ] {
            let why = Dump::examine("x.sql".into(), text.as_bytes(), Dialect::Postgres).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        let why =
            Dump::examine("x.sql".into(), &b"SELECT 1;\nSELECT '\xff';\n"[..], Dialect::Mysql).unwrap_err();
        assert!(why.contains("line 2 is not UTF-8"), "{why}");
    }
}
