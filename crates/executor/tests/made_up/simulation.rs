//! Thousands of runs, each with faults at random moments.

use crate::run::{End, Scene, Template};
use crate::world::{self, Fault, World};
use rqps_executor::{Error, Finish};
use rqps_model::random::Stream;
use rqps_plan::{ActionKind, schedule};
use rqps_store::{Outcome, Run, Status};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Number of runs, unless [`RUNS_VARIABLE`] is set. Ten thousand take some minutes in a debug build.
const RUNS: u64 = 500;
const RUNS_VARIABLE: &str = "RQPS_SIMULATED_RUNS";
/// Number of different plans. Runs share them because creating a journal takes longer than a run.
const PLANS: u64 = 100;
/// Most processes of a run that have a fault.
const FAULTS_MAX: u64 = 3;

#[test]
fn no_fault_makes_a_run_lose_repeat_or_invent_a_step() {
    let runs = std::env::var(RUNS_VARIABLE).map_or(RUNS, |runs| runs.parse().expect(RUNS_VARIABLE));
    let (next, resumed, began) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
    let templates: Vec<Mutex<Template>> =
        (0..PLANS).map(|plan| Mutex::new(Template::new(scene(plan)))).collect();
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= runs {
                        return;
                    }
                    resumed
                        .fetch_add(one_run(seed, &templates[(seed % PLANS) as usize]) - 1, Ordering::Relaxed);
                }
            });
        }
    });
    let resumed = resumed.into_inner();
    eprintln!("{runs} runs, resumed {resumed} times, in {:.1} s", began.elapsed().as_secs_f64());
    assert!(resumed > runs / 2, "{resumed}: too few faults hit");
}

/// Executes a run until it is complete. Returns the number of processes.
fn one_run(seed: u64, template: &Mutex<Template>) -> u64 {
    world::replace(World::new(seed));
    let mut random = Stream::new(&[seed, 1]);
    let mut below = |end: u64| random.bits() % end;
    let (scene, moments) = {
        let template = template.lock().unwrap_or_else(PoisonError::into_inner);
        (template.scene(), template.moments)
    };
    let faults = below(FAULTS_MAX + 1);
    let mut history = Vec::new();
    let mut windows = BTreeMap::new();
    for process in 0..50 {
        let fault = (process < faults).then(|| {
            let kinds = [Fault::Kill, Fault::Kill, Fault::Death, Fault::DiskFull, Fault::Interrupt];
            (1 + below(moments), kinds[below(kinds.len() as u64) as usize])
        });
        world::with(|world| (world.moments, world.fault) = (0, fault));
        let end = scene.execute();
        history.push(format!("{fault:?}: {end:?}"));
        if scene.plan().passes > 1 && !scene.plan().work.can_continue() {
            let now = windows_of(&scene.results());
            let lost = windows.iter().find(|(seq, window)| now.get(seq) != Some(window));
            assert_eq!(lost, None, "seed {seed}: measured again\n{}", history.join("\n"));
            windows = now;
        }
        match end {
            End::Finished(Finish::Complete) => {
                check(&scene, &scene.results()).unwrap_or_else(|problem| {
                    let plan = scene.plan().to_toml().unwrap();
                    panic!("seed {seed}: {problem}\n{}\n{plan}", history.join("\n"))
                });
                return process + 1;
            }
            End::Killed | End::Finished(Finish::Partly(_)) => {}
            End::Failed(
                Error::Interrupted
                | Error::DiskFull { .. }
                | Error::ServerDied { .. }
                | Error::NotStarted { .. },
            ) => {}
            other => panic!("seed {seed}: {other:?}\n{}", history.join("\n")),
        }
    }
    panic!("seed {seed} does not complete:\n{}", history.join("\n"));
}

/// When each window was measured, with its events.
fn windows_of(run: &Run) -> BTreeMap<u32, (i64, Option<u64>)> {
    let windows = run.windows.iter();
    windows.map(|window| (window.action.seq, (window.action.finished_at_ms, window.result.events))).collect()
}

/// A random plan.
fn scene(plan: u64) -> Scene {
    let mut random = Stream::new(&[plan, 2]);
    let mut below = |end: u64| random.bits() % end;
    let passes = if below(4) == 0 { 2 } else { 1 };
    let continues = below(4) == 0;
    let as_base = below(2) == 0;
    let mut steps: Vec<String> = Vec::new();
    for number in 0..1 + below(3) {
        steps.push(match below(4) {
            0 => "settle".to_owned(),
            1 => format!("sum-{number}"),
            _ => format!("put-{number}"),
        });
    }
    steps.push("put-9".to_owned());
    let death = if below(4) == 0 { "on_server_death = \"stop\"\n" } else { "" };
    let workload = format!("as_base = {as_base}\ncontinues = {continues}\nsteps = {steps:?}");
    Scene::new(&format!("passes = {passes}\n{death}"), &workload, [1, 2, 2, 3][below(4) as usize])
}

/// Checks the results of a complete run.
fn check(scene: &Scene, run: &Run) -> Result<(), String> {
    let plan = scene.plan();
    if run.status.status != Status::Complete {
        return Err(format!("status {:?}", run.status));
    }
    if !scene.data_left().is_empty() {
        return Err(format!("data left: {:?}", scene.data_left()));
    }
    let actions = schedule(plan).actions;
    let seqs: Vec<u32> = run.actions.iter().map(|action| action.seq).collect();
    if seqs != (0..actions.len() as u32).collect::<Vec<_>>() {
        return Err(format!("journaled {seqs:?} of {}", actions.len()));
    }
    // Entries of each step in base's first pass, which the others repeat.
    let mut base: BTreeMap<&str, u64> = BTreeMap::new();
    // Expected content of each arm's ledger so far.
    let mut ledgers: BTreeMap<usize, String> = BTreeMap::new();
    for action in &actions {
        let ledger = ledgers.entry(action.arm).or_default();
        let step = match &action.kind {
            ActionKind::Load(_) => {
                "load".clone_into(ledger);
                continue;
            }
            ActionKind::Measure(step) => step,
            _ => continue,
        };
        let windows: Vec<_> = run.windows.iter().filter(|window| window.action.seq == action.seq).collect();
        let [window] = windows[..] else {
            return Err(format!("{} windows of action {}", windows.len(), action.seq));
        };
        let entries = window.result.events.unwrap_or_default();
        let of_base = *base.entry(&step.name).or_insert(entries);
        if step.writes && plan.work.repeats_base() && entries != of_base {
            return Err(format!(
                "{} did {entries} in {}, base {of_base}",
                plan.arms[action.arm].name, step.name
            ));
        }
        if window.action.outcome != Outcome::Done && !plan.work.can_continue() {
            return Err(format!("{} is {:?}", step.name, window.action.outcome));
        }
        let found = run.fingerprint(action.seq).map_err(|error| error.to_string())?;
        let before = ledger.clone();
        if step.writes {
            *ledger += &format!(" {}:{entries}", step.name);
        }
        // A step that continues may find its own work already done; its window is then invalid.
        let was_done = window.action.outcome == Outcome::Invalid && found[0].1 == *ledger;
        if found[0].1 != before && !was_done {
            return Err(format!("action {} began with [{}], not [{before}]", action.seq, found[0].1));
        }
    }
    Ok(())
}
