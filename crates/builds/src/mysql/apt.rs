//! Fetches packages of other Debian suites through the machine's apt. It keeps separate state, so nothing on
//! the machine changes, and uses the machine's mirrors and keys. apt verifies the archive's signature and
//! each package's checksum.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::client::Client;
use crate::dirs::{Dirs, create_open_dir, lock_file};
use crate::error::{Error, Result};

const APT_GET: Client =
    Client { program: "apt-get", package: "apt", purpose: "fetch Debian's packages", limit_s: 1800 };

const APT_CACHE: Client =
    Client { program: "apt-cache", package: "apt", purpose: "read Debian's package lists", limit_s: 300 };

/// Directory of the machine's own apt sources.
const MACHINE_SOURCES: &str = "/etc/apt";

/// Suites of Debian's main archive. Those with a suffix (`-security`, `-updates`) have their own archives.
const MAIN_SUITES: [&str; 11] = [
    "stable",
    "oldstable",
    "oldoldstable",
    "testing",
    "unstable",
    "sid",
    "buster",
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
];

/// Package lists younger than this are not fetched again.
const FRESH_FOR: Duration = Duration::from_secs(3600);

/// Touched when the lists are fetched.
const STAMP: &str = "fetched";

pub(crate) struct Apt {
    suite: String,
    dir: PathBuf,
}

impl Apt {
    /// Fetches the package lists if they are older than an hour. The inner error is the reason why there are
    /// none.
    pub fn open(dirs: &Dirs, suite: &str) -> Result<std::result::Result<Apt, String>> {
        let apt = Apt { suite: suite.to_owned(), dir: dirs.cache.join("apt").join(suite) };
        for part in ["sources", "lists/partial", "archives/partial"] {
            create_open_dir(&apt.dir.join(part))?;
        }
        let _lock = apt.lock()?;
        let status = apt.dir.join("status");
        File::create(&status).map_err(Error::file("create", &status))?;
        let stamp = apt.dir.join(STAMP);
        let age = fs::metadata(&stamp).and_then(|meta| meta.modified()).ok();
        let age = age.and_then(|fetched| SystemTime::now().duration_since(fetched).ok());
        if age.is_some_and(|age| age < FRESH_FOR) {
            return Ok(Ok(apt));
        }
        if let Err(reason) = apt.write_sources()? {
            return Ok(Err(reason));
        }
        if let Err(failure) = APT_GET.run(&apt.arguments(&["update"]))? {
            return Ok(Err(failure.reason));
        }
        File::create(&stamp).map_err(Error::file("create", &stamp))?;
        Ok(Ok(apt))
    }

    /// apt fails immediately if another one uses the same state. Take no other lock while holding this one.
    fn lock(&self) -> Result<File> {
        lock_file(&self.dir.join("rqps.lock"))
    }

    /// The version of a package in this suite, in Debian's form.
    pub fn version(&self, package: &str) -> Result<Option<String>> {
        let shown = APT_CACHE.run(&self.arguments(&["show", "--no-all-versions", package]))?;
        let text = shown.unwrap_or_default();
        Ok(text.lines().find_map(|line| line.strip_prefix("Version: ")).map(str::to_owned))
    }

    /// Fetches packages with all their dependencies. The inner error is the reason for a failure.
    pub fn fetch(
        &self,
        packages: &[String],
        into: &Path,
    ) -> Result<std::result::Result<Vec<PathBuf>, String>> {
        let _lock = self.lock()?;
        create_open_dir(&into.join("partial"))?;
        let archives = format!("-oDir::Cache::archives={}", into.display());
        let mut arguments =
            self.arguments(&[&archives, "--yes", "--no-install-recommends", "--download-only"]);
        arguments.push("install".to_owned());
        arguments.extend(packages.iter().cloned());
        if let Err(failure) = APT_GET.run(&arguments)? {
            return Ok(Err(failure.reason));
        }
        let files = fs::read_dir(into).map_err(Error::file("list", into))?.flatten();
        let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "deb"));
        files.sort();
        Ok(Ok(files))
    }

    fn arguments(&self, further: &[&str]) -> Vec<String> {
        let dir = self.dir.display();
        let mut arguments = vec![
            "-q".to_owned(),
            "-oDir::Etc::sourcelist=/dev/null".to_owned(),
            "-oDir::Etc::preferences=/dev/null".to_owned(),
            "-oDir::Etc::preferencesparts=/dev/null".to_owned(),
            format!("-oDir::Etc::sourceparts={dir}/sources"),
            format!("-oDir::State={dir}"),
            format!("-oDir::State::lists={dir}/lists"),
            // An empty status file: nothing counts as installed, so all dependencies are fetched.
            format!("-oDir::State::status={dir}/status"),
            format!("-oDir::Cache={dir}"),
            "-oDir::Cache::pkgcache=".to_owned(),
            "-oDir::Cache::srcpkgcache=".to_owned(),
            "-oAPT::Default-Release=".to_owned(),
            "-oAcquire::Languages=none".to_owned(),
            "-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        ];
        arguments.extend(further.iter().map(|argument| (*argument).to_owned()));
        arguments
    }

    fn write_sources(&self) -> Result<std::result::Result<(), String>> {
        let mut has_source = false;
        for file in machine_source_files() {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let is_list = file.extension().is_some_and(|extension| extension == "list");
            let text = if is_list {
                main_archive_lines(&text, &self.suite)
            } else {
                main_archive_stanzas(&text, &self.suite)
            };
            let name = file.file_name().unwrap_or_default();
            let target = self.dir.join("sources").join(name);
            fs::write(&target, &text).map_err(Error::file("write", &target))?;
            has_source |= !text.is_empty();
        }
        Ok(if has_source {
            Ok(())
        } else {
            Err(format!("{MACHINE_SOURCES} lists no Debian archive to fetch {} from", self.suite))
        })
    }
}

fn machine_source_files() -> Vec<PathBuf> {
    let mut files = vec![Path::new(MACHINE_SOURCES).join("sources.list")];
    if let Ok(entries) = fs::read_dir(Path::new(MACHINE_SOURCES).join("sources.list.d")) {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.retain(|path| {
        path.extension().is_some_and(|extension| extension == "list" || extension == "sources")
    });
    files
}

/// Lines of a one-line-style source file for Debian's main archive, with the suite replaced.
fn main_archive_lines(text: &str, suite: &str) -> String {
    let lines = text.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("deb ")?.trim_start();
        let (options, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((options, rest)) => (format!("[{options}] "), rest),
            None => (String::new(), rest),
        };
        let mut words = rest.split_whitespace();
        let (url, listed_suite) = (words.next()?, words.next()?);
        let is_main = MAIN_SUITES.contains(&listed_suite) && words.any(|component| component == "main");
        is_main.then(|| format!("deb {options}{url} {suite} main\n"))
    });
    lines.collect()
}

/// The same for deb822 stanzas. Keeps all fields except suite, type, component and `Enabled`.
fn main_archive_stanzas(text: &str, suite: &str) -> String {
    let stanzas = text.split("\n\n").filter_map(|stanza| {
        let field = |wanted: &str| {
            stanza.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then_some(value.trim())
            })
        };
        let names = |wanted: &str, word: &str| {
            field(wanted).is_some_and(|value| value.split_whitespace().any(|part| part == word))
        };
        let is_main = field("Suites")?.split_whitespace().any(|listed| MAIN_SUITES.contains(&listed));
        let is_off = field("Enabled").is_some_and(|value| value.eq_ignore_ascii_case("no"));
        if !is_main || is_off || !names("Types", "deb") || !names("Components", "main") {
            return None;
        }
        let replaced = ["types", "suites", "components", "enabled"];
        let kept = stanza.lines().filter(|line| {
            let name = line.split(':').next().unwrap_or_default().to_lowercase();
            !line.is_empty() && !replaced.contains(&name.as_str())
        });
        let kept: Vec<&str> = kept.collect();
        Some(format!("Types: deb\nSuites: {suite}\nComponents: main\n{}\n\n", kept.join("\n")))
    });
    stanzas.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_of_the_main_archive_are_taken() {
        let lines = "# deb nowhere bookworm main\ndeb [signed-by=/k.gpg arch=amd64] http://host/debian bookworm main \
                     non-free\ndeb http://host/security bookworm-security main\ndeb http://vendor/x bookworm stable\n\
                     deb-src http://host/debian bookworm main\ndeb http://vendor/y nodistro main\n";
        assert_eq!(
            main_archive_lines(lines, "sid"),
            "deb [signed-by=/k.gpg arch=amd64] http://host/debian sid main\n"
        );
        let stanzas = "Types: deb deb-src\n# a remark\nURIs: http://host/debian\nSuites: bookworm bookworm-updates\n\
                       Components: main contrib\nSigned-By: /k.gpg\n\nTypes: deb\nURIs: http://host/security\nSuites: \
                       bookworm-security\nComponents: main\n\nEnabled: no\nTypes: deb\nURIs: http://host/old\nSuites: \
                       bookworm\nComponents: main\n";
        let expected = "Types: deb\nSuites: trixie\nComponents: main\n# a remark\nURIs: http://host/debian\nSigned-By: \
                        /k.gpg\n\n";
        assert_eq!(main_archive_stanzas(stanzas, "trixie"), expected);
    }
}
