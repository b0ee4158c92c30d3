//! A run's plan and configs in its folder. Their checksums are kept when it begins and checked when it is
//! resumed: otherwise results of two different plans could share one table.

use crate::error::{Error, Result};
use crate::kit::Kit;
use rqps_builds::sha256_hex;
use rqps_plan::{Plan, PlanContext};
use rqps_store::RunFolder;
use std::fs;
/// File in the run folder, in the format of `sha256sum`.
const SUMS: &str = "plan.sha256";

/// Writes the checksums of files, given by their path in the run folder and their text.
pub(crate) fn keep(folder: &RunFolder, files: &[(String, &str)]) -> Result<()> {
    let path = folder.path().join(SUMS);
    let lines: String =
        files.iter().map(|(name, text)| format!("{}  {name}\n", sha256_hex(text.as_bytes()))).collect();
    fs::write(&path, lines).map_err(|source| Error::File { action: "write", path, source })
}

/// Fails if the plan or a config has changed since the run began. Runs of earlier versions of rqps have no
/// checksums.
pub(crate) fn check(folder: &RunFolder) -> Result<()> {
    let Ok(sums) = fs::read_to_string(folder.path().join(SUMS)) else {
        return Ok(());
    };
    for (then, name) in sums.lines().filter_map(|line| line.split_once("  ")) {
        let path = folder.path().join(name);
        let content =
            fs::read(&path).map_err(|source| Error::File { action: "read", path: path.clone(), source })?;
        if sha256_hex(&content) != then {
            let problem =
                "it was changed after the run began: undo that, or measure what it says now by a new run";
            return Err(Error::Plan { path, problem: problem.to_owned() });
        }
    }
    Ok(())
}

/// The plan in a run folder.
pub(crate) fn plan_of(kit: &Kit, folder: &RunFolder) -> Result<Plan> {
    let path = folder.plan_path();
    let text = rqps_builds::read_text(&path).map_err(|source| Error::File {
        action: "read",
        path: path.clone(),
        source,
    })?;
    match Plan::parse(&text, &path.to_string_lossy(), &PlanContext::trusting(kit.benchmarks)) {
        Ok(parsed) => Ok(parsed.plan),
        Err(problem) => Err(Error::Plan { path, problem: problem.to_string() }),
    }
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
        let message = check(&folder).unwrap_err().to_string();
        assert!(message.contains("plan.toml: it was changed after the run began: undo that"), "{message}");
        fs::remove_file(&plan).unwrap();
        assert!(check(&folder).unwrap_err().to_string().contains("can't read"));
    }
}
