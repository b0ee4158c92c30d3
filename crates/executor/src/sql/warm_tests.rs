//! After a restart, a table and its indexes are read into the server's own cache, however large they are.

use crate::sql::adapters::adapter;
use crate::system::Admin;
use rqps_model::Dbms;
use rqps_servers::Server;
use rqps_servers::testing::{Scratch, by_socket};

/// Makes tables, kills the server, starts it again and warms it up.
fn warmed(
    dbms: Dbms,
    version: &str,
    (tables, statements): (&[&str], &[&str]),
) -> (Box<dyn Admin>, Server, tempfile::TempDir) {
    let (dir, spec) = Scratch::prepare_of(dbms, version).unwrap();
    Server::init(&spec).unwrap();
    let server = Server::start(&spec).unwrap();
    let mut admin = adapter(dbms).connect(&by_socket(&server), "test").unwrap();
    for statement in statements {
        admin.query(statement).unwrap();
    }
    admin.make_durable().unwrap();
    server.handle().unwrap().kill();
    drop((admin, server));
    let server = Server::start(&spec).unwrap();
    let mut admin = adapter(dbms).connect(&by_socket(&server), "test").unwrap();
    let tables: Vec<String> = tables.iter().map(|table| (*table).to_owned()).collect();
    admin.warm(&tables, 1_000_000).unwrap();
    (admin, server, dir)
}

#[test]
fn postgres_has_a_large_table_and_its_indexes_in_shared_buffers() {
    for version in ["9.6", "18"] {
        let statements = [
            "CREATE TABLE wide (id int PRIMARY KEY, k int, c text)",
            "INSERT INTO wide SELECT g, g * 7 % 48000, repeat('x', 1000) FROM generate_series(1, 48000) AS g",
            "CREATE INDEX ON wide (k)",
            "VACUUM ANALYZE wide",
            "CHECKPOINT",
        ];
        let (mut admin, _server, _dir) = warmed(Dbms::Postgres, version, (&["wide"], &statements));
        let is_large = "SELECT pg_relation_size('wide') > setting::bigint * 8192 / 4 FROM pg_settings \
                        WHERE name = 'shared_buffers'";
        assert_eq!(
            admin.query(is_large).unwrap().value(),
            Some("t"),
            "sequential scans would leave it there, too"
        );
        for read in ["max(length(c)) FROM wide WHERE id > 0", "count(k) FROM wide WHERE k >= 0"] {
            let plan = admin.query(&format!("EXPLAIN (ANALYZE, BUFFERS) SELECT {read}")).unwrap();
            let lines: Vec<&str> = plan.rows.iter().flatten().flatten().map(String::as_str).collect();
            let buffers = lines.iter().find(|line| line.contains("Buffers:")).unwrap();
            assert!(buffers.contains("hit=") && !buffers.contains("read="), "{version}: {lines:#?}");
        }
    }
}

#[test]
fn mysql_and_mariadb_have_a_table_and_its_indexes_in_the_buffer_pool() {
    for (dbms, version) in [(Dbms::Mysql, "8.0"), (Dbms::Mariadb, "11.4")] {
        let mut statements = vec![
            "CREATE TABLE wide (id int AUTO_INCREMENT PRIMARY KEY, k int, c varchar(2000), KEY k_1 (k))",
            "INSERT INTO wide (k, c) VALUES (1, repeat('x', 1000))",
        ];
        statements.extend(["INSERT INTO wide (k, c) SELECT k * 7 % 9973 + id, c FROM wide"; 13]);
        statements.push("CREATE TABLE keyless (k int, c varchar(2000), KEY k_1 (k))");
        statements.push("INSERT INTO keyless SELECT k, c FROM wide");
        let (mut admin, _server, _dir) = warmed(dbms, version, (&["wide", "keyless"], &statements));
        let mut pages_read = || -> u64 {
            let found = admin.query("SHOW GLOBAL STATUS LIKE 'Innodb_pages_read'").unwrap();
            for read in [
                "max(length(c)) FROM wide FORCE INDEX (PRIMARY)",
                "count(k) FROM wide FORCE INDEX (k_1)",
                "max(length(c)) FROM keyless USE INDEX ()",
            ] {
                admin.query(&format!("SELECT {read}")).unwrap();
            }
            found.rows[0][1].as_ref().unwrap().parse().unwrap()
        };
        let (before, after) = (pages_read(), pages_read());
        assert!(after - before < 10, "{dbms:?} {version} read {} pages", after - before);
    }
}
