//! How the processes of real servers run: CPUs, environment, frozen, counted, memory limit.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rqps_builds::CpuSet;
use rqps_model::Dbms;
use rqps_servers::testing::{Scratch, by_socket};
use rqps_servers::{Error, Instrument, Server, ServerSpec, instrument};
use rqps_wire::Session;
use rqps_wire::postgres::Connection;

/// A field of `/proc/<pid>/status`.
fn status(pid: u32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {field}")).trim().to_owned()
}

/// The command line of a process.
fn command_line(pid: u32) -> String {
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command_line).replace('\0', " ")
}

/// The background processes of a Postgres server, once it has no others: a start ends with a session, and a
/// new process first has the main process's title.
fn background(server: &Server) -> Vec<u32> {
    wait_for("a server without a session", || {
        let pids = children(server.pid());
        let is_background = |pid: &u32| {
            let command_line = command_line(*pid);
            command_line.starts_with("postgres: ") && !command_line.contains("[local]")
        };
        pids.iter().all(is_background).then_some(pids)
    })
}

fn children(pid: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // Other processes come and go.
    let is_child = |child: &u32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(1) == Some(pid.to_string().as_str())
    };
    pids.filter(is_child).collect()
}

/// Starts a session up to the password request: its backend exists then.
fn open_session(server: &Server) -> UnixStream {
    let mut stream = UnixStream::connect(server.endpoint().socket_dir.join(".s.PGSQL.5432")).unwrap();
    let body = b"\0\x03\0\0user\0rqps\0database\0bench\0\0";
    let length = u32::try_from(body.len() + 4).unwrap();
    stream.write_all(&[&length.to_be_bytes(), &body[..]].concat()).unwrap();
    assert_eq!(read_byte(&mut stream), Some(b'R'));
    stream
}

/// The next byte; None if the server closes the connection.
fn read_byte(stream: &mut UnixStream) -> Option<u8> {
    let mut byte = [0];
    (stream.read(&mut byte).unwrap() == 1).then_some(byte[0])
}

fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Autovacuum's workers come and go.
fn without_autovacuum(spec: &mut ServerSpec) {
    spec.config.options.push(("autovacuum".to_owned(), "off".to_owned()));
}

#[test]
fn placed_sessions_change_cpus_but_background_processes_do_not() {
    let online = CpuSet::online().unwrap();
    let first = CpuSet::of(online.cpus().next()).unwrap();
    let Some(others) = online.without(&first) else {
        return;
    };
    let server = Scratch::start_with("18", |spec| {
        spec.cpus = Some(others.clone());
        without_autovacuum(spec);
    })
    .unwrap();
    let background = background(&server);
    assert!(background.len() >= 4, "{background:?}");
    for pid in background.iter().chain([&server.pid()]) {
        assert_eq!(status(*pid, "Cpus_allowed_list"), others.to_string());
    }
    server.pin_sessions(&first).unwrap();
    let _session = open_session(&server);
    // It requested the password, so its process exists.
    let session = children(server.pid()).into_iter().find(|pid| !background.contains(pid)).unwrap();
    assert_eq!(status(session, "Cpus_allowed_list"), first.to_string());
    for pid in background {
        assert_eq!(status(pid, "Cpus_allowed_list"), others.to_string());
    }
    assert_eq!(CpuSet::online().unwrap(), online, "this program stays where it was");
}

#[test]
fn a_frozen_server_does_nothing_until_it_is_thawed_or_stopped() {
    for version in ["9.6", "18"] {
        let mut server = Scratch::start_with(version, without_autovacuum).unwrap();
        background(&server);
        let session = open_session(&server);
        let processes = [vec![server.pid()], children(server.pid())].concat();
        server.freeze().unwrap();
        for pid in &processes {
            assert!(status(*pid, "State").starts_with('T'), "{}", status(*pid, "Name"));
        }
        assert!(server.alive());
        let waiting = UnixStream::connect(server.endpoint().socket_dir.join(".s.PGSQL.5432")).unwrap();
        server.thaw();
        assert!(processes.iter().all(|pid| !status(*pid, "State").starts_with('T')));
        drop((session, waiting));
        drop(open_session(&server));
        server.freeze().unwrap();
        // A clean stop with its checkpoint, or `restart` fails: it kills a server that doesn't stop.
        server.restart().unwrap();
        server.freeze().unwrap();
        drop(server);
        for pid in processes {
            assert!(!Path::new(&format!("/proc/{pid}")).exists());
        }
    }
}

/// The memory control group of a process: directory and limit in bytes.
fn memory_group(pid: u32) -> Option<(String, u64)> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let path = |start: &str| groups.lines().find_map(|line| line.split_once(start)).map(|(_, path)| path);
    let limit = |dir: String, file: &str| {
        let bytes = fs::read_to_string(format!("{dir}/{file}")).ok()?.trim().parse().ok()?;
        Some((dir, bytes))
    };
    match path(":memory:") {
        Some(path) => limit(format!("/sys/fs/cgroup/memory{path}"), "memory.limit_in_bytes"),
        None => limit(format!("/sys/fs/cgroup{}", path("0::")?), "memory.max"),
    }
}

/// A library that allocates memory when loaded, once its process is in a group of rqps. How much of a
/// program's own memory counts, and how soon, differs between kernels.
fn memory_hog(dir: &Path, bytes: u64) -> String {
    let source = format!(
        r#"#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int is_limited(void) {{
    char groups[4096] = "";
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (file == NULL) return 0;
    groups[fread(groups, 1, sizeof groups - 1, file)] = 0;
    fclose(file);
    return strstr(groups, "/rqps-") != NULL;
}}
__attribute__((constructor)) static void take(void) {{
    while (!is_limited()) usleep(1000);
    char *taken = malloc({bytes});
    if (taken != NULL) memset(taken, 1, {bytes});
}}
"#
    );
    library(dir, "taker", &source)
}

#[test]
fn all_processes_of_a_server_share_a_limit_of_memory_that_goes_with_it() {
    const LIMIT: u64 = 700 << 20;
    const TOO_LITTLE: u64 = 16 << 20;
    for (dbms, version) in [(Dbms::Postgres, "18"), (Dbms::Mysql, "8.0")] {
        let (dir, mut spec) = Scratch::prepare_of(dbms, version).unwrap();
        spec.memory_bytes_max = Some(LIMIT);
        Server::init(&spec).unwrap();
        let server = match Server::start(&spec) {
            Ok(server) => server,
            // A host that cannot limit memory reports that, and no server runs without the limit.
            Err(Error::NoMemoryLimit { reason, .. }) => {
                println!("NOT RUN: a server's memory limit: {reason}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let (group, limit) = memory_group(server.pid()).unwrap();
        assert_eq!(limit, LIMIT);
        let members = if dbms == Dbms::Postgres { background(&server) } else { Vec::new() };
        assert_eq!(members.len() > 3, dbms == Dbms::Postgres, "{members:?}");
        for pid in members {
            assert_eq!(memory_group(pid).map(|(group, _)| group), Some(group.clone()));
        }
        assert_ne!(memory_group(std::process::id()).map(|(group, _)| group), Some(group.clone()));
        server.stop().unwrap();
        assert!(!Path::new(&group).exists(), "{group}");
        spec.memory_bytes_max = Some(TOO_LITTLE);
        spec.env = BTreeMap::from([("LD_PRELOAD".to_owned(), memory_hog(dir.path(), 8 * TOO_LITTLE))]);
        let error = Server::start(&spec).unwrap_err().to_string();
        assert!(error.contains("its memory limit, 16 MiB, is too small"), "{error}");
        assert!(!Path::new(&group).exists(), "{group}");
    }
}

/// Compiles C source to a library that everybody can read.
fn library(dir: &Path, name: &str, text: &str) -> String {
    let (source, library) = (dir.join(format!("{name}.c")), dir.join(format!("{name}.so")));
    fs::write(&source, text).unwrap();
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(built.success());
    library.to_str().unwrap().to_owned()
}

/// A library that does nothing.
fn shim(dir: &Path) -> String {
    library(dir, "shim", "int rqps_test_shim;\n")
}

#[test]
fn variables_reach_the_server_and_skipped_libraries_are_detected() {
    let (dir, mut spec) = Scratch::prepare("18").unwrap();
    let shim = shim(dir.path());
    let fake = dir.path().join("fake.so");
    fs::write(&fake, "not a library").unwrap();
    Server::init(&spec).unwrap();

    spec.env = BTreeMap::from([("LD_PRELOAD".to_owned(), format!("{shim}:{}", fake.display()))]);
    let error = Server::start(&spec).unwrap_err();
    assert!(matches!(&error, Error::NotPreloaded { library, .. } if *library == fake), "{error}");
    assert!(error.to_string().contains("file too short"), "{error}");

    spec.env = BTreeMap::from([("LD_PRELOAD".to_owned(), shim), ("DOSE".to_owned(), "7 %".to_owned())]);
    let server = Server::start(&spec).unwrap();
    let environment = fs::read(format!("/proc/{}/environ", server.pid())).unwrap();
    assert!(String::from_utf8_lossy(&environment).contains("\0DOSE=7 %\0"));
    server.stop().unwrap();
}

#[test]
fn valgrind_counts_each_session() {
    if instrument::available().is_none() {
        return;
    }
    for version in ["9.6", "18"] {
        let (dir, mut spec) = Scratch::prepare(version).unwrap();
        Server::init(&spec).unwrap();
        let counts_dir = dir.path().join("counts");
        spec.instrument = Some(Instrument::Valgrind { counts_dir: counts_dir.clone() });
        spec.env = BTreeMap::from([("LD_PRELOAD".to_owned(), shim(dir.path()))]);
        let started = Instant::now();
        let mut server = Server::start(&spec).unwrap();
        let start = started.elapsed();
        let session = Connection::connect(&by_socket(&server), "test").unwrap();
        let pid = session.backend_id();
        assert_eq!(instrument::instructions_of(&counts_dir, pid).unwrap(), None);
        server.freeze().unwrap();
        server.thaw();
        drop(session);
        let count = wait_for("the count", || instrument::instructions_of(&counts_dir, pid).unwrap());
        assert!(count > 100_000, "{count}");
        let main_pid = server.pid();
        server.stop().unwrap();
        let whole = instrument::instructions_of(&counts_dir, main_pid).unwrap().unwrap();
        eprintln!("{version}: started in {start:?}, {count} in the session, {whole} in the main process");
        assert!(whole > 1_000_000, "{whole}");
    }
}
