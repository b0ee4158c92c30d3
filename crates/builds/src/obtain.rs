//! Resolves the name of a build to the build: published, in a directory, or compiled from source.

use rqps_model::{BuildSource, BuildSpec, Dbms, SourceSpec};

use crate::build::{Address, Build, Published, Release};
use crate::cache::Cache;
use crate::dirs::Dirs;
use crate::error::Result;
use crate::products;
use crate::source::lacking::Wanted;
use crate::source::watch::Watch;
use crate::source::{self, lacking};

/// Installs a published version: `18.1`, or `18` for the newest minor of that major. Each version is
/// downloaded once, verified against the registry's checksum before it is unpacked, and cached; a cached
/// exact version needs no network.
///
/// The newest minor is looked up every time. If the registry is unreachable, the newest cached one is used,
/// with a note. A series of MySQL or MariaDB has two numbers: `8.0`, `10.11`.
pub fn install(dirs: &Dirs, dbms: Dbms, request: &str) -> Result<Build> {
    products::get(dbms).install(dirs, request)
}

/// Installs an exact version from a user's address, even if that version is cached, unless the cached one was
/// made from a file with this checksum.
pub fn install_from(dirs: &Dirs, dbms: Dbms, request: &str, from: &Address) -> Result<Build> {
    products::get(dbms).install_from(dirs, request, from)
}

/// The known published versions of a DBMS, oldest first.
pub fn published(dirs: &Dirs, dbms: Dbms) -> Result<Vec<Published>> {
    products::get(dbms).published(dirs)
}

/// The releases of the series from that of `from` to that of `to`, oldest first. A release may turn out to be
/// unpublished when it is installed.
pub fn releases(dirs: &Dirs, dbms: Dbms, from: &str, to: &str) -> Result<Vec<Release>> {
    products::get(dbms).releases(dirs, from, to)
}

/// Rejects invalid builds without network access and without running anything: a version of an unsupported
/// series, a directory without a server program.
pub fn check_known(spec: &BuildSpec) -> Result<()> {
    let product = products::get(spec.dbms);
    match &spec.source {
        BuildSource::Version(request) => product.check_version(request),
        BuildSource::Path(path) => product.check_directory(path),
        BuildSource::Source(source) => source::check(product, spec.dbms, source),
    }
}

/// Checks that a version was published of which no build is in the cache. Asks the registries and fetches none.
///
/// # Errors
/// If it was not; [`Error::Unreachable`](crate::Error::Unreachable) if nobody can say.
pub fn check_published(dirs: &Dirs, spec: &BuildSpec) -> Result<()> {
    match &spec.source {
        BuildSource::Version(request) => products::get(spec.dbms).check_published(dirs, request),
        BuildSource::Path(_) | BuildSource::Source(_) => Ok(()),
    }
}

/// Resolves the build that a plan names: a published version (see [`install`]), a directory, or source code,
/// which is compiled unless it is cached. Runs its programs once, so that a missing system library is an
/// error here and not in the middle of a run.
pub fn resolve(dirs: &Dirs, spec: &BuildSpec) -> Result<Build> {
    Watch::nobody(|watch| resolve_watched(dirs, spec, watch))
}

/// Like [`resolve`], with progress reports and a way to stop builds from source.
pub fn resolve_watched(dirs: &Dirs, spec: &BuildSpec, watch: &mut Watch<'_>) -> Result<Build> {
    watch.report_idle();
    match &spec.source {
        BuildSource::Version(request) => install(dirs, spec.dbms, request),
        BuildSource::Path(path) => products::get(spec.dbms).directory(path),
        BuildSource::Source(source) => compile(dirs, spec.dbms, source, watch),
    }
}

/// Checks builds from source before the first of them is compiled: that references, such as branches, name commits, and
/// that this system has what compiling takes. Fetches remote repositories. A cached build needs nothing, and of a full
/// commit id no repository.
///
/// # Errors
/// If a repository cannot be read or has no such reference; or else names all that is missing.
pub fn check_sources(dirs: &Dirs, specs: &[&BuildSpec], watch: &mut Watch<'_>) -> Result<()> {
    let from_source = specs.iter().filter_map(|build| match &build.source {
        BuildSource::Source(source) => Some(Wanted { product: products::get(build.dbms), build, source }),
        BuildSource::Version(_) | BuildSource::Path(_) => None,
    });
    lacking::check(dirs, from_source, watch)
}

/// The other `count - 1` copies of a build that was compiled here, which have the same functions at other addresses;
/// none of a build from elsewhere. `spec` is what names the build; of one that it names by its directory those in the
/// cache.
///
/// # Errors
/// If one does not compile, or `spec` no longer names the source.
pub fn copies(
    dirs: &Dirs,
    (build, spec): (&Build, &BuildSpec),
    count: u32,
    watch: &mut Watch<'_>,
) -> Result<Vec<Build>> {
    source::copies(dirs, products::get(spec.dbms), (build, &spec.source), count, watch)
}

/// The build that [`resolve`] would return, as far as that is known without network and compiler: of a series the
/// newest in the cache; else one that is not here, see [`Build::unseen`].
pub fn foresee(dirs: &Dirs, spec: &BuildSpec) -> Result<Build> {
    let found = match &spec.source {
        BuildSource::Version(request) => {
            let series = format!("{request}.");
            let mut builds = Cache::published(dirs, spec.dbms).builds()?;
            builds.retain(|build| build.version == *request || build.version.starts_with(&series));
            builds.into_iter().max_by_key(Build::version_num)
        }
        BuildSource::Path(path) => Some(products::get(spec.dbms).directory(path)?),
        BuildSource::Source(_) => None,
    };
    Ok(found.unwrap_or_else(|| Build::unseen(spec)))
}

/// Compiles source code, or returns the cached build of the same source and flavour.
pub fn compile(dirs: &Dirs, dbms: Dbms, spec: &SourceSpec, watch: &mut Watch<'_>) -> Result<Build> {
    source::build(dirs, products::get(dbms), dbms, spec, watch)
}

/// The cached builds, by DBMS, then newest version first.
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
