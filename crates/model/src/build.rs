//! How a plan names a database program: by version, by the directory it is installed in, or by its source code.
//!
//! Parses and prints the name only; `rqps-builds` finds, downloads and hashes the program.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::source::SourceSpec;
use crate::text::{file_name_safe, nearest};

/// A database management system that rqps can measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dbms {
    /// PostgreSQL, 9.3 and later.
    Postgres,
    /// MySQL, 5.6 and later.
    Mysql,
    /// MariaDB, 10.2 and later.
    Mariadb,
    /// RocksDB, 5.18 and later: an engine in a library.
    Rocksdb,
    /// No DBMS: a directory, whose file system and device are measured.
    Directory,
}

impl Dbms {
    /// All supported DBMSs.
    pub const ALL: [Dbms; 4] = [Dbms::Postgres, Dbms::Mysql, Dbms::Mariadb, Dbms::Rocksdb];

    /// The name in plans, labels and folders: `postgres`, `mysql`, `mariadb`, `rocksdb`, `directory`.
    pub fn name(self) -> &'static str {
        match self {
            Dbms::Postgres => "postgres",
            Dbms::Mysql => "mysql",
            Dbms::Mariadb => "mariadb",
            Dbms::Rocksdb => "rocksdb",
            Dbms::Directory => "directory",
        }
    }

    /// The name as its makers write it.
    pub fn title(self) -> &'static str {
        match self {
            Dbms::Postgres => "PostgreSQL",
            Dbms::Mysql => "MySQL",
            Dbms::Mariadb => "MariaDB",
            Dbms::Rocksdb => "RocksDB",
            Dbms::Directory => "directory",
        }
    }

    /// Whether its instances are servers that speak SQL.
    pub fn speaks_sql(self) -> bool {
        !matches!(self, Dbms::Rocksdb | Dbms::Directory)
    }

    /// The server's own numeric form of a version: Postgres `18.1` is 180001, `9.6.24` is 90624, `19beta1` is 190000;
    /// MySQL `8.0.31` is 80031; MariaDB `10.11.5-MariaDB` is 101105. 0 if the text is not a version.
    pub fn version_num(self, version: &str) -> u32 {
        let mut parts = version.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse::<u32>().unwrap_or(0)
        });
        let mut next = || parts.next().unwrap_or(0);
        let (major, minor, patch) = (next(), next(), next());
        if self == Dbms::Postgres && major >= 10 {
            major * 10_000 + minor
        } else {
            major * 10_000 + minor * 100 + patch
        }
    }

    /// The remedy shown when one of its builds is not available.
    pub fn build_remedy(self) -> String {
        if self == Dbms::Directory {
            return format!("Write for example \"directory:{}\".", self.example_directory());
        }
        let (release, _) = self.example_versions();
        let dbms = if self == Dbms::Postgres { String::new() } else { format!(", dbms = \"{self}\"") };
        format!(
            "Write for example \"{self}-{release}\", or {{ path = \"{}\"{dbms} }}.",
            self.example_directory()
        )
    }

    /// An example release and its series, for messages.
    fn example_versions(self) -> (&'static str, &'static str) {
        match self {
            Dbms::Postgres => ("18.1", "18"),
            Dbms::Mysql => ("8.0.31", "8.0"),
            Dbms::Mariadb => ("11.4.5", "11.4"),
            Dbms::Rocksdb => ("10.10.1", "10"),
            Dbms::Directory => ("", ""),
        }
    }

    /// A typical installation directory, or a library, for messages.
    fn example_directory(self) -> &'static str {
        match self {
            Dbms::Postgres => "/usr/lib/postgresql/15",
            Dbms::Mysql => "/opt/mysql",
            Dbms::Mariadb => "/opt/mariadb",
            Dbms::Rocksdb => "/usr/local/lib/librocksdb.so",
            Dbms::Directory => "/mnt/data",
        }
    }
}

impl fmt::Display for Dbms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dbms {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let mut known = Dbms::ALL.into_iter().chain([Dbms::Directory]);
        known.find(|dbms| dbms.name() == text).ok_or_else(|| BuildError::UnknownDbms(text.to_owned()))
    }
}

/// Where a build comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BuildSource {
    /// A published version: `18.1`, `9.6.24`, `8.0.31`, or only a series (`18`, `9.6`, `8.0`) for its newest release.
    Version(String),
    /// The directory of an installed server or the file of a library, as written (relative to the working directory).
    Path(PathBuf),
    /// Source code to compile.
    Source(SourceSpec),
}

/// A build as written in a plan or on a command line: `postgres-18.1`, `mysql-8.0`, or a directory. A path with a `/`
/// is a Postgres directory; for other DBMSs the name comes first: `mysql:/opt/mysql`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BuildSpec {
    pub dbms: Dbms,
    pub source: BuildSource,
}

impl BuildSpec {
    /// The build installed in a directory.
    pub fn from_path(dbms: Dbms, path: impl Into<PathBuf>) -> Self {
        BuildSpec { dbms, source: BuildSource::Path(path.into()) }
    }

    /// A short name that is safe as a file name: `postgres-18.1`, or `postgres-at-postgresql-15` for
    /// `/usr/lib/postgresql/15` (the last two parts of the path).
    pub fn label(&self) -> String {
        match &self.source {
            BuildSource::Version(version) => format!("{}-{version}", self.dbms),
            BuildSource::Path(path) => format!("{}-at-{}", self.dbms, path_label(path)),
            BuildSource::Source(source) => format!("{}-of-{}", self.dbms, source.label()),
        }
    }
}

/// The last two components of a path, made safe for a file name.
fn path_label(path: &Path) -> String {
    let parts: Vec<String> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    let label = file_name_safe(&parts[parts.len().saturating_sub(2)..].join("-"));
    if label.is_empty() { "root".to_owned() } else { label }
}

/// Prints the form that parses back to the same build. A Postgres directory is printed as is, with `./` prepended if it
/// has no `/` or would parse as another DBMS's directory or as source code.
impl fmt::Display for BuildSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            BuildSource::Version(version) => write!(f, "{}-{version}", self.dbms),
            BuildSource::Path(path) => {
                let text = path.to_string_lossy();
                match self.dbms {
                    Dbms::Postgres
                        if text.contains('/')
                            && named_dbms(&text).is_none()
                            && flavoured(&text).is_none() =>
                    {
                        f.write_str(&text)
                    }
                    Dbms::Postgres => write!(f, "./{text}"),
                    dbms => write!(f, "{dbms}:{text}"),
                }
            }
            BuildSource::Source(source) => write!(f, "{}{source}", self.dbms),
        }
    }
}

impl FromStr for BuildSpec {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        if let Some((dbms, path)) = named_dbms(text) {
            return match path {
                "" => Err(BuildError::NoDirectory(dbms)),
                path => Ok(BuildSpec::from_path(dbms, path)),
            };
        }
        if let Some((dbms, rest)) = flavoured(text) {
            let (flavour, place) =
                rest.split_once(':').ok_or_else(|| BuildError::NoSource(text.to_owned()))?;
            return Ok(BuildSpec { dbms, source: BuildSource::Source(SourceSpec::parse(place, flavour)) });
        }
        if text.contains('/') {
            return Ok(BuildSpec::from_path(Dbms::Postgres, text));
        }
        let Some((dbms, version)) = text.split_once('-') else {
            return Err(match (text.parse(), is_version(text)) {
                (Ok(dbms), _) => BuildError::NoVersion(dbms),
                (_, true) => BuildError::NoDbms(text.to_owned()),
                _ => BuildError::NotABuild(text.to_owned()),
            });
        };
        let dbms = dbms.parse()?;
        if !is_version(version) {
            return Err(BuildError::BadVersion(dbms, version.to_owned()));
        }
        Ok(BuildSpec { dbms, source: BuildSource::Version(version.to_owned()) })
    }
}

/// The DBMS before the first `:`, and the rest.
fn named_dbms(text: &str) -> Option<(Dbms, &str)> {
    let (name, rest) = text.split_once(':')?;
    Some((name.parse().ok()?, rest))
}

/// The DBMS before the first `+`, and the rest: flavour, `:`, source.
fn flavoured(text: &str) -> Option<(Dbms, &str)> {
    let (name, rest) = text.split_once('+')?;
    Some((name.parse().ok()?, rest))
}

/// One to three numbers of at most four digits, separated by dots.
fn is_version(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    numbers.len() <= 3 && numbers.iter().all(is_number)
}

impl TryFrom<String> for BuildSpec {
    type Error = BuildError;

    fn try_from(text: String) -> Result<Self, BuildError> {
        text.parse()
    }
}

impl From<BuildSpec> for String {
    fn from(spec: BuildSpec) -> Self {
        spec.to_string()
    }
}

/// Why a text does not name a build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", self.what(), self.remedy())]
pub enum BuildError {
    /// The part before the first `-` is not a supported DBMS.
    UnknownDbms(String),
    /// A version without its DBMS.
    NoDbms(String),
    /// A DBMS without its version.
    NoVersion(Dbms),
    /// A DBMS and a `:` without a directory.
    NoDirectory(Dbms),
    /// The version is not numbers with dots.
    BadVersion(Dbms, String),
    NotABuild(String),
    /// A flavour without source code.
    NoSource(String),
}

/// Builds as they are written.
const EXAMPLES: &str = "write \"postgres-18.1\", \"mysql-8.0\", or a directory such as \"/usr/lib/postgresql/15\" or \"mysql:/opt/mysql\"";

impl BuildError {
    /// The mistake, without its remedy.
    pub fn what(&self) -> String {
        match self {
            BuildError::UnknownDbms(text) => {
                format!("unknown DBMS \"{text}\" (rqps knows {})", Dbms::ALL.map(Dbms::name).join(", "))
            }
            BuildError::NoDbms(text) => format!("\"{text}\" does not say which DBMS"),
            BuildError::NoVersion(dbms) => format!("\"{dbms}\" does not say which version"),
            BuildError::NoDirectory(dbms) => format!("\"{dbms}:\" does not say which directory"),
            BuildError::BadVersion(_, text) => format!("\"{text}\" is not a version"),
            BuildError::NotABuild(text) => format!("\"{text}\" is not a build"),
            BuildError::NoSource(text) => format!("\"{text}\" does not say where the source is"),
        }
    }

    pub fn remedy(&self) -> String {
        match self {
            BuildError::NoDbms(version) => {
                let written = Dbms::ALL.map(|dbms| format!("\"{dbms}-{version}\""));
                format!("write {}", written.join(" or "))
            }
            BuildError::NoVersion(dbms) | BuildError::BadVersion(dbms, _) => {
                if *dbms == Dbms::Directory {
                    return format!("write \"{dbms}:{}\"", dbms.example_directory());
                }
                let (release, series) = dbms.example_versions();
                format!("write \"{dbms}-{release}\", or \"{dbms}-{series}\" for its newest release")
            }
            BuildError::NoSource(text) => format!("write \"{text}:/src/postgres@REL_18_STABLE\""),
            BuildError::NoDirectory(dbms) => format!("write \"{dbms}:{}\"", dbms.example_directory()),
            BuildError::UnknownDbms(text) => {
                let nearest = nearest(text, Dbms::ALL.map(Dbms::name));
                nearest.map_or_else(|| EXAMPLES.to_owned(), |name| format!("did you mean `{name}`?"))
            }
            BuildError::NotABuild(_) => EXAMPLES.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_no_dbms_and_have_no_versions() {
        let spec: BuildSpec = "directory:/mnt/xfs".parse().unwrap();
        assert_eq!(spec, BuildSpec::from_path(Dbms::Directory, "/mnt/xfs"));
        assert_eq!(spec.to_string(), "directory:/mnt/xfs");
        assert!(!Dbms::ALL.contains(&Dbms::Directory) && !Dbms::Directory.speaks_sql());
        let message = |text: &str| text.parse::<BuildSpec>().unwrap_err().to_string();
        for text in ["directory", "directory:", "directory-x"] {
            assert!(message(text).contains("write \"directory:/mnt/data\""), "{}", message(text));
        }
    }

    #[test]
    fn text_forms_round_trip() {
        let versions = [
            "postgres-18.1",
            "postgres-9.6.24",
            "mysql-8.0.31",
            "mysql-8.0",
            "mariadb-11.4",
            "rocksdb-10.10.1",
        ];
        let directories = ["/usr/lib/postgresql/15", "./pg", "mysql:/opt/my sql", "mariadb:my", "./mysql:x"];
        let sources = [
            "postgres+o2nofp:/src/pg@REL_18_6",
            "mysql+/my/fast.toml:/src/mysql-8.4.tar.gz",
            "postgres+clang:/odd@x@",
        ];
        for text in versions.into_iter().chain(directories).chain(sources) {
            let spec: BuildSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
        let directory = |text: &str| match text.parse::<BuildSpec>().unwrap() {
            BuildSpec { dbms, source: BuildSource::Path(path) } => (dbms, path),
            other => panic!("{other} is not a directory"),
        };
        assert_eq!(directory("postgres:/pg"), (Dbms::Postgres, PathBuf::from("/pg")));
        assert_eq!(directory("mysql:my"), (Dbms::Mysql, PathBuf::from("my")));
        for bare in ["pg-head", "mysql:/x", "postgres+o2nofp:/x"] {
            let bare = BuildSpec::from_path(Dbms::Postgres, bare);
            assert_eq!(bare.to_string().parse::<BuildSpec>().unwrap().label(), bare.label());
        }
    }

    #[test]
    fn version_numbers_match_the_servers() {
        for (dbms, version, number) in [
            (Dbms::Postgres, "18.1", 180_001),
            (Dbms::Postgres, "9.6.24", 90_624),
            (Dbms::Postgres, "19beta1", 190_000),
            (Dbms::Mysql, "5.6.14", 50_614),
            (Dbms::Mysql, "9.7.4", 90_704),
            (Dbms::Mariadb, "10.11.5-MariaDB-0+deb12u1", 101_105),
            (Dbms::Mariadb, "unknown", 0),
            (Dbms::Rocksdb, "10.10.1", 101_001),
        ] {
            assert_eq!(dbms.version_num(version), number, "{dbms} {version}");
        }
    }

    #[test]
    fn labels_are_file_names() {
        let label = |text: &str| text.parse::<BuildSpec>().unwrap().label();
        assert_eq!(label("postgres-18.1"), "postgres-18.1");
        assert_eq!(label("/usr/lib/postgresql/15"), "postgres-at-postgresql-15");
        assert_eq!(label("../my builds/head/"), "postgres-at-my-builds-head");
        assert_eq!(label("/"), "postgres-at-root");
        assert_eq!(label("mariadb:/opt/mariadb-11.4/"), "mariadb-at-opt-mariadb-11.4");
    }

    #[test]
    fn errors_name_the_remedy() {
        let message = |text: &str| text.parse::<BuildSpec>().unwrap_err().to_string();
        assert!(message("18.1").contains("write \"postgres-18.1\""));
        assert!(
            message("oracle-19.3")
                .contains("unknown DBMS \"oracle\" (rqps knows postgres, mysql, mariadb, rocksdb)")
        );
        assert!(message("postgre-18").ends_with("did you mean `postgres`?"), "{}", message("postgre-18"));
        assert!(message("postgres-18beta1").contains("\"18beta1\" is not a version"));
        assert!(message("mysql-8.0.31-debug").contains("write \"mysql-8.0.31\", or \"mysql-8.0\" for"));
        assert!(message("8.0").contains("\"mysql-8.0\""));
        assert!(message("postgres").contains("does not say which version"));
        assert!(message("mysql:").contains("write \"mysql:/opt/mysql\""));
        assert!(message("postgres+o2nofp").contains("write \"postgres+o2nofp:/src"));
        assert!(message("server").contains("is not a build"));
        assert!(message("postgres-1.2.3.4").contains("is not a version"));
    }
}
