//! Compares the host's figures with vmstat under load. Both read monotonic counters: the difference of two calls of
//! vmstat is at least the cost of a window between the calls, and at most that of a window around them.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

mod conditions;

use std::process::{Child, Command, Stdio};

use conditions::until;
use rqps_probe::{DeviceCost, DiskTotals, ServerTarget, WindowCost, WindowProbe, WorkIn};

/// Length of the inner window.
const WINDOW: std::time::Duration = std::time::Duration::from_secs(2);
/// vmstat's unit of CPU time: Linux reports 100 ticks per second to programs, whatever its own rate.
const TICK_US: u64 = 10_000;
/// Tolerance for iowait, which kernels only estimate.
const ESTIMATE_US: u64 = 200_000;

/// A process that is killed and waited for on drop.
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

/// Counters since boot, from vmstat.
struct Vmstat {
    /// Lines such as `8699243 CPU context switches`.
    sums: String,
    /// One line per disk: name, four figures of reads, four of writes.
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
        let figure = |name: &&str| -> u64 {
            let line = self.sums.lines().find_map(|line| {
                let (figure, label) = line.trim().split_once(' ')?;
                (label == *name).then_some(figure)
            });
            line.unwrap_or_else(|| panic!("no {name} in {}", self.sums)).parse().unwrap()
        };
        names.iter().map(figure).sum()
    }

    /// Writes and sectors written.
    fn writes(&self, disk: &str) -> Option<(u64, u64)> {
        let line = self.disks.lines().find(|line| line.split_whitespace().next() == Some(disk))?;
        let figure = |column: usize| line.split_whitespace().nth(column).unwrap().parse().unwrap();
        Some((figure(5), figure(7)))
    }
}

/// Asserts that vmstat's figure lies between those of the two windows.
fn assert_between(what: &str, inner: u64, vmstat: u64, outer: u64) {
    assert!(
        inner <= vmstat && vmstat <= outer,
        "{what}: {inner} in the inner window, {vmstat} by vmstat, {outer} in the outer window"
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
    let device = rqps_probe::device_of(folder.path());
    check_disks(&inner, &outer, &before, &after, device.is_some());
    if let Some(name) = device {
        let devices = &inner.host.devices;
        assert!(devices.iter().any(|device| device.name == name), "{name} is not in {devices:?}");
    }
}

fn check_sums(inner: &WindowCost, outer: &WindowCost, before: &Vmstat, after: &Vmstat) {
    let vmstat = |names: &[&str]| after.sum(names) - before.sum(names);
    let (inner, outer) = (&inner.host, &outer.host);
    let user = ["non-nice user cpu ticks", "nice user cpu ticks"];
    assert_between("user time", inner.cpu.user_us, TICK_US * vmstat(&user), outer.cpu.user_us);
    let system = ["system cpu ticks", "IRQ cpu ticks", "softirq cpu ticks"];
    assert_between("system time", inner.cpu.system_us, TICK_US * vmstat(&system), outer.cpu.system_us);
    let steal_us = TICK_US * vmstat(&["stolen cpu ticks"]);
    assert_between("stolen time", inner.cpu.steal_us, steal_us, outer.cpu.steal_us);
    let waited = |vmstat: &Vmstat| TICK_US * vmstat.sum(&["IO-wait cpu ticks"]);
    let waited_us = waited(after).saturating_sub(waited(before));
    let tolerance_us = u64::from(inner.cpus) * ESTIMATE_US;
    let least_us = inner.cpu.iowait_us.saturating_sub(tolerance_us);
    assert_between("iowait", least_us, waited_us, outer.cpu.iowait_us + tolerance_us);
    let switches = vmstat(&["CPU context switches"]);
    assert_between("context switches", inner.context_switches, switches, outer.context_switches);
    assert_between("forks", inner.forks, vmstat(&["forks"]), outer.forks);
    assert!(inner.cpu.user_us > 0 && inner.context_switches > 0, "the spinner did not run: {inner:?}");
}

fn check_disks(inner: &WindowCost, outer: &WindowCost, before: &Vmstat, after: &Vmstat, is_on_disk: bool) {
    let mut written = 0;
    let used = |device: &&DeviceCost| device.is_whole_disk() && device.totals != DiskTotals::default();
    for device in inner.host.devices.iter().filter(used) {
        let around = outer.host.devices.iter().find(|other| other.name == device.name).unwrap();
        let (Some(before), Some(after)) = (before.writes(&device.name), after.writes(&device.name)) else {
            panic!("vmstat does not list {}", device.name);
        };
        let (inside, around) = (&device.totals, &around.totals);
        assert_between("writes", inside.writes, after.0 - before.0, around.writes);
        let sectors = |kb: f64| (kb * 2.0) as u64;
        let (least, most) = (sectors(inside.write_kb), sectors(around.write_kb));
        assert_between("sectors written", least, after.1 - before.1, most);
        written += u32::from(inside.writes > 0);
        assert!(inner.host.disks().writes >= inside.writes);
    }
    // On a file system without a disk (an overlay, a tmpfs) there is nothing to compare.
    assert!(written > 0 || !is_on_disk, "no disk was written: {:?}", inner.host.devices);
}
