//! How a plan names a database program: by version, or by the directory it is installed in.
//!
//! This is only the name as written. Finding, downloading and hashing the program is the business of `rqps-servers`.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A database management system that rqps can measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dbms {
    /// PostgreSQL, 9.6 and later.
    Postgres,
    /// MySQL, 5.6 and later.
    Mysql,
    /// MariaDB, 10.2 and later.
    Mariadb,
}

impl Dbms {
    /// Every DBMS that rqps knows.
    pub const ALL: [Dbms; 3] = [Dbms::Postgres, Dbms::Mysql, Dbms::Mariadb];

    /// The name in plans, labels and folders: `postgres`, `mysql`, `mariadb`.
    pub fn name(self) -> &'static str {
        match self {
            Dbms::Postgres => "postgres",
            Dbms::Mysql => "mysql",
            Dbms::Mariadb => "mariadb",
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
        Dbms::ALL
            .into_iter()
            .find(|dbms| dbms.name() == text)
            .ok_or_else(|| BuildError::UnknownDbms(text.to_owned()))
    }
}

/// Where a build comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BuildSource {
    /// A published version: `18.1`, `9.6.24`, or a major alone (`18`, `9.6`) for its newest minor.
    Version(String),
    /// A directory that holds `bin/postgres`, as written (a relative path starts at the working directory).
    Path(PathBuf),
}

/// A build as a plan or a command line names it: `postgres-18.1`, `postgres-18`, or a directory path with a `/` in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BuildSpec {
    /// The DBMS it is a build of.
    pub dbms: Dbms,
    /// Version or directory.
    pub source: BuildSource,
}

impl BuildSpec {
    /// A build by its directory.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        BuildSpec { dbms: Dbms::Postgres, source: BuildSource::Path(path.into()) }
    }

    /// A short name that is safe as a file name: `postgres-18.1`, or `postgres-at-postgresql-15` for
    /// `/usr/lib/postgresql/15` (the last two parts of the path).
    pub fn label(&self) -> String {
        match &self.source {
            BuildSource::Version(version) => format!("{}-{version}", self.dbms),
            BuildSource::Path(path) => format!("{}-at-{}", self.dbms, path_label(path)),
        }
    }
}

/// The last two named parts of a path, other characters than letters, digits, `.` and `_` turned into `-`.
fn path_label(path: &Path) -> String {
    let parts: Vec<String> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    let joined = parts[parts.len().saturating_sub(2)..].join("-");
    let safe =
        joined.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' });
    let label: String = safe.collect();
    if label.is_empty() { "root".to_owned() } else { label }
}

/// The form that parses back to the same build. A relative directory without a `/` gets `./` in front.
impl fmt::Display for BuildSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            BuildSource::Version(version) => write!(f, "{}-{version}", self.dbms),
            BuildSource::Path(path) => {
                let text = path.to_string_lossy();
                if text.contains('/') { f.write_str(&text) } else { write!(f, "./{text}") }
            }
        }
    }
}

impl FromStr for BuildSpec {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        if text.contains('/') {
            return Ok(BuildSpec::from_path(text));
        }
        let Some((dbms, version)) = text.split_once('-') else {
            return Err(match check_version(text) {
                Ok(()) => BuildError::NoDbms(text.to_owned()),
                Err(_) => BuildError::NotABuild(text.to_owned()),
            });
        };
        let dbms = dbms.parse()?;
        check_version(version)?;
        Ok(BuildSpec { dbms, source: BuildSource::Version(version.to_owned()) })
    }
}

/// One to three numbers with dots between them.
fn check_version(version: &str) -> Result<(), BuildError> {
    let numbers: Vec<&str> = version.split('.').collect();
    let is_number = |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if numbers.len() <= 3 && numbers.iter().all(is_number) {
        Ok(())
    } else {
        Err(BuildError::BadVersion(version.to_owned()))
    }
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
    /// The part before the first `-` is not a DBMS that rqps knows.
    UnknownDbms(String),
    /// A version without its DBMS.
    NoDbms(String),
    /// The version is not numbers with dots.
    BadVersion(String),
    /// Neither version nor directory.
    NotABuild(String),
}

impl BuildError {
    /// What is wrong, without what to do about it.
    pub fn what(&self) -> String {
        match self {
            BuildError::UnknownDbms(text) => {
                format!("unknown DBMS \"{text}\" (rqps knows {})", known_dbms())
            }
            BuildError::NoDbms(text) => format!("\"{text}\" does not say which DBMS"),
            BuildError::BadVersion(text) => format!("\"{text}\" is not a version"),
            BuildError::NotABuild(text) => format!("\"{text}\" is not a build"),
        }
    }

    /// What to write instead.
    pub fn remedy(&self) -> String {
        match self {
            BuildError::NoDbms(version) => format!("write \"postgres-{version}\""),
            BuildError::BadVersion(_) => {
                "write \"postgres-18.1\", or \"postgres-18\" for its newest minor".to_owned()
            }
            BuildError::UnknownDbms(_) | BuildError::NotABuild(_) => {
                "write \"postgres-18.1\", or a directory such as \"/usr/lib/postgresql/15\"".to_owned()
            }
        }
    }
}

fn known_dbms() -> String {
    Dbms::ALL.map(|dbms| dbms.to_string()).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_round_trip() {
        for text in ["postgres-18.1", "postgres-18", "postgres-9.6.24", "/usr/lib/postgresql/15", "./pg"] {
            let spec: BuildSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
        let bare = BuildSpec::from_path("pg-head");
        assert_eq!(bare.to_string().parse::<BuildSpec>().unwrap().label(), bare.label());
    }

    #[test]
    fn labels_are_file_names() {
        let label = |text: &str| text.parse::<BuildSpec>().unwrap().label();
        assert_eq!(label("postgres-18.1"), "postgres-18.1");
        assert_eq!(label("/usr/lib/postgresql/15"), "postgres-at-postgresql-15");
        assert_eq!(label("../my builds/head/"), "postgres-at-my-builds-head");
        assert_eq!(label("/"), "postgres-at-root");
    }

    #[test]
    fn refusals_name_the_remedy() {
        let message = |text: &str| text.parse::<BuildSpec>().unwrap_err().to_string();
        assert!(message("18.1").contains("write \"postgres-18.1\""));
        assert!(
            message("oracle-19.3").contains("unknown DBMS \"oracle\" (rqps knows postgres, mysql, mariadb)")
        );
        assert!(message("postgres-18beta1").contains("\"18beta1\" is not a version"));
        assert!(message("postgres").contains("is not a build"));
        assert!(message("postgres-1.2.3.4").contains("is not a version"));
    }
}
