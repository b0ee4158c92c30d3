//! State of queue tables: sizes, dead rows, and the cost of planning a statement. Partitions count as tables, their
//! parent, which has no rows, does not.

use rqps_wire::postgres::Connection;
use serde_json::Value;

use super::{parse_value, query, query_value};
use crate::error::{Error, Result};
use crate::queue::{Planning, Sizes};

/// First `server_version_num` that reports planning time without executing.
const SUMMARY_SINCE: u32 = 100_000;
/// First `server_version_num` that reports the buffers of planning.
const PLANNING_BUFFERS_SINCE: u32 = 130_000;

const FROM_TABLES: &str = "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                           WHERE n.nspname = 'public' AND c.relkind = 'r'";

/// Sizes of all tables in schema public.
///
/// # Errors
/// If a query fails or its result is unexpected.
pub fn sizes(connection: &mut Connection) -> Result<Sizes> {
    let sql = format!(
        "SELECT coalesce(sum(pg_table_size(c.oid)), 0), coalesce(sum(pg_indexes_size(c.oid)), 0) {FROM_TABLES}"
    );
    let table = query(connection, "sizes", &sql)?;
    let figure = |at: usize| parse_value("sizes", table.rows.first().and_then(|row| row.get(at)?.as_deref()));
    Ok(Sizes { table_bytes: figure(0)?, index_bytes: figure(1)? })
}

/// The server's estimate of dead row versions of all tables in schema public. Cheap enough to be read every second.
///
/// # Errors
/// If a query fails or its result is unexpected.
pub fn dead_rows(connection: &mut Connection) -> Result<u64> {
    let sql = format!("SELECT coalesce(sum(pg_stat_get_dead_tuples(c.oid)), 0) {FROM_TABLES}");
    query_value(connection, "dead rows", &sql)
}

/// The cost of planning a statement without executing it; `None` if the version cannot report it. The first planning
/// in a session also fills its caches.
///
/// # Errors
/// If a query fails or its result is unexpected.
pub fn planning(connection: &mut Connection, sql: &str) -> Result<Option<Planning>> {
    let what = "what planning takes";
    let version_num = connection.server_version_num();
    if version_num < SUMMARY_SINCE {
        return Ok(None);
    }
    let has_buffers = version_num >= PLANNING_BUFFERS_SINCE;
    let buffers = if has_buffers { "BUFFERS, " } else { "" };
    let table = query(connection, what, &format!("EXPLAIN ({buffers}SUMMARY, FORMAT JSON) {sql}"))?;
    let lines: Vec<&str> = table.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    let found = lines.join("\n");
    parse_planning(&found, has_buffers)
        .map(Some)
        .ok_or_else(|| Error::Answer { what: what.to_owned(), found })
}

fn parse_planning(text: &str, has_buffers: bool) -> Option<Planning> {
    let answer: Value = serde_json::from_str(text).ok()?;
    let plan = answer.get(0)?;
    let elapsed_us = plan.get("Planning Time")?.as_f64()? * 1000.0;
    let planning = |name: &str| plan.get("Planning")?.get(name)?.as_u64();
    let buffers = match has_buffers {
        true => Some(planning("Shared Hit Blocks")? + planning("Shared Read Blocks")?),
        false => None,
    };
    Some(Planning { buffers, elapsed_us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planning_buffers_and_time_are_parsed() {
        let text = r#"[{"Plan": {"Node Type": "ModifyTable", "Shared Hit Blocks": 0},
            "Planning": {"Shared Hit Blocks": 40, "Shared Read Blocks": 2}, "Planning Time": 0.25}]"#;
        let planning = Planning { buffers: Some(42), elapsed_us: 250.0 };
        assert_eq!(parse_planning(text, true), Some(planning));
        let before_13 = r#"[{"Plan": {"Node Type": "ModifyTable"}, "Planning Time": 0.5}]"#;
        assert_eq!(parse_planning(before_13, false), Some(Planning { buffers: None, elapsed_us: 500.0 }));
        assert_eq!(parse_planning(before_13, true), None);
    }
}
