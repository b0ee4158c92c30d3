//! What this system lacks for builds from source, told of all of them at once before the first is fetched or compiled.

use rqps_model::{BuildSpec, Dbms, SourceSpec};

use super::code::Site;
use super::flavour::Flavour;
use super::place::{self, Source};
use super::twin::scratch;
use super::watch::Watch;
use super::{key_of, tools};
use crate::cache::{Cache, Partial};
use crate::dirs::Dirs;
use crate::error::Result;
use crate::product::Product;

/// Later than every version, for what a flavour asks of a source that is not here yet.
const NEWEST: &str = "9999";

const GIT: &str = "git";

/// A build from source.
pub(crate) struct Wanted<'a> {
    pub product: &'a dyn Product,
    pub build: &'a BuildSpec,
    pub source: &'a SourceSpec,
}

/// Names of programs and headers, with the packages that have them.
type Items = Vec<(String, String)>;

/// Checks that references name commits, which fetches remote repositories, and that what compiling takes is installed.
///
/// # Errors
/// Names all that is missing for those that are not in the cache.
pub(crate) fn check<'a>(
    dirs: &Dirs,
    wanted: impl Iterator<Item = Wanted<'a>>,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let (mut builds, mut all) = (Vec::new(), Items::new());
    for one in wanted {
        let mut lacking = one.lacking(dirs, watch)?;
        if !lacking.is_empty() {
            builds.push(one.build.to_string());
            lacking.retain(|item| !all.contains(item));
            all.extend(lacking);
        }
    }
    if all.is_empty() { Ok(()) } else { Err(tools::missing(&builds.join(" and "), &all)) }
}

impl Wanted<'_> {
    /// What is missing, unless the build is in the cache.
    fn lacking(&self, dirs: &Dirs, watch: &mut Watch<'_>) -> Result<Items> {
        let dbms = self.build.dbms;
        let flavour = Flavour::load(&self.source.flavour, dbms, self.product.systems())?;
        if let Some(identity) = place::identity_by_name(self.source)
            && is_made(dirs, dbms, &identity, &flavour)?
        {
            return Ok(Items::new());
        }
        // The files that tell what the source is.
        let outline = scratch(dirs)?;
        let needs_git = place::is_repository(self.source);
        // Fetching takes minutes, and a repository has no output of other programs.
        if self.source.is_remote() || needs_git && tools::find(GIT, tools::search_path(&flavour)).is_none() {
            let lacking = self.lacks(&flavour, &outline, NEWEST);
            if lacking.iter().any(|(name, _)| !is_header(name)) {
                return Ok(lacking);
            }
        }
        let names = self.product.telling_files();
        let is_here = place::outline(dirs, self.source, names, &outline.path, watch)?;
        let version = self.product.version(&outline.path).filter(|_| is_here);
        // The build itself looks into a tarball, and says what is no source.
        let Some(version) = version else { return Ok(Items::new()) };
        let lacking = self.lacks(&flavour, &outline, &version);
        if lacking.is_empty() {
            return Ok(lacking);
        }
        let identity = Source::find(dirs, dbms, self.source, watch)?.identity;
        Ok(if is_made(dirs, dbms, &identity, &flavour)? { Items::new() } else { lacking })
    }

    fn lacks(&self, flavour: &Flavour, outline: &Partial, version: &str) -> Items {
        let tree = outline.path.clone();
        let (build, prefix, options) = (tree.clone(), tree.clone(), Vec::new());
        let site = Site { tree, build, prefix, flavour, options, jobs: 1 };
        let mut programs = self.product.programs(&site);
        if place::is_repository(self.source) {
            programs.push(GIT);
        }
        tools::lacking(flavour, &programs, &flavour.for_version(version))
    }
}

/// Whether the cache has it; without the compiler nothing is known to be made by it.
fn is_made(dirs: &Dirs, dbms: Dbms, identity: &str, flavour: &Flavour) -> Result<bool> {
    let has_compiler = tools::find(&flavour.cc, tools::search_path(flavour)).is_some();
    let find = || Cache::compiled(dirs, dbms).find_made_from(&key_of(dbms, identity, flavour)?);
    Ok(has_compiler && find()?.is_some())
}

fn is_header(name: &str) -> bool {
    name.ends_with(".h")
}
