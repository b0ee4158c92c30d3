//! What a build needs of the system, looked for before it begins: a missing program is said at once and with its
//! package, not after minutes of compiling.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::flavour::{Asked, Flavour};
use crate::error::{Error, Result};
use crate::user::server_user;

/// Where programs are looked for. Not the caller's own path: builds run as another user, who cannot enter a home, and
/// the same source is to become the same build whoever starts it. A flavour may set another one.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Programs whose Debian package is called differently.
const PACKAGES: [(&str, &str); 7] = [
    ("ninja", "ninja-build"),
    ("clang++", "clang"),
    ("gcc-ar", "gcc"),
    ("gcc-nm", "gcc"),
    ("gcc-ranlib", "gcc"),
    ("xz", "xz-utils"),
    ("c++", "g++"),
];

/// A program of the search path, or one by its own path.
pub(crate) fn find(program: &str, path: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| PathBuf::from(program));
    }
    path.split(':').map(|directory| Path::new(directory).join(program)).find(|path| path.is_file())
}

/// The search path of a flavour's builds.
pub(crate) fn search_path(flavour: &Flavour) -> &str {
    flavour.env.get("PATH").map_or(PATH, String::as_str)
}

/// The first line of what the flavour's compiler says of itself.
pub(crate) fn compiler_text(flavour: &Flavour) -> Result<String> {
    let missing = || missing(&flavour.name, &[(flavour.cc.clone(), package_of(&flavour.cc))]);
    let path = find(&flavour.cc, search_path(flavour)).ok_or_else(missing)?;
    let output = as_builder(&path)?.arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(Error::file("run", &flavour.cc))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned())
}

/// Checks that every program and header is here. `what` is to be built.
pub(crate) fn check(what: &str, flavour: &Flavour, programs: &[&str], asked: &Asked) -> Result<()> {
    let path = search_path(flavour);
    let of_env = ["AR", "NM", "RANLIB", "LD"].into_iter().filter_map(|name| flavour.env.get(name));
    let programs = programs.iter().map(|program| (*program).to_owned()).chain(of_env.cloned());
    let mut lacking: Vec<(String, String)> = programs
        .filter(|program| find(program, path).is_none())
        .map(|program| (program.clone(), package_of(&program)))
        .collect();
    if let Some(compiler) = find(&flavour.cc, path) {
        let basic = ("stdio.h".to_owned(), "libc6-dev".to_owned());
        let headers = [basic].into_iter().chain(asked.headers.iter().cloned());
        lacking.extend(headers.filter(|(header, _)| !has_header(&compiler, flavour, header)));
    }
    if lacking.is_empty() { Ok(()) } else { Err(missing(what, &lacking)) }
}

fn missing(what: &str, lacking: &[(String, String)]) -> Error {
    let names: Vec<&str> = lacking.iter().map(|(name, _)| name.as_str()).collect();
    let mut packages: Vec<&str> = lacking.iter().map(|(_, package)| package.as_str()).collect();
    packages.sort_unstable();
    packages.dedup();
    Error::MissingTools { what: what.to_owned(), missing: names.join(", "), packages: packages.join(" ") }
}

fn package_of(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or(program);
    PACKAGES.iter().find(|(known, _)| *known == name).map_or(name, |(_, package)| package).to_owned()
}

/// A program as the user who builds: what a compiler leaves behind, in a cache for example, has to be that user's.
fn as_builder(program: &Path) -> Result<Command> {
    let mut command = Command::new(program);
    server_user()?.apply(&mut command);
    // A search path for headers in the caller's environment is not in the build's.
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C").current_dir("/");
    Ok(command)
}

/// Asks the preprocessor, who knows where the compiler looks.
fn has_header(compiler: &Path, flavour: &Flavour, header: &str) -> bool {
    let test = format!("#if !__has_include(<{header}>)\n#error missing\n#endif\n");
    let Ok(mut command) = as_builder(compiler) else {
        return false;
    };
    command.args(["-E", "-x", "c", "-"]).envs(&flavour.env);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    // Without its input the preprocessor finds an empty file; its verdict on that is not used.
    let asked = child.stdin.take().is_some_and(|mut input| input.write_all(test.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| asked && status.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::flavour::System;
    use rqps_model::Dbms;

    #[test]
    fn all_that_is_missing_is_named_at_once_with_its_packages() {
        let flavour = Flavour::load("o2nofp", Dbms::Postgres, &[System::Configure]).unwrap();
        let asked =
            Asked { options: Vec::new(), headers: vec![("no/such.h".to_owned(), "libsuch-dev".to_owned())] };
        let programs = ["sh", "no-such-program", "ninja-of-nowhere"];
        let message = check("postgres 18.6", &flavour, &programs, &asked).unwrap_err().to_string();
        assert!(message.contains("lacks no-such-program, ninja-of-nowhere, no/such.h;"), "{message}");
        assert!(
            message.contains("apt-get install libsuch-dev ninja-of-nowhere no-such-program"),
            "{message}"
        );
        assert_eq!(package_of("/usr/bin/ninja"), "ninja-build");
    }
}
