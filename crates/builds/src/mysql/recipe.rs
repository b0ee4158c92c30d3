//! Where published builds of MySQL and MariaDB come from: data, in `crates/builds/recipes/`.

use rqps_model::Dbms;
use serde::Deserialize;

use super::version;
use crate::error::{Error, Result};

/// All that is known of one DBMS.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipes {
    /// The variable that names where its maker's tarballs lie.
    pub tarball_url_variable: String,
    /// Builds that lie in a Maven repository for good.
    pub maven: Vec<MavenBuild>,
    /// Builds of Debian's suites, each of which keeps its latest only.
    pub debian: Vec<Suite>,
    /// How its maker's tarballs are called.
    pub tarball: Vec<TarballNames>,
}

/// A build in a Maven repository.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MavenBuild {
    pub version: String,
    /// `group:artifact:version`, or with `:packaging` and `:classifier` behind it.
    pub artifact: String,
    /// Of the whole archive. It is compared before anything of it is unpacked.
    pub sha256: String,
    pub size_mb: u32,
    /// A tarball within the archive, which has the files.
    pub inner: Option<String>,
    /// The directory within the archive that has them, when it is not its top.
    pub folder: Option<String>,
    /// The flags that it was compiled with, where neither the program nor a file beside it tells.
    pub flags: Option<String>,
}

/// A build as a suite of Debian has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    /// The series that this suite stays in: `10.11`.
    pub series: String,
    /// `bookworm`.
    pub suite: String,
    /// Server first; what they depend on comes with them.
    pub packages: Vec<String>,
    /// The compiler and the flags of the suite, as its packages are stripped of all that tells.
    pub compiler: Option<String>,
    pub flags: String,
}

/// Names of the files of a range of versions, from `since` up to the next entry's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TarballNames {
    pub since: String,
    /// With `{version}` and `{series}`; the first that is there is taken.
    pub names: Vec<String>,
}

impl Recipes {
    /// Those of MySQL or MariaDB.
    pub fn load(dbms: Dbms) -> Result<Recipes> {
        let text = match dbms {
            Dbms::Mariadb => include_str!("../../recipes/mariadb.toml"),
            _ => include_str!("../../recipes/mysql.toml"),
        };
        toml::from_str(text).map_err(|error| Error::BadRecipes { dbms, reason: error.to_string() })
    }

    /// The names that a version's tarball may have, most likely first.
    pub fn tarball_names(&self, wanted: &str) -> Vec<String> {
        // Both DBMSs count alike.
        let number = |version: &str| Dbms::Mysql.version_num(version);
        let fitting = self.tarball.iter().rev().find(|entry| number(&entry.since) <= number(wanted));
        let fill =
            |name: &String| name.replace("{version}", wanted).replace("{series}", version::series_of(wanted));
        fitting.map(|entry| entry.names.iter().map(fill).collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_can_be_followed() {
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
    fn tarballs_are_called_as_their_makers_do() {
        let first = |dbms, version| Recipes::load(dbms).unwrap().tarball_names(version).remove(0);
        assert_eq!(first(Dbms::Mysql, "5.7.44"), "mysql-5.7.44-linux-glibc2.12-x86_64.tar.gz");
        assert_eq!(first(Dbms::Mysql, "8.0.31"), "mysql-8.0.31-linux-glibc2.12-x86_64.tar.xz");
        assert_eq!(first(Dbms::Mysql, "8.4.3"), "mysql-8.4.3-linux-glibc2.17-x86_64.tar.xz");
        assert_eq!(first(Dbms::Mariadb, "11.4.5"), "mariadb-11.4.5-linux-systemd-x86_64.tar.gz");
    }
}
