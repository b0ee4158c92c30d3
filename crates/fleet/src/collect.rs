//! Joins the results of all hosts into one comparison.
//!
//! A run's blocks become blocks of its host, arm by arm as the plan names them: a piece has some of the tests and arms,
//! with base measured beside them. [`rqps_stats::judge_hosts`] judges. What is added here are the facts that tell hosts
//! apart.

mod doubts;
mod facts;
mod figures;

use std::collections::BTreeMap;
use std::thread;

use rqps_stats::{BlockData, Experiment, Hosts, Joint, MetricData, TestData, WindowData, judge_hosts};

use crate::claim::Begun;
use crate::error::{Error, Result};
use crate::folder::Fleet;
use crate::spec::Task;

pub use doubts::Doubts;
pub use facts::{Split, splits};
use figures::Figures;
pub use figures::MeasuredArm;
pub(crate) use figures::keep;

/// Blocks of a task on a host have numbers of their own.
const BLOCKS_MAX: u32 = 10_000;

/// Threads that read: a shared file system takes its time, also if there are few CPUs.
const READERS_MIN: usize = 8;

/// The comparison over all hosts.
#[derive(Debug)]
pub struct Collected {
    /// As the plan lists them.
    pub arms: Vec<MeasuredArm>,
    /// The arm that all others are compared with.
    pub base: String,
    pub hosts: Vec<HostResult>,
    pub judged: Hosts,
    pub tasks_done: usize,
}

/// What is known of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostResult {
    pub name: String,
    pub tasks: usize,
    /// By key, without what is the host's own, such as its name.
    pub facts: BTreeMap<String, String>,
    pub is_left_out: bool,
    /// Why its figures may say little.
    pub doubts: Doubts,
}

impl Collected {
    /// What tells apart the hosts that disagree.
    pub fn splits(&self, joint: &Joint) -> Vec<Split> {
        let ratios: Vec<(usize, f64)> = joint.hosts.iter().map(|(host, one)| (*host, one.ratio)).collect();
        let facts: Vec<&BTreeMap<String, String>> = self.hosts.iter().map(|host| &host.facts).collect();
        splits(&ratios, &joint.agreement.differing, &facts)
    }
}

/// Judges all results there are.
///
/// # Errors
/// If there are none, if one cannot be read, or if an arm was measured with different builds.
pub fn collect(fleet: &Fleet) -> Result<Collected> {
    let order = &fleet.spec.arms;
    let done = fleet.done()?;
    let tasks: Vec<&Task> = fleet.spec.tasks.iter().filter(|task| done.contains(&task.id)).collect();
    if tasks.is_empty() {
        return Err(Error::NothingDone { path: fleet.folder.clone() });
    }
    let read = read_all(fleet, &tasks)?;
    let Some((begun, first)) = read.first() else {
        return Err(Error::NothingDone { path: fleet.folder.clone() });
    };
    let rules = figures::rules(&fleet.task_folder(tasks[0]).join(&begun.run))?;
    let (base, control) = (first.base.clone(), first.control.clone());
    let index = |name: &str| order.iter().position(|arm| arm == name);
    let mut arms: Vec<MeasuredArm> = order.iter().map(|arm| unmeasured(fleet, arm)).collect();
    let mut hosts: BTreeMap<String, (HostResult, Experiment)> = BTreeMap::new();
    for (number, (begun, one)) in read.into_iter().enumerate() {
        let (host, experiment) = hosts.entry(begun.host.clone()).or_insert_with(|| {
            let result = HostResult {
                name: begun.host.clone(),
                tasks: 0,
                facts: BTreeMap::new(),
                is_left_out: false,
                doubts: Doubts::default(),
            };
            let base = index(&base).unwrap_or(0);
            let control = control.as_deref().and_then(index);
            (result, Experiment { arms: order.len(), base, control, tests: Vec::new() })
        });
        host.tasks += 1;
        host.doubts.add(one.doubts);
        for (key, value) in &one.facts {
            host.facts.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let of_run: Vec<Option<usize>> = one.arms.iter().map(|arm| index(&arm.name)).collect();
        for test in one.experiment.tests {
            add(experiment, test, &of_run, number as u32 * BLOCKS_MAX);
        }
        for (arm, place) in one.arms.into_iter().zip(of_run) {
            place.into_iter().for_each(|place| arms[place] = arm.clone());
        }
    }
    let (mut results, experiments): (Vec<HostResult>, Vec<Experiment>) = hosts.into_values().unzip();
    let judged = judge_hosts(&experiments, &rules)?;
    for (result, host) in results.iter_mut().zip(&judged.each) {
        result.is_left_out = host.fails_check(rules.alpha);
    }
    Ok(Collected { arms, base, hosts: results, judged, tasks_done: tasks.len() })
}

/// What is known of an arm that no host has measured.
fn unmeasured(fleet: &Fleet, name: &str) -> MeasuredArm {
    let hash = fleet.spec.builds.get(name).cloned().unwrap_or_default();
    MeasuredArm { name: name.to_owned(), build: String::new(), hash, config: String::new() }
}

/// Reads the results of tasks, in their order.
fn read_all(fleet: &Fleet, tasks: &[&Task]) -> Result<Vec<(Begun, Figures)>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).max(READERS_MIN);
    let chunks: Vec<Result<Vec<(Begun, Figures)>>> = thread::scope(|scope| {
        let some = tasks.chunks(tasks.len().div_ceil(threads).max(1));
        let started: Vec<_> = some
            .map(|some| {
                scope.spawn(move || {
                    some.iter().map(|task| read(fleet, task)).collect::<Result<Vec<(Begun, Figures)>>>()
                })
            })
            .collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut all = Vec::new();
    for chunk in chunks {
        all.extend(chunk?);
    }
    Ok(all)
}

fn read(fleet: &Fleet, task: &Task) -> Result<(Begun, Figures)> {
    let begun = fleet.result(task)?;
    let run = fleet.task_folder(task).join(&begun.run);
    let figures = figures::read(fleet, task, &run)?;
    for MeasuredArm { name, hash: found, .. } in &figures.arms {
        if let Some(expected) = fleet.spec.builds.get(name).filter(|hash| *hash != found) {
            let (arm, found, expected) = (name.clone(), found.clone(), expected.clone());
            return Err(Error::OtherBuild { run, arm, found, expected });
        }
    }
    Ok((begun, figures))
}

/// Adds a task's blocks of a test to its host's. `arms` are indices in the host's experiment.
fn add(experiment: &mut Experiment, test: TestData, arms: &[Option<usize>], first_block: u32) {
    let count = experiment.arms;
    let place = match experiment.tests.iter().position(|other| other.name == test.name) {
        Some(place) => place,
        None => {
            experiment.tests.push(TestData { metrics: Vec::new(), ..test.clone() });
            experiment.tests.len() - 1
        }
    };
    let metrics = &mut experiment.tests[place].metrics;
    for data in test.metrics {
        let blocks = data.blocks.into_iter().map(|block| BlockData {
            block: first_block + block.block,
            values: spread(&block.values, arms, count),
            ln: spread(&block.ln, arms, count),
            errors: Vec::new(),
        });
        let windows = data.windows.into_iter().map(|window| WindowData {
            block: first_block + window.block,
            arms: spread(&window.arms, arms, count),
        });
        match metrics.iter_mut().find(|other| other.metric == data.metric) {
            Some(all) => {
                all.blocks.extend(blocks);
                all.windows.extend(windows);
            }
            None => metrics.push(MetricData {
                metric: data.metric,
                blocks: blocks.collect(),
                windows: windows.collect(),
            }),
        }
    }
}

fn spread<T: Copy>(values: &[Option<T>], arms: &[Option<usize>], count: usize) -> Vec<Option<T>> {
    let mut spread = vec![None; count];
    for (value, arm) in values.iter().zip(arms) {
        if let Some(arm) = arm {
            spread[*arm] = *value;
        }
    }
    spread
}
