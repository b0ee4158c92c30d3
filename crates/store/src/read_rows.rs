//! Queries that read a run, one per field of [`crate::Run`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use rusqlite::{Connection, Row};

use crate::arm::Arm;
use crate::journal::{ActionRecord, Note, RunStatus};
use crate::meta::{Fact, Meta, PlannedStep};
use crate::observation::{Load, Window};
use crate::text_enum::{maybe_word, word};
use rqps_model::{
    ConnectionCpu, Group, LeftOut, Metrics, ServerSetting, Setting, Settle, SettleCondition, Unit,
};

/// All rows of a query, each made by `make`.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    make: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map([], make)?.collect()
}

/// The values of a query's rows, grouped by key. `make` returns the key and value of a row.
pub(crate) fn grouped<K: Ord + Copy, V, C: Default + Extend<V>>(
    connection: &Connection,
    sql: &str,
    make: impl FnMut(&Row<'_>) -> rusqlite::Result<(K, V)>,
) -> rusqlite::Result<BTreeMap<K, C>> {
    let mut groups: BTreeMap<K, C> = BTreeMap::new();
    for (key, value) in rows(connection, sql, make)? {
        groups.entry(key).or_default().extend([value]);
    }
    Ok(groups)
}

/// A count stored as an integer.
pub(crate) fn count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(|value| value.max(0) as u64)
}

/// A value that may be unknown.
fn known<T>(
    row: &Row<'_>,
    index: usize,
    read: impl Fn(&Row<'_>, usize) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let is_known = !matches!(row.get_ref(index)?, rusqlite::types::ValueRef::Null);
    is_known.then(|| read(row, index)).transpose()
}

/// A value stored as JSON text.
pub(crate) fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    serde_json::from_str(&row.get::<_, String>(index)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn text(row: &Row<'_>, index: usize) -> rusqlite::Result<Cow<'static, str>> {
    row.get::<_, String>(index).map(Cow::Owned)
}

pub(crate) fn seed(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, String>(index)?.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, Box::new(error))
    })
}

pub(crate) fn read_meta(connection: &Connection) -> rusqlite::Result<(Meta, RunStatus)> {
    let method = rows(connection, "SELECT name, value FROM method ORDER BY position", |row| {
        Ok(Setting { name: row.get(0)?, value: row.get(1)? })
    })?;
    connection.query_row(
        "SELECT name, program_version, created_at_ms, workload, workload_revision, protocol, seed, tables, \
         rows_per_table, clients, actions_total, status, status_reason, status_at_ms, workload_title FROM run",
        [],
        |row| {
            let meta = Meta {
                name: row.get(0)?,
                program_version: row.get(1)?,
                created_at_ms: row.get(2)?,
                workload: row.get(3)?,
                workload_title: row.get(14)?,
                workload_revision: row.get(4)?,
                protocol: row.get(5)?,
                seed: seed(row, 6)?,
                tables: row.get(7)?,
                rows_per_table: count(row, 8)?,
                clients: row.get(9)?,
                actions_total: row.get(10)?,
                method: method.clone(),
            };
            Ok((meta, RunStatus { status: row.get(11)?, reason: row.get(12)?, changed_at_ms: row.get(13)? }))
        },
    )
}

pub(crate) fn read_host(connection: &Connection) -> rusqlite::Result<Vec<Fact>> {
    rows(connection, "SELECT key, value, comparable FROM host_facts ORDER BY key", |row| {
        Ok(Fact { key: row.get(0)?, value: row.get(1)?, comparable: row.get(2)? })
    })
}

pub(crate) fn read_steps(connection: &Connection) -> rusqlite::Result<Vec<PlannedStep>> {
    rows(
        connection,
        "SELECT s.position, name, kind, test, role, writes, clients, amount, g.key, g.title, g.short, g.position, \
         g.consecutive FROM steps s LEFT JOIN groups g ON g.key = s.test_group ORDER BY s.position",
        |row| {
            let has_group = row.get::<_, Option<String>>(8)?.is_some();
            Ok(PlannedStep {
                position: row.get(0)?,
                name: row.get(1)?,
                kind: row.get(2)?,
                test: row.get(3)?,
                role: maybe_word(row, 4)?,
                writes: row.get(5)?,
                clients: row.get(6)?,
                amount: row.get(7)?,
                group: has_group.then(|| read_group(row)).transpose()?,
            })
        },
    )
}

/// The group from the columns of [`read_steps`].
fn read_group(row: &Row<'_>) -> rusqlite::Result<Group> {
    let (key, title, short) = (text(row, 8)?, text(row, 9)?, text(row, 10)?);
    Ok(Group { key, title, short, position: row.get(11)?, consecutive: row.get(12)? })
}

pub(crate) fn read_arms(connection: &Connection) -> rusqlite::Result<Vec<Arm>> {
    let mut left_out: BTreeMap<i64, Vec<_>> = grouped(
        connection,
        "SELECT arm_id, option, value, reason, refused, taken, without_effect, unknown, instead \
         FROM arm_left_out ORDER BY arm_id, position",
        |row| {
            Ok((
                row.get(0)?,
                LeftOut {
                    option: row.get(1)?,
                    value: row.get(2)?,
                    reason: row.get(3)?,
                    refused: row.get(4)?,
                    taken: row.get(5)?,
                    without_effect: row.get(6)?,
                    unknown: row.get(7)?,
                    instead: row.get(8)?,
                },
            ))
        },
    )?;
    let settings_of = |table: &str| -> rusqlite::Result<BTreeMap<i64, Vec<Setting>>> {
        let sql = format!("SELECT arm_id, name, value FROM {table} ORDER BY arm_id, position");
        grouped(connection, &sql, |row| Ok((row.get(0)?, Setting { name: row.get(1)?, value: row.get(2)? })))
    };
    let (mut managed, mut facts) = (settings_of("arm_managed")?, settings_of("arm_facts")?);
    let mut settings: BTreeMap<i64, Vec<_>> = grouped(
        connection,
        "SELECT arm_id, name, value, source, is_default FROM arm_settings ORDER BY arm_id, name",
        |row| {
            let (name, value) = (row.get(1)?, row.get(2)?);
            Ok((row.get(0)?, ServerSetting { name, value, source: row.get(3)?, default: row.get(4)? }))
        },
    )?;
    rows(
        connection,
        "SELECT id, name, role, dbms, build_version, build_hash, build_origin, build_version_text, config_name, \
         config_hash, config_text, control, env, after_load FROM arms ORDER BY id",
        |row| {
            let id: i64 = row.get(0)?;
            Ok(Arm {
                name: row.get(1)?,
                role: row.get(2)?,
                dbms: row.get(3)?,
                build_version: row.get(4)?,
                build_hash: row.get(5)?,
                build_origin: row.get(6)?,
                build_version_text: row.get(7)?,
                config_name: row.get(8)?,
                config_hash: row.get(9)?,
                config_text: row.get(10)?,
                left_out: left_out.remove(&id).unwrap_or_default(),
                managed: managed.remove(&id).unwrap_or_default(),
                control: row.get(11)?,
                env: json(row, 12)?,
                after_load: json(row, 13)?,
                facts: facts.remove(&id).unwrap_or_default(),
                settings: settings.remove(&id).unwrap_or_default(),
            })
        },
    )
}

pub(crate) fn read_actions(connection: &Connection) -> rusqlite::Result<Vec<ActionRecord>> {
    rows(
        connection,
        "SELECT a.seq, m.name, a.kind, a.step, a.attempt, a.started_at_ms, a.finished_at_ms, a.outcome, a.note \
         FROM actions a JOIN arms m ON m.id = a.arm_id ORDER BY a.seq",
        |row| {
            Ok(ActionRecord {
                seq: row.get(0)?,
                arm: row.get(1)?,
                kind: row.get(2)?,
                step: row.get(3)?,
                attempt: row.get(4)?,
                started_at_ms: row.get(5)?,
                finished_at_ms: row.get(6)?,
                outcome: row.get(7)?,
                note: row.get(8)?,
            })
        },
    )
}

pub(crate) fn read_notes(connection: &Connection) -> rusqlite::Result<Vec<Note>> {
    rows(
        connection,
        "SELECT n.at_ms, m.name, n.text FROM notes n LEFT JOIN arms m ON m.id = n.arm_id ORDER BY n.id",
        |row| Ok(Note { at_ms: row.get(0)?, arm: row.get(1)?, text: row.get(2)? }),
    )
}

pub(crate) fn read_metrics(connection: &Connection) -> rusqlite::Result<BTreeMap<u32, Metrics>> {
    grouped(connection, "SELECT seq, name, value FROM metrics", |row| {
        Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
    })
}

pub(crate) fn read_connections(
    connection: &Connection,
) -> rusqlite::Result<BTreeMap<u32, Vec<ConnectionCpu>>> {
    let sql = "SELECT seq, role, client, cpu_us FROM connections ORDER BY seq, position";
    grouped(connection, sql, |row| {
        Ok((row.get(0)?, ConnectionCpu { role: row.get(1)?, client: row.get(2)?, cpu_us: row.get(3)? }))
    })
}

pub(crate) fn read_windows(connection: &Connection) -> rusqlite::Result<Vec<(u32, Window)>> {
    let mut retries: BTreeMap<u32, BTreeMap<String, u64>> =
        grouped(connection, "SELECT seq, sqlstate, count FROM retries", |row| {
            Ok((row.get(0)?, (row.get(1)?, count(row, 2)?)))
        })?;
    rows(
        connection,
        "SELECT w.seq, test, test_group, position, clients, seed, started_at_ms, warmup_us, elapsed_us, ended_by, \
         role, target_events_per_s, pacer, events, queries, statements, statements_working, noop_statements, \
         rows, errors, operations, u.key, u.one, u.per, u.many \
         FROM windows w JOIN units u ON u.key = w.unit ORDER BY w.seq",
        |row| {
            let seq = row.get(0)?;
            let window = Window {
                test: row.get(1)?,
                group: row.get(2)?,
                position: row.get(3)?,
                clients: row.get(4)?,
                seed: known(row, 5, seed)?,
                started_at_ms: row.get(6)?,
                warmup_us: known(row, 7, count)?,
                elapsed_us: count(row, 8)?,
                ended_by: word(row, 9)?,
                role: word(row, 10)?,
                target_events_per_s: row.get(11)?,
                pacer: maybe_word(row, 12)?,
                events: known(row, 13, count)?,
                queries: known(row, 14, count)?,
                statements: known(row, 15, count)?,
                statements_working: known(row, 16, count)?,
                noop_statements: known(row, 17, count)?,
                rows: known(row, 18, count)?,
                errors: known(row, 19, count)?,
                operations: row.get(20)?,
                unit: Unit {
                    key: text(row, 21)?,
                    one: text(row, 22)?,
                    per: text(row, 23)?,
                    many: text(row, 24)?,
                },
                retries: retries.remove(&seq).unwrap_or_default(),
            };
            Ok((seq, window))
        },
    )
}

pub(crate) fn read_loads(connection: &Connection) -> rusqlite::Result<Vec<(u32, Load)>> {
    rows(connection, "SELECT seq, tables, rows, load_us, index_us FROM loads ORDER BY seq", |row| {
        let load = Load {
            tables: row.get(1)?,
            rows: count(row, 2)?,
            load_us: count(row, 3)?,
            index_us: count(row, 4)?,
        };
        Ok((row.get(0)?, load))
    })
}

pub(crate) fn read_settles(connection: &Connection) -> rusqlite::Result<Vec<(u32, Settle)>> {
    let mut conditions: BTreeMap<u32, Vec<_>> = grouped(
        connection,
        "SELECT seq, name, value_before, value_after, target FROM settle_conditions ORDER BY seq, position",
        |row| {
            let condition = SettleCondition {
                name: row.get(1)?,
                before: row.get(2)?,
                after: row.get(3)?,
                target: row.get(4)?,
            };
            Ok((row.get(0)?, condition))
        },
    )?;
    rows(connection, "SELECT seq, actions, elapsed_us, cap_us, reached FROM settles ORDER BY seq", |row| {
        let seq = row.get(0)?;
        let settle = Settle {
            actions: json(row, 1)?,
            conditions: conditions.remove(&seq).unwrap_or_default(),
            elapsed_us: count(row, 2)?,
            cap_us: count(row, 3)?,
            reached: row.get(4)?,
        };
        Ok((seq, settle))
    })
}
