//! `benchmark = "sql"`: scripts of the user's own, on tables of a schema of their own.

use crate::bench::{Bench, Running, exact_version, version_not_here};
use rqps_servers::testing::{Scratch, by_socket};
use rqps_store::RunFolder;
use rqps_wire::Host;
use rqps_wire::postgres::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const SCHEMA: &str = "CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, amount int NOT NULL);\n\
    INSERT INTO orders SELECT i, i % 50 + 1, i % 7 FROM generate_series(1, 2000) i;\n\
    CREATE INDEX ON orders (customer);\n";

/// On one arm the index of a script is missing.
#[test]
fn own_scripts_get_verdicts_and_explanations() {
    let bench = Bench::new();
    let version = exact_version("17");
    fs::write(bench.path().join("schema.sql"), SCHEMA).unwrap();
    let plan = bench.plan_text(&format!(
        "base = \"a\"\nprotocol = \"isolated\"\n[workload]\nbenchmark = \"sql\"\nsettle_seconds_max = 5\n\
         [sql]\nschema = \"schema.sql\"\nrows = 2_000\n[sql.tests]\n\
         by-customer = '''\n\\set c random(1, 50)\n\
         -- rows: 40\nSELECT id, amount FROM orders WHERE customer = :c;\n'''\n\
         pay = '''\n\\set o random_zipfian(1, 2000, 1.1)\nBEGIN;\n\
         -- rows: 1\nUPDATE orders SET amount = amount + 1 WHERE id = :o;\n\
         -- rows: 1\nSELECT amount::text FROM orders WHERE id = :o;\nCOMMIT;\n'''\n\
         wrong = '''-- rows: 2\nSELECT 1;'''\n\
         [isolated]\nwindow_seconds = 0.1\nblocks_max = 3\ncount_instructions = false\ncontrol = false\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-{version}\"\nconfig = \"./small.conf\"\n\
         [[arm]]\nname = \"b\"\nbuild = \"postgres-{version}\"\nconfig = \"./small.conf\"\n\
         after_load = [\"DROP INDEX orders_customer_idx\"]\n"
    ));
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(3).stderr;
    for arm in ["a", "b"] {
        assert_eq!(ended.matches(&format!("wrong on {arm}: INVALID: ")).count(), 1, "{ended}");
        assert!(ended.contains(&format!("wrong has no valid result on {arm}: ")), "{ended}");
    }
    let gate = bench.call(&["gate", "last", "--fail-on", "wal"]).expect(3).stdout;
    assert!(
        gate.contains("rqps gate: FAILED, incomplete") && gate.contains("NO VALID RESULT wrong on a: "),
        "{gate}"
    );
    let run = bench.run();
    for (test, windows) in [("by-customer", 12), ("pay", 12)] {
        let of_test: Vec<_> = run.windows.iter().filter(|window| window.action.step == test).collect();
        assert_eq!(of_test.len(), windows, "{test}");
        assert!(of_test.iter().all(|window| window.valid() && window.result.events.unwrap() > 0), "{test}");
    }
    let queries = |test: &str| {
        let window = run.windows.iter().find(|window| window.action.step == test).unwrap();
        window.result.queries.unwrap() / window.result.events.unwrap()
    };
    assert_eq!((queries("by-customer"), queries("pay")), (1, 4), "BEGIN and COMMIT count");
    let why = bench.call(&["explain", "last", "by-customer"]).expect(0).stdout;
    assert!(why.contains("Another plan") && why.contains("Seq Scan"), "{why}");

    // The run keeps the schema's text.
    let folder = bench.folder();
    let kept = fs::read_to_string(folder.join("plan.toml")).unwrap();
    assert!(kept.contains("generate_series(1, 2000)") && !kept.contains("schema.sql"), "{kept}");
}

/// Scripts with counts and latencies of their own, in the shares of their weights.
#[test]
fn a_mix_draws_its_scripts_by_weight() {
    let mix = |tests: &str, arm: &str| {
        format!(
            "base = \"a\"\n[workload]\nbenchmark = \"sql\"\nclients = 2\nseconds = 1\nwarmup_seconds = 0\n\
             settle_seconds_max = 5\nsteps = [\"shop\"]\n[sql]\nrows = 2_000\nschema = \"schema.sql\"\n[sql.tests]\n\
             shop = {{ {tests} }}\n\
             look = '''\n\\set o random(1, 2000)\n-- rows: 1\nSELECT amount FROM orders WHERE id = :o;\n'''\n\
             pay = '''\n\\set unused random(1, 3)\n\\set o random(1001, 2000)\n\\set more random(1, 9)\nBEGIN;\n\
             -- rows: 1\nUPDATE orders SET amount = amount + :more WHERE id = :o;\n\
             -- rows: 1\nSELECT amount FROM orders WHERE id = :o;\nCOMMIT;\n'''\n\
             [test.shop]\nevents = 4000\n{arm}"
        )
    };
    let postgres = format!(
        "[[arm]]\nname = \"a\"\nbuild = \"postgres-{}\"\nconfig = \"./small.conf\"\n",
        exact_version("17")
    );
    let mysql = "[[arm]]\nname = \"a\"\nbuild = \"mysql-8.0.31\"\nconfig = \"./small.cnf\"\n".to_owned();
    let mysql_schema = "CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, amount int NOT NULL);\n\
        INSERT INTO orders WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000)\n\
        SELECT i, 1, 0 FROM s UNION ALL SELECT i + 1000, 1, 0 FROM s;\n";
    for (arm, schema) in [(postgres, SCHEMA), (mysql, mysql_schema)] {
        let bench = Bench::new();
        fs::write(bench.path().join("schema.sql"), schema).unwrap();
        let plan = bench.plan_text(&mix("look = 3, pay = 1", &arm));
        bench.call(&["run", plan.to_str().unwrap()]).expect(0);
        let run = bench.run();
        let window = &run.windows[0];
        assert!(window.valid(), "{:?}", window.action.note);
        let events = window.result.events.unwrap();
        assert_eq!((window.result.operations, &*window.result.unit.key), (events as f64, "transactions"));
        let kinds = run.histograms(window.action.seq).unwrap();
        let count = |kind: &str| kinds.iter().find(|one| one.statement == kind).map_or(0, |one| one.count);
        assert_eq!(count("look") + count("pay"), events);
        let share = count("look") as f64 / events as f64;
        assert!((0.7..0.8).contains(&share), "three of four: {share}");
        assert_eq!((count("look/1-select"), count("pay/2-select")), (count("look"), count("pay")));
        assert_eq!(window.result.queries, Some(count("look") + 4 * count("pay")), "BEGIN and COMMIT count");
        let shown = bench.call(&["show", "--section", "latency"]).expect(0).stdout;
        assert!(shown.contains("pay/1-update") && shown.contains("  look"), "{shown}");
        let kept = fs::read_to_string(bench.folder().join("plan.toml")).unwrap();
        assert!(kept.contains("look = 3"), "{kept}");
        for (mistake, words) in
            [("lok = 1", "Did you mean `look`?"), ("shop = 1", "no script `shop`"), ("", "mixes no scripts")]
        {
            let plan = bench.plan_text(&mix(mistake, &arm));
            let refused = bench.call(&["plan", "check", plan.to_str().unwrap()]).expect(2).stderr;
            assert!(refused.contains(words), "{mistake}: {refused}");
        }
    }
}

const DUMP: &str = "-- PostgreSQL database dump\n\\restrict k9\nSET transaction_timeout = 0;\n\
    SELECT pg_catalog.set_config('search_path', '', false);\nCREATE TABLE public.orders (\n    \
    id integer NOT NULL,\n    note text\n);\nALTER TABLE public.orders OWNER TO nobody_here;\n\
    COPY public.orders (id, note) FROM stdin;\n\
    1\tfirst; row\n2\t\\N\n3\tthird\n\\.\n\
    ALTER TABLE ONLY public.orders\n    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);\n\\unrestrict k9\n";

#[test]
fn a_dump_is_loaded() {
    let bench = Bench::new();
    let dump = bench.path().join("shop.sql");
    fs::write(&dump, DUMP).unwrap();
    let plan = bench.plan_text(&format!(
        "base = \"a\"\n[workload]\nbenchmark = \"sql\"\nseconds = 1\nwarmup_seconds = 0\nsettle_seconds_max = 5\n\
         [sql]\ndump = \"shop.sql\"\nschema = \"CREATE INDEX ON orders (note)\"\n[sql.tests]\n\
         look = '''-- rows: 1\nSELECT note FROM orders WHERE id = 1 AND note = 'first; row';'''\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-{}\"\nconfig = \"./small.conf\"\n",
        exact_version("12")
    ));
    let planned = bench.call(&["plan", "show", plan.to_str().unwrap()]).expect(0).stdout;
    assert!(planned.contains("\n1 table, 1 client") && planned.contains("dump and schema"), "{planned}");
    assert!(!planned.contains(" rows"), "nobody said how many: {planned}");
    let ended = bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    assert!(ended.stderr.contains("  3 rows in "), "{}", ended.stderr);
    let run = bench.run();
    assert!(run.windows.iter().all(|window| window.valid() && window.result.events > Some(0)));
    assert_eq!(run.loads[0].result.rows, 3, "counted, not estimated from the dump's bytes");
    let report = bench.call(&["report", "last"]).expect(0).stdout;
    assert!(report.contains("data: 3 rows in 1 table"), "{report}");
    let kept = fs::read_to_string(bench.folder().join("plan.toml")).unwrap();
    assert!(kept.contains("tables = [\"public.orders\"]") && kept.contains("sha256"), "{kept}");

    fs::write(&dump, "CREATE TABLE a (id int);\nCOPY a FROM stdin;\n1\n").unwrap();
    let refused = bench.call(&["run", plan.to_str().unwrap()]).expect(2).stderr;
    assert!(refused.contains("shop.sql: line 3: the file ends within the rows of a COPY"), "{refused}");

    // The same data in a database that is there.
    let there = Scratch::start("12").unwrap();
    let at = by_socket(&there);
    Connection::connect(&at, "test")
        .unwrap()
        .query("CREATE TABLE public.orders AS SELECT 1 id, 'first; row'::text note")
        .unwrap();
    let Host::Unix(socket) = &at.host else { panic!("a socket") };
    let (user, database) = (&at.user, &at.database);
    let address = format!("postgresql://{user}@/{database}?host={}&port={}", socket.display(), at.port);
    let plan = bench.plan_text(&fs::read_to_string(&plan).unwrap().replace("shop.sql", &address));
    let call = |arguments: &[&str]| {
        let mut command = bench.rqps(arguments);
        command.env("PGPASSWORD", &at.password);
        Running::of(command).end()
    };
    call(&["run", plan.to_str().unwrap(), "--label", "there"]).expect(0);
    let folder = bench.folders().pop().unwrap();
    let run = RunFolder::open(&folder).unwrap();
    assert!(run.windows.iter().all(|window| window.valid() && window.result.events > Some(0)));
    assert_eq!(run.loads[0].result.rows, 1);
    let (dump, kept) = (folder.join("dump.sql"), fs::read_to_string(folder.join("plan.toml")).unwrap());
    assert!(kept.contains(dump.to_str().unwrap()) && !kept.contains("postgresql://"), "{kept}");
    let kept: toml::Table = kept.parse().unwrap();
    let (bytes, sha256) = (fs::read(&dump).unwrap(), kept["sql"]["dump"]["sha256"].as_str().unwrap());
    assert_eq!(rqps_builds::sha256_hex(&bytes), sha256);
    drop(there);
    let refused = call(&["run", plan.to_str().unwrap()]).expect(2).stderr;
    assert!(
        refused.contains("up to its major version) could not take the dump: ")
            && refused.contains("name a file"),
        "{refused}"
    );
    let names = fs::read_dir(bench.results()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with(".dump")));
}

#[test]
fn a_database_is_asked_once_and_not_dumped_before_options_are_checked() {
    let bench = Bench::new();
    let (bin, asked) = (bench.path().join("bin"), bench.path().join("asked"));
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'pg_dump (PostgreSQL) 99.1' && exit\necho \"$@\" >> {}\n\
         echo 'CREATE TABLE public.orders (id integer);'\n",
        asked.display()
    );
    fs::write(bin.join("pg_dump"), script).unwrap();
    fs::set_permissions(bin.join("pg_dump"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(bench.path().join("misspelled.conf"), "shared_bufers = 32MB\n").unwrap();
    let build = format!("postgres-{}", exact_version("18"));
    let plan = bench.plan_text(&format!(
        "protocol = \"isolated\"\nbase = \"a\"\n[workload]\nbenchmark = \"sql\"\n\
         [sql]\ndump = \"postgresql://me@db/shop\"\n[sql.tests]\nlook = \"SELECT id FROM orders\"\n\
         [[arm]]\nname = \"a\"\nbuild = \"{build}\"\nconfig = \"./misspelled.conf\"\n"
    ));
    let head = format!("postgres-{}", exact_version("17"));
    let path = std::env::var("PATH").unwrap();
    let gate = ["gate", "--plan", plan.to_str().unwrap(), "--base", &build, "--head", &head];
    let mut command = bench.rqps(&gate);
    command.env("PATH", format!("{}:{path}", bin.display()));
    let refused = Running::of(command).end().expect(2).stderr;
    assert!(refused.contains("no version measured here knows `shared_bufers`"), "{refused}");
    let asked = fs::read_to_string(asked).unwrap();
    assert!(asked.lines().count() == 1 && asked.contains("--schema-only"), "{asked}");
}

#[test]
fn own_scripts_run_on_mysql_in_a_sequence_with_several_clients() {
    let bench = Bench::new();
    let plan = bench.plan_text(
        "base = \"a\"\n[workload]\nbenchmark = \"sql\"\nclients = 2\nseconds = 1\nwarmup_seconds = 0\n\
         settle_seconds_max = 5\n\
         [sql]\nrows = 100\nschema = '''\nCREATE TABLE t (id int PRIMARY KEY, n int);\n\
         INSERT INTO t WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 100)\n\
         SELECT i, 0 FROM s;\n'''\n\
         [sql.tests]\nadd = '''\n\\set id random(1, 100)\n-- rows: 1\nUPDATE t SET n = n + 1 WHERE id = :id;\n'''\n\
         wrong = '''\n-- rows: 5\nSELECT count(*) FROM t;\n'''\n\
         [[arm]]\nname = \"a\"\nbuild = \"mysql-8.0.31\"\nconfig = \"./small.cnf\"\n",
    );
    let ended = bench.call(&["run", plan.to_str().unwrap(), "--label", "in-sequence"]).expect(3);
    assert!(ended.stderr.contains("wrong has no valid result on a: "), "{}", ended.stderr);
    assert!(bench.call(&["ls"]).expect(0).stdout.contains("in-sequence-2"));
    bench.call(&["show", "in-sequence"]).expect(0);
    let run = bench.run();
    let window = |test: &str| run.windows.iter().find(|window| window.action.step == test).unwrap();
    assert!(window("add").valid() && window("add").result.rows == window("add").result.events);
    assert!(!window("wrong").valid(), "it returns 1 row, not 5");
}

/// By the servers of a plan that are here, before anything is measured.
#[test]
fn a_check_tries_own_sql_on_servers_of_the_plan() {
    let bench = Bench::new();
    let (version, unseen) = (exact_version("18"), version_not_here("18"));
    let plan = |schema: &str, test: &str, after_load: &str, build: &str| {
        let arm = |name: &str, build: &str, more: &str| {
            format!(
                "[[arm]]\nname = \"{name}\"\nbuild = \"postgres-{build}\"\nconfig = \"./small.conf\"\n{more}"
            )
        };
        bench.exact_plan_text(&format!(
            "base = \"a\"\nprotocol = \"isolated\"\n[workload]\nbenchmark = \"sql\"\n\
             [sql]\nrows = 10\nschema = \"{schema}\"\n[sql.tests]\nlook = \"{test}\"\n{}{}",
            arm("a", &version, ""),
            arm("b", build, &format!("after_load = [\"{after_load}\"]\n"))
        ))
    };
    let check = |plan: &std::path::Path, code: i32| {
        bench.call(&["plan", "check", plan.to_str().unwrap()]).expect(code)
    };
    let (schema, test, drop) =
        ("CREATE TABLE t (id int); CREATE INDEX i ON t (id);", "SELECT id FROM t;", "DROP INDEX i");
    let good = check(&plan(schema, test, drop, &version), 0);
    assert!(good.stdout.contains("no mistakes; 2 arms and a control, 1 step each"), "{}", good.stdout);
    for (schema, test, drop, words) in [
        (schema, "SELEC id FROM t;", drop, "plan.toml: [sql.tests] look, line 1: "),
        (schema, "SELECT nope FROM t;", drop, "column \"nope\" does not exist"),
        ("CREATE TABLE t (id int); CREATE INDX i ON t (id);", test, drop, "[sql] schema, line 1: "),
    ] {
        let said = check(&plan(schema, test, drop, &version), 2).stderr;
        assert!(said.contains(words) && said.contains("(arms a, b)"), "{said}");
        assert!(said.contains("1 mistake in "), "{said}");
    }
    // Beside other mistakes, unless those are of the tables.
    let with_seed = |plan: &std::path::Path| {
        bench.exact_plan_text(&format!("seed = -1\n{}", fs::read_to_string(plan).unwrap()))
    };
    let said = check(&with_seed(&plan(schema, "SELECT nope FROM t;", drop, &version)), 2).stderr;
    assert!(
        said.contains(": seed: ") && said.contains("\"nope\"") && said.contains("2 mistakes in "),
        "{said}"
    );
    // A mix of nothing that is right.
    let mixed = fs::read_to_string(plan(schema, test, drop, &version)).unwrap();
    let mixed = mixed.replace("[[arm]]\nname = \"a\"", "mix = { look = -1 }\n[[arm]]\nname = \"a\"");
    let said = check(&bench.exact_plan_text(&mixed), 2).stderr;
    assert!(said.contains("mix look: -1 ") && said.contains("1 mistake in "), "{said}");
    let said = check(&plan("SELECT 1;", "SELECT nope FROM t;", drop, &version), 2).stderr;
    assert!(said.contains("SQL is not tried before ") && said.contains("1 mistake in "), "{said}");
    let said = check(&plan(schema, test, "DROP INDX i", &version), 2).stderr;
    assert!(said.contains("after_load: ") && said.contains("(arm b)"), "{said}");
    let said = check(&plan(schema, test, drop, &unseen), 0).stderr;
    assert!(
        said.contains(&format!("SQL is not tried on postgres-{unseen}, which is not installed: ")),
        "{said}"
    );
    bench.expect_no_process();
    assert!(std::fs::read_dir(bench.work()).is_ok_and(|mut left| left.next().is_none()), "nothing is left");
}

#[test]
fn own_scripts_run_in_blocks_on_mysql_with_names_and_texts_in_quotes() {
    let bench = Bench::new();
    let plan = |schema: &str| {
        bench.plan_text(&format!(
            "base = \"a\"\nprotocol = \"isolated\"\nbudget = \"1s\"\n[workload]\nbenchmark = \"sql\"\nsettle_seconds_max = 5\n\
             [sql]\nrows = 3\nschema = \"\"\"{schema}\"\"\"\n[sql.tests]\n\
             look = '''-- rows: 1\nSELECT v, 'a;b' FROM `my t` WHERE id = 2;'''\n\
             [isolated]\nwindow_seconds = 0.1\nblocks_min = 1\ncount_instructions = false\n\
             [[arm]]\nname = \"a\"\nbuild = \"mysql-8.0.31\"\nconfig = \"./small.cnf\"\n"
        ))
    };
    let good = plan(
        "CREATE TABLE `my t` (id int PRIMARY KEY, v int);\nINSERT INTO `my t` VALUES (1, 1), (2, 2), (3, 3);",
    );
    bench.call(&["run", good.to_str().unwrap()]).expect(0);
    assert!(bench.run().windows.iter().all(|window| window.valid()) && !bench.run().windows.is_empty());
    // The folder has all that the plan needs.
    let kept = bench.run().folder.plan_path();
    fs::rename(bench.path().join("small.cnf"), bench.path().join("moved.cnf")).unwrap();
    bench.call(&["plan", "check", kept.to_str().unwrap()]).expect(0);
    fs::rename(bench.path().join("moved.cnf"), bench.path().join("small.cnf")).unwrap();
    let mistyped = fs::read_to_string(&good).unwrap().replace("SELECT v,", "SELEC v,");
    fs::write(bench.path().join("also.sql"), "SELECT 1;\nSELECT nope FROM `my t`;\n").unwrap();
    let mistyped = mistyped.replace("look =", "also = \"also.sql\"\nlook =");
    let mistyped = bench.plan_text(&mistyped);
    let checked = bench.call(&["plan", "check", mistyped.to_str().unwrap()]).expect(2).stderr;
    assert!(checked.contains("[sql.tests] look, line 2: ") && checked.contains("SQL syntax"), "{checked}");
    assert!(checked.contains("also.sql:2: Unknown column 'nope'"), "{checked}");
    assert!(checked.contains("(arm a)") && checked.contains("2 mistakes in "), "{checked}");
    let refused = bench.call(&["run", mistyped.to_str().unwrap()]).expect(3);
    let said = &refused.stderr;
    assert!(said.contains("  [sql.tests] look, line 2: ") && said.contains("SQL syntax"), "{said}");
    assert!(said.contains("  also.sql:2: Unknown column 'nope'"), "both at once: {said}");
    assert!(said.contains("start a new run") && !said.contains("rqps resume"), "{said}");
    let status = bench.call(&["status", "last", "--json"]).expect(0).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["actions_done"], 0, "it shows before a load is done: {status}");
    let none = bench.call(&["plan", "check", plan("SELECT 1;").to_str().unwrap()]).expect(2);
    assert!(none.stderr.contains("it creates no table"), "{}", none.stderr);
    let broken = fs::read_to_string(&good).unwrap().replace("-- rows: 1", "-- rows: one");
    let broken = bench.plan_text(&broken.replace("[sql]\n", "steps = [\"look\"]\n[sql]\n"));
    let refused = bench.call(&["plan", "check", broken.to_str().unwrap()]).expect(2).stderr;
    assert!(refused.contains("write -- rows: and a whole number"), "{refused}");
    assert!(!refused.contains("there is no test"), "the script is there: {refused}");
}
