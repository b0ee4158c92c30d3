//! A directory with a server program as a build: the user's own, an unpacked tarball, or a distribution's
//! package.

use std::path::Path;

use rqps_model::Dbms;

use super::layout::Layout;
use super::programs;
use crate::build::Build;
use crate::directory::BuildFiles;
use crate::error::{Error, Result};
use crate::libraries;
use crate::user::server_user;

/// Prefixes of the names of MySQL's and MariaDB's programs.
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
    // Check before running it: the loader would name only one missing library.
    libraries::check(&layout.server, &user)?;
    let identity = programs::identify(&layout.server)?;
    if identity.dbms != dbms {
        return Err(Error::NotABuild {
            path: path.to_path_buf(),
            reason: format!("it is {} {}: write {0}:{}", identity.dbms, identity.version, path.display()),
        });
    }
    let root = &layout.basedir;
    let bin_dir = layout.server.parent().unwrap_or(root);
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    let shared_dirs = layout.plugin_dir.iter().chain([&layout.share_dir]).map(|path| relative(path));
    let (files, hash_covers) = BuildFiles {
        root,
        bin_dir,
        own_programs: &OWN_PROGRAMS,
        own_dirs: &["bin", "sbin", "libexec", "lib", "lib64", "share", "scripts"],
        shared_dirs: &shared_dirs.collect::<Vec<_>>(),
        programs: &[&layout.server].into_iter().chain(&layout.install_db).cloned().collect::<Vec<_>>(),
    }
    .collect()?;
    let mut build = Build {
        dbms,
        version: identity.version,
        hash: files.hash()?,
        hash_covers,
        origin: format!("directory {}", root.display()),
        root: root.clone(),
        bin_dir: bin_dir.to_path_buf(),
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
