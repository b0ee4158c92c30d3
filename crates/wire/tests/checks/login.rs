//! Every way of checking passwords, and what is said when a login fails.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rqps_wire::postgres::Connection;
use rqps_wire::{Endpoint, Error, Host, Session};

use super::{connect, run, value};

/// Lets one role in by each method the version knows, then logs in as each. Ends with the server's
/// own rules in force again.
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
        // Version 18 warns about MD5: a notice amid the reply.
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
        assert_eq!(value(&mut soon(&right), "SELECT current_user"), right.user);
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

/// Connects once the reloaded rules are in force.
fn soon(endpoint: &Endpoint) -> Connection {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        match Connection::connect(endpoint, "wire test") {
            Ok(connection) => return connection,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        sleep(Duration::from_millis(20));
    }
}

/// Each kind of failure names the place, the user and what to do.
pub fn failures_name_place_and_remedy(endpoint: &Endpoint) {
    let nobody_there = Endpoint { port: 1, ..endpoint.clone() };
    let error = Connection::connect(&nobody_there, "wire test").err().unwrap();
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

/// The same server by TCP.
pub fn tcp_works(endpoint: &Endpoint) {
    let by_tcp = Endpoint { host: Host::Tcp([127, 0, 0, 1].into()), ..endpoint.clone() };
    let mut connection = connect(&by_tcp);
    assert_eq!(value(&mut connection, "SELECT host(inet_client_addr())"), "127.0.0.1");
}

/// What the connection says of itself against what the server says.
pub fn connection_knows_server_and_backend(endpoint: &Endpoint) {
    let mut connection = connect(endpoint);
    let (version, backend) = (connection.server_version_num(), connection.backend_id());
    assert_eq!(value(&mut connection, "SHOW server_version_num"), version.to_string());
    assert_eq!(value(&mut connection, "SELECT pg_backend_pid()"), backend.to_string());
    assert_eq!(value(&mut connection, "SHOW application_name"), "wire test");
}
