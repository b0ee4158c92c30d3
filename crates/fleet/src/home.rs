//! Hosts that share no folder: a job reaches the host that has the fleet's folder, its home, by `ssh`. It measures in a
//! mirror of the folder on its own host. Plans and builds are fetched once; progress, failures and the result are sent.
//! At home, [`crate::serve()`] answers.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::archive::{pack, unpack};
use crate::ask::{Answer, Ask};
use crate::error::{Error, Result};
use crate::place::SPEC;
use crate::slurm::this_host;
use crate::spec::{SSH, Spec};

/// How often a job shows that it still works on its task.
const BEAT: Duration = Duration::from_secs(15);
/// A build that is being copied, followed by the job's process id.
const COPY: &str = ".fetched-";
/// What a job sends when it leaves its task, after beats that are lines.
pub(crate) const RELEASED: [u8; 1] = *b".";
/// How `ssh` ends if it did not reach the host.
const NOT_REACHED: i32 = 255;
/// How a shell ends if there is no such program, or no right to start it.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// The way to a fleet's folder on another host.
#[derive(Debug, Clone)]
pub struct Home {
    /// As `ssh` takes it: `user@host`, or `ssh://user@host:port`.
    pub host: String,
    /// The fleet's folder there.
    pub folder: PathBuf,
    pub id: String,
    pub task: String,
}

/// The right to work on a task, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    pub failures: usize,
    beats: Option<Sender<()>>,
    keeper: Option<thread::JoinHandle<()>>,
}

impl Home {
    /// The fleet's folder on this host, below `work`, made from the one at home.
    ///
    /// # Errors
    /// If the home cannot be reached or the folder cannot be written.
    pub fn mirror(&self, work: &Path) -> Result<PathBuf> {
        let folder = work.join("fleets").join(&self.id);
        if !folder.join(SPEC).is_file() {
            let partial = work.join("fleets").join(format!("{}.{}", self.id, std::process::id()));
            self.fetch(&Ask::Pieces, &partial)?;
            settle(&partial, &folder)?;
        }
        for directory in ["tasks", "done", "failures"] {
            let path = folder.join(directory);
            fs::create_dir_all(&path).map_err(Error::file("create", &path))?;
        }
        Ok(folder)
    }

    /// Copies the builds of these arms into the cache, which has the same path on all hosts. What is in it is kept:
    /// whoever uses a build compares its hash.
    ///
    /// # Errors
    /// If the home cannot be reached, has no such build any more, or if the cache cannot be written.
    pub(crate) fn fetch_builds(&self, spec: &Spec, arms: &[&str]) -> Result<()> {
        let (cache, copied) = (&spec.cache, spec.over_ssh.as_ref());
        for arm in arms {
            let Some(build) = copied.and_then(|copied| copied.builds.get(*arm)) else { continue };
            let (root, manifest) = (cache.join(build), cache.join(manifest_of(build)));
            if manifest.is_file() {
                continue;
            }
            remove_left_copies(cache);
            let partial = cache.join(format!("{COPY}{}", std::process::id()));
            self.fetch(&Ask::Build { arm: (*arm).to_owned() }, &partial)?;
            let above = root.parent().unwrap_or(cache);
            fs::create_dir_all(above).map_err(Error::file("create", above))?;
            // Without a manifest it is what an interrupted copy left.
            let _ = fs::remove_dir_all(&root);
            settle(&partial.join(build), &root)?;
            settle(&partial.join(manifest_of(build)), &manifest)?;
            let _ = fs::remove_dir_all(&partial);
        }
        Ok(())
    }

    /// Asks for the right to work on the task; the inner error is the answer if that is not granted.
    pub(crate) fn hold(&self) -> Result<std::result::Result<Held, Answer>> {
        let (mut child, stdin, answer) = self.ask_to_hold()?;
        let failures = match answer {
            Answer::Held { failures } => failures,
            other => {
                drop(stdin);
                let _ = child.wait();
                return Ok(Err(other));
            }
        };
        let (beats, ended) = channel();
        let home = self.clone();
        let keeper = thread::spawn(move || {
            let mut held = Some((child, stdin));
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(BEAT) {
                let is_lost = held.as_mut().is_none_or(|(_, stdin)| stdin.write_all(b"\n").is_err());
                if is_lost {
                    held.take().into_iter().for_each(end);
                    // Whatever is answered: a result counts once.
                    held = home.ask_to_hold().ok().map(|(child, stdin, _)| (child, stdin));
                }
            }
            if let Some((mut child, mut stdin)) = held {
                let _ = stdin.write_all(&RELEASED);
                drop(stdin);
                let _ = child.wait();
            }
        });
        Ok(Ok(Held { failures, beats: Some(beats), keeper: Some(keeper) }))
    }

    fn ask_to_hold(&self) -> Result<(Child, ChildStdin, Answer)> {
        let (mut child, stdin) = self.start(&Ask::Hold { host: this_host() })?;
        let mut stdout = child.stdout.take();
        let line = stdout.as_mut().map(read_line).unwrap_or_default();
        match serde_json::from_slice(&line) {
            Ok(answer) => Ok((child, stdin, answer)),
            Err(_) => {
                drop(stdin);
                Err(self.failed(child, stdout))
            }
        }
    }

    /// Asks what is answered with a line.
    pub(crate) fn ask<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T> {
        let (child, stdin) = self.start(ask)?;
        drop(stdin);
        self.answer(child)
    }

    /// Sends a run below `runs` as the task's result.
    pub(crate) fn send(&self, runs: &Path, run: &str) -> Result<Answer> {
        let (child, stdin) = self.start(&Ask::Result { host: this_host(), run: run.to_owned() })?;
        let sent = pack(runs, &[Path::new(run)], stdin.into());
        // Why nobody takes it says more than that it could not be sent.
        let answer = self.answer(child)?;
        sent.map(|()| answer)
    }

    /// Unpacks the archive that is answered into a new directory.
    fn fetch(&self, ask: &Ask, into: &Path) -> Result<()> {
        fs::create_dir_all(into).map_err(|source| match source.kind() {
            ErrorKind::PermissionDenied => Error::NoCopy { path: into.to_owned(), source },
            _ => Error::file("create", into)(source),
        })?;
        let (mut child, stdin) = self.start(ask)?;
        drop(stdin);
        let archive = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let unpacked = unpack(archive, into);
        let fetched = match child.wait().is_ok_and(|status| status.success()) {
            true => unpacked,
            false => Err(self.failed(child, None)),
        };
        fetched.inspect_err(|_| drop(fs::remove_dir_all(into)))
    }

    fn start(&self, ask: &Ask) -> Result<(Child, ChildStdin)> {
        let mut words = SSH.split(' ');
        let folder = self.folder.display();
        let remote = format!("{folder}/rqps fleet home {folder} {} {}", self.id, self.task);
        let started = Command::new(words.next().unwrap_or_default())
            .args(words)
            .args([&self.host, "--", &remote])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let failed = |error: std::io::Error| self.unreached(&error.to_string());
        let mut child = started.map_err(failed)?;
        let mut stdin = child.stdin.take().ok_or_else(|| self.unreached("no standard input"))?;
        let mut line = serde_json::to_vec(ask).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        // If it has ended, its exit code says why.
        let _ = stdin.write_all(&line);
        Ok((child, stdin))
    }

    fn answer<T: DeserializeOwned>(&self, mut child: Child) -> Result<T> {
        let mut text = String::new();
        let mut stdout = child.stdout.take();
        let read = stdout.as_mut().map(|stdout| stdout.read_to_string(&mut text));
        // Shells may greet before.
        match (read, serde_json::from_str(text.lines().last().unwrap_or_default())) {
            (Some(Ok(_)), Ok(answer)) => {
                child.wait().map(|_| answer).map_err(|error| self.unreached(&error.to_string()))
            }
            _ => Err(self.failed(child, stdout)),
        }
    }

    fn failed(&self, mut child: Child, stdout: Option<ChildStdout>) -> Error {
        drop(stdout);
        let mut why = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            let _ = stderr.read_to_string(&mut why);
        }
        let code = child.wait().ok().and_then(|status| status.code());
        let why = why.trim();
        match code {
            Some(code) if NO_PROGRAM.contains(&code) => {
                Error::NoHome { host: self.host.clone(), path: self.folder.clone() }
            }
            Some(NOT_REACHED) | None => self.unreached(why),
            Some(_) => Error::AtHome { host: self.host.clone(), why: why.to_owned() },
        }
    }

    fn unreached(&self, why: &str) -> Error {
        Error::Unreached { host: self.host.clone(), from: this_host(), why: why.to_owned() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.beats.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Ends a connection: at home its end releases the task.
fn end((mut child, stdin): (Child, ChildStdin)) {
    drop(stdin);
    let _ = child.kill();
    let _ = child.wait();
}

/// The first line, and nothing of what follows it.
pub(crate) fn read_line(from: &mut impl Read) -> Vec<u8> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while from.read_exact(&mut byte).is_ok() && byte != *b"\n" {
        line.extend(byte);
    }
    line
}

/// What describes a cached build lies beside it.
pub(crate) fn manifest_of(build: &Path) -> PathBuf {
    let mut name = build.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}

/// Removes what killed jobs left of builds that they copied.
fn remove_left_copies(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(COPY));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Moves what was unpacked to its place. Another job of this host may have been faster.
fn settle(partial: &Path, place: &Path) -> Result<()> {
    match fs::rename(partial, place) {
        Err(_) if place.exists() => {
            let _ = fs::remove_dir_all(partial);
            Ok(())
        }
        moved => moved.map_err(Error::file("move what was copied to", place)),
    }
}
