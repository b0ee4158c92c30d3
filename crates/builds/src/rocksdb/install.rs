//! Installs published builds: fetch the Java package, verify it, keep its library.

use std::path::Path;

use rqps_model::Dbms;
use serde::Deserialize;

use super::library;
use super::version::Request;
use crate::build::{Build, Published};
use crate::cache::{Cache, program_files};
use crate::dirs::Dirs;
use crate::error::{Error, Result, did_you_mean, typo_of};
use crate::family;
use crate::maven::Artifact;
use crate::unpack;

/// The package, and which of its files is for this architecture.
const ARTIFACT: &str = "org.rocksdb:rocksdbjni";
const CLASSIFIER: &str = "linux64";
const ARCHITECTURE: &str = "x86_64";
/// The library in the package.
const IN_PACKAGE: &str = "librocksdbjni-linux64.so";

/// How many known versions an error names.
const NEAREST_MAX: usize = 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipes {
    maven: Vec<Recipe>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    version: String,
    sha256: String,
    size_mb: u32,
    /// The package is that for all platforms.
    #[serde(default)]
    for_all: bool,
}

fn recipes() -> Result<Vec<Recipe>> {
    let text = include_str!("../../recipes/rocksdb.toml");
    let recipes: Recipes = toml::from_str(text)
        .map_err(|error| Error::BadRecipes { dbms: Dbms::Rocksdb, reason: error.to_string() })?;
    Ok(recipes.maven)
}

pub(crate) fn published() -> Result<Vec<Published>> {
    let published = |recipe: Recipe| Published {
        version: recipe.version,
        source: format!("Maven {ARTIFACT}"),
        size_mb: Some(recipe.size_mb),
    };
    Ok(recipes()?.into_iter().map(published).collect())
}

/// Refuses a version that is not published.
pub(crate) fn check(request: &str) -> Result<()> {
    find(&recipes()?, request).map(|_recipe| ())
}

/// The newest build that satisfies the request.
fn find<'r>(recipes: &'r [Recipe], request: &str) -> Result<&'r Recipe> {
    let request = Request::parse(request)?;
    let number = |recipe: &&Recipe| Dbms::Rocksdb.version_num(&recipe.version);
    let matching = recipes.iter().filter(|recipe| request.matches(&recipe.version)).max_by_key(number);
    matching.ok_or_else(|| not_published(&request, recipes))
}

pub(crate) fn install(dirs: &Dirs, request: &str) -> Result<Build> {
    let recipes = recipes()?;
    let recipe = find(&recipes, request)?;
    let cache = Cache::published(dirs, Dbms::Rocksdb);
    let build = cache.find_or_make(|| cache.find(&recipe.version), || fetch(&cache, recipe))?;
    // A system library that it needs may be missing.
    library::version_of(&library::find(&build.root)?)?;
    Ok(build)
}

fn not_published(request: &Request, recipes: &[Recipe]) -> Error {
    let wanted = i64::from(Dbms::Rocksdb.version_num(&request.text));
    let mut versions: Vec<&str> = recipes.iter().map(|recipe| recipe.version.as_str()).collect();
    versions.sort_by_key(|version| (wanted - i64::from(Dbms::Rocksdb.version_num(version))).abs());
    let question = did_you_mean(typo_of(&request.text, versions.iter().copied()));
    versions.truncate(NEAREST_MAX);
    let which = if request.is_exact() { "" } else { "; a series needs a known version" };
    let nearest = format!(
        "{question}nearest: {}; `rqps install rocksdb` lists all; for others write the path of a librocksdb.so into a plan{which}",
        versions.join(", ")
    );
    Error::NotPublished { dbms: Dbms::Rocksdb, request: request.text.clone(), nearest }
}

/// Call with the lock held.
fn fetch(cache: &Cache, recipe: &Recipe) -> Result<Build> {
    let version = &recipe.version;
    if std::env::consts::ARCH != ARCHITECTURE {
        let reason = format!(
            "published builds are for {ARCHITECTURE}, this machine is {}; name a library, such as \
             rocksdb:/usr/local/lib/librocksdb.so",
            std::env::consts::ARCH
        );
        return Err(Error::Download { dbms: Dbms::Rocksdb, version: version.clone(), reason });
    }
    let partial = cache.partial()?;
    let classifier = if recipe.for_all { String::new() } else { format!(":jar:{CLASSIFIER}") };
    let name = format!("{ARTIFACT}:{version}{classifier}");
    let artifact = Artifact { dbms: Dbms::Rocksdb, version, name: &name, sha256: &recipe.sha256 };
    let archive = artifact.fetch(&partial.path)?;
    let unpacked = partial.path.join("build");
    let is_library: unpack::Filter = |path| path == Path::new(IN_PACKAGE);
    unpack::zip_folder(&archive, "", &unpacked, is_library).map_err(Error::file("unpack", &archive))?;
    let (from, to) = (unpacked.join(IN_PACKAGE), unpacked.join("librocksdb.so"));
    std::fs::rename(&from, &to).map_err(Error::file("rename", &from))?;
    library::check_c_api(&to)?;
    let files = program_files(&unpacked)?;
    let build = Build {
        dbms: Dbms::Rocksdb,
        version: version.clone(),
        hash: files.hash()?,
        hash_covers: "the library".to_owned(),
        origin: format!("Maven {name}"),
        root: unpacked.clone(),
        bin_dir: unpacked.clone(),
        size_bytes: files.size_bytes(),
        version_text: format!("RocksDB {version}"),
        family: family::of_library(&to),
        commit: None,
        notes: Vec::new(),
    };
    cache.keep(&unpacked, build, recipe.sha256.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_valid_and_in_order() {
        let recipes = recipes().unwrap();
        assert!(recipes.len() >= 10 && recipes.iter().all(|recipe| recipe.sha256.len() == 64));
        assert!(recipes.is_sorted_by_key(|recipe| Dbms::Rocksdb.version_num(&recipe.version)));
        assert!(recipes.iter().all(|recipe| Request::parse(&recipe.version).unwrap().is_exact()));
    }

    #[test]
    fn an_unknown_version_gets_the_nearest_ones() {
        let message = not_published(&Request::parse("10.3.2").unwrap(), &recipes().unwrap()).to_string();
        assert!(message.contains("nearest: 10.4.2, 10.2.1"), "{message}");
    }
}
