//! What rqps and the engine process say to each other over its socket: a line of JSON each. A connection serves one
//! request after the other; a window is a conversation of its own.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Longest line: a window's result has its latencies and a figure for every second of a week.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// How to open the database, besides the options of its config.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenOptions {
    /// Whether RocksDB keeps its statistics (tickers and histograms).
    pub statistics: bool,
    /// Whether keys will be put in their order by one client: without log, into a vector instead of a skip list, and
    /// compressed on all levels.
    pub fills: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// A property, such as `rocksdb.stats`.
    Property(String),
    /// The counters of the engine.
    Counters,
    /// The shape of the LSM tree.
    Shape,
    /// The options that the database was opened with, as RocksDB writes them.
    Options,
    /// Makes finished work durable.
    MakeDurable,
    /// Writes memtables to files.
    Flush,
    /// Whether level 0 is compacted as soon as it has a file.
    CompactLevel0(bool),
    /// Whether the db_bench at this path is of the library's release.
    CheckProgram(PathBuf),
    /// Runs a window: an [`Event`] follows, and so on.
    Run(RunSpec),
    /// During a window: continue after [`Event::Opens`] or [`Event::Closed`].
    Go,
    /// During a window: give up.
    Cancel,
}

/// The answer to all requests but [`Request::Run`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    Done,
    Text(String),
    Counters(Vec<Counter>),
    Shape(Shape),
    /// RocksDB refused.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    pub group: String,
    pub name: String,
    pub value: f64,
}

/// The LSM tree at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    pub levels: Vec<Level>,
    pub memtable_bytes: u64,
    pub pending_compaction_bytes: u64,
    pub running_compactions: u64,
    pub running_flushes: u64,
    /// Whether a compaction or flush is due.
    pub is_pending: bool,
    pub block_cache_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    pub files: u64,
    pub bytes: u64,
    /// Entries, deleted ones included; 0 if the release does not report them.
    pub entries: u64,
}

impl Shape {
    pub fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes).sum()
    }

    pub fn files(&self) -> u64 {
        self.levels.iter().map(|level| level.files).sum()
    }

    pub fn level0_files(&self) -> u64 {
        self.levels.first().map_or(0, |level| level.files)
    }

    /// Whether any compaction or flush runs or is due.
    pub fn is_busy(&self) -> bool {
        self.is_pending || self.running_compactions + self.running_flushes > 0
    }
}

/// What each client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Puts all keys in their order.
    FillSequential,
    /// Puts random keys.
    Overwrite,
    /// Gets random keys.
    Get,
    /// Gets ten random keys at a time.
    MultiGet,
    /// Seeks a random key and reads this many entries from there on.
    Scan { entries: u32, reverse: bool },
}

impl Work {
    pub fn writes(self) -> bool {
        matches!(self, Work::FillSequential | Work::Overwrite)
    }
}

/// Keys of one [`Work::MultiGet`].
pub const KEYS_PER_MULTI_GET: usize = 10;

/// What ends warm-up or window of each client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Seconds(f64),
    /// A number of operations for each client.
    Operations(Vec<u64>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    pub open: OpenOptions,
    /// The db_bench that works instead of client threads. It has no warm-up.
    pub program: Option<PathBuf>,
    pub work: Work,
    pub clients: u32,
    /// Number of keys in the database.
    pub keys: u64,
    pub key_bytes: usize,
    pub value_bytes: usize,
    /// Size of a value after compression, as a share.
    pub compression_ratio: f64,
    pub seed: u64,
    pub warmup: End,
    pub window: End,
    /// Bytes per second that a background writer puts meanwhile; `None`: there is no writer.
    pub background_bytes_per_s: Option<f64>,
}

/// What the engine process says during a window.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// All clients are warm and wait for [`Request::Go`].
    Opens {
        /// Kernel ids of their threads, then of the background writer; none of a program.
        threads: Vec<u32>,
        /// The tree now: opening the database may have written a file of what was in its log, and the warm-up more.
        shape: Shape,
    },
    Progress {
        phase: Phase,
        elapsed_s: f64,
        operations: u64,
    },
    /// All clients have ended and wait for [`Request::Go`].
    Closed,
    Result(Box<RunResult>),
    Refused(String),
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    Open,
    WarmUp,
    Window,
}

/// The figures of a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    pub warmup_s: f64,
    /// Of each client: operations in the warm-up, and in the window.
    pub warmup_operations: Vec<u64>,
    pub operations: Vec<u64>,
    /// Of each client: seconds to its last operation.
    pub elapsed_s: Vec<f64>,
    /// Keys and values read or written.
    pub bytes: u64,
    /// Entries read or written.
    pub entries: u64,
    /// Keys that were asked for but not found. All keys exist.
    pub missing: u64,
    /// Operations completed in each second of the window.
    pub per_second: Vec<u64>,
    /// Latency in nanoseconds, in HdrHistogram's V2 encoding.
    pub latency: Vec<u8>,
    pub background: Option<Background>,
    /// Options that a program had otherwise than the config: `name: its value instead of the config's`.
    pub other_options: Vec<String>,
}

/// What the background writer did in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Background {
    pub operations: u64,
    pub bytes: u64,
    pub elapsed_s: f64,
}

/// Splits operations among clients.
pub fn shares(operations: u64, clients: u32) -> Vec<u64> {
    let clients = u64::from(clients.max(1));
    (0..clients).map(|client| operations / clients + u64::from(client < operations % clients)).collect()
}

/// Writes one line.
pub fn send(stream: &mut impl Write, message: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(message).map_err(|error| Error::io("write")(error.into()))?;
    line.push(b'\n');
    stream.write_all(&line).and_then(|()| stream.flush()).map_err(Error::io("write"))
}

/// Reads one line.
///
/// # Errors
/// [`Error::Closed`] at the end of the stream.
pub fn receive<T: DeserializeOwned>(stream: &mut impl BufRead) -> Result<T> {
    let mut line = Vec::new();
    let mut limited = std::io::Read::take(&mut *stream, LINE_BYTES_MAX);
    match limited.read_until(b'\n', &mut line) {
        Ok(0) => return Err(Error::Closed),
        Ok(_) => {}
        Err(error) => return Err(Error::io("read")(error)),
    }
    serde_json::from_slice(&line).map_err(|error| Error::io("understand a message")(error.into()))
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn operations_are_split_without_a_rest() {
        assert_eq!(shares(10, 3), [4, 3, 3]);
        assert_eq!(shares(2, 4), [1, 1, 0, 0]);
    }
}
