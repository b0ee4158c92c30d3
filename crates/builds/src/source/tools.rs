//! Checks that the system has all tools and headers for a build before it starts, so that a missing one is
//! reported at once with its package, and not after minutes of compiling.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::flavour::{Flavour, Requirements, System};
use crate::error::{Error, Result};
use crate::user::server_user;

/// The search path of builds. Not the caller's: builds run as another user, who cannot enter a home
/// directory, and the result must not depend on who starts it. A flavour may set its own.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Programs whose Debian package has another name.
const PACKAGES: [(&str, &str); 7] = [
    ("ninja", "ninja-build"),
    ("clang++", "clang"),
    ("gcc-ar", "gcc"),
    ("gcc-nm", "gcc"),
    ("gcc-ranlib", "gcc"),
    ("xz", "xz-utils"),
    ("c++", "g++"),
];

/// Where headers are looked for without a compiler that knows where its own are.
const INCLUDED: [&str; 2] = ["/usr/local/include", "/usr/include"];

/// Looks a program up in the search path, or by its own path if it has a `/`.
pub(crate) fn find(program: &str, path: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| PathBuf::from(program));
    }
    path.split(':').map(|directory| Path::new(directory).join(program)).find(|path| path.is_file())
}

pub(crate) fn search_path(flavour: &Flavour) -> &str {
    flavour.env.get("PATH").map_or(PATH, String::as_str)
}

/// The first line of the compiler's `--version`.
pub(crate) fn compiler_text(flavour: &Flavour) -> Result<String> {
    let missing = || missing(&flavour.name, &[(flavour.cc.clone(), package_of(&flavour.cc))]);
    let path = find(&flavour.cc, search_path(flavour)).ok_or_else(missing)?;
    let output = as_builder(&path)?.arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(Error::file("run", &flavour.cc))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned())
}

/// Checks that all programs and headers are installed. `what` is the build, for the error.
pub(crate) fn check(
    what: &str,
    flavour: &Flavour,
    programs: &[&str],
    requirements: &Requirements,
) -> Result<()> {
    let lacking = lacking(flavour, programs, requirements);
    if lacking.is_empty() { Ok(()) } else { Err(missing(what, &lacking)) }
}

/// The programs, the compiler among them, and headers that are not installed, each with its package.
pub(crate) fn lacking(
    flavour: &Flavour,
    programs: &[&str],
    requirements: &Requirements,
) -> Vec<(String, String)> {
    let path = search_path(flavour);
    let compilers = [Some(&flavour.cc), Some(&flavour.cxx).filter(|_| flavour.system == System::Cmake)];
    let env_programs = ["AR", "NM", "RANLIB", "LD"].into_iter().filter_map(|name| flavour.env.get(name));
    let programs = programs.iter().map(|program| (*program).to_owned()).chain(env_programs.cloned());
    let programs = compilers.into_iter().flatten().cloned().chain(programs);
    let absent = programs.filter(|program| find(program, path).is_none());
    let mut lacking: Vec<(String, String)> =
        absent.map(|program| (program.clone(), package_of(&program))).collect();
    let basic = ("stdio.h".to_owned(), "libc6-dev".to_owned());
    let headers = [basic].into_iter().chain(requirements.headers.iter().cloned());
    let compiler = find(&flavour.cc, path);
    lacking.extend(headers.filter(|(header, _)| match &compiler {
        Some(compiler) => !has_header(compiler, flavour, header),
        None => !INCLUDED.iter().any(|directory| Path::new(directory).join(header).is_file()),
    }));
    lacking
}

pub(crate) fn missing(what: &str, missing_items: &[(String, String)]) -> Error {
    let names: Vec<&str> = missing_items.iter().map(|(name, _)| name.as_str()).collect();
    let mut packages: Vec<&str> = missing_items.iter().map(|(_, package)| package.as_str()).collect();
    packages.sort_unstable();
    packages.dedup();
    Error::MissingTools { what: what.to_owned(), missing: names.join(", "), packages: packages.join(" ") }
}

fn package_of(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or(program);
    PACKAGES.iter().find(|(known, _)| *known == name).map_or(name, |(_, package)| package).to_owned()
}

/// Runs a program as the build user: files that a compiler leaves, say in a cache, must belong to that user.
fn as_builder(program: &Path) -> Result<Command> {
    let mut command = Command::new(program);
    server_user()?.apply(&mut command);
    // Header search paths in the caller's environment don't apply to the build.
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C").current_dir("/");
    Ok(command)
}

/// Asks the preprocessor, which uses the compiler's search path.
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
    // If writing the input fails, the preprocessor succeeds on an empty file; ignore its result then.
    let input_written = child.stdin.take().is_some_and(|mut input| input.write_all(test.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| input_written && status.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_model::Dbms;

    #[test]
    fn all_missing_tools_are_reported_with_their_packages() {
        let flavour = Flavour::load("o2nofp", Dbms::Postgres, &[System::Configure]).unwrap();
        let requirements = Requirements {
            options: Vec::new(),
            headers: vec![("no/such.h".to_owned(), "libsuch-dev".to_owned())],
        };
        let programs = ["sh", "no-such-program", "ninja-of-nowhere"];
        let message = check("postgres 18.6", &flavour, &programs, &requirements).unwrap_err().to_string();
        assert!(message.contains("lacks no-such-program, ninja-of-nowhere, no/such.h;"), "{message}");
        assert!(
            message.contains("apt-get install libsuch-dev ninja-of-nowhere no-such-program"),
            "{message}"
        );
        assert_eq!(package_of("/usr/bin/ninja"), "ninja-build");
    }
}
