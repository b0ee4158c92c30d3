//! Builds from Debian suites: packages with all their dependencies, unpacked into their own prefix.

use std::fs;
use std::path::Path;

use rqps_model::Dbms;

use super::apt::Apt;
use super::parts;
use super::recipe::Suite;
use super::version;
use crate::client::Client;
use crate::digest::{sha256_hex, sha256_of_file};
use crate::dirs::Dirs;
use crate::error::{Error, Result};

const DPKG_DEB: Client =
    Client { program: "dpkg-deb", package: "dpkg", purpose: "unpack Debian's packages", limit_s: 300 };

/// The version that a suite offers now.
pub(crate) struct Offer<'a> {
    pub suite: &'a Suite,
    apt: Apt,
    /// In Debian's form: `1:10.11.18-0+deb12u1`.
    full_version: String,
}

impl<'a> Offer<'a> {
    /// Asks apt for the version in a suite. The inner error is the reason if there is none.
    pub fn look_up(dirs: &Dirs, suite: &'a Suite) -> Result<std::result::Result<Offer<'a>, String>> {
        let apt = match Apt::open(dirs, &suite.suite)? {
            Ok(apt) => apt,
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(match apt.version(suite.server())? {
            Some(full_version) => Ok(Offer { suite, apt, full_version }),
            None => Err(format!("Debian {} has no package {}", suite.suite, suite.server())),
        })
    }

    /// `10.11.18`.
    pub fn version(&self) -> &str {
        let without_epoch = self.full_version.split_once(':').map_or(&*self.full_version, |(_, rest)| rest);
        version::numeric_prefix(without_epoch)
    }

    /// The origin, as a phrase.
    pub fn origin(&self) -> String {
        format!("Debian {} {} {}", self.suite.suite, self.suite.server(), self.full_version)
    }

    /// Fetches the packages into `scratch` and unpacks them to `target`. Returns a hash over all packages'
    /// hashes.
    pub fn obtain(&self, dbms: Dbms, scratch: &Path, target: &Path) -> Result<String> {
        let failed = |reason: String| Error::Download { dbms, version: self.version().to_owned(), reason };
        let packages = self.apt.fetch(&self.suite.packages, &scratch.join("packages"))?.map_err(failed)?;
        let (mut sums, prefix) = (String::new(), scratch.join("prefix"));
        for package in &packages {
            sums.push_str(&sha256_of_file(package)?);
            let arguments = ["-x".as_ref(), package.as_os_str(), prefix.as_os_str()];
            DPKG_DEB.run(&arguments)?.map_err(|failure| failed(failure.reason))?;
        }
        move_files(&prefix, &prefix, target)?;
        Ok(sha256_hex(sums.as_bytes()))
    }
}

/// Moves the files that a server needs from `from`, in the tree `top`, to the same place in `target`.
fn move_files(top: &Path, from: &Path, target: &Path) -> Result<()> {
    for entry in fs::read_dir(from).map_err(Error::file("list", from))? {
        let path = entry.map_err(Error::file("list", from))?.path();
        let relative = path.strip_prefix(top).unwrap_or(&path);
        if path.is_dir() && !path.is_symlink() {
            move_files(top, &path, target)?;
        } else if parts::needed_in_prefix(relative) && !points_to_system(&path) {
            let place = target.join(relative);
            let parent = place.parent().unwrap_or(target);
            fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
            fs::rename(&path, &place).map_err(Error::file("move", &path))?;
        }
    }
    Ok(())
}

/// Absolute links point to a file of the system.
fn points_to_system(path: &Path) -> bool {
    fs::read_link(path).is_ok_and(|link| link.is_absolute())
}
