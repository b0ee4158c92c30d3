//! Builds as suites of Debian have them: packages with all that they depend on, unpacked into a prefix of their own.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use super::apt::Apt;
use super::parts;
use super::recipe::Suite;
use super::version;
use crate::client::Client;
use crate::digest::{sha256_hex, sha256_of};
use crate::dirs::Dirs;
use crate::error::{Error, Result};

const DPKG_DEB: Client =
    Client { program: "dpkg-deb", package: "dpkg", purpose: "unpack Debian's packages", limit_s: 300 };

/// A version that a suite has now.
pub(crate) struct Offer<'a> {
    pub suite: &'a Suite,
    apt: Apt,
    /// As Debian writes it: `1:10.11.18-0+deb12u1`.
    full_version: String,
}

impl<'a> Offer<'a> {
    /// What a suite has. The inner error says why nothing is known.
    pub fn look_up(dirs: &Dirs, suite: &'a Suite) -> Result<std::result::Result<Offer<'a>, String>> {
        let apt = match Apt::open(dirs, &suite.suite)? {
            Ok(apt) => apt,
            Err(reason) => return Ok(Err(reason)),
        };
        let server = suite.packages.first().map(String::as_str).unwrap_or_default();
        Ok(match apt.version(server)? {
            Some(full_version) => Ok(Offer { suite, apt, full_version }),
            None => Err(format!("Debian {} has no package {server}", suite.suite)),
        })
    }

    /// `10.11.18`.
    pub fn version(&self) -> &str {
        let without_epoch = self.full_version.split_once(':').map_or(&*self.full_version, |(_, rest)| rest);
        version::plain(without_epoch)
    }

    /// Where it comes from, as a phrase.
    pub fn origin(&self) -> String {
        let server = self.suite.packages.first().map(String::as_str).unwrap_or_default();
        format!("Debian {} {server} {}", self.suite.suite, self.full_version)
    }

    /// Fetches the packages into `scratch` and unpacks them to `target`. Returns a sum over those of all packages.
    pub fn obtain(&self, dbms: Dbms, scratch: &Path, target: &Path) -> Result<String> {
        let failed = |reason: String| Error::Download { dbms, version: self.version().to_owned(), reason };
        let packages = self.apt.fetch(&self.suite.packages, &scratch.join("packages"))?.map_err(failed)?;
        let (mut sums, whole) = (String::new(), scratch.join("prefix"));
        for package in &packages {
            let file = fs::File::open(package).map_err(Error::file("open", package))?;
            sums.push_str(&sha256_of(file).map_err(Error::file("read", package))?);
            let arguments = ["-x".as_ref(), package.as_os_str(), whole.as_os_str()];
            DPKG_DEB.run(&arguments)?.map_err(|failure| failed(failure.reason))?;
        }
        take(&whole, &whole, target)?;
        Ok(sha256_hex(sums.as_bytes()))
    }
}

/// Moves the files that a server needs from one tree to another.
fn take(top: &Path, from: &Path, target: &Path) -> Result<()> {
    for entry in fs::read_dir(from).map_err(Error::file("list", from))? {
        let path = entry.map_err(Error::file("list", from))?.path();
        let relative: PathBuf = path.strip_prefix(top).unwrap_or(&path).to_path_buf();
        if path.is_dir() && !path.is_symlink() {
            take(top, &path, target)?;
        } else if parts::of_prefix(&relative) && !leads_out(&path) {
            let place = target.join(&relative);
            let parent = place.parent().unwrap_or(target);
            fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
            fs::rename(&path, &place).map_err(Error::file("move", &path))?;
        }
    }
    Ok(())
}

/// Links by their whole path mean a file of the system.
fn leads_out(path: &Path) -> bool {
    fs::read_link(path).is_ok_and(|link| link.is_absolute())
}
