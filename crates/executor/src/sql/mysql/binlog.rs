//! Drops binary logs, which would otherwise fill the disk and be another debt in each step.

use rqps_wire::Error;
use rqps_wire::mysql::Connection;

/// First MySQL version with `RESET BINARY LOGS AND GTIDS`; since 8.4 it is the only name.
const RENAMED_SINCE: u32 = 80_200;

/// Drops all binary logs, if the server writes any.
pub(super) fn drop_binlogs(connection: &mut Connection) -> Result<(), Error> {
    let on = connection.query("SELECT @@GLOBAL.log_bin")?;
    if on.value() != Some("1") {
        return Ok(());
    }
    let renamed = !connection.is_mariadb() && connection.server_version_num() >= RENAMED_SINCE;
    let sql = if renamed { "RESET BINARY LOGS AND GTIDS" } else { "RESET MASTER" };
    connection.query(sql).map(|_| ())
}
