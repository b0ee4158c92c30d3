//! Sampling a server's processes with `perf record`, and reading the samples back with `perf script`.

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

use super::fold::{Folded, Wanted, fold};
use super::symbols::is_stripped;
use super::{CallGraph, Perf};
use crate::error::{Error, Result};
use crate::postgres::roles;
use crate::process::{title_of, tree_of};
use crate::server_cost::{ServerTarget, WorkIn, thread_role};
use crate::threads::names_of_threads;

/// Bytes of samples on the disk, after which no more are taken.
const DATA_SIZE_MAX: &str = "512M";
/// Copy of the stack that each sample keeps where frames are found by unwinding, bytes. Functions that prune and
/// deduplicate pages keep copies of pages on it.
const STACK_BYTES: u32 = 24_576;
/// How long `perf record` may take to begin, and to write its last samples.
const BEGIN_MOST: Duration = Duration::from_secs(30);
const END_MOST: Duration = Duration::from_secs(60);
/// How long `perf script` may take, which does some 5,000 stacks a second.
const SCRIPT_MOST: Duration = Duration::from_secs(180);
/// How often it starts again when a process ended meanwhile.
const TRIES_MAX: u32 = 10;
/// FIFOs that ask `perf` whether it samples.
const ASK: &str = "ask";
const ANSWER: &str = "answer";
/// How often a condition is polled.
const POLL: Duration = Duration::from_millis(10);
/// How often roles are recorded, for processes that end before the profile does.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Share of samples without a name from which on a library is worth a remark.
const REMARKABLE_SHARE: f64 = 0.01;
/// Programs whose missing names are worth a remark however few samples they concern.
const SERVERS: [&str; 3] = ["postgres", "mysqld", "mariadbd"];
/// Share of samples with cut stacks that is worth a remark.
const CUT_SHARE: f64 = 0.05;

/// A moment on the clock that samples are stamped with.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Moment(f64);

impl Moment {
    pub fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Moment(now.tv_sec as f64 + now.tv_nsec as f64 / 1e9)
    }

    /// Time from an earlier moment to this one.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from_secs_f64(self.0 - earlier.0).unwrap_or_default()
    }

    /// From seconds with a fraction.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok().map(Moment)
    }
}

/// Samples a server's processes and threads, those that begin later included. Ends `perf` when dropped.
#[derive(Debug)]
pub struct Recorder {
    perf: Perf,
    child: Child,
    dir: PathBuf,
    server: ServerTarget,
    roles: HashMap<u32, String>,
    looked_at: Instant,
}

/// Samples on the disk, in the directory that was given for them.
#[derive(Debug)]
pub struct Recording {
    perf: Perf,
    data: PathBuf,
    roles: HashMap<u32, String>,
}

impl Recorder {
    /// Begins to sample the server's first process and everything below it, `frequency_hz` times a second of CPU time.
    /// `dir` is an empty directory for the samples. Returns once samples are taken.
    ///
    /// # Errors
    /// When `perf` does not begin; with what it said.
    pub fn start(perf: &Perf, server: ServerTarget, how: (f64, CallGraph), dir: &Path) -> Result<Self> {
        for fifo in [dir.join(ASK), dir.join(ANSWER)] {
            let made = mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0);
            made.map_err(|error| perf_failed(dir, "begin")(error.into()))?;
        }
        let mut tries = 1;
        loop {
            let pids = tree_of(server.pid)?;
            let begun = Self::begin(perf, server.clone(), &pids, how, dir);
            // `perf` refuses all processes when one of them ends before it has opened its events.
            let lives = tree_of(server.pid)?;
            if begun.is_ok() || tries == TRIES_MAX || pids.iter().all(|pid| lives.contains(pid)) {
                return begun;
            }
            tries += 1;
        }
    }

    fn begin(
        perf: &Perf,
        server: ServerTarget,
        pids: &[u32],
        (frequency_hz, call_graph): (f64, CallGraph),
        dir: &Path,
    ) -> Result<Self> {
        let (ask, answer) = (dir.join(ASK), dir.join(ANSWER));
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let said = File::create(dir.join("said")).map_err(perf_failed(dir, "begin"))?;
        let child = Command::new(&perf.program)
            .args(["record", "--no-buildid", "--no-buildid-cache", "--clockid", "CLOCK_MONOTONIC"])
            .args(["--event", perf.event, "--freq", &format!("{frequency_hz:.0}")])
            .arg("--call-graph")
            .arg(match call_graph {
                CallGraph::FramePointers => "fp".to_owned(),
                CallGraph::Dwarf => format!("dwarf,{STACK_BYTES}"),
            })
            .args(["--max-size", DATA_SIZE_MAX])
            .arg(format!("--control=fifo:{},{}", ask.display(), answer.display()))
            .arg("--output")
            .arg(dir.join("samples"))
            .args(["--pid", &pids.join(",")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            // Ctrl-C is for rqps, which ends it in its own time.
            .process_group(0)
            .spawn()
            .map_err(perf_failed(dir, "begin"))?;
        let mut recorder = Self {
            perf: perf.clone(),
            child,
            dir: dir.to_owned(),
            server,
            roles: HashMap::new(),
            looked_at: Instant::now(),
        };
        recorder.wait_until_it_samples(&ask, &answer)?;
        recorder.record_roles();
        Ok(recorder)
    }

    /// It answers once all events are open.
    fn wait_until_it_samples(&mut self, ask: &Path, answer: &Path) -> Result<()> {
        let open = |path: &Path| {
            let flags = OFlags::NONBLOCK.bits() as i32;
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
        };
        let dir = self.dir.clone();
        let mut questions = open(ask).map_err(perf_failed(&dir, "begin"))?;
        let mut answers = open(answer).map_err(perf_failed(&dir, "begin"))?;
        questions.write_all(b"ping\n").map_err(perf_failed(&dir, "begin"))?;
        let since = Instant::now();
        let mut buffer = [0; 64];
        loop {
            if answers.read(&mut buffer).is_ok_and(|read| read > 0) {
                return Ok(());
            }
            let has_ended = self.child.try_wait().ok().flatten().is_some();
            if has_ended || since.elapsed() > BEGIN_MOST {
                return Err(self.failure("begin"));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Call it regularly while it samples: records the roles of the processes.
    pub fn look(&mut self) {
        if self.looked_at.elapsed() > LOOK_EVERY {
            self.record_roles();
            self.looked_at = Instant::now();
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

    /// Ends sampling. `backends` are the processes or kernel threads of the measured clients.
    ///
    /// # Errors
    /// When `perf` failed, or didn't end in time, or before `interrupted` became true.
    pub fn stop(mut self, backends: &[u32], interrupted: &AtomicBool) -> Result<Recording> {
        self.record_roles();
        for id in backends {
            self.roles.insert(*id, "backend".to_owned());
        }
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            // It can only fail when perf has ended, which the wait sees.
            let _sent = kill_process(pid, Signal::INT);
        }
        let since = Instant::now();
        while self.child.try_wait().ok().flatten().is_none() {
            if since.elapsed() > END_MOST || interrupted.load(Ordering::Relaxed) {
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

    /// What it said before it failed.
    fn failure(&self, doing: &'static str) -> Error {
        Error::Perf { doing, said: last_words(&self.dir) }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            // Only where something failed: its samples are not wanted any more.
            let _killed = self.child.kill();
            let _waited = self.child.wait();
        }
    }
}

impl Recording {
    /// The stacks of samples from one moment until another, without those of `ignored` processes or
    /// threads.
    ///
    /// # Errors
    /// When the samples can't be read, or not in time, or not before `interrupted` became true.
    pub fn fold(
        &self,
        (from, until): (Moment, Moment),
        ignored: &HashSet<u32>,
        interrupted: &AtomicBool,
    ) -> Result<Folded> {
        let dir = self.data.parent().unwrap_or(Path::new("/"));
        let failed = |error| perf_failed(dir, "read its samples")(error);
        let said = File::create(dir.join("said")).map_err(failed)?;
        let mut child = Command::new(&self.perf.program)
            // Looking up what was inlined takes minutes.
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
            .stderr(said)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let Some(out) = child.stdout.take() else {
            return Err(Error::Perf { doing: "read its samples", said: "no output".to_owned() });
        };
        let wanted = Wanted { from, until, roles: &self.roles, ignored };
        let folded = std::thread::scope(|scope| {
            let (done, is_done) = mpsc::channel();
            let reader = scope.spawn(move || {
                let folded = fold(BufReader::new(out), &wanted);
                // The other side waits for it, or has given up.
                let _ = done.send(());
                folded
            });
            let since = Instant::now();
            let in_time = loop {
                if is_done.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout) {
                    break true;
                }
                if since.elapsed() > SCRIPT_MOST || interrupted.load(Ordering::Relaxed) {
                    break false;
                }
            };
            if !in_time {
                let _killed = child.kill();
            }
            let folded = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let ended_well = child.wait().is_ok_and(|status| status.success());
            if in_time && ended_well { Some(folded) } else { None }
        });
        match folded {
            Some(folded) => folded.map_err(failed),
            None => Err(Error::Perf { doing: "read its samples", said: last_words(dir) }),
        }
    }

    /// What must be known to read these stacks: symbols that are missing, stacks that are cut off, what the kernel
    /// doesn't show. Each with its remedy; empty where there is nothing.
    pub fn remarks(&self, folded: &Folded) -> Vec<String> {
        let mut remarks = self.perf.blind_to.clone();
        let share = |samples: u64| samples as f64 / folded.samples.max(1) as f64;
        let user = folded.modules.iter().filter(|(path, _)| path.starts_with('/'));
        let by_name: BTreeMap<&str, (&String, u64)> = user
            .map(|(path, (_, unresolved))| (path.rsplit('/').next().unwrap_or(path), (path, *unresolved)))
            .collect();
        for (name, (path, unresolved)) in by_name {
            if is_stripped(Path::new(path))
                && (SERVERS.contains(&name) || share(unresolved) > REMARKABLE_SHARE)
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

/// The end of what `perf` said, in a line.
fn last_words(dir: &Path) -> String {
    const LINES: usize = 4;
    let text = fs::read_to_string(dir.join("said")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
    if last.is_empty() { "no output".to_owned() } else { last }
}

fn perf_failed(dir: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    let dir = dir.to_owned();
    move |source| Error::Perf { doing, said: format!("{source} (in {})", dir.display()) }
}
