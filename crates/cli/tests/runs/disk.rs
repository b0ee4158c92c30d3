//! The data's disk is full: the run ends with a clear error, and can be resumed once there is space.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rqps_store::Status;
use rustix::process::Signal;

use crate::bench::{Bench, Ended, Running};

/// Enough for a fresh Postgres server, but not for its writes.
const DISK_MB: u32 = 110;
/// The same for MySQL.
const MYSQL_DISK_MB: u32 = 700;
/// File size limit without a small disk: a WAL segment fits, a table does not.
const FILE_KB_MAX: u32 = 20_000;

/// A small tmpfs, which requires root, in the mount namespace of `holder`; it is visible only to commands from
/// `lend`, and disappears with the holder.
pub struct SmallDisk {
    holder: Child,
    place: PathBuf,
}

impl SmallDisk {
    pub fn mount(bench: &Bench, size_mb: u32) -> Self {
        let place = bench.work();
        fs::create_dir(&place).unwrap();
        let mount = format!(
            "mount -t tmpfs -o size={size_mb}m,mode=755 none {} && echo ready && exec sleep 600",
            place.display()
        );
        let mut holder = Command::new("unshare")
            .args(["--mount", "sh", "-c", &mount])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 5];
        let stdout = holder.stdout.as_mut().unwrap();
        stdout.read_exact(&mut ready).unwrap();
        Self { holder, place }
    }

    /// A command that sees the disk.
    pub fn lend(&self, command: &Command) -> Command {
        let mut lent = Command::new("nsenter");
        lent.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id()))
            .arg("--")
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null());
        lent.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        lent
    }

    pub fn filler(&self) -> PathBuf {
        let place = self.place.strip_prefix("/").unwrap();
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(place).join("filler")
    }

    /// Keeps the disk full, also of space that servers free, until the run has ended. Pauses rqps until it is full,
    /// since a step might end before that on a busy machine.
    pub fn stays_full(&self, running: Running) -> Ended {
        let over = AtomicBool::new(false);
        let mut filler = File::options().create(true).append(true).open(self.filler()).unwrap();
        let megabyte = vec![0; 1 << 20];
        let mut fill = || while filler.write_all(&megabyte).is_ok() {};
        running.signal(Signal::STOP);
        fill();
        running.signal(Signal::CONT);
        let mut keep_full = || {
            while !over.load(Ordering::Relaxed) {
                fill();
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(&mut keep_full);
            let ended = running.end();
            over.store(true, Ordering::Relaxed);
            ended
        })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.holder.kill().unwrap();
        self.holder.wait().unwrap();
    }
}

#[track_caller]
pub fn expect_full(bench: &Bench, ended: Ended, words: &str) {
    let ended = ended.expect(3);
    let place = bench.work().display().to_string();
    for words in ["no space left for", &place, words, "rqps resume"] {
        assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
    }
    bench.expect_no_process();
    let run = bench.run();
    assert_eq!(run.status.status, Status::Failed);
    let reason = run.status.reason.unwrap();
    assert!(reason.contains("no space left"), "{reason}");
}

#[test]
fn a_full_disk_loses_nothing_but_the_step_in_hand() {
    let bench = Bench::new();
    if !rustix::process::geteuid().is_root() {
        too_large_a_file(&bench);
        return;
    }
    let disk = SmallDisk::mount(&bench, DISK_MB);
    let workload =
        "rows = 20_000\nwrite_seconds = 3\nsteps = [\"point-query\", \"update-index\", \"scan\"]\n";
    let plan = bench.plan("on_server_death = \"next-arm\"", workload, &["18", "18"]);
    let mut running = Running::of(disk.lend(&bench.rqps(&["run", plan.to_str().unwrap()])));
    running.expect_line(&["a ", "point-query"]);
    expect_full(&bench, disk.stays_full(running), "No space left on device");
    // Still no space: refused before anything is measured.
    let again = Running::of(disk.lend(&bench.rqps(&["resume"])));
    let refused = disk.stays_full(again).expect(2);
    assert!(refused.stderr.contains("of which 0 MB are free"), "{}", refused.stderr);
    fs::remove_file(disk.filler()).unwrap();
    Running::of(disk.lend(&bench.rqps(&["resume"]))).end().expect(0);
    drop(disk);
    bench.expect_complete(2);
}

/// Without space for its binary log, MySQL waits forever.
#[test]
fn a_server_that_waits_for_room_is_ended() {
    if !rustix::process::geteuid().is_root() {
        println!("NOT RUN: a full disk: a small one requires root");
        return;
    }
    let bench = Bench::new();
    let disk = SmallDisk::mount(&bench, MYSQL_DISK_MB);
    let workload = "rows = 20_000\nwrite_seconds = 3\nsteps = [\"point-query\", \"update-index\"]\n";
    let plan = bench.plan("", workload, &["mysql-8.0.31"]);
    let mut running = Running::of(disk.lend(&bench.rqps(&["run", plan.to_str().unwrap()])));
    running.expect_line(&["a ", "point-query"]);
    expect_full(&bench, disk.stays_full(running), "Waiting for someone to free space");
    fs::remove_file(disk.filler()).unwrap();
    Running::of(disk.lend(&bench.rqps(&["resume"]))).end().expect(0);
    drop(disk);
    bench.expect_complete(1);
}

/// Makes writes fail without root: by a limit on file sizes.
fn too_large_a_file(bench: &Bench) {
    let workload = "rows = 100_000\nsteps = [\"point-query\"]\n";
    let plan = bench.plan("", workload, &["18"]);
    let run = bench.rqps(&["run", plan.to_str().unwrap()]);
    let mut limited = Command::new("bash");
    limited
        .args(["-c", &format!("ulimit -f {FILE_KB_MAX} && exec \"$@\""), "bash"])
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(bench.path())
        .stdin(Stdio::null());
    limited.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    expect_full(bench, Running::of(limited).end(), "File too large");
    bench.call(&["resume"]).expect(0);
    bench.expect_complete(1);
}

#[test]
fn a_limit_on_files_is_told_like_a_full_disk() {
    too_large_a_file(&Bench::new());
}
