//! Which files of an archive a server needs. Archives of the makers also hold tests, clients, static libraries and
//! programs for debugging: up to ten times as much.

use std::path::Path;

const DIRS: [&str; 5] = ["lib", "lib64", "share", "scripts", "private"];

/// Programs that matter, of all those in `bin`: server, what makes data directories, and the command line.
const PROGRAMS: [&str; 13] = [
    "mysqld",
    "mariadbd",
    "mysql",
    "mariadb",
    "mysqladmin",
    "mariadb-admin",
    "mysqldump",
    "mariadb-dump",
    "mysql_install_db",
    "mariadb-install-db",
    "my_print_defaults",
    "resolveip",
    "mysqlslap",
];

/// Beside them: how a build was compiled.
const COMPILED: &str = "docs/INFO_BIN";

/// For the archives of the makers and of those that pass theirs on.
pub(crate) fn of_archive(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let top = path.iter().next().map(|top| top.to_string_lossy()).unwrap_or_default();
    match top.as_ref() {
        "bin" | "sbin" | "libexec" => PROGRAMS.contains(&name.as_ref()) || name.contains(".so"),
        top if DIRS.contains(&top) => !name.ends_with(".a") && !path.iter().any(|part| part == "debug"),
        _ => path == Path::new(COMPILED),
    }
}

/// For Debian's packages, unpacked into one prefix: what runs, without documents and without Perl, which some depend
/// on.
pub(crate) fn of_prefix(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let parts: Vec<&str> = text.split('/').collect();
    match parts.as_slice() {
        ["usr", "share", name, ..] => matches!(*name, "mysql" | "mariadb"),
        ["usr", "bin" | "sbin", name] => PROGRAMS.contains(name),
        ["usr", "lib" | "lib64", rest @ ..] | ["lib" | "lib64", rest @ ..] => {
            !rest.iter().any(|part| part.starts_with("perl") || matches!(*part, "gconv" | "debug" | "locale"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_what_it_needs_and_no_more() {
        let archive = |path: &str| of_archive(Path::new(path));
        for needed in ["bin/mysqld", "bin/libssl.so.1.0.0", "lib/private/libssl.so.1.1", "docs/INFO_BIN"] {
            assert!(archive(needed), "{needed}");
        }
        for left in
            ["bin/mysqld-debug", "lib/libmysqld.a", "lib/plugin/debug/x.so", "mysql-test/t/x", "README"]
        {
            assert!(!archive(left), "{left}");
        }
        let prefix = |path: &str| of_prefix(Path::new(path));
        for needed in
            ["usr/sbin/mysqld", "lib64/ld.so", "usr/lib/x86_64-linux-gnu/libc.so.6", "usr/share/mysql/x"]
        {
            assert!(prefix(needed), "{needed}");
        }
        for left in ["usr/bin/perl", "usr/share/doc/x", "etc/passwd", "usr/lib/x86_64-linux-gnu/perl-base/x"]
        {
            assert!(!prefix(left), "{left}");
        }
    }
}
