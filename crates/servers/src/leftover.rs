//! Cleans up after an earlier rqps: stops servers that it left on a data directory and removes what is no
//! longer needed. Stops only exactly the recorded process, and removes only what has the marker.

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

/// Time limit for the clean shutdown of a leftover server.
const CLEAN_MAX: Duration = Duration::from_secs(5);

/// The same for each harder signal.
const QUICK_MAX: Duration = Duration::from_secs(2);

/// Time limit for a server to exit whose rqps was killed while it started.
const ORPHAN_EXIT_MAX: Duration = Duration::from_secs(3);

/// Stops any server whose marker is gone.
const ANY_SERVER: Signals = Signals { clean: Signal::TERM, quick: Signal::QUIT, death: Signal::KILL };

/// Removes a data directory created by rqps and everything kept next to it; stops a leftover server first. A
/// missing directory is not an error.
///
/// # Errors
/// If rqps did not create it, or it is in use.
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
    /// Stops the server that an earlier rqps left, if the recorded process is still exactly that one. Returns
    /// whether there was one. Call with the lock held, so that no rqps is using it.
    ///
    /// # Errors
    /// If an unrecorded server runs on it, or the recorded process cannot be killed.
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
            let signals = self.marker().filter(|marker| marker.dbms != Dbms::Directory);
            let signals = signals.map_or(ANY_SERVER, |marker| systems::get(marker.dbms).signals());
            stop(&record.process, signals);
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

    /// Fails if an unrecorded server runs here. A server whose rqps was killed during its start is not
    /// recorded either, but about to exit.
    fn check_not_foreign(&self) -> Result<()> {
        let deadline = Instant::now() + ORPHAN_EXIT_MAX;
        let running = |dbms: Dbms| Some((dbms, systems::get(dbms).running_server(&self.path)?));
        // Only the DBMS in the marker can use the directory.
        let mut candidates = self.marker().map_or_else(|| Dbms::ALL.to_vec(), |marker| vec![marker.dbms]);
        candidates.retain(|dbms| *dbms != Dbms::Directory);
        while let Some((dbms, pid)) = candidates.iter().copied().find_map(running) {
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

    /// Removes the data directory and everything next to it except the lock. Refuses what rqps did not
    /// create.
    pub fn remove(&self) -> Result<()> {
        if self.remove_all_but_data()? {
            // Whoever is killed here must not leave half of it under its name.
            let staging = self.staging();
            let moved = fs::rename(&self.path, &staging);
            remove_marker_last(if moved.is_ok() { &staging } else { &self.path })?;
        }
        Ok(())
    }

    /// Removes what lies around the data directory, and returns whether there is one.
    ///
    /// # Errors
    /// As [`DataDir::remove`].
    pub fn remove_all_but_data(&self) -> Result<bool> {
        let has_data = is_ours(&self.path)?;
        let staging = self.staging();
        if is_ours(&staging)? {
            kill_creators(&staging);
            remove_marker_last(&staging)?;
        }
        self.clear_record();
        remove_private(&self.password_path())?;
        Ok(has_data)
    }
}

/// The marker's name until all of it is written, as [`rqps_builds::held_dir`] chooses it.
const UNFINISHED_MARKER: &str = ".new-rqps.json";

/// Whether there is a directory; refuses one that rqps did not make.
fn is_ours(path: &Path) -> Result<bool> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(false) };
    if !meta.is_dir() || (!holds_marker_alone(path)? && read_marker(path).is_none()) {
        return Err(Error::NotOurs { path: path.to_path_buf() });
    }
    Ok(true)
}

/// Whether a directory is empty or has only a marker, possibly half written: on a full disk it has not got its name.
fn holds_marker_alone(dir: &Path) -> Result<bool> {
    let mut entries = fs::read_dir(dir).map_err(Error::file("list", dir))?.flatten();
    Ok(entries.all(|entry| [MARKER, UNFINISHED_MARKER].iter().any(|name| entry.file_name() == *name)))
}

/// Removes a directory with the marker last, so that after a crash the rest still counts as made by rqps.
pub(crate) fn remove_marker_last(dir: &Path) -> Result<()> {
    let entries = fs::read_dir(dir).map_err(Error::file("list", dir))?;
    for entry in entries.flatten().filter(|entry| entry.file_name() != MARKER) {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(Error::file("remove", &path))?;
    }
    fs::remove_dir_all(dir).map_err(Error::file("remove", dir))
}

/// Stops a process that is not our child: gently first, then harder.
fn stop(process: &Identity, signals: Signals) {
    // It may have been frozen when its rqps was killed.
    freeze::thaw(process.pid);
    for (signal, time_limit) in
        [(signals.clean, CLEAN_MAX), (signals.quick, QUICK_MAX), (Signal::KILL, QUICK_MAX)]
    {
        // An error means that it has ended or is not ours to signal, which shows below.
        let _sent = process::signal(process.pid, signal);
        let deadline = Instant::now() + time_limit;
        while Instant::now() < deadline {
            if !process.alive() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Kills processes that still work on a data directory whose creation was cut off: initdb dies with its rqps,
/// but the server program that initdb started takes a moment longer. No other process belongs there.
fn kill_creators(staging: &Path) {
    let deadline = Instant::now() + ORPHAN_EXIT_MAX;
    loop {
        let pids = process::working_in(staging, true);
        if pids.is_empty() || Instant::now() >= deadline {
            return;
        }
        for pid in pids {
            // It may be exiting.
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
    fn only_the_recorded_process_is_stopped() {
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
    fn directories_not_made_by_rqps_are_left_alone() {
        let (_dir, data_dir) = scratch();
        let file = data_dir.path.join("precious");
        fs::write(&file, "").unwrap();
        let message = remove_data_dir(&data_dir.path).unwrap_err().to_string();
        assert!(message.contains("was not made by rqps"), "{message}");
        assert!(file.exists());
        let marker = Marker { dbms: Dbms::Postgres, build: "postgres-18.1".to_owned() };
        write_marker(&data_dir.path, &marker, &server_user().unwrap()).unwrap();
        remove_data_dir(&data_dir.path).unwrap();

        // Half created or half removed: nothing but a marker, or only the lock.
        fs::create_dir(&data_dir.path).unwrap();
        fs::write(data_dir.path.join(MARKER), "{").unwrap();
        remove_data_dir(&data_dir.path).unwrap();
        drop(data_dir.lock().unwrap());
        remove_data_dir(&data_dir.path).unwrap();
        assert_eq!(fs::read_dir(data_dir.path.parent().unwrap()).unwrap().count(), 0);
    }
}
