//! Verbs that print lists and status: in every format, on simulated runs, and into a closed pipe.

use std::fs;
use std::process::Stdio;

use rqps_store::{RunFolder, Status};
use rqps_verdicts::testing::{Spec, write_run};
use serde_json::Value;

use crate::bench::{Bench, Running};

/// Writes a run with two worse tests and a better one; returns its name.
fn with_run(bench: &Bench) -> String {
    let path = write_run(&bench.results(), &Spec::mixed()).unwrap();
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn ls_tells_what_came_out() {
    let bench = Bench::new();
    let nothing = bench.call(&["ls"]).expect(0);
    assert_eq!((nothing.stdout.as_str(), nothing.stderr.contains("no run in ")), ("", true));
    let short = write_run(&bench.results(), &Spec { blocks: 2, ..Spec::mixed() }).unwrap();
    let listed = bench.call(&["ls"]).expect(0).stdout;
    assert!(listed.contains("no verdicts yet: 2 of 3 blocks"), "{listed}");
    fs::remove_dir_all(short).unwrap();
    let name = with_run(&bench);
    fs::create_dir(bench.results().join("damaged")).unwrap();
    fs::write(bench.results().join("damaged/run.db"), "this was a database once").unwrap();

    let text = bench.call(&["ls"]).expect(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].starts_with("damaged") && lines[1].contains("unreadable"), "{text}");
    let expected = "  postgres 17.7, 18.1 (sized)  rate: 1 worse, 1 better, 3 same, 1 inconclusive; cost: 2 worse, 1 better, 3 same";
    assert!(lines[2].starts_with(&name) && lines[2].ends_with(expected), "{text}");
    assert!(lines.iter().all(|line| *line == line.trim_end()), "{text}");

    assert!(bench.call(&["ls", "-n", "0"]).expect(2).stderr.contains("0 is not in 1.."));
    let newest = bench.call(&["ls", "-n", "1", "--json"]).expect(0).stdout;
    let newest = json(&newest);
    assert_eq!(
        (&newest[0]["name"], &newest[0]["verdicts"]["cost"]["worse"], &newest[1]),
        (&name.into(), &2.into(), &Value::Null)
    );
    let csv = bench.call(&["ls", "made", "--format", "csv"]).expect(0).stdout;
    assert!(
        csv.contains(",2026-07-30 14:15:03,") && csv.contains("\"postgres 17.7, 18.1 (sized)\""),
        "{csv}"
    );
    assert!(bench.call(&["ls", "nothing"]).expect(0).stderr.contains("no run with `nothing` in its name"));
}

#[test]
fn status_tells_how_far_a_run_is() {
    let bench = Bench::new();
    let name = with_run(&bench);
    let text = bench.call(&["status"]).expect(0).stdout;
    let results = bench.results().display().to_string();
    insta::assert_snapshot!(text.replace(&results, "results").replace(&name, "RUN"));
    let status = json(&bench.call(&["--json", "status"]).expect(0).stdout);
    assert_eq!(
        (&status["share"], &status["doing"], &status["blocks_done"]),
        (&1.0.into(), &Value::Null, &5.into())
    );
}

/// As `show` does.
#[test]
fn status_names_what_ended_a_run_and_what_continues_it() {
    let bench = Bench::new();
    let name = with_run(&bench);
    let why = "budget used up after 5 of at most 18 blocks";
    let mut writer = RunFolder::open_for_writing(&bench.results().join(&name)).unwrap();
    writer.set_status(Status::Complete, Some(why)).unwrap();
    drop(writer);
    let told = bench.call(&["status"]).expect(0).stdout;
    assert!(
        told.contains(": complete, 5 blocks done\n") && told.contains(&format!("ended: {why}\n")),
        "{told}"
    );
    let shown = bench.call(&["show"]).expect(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = told.lines().find_map(|line| line.strip_prefix("to continue: ")).unwrap();
    assert!(shown.contains(&format!("ended: {why}")) && shown.contains(command), "{command}: {shown}");
}

#[test]
fn last_is_the_newest_run_that_the_verb_can_use() {
    let bench = Bench::new();
    let (older, newer) = (with_run(&bench), with_run(&bench));
    let status = |bench: &Bench| bench.call(&["status"]).expect(0).stdout;
    assert!(status(&bench).contains(&newer));
    let mut running = RunFolder::open_for_writing(&bench.results().join(&older)).unwrap();
    let output = status(&bench);
    assert!(output.contains(&older) && !output.contains(&newer), "what runs goes first: {output}");
    running.set_status(Status::Interrupted, Some("a signal")).unwrap();
    drop(running);
    assert!(status(&bench).contains(&newer));
    let resumed = |arguments: &[&str]| bench.call(&[&["resume"], arguments].concat()).stderr;
    assert_eq!(resumed(&[]), resumed(&[&older]));
    assert_ne!(resumed(&[]), resumed(&[&newer]));
    write_run(&bench.results(), &Spec { blocks: 0, ..Spec::mixed() }).unwrap();
    let shown = bench.call(&["show", "last"]).expect(0);
    assert!(shown.stderr.contains(&format!("has no results; this is {newer}")), "{}", shown.stderr);
    assert!(status(&bench).contains("made-up") && !status(&bench).contains(&newer));
}

#[test]
fn a_mistyped_name_gets_a_hint() {
    let bench = Bench::new();
    let name = with_run(&bench);
    let hint = |arguments: &[&str]| bench.call(arguments).expect(2).stderr;
    assert!(hint(&["plan", "print", "verdict"]).contains("Did you mean `verdicts`?"));
    assert!(hint(&["show", &name.replace("made-up", "mad-up")]).contains(&format!("Did you mean `{name}`?")));
    assert!(hint(&["explain", &name, "--test", "point-qery"]).contains("Did you mean `point-query`?"));
    assert!(hint(&["run", "verdicts", "--label", "a b/c"]).contains("for example a-b-c"));
    assert!(hint(&["run", "insert-smoke", "--budget", "5m"]).contains("it is a sequence"));
    fs::write(bench.path().join("mine.toml"), "").unwrap();
    assert!(hint(&["run", "mine.tml"]).contains("Did you mean `mine.toml`?"));
    assert!(hint(&["run", "./min.toml"]).contains("Did you mean `mine.toml`?"));
    fs::create_dir(bench.path().join("verdicts")).unwrap();
    bench.call(&["plan", "show", "verdicts"]).expect(0);
}

#[test]
fn shells_and_manuals_know_every_verb() {
    let bench = Bench::new();
    let name = with_run(&bench);
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.call(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("RQPS_COMPLETE"), "{shell}");
    }
    // What the script of bash asks for the last of these words.
    let completed = |words: &[&str]| {
        let mut command = bench.rqps(&[&["--", "rqps"], words].concat());
        command.env("RQPS_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        Running::of(command).end().expect(0).stdout
    };
    for (words, candidate) in [
        (&["cali"][..], "calibrate"),
        (&["gate", "--jun"], "--junit"),
        (&["run", "verd"], "verdicts"),
        (&["show", "made"], &name),
        (&["gate", "--config", "sized_a"], "sized_async"),
        (&["gate", "--tests", "scan,hot-p"], "scan,hot-points"),
        (&["upgrade", "mysql-8.0.3"], "mysql-8.0.31"),
        (&["install", "mysql", "8.0.3"], "8.0.31"),
        (&["build", "postgres", "--flavour", "o2l"], "o2lto"),
        (&["series", "postg"], "postgres"),
    ] {
        let candidates = completed(words);
        assert!(candidates.split_whitespace().any(|one| one == candidate), "{words:?}: {candidates}");
    }
    bench.call(&["man", "pages"]).expect(0);
    let page = fs::read_to_string(bench.path().join("pages/rqps-gate.1")).unwrap();
    assert!(page.starts_with(".") && page.contains("junit"), "{page}");
}

#[test]
fn a_format_is_taken_or_refused() {
    let bench = Bench::new();
    with_run(&bench);
    let lists: [&[&str]; 6] = [&["ls"], &["host"], &["builds"], &["configs"], &["plan", "ls"], &["show"]];
    for list in lists {
        for format in ["text", "markdown", "csv", "json"] {
            let output = bench.call(&[list, &["--format", format]].concat()).expect(0).stdout;
            assert_eq!(output.starts_with(['{', '[']), format == "json", "{list:?} {format}: {output}");
        }
        json(&bench.call(&[list, &["--json"]].concat()).expect(0).stdout);
    }
    for verb in [
        &["status"][..],
        &["configs", "sized"],
        &["plan", "check", "demo"],
        &["plan", "show", "demo"],
        &["clean"],
    ] {
        json(&bench.call(&[verb, &["--json"]].concat()).expect(0).stdout);
        let refused = bench.call(&[verb, &["--format", "csv"]].concat()).expect(2).stderr;
        assert!(
            refused.contains("--format csv is not supported here") && refused.contains("use text or json"),
            "{refused}"
        );
    }
    let both = bench.call(&["ls", "--json", "--format", "csv"]).expect(2).stderr;
    assert!(both.contains("--json and --format csv contradict each other"), "{both}");
}

/// The plain answers are in every format but CSV, and nothing is left of the directory that was made for the file.
#[test]
fn a_certificate_answers_in_every_format() {
    let bench = Bench::new();
    let made = |format: &str| bench.path().join(format!("made-{format}"));
    let start = |format: &str| {
        let mut command = bench.rqps(&["host", "--certify", "--format", format]);
        command.env("RQPS_WORK", made(format).join("work"));
        Running::of(command)
    };
    let [text, markdown, object] = ["text", "markdown", "json"].map(start);
    let object = json(&object.end().expect(0).stdout);
    assert_eq!(object["answers"].as_array().unwrap().len(), 4, "{object}");
    assert!(object["commits"]["per_s"].as_f64().unwrap() > 0.0, "{object}");
    assert_eq!(object["directory"], made("json").join("work").to_str().unwrap());
    for (shown, item) in [(text, ""), (markdown, "- ")] {
        let shown = shown.end().expect(0).stdout;
        for start in ["write cache that survives power loss: ", "one client that waits", "the disk: that of "]
        {
            assert!(shown.contains(&format!("\n{item}{start}")), "{start}: {shown}");
        }
    }
    assert!(["text", "markdown", "json"].iter().all(|format| !made(format).exists()));
}

#[test]
fn exports_go_where_they_are_sent() {
    let bench = Bench::new();
    let name = with_run(&bench);
    let nowhere = bench.call(&["export"]).expect(2).stderr;
    assert!(nowhere.contains("--to DIR"), "{nowhere}");
    let output = bench.call(&["export", &name, "last", "--to", "out"]).expect(2).stderr;
    assert!(output.contains("two runs are named"), "{output}");
    let files = bench
        .call(&["export", "--to", "out", "--as", "csv,parquet,csv", "--table", "blocks,canaries,blocks"])
        .expect(0);
    assert!(files.stdout.starts_with("table     rows  parquet     csv\nblocks       5"), "{}", files.stdout);
    let all = bench.call(&["export", "--to", "out", "--force"]).expect(0);
    assert!(all.stderr.contains("in out") && bench.path().join("out/windows.parquet").is_file());
    let there = bench.call(&["export", "--to", "out"]).expect(2).stderr;
    assert!(there.contains("out/runs.parquet already exists") && there.contains("--force"), "{there}");
    let lines = bench.call(&["export", "--table", "blocks", "--json"]).expect(0).stdout;
    assert_eq!(lines.lines().map(|line| json(line)["block"].clone()).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_reader_who_has_seen_enough_ends_nothing_in_error() {
    let bench = Bench::new();
    with_run(&bench);
    for arguments in [&["ls"][..], &["status"], &["export", "--table", "metrics"]] {
        let mut rqps = bench.rqps(arguments);
        let mut running = rqps.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(running.stdout.take());
        let ended = running.wait_with_output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{arguments:?}: {ended:?}");
    }
}
