//! Building MySQL and MariaDB from source: both use cmake, and version files of the same form.

use std::path::Path;

use super::Mysql;
use crate::source::code::{Site, SourceCode, Step, path_text, read_file};
use crate::source::flavour::System;

const VERSION_FILES: [&str; 2] = ["MYSQL_VERSION", "VERSION"];

impl SourceCode for Mysql {
    fn systems(&self) -> &'static [System] {
        &[System::Cmake]
    }

    /// Only MariaDB's file has the maturity of the server. MySQL's was also called `VERSION` before 8.0.
    fn version(&self, tree: &Path) -> Option<String> {
        let file = VERSION_FILES.iter().find_map(|name| read_file(tree, name))?;
        let value = |key: &str| {
            let line = file.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?;
            Some(line.trim().trim_matches('"').to_owned())
        };
        if value("SERVER_MATURITY").is_some() != self.is_mariadb() {
            return None;
        }
        let part = |name: &str| value(&format!("MYSQL_VERSION_{name}"));
        Some(format!("{}.{}.{}", part("MAJOR")?, part("MINOR")?, part("PATCH")?))
    }

    fn identified_by(&self) -> &'static str {
        if self.is_mariadb() {
            "`VERSION` with SERVER_MATURITY, as MariaDB's source has"
        } else {
            "`MYSQL_VERSION` or `VERSION`, as MySQL's source has"
        }
    }

    fn telling_files(&self) -> &'static [&'static str] {
        &VERSION_FILES
    }

    fn programs(&self, _site: &Site<'_>) -> Vec<&'static str> {
        vec!["cmake", "ninja", "bison", "perl"]
    }

    fn steps(&self, site: &Site<'_>) -> Vec<Step> {
        let flavour = site.flavour;
        let build = path_text(&site.build);
        let configure =
            Step::new("configuring", "cmake", &["-G", "Ninja", "-S", &path_text(&site.tree), "-B", &build])
                .args([
                    format!("-DCMAKE_INSTALL_PREFIX={}", path_text(&site.prefix)),
                    format!("-DCMAKE_C_COMPILER={}", flavour.cc),
                    format!("-DCMAKE_CXX_COMPILER={}", flavour.cxx),
                ])
                .args(linker_options(&flavour.ldflags))
                .args(site.options.iter().cloned());
        let jobs = site.jobs.to_string();
        vec![
            configure,
            Step::new("compiling", "cmake", &["--build", &build, "-j", &jobs]),
            Step::new("installing", "cmake", &["--install", &build]),
        ]
    }
}

fn linker_options(ldflags: &str) -> Vec<String> {
    let kinds: &[&str] = if ldflags.is_empty() { &[] } else { &["EXE", "SHARED", "MODULE"] };
    kinds.iter().map(|kind| format!("-DCMAKE_{kind}_LINKER_FLAGS={ldflags}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_model::Dbms;
    use std::fs;

    #[test]
    fn version_files_distinguish_mysql_and_mariadb() {
        let dir = tempfile::tempdir().unwrap();
        let version = |is_mariadb: bool| {
            let dbms = if is_mariadb { Dbms::Mariadb } else { Dbms::Mysql };
            Mysql { dbms }.version(dir.path())
        };
        let numbers =
            "MYSQL_VERSION_MAJOR=10\nMYSQL_VERSION_MINOR=11\nMYSQL_VERSION_PATCH=6\nMYSQL_VERSION_EXTRA=\n";
        fs::write(dir.path().join("VERSION"), format!("{numbers}SERVER_MATURITY=stable\n")).unwrap();
        assert_eq!((version(true).as_deref(), version(false)), (Some("10.11.6"), None));
        fs::write(dir.path().join("VERSION"), numbers).unwrap();
        assert_eq!((version(true), version(false).as_deref()), (None, Some("10.11.6")));
    }
}
