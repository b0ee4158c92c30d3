//! 500 hosts and 10,000 tasks: planning them, looking at them, and joining small made-up results.
//!
//! `RQPS_FLEET_TASKS=10000 cargo test --release -p rqps-fleet --test scale -- --nocapture` prints the seconds of the
//! whole; otherwise a hundredth.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rqps_fleet::{
    Claim, Claimed, Collected, FORMAT, Fleet, Place, Spec, State, Task, collect, cut, replicas_of,
};
use rqps_plan::{Plan, PlanContext};
use rqps_stats::Detector;
use rqps_verdicts::testing::{self, Spec as MadeUp};

const REPLICAS: usize = 5;
/// Made-up results of a candidate.
const SEEDS: usize = 3;

/// A plan of so many arms: base and candidates.
fn plan(arms: usize) -> Plan {
    let mut text =
        "protocol = \"isolated\"\nbudget = \"300h\"\nbase = \"old\"\n[workload]\nrows = 1_000\n".to_owned();
    for (at, name) in
        std::iter::once("old".to_owned()).chain((1..arms).map(|arm| format!("a{arm}"))).enumerate()
    {
        text.push_str(&format!(
            "[[arm]]\nname = \"{name}\"\nbuild = \"postgres-18.1\"\nconfig = \"sized\"\nenv = {{ A = \"{at}\" }}\n"
        ));
    }
    Plan::parse(&text, "test", &PlanContext::trusting(rqps_workloads::BENCHMARKS)).unwrap().plan
}

fn spec(tasks: Vec<Task>, hosts: &[String], candidates: &[&'static str]) -> Spec {
    Spec {
        format: FORMAT,
        id: "0".to_owned(),
        folder: PathBuf::new(),
        plan: "t".to_owned(),
        place: Place::Local,
        groups: replicas_of(hosts, REPLICAS),
        outside: Vec::new(),
        cache: "/".into(),
        program_sha256: String::new(),
        arms: ["old", "control"].iter().chain(candidates).map(|arm| (*arm).to_owned()).collect(),
        builds: BTreeMap::new(),
        files: BTreeMap::new(),
        over_ssh: None,
        tasks,
    }
}

/// Makes a made-up run a task's result on a host. Its files are linked: ten thousand copies would fill memory.
fn publish(fleet: &Fleet, task: &Task, run: &Path, host: &str) {
    let Claimed::Mine(claim) =
        Claim::take(fleet, task, Duration::ZERO, &AtomicBool::new(false), None, || ()).unwrap()
    else {
        panic!("task {} is taken", task.id)
    };
    let folder = claim.runs().join("run");
    std::fs::create_dir(&folder).unwrap();
    for file in ["run.db", "plan.toml"] {
        std::fs::hard_link(run.join(file), folder.join(file)).unwrap();
    }
    assert!(claim.publish(&folder, host).unwrap());
    assert!(!claim.publish(&folder, "elsewhere").unwrap(), "a second result");
}

/// CPU seconds that this process has used.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks: f64 =
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().unwrap()).sum();
    ticks / 100.0
}

#[test]
fn many_tasks_are_planned_and_joined_soon() {
    let count: usize = std::env::var("RQPS_FLEET_TASKS").ok().map_or(100, |count| count.parse().unwrap());
    let hosts: Vec<String> = (1..=(count / 20).max(REPLICAS)).map(|host| format!("host{host:03}")).collect();
    let dir = tempfile::tempdir().unwrap();
    let begin = Instant::now();
    // Its comparisons suffice for 2,000 pieces.
    let pieces = cut(&plan(62), count / REPLICAS);
    let texts: Vec<String> = pieces.iter().map(|piece| piece.plan.to_toml().unwrap()).collect();
    let tasks: Vec<Task> = (1..=REPLICAS as u32)
        .flat_map(|replica| {
            pieces.iter().zip(1..).map(move |(piece, number)| Task::new(number, replica, piece.seconds))
        })
        .collect();
    let candidates: Vec<&'static str> = (1..=if count > 1_000 { 61 } else { 3 })
        .map(|number| -> &'static str { Box::leak(format!("a{number}").into_boxed_str()) })
        .collect();
    let spec = spec(tasks, &hosts, &candidates);
    let fleet = Fleet::create(&dir.path().join("fleet"), spec, "", &texts, Path::new("/bin/true")).unwrap();
    let planned = begin.elapsed();
    let tasks = &fleet.spec.tasks;
    assert!(tasks.len() >= count * 9 / 10, "{} tasks", tasks.len());

    // A piece has one candidate, as cutting makes them, which is 10 % slower on all hosts.
    let made_up = |(at, candidate): (usize, &'static str)| {
        let effects = testing::TESTS.map(|(test, ..)| (2, test, 0.9, 1.1)).to_vec();
        let arms = vec![("old", "17.7"), ("control", "17.7"), (candidate, "18.1")];
        let seed = at as u64;
        testing::write_run(dir.path(), &MadeUp { seed, blocks: 3, effects, arms, ..MadeUp::default() })
            .unwrap()
    };
    let made_up: Vec<PathBuf> =
        candidates.iter().flat_map(|one| [*one; SEEDS]).enumerate().map(made_up).collect();
    for (at, task) in tasks.iter().enumerate() {
        let group = &fleet.spec.groups[task.replica as usize - 1];
        let candidate = task.piece as usize % candidates.len();
        publish(&fleet, task, &made_up[candidate * SEEDS + at % SEEDS], &group[at % group.len()]);
    }
    let begin = Instant::now();
    let pass = fleet.look().unwrap();
    assert_eq!(pass.count(|state| *state == State::Done), tasks.len());
    let looked = begin.elapsed();
    let (begin, cpu_before_s) = (Instant::now(), cpu_s());
    let collected = collect(&fleet).unwrap();
    let (joined, cpu_of_join_s) = (begin.elapsed(), cpu_s() - cpu_before_s);
    println!(
        "{} tasks in {} pieces on {} hosts: planned in {planned:.2?}, looked at in {looked:.2?}, joined in \
         {joined:.2?} ({cpu_of_join_s:.1} s of CPU time)",
        tasks.len(),
        pieces.len(),
        collected.hosts.len()
    );
    let rates = || collected.judged.joint.iter().filter(|joint| joint.verdict.detector == Detector::Rate);
    assert_eq!(rates().count(), testing::TESTS.len() * candidates.len());
    assert!(rates().all(|joint| joint.verdict.class.is_regression()), "a rate that is 10 % lower everywhere");
    if cfg!(not(debug_assertions)) {
        // Other load takes time, but adds less to CPU time.
        let per_task_ms = 1e3 * cpu_of_join_s / tasks.len() as f64;
        assert!(
            planned < Duration::from_secs(5) && per_task_ms < 5.0,
            "{planned:?}, {per_task_ms} ms a task"
        );
    }

    // What jobs kept says what the runs say.
    let ratios = |collected: &Collected| -> Vec<f64> {
        collected.judged.joint.iter().map(|joint| joint.verdict.ratio).collect()
    };
    for task in tasks.iter().take(30) {
        std::fs::remove_file(fleet.task_folder(task).join("figures.json")).unwrap();
    }
    let again = collect(&fleet).unwrap();
    assert_eq!(again.hosts, collected.hosts);
    assert!(
        ratios(&again).iter().zip(ratios(&collected)).all(|(one, other)| (one / other - 1.0).abs() < 1e-12)
    );
    // And it does not count for a run that was changed since.
    let run = fleet.task_folder(&tasks[40]).join("run/run.db");
    std::fs::remove_file(&run).unwrap();
    std::fs::write(&run, "no database").unwrap();
    collect(&fleet).unwrap_err();
}
