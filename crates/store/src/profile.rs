//! CPU profiles: what a server's processes were executing while a test ran, sampled in a pass of its own.

use rusqlite::{Connection, Transaction, params};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::journal::ActionRecord;
use crate::read::Run;
use crate::read_rows::{count, rows};

/// The kind of an action that takes a profile.
pub const PROFILE_KIND: &str = "profile";

/// Where the CPU time of a test went on one arm. The stacks are in a file of the run folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub test: String,
    pub group: String,
    pub clients: u32,
    /// Events while samples were taken.
    pub events: u64,
    /// Operations in these events, in the unit that tables divide by (see [`crate::Window::operations`]).
    pub operations: f64,
    /// How long samples were taken, microseconds.
    pub elapsed_us: u64,
    /// What took them: `perf 6.1.187`.
    pub sampled_by: String,
    /// What each sample stands for: `cycles`, `cpu-clock`.
    pub event: String,
    /// Samples that were asked for, per second of CPU time.
    pub frequency_hz: f64,
    /// How stacks were followed: `dwarf`, `fp`, `none`.
    pub call_graph: String,
    pub samples: u64,
    pub lost_samples: u64,
    /// Samples whose innermost frame has no name.
    pub unresolved_samples: u64,
    /// The folded stacks, from the run folder: `profiles/pg18.point-query.folded`.
    pub file: String,
    /// What must be known to read it, such as missing symbols and how to get them.
    pub note: Option<String>,
}

impl Run {
    /// Finished actions of the schedule, in its order: all but profiles.
    pub fn scheduled(&self) -> impl DoubleEndedIterator<Item = &ActionRecord> {
        self.actions.iter().filter(|action| action.kind != PROFILE_KIND)
    }

    /// The folded stacks of a profile: a line for each stack, `role;frame;frame… samples`, outermost frame first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn folded(&self, profile: &Profile) -> Result<String> {
        let path = self.folder.path().join(&profile.file);
        std::fs::read_to_string(&path).map_err(Error::io("read", &path))
    }
}

pub(crate) fn insert_profile(
    transaction: &Transaction<'_>,
    seq: u32,
    profile: &Profile,
) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO profiles (seq, test, test_group, clients, events, operations, elapsed_us, sampled_by, event, \
         frequency_hz, call_graph, samples, lost_samples, unresolved_samples, file, note) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            seq,
            profile.test,
            profile.group,
            profile.clients,
            profile.events as i64,
            profile.operations,
            profile.elapsed_us as i64,
            profile.sampled_by,
            profile.event,
            profile.frequency_hz,
            profile.call_graph,
            profile.samples as i64,
            profile.lost_samples as i64,
            profile.unresolved_samples as i64,
            profile.file,
            profile.note
        ],
    )?;
    Ok(())
}

pub(crate) fn read_profiles(connection: &Connection) -> rusqlite::Result<Vec<(u32, Profile)>> {
    rows(
        connection,
        "SELECT seq, test, test_group, clients, events, operations, elapsed_us, sampled_by, event, frequency_hz, \
         call_graph, samples, lost_samples, unresolved_samples, file, note FROM profiles ORDER BY seq",
        |row| {
            let profile = Profile {
                test: row.get(1)?,
                group: row.get(2)?,
                clients: row.get(3)?,
                events: count(row, 4)?,
                operations: row.get(5)?,
                elapsed_us: count(row, 6)?,
                sampled_by: row.get(7)?,
                event: row.get(8)?,
                frequency_hz: row.get(9)?,
                call_graph: row.get(10)?,
                samples: count(row, 11)?,
                lost_samples: count(row, 12)?,
                unresolved_samples: count(row, 13)?,
                file: row.get(14)?,
                note: row.get(15)?,
            };
            Ok((row.get(0)?, profile))
        },
    )
}
