//! RocksDB as a [`System`]: an instance is a process that has the library loaded and the database open.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rqps_builds::rocksdb::program_in;
use rqps_builds::{CpuSet, is_in_memory};
use rqps_executor::{
    Address, Admin, Debt, Handle, Instance, Look, Result, ServerResult, SessionResult, SettleTick, System,
};
use rqps_model::{Counter, Dbms, LeftOut, Settle};
use rqps_probe::work::Work;
use rqps_rocksdb_engine::protocol::Request;
use rqps_servers::{Applied, Config, Error as Refusal, Server, ServerHandle, ServerSpec};

use crate::admin::{BLOCK_CACHE, RocksdbAdmin};
use crate::connection::Connection;
use crate::metrics::{Changes, TICKERS};
use crate::settle;
use crate::taken::{changed, listed, lost_filter};

/// File name of an engine process's socket, in its own directory.
const SOCKET: &str = "engine.sock";

/// The end of a log that is searched for its cause.
const SEARCHED_LINES: usize = 20;

/// Options that ask for O_DIRECT: of reads, and of the others.
const DIRECT: [&str; 2] = ["use_direct_reads", "use_direct_io_for_flush_and_compaction"];

fn is_true(value: &str) -> bool {
    matches!(value, "true" | "1")
}

/// RocksDB.
pub static ROCKSDB: &dyn System = &Rocksdb;

struct Rocksdb;

impl System for Rocksdb {
    fn runs(&self, dbms: Dbms) -> bool {
        dbms == Dbms::Rocksdb
    }

    fn doubt(&self, config: &Config, work: &Path) -> Option<String> {
        let asks = config.options.iter().any(|(name, value)| DIRECT.contains(&&**name) && is_true(value));
        (asks && is_in_memory(work)).then(|| {
            format!(
                "its config asks for O_DIRECT, and {} is in memory, where that is refused or without effect: set RQPS_WORK to \
                 a directory on a disk",
                work.display()
            )
        })
    }

    fn config_of_blocks(&self, config: &Config) -> Config {
        config.clone()
    }

    fn method_of_blocks(&self) -> (&'static str, &'static str) {
        ("compactions in blocks", "as in a sequence")
    }

    fn open(&self, spec: &ServerSpec, stop: &AtomicBool) -> ServerResult<Box<dyn Instance>> {
        let server = Server::start_unless(spec, stop)?;
        let endpoint = server.endpoint();
        let socket = endpoint.socket_dir.join(SOCKET);
        let configured = spec.config.options.iter().map(|(name, _)| name.clone()).collect();
        let block_cache = spec.config.options.iter().find(|(name, _)| name == BLOCK_CACHE);
        let block_cache = block_cache.map(|(_, value)| value.clone());
        let left_out = |name: &str| server.applied().left_out.iter().any(|left| left.option == name);
        let reads_directly = spec
            .config
            .options
            .iter()
            .any(|(name, value)| name == DIRECT[0] && is_true(value) && !left_out(name));
        let program = program_in(&spec.build.root);
        // Who cannot read them here cannot read the arm's settings either, and is told why.
        let options = Connection::open(&socket)
            .and_then(|mut connection| connection.text(&Request::Options, "reading options"))
            .unwrap_or_default();
        let asked = spec.config.options.iter().filter(|(name, _)| !left_out(name));
        let changed = changed(asked, &listed(&options));
        if let Some(LeftOut { option, value, reason, .. }) = lost_filter(&changed) {
            let message = format!("option {option}: asked {value}, {reason}: tables would have no filter");
            server.stop_immediately();
            let (dbms, version) = (spec.build.dbms, spec.build.version.clone());
            return Err(Refusal::ConfigRefused { dbms, version, config: spec.config.name.clone(), message });
        }
        let address = RocksdbAddress { socket, pid: server.pid(), reads_directly, program };
        Ok(Box::new(RocksdbInstance { server, address, configured, block_cache, changed }))
    }

    fn session_is_a_process(&self) -> bool {
        false
    }

    fn debt_name(&self) -> &'static str {
        "pending_compaction_bytes"
    }

    fn work(&self, deltas: &[Counter]) -> Work {
        let changes = Changes::of(deltas);
        let ticker = |name: &str| changes.get(TICKERS, name);
        let blocks = ticker("block.cache.hit").zip(ticker("block.cache.miss"));
        Work {
            wal_bytes: ticker("wal.bytes"),
            fsyncs: ticker("wal.synced"),
            blocks_touched: blocks.map(|(hits, misses)| hits + misses),
            ..Work::default()
        }
    }
}

/// How the driver reaches an engine process.
#[derive(Debug, Clone)]
pub(crate) struct RocksdbAddress {
    pub socket: PathBuf,
    pub pid: u32,
    /// Whether its config asks for O_DIRECT.
    pub reads_directly: bool,
    /// Its build's own db_bench.
    pub program: Option<PathBuf>,
}

struct RocksdbInstance {
    server: Server,
    address: RocksdbAddress,
    configured: Vec<String>,
    block_cache: Option<String>,
    /// Options that the engine took with another value than the config's.
    changed: Vec<LeftOut>,
}

impl Instance for RocksdbInstance {
    fn address(&self) -> Address {
        Address::new(self.address.clone())
    }

    fn applied(&self) -> &Applied {
        self.server.applied()
    }

    fn changed_options(&self) -> Vec<LeftOut> {
        self.changed.clone()
    }

    fn pid(&self) -> Option<u32> {
        Some(self.server.pid())
    }

    fn exit_text(&mut self) -> Option<String> {
        self.server.exit_text()
    }

    fn is_paused(&self) -> bool {
        self.server.is_paused()
    }

    fn freeze(&mut self) -> ServerResult<()> {
        self.server.freeze()
    }

    fn thaw(&mut self) {
        self.server.thaw();
    }

    fn pin_sessions(&self, cpus: &CpuSet) -> ServerResult<()> {
        self.server.pin_sessions(cpus)
    }

    fn end_now(&mut self) {
        self.server.end_now();
    }

    fn stop(self: Box<Self>, stop: &AtomicBool) -> ServerResult<()> {
        self.server.stop_unless(stop)
    }

    fn discard(self: Box<Self>) {
        self.server.stop_immediately();
    }

    fn handle(&self) -> Option<Arc<dyn Handle>> {
        Some(Arc::new(RocksdbHandle(self.server.handle()?)))
    }

    fn log_path(&self) -> &Path {
        self.server.log_path()
    }

    fn telling_lines(&self) -> String {
        self.server.log_tail(SEARCHED_LINES)
    }

    fn admin(&self, name: &str) -> SessionResult<Box<dyn Admin>> {
        let connection = Connection::open(&self.address.socket)?;
        let (configured, block_cache) = (self.configured.clone(), self.block_cache.clone());
        Ok(Box::new(RocksdbAdmin { arm: name.to_owned(), connection, configured, block_cache }))
    }

    /// The driver cancels its window itself.
    fn end_statements(&self) {}

    fn vacuum(&self, _tables: &[String], _look: &mut Look<'_>) -> SessionResult<bool> {
        Ok(true)
    }

    fn settle(&self, debt: &Debt<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>> {
        let connection = Connection::open(&self.address.socket);
        let failed = |source| rqps_executor::Error::Session {
            arm: debt.arm.to_owned(),
            doing: "settling".to_owned(),
            source: Box::new(source),
        };
        settle::settle(connection.map_err(failed)?, debt, tick)
    }
}

struct RocksdbHandle(ServerHandle);

impl Handle for RocksdbHandle {
    fn data_dir(&self) -> &Path {
        self.0.data_dir()
    }

    fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    fn kill(&self) {
        self.0.kill();
    }

    fn end_admin_statements(&self) {}

    /// RocksDB fails on a full disk.
    fn waits_for_room(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_servers::config_from_text;

    #[test]
    fn direct_io_in_memory_is_doubted() {
        let config = |text: &str| config_from_text(Dbms::Rocksdb, "c", text).unwrap();
        let direct = config("[DBOptions]\nuse_direct_reads=true\n");
        let doubt = |config: &Config, work: &str| ROCKSDB.doubt(config, Path::new(work));
        let text = doubt(&direct, "/dev/shm/rqps-none/work").unwrap();
        assert!(text.contains("/dev/shm/rqps-none/work is in memory"), "{text}");
        assert_eq!(doubt(&direct, "/var/tmp/rqps-none"), None);
        let buffered = config("[DBOptions]\nuse_direct_reads=false\n");
        assert_eq!(doubt(&buffered, "/dev/shm"), None);
    }
}
