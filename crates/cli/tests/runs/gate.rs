//! `rqps gate`: its exit codes on simulated runs, and from two builds to a verdict.

use crate::bench::{Bench, Running, exact_version, wait_for};
use rqps_verdicts::testing::{Spec, write_run};
use std::fs;

#[test]
fn exit_codes_say_whether_a_change_may_pass() {
    let bench = Bench::new();
    let made = |spec: &Spec| write_run(&bench.results(), spec).unwrap().display().to_string();
    let same = made(&Spec::default());
    let dearer = made(&Spec { effects: vec![(2, "insert", 1.0, 1.02)], ..Spec::default() });
    let noisy = made(&Spec { block_sd: 0.05, ..Spec::default() });
    let too_few = made(&Spec { blocks: 2, ..Spec::default() });
    let gate = |arguments: &[&str], code| bench.call(&[&["gate"], arguments].concat()).expect(code);
    assert!(gate(&[&same], 0).stdout.contains("rqps gate: passed"));
    assert!(gate(&[&dearer], 1).stdout.contains("REGRESSION in cost insert"));
    gate(&[&dearer, "--fail-on", "rate"], 0);
    gate(&[&noisy], 0);
    gate(&[&noisy, "--inconclusive-is-failure"], 4);
    assert!(gate(&[&too_few], 4).stdout.contains("--more"));
    gate(&[], 2);
    gate(&[&same, "--junit", "-", "--json", "-"], 2);
    // Outputs go to their files, and only the requested one to standard output.
    let json = bench.path().join("gate.json").display().to_string();
    gate(&[&same, "--junit", "gate.json", "--json", &json], 2);
    let output = gate(&[&dearer, "--junit", "-", "--json", &json], 1).stdout;
    assert!(output.starts_with("<?xml") && !output.contains("rqps gate:"), "{output}");
    let entries: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert!(entries.as_array().is_some_and(|entries| entries.len() > 20), "{entries}");
    let file = bench.path().join("gate.md").display().to_string();
    let answer = gate(&[&dearer, "--markdown", &file], 1).stdout;
    assert_eq!(answer, "rqps gate: FAILED: regression of cost in 1 of 6 tests\n");
}

/// As by a second Ctrl-C, after which nothing can be written. A resume, from wherever, answers as the gate would have.
#[test]
fn a_gate_that_is_killed_leaves_its_files_and_its_resume_answers() {
    let bench = Bench::new();
    let equal = gate_of_equal_builds(&bench);
    let words: Vec<&str> = equal.iter().map(String::as_str).collect();
    let files = ["--junit", "gate.xml", "--markdown", "gate.md", "--fail-on", "cost"];
    let [junit, markdown] = ["gate.xml", "gate.md"].map(|name| bench.path().join(name));
    let mut running = bench.start(&[&words[..], &files].concat());
    wait_for("both files", || (junit.exists() && markdown.exists()).then_some(()));
    running.expect_line(&["block ", ": done in"]);
    running.kill();
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("errors=\"1\"") && xml.contains("interrupted: `rqps resume "), "{xml}");
    bench.expect_no_process();
    let status = bench.call(&["status"]).expect(0).stdout;
    assert!(status.contains("reason: rqps was killed") && status.contains("block "), "{status}");
    let told = bench.call(&["gate", "last"]).stderr;
    assert!(told.contains(&format!("wrote {}, ", markdown.display())), "{told}");
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(!xml.contains("interrupted: `rqps resume "), "{xml}");
    let mut resume = bench.rqps(&["resume"]);
    resume.current_dir("/");
    let ended = Running::of(resume).end();
    let is_open = ended.stdout.contains("decided: cost in none of 1");
    let ended = ended.expect(if is_open { 4 } else { 0 });
    let answer = if is_open { "rqps gate: undecided" } else { "rqps gate: passed" };
    assert!(ended.stdout.starts_with(answer) && ended.stdout.lines().count() == 1, "{}", ended.stdout);
    let [xml, summary] = [junit, markdown].map(|path| fs::read_to_string(path).unwrap());
    assert!(!xml.contains("interrupted") && xml.contains("point-query"), "{xml}");
    assert!(summary.starts_with(&format!("## {}", answer.trim_end())), "{summary}");
}

/// The beginning of a gate that compares a published version with its own directory, in three blocks of one test.
fn gate_of_equal_builds(bench: &Bench) -> Vec<String> {
    let version = exact_version("18");
    let plan = bench.plan_text(&format!(
        "base = \"a\"\nprotocol = \"isolated\"\n[workload]\nrows = 1_000\n[isolated]\nwindow_seconds = 0.1\n\
         blocks_max = 3\ncount_instructions = false\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-{version}\"\nconfig = \"./small.conf\"\n"
    ));
    let cached = rqps_builds::list_builds(&rqps_builds::Dirs::from_env()).unwrap().into_iter();
    let cached = cached.filter(|one| one.dbms == rqps_model::Dbms::Postgres && one.commit.is_none());
    let directory = cached.map(|one| (one.version, one.root)).find(|(found, _)| *found == version).unwrap().1;
    let (build, directory) = (format!("postgres-{version}"), directory.display().to_string());
    let plan = plan.display().to_string();
    let words = ["gate", "--base", &build, "--head", &directory, "--plan", &plan, "--tests", "point-query"];
    words.map(str::to_owned).to_vec()
}

/// Base and head are the same build, so the gate must pass however busy the machine.
#[test]
fn base_and_head_are_measured_together() {
    let bench = Bench::new();
    let version = exact_version("18");
    let gate = gate_of_equal_builds(&bench);
    let gate: Vec<&str> = gate.iter().map(String::as_str).collect();
    let ended = bench.call(&gate);
    // Where the host is too noisy for a verdict in three blocks, nothing is decided.
    let is_open = ended.stdout.contains("decided: rate in none of 1 tests, cost in none of 1");
    let ended = ended.expect(if is_open { 4 } else { 0 });
    assert!(ended.stderr.contains("base and head have the same program files ("), "{}", ended.stderr);
    let first = ended.stdout.lines().next().unwrap_or_default();
    assert!(
        first
            .ends_with("; base and head are the same build with the same config, so any difference is noise")
    );
    assert!(ended.stdout.contains(&format!("- head: postgres-{version}, ")), "{}", ended.stdout);
    assert!(ended.stderr.contains("why         rqps explain "), "{}", ended.stderr);
    let outcome = if is_open { "undecided" } else { "passed" };
    assert!(ended.stdout.contains(&format!("## rqps gate: {outcome}")), "{}", ended.stdout);
    let of_control = ended.stdout.lines().find(|line| line.contains("A/A check"));
    assert!(of_control.is_some_and(|line| line.contains(": 0 false alarms in ")), "{}", ended.stdout);
    assert!(ended.stdout.contains("blocks: 3 done"), "{}", ended.stdout);
    // The run can be judged again like any other.
    let again = bench.call(&["gate", "last", "--fail-on", "cost"]);
    let is_open = again.stdout.contains("decided: cost in none of 1 tests");
    again.expect(if is_open { 4 } else { 0 });
}
