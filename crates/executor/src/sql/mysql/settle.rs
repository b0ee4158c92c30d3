//! Settles InnoDB: statistics, purge and dirty pages; waits until the server reports that the debt is paid.

use super::binlog::drop_binlogs;
use super::fast_writing::FastWriting;
use super::with_access;
use crate::error::{Error, Result};
use crate::sql::adapter::Settling;
use crate::sql::tables::for_each_named;
use crate::sql::write_back::write_back;
use crate::system::{ADMIN_NAME, Look, SettleTick};
use rqps_model::{Settle, SettleCondition};
use rqps_probe::mysql::settle::{SettleFacts, facts};
use rqps_wire::mysql::Connection;
use rqps_wire::{Endpoint, Error as Wire};
use std::time::{Duration, Instant};

/// Unpurged transactions that may be left; some are the server's own.
const UNPURGED_MAX: f64 = 100.0;
/// Dirty pages that may be left: 1 MB of 16 KB pages. The server itself keeps writing a little.
const DIRTY_PAGES_MAX: f64 = 64.0;
/// How long to wait for purge before holding it back.
const PURGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause between two checks of the conditions.
const POLL: Duration = Duration::from_millis(250);

/// Runs ANALYZE TABLE on all tables, several in parallel. Returns false if `look` ended it early.
pub(super) fn analyze(
    endpoint: &Endpoint,
    tables: &[String],
    look: &mut Look<'_>,
) -> std::result::Result<bool, Wire> {
    let work = |connection: &mut Connection, table: &str| {
        // LOCAL keeps it out of the binary log.
        let sql = format!("ANALYZE LOCAL TABLE {table}");
        let result = connection.query(&sql)?;
        let (kind, text) = (result.column("Msg_type"), result.column("Msg_text"));
        let failed =
            result.rows.iter().find(|row| kind.is_some_and(|at| row[at].as_deref() == Some("Error")));
        match failed {
            None => Ok(()),
            Some(row) => Err(Wire::Db {
                sqlstate: "HY000".to_owned(),
                code: None,
                message: text.and_then(|at| row[at].clone()).unwrap_or_default(),
                detail: None,
                hint: None,
                statement: sql,
            }),
        }
    };
    with_access(endpoint, |access| for_each_named(access, (tables, "analyze"), work, look))
}

/// Analyzes tables, drops binary logs, and waits until every exit condition holds or the cap is reached,
/// while purge and page cleaning run at full speed. `None` if `tick` ended it early. Settings are restored
/// however it ends.
pub(super) fn settle(server: &Settling<'_>, tick: &mut SettleTick<'_>) -> Result<Option<Settle>> {
    let start = Instant::now();
    let mut look = |what| tick(what, start.elapsed().as_secs_f64());
    let doing = |what| Error::session(server.debt.arm, what);
    let mut admin = Connection::connect(server.endpoint, ADMIN_NAME).map_err(doing("settling"))?;
    let before = facts(&mut admin)?;
    let fast_writing = FastWriting::begin(server.endpoint).map_err(doing("raising write settings"))?;
    // After changing the settings: ANALYZE's own transactions wake up a sleeping purge.
    if !analyze(server.endpoint, server.debt.tables, &mut || look("analyze")).map_err(doing("analyze"))? {
        return Ok(None);
    }
    drop_binlogs(&mut admin).map_err(doing("dropping binary logs"))?;
    if !write_back(server.data_dir, &mut || look("write back"))? {
        return Ok(None);
    }
    let (conditions, reached) = loop {
        let conditions = conditions(&before, &facts(&mut admin)?);
        let reached = conditions.iter().all(|c| c.after <= c.target);
        if reached || start.elapsed() >= server.debt.cap {
            break (conditions, reached);
        }
        if !look("wait") {
            return Ok(None);
        }
        std::thread::sleep(POLL);
    };
    fast_writing.end().map_err(doing("restoring settings"))?;
    let actions = ["analyze", "flush dirty pages", "purge", "drop binary logs", "write back", "wait"];
    Ok(Some(Settle {
        actions: actions.map(str::to_owned).to_vec(),
        conditions,
        elapsed_us: start.elapsed().as_micros() as u64,
        cap_us: server.debt.cap.as_micros() as u64,
        reached,
    }))
}

/// Opens a snapshot on this session once purge has almost nothing left, or after [`PURGE_TIMEOUT`]. Nothing
/// is purged while the session lives.
pub(super) fn hold_purge(admin: &mut Connection, arm: &str) -> Result<()> {
    let since = Instant::now();
    while unpurged(&facts(admin)?) > UNPURGED_MAX as u64 && since.elapsed() < PURGE_TIMEOUT {
        std::thread::sleep(POLL);
    }
    // A config may set another level, which has no snapshot per transaction.
    let level = admin.query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    let begun = level.and_then(|_| admin.query("START TRANSACTION WITH CONSISTENT SNAPSHOT"));
    begun.map(|_| ()).map_err(Error::session(arm, "holding purge back"))
}

/// The smaller of both: an idle 5.6 keeps transactions on the history list long after they are purged.
fn unpurged(facts: &SettleFacts) -> u64 {
    facts.history_list_length.min(facts.unpurged_transactions)
}

fn conditions(before: &SettleFacts, after: &SettleFacts) -> Vec<SettleCondition> {
    let condition = |name: &str, figure: fn(&SettleFacts) -> u64, target: f64| SettleCondition {
        name: name.to_owned(),
        before: figure(before) as f64,
        after: figure(after) as f64,
        target,
    };
    vec![
        condition("unpurged_transactions", unpurged, UNPURGED_MAX),
        condition("dirty_pages", |facts| facts.dirty_pages, DIRTY_PAGES_MAX),
        condition("pending_io", |facts| facts.pending_io, 0.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_model::Dbms;
    use rqps_servers::testing::{Scratch, by_socket};
    use rqps_wire::Session;

    #[test]
    fn nothing_is_purged_while_purge_is_held() {
        const UPDATES: u64 = 300;
        let server = Scratch::start_of(Dbms::Mysql, "8.0.31", |_| ()).unwrap();
        let endpoint = by_socket(&server);
        let connect = || Connection::connect(&endpoint, "test").unwrap();
        let (mut holder, mut worker) = (connect(), connect());
        worker.simple("CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL) ENGINE = InnoDB").unwrap();
        worker.simple("INSERT INTO t VALUES (1, 1)").unwrap();
        hold_purge(&mut holder, "a").unwrap();
        for _ in 0..UPDATES {
            worker.simple("UPDATE t SET v = v + 1").unwrap();
        }
        // An idle purge checks for work every second.
        std::thread::sleep(Duration::from_secs(3));
        assert!(unpurged(&facts(&mut worker).unwrap()) >= UPDATES);
        drop(holder);
        let since = Instant::now();
        while unpurged(&facts(&mut worker).unwrap()) >= UPDATES {
            assert!(since.elapsed() < Duration::from_secs(120), "the end of the session lets purge go on");
            std::thread::sleep(POLL);
        }
    }
}
