//! A directory to run rqps in: plans, results, data, and a look at the processes that belong to it.

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

/// Longest that any one rqps of a test may take, and longest wait for what has to come: a machine that does much else
/// takes its time.
const PATIENCE: Duration = Duration::from_secs(1200);

/// A config that fits any machine. Commits don't wait for the disk, so that a crash could lose some.
const CONFIG: &str =
    "shared_buffers = 32MB\nmax_wal_size = 256MB\nmin_wal_size = 80MB\nsynchronous_commit = off\n";

/// The same for MySQL and MariaDB: what is committed is with the kernel once a second. Binary logs are written, and
/// little is flushed unless somebody asks for it.
const MYSQL_CONFIG: &str = "[mysqld]\ninnodb_buffer_pool_size = 32M\ninnodb_flush_log_at_trx_commit = 0\nlog_bin\n\
    server_id = 1\nsync_binlog = 0\ninnodb_max_dirty_pages_pct = 80\ninnodb_max_dirty_pages_pct_lwm = 70\n";

/// The exact version of a series, `18.6` for `18`: the newest in the cache, so that the registry is asked once at most.
pub fn exact_version(series: &str) -> String {
    static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    if let Some(version) = known.get(series) {
        return version.clone();
    }
    let dirs = Dirs::from_env();
    let of_series = format!("{series}.");
    let builds = rqps_builds::list_builds(&dirs).unwrap().into_iter();
    let mut cached = builds.filter(|build| build.dbms == Dbms::Postgres);
    let build = cached.find(|build| build.version.starts_with(&of_series));
    let build = build.unwrap_or_else(|| rqps_builds::install(&dirs, Dbms::Postgres, series).unwrap());
    known.insert(series.to_owned(), build.version.clone());
    build.version
}

/// The directory.
pub struct Bench {
    dir: tempfile::TempDir,
}

/// How an rqps ended, and what it said.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Its exit code; none when a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Fails unless it ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }
}

impl Bench {
    /// An empty one, with configs `small.conf` and `small.cnf`.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("rqps-runs-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
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

    /// Writes `plan.toml`: one arm for each series of Postgres (`a`, `b`, …, the first is base) with `small.conf`, or
    /// for each build of another DBMS (`mysql-8.0.31`) with `small.cnf`. `top` goes before `[workload]`, `workload`
    /// into it; one table of 2,000 rows, one second a window, unless it says otherwise.
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
        let said = |name: &str| workload.lines().any(|line| line.trim_start().starts_with(name));
        defaults.retain(|(name, _)| !said(name));
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

    /// Writes a whole `plan.toml`.
    pub fn plan_text(&self, text: &str) -> PathBuf {
        let path = self.path().join("plan.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// An rqps that works here.
    pub fn rqps(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rqps"));
        command
            .arg("--results")
            .arg(self.results())
            .args(arguments)
            .env("RQPS_WORK", self.work())
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs rqps to its end.
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

    /// Processes that work in this directory or name it in their arguments, as pid and arguments.
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

    /// The main process of the server that runs here, once there is one that has written its pid.
    pub fn postmaster(&self) -> Option<u32> {
        let runs = fs::read_dir(self.work()).ok()?.flatten();
        let arms = runs.flat_map(|run| fs::read_dir(run.path()).into_iter().flatten().flatten());
        let pids = arms.filter_map(|arm| {
            let file = arm.path().join("data/postmaster.pid");
            fs::read_to_string(file).ok()?.lines().next()?.parse().ok()
        });
        pids.last()
    }

    /// Waits until no process works here any more.
    #[track_caller]
    pub fn expect_no_process(&self) {
        wait_for("the end of all processes", || self.processes().is_empty().then_some(()));
    }

    /// Fails unless the run is complete and every action is in it once, with a valid result, repeated at most as often
    /// as it was cut off, and nothing is left of its data.
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

/// Waits until there is a value, and gives it.
#[track_caller]
pub fn wait_for<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An rqps at work.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    said: String,
}

impl Running {
    /// Starts a command; what it says on standard error can be waited for.
    pub fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = read_lines(child.stderr.take().unwrap());
        Self { child, lines, said: String::new() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has said a line on standard error that holds all these words.
    #[track_caller]
    pub fn expect_line(&mut self, words: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                    if words.iter().all(|word| line.contains(word)) {
                        return;
                    }
                }
                Err(_) => panic!("never said {words:?}:\n{}", self.said),
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends it without warning.
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
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() > deadline {
                self.signal(Signal::KILL);
                panic!("took too long:\n{}", self.said);
            }
        }
        Ended { status: self.child.wait().unwrap(), stdout: reader.join().unwrap(), stderr: self.said }
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
