//! Sync latency of directories, with the real fio.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use rqps_store::{BlockStatus, Status};
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::bench::{Bench, Running, wait_for};

/// A directory on a disk: that of the other tests' files may be in memory.
fn on_disk() -> TempDir {
    tempfile::Builder::new().prefix("rqps-sync-").tempdir_in("/var/tmp").unwrap()
}

/// A plan with an arm for each name, all on one directory.
fn plan(bench: &Bench, dir: &Path, top: &str, workload: &str, arms: &[&str]) -> String {
    let mut text =
        format!("name = \"t\"\n{top}\n[workload]\nbenchmark = \"sync-latency\"\nfile_mb = 16\n{workload}\n");
    for name in arms {
        let dir = dir.display().to_string().replace('\n', "\\n");
        text += &format!("[[arm]]\nname = \"{name}\"\nbuild = \"directory:{dir}\"\n");
    }
    bench.plan_text(&text).to_str().unwrap().to_owned()
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().count() == 0
}

#[test]
fn fio_measures_and_its_file_is_gone_after_a_kill_and_at_the_end() {
    let (bench, parent) = (Bench::new(), on_disk());
    // Where fio would end its name is another file. Its JSON does not escape a newline.
    let dir = parent.path().join("db;o#l:d\n2");
    let others = ["db", "db;o", "db;o#l"].map(|name| parent.path().join(name));
    fs::create_dir(&dir).unwrap();
    others.iter().for_each(|path| fs::write(path, "ledger").unwrap());
    let workload = "seconds = 1\njobs = [1, 2]\nsteps = [\"16k-none\", \"16k-fdatasync\"]";
    let plan = plan(&bench, &dir, "", workload, &["a"]);
    let mut running = bench.start(&["run", &plan]);
    running.expect_line(&["a", "load", "MB/s"]);
    assert!(!is_empty(&dir), "no file to remove");
    running.kill();
    wait_for("the removal of the file", || is_empty(&dir).then_some(()));
    // Left by a run that was killed together with its remover; the number of its process is in use again. And a
    // directory and another user's file of such names.
    let (left, kept) = (dir.join(".rqps-fio-1-0123456789abcdef"), dir.join(".rqps-fio-1-00000000000000aa"));
    let foreign = dir.join(".rqps-fio-2-00000000000000aa");
    [&left, &foreign].into_iter().for_each(|path| fs::write(path, "x").unwrap());
    fs::create_dir(&kept).unwrap();
    if geteuid().is_root() {
        chown(&foreign, Some(65534), None).unwrap();
    } else {
        fs::remove_file(&foreign).unwrap();
    }
    let is_as_before = || kept.is_dir() && !left.exists() && foreign.exists() == geteuid().is_root();
    let ended = bench.call(&["resume"]).expect(0);
    let words = "rqps-fio-1-0123456789abcdef, which a killed run left";
    assert!(ended.stderr.contains(words) && is_as_before(), "{}", ended.stderr);
    fs::write(&left, "x").unwrap();
    let cleaned = bench.call(&["clean", "last"]).expect(0).stdout;
    assert!(cleaned.contains("rqps-fio-1-0123456789abcdef") && is_as_before(), "{cleaned}");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1 + usize::from(geteuid().is_root()));
    others.iter().for_each(|path| assert_eq!(fs::read_to_string(path).unwrap(), "ledger", "{path:?}"));
    bench.expect_no_process();
    for column in ["w/s", "MB/s", "sync", "jobs"] {
        assert!(ended.stdout.contains(column), "{}", ended.stdout);
    }
    // A directory has no server, no config and no statements.
    let page = fs::read_to_string(bench.folder().join("report.html")).unwrap();
    for words in
        ["query plans", " as used on ", "Cost per operation", "Server counters", "No options left out"]
    {
        assert!(!page.contains(words), "{words}");
    }
    assert!(page.contains("jobs: 1, 2") && !page.contains("Rates of windows"), "what was measured");
    let run = bench.run();
    assert_eq!(run.status.status, Status::Complete);
    let steps = ["16k-none_jobs=1", "16k-fdatasync_jobs=1", "16k-none_jobs=2", "16k-fdatasync_jobs=2"];
    assert_eq!(
        run.steps.iter().filter(|step| step.kind == "measure").map(|step| &*step.name).collect::<Vec<_>>(),
        steps
    );
    for window in &run.windows {
        let (step, result) = (&window.action.step, &window.result);
        let events = result.events.unwrap();
        let metric = |name: &str| window.metric(name).unwrap_or(0.0);
        assert!((metric("fio_written_mb") - result.operations * 16384.0 / 1e6).abs() < 1e-3, "{step}");
        // Each write waits, and nothing is a server.
        assert!(metric("host_context_switches") >= 1.0, "{step}: the host's counters");
        assert_eq!(window.metric("server_cpu_us"), None, "{step}");
        let histograms = run.histograms(window.action.seq).unwrap();
        let writes = histograms.iter().find(|one| one.statement == "write").unwrap();
        assert_eq!(writes.count, events, "{step}");
        let syncs = histograms.iter().find(|one| one.statement == "fdatasync");
        assert_eq!(syncs.is_some(), step.contains("fdatasync"), "{step}");
        if let Some(syncs) = syncs {
            // A job's last write may have no sync yet.
            assert!(syncs.count <= events && syncs.count + u64::from(result.clients) >= events, "{step}");
            let mean = metric("fio_sync_us") / metric("fio_syncs");
            assert!((mean / syncs.mean_us - 1.0).abs() < 0.05, "{step}: {mean} and {}", syncs.mean_us);
        }
    }
}

#[test]
fn directories_are_compared_in_blocks() {
    let (bench, dir) = (Bench::new(), on_disk());
    let top = "protocol = \"isolated\"\nbase = \"a\"\n[isolated]\nwindow_seconds = 0.1\nwindows = 1\nblocks_max = 3";
    let plan = plan(&bench, dir.path(), top, "steps = [\"16k-fdatasync\"]", &["a", "b"]);
    let ended = bench.call(&["run", &plan]).expect(0);
    // What more blocks would do depends on the noise of the three.
    let ends =
        ["the 3 blocks of its plan", "more blocks would probably not decide", "1 verdict on rate reached"];
    assert!(ends.iter().any(|end| ended.stderr.contains(end)), "{}", ended.stderr);
    assert!(is_empty(dir.path()));
    let run = bench.run();
    // A busy host voids some.
    assert_eq!(run.blocks.iter().filter(|block| block.status == BlockStatus::Done).count(), 3);
    // Base, its control and the other arm, once in each block, for as long as planned at least.
    let each: Vec<(u64, u64)> =
        run.windows.iter().map(|w| (w.result.events.unwrap(), w.result.elapsed_us)).collect();
    assert_eq!(each.len(), 3 * run.blocks.len(), "{each:?}");
    assert!(each.iter().all(|(events, us)| *events > 0 && *us >= 90_000), "{each:?}");
    // fio's start and end are not in the window: a tick of each CPU more than its time has at most.
    for window in &run.windows {
        let used = ["host_user_us", "host_system_us"].map(|name| window.metrics[name]).iter().sum::<f64>();
        let most = (window.result.elapsed_us as f64 + 30_000.0) * window.metrics["cpus"];
        assert!(used <= most, "{used} us of CPU time in a window with at most {most}");
    }
    let shown = bench.call(&["show"]).expect(0).stdout;
    assert!(shown.contains("16k-fdatasync") && shown.contains("A/A check"), "{shown}");
    let done: Vec<u32> = run
        .blocks
        .iter()
        .filter(|block| block.status == BlockStatus::Done)
        .map(|block| block.number)
        .collect();
    let writes_of = |arm: &str| {
        let of =
            run.windows.iter().filter(|w| w.action.arm == arm && done.contains(&w.placement.unwrap().block));
        of.map(|window| window.result.events.unwrap()).sum::<u64>()
    };
    let few = ["a", "a-again", "b"].iter().any(|arm| writes_of(arm) < 368);
    assert_eq!(shown.contains("few latencies: ") && shown.contains("p99 368"), few, "{shown}");
    assert!(shown.contains("writes per second, all jobs") && !shown.contains("client"), "{shown}");
    for words in ["restarts", "server start", "Cost per operation", "cost/op", "Rates of windows"] {
        assert!(!shown.contains(words), "{words}: {shown}");
    }
}

/// Its file is not there between blocks.
#[test]
fn a_directory_belongs_to_one_run_until_its_end() {
    let (bench, dir) = (Bench::new(), on_disk());
    let top = "protocol = \"isolated\"\n[isolated]\nwindow_seconds = 0.1";
    let steps = "steps = [\"16k-none\"]";
    let mut first = bench.start(&["run", &plan(&bench, dir.path(), top, steps, &["a", "b"])]);
    // Before any file is filled.
    first.expect_line(&["run folder"]);
    let folder = fs::read_dir(bench.results()).unwrap().next().unwrap().unwrap().file_name();
    let short = plan(&bench, dir.path(), "", "seconds = 1\nsteps = [\"16k-none\"]", &["a"]);
    let words = bench.call(&["run", &short]).expect(3).stderr;
    assert!(words.contains("is reserved by process") && words.contains(folder.to_str().unwrap()), "{words}");
    assert_eq!(fs::read_dir(bench.results()).unwrap().count(), 1, "no folder of a run that never began");
    first.kill();
    wait_for("the removal of a file", || is_empty(dir.path()).then_some(()));
    bench.call(&["run", &short]).expect(0);
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_written() {
    let (bench, dir) = (Bench::new(), on_disk());
    let refused = |path: &Path, workload: &str, code: i32| {
        let plan = plan(&bench, path, "", workload, &["a"]);
        bench.call(&["run", &plan]).expect(code).stderr
    };
    let in_memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let words = refused(in_memory.path(), "", 2);
    assert!(words.contains("in memory") && words.contains("name a directory on a device"), "{words}");
    assert!(refused(Path::new("/nowhere"), "", 2).contains("not a directory"));
    assert!(refused(dir.path(), "steps = [\"16k-fsink\"]", 2).contains("Did you mean `16k-fsync`?"));
    for key in ["driver = \"sysbench\"", "write_work = \"time\""] {
        let words = refused(dir.path(), key, 2);
        assert!(words.contains("Remove it") && !words.contains("It belongs in [workload]"), "{words}");
    }
    for keys in ["transport = \"tcp\"", "settle_seconds_max = 5", "[profile]\nafter = \"all\""] {
        let words = refused(dir.path(), keys, 2);
        assert!(words.contains("does not apply to directories"), "{keys}: {words}");
    }
    let huge = fs::read_to_string(plan(&bench, dir.path(), "", "", &["a"]))
        .unwrap()
        .replace("file_mb = 16", "file_mb = 1_000_000");
    let words = bench.call(&["run", bench.plan_text(&huge).to_str().unwrap()]).expect(2).stderr;
    assert!(words.contains("this plan needs 1.0 TB in") && words.contains("lower file_mb"), "{words}");
    let wrong = format!("[workload]\nrows = 1000\n[[arm]]\nbuild = \"directory:{}\"\n", dir.path().display());
    let words = bench.call(&["run", bench.plan_text(&wrong).to_str().unwrap()]).expect(2).stderr;
    assert!(words.contains("do not run on") || words.contains("does not run on directory"), "{words}");
    assert!(words.contains("Write benchmark = \"sync-latency\""), "{words}");
    let bare =
        "[workload]\nbenchmark = \"sync-latency\"\n[[arm]]\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";
    let words = bench.call(&["plan", "check", bench.plan_text(bare).to_str().unwrap()]).expect(2).stderr;
    assert!(words.contains("name directories as builds: \"directory:/mnt/data\""), "{words}");
    // Mounted read-only for this rqps alone.
    let rqps = bench.rqps(&["run", &plan(&bench, dir.path(), "", "", &["a"])]);
    let mount = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && exec \"$@\"";
    let mut read_only = Command::new("unshare");
    read_only.args(["--mount", "sh", "-c", mount, "sh"]).arg(dir.path()).arg(rqps.get_program());
    read_only.args(rqps.get_args()).env("RQPS_WORK", bench.work()).current_dir(bench.path());
    let words = Running::of(read_only).end().expect(2).stderr;
    assert!(words.contains("mounted read-only: remount it"), "{words}");
    // Too old a fio comes first in PATH.
    fs::write(bench.path().join("fio"), "#!/bin/sh\necho fio-2.21\n").unwrap();
    fs::set_permissions(bench.path().join("fio"), Permissions::from_mode(0o755)).unwrap();
    let mut old_fio = bench.rqps(&["run", &plan(&bench, dir.path(), "", "", &["a"])]);
    old_fio.env("PATH", format!("{}:/usr/bin:/bin", bench.path().display()));
    let words = Running::of(old_fio).end().expect(3).stderr;
    assert!(words.contains("2.21") && words.contains("3.5"), "{words}");
    // One that never says its version.
    fs::write(bench.path().join("fio"), "#!/bin/sh\nexec sleep 1000\n").unwrap();
    let mut silent_fio = bench.rqps(&["run", &plan(&bench, dir.path(), "", "", &["a"])]);
    silent_fio.env("PATH", format!("{}:/usr/bin:/bin", bench.path().display()));
    let words = Running::of(silent_fio).end().expect(3).stderr;
    assert!(words.contains("`fio --version` did not answer within 5 s"), "{words}");
    // One that is no program, one without JSON, and one that says nothing at all.
    let on_path = |script: &str, code: i32| {
        fs::write(bench.path().join("fio"), script).unwrap();
        let mut rqps = bench.rqps(&["run", &plan(&bench, dir.path(), "", "seconds = 1", &["a"])]);
        rqps.env("PATH", format!("{}:/usr/bin:/bin", bench.path().display()));
        Running::of(rqps).end().expect(code).stderr
    };
    let broken = on_path("\0\0\0", 3);
    assert!(broken.contains("`fio` in PATH does not run") && !broken.contains("apt-get"), "{broken}");
    let versioned = "#!/bin/sh\n[ $1 = --version ] && echo fio-3.33 && exit\n";
    let no_json = on_path(&format!("{versioned}echo 'bad format json+' >&2; exit 1\n"), 3);
    assert_eq!(
        no_json.matches("filling the file").count(),
        no_json.matches("bad format json+").count(),
        "{no_json}"
    );
    assert!(no_json.contains("filling the file: bad format json+; run was `setpriv"), "{no_json}");
    let silent = on_path(&format!("{versioned}exit 0\n"), 3);
    assert!(
        silent.contains("without any output; run was `setpriv") && silent.contains("--rw=write"),
        "{silent}"
    );
    fs::remove_file(bench.path().join("fio")).unwrap();
    let mut without_fio = bench.rqps(&["run", &plan(&bench, dir.path(), "", "", &["a"])]);
    without_fio.env("PATH", bench.path());
    let words = Running::of(without_fio).end().expect(3).stderr;
    assert!(words.contains("`fio` is not in PATH") && words.contains("apt-get install fio"), "{words}");
    let mut checked = bench.rqps(&["plan", "check", &plan(&bench, dir.path(), "", "", &["a"])]);
    checked.env("PATH", bench.path());
    let words = Running::of(checked).end().expect(3).stderr;
    assert!(words.contains("does not run on this host") && words.contains("apt-get install fio"), "{words}");
    assert!(is_empty(dir.path()));
}

/// A bind mount has mount options of its own: what is compared then, so that it is no reason to refuse the comparison.
#[test]
fn directories_that_are_mounted_otherwise_say_so() {
    let (bench, parent) = (Bench::new(), on_disk());
    let [dir, work] = ["dir", "work"].map(|name| parent.path().join(name));
    [&dir, &work].into_iter().for_each(|path| fs::create_dir(path).unwrap());
    let short = plan(&bench, &dir, "", "seconds = 1\nsteps = [\"16k-none\"]", &["a"]);
    let long = bench.path().join("long.toml");
    let text = fs::read_to_string(&short).unwrap();
    fs::write(&long, text.replace("name = \"t\"", "name = \"long\"").replace("seconds = 1", "seconds = 600"))
        .unwrap();
    let script = "
        mount --bind \"$parent\" \"$parent\" && mount -o remount,bind,relatime \"$parent\" || exit 9
        \"$rqps\" run \"$short\" >/dev/null || exit 8
        \"$rqps\" run \"$long\" >/dev/null & pid=$!
        until ls -A \"$dir\" | grep -q .; do sleep 0.1; done
        kill -INT $pid; wait $pid
        mount -o remount,bind,noatime \"$parent\" || exit 9
        \"$rqps\" resume && exit 7
        \"$rqps\" run \"$short\" >/dev/null || exit 8
        exec \"$rqps\" compare \"$RQPS_RESULTS\"/t-*";
    let rqps = bench.rqps(&[]);
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", script]).env("rqps", rqps.get_program()).env("dir", &dir);
    shell.env("short", &short).env("long", &long).env("RQPS_RESULTS", bench.results());
    shell.env("RQPS_WORK", &work).env("parent", parent.path()).current_dir(bench.path());
    let ended = Running::of(shell).end().expect(0);
    let refused = ended.stderr.lines().find(|line| line.contains("when the run began")).unwrap();
    let (then, now) = refused.split_once("when the run began").unwrap();
    assert!(then.contains("relatime") && now.contains("noatime"), "{refused}");
    let differs = ended.stdout.lines().find(|line| line.contains("differs from")).unwrap();
    assert!(differs.contains("mount_options (noatime, base relatime)"), "{differs}");
}
