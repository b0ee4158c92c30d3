//! What happens to a made-up run: at one of the moments at which its parts are called, a fault.

use rqps_model::random::Stream;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What can befall a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Its process is killed: what is in memory is gone, and of the journal what was written.
    Kill,
    /// The instance dies in what it is doing.
    Death,
    /// The device with the data is full.
    DiskFull,
    /// The user wants it to end.
    Interrupt,
}

/// What a killed process panics with.
pub struct Killed;

pub struct World {
    pub random: Stream,
    /// Moments so far.
    pub moments: u64,
    /// What is to happen from which moment on.
    pub fault: Option<(u64, Fault)>,
    pub stop: Arc<AtomicBool>,
    /// The run's folder, once it is known.
    pub folder: Option<PathBuf>,
    /// Its files as a killed process left them.
    left: Vec<(PathBuf, Vec<u8>)>,
    /// Versions whose instances don't start.
    pub refused: BTreeSet<String>,
    /// What the spinning canary reads next; 1 ns where nothing is said.
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
            spins_ns: VecDeque::new(),
        }
    }
}

impl World {
    /// A number from 0, below this one.
    pub fn below(&mut self, end: u64) -> u64 {
        self.random.bits() % end
    }
}

/// The world of this thread's run.
pub fn with<T>(look: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(look)
}

pub fn replace(world: World) {
    WORLD.set(world);
}

/// A moment at which the process may be killed, or asked to end.
pub fn moment() {
    let fault = moment_for(&[]);
    assert_eq!(fault, None);
}

/// A moment at which one of these faults may happen too, which the caller then shows.
pub fn moment_for(shown: &[Fault]) -> Option<Fault> {
    let due = with(|world| {
        world.moments += 1;
        let (at, fault) = world.fault?;
        let is_shown = matches!(fault, Fault::Kill | Fault::Interrupt) || shown.contains(&fault);
        (world.moments >= at && is_shown).then(|| {
            world.fault = None;
            fault
        })
    })?;
    match due {
        Fault::Kill => {
            with(leave);
            std::panic::panic_any(Killed);
        }
        Fault::Interrupt => {
            with(|world| world.stop.store(true, Ordering::Relaxed));
            None
        }
        Fault::Death | Fault::DiskFull => Some(due),
    }
}

/// Keeps the journal as it is at this moment. What was committed is on disk, a write that was under way may be there in
/// part.
fn leave(world: &mut World) {
    let Some(folder) = world.folder.clone() else {
        return;
    };
    for name in ["run.db", "run.db-wal"] {
        let path = folder.join(name);
        if let Ok(mut bytes) = fs::read(&path) {
            if name.ends_with("-wal") && world.below(2) == 0 {
                let torn = world.below(5000) as usize;
                let again: Vec<u8> = bytes.iter().rev().take(torn).copied().collect();
                bytes.extend(again);
            }
            world.left.push((path, bytes));
        }
    }
}

/// Puts the journal back to what a killed process left.
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

/// A directory in memory: a journal that waits for a disk would take hours.
pub fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}
