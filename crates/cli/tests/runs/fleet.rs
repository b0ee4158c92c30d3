//! `rqps fleet` on a real Slurm of two nodes on this machine: jobs that the controller forgets, a requeue, a
//! cancellation, a result for each task once; and the same without Slurm.

use crate::bench::{Bench, exact_version, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A user that has no fleets.
const NOBODY: u32 = 65_534;

/// A cluster in a directory, stopped when the test ends.
struct Cluster {
    dir: PathBuf,
}

impl Cluster {
    fn start(dir: PathBuf) -> Self {
        Self::start_with(dir, &[])
    }

    fn start_with(dir: PathBuf, options: &[&str]) -> Self {
        let cluster = Self { dir };
        let me = std::process::id().to_string();
        cluster.tool("start", &[&["--nodes", "2", "--until", &me], options].concat());
        cluster
    }

    fn tool(&self, action: &str, rest: &[&str]) {
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/slurm-cluster");
        let output = Command::new(tool).arg(action).arg(&self.dir).args(rest).output().unwrap();
        assert!(output.status.success(), "{action}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn conf(&self) -> PathBuf {
        self.dir.join("slurm.conf")
    }

    fn ask(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).env("SLURM_CONF", self.conf()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Calls `rqps fleet`: exit code, output, messages.
    fn fleet(&self, bench: &Bench, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = bench.rqps(&[&["fleet"], arguments].concat());
        let output = command.env("SLURM_CONF", self.conf()).env("RQPS_CACHE", cache()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    fn state(&self, bench: &Bench, fleet: &str) -> Value {
        let (_, status, _) = self.fleet(bench, &["status", fleet, "--json"]);
        serde_json::from_str(&status).unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!(
                "{}{}",
                self.ask("sinfo", &["-N", "-o", "%N %T %E"]),
                self.ask("squeue", &["-o", "%i %j %T %r"])
            );
            println!("{}", fs::read_to_string(self.dir.join("controller.log")).unwrap_or_default());
        }
        self.tool("stop", &[]);
    }
}

/// Waits, and resumes the fleet each minute: Slurm holds a job that it could not launch in time, and a host under load
/// lets that happen.
fn resuming_until(what: &str, resume: impl Fn(), is_so: impl Fn() -> bool) {
    let mut resumed = Instant::now();
    wait_for(what, || {
        if resumed.elapsed() > Duration::from_secs(60) {
            resume();
            resumed = Instant::now();
        }
        is_so().then_some(())
    });
}

/// Two configs of one version, which shares its loads: the second reads a whole table for each row.
fn plan(bench: &Bench, top: &str) -> String {
    let small = fs::read_to_string(bench.path().join("small.conf")).unwrap();
    // Both a shipped config and a file: the copy for other hosts has the one by name and the other as a whole.
    fs::write(bench.path().join("same.conf"), small).unwrap();
    let slow = "include 'sized'\ninclude 'same.conf'\nenable_indexscan = off\nenable_bitmapscan = off\n\
                enable_indexonlyscan = off\n";
    fs::write(bench.path().join("slow.conf"), slow).unwrap();
    let version = exact_version("17");
    let arm = |name, config| {
        format!("[[arm]]\nname = \"{name}\"\nbuild = \"postgres-{version}\"\nconfig = \"./{config}.conf\"\n")
    };
    let text = format!(
        "name = \"t\"\nbase = \"a\"\nprotocol = \"isolated\"\n{top}[workload]\nrows = 1_000\nsteps = [\"point-query\"]\n\
         [isolated]\nwindow_seconds = 0.1\nblocks_max = 3\ncount_instructions = false\n{}{}",
        arm("a", "small"),
        arm("b", "slow")
    );
    bench.plan_text(&text).display().to_string()
}

#[test]
fn a_plan_on_two_hosts_survives_its_controller_and_is_one_comparison() {
    let bench = Bench::new();
    let cluster = Cluster::start(bench.path().join("slurm"));
    let plan = plan(&bench, "");
    let fleet = |arguments: &[&str]| cluster.fleet(&bench, arguments);
    let state = || cluster.state(&bench, "fleet-t-1");
    // Asking rqps again and again would take the CPU that the jobs need.
    let done = || fs::read_dir(bench.results().join("fleet-t-2/done")).map_or(0, Iterator::count);
    let run = ["run", &plan, "--partition", "bench", "--hosts"];

    let (_, scripts, _) = fleet(&[&run[..], &["2", "--dry-run"]].concat());
    assert!(scripts.matches("--exclusive").count() == 2 && scripts.contains("--exclude=node2"), "{scripts}");
    let (_, planned, _) = fleet(&[&run[..], &["2", "--dry-run", "--json"]].concat());
    let planned: Value = serde_json::from_str(&planned).unwrap();
    let first = &planned["tasks"][0];
    let is_script = |script: &str| script.starts_with("#!/bin/sh") && script.contains("--exclude=node2");
    assert!(first["hosts"][0] == "node1" && is_script(first["script"].as_str().unwrap()), "{planned:#}");
    assert!(!bench.results().exists(), "a dry run leaves nothing");

    let (code, _, why) = fleet(&[&run[..], &["2"]].concat());
    assert_eq!(code, Some(0), "{why}");
    // A job that was acknowledged and is forgotten: the journal knows it, Slurm does not.
    let forgotten = cluster.ask("squeue", &["-h", "-o", "%i"]);
    let mut forgotten = forgotten.lines();
    cluster.ask("scancel", &["--full", "--signal=KILL", forgotten.next().unwrap()]);
    // Held, so that it does not end while nobody watches: by the one if it waits, by the other if it runs.
    let held = forgotten.next().unwrap();
    cluster.ask("scontrol", &["hold", held]);
    cluster.ask("scontrol", &["requeuehold", held]);
    cluster.tool("kill", &["controller"]);
    let (code, ..) = fleet(&["status", "fleet-t-1"]);
    assert_eq!(code, Some(3), "nothing is known without the controller");
    let (code, ..) = fleet(&["cancel", "fleet-t-1"]);
    assert_eq!(code, Some(3));
    cluster.tool("revive", &["controller"]);
    wait_for("the controller", || fleet(&["status", "fleet-t-1"]).0.filter(|code| *code == 0));
    assert_eq!(state()["cancelled"], false, "what failed is not recorded");

    let (code, _, why) = fleet(&["cancel", "fleet-t-1"]);
    assert_eq!(code, Some(0), "{why}");
    wait_for("the end of all jobs", || cluster.ask("squeue", &["-h"]).is_empty().then_some(()));
    let (code, _, why) = fleet(&["watch", "fleet-t-1"]);
    assert!(code == Some(0) && why.contains("2 cancelled"), "{why}");
    // Jobs look for the folder where it was. They neither bring it back nor go on without it.
    let (code, _, why) = fleet(&["resume", "fleet-t-1"]);
    assert_eq!(code, Some(0), "{why}");
    let (_, _, why) = fleet(&["resume", "fleet-t-1"]);
    assert!(why.contains("submitted 0 tasks"), "what is on its way is not submitted twice: {why}");
    let (first, moved) = (bench.results().join("fleet-t-1"), bench.results().join("fleet-t-2"));
    let begun = first.join("tasks/0001.1/begun.json");
    resuming_until("a job that measures", || drop(fleet(&["resume", "fleet-t-1"])), || begun.exists());
    fs::rename(&first, &moved).unwrap();
    let (code, _, why) = fleet(&["watch", "fleet-t-1"]);
    assert!(code == Some(2) && why.contains("there is no fleet-t-1"), "{why}");
    let (code, status, _) = fleet(&["status", "fleet-t-2"]);
    assert!(code == Some(0) && status.contains("moved from"), "{status}");
    let (code, _, why) = fleet(&["watch", "fleet-t-2"]);
    assert!(code == Some(2) && why.contains("rqps fleet resume"), "{why}");
    let (code, _, why) = fleet(&["resume", "fleet-t-2"]);
    assert!(code == Some(0) && why.contains("submitted 2 tasks"), "{why}");
    resuming_until("both results", || drop(fleet(&["resume", "fleet-t-2"])), || done() == 2);
    let left = Command::new("find").arg(&first).output().unwrap().stdout;
    assert!(left.is_empty(), "a job brought the old folder back: {}", String::from_utf8_lossy(&left));
    cluster.tool("kill", &["controller"]);
    let (code, status, _) = fleet(&["status", "fleet-t-2"]);
    assert!(code == Some(0) && status.contains("2 tasks: 2 done"), "{status}");
    let (code, _, why) = fleet(&["watch", "fleet-t-2"]);
    assert!(code == Some(0) && why.contains("2 tasks: 2 done"), "{why}");

    let (code, joint, why) = fleet(&["collect", "fleet-t-2", "--json"]);
    assert_eq!(code, Some(0), "{why}");
    let joint: Value = serde_json::from_str(&joint).unwrap();
    let hosts: Vec<&Value> = joint["hosts"].as_array().unwrap().iter().map(|host| &host["name"]).collect();
    assert_eq!(hosts, ["node1", "node2"], "{joint:#}");
    let warnings = joint["warnings"].to_string();
    assert!(warnings.contains("from fewer than 3 hosts, too few"), "all tasks are done: {warnings}");
    let verdicts = joint["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().all(|one| one["low"].is_null()), "two hosts have no interval: {joint:#}");
    let cost = verdicts.iter().find(|one| one["detector"] == "cost").unwrap();
    assert!(
        cost["hosts"].as_array().unwrap().iter().all(|host| host["ratio"].as_f64().unwrap() > 1.25),
        "{cost:#}"
    );
    assert_eq!(done(), 2);
}

/// Nothing is measured here: jobs are refused, wait or are held.
#[test]
fn what_cannot_run_is_said_and_jobs_are_their_users_own() {
    let bench = Bench::new();
    let cluster = Cluster::start(bench.path().join("slurm"));
    let plan = plan(&bench, "");
    let fleet = |arguments: &[&str]| cluster.fleet(&bench, arguments);
    let set = |what: &str, value: &str| drop(cluster.ask("scontrol", &["update", what, value]));
    let run = |partition: &str, rest: &[&str]| {
        fleet(&[&["run", &plan, "--partition", partition, "--hosts"], rest].concat())
    };
    for (partition, hosts, expected) in [
        ("none", "2", "no partition none: Slurm has bench"),
        ("bench,none", "2", "no partition none"),
        ("bench", "3", "has 2 hosts up, but --hosts is 3"),
    ] {
        let (code, _, why) = run(partition, &[hosts]);
        assert!(code == Some(2) && why.contains(expected), "{why}");
    }
    let bench_partition = "PartitionName=bench";
    set(bench_partition, "MaxTime=20");
    let (_, scripts, note) = run("bench", &["2", "--dry-run"]);
    assert!(scripts.contains("--time=20\n") && note.contains("ends jobs after 20 min"), "{scripts}{note}");
    set(bench_partition, "MaxTime=1");
    let (code, _, why) = run("bench", &["2"]);
    assert!(code == Some(2) && why.contains("ends jobs after 1 min") && why.contains("budget"), "{why}");
    set(bench_partition, "MaxTime=INFINITE");

    // What Slurm refuses, `status` tells afterwards, too.
    set(bench_partition, "State=DRAIN");
    let (code, _, why) = run("bench", &["2"]);
    assert!(code == Some(3) && why.contains("sbatch: "), "{why}");
    let refused = cluster.state(&bench, "fleet-t-1");
    let has_why = |value: &Value| value.as_str().is_some_and(|why| why.starts_with("sbatch: "));
    let tasks = refused["tasks"].as_array().unwrap();
    assert!(has_why(&refused["refused"]) && tasks.iter().all(|task| has_why(&task["note"])), "{refused:#}");
    set(bench_partition, "State=UP");

    cluster.ask("scontrol", &["update", "NodeName=node1,node2", "State=DRAIN", "Reason=test"]);
    let (code, _, why) = fleet(&["resume", "fleet-t-1"]);
    assert!(code == Some(0) && why.contains("submitted 2 tasks"), "{why}");
    let jobs = || {
        let all = cluster.ask("squeue", &["-h", "-o", "%i"]);
        all.lines().map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let submitted = jobs();
    for job in &submitted {
        cluster.ask("scontrol", &["hold", job]);
    }
    let (_, status, _) = fleet(&["status", "fleet-t-1"]);
    assert!(submitted.len() == 2 && status.contains("`scontrol release`"), "{submitted:?} {status}");
    let (_, _, why) = fleet(&["resume", "fleet-t-1"]);
    assert!(why.contains("submitted 0 tasks") && jobs() == submitted, "what is held stays so: {why}");

    // Nobody else's call ends these jobs or submits more: neither one on a copy nor another user's.
    let (planned, copy) = (bench.results().join("fleet-t-1/fleet.json"), bench.results().join("copy"));
    fs::create_dir(&copy).unwrap();
    fs::copy(&planned, copy.join("fleet.json")).unwrap();
    let (code, _, why) = fleet(&["cancel", "copy"]);
    assert!(code == Some(2) && why.contains("is a copy of"), "{why}");
    fs::remove_dir_all(copy).unwrap();
    // Only root can make it another user's.
    if chown(&planned, Some(NOBODY), None).is_ok() {
        let state = cluster.state(&bench, "fleet-t-1");
        let tasks = state["tasks"].as_array().unwrap();
        assert!(tasks.iter().all(|task| task["job"]["id"].is_string()), "{state:#}");
        for verb in ["resume", "watch", "cancel"] {
            let (code, _, why) = fleet(&[verb, "fleet-t-1"]);
            assert!(code == Some(2) && why.contains("is a fleet of user"), "{verb}: {why}");
        }
        chown(&planned, Some(0), None).unwrap();
    }
    assert_eq!(jobs(), submitted);
    let (code, _, why) = fleet(&["cancel", "fleet-t-1"]);
    assert!(code == Some(0) && why.contains("cancelled 2 jobs"), "{why}");
    let listed = bench.call(&["ls"]).expect(0).stdout;
    assert!(listed.contains("cancelled"), "{listed}");
}

/// An sshd on loopback.
struct Ssh {
    dir: PathBuf,
    daemon: Child,
}

impl Ssh {
    fn start(dir: PathBuf) -> Self {
        let daemon = Self::daemon(&dir);
        wait_for("sshd", || fs::read_to_string(dir.join("address")).ok());
        Self { dir, daemon }
    }

    fn daemon(dir: &Path) -> Child {
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/loopback-ssh");
        // Ends with the test, however that ends.
        let tied = ["--pdeathsig", "KILL"];
        Command::new("setpriv").args(tied).arg(tool).arg(dir).stderr(Stdio::null()).spawn().unwrap()
    }

    fn stop(&mut self) {
        self.daemon.kill().unwrap();
        self.daemon.wait().unwrap();
    }

    fn address(&self) -> String {
        fs::read_to_string(self.dir.join("address")).unwrap().trim().to_owned()
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Nodes see neither the results directory nor the cache nor each other's data.
#[test]
fn hosts_that_share_no_folder_fetch_builds_and_send_results_over_ssh() {
    let bench = Bench::new();
    let mut ssh = Ssh::start(bench.path().join("ssh"));
    let cache = bench.path().join("cache");
    let own: Vec<String> =
        [bench.results(), bench.work(), cache.clone()].map(|path| path.display().to_string()).into();
    let options: Vec<&str> = own.iter().flat_map(|path| ["--own", path]).collect();
    let cluster = Cluster::start_with(bench.path().join("slurm"), &options);
    let plan = plan(&bench, "");
    let fleet = |arguments: &[&str]| {
        let mut command = bench.rqps(&[&["fleet"], arguments].concat());
        let path = format!("{}:{}", bench.path().join("ssh").display(), std::env::var("PATH").unwrap());
        command.env("SLURM_CONF", cluster.conf()).env("RQPS_CACHE", &cache).env("PATH", path);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let run = ["run", &plan, "--partition", "bench", "--hosts", "2", "--over-ssh"];
    let (code, why) = fleet(&[&run[..], &["h1;ls"]].concat());
    assert!(code == Some(2) && why.contains("--over-ssh"), "{why}");

    // The build as the usual cache has it, in one of its own.
    let usual = rqps_builds::Dirs::from_env().cache.join("postgres");
    fs::create_dir_all(cache.join("postgres")).unwrap();
    let version = format!("{}-", exact_version("17"));
    for entry in fs::read_dir(usual).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with(&version) {
            let copied = Command::new("cp").arg("-a").args([entry.path(), cache.join("postgres")]).status();
            assert!(copied.unwrap().success());
        }
    }
    let (code, why) = fleet(&[&run[..], &[&ssh.address()]].concat());
    assert_eq!(code, Some(0), "{why}");
    let folder = bench.results().join("fleet-t-1");
    let done = || fs::read_dir(folder.join("done")).map_or(0, Iterator::count);
    let of_node = |node: u32, pattern: &str| {
        let pattern = format!("{}/own-node{node}/{pattern}", cluster.dir.display());
        let found = Command::new("sh").args(["-c", &format!("ls -d {pattern}")]).output().unwrap();
        String::from_utf8(found.stdout).unwrap()
    };
    // A result waits until its home is back.
    let begun = |task| fs::read_to_string(folder.join(format!("output/{task}.txt"))).unwrap_or_default();
    let output = |begun: String| PathBuf::from(begun.trim().rsplit(' ').next().unwrap().to_owned());
    let measures = |node| !of_node(node, "2/fleets/*/tasks/*/begun.json").is_empty();
    wait_for("both hosts", || (measures(1) && measures(2)).then_some(()));
    ssh.stop();
    let (first, second) = (output(begun("0001.1")), output(begun("0001.2")));
    let waits = || fs::read_to_string(&first).is_ok_and(|text| text.contains("trying again"));
    wait_for("a result that cannot be sent", || waits().then_some(()));
    ssh.daemon = Ssh::daemon(&ssh.dir);
    wait_for("both results", || (done() == 2).then_some(()));
    for output in [first, second] {
        fs::remove_file(output).unwrap();
    }
    let kept = |node| of_node(node, "2/fleets/*/tasks/*/*/run.db");
    wait_for("the end of what was sent", || (kept(1).is_empty() && kept(2).is_empty()).then_some(()));
    assert_eq!(of_node(1, "3/postgres/*.json").lines().count(), 1, "the build was copied");
    assert_eq!(of_node(2, "1/*"), "", "nothing is written where the folder is at home");
    let (code, why) = fleet(&["collect", "fleet-t-1"]);
    assert_eq!(code, Some(0), "{why}");
}

#[test]
fn the_same_tasks_run_here_without_slurm() {
    let bench = Bench::new();
    let plan = plan(&bench, "budget = \"1s\"\n");
    let blank = bench.path().join("a b").display().to_string();
    let refused =
        bench.call(&["fleet", "run", &plan, "--on", "local", "--dry-run", "--results", &blank]).expect(2);
    assert!(refused.stderr.contains("has a blank"), "{}", refused.stderr);
    let misspelled = fs::read_to_string(&plan).unwrap().replace("./slow.conf", "./misspelled.conf");
    fs::write(bench.path().join("misspelled.conf"), "enable_indexscam = off\n").unwrap();
    fs::write(bench.path().join("misspelled.toml"), misspelled).unwrap();
    let misspelled = bench.path().join("misspelled.toml").display().to_string();
    let refused = bench.call(&["fleet", "run", &misspelled, "--on", "local"]).expect(2);
    assert!(refused.stderr.contains("enable_indexscam"), "{}", refused.stderr);
    let missing = bench.call(&["fleet", "status", "results/fleet-u-1"]).expect(2);
    assert!(missing.stderr.contains("results/fleet-u-1") && !missing.stderr.contains("results/results"));

    let ended = bench.call(&["fleet", "run", &plan, "--on", "local"]).expect(0);
    assert!(ended.stderr.contains("before the third block in 1 of 1 piece"), "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing was measured on two hosts"), "{}", ended.stderr);
    assert!(ended.stderr.contains("fleet-t-1/tasks/TASK show last"), "{}", ended.stderr);
    let refused = bench.call(&["fleet", "cancel", "fleet-t-1"]).expect(2);
    assert!(refused.stderr.contains("run without Slurm"), "{}", refused.stderr);
    for verb in ["show", "clean"] {
        let refused = bench.call(&[verb, "fleet-t-1"]).expect(2);
        assert!(refused.stderr.contains("rqps fleet collect fleet-t-1"), "{verb}: {}", refused.stderr);
    }
    assert!(
        ended.stdout.contains("third block, the first for verdicts (the shortest with 1 block): "),
        "{}",
        ended.stdout
    );
    let listed = bench.call(&["ls"]).expect(0);
    assert!(listed.stdout.contains("fleet-t-1") && listed.stdout.contains("1/1 tasks"), "{}", listed.stdout);
    assert_eq!(listed.stdout.lines().count(), 2, "runs of tasks are the fleet's: {}", listed.stdout);
    let again = bench.call(&["fleet", "resume", "fleet-t-1"]).expect(0);
    assert!(!again.stderr.contains("task 0001.1"), "done tasks are not repeated: {}", again.stderr);
    assert_eq!(fs::read_dir(bench.work()).unwrap().count(), 0, "data directories are left");
    bench.call(&["fleet", "collect", "fleet-t-1", "--html"]).expect(0);
    let page = fs::read_to_string(bench.results().join("fleet-t-1/report.html")).unwrap();
    let build = format!("postgres-{}", exact_version("17"));
    let arm = |words: &str| ended.stdout.lines().any(|line| line.starts_with(words) && line.contains(&build));
    assert!(arm("a ") && arm("b "), "builds and configs of the arms: {}", ended.stdout);
    assert!(ended.stdout.contains("slow") && page.contains(&build) && page.contains("id=\"arms\""));
    assert!(page.contains("t on 1 host") && page.contains("ended before the third block"));

    let text = fs::read_to_string(&plan).unwrap();
    let failing = text.replace("config = ", "after_load = [\"SELECT 1/0\"]\nconfig = ");
    fs::write(&plan, failing).unwrap();
    bench.call(&["fleet", "run", &plan, "--on", "local"]).expect(3);
    let status = bench.call(&["fleet", "status", "fleet-t-2", "--json"]).expect(0).stdout;
    let failed = &serde_json::from_str::<Value>(&status).unwrap()["tasks"][0];
    let why = failed["failures"][0].as_str().unwrap();
    assert_eq!(failed["note"], failed["failures"][0], "{failed:#}");
    assert_eq!(why.matches("division by zero").count(), 1, "{why}");
    assert!(why.starts_with(failed["host"].as_str().unwrap()), "{failed:#}");
}

/// The usual cache, so that nothing is downloaded.
fn cache() -> PathBuf {
    rqps_builds::Dirs::from_env().cache
}
