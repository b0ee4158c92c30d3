//! The files of an archive that a server needs. Vendors' archives also hold tests, clients, static libraries
//! and debug programs: up to ten times as much.

use std::path::Path;

const DIRS: [&str; 5] = ["lib", "lib64", "share", "scripts", "private"];

/// The programs to keep: the server, those that create data directories, and command-line clients.
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

/// How a vendor's build was compiled, below its base directory.
pub(crate) const COMPILED: &str = "docs/INFO_BIN";

/// Selects files of archives of the vendors and of those who redistribute them.
pub(crate) fn needed_in_archive(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let top = path.iter().next().map(|top| top.to_string_lossy()).unwrap_or_default();
    match top.as_ref() {
        "bin" | "sbin" | "libexec" => PROGRAMS.contains(&name.as_ref()) || name.contains(".so"),
        top if DIRS.contains(&top) => !name.ends_with(".a") && !path.iter().any(|part| part == "debug"),
        _ => path == Path::new(COMPILED),
    }
}

/// Selects files of Debian's packages, unpacked into one prefix: what runs, without documentation and without
/// Perl, which some packages depend on.
pub(crate) fn needed_in_prefix(path: &Path) -> bool {
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
    fn only_files_that_a_server_needs_are_selected() {
        let archive = |path: &str| needed_in_archive(Path::new(path));
        for needed in ["bin/mysqld", "bin/libssl.so.1.0.0", "lib/private/libssl.so.1.1", "docs/INFO_BIN"] {
            assert!(archive(needed), "{needed}");
        }
        for unneeded in
            ["bin/mysqld-debug", "lib/libmysqld.a", "lib/plugin/debug/x.so", "mysql-test/t/x", "README"]
        {
            assert!(!archive(unneeded), "{unneeded}");
        }
        let prefix = |path: &str| needed_in_prefix(Path::new(path));
        for needed in
            ["usr/sbin/mysqld", "lib64/ld.so", "usr/lib/x86_64-linux-gnu/libc.so.6", "usr/share/mysql/x"]
        {
            assert!(prefix(needed), "{needed}");
        }
        for unneeded in
            ["usr/bin/perl", "usr/share/doc/x", "etc/passwd", "usr/lib/x86_64-linux-gnu/perl-base/x"]
        {
            assert!(!prefix(unneeded), "{unneeded}");
        }
    }
}
