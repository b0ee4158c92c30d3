//! Sums of a run's plan and configs, kept when it begins, so that what is resumed is what began: half a run by one plan
//! and half by another would stand in one table.

use crate::error::{Error, Result};
use rqps_builds::sha256_hex;
use rqps_store::RunFolder;
use std::fs;
use std::path::Path;

/// In the run folder, in the form of `sha256sum`.
const SUMS: &str = "plan.sha256";

/// Keeps the sums of files of a run folder, each by its name from there and its text.
pub(crate) fn keep(folder: &RunFolder, files: &[(String, &str)]) -> Result<()> {
    let path = folder.path().join(SUMS);
    let lines: String =
        files.iter().map(|(name, text)| format!("{}  {name}\n", sha256_hex(text.as_bytes()))).collect();
    fs::write(&path, lines).map_err(|source| Error::File { action: "write", path, source })
}

/// Refuses a run whose plan or configs are not what they were. Runs of earlier versions kept no sums.
pub(crate) fn check(folder: &RunFolder) -> Result<()> {
    let Ok(sums) = fs::read_to_string(folder.path().join(SUMS)) else {
        return Ok(());
    };
    for (then, name) in sums.lines().filter_map(|line| line.split_once("  ")) {
        let path = folder.path().join(name);
        let content = read(&path)?;
        if sha256_hex(&content) != then {
            let problem =
                "it was changed after the run began: undo that, or measure what it says now by a new run";
            return Err(Error::Plan { path, problem: problem.to_owned() });
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| Error::File { action: "read", path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_named() {
        let results = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(results.path(), "t").unwrap();
        check(&folder).unwrap();
        let plan = folder.path().join("plan.toml");
        fs::write(&plan, "seed = 1\n").unwrap();
        keep(&folder, &[("plan.toml".to_owned(), "seed = 1\n")]).unwrap();
        check(&folder).unwrap();
        fs::write(&plan, "seed = 2\n").unwrap();
        let said = check(&folder).unwrap_err().to_string();
        assert!(said.contains("plan.toml: it was changed after the run began: undo that"), "{said}");
        fs::remove_file(&plan).unwrap();
        assert!(check(&folder).unwrap_err().to_string().contains("can't read"));
    }
}
