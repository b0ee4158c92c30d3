//! An admin session on an engine process: counters, state and options of the engine.

use std::collections::BTreeMap;

use rqps_executor::{Admin, Error, Result, SessionResult};
use rqps_model::ServerSetting;
use rqps_probe::WorkIn;
use rqps_probe::counters::{CounterSet, CounterValue};
use rqps_probe::queue::Sizes;
use rqps_rocksdb_engine::protocol::{Request, Shape};
use rqps_wire::Table;

use crate::connection::Connection;
use crate::taken::listed;

pub(crate) struct RocksdbAdmin {
    pub arm: String,
    pub connection: Connection,
    /// Options that the config sets.
    pub configured: Vec<String>,
    /// The config's value of [`BLOCK_CACHE`].
    pub block_cache: Option<String>,
}

/// The option of the block cache.
pub(crate) const BLOCK_CACHE: &str = "block_based_table_factory.block_cache";

/// Names and values in `{name=value;…}`; none in a number.
fn parts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let inner = text.trim_start_matches('{').trim_end_matches('}');
    inner.split(';').filter_map(|part| part.split_once('=')).map(|(name, value)| (name.trim(), value.trim()))
}

impl RocksdbAdmin {
    fn failed(&self, doing: &str) -> impl FnOnce(rqps_wire::Error) -> Error + use<> {
        let (arm, doing) = (self.arm.clone(), doing.to_owned());
        move |source| Error::Session { arm, doing, source: Box::new(source) }
    }

    /// The block cache, which options files do not list: the size that it has, and what else the config says of it.
    fn block_cache(&mut self) -> Result<Vec<ServerSetting>> {
        let doing = "reading the size of the block cache";
        let asked = Request::Property("rocksdb.block-cache-capacity".to_owned());
        let bytes = self.connection.text(&asked, doing).map_err(self.failed(doing))?;
        let in_config = self.block_cache.iter().flat_map(|text| parts(text));
        let others = in_config.filter(|(name, _)| *name != "capacity");
        let all = [("capacity", bytes.trim())].into_iter().chain(others);
        let is_configured = self.block_cache.is_some();
        let setting = |(name, value): (&str, &str)| ServerSetting {
            name: format!("{BLOCK_CACHE}.{name}"),
            value: value.to_owned(),
            source: if is_configured { "config" } else { "default" }.to_owned(),
            default: !is_configured,
        };
        Ok(all.map(setting).collect())
    }

    fn shape(&mut self) -> Result<Shape> {
        let failed = self.failed("reading the shape of the LSM tree");
        self.connection.shape().map_err(failed)
    }
}

impl Admin for RocksdbAdmin {
    /// A property, such as `rocksdb.stats`.
    fn query(&mut self, statement: &str) -> SessionResult<Table> {
        let text = self.connection.text(&Request::Property(statement.to_owned()), statement)?;
        Ok(Table { columns: vec![statement.to_owned()], rows: vec![vec![Some(text)]] })
    }

    fn make_durable(&mut self) -> SessionResult<()> {
        self.connection.ask(&Request::MakeDurable, "making entries durable").map(drop)
    }

    fn version_text(&mut self) -> SessionResult<String> {
        let options = self.connection.text(&Request::Options, "reading the version")?;
        let version = options.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version="));
        Ok(format!("RocksDB {}", version.unwrap_or("of an unknown version")))
    }

    fn settings(&mut self) -> Result<Vec<ServerSetting>> {
        let failed = self.failed("reading options");
        let text = self.connection.text(&Request::Options, "reading options").map_err(failed)?;
        let mut settings = self.block_cache()?;
        settings.extend(listed(&text).into_iter().map(|(name, value)| {
            let is_configured = self.configured.contains(&name);
            let source = if is_configured { "config" } else { "default" }.to_owned();
            ServerSetting { name, value, source, default: !is_configured }
        }));
        Ok(settings)
    }

    fn fingerprint(&mut self) -> Result<Vec<(String, String)>> {
        let shape = self.shape()?;
        let levels = shape.levels.iter().enumerate().filter(|(_, level)| level.files > 0);
        let mut state: Vec<(String, String)> = levels
            .map(|(number, level)| {
                let mb = level.bytes as f64 / 1e6;
                (
                    format!("level {number}"),
                    format!("{} files, {mb:.1} MB, {} entries", level.files, level.entries),
                )
            })
            .collect();
        let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        state.push(("memtables".to_owned(), mb(shape.memtable_bytes)));
        state.push(("pending compaction".to_owned(), mb(shape.pending_compaction_bytes)));
        Ok(state)
    }

    fn sizes(&mut self) -> Result<Sizes> {
        Ok(Sizes { table_bytes: self.shape()?.bytes(), index_bytes: 0 })
    }

    fn debt(&mut self) -> Result<f64> {
        Ok(self.shape()?.pending_compaction_bytes as f64)
    }

    fn counters(&mut self) -> Result<CounterSet> {
        let failed = self.failed("reading counters");
        let counters = self.connection.counters().map_err(failed)?;
        let values = counters.into_iter().map(|counter| CounterValue {
            view: counter.group,
            object: String::new(),
            column: counter.name,
            value: counter.value,
        });
        Ok(CounterSet { values: values.collect() })
    }

    /// Sessions are threads of the engine process, named by their kernel ids.
    fn served_by(&mut self, sessions: &[u32]) -> Result<Vec<u32>> {
        Ok(sessions.to_vec())
    }

    fn work_in(&mut self) -> Result<WorkIn> {
        Ok(WorkIn::Threads(BTreeMap::new()))
    }
}
