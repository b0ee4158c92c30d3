//! Where HammerDB is, and which version.

use super::error::Error;
use super::output::Line;
use super::process::Process;
use crate::private_dir::PrivateDir;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The variable that names HammerDB's directory.
const VARIABLE: &str = "RQPS_HAMMERDB";
const PROGRAM: &str = "hammerdbcli";
/// Directories are named after the version.
const NAME: &str = "HammerDB-";
/// It says its version first; loading Tcl may take a while on a busy machine.
const VERSION_TIMEOUT: Duration = Duration::from_secs(60);

/// An installed HammerDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The directory with `hammerdbcli`.
    pub home: PathBuf,
}

impl Installed {
    /// The one that RQPS_HAMMERDB names, else the newest in these directories.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(places: &[PathBuf]) -> Result<Self, Error> {
        Self::find_as(std::env::var_os(VARIABLE).as_deref(), places)
    }

    fn find_as(variable: Option<&OsStr>, places: &[PathBuf]) -> Result<Self, Error> {
        if let Some(named) = variable.filter(|value| !value.is_empty()) {
            let home = PathBuf::from(named);
            return if has_program(&home) { Ok(Self { home }) } else { Err(Error::NotThere(home)) };
        }
        let newest = |place: &PathBuf| {
            let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
            let homes = entries.map(|entry| entry.path()).filter(|path| has_program(path));
            homes.filter_map(|path| Some((numbers_of(&path)?, path))).max().map(|(_, home)| Self { home })
        };
        places.iter().find_map(newest).ok_or_else(|| Error::NotFound(places.to_vec()))
    }

    /// The version as it says itself: `5.0`.
    ///
    /// # Errors
    /// If it does not start, or says none.
    pub fn version(&self) -> Result<String, Error> {
        let dir = PrivateDir::create(&std::env::temp_dir(), "hammerdb");
        let dir = dir.map_err(|(path, source)| Error::Scripts { path, source })?;
        let script = dir.path().join("version.tcl");
        std::fs::write(&script, "exit\n")
            .map_err(|source| Error::Scripts { path: script.clone(), source })?;
        let mut process = Process::start(self, &script, dir.path(), "")?;
        let (start, mut words) = (Instant::now(), Vec::new());
        while start.elapsed() < VERSION_TIMEOUT {
            match process.read_line(VERSION_TIMEOUT.saturating_sub(start.elapsed())) {
                Some(text) => match Line::parse(&text) {
                    Line::Version(version) => return Ok(version),
                    _ => words.push(text),
                },
                None if process.has_ended() => break,
                None => {}
            }
        }
        let words = if words.is_empty() { "nothing".to_owned() } else { words.join("; ") };
        Err(Error::NoVersion { path: self.home.clone(), words })
    }
}

fn has_program(home: &Path) -> bool {
    home.join(PROGRAM).is_file()
}

/// The numbers of a directory's version: `[5, 0]` of `HammerDB-5.0`.
fn numbers_of(home: &Path) -> Option<Vec<u32>> {
    let version = home.file_name()?.to_str()?.strip_prefix(NAME)?;
    let release = version.split('-').next()?;
    release.split('.').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_one_is_taken_or_else_the_newest_of_the_first_place_that_has_one() {
        let dir = PrivateDir::create(&std::env::temp_dir(), "places").unwrap();
        let [empty, first, second] = ["empty", "first", "second"].map(|name| dir.path().join(name));
        std::fs::create_dir(&empty).unwrap();
        for home in [first.join("HammerDB-4.12"), first.join("HammerDB-5.0"), second.join("HammerDB-6.0")] {
            std::fs::create_dir_all(&home).unwrap();
            std::fs::write(home.join(PROGRAM), "").unwrap();
        }
        // Not yet complete.
        std::fs::create_dir(first.join("HammerDB-7.0")).unwrap();
        let places = [empty.clone(), first.clone(), second.clone()];
        assert_eq!(Installed::find_as(None, &places).unwrap().home, first.join("HammerDB-5.0"));
        let named = second.join("HammerDB-6.0");
        assert_eq!(Installed::find_as(Some(named.as_os_str()), &places).unwrap().home, named);
        assert!(matches!(Installed::find_as(Some(empty.as_os_str()), &places), Err(Error::NotThere(_))));
        let none = Installed::find_as(None, std::slice::from_ref(&empty)).unwrap_err().to_string();
        assert!(none.contains("RQPS_HAMMERDB") && none.contains(&empty.display().to_string()), "{none}");
    }
}
