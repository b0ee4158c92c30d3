//! Real servers of two versions: made, started, stopped, and refused when something is wrong.

use std::fs;
use std::sync::atomic::AtomicBool;

use rqps_plan::Dbms;
use rqps_servers::testing::Scratch;
use rqps_servers::{Config, Error, Server, load_config, remove_data_dir};

/// The options of `config` and one more.
fn with(mut config: Config, option: &str, value: &str) -> Config {
    config.options.push((option.to_owned(), value.to_owned()));
    config
}

#[test]
fn made_started_stopped_and_started_again_on_each_version() {
    for version in ["14", "18"] {
        let mut scratch = Scratch::start_with(version, |spec| {
            let config = with(spec.config.clone(), "io_method", "sync");
            spec.config = with(config, "port", "1");
            spec.clients_max = 200;
        })
        .unwrap();
        assert!(scratch.alive());
        let socket = scratch.endpoint().socket_dir.join(".s.PGSQL.5432");
        assert!(socket.exists(), "{}", socket.display());
        let left_out: Vec<&str> =
            scratch.applied().left_out.iter().map(|left| left.option.as_str()).collect();
        let expected: &[&str] = match version {
            "14" => &["vacuum_buffer_usage_limit", "io_method", "port"],
            _ => &["port"],
        };
        assert_eq!(left_out, expected);
        let max_connections = ("max_connections".to_owned(), "220".to_owned());
        assert!(scratch.applied().added.contains(&max_connections));
        scratch.restart().unwrap();
        assert!(scratch.alive(), "{}", scratch.log_tail(20));
        let data_dir = scratch.spec().data_dir.clone();
        assert!(matches!(remove_data_dir(&data_dir), Err(Error::InUse { .. })));
    }
}

#[test]
fn a_value_that_the_build_refuses_is_an_error_before_the_start() {
    let (dir, mut spec) = Scratch::prepare("18").unwrap();
    spec.config = load_config(Dbms::Postgres, "x10d_c8r32").unwrap();
    let message = Server::init(&spec).unwrap_err().to_string();
    assert!(message.contains("refuses config `x10d_c8r32`"), "{message}");
    assert!(message.contains("Available values: sync, worker"), "{message}");
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "logs"), "{left:?}");
}

#[test]
fn what_stands_in_the_way_of_a_start_is_named() {
    let (_dir, mut spec) = Scratch::prepare("14").unwrap();
    let message = Server::start(&spec).unwrap_err().to_string();
    assert!(message.contains("init comes first"), "{message}");

    Server::init(&spec).unwrap();
    let good = spec.config.clone();
    spec.config = with(good.clone(), "shared_preload_libraries", "no_such_library");
    let message = Server::start(&spec).unwrap_err().to_string();
    assert!(message.contains("no_such_library"), "{message}");
    assert!(message.contains("hint: a library that the config names"), "{message}");

    spec.config = good;
    let interrupted = Server::start_unless(&spec, &AtomicBool::new(true));
    assert!(matches!(interrupted, Err(Error::Interrupted { .. })));

    let other = Scratch::start("14").unwrap();
    fs::write(spec.data_dir.join("postmaster.pid"), format!("{}\n", other.pid())).unwrap();
    let message = Server::start(&spec).unwrap_err().to_string();
    assert!(message.contains(&format!("pid {}", other.pid())), "{message}");

    // A pid that now belongs to something else is no obstacle.
    fs::write(spec.data_dir.join("postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
    let server = Server::start(&spec).unwrap();
    assert!(matches!(Server::start(&spec), Err(Error::InUse { .. })));
    server.stop().unwrap();

    spec.build = Scratch::prepare("18").unwrap().1.build;
    let message = Server::start(&spec).unwrap_err().to_string();
    assert!(message.contains("made by PostgreSQL 14 and the build is 18"), "{message}");
}

#[test]
fn a_server_that_died_is_noticed_and_starts_again() {
    let mut scratch = Scratch::start_with("18", |spec| spec.tcp = true).unwrap();
    let spec = scratch.spec().clone();
    assert!(scratch.endpoint().tcp.is_some());
    let kill = std::process::Command::new("kill").args(["-9", &scratch.pid().to_string()]).status();
    assert!(kill.unwrap().success());
    while scratch.alive() {
        std::thread::yield_now();
    }
    assert!(scratch.exit_text().unwrap().contains("signal: 9"));
    let message = scratch.restart().unwrap_err().to_string();
    assert!(message.contains("had ended before"), "{message}");
    Server::start(&spec).unwrap().stop().unwrap();
}
