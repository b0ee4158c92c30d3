//! Builds from source code: found, compiled in a copy, cached by what they were made of and how.
//!
//! A cache of their own (`<cache>/source/<dbms>/`) keeps them apart from published builds: a version in a plan never
//! means somebody's own compilation. A build is made in a folder named by its key, so that paths within the programs,
//! and with them the hash, are the same whenever it is made again.

pub(crate) mod code;
pub(crate) mod flavour;
mod git;
mod place;
mod runner;
mod tools;
mod twin;
pub(crate) mod watch;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rqps_model::{Dbms, SourceSpec};

use crate::build::Build;
use crate::cache::{Cache, Partial};
use crate::digest::sha256_hex;
use crate::dirs::{Dirs, create_open_dir};
use crate::error::{Error, Result};
use crate::family::{self, system_libc};
use crate::held_dir::HeldDir;
use crate::product::Product;
use crate::user::{MOVE_CACHE, server_user};

use code::{Site, SourceCode, text};
use flavour::Flavour;
use place::Source;
use runner::Runner;
use watch::{BuildProgress, Watch};

/// Changes when the same source and flavour become another build by a change of this program.
const RECIPE: u32 = 1;

/// Start of the name of a directory that a build is made in.
const SITE_PREFIX: &str = ".building-";

/// Between two tries to get the lock of a build that another process makes.
const LOCK_POLL: Duration = Duration::from_millis(200);

pub(crate) fn build(
    dirs: &Dirs,
    product: &dyn Product,
    dbms: Dbms,
    spec: &SourceSpec,
    watch: &mut Watch<'_>,
) -> Result<Build> {
    let flavour = Flavour::load(&spec.flavour, dbms, product.systems())?;
    // The system may have lost a library that a cached build needs.
    let checked = |build: Build| product.directory(&build.root).map(|_again| build);
    let cache = Cache::compiled(dirs, dbms);
    // A built commit is found without its repository, which may be gone when a run is resumed.
    if let Some(identity) = place::identity_by_name(spec)
        && let Some(build) = cache.find_made_from(&key_of(dbms, &identity, &flavour)?)?
    {
        return checked(build);
    }
    let source = Source::find(dirs, dbms, spec, watch)?;
    let key = key_of(dbms, &source.identity, &flavour)?;
    let job = Job { cache, product, dbms, spec, flavour, source };
    if let Some(build) = job.cache.find_made_from(&key)? {
        return checked(build);
    }
    let what = format!("{dbms} from {}, flavour {}", job.source.origin, job.flavour.name);
    let _lock = job.lock(&key, &what, watch)?;
    if let Some(build) = job.cache.find_made_from(&key)? {
        return checked(build);
    }
    job.remove_leftovers(&key)?;
    let site = job.cache.dir().join(format!("{SITE_PREFIX}{}", &key[..16]));
    let _removed_in_the_end = Partial { path: site.clone() };
    checked(job.make(&key, &site, watch)?)
}

/// Checks a spec without looking into the source.
pub(crate) fn check(code: &dyn SourceCode, dbms: Dbms, spec: &SourceSpec) -> Result<()> {
    Flavour::load(&spec.flavour, dbms, code.systems())?;
    if !spec.is_remote() && !Path::new(&spec.place).exists() {
        let reason = "it does not exist: correct the path".to_owned();
        return Err(Error::NotSource { place: spec.place.clone(), dbms, reason });
    }
    Ok(())
}

/// A hash of everything that decides the outcome.
fn key_of(dbms: Dbms, identity: &str, flavour: &Flavour) -> Result<String> {
    let how = serde_json::to_string(flavour)
        .map_err(|error| Error::file("read flavour", &flavour.name)(error.into()))?;
    let compiler = tools::compiler_text(flavour)?;
    let recipe = format!("recipe {RECIPE}");
    let mut parts = vec![recipe, dbms.to_string(), identity.to_owned(), how, compiler, system_libc()];
    if [&flavour.cflags, &flavour.cxxflags].iter().any(|flags| flags.contains("native")) {
        parts.push(cpu_model());
    }
    Ok(sha256_hex(parts.join("\0").as_bytes()))
}

/// Where the log of a build is; none of a published one.
pub fn log_of(build: &Build) -> Option<PathBuf> {
    let log = log_beside(&build.root);
    log.is_file().then_some(log)
}

/// A version's dots make everything behind the last one look like an extension.
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
}

impl Job<'_> {
    /// Keeps other processes from making the same build until it is dropped.
    fn lock(&self, key: &str, what: &str, watch: &mut Watch<'_>) -> Result<File> {
        create_open_dir(self.cache.dir())?;
        let path = self.cache.dir().join(format!(".lock-{}", &key[..16]));
        let file = File::create(&path).map_err(Error::file("create", &path))?;
        let began = Instant::now();
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
                elapsed_s: began.elapsed().as_secs_f64(),
                lines: 0,
                steps: None,
            });
            thread::sleep(LOCK_POLL);
        }
    }

    /// Removes leftovers of builds whose process was killed: those with a free lock, and the directory of this build.
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

    /// Compiles and installs it, and moves it into the cache.
    fn make(&self, key: &str, root: &Path, watch: &mut Watch<'_>) -> Result<Build> {
        let began = Instant::now();
        let (site, what) = self.prepare(root, watch)?;
        let user = server_user()?;
        if user.switches {
            // Not their common directory: what is to become a build is found there by its name.
            for directory in [&site.tree, &site.build, &site.prefix] {
                HeldDir::open(directory)?.give_tree(user.uid, user.gid, user.uid)?;
            }
        }
        user.check_reachable(root, MOVE_CACHE)?;
        let log = self.cache.dir().join(format!("unfinished-{}.log", &key[..16]));
        let _absent = fs::remove_file(&log);
        let directory = &site.build;
        let mut runner =
            Runner { what: &what, flavour: &self.flavour, user: &user, directory, log, watch, began };
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

    /// Copies the source and looks whether all is here that its build needs; says what will be built.
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
        self.source.lay_out(&site.tree)?;
        let version = self.product.version(&site.tree).ok_or_else(|| Error::NotSource {
            place: self.spec.place.clone(),
            dbms: self.dbms,
            reason: format!("it has no {}: name the directory that does", self.product.identified_by()),
        })?;
        let what = format!("{} {version}, flavour {}", self.dbms, self.flavour.name);
        let asked = self.flavour.at(&version);
        tools::check(&what, &self.flavour, &self.product.programs(&site), &asked)?;
        let tree = text(&site.tree);
        site.options = asked.options.iter().map(|option| option.replace("{source}", &tree)).collect();
        Ok((site, what))
    }

    /// Takes the installed programs away from the user who made them, and gives them their place in the cache.
    fn keep(&self, key: &str, site: &Site<'_>, log: &Path) -> Result<Build> {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        HeldDir::open(&site.prefix)?.give_tree(uid, gid, server_user()?.uid)?;
        let mut build = self.product.directory(&site.prefix)?;
        build.origin = format!("{}, flavour {}", self.source.origin, self.flavour.name);
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

/// What `-march=native` depends on.
fn cpu_model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let wanted = ["model name", "flags"];
    let lines = info.lines().filter(|line| wanted.iter().any(|name| line.starts_with(name)));
    lines.take(wanted.len()).collect::<Vec<_>>().join("\n")
}
