//! The dose library in real servers: each dose has its effect, and dose 0 has none.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use rqps_calibrate::shim;
use rqps_servers::testing::{Scratch, by_socket};
use rqps_wire::postgres::Connection;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

const MESSAGES: u32 = 2_000;

/// A directory with the library that the server's user can read.
fn place() -> TempDir {
    let place = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
    shim::write_to(place.path()).unwrap();
    place
}

fn dosed(version: &str, place: &Path, doses: &[(&str, &str)]) -> rqps_servers::Result<Scratch> {
    let mut env =
        BTreeMap::from([("LD_PRELOAD", place.join("librqps_dose.so").to_string_lossy().into_owned())]);
    env.extend(doses.iter().map(|(name, value)| (*name, (*value).to_owned())));
    Scratch::start_with(version, |spec| {
        spec.env = env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    })
}

/// Resources used by [`MESSAGES`] queries of one session.
struct Usage {
    cpu_us: f64,
    wall_us: f64,
    wal_bytes: f64,
    wal_fsyncs: Option<f64>,
}

fn measure(server: &Scratch) -> Usage {
    let endpoint = by_socket(server);
    let mut monitor = Connection::connect(&endpoint, "monitor").unwrap();
    let mut session = Connection::connect(&endpoint, "session").unwrap();
    let version = session.server_version_num();
    let number = |connection: &mut Connection, sql: &str| -> f64 {
        connection.query(sql).unwrap().value().unwrap().parse().unwrap()
    };
    let position = if version >= 100_000 {
        "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
    } else {
        "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')"
    };
    // Excludes those of the WAL writer, which depend on time.
    let fsyncs =
        "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal' AND backend_type = 'client backend'";
    let pid = number(&mut session, "SELECT pg_backend_pid()");
    let cpu_us = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1000.0
    };
    let wal_before = number(&mut monitor, position);
    let fsyncs_before = (version >= 180_000).then(|| number(&mut monitor, fsyncs));
    let (cpu_before, began) = (cpu_us(), Instant::now());
    for _ in 0..MESSAGES {
        session.query("SELECT 1").unwrap();
    }
    let (wall_us, cpu_us) = (began.elapsed().as_secs_f64() * 1e6, cpu_us() - cpu_before);
    let wal_bytes = number(&mut monitor, position) - wal_before;
    // A session reports its statistics when it ends.
    drop(session);
    let mut wal_fsyncs = None;
    if let Some(before) = fsyncs_before {
        let gone = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
        while number(&mut monitor, &gone) > 0.0 {}
        wal_fsyncs = Some(number(&mut monitor, fsyncs) - before);
    }
    Usage { cpu_us, wall_us, wal_bytes, wal_fsyncs }
}

#[test]
fn each_dose_has_only_its_effect() {
    let place = place();
    for version in ["18", "9.6"] {
        let none = measure(&dosed(version, place.path(), &[("RQPS_DOSE_SPIN", "0")]).unwrap());
        assert!(none.wal_bytes < 1e5, "{version}: {} bytes of log without a dose", none.wal_bytes);

        // 400,000 dependent multiplications take 1,200,000 cycles or more: at least 200 microseconds. A busy host makes
        // a message without a dose more expensive by some tens of them.
        let spun = measure(&dosed(version, place.path(), &[("RQPS_DOSE_SPIN", "400000")]).unwrap());
        let more_us = (spun.cpu_us - none.cpu_us) / f64::from(MESSAGES);
        assert!(more_us > 100.0, "{version}: {more_us} us of CPU more per message");

        let file = place.path().join("dose");
        std::fs::write(&file, "RQPS_DOSE_SLEEP_US=500\nRQPS_DOSE_WAL_BYTES=1000\nRQPS_DOSE_FSYNC_EVERY=20\n")
            .unwrap();
        let from_file = [("RQPS_DOSE_FILE", file.to_str().unwrap()), ("RQPS_DOSE_SPIN", "4000000")];
        let waited = measure(&dosed(version, place.path(), &from_file).unwrap());
        let waits_us = (waited.wall_us - waited.cpu_us) / f64::from(MESSAGES);
        assert!(waits_us > 500.0, "{version}: {waits_us} us without CPU per message");
        let cpu_us = waited.cpu_us / f64::from(MESSAGES);
        assert!(
            cpu_us < 1000.0,
            "{version}: {cpu_us} us of CPU: the variable beside the file must not count"
        );
        let wal = waited.wal_bytes / f64::from(MESSAGES);
        assert!((1000.0..1200.0).contains(&wal), "{version}: {wal} bytes of log per message");
        if let (Some(without), Some(with)) = (none.wal_fsyncs, waited.wal_fsyncs) {
            let more = (with - without) / f64::from(MESSAGES / 20);
            assert!((0.9..1.2).contains(&more), "{version}: {more} writes to the disk where 1 is due");
        }
    }
}

#[test]
fn unreadable_doses_stop_the_server() {
    let place = place();
    for (name, value) in [("RQPS_DOSE_SPIN", "many"), ("RQPS_DOSE_FILE", "/nowhere/dose")] {
        let error = dosed("18", place.path(), &[(name, value)]).err().unwrap().to_string();
        assert!(error.contains("dose: ") && error.contains(name), "{error}");
    }
}
