//! A directory with a server program as a build: one's own compilation, a tarball, a distribution's package.

use std::fs;
use std::path::Path;

use rqps_model::Dbms;

use super::layout::Layout;
use super::programs;
use crate::build::Build;
use crate::error::{Error, Result};
use crate::identity::ProgramFiles;
use crate::libraries;
use crate::user::server_user;

/// What belongs to a build in a directory of its own, below its base directory.
const BUILD_SUBDIRECTORIES: [&str; 7] = ["bin", "sbin", "libexec", "lib", "lib64", "share", "scripts"];

/// How the names of its programs start.
const OWN_PROGRAMS: [&str; 18] = [
    "my",
    "maria",
    "inno",
    "aria",
    "perror",
    "replace",
    "resolve",
    "ibd2sdi",
    "zlib_decompress",
    "lz4_decompress",
    "wsrep",
    "galera",
    "garbd",
    "msql2mysql",
    "comp_err",
    "mbstream",
    "sst_dump",
    "lib",
];

pub(crate) fn resolve(dbms: Dbms, path: &Path) -> Result<Build> {
    let layout = Layout::find(path)?;
    let user = server_user()?;
    // Before it is asked for its version: a run names one missing library only.
    libraries::check(&layout.server, &user)?;
    let identity = programs::identify(&layout.server)?;
    if identity.dbms != dbms {
        return Err(Error::NotABuild {
            path: path.to_path_buf(),
            reason: format!("it is {} {}: write {0}:{}", identity.dbms, identity.version, path.display()),
        });
    }
    let (files, hash_covers) = program_files(&layout)?;
    let mut build = Build {
        dbms,
        version: identity.version,
        hash: files.hash()?,
        hash_covers,
        origin: format!("directory {}", layout.basedir.display()),
        root: layout.basedir.clone(),
        bin_dir: layout.server.parent().unwrap_or(&layout.basedir).to_path_buf(),
        size_bytes: files.size_bytes(),
        version_text: identity.text,
        family: Default::default(),
        commit: None,
        notes: Vec::new(),
    };
    build.family = programs::family(&build, &layout, None, None);
    programs::check_runnable(&build, &layout)?;
    Ok(build)
}

/// The files that are hashed, and the phrase that says so.
fn program_files(layout: &Layout) -> Result<(ProgramFiles, String)> {
    let root = &layout.basedir;
    let of_its_own =
        if shares_its_prefix(layout)? { None } else { ProgramFiles::collect(root, &BUILD_SUBDIRECTORIES)? };
    if let Some(files) = of_its_own {
        let covers = format!(
            "{} files in programs, libraries and share of the directory; libraries and files that it uses elsewhere \
             are not covered",
            files.count()
        );
        return Ok((files, covers));
    }
    let below = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    let plugins = layout.plugin_dir.as_deref().map(below);
    let mut subdirectories: Vec<&str> = plugins.iter().map(String::as_str).collect();
    let share = below(&layout.share_dir);
    subdirectories.push(&share);
    let mut files = ProgramFiles::collect(root, &subdirectories)?.ok_or_else(|| Error::NotABuild {
        path: root.clone(),
        reason: "it holds too many files to be one build".to_owned(),
    })?;
    for program in [Some(&layout.server), layout.install_db.as_ref()].into_iter().flatten() {
        files.add(&below(program))?;
    }
    let covers = format!(
        "{} files: the server program, its plugins and {share} of a directory shared with other programs",
        files.count()
    );
    Ok((files, covers))
}

/// Whether the server's directory also holds programs of others.
fn shares_its_prefix(layout: &Layout) -> Result<bool> {
    let bin_dir = layout.server.parent().unwrap_or(&layout.basedir);
    let entries = fs::read_dir(bin_dir).map_err(Error::file("list", bin_dir))?;
    Ok(entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        !OWN_PROGRAMS.iter().any(|start| name.starts_with(start))
    }))
}
