//! The faults of a made-up run. Each call of one of its parts is a moment, at which a fault may happen.

use rqps_model::random::Stream;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed: memory and unwritten parts of the journal are lost.
    Kill,
    /// The instance dies during its current work.
    Death,
    /// The disk of the data is full.
    DiskFull,
    /// The user stops the run.
    Interrupt,
}

/// Panic payload of a killed process.
pub struct Killed;

pub struct World {
    pub random: Stream,
    /// Moments so far.
    pub moments: u64,
    /// The next fault, and the first moment at which it may happen.
    pub fault: Option<(u64, Fault)>,
    pub stop: Arc<AtomicBool>,
    /// The run folder, once it is known.
    pub folder: Option<PathBuf>,
    /// The journal's files as a killed process left them.
    left: Vec<(PathBuf, Vec<u8>)>,
    /// Versions whose instances don't start.
    pub refused: BTreeSet<String>,
    /// Width of the range in which the time of an entry varies, as a share of it.
    pub noise: f64,
    /// Next readings of the canary `spin_ns`; 1 ns when empty.
    pub spins_ns: VecDeque<f64>,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new(0));
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self {
            random: Stream::new(&[seed]),
            moments: 0,
            fault: None,
            stop: Arc::new(AtomicBool::new(false)),
            folder: None,
            left: Vec::new(),
            refused: BTreeSet::new(),
            noise: 0.0,
            spins_ns: VecDeque::new(),
        }
    }

    /// A random number from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.random.bits() % end
    }
}

/// The world of this thread's run.
pub fn with<T>(access: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(access)
}

pub fn replace(world: World) {
    WORLD.set(world);
}

/// A moment at which the process may be killed or stopped by the user.
pub fn moment() {
    let fault = moment_for(&[]);
    assert_eq!(fault, None);
}

/// A moment at which one of these faults may happen too. Returns it, and the caller must fail accordingly.
pub fn moment_for(faults: &[Fault]) -> Option<Fault> {
    let due = with(|world| {
        world.moments += 1;
        let (at, fault) = world.fault?;
        let is_possible = matches!(fault, Fault::Kill | Fault::Interrupt) || faults.contains(&fault);
        (world.moments >= at && is_possible).then(|| {
            world.fault = None;
            fault
        })
    })?;
    match due {
        Fault::Kill => {
            with(save_journal);
            std::panic::panic_any(Killed);
        }
        Fault::Interrupt => {
            with(|world| world.stop.store(true, Ordering::Relaxed));
            None
        }
        Fault::Death | Fault::DiskFull => Some(due),
    }
}

/// Saves the journal as it is at this moment: committed writes, and by chance part of an unfinished one.
fn save_journal(world: &mut World) {
    let Some(folder) = world.folder.clone() else {
        return;
    };
    for name in ["run.db", "run.db-wal"] {
        let path = folder.join(name);
        if let Ok(mut bytes) = fs::read(&path) {
            if name.ends_with("-wal") && world.below(2) == 0 {
                let torn = world.below(5000) as usize;
                let unfinished: Vec<u8> = bytes.iter().rev().take(torn).copied().collect();
                bytes.extend(unfinished);
            }
            world.left.push((path, bytes));
        }
    }
}

/// Restores the journal to what a killed process left.
pub fn restore() {
    let left = with(|world| std::mem::take(&mut world.left));
    for (path, _) in &left {
        let shared = path.with_file_name("run.db-shm");
        for file in [path.clone(), path.with_file_name("run.db-wal"), shared] {
            let _removed = fs::remove_file(file);
        }
    }
    for (path, bytes) in left {
        fs::write(&path, bytes).unwrap();
    }
}

/// A temporary directory in memory if possible: with a journal on a disk, the tests would take hours.
pub fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}
