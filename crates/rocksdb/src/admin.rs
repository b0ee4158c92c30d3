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

pub(crate) struct RocksdbAdmin {
    pub arm: String,
    pub connection: Connection,
    /// Options that the config sets.
    pub configured: Vec<String>,
}

impl RocksdbAdmin {
    fn failed(&self, doing: &str) -> impl FnOnce(rqps_wire::Error) -> Error + use<> {
        let (arm, doing) = (self.arm.clone(), doing.to_owned());
        move |source| Error::Session { arm, doing, source: Box::new(source) }
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
        let mut prefix = None;
        let mut settings = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                prefix = match section.split([' ', ']']).next() {
                    Some("DBOptions" | "CFOptions") => Some(""),
                    Some("TableOptions/BlockBasedTable") => Some("block_based_table_factory."),
                    _ => None,
                };
                continue;
            }
            if let (Some(prefix), Some((name, value))) = (prefix, line.split_once('=')) {
                let name = format!("{prefix}{name}");
                let is_configured = self.configured.contains(&name);
                settings.push(ServerSetting {
                    name,
                    value: value.to_owned(),
                    source: if is_configured { "config" } else { "default" }.to_owned(),
                    default: !is_configured,
                });
            }
        }
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
