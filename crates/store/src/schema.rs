//! Schema versions and migrations. To change the schema, add a file and a line here; never edit a file that has
//! shipped. The flat views hold no data: they are dropped and created again by each migration.

use std::path::Path;

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::read_rows::rows;

/// Migration n takes a database from version n to n + 1.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
    include_str!("schema/005.sql"),
    include_str!("schema/006.sql"),
    include_str!("schema/007.sql"),
    include_str!("schema/008.sql"),
    include_str!("schema/009.sql"),
    include_str!("schema/010.sql"),
    include_str!("schema/011.sql"),
    include_str!("schema/012.sql"),
    include_str!("schema/013.sql"),
    include_str!("schema/014.sql"),
    include_str!("schema/015.sql"),
    include_str!("schema/016.sql"),
    include_str!("schema/017.sql"),
    include_str!("schema/018.sql"),
    include_str!("schema/019.sql"),
    include_str!("schema/020.sql"),
];

/// The flat views of the newest version.
const VIEWS: &str = include_str!("schema/views.sql");

/// The schema version that this program writes and reads.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// The version of a database; 0 for a new one, an error for one newer than [`VERSION`].
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<i64> {
    let found: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(Error::sql(path))?;
    if found > VERSION {
        return Err(Error::NewerSchema { path: path.to_owned(), found, known: VERSION });
    }
    Ok(found)
}

/// Migrates a database to [`VERSION`], one transaction per version.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<()> {
    let found = version(connection, path)?;
    apply(connection, found, MIGRATIONS).map_err(Error::sql(path))
}

/// Tables cannot be changed while views read them.
fn drop_flat_views(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'view' AND name GLOB 'flat_*'";
    for name in rows(connection, sql, |row| row.get::<_, String>(0))? {
        connection.execute_batch(&format!("DROP VIEW {name}"))?;
    }
    Ok(())
}

fn apply(connection: &mut Connection, found: i64, migrations: &[&str]) -> rusqlite::Result<()> {
    for (number, sql) in (1i64..).zip(migrations).skip(found.max(0) as usize) {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        drop_flat_views(&transaction)?;
        transaction.execute_batch(sql)?;
        if number == VERSION {
            transaction.execute_batch(VIEWS)?;
        }
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty database of an older version.
    fn database_of(version: usize) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "foreign_keys", true).unwrap();
        apply(&mut connection, 0, &MIGRATIONS[..version]).unwrap();
        connection
    }

    #[test]
    fn migrations_run_once_each_and_in_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection, 0, &["CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1);"]).unwrap();
        let both = ["CREATE TABLE t (a INTEGER);", "ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'kept';"];
        apply(&mut connection, 1, &both).unwrap();
        let row: (i64, String) =
            connection.query_row("SELECT a, b FROM t", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(row, (1, "kept".to_owned()));
    }

    #[test]
    fn arms_of_version_1_are_not_controls_and_have_no_environment() {
        let mut connection = database_of(1);
        let insert = "INSERT INTO arms VALUES (1, 'a', 'base', 'd', 'v', 'h', 'o', 't', 'c', 'ch', 'ct')";
        connection.execute(insert, []).unwrap();
        migrate(&mut connection, Path::new("memory")).unwrap();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let row: (bool, String) = connection.query_row("SELECT control, env FROM arms", [], read).unwrap();
        assert_eq!(row, (false, "{}".to_owned()));
    }

    const ARM_OF_1: &str = "INSERT INTO arms (name, role, dbms, build_version, build_hash, build_origin, \
        build_version_text, config_name, config_hash, config_text) \
        VALUES ('a', 'base', 'd', 'v', 'h', 'o', 't', 'c', 'ch', 'ct')";

    /// A window of version 4 with a retry and the CPU of two backends.
    const WINDOW_OF_4: &str = "INSERT INTO actions VALUES (3, 1, 'measure', 'update-index', 1, 1, 2, 'done', NULL); \
        INSERT INTO windows VALUES (3, 'update-index', 'write', 1, 2, '7', 1, 0, 2000000, 'time', 'queries', 5.0, \
        10, 20, 30, 40, 50, 60, 70); \
        INSERT INTO retries VALUES (3, '40001', 9); INSERT INTO backend_cpu VALUES (3, 0, 1.5), (3, 1, 2.5);";

    #[test]
    fn windows_of_version_4_keep_their_data() {
        let mut connection = database_of(4);
        connection.execute_batch(ARM_OF_1).unwrap();
        connection.execute_batch(WINDOW_OF_4).unwrap();
        migrate(&mut connection, Path::new("memory")).unwrap();
        let (_, windows) = crate::read_rows::read_windows(&connection).unwrap().remove(0);
        assert_eq!((windows.target_events_per_s, windows.pacer), (Some(5.0), None));
        assert_eq!((windows.events, windows.errors, windows.retries["40001"]), (Some(10), Some(70), 9));
        let connections = crate::read_rows::read_connections(&connection).unwrap();
        let only = rqps_model::ConnectionCpu::only;
        assert_eq!(connections[&3], [only(0, 1.5), only(1, 2.5)]);
        let rate: f64 =
            connection.query_row("SELECT queries_per_s FROM window_rates", [], |row| row.get(0)).unwrap();
        assert_eq!(rate, 10.0);
        // Deleting the action still cascades to all of them.
        connection.execute("DELETE FROM actions", []).unwrap();
        for table in ["windows", "retries", "connections"] {
            let left: i64 =
                connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
            assert_eq!(left, 0, "{table}");
        }
    }

    /// Windows of version 6: one of each unit, and of each role that a name can express.
    const WINDOWS_OF_6: [(&str, &str, &str, &str, &str); 5] = [
        ("point-query", "point-query", "point", "queries", "test"),
        ("point-query.warm", "point-query", "point", "queries", "warm"),
        ("scan.warmpre", "scan", "range", "rows", "warm"),
        ("scan.pre", "scan", "range", "rows", "pre"),
        ("l.i0", "l.i0", "insert", "inserts", "test"),
    ];

    #[test]
    fn windows_of_version_6_keep_their_operations_and_steps_get_a_role() {
        let mut connection = database_of(6);
        connection.execute_batch(ARM_OF_1).unwrap();
        for (seq, (step, test, group, unit, _)) in (1..).zip(WINDOWS_OF_6) {
            let sql = format!(
                "INSERT INTO steps VALUES ({seq}, '{step}', 'measure', '{test}', '{group}', 2, '10 s'); \
                 INSERT INTO actions VALUES ({seq}, 1, 'measure', '{step}', 1, 1, 2, 'done', NULL); \
                 INSERT INTO windows VALUES ({seq}, '{test}', 'g', 1, 2, '7', 1, 0, 2000000, 'time', '{unit}', NULL, \
                 'even', 10, 20, 30, 40, 50, 6000, 70); INSERT INTO retries VALUES ({seq}, '40001', 9);"
            );
            connection.execute_batch(&sql).unwrap();
        }
        connection
            .execute("INSERT INTO steps VALUES (9, 'settle-1', 'settle', NULL, NULL, 2, '')", [])
            .unwrap();
        migrate(&mut connection, Path::new("memory")).unwrap();
        let windows = crate::read_rows::read_windows(&connection).unwrap();
        let units: Vec<_> = windows
            .iter()
            .map(|(_, window)| {
                (&*window.unit.key, &*window.unit.per, window.operations, window.rate().unwrap())
            })
            .collect();
        let (queries, scans) = (("queries", "query", 20.0, 10.0), ("krows", "1000 rows", 6.0, 3.0));
        assert_eq!(units, [queries, queries, scans, scans, ("rows", "row", 6000.0, 3000.0)]);
        assert!(windows.iter().all(|(_, window)| window.retries["40001"] == 9 && window.errors == Some(70)));
        let roles = WINDOWS_OF_6.map(|(.., role)| role);
        assert_eq!(windows.iter().map(|(_, window)| window.role.key()).collect::<Vec<_>>(), roles);
        let steps = crate::read_rows::read_steps(&connection).unwrap();
        let of_steps = steps.iter().map(|step| step.role.map(rqps_model::Role::key)).collect::<Vec<_>>();
        assert_eq!(of_steps, roles.map(Some).into_iter().chain([None]).collect::<Vec<_>>());
        let of_groups = |step: &crate::PlannedStep| {
            step.group.as_ref().map(|group| (group.title.to_string(), group.consecutive, step.writes))
        };
        let first_and_last_two = [0, 4, 5].map(|index| of_groups(&steps[index]));
        let (point, inserts) =
            (("point queries".to_owned(), false, false), ("inserts".to_owned(), true, true));
        assert_eq!(first_and_last_two, [Some(point), Some(inserts), None]);
        let sql = "SELECT group_concat(rate || unit, ' ') FROM window_rates";
        let rates: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(rates, "10.0queries 10.0queries 3.0krows 3.0krows 3000.0rows");
        let sql = "SELECT group_concat(is_result, '') FROM flat_windows WHERE retries = 9";
        let results: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(results, "10011");
    }

    #[test]
    fn old_flat_views_are_replaced_and_do_not_block_migrations() {
        let mut connection = database_of(6);
        connection.execute_batch("CREATE VIEW flat_windows AS SELECT rate_unit FROM windows").unwrap();
        migrate(&mut connection, Path::new("memory")).unwrap();
        let sql = "SELECT name FROM sqlite_schema WHERE name GLOB 'flat_*'";
        let views: Vec<String> = rows(&connection, sql, |row| row.get(0)).unwrap();
        assert!(views.len() > 20, "{views:?}");
        for view in views {
            connection.prepare(&format!("SELECT * FROM {view}")).unwrap();
        }
    }

    #[test]
    fn a_failing_migration_leaves_the_version_before_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        let result = apply(&mut connection, 0, &["CREATE TABLE t (a);", "CREATE TABLE u (a); nonsense;"]);
        assert!(result.is_err());
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'u'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(tables, 0);
        assert_eq!(version(&connection, Path::new("memory")).unwrap(), 1);
    }
}
