//! Installs published builds of MySQL and MariaDB: choose a source, fetch, verify, unpack in a scratch
//! directory, rename.

use std::path::{Path, PathBuf};

use rqps_model::Dbms;

use super::debian::Offer;
use super::layout::Layout;
use super::recipe::{MavenBuild, Recipes};
use super::version::Request;
use super::{maven, programs, relocate, tarball};
use crate::build::{Address, Build, Published};
use crate::cache::{Cache, Partial, program_files};
use crate::digest::sha256_of_file;
use crate::dirs::Dirs;
use crate::error::{Error, Result, did_you_mean, typo_of};

/// How many versions near an unavailable one an error names.
const NEAREST_MAX: usize = 3;

/// The architecture of all published builds.
const ARCHITECTURE: &str = "x86_64";

/// The source of a version.
enum Source<'a> {
    Maven(&'a MavenBuild),
    Tarball(Address),
    Debian(Offer<'a>),
}

pub(crate) fn install(dirs: &Dirs, dbms: Dbms, request: &str) -> Result<Build> {
    let request = Request::parse(dbms, request)?;
    let installer = Installer::new(dirs, dbms)?;
    let build = if request.is_exact() {
        installer.install_exact(&request)?
    } else {
        installer.install_newest(&request)?
    };
    programs::check_runnable(&build, &Layout::find(&build.root)?)?;
    Ok(build)
}

/// Refuses a version that no source has. What an address of the user's own has only a download tells.
pub(crate) fn check_published(dirs: &Dirs, dbms: Dbms, request: &str) -> Result<()> {
    let request = Request::parse(dbms, request)?;
    let installer = Installer::new(dirs, dbms)?;
    let mut recipes = installer.recipes.maven.iter();
    let is_known = recipes.any(|build| request.matches(&build.version));
    if is_known || request.is_exact() && installer.address().is_some() {
        return Ok(());
    }
    let mut reasons = Vec::new();
    let offers = installer.offers(&request, &mut reasons)?;
    match offers.iter().any(|offer| request.matches(offer.version())) {
        true => Ok(()),
        false => Err(installer.unknown(&request, &reasons)),
    }
}

pub(crate) fn install_from(dirs: &Dirs, dbms: Dbms, request: &str, from: &Address) -> Result<Build> {
    let request = Request::parse(dbms, request)?;
    if !request.is_exact() {
        let remedy =
            format!("an address needs an exact version: write all three numbers, such as {}.1", request.text);
        return Err(Error::BadVersion { dbms, request: request.text, remedy });
    }
    let installer = Installer::new(dirs, dbms)?;
    let sha256 = from.sha256.as_ref().map(|sha256| sha256.to_lowercase());
    let cached = sha256.map(|sha256| installer.cache.find_made_from(&sha256)).transpose()?.flatten();
    let build = match cached.filter(|build| build.version == request.text) {
        Some(build) => build,
        None => {
            let _lock = installer.cache.lock()?;
            installer.fetch(&request.text, Source::Tarball(from.clone()))?
        }
    };
    programs::check_runnable(&build, &Layout::find(&build.root)?)?;
    Ok(build)
}

pub(crate) fn published(dbms: Dbms) -> Result<Vec<Published>> {
    let recipes = Recipes::load(dbms)?;
    let from_maven = recipes.maven.iter().map(|build| Published {
        version: build.version.clone(),
        source: format!("Maven {}", build.artifact),
        size_mb: Some(build.size_mb),
    });
    let from_debian = recipes.debian.iter().map(|suite| Published {
        version: suite.series.clone(),
        source: format!("Debian {}, its latest", suite.suite),
        size_mb: None,
    });
    let mut published: Vec<Published> = from_maven.chain(from_debian).collect();
    published.sort_by_key(|build| dbms.version_num(&build.version));
    Ok(published)
}

struct Installer<'a> {
    dirs: &'a Dirs,
    dbms: Dbms,
    cache: Cache,
    recipes: Recipes,
}

impl<'a> Installer<'a> {
    fn new(dirs: &'a Dirs, dbms: Dbms) -> Result<Installer<'a>> {
        Ok(Installer { dirs, dbms, cache: Cache::published(dirs, dbms), recipes: Recipes::load(dbms)? })
    }

    fn install_exact(&self, request: &Request) -> Result<Build> {
        self.cache.find_or_make(|| self.cached(&request.text), || self.fetch_exact(request))
    }

    fn fetch_exact(&self, request: &Request) -> Result<Build> {
        let mut reasons = Vec::new();
        if let Some(build) = self.recipes.maven.iter().find(|build| build.version == request.text) {
            return self.fetch(&request.text, Source::Maven(build));
        }
        if let Some(from) = self.address() {
            match self.fetch(&request.text, Source::Tarball(from)) {
                Err(Error::Download { reason, .. }) => reasons.push(reason),
                outcome => return outcome,
            }
        }
        let offers = self.offers(request, &mut reasons)?;
        match offers.into_iter().find(|offer| offer.version() == request.text) {
            Some(offer) => self.fetch(&request.text, Source::Debian(offer)),
            None => Err(self.unknown(request, &reasons)),
        }
    }

    /// A cached build of a version. With several from different sources, one from an address comes last, and
    /// a note mentions the others.
    fn cached(&self, version: &str) -> Result<Option<Build>> {
        let mut builds = self.cache.builds()?;
        builds.retain(|build| build.version == version);
        let count = builds.len();
        builds.sort_by_key(|build| build.origin.starts_with(tarball::ORIGIN));
        let chosen = builds.into_iter().find(|build| self.cache.is_intact(build));
        Ok(chosen.map(|mut build| {
            if count > 1 {
                let note = format!(
                    "{count} builds of {} {version} are cached, this one from {}; for another one name its directory \
                     (`rqps builds`)",
                    self.dbms, build.origin
                );
                build.notes.push(note);
            }
            build
        }))
    }

    /// Installs the newest version in recipes, current suites and the cache.
    fn install_newest(&self, request: &Request) -> Result<Build> {
        let mut reasons = Vec::new();
        let offers = self.offers(request, &mut reasons)?;
        let cached = self.cache.builds()?;
        let known = self.recipes.maven.iter().map(|build| build.version.as_str());
        let known = known.chain(offers.iter().map(Offer::version));
        let known = known.chain(cached.iter().map(|build| build.version.as_str()));
        let newest = known
            .filter(|version| request.matches(version))
            .max_by_key(|version| self.dbms.version_num(version));
        let Some(version) = newest.map(str::to_owned) else {
            return Err(self.unknown(request, &reasons));
        };
        let fetch = || self.fetch_newest(&version, offers);
        let mut build = self.cache.find_or_make(|| self.cached(&version), fetch)?;
        for reason in reasons {
            build
                .notes
                .push(format!("not all sources could be checked for the newest {}: {reason}", request.text));
        }
        Ok(build)
    }

    fn fetch_newest(&self, version: &str, offers: Vec<Offer<'_>>) -> Result<Build> {
        match offers.into_iter().find(|offer| offer.version() == version) {
            Some(offer) => self.fetch(version, Source::Debian(offer)),
            None => {
                let build = self.recipes.maven.iter().find(|build| build.version == version);
                let request = Request::parse(self.dbms, version)?;
                self.fetch(version, Source::Maven(build.ok_or_else(|| self.unknown(&request, &[]))?))
            }
        }
    }

    /// What the suites of the requested series offer now. Adds to `reasons` why a suite could not be checked.
    fn offers(&self, request: &Request, reasons: &mut Vec<String>) -> Result<Vec<Offer<'_>>> {
        let mut offers = Vec::new();
        for suite in self.recipes.debian.iter().filter(|suite| suite.series == request.series()) {
            match Offer::look_up(self.dirs, suite) {
                Ok(Ok(offer)) => offers.push(offer),
                Ok(Err(reason)) => reasons.push(reason),
                // Without apt, other sources may still work.
                Err(error @ Error::NoProgram { .. }) => reasons.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Ok(offers)
    }

    /// The vendor address in the environment variable of the recipes.
    fn address(&self) -> Option<Address> {
        let url = std::env::var(&self.recipes.tarball_url_variable).ok().filter(|url| !url.is_empty())?;
        Some(Address { url, sha256: None })
    }

    /// Fetches a version even if it is cached. Call with the lock held.
    fn fetch(&self, version: &str, source: Source<'_>) -> Result<Build> {
        if std::env::consts::ARCH != ARCHITECTURE {
            let reason = format!(
                "published builds are for {ARCHITECTURE}, this machine is {}; name a directory, such as {}:/usr/local/mysql",
                std::env::consts::ARCH,
                self.dbms
            );
            return Err(Error::Download { dbms: self.dbms, version: version.to_owned(), reason });
        }
        let partial = self.cache.partial()?;
        let unpacked = partial.path.join("build");
        let fetched = self.fetch_into(version, &source, &partial, &unpacked)?;
        let layout = Layout::find(&unpacked)?;
        let files = program_files(&unpacked)?;
        let build = Build {
            dbms: self.dbms,
            version: version.to_owned(),
            hash: files.hash()?,
            hash_covers: format!("all {} files", files.count()),
            origin: fetched.origin,
            bin_dir: bin_dir_in(&unpacked, &layout.server),
            root: unpacked.clone(),
            size_bytes: files.size_bytes(),
            version_text: String::new(),
            family: Default::default(),
            commit: None,
            notes: fetched.notes,
        };
        let is_relocated = matches!(source, Source::Debian(_));
        self.cache.keep_relocated(&unpacked, build, fetched.sha256, is_relocated, |build| {
            self.finish(build, &source)
        })
    }

    fn fetch_into(
        &self,
        version: &str,
        source: &Source<'_>,
        partial: &Partial,
        unpacked: &Path,
    ) -> Result<Fetched> {
        let scratch = &partial.path;
        match source {
            Source::Maven(build) => {
                maven::obtain(self.dbms, build, scratch, unpacked)?;
                let origin = format!("Maven {}", build.artifact);
                Ok(Fetched { origin, sha256: build.sha256.clone(), notes: Vec::new() })
            }
            Source::Tarball(from) => {
                let tarball = tarball::fetch(self.dbms, version, from, &self.recipes, scratch)?;
                let sha256 = sha256_of_file(&tarball.path)?;
                let unverified = format!(
                    "{} was not verified: no sha256 was given (--sha256); its sha256 is {sha256}",
                    tarball.name
                );
                let notes = if from.sha256.is_some() { Vec::new() } else { vec![unverified] };
                tarball::unpack(&tarball, unpacked)?;
                Ok(Fetched { origin: format!("{} {}", tarball::ORIGIN, tarball.name), sha256, notes })
            }
            Source::Debian(offer) => {
                let sha256 = offer.obtain(self.dbms, scratch, unpacked)?;
                Ok(Fetched { origin: offer.origin(), sha256, notes: Vec::new() })
            }
        }
    }

    /// Steps that need the build at its final place. If the system lacks a library, the version is not
    /// checked by running the program: the build stays in the cache until the library is installed.
    fn finish(&self, build: &mut Build, source: &Source<'_>) -> Result<()> {
        let (flags, compiler) = match source {
            Source::Maven(recipe) => (recipe.flags.as_deref(), None),
            Source::Tarball(_) => (None, None),
            Source::Debian(offer) => {
                relocate::relocate(&build.root)?;
                (Some(offer.suite.flags.as_str()), offer.suite.compiler.as_deref())
            }
        };
        let layout = Layout::find(&build.root)?;
        match programs::check_runnable(build, &layout) {
            Ok(()) => {
                let identity = programs::identify(&layout.server)?;
                if (identity.dbms, identity.version.as_str()) != (self.dbms, build.version.as_str()) {
                    let reason = format!("the download contains {} {}", identity.dbms, identity.version);
                    return Err(Error::Download { dbms: self.dbms, version: build.version.clone(), reason });
                }
                build.version_text = identity.text;
            }
            Err(Error::MissingLibraries { .. } | Error::NoProgram { .. }) => {
                build.version_text = format!("Ver {}", build.version);
            }
            Err(error) => return Err(error),
        }
        build.family = programs::family(build, &layout, flags, compiler);
        Ok(())
    }

    /// The error for a version that no source has, or that not all sources could be asked for.
    fn unknown(&self, request: &Request, reasons: &[String]) -> Error {
        if !reasons.is_empty() {
            return self.unreachable(request, reasons.join("; "));
        }
        let wanted = i64::from(self.dbms.version_num(&request.text));
        let mut versions: Vec<&str> = self.recipes.maven.iter().map(|build| build.version.as_str()).collect();
        versions.extend(self.recipes.debian.iter().map(|suite| suite.series.as_str()));
        versions.sort_by_key(|version| (wanted - i64::from(self.dbms.version_num(version))).abs());
        versions.dedup();
        let question = did_you_mean(typo_of(&request.text, versions.iter().copied()));
        versions.truncate(NEAREST_MAX);
        let nearest = format!(
            "{question}nearest: {}; `rqps install {}` lists all; for others give an address (--from URL, or {}) or a directory",
            versions.join(", "),
            self.dbms,
            self.recipes.tarball_url_variable
        );
        Error::NotPublished { dbms: self.dbms, request: request.text.clone(), nearest }
    }

    fn unreachable(&self, request: &Request, reason: String) -> Error {
        let builds = self.cache.builds().unwrap_or_default();
        let versions: Vec<&str> = builds.iter().map(|build| build.version.as_str()).collect();
        let cached = if versions.is_empty() { "nothing".to_owned() } else { versions.join(", ") };
        let cached = format!("cached: {cached}; give another address with --from URL, or a directory");
        Error::Unreachable { dbms: self.dbms, request: request.text.clone(), reason, cached }
    }
}

/// The result of unpacking an archive.
struct Fetched {
    origin: String,
    sha256: String,
    notes: Vec<String>,
}

/// The server program's directory with `root` as its prefix; the layout has it with links resolved.
fn bin_dir_in(root: &Path, server: &Path) -> PathBuf {
    let real_root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let dir = server.parent().unwrap_or(server);
    dir.strip_prefix(&real_root).map_or_else(|_| dir.to_path_buf(), |relative| root.join(relative))
}
