//! The host's figures against vmstat, under a real load. Both read counters that only grow: what vmstat sees added
//! between two calls is at least what a window between the calls costs, and at most what a window around them costs.
//! The two windows differ by what the calls take, however busy the machine is.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod conditions;

use std::process::{Child, Command, Stdio};

use conditions::until;
use rqps_probe::{DeviceCost, DiskTotals, ServerTarget, WindowCost, WindowProbe, WorkIn};

/// How long the inner window is.
const WINDOW: std::time::Duration = std::time::Duration::from_secs(2);
/// A tick, in which vmstat tells CPU time: Linux shows programs 100 a second, whatever it works with.
const TICK_US: u64 = 10_000;
/// Time waiting for disks is no counter: kernels estimate it.
const ESTIMATE_US: u64 = 200_000;

/// A process that is killed and waited for when the test ends, however it ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(script: &str) -> Running {
    let command = Command::new("sh").args(["-c", script]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Running(command.unwrap())
}

/// Counters since boot, as vmstat tells them.
struct Vmstat {
    /// Lines such as `8699243 CPU context switches`.
    sums: String,
    /// One line for each disk: name, then four figures of reads and four of writes.
    disks: String,
}

impl Vmstat {
    fn call() -> Self {
        let output = |option: &str| {
            let output = Command::new("vmstat").arg(option).env("LC_ALL", "C").output();
            let output = output.unwrap_or_else(|error| panic!("vmstat: {error}; install the package procps"));
            String::from_utf8(output.stdout).unwrap()
        };
        Vmstat { sums: output("-s"), disks: output("-d") }
    }

    fn sum(&self, names: &[&str]) -> u64 {
        let of = |name: &&str| -> u64 {
            let line = self.sums.lines().find_map(|line| {
                let (figure, its_name) = line.trim().split_once(' ')?;
                (its_name == *name).then_some(figure)
            });
            line.unwrap_or_else(|| panic!("no {name} in {}", self.sums)).parse().unwrap()
        };
        names.iter().map(of).sum()
    }

    /// Writes and sectors written.
    fn writes(&self, disk: &str) -> Option<(u64, u64)> {
        let line = self.disks.lines().find(|line| line.split_whitespace().next() == Some(disk))?;
        let figure = |column: usize| line.split_whitespace().nth(column).unwrap().parse().unwrap();
        Some((figure(5), figure(7)))
    }
}

/// Fails unless what vmstat saw lies between the two windows.
fn assert_between(what: &str, inner: u64, theirs: u64, outer: u64) {
    assert!(
        inner <= theirs && theirs <= outer,
        "{what}: {inner} in the inner window, {theirs} by vmstat, {outer} in the outer window"
    );
}

#[test]
fn windows_agree_with_vmstat() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("written");
    let write = format!(
        "while :; do dd if=/dev/zero of={} bs=64k count=512 oflag=direct conv=notrunc; done",
        file.display()
    );
    let _writer = shell(&write);
    let _spinner = shell("while :; do :; done");
    until("something written", || file.exists().then_some(()));

    let server = ServerTarget { pid: std::process::id(), work_in: WorkIn::Processes };
    let probe = WindowProbe::new(server, Vec::new(), None);
    let outer = probe.begin().unwrap();
    let before = Vmstat::call();
    let inner = probe.begin().unwrap();
    std::thread::sleep(WINDOW);
    let inner = probe.end(&inner).unwrap();
    let after = Vmstat::call();
    let outer = probe.end(&outer).unwrap();

    check_sums(&inner, &outer, &before, &after);
    let is_on_disk = rqps_probe::device_of(folder.path());
    check_disks(&inner, &outer, &before, &after, is_on_disk.is_some());
    if let Some(name) = is_on_disk {
        let devices = &inner.host.devices;
        assert!(devices.iter().any(|device| device.name == name), "{name} is not in {devices:?}");
    }
}

fn check_sums(inner: &WindowCost, outer: &WindowCost, before: &Vmstat, after: &Vmstat) {
    let theirs = |names: &[&str]| after.sum(names) - before.sum(names);
    let (ours, all) = (&inner.host, &outer.host);
    let user = ["non-nice user cpu ticks", "nice user cpu ticks"];
    assert_between("user time", ours.cpu.user_us, TICK_US * theirs(&user), all.cpu.user_us);
    let system = ["system cpu ticks", "IRQ cpu ticks", "softirq cpu ticks"];
    assert_between("system time", ours.cpu.system_us, TICK_US * theirs(&system), all.cpu.system_us);
    assert_between(
        "stolen time",
        ours.cpu.steal_us,
        TICK_US * theirs(&["stolen cpu ticks"]),
        all.cpu.steal_us,
    );
    let waited = |vmstat: &Vmstat| TICK_US * vmstat.sum(&["IO-wait cpu ticks"]);
    let waited_us = waited(after).saturating_sub(waited(before));
    let cpus = u64::from(ours.cpus);
    let most_us = all.cpu.iowait_us + cpus * ESTIMATE_US;
    assert_between(
        "disks waited for",
        ours.cpu.iowait_us.saturating_sub(cpus * ESTIMATE_US),
        waited_us,
        most_us,
    );
    assert_between(
        "context switches",
        ours.context_switches,
        theirs(&["CPU context switches"]),
        all.context_switches,
    );
    assert_between("forks", ours.forks, theirs(&["forks"]), all.forks);
    assert!(ours.cpu.user_us > 0 && ours.context_switches > 0, "a spinner spins: {ours:?}");
}

fn check_disks(inner: &WindowCost, outer: &WindowCost, before: &Vmstat, after: &Vmstat, is_on_disk: bool) {
    let mut written = 0;
    let used = |device: &&DeviceCost| device.is_whole_disk() && device.totals != DiskTotals::default();
    for device in inner.host.devices.iter().filter(used) {
        let around = outer.host.devices.iter().find(|other| other.name == device.name).unwrap();
        let (Some(before), Some(after)) = (before.writes(&device.name), after.writes(&device.name)) else {
            panic!("vmstat does not know {}", device.name);
        };
        let (ours, all) = (&device.totals, &around.totals);
        assert_between("writes", ours.writes, after.0 - before.0, all.writes);
        let sectors = |kb: f64| (kb * 2.0) as u64;
        assert_between("sectors written", sectors(ours.write_kb), after.1 - before.1, sectors(all.write_kb));
        written += u32::from(ours.writes > 0);
        assert!(inner.host.disks().writes >= ours.writes);
    }
    // On a file system without a disk (an overlay, a tmpfs) there is nothing to compare.
    assert!(written > 0 || !is_on_disk, "no disk was written to: {:?}", inner.host.devices);
}
