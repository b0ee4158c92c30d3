//! A fleet's folder, on a file system that all its hosts share:
//!
//! | path | what |
//! | --- | --- |
//! | `fleet.json` | the tasks and their hosts, written last when the fleet is made |
//! | `pieces/` | the plan (`plan.toml`), the plans of its pieces, and the files that these name |
//! | `rqps` | the program that hosts run |
//! | `journal` | what was submitted |
//! | `tasks/TASK/` | the runs of a task, its lock, the figures of its result (`figures.json`, see `collect/figures.rs`), how far it is (`progress.json`) |
//! | `done/TASK.json` | which run is the task's result, on which host |
//! | `failures/TASK.txt` | why it failed, one line each time |
//! | `output/TASK.txt` | what its jobs printed |

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_store::now_ms;

use crate::claim::Begun;
use crate::decide::{FAILURES_MAX, History, State, Traces, by_task, decide, is_superfluous};
use crate::error::{Error, Result};
use crate::files::read_json;
use crate::journal::{Event, Journal};
use crate::place::{Placed, SPEC, placed, present_cache, write_spec};
use crate::script::{OUTPUT, PROGRAM, script};
use crate::slurm::{Job, Slurm, this_host};
use crate::spec::{FORMAT, Place, Spec, Task};

const JOURNAL: &str = "journal";
const DONE: &str = "done";
const FAILURES: &str = "failures";
const TASKS: &str = "tasks";
/// Where the plans of pieces are, and what they name.
pub const PIECES: &str = "pieces";
/// Jobs that are recorded before they are submitted, at a time: a sync for each would take longer than Slurm does.
const RECORDED_AT_ONCE: usize = 50;
/// What a job needs at least to record a result or a failure.
const ROOM_BYTES: usize = 64 << 10;
/// Of a job's output, as much of its end as is read.
const WORDS_MAX: u64 = 2_000;

#[derive(Debug)]
pub struct Fleet {
    pub folder: PathBuf,
    pub spec: Spec,
}

/// What a pass over all tasks did and found.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    pub states: BTreeMap<String, State>,
    pub submitted: usize,
    pub cancelled: usize,
    /// Why not all that is due was, or can be, submitted.
    pub refused: Option<String>,
    /// Why Slurm refused the last job of a task that has none.
    pub refusals: BTreeMap<String, String>,
    pub is_cancelled: bool,
}

impl Pass {
    pub fn count(&self, is: impl Fn(&State) -> bool) -> usize {
        self.states.values().filter(|state| is(state)).count()
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.is_cancelled || self.states.values().all(|state| matches!(state, State::Done | State::Failed))
    }
}

impl Fleet {
    /// Makes the folder: plans and a copy of `program` first, the list of tasks last.
    ///
    /// # Errors
    /// If it cannot be written, or if its path cannot be named in a script.
    pub fn create(folder: &Path, spec: Spec, plan: &str, pieces: &[String], program: &Path) -> Result<Self> {
        for path in [folder, &spec.cache] {
            check_path(path)?;
        }
        for name in [PIECES, TASKS, DONE, FAILURES, OUTPUT] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(Error::file("create", &path))?;
        }
        let write = |path: PathBuf, text: &str| fs::write(&path, text).map_err(Error::file("write", &path));
        write(folder.join(PIECES).join("plan.toml"), plan)?;
        for (at, piece) in pieces.iter().enumerate() {
            write(piece_path(folder, at as u32 + 1), piece)?;
        }
        let copy = folder.join(PROGRAM);
        fs::copy(program, &copy).map_err(Error::file("copy the program to", &copy))?;
        let spec = Spec { folder: folder.to_owned(), ..spec };
        write_spec(folder, &spec)?;
        Ok(Self { folder: folder.to_owned(), spec })
    }

    /// Opens a fleet's folder.
    ///
    /// # Errors
    /// If it is none, or of another version.
    pub fn open(folder: &Path) -> Result<Self> {
        let folder = fs::canonicalize(folder).map_err(|_| Error::NoFolder { path: folder.to_owned() })?;
        let path = folder.join(SPEC);
        if !path.is_file() {
            return Err(Error::NotAFleet { path: folder });
        }
        let spec: Spec = read_json(&path)?;
        if spec.format > FORMAT {
            let why =
                format!("format {}, this rqps knows {FORMAT}: use the rqps in that folder", spec.format);
            return Err(Error::Unreadable { path, why });
        }
        let spec = Spec { cache: present_cache(&folder, spec.cache), ..spec };
        Ok(Self { folder, spec })
    }

    /// The fleets in a results directory that can be read.
    pub fn list(results: &Path) -> Vec<Self> {
        let entries = fs::read_dir(results).into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::open(&entry.path()).ok()).collect()
    }

    /// Whether it was cancelled and not resumed since.
    pub fn is_cancelled(&self) -> bool {
        Journal::read(&self.folder.join(JOURNAL)).is_ok_and(|events| History::of(&events).is_cancelled)
    }

    /// When it was planned, milliseconds since 1970 (UTC); 0 if unknown.
    pub fn created_at_ms(&self) -> i64 {
        let written =
            fs::metadata(self.folder.join(PIECES).join("plan.toml")).and_then(|file| file.modified());
        let since = written.ok().and_then(|written| written.duration_since(std::time::UNIX_EPOCH).ok());
        since.map_or(0, |since| since.as_millis() as i64)
    }

    /// Itself, if it is the fleet whose job this is.
    ///
    /// # Errors
    /// If it is another one: hosts that don't share a folder may have others under its name.
    pub fn expect_id(self, id: &str) -> Result<Self> {
        if self.spec.id == id {
            Ok(self)
        } else {
            Err(Error::NotShared { path: self.folder, host: this_host() })
        }
    }

    /// # Errors
    /// If there is no such task.
    pub fn task(&self, id: &str) -> Result<&Task> {
        self.spec.task(id).ok_or_else(|| Error::NoTask { path: self.folder.clone(), task: id.to_owned() })
    }

    pub fn piece_path(&self, task: &Task) -> PathBuf {
        piece_path(&self.folder, task.piece)
    }

    pub fn task_folder(&self, task: &Task) -> PathBuf {
        self.folder.join(TASKS).join(&task.id)
    }

    pub(crate) fn done_path(&self, task: &Task) -> PathBuf {
        self.folder.join(DONE).join(format!("{}.json", task.id))
    }

    /// What is known of what its jobs printed.
    pub(crate) fn output_path(&self, task: &Task) -> PathBuf {
        self.folder.join(OUTPUT).join(format!("{}.txt", task.id))
    }

    pub(crate) fn failures_path(&self, task: &Task) -> PathBuf {
        self.folder.join(FAILURES).join(format!("{}.txt", task.id))
    }

    pub fn is_done(&self, task: &Task) -> bool {
        self.done_path(task).exists()
    }

    /// Which run is the task's result.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn result(&self, task: &Task) -> Result<Begun> {
        read_json(&self.done_path(task))
    }

    /// Tasks with a result, by one look at a directory.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn done(&self) -> Result<BTreeSet<String>> {
        self.names(DONE, ".json")
    }

    /// Why a task failed, each time.
    pub fn failures(&self, task: &Task) -> Vec<String> {
        let text = fs::read_to_string(self.failures_path(task)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The last line that the task's jobs printed, and the file that has all; `None` if they printed nothing.
    pub fn last_words(&self, task: &Task) -> Option<(String, PathBuf)> {
        let path = self.output_path(task);
        let mut file = File::open(&path).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(WORDS_MAX))).ok()?;
        let mut end = Vec::new();
        file.take(WORDS_MAX).read_to_end(&mut end).ok()?;
        let end = String::from_utf8_lossy(&end);
        let last = end.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some((last.to_owned(), path))
    }

    fn names(&self, directory: &str, end: &str) -> Result<BTreeSet<String>> {
        let path = self.folder.join(directory);
        let entries = fs::read_dir(&path).map_err(Error::file("list", &path))?;
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
        Ok(names.filter_map(|name| name.strip_suffix(end).map(str::to_owned)).collect())
    }

    /// Where every task is, without changing anything.
    ///
    /// # Errors
    /// If the folder cannot be read, or if Slurm does not answer while there are tasks that are not done.
    pub fn look(&self) -> Result<Pass> {
        let history = History::of(&Journal::read(&self.folder.join(JOURNAL))?);
        let jobs = self.jobs()?;
        let mut pass = self.states(&history, &jobs, now_ms())?;
        if !pass.is_over() {
            let is_here = if self.spec.place == Place::Local { Ok(()) } else { self.check_place() };
            let error = is_here.and_then(|()| self.check_room()).err();
            pass.refused = error.map(|error| error.to_string()).or(pass.refused);
        }
        Ok(pass)
    }

    /// An error if this host's Slurm is another cluster: it does not know the fleet's jobs.
    fn check_cluster(&self) -> Result<()> {
        let Place::Slurm { cluster: Some(of_fleet), .. } = &self.spec.place else { return Ok(()) };
        match Slurm.cluster()? {
            Some(here) if here != *of_fleet => {
                Err(Error::OtherCluster { path: self.folder.clone(), cluster: of_fleet.clone(), here })
            }
            _ => Ok(()),
        }
    }

    /// An error unless jobs find the folder.
    fn check_place(&self) -> Result<()> {
        let path = self.folder.clone();
        match placed(&self.folder, &self.spec)? {
            Placed::Here => Ok(()),
            Placed::Moved(from) => Err(Error::Moved { path, from }),
            Placed::Copied(of) => Err(Error::Copied { path, of }),
        }
    }

    /// Records that the folder is here now, after ending jobs that look for it elsewhere. Returns whether it was moved.
    fn adopt(&self, jobs: &[Job]) -> Result<bool> {
        match self.check_place() {
            Ok(()) => return Ok(false),
            Err(Error::Moved { .. }) => {}
            Err(error) => return Err(error),
        }
        let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        if !ids.is_empty() {
            Slurm.cancel(&ids)?;
        }
        write_spec(&self.folder, &Spec { folder: self.folder.clone(), ..self.spec.clone() })?;
        Ok(true)
    }

    /// What Slurm has of this fleet. When all is done that is of no interest, so it need not answer.
    fn jobs(&self) -> Result<Vec<Job>> {
        match self.spec.place {
            Place::Slurm { .. } => match self
                .check_cluster()
                .and_then(|()| Slurm.jobs(&self.spec.job_stem(), self.check_owner().is_ok()))
            {
                Err(_) if self.done()?.len() >= self.spec.tasks.len() => Ok(Vec::new()),
                jobs => jobs,
            },
            Place::Local => Ok(self.local_jobs()),
        }
    }

    /// Of a fleet without Slurm: the task that a process is working on.
    fn local_jobs(&self) -> Vec<Job> {
        let begun = |task: &&Task| self.reached(task).is_some() && !self.is_done(task);
        let job = |task: &Task| Job {
            id: String::new(),
            name: format!("{}1", self.spec.job_prefix(&task.id)),
            state: "RUNNING".to_owned(),
            nodes: this_host(),
            seconds: self.reached(task).map_or(0, |one| (now_ms() - one.began_at_ms).max(0) as u64 / 1_000),
            reason: String::new(),
        };
        self.spec.tasks.iter().filter(begun).filter(|task| self.is_claimed(task)).map(job).collect()
    }

    /// An error unless this user planned the fleet: jobs of another one could not write to its folder, and whoever may
    /// cannot end that one's jobs. A file shows as whom this process writes there: users may be mapped to others.
    fn check_owner(&self) -> Result<()> {
        let Ok(planned) = fs::metadata(self.folder.join(SPEC)) else { return Ok(()) };
        let path = self.probe_path();
        let mine = File::create(&path).and_then(|file| file.metadata());
        let _ = fs::remove_file(&path);
        let is_mine = match mine {
            Ok(mine) => mine.uid() == planned.uid(),
            Err(error) => error.kind() != ErrorKind::PermissionDenied,
        };
        match is_mine {
            true => Ok(()),
            false => Err(Error::OfAnother { path: self.folder.clone(), owner: user_name(planned.uid()) }),
        }
    }

    /// A file of this process, for trying what can be written.
    fn probe_path(&self) -> PathBuf {
        self.folder.join(format!("room-{}-{}", this_host(), std::process::id()))
    }

    /// Whether results can be written: a job in a full folder cannot even say why it fails.
    ///
    /// # Errors
    /// If there is no room.
    fn check_room(&self) -> Result<()> {
        let path = self.probe_path();
        let written = File::create(&path)
            .and_then(|mut file| file.write_all(&[0; ROOM_BYTES]).and_then(|()| file.sync_all()));
        let _ = fs::remove_file(&path);
        match written {
            Err(source) if is_full(source.kind()) => Err(Error::Full { path: self.folder.clone(), source }),
            // Whoever only looks need not be allowed to write.
            _ => Ok(()),
        }
    }

    fn states(&self, history: &History, jobs: &[Job], now_ms: i64) -> Result<Pass> {
        let (by_task, none) = (by_task(&self.spec, jobs), Vec::new());
        // After the jobs: a job that ended since has published its result before.
        let (done, failed, printed) =
            (self.done()?, self.names(FAILURES, ".txt")?, self.names(OUTPUT, ".txt")?);
        let state = |task: &Task| {
            let traces = Traces {
                is_done: done.contains(&task.id),
                failures: if failed.contains(&task.id) { self.failures(task).len() } else { 0 },
                has_output: printed.contains(&task.id),
            };
            let jobs = by_task.get(&task.id).unwrap_or(&none);
            (task.id.clone(), decide(task, history, jobs, traces, now_ms))
        };
        let states: BTreeMap<String, State> = self.spec.tasks.iter().map(state).collect();
        let has_none =
            |id: &&String| matches!(states.get(*id), Some(State::Waiting | State::Due(_) | State::Failed));
        let refusal = |id: &String| Some((id.clone(), history.refusal(id)?.to_owned()));
        let refusals: BTreeMap<String, String> = states.keys().filter(has_none).filter_map(refusal).collect();
        let refused = refusals.values().next().cloned();
        Ok(Pass { states, refused, refusals, is_cancelled: history.is_cancelled, ..Pass::default() })
    }

    /// Submits what is due and cancels jobs that are superfluous; `again` submits without a pause, also what was given
    /// up and what was cancelled.
    ///
    /// # Errors
    /// If the folder cannot be written or Slurm does not answer; then the next pass finds what became of it.
    pub fn pass(&self, again: bool) -> Result<Pass> {
        let Place::Slurm { partition, .. } = &self.spec.place else { return self.look() };
        if !again {
            self.check_place()?;
        }
        let _lock = self.lock()?;
        let mut journal = Journal::open(&self.folder.join(JOURNAL))?;
        let mut jobs = self.jobs()?;
        if again && self.adopt(&jobs)? {
            jobs.clear();
        }
        if again && !journal.events.is_empty() {
            self.forgive()?;
            journal.append(vec![Event::Resumed { at_ms: now_ms() }])?;
        }
        let history = History::of(&journal.events);
        let now = if again { i64::MAX } else { now_ms() };
        let mut pass = self.states(&history, &jobs, now)?;
        let mut superfluous = Vec::new();
        for (task, jobs) in by_task(&self.spec, &jobs) {
            let Some(state) = pass.states.get(&task) else { continue };
            superfluous
                .extend(jobs.iter().filter(|job| is_superfluous(job, state)).map(|job| job.id.as_str()));
        }
        if !superfluous.is_empty() {
            Slurm.cancel(&superfluous)?;
            pass.cancelled = superfluous.len();
        }
        if !pass.is_over() {
            match self.check_room() {
                Ok(()) => self.submit(&mut journal, &mut pass, partition)?,
                Err(error) => pass.refused = Some(error.to_string()),
            }
        }
        Ok(pass)
    }

    fn submit(&self, journal: &mut Journal, pass: &mut Pass, partition: &str) -> Result<()> {
        let due: Vec<(&Task, String)> = self
            .spec
            .tasks
            .iter()
            .filter_map(|task| match pass.states.get(&task.id) {
                Some(State::Due(number)) => {
                    Some((task, format!("{}{number}", self.spec.job_prefix(&task.id))))
                }
                _ => None,
            })
            .collect();
        let mut refused: Option<String> = None;
        for some in due.chunks(RECORDED_AT_ONCE) {
            let submitting = some.iter().map(|(task, name)| Event::Submitting {
                at_ms: now_ms(),
                task: task.id.clone(),
                name: name.clone(),
            });
            journal.append(submitting.collect())?;
            let mut answers = Vec::new();
            for (task, name) in some {
                // The others of the partition would be refused, too, and each takes its time.
                if let Some(why) = &refused {
                    answers.push(self.refusal(task, why, pass));
                    continue;
                }
                match Slurm.submit(&self.script(task, name, partition)) {
                    Ok(job) => {
                        pass.refusals.remove(&task.id);
                        answers.push(Event::Submitted {
                            at_ms: now_ms(),
                            name: name.clone(),
                            job: job.clone(),
                        });
                        let state = State::Queued(Job {
                            id: job,
                            name: name.clone(),
                            state: "PENDING".to_owned(),
                            nodes: String::new(),
                            seconds: 0,
                            reason: String::new(),
                        });
                        pass.states.insert(task.id.clone(), state);
                        pass.submitted += 1;
                    }
                    Err(error) => {
                        let why = error.to_string();
                        answers.push(self.refusal(task, &why, pass));
                        refused = Some(why);
                    }
                }
            }
            journal.append(answers)?;
            if refused.is_some() {
                break;
            }
        }
        pass.refused = refused.or_else(|| pass.refusals.values().next().cloned());
        Ok(())
    }

    /// Notes that a task's job was refused.
    fn refusal(&self, task: &Task, why: &str, pass: &mut Pass) -> Event {
        pass.refusals.insert(task.id.clone(), why.to_owned());
        Event::Refused { at_ms: now_ms(), task: task.id.clone(), why: why.to_owned() }
    }

    /// The job script. Hosts on which the task failed are excluded as long as its replica has others: one full disk
    /// must not take all tasks and fail them.
    fn script(&self, task: &Task, name: &str, partition: &str) -> String {
        let own: Vec<&String> =
            self.spec.groups.get(task.replica as usize - 1).into_iter().flatten().collect();
        let failed: BTreeSet<String> = self
            .failures(task)
            .iter()
            .filter_map(|line| line.split_once(": ").map(|(host, _)| host.to_owned()))
            .filter(|host| own.contains(&host))
            .collect();
        let mut excluded = self.spec.excluded(task);
        if failed.len() < own.len() {
            excluded.extend(failed.iter().map(String::as_str));
        }
        script(&self.spec, &self.folder, task, (name, partition), &excluded)
    }

    /// Cancels all jobs; nothing is submitted until the fleet is resumed. Returns the number of jobs.
    ///
    /// # Errors
    /// If the folder cannot be written or Slurm does not answer: then the fleet is not cancelled. If its tasks run
    /// without Slurm, or if the folder is a copy: jobs are those of the first one.
    pub fn cancel(&self) -> Result<usize> {
        match self.check_place() {
            Err(Error::Moved { .. }) | Ok(()) => {}
            Err(error) => return Err(error),
        }
        if self.spec.place == Place::Local {
            return Err(Error::NoJobs { path: self.folder.clone() });
        }
        let _lock = self.lock()?;
        let mut journal = Journal::open(&self.folder.join(JOURNAL))?;
        let jobs = self.jobs()?;
        let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        if !ids.is_empty() {
            Slurm.cancel(&ids)?;
        }
        journal.append(vec![Event::Cancelled { at_ms: now_ms() }])?;
        Ok(ids.len())
    }

    /// Before the tasks run on this host: the folder is here now, and what was given up is tried again.
    ///
    /// # Errors
    /// If the folder is gone or cannot be written.
    pub fn prepare_here(&self) -> Result<()> {
        self.adopt(&[])?;
        self.forgive()
    }

    /// Lets tasks that were given up be tried again.
    fn forgive(&self) -> Result<()> {
        for task in self.spec.tasks.iter().filter(|task| self.failures(task).len() >= FAILURES_MAX) {
            let path = self.failures_path(task);
            fs::remove_file(&path).map_err(Error::file("remove", &path))?;
        }
        Ok(())
    }

    /// One process at a time submits.
    fn lock(&self) -> Result<File> {
        if !self.folder.join(SPEC).is_file() {
            return Err(Error::NoFolder { path: self.folder.clone() });
        }
        self.check_owner()?;
        let path = self.folder.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(Error::file("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(Error::Busy { path: self.folder.clone() }),
            Err(TryLockError::Error(error)) => Err(Error::file("lock", &path)(error)),
        }
    }
}

/// The user's name, or its number if it has none.
fn user_name(uid: u32) -> String {
    let uid = uid.to_string();
    let answer =
        Command::new("id").args(["-nu", &uid]).output().ok().filter(|answer| answer.status.success());
    answer.map_or(uid, |answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

/// Whether scripts can name a path.
///
/// # Errors
/// If they cannot.
pub fn check_path(path: &Path) -> Result<()> {
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\' | '$' | '`');
    let is_good = path.to_string_lossy().chars().all(is_plain);
    if is_good { Ok(()) } else { Err(Error::BadPath { path: path.to_owned() }) }
}

fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem)
}

fn piece_path(folder: &Path, piece: u32) -> PathBuf {
    folder.join(PIECES).join(format!("{piece:04}.toml"))
}
