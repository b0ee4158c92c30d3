//! Empty clusters that are kept for the next time: creating the system tables takes seconds of CPU time, copying them a
//! tenth of a second.
//!
//! They lie beside their build in the cache and never change: each appears at once, complete, and no server is started
//! on it. Builds outside the cache may change, so nothing of them is kept. Without a kept cluster, or if it cannot be
//! copied, a new one is created.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use rqps_builds::{ServerUser, kept_beside, sha256_hex};

use crate::data_dir::DataDir;
use crate::error::{Error, Result};
use crate::snapshot::copy_files;
use crate::spec::ServerSpec;
use crate::systems;

/// To be raised when clusters are created in another way.
const FORMAT: u32 = 1;

/// A larger cluster, such as one with a large redo log, is not kept.
const BYTES_MAX: u64 = 256 << 20;

/// Clusters of a build, one for each config that determines its files.
const PER_BUILD_MAX: usize = 8;

/// Where the empty cluster of a spec is kept; `None` if there is no place for it.
fn place(spec: &ServerSpec) -> Option<DataDir> {
    if !systems::get(spec.build.dbms).keeps_empty() {
        return None;
    }
    let key = format!("{FORMAT} {} {}", spec.build.hash, crate::data_key(&spec.build, &spec.config));
    let name = &sha256_hex(key.as_bytes())[..16];
    DataDir::at(&kept_beside(&spec.build)?.join(name)).ok()
}

/// Copies the kept cluster to a data directory, which must be absent. Returns false if there is none.
///
/// # Errors
/// Only if it was interrupted.
pub(crate) fn copy(
    spec: &ServerSpec,
    to: &DataDir,
    user: &ServerUser,
    interrupted: &AtomicBool,
) -> Result<bool> {
    let Some(kept) = place(spec).filter(|kept| kept.marker().is_some()) else { return Ok(false) };
    let copied = {
        // While another process removes it, a copy would lack files.
        let Ok(_lock) = kept.lock_shared() else { return Ok(false) };
        let Some(marker) = kept.marker() else { return Ok(false) };
        copy_files(&kept, to, &marker, false, user, interrupted)
    };
    match copied {
        Ok(_) => Ok(true),
        Err(error @ Error::Interrupted { .. }) => Err(error),
        // It is damaged, or there is no room.
        Err(_) => {
            let _removed = crate::remove_data_dir(&kept.path);
            to.remove().map(|()| false)
        }
    }
}

/// Keeps a copy of a cluster that was just created. Whatever prevents it, as a cache that cannot be written to, costs
/// only time.
pub(crate) fn keep(spec: &ServerSpec, data_dir: &DataDir, user: &ServerUser) {
    if let Some(kept) = place(spec).filter(|_| disk_bytes(&data_dir.path) <= BYTES_MAX) {
        let _kept = try_keep(data_dir, &kept, user);
    }
}

fn try_keep(data_dir: &DataDir, kept: &DataDir, user: &ServerUser) -> Result<()> {
    if let Some(parent) = kept.path.parent() {
        // Servers, which all run as one user, cannot enter it: one could change the clusters of others.
        let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(Error::file("create", parent))?;
    }
    let _lock = kept.lock()?;
    if kept.marker().is_none() {
        remove_oldest(kept);
        if let Some(marker) = data_dir.marker() {
            copy_files(data_dir, kept, &marker, false, user, &AtomicBool::new(false))?;
        }
    }
    kept.remove_lock()
}

/// Makes room for one more beside `kept`. One that is being copied stays.
fn remove_oldest(kept: &DataDir) {
    let entries = kept.path.parent().and_then(|parent| fs::read_dir(parent).ok());
    let mut others: Vec<(SystemTime, PathBuf)> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    others.sort();
    let too_many = (others.len() + 1).saturating_sub(PER_BUILD_MAX);
    for (_, path) in others.iter().take(too_many) {
        let _removed = crate::remove_data_dir(path);
    }
}

/// What a directory takes on disk; files that cannot be read count for nothing.
fn disk_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let of_entry = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
        Ok(meta) => meta.blocks() * 512,
        Err(_) => 0,
    };
    entries.map(of_entry).sum()
}
