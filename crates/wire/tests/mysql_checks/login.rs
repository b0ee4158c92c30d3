//! All authentication methods, and the errors of failed logins.

use std::io::Write;
use std::net::TcpListener;
use std::thread;

use rqps_wire::mysql::Connection;
use rqps_wire::{Endpoint, Error, Host, Session};

use super::{connect, run, value};

/// Longer than the nonce.
const PASSWORD: &str = "correct horse battery staple";

/// The connection's properties are those that the server reports.
pub fn version_and_backend_id_are_the_servers(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    assert_eq!(value(&mut connection, "SELECT version()"), connection.server_version());
    assert_eq!(value(&mut connection, "SELECT connection_id()"), connection.backend_id().to_string());
    let limit = connection.packet_bytes_max().to_string();
    assert_eq!(value(&mut connection, "SELECT @@max_allowed_packet"), limit);
    for name in ["collation_connection", "character_set_results"] {
        let set = value(&mut connection, &format!("SELECT @@{name}"));
        assert!(set.starts_with("latin1"), "{name} is {set}");
    }
    if value(&mut connection, "SELECT @@performance_schema") == "1" {
        let sql = "SELECT attr_value FROM performance_schema.session_connect_attrs \
                   WHERE processlist_id = connection_id() AND attr_name = 'program_name'";
        assert_eq!(value(&mut connection, sql), "wire test");
    }
}

/// Errors name the address, the user and the remedy.
pub fn failures_name_place_and_remedy(endpoint: &Endpoint) {
    let no_server = Endpoint { host: Host::Unix("/nowhere".into()), ..endpoint.clone() };
    let error = Connection::connect(&no_server, "wire test").err().unwrap();
    let text = error.to_string();
    assert!(matches!(error, Error::Connect { .. }));
    for part in ["MySQL", "/nowhere", &endpoint.user, "check that the server is running"] {
        assert!(text.contains(part), "{part:?} missing in {text:?}");
    }

    let no_database = Endpoint { database: "nowhere".to_owned(), ..endpoint.clone() };
    let error = Connection::connect(&no_database, "wire test").err().unwrap();
    assert_eq!(error.sqlstate(), Some("42000"));
    assert!(error.to_string().contains("create the database first"), "{error}");
}

/// A port on which another service listens.
pub fn other_protocols_are_recognized(endpoint: &Endpoint) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering =
        thread::spawn(move || listener.accept().unwrap().0.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n"));
    let foreign = Endpoint { host: Host::Tcp([127, 0, 0, 1].into()), port, ..endpoint.clone() };
    let error = Connection::connect(&foreign, "wire test").err().unwrap();
    answering.join().unwrap().unwrap();
    assert!(error.to_string().contains("check which DBMS listens there"), "{error}");
}

/// Logs in with each method that the server supports, over socket and TCP, with the right and a wrong
/// password.
pub fn every_method_logs_in(endpoint: &Endpoint) {
    let mut admin = connect(endpoint);
    for method in ["mysql_native_password", "caching_sha2_password"] {
        let sql = format!(
            "SELECT count(*) FROM information_schema.plugins \
             WHERE plugin_name = '{method}' AND plugin_status = 'ACTIVE'"
        );
        if value(&mut admin, &sql) == "0" {
            continue;
        }
        for (user, password) in [(format!("by {method}"), PASSWORD), (format!("no {method}"), "")] {
            create_user(&mut admin, &user, method, password);
            log_in(&Endpoint { user, password: password.to_owned(), ..endpoint.clone() });
        }
    }
}

fn create_user(admin: &mut Connection, user: &str, method: &str, password: &str) {
    let proof = match admin.is_mariadb() {
        true => format!("VIA {method} USING PASSWORD('{password}')"),
        false => format!("WITH {method} BY '{password}'"),
    };
    for host in ["localhost", "127.0.0.1"] {
        run(admin, &format!("CREATE USER '{user}'@'{host}' IDENTIFIED {proof}"));
        run(admin, &format!("GRANT ALL ON *.* TO '{user}'@'{host}'"));
    }
}

/// TCP first and twice: a server that has not cached the password requires the password itself, and then no
/// more. Once more over the socket, after the cache was flushed.
fn log_in(right: &Endpoint) {
    let by_tcp = Endpoint { host: Host::Tcp([127, 0, 0, 1].into()), ..right.clone() };
    for endpoint in [&by_tcp, &by_tcp, right, right] {
        let mut connection = connect(endpoint);
        assert!(value(&mut connection, "SELECT user()").starts_with(&right.user));
        let wrong = Endpoint { password: "wrong".to_owned(), ..endpoint.clone() };
        let error = Connection::connect(&wrong, "wire test").err().unwrap();
        assert_eq!(error.sqlstate(), Some("28000"), "{error}");
        assert!(error.to_string().contains("check the user and the password"), "{error}");
    }
    run(&mut connect(right), "FLUSH PRIVILEGES");
    connect(right);
}
