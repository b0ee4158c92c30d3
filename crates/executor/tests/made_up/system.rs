//! A minimal system: keeps lines of text in a file; recent ones are only in memory until they are made
//! durable.

use crate::world::{self, Fault, moment, moment_for};
use rqps_builds::{Build, CpuSet, Dirs, Watch};
use rqps_executor::{
    Address, Admin, Debt, Error, Handle, Instance, Look, Result, ServerResult, SessionResult, SettleTick,
    System,
};
use rqps_model::{BuildSource, BuildSpec, Counter, Dbms, Settle};
use rqps_probe::work::Work;
use rqps_servers::{Applied, Config, Error as Refusal, HostLimits, HowCopied, ServerSpec, UnknownOption};
use rqps_wire::{Error as Wire, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

const FILE: &str = "ledger";

pub struct Ledgers;

/// Directories in which instances were opened, each with the hash of the build that ran there. Instances of a block
/// start in threads of their own, which have no world.
pub static OPENED: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());

impl System for Ledgers {
    fn runs(&self, _dbms: Dbms) -> bool {
        true
    }

    fn build(&self, dirs: &Dirs, spec: &BuildSpec, _: &mut Watch<'_>) -> rqps_builds::Result<Build> {
        let BuildSource::Version(version) = &spec.source else { panic!("{spec:?}") };
        Ok(Build {
            dbms: spec.dbms,
            version: version.clone(),
            hash: format!("hash of {version}"),
            hash_covers: String::new(),
            origin: String::new(),
            root: dirs.cache.clone(),
            bin_dir: dirs.cache.clone(),
            size_bytes: 0,
            version_text: version.clone(),
            family: Default::default(),
            commit: None,
            notes: Vec::new(),
        })
    }

    fn copies(
        &self,
        _: &Dirs,
        (build, _): (&Build, &BuildSpec),
        count: u32,
        _: &mut Watch<'_>,
    ) -> rqps_builds::Result<Vec<Build>> {
        let copy = |number| Build { hash: format!("copy {number}"), ..build.clone() };
        Ok((2..=count).map(copy).collect())
    }

    fn config(&self, _: &Build, name: &str, _: Option<&HostLimits>) -> ServerResult<Config> {
        Ok(Config {
            name: name.to_owned(),
            hash: String::new(),
            options: vec![("ink_colour".to_owned(), "red".to_owned())],
            before: Vec::new(),
            other_sections: Vec::new(),
            loose: Vec::new(),
            refused: Vec::new(),
            shipped: BTreeSet::new(),
            places: BTreeMap::new(),
            text: String::new(),
        })
    }

    fn unknown_options(&self, _: &Build, _: &Config, _: &Path) -> ServerResult<Vec<UnknownOption>> {
        Ok(Vec::new())
    }

    fn cache_bytes(&self, _: &Build, _: &Config) -> Option<u64> {
        None
    }

    fn config_of_blocks(&self, config: &Config) -> Config {
        Config { options: Vec::new(), ..config.clone() }
    }

    fn method_of_blocks(&self) -> (&'static str, &'static str) {
        ("ledger", "as ever")
    }

    fn data_key(&self, build: &Build, _: &Config) -> String {
        build.version.clone()
    }

    fn create(&self, spec: &ServerSpec, _: &AtomicBool) -> ServerResult<Applied> {
        moment();
        make_dir(&spec.data_dir);
        write(&spec.data_dir, &[]);
        moment();
        Ok(applied())
    }

    fn open(&self, spec: &ServerSpec, _: &AtomicBool) -> ServerResult<Box<dyn Instance>> {
        let died = moment_for(&[Fault::Death]).is_some();
        if died || world::with(|world| world.refused.contains(&spec.build.version)) {
            return Err(Refusal::Died {
                path: spec.data_dir.clone(),
                status: "exit status: 1".to_owned(),
                log: spec.log_dir.clone(),
                tail: "no ink".to_owned(),
                why: Box::default(),
            });
        }
        OPENED.lock().unwrap().push((spec.data_dir.clone(), spec.build.hash.clone()));
        let text = fs::read_to_string(spec.data_dir.join(FILE)).unwrap();
        let state = State {
            data_dir: spec.data_dir.clone(),
            lines: text.lines().map(str::to_owned).collect(),
            is_dead: false,
        };
        // The executor removes the log folder of its trial, so it must exist.
        fs::create_dir_all(&spec.log_dir).unwrap();
        let ledger = LedgerInstance {
            data_dir: spec.data_dir.clone(),
            applied: applied(),
            state: Shared(Arc::new(Mutex::new(state))),
            warnings: spec.config.options.iter().map(|(option, _)| format!("\"{option}\" is old")).collect(),
        };
        Ok(Box::new(ledger))
    }

    fn copy_data(&self, from: &Path, to: &Path, _: &AtomicBool) -> ServerResult<HowCopied> {
        moment();
        make_dir(to);
        fs::copy(from.join(FILE), to.join(FILE)).unwrap();
        Ok(HowCopied::Copy)
    }

    fn session_is_a_process(&self) -> bool {
        false
    }

    fn debt_name(&self) -> &'static str {
        "unpaid"
    }

    fn work(&self, _: &[Counter]) -> Work {
        Work::default()
    }
}

fn applied() -> Applied {
    Applied { left_out: Vec::new(), added: Vec::new(), config_as_used: String::new() }
}

/// Creates an empty data directory with the marker file that rqps needs to remove it.
fn make_dir(data_dir: &Path) {
    let _removed = fs::remove_dir_all(data_dir);
    fs::create_dir_all(data_dir).unwrap();
    fs::write(data_dir.join("rqps.json"), r#"{"dbms":"postgres","build":"ledger"}"#).unwrap();
}

fn write(data_dir: &Path, lines: &[String]) {
    fs::write(data_dir.join(FILE), lines.join("\n")).unwrap();
}

/// The lines of a ledger, some of them only in memory.
pub struct State {
    data_dir: PathBuf,
    pub lines: Vec<String>,
    pub is_dead: bool,
}

impl State {
    /// Writes all lines to disk. Lines that are not written are lost if the process or the instance ends.
    pub fn write(&self) {
        write(&self.data_dir, &self.lines);
    }
}

/// The state, shared by the instance, its sessions and drivers.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The error of a session whose instance dies or whose disk is full.
    pub fn failure(&self, fault: Fault) -> Wire {
        if fault == Fault::DiskFull {
            return Wire::Db {
                sqlstate: "53100".to_owned(),
                code: None,
                message: "No space left on device".to_owned(),
                detail: None,
                hint: None,
                statement: String::new(),
            };
        }
        self.lock().is_dead = true;
        Wire::Closed {
            endpoint: FILE.to_owned(),
            statement: String::new(),
            last_words: None,
            cause: std::io::ErrorKind::UnexpectedEof.into(),
        }
    }
}

struct LedgerInstance {
    data_dir: PathBuf,
    applied: Applied,
    state: Shared,
    /// One for each option.
    warnings: Vec<String>,
}

impl Instance for LedgerInstance {
    fn address(&self) -> Address {
        Address::new(self.state.clone())
    }

    fn applied(&self) -> &Applied {
        &self.applied
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn exit_text(&mut self) -> Option<String> {
        self.state.lock().is_dead.then(|| "out of ink".to_owned())
    }

    fn is_paused(&self) -> bool {
        false
    }

    fn freeze(&mut self) -> ServerResult<()> {
        Ok(())
    }

    fn thaw(&mut self) {}

    fn pin_sessions(&self, _: &CpuSet) -> ServerResult<()> {
        Ok(())
    }

    fn end_now(&mut self) {
        self.state.lock().is_dead = true;
    }

    fn stop(self: Box<Self>, _: &AtomicBool) -> ServerResult<()> {
        moment();
        self.state.lock().write();
        Ok(())
    }

    fn discard(self: Box<Self>) {
        moment();
    }

    fn handle(&self) -> Option<Arc<dyn Handle>> {
        None
    }

    fn log_path(&self) -> &Path {
        &self.data_dir
    }

    fn telling_lines(&self) -> String {
        "the pen ran out".to_owned()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn admin(&self, _name: &str) -> SessionResult<Box<dyn Admin>> {
        match moment_for(&[Fault::Death]) {
            Some(fault) => Err(self.state.failure(fault)),
            None => Ok(Box::new(LedgerAdmin(self.state.clone()))),
        }
    }

    fn end_statements(&self) {}

    fn vacuum(&self, _: &[String], look: &mut Look<'_>) -> SessionResult<bool> {
        match moment_for(&[Fault::Death, Fault::DiskFull]) {
            Some(fault) => Err(self.state.failure(fault)),
            None => Ok(look()),
        }
    }

    fn settle(&self, debt: &Debt<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>> {
        let paid = Settle {
            actions: vec!["pay".to_owned()],
            conditions: Vec::new(),
            elapsed_us: 1000,
            cap_us: debt.cap.as_micros() as u64,
            reached: true,
        };
        match moment_for(&[Fault::Death, Fault::DiskFull]) {
            Some(fault) => Err(Error::Session {
                arm: debt.arm.to_owned(),
                doing: "settling".to_owned(),
                source: Box::new(self.state.failure(fault)),
            }),
            None => Ok(tick("pay", 0.001).then_some(paid)),
        }
    }
}

struct LedgerAdmin(Shared);

impl Admin for LedgerAdmin {
    fn query(&mut self, statement: &str) -> SessionResult<Table> {
        self.0.lock().lines.push(statement.to_owned());
        Ok(Table::default())
    }

    fn make_durable(&mut self) -> SessionResult<()> {
        if let Some(fault) = moment_for(&[Fault::Death, Fault::DiskFull]) {
            return Err(self.0.failure(fault));
        }
        self.0.lock().write();
        moment();
        Ok(())
    }

    fn version_text(&mut self) -> SessionResult<String> {
        Ok("ledger".to_owned())
    }

    fn fingerprint(&mut self) -> Result<Vec<(String, String)>> {
        moment();
        Ok(vec![("entries".to_owned(), self.0.lock().lines.join(" "))])
    }
}
