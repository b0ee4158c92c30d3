//! Real servers of MySQL and MariaDB: created, connected to, killed, recovered, stopped, copied, and refused
//! if something is wrong. Versions differ most in how their data directories are created.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use rqps_model::Dbms;
use rqps_servers::testing::Scratch;
use rqps_servers::{Applied, Error, Server, ServerEndpoint, config_from_text, restore, snapshot};
use rqps_wire::mysql::Connection;
use rqps_wire::{Endpoint, Host};

/// Never set.
static NEVER: AtomicBool = AtomicBool::new(false);

fn endpoint(at: &ServerEndpoint) -> Endpoint {
    Endpoint {
        host: at.tcp.map_or_else(|| Host::Unix(at.socket_dir.clone()), Host::Tcp),
        port: at.port,
        user: at.user.clone(),
        password: at.password.clone(),
        database: at.database.clone(),
    }
}

fn ask(server: &Server, sql: &str) -> String {
    let mut connection = Connection::connect(&endpoint(server.endpoint()), "test").unwrap();
    connection.query(sql).unwrap().value().unwrap_or("null").to_owned()
}

fn refusal(server: &Server, change: impl FnOnce(&mut Endpoint)) -> String {
    let mut endpoint = endpoint(server.endpoint());
    change(&mut endpoint);
    match Connection::connect(&endpoint, "test") {
        Ok(_) => panic!("{endpoint} was let in"),
        Err(error) => error.to_string(),
    }
}

fn left_out(applied: &Applied) -> Vec<&str> {
    applied.left_out.iter().map(|left| left.option.as_str()).collect()
}

/// A whole life cycle; at its end the data are served from another directory.
fn run_life_cycle(dbms: Dbms, version: &str) {
    let mut server = Scratch::start_of(dbms, version, |spec| {
        let more = "\nport = 1\nno_such_option = 1\nmax_connections = 30\ninnodb_io_capacity = 5\n\
                    innodb_undo_directory = /nonexistent\n[mysqld-4.1]\nx = 1\n[client]\nuser = me\n";
        spec.config = config_from_text(dbms, "more", &format!("{}{more}", spec.config.text)).unwrap();
        spec.tcp = true;
    })
    .unwrap();
    let applied = server.applied().clone();
    for option in [
        "port",
        "no_such_option",
        "max_connections",
        "innodb_io_capacity",
        "innodb_undo_directory",
        "[mysqld-4.1]",
    ] {
        assert!(left_out(&applied).contains(&option), "{option}: {:?}", applied.left_out);
    }
    assert!(applied.added.contains(&("max_connections".to_owned(), "60".to_owned())), "{:?}", applied.added);
    assert_eq!(ask(&server, "SELECT @@max_connections"), "60");
    assert_eq!(ask(&server, "SELECT @@innodb_buffer_pool_size DIV 1048576"), "128");
    assert_eq!(ask(&server, "SELECT @@character_set_database"), "latin1");

    for (user, password) in [("rqps", "wrong"), ("root", ""), ("", ""), ("mysql", "")] {
        let message = refusal(&server, |endpoint| {
            (endpoint.user, endpoint.password) = (user.to_owned(), password.to_owned());
        });
        // Versions with decoy accounts request more from an unknown user than they would verify.
        assert!(message.contains("Access denied") || user != "rqps", "{user}: {message}");
    }

    // Its views belong to an account that rqps keeps.
    assert!(!ask(&server, "SELECT sys_version FROM sys.version").is_empty());
    ask(&server, "CREATE TABLE t (id INT PRIMARY KEY) ENGINE = InnoDB");
    ask(&server, "INSERT INTO t VALUES (1), (2)");
    let spec = server.spec().clone();
    let kept = spec.data_dir.with_file_name("kept");
    assert!(Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap().success());
    while server.alive() {
        std::thread::yield_now();
    }
    let message = server.restart().unwrap_err().to_string();
    assert!(message.contains("had already exited"), "{message}");
    let message = snapshot(&spec.data_dir, &kept, &NEVER).unwrap_err().to_string();
    assert!(message.contains("start it and stop it first"), "{message}");

    let recovered = Server::start(&spec).unwrap();
    assert_eq!(ask(&recovered, "SELECT COUNT(*) FROM t"), "2");
    assert!(matches!(Server::start(&spec), Err(Error::InUse { .. })));
    recovered.stop().unwrap();
    snapshot(&spec.data_dir, &kept, &NEVER).unwrap();
    let mut elsewhere = spec.clone();
    elsewhere.data_dir = spec.data_dir.with_file_name("side-b");
    elsewhere.tcp = false;
    restore(&kept, &elsewhere.data_dir, &NEVER).unwrap();
    let mut copy = Server::start(&elsewhere).unwrap();
    copy.freeze().unwrap();
    copy.thaw();
    assert_eq!(ask(&copy, "SELECT COUNT(*) FROM t"), "2");
    copy.stop().unwrap();
    rqps_servers::remove_data_dir(&elsewhere.data_dir).unwrap();
    rqps_servers::remove_data_dir(&kept).unwrap();

    elsewhere.data_dir = spec.data_dir;
    elsewhere.build.version = "5.5.62".to_owned();
    let message = Server::start(&elsewhere).unwrap_err().to_string();
    assert!(message.contains("the build is 5.5.62, which would upgrade it"), "{message}");
}

#[test]
fn life_cycle_of_mysql_5_7() {
    run_life_cycle(Dbms::Mysql, "5.7.22");
}

#[test]
fn life_cycle_of_mysql_8_0() {
    run_life_cycle(Dbms::Mysql, "8.0.31");
}

#[test]
fn life_cycle_of_mariadb_10_11() {
    run_life_cycle(Dbms::Mariadb, "10.11");
}

#[test]
fn no_tls_key_is_created_at_the_start() {
    let server = Scratch::start_of(Dbms::Mariadb, "11.4.5", |_| ()).unwrap();
    assert_eq!(ask(&server, "SELECT @@have_ssl"), "DISABLED");
}
