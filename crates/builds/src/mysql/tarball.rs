//! The vendor's own tarballs, fetched by `curl` from an address that the user gives: a mirror, a file server,
//! a directory (`file://`).

use std::fs;
use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use super::parts;
use super::recipe::Recipes;
use crate::build::Address;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::maven::check_sum;
use crate::unpack;

const CURL: Client =
    Client { program: "curl", package: "curl", purpose: "fetch builds from an address", limit_s: 3600 };

/// Prefix of the origin of these builds.
pub(crate) const ORIGIN: &str = "tarball";

/// Exit code of `curl` for a `file://` URL without a file.
const NO_SUCH_FILE: i32 = 37;

/// Endings of URLs that name a file instead of a directory.
const ENDINGS: [&str; 2] = [".tar.gz", ".tar.xz"];

pub(crate) struct Tarball {
    pub path: PathBuf,
    /// The file name in the URL.
    pub name: String,
}

/// Fetches a version's tarball into `scratch` and verifies its checksum, if one is given.
pub(crate) fn fetch(
    dbms: Dbms,
    version: &str,
    from: &Address,
    recipes: &Recipes,
    scratch: &Path,
) -> Result<Tarball> {
    let failed = |reason: String| Error::Download { dbms, version: version.to_owned(), reason };
    let addresses = addresses(version, from, recipes);
    let path = scratch.join("fetched");
    for address in &addresses {
        let name = address.rsplit('/').next().unwrap_or(address).to_owned();
        match fetch_one(address, &path)? {
            Outcome::Fetched => {
                if let Some(wanted) = &from.sha256 {
                    check_sum(&path, &name, wanted)?;
                }
                return Ok(Tarball { path, name });
            }
            Outcome::Absent => {}
            Outcome::Failed(reason) => return Err(failed(format!("{name}: {reason}"))),
        }
    }
    let names: Vec<&str> = addresses.iter().filter_map(|address| address.rsplit('/').next()).collect();
    Err(failed(format!(
        "none of {} is at that address; give the full address of the tarball",
        names.join(", ")
    )))
}

pub(crate) fn unpack(tarball: &Tarball, target: &Path) -> Result<()> {
    unpack::tarball(&tarball.path, target, parts::needed_in_archive)
        .map_err(Error::file("unpack", Path::new(&tarball.name)))?;
    fs::remove_file(&tarball.path).map_err(Error::file("remove", &tarball.path))
}

fn addresses(version: &str, from: &Address, recipes: &Recipes) -> Vec<String> {
    let url = from.url.trim_end_matches('/');
    if ENDINGS.iter().any(|ending| url.ends_with(ending)) {
        return vec![url.to_owned()];
    }
    recipes.tarball_names(version).iter().map(|name| format!("{url}/{name}")).collect()
}

enum Outcome {
    Fetched,
    Absent,
    Failed(String),
}

/// Gives up after a minute below 1 kB/s.
fn fetch_one(address: &str, path: &Path) -> Result<Outcome> {
    let shown_path = path.to_string_lossy();
    let quiet = ["--silent", "--show-error", "--location", "--globoff", "--retry", "2"];
    let limits = ["--connect-timeout", "30", "--speed-limit", "1000", "--speed-time", "60"];
    let what = ["--write-out", "%{http_code}", "--output", &shown_path, "--", address];
    let arguments: Vec<&str> = quiet.into_iter().chain(limits).chain(what).collect();
    Ok(match CURL.run(&arguments)? {
        // Only HTTP has a status.
        Ok(status) if matches!(status.trim(), "200" | "226" | "000") => Outcome::Fetched,
        Ok(status) if matches!(status.trim(), "403" | "404" | "410") => Outcome::Absent,
        Ok(status) => Outcome::Failed(format!("the server answered with status {}", status.trim())),
        Err(failure) if failure.code == Some(NO_SUCH_FILE) => Outcome::Absent,
        Err(failure) => Outcome::Failed(failure.reason),
    })
}
