//! Prepared and simple statements, errors between them, large results and statements.

use rqps_wire::mysql::{Connection, Params};
use rqps_wire::{Endpoint, Error, Outcome, ParamType, Session};

use super::{connect, run, value};

const ROWS: u64 = 1000;

/// Creates a table of `ROWS` rows, ids from 1; every tenth text is NULL.
pub fn create_table(endpoint: &Endpoint) {
    let rows: Vec<String> = (1..=ROWS)
        .map(|id| match id % 10 {
            0 => format!("({id}, {id}, NULL)"),
            _ => format!("({id}, {id}, repeat('x', 119))"),
        })
        .collect();
    let sql = format!(
        "CREATE TABLE t (id int PRIMARY KEY, k int NOT NULL, c varchar(120)) ENGINE = InnoDB;
         INSERT INTO t VALUES {}",
        rows.join(",")
    );
    let outcome = connect(endpoint).simple(&sql).unwrap();
    assert_eq!(outcome, Outcome { rows: 0, affected: ROWS });
}

fn params(fill: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params::new();
    fill(&mut params);
    params
}

/// Row and affected counts of prepared statements, with both parameter types.
pub fn prepared_statements_count_rows(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let range =
        connection.prepare("SELECT id, c FROM t WHERE id BETWEEN ? AND ?", &[ParamType::Int8; 2]).unwrap();
    let update =
        connection.prepare("UPDATE t SET c = ? WHERE id = ?", &[ParamType::Text, ParamType::Int8]).unwrap();
    // Most servers can't prepare these two.
    let begin = connection.prepare("BEGIN", &[]).unwrap();
    let commit = connection.prepare("COMMIT", &[]).unwrap();

    connection.execute(&begin, &Params::new()).unwrap();
    for (first, last, rows) in [(1, 1, 1), (1, 100, 100), (951, 1050, 50), (-5, 0, 0), (i64::MIN, 3, 3)] {
        let between = params(|list| {
            list.push_int(first);
            list.push_int(last);
        });
        assert_eq!(connection.execute(&range, &between).unwrap(), Outcome { rows, affected: 0 });
    }
    // A row that is matched but not changed is not counted.
    for (id, affected) in [(7, 1), (7, 0), (7_000_000, 0)] {
        let change = params(|list| {
            list.push_text(b"quotes ' and \\ are nothing special");
            list.push_int(id);
        });
        assert_eq!(connection.execute(&update, &change).unwrap(), Outcome { rows: 0, affected });
    }
    let changed = value(&mut connection, "SELECT c FROM t WHERE id = 7");
    assert_eq!(changed, "quotes ' and \\ are nothing special");
    // The prepared BEGIN opened a transaction, and the prepared COMMIT ends it.
    let mut other = connect(endpoint);
    assert_ne!(value(&mut other, "SELECT c FROM t WHERE id = 7"), changed);
    connection.execute(&commit, &Params::new()).unwrap();
    assert_eq!(value(&mut other, "SELECT c FROM t WHERE id = 7"), changed);
}

/// An error ends only its statement, has the server's message, and is retryable or not.
pub fn errors_leave_the_connection_usable(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let insert = connection.prepare("INSERT INTO t VALUES (?, 1, 'y')", &[ParamType::Int8]).unwrap();
    let error = connection.execute(&insert, &params(|list| list.push_int(1))).unwrap_err();
    assert!(error.is_retryable() && error.code() == Some(1062), "{error}");
    let Error::Db { sqlstate, message, statement, .. } = error else { panic!("{error}") };
    assert_eq!((sqlstate.as_str(), statement.as_str()), ("23000", "INSERT INTO t VALUES (?, 1, 'y')"));
    assert!(message.contains("Duplicate entry '1'"), "{message}");

    // The statement must work although its first execution failed.
    assert_eq!(connection.execute(&insert, &params(|list| list.push_int(5000))).unwrap().affected, 1);
    run(&mut connection, "DELETE FROM t WHERE id = 5000");

    let error = connection.execute(&insert, &Params::new()).unwrap_err();
    assert!(matches!(error, Error::Misuse(_)), "{error}");
    assert_eq!(connection.prepare("SELEC 1", &[]).unwrap_err().code(), Some(1064));
    assert_eq!(connection.simple("SELECT 1; SELECT nothing").unwrap_err().code(), Some(1054));
    // An error after 709,000 rows: exp(710) overflows.
    let sql = "SELECT exp(a.id) FROM t a STRAIGHT_JOIN t b";
    assert_eq!(connection.simple(sql).unwrap_err().code(), Some(1690));
    assert_eq!(connection.query(sql).unwrap_err().code(), Some(1690));
    assert_eq!(value(&mut connection, "SELECT count(*) FROM t"), ROWS.to_string());
}

/// Several statements in one text, and returned rows.
pub fn queries_keep_rows(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let outcome = connection.simple("SELECT * FROM t; UPDATE t SET k = k + 1; SELECT 1").unwrap();
    assert_eq!(outcome, Outcome { rows: ROWS + 1, affected: ROWS });

    let sql = "SELECT 0; SELECT id, c, repeat('y', id) AS long_text FROM t ORDER BY id; SET @a = 1";
    let table = connection.query(sql).unwrap();
    assert_eq!((table.rows.len() as u64, table.columns.len()), (ROWS, 3));
    assert_eq!(table.column("long_text"), Some(2));
    for (row, id) in table.rows.iter().zip(1..) {
        assert_eq!(row[0], Some(id.to_string()));
        assert_eq!(row[1].is_none(), id % 10 == 0);
        assert_eq!(row[2].as_ref().unwrap().len(), id);
    }
    assert_eq!(connection.query("SELECT NULL").unwrap().value(), None);
    assert_eq!(connection.number("SELECT min(id) FROM t WHERE id > 500").unwrap(), Some(501));
    assert_eq!(connection.number("SELECT min(id) FROM t WHERE id > 5000000").unwrap(), None);
    let error = connection.number("SELECT 'seven' AS word").unwrap_err();
    assert!(error.to_string().contains("\"seven\" is not a 64-bit integer"), "{error}");
    assert_eq!(value(&mut connection, "SELECT '\u{e9}' AS latin1"), "\u{e9}");
}

/// Results and statements larger than the read buffer and than one packet.
pub fn sizes_are_limited_only_by_the_server(endpoint: &Endpoint) {
    run(&mut connect(endpoint), "SET GLOBAL max_allowed_packet = 67108864");
    let mut connection = connect(endpoint);
    let many = connection.prepare("SELECT a.c FROM t a, t b WHERE a.id < ?", &[ParamType::Int8]).unwrap();
    assert_eq!(connection.execute(&many, &params(|list| list.push_int(100))).unwrap().rows, 99_000);

    let one = connection.prepare("SELECT repeat('x', ?)", &[ParamType::Int8]).unwrap();
    // Around the longest packet: a row is the text and its length.
    for bytes in [20_000, (1 << 24) - 6, (1 << 24) - 5, (1 << 24) - 4, 50_000_000] {
        let outcome = connection.execute(&one, &params(|list| list.push_int(bytes))).unwrap();
        assert_eq!(outcome, Outcome { rows: 1, affected: 0 }, "{bytes}");
    }
    assert_eq!(value(&mut connection, "SELECT repeat('x', 20000000)").len(), 20_000_000);

    let length = connection.prepare("SELECT length(?) = 20000000", &[ParamType::Text]).unwrap();
    let long = vec![b'x'; 20_000_000];
    assert_eq!(connection.execute(&length, &params(|list| list.push_text(&long))).unwrap().rows, 1);
    let text = String::from_utf8(long).unwrap();
    assert_eq!(value(&mut connection, &format!("SELECT length('{text}')")), "20000000");

    too_long_statements_are_an_error(&mut connection);
}

/// The longest allowed statement runs; one byte more is an error before it is sent.
fn too_long_statements_are_an_error(connection: &mut Connection) {
    let limit = connection.packet_bytes_max();
    let mut sql = format!("SELECT 1{}", " ".repeat(limit - 10));
    assert_eq!(connection.simple(&sql).unwrap().rows, 1);
    sql.push(' ');
    let error = connection.simple(&sql).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    assert!(error.to_string().contains("max_allowed_packet"));
    assert_eq!(value(connection, "SELECT 1"), "1");
}
