//! Plans with mistakes are rejected before anything is done; many clients are supported.

use crate::bench::{Bench, exact_version, version_not_here};

const GOOD: &str = "name = \"t\"\n[workload]\nrows = 2_000\nread_seconds = 1\nsteps = [\"point-query\"]\n\
    [[arm]]\nname = \"a\"\nbuild = \"postgres-18\"\nconfig = \"./small.conf\"\n";

/// Changes to the good plan, and the expected messages.
type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn mistakes_are_all_told_with_their_place_and_end_with_2() {
    let bench = Bench::new();
    let cases: [Case; 7] = [
        (
            &[("rows = 2_000", "rows = 5"), ("point-query", "pont-query"), ("name = \"a\"", "nam = \"a\"")],
            &["plan.toml:3:8: [workload] rows", "Did you mean `point-query`?", "nam", "3 mistakes"],
        ),
        (&[("postgres-18", "oracle-8")], &["unknown DBMS \"oracle\""]),
        (&[("postgres-18", "postgres-old")], &["\"old\" is not a version"]),
        (&[("postgres-18", "/no/such/place")], &["/no/such/place is not a build: it does not exist"]),
        (&[("./small.conf", "./large.conf")], &["large.conf: No such file"]),
        (
            &[("./small.conf", "x10a_c8r33")],
            &["no postgres config named `x10a_c8r33`. Did you mean `x10a_c8r32`?"],
        ),
        (&[("[workload]", "[workload")], &["plan.toml:2"]),
    ];
    for (changes, words) in cases {
        let text = changes.iter().fold(GOOD.to_owned(), |text, (from, to)| text.replace(from, to));
        let plan = bench.exact_plan_text(&text);
        for verb in [vec!["plan", "check"], vec!["run"]] {
            let ended = bench.call(&[verb, vec![plan.to_str().unwrap()]].concat()).expect(2);
            for words in words {
                assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
            }
        }
    }
    // A version that is too old, which needs no registry; a missing file, and an unknown name.
    let plan = bench.exact_plan_text(&GOOD.replace("postgres-18", "postgres-9.2"));
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(2);
    assert!(ended.stderr.contains("supports 9.3 and later"), "{}", ended.stderr);
    let ended = bench.call(&["run", "./nowhere.toml"]).expect(2);
    assert!(ended.stderr.contains("can't read the plan ./nowhere.toml"), "{}", ended.stderr);
    for (name, words) in [
        ("dmeo", "Did you mean `demo`?"),
        ("nothing", "The shipped plans are: demo, "),
        ("plan", "Did you mean `./plan.toml`?"),
    ] {
        let ended = bench.call(&["run", name]).expect(2);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    let is_left =
        |path: std::path::PathBuf| std::fs::read_dir(path).is_ok_and(|mut left| left.next().is_some());
    assert!(!bench.results().exists() && !is_left(bench.work()));
}

#[test]
fn a_check_refuses_what_a_run_refuses() {
    let bench = Bench::new();
    let version = exact_version("18");
    let good = GOOD.replace("postgres-18", &format!("postgres-{version}"));
    let misspelled = bench.path().join("misspelled.conf");
    std::fs::write(&misspelled, "shared_bufers = 32MB\n").unwrap();
    std::fs::write(bench.path().join("huge.conf"), "shared_buffers = 900GB\n").unwrap();
    let checked = |text: &str, code: i32| {
        let plan = bench.exact_plan_text(text);
        bench.call(&["plan", "check", plan.to_str().unwrap()]).expect(code)
    };
    let said = checked(&good.replace("./small.conf", "./misspelled.conf"), 2).stderr;
    let words =
        "misspelled.conf:1: no version measured here knows `shared_bufers`. Did you mean `shared_buffers`?";
    assert!(said.contains(words), "{said}");
    let unseen = version_not_here("18");
    let said =
        checked(&good.replace("./small.conf", "./misspelled.conf").replace(&version, &unseen), 0).stderr;
    let words = format!("misspelled.conf are not checked for postgres-{unseen}, which is not installed");
    assert!(said.contains(&words), "{said}");
    // The series has no release of that number.
    let plan = bench.exact_plan_text(&good.replace(&version, "18.999"));
    let ended = bench.call(&["plan", "check", plan.to_str().unwrap()]);
    let words = match ended.code() {
        Some(2) => " build: postgres 18.999 does not exist; nearest: 18.",
        _ => " build: whether postgres 18.999 exists is not known, since nobody could be asked: ",
    };
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    let mysql =
        good.replace(&format!("postgres-{version}"), "mysql-8.0.999").replace("./small.conf", "sized");
    let said = checked(&mysql, 2).stderr;
    assert!(said.contains(" build: no known published build of mysql 8.0.999; "), "{said}");
    for (from, to, words) in [
        ("./small.conf", "./huge.conf", "966.4 GB for the servers' caches"),
        ("rows = 2_000", "rows = 2_000_000_000\ntables = 32", " TB of disk"),
    ] {
        for text in [good.replace(from, to), good.replace(from, to).replace(&version, &unseen)] {
            let ended = checked(&text, 3);
            assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
            assert!(
                ended.stdout.contains("no mistakes, but it does not run on this host"),
                "{}",
                ended.stdout
            );
        }
    }
    checked(&good, 0);
}

/// Of the one only the server's log tells, the other is in `SHOW VARIABLES`.
#[test]
fn a_check_names_numbers_that_servers_adjust_and_variables_that_nobody_can_set() {
    let bench = Bench::new();
    let text = GOOD.replace("postgres-18", "mysql-8.0.31").replace("./small.conf", "./own.cnf");
    let said = |option: &str| {
        std::fs::write(bench.path().join("own.cnf"), format!("[mysqld]\n{option}\n")).unwrap();
        let plan = bench.exact_plan_text(&text);
        bench.call(&["plan", "check", plan.to_str().unwrap()]).stderr
    };
    let adjusted = said("lower_case_table_names = 7");
    assert!(adjusted.contains("own.cnf:2: `lower_case_table_names = 7`: mysql-8.0.31 uses "), "{adjusted}");
    let read_only = said("version_comment = mine");
    assert!(read_only.contains("own.cnf:2: `version_comment` cannot be set: "), "{read_only}");
}

/// Of the plan, of its scripts and of its configs, by a run as by a check.
#[test]
fn mistakes_of_all_kinds_are_told_in_one_list() {
    let bench = Bench::new();
    let version = exact_version("18");
    let write = |name: &str, text: &str| std::fs::write(bench.path().join(name), text).unwrap();
    write("schema.sql", "CREATE TABLE t (id int);\n");
    write("mine.conf", "shared_bufers = 32MB\nwork_mem = 16Mb\npg_stat_statements.trak = all\n");
    let arm = |name: &str, build: &str| {
        format!("[[arm]]\nname = \"{name}\"\nbuild = \"postgres-{build}\"\nconfig = \"./mine.conf\"\n")
    };
    let of_config = [
        "mine.conf:1: no version measured here knows `shared_bufers`. Did you mean `shared_buffers`?",
        &format!(
            "mine.conf:2: `work_mem = 16Mb`: refused by postgres-{version}: invalid value for parameter"
        ),
        "mine.conf:3: no version measured here knows `pg_stat_statements.trak`. Did you mean `pg_stat_statements.track`?",
    ];
    let sql = format!(
        "base = \"a\"\n[workload]\nclient = 2\n[sql]\nschema = \"shema.sql\"\n[sql.tests]\n\
         look = '''\n\\set id random(1, 9)\nSELECT :idd;\n'''\n{}",
        arm("a", &version)
    );
    let of_sql = [
        "plan.toml:3:1: [workload] client: unknown key",
        "shema.sql: it does not exist. Did you mean `schema.sql`?",
        "no variable `idd`: did you mean `:id`?",
        "6 mistakes in ",
    ];
    // A version that is not here may know an option.
    let other = version_not_here("18");
    let unseen = sql.replace("SELECT :idd", "SELECT :id") + &arm("b", &other);
    let of_unseen = [
        "[workload] client",
        "3 mistakes in ",
        &format!("are not checked for postgres-{other}, which is not installed"),
    ];
    let blocks = format!(
        "protocol = \"isolated\"\nbudget = \"1s\"\n[workload]\nrows = 1_000\n{}{}",
        arm("a", &version),
        arm("b", &version)
    );
    let of_blocks = ["plan.toml: the budget of 1 s is far too short: ", "4 mistakes in "];
    let cases = [
        (&sql, &of_sql[..], &of_config[..]),
        (&blocks, &of_blocks, &of_config),
        (&unseen, &of_unseen, &of_config[1..2]),
    ];
    for (text, own, of_config) in cases {
        let plan = bench.exact_plan_text(text);
        for verb in [vec!["plan", "check"], vec!["run"]] {
            let told = bench.call(&[verb, vec![plan.to_str().unwrap()]].concat()).expect(2).stderr;
            for words in own.iter().chain(of_config) {
                assert_eq!(told.matches(words).count(), 1, "{words:?} in\n{told}");
            }
        }
    }
    assert!(!bench.results().exists());
    // Neither a wrong line nor a missing file hides what else is wrong.
    write(
        "mine.conf",
        "shared_bufers = 32MB\nwork_mem 16MB extra\ninclude 'none.conf'\ninclude 'more.conf'\n",
    );
    write("more.conf", "\njitt = off\n");
    let plan = bench.exact_plan_text(&format!("[workload]\nrows = 1_000\n{}", arm("a", &version)));
    let told = bench.call(&["plan", "check", plan.to_str().unwrap()]).expect(2).stderr;
    for words in [
        of_config[0],
        "mine.conf:2: `extra` after the value of `work_mem`: ",
        "; line 3: cannot read config ",
        "more.conf:2: no version measured here knows `jitt`. Did you mean `jit`?",
        "3 mistakes in ",
    ] {
        assert_eq!(told.matches(words).count(), 1, "{words:?} in\n{told}");
    }
}

/// A server starts without them, so that nobody would hear of it.
#[test]
fn a_plugin_or_a_library_that_a_build_lacks_is_told() {
    let bench = Bench::new();
    let version = exact_version("18");
    let mysql = "[mysqld]\nplugin-load-add = no_such_plugin.so\n";
    std::fs::write(bench.path().join("mine.cnf"), mysql).unwrap();
    let write = |text: &str| std::fs::write(bench.path().join("mine.conf"), text).unwrap();
    write("shared_preload_libraries = pg_cron\n");
    let arm = |name: &str, build: &str, config: &str| {
        format!("[[arm]]\nname = \"{name}\"\nbuild = \"{build}\"\nconfig = \"./{config}\"\n")
    };
    let plan = bench.exact_plan_text(&format!(
        "[workload]\nrows = 1_000\n{}{}",
        arm("a", "mysql-8.0.31", "mine.cnf"),
        arm("b", &format!("postgres-{version}"), "mine.conf")
    ));
    let told = bench.call(&["plan", "check", plan.to_str().unwrap()]).expect(0).stderr;
    for words in [
        "left out of a: plugin_load_add = no_such_plugin.so (",
        "left out of b: shared_preload_libraries = pg_cron (not available in this build: pg_cron)",
    ] {
        assert!(told.contains(words), "no {words:?} in\n{told}");
    }
    write("work_mem = '4MB'\nshared_preload_libraries = 'pg_cron,auto_explan'\n");
    let words = "mine.conf:2: `shared_preload_libraries`: no version measured here has `auto_explan`. Did you mean \
         `auto_explain`?";
    for verb in [vec!["plan", "check"], vec!["run"]] {
        let told = bench.call(&[verb, vec![plan.to_str().unwrap()]].concat()).expect(2).stderr;
        assert!(told.contains(words), "no {words:?} in\n{told}");
    }
}

#[test]
fn what_never_ends_or_is_no_text_is_refused_at_once() {
    let bench = Bench::new();
    let pipe = bench.path().join("pipe.conf");
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, 0o600.into(), 0).unwrap();
    std::fs::write(bench.path().join("latin1.conf"), b"# caf\xe9\nwork_mem = '4MB'\n").unwrap();
    let arm = "[[arm]]\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";
    let list = |item: &str| vec![item; 1_000].join(",");
    let matrix = format!(
        "[matrix]\nbuilds = [{}]\nconfigs = [{}]\n",
        list("\"postgres-18\""),
        list("\"./small.conf\"")
    );
    let first = GOOD.split("[[arm]]").next().unwrap();
    let cases = [
        (GOOD.replace("./small.conf", "/dev/zero"), "read config /dev/zero: it is a device"),
        (GOOD.replace("./small.conf", "./pipe.conf"), "pipe.conf: it is a pipe"),
        (
            GOOD.replace("./small.conf", "./latin1.conf"),
            "latin1.conf: line 1, column 6: byte 0xe9 is not UTF-8",
        ),
        (format!("{first}{}", arm.repeat(20_000)), "20000 arms; a plan has at most 64"),
        (format!("{first}{matrix}"), "1000000 arms; a plan has at most 64"),
        (format!("{first}{}", arm.repeat(50_000)), "it has more than 1048576 bytes"),
    ];
    for (text, words) in cases {
        let plan = bench.exact_plan_text(&text);
        let ended = bench.call(&["plan", "check", plan.to_str().unwrap()]).expect(2);
        assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
    }
    std::fs::write(bench.path().join("latin1.toml"), b"name = \"t\"\n# caf\xe9\n").unwrap();
    for (plan, words) in [
        ("/dev/zero", "the plan /dev/zero: it is a device"),
        ("./pipe.conf", "it is a pipe"),
        (".", "it is a directory"),
        ("./latin1.toml", "line 2, column 6: byte 0xe9"),
    ] {
        let ended = bench.call(&["plan", "check", plan]).expect(2);
        assert!(ended.stderr.contains(words), "no {words:?} in\n{}", ended.stderr);
    }
}

#[test]
fn forty_clients_do_the_same_on_every_arm() {
    let bench = Bench::new();
    let workload = "clients = 40\nsteps = [\"point-query\", \"update-index\"]\n\
        [test.point-query]\nevents = 2_000\n";
    let plan = bench.plan("", workload, &["18", "14"]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    bench.expect_complete(0);
    let run = bench.run();
    let mut updates = Vec::new();
    for window in &run.windows {
        assert_eq!(window.connections.len(), 40);
        let series = run.series(window.action.seq).unwrap();
        let work = series.into_iter().find(|one| one.name == "work-window");
        let work = work.unwrap().values;
        let all: f64 = work.iter().sum();
        assert!(work.len() == 40 && all >= window.result.events.unwrap() as f64, "{work:?}");
        if window.action.step == "update-index" {
            updates.push(work);
        } else {
            assert_eq!(all, 2_000.0);
        }
    }
    assert_eq!(updates.len(), 2);
    assert_eq!(updates[0], updates[1]);
}
