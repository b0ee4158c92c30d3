//! What an rqps before this one left on a data directory: servers that still run are ended, and what is not needed any
//! more is removed. Only the very process that was noted is ended, and only what carries the marker is removed.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rqps_model::Dbms;
use rustix::process::Signal;

use crate::data_dir::{DataDir, MARKER, Record, read_marker};
use crate::error::{Error, Result};
use crate::freeze;
use crate::private::remove_private;
use crate::process::{self, Identity, end_stragglers};
use crate::system::Signals;
use crate::systems;

/// How long a server left behind may take for a clean shutdown before it is ended harder.
const LEFTOVER_PATIENCE: Duration = Duration::from_secs(5);

/// How long a server may take to end whose rqps was killed while it started.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(3);

/// Ends any server whose marker is gone.
const ANY_SERVER: Signals = Signals { clean: Signal::TERM, quick: Signal::QUIT, death: Signal::KILL };

/// Removes a data directory that rqps made, with everything kept beside it; a server left on it is ended before. A
/// missing directory is not an error.
///
/// # Errors
/// When rqps did not make it, or it is in use.
pub fn remove_data_dir(data_dir: &Path) -> Result<()> {
    let data_dir = DataDir::at(data_dir)?;
    let parts = [data_dir.path.clone(), data_dir.staging(), data_dir.lock_path()];
    if !parts.iter().any(|path| path.exists()) {
        return Ok(());
    }
    let _lock = data_dir.lock()?;
    data_dir.reap()?;
    data_dir.remove()?;
    data_dir.remove_lock()
}

impl DataDir {
    /// Ends the server that an rqps left behind, when the process noted is still that very process. Returns
    /// whether there was one. Call with the lock held, which says that no rqps is using it.
    ///
    /// # Errors
    /// When somebody else's server runs on it, or the recorded process cannot be killed.
    pub fn reap(&self) -> Result<bool> {
        let record = fs::read_to_string(self.record_path())
            .ok()
            .and_then(|text| serde_json::from_str::<Record>(&text).ok());
        let found = record.as_ref().is_some_and(|record| record.process.alive());
        if !found {
            self.check_not_foreign()?;
        }
        let Some(record) = record else {
            return Ok(false);
        };
        if found {
            let signals = self.marker().map_or(ANY_SERVER, |marker| systems::get(marker.dbms).signals());
            end(&record.process, signals);
        }
        end_stragglers(&self.path, &record.process.exe);
        if record.process.alive() {
            return Err(Error::InUse {
                path: self.path.clone(),
                holder: format!(
                    "pid {}, left by an earlier rqps, which cannot be killed",
                    record.process.pid
                ),
            });
        }
        self.clear_record();
        Ok(found)
    }

    /// Refuses if an unrecorded server runs here. One whose rqps was killed during its start is not recorded either,
    /// but about to exit.
    fn check_not_foreign(&self) -> Result<()> {
        let deadline = Instant::now() + ORPHAN_PATIENCE;
        let at_work = |dbms: Dbms| Some((dbms, systems::get(dbms).running_server(&self.path)?));
        // What rqps made for one DBMS no other could work on.
        let possible = self.marker().map_or_else(|| Dbms::ALL.to_vec(), |marker| vec![marker.dbms]);
        while let Some((dbms, pid)) = possible.iter().copied().find_map(at_work) {
            if Instant::now() >= deadline {
                return Err(Error::InUse {
                    path: self.path.clone(),
                    holder: format!("a {dbms} server with pid {pid} that this rqps did not start"),
                });
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Removes the data directory and all beside it but the lock. Refused for what rqps did not make.
    pub fn remove(&self) -> Result<()> {
        for path in [self.path.clone(), self.staging()] {
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            if !meta.is_dir() {
                return Err(Error::NotOurs { path });
            }
            if !holds_marker_alone(&path)? && read_marker(&path).is_none() {
                return Err(Error::NotOurs { path });
            }
            if path == self.staging() {
                end_makers(&path);
            }
            remove_marker_last(&path)?;
        }
        self.clear_record();
        remove_private(&self.password_path())
    }
}

/// Whether nothing is in a directory, or at most a marker, be it half written.
fn holds_marker_alone(dir: &Path) -> Result<bool> {
    let mut entries = fs::read_dir(dir).map_err(Error::file("list", dir))?.flatten();
    Ok(entries.all(|entry| entry.file_name() == MARKER))
}

/// Removes a directory so that what is left of it by a crash in between still counts as made by rqps.
fn remove_marker_last(dir: &Path) -> Result<()> {
    let entries = fs::read_dir(dir).map_err(Error::file("list", dir))?;
    for entry in entries.flatten().filter(|entry| entry.file_name() != MARKER) {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(Error::file("remove", &path))?;
    }
    fs::remove_dir_all(dir).map_err(Error::file("remove", dir))
}

/// Ends a process that is not our child, from gentle to hard.
fn end(process: &Identity, signals: Signals) {
    // It may have been frozen when its rqps was killed.
    freeze::thaw(process.pid);
    for (signal, patience) in [
        (signals.clean, LEFTOVER_PATIENCE),
        (signals.quick, Duration::from_secs(2)),
        (Signal::KILL, Duration::from_secs(2)),
    ] {
        // An error means that it has just ended, or that it is not ours to end, which shows below.
        let _sent = process::signal(process.pid, signal);
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if !process.alive() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Ends what still works on a data directory that was being made when its rqps was killed: initdb is gone
/// with it, but not at once the server program that initdb has started. Nobody else has any business there.
fn end_makers(staging: &Path) {
    let deadline = Instant::now() + ORPHAN_PATIENCE;
    loop {
        let makers = process::working_in(staging, true);
        if makers.is_empty() || Instant::now() >= deadline {
            return;
        }
        for pid in makers {
            // It may end by itself at this moment.
            let _sent = process::signal(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_dir::{Marker, write_marker};
    use rqps_builds::server_user;
    use std::process::{Child, Command};

    fn scratch() -> (tempfile::TempDir, DataDir) {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = DataDir::at(&dir.path().join("data")).unwrap();
        fs::create_dir(&data_dir.path).unwrap();
        (dir, data_dir)
    }

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    #[test]
    fn only_the_very_process_noted_is_ended() {
        let (_dir, data_dir) = scratch();
        let mut ours = sleeper();
        data_dir.write_record(ours.id()).unwrap();
        assert!(data_dir.reap().unwrap());
        assert!(!ours.wait().unwrap().success());
        assert!(!data_dir.reap().unwrap());

        let mut stranger = sleeper();
        data_dir.write_record(stranger.id()).unwrap();
        let record = fs::read_to_string(data_dir.record_path()).unwrap();
        fs::write(data_dir.record_path(), record.replace("\"start_ticks\":", "\"start_ticks\":1")).unwrap();
        assert!(!data_dir.reap().unwrap());
        assert!(stranger.try_wait().unwrap().is_none());
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn what_rqps_did_not_make_is_left_alone() {
        let (_dir, data_dir) = scratch();
        let file = data_dir.path.join("precious");
        fs::write(&file, "").unwrap();
        let message = remove_data_dir(&data_dir.path).unwrap_err().to_string();
        assert!(message.contains("was not made by rqps"), "{message}");
        assert!(file.exists());
        let marker = Marker { dbms: Dbms::Postgres, build: "postgres-18.1".to_owned() };
        write_marker(&data_dir.path, &marker, &server_user().unwrap()).unwrap();
        remove_data_dir(&data_dir.path).unwrap();

        // Half made or half removed: nothing but a marker, or only the lock.
        fs::create_dir(&data_dir.path).unwrap();
        fs::write(data_dir.path.join(MARKER), "{").unwrap();
        remove_data_dir(&data_dir.path).unwrap();
        drop(data_dir.lock().unwrap());
        remove_data_dir(&data_dir.path).unwrap();
        assert_eq!(fs::read_dir(data_dir.path.parent().unwrap()).unwrap().count(), 0);
    }
}
