//! Impossible requests are rejected with the place and the remedy, and do no harm.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rqps_store::Status;

use crate::bench::{Bench, Ended, exact_version};

const STEPS: &str = "steps = [\"update-index\", \"point-query\"]\n";

#[track_caller]
fn expect_words(ended: &Ended, words: &[&str]) {
    for words in words {
        assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
    }
}

/// Kills a run after its first measured step; returns the directory of its data.
fn cut_off(bench: &Bench) -> std::path::PathBuf {
    let plan = bench.plan("", STEPS, &["18"]);
    let mut running = bench.start(&["run", plan.to_str().unwrap()]);
    running.expect_line(&["a ", "update-index"]);
    // Paused, it does not end before it is killed.
    running.signal(rustix::process::Signal::STOP);
    let folder = bench.folder();
    let busy = bench.call(&["resume"]).expect(2);
    expect_words(&busy, &[&format!("in use by another rqps (pid {})", running.pid())]);
    running.kill();
    bench.expect_no_process();
    let runs: Vec<_> = fs::read_dir(bench.work()).unwrap().flatten().collect();
    assert_eq!(runs.len(), 1);
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    assert!(runs[0].file_name().to_string_lossy().starts_with(&name));
    runs[0].path().join("a/data")
}

#[test]
fn a_run_or_its_data_in_use_are_left_alone() {
    let bench = Bench::new();
    let data = cut_off(&bench);
    // A foreign server on the same data.
    let build = &bench.run().arms[0].build_hash[..12].to_owned();
    let cache = rqps_builds::Dirs::from_env().cache.join("postgres");
    let mut builds = fs::read_dir(cache).unwrap().flatten().map(|entry| entry.path());
    let root = builds.find(|path| path.is_dir() && path.to_string_lossy().ends_with(build)).unwrap();
    let user = rqps_builds::server_user().unwrap();
    let mut foreign = Command::new("setpriv");
    if user.switches {
        foreign.args(["--clear-groups", &format!("--reuid={}", user.uid), &format!("--regid={}", user.gid)]);
    }
    let sockets = bench.path().join("sockets");
    fs::create_dir(&sockets).unwrap();
    fs::set_permissions(&sockets, fs::Permissions::from_mode(0o777)).unwrap();
    let mut foreign = foreign
        .args(["--pdeathsig=QUIT", "--"])
        .arg(root.join("bin/postgres"))
        .arg("-D")
        .arg(&data)
        .arg("-c")
        .arg(format!("unix_socket_directories={}", sockets.display()))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = foreign.id();
    let ready = || {
        let text = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
        text.lines().next() == Some(&pid.to_string()) && text.contains("ready")
    };
    while !ready() {
        assert!(foreign.try_wait().unwrap().is_none(), "the foreign server does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = bench.call(&["resume"]).expect(3);
    expect_words(&refused, &["is in use by", &format!("pid {pid} that this rqps did not start")]);
    let refused = bench.call(&["clean", "last"]).expect(3);
    expect_words(&refused, &["is in use by", &format!("pid {pid}")]);
    assert!(foreign.try_wait().unwrap().is_none(), "the foreign server was ended");
    crate::bench::send(pid, rustix::process::Signal::INT);
    foreign.wait().unwrap();

    // A file in place of the socket's directory.
    let socket = data.with_extension("sock");
    fs::remove_dir_all(&socket).ok();
    fs::write(&socket, "").unwrap();
    let refused = bench.call(&["resume"]).expect(3);
    expect_words(&refused, &["blocks its socket directory: remove it"]);
    fs::remove_file(&socket).unwrap();
    bench.call(&["resume"]).expect(0);
    bench.expect_complete(1);
}

#[test]
fn damaged_folders_are_told_apart() {
    let bench = Bench::new();
    cut_off(&bench);
    let folder = bench.folder();
    let path = folder.to_str().unwrap();

    let plan = folder.join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, &text[..text.len() / 2]).unwrap();
    let refused = bench.call(&["resume"]).expect(2);
    expect_words(&refused, &["plan.toml", "can't be resumed, but its results can still be shown"]);
    bench.call(&["show"]).expect(0);
    // A valid plan, but a different one.
    fs::write(&plan, text.replace("seed = 7", "seed = 8")).unwrap();
    let refused = bench.call(&["resume"]).expect(2);
    expect_words(&refused, &["plan.toml: it was changed after the run began", "undo that"]);
    fs::remove_file(&plan).unwrap();
    expect_words(&bench.call(&["resume"]), &["can't read", "plan.toml"]);
    fs::write(&plan, text).unwrap();

    let db = folder.join("run.db");
    let whole = fs::read(&db).unwrap();
    for file in ["run.db-wal", "run.db-shm"] {
        fs::remove_file(folder.join(file)).ok();
    }
    fs::write(&db, b"this was a database once").unwrap();
    for arguments in [vec!["status", path], vec!["show", path], vec!["resume", path], vec!["report", path]] {
        let refused = bench.call(&arguments);
        assert_eq!(refused.code(), Some(3), "{arguments:?}: {}", refused.stderr);
        expect_words(&refused, &["run.db", "Is it a run.db, whole, and readable by you?"]);
    }
    let listed = bench.call(&["ls"]).expect(0).stdout;
    assert!(listed.contains("run.db"), "{listed}");
    fs::write(&db, whole).unwrap();

    expect_words(&bench.call(&["resume", "nothing"]).expect(2), &["no run named `nothing`", "rqps ls"]);
    for (verb, name, option) in
        [("show", "latncy", "--section latency"), ("export", "windws", "--table windows")]
    {
        let meant = format!("Or did you mean `{option}`?");
        expect_words(&bench.call(&[verb, name]).expect(2), &[&format!("no run named `{name}`"), &meant]);
    }
}

#[test]
fn a_server_that_does_not_start_leaves_nothing_running() {
    let bench = Bench::new();
    let cases = [
        ("shared_buffers = 32MB\nwal_level = sideways\n", "sideways"),
        ("wal_level = minimal\nmax_wal_senders = 5\n", "max_wal_senders"),
        ("io_method = sideways\n", "io_method"),
    ];
    let version = exact_version("18");
    let build = |name: &str, config: &str| {
        format!("[[arm]]\nname = \"{name}\"\nbuild = \"postgres-{version}\"\nconfig = \"./{config}\"\n")
    };
    for (number, (config, _)) in cases.iter().enumerate() {
        fs::write(bench.path().join(format!("{number}.conf")), config).unwrap();
    }
    // One plan with all of them: only the arms that start are measured.
    let mut text = format!(
        "name = \"t\"\nbase = \"good\"\non_server_death = \"next-arm\"\n[workload]\nrows = 1_000\nread_seconds = 1\nsteps = [\"point-query\"]\n{}{}",
        build("good", "small.conf"),
        build("as-good", "small.conf")
    );
    for number in 0..cases.len() {
        text.push_str(&build(&format!("bad-{number}"), &format!("{number}.conf")));
    }
    let plan = bench.plan_text(&text);
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(3);
    bench.expect_no_process();
    for (number, (_, words)) in cases.iter().enumerate() {
        expect_words(&ended, &[&format!("arm bad-{number}: "), words]);
    }
    let run = bench.run();
    assert_eq!(run.status.status, Status::Failed);
    assert_eq!(run.windows.len(), 2);
    // Only base could start, and there would be nothing to compare.
    let plan = bench.plan_text(&text.replace(&build("as-good", "small.conf"), ""));
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(3);
    expect_words(&ended, &["arm bad-0: ", "sideways"]);
    assert!(!ended.stderr.contains("rows/s with indexes"), "nothing is loaded: {}", ended.stderr);
    // Without base nothing is measured.
    let plan = bench.plan_text(&text.replace("base = \"good\"", "base = \"bad-0\""));
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(3);
    expect_words(&ended, &["arm bad-0: ", "sideways"]);
    assert!(!ended.stderr.contains("bad-1: the"), "{}", ended.stderr);
    bench.expect_no_process();
}

#[test]
fn what_the_host_cannot_hold_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    fs::write(bench.path().join("huge.conf"), "shared_buffers = 900GB\n").unwrap();
    let plan = bench.plan("", STEPS, &["18"]);
    let text = fs::read_to_string(&plan).unwrap();
    let huge = bench.plan_text(&text.replace("./small.conf", "./huge.conf"));
    let ended = bench.call(&["run", huge.to_str().unwrap()]).expect(2);
    expect_words(&ended, &["966.4 GB for the servers' caches", "lower shared_buffers"]);
    // Nor a budget that would end after minutes without a verdict.
    let build = "build = \"postgres-18\"\nconfig = \"sized\"\n";
    let arms = ["a", "b"].map(|name| format!("[[arm]]\nname = \"{name}\"\n{build}")).concat();
    let text = |budget: &str| {
        let top = format!("name = \"t\"\nbase = \"a\"\nprotocol = \"isolated\"\nbudget = \"{budget}\"\n");
        format!("{top}[workload]\nrows = 1_000\n{arms}")
    };
    let short = bench.plan_text(&text("1s")).display().to_string();
    for words in [&["plan", "check"][..], &["run"]] {
        let ended = bench.call(&[words, &[&short]].concat()).expect(2);
        expect_words(
            &ended,
            &[
                "the budget of 1 s is far too short: the first verdicts on ",
                "min or more, or fewer tests or rows",
            ],
        );
    }
    bench.plan_text(&text("5m"));
    bench.call(&["plan", "check", &short]).expect(0);
    assert!(bench.folders().is_empty());
}

#[test]
fn a_branch_that_is_not_there_is_refused_before_anything_is_compiled() {
    let bench = Bench::new();
    let source = bench.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("configure"), "exit 1\n").unwrap();
    for arguments in ["init --quiet -b main", "add .", "commit --quiet -m one"] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]).args(arguments.split(' '));
        assert!(git.current_dir(&source).status().unwrap().success(), "{arguments}");
    }
    let [base, head] =
        ["main", "my-brnch"].map(|name| format!("postgres+o2nofp:{}@{name}", source.display()));
    let mistyped = bench.call(&["gate", "--base", &base, "--head", &head]);
    expect_words(&mistyped, &["no commit, tag or branch `my-brnch`"]);
}

#[test]
fn a_calibration_that_cannot_be_leaves_nothing() {
    let bench = Bench::new();
    let no_test = bench.call(&["calibrate", "--tests", "point-qurey"]).expect(2);
    expect_words(&no_test, &["point-qurey", "point-query"]);
    let too_few = bench.call(&["calibrate", "--arms", "1"]).expect(2);
    expect_words(&too_few, &["--arms 1: choose 2 to 14"]);
    assert_eq!(fs::read_dir(bench.work()).map_or(0, |left| left.count()), 0);
    let plan = bench.plan("", STEPS, &["18"]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let no_calibration = bench.call(&["calibrate", "--from", "last"]).expect(2);
    expect_words(&no_calibration, &["is not a calibration run", "campaign.json"]);
    assert!(!bench.folder().join("calibration").exists());
}
