//! A made-up run: begins it and resumes it until its end.

use crate::KIT;
use crate::world::{self, Killed, World, moment};
use rqps_builds::{Dirs, Watch};
use rqps_executor::{Execution, Finish, Progress, Result, Resume};
use rqps_plan::{Plan, PlanContext};
use rqps_store::{Run, RunFolder, RunProgress};
use std::cell::RefCell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::Ordering;
use tempfile::TempDir;

/// A plan and the directories of its run.
pub struct Scene {
    dir: TempDir,
    pub dirs: Dirs,
    plan: Plan,
}

/// A run that has begun with nothing done, to be copied.
pub struct Template {
    begun: Scene,
    /// Number of moments of a run without faults.
    pub moments: u64,
}

impl Template {
    pub fn new(scene: Scene) -> Self {
        drop(scene.begin().unwrap());
        let mut template = Self { begun: scene, moments: 0 };
        world::replace(World::new(0));
        assert!(matches!(template.scene().execute(), End::Finished(Finish::Complete)));
        template.moments = world::with(|world| world.moments);
        template
    }

    /// Copies the run.
    pub fn scene(&self) -> Scene {
        let (from, dir) = (self.begun.folder().unwrap(), world::directory());
        let folder = dir.path().join("results").join(from.file_name().unwrap());
        copy_dir(&from, &folder);
        Scene { dirs: dirs_in(&dir), dir, plan: self.begun.plan.clone() }
    }
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy_dir(&path, &copy),
            false => fs::copy(&path, &copy).map(|_| ()).unwrap(),
        }
    }
}

fn dirs_in(dir: &TempDir) -> Dirs {
    Dirs { cache: dir.path().join("cache"), work: dir.path().join("work") }
}

/// How one process of a run ended.
#[derive(Debug)]
pub enum End {
    Finished(Finish),
    Failed(rqps_executor::Error),
    Killed,
}

impl Scene {
    /// A run with this number of arms, at most 3: a, which is base, is version 11, b version 12, c version
    /// 13.
    pub fn new(top: &str, workload: &str, arms: usize) -> Self {
        let mut text = format!("name = \"made-up\"\nbase = \"a\"\n{top}\n[workload]\n{workload}\n");
        for (arm, version) in ["a", "b", "c"].into_iter().zip(11..).take(arms) {
            text +=
                &format!("[[arm]]\nname = \"{arm}\"\nbuild = \"postgres-{version}\"\nconfig = \"plain\"\n");
        }
        let plan = Plan::parse(&text, "made-up.toml", &PlanContext::trusting(KIT.benchmarks));
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}\n{text}")).plan;
        let dir = world::directory();
        Self { dirs: dirs_in(&dir), dir, plan }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs one process: begins the run, or resumes it.
    pub fn execute(&self) -> End {
        self.execute_as(Resume::default())
    }

    /// The same with options of a resume.
    pub fn execute_as(&self, how: Resume) -> End {
        hide_panics_of_kills();
        world::with(|world| world.stop.store(false, Ordering::Relaxed));
        let ended = catch_unwind(AssertUnwindSafe(|| self.process(how)));
        match ended {
            Ok(Ok(finish)) => End::Finished(finish),
            Ok(Err(error)) => End::Failed(error),
            Err(panic) if panic.is::<Killed>() => {
                world::restore();
                End::Killed
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn process(&self, how: Resume) -> Result<Finish> {
        let mut execution = match self.folder() {
            Some(folder) => {
                Watch::nobody(|watch| rqps_executor::resume(&KIT, &folder, &self.dirs, how, watch))?
            }
            None => self.begin()?,
        };
        world::with(|world| world.folder = Some(execution.folder()));
        moment();
        let stop = world::with(|world| world.stop.clone());
        execution.run(&mut Listener, &stop)
    }

    fn begin(&self) -> Result<Execution> {
        let ingredients = Watch::nobody(|watch| rqps_executor::resolve(&KIT, &self.plan, &self.dirs, watch))?;
        let results = self.dir.path().join("results");
        rqps_executor::begin(&KIT, self.plan.clone(), ingredients, &self.dirs, (&results, None), "test")
    }

    fn folder(&self) -> Option<PathBuf> {
        fs::read_dir(self.dir.path().join("results")).ok()?.flatten().map(|entry| entry.path()).next()
    }

    pub fn results(&self) -> Run {
        RunFolder::open(&self.folder().unwrap()).unwrap()
    }

    /// Entries of the work directory.
    pub fn data_left(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.dirs.work) else {
            return Vec::new();
        };
        entries.flatten().map(|entry| entry.path()).collect()
    }
}

fn hide_panics_of_kills() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.payload().is::<Killed>() {
                before(panic);
            }
        }));
    });
}

thread_local! {
    /// The shares that runs on this thread have told.
    pub static SHARES: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Makes each progress report a moment, at which a fault may happen.
struct Listener;

impl Progress for Listener {
    fn action_started(&mut self, _seqs: &[u32], _arm: &str, _action: &str) {
        moment();
    }

    fn action_progress(&mut self, _doing: &str, _elapsed_s: f64, _rate: Option<(f64, &str)>) {
        moment();
    }

    fn action_finished(&mut self, _seq: u32, _arm: &str, _action: &str, _result: &str) {
        moment();
    }

    fn stage(&mut self, _text: &str) {}

    fn overall(&mut self, progress: RunProgress) {
        SHARES.with_borrow_mut(|shares| shares.push(progress.share));
    }

    fn blocks(&mut self, _done: u32, _most: u32) {}

    fn note(&mut self, _text: &str) {}
}
