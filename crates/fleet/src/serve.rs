//! The home of a fleet whose hosts share no folder: what jobs ask by `ssh`, one question a call.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::archive::{pack, unpack};
use crate::ask::{Answer, Ask};
use crate::claim::{Claim, Claimed};
use crate::error::{Error, Result};
use crate::folder::{Fleet, PIECES};
use crate::home::{RELEASED, manifest_of, read_line};
use crate::place::SPEC;
use crate::reached::HELD;
use crate::spec::Task;

/// A job that has not been heard of for so long has lost its task: its host is gone, which the connection does not say.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// Answers a job's question, from standard input to standard output.
///
/// # Errors
/// If the question cannot be read or answered.
pub fn serve(fleet: &Fleet, task: &Task) -> Result<()> {
    let stdin = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(Error::file("read", Path::new("standard input")))?;
    let mut stdin = File::from(stdin);
    let line = read_line(&mut stdin);
    let ask = serde_json::from_slice(&line)
        .map_err(|error| Error::Unreadable { path: "standard input".into(), why: error.to_string() })?;
    match ask {
        Ask::Pieces => pack(&fleet.folder, &[Path::new(SPEC), Path::new(PIECES)], Stdio::inherit()),
        Ask::Build { arm } => {
            let copied = fleet.spec.over_ssh.as_ref().and_then(|copied| copied.builds.get(&arm));
            let build = copied.ok_or_else(|| Error::Unreadable {
                path: fleet.folder.clone(),
                why: format!("no build of {arm}"),
            })?;
            pack(&fleet.spec.cache, &[build, &manifest_of(build)], Stdio::inherit())
        }
        Ask::Hold { host } => hold(fleet, task, &host, stdin),
        Ask::Reached(reached) => {
            fleet.record_reached(task, &reached)?;
            say(Answer::Noted { is_cancelled: fleet.is_cancelled() })
        }
        Ask::Failed { host, why } => {
            fleet.record_failure(task, &host, &why)?;
            say(Answer::Noted { is_cancelled: fleet.is_cancelled() })
        }
        Ask::Result { host, run } => say(receive(fleet, task, &host, &run, stdin)?),
    }
}

fn say(answer: Answer) -> Result<()> {
    let written = serde_json::to_string(&answer).map_err(std::io::Error::from);
    let written = written.and_then(|text| {
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{text}").and_then(|()| stdout.flush())
    });
    written.map_err(Error::file("write", Path::new("standard output")))
}

/// Keeps others from the task as long as the job is heard of, and jobs of other hosts for [`SILENCE_MAX`] longer: a
/// connection that broke is no job that ended.
fn hold(fleet: &Fleet, task: &Task, host: &str, mut stdin: File) -> Result<()> {
    let claimed = Claim::take(fleet, task, Duration::ZERO, &AtomicBool::new(false), None, || ())?;
    let _claim = match claimed {
        Claimed::Mine(claim) => claim,
        Claimed::Done => return say(Answer::Done),
        Claimed::Taken | Claimed::Stopped => return say(Answer::Taken),
    };
    let path = fleet.task_folder(task).join(HELD);
    let held_by =
        fs::read_to_string(&path).ok().zip(fs::metadata(&path).and_then(|file| file.modified()).ok());
    let is_recent = |at: SystemTime| at.elapsed().is_ok_and(|since| since < SILENCE_MAX);
    if held_by.is_some_and(|(other, at)| other != host && is_recent(at)) {
        return say(Answer::Taken);
    }
    let beat = || fs::write(&path, host).map_err(Error::file("write", &path));
    beat()?;
    fleet.record_begin(task, host)?;
    say(Answer::Held { failures: fleet.failures(task).len() })?;
    let (heard, beats) = channel();
    thread::spawn(move || {
        let mut byte = [0];
        while matches!(stdin.read(&mut byte), Ok(1)) && heard.send(byte).is_ok() {}
    });
    while let Ok(byte) = beats.recv_timeout(SILENCE_MAX) {
        if byte == RELEASED {
            return fs::remove_file(&path).map_err(Error::file("remove", &path));
        }
        beat()?;
    }
    Ok(())
}

/// Unpacks a run and makes it the task's result, unless there is one.
fn receive(fleet: &Fleet, task: &Task, host: &str, run: &str, archive: File) -> Result<Answer> {
    let folder = fleet.task_folder(task);
    let is_name = Path::new(run).file_name().is_some_and(|name| name == run);
    if !is_name {
        return Err(Error::Unreadable { path: folder, why: format!("{run} is no run") });
    }
    let partial = folder.join(format!("received-{}", std::process::id()));
    fs::create_dir_all(&partial).map_err(Error::file("create", &partial))?;
    let synced = || File::open(&partial).and_then(|directory| Ok(rustix::fs::syncfs(&directory)?));
    let received = unpack(archive.into(), &partial).and_then(|()| {
        synced().map_err(Error::file("sync", &partial))?;
        let path = folder.join("received.lock");
        let lock = File::create(&path).map_err(Error::file("open", &path))?;
        lock.lock().map_err(Error::file("lock", &path))?;
        if fleet.is_done(task) {
            return Ok(Answer::Done);
        }
        let place = folder.join(run);
        // Of a result that arrived and was not published.
        let _ = fs::remove_dir_all(&place);
        fs::rename(partial.join(run), &place).map_err(Error::file("move the run to", &place))?;
        Ok(if fleet.record_result(task, &place, host)? { Answer::Published } else { Answer::Done })
    });
    let _ = fs::remove_dir_all(&partial);
    received
}
