//! The host's figures against vmstat and iostat over the same window, under a real load.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use std::io::Read;
use std::process::{Child, Command, Stdio};

use rqps_probe::{ServerTarget, WindowCost, WindowProbe, WorkIn};

const SECONDS: u32 = 4;
/// vmstat prints whole percents of each second, and starts and ends some milliseconds beside the window.
const CPU_TOLERANCE_POINTS: f64 = 3.0;
const COUNT_TOLERANCE: f64 = 0.08;

/// A process that is killed and waited for when the test ends, however it ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(program: &str, args: &[&str]) -> Running {
    let command = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    Running(
        command.unwrap_or_else(|error| panic!("{program}: {error}; install the packages procps and sysstat")),
    )
}

fn output(mut running: Running) -> String {
    let mut text = String::new();
    running.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    running.0.wait().unwrap();
    text
}

/// The numbers below `name` in a table whose header is the line that holds `mark`, one for each line of numbers.
fn column(text: &str, mark: &str, name: &str) -> Vec<f64> {
    let header: Vec<&str> =
        text.lines().find(|line| line.contains(mark)).unwrap().split_whitespace().collect();
    let at = header.iter().position(|column| *column == name).unwrap();
    let rows = text.lines().filter_map(|line| line.split_whitespace().nth(at)?.parse().ok());
    rows.collect()
}

fn assert_close(what: &str, ours: f64, theirs: f64) {
    let far = (ours - theirs).abs() / theirs.max(1.0);
    assert!(far <= COUNT_TOLERANCE, "{what}: {ours} by us, {theirs} by them ({:.1} % apart)", far * 100.0);
}

#[test]
fn window_agrees_with_vmstat_and_iostat() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("written");
    let write = format!(
        "while :; do dd if=/dev/zero of={} bs=64k count=512 oflag=direct conv=notrunc; done",
        file.display()
    );
    let _writer = start("sh", &["-c", &write]);
    let _spinner = start("sh", &["-c", "while :; do :; done"]);
    std::thread::sleep(std::time::Duration::from_millis(500));

    let server = ServerTarget { pid: std::process::id(), work_in: WorkIn::Processes };
    let probe = WindowProbe::new(server, Vec::new(), None);
    let vmstat = start("vmstat", &["-n", "1", &(SECONDS + 1).to_string()]);
    let iostat = start("iostat", &["-y", "-kx", "1", &SECONDS.to_string()]);
    let begin = probe.begin().unwrap();
    let (vmstat, iostat) = (output(vmstat), output(iostat));
    let cost = probe.end(&begin).unwrap();

    check_vmstat(&cost, &vmstat);
    check_iostat(&cost, &iostat);
    let data_disk = rqps_probe::device_of(folder.path());
    if let Some(name) = data_disk {
        assert!(
            cost.host.devices.iter().any(|device| device.name == name),
            "{name} is not in {:?}",
            cost.host.devices
        );
    }
}

fn check_vmstat(cost: &WindowCost, text: &str) {
    let seconds = f64::from(SECONDS);
    // The first line is the mean since boot.
    let of = |name: &str| column(text, "swpd", name).split_off(1);
    let mean = |name: &str| of(name).iter().sum::<f64>() / seconds;
    assert_eq!(of("cs").len(), SECONDS as usize, "{text}");
    let ours = |us: u64| us as f64 / cost.elapsed_us as f64 / f64::from(cost.host.cpus) * 100.0;
    for (name, us) in [("us", cost.host.user_us), ("sy", cost.host.system_us), ("wa", cost.host.iowait_us)] {
        let apart = (ours(us) - mean(name)).abs();
        assert!(
            apart <= CPU_TOLERANCE_POINTS,
            "{name}: {:.1} % by us, {:.1} % by vmstat",
            ours(us),
            mean(name)
        );
    }
    let per_second = cost.host.context_switches as f64 / (cost.elapsed_us as f64 / 1e6);
    assert_close("context switches per second", per_second, mean("cs"));
}

fn check_iostat(cost: &WindowCost, text: &str) {
    let mut rows = 0;
    for device in cost.host.devices.iter().filter(|device| device.whole_disk) {
        let header = text.lines().find(|line| line.starts_with("Device")).unwrap();
        let lines = text.lines().filter(|line| line.split_whitespace().next() == Some(device.name.as_str()));
        let table = std::iter::once(header).chain(lines).collect::<Vec<_>>().join("\n");
        let per_second = |name: &str| column(&table, "Device", name).iter().sum::<f64>() / f64::from(SECONDS);
        let seconds = cost.elapsed_us as f64 / 1e6;
        if device.totals.writes > 100 {
            rows += 1;
            assert_close("writes per second", device.totals.writes as f64 / seconds, per_second("w/s"));
            assert_close("KB written per second", device.totals.write_kb / seconds, per_second("wkB/s"));
        }
    }
    // On a file system without a disk (an overlay, a tmpfs) there is nothing to compare.
    let on_disk = rqps_probe::device_of(std::path::Path::new("/var/tmp")).is_some();
    assert!(rows > 0 || !on_disk, "no disk was written to:\n{text}");
    assert!(
        cost.host.disks.writes
            >= cost.host.devices.iter().filter(|d| d.whole_disk).map(|d| d.totals.writes).max().unwrap_or(0)
    );
}
