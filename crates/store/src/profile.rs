//! CPU profiles: samples of a server's processes, taken while a test runs in a separate pass.

use rusqlite::{Connection, Transaction, params};

use crate::observation::Profile;
use crate::put::Put;
use crate::read_rows::{count, rows};

pub(crate) fn insert_profile(
    transaction: &Transaction<'_>,
    seq: u32,
    profile: &Profile,
) -> rusqlite::Result<()> {
    transaction.insert(
        "profiles",
        "seq, test, test_group, clients, events, operations, elapsed_us, sampled_by, event, \
             frequency_hz, call_graph, samples, lost_samples, unresolved_samples, file, note",
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
    )
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
