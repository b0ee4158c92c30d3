//! Prepared and simple statements, errors between them, large results, COPY.

use rqps_wire::postgres::{Connection, Params};
use rqps_wire::{Endpoint, Error, Outcome, ParamType, Session};

use super::{connect, run, value};

const ROWS: u64 = 1000;

/// Creates a table of `ROWS` rows, ids from 1.
pub fn create_table(endpoint: &Endpoint) {
    let sql = format!(
        "CREATE TABLE t (id int PRIMARY KEY, k int NOT NULL, c varchar(120) NOT NULL);
         INSERT INTO t SELECT i, i, repeat('x', 119) FROM generate_series(1, {ROWS}) i"
    );
    let outcome = connect(endpoint).simple(&sql).unwrap();
    assert_eq!(outcome, Outcome { rows: 0, affected: ROWS });
}

/// Row and affected counts of prepared statements, with both parameter types.
pub fn prepared_statements_count_rows(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let range =
        connection.prepare("SELECT id, c FROM t WHERE id BETWEEN $1 AND $2", &[ParamType::Int8; 2]).unwrap();
    let update =
        connection.prepare("UPDATE t SET c = $1 WHERE id = $2", &[ParamType::Text, ParamType::Int8]).unwrap();
    let begin = connection.prepare("BEGIN", &[]).unwrap();
    let mut params = Params::new();

    connection.execute(&begin, &params).unwrap();
    for (first, last, rows) in [(1, 1, 1), (1, 100, 100), (951, 1050, 50), (-5, 0, 0)] {
        params.clear();
        params.push_int(first);
        params.push_int(last);
        let outcome = connection.execute(&range, &params).unwrap();
        assert_eq!(outcome, Outcome { rows, affected: 0 });
    }
    for (id, affected) in [(7, 1), (7_000_000, 0)] {
        params.clear();
        params.push_text(b"quotes ' and \\ are nothing special");
        params.push_int(id);
        let outcome = connection.execute(&update, &params).unwrap();
        assert_eq!(outcome, Outcome { rows: 0, affected });
    }
    let changed = value(&mut connection, "SELECT c FROM t WHERE id = 7");
    assert_eq!(changed, "quotes ' and \\ are nothing special");
    // The prepared BEGIN opened a transaction.
    run(&mut connection, "ROLLBACK");
    assert_ne!(value(&mut connection, "SELECT c FROM t WHERE id = 7"), changed);
}

/// An error ends only its statement, has the server's message, and is retryable or not.
pub fn errors_leave_the_connection_usable(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let insert = connection.prepare("INSERT INTO t VALUES ($1, 1, 'y')", &[ParamType::Int8]).unwrap();
    run(&mut connection, "BEGIN");
    let mut params = Params::new();
    params.push_int(1);
    let error = connection.execute(&insert, &params).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let Error::Db { sqlstate, detail, statement, .. } = error else { panic!("{error}") };
    assert_eq!(sqlstate, "23505");
    assert!(detail.unwrap().contains("(id)=(1)"));
    assert_eq!(statement, "INSERT INTO t VALUES ($1, 1, 'y')");

    let error = connection.simple("SELECT 1").unwrap_err();
    assert_eq!(error.sqlstate(), Some("25P02"));
    assert!(!error.is_retryable());
    run(&mut connection, "ROLLBACK");

    assert_eq!(connection.prepare("SELEC 1", &[]).unwrap_err().sqlstate(), Some("42601"));
    // An error after half a million rows.
    let sql = "SELECT 1 / (500000 - i) FROM generate_series(1, 600000) i";
    assert_eq!(connection.simple(sql).unwrap_err().sqlstate(), Some("22012"));
    assert_eq!(connection.query(sql).unwrap_err().sqlstate(), Some("22012"));
    params.clear();
    params.push_int(5000);
    assert_eq!(connection.execute(&insert, &params).unwrap().affected, 1);
    run(&mut connection, "DELETE FROM t WHERE id = 5000");
}

/// Results larger than the read buffer: many rows, and one row.
pub fn large_results_are_counted(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let many = connection
        .prepare("SELECT repeat('x', 119) FROM generate_series(1, $1)", &[ParamType::Int8])
        .unwrap();
    let one = connection.prepare("SELECT repeat('x', $1::int4)", &[ParamType::Int8]).unwrap();
    let mut params = Params::new();
    params.push_int(10_000);
    assert_eq!(connection.execute(&many, &params).unwrap().rows, 10_000);
    params.clear();
    params.push_int(50_000_000);
    assert_eq!(connection.execute(&one, &params).unwrap().rows, 1);
    let sql = "SELECT i, repeat('x', i) FROM generate_series(1, 2000) i";
    assert_eq!(connection.simple(sql).unwrap().rows, 2000);

    let table = connection.query(&format!("SELECT 0; {sql}; SET work_mem = '1MB'")).unwrap();
    assert_eq!((table.rows.len(), table.columns.len()), (2000, 2));
    assert_eq!(table.column("repeat"), Some(1));
    assert!(
        table.rows.iter().all(|row| row[0].as_ref().unwrap() == &row[1].as_ref().unwrap().len().to_string())
    );
    assert_eq!(connection.query("SELECT NULL").unwrap().value(), None);
    assert_eq!(connection.number("SELECT min(id) FROM t WHERE id > 500").unwrap(), Some(501));
    assert_eq!(connection.number("SELECT min(id) FROM t WHERE id > 5000000").unwrap(), None);
    let error = connection.number("SELECT 'seven' AS word").unwrap_err();
    assert!(error.to_string().contains("\"seven\" is not a 64-bit integer"), "{error}");
}

/// COPY that is finished, dropped, rejected, and not a COPY at all.
pub fn copy_loads_all_or_nothing(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    run(&mut connection, "CREATE TABLE loaded (id int, filler text)");
    let filler = "y".repeat(120);

    let mut copy = connection.copy_in("COPY loaded FROM STDIN").unwrap();
    for id in 0..50_000 {
        copy.write(format!("{id}\t{filler}\n").as_bytes()).unwrap();
    }
    assert_eq!(copy.finish().unwrap(), 50_000);

    let mut copy = connection.copy_in("COPY loaded FROM STDIN").unwrap();
    copy.write(b"1\tgiven up\n").unwrap();
    drop(copy);

    let error = send_until_rejected(&mut connection, &filler);
    assert_eq!(error.sqlstate(), Some("22P02"), "{error}");

    let mut copy = connection.copy_in("COPY loaded FROM STDIN").unwrap();
    copy.write(b"no number\tz\n").unwrap();
    assert_eq!(copy.finish().unwrap_err().sqlstate(), Some("22P02"));

    assert!(matches!(connection.copy_in("SELECT 1").err(), Some(Error::Misuse(_))));
    assert_eq!(connection.copy_in("COPY nowhere FROM STDIN").err().unwrap().sqlstate(), Some("42P01"));
    assert_eq!(connection.simple("COPY loaded FROM STDIN").unwrap_err().sqlstate(), Some("57014"));
    assert_eq!(connection.simple("COPY loaded TO STDOUT").unwrap().affected, 50_000);
    assert_eq!(value(&mut connection, "SELECT count(*) FROM loaded"), "50000");
}

/// Sends rows after an invalid one; the error must come long before the end of the load.
fn send_until_rejected(connection: &mut Connection, filler: &str) -> Error {
    let mut copy = connection.copy_in("COPY loaded FROM STDIN").unwrap();
    copy.write(b"no number\tz\n").unwrap();
    let row = format!("1\t{filler}\n");
    for _ in 0..10_000_000 {
        if let Err(error) = copy.write(row.as_bytes()) {
            assert!(matches!(copy.write(&[b'x'; 300_000]), Err(Error::Misuse(_))));
            return error;
        }
    }
    panic!("the bad row was not reported");
}
