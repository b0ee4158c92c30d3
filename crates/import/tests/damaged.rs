//! Files that are cut off or empty, pipes: each is named with the remedy, and never half of a result.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_import::{Assembled, Choices, Error, Why, files, load_all};

fn own(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)).unwrap()
}

fn import(dir: &Path) -> Result<(Assembled, Vec<PathBuf>), Error> {
    let (loaded, left_out) = load_all(&files(&[dir])?, None, false)?;
    let quiet = left_out.into_iter().filter(|one| one.why == Why::Quiet).map(|one| one.path).collect();
    Ok((Assembled::new(loaded, &Choices::default())?, quiet))
}

fn refused(name: &str, content: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), content).unwrap();
    import(dir.path()).unwrap_err().to_string()
}

/// Wherever sysbench's text is cut after its first line, nothing of it is imported.
#[test]
fn a_text_of_sysbench_that_is_cut_off_anywhere() {
    let text = own("sysbench-1.0.20.oltp.interval.txt");
    let end = text.find("execution time (avg/stddev):").unwrap() + "execution time (avg/stddev):   ".len();
    let first = text.find("sysbench 1.0.20").unwrap() + "sysbench 1.0.20".len();
    let cuts = text.match_indices(['.', '\n']).map(|(at, _)| at).filter(|at| (first..end).contains(at));
    for at in cuts {
        let parsed = rqps_import::Format::Sysbench.parse(&text.as_bytes()[..at]);
        assert!(parsed.is_err(), "{}", &text[at.saturating_sub(60)..at]);
    }
    let cut = refused("run.txt", text.split("sum:").next().unwrap());
    assert!(cut.contains("run.txt, line ") && cut.contains("cut off"), "{cut}");
}

#[test]
fn json_that_is_cut_off_names_one_line() {
    let fio = own("fio-3.33.normal+json.txt");
    let cut: String = fio.lines().take(100).map(|line| format!("{line}\n")).collect();
    let error = refused("fio.json", &cut);
    assert!(error.contains("fio.json, line 10") && error.contains("cut off"), "{error}");
    assert_eq!(error.matches("line ").count(), 1, "{error}");
    let error = refused("summary.json", "{\n  \"DBMS Type\": \"POSTGRES\",\n  \"DBMS Version\": \"16.1\",\n");
    assert!(error.contains("summary.json, line 4") && error.contains("cut off"), "{error}");
}

#[test]
fn nothing_done_is_no_rate() {
    let text = own("pgbench-15-server-18.6.select-1.log");
    let at = text.find("tps = ").unwrap();
    let end = text[at..].find(" (").unwrap() + at;
    let error = refused("run.log", &format!("{}tps = 0.000000{}", &text[..at], &text[end..]));
    assert!(error.contains("its rate is 0"), "{error}");
}

/// Half of a log beside the text of its run.
#[test]
fn a_log_of_no_run_is_no_result() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run-1.txt"), own("pgbench-15.rate.out.txt")).unwrap();
    let log = own("pgbench-15.rate.log");
    fs::write(dir.path().join("lg.3587"), &log).unwrap();
    assert_eq!(import(dir.path()).unwrap().0.results.len(), 1);
    let half: String = log.lines().take(50).map(|line| format!("{line}\n")).collect();
    fs::write(dir.path().join("lg.3587"), half).unwrap();
    let error = import(dir.path()).unwrap_err().to_string();
    for part in ["lg.3587", "50 transactions", "run-1.txt with 105", "cut off"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_standard_error_without_a_message_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run-1.txt"), own("pgbench-15.out.txt")).unwrap();
    fs::write(dir.path().join("run-1.err"), "").unwrap();
    fs::write(dir.path().join("stderr.txt"), "starting vacuum...end.\n").unwrap();
    let (_, quiet) = import(dir.path()).unwrap();
    assert_eq!(quiet, ["run-1.err", "stderr.txt"].map(|name| dir.path().join(name)));
    fs::write(dir.path().join("run-1.err"), "pgbench: error: Run was aborted\n").unwrap();
    let error = import(dir.path()).unwrap_err().to_string();
    assert!(error.contains("run-1.err: not understood"), "{error}");
    // A result that is empty is missing.
    fs::remove_file(dir.path().join("run-1.err")).unwrap();
    fs::write(dir.path().join("run-2.txt"), "").unwrap();
    let error = import(dir.path()).unwrap_err().to_string();
    assert!(error.contains("run-2.txt: not understood: it is empty"), "{error}");
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = load_all(&files(&[&pipe]).unwrap(), None, false).unwrap_err().to_string();
    assert!(error.contains("pipe: not a file"), "{error}");
}
