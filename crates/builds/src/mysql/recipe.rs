//! Sources of published builds of MySQL and MariaDB, as data in `crates/builds/recipes/`.

use rqps_model::Dbms;
use serde::Deserialize;

use super::version;
use crate::error::{Error, Result};

/// The recipes of one DBMS.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipes {
    /// The environment variable with the address of the vendor's tarballs.
    pub tarball_url_variable: String,
    /// Builds in a Maven repository, which keeps them forever.
    pub maven: Vec<MavenBuild>,
    /// Builds of Debian's suites; each suite keeps only its latest.
    pub debian: Vec<Suite>,
    /// File names of the vendor's tarballs.
    pub tarball: Vec<TarballNames>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MavenBuild {
    pub version: String,
    /// `group:artifact:version`, optionally with `:packaging` and `:classifier`.
    pub artifact: String,
    /// Of the whole archive; verified before it is unpacked.
    pub sha256: String,
    pub size_mb: u32,
    /// The tarball inside the archive that has the files.
    pub inner: Option<String>,
    /// The directory inside the archive that has the files, if not its top.
    pub folder: Option<String>,
    /// Its compiler flags, if neither the program nor a file in the build has them.
    pub flags: Option<String>,
}

/// A build in a suite of Debian.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    /// The series of this suite: `10.11`.
    pub series: String,
    /// `bookworm`.
    pub suite: String,
    /// Server first; dependencies are fetched automatically.
    pub packages: Vec<String>,
    /// Compiler and flags of the suite, because its packages are stripped of that information.
    pub compiler: Option<String>,
    pub flags: String,
}

/// File names of a range of versions, from `since` up to the next entry's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TarballNames {
    pub since: String,
    /// With `{version}` and `{series}`; the first that exists is used.
    pub names: Vec<String>,
}

impl Suite {
    /// The package with the server program.
    pub fn server(&self) -> &str {
        self.packages.first().map(String::as_str).unwrap_or_default()
    }
}

impl Recipes {
    pub fn load(dbms: Dbms) -> Result<Recipes> {
        let text = match dbms {
            Dbms::Mariadb => include_str!("../../recipes/mariadb.toml"),
            _ => include_str!("../../recipes/mysql.toml"),
        };
        toml::from_str(text).map_err(|error| Error::BadRecipes { dbms, reason: error.to_string() })
    }

    /// Possible names of a version's tarball, most likely first.
    pub fn tarball_names(&self, wanted: &str) -> Vec<String> {
        // Both DBMSs number versions alike.
        let number = |version: &str| Dbms::Mysql.version_num(version);
        let entry = self.tarball.iter().rev().find(|entry| number(&entry.since) <= number(wanted));
        let fill =
            |name: &String| name.replace("{version}", wanted).replace("{series}", version::series_of(wanted));
        entry.map(|entry| entry.names.iter().map(fill).collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_valid() {
        for dbms in [Dbms::Mysql, Dbms::Mariadb] {
            let recipes = Recipes::load(dbms).unwrap();
            for build in &recipes.maven {
                assert_eq!(build.sha256.len(), 64, "{dbms} {}", build.version);
                assert!(build.artifact.split(':').count() >= 3, "{}", build.artifact);
                assert!(version::Request::parse(dbms, &build.version).unwrap().is_exact());
            }
            for suite in &recipes.debian {
                assert!(!version::Request::parse(dbms, &suite.series).unwrap().is_exact());
            }
            assert!(recipes.tarball.is_sorted_by_key(|entry| dbms.version_num(&entry.since)));
        }
    }

    #[test]
    fn tarball_names_match_those_of_the_vendors() {
        let first = |dbms, version| Recipes::load(dbms).unwrap().tarball_names(version).remove(0);
        assert_eq!(first(Dbms::Mysql, "5.7.44"), "mysql-5.7.44-linux-glibc2.12-x86_64.tar.gz");
        assert_eq!(first(Dbms::Mysql, "8.0.31"), "mysql-8.0.31-linux-glibc2.12-x86_64.tar.xz");
        assert_eq!(first(Dbms::Mysql, "8.4.3"), "mysql-8.4.3-linux-glibc2.17-x86_64.tar.xz");
        assert_eq!(first(Dbms::Mariadb, "11.4.5"), "mariadb-11.4.5-linux-systemd-x86_64.tar.gz");
    }
}
