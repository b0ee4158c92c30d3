//! A directory as a system under test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rqps_builds::{Build, CpuSet, Dirs, Watch, check_known};
use rqps_executor::{
    Address, Admin, Debt, Error, Handle, Instance, Look, Reservation, Result, ServerResult, SessionResult,
    SettleTick, System,
};
use rqps_model::random::name_word;
use rqps_model::{BuildSource, BuildSpec, Counter, Dbms, Settle};
use rqps_probe::HostFacts;
use rqps_probe::work::Work;
use rqps_servers::{Applied, Config, Error as ServerError, HostLimits, HowCopied, ServerSpec, UnknownOption};
use rqps_wire::{Error as WireError, Table};

use crate::driver::Target;
use crate::file::remove_leftovers;
use crate::reservation::{self, Refused};

/// Directories.
pub static DIRECTORY: &dyn System = &Directory;

/// Facts that make two directories different systems.
const IDENTITY: [&str; 8] = [
    "kernel",
    "filesystem",
    "mount_options",
    "device",
    "io_scheduler",
    "write_cache",
    "disk_model",
    "disk_bytes",
];

/// Without a config there is nothing to say.
const NO_CONFIG: &str = "# a directory has no config\n";

struct Directory;

impl System for Directory {
    fn runs(&self, dbms: Dbms) -> bool {
        dbms == Dbms::Directory
    }

    fn build(&self, _: &Dirs, spec: &BuildSpec, _: &mut Watch<'_>) -> rqps_builds::Result<Build> {
        check_known(spec)?;
        let BuildSource::Path(path) = &spec.source else {
            let reason = "it names no directory; write directory:/mnt/data".to_owned();
            return Err(rqps_builds::Error::NotMeasurable { path: spec.to_string().into(), reason });
        };
        let facts = facts(path).map_err(|error| rqps_builds::Error::NotMeasurable {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        let value =
            |name: &str| facts.iter().find(|(key, _)| key == name).map_or("unknown", |(_, value)| value);
        let identity: Vec<String> = facts.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let identity = format!("{} {}", path.display(), identity.join(" "));
        Ok(Build {
            dbms: Dbms::Directory,
            version: value("filesystem").to_owned(),
            hash: format!("{:016x}", name_word(&identity)),
            hash_covers: "its path, file system, mount options, device and kernel".to_owned(),
            origin: format!("the directory {}", path.display()),
            root: path.clone(),
            bin_dir: path.clone(),
            size_bytes: 0,
            version_text: format!(
                "{} on {} ({}), Linux {}",
                value("filesystem"),
                value("device"),
                value("mount_options"),
                value("kernel")
            ),
            family: Default::default(),
            commit: None,
            notes: Vec::new(),
        })
    }

    /// It has no name: labels of arms would show it.
    fn config(&self, _: &Build, _: &str, _: Option<&HostLimits>) -> ServerResult<Config> {
        Ok(Config {
            name: String::new(),
            hash: String::new(),
            options: Vec::new(),
            before: Vec::new(),
            other_sections: Vec::new(),
            loose: Vec::new(),
            shipped: BTreeSet::new(),
            places: BTreeMap::new(),
            refused: Vec::new(),
            text: NO_CONFIG.to_owned(),
        })
    }

    fn unknown_options(&self, _: &Build, _: &Config, _: &Path) -> ServerResult<Vec<UnknownOption>> {
        Ok(Vec::new())
    }

    fn cache_bytes(&self, _: &Build, _: &Config) -> Option<u64> {
        None
    }

    fn config_of_blocks(&self, config: &Config) -> Config {
        config.clone()
    }

    fn method_of_blocks(&self) -> (&'static str, &'static str) {
        ("files", "each arm has its own in every block, filled before its first window")
    }

    fn data_key(&self, build: &Build, _: &Config) -> String {
        build.hash.clone()
    }

    /// The data directory is empty but for the marker that allows rqps to remove it.
    fn create(&self, spec: &ServerSpec, _: &AtomicBool) -> ServerResult<Applied> {
        make_data_dir(&spec.data_dir)?;
        Ok(applied())
    }

    fn open(&self, spec: &ServerSpec, _: &AtomicBool) -> ServerResult<Box<dyn Instance>> {
        std::fs::create_dir_all(&spec.log_dir).map_err(file_error("create", &spec.log_dir))?;
        let target = Arc::new(Target::new(&spec.build.root, name_word(&spec.data_dir.to_string_lossy())));
        Ok(Box::new(DirectoryInstance {
            directory: spec.build.root.clone(),
            version_text: spec.build.version_text.clone(),
            log_path: spec.log_dir.clone(),
            applied: applied(),
            target,
        }))
    }

    fn copy_data(&self, _: &Path, to: &Path, _: &AtomicBool) -> ServerResult<HowCopied> {
        make_data_dir(to)?;
        Ok(HowCopied::Copy)
    }

    fn place<'b>(&self, build: &'b Build) -> Option<&'b Path> {
        Some(&build.root)
    }

    fn reserve(&self, build: &BuildSpec) -> Result<Option<Reservation>> {
        let BuildSource::Path(path) = &build.source else { return Ok(None) };
        let place = || path.clone();
        match reservation::take(path) {
            Ok(lock) => Ok(lock.map(|lock| Reservation { removed: remove_leftovers(path), _lock: lock })),
            Err(Refused::Held(holder)) => Err(Error::Reserved { place: place(), holder }),
            Err(Refused::Io(source)) => Err(Error::File { action: "lock", path: place(), source }),
        }
    }

    fn session_is_a_process(&self) -> bool {
        true
    }

    fn debt_name(&self) -> &'static str {
        "debt"
    }

    fn work(&self, _: &[Counter]) -> Work {
        Work::default()
    }
}

/// Facts of a directory's file system, by name.
fn facts(directory: &Path) -> rqps_probe::Result<Vec<(String, String)>> {
    let all = HostFacts::collect(directory)?.key_values().into_iter();
    Ok(all
        .filter(|(name, _)| IDENTITY.contains(name))
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

fn applied() -> Applied {
    Applied { left_out: Vec::new(), added: Vec::new(), config_as_used: NO_CONFIG.to_owned() }
}

fn make_data_dir(data_dir: &Path) -> ServerResult<()> {
    std::fs::create_dir_all(data_dir).map_err(file_error("create", data_dir))?;
    let marker = data_dir.join("rqps.json");
    let text = r#"{"dbms":"directory","build":"directory"}"#;
    std::fs::write(&marker, text).map_err(file_error("write", &marker))
}

fn file_error<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> ServerError + 'a {
    move |source| rqps_builds::Error::File { action, path: path.to_owned(), source }.into()
}

struct DirectoryInstance {
    directory: PathBuf,
    version_text: String,
    log_path: PathBuf,
    applied: Applied,
    target: Arc<Target>,
}

impl Instance for DirectoryInstance {
    fn address(&self) -> Address {
        Address::new(Arc::clone(&self.target))
    }

    fn applied(&self) -> &Applied {
        &self.applied
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn exit_text(&mut self) -> Option<String> {
        None
    }

    fn is_paused(&self) -> bool {
        false
    }

    /// Nothing runs between windows.
    fn freeze(&mut self) -> ServerResult<()> {
        Ok(())
    }

    fn thaw(&mut self) {}

    fn pin_sessions(&self, _: &CpuSet) -> ServerResult<()> {
        Ok(())
    }

    fn end_now(&mut self) {
        self.target.remove();
    }

    fn stop(self: Box<Self>, _: &AtomicBool) -> ServerResult<()> {
        self.target.remove();
        Ok(())
    }

    fn discard(self: Box<Self>) {
        self.target.remove();
    }

    fn handle(&self) -> Option<Arc<dyn Handle>> {
        None
    }

    fn log_path(&self) -> &Path {
        &self.log_path
    }

    fn telling_lines(&self) -> String {
        String::new()
    }

    fn admin(&self, _: &str) -> SessionResult<Box<dyn Admin>> {
        Ok(Box::new(DirectoryAdmin {
            directory: self.directory.clone(),
            version_text: self.version_text.clone(),
        }))
    }

    fn end_statements(&self) {}

    fn vacuum(&self, _: &[String], _: &mut Look<'_>) -> SessionResult<bool> {
        Ok(true)
    }

    fn settle(&self, debt: &Debt<'_>, _: &mut SettleTick<'_>) -> Result<Option<Settle>> {
        let cap_us = debt.cap.as_micros() as u64;
        Ok(Some(Settle { actions: Vec::new(), conditions: Vec::new(), elapsed_us: 0, cap_us, reached: true }))
    }
}

struct DirectoryAdmin {
    directory: PathBuf,
    version_text: String,
}

impl Admin for DirectoryAdmin {
    fn query(&mut self, statement: &str) -> SessionResult<Table> {
        let message = "a directory answers no statements".to_owned();
        Err(WireError::Refused { engine: "directory", message, request: statement.to_owned() })
    }

    fn version_text(&mut self) -> SessionResult<String> {
        Ok(self.version_text.clone())
    }

    fn build_facts(&mut self) -> Result<Vec<(String, String)>> {
        self.fingerprint()
    }

    fn fingerprint(&mut self) -> Result<Vec<(String, String)>> {
        Ok(facts(&self.directory)?)
    }
}
