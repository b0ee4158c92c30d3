//! Objects that builds of nearly the same source share, through ccache.

use std::collections::BTreeMap;
use std::path::Path;

use super::flavour::Flavour;
use super::tools;
use crate::dirs::create_open_dir;
use crate::error::Result;
use crate::held_dir::chown_to;
use crate::user::ServerUser;

/// Where Debian's ccache has programs with the names of compilers.
const PROGRAMS: &str = "/usr/lib/ccache";

/// The environment of a build in `root` that takes and leaves objects in `objects`; empty if ccache is not
/// installed, or the flavour names its programs otherwise than by name.
pub(super) fn env(
    flavour: &Flavour,
    objects: &Path,
    root: &Path,
    user: &ServerUser,
) -> Result<BTreeMap<String, String>> {
    let is_known = tools::find(&flavour.cc, PROGRAMS).is_some_and(|path| path.starts_with(PROGRAMS));
    if !is_known || flavour.env.contains_key("PATH") {
        return Ok(BTreeMap::new());
    }
    create_open_dir(objects)?;
    if user.switches {
        chown_to(objects, user)?;
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let path = format!("{PROGRAMS}:{}", tools::search_path(flavour));
    Ok([
        ("PATH", path),
        ("CCACHE_DIR", text(objects)),
        // The directory of a build is named by its key.
        ("CCACHE_BASEDIR", text(root)),
        ("CCACHE_NOHASHDIR", "true".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}
