//! Names in an archive of published results: `x.BUILD.CONFIG.pk1/sb.KIND.TEST.rangeN.pk1.dopN`.

use std::cmp::Ordering;

use rqps_model::{Dbms, Group, Role};

pub static POINT_QUERIES: Group = Group::new(1, "point", "point queries", "point");
pub static RANGES: Group = Group::new(2, "range", "range queries", "range");
pub static WRITES: Group = Group::new(3, "write", "writes", "writes");

/// Tests that come with several ranges, so that the range is part of their name.
const WITH_RANGES: [&str; 3] = ["random-points", "read-only", "read-write"];
const PHASES: [&str; 3] = ["pre", "warm", "warmpre"];
/// What the name of a step begins with that prepares a test: it has a rate of its own.
const PREPARES: &str = "prepare.";

/// An arm as the name of its directory tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmName {
    pub dbms: Dbms,
    pub version: String,
    pub config: String,
}

impl ArmName {
    /// Parses `x.pg181_o2nofp.x10b_c32r128.pk1`, also without `x.` and `.pk1`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("x.").unwrap_or(text);
        let text =
            ["pk0", "pk1"].iter().find_map(|end| text.strip_suffix(&format!(".{end}"))).unwrap_or(text);
        // `pg181 huge pages`
        let (name, words) = text.split_once(' ').unwrap_or((text, ""));
        let (build, config) = name.split_once('.').unwrap_or((name, ""));
        let (dbms, version) = version_of(build.split('_').next()?)?;
        let config = [config, words].join(" ").trim().to_owned();
        Some(Self { dbms, version, config })
    }
}

/// `pg181` is Postgres 18.1, `my8406` MySQL 8.4.6, `ma100244` MariaDB 10.2.44.
pub fn version_of(build: &str) -> Option<(Dbms, String)> {
    let after = |prefix| {
        build.strip_prefix(prefix).filter(|rest: &&str| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let split = |digits: &str, widths: &[usize]| -> Option<String> {
        let (mut parts, mut at) = (Vec::new(), 0);
        for (index, width) in widths.iter().enumerate() {
            let end = if index + 1 == widths.len() { digits.len().min(at + width) } else { at + width };
            let part = digits.get(at..end).filter(|part| !part.is_empty())?;
            parts.push(part.parse::<u32>().ok()?.to_string());
            at = end;
        }
        Some(parts.join("."))
    };
    if let Some(rest) = after("pg") {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tag) = rest.split_at(digits);
        let tag = tag.replace("beta", "b").replace('b', "beta");
        let stage = tag.trim_end_matches(|c: char| c.is_ascii_digit());
        if !["", "devel", "alpha", "beta", "rc"].contains(&stage) {
            return None;
        }
        let is_old = number.starts_with('9') && number.len() >= 3;
        return Some((
            Dbms::Postgres,
            match () {
                () if is_old => split(number, &[1, 1, number.len() - 2])?,
                () if !tag.is_empty() => format!("{number}{tag}"),
                () => format!("{}.{}", number.get(..2)?, number.get(2..).filter(|minor| !minor.is_empty())?),
            },
        ));
    }
    let digits =
        |rest: &str| rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].to_owned();
    if let Some(rest) = after("my").or_else(|| after("fbmy")) {
        return Some((Dbms::Mysql, split(&digits(rest), &[1, 1, 2])?));
    }
    let rest = after("ma")?;
    Some((Dbms::Mariadb, split(&digits(rest), &[2, 2, 2])?))
}

/// A test with its phase and range, as rows of tables and files name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TestName {
    /// `point-query`.
    pub test: String,
    /// `pre`, `warm`, `warmpre`; empty for the test itself.
    pub phase: String,
    pub range: Option<u32>,
}

impl TestName {
    /// Parses a row's name: `scan.warm_range=100`, or without a range.
    pub fn of_row(row: &str) -> Self {
        let with_range =
            row.split_once("_range=").and_then(|(name, range)| Some((name, range.parse().ok()?)));
        let (name, range) = with_range.map_or((row, None), |(name, range)| (name, Some(range)));
        match name.rsplit_once('.') {
            Some((test, phase)) if PHASES.contains(&phase) => {
                Self { test: test.to_owned(), phase: phase.to_owned(), range }
            }
            _ => Self { test: name.to_owned(), phase: String::new(), range },
        }
    }

    /// Parses a file's name: `sb.o.point-query.warm.range100.pk1.dop40`. Returns its kind, such as `o`, too.
    pub fn of_file(name: &str) -> Option<(String, Self)> {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let rest = name.strip_prefix("sb.")?;
        let (prepares, rest) = rest.strip_prefix(PREPARES).map_or(("", rest), |rest| (PREPARES, rest));
        let mut places = rest.match_indices(".range").map(|(at, _)| at);
        let at = places.find(|at| rest[at + 6..].starts_with(|c: char| c.is_ascii_digit()))?;
        let range = rest[at + 6..].split('.').next()?.parse().ok()?;
        let mut parts: Vec<&str> = rest[..at].split('.').collect();
        let phase = match parts.last() {
            Some(last) if PHASES.contains(last) => parts.pop().unwrap_or_default(),
            _ => "",
        };
        let test = parts.pop()?;
        let name = Self { test: format!("{prepares}{test}"), phase: phase.to_owned(), range: Some(range) };
        (!parts.is_empty() && !test.is_empty()).then(|| (parts.join("."), name))
    }

    /// The name in published tables.
    pub fn row(&self) -> String {
        let phase = if self.phase.is_empty() { String::new() } else { format!(".{}", self.phase) };
        let range = self.range.map(|range| format!("_range={range}")).unwrap_or_default();
        format!("{}{phase}{range}", self.test)
    }

    /// Whether rqps' own tests have the range in their names.
    pub fn has_ranges(&self) -> bool {
        WITH_RANGES.contains(&self.test.as_str())
    }

    pub fn role(&self) -> Role {
        match self.phase.as_str() {
            "" => Role::Test,
            "pre" => Role::Pre,
            _ => Role::Warm,
        }
    }

    pub fn writes(&self) -> bool {
        ["delete", "insert", "update", "write"].iter().any(|word| self.test.contains(word))
    }

    pub fn group(&self) -> &'static Group {
        match () {
            () if self.test.contains("point") && !self.phase.starts_with("warm") => &POINT_QUERIES,
            () if self.writes() => &WRITES,
            () => &RANGES,
        }
    }

    /// Whether its published rate counts rows instead of queries.
    pub fn is_scan(&self) -> bool {
        self.test == "scan"
    }
}

/// Rows of published tables: point queries, range queries, writes; within a group as glibc sorts file names in en_US:
/// first without punctuation.
pub fn in_published_order(a: &TestName, b: &TestName) -> Ordering {
    let group = |name: &TestName| match name.group().key.as_ref() {
        "point" => 0,
        "range" => 1,
        _ => 2,
    };
    let key = |name: &TestName| {
        let range = name.range.map(|range| format!("range{range}")).unwrap_or_default();
        let phase = if name.phase.is_empty() { String::new() } else { format!(".{}", name.phase) };
        let file = format!("{}{phase}.{range}.pk1", name.test);
        (file.chars().filter(|c| c.is_ascii_alphanumeric()).collect::<String>(), file)
    };
    group(a).cmp(&group(b)).then_with(|| key(a).cmp(&key(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_name_version_and_config() {
        for (name, dbms, version, config) in [
            ("x.pg181_o2nofp.x10b_c32r128.pk1", Dbms::Postgres, "18.1", "x10b_c32r128"),
            ("x.pg1222_o2nofp.x10a_c8r32.pk1", Dbms::Postgres, "12.22", "x10a_c8r32"),
            ("x.pg110_o2nofp.x10a.pk1", Dbms::Postgres, "11.0", "x10a"),
            ("x.pg9023_def.x7.pk1", Dbms::Postgres, "9.0.23", "x7"),
            ("x.pg18beta1_o2nofp.x10b.pk1", Dbms::Postgres, "18beta1", "x10b"),
            ("pg19b1_o2nofp.x10d", Dbms::Postgres, "19beta1", "x10d"),
            ("x.my5651_rel_o2nofp.z12a_c8r32.pk1", Dbms::Mysql, "5.6.51", "z12a_c8r32"),
            ("x.my8406v2_rel_o2nofp.z12a_c8r32.pk1", Dbms::Mysql, "8.4.6", "z12a_c8r32"),
            ("x.my9700_rel.z13a.pk1", Dbms::Mysql, "9.7.0", "z13a"),
            ("pg181 hp on", Dbms::Postgres, "18.1", "hp on"),
            ("x.ma100244_rel.z11b_c32r128.pk1", Dbms::Mariadb, "10.2.44", "z11b_c32r128"),
        ] {
            let (version, config) = (version.to_owned(), config.to_owned());
            assert_eq!(ArmName::parse(name), Some(ArmName { dbms, version, config }), "{name}");
        }
        for name in ["old", "mystery", "page", "x..pk1", "pg", "my1", "pg17 hp on", "pg181-hp"] {
            assert_eq!(ArmName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn rows_and_files_name_the_same_step() {
        let (kind, file) = TestName::of_file("sb.o.range-notcovered-si.pre.range100.pk1.dop40.gz").unwrap();
        let row = TestName::of_row("range-notcovered-si.pre_range=100");
        assert_eq!((kind.as_str(), &file), ("o", &row));
        assert_eq!(TestName::of_file("sb.perf.hw.delete.range100.pk1.1").unwrap().0, "perf.hw");
        assert_eq!(TestName::of_row("read-only_range=10").range, Some(10));
        // Not a number: then it is a part of the name, or two tests would be one.
        assert_eq!(TestName::of_row("lookup_range=small").row(), "lookup_range=small");
        assert_eq!(file.row(), "range-notcovered-si.pre_range=100");
        assert_eq!(TestName::of_file("sb.o.pgvac"), None);
        let (kind, prepared) = TestName::of_file("sb.prepare.met.point-query.warm.range100.pk1").unwrap();
        assert_eq!((kind.as_str(), prepared.row()), ("met", "prepare.point-query.warm_range=100".to_owned()));
        assert_eq!(TestName::of_row(&prepared.row()), prepared);
    }
}
