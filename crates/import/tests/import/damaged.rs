//! Files that are cut off or empty, pipes: each is named with the remedy, and never half of a result.

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

/// fio prints the summary of its jobs when all of them are done: before it, some may be missing.
#[test]
fn a_text_of_fio_without_its_end() {
    let text = "seq: (g=0): rw=write, bs=(R) 16.0KiB-16.0KiB, ioengine=psync, iodepth=1\nfio-3.33\n\
        seq: (groupid=0, jobs=1): err= 0: pid=7\n  \
        write: IOPS=43.4k, BW=678MiB/s (711MB/s)(199GiB/10000msec)\n     \
        issued rwts: total=0,434321,0,0 short=0,0,0,0\n\nRun status group 0 (all jobs):\n";
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("whole.txt"), text).unwrap();
    assert!(import(dir.path()).is_ok());
    let cut = &text[..text.find("Run status group").unwrap()];
    for damaged in [cut.to_owned(), format!("{cut}{text}")] {
        let error = refused("sync.txt", &damaged);
        assert!(error.contains("has no `Run status group`") && error.contains("cut off"), "{error}");
    }
}

#[test]
fn a_row_that_a_table_has_twice_is_no_second_repeat() {
    let error = refused("qps.abs.tsv", "col-1 : x.a.x1\ncol-2 : x.b.x1\n\n100\t110\tscan\n100\t110\tscan\n");
    assert!(error.contains("qps.abs.tsv, line 5: scan has a row in line 4 already"), "{error}");
}

#[test]
fn a_comma_of_thousands_is_no_decimal_comma() {
    let row = |rate: &str| format!("arm;test;repeat;rate;unit\nold;t;1;{rate};tps\n");
    let error = refused("rates.csv", &row("4,533"));
    assert!(
        error.contains("rates.csv, line 2") && error.contains("\"4,533\" may be one of thousands"),
        "{error}"
    );
    let error = refused("rates.csv", &row("1,215.46"));
    assert!(error.contains("write it without commas of thousands, 1215.46"), "{error}");
    for (text, rate) in [("4533,25", 4533.25), ("0,533", 0.533), ("45,3", 45.3), ("1234,567", 1234.567)] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("rates.csv"), row(text)).unwrap();
        let work = import(dir.path()).unwrap().0.results[0].measurement.work.clone().unwrap();
        assert!((work.per_second() - rate).abs() < 1e-9, "{text}");
        let found = import(dir.path()).unwrap().0;
        assert_eq!(found.results[0].values[0].1.value, Some(rate), "{text}");
    }
    let error = refused("qps.abs.tsv", "col-1 : x.a.x1\n\n4,533\tscan\n");
    assert!(error.contains("may be one of thousands"), "{error}");
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
    // The repeat would be left out, and the mean of the others be better.
    let text = own("sysbench-1.0.20.cpu.txt");
    let at = text.find("total time:").unwrap();
    let end = text[at..].find('\n').unwrap() + at;
    let error = refused("run.txt", &format!("{}total time: 0.0000s{}", &text[..at], &text[end..]));
    assert!(error.contains("run.txt, line ") && error.contains("in a total time of 0 s"), "{error}");
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
    // Of the same name: it is no sample, which has gaps.
    fs::remove_file(dir.path().join("lg.3587")).unwrap();
    let half: Vec<&str> = log.lines().take(50).collect();
    fs::write(dir.path().join("run-1.log"), half.join("\n") + "\n").unwrap();
    let error = import(dir.path()).unwrap_err().to_string();
    assert!(error.contains("it has 50 of the 105 transactions") && error.contains("cut off"), "{error}");
    let sample: String = log.lines().step_by(2).map(|line| format!("{line}\n")).collect();
    fs::write(dir.path().join("run-1.log"), sample).unwrap();
    assert!(import(dir.path()).is_ok());
}

/// The banner and the progress, but no result: pgbench was killed.
#[test]
fn a_run_of_pgbench_that_was_killed_is_no_result() {
    let banner = "pgbench (15.18 (Debian 15.18-0+deb12u1), server 16.15)\n";
    let progress = own("pgbench-15.progress.txt");
    let killed = format!("{banner}{progress}");
    let ended = format!("pgbench (PostgreSQL) 15.18\n{progress}{}", own("pgbench-15.out.txt"));
    for text in
        [killed.clone(), format!("{killed}{ended}"), format!("{ended}{killed}"), format!("{ended}{banner}")]
    {
        let error = refused("run-3.log", &text);
        assert!(error.contains("run-3.log, line ") && error.contains("the file is cut off"), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    for text in [ended, progress] {
        fs::write(dir.path().join("run-1.log"), text).unwrap();
        assert_eq!(import(dir.path()).unwrap().0.results.len(), 1);
    }
}

/// Headings are all that tells runs of two builds in one file apart. Those of repeats differ in numbers and dates.
#[test]
fn runs_of_several_builds_in_one_file_are_refused() {
    let run = |heading: &str, tps: &str| {
        format!("{heading}\n{}", own("pgbench-15.out.txt").replace("372.967010", tps).replace("1488", tps))
    };
    let mixed = |of: &dyn Fn(u32) -> [String; 2]| -> String {
        (1..=2).flat_map(|n| [0, 1].map(|at| run(&of(n)[at as usize], &format!("37{n}{at}")))).collect()
    };
    let in_turns = |n| [format!("=== master run {n} ==="), format!("=== patched run {n} ===")];
    let error = refused("all.log", &mixed(&in_turns));
    for part in ["all.log, line 16: ", "`=== master run 1 ===` in line 1", "a file of its own"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(refused("all.log", &mixed(&|n| [format!("A {n}"), format!("B {n}")])).contains("several builds"));
    let dir = tempfile::tempdir().unwrap();
    let dates = |n| [format!("run {n} Fri Nov 2{n} 10:00:00"), format!("run {n} Sat Dec 2{n} 10:00:00")];
    fs::write(dir.path().join("all.log"), mixed(&dates)).unwrap();
    assert_eq!(import(dir.path()).unwrap().0.results.len(), 4);
}

/// The default directory of results is in the one that is imported again.
#[test]
fn previous_imports_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run-1.txt"), own("pgbench-15.out.txt")).unwrap();
    let (assembled, _) = import(dir.path()).unwrap();
    let results = dir.path().join("results");
    let folder = rqps_import::write_run(&assembled, &results, "first").unwrap();
    fs::write(folder.join("report.html"), "<html>").unwrap();
    let (loaded, left_out) = load_all(&files(&[dir.path()]).unwrap(), None, false).unwrap();
    let left_out: Vec<_> = left_out.into_iter().map(|one| (one.path, one.why)).collect();
    assert_eq!((loaded.len(), left_out), (1, vec![(folder, rqps_import::Why::OwnRun)]));
    let error = import(&results).unwrap_err().to_string();
    assert!(error.contains("a run of rqps, not results of another program"), "{error}");
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
    assert!(error.contains("run-1.err, line 1: pgbench failed: Run was aborted"), "{error}");
    // At the end of a result, and without the program's name, as until 12.
    let ended = "Run was aborted; the above results are incomplete.\n";
    let error = refused("run.log", &format!("{}{ended}", own("pgbench-15.out.txt")));
    assert!(
        error.contains("are incomplete and count for nothing; leave out all files of this run"),
        "{error}"
    );
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

/// A file that breaks off in a figure has another figure.
#[test]
fn a_figure_that_is_cut_off_is_none() {
    let pgbench = own("pgbench-15.out.txt");
    let at = pgbench.find("tps = ").unwrap() + "tps = ".len();
    let rate = pgbench[at..].find(' ').unwrap();
    for cut in [1, 4, rate, rate + 9] {
        let error = refused("run.txt", &pgbench[..at + cut]);
        assert!(error.contains("run.txt, line ") && error.contains("breaks off in this line"), "{error}");
    }
    let old = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\n\
               number of clients: 1\nnumber of threads: 1\nduration: 3 s\n\
               number of transactions actually processed: 900\nlatency average = 3.333 ms\n\
               tps = 290.000000 (including connections establishing)\n";
    assert!(refused("old.txt", old).contains("ends without `tps = `"));
    let progress = own("pgbench-15.progress.txt");
    let line = progress.trim_end().rfind('\n').unwrap() + 1;
    for part in [" tps", "lat ", " ms", "std", "stddev ", "0 failed"] {
        let at = line + progress[line..].find(part).unwrap();
        let error = refused("run.err", &progress[..at + part.len() + if part == "lat " { 2 } else { 0 }]);
        assert!(error.contains("run.err, line "), "{error}");
    }
    // Between two lines: the text of its run tells.
    let scripts = own("pgbench-15.rate.out.txt");
    let error = refused("run.txt", &scripts[..scripts.find("SQL script 2").unwrap()]);
    assert!(error.contains("before all of its scripts"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run-1.txt"), &pgbench).unwrap();
    let shown: Vec<&str> = progress.split_inclusive('\n').collect();
    fs::write(dir.path().join("run-1.err"), shown[..4].concat()).unwrap();
    assert!(import(dir.path()).is_ok(), "one interval may be missing");
    fs::write(dir.path().join("run-1.err"), shown[..2].concat()).unwrap();
    let error = import(dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("run-1.err") && error.contains("ends after 1.0 s") && error.contains("4.0 s"),
        "{error}"
    );
    for (name, whole, cuts) in [
        ("lg.1", own("pgbench-15.rate.log"), &[1, 2, 5, 12][..]),
        ("ag.1", own("pgbench-15.aggregate.log"), &[1, 3]),
        ("ycsb.txt", "[OVERALL], RunTime(ms), 10000\n[OVERALL], Throughput(ops/sec), 1234.5\n".to_owned(), &[1, 4, 7]),
        ("nopm.csv", "pg1222,33781\npg181,33705\n".to_owned(), &[1, 3]),
        ("rates.csv", "arm,test,repeat,rate\nold,t,1,1000\nnew,t,1,1100\n".to_owned(), &[1, 2]),
        (
            "db.log",
            "RocksDB:    version 9.8.4\nreadrandom   :  3.456 micros/op 289351 ops/sec 10.000 seconds 2893510 operations;\n".to_owned(),
            &[1, 2, 20, 30],
        ),
    ] {
        for cut in cuts {
            let error = refused(name, &whole[..whole.len() - cut]);
            assert!(error.contains(&format!("{name}, line ")) && error.contains("breaks off in this line"), "{error}");
        }
    }
    // Complete, but for the end of the last line.
    for (name, whole) in [
        ("run.txt", pgbench.trim_end().to_owned()),
        ("rate.txt", own("pgbench-15.rate.out.txt").trim_end().to_owned()),
        ("rates.csv", "arm,test,repeat,rate,unit\nold,t,1,1000,tps\nnew,t,1,1100,tps".to_owned()),
        (
            "db.log",
            "readrandom   :  3.456 micros/op 289351 ops/sec 10.000 seconds 2893510 operations;   32.0 MB/s"
                .to_owned(),
        ),
        (
            "ycsb.txt",
            "[OVERALL], Throughput(ops/sec), 1234.5\n[READ], Operations, 12345\n[READ], Return=OK, 12345"
                .to_owned(),
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(name), whole).unwrap();
        assert!(!import(dir.path()).unwrap().0.results.is_empty(), "{name}");
    }
}

/// A name that is cut off is another test's, and what should follow is missing.
#[test]
fn a_name_that_is_cut_off_is_none() {
    let report = "ops_sec\tmb_sec\ttest\tdate\tversion\n100\t1\tfillseq\t2025-12-22T22:23:46\t9.8.4\n";
    let frame = "<title>a (10 samples, 100%)</title><rect x=\"1\" y=\"1\" width=\"9\" height=\"15\" />\n";
    for (name, whole, cuts) in [
        (
            "qps.abs.tsv",
            "col-1 : x.a.x1\ncol-2 : x.b.x1\n\n100\t110\tscan\n200\t220\tpoint-query\n",
            &[1, 3, 9][..],
        ),
        ("qps.abs.csv", "scan,100,110\npoint-query,200,220\n", &[1, 8, 12]),
        ("rates.csv", "rate,arm,repeat,test\n1000,old,1,point-query\n1100,new,1,point-query\n", &[1, 4, 15]),
        ("rates.csv", "arm,test,repeat,rate\nold,t,1,1000\nnew,t,1,1100\n", &[8, 10, 12]),
        ("report.tsv", report, &[1, 3]),
        (
            "db.log",
            "readrandom   :  3.456 micros/op 289351 ops/sec 10.000 seconds 2893510 operations;\nreadwhile\n",
            &[1, 4],
        ),
        (
            "ycsb.txt",
            "READ - Takes(s): 10.0, Count: 10, OPS: 1.0, Avg(us): 5, 99th(us): 9, 99.9th(us): 9\nUPD\n",
            &[1, 2],
        ),
        (
            "hdb.log",
            "Vuser 1:TEST RESULT : System achieved 42332 NOPM from 97427 PostgreSQL TPM\nVuser 2:TEST\n",
            &[1, 10],
        ),
    ] {
        for cut in cuts {
            let error = refused(name, &whole[..whole.len() - cut]);
            assert!(
                error.contains(&format!("{name}, line ")) && error.contains("breaks off in this line"),
                "{cut}: {error}"
            );
        }
    }
    let error = refused("a.svg", &format!("<svg>\n<!-- Flame Graph -->\n{frame}{}", &frame[..20]));
    assert!(error.contains("a.svg, line 4") && error.contains("cut off"), "{error}");
    let text = own("sysbench-1.0.20.oltp.interval.txt");
    let error = refused("run.txt", &format!("{text}sysb"));
    assert!(error.contains("breaks off in this line"), "{error}");
    let pgbench = own("pgbench-15.out.txt");
    for more in ["SQL script 2: na", "progr"] {
        let error = refused("run.txt", &format!("{pgbench}{more}"));
        assert!(error.contains("breaks off in this line"), "{error}");
    }
}

#[test]
fn a_row_that_a_report_of_db_bench_has_twice_is_no_second_repeat() {
    let head = "ops_sec\tmb_sec\ttest\tdate\tversion";
    let row = "100\t1\tfillseq\t2025-12-22T22:23:46\t9.8.4";
    let other = "107\t1\tfillseq\t2025-12-23T22:23:46\t9.8.4";
    let error = refused("report.tsv", &format!("{head}\n{row}\n{other}\n{row}\n"));
    assert!(error.contains("report.tsv, line 4: fillseq of 9.8.4 has the same row in line 2"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("report.tsv"), format!("{head}\n{row}\n{other}\n")).unwrap();
    assert_eq!(import(dir.path()).unwrap().0.repeats, 2);
    // Two compilers of one version, of which one has no row.
    let error = refused(
        "sum.txt",
        &format!("a/report.tsv\nb/report.tsv\n\n{head}\n{row}\n{other}\n{head}\n{row}1\n"),
    );
    assert!(error.contains("sum.txt, line 8: fillseq has 1 rows, but there are 2 paths"), "{error}");
}

/// What a killed import has left goes with the next one; what another one is at work on stays.
#[test]
fn leftovers_of_killed_imports_are_deleted_at_once() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run.txt"), own("pgbench-15.out.txt")).unwrap();
    let assembled = import(dir.path()).unwrap().0;
    let results = dir.path().join("results");
    let left = ["left", "busy"].map(|name| results.join(format!(".import-{name}")));
    left.iter().for_each(|left| fs::create_dir_all(left.join("run")).unwrap());
    let busy = fs::File::open(&left[1]).unwrap();
    busy.lock().unwrap();
    rqps_import::write_run(&assembled, &results, "run").unwrap();
    assert_eq!(left.map(|left| left.exists()), [false, true]);
}

/// What it did until then is not what was asked for.
#[test]
fn fio_that_was_stopped_is_no_result() {
    let text = format!("fio: terminating on signal 2\n{}", own("fio-3.33.normal+json.txt"));
    let why = refused("fio.txt", &text);
    assert!(why.contains("line 1: fio was stopped by signal 2"), "{why}");
}
