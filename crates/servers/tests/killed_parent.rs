//! A server must not outlive the program that started it, however that ends. This test has its own `main`,
//! because it starts itself again: with and without the start shim.

#![expect(clippy::unwrap_used, reason = "a test, though the lint does not know it without a #[test]")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rqps_builds::run_shim_if_asked;
use rqps_model::Dbms;
use rqps_servers::testing::Scratch;
use rqps_servers::{Instrument, Server, instrument};

const POSTGRES: (Dbms, &str) = (Dbms::Postgres, "18");
const MYSQL: (Dbms, &str) = (Dbms::Mysql, "5.7.22");

fn main() {
    let without_shim = std::env::var_os("TEST_WITHOUT_SHIM").is_some();
    if !without_shim {
        run_shim_if_asked();
    }
    if std::env::var_os("TEST_HOLD_SERVER").is_some() {
        let is_mysql = std::env::var_os("TEST_MYSQL").is_some();
        run_server(if is_mysql { MYSQL } else { POSTGRES });
    }
    for (name, variable) in [("with the shim", "TEST_WITH_SHIM"), ("without", "TEST_WITHOUT_SHIM")] {
        server_ends_with_its_killed_parent(&[variable]);
        println!("test a killed program takes its server along, {name} ... ok");
    }
    for (name, variable) in
        [("running", "TEST_RUNNING"), ("frozen", "TEST_FROZEN"), ("under valgrind", "TEST_VALGRIND")]
    {
        if variable == "TEST_VALGRIND" && instrument::available().is_none() {
            continue;
        }
        data_of_a_killed_program_starts_again(POSTGRES, variable, "not properly shut down");
        println!("test data of a killed program starts again, its server {name} ... ok");
    }
    data_of_a_killed_program_starts_again(MYSQL, "TEST_MYSQL", "ready for connections");
    println!("test data of a killed program starts again, its server MySQL ... ok");
    // The signal is pending until the kernel resumes the server.
    server_ends_with_its_killed_parent(&["TEST_WITH_SHIM", "TEST_FROZEN"]);
    println!("test a frozen server of a killed program ends by itself ... ok");
}

/// The program to be killed: starts a server, prints its pid and data directory, and waits.
fn run_server((dbms, version): (Dbms, &str)) -> ! {
    let mut scratch = Scratch::start_of(dbms, version, |spec| {
        if std::env::var_os("TEST_VALGRIND").is_some() {
            let counts_dir = spec.data_dir.with_file_name("counts");
            spec.instrument = Some(Instrument::Valgrind { counts_dir });
        }
    })
    .unwrap();
    if std::env::var_os("TEST_FROZEN").is_some() {
        scratch.freeze().unwrap();
    }
    println!("{} {}", scratch.pid(), scratch.spec().data_dir.display());
    loop {
        std::thread::park();
    }
}

/// Starts a program that runs a server, kills the program, and returns the server's pid and data directory.
fn kill_parent_of_server(variables: &[&str]) -> (u32, String) {
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .env("TEST_HOLD_SERVER", "1")
        .envs(variables.iter().map(|variable| (variable, "1")))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (pid, data_dir) = line.trim().split_once(' ').expect("the holder started its server");
    let pid: u32 = pid.parse().unwrap();
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    parent.kill().unwrap();
    parent.wait().unwrap();
    (pid, data_dir.to_owned())
}

fn server_ends_with_its_killed_parent(variables: &[&str]) {
    let (pid, data_dir) = kill_parent_of_server(variables);
    wait_for_end(pid);
    std::fs::remove_dir_all(Path::new(&data_dir).parent().unwrap()).unwrap();
}

fn wait_for_end(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while Path::new(&format!("/proc/{pid}")).exists() {
        assert!(Instant::now() < deadline, "server {pid} outlived its parent");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Started immediately: the old server may still be exiting, and the data need recovery.
fn data_of_a_killed_program_starts_again((dbms, version): (Dbms, &str), variable: &str, log_line: &str) {
    let (old_pid, data_dir) = kill_parent_of_server(&["TEST_WITH_SHIM", variable]);
    let data_dir = Path::new(&data_dir);
    let (_dir, mut spec) = Scratch::prepare_of(dbms, version).unwrap();
    spec.data_dir = data_dir.to_path_buf();
    let server = Server::start(&spec).unwrap();
    assert_ne!(server.pid(), old_pid);
    assert!(server.log_tail(100).contains(log_line), "{}", server.log_tail(100));
    server.stop().unwrap();
    wait_for_end(old_pid);
    std::fs::remove_dir_all(data_dir.parent().unwrap()).unwrap();
}
