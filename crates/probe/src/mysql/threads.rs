//! Maps the server's own thread and connection ids to kernel thread ids, by which the kernel counts CPU.

use std::collections::{BTreeMap, HashMap};

use rqps_wire::Table;
use rqps_wire::mysql::Connection;

use super::{has_performance_schema, query, roles};
use crate::cells::{cell, number};
use crate::error::Result;

/// First versions with kernel thread ids in performance_schema: of MySQL, of MariaDB.
const OS_IDS_SINCE: (u32, u32) = (50_700, 100_500);

/// Every thread in performance_schema.
const SCHEMA_SQL: &str = "\
    SELECT thread_os_id, processlist_id, name FROM performance_schema.threads WHERE thread_os_id IS NOT NULL";
/// MariaDB's threads without performance_schema: sessions, and background threads in the process list, whose role is
/// their state.
const PROCESSLIST_SQL: &str = "\
    SELECT tid, id, CASE WHEN command = 'Daemon' THEN state ELSE 'thread/sql/one_connection' END \
    FROM information_schema.processlist";

/// The kernel thread that serves each connection; `None` for a closed one, and for all if the server does not report
/// it: MySQL 5.6, and MySQL with performance_schema off.
pub fn os_threads(connection: &mut Connection, connection_ids: &[u32]) -> Result<Vec<Option<u32>>> {
    let mut known: HashMap<u32, u32> = HashMap::new();
    for table in tables(connection)? {
        known.extend(table.rows.iter().filter_map(|row| Some((number::<u32>(row, 1)?, number(row, 0)?))));
    }
    Ok(connection_ids.iter().map(|id| known.get(id).copied()).collect())
}

/// The role of each thread that the server lists, by kernel thread id. Sessions are `other session`.
pub fn roles(connection: &mut Connection) -> Result<BTreeMap<u32, String>> {
    let mut known = BTreeMap::new();
    for table in tables(connection)? {
        let role =
            |row: &Vec<Option<String>>| Some((number(row, 0)?, roles::role_of_instrument(cell(row, 2)?)));
        known.extend(table.rows.iter().filter_map(role));
    }
    Ok(known)
}

/// The server's thread lists: kernel id, connection id, name; the better source last.
fn tables(connection: &mut Connection) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    let since = if connection.is_mariadb() {
        tables.push(query(connection, "threads of sessions", PROCESSLIST_SQL)?);
        OS_IDS_SINCE.1
    } else {
        OS_IDS_SINCE.0
    };
    if connection.server_version_num() >= since && has_performance_schema(connection)? {
        tables.push(query(connection, "threads", SCHEMA_SQL)?);
    }
    Ok(tables)
}
