//! Real servers: created, started, stopped, and refused if something is wrong.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rqps_model::Dbms;
use rqps_servers::testing::Scratch;
use rustix::process::{Pid, Signal, kill_process};

use rqps_servers::{Config, Error, Server, ServerSpec, config_from_text, remove_data_dir};

/// Adds an option to `config`.
fn with_option(mut config: Config, option: &str, value: &str) -> Config {
    config.options.push((option.to_owned(), value.to_owned()));
    config
}

#[test]
fn servers_of_each_version_start_stop_and_restart() {
    for version in ["14", "18"] {
        let mut scratch = Scratch::start_with(version, |spec| {
            let config = with_option(spec.config.clone(), "io_method", "sync");
            let config = with_option(config, "port", "1");
            let config = with_option(config, "synchronous_standby_names", "nobody");
            let config = with_option(config, "shared_preload_libraries", "no_such_library, plpgsql");
            spec.config = with_option(config, "lc_messages", "xx_XX.UTF-8");
            spec.clients_max = 200;
        })
        .unwrap();
        assert!(scratch.alive());
        let socket = scratch.endpoint().socket_dir.join(".s.PGSQL.5432");
        assert!(socket.exists(), "{}", socket.display());
        let left_out: Vec<&str> =
            scratch.applied().left_out.iter().map(|left| left.option.as_str()).collect();
        let unknown: &[&str] =
            if version == "14" { &["vacuum_buffer_usage_limit", "io_method"] } else { &[] };
        let not_here = ["port", "synchronous_standby_names", "lc_messages", "shared_preload_libraries"];
        assert_eq!(left_out, [unknown, &not_here].concat());
        assert!(scratch.applied().config_as_used.contains("shared_preload_libraries = 'plpgsql'"));
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
    for (dbms, version, text, expected) in [
        (Dbms::Postgres, "18", "io_method = sideways", "Available values: sync, worker"),
        (Dbms::Mysql, "5.7.22", "innodb_buffer_pool_size = 12Q", "'12Q'"),
        (Dbms::Mysql, "8.0.31", "optimizer_switch = 'no_such=on'", "'no_such=on'"),
        (Dbms::Mariadb, "10.11", "innodb_flush_method = NO_SUCH", "'NO_SUCH'"),
    ] {
        let (dir, mut spec) = Scratch::prepare_of(dbms, version).unwrap();
        spec.config = config_from_text(dbms, "bad", text).unwrap();
        let message = Server::init(&spec).unwrap_err().to_string();
        assert!(message.contains("rejects config `bad`") && message.contains(expected), "{message}");
        let left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.iter().all(|name| name == "logs"), "{left:?}");
    }
}

#[test]
fn obstacles_to_a_start_are_named() {
    let (dir, mut spec) = Scratch::prepare("14").unwrap();
    let message = Server::start(&spec).unwrap_err().to_string();
    assert!(message.contains("run init first"), "{message}");

    Server::init(&spec).unwrap();
    let good = spec.config.clone();
    let broken = dir.path().join("broken.so");
    fs::write(&broken, "no library").unwrap();
    spec.config = with_option(good.clone(), "shared_preload_libraries", &broken.to_string_lossy());
    let message = Server::start(&spec).unwrap_err().to_string();
    assert!(message.contains("broken.so"), "{message}");
    assert!(message.contains("hint: this build lacks or cannot load a library"), "{message}");

    spec.config = good;
    let interrupted = Server::start_unless(&spec, &AtomicBool::new(true));
    assert!(matches!(interrupted, Err(Error::Interrupted { .. })));

    let other = Scratch::start("14").unwrap();
    fs::write(spec.data_dir.join("postmaster.pid"), format!("{}\n", other.pid())).unwrap();
    let message = Server::start(&spec).unwrap_err().to_string();
    assert!(message.contains(&format!("pid {}", other.pid())), "{message}");

    // A pid that belongs to another program by now.
    fs::write(spec.data_dir.join("postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
    let server = Server::start(&spec).unwrap();
    assert!(matches!(Server::start(&spec), Err(Error::InUse { .. })));
    server.stop().unwrap();

    spec.build = Scratch::prepare("18").unwrap().1.build;
    let message = Server::start(&spec).unwrap_err().to_string();
    assert!(message.contains("created by PostgreSQL 14, but the build is 18"), "{message}");
}

#[test]
fn a_dead_server_is_noticed_and_restarts() {
    let mut scratch = Scratch::start_with("18", |spec| spec.tcp = true).unwrap();
    let spec = scratch.spec().clone();
    assert!(scratch.endpoint().tcp.is_some());
    let kill = Command::new("kill").args(["-9", &scratch.pid().to_string()]).status();
    assert!(kill.unwrap().success());
    while scratch.alive() {
        std::thread::yield_now();
    }
    assert!(scratch.exit_text().unwrap().contains("signal: 9"));
    let message = scratch.restart().unwrap_err().to_string();
    assert!(message.contains("had already exited"), "{message}");
    Server::start(&spec).unwrap().stop().unwrap();
}

/// As after a kill of both rqps and server where nothing reaps orphans.
#[test]
fn a_pid_file_of_a_zombie_is_stale() {
    let (_dir, spec) = Scratch::prepare("18").unwrap();
    Server::init(&spec).unwrap();
    let mut ended = Command::new("true").spawn().unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", ended.id())).unwrap();
    while !state().contains(") Z ") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let data = spec.data_dir.display();
    let text = format!("{}\n{data}\n1\n5432\n{data}\n\n 1 1\nready\n", ended.id());
    fs::write(spec.data_dir.join("postmaster.pid"), text).unwrap();
    Server::start(&spec).unwrap().stop_immediately();
    ended.wait().unwrap();
}

/// A value for an option that determines a cluster's files, for a key of one's own.
fn target(which: u32) -> String {
    (std::process::id() % 4_000 * 2 + 1_000 + which).to_string()
}

/// Interrupts the creation of a data directory once `program` runs: it must end within seconds and leave
/// nothing.
fn interrupt_init(dbms: Dbms, version: &str, program: &str) {
    let (dir, mut spec) = Scratch::prepare_of(dbms, version).unwrap();
    // Of which no empty cluster is kept.
    spec.config = with_option(spec.config, "default_statistics_target", &target(1));
    let stop = AtomicBool::new(false);
    let scratch_path = dir.path().to_string_lossy().into_owned();
    let is_running = || {
        let proc = fs::read_dir("/proc").unwrap().flatten();
        let command_lines = proc.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        command_lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| {
            line.split('\0').next().unwrap_or_default().ends_with(program) && line.contains(&scratch_path)
        })
    };
    std::thread::scope(|scope| {
        let init = scope.spawn(|| Server::init_unless(&spec, &stop));
        while !is_running() {
            assert!(!init.is_finished(), "{:?}", init.join());
            std::thread::sleep(Duration::from_millis(5));
        }
        let interrupted = Instant::now();
        stop.store(true, Ordering::Relaxed);
        let error = init.join().unwrap().unwrap_err();
        assert!(error.is_interruption(), "{error}");
        assert!(interrupted.elapsed() < Duration::from_secs(10), "{:?}", interrupted.elapsed());
    });
    // A child that it had just forked bears its name, and dies when the kernel gets to it.
    let ended = Instant::now();
    while is_running() {
        assert!(ended.elapsed() < Duration::from_secs(10), "{program} still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!spec.data_dir.exists());
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().flatten().filter(|entry| entry.path().is_dir()).count(),
        1,
        "logs"
    );
}

#[test]
fn init_can_be_interrupted() {
    interrupt_init(Dbms::Postgres, "18", "/initdb");
    interrupt_init(Dbms::Mysql, "8.0.31", "/mysqld");
}

/// Stopped by another process, it handles only SIGKILL.
#[test]
fn a_hung_server_is_killed_within_seconds() {
    let scratch = Scratch::start("18").unwrap();
    assert!(!scratch.is_paused());
    let pid = Pid::from_raw(scratch.pid() as i32).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    while !scratch.is_paused() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let maps = fs::read_to_string(format!("/proc/{}/maps", scratch.pid())).unwrap();
    let shared = maps.lines().filter_map(|line| line.split_whitespace().last());
    let shared: Vec<&Path> = shared.filter(|path| path.starts_with("/dev/shm/")).map(Path::new).collect();
    assert!(!shared.is_empty(), "{maps}");
    let dropped = Instant::now();
    drop(scratch);
    assert!(dropped.elapsed() < Duration::from_secs(10), "{:?}", dropped.elapsed());
    assert!(!shared.iter().any(|path| path.exists()), "left: {shared:?}");
}

#[test]
fn an_empty_cluster_is_kept_and_copied() {
    let target = target(0);
    let prepare = |target: &str| {
        let (dir, mut spec) = Scratch::prepare("18").unwrap();
        spec.config = with_option(spec.config, "default_statistics_target", target);
        (dir, spec)
    };
    let created = |spec: &ServerSpec| {
        Server::init(spec).unwrap();
        let mut password = spec.data_dir.clone().into_os_string();
        password.push(".password");
        fs::read_to_string(password).unwrap()
    };
    let kept = || -> BTreeSet<PathBuf> {
        let place = rqps_builds::kept_beside(&prepare(&target).1.build).unwrap();
        let entries = fs::read_dir(place).into_iter().flatten();
        let is_password = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "password");
        entries.map(|entry| entry.unwrap().path()).filter(is_password).collect()
    };
    let before = kept();
    let (_first_dir, first) = prepare(&target);
    let password = created(&first);
    let own: Vec<PathBuf> = kept().difference(&before).cloned().collect();
    let of_it = |path: &&PathBuf| fs::read_to_string(path).is_ok_and(|text| text == password);
    let own = own.iter().find(of_it).expect("a copy is kept");

    let (_second_dir, second) = prepare(&target);
    assert_eq!(created(&second), password, "copied");
    let server = Server::start(&second).unwrap();
    server.stop().unwrap();
    let (_other_dir, other) = prepare("77");
    assert_ne!(created(&other), password, "its files differ by that option");
    // Who removes it may be half-way.
    let lock = File::create(own.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let (_meanwhile_dir, meanwhile) = prepare(&target);
    assert_ne!(created(&meanwhile), password);
    lock.unlock().unwrap();
    lock.lock_shared().unwrap();
    remove_data_dir(&own.with_extension("")).expect_err("it is being copied");
    drop(lock);
    // What cannot be copied is created anew.
    fs::remove_file(own).unwrap();
    let (_third_dir, third) = prepare(&target);
    assert_ne!(created(&third), password);
    remove_data_dir(&own.with_extension("")).unwrap();
}

#[test]
fn a_directory_whose_marker_was_not_finished_can_be_removed() {
    let dir = tempfile::tempdir().unwrap();
    let staging = dir.path().join("data.initdb");
    fs::create_dir(&staging).unwrap();
    fs::write(staging.join(".new-rqps.json"), "").unwrap();
    remove_data_dir(&dir.path().join("data")).unwrap();
    assert!(!staging.exists());
}
