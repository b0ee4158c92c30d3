//! Tries the user's own statements before a run: those of a schema, of scripts and of `after_load`. What they mean only
//! a server knows, so one is started for as long as that takes.

use crate::arm::{ActiveArm, Ingredients, not_started};
use crate::control::{Instances, RunControl, with_watchdog};
use crate::error::{Error, Result};
use crate::kit::Kit;
use crate::place::serve_dir;
use crate::progress::Progress;
use crate::spec::spec_with_logs;
use crate::work::{Task, load};
use rqps_builds::Dirs;
use rqps_plan::Plan;
use rqps_servers::{ServerSpec, remove_data_dir};
use rqps_store::RunProgress;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often the user's wish to stop, and the time, are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Loads the tables on a new server of the plan's arm number `at` and prepares every statement of the scripts. Returns
/// what the server refuses, each with its place.
///
/// # Errors
/// If the server cannot be started, or ends; [`Error::Interrupted`] if the user wants to `stop`, or all is not done
/// within the time.
pub fn rehearse(
    kit: &Kit,
    plan: &Plan,
    (at, ingredients): (usize, &Ingredients),
    dirs: &Dirs,
    (stop, within): (&AtomicBool, Duration),
) -> Result<Vec<String>> {
    dirs.create_work()?;
    let place = serve_dir(dirs);
    let spec = spec_with_logs(plan, at, ingredients, place.join("data"), place.join("logs"));
    let outcome = ending_in_time(stop, within, |stop| {
        let instances = Mutex::new(Instances::new());
        let mut control = RunControl { progress: &mut Silent, stop, instances: &instances };
        with_watchdog(stop, &instances, || on_server(kit, plan, (at, ingredients), &spec, &mut control))
    });
    remove_data_dir(&spec.data_dir)?;
    std::fs::remove_dir_all(&place).map_err(|source| Error::File {
        action: "remove",
        path: place,
        source,
    })?;
    match outcome {
        Ok(()) => Ok(Vec::new()),
        Err(Error::Refused { statements, .. }) => Ok(statements),
        Err(error) => Err(error),
    }
}

fn on_server(
    kit: &Kit,
    plan: &Plan,
    (at, ingredients): (usize, &Ingredients),
    spec: &ServerSpec,
    control: &mut RunControl<'_>,
) -> Result<()> {
    let (name, system) = (&plan.arms[at].name, ingredients.system);
    system.create(spec, control.stop).map_err(not_started(name, &spec.data_dir))?;
    let mut arm = ActiveArm::start(at, name, (system, spec), control)?;
    let task = Task { plan, driver: kit.driver(plan)?, arm: &arm };
    let loaded = load(&task, &plan.first_test(), control).map(drop);
    let loaded = loaded.map_err(|error| arm.failed("trying the SQL", error, control));
    arm.instance.discard();
    loaded
}

/// Runs `work` with a flag that is set when the user wants to stop, or when the time is over.
fn ending_in_time<T>(stop: &AtomicBool, within: Duration, work: impl FnOnce(&AtomicBool) -> T) -> T {
    let ends = &AtomicBool::new(false);
    let began = Instant::now();
    std::thread::scope(|scope| {
        // Dropped when the work is done, or panics.
        let (_working, done) = channel::<()>();
        scope.spawn(move || {
            while done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if stop.load(Ordering::Relaxed) || began.elapsed() >= within {
                    ends.store(true, Ordering::Relaxed);
                }
            }
        });
        work(ends)
    })
}

/// Nobody watches.
struct Silent;

impl Progress for Silent {
    fn action_started(&mut self, _seqs: &[u32], _arms: &str, _action: &str) {}
    fn action_progress(&mut self, _doing: &str, _elapsed_s: f64, _rate: Option<(f64, &str)>) {}
    fn action_finished(&mut self, _seq: u32, _arm: &str, _action: &str, _result: &str) {}
    fn stage(&mut self, _text: &str) {}
    fn overall(&mut self, _progress: RunProgress) {}
    fn blocks(&mut self, _done: u32, _most: u32) {}
    fn note(&mut self, _text: &str) {}
}
