//! Results that are no repeats of one another become arms, or end the import; repeats stay repeats.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_import::{Assembled, Choices, Error, files, load_all, repeats};

/// The final text of pgbench.
fn pgbench(tps: f64, server: &str) -> String {
    format!(
        "pgbench (16.3, server {server})\ntransaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\n\
         number of clients: 2\nnumber of threads: 1\nduration: 10 s\nnumber of transactions actually processed: {:.0}\n\
         latency average = 2.000 ms\ntps = {tps:.6} (without initial connection time)\n",
        tps * 10.0
    )
}

/// Writes texts of pgbench of different rates, the first with 1000 transactions per second.
fn write(dir: &Path, texts: &[(&str, &str)]) {
    for ((name, server), number) in texts.iter().zip(0..) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, pgbench(1000.0 + f64::from(number), server)).unwrap();
    }
}

fn import(arguments: &[String]) -> Result<Assembled, Error> {
    Assembled::new(load_all(&files(arguments)?, None, false)?.0, &Choices::default())
}

/// Arm, repeat, and transactions per second above 1000.
fn rates(assembled: &Assembled) -> Vec<(&str, u32, u32)> {
    let rate = |one: &rqps_import::Measurement| one.work.as_ref().unwrap().per_second().round() as u32 - 1000;
    let results = assembled.results.iter();
    let mut rates: Vec<_> = results
        .map(|one| (assembled.arms[one.arm].name.as_str(), one.repeat, rate(&one.measurement)))
        .collect();
    rates.sort_unstable();
    rates
}

fn of_texts(root: &str, texts: &[(&str, &str)]) -> Result<Assembled, Error> {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join(root), texts);
    import(&[dir.path().join(root).display().to_string()])
}

#[test]
fn files_of_other_names_are_arms() {
    for (texts, expected) in [
        (
            &["ro/old-1.txt", "ro/old-2.txt", "ro/new-1.txt"][..],
            &[("new", 1, 2), ("old", 1, 0), ("old", 2, 1)][..],
        ),
        (&["14/ro/1.txt", "15/ro/1.txt"], &[("14", 1, 0), ("15", 1, 1)]),
        // Directories of repeats.
        (
            &["base/1/ro.txt", "base/2/ro.txt", "head/1/ro.txt"],
            &[("base", 1, 0), ("base", 2, 1), ("head", 1, 2)],
        ),
        (&["a/run-1.txt", "a/run-2.txt", "b/run-1.txt"], &[("a", 1, 0), ("a", 2, 1), ("b", 1, 2)]),
        (&["base/1/ro.txt", "head/2/ro.txt"], &[("base", 1, 0), ("head", 1, 1)]),
        (&["1/old.txt", "1/new.txt", "2/old.txt"], &[("new", 1, 1), ("old", 1, 0), ("old", 2, 2)]),
        (
            &["pg16/2026-11-01/ro.txt", "pg16/2026-11-08/ro.txt", "pg17/2026-11-02/ro.txt"],
            &[("pg16", 1, 0), ("pg16", 2, 1), ("pg17", 1, 2)],
        ),
        (&["x/t_0.txt", "x/t_1.txt", "x/t_2.summary.txt"], &[("x", 1, 0), ("x", 2, 1), ("x", 3, 2)]),
        (
            &["base/v1/ro.txt", "base/v2/ro.txt", "head/v1/ro.txt"],
            &[("base", 1, 0), ("base", 2, 1), ("head", 1, 2)],
        ),
        // The word says which number is the repeat's; they are paired by it.
        (
            &[
                "run1-base.txt",
                "run2-base.txt",
                "run3-base.txt",
                "run1-patch1.txt",
                "run3-patch1.txt",
                "run3-patch2.txt",
                "run1-patch2.txt",
            ],
            &[
                ("base", 1, 0),
                ("base", 2, 1),
                ("base", 3, 2),
                ("patch1", 1, 3),
                ("patch1", 3, 4),
                ("patch2", 1, 6),
                ("patch2", 3, 5),
            ],
        ),
        (
            &["run1/build1.txt", "run1/build2.txt", "run2/build1.txt", "run2/build2.txt"],
            &[("build1", 1, 0), ("build1", 2, 2), ("build2", 1, 1), ("build2", 2, 3)],
        ),
        // Iterations of a patch are no repeats beside a base, nor versions of a server.
        (
            &["master/1.txt", "master/2.txt", "v1/1.txt", "v1/2.txt", "v2/1.txt"],
            &[("master", 1, 0), ("master", 2, 1), ("v1", 1, 2), ("v1", 2, 3), ("v2", 1, 4)],
        ),
        (&["HEAD/ro/1.txt", "v1/ro/1.txt", "v2/ro/1.txt"], &[("HEAD", 1, 0), ("v1", 1, 1), ("v2", 1, 2)]),
        (
            &["s.HEAD.1.txt", "s.v1-0001.1.txt", "s.v1-0002.1.txt"],
            &[("HEAD", 1, 0), ("v1-0001", 1, 1), ("v1-0002", 1, 2)],
        ),
        // Both in each of two directories.
        (&["a/x.txt", "a/y.txt", "b/x.txt"], &[("a.x", 1, 0), ("a.y", 1, 1), ("b", 1, 2)]),
    ] {
        let texts: Vec<(&str, &str)> = texts.iter().map(|name| (*name, "16.3")).collect();
        let assembled = of_texts("all", &texts).unwrap();
        assert_eq!(rates(&assembled), expected, "{texts:?}");
        assert_eq!(assembled.doubts.is_empty(), texts[0].0 != "pg16/2026-11-01/ro.txt", "{texts:?}");
        // Whatever the directory is called that they all are in.
        for root in ["2", "v2", "run1", "base", "2026-11-01"] {
            assert_eq!(rates(&of_texts(root, &texts).unwrap()), expected, "{root}: {texts:?}");
        }
        let is_noted = assembled.notes.iter().any(|(_, note)| note.contains("arms of their own"));
        let of_directories = ["a/run", "x/", "base/", "master/", "HEAD/"];
        let is_split = !of_directories.iter().any(|start| texts[0].0.starts_with(start));
        assert_eq!(is_noted, is_split, "{texts:?}");
    }
}

/// Of two numbers at the end only the last is a repeat's; of directories of repeats, that of the directory.
#[test]
fn numbers_of_tests_are_no_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let sysbench = |events: usize| {
        format!(
            "sysbench 1.0.20\n\nNumber of threads: 4\n\nThreads started!\n\nSQL statistics:\n    \
             queries: {events} ({:.2} per sec.)\n\nGeneral statistics:\n    total time: 10.0000s\n    \
             total number of events: {events}\n\nLatency (ms):\n avg: 10.00\n\nThreads fairness:\n    \
             execution time (avg/stddev): 10.0/0.00\n",
            events as f64 / 10.0
        )
    };
    let tests = |names: &[&str]| {
        let dir = tempfile::tempdir_in(&dir).unwrap();
        for (number, name) in names.iter().enumerate() {
            let path = dir.path().join("old").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, sysbench(4000 + number)).unwrap();
        }
        let assembled = import(&[format!("old={}", dir.path().join("old").display())]).unwrap();
        let steps: Vec<String> = assembled.steps.iter().map(|step| step.bare.clone()).collect();
        (steps.join(" "), assembled.repeats)
    };
    for (names, expected) in [
        (&["q1.1.txt", "q1.2.txt", "q2.1.txt", "q2.2.txt"][..], ("q1 q2", 2)),
        (&["dop1.1.txt", "dop2.1.txt"], ("dop1 dop2", 1)),
        (&["1/q1.txt", "1/q2.txt", "2/q1.txt", "2/q2.txt"], ("q1 q2", 2)),
        (&["ro1.txt", "ro2.txt", "ro3.txt"], ("ro", 3)),
        (&["1/ro1.txt", "2/ro2.txt"], ("ro", 2)),
        (&["lg1.3587", "lg2.3657"], ("lg", 2)),
    ] {
        let (steps, repeats) = tests(names);
        assert_eq!((&*steps, repeats), expected, "{names:?}");
    }
}

#[test]
fn who_names_an_arm_says_what_is_a_repeat() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("monday.txt", "16.3"), ("friday.txt", "16.3")]);
    let assembled = import(&[format!("ro={}/*.txt", dir.path().display())]).unwrap();
    assert_eq!((rates(&assembled), assembled.notes.len()), (vec![("ro", 1, 1), ("ro", 2, 0)], 0));
}

#[test]
fn other_versions_are_arms() {
    let assembled =
        of_texts("all", &[("run-1.txt", "15.1"), ("run-2.txt", "14.2"), ("run-3.txt", "14.2")]).unwrap();
    let arms: Vec<(&str, &str)> =
        assembled.arms.iter().map(|arm| (arm.name.as_str(), arm.identity.version.as_str())).collect();
    assert_eq!(arms, [("postgres-14.2", "14.2"), ("postgres-15.1", "15.1")]);
    assert_eq!(
        rates(&assembled),
        [("postgres-14.2", 1, 1), ("postgres-14.2", 2, 2), ("postgres-15.1", 1, 0)]
    );
    // In directories of their own they are no settings.
    let texts = [("14/base-1.txt", "14.2"), ("14/head-1.txt", "14.2"), ("new/base-1.txt", "15.1")];
    let assembled = of_texts("all", &[&texts[..], &[("new/head-1.txt", "15.1")]].concat()).unwrap();
    assert_eq!((assembled.steps.len(), assembled.arms.len()), (1, 4));
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("run-1.txt", "14.2"), ("run-2.txt", "15.1")]);
    let error = import(&[format!("old={}", dir.path().display())]).unwrap_err().to_string();
    for part in
        ["old: postgres-14.2 in ", "run-1.txt, line ", "postgres-15.1 in ", "such as postgres-15.1=PATH"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// Names alike, but the file says that the program or the host was another one.
#[test]
fn other_programs_and_hosts_are_no_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let text = |client: &str, tps: f64| pgbench(tps, "14.2").replace("16.3", client);
    fs::write(dir.path().join("run-1.txt"), text("16.3", 1000.0)).unwrap();
    fs::write(dir.path().join("run-2.txt"), text("17.0", 1001.0)).unwrap();
    let path = dir.path().display();
    let error = import(&[path.to_string()]).unwrap_err().to_string();
    for part in ["select-only on ", "pgbench 16.3 in ", "run-1.txt, but pgbench 17.0 in ", "as ARM=PATH"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(import(&[format!("a={path}")]).unwrap().repeats, 2);
}

/// Rows of a table name their arms, but not on which host they were measured.
#[test]
fn tables_of_other_names_have_arms_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let table = |rates: [u32; 2]| {
        format!(
            "ops_sec\tmb_sec\ttest\tdate\tversion\tgithash\n{}\t4.0\tfillseq\t2025-12-22T22:23:46\t9.8.4\tabc\n\
             {}\t4.0\tfillseq\t2025-12-22T22:23:46\t10.1.3\tdef\n",
            rates[0], rates[1]
        )
    };
    for (name, rates) in [("sum.byrx.txt", [1001, 1002]), ("sum.iobuf.txt", [1003, 1004])] {
        fs::write(dir.path().join(name), table(rates)).unwrap();
    }
    let assembled = import(&[dir.path().display().to_string()]).unwrap();
    let names: Vec<&str> = assembled.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(
        names,
        ["rocksdb-9.8.4.byrx", "rocksdb-9.8.4.iobuf", "rocksdb-10.1.3.byrx", "rocksdb-10.1.3.iobuf"]
    );
    // Said to be repeats.
    let paths = ["sum.byrx.txt", "sum.iobuf.txt"].map(|name| dir.path().join(name));
    let loaded = load_all(&repeats(&paths).unwrap(), None, false).unwrap().0;
    let assembled = Assembled::new(loaded, &Choices::default()).unwrap();
    let expected = [
        ("rocksdb-10.1.3", 1, 2),
        ("rocksdb-10.1.3", 2, 4),
        ("rocksdb-9.8.4", 1, 1),
        ("rocksdb-9.8.4", 2, 3),
    ];
    assert_eq!(rates(&assembled), expected);
}

/// A repeat that lacks an arm does not move the later ones.
#[test]
fn repeats_that_are_given_keep_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let texts = ["mon/old/x.txt", "mon/new/x.txt", "tue/old/x.txt", "wed/old/x.txt", "wed/new/x.txt"];
    write(dir.path(), &texts.map(|name| (name, "16.3")));
    let of = |days: &[&str]| {
        let paths: Vec<PathBuf> = days.iter().map(|day| dir.path().join(day)).collect();
        Assembled::new(load_all(&repeats(&paths)?, None, false)?.0, &Choices::default())
    };
    let expected = [("new", 1, 1), ("new", 3, 4), ("old", 1, 0), ("old", 2, 2), ("old", 3, 3)];
    assert_eq!(rates(&of(&["mon", "tue", "wed"]).unwrap()), expected);
    // Neither does an arm that has none in common with base.
    write(dir.path(), &[("thu/new/x.txt", "16.3")]);
    write(&dir.path().join("thu"), &[("other/x.txt", "16.4")]);
    let found = of(&["tue", "wed", "thu"]).unwrap();
    let of_thu: Vec<u32> =
        rates(&found).into_iter().filter(|one| one.0 == "other").map(|one| one.1).collect();
    assert_eq!(of_thu, [3]);
    write(dir.path(), &[("mon/old/x-2.txt", "16.3")]);
    fs::write(dir.path().join("mon/old/x-2.txt"), pgbench(1009.0, "16.3")).unwrap();
    let error = of(&["mon", "tue"]).unwrap_err().to_string();
    assert!(error.contains("two results of select-only on old in one --repeat"), "{error}");
    assert!(repeats(&[dir.path().join("fri")]).unwrap_err().to_string().contains("fri` matches no file"));
}

/// The path of an arm's repeat.
type Name<'a> = &'a dyn Fn(&str, u32) -> String;

/// A missing repeat does not move the later ones.
#[test]
fn repeats_are_paired_by_the_numbers_of_their_names() {
    let arms = |of: Name<'_>, missing: &[(&str, u32)]| -> Vec<String> {
        let all = ["base", "head"].into_iter().flat_map(|arm| (1..=5).map(move |number| (arm, number)));
        all.filter(|one| !missing.contains(one)).map(|(arm, number)| of(arm, number)).collect()
    };
    let import = |names: &[String]| {
        of_texts("all", &names.iter().map(|name| (name.as_str(), "16.3")).collect::<Vec<_>>()).unwrap()
    };
    let of_head = |assembled: &Assembled, arm: &str| -> Vec<u32> {
        rates(assembled).into_iter().filter(|(own, ..)| *own == arm).map(|(_, repeat, _)| repeat).collect()
    };
    let names: [Name<'_>; 6] = [
        &|arm, number| format!("{arm}/ro-{number}.txt"),
        &|arm, number| format!("{arm}/{number}/ro.txt"),
        &|arm, number| format!("{number}/{arm}/ro.txt"),
        &|arm, number| format!("{arm}/ro-2026-01-0{number}.txt"),
        &|arm, number| format!("{arm}/{number}-ro.txt"),
        // A process is another one on each arm.
        &|arm, number| format!("{number}/{arm}/ro.{}", 4700 + 10 * number + u32::from(arm == "head")),
    ];
    for (at, name) in names.iter().enumerate() {
        for lone in 1..=5 {
            let found = import(&arms(name, &[("head", lone)]));
            let expected: Vec<u32> = (1..=5).filter(|number| *number != lone).collect();
            assert_eq!(of_head(&found, "head"), expected, "names {at} without {lone}");
            assert_eq!(of_head(&found, "base"), [1, 2, 3, 4, 5], "names {at} without {lone}");
            let text = &found.unpaired[0].1;
            assert!(
                text.starts_with("left out of verdicts on head") && text.ends_with(&name("base", lone)),
                "{text}"
            );
        }
        assert_eq!(import(&arms(name, &[])).unpaired, [], "names {at}");
    }
    // Without common numbers, as many are paired in their order, and others not at all.
    let process =
        |arm: &str, number: u32| format!("{arm}/ro.{}", 4700 + 10 * number + u32::from(arm == "head"));
    let found = import(&arms(&process, &[]));
    assert_eq!((of_head(&found, "head"), found.unpaired.len()), (vec![1, 2, 3, 4, 5], 0));
    let found = import(&arms(&process, &[("head", 1)]));
    assert_eq!(of_head(&found, "head"), [6, 7, 8, 9]);
    assert!(found.unpaired[0].1.contains("cannot be paired with those of base: "), "{:?}", found.unpaired);
    assert!(found.unpaired[0].1.contains("select-only (4 and 5); name files after"), "{:?}", found.unpaired);
}

/// Figures of the host go with the result of their name, or with the arm whose words their path has.
#[test]
fn figures_beside_results_follow_their_arm() {
    let dir = tempfile::tempdir().unwrap();
    let all = dir.path().join("all");
    write(&all, &[("old-ro.txt", "16.3"), ("new-ro.txt", "16.3")]);
    let vmstat = "procs ---cpu---\n r  b  cs us sy id\n 1  0  5  9  9 82\n 1  0  7 40 10 50\n";
    let of_arm = |name: &str| -> Result<Vec<String>, Error> {
        fs::write(all.join(name), vmstat).unwrap();
        let assembled = import(&[dir.path().display().to_string()]);
        fs::remove_file(all.join(name)).unwrap();
        let assembled = assembled?;
        let with_cpu = assembled
            .results
            .iter()
            .filter(|one| one.values.iter().any(|(_, value)| value.name == "host_user_percent"));
        Ok(with_cpu.map(|one| assembled.arms[one.arm].name.clone()).collect())
    };
    assert_eq!(of_arm("new-ro.vmstat").unwrap(), ["new"]);
    assert_eq!(of_arm("vmstat.old").unwrap(), ["old"]);
    let error = of_arm("host.vmstat").unwrap_err().to_string();
    assert!(error.contains("host.vmstat: all has the results new, old"), "{error}");
}

/// What was measured when, names tell where files do not.
#[test]
fn dates_in_names_tell_that_an_arm_came_after_base() {
    let note = |texts: &[&str]| {
        let texts: Vec<(&str, &str)> = texts.iter().map(|name| (*name, "16.3")).collect();
        let notes = of_texts("all", &texts).unwrap().notes.into_iter();
        let mut notes = notes.filter(|(_, text)| text.contains("measured"));
        notes.next().map(|(_, text)| text.split(" those of base").next().unwrap().to_owned())
    };
    let after = Some("all its repeats were measured after".to_owned());
    assert_eq!(
        note(&["base-2026-11-01.log", "base-2026-11-02.log", "head-2026-11-03.log", "head-2026-11-04.log"]),
        after
    );
    assert_eq!(
        note(&[
            "base/20261127_11.log",
            "base/20261127_12.log",
            "head/20261127_13.log",
            "head/20261127_1430.log"
        ]),
        after
    );
    assert_eq!(
        note(&["base-2026-11-01.log", "base-2026-11-03.log", "head-2026-11-02.log", "head-2026-11-04.log"]),
        None
    );
    let days = note(&["base-2026-11-01.log", "head-2026-11-12.log"]);
    assert!(days.is_some_and(|text| text.starts_with("measured 11 days from base")));
}

/// Directories that are called as repeats, of one arm.
#[test]
fn directories_of_repeats_are_one_arm() {
    for texts in [["v1/ro.txt", "v2/ro.txt"], ["1/ro.txt", "2/ro.txt"], ["run-1/ro.txt", "run-2/ro.txt"]] {
        let assembled = of_texts("all", &texts.map(|name| (name, "16.3"))).unwrap();
        assert_eq!(rates(&assembled), [("all", 1, 0), ("all", 2, 1)], "{texts:?}");
        let note = "were taken for repeats of one another; if they are arms";
        assert!(assembled.notes.iter().any(|(_, text)| text.contains(note)), "{:?}", assembled.notes);
    }
}

/// A text of pgbench among those of sysbench, which do not tell their DBMS and so contradict nothing.
#[test]
fn a_file_that_tells_another_dbms_than_its_arm_is_named() {
    let own = |name: &str| {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)).unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("srv1")).unwrap();
    fs::write(dir.path().join("srv1/ro-1.txt"), own("sysbench-1.0.20.oltp.interval.txt")).unwrap();
    fs::write(dir.path().join("srv1/tpcb.txt"), own("pgbench-15.out.txt")).unwrap();
    let import = |arms: Vec<rqps_import::ArmRule>| {
        let (loaded, _) = load_all(&files(&[dir.path()]).unwrap(), None, false).unwrap();
        Assembled::new(loaded, &Choices { arms, ..Choices::default() }).unwrap()
    };
    let found = import(Vec::new());
    let identity = &found.arms[0].identity;
    assert_eq!((identity.dbms.as_str(), identity.version.as_str()), ("postgres", "15.18"));
    assert!(!found.doubts.iter().any(|one| one.text.contains("tpcb.txt")), "{:?}", found.doubts);
    // Who says what it is, decides.
    let found = import(vec!["srv1=postgres:15.18".parse().unwrap()]);
    assert_eq!(found.arms[0].identity.version, "15.18");
    assert!(!found.doubts.iter().any(|one| one.text.contains("tpcb.txt")), "{:?}", found.doubts);
    let found = import(vec!["srv1=mysql:8.4.6".parse().unwrap()]);
    assert!(found.doubts[0].text.contains("the arm is of mysql"), "{:?}", found.doubts);
    assert_eq!(found.steps[found.doubts[0].steps[0]].name, "tpcb-like");
}

/// Two arms measured on one server, as with a wrong port.
#[test]
fn a_server_of_another_version_than_its_arm_is_named() {
    let doubts = |texts: &[(&str, &str)]| {
        let found = of_texts("all", texts).unwrap();
        let text = |one: &rqps_import::Doubt| format!("{}: {}", found.arms[one.arm].name, one.text);
        found.doubts.iter().map(text).collect::<Vec<_>>()
    };
    let found = doubts(&[("postgres-15.3/r-1.txt", "15.3"), ("postgres-17.2/r-1.txt", "15.3")]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("postgres-17.2: ") && found[0].contains("on a server postgres 15.3"),
        "{found:?}"
    );
    assert!(found[0].contains("--arm 'postgres-17.2=postgres:15.3'"), "{found:?}");
    let archive = doubts(&[("x.pg153_o2.x1.pk1/r-1.txt", "15.3"), ("x.pg172_o2.x1.pk1/r-1.txt", "15.3")]);
    assert!(archive.len() == 1 && archive[0].starts_with("postgres-17.2.x1: "), "{archive:?}");
    // Numbers of patches.
    assert_eq!(doubts(&[("v10/r-1.txt", "17.2"), ("v11/r-1.txt", "17.2")]), [""; 0]);
    let of_files = doubts(&[("pg164-1.txt", "17.2"), ("pg172-1.txt", "17.2")]);
    assert!(of_files.len() == 1 && of_files[0].starts_with("pg164: "), "{of_files:?}");
    for name in ["16.4", "pg16.4", "pg16", "v16", "PG16", "REL_16_STABLE", "16"] {
        let found = doubts(&[(&format!("{name}/r-1.txt"), "17.2"), ("pg17/r-1.txt", "17.2")]);
        assert!(found.len() == 1 && found[0].starts_with(&format!("{name}: ")), "{name}: {found:?}");
    }
    for right in ["17.2", "17.2-beta"] {
        assert_eq!(doubts(&[("postgres-17/r-1.txt", right), ("postgres-15.3/r-1.txt", "15.3")]), [""; 0]);
    }
}

/// Not the arms of the stray files, of which one would be base.
#[test]
fn files_that_are_exchanged_between_arms_are_named() {
    let texts = [
        ("old/q-1.txt", "17.4"),
        ("old/q-2.txt", "17.4"),
        ("old/q-3.txt", "18.1"),
        ("new/q-1.txt", "18.1"),
        ("new/q-2.txt", "18.1"),
        ("new/q-3.txt", "17.4"),
    ];
    let error = of_texts("all", &texts).unwrap_err().to_string();
    assert!(error.starts_with("new: postgres-18.1 in ") && error.contains("but postgres-17.4 in"), "{error}");
    assert!(error.contains("new/q-3.txt"), "{error}");
}
