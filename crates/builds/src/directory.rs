//! Selects the files of a directory that make up a build: everything in a prefix of its own, but only what
//! belongs to the DBMS in a shared prefix such as `/usr`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::identity::ProgramFiles;

pub(crate) struct BuildFiles<'a> {
    pub root: &'a Path,
    pub bin_dir: &'a Path,
    /// Prefixes of the names of the DBMS's programs.
    pub own_programs: &'a [&'a str],
    /// Directories of the build in a prefix of its own.
    pub own_dirs: &'a [&'a str],
    /// Directories of the build in a shared prefix. Its programs are in `programs`.
    pub shared_dirs: &'a [String],
    pub programs: &'a [PathBuf],
}

impl BuildFiles<'_> {
    /// Returns the files to hash, and a phrase that describes them.
    pub fn collect(&self) -> Result<(ProgramFiles, String)> {
        if !self.shares_prefix()?
            && let Some(files) = ProgramFiles::collect(self.root, self.own_dirs)?
        {
            let covers = format!(
                "{} files in {} of the directory; libraries and files outside it are not covered",
                files.count(),
                self.own_dirs.join(", ")
            );
            return Ok((files, covers));
        }
        let dirs: Vec<&str> = self.shared_dirs.iter().map(String::as_str).collect();
        let mut files = ProgramFiles::collect(self.root, &dirs)?.ok_or_else(|| Error::NotABuild {
            path: self.root.to_path_buf(),
            reason: "it holds too many files to be one build".to_owned(),
        })?;
        for program in self.programs {
            files.add(program.strip_prefix(self.root).unwrap_or(program))?;
        }
        let covers = format!(
            "{} files: the server programs and {} of a directory shared with other programs",
            files.count(),
            dirs.join(", ")
        );
        Ok((files, covers))
    }

    /// Whether the program directory also has programs of others.
    fn shares_prefix(&self) -> Result<bool> {
        let entries = fs::read_dir(self.bin_dir).map_err(Error::file("list", self.bin_dir))?;
        Ok(entries.flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            !self.own_programs.iter().any(|start| name.starts_with(start))
        }))
    }
}
