//! The state of a table that is a queue: sizes, dead rows, and what it takes to plan a statement. Partitions count as
//! tables, the parent that holds no rows does not.

use rqps_wire::postgres::Connection;
use serde_json::Value;

use super::{ask, ask_number, understand};
use crate::error::{Error, Result};
use crate::queue::{Planning, Sizes};

/// First `server_version_num` that tells how long planning took without executing.
const SUMMARY_SINCE: u32 = 100_000;
/// First `server_version_num` that counts the buffers of planning.
const PLANNING_BUFFERS_SINCE: u32 = 130_000;

const FROM_TABLES: &str = "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                           WHERE n.nspname = 'public' AND c.relkind = 'r'";

/// Sizes of all tables in schema public.
///
/// # Errors
/// When the server does not answer, or not as expected.
pub fn sizes(connection: &mut Connection) -> Result<Sizes> {
    let sql = format!(
        "SELECT coalesce(sum(pg_table_size(c.oid)), 0), coalesce(sum(pg_indexes_size(c.oid)), 0) {FROM_TABLES}"
    );
    let table = ask(connection, "sizes", &sql)?;
    let figure = |at: usize| understand("sizes", table.rows.first().and_then(|row| row.get(at)?.as_deref()));
    Ok(Sizes { table_bytes: figure(0)?, index_bytes: figure(1)? })
}

/// Dead row versions of all tables in schema public, by the server's estimate; costs little enough to be asked for each
/// second.
///
/// # Errors
/// When the server does not answer, or not as expected.
pub fn dead_rows(connection: &mut Connection) -> Result<u64> {
    let sql = format!("SELECT coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0) {FROM_TABLES}");
    ask_number(connection, "dead rows", &sql)
}

/// What planning a statement takes, which is not executed; none where the server does not tell without executing it.
/// The first planning in a session also fills its caches.
///
/// # Errors
/// When the server does not answer, or not as expected.
pub fn planning(connection: &mut Connection, sql: &str) -> Result<Option<Planning>> {
    let what = "what planning takes";
    let version_num = connection.server_version_num();
    if version_num < SUMMARY_SINCE {
        return Ok(None);
    }
    let counts = version_num >= PLANNING_BUFFERS_SINCE;
    let buffers = if counts { "BUFFERS, " } else { "" };
    let table = ask(connection, what, &format!("EXPLAIN ({buffers}SUMMARY, FORMAT JSON) {sql}"))?;
    let lines: Vec<&str> = table.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    let found = lines.join("\n");
    understood(&found, counts).map(Some).ok_or_else(|| Error::Answer { what: what.to_owned(), found })
}

fn understood(text: &str, counts: bool) -> Option<Planning> {
    let answer: Value = serde_json::from_str(text).ok()?;
    let plan = answer.get(0)?;
    let elapsed_us = plan.get("Planning Time")?.as_f64()? * 1000.0;
    let of_planning = |name: &str| plan.get("Planning")?.get(name)?.as_u64();
    let buffers = match counts {
        true => Some(of_planning("Shared Hit Blocks")? + of_planning("Shared Read Blocks")?),
        false => None,
    };
    Some(Planning { buffers, elapsed_us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_tells_buffers_and_time_of_planning() {
        let text = r#"[{"Plan": {"Node Type": "ModifyTable", "Shared Hit Blocks": 0},
            "Planning": {"Shared Hit Blocks": 40, "Shared Read Blocks": 2}, "Planning Time": 0.25}]"#;
        let planning = Planning { buffers: Some(42), elapsed_us: 250.0 };
        assert_eq!(understood(text, true), Some(planning));
        let before_13 = r#"[{"Plan": {"Node Type": "ModifyTable"}, "Planning Time": 0.5}]"#;
        assert_eq!(understood(before_13, false), Some(Planning { buffers: None, elapsed_us: 500.0 }));
        assert_eq!(understood(before_13, true), None);
    }
}
