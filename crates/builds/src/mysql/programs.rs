//! Runs the server program of a build, and checks beforehand that it can run.

use std::fs;
use std::path::Path;

use rqps_model::Dbms;
use rustix::process::Signal;

use super::layout::Layout;
use super::parts;
use super::version;
use crate::build::Build;
use crate::error::{Error, Result};
use crate::family;
use crate::guard::Guarded;
use crate::libraries;
use crate::user::{MOVE_BUILD, server_user};
use rqps_model::Family;

/// Debian packages of the interpreters of the scripts that create data directories.
const INTERPRETERS: [(&str, &str); 3] = [("perl", "perl"), ("bash", "bash"), ("sh", "dash")];

/// Lines of [`parts::COMPILED`] with compiler flags.
const COMPILED_LINES: [&str; 3] = ["CXX_FLAGS =", "CMAKE_CXX_FLAGS:", "CMAKE_CXX_FLAGS_RELWITHDEBINFO:"];

pub(crate) struct Identity {
    pub dbms: Dbms,
    /// `8.0.31`.
    pub version: String,
    /// Without the program's path: `Ver 8.0.31 for Linux on x86_64 (MySQL Community Server - GPL)`.
    pub text: String,
}

/// Checks that the server program and the script that creates data directories can run.
pub(crate) fn check_runnable(build: &Build, layout: &Layout) -> Result<()> {
    let user = server_user()?;
    user.check_reachable(&build.bin_dir, MOVE_BUILD)?;
    libraries::check(&layout.server, &user)?;
    // From 5.7 on, MySQL creates data directories itself.
    let needs_script = build.dbms == Dbms::Mariadb || build.version_num() < 50_700;
    match layout.install_db_interpreter() {
        Some(interpreter) if needs_script && !interpreter.exists() => Err(no_interpreter(&interpreter)),
        _ => Ok(()),
    }
}

fn no_interpreter(interpreter: &Path) -> Error {
    let name = interpreter.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let package = INTERPRETERS.iter().find(|(known, _)| *known == name).map(|(_, package)| *package);
    Error::NoProgram {
        program: interpreter.display().to_string(),
        package: package.unwrap_or("of the same name"),
        purpose: "create data directories with this build",
    }
}

pub(crate) fn identify(server: &Path) -> Result<Identity> {
    let user = server_user()?;
    let mut guarded = Guarded::new(server, &user, Signal::KILL)?;
    guarded.command().args(["--no-defaults", "--version"]);
    let output = guarded.output()?;
    let stdout = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    parse_version_line(&stdout).ok_or_else(|| {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let reason = format!("`--version` exited with {}: {stdout}{stderr}", output.status);
        Error::CannotRun { program: server.to_path_buf(), user: user.name.clone(), reason }
    })
}

/// Parses `/path/mysqld  Ver 8.0.31 for Linux on x86_64 (MySQL Community Server - GPL)`.
fn parse_version_line(line: &str) -> Option<Identity> {
    let text = &line[line.find("Ver ")?..];
    let full_version = text.split_whitespace().nth(1)?;
    let version = version::numeric_prefix(full_version);
    let dbms = if text.contains("MariaDB") { Dbms::Mariadb } else { Dbms::Mysql };
    (dbms.version_num(version) > 0).then(|| Identity {
        dbms,
        version: version.to_owned(),
        text: text.trim().to_owned(),
    })
}

/// How a build was compiled, according to its program, the vendor's file, or else the recipe.
pub(crate) fn family(
    build: &Build,
    layout: &Layout,
    recipe_flags: Option<&str>,
    compiler: Option<&str>,
) -> Family {
    let mut family = family::detect(&build.bin_dir, &build.root, &build.version_text);
    if family.compiler == Family::default().compiler
        && let Some(compiler) = compiler
    {
        family.compiler = compiler.to_owned();
    }
    let file_flags =
        fs::read_to_string(layout.basedir.join(parts::COMPILED)).ok().as_deref().and_then(flags_in_file);
    match file_flags.as_deref().or(recipe_flags) {
        Some(flags) => family::with_flags(family, flags),
        None => family,
    }
}

/// The C++ flags: the server is written in C++.
fn flags_in_file(info: &str) -> Option<String> {
    let lines = info.lines().map(str::trim);
    let flags = lines.filter_map(|line| COMPILED_LINES.iter().find_map(|start| line.strip_prefix(start)));
    let flags = flags.collect::<Vec<_>>().join(" ");
    (!flags.trim().is_empty()).then_some(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_lines_are_parsed() {
        for (line, dbms, version) in [
            ("bin/mysqld  Ver 5.6.14 for linux-glibc2.5 on x86_64 (MySQL)", Dbms::Mysql, "5.6.14"),
            ("/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", Dbms::Mysql, "9.7.4"),
            ("mysqld  Ver 10.2.11-MariaDB for Linux on x86_64 (MariaDB Server)", Dbms::Mariadb, "10.2.11"),
            ("mariadbd from 11.8.6-MariaDB, client  Ver 11.8.6-MariaDB-0 for x", Dbms::Mariadb, "11.8.6"),
        ] {
            let identity = parse_version_line(line).unwrap();
            assert_eq!((identity.dbms, identity.version.as_str()), (dbms, version), "{line}");
        }
        assert!(parse_version_line("postgres (PostgreSQL) 18.1").is_none());
    }

    #[test]
    fn compiler_flags_are_found_in_both_formats() {
        let before_8 = "C_FLAGS =  -O1\nCXX_FLAGS =  -fPIC -O3 -fno-omit-frame-pointer\n";
        let flags = flags_in_file(before_8).unwrap();
        assert!(flags.contains("-O3") && !flags.contains("-O1"), "{flags}");
        let from_8 = "CMAKE_C_FLAGS: -O0\nCMAKE_CXX_FLAGS: -fPIC\nCMAKE_CXX_FLAGS_RELWITHDEBINFO: -O2 -g\n";
        assert!(flags_in_file(from_8).unwrap().ends_with("-O2 -g"));
        assert_eq!(flags_in_file("nothing"), None);
    }
}
