//! A directory to run rqps in: plans, results, data, and the processes that use it.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rqps_builds::Dirs;
use rqps_model::Dbms;
use rqps_store::{Outcome, Run, RunFolder};
use rustix::process::{Pid, Signal, kill_process};

/// Time limit of a single rqps process and of waiting for a condition, long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(1200);

/// A config that fits any machine. Commits do not wait for the disk, so a crash can lose some.
const CONFIG: &str =
    "shared_buffers = 32MB\nmax_wal_size = 256MB\nmin_wal_size = 80MB\nsynchronous_commit = off\n";

/// The same for MySQL and MariaDB: commits are written to the kernel once per second. Binary logs are on, and few pages
/// are flushed without need.
const MYSQL_CONFIG: &str = "[mysqld]\ninnodb_buffer_pool_size = 32M\ninnodb_flush_log_at_trx_commit = 0\nlog_bin\n\
    server_id = 1\nsync_binlog = 0\ninnodb_max_dirty_pages_pct = 80\ninnodb_max_dirty_pages_pct_lwm = 70\n";

/// The exact version of a series, `18.6` for `18`: the newest in the cache, so that the registry is used at most once.
pub fn exact_version(series: &str) -> String {
    static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    if let Some(version) = known.get(series) {
        return version.clone();
    }
    let dirs = Dirs::from_env();
    let prefix = format!("{series}.");
    let builds = rqps_builds::list_builds(&dirs).unwrap().into_iter();
    let mut cached = builds.filter(|build| build.dbms == Dbms::Postgres);
    let build = cached.find(|build| build.version.starts_with(&prefix));
    let build = build.unwrap_or_else(|| rqps_builds::install(&dirs, Dbms::Postgres, series).unwrap());
    known.insert(series.to_owned(), build.version.clone());
    build.version
}

/// A published version of a series that is not in the cache.
pub fn version_not_here(series: &str) -> String {
    let builds = rqps_builds::list_builds(&Dirs::from_env()).unwrap();
    let mut versions = (0..).map(|minor| format!("{series}.{minor}"));
    versions.find(|version| builds.iter().all(|build| build.version != *version)).unwrap()
}

/// The temporary directory.
pub struct Bench {
    dir: tempfile::TempDir,
}

/// Exit status and output of an rqps process.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The exit code; `None` if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }
}

impl Bench {
    /// A temporary directory with the configs `small.conf` and `small.cnf`.
    pub fn new() -> Self {
        Self::at(&std::env::temp_dir())
    }

    /// A directory on a disk: the temporary directory may be in memory.
    pub fn on_disk() -> Self {
        Self::at(Path::new("/var/tmp"))
    }

    fn at(place: &Path) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("rqps-runs-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(place)
            .unwrap();
        fs::write(dir.path().join("small.conf"), CONFIG).unwrap();
        fs::write(dir.path().join("small.cnf"), MYSQL_CONFIG).unwrap();
        Self { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub fn results(&self) -> PathBuf {
        self.path().join("results")
    }

    /// Writes `plan.toml`: one arm per series of Postgres (`a`, `b`, …, the first is base) with `small.conf`, or per
    /// build of another DBMS (`mysql-8.0.31`) with `small.cnf`. `top` goes before `[workload]`, `workload` into it;
    /// the defaults are one table of 2,000 rows and windows of one second.
    pub fn plan(&self, top: &str, workload: &str, series: &[&str]) -> PathBuf {
        let mut defaults = vec![
            ("tables", "1"),
            ("rows", "2_000"),
            ("clients", "1"),
            ("read_seconds", "1"),
            ("write_seconds", "1"),
            ("warmup_seconds", "0"),
            ("settle_seconds_max", "5"),
        ];
        let has_key = |name: &str| workload.lines().any(|line| line.trim_start().starts_with(name));
        defaults.retain(|(name, _)| !has_key(name));
        let mut text = format!("name = \"t\"\nbase = \"a\"\nseed = 7\n{top}\n[workload]\n");
        for (name, value) in defaults {
            text.push_str(&format!("{name} = {value}\n"));
        }
        text.push_str(workload);
        for (name, series) in ('a'..).zip(series) {
            let (build, config) = match series.contains('-') {
                true => ((*series).to_owned(), "./small.cnf"),
                false => (format!("postgres-{}", exact_version(series)), "./small.conf"),
            };
            let arm = format!("\n[[arm]]\nname = \"{name}\"\nbuild = \"{build}\"\nconfig = \"{config}\"\n");
            text.push_str(&arm);
        }
        self.plan_text(&text)
    }

    /// Writes `plan.toml` with this text. Measuring the host takes as long as many a test's whole run, so it is left
    /// out unless the text says otherwise.
    pub fn plan_text(&self, text: &str) -> PathBuf {
        let certificate = if text.contains("certificate") { "" } else { "certificate = false\n" };
        self.exact_plan_text(&format!("{certificate}{text}"))
    }

    /// Writes `plan.toml` with this text alone.
    pub fn exact_plan_text(&self, text: &str) -> PathBuf {
        let path = self.path().join("plan.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// An rqps command in this directory.
    pub fn rqps(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rqps"));
        command
            .arg("--results")
            .arg(self.results())
            .args(arguments)
            .env("RQPS_WORK", self.work())
            .env_remove("COLUMNS")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs rqps and waits for its end.
    pub fn call(&self, arguments: &[&str]) -> Ended {
        Running::of(self.rqps(arguments)).end()
    }

    /// Starts rqps.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::of(self.rqps(arguments))
    }

    /// The run folders, oldest first.
    pub fn folders(&self) -> Vec<PathBuf> {
        let runs = RunFolder::list(&self.results()).unwrap();
        runs.iter().map(|run| run.folder.path().to_owned()).collect()
    }

    /// The only run folder.
    #[track_caller]
    pub fn folder(&self) -> PathBuf {
        let mut folders = self.folders();
        assert_eq!(folders.len(), 1, "{folders:?}");
        folders.remove(0)
    }

    /// The only run.
    #[track_caller]
    pub fn run(&self) -> Run {
        RunFolder::open(&self.folder()).unwrap()
    }

    /// Processes with this working directory, or with its path in their arguments: pid and arguments.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let here = self.path().to_string_lossy().into_owned();
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut found = Vec::new();
        for pid in pids {
            let proc = PathBuf::from(format!("/proc/{pid}"));
            let arguments = fs::read(proc.join("cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
            let cwd = fs::read_link(proc.join("cwd")).unwrap_or_default();
            let is_zombie = arguments.is_empty();
            if !is_zombie && (arguments.contains(&here) || cwd.to_string_lossy().contains(&here)) {
                found.push((pid, arguments));
            }
        }
        found
    }

    /// The main process of the running server; `None` until it has written its pid.
    pub fn postmaster(&self) -> Option<u32> {
        let runs = fs::read_dir(self.work()).ok()?.flatten();
        let arms = runs.flat_map(|run| fs::read_dir(run.path()).into_iter().flatten().flatten());
        let pids = arms.filter_map(|arm| {
            let file = arm.path().join("data/postmaster.pid");
            fs::read_to_string(file).ok()?.lines().next()?.parse().ok()
        });
        pids.last()
    }

    /// Waits until no process uses this directory any more.
    #[track_caller]
    pub fn expect_no_process(&self) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.processes().is_empty() {
            assert!(Instant::now() < deadline, "still running: {:#?}", self.processes());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asserts that the run is complete with every action once and valid, repeated at most `cuts` times, and that its
    /// data and processes are gone.
    #[track_caller]
    pub fn expect_complete(&self, cuts: u32) {
        let run = self.run();
        assert_eq!(run.status.status, rqps_store::Status::Complete, "{:?}", run.status);
        let seqs: Vec<u32> = run.actions.iter().map(|action| action.seq).collect();
        let all: Vec<u32> = (0..run.meta.actions_total).collect();
        assert_eq!(seqs, all, "{:#?}", run.actions);
        for action in &run.actions {
            assert_eq!(action.outcome, Outcome::Done, "{action:?}");
        }
        for arm in &run.arms {
            let windows = run.windows.iter().filter(|w| w.action.arm == arm.name);
            let measured: Vec<&str> = windows.map(|w| w.action.step.as_str()).collect();
            let planned = run.steps.iter().filter(|step| step.kind == "measure");
            let planned: Vec<&str> = planned.map(|step| step.name.as_str()).collect();
            assert_eq!(measured, planned, "arm {}", arm.name);
        }
        let repeats: u32 = run.actions.iter().map(|action| action.attempt - 1).sum();
        assert!(repeats <= cuts, "{repeats} repeats after {cuts} cuts");
        let report = self.call(&["report"]).expect(0).stdout;
        assert_eq!(report.contains("repeated"), repeats > 0, "{report}");
        let left: Vec<_> = fs::read_dir(self.work()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        self.expect_no_process();
    }
}

/// Waits until `value` returns a value, and returns it.
#[track_caller]
pub fn wait_for<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(Instant::now() < deadline, "timeout: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A running rqps process.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    stderr: String,
}

impl Running {
    /// Starts a command and collects its standard error, line by line.
    pub fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = read_lines(child.stderr.take().unwrap());
        Self { child, lines, stderr: String::new() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on standard error that contains all these words.
    #[track_caller]
    pub fn expect_line(&mut self, words: &[&str]) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.keep(&line);
                    if words.iter().all(|word| line.contains(word)) {
                        return;
                    }
                }
                Err(_) => panic!("timeout: a line with {words:?} in\n{}", self.stderr),
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        let status = self.child.wait().unwrap();
        assert!(status.signal() == Some(9) || status.success(), "{status}");
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let mut stdout = self.child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || std::io::read_to_string(&mut stdout).unwrap());
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok(line) => self.keep(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() > deadline {
                self.signal(Signal::KILL);
                panic!("timeout:\n{}", self.stderr);
            }
        }
        Ended { status: self.child.wait().unwrap(), stdout: reader.join().unwrap(), stderr: self.stderr }
    }

    fn keep(&mut self, line: &str) {
        self.stderr.push_str(line);
        self.stderr.push('\n');
    }
}

fn read_lines(stderr: ChildStderr) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Sends a signal to a process of this test.
pub fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}
