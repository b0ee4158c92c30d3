//! Finds the parts of a build: vendors' tarballs, Debian's packages and manual installations arrange them
//! differently.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Directories of the server program below the top of a build, most likely first.
const SERVER_DIRS: [&str; 6] = ["bin", "sbin", "libexec", "usr/sbin", "usr/bin", "usr/libexec"];

/// Names of the server program. MariaDB uses the first, and in older versions the second.
const SERVERS: [&str; 2] = ["mariadbd", "mysqld"];

/// Programs that create a data directory, below the base directory.
const INSTALL_DB: [&str; 4] = [
    "scripts/mariadb-install-db",
    "bin/mariadb-install-db",
    "scripts/mysql_install_db",
    "bin/mysql_install_db",
];

/// Directories of messages and SQL scripts, below the base directory.
const SHARE_DIRS: [&str; 3] = ["share", "share/mysql", "share/mariadb"];

/// A file in each of them.
const MESSAGES: &str = "english/errmsg.sys";

/// Plugin directories, below the base directory.
const PLUGIN_DIRS: [&str; 6] = [
    "lib/plugin",
    "lib/mysql/plugin",
    "lib/mariadb/plugin",
    "lib64/mysql/plugin",
    "lib64/mariadb/plugin",
    "lib64/plugin",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The server program, with links resolved.
    pub server: PathBuf,
    /// Value of `--basedir`.
    pub basedir: PathBuf,
    /// The script that creates a data directory, if any.
    pub install_db: Option<PathBuf>,
    /// Value of `--plugin-dir`, if there are plugins.
    pub plugin_dir: Option<PathBuf>,
    /// Value of `--lc-messages-dir`.
    pub share_dir: PathBuf,
}

impl Layout {
    /// Finds the parts in the tree at `root`; an error names what is missing.
    pub fn find(root: &Path) -> Result<Layout> {
        let missing = |reason: &str| Error::NotABuild {
            path: root.to_path_buf(),
            reason: format!(
                "{reason}; name a directory that holds bin/mysqld or bin/mariadbd, such as /usr/local/mysql"
            ),
        };
        if !root.exists() {
            return Err(missing("it does not exist"));
        }
        let server = SERVER_DIRS
            .iter()
            .flat_map(|dir| SERVERS.iter().map(move |name| root.join(dir).join(name)))
            .find(|path| path.is_file())
            .ok_or_else(|| missing("it has no mysqld or mariadbd in bin, sbin or libexec"))?;
        let server = fs::canonicalize(&server).map_err(Error::file("examine", &server))?;
        let basedir = server
            .ancestors()
            .nth(2)
            .ok_or_else(|| missing("its server program has no base directory"))?
            .to_path_buf();
        let first = |names: &[&str]| names.iter().map(|name| basedir.join(name)).find(|path| path.exists());
        let share_dir = SHARE_DIRS
            .iter()
            .map(|name| basedir.join(name))
            .find(|path| path.join(MESSAGES).is_file())
            .ok_or_else(|| missing("it has no share/english/errmsg.sys"))?;
        Ok(Layout {
            install_db: first(&INSTALL_DB),
            plugin_dir: first(&PLUGIN_DIRS),
            share_dir,
            server,
            basedir,
        })
    }

    /// The interpreter of `install_db`; None if it is not a script.
    pub fn install_db_interpreter(&self) -> Option<PathBuf> {
        let mut start = Vec::new();
        let file = fs::File::open(self.install_db.as_ref()?).ok()?;
        file.take(200).read_to_end(&mut start).ok()?;
        let line = String::from_utf8_lossy(&start);
        let first = line.strip_prefix("#!")?.lines().next()?.split_whitespace().next()?;
        Some(PathBuf::from(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "#!/usr/bin/perl -w\n").unwrap();
        }
        dir
    }

    #[test]
    fn layouts_of_vendors_and_debian_are_found() {
        let vendors =
            tree(&["bin/mysqld", "share/english/errmsg.sys", "scripts/mysql_install_db", "lib/plugin/x.so"]);
        let root = fs::canonicalize(vendors.path()).unwrap();
        let layout = Layout::find(vendors.path()).unwrap();
        assert_eq!((&layout.basedir, &layout.share_dir), (&root, &root.join("share")));
        assert_eq!(layout.plugin_dir, Some(root.join("lib/plugin")));
        assert_eq!(layout.install_db_interpreter(), Some(PathBuf::from("/usr/bin/perl")));

        let debians =
            tree(&["usr/sbin/mariadbd", "usr/bin/mariadb-install-db", "usr/share/mysql/english/errmsg.sys"]);
        std::os::unix::fs::symlink("mariadbd", debians.path().join("usr/sbin/mysqld")).unwrap();
        let root = fs::canonicalize(debians.path()).unwrap();
        let layout = Layout::find(debians.path()).unwrap();
        assert_eq!((layout.server, layout.basedir), (root.join("usr/sbin/mariadbd"), root.join("usr")));
        assert_eq!((layout.share_dir, layout.plugin_dir), (root.join("usr/share/mysql"), None));
        assert_eq!(layout.install_db, Some(root.join("usr/bin/mariadb-install-db")));
    }

    #[test]
    fn missing_parts_are_named() {
        let message = |root: &Path| Layout::find(root).unwrap_err().to_string();
        assert!(message(Path::new("/nowhere/at/all")).contains("does not exist"));
        assert!(message(tree(&["bin/mysql"]).path()).contains("no mysqld or mariadbd"));
        assert!(message(tree(&["bin/mysqld"]).path()).contains("errmsg.sys"));
    }
}
