//! From the name of a build to the build: published, in a directory, or compiled from source.

use rqps_model::{BuildSource, BuildSpec, Dbms, SourceSpec};

use crate::build::{Address, Build, Published};
use crate::cache::Cache;
use crate::dirs::Dirs;
use crate::error::Result;
use crate::products;
use crate::source;
use crate::source::watch::Watch;

/// Obtains a published version: `18.1`, or `18` for the newest minor of that major. Downloaded once, checked
/// against the registry's checksum before it is unpacked, and cached; an exact version that is cached needs
/// no network.
///
/// A newest minor is asked for each time; when the registry cannot be reached, the newest cached one is taken
/// and a note says so. MySQL and MariaDB have two numbers in a series: `8.0`, `10.11`.
pub fn install(dirs: &Dirs, dbms: Dbms, request: &str) -> Result<Build> {
    products::get(dbms).install(dirs, request)
}

/// Obtains an exact version from an address of the user's, whatever is cached of that version, unless it is the file of
/// this sum that is.
pub fn install_from(dirs: &Dirs, dbms: Dbms, request: &str, from: &Address) -> Result<Build> {
    products::get(dbms).install_from(dirs, request, from)
}

/// The versions of a DBMS that rqps knows to be published, oldest first; none where only their registry knows them all.
pub fn published(dbms: Dbms) -> Result<Option<Vec<Published>>> {
    products::get(dbms).published()
}

/// Rejects what is not a build, without network access and without running anything: a version of an unsupported
/// series, a directory without a server program.
pub fn check_known(spec: &BuildSpec) -> Result<()> {
    let product = products::get(spec.dbms);
    match &spec.source {
        BuildSource::Version(request) => product.check_version(request),
        BuildSource::Path(path) => product.check_directory(path),
        BuildSource::Source(source) => source::check(product, spec.dbms, source),
    }
}

/// The build that a plan names: a published version (see [`install`]), a directory, or source code that is compiled
/// unless that was done before. Its programs have been run once, so a missing system library is an error here and not
/// in the middle of a run.
pub fn resolve(dirs: &Dirs, spec: &BuildSpec) -> Result<Build> {
    Watch::nobody(|watch| resolve_watched(dirs, spec, watch))
}

/// As [`resolve`], with an observer that may stop builds from source.
pub fn resolve_watched(dirs: &Dirs, spec: &BuildSpec, watch: &mut Watch<'_>) -> Result<Build> {
    watch.report_idle();
    match &spec.source {
        BuildSource::Version(request) => install(dirs, spec.dbms, request),
        BuildSource::Path(path) => products::get(spec.dbms).directory(path),
        BuildSource::Source(source) => compile(dirs, spec.dbms, source, watch),
    }
}

/// The build of some source code: from the cache when the very same was made before, else compiled now.
pub fn compile(dirs: &Dirs, dbms: Dbms, spec: &SourceSpec, watch: &mut Watch<'_>) -> Result<Build> {
    source::build(dirs, products::get(dbms), dbms, spec, watch)
}

/// The builds in the cache, by DBMS, then newest version first.
pub fn list_builds(dirs: &Dirs) -> Result<Vec<Build>> {
    let mut builds = Vec::new();
    for dbms in Dbms::ALL {
        let mut of_dbms = Cache::published(dirs, dbms).builds()?;
        of_dbms.extend(Cache::compiled(dirs, dbms).builds()?);
        of_dbms.sort_by_key(|build| std::cmp::Reverse(build.version_num()));
        builds.append(&mut of_dbms);
    }
    Ok(builds)
}
