//! Results of other programs: the files they were read from, and figures as those files print them.

use rusqlite::params;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::journal::ActionRecord;
use crate::observation::Observation;
use crate::put::Put;
use crate::read::Run;
use crate::read_rows::{count, json as from_json, rows};
use crate::write_observation::{insert_observation, json};
use crate::writer::{RunWriter, insert_action};

/// Metric of an imported window that is above 0 if an option of its program set the rate, which tells nothing of the
/// server then.
pub const RATE_WAS_SET: &str = "rate_was_set";

/// A file that results were read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub path: String,
    pub sha256: String,
    pub bytes: u64,
    /// Such as `sysbench`.
    pub format: String,
    /// The program that wrote it, with its version.
    pub tool: Option<String>,
    /// Keys of what its figures are known to get wrong.
    pub quirks: Vec<String>,
    /// When its figures were measured, milliseconds since 1970 (UTC); `None` unless the file tells.
    pub measured_at_ms: Option<i64>,
    /// When it was last changed; `None` if its file system does not tell.
    pub modified_at_ms: Option<i64>,
}

/// A figure that windows have no place for, or that was published otherwise than it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedValue {
    pub name: String,
    /// Empty for words.
    pub unit: String,
    /// What was measured; `None` if that cannot be told.
    pub value: Option<f64>,
    /// As printed.
    pub published: Option<String>,
    /// Index in the run's sources.
    pub source: usize,
    /// Line of the source, from 1.
    pub line: u32,
}

/// A result with the figures that came with it.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedResult {
    pub action: ActionRecord,
    pub observation: Observation,
    pub values: Vec<ImportedValue>,
}

impl RunWriter {
    /// Writes sources and all results in one transaction. The arms and blocks must be recorded before.
    ///
    /// # Errors
    /// If an arm is unknown, or the database cannot be written.
    pub fn write_imported(&mut self, sources: &[Source], results: &[ImportedResult]) -> Result<()> {
        let arms = results.iter().map(|result| self.arm_id(&result.action.arm));
        let arms = arms.collect::<Result<Vec<i64>>>()?;
        self.transact(|transaction| {
            for (id, source) in sources.iter().enumerate() {
                transaction.insert(
                    "sources",
                    "id, path, sha256, bytes, format, tool, quirks, measured_at_ms, modified_at_ms",
                    params![
                        id as i64,
                        source.path,
                        source.sha256,
                        source.bytes as i64,
                        source.format,
                        source.tool,
                        json(&source.quirks)?,
                        source.measured_at_ms,
                        source.modified_at_ms
                    ],
                )?;
            }
            for (result, arm_id) in results.iter().zip(arms) {
                let seq = result.action.seq;
                insert_action(transaction, arm_id, &result.action)?;
                insert_observation(transaction, seq, &result.observation)?;
                for (position, one) in result.values.iter().enumerate() {
                    transaction.insert(
                        "imported_values",
                        "seq, position, name, unit, value, published, source_id, line",
                        params![
                            seq,
                            position as i64,
                            one.name,
                            one.unit,
                            one.value,
                            one.published,
                            one.source as i64,
                            one.line
                        ],
                    )?;
                }
            }
            Ok(())
        })
    }
}

impl Run {
    /// The files that an imported run was read from, in order.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn sources(&self) -> Result<Vec<Source>> {
        let connection = self.connection()?;
        let sql = "SELECT path, sha256, bytes, format, tool, quirks, measured_at_ms, modified_at_ms FROM sources \
                   ORDER BY id";
        let read = rows(connection, sql, |row| {
            Ok(Source {
                path: row.get(0)?,
                sha256: row.get(1)?,
                bytes: count(row, 2)?,
                format: row.get(3)?,
                tool: row.get(4)?,
                quirks: from_json(row, 5)?,
                measured_at_ms: row.get(6)?,
                modified_at_ms: row.get(7)?,
            })
        });
        read.map_err(Error::sql(&self.folder.db_path()))
    }

    /// The imported figures of all results, with their `seq`, in the order of the files.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn imported_values(&self) -> Result<Vec<(u32, ImportedValue)>> {
        let connection = self.connection()?;
        let sql = "SELECT seq, name, unit, value, published, source_id, line FROM imported_values \
                   ORDER BY seq, position";
        let read = rows(connection, sql, |row| {
            let value = ImportedValue {
                name: row.get(1)?,
                unit: row.get(2)?,
                value: row.get(3)?,
                published: row.get(4)?,
                source: count(row, 5)? as usize,
                line: row.get(6)?,
            };
            Ok((row.get(0)?, value))
        });
        read.map_err(Error::sql(&self.folder.db_path()))
    }
}
