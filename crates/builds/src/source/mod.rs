//! Builds from source code: compiles a copy of the source and caches the result by a hash of source and build
//! method.
//!
//! They have their own cache (`<cache>/source/<dbms>/`), so a version in a plan never resolves to somebody's
//! own compilation. The build directory is named by the key, so paths compiled into the programs, and with
//! them the hash, are the same when the build is repeated.

mod ccache;
pub(crate) mod code;
pub(crate) mod flavour;
pub(crate) mod git;
pub(crate) mod lacking;
mod place;
mod runner;
mod tools;
mod twin;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rqps_model::{BuildSource, Dbms, SourceSpec};

use crate::build::Build;
use crate::cache::{Cache, Partial};
use crate::digest::sha256_hex;
use crate::dirs::{Dirs, create_open_dir};
use crate::error::{Error, Result};
use crate::family::{self, system_libc};
use crate::held_dir::HeldDir;
use crate::product::Product;
use crate::user::{MOVE_CACHE, server_user};

use code::{Site, SourceCode, path_text};
use flavour::Flavour;
use place::Source;
use runner::Runner;
use watch::{BuildProgress, Watch};

/// Increment when a change of this program makes a different build of the same source and flavour.
const RECIPE: u32 = 1;

/// Prefix of build directories.
const SITE_PREFIX: &str = ".building-";

/// Directory of objects that builds share.
const OBJECTS: &str = ".ccache";

/// Polling interval for the lock of a build that another process makes.
const LOCK_POLL: Duration = Duration::from_millis(200);

pub(crate) fn build(
    dirs: &Dirs,
    product: &dyn Product,
    dbms: Dbms,
    spec: &SourceSpec,
    watch: &mut Watch<'_>,
) -> Result<Build> {
    let flavour = Flavour::load(&spec.flavour, dbms, product.systems())?;
    // A library that a cached build needs may have been removed from the system.
    let checked = |build: Build| product.directory(&build.root).map(|_build| build);
    let cache = Cache::compiled(dirs, dbms);
    // Finds a built commit without its repository, which may be gone when a run is resumed.
    if let Some(identity) = place::identity_by_name(spec)
        && let Some(build) = cache.find_made_from(&key_of(dbms, &identity, &flavour)?)?
    {
        return checked(build);
    }
    let source = Source::find(dirs, dbms, spec, watch)?;
    let key = key_of(dbms, &source.identity, &flavour)?;
    let job = Job { cache, product, dbms, spec, flavour, source, copy: 1 };
    checked(job.find_or_make(&key, watch)?)
}

/// Copies 2 to `count` of a build that was compiled here; none of any other. Of a build that is named by its directory
/// those in the cache.
///
/// # Errors
/// If one does not compile, or `spec` no longer names the source.
pub(crate) fn copies(
    dirs: &Dirs,
    product: &dyn Product,
    (build, spec): (&Build, &BuildSource),
    count: u32,
    watch: &mut Watch<'_>,
) -> Result<Vec<Build>> {
    let cache = Cache::compiled(dirs, build.dbms);
    let first = if count > 1 { cache.made_from(build) } else { None };
    let Some(first) = first else { return Ok(Vec::new()) };
    let spec = match spec {
        BuildSource::Source(spec) => {
            Some(SourceSpec { reference: build.commit.clone().or(spec.reference.clone()), ..spec.clone() })
        }
        BuildSource::Path(_) | BuildSource::Version(_) => None,
    };
    let (mut copies, mut job) = (Vec::new(), None);
    for number in 2..=count {
        let key = sha256_hex(format!("{first}\0copy {number}").as_bytes());
        if let Some(copy) = cache.find_made_from(&key)? {
            copies.push(copy);
            continue;
        }
        let Some(spec) = &spec else { continue };
        let dbms = build.dbms;
        let flavour = Flavour::load(&spec.flavour, dbms, product.systems())?.for_copy(number);
        // The source is looked for once.
        let source = match job.take() {
            Some(Job { source, .. }) => source,
            None => Source::find(dirs, dbms, spec, watch)?,
        };
        let cache = Cache::compiled(dirs, dbms);
        let next = job.insert(Job { cache, product, dbms, spec, flavour, source, copy: number });
        copies.push(next.find_or_make(&key, watch)?);
    }
    Ok(copies)
}

/// Checks a spec without reading the source.
pub(crate) fn check(code: &dyn SourceCode, dbms: Dbms, spec: &SourceSpec) -> Result<()> {
    Flavour::load(&spec.flavour, dbms, code.systems())?;
    if !spec.is_remote() && !Path::new(&spec.place).exists() {
        let reason = "it does not exist: correct the path".to_owned();
        return Err(Error::NotSource { place: spec.place.clone(), dbms, reason });
    }
    Ok(())
}

/// A hash of everything that determines the result.
fn key_of(dbms: Dbms, identity: &str, flavour: &Flavour) -> Result<String> {
    let flavour_json = serde_json::to_string(flavour)
        .map_err(|error| Error::file("read flavour", &flavour.name)(error.into()))?;
    let compiler = tools::compiler_text(flavour)?;
    let recipe = format!("recipe {RECIPE}");
    let mut parts =
        vec![recipe, dbms.to_string(), identity.to_owned(), flavour_json, compiler, system_libc()];
    if [&flavour.cflags, &flavour.cxxflags].iter().any(|flags| flags.contains("native")) {
        parts.push(cpu_model());
    }
    Ok(sha256_hex(parts.join("\0").as_bytes()))
}

/// The log of a build from source; None for a published build.
pub fn log_of(build: &Build) -> Option<PathBuf> {
    let log = log_beside(&build.root);
    log.is_file().then_some(log)
}

/// Not `with_extension`, which would cut a version at its last dot.
fn log_beside(root: &Path) -> PathBuf {
    let mut name = root.file_name().unwrap_or_default().to_os_string();
    name.push(".log");
    root.with_file_name(name)
}

struct Job<'a> {
    cache: Cache,
    product: &'a dyn Product,
    dbms: Dbms,
    spec: &'a SourceSpec,
    flavour: Flavour,
    source: Source,
    /// From 1; see [`Flavour::for_copy`].
    copy: u32,
}

impl Job<'_> {
    /// The build that another process made meanwhile, or else a new one.
    fn find_or_make(&self, key: &str, watch: &mut Watch<'_>) -> Result<Build> {
        if let Some(build) = self.cache.find_made_from(key)? {
            return Ok(build);
        }
        let what = format!("{} from {}, {}", self.dbms, self.source.origin, self.how());
        let _lock = self.lock(key, &what, watch)?;
        if let Some(build) = self.cache.find_made_from(key)? {
            return Ok(build);
        }
        self.remove_leftovers(key)?;
        let site = self.cache.dir().join(format!("{SITE_PREFIX}{}", &key[..16]));
        let _removed_on_drop = Partial { path: site.clone() };
        self.make(key, &site, watch)
    }

    /// Its flavour, and which copy it is.
    fn how(&self) -> String {
        let copy = if self.copy > 1 { format!(", copy {}", self.copy) } else { String::new() };
        format!("flavour {}{copy}", self.flavour.name)
    }

    /// Locks out other processes making the same build until the returned file is dropped.
    fn lock(&self, key: &str, what: &str, watch: &mut Watch<'_>) -> Result<File> {
        create_open_dir(self.cache.dir())?;
        let path = self.cache.dir().join(format!(".lock-{}", &key[..16]));
        let file = File::create(&path).map_err(Error::file("create", &path))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            if watch.is_stopped() {
                return Err(Error::Interrupted { what: what.to_owned() });
            }
            (watch.progress)(&BuildProgress {
                what,
                phase: "waiting for another process to build it",
                elapsed_s: start.elapsed().as_secs_f64(),
                lines: 0,
                steps: None,
            });
            thread::sleep(LOCK_POLL);
        }
    }

    /// Removes build directories of killed processes, which are those with a free lock, and the directory of
    /// this build.
    fn remove_leftovers(&self, own_key: &str) -> Result<()> {
        let entries = fs::read_dir(self.cache.dir()).map_err(Error::file("list", self.cache.dir()))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(key) = name.strip_prefix(SITE_PREFIX) else {
                continue;
            };
            let lock_path = self.cache.dir().join(format!(".lock-{key}"));
            let lock = File::create(&lock_path).map_err(Error::file("create", &lock_path))?;
            if own_key.starts_with(key) || lock.try_lock().is_ok() {
                fs::remove_dir_all(entry.path()).map_err(Error::file("remove", entry.path()))?;
            }
        }
        Ok(())
    }

    /// Compiles, installs, and moves the result into the cache.
    fn make(&self, key: &str, root: &Path, watch: &mut Watch<'_>) -> Result<Build> {
        let start = Instant::now();
        let (site, what) = self.prepare(root, watch)?;
        let user = server_user()?;
        if user.switches {
            // Not `root`, where the finished build is looked up by name.
            for directory in [&site.tree, &site.build, &site.prefix] {
                HeldDir::open(directory)?.chown_tree(user.uid, user.gid, user.uid)?;
            }
        }
        user.check_reachable(root, MOVE_CACHE)?;
        let log = self.cache.dir().join(format!("unfinished-{}.log", &key[..16]));
        let _absent = fs::remove_file(&log);
        let directory = &site.build;
        let shared = match watch.shares_objects {
            true => ccache::env(&self.flavour, &self.cache.dir().join(OBJECTS), root, &user)?,
            false => BTreeMap::new(),
        };
        let (flavour, shared) = (&self.flavour, &shared);
        let mut runner = Runner { what: &what, flavour, user: &user, directory, log, shared, watch, start };
        for step in self.product.steps(&site) {
            if let Err(error) = runner.run(&step) {
                if error.is_interruption() {
                    let _absent = fs::remove_file(&runner.log);
                }
                return Err(error);
            }
        }
        let log = runner.log;
        self.keep(key, &site, &log)
    }

    /// Copies the source and checks that everything its build needs is installed. Returns a description of
    /// the build, too.
    fn prepare(&self, root: &Path, watch: &mut Watch<'_>) -> Result<(Site<'_>, String)> {
        let mut site = Site {
            tree: root.join("source"),
            build: root.join("build"),
            prefix: root.join("installed"),
            flavour: &self.flavour,
            options: Vec::new(),
            jobs: watch.job_count(),
        };
        for directory in [root, &site.tree, &site.build, &site.prefix] {
            create_open_dir(directory)?;
        }
        let place = format!("{} from {}", self.dbms, self.source.origin);
        watch.report_phase(&place, "copying the source");
        self.source.copy_to(&site.tree)?;
        if self.product.has_output(&site.tree) {
            self.source.set_times(&site.tree)?;
        }
        let version = self.product.version(&site.tree).ok_or_else(|| Error::NotSource {
            place: self.spec.place.clone(),
            dbms: self.dbms,
            reason: format!("it has no {}: name the directory that does", self.product.identified_by()),
        })?;
        let what = format!("{} {version}, {}", self.dbms, self.how());
        let requirements = self.flavour.for_version(&version);
        tools::check(&what, &self.flavour, &self.product.programs(&site), &requirements)?;
        let tree = path_text(&site.tree);
        site.options = requirements.options.iter().map(|option| option.replace("{source}", &tree)).collect();
        Ok((site, what))
    }

    /// Takes ownership of the installed programs from the build user and moves them into the cache.
    fn keep(&self, key: &str, site: &Site<'_>, log: &Path) -> Result<Build> {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        HeldDir::open(&site.prefix)?.chown_tree(uid, gid, server_user()?.uid)?;
        let mut build = self.product.directory(&site.prefix)?;
        build.origin = format!("{}, {}", self.source.origin, self.how());
        build.commit = self.source.commit().map(str::to_owned);
        let flags = format!("{} {}", self.flavour.cflags, site.options.join(" "));
        build.family = family::with_flags(build.family, &flags);
        let lock = self.cache.lock()?;
        let build = self.cache.keep(&site.prefix, build, key.to_owned())?;
        drop(lock);
        let place = log_beside(&build.root);
        fs::rename(log, &place).map_err(Error::file("move the log to", &place))?;
        Ok(build)
    }
}

/// The part of `/proc/cpuinfo` that `-march=native` depends on.
fn cpu_model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fields = ["model name", "flags"];
    let lines = info.lines().filter(|line| fields.iter().any(|name| line.starts_with(name)));
    lines.take(fields.len()).collect::<Vec<_>>().join("\n")
}
