//! All authentication methods, and the errors of failed logins.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Error, Host, Session};

use super::{connect, run, value};

/// Creates a role for each method that the version supports and logs in as each. Restores pg_hba.conf at the
/// end.
pub fn every_method_logs_in(endpoint: &Endpoint, data_dir: &Path) {
    let mut admin = connect(endpoint);
    let has_scram = admin.server_version_num() >= 100_000;
    let mut methods = vec!["trust", "password", "md5"];
    if has_scram {
        methods.push("scram-sha-256");
    }
    for method in &methods {
        let stored = match *method {
            "scram-sha-256" => "'scram-sha-256'",
            _ if has_scram => "'md5'",
            _ => "on",
        };
        // Version 18 warns about MD5: tests a notice within the reply.
        run(&mut admin, &format!("SET password_encryption = {stored}"));
        run(&mut admin, &format!("CREATE ROLE \"by {method}\" LOGIN PASSWORD 'correct horse'"));
    }
    let rules_file = data_dir.join("pg_hba.conf");
    let rules = fs::read_to_string(&rules_file).unwrap();
    let lines = methods.iter().map(|method| format!("local all \"by {method}\" {method}\n"));
    fs::write(&rules_file, lines.chain([rules.clone()]).collect::<String>()).unwrap();
    run(&mut admin, "SELECT pg_reload_conf()");

    for method in &methods {
        let right = Endpoint {
            user: format!("by {method}"),
            password: "correct horse".to_owned(),
            ..endpoint.clone()
        };
        assert_eq!(value(&mut connect_after_reload(&right), "SELECT current_user"), right.user);
        let wrong = Endpoint { password: "wrong".to_owned(), ..right };
        let login = Connection::connect(&wrong, "wire test");
        match *method {
            "trust" => assert!(login.is_ok()),
            _ => assert_eq!(login.err().unwrap().sqlstate(), Some("28P01"), "{method}"),
        }
    }
    fs::write(&rules_file, rules).unwrap();
    run(&mut admin, "SELECT pg_reload_conf()");
}

/// Retries until the server has reloaded pg_hba.conf.
fn connect_after_reload(endpoint: &Endpoint) -> Connection {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        match Connection::connect(endpoint, "wire test") {
            Ok(connection) => return connection,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        sleep(Duration::from_millis(20));
    }
}

/// Errors name the address, the user and the remedy.
pub fn failures_name_place_and_remedy(endpoint: &Endpoint) {
    let no_server = Endpoint { port: 1, ..endpoint.clone() };
    let error = Connection::connect(&no_server, "wire test").err().unwrap();
    let text = error.to_string();
    assert!(matches!(error, Error::Connect { .. }));
    for part in ["port 1,", &endpoint.user, "check that the server is running"] {
        assert!(text.contains(part), "{part:?} missing in {text:?}");
    }

    let no_database = Endpoint { database: "nowhere".to_owned(), ..endpoint.clone() };
    let error = Connection::connect(&no_database, "wire test").err().unwrap();
    assert_eq!(error.sqlstate(), Some("3D000"));
    assert!(error.to_string().contains("create the database first"), "{error}");
    assert!(!error.to_string().contains(&endpoint.password));
}

pub fn tcp_works(endpoint: &Endpoint) {
    let by_tcp = Endpoint { host: Host::Tcp([127, 0, 0, 1].into()), ..endpoint.clone() };
    let mut connection = connect(&by_tcp);
    assert_eq!(value(&mut connection, "SELECT host(inet_client_addr())"), "127.0.0.1");
}

/// The connection's version and backend id are those that the server reports.
pub fn version_and_backend_id_are_the_servers(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let (version, backend) = (connection.server_version_num(), connection.backend_id());
    assert_eq!(value(&mut connection, "SHOW server_version_num"), version.to_string());
    assert_eq!(value(&mut connection, "SELECT pg_backend_pid()"), backend.to_string());
    assert_eq!(value(&mut connection, "SHOW application_name"), "wire test");
}
