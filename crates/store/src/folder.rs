//! Run folders on disk: their paths, and creating a new one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::journal::Status;
use crate::lock::{self, RunProgress};

/// Maximum number of folders of one name created in the same second.
const SAME_SECOND_MAX: u32 = 1000;

/// The current time in milliseconds since 1970 (UTC), the store's format.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// File of a run that `rqps upgrade` began: its report, from the beginning on.
pub const UPGRADE_FILE: &str = "upgrade.md";

/// File of such a run: what was found of its config's options before it began, a line each.
const UPGRADE_OPTIONS_FILE: &str = "upgrade-options.txt";

/// The path of a run and of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Creates a folder `<name>-YYYYMMDD-HHMMSS` (UTC) in `results_dir`, with `-2`, `-3`… appended if it exists. Also
    /// `results_dir`, but not what that is in: what was deleted meanwhile stays so.
    pub fn create(results_dir: &Path, name: &str) -> Result<Self> {
        check_name(name)?;
        match fs::create_dir(results_dir) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(Error::io("create", results_dir)(error));
            }
            _ => {}
        }
        let stem = format!("{name}-{}", stamp(now_ms()));
        let path = make_unique(results_dir, &stem)?;
        for subfolder in ["logs", "profiles"] {
            let subfolder = path.join(subfolder);
            fs::create_dir(&subfolder).map_err(Error::io("create", &subfolder))?;
        }
        Ok(Self { path })
    }

    /// The folder at `path`, which must contain a `run.db` (or be that file).
    pub fn at(path: &Path) -> Result<Self> {
        let path = if path.ends_with("run.db") { path.parent().unwrap_or(path) } else { path };
        let folder = Self { path: path.to_owned() };
        match (folder.db_path().is_file(), folder.in_use_by()) {
            (true, _) => Ok(folder),
            (false, Some(_)) => Err(folder.without_plan()),
            (false, None) => Err(Error::NotARun { path: path.to_owned() }),
        }
    }

    /// The error of a folder whose database has no plan: it is being created, or its creation was cut off.
    pub(crate) fn without_plan(&self) -> Error {
        let path = self.path.clone();
        match self.in_use_by() {
            Some(pid) => Error::BeingCreated { path, pid },
            None => Error::Empty { path },
        }
    }

    /// The name without the time at its end.
    pub fn label(&self) -> String {
        let name = self.name();
        let is_digits = |part: &str, length| part.len() == length && part.bytes().all(|c| c.is_ascii_digit());
        let parts: Vec<&str> = name.split('-').collect();
        let is_stamp = |pair: &[&str]| is_digits(pair[0], 8) && is_digits(pair[1], 6);
        let stamp = parts.windows(2).rposition(is_stamp).filter(|at| *at > 0);
        stamp.map_or_else(|| name.clone(), |at| parts[..at].join("-"))
    }

    /// The folder at `path`, without any check.
    pub(crate) fn unchecked(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder's name, which is the run's name.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    pub fn plan_path(&self) -> PathBuf {
        self.path.join("plan.toml")
    }

    pub fn db_path(&self) -> PathBuf {
        self.path.join("run.db")
    }

    /// Keeps what `rqps upgrade` found of the config's options.
    pub fn keep_upgrade_options(&self, options: &[String]) -> Result<()> {
        let path = self.path.join(UPGRADE_OPTIONS_FILE);
        let lines: String = options.iter().map(|option| format!("{}\n", option.replace('\n', " "))).collect();
        fs::write(&path, lines).map_err(Error::io("write", &path))
    }

    /// What it found, nothing if both versions take all of them alike; `None` if it did not ask, and of other runs.
    pub fn upgrade_options(&self) -> Option<Vec<String>> {
        let text = fs::read_to_string(self.path.join(UPGRADE_OPTIONS_FILE)).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    }

    /// Server logs and configs as used.
    pub fn logs_dir(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// The progress last published by a writer, which may have ended; `None` without any.
    pub fn last_progress(&self) -> Option<RunProgress> {
        lock::last_progress(&self.path)
    }

    /// The state of a run whose database says `written`: one that was killed still says that it is running.
    pub fn state(&self, written: Status) -> Status {
        if written == Status::Running && self.in_use_by().is_none() { Status::Interrupted } else { written }
    }

    /// The process id of the rqps that is writing this run; `None` if no rqps is.
    pub fn in_use_by(&self) -> Option<String> {
        lock::holder(&self.path)
    }
}

fn check_name(name: &str) -> Result<()> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.starts_with(['.', '-']) || name.len() > 100 || !name.chars().all(good) {
        return Err(Error::BadName(name.to_owned()));
    }
    Ok(())
}

fn make_unique(results_dir: &Path, stem: &str) -> Result<PathBuf> {
    let mut path = results_dir.join(stem);
    for number in 2..=SAME_SECOND_MAX {
        match fs::create_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                path = results_dir.join(format!("{stem}-{number}"));
            }
            created => return created.map(|()| path.clone()).map_err(Error::io("create", &path)),
        }
    }
    Err(Error::io("create", &path)(std::io::ErrorKind::AlreadyExists.into()))
}

/// `20260730-141503` for a time in milliseconds since 1970 (UTC).
fn stamp(at_ms: i64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(at_ms.max(0) as u64);
    humantime::format_rfc3339_seconds(at).to_string().replace(['-', ':', 'Z'], "").replace('T', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_utc_and_sortable() {
        assert_eq!(stamp(1_785_420_903_999), "20260730-141503");
        assert_eq!(stamp(0), "19700101-000000");
    }

    #[test]
    fn names_that_would_leave_the_results_directory_are_refused() {
        for bad in ["", "..", "../x", "a/b", ".hidden", "sp ace", "-x"] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        check_name("pg18-vs_17.7").unwrap();
    }

    #[test]
    fn a_label_is_a_name_without_its_time() {
        for (name, label) in [
            ("demo-20260730-141503", "demo"),
            ("pg-18-20260730-141503-2", "pg-18"),
            ("20260730-141503", "20260730-141503"),
            ("mine", "mine"),
        ] {
            assert_eq!(RunFolder::unchecked(Path::new(name)).label(), label);
        }
    }

    #[test]
    fn folders_of_the_same_second_get_numbers() {
        let results = tempfile::tempdir().unwrap();
        let names: Vec<PathBuf> = (0..3).map(|_| make_unique(results.path(), "demo-x").unwrap()).collect();
        let names: Vec<_> = names.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["demo-x", "demo-x-2", "demo-x-3"]);
    }
}
