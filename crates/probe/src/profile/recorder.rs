//! Samples a server's processes with `perf record`, and reads the samples with `perf script`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use super::fold::{Folded, Selection, fold};
use super::symbols::is_stripped;
use super::{CallGraph, Perf};
use crate::error::{Error, Result};
use crate::postgres::roles;
use crate::process::{title_of, tree_of};
use crate::server_cost::{ServerTarget, WorkIn, thread_role};
use crate::threads::names_of_threads;

/// Maximum size of samples on the disk; sampling stops there.
const DATA_SIZE_MAX: &str = "512M";
/// Each CPU's samples that are not written yet; perf's own size has room for about twenty. Only root may lock as much.
const BUFFER_SIZE: &str = "4M";
/// Bytes of the stack that each sample copies for DWARF unwinding. Functions that prune and deduplicate pages have
/// copies of pages on their stack.
const STACK_BYTES: u32 = 24_576;
/// Time limits of `perf record` to start, and to write its last samples.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit of `perf script`, which processes some 5,000 stacks per second.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(180);
/// Attempts to start while processes end.
const TRIES_MAX: u32 = 10;
/// Control FIFOs of `perf`: commands, and their acknowledgement.
const CONTROL_FIFO: &str = "control";
const ACK_FIFO: &str = "ack";
/// Standard error of `perf`.
const STDERR_FILE: &str = "stderr";
/// Interval of polling.
const POLL: Duration = Duration::from_millis(10);
/// Interval of recording roles, for processes that end before the profile does.
const ROLES_INTERVAL: Duration = Duration::from_millis(500);
/// Share of unresolved samples from which a library is worth a remark.
const UNRESOLVED_SHARE: f64 = 0.01;
/// Programs whose missing symbols are always worth a remark.
const SERVERS: [&str; 3] = ["postgres", "mysqld", "mariadbd"];
/// Share of truncated stacks from which they are worth a remark.
const CUT_SHARE: f64 = 0.05;

/// A time on the clock of samples (`CLOCK_MONOTONIC`).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Moment(f64);

impl Moment {
    pub fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Moment(now.tv_sec as f64 + now.tv_nsec as f64 / 1e9)
    }

    /// The time since an earlier moment.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from_secs_f64(self.0 - earlier.0).unwrap_or_default()
    }

    /// Parses seconds with a fraction.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok().map(Moment)
    }
}

/// Samples a server's processes and threads, including later ones. Kills `perf` on drop.
#[derive(Debug)]
pub struct Recorder {
    perf: Perf,
    child: Child,
    dir: PathBuf,
    server: ServerTarget,
    roles: HashMap<u32, String>,
    roles_recorded_at: Instant,
}

/// Samples on the disk.
#[derive(Debug)]
pub struct Recording {
    perf: Perf,
    data: PathBuf,
    roles: HashMap<u32, String>,
}

impl Recorder {
    /// Starts sampling the server's first process and its descendants; `how` is the frequency per second of CPU time,
    /// and the unwinding method. `dir` is an empty directory for the samples. Returns once sampling is active.
    ///
    /// # Errors
    /// If `perf` does not start; with its output.
    pub fn start(perf: &Perf, server: ServerTarget, how: (f64, CallGraph), dir: &Path) -> Result<Self> {
        for fifo in [dir.join(CONTROL_FIFO), dir.join(ACK_FIFO)] {
            let created = mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0);
            created.map_err(|error| perf_failed(dir, "begin")(error.into()))?;
        }
        let mut tries = 1;
        loop {
            let pids = tree_of(server.pid)?;
            let recorder = Self::try_start(perf, server.clone(), &pids, how, dir);
            // `perf` fails if any of the processes ends before it has opened its events.
            let live = tree_of(server.pid)?;
            if recorder.is_ok() || tries == TRIES_MAX || pids.iter().all(|pid| live.contains(pid)) {
                return recorder;
            }
            tries += 1;
        }
    }

    fn try_start(
        perf: &Perf,
        server: ServerTarget,
        pids: &[u32],
        (frequency_hz, call_graph): (f64, CallGraph),
        dir: &Path,
    ) -> Result<Self> {
        let (control, ack) = (dir.join(CONTROL_FIFO), dir.join(ACK_FIFO));
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let stderr = File::create(dir.join(STDERR_FILE)).map_err(perf_failed(dir, "begin"))?;
        let child = Command::new(&perf.program)
            .args(["record", "--no-buildid", "--no-buildid-cache", "--clockid", "CLOCK_MONOTONIC"])
            .args(["--event", perf.event, "--freq", &format!("{frequency_hz:.0}")])
            .arg("--call-graph")
            .arg(match call_graph {
                CallGraph::FramePointers => "fp".to_owned(),
                CallGraph::Dwarf => format!("dwarf,{STACK_BYTES}"),
            })
            .args(["--max-size", DATA_SIZE_MAX])
            .args(
                rustix::process::geteuid()
                    .is_root()
                    .then_some(["--mmap-pages", BUFFER_SIZE])
                    .into_iter()
                    .flatten(),
            )
            .arg(format!("--control=fifo:{},{}", control.display(), ack.display()))
            .arg("--output")
            .arg(dir.join("samples"))
            .args(["--pid", &pids.join(",")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            // Ctrl-C must reach only rqps, which then stops perf itself.
            .process_group(0)
            .spawn()
            .map_err(perf_failed(dir, "begin"))?;
        let mut recorder = Self {
            perf: perf.clone(),
            child,
            dir: dir.to_owned(),
            server,
            roles: HashMap::new(),
            roles_recorded_at: Instant::now(),
        };
        recorder.wait_until_sampling(&control, &ack)?;
        recorder.record_roles();
        Ok(recorder)
    }

    /// `perf` acknowledges a ping once all events are open.
    fn wait_until_sampling(&mut self, control: &Path, ack: &Path) -> Result<()> {
        let open = |path: &Path| {
            let flags = OFlags::NONBLOCK.bits() as i32;
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
        };
        let dir = self.dir.clone();
        let mut control = open(control).map_err(perf_failed(&dir, "begin"))?;
        let mut ack = open(ack).map_err(perf_failed(&dir, "begin"))?;
        control.write_all(b"ping\n").map_err(perf_failed(&dir, "begin"))?;
        let since = Instant::now();
        let mut buffer = [0; 64];
        loop {
            if ack.read(&mut buffer).is_ok_and(|read| read > 0) {
                return Ok(());
            }
            let has_ended = self.child.try_wait().ok().flatten().is_some();
            if has_ended || since.elapsed() > START_TIMEOUT {
                return Err(self.failure("begin"));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Records the roles of processes if that is due; to be called regularly while sampling.
    pub fn look(&mut self) {
        if self.roles_recorded_at.elapsed() > ROLES_INTERVAL {
            self.record_roles();
            self.roles_recorded_at = Instant::now();
        }
    }

    fn record_roles(&mut self) {
        let pid = self.server.pid;
        match &self.server.work_in {
            WorkIn::Processes => {
                for pid in tree_of(pid).unwrap_or_default() {
                    let title = title_of(pid);
                    // A process has its parent's title until it sets its own.
                    if !title.is_empty() && self.roles.get(&pid).is_none_or(|role| role == roles::POSTMASTER)
                    {
                        self.roles.insert(pid, roles::role_of(&title).to_owned());
                    }
                }
            }
            WorkIn::Threads(known) => {
                for (tid, name) in names_of_threads(pid) {
                    self.roles.insert(tid, thread_role(pid, known, tid, &name));
                }
            }
        }
    }

    /// Stops sampling. `backends` are the processes or kernel threads of the measured clients.
    ///
    /// # Errors
    /// If `perf` failed or timed out, or `interrupted` became true first.
    pub fn stop(mut self, backends: &[u32], interrupted: &AtomicBool) -> Result<Recording> {
        self.record_roles();
        for id in backends {
            self.roles.insert(*id, "backend".to_owned());
        }
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            // Fails only if perf has ended, which the loop below detects.
            let _sent = kill_process(pid, Signal::INT);
        }
        let since = Instant::now();
        while self.child.try_wait().ok().flatten().is_none() {
            if since.elapsed() > STOP_TIMEOUT || interrupted.load(Ordering::Relaxed) {
                return Err(self.failure("write its samples"));
            }
            std::thread::sleep(POLL);
        }
        let data = self.dir.join("samples");
        if fs::metadata(&data).map_or(0, |file| file.len()) == 0 {
            return Err(self.failure("write its samples"));
        }
        Ok(Recording { perf: self.perf.clone(), data, roles: std::mem::take(&mut self.roles) })
    }

    /// An error with the last output of `perf`.
    fn failure(&self, doing: &'static str) -> Error {
        Error::Perf { doing, output: last_output(&self.dir) }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            // Only after a failure: the samples are not needed.
            let _killed = self.child.kill();
            let _waited = self.child.wait();
        }
    }
}

impl Recording {
    /// The stacks of samples from one moment until another, without those of `ignored` processes or threads.
    ///
    /// # Errors
    /// If the samples cannot be read in time, or `interrupted` became true first.
    pub fn fold(
        &self,
        (from, until): (Moment, Moment),
        ignored: &HashSet<u32>,
        interrupted: &AtomicBool,
    ) -> Result<Folded> {
        let dir = self.data.parent().unwrap_or(Path::new("/"));
        let failed = |error| perf_failed(dir, "read its samples")(error);
        let stderr = File::create(dir.join(STDERR_FILE)).map_err(failed)?;
        let mut child = Command::new(&self.perf.program)
            // Resolving inlined functions takes minutes.
            .args([
                "script",
                "--no-inline",
                "--show-lost-events",
                "--fields",
                "tid,time,ip,sym,dso",
                "--input",
            ])
            .arg(&self.data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let Some(out) = child.stdout.take() else {
            return Err(Error::Perf { doing: "read its samples", output: "no output".to_owned() });
        };
        let selection = Selection { from, until, roles: &self.roles, ignored };
        let folded = std::thread::scope(|scope| {
            let (done, is_done) = mpsc::channel();
            let reader = scope.spawn(move || {
                let folded = fold(BufReader::new(out), &selection);
                // Fails if the receiver has given up.
                let _ = done.send(());
                folded
            });
            let since = Instant::now();
            let in_time = loop {
                if is_done.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout) {
                    break true;
                }
                if since.elapsed() > SCRIPT_TIMEOUT || interrupted.load(Ordering::Relaxed) {
                    break false;
                }
            };
            if !in_time {
                let _killed = child.kill();
            }
            let folded = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let succeeded = child.wait().is_ok_and(|status| status.success());
            (in_time && succeeded).then_some(folded)
        });
        match folded {
            Some(folded) => folded.map_err(failed),
            None => Err(Error::Perf { doing: "read its samples", output: last_output(dir) }),
        }
    }

    /// Caveats for reading these stacks, with remedies: missing symbols, truncated stacks, what the kernel hides.
    pub fn remarks(&self, folded: &Folded) -> Vec<String> {
        let mut remarks = self.perf.blind_to.clone();
        let share = |samples: u64| samples as f64 / folded.samples.max(1) as f64;
        let user = folded.modules.iter().filter(|(path, _)| path.starts_with('/'));
        let by_name: BTreeMap<&str, (&String, u64)> = user
            .map(|(path, (_, unresolved))| (path.rsplit('/').next().unwrap_or(path), (path, *unresolved)))
            .collect();
        for (name, (path, unresolved)) in by_name {
            if is_stripped(Path::new(path))
                && (SERVERS.contains(&name) || share(unresolved) > UNRESOLVED_SHARE)
            {
                remarks.push(format!(
                    "{name} is stripped: {:.0} % of the samples are in its unresolved symbols (shown as [{name}]); {}",
                    100.0 * share(unresolved),
                    remedy(name),
                ));
            }
        }
        if share(folded.cut_samples) > CUT_SHARE {
            remarks.push(format!(
                "{:.0} % of the samples have truncated stacks, which do not reach the program's entry point",
                100.0 * share(folded.cut_samples)
            ));
        }
        if folded.rare_samples > 0 {
            remarks.push(format!(
                "{:.0} % of the samples belong to rare stacks, merged into [rare]",
                100.0 * share(folded.rare_samples)
            ));
        }
        remarks
    }
}

fn remedy(name: &str) -> &'static str {
    match name {
        name if SERVERS.contains(&name) => {
            "build it from source, or install the debug symbols of the distribution's package"
        }
        "libc.so.6" => "install the package libc6-dbg",
        _ => "install its package's debug symbols",
    }
}

/// The last lines of the output of `perf`, joined.
fn last_output(dir: &Path) -> String {
    const LINES: usize = 4;
    let text = fs::read_to_string(dir.join(STDERR_FILE)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
    if last.is_empty() { "no output".to_owned() } else { last }
}

fn perf_failed(dir: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    let dir = dir.to_owned();
    move |source| Error::Perf { doing, output: format!("{source} (in {})", dir.display()) }
}
