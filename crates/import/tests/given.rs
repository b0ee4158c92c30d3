//! What users give: tables of spreadsheets, repeats in any order, mistakes in arms and units.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use std::fs;

use rqps_import::{Assembled, Choices, Error, files, load_all};

/// Imports files of this content: `a.csv` and so on, each given as `ARM=` or without.
fn import(given: &[(&str, &[u8])], rules: &[&str]) -> Result<Assembled, Error> {
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = Vec::new();
    for ((arm, content), name) in given.iter().zip('a'..) {
        let path = dir.path().join(format!("{name}.csv"));
        fs::write(&path, content).unwrap();
        arguments.push(format!("{arm}{}", path.display()));
    }
    let arms = rules.iter().map(|rule| rule.parse()).collect::<Result<_, _>>()?;
    let (loaded, _) = load_all(&files(&arguments)?, None, false)?;
    Assembled::new(loaded, &Choices { arms, ..Choices::default() })
}

fn refused(given: &[(&str, &[u8])], rules: &[&str]) -> String {
    import(given, rules).unwrap_err().to_string()
}

/// Arm, repeat, rate, sorted by repeat.
fn rates(assembled: &Assembled) -> Vec<(&str, u32, f64)> {
    let rate = |one: &rqps_import::Measurement| one.work.as_ref().unwrap().per_second();
    let results = assembled.results.iter();
    results.map(|one| (assembled.arms[one.arm].name.as_str(), one.repeat, rate(&one.measurement))).collect()
}

#[test]
fn tables_of_spreadsheets() {
    let expected = [("old", 1, 100.5), ("new", 1, 90.0)];
    for csv in [
        &b"\xef\xbb\xbfarm;test;repeat;rate\r\nold;a;1;100,5\r\nnew;a;1;90\r\n"[..],
        b"\"\",\"arm\",\"test\",\"repeat\",\"rate\"\n\"1\",\"old\",\"a\",1,100.5\n\"2\",\"new\",\"a\",1,90\n",
        b"rate\trepeat\ttest\tarm\n100.5\t1\ta\told\n90\t1\ta\tnew\n",
    ] {
        assert_eq!(rates(&import(&[("", csv)], &[]).unwrap()), expected, "{}", String::from_utf8_lossy(csv));
    }
}

/// Repeats of one number are measured side by side: they must stay together, whatever the order of rows.
#[test]
fn repeats_keep_their_numbers() {
    let csv =
        b"arm,test,repeat,rate\nold,a,7,103\nold,a,2,102\nold,a,1,101\nnew,a,1,91\nnew,a,2,92\nnew,a,7,93\n";
    let assembled = import(&[("", csv)], &[]).unwrap();
    let expected = [
        ("old", 1, 101.0),
        ("new", 1, 91.0),
        ("old", 2, 102.0),
        ("new", 2, 92.0),
        ("old", 3, 103.0),
        ("new", 3, 93.0),
    ];
    assert_eq!((rates(&assembled).as_slice(), assembled.repeats), (&expected[..], 3));
    // A second file goes on where the first ended.
    let more = b"arm,test,repeat,rate\nold,a,1,104\nnew,a,1,94\n";
    let assembled = import(&[("", csv), ("", more)], &[]).unwrap();
    assert_eq!(rates(&assembled)[6..], [("old", 4, 104.0), ("new", 4, 94.0)]);
    let huge = b"arm,test,repeat,rate\nold,a,4294967295,103\nnew,a,4294967295,93\n";
    assert_eq!(import(&[("", huge), ("", more)], &[]).unwrap().repeats, 1);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let csv = |unit: &str| format!("arm,test,repeat,rate,unit\nx,a,1,100,{unit}\n").into_bytes();
    let error = refused(&[("old=", &csv("queries")), ("new=", &csv("transactions"))], &[]);
    assert!(error.contains("a: its rate is in queries per second in") && error.contains("b.csv"), "{error}");
    let two = b"arm,test,repeat,rate\nold,a,1,100\nnew,a,1,90\n";
    let other = b"arm,test,repeat,rate\nx,b,1,100\n";
    let error = refused(&[("old=", &csv("queries")), ("new=", other)], &[]);
    assert!(error.contains("no other arm has a test of the base, old: it has a, the others b"), "{error}");
    let error = refused(&[("base=", two)], &[]);
    assert!(error.contains("it has the arms old, new itself: give it without `base=`"), "{error}");
}

#[test]
fn mistakes_in_what_arms_are() {
    let two: (&str, &[u8]) = ("", b"arm,test,repeat,rate\nold,a,1,100\nnew,a,1,90\n");
    let error = refused(&[two], &["odl=postgres:17.2"]);
    assert!(error.contains("--arm odl=…: no arm matches it; the arms are: old, new"), "{error}");
    let error = refused(&[two], &["old=postgers:17.2"]);
    assert!(error.contains("no DBMS is named postgers; did you mean postgres?"), "{error}");
    let assembled = import(&[two], &["old=postgres:17.2", "new=cockroach:25.1:big"]).unwrap();
    let versions: Vec<(&str, &str)> =
        assembled.arms.iter().map(|arm| (&*arm.identity.dbms, &*arm.identity.version)).collect();
    assert_eq!(versions, [("postgres", "17.2"), ("cockroach", "25.1")]);
    assert!(files(&["base=".to_owned()]).unwrap_err().to_string().contains("`base=` matches no file"));
}

#[test]
fn all_files_that_are_not_understood_are_named_at_once() {
    let error = refused(&[("", b""), ("", b"\xff\xfea\0"), ("", b"arm,test,repeat,tps\n")], &[]);
    for part in ["3 files are not understood", "a.csv: it is empty", "b.csv: it is UTF-16", "no column rate"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// What vmstat printed belongs to the result of the same name, also where other repeats have none.
#[test]
fn figures_of_the_host_go_to_the_repeat_of_their_name() {
    let dir = tempfile::tempdir().unwrap();
    for repeat in 1..=2 {
        let text = format!(
            "sysbench 1.0.20\n\nNumber of threads: 1\n\nThreads started!\n\n    queries:  100{repeat} (10.00 per sec.)\n    \
             total number of events: 100\n    total time: 100.0s\n    avg: 0.10\n"
        );
        fs::write(dir.path().join(format!("ro-{repeat}.txt")), text).unwrap();
    }
    let vmstat = "procs ---cpu---\n r  b  cs us sy id\n 1  0  5  9  9 82\n 1  0  7 40 10 50\n";
    fs::write(dir.path().join("ro-2.vmstat"), vmstat).unwrap();
    let loaded = load_all(&files(&[dir.path().display().to_string()]).unwrap(), None, false).unwrap().0;
    let assembled = Assembled::new(loaded, &Choices { cpus: Some(2), ..Choices::default() }).unwrap();
    let user: Vec<Option<&f64>> =
        assembled.results.iter().map(|one| one.measurement.metrics.get("host_user_us")).collect();
    // 40 % of 2 CPUs in 100 s.
    assert_eq!(user, [None, Some(&80e6)]);
}
