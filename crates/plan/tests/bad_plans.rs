//! Messages for invalid plans.

use rqps_model::{BuildSource, BuildSpec};
use rqps_plan::{Plan, PlanContext};

fn context() -> PlanContext<'static> {
    PlanContext {
        benchmarks: rqps_workloads::BENCHMARKS,
        read_text: &|_| Err("no such file".to_owned()),
        open: &|_| Err("no such file".to_owned()),
        known_config: &|_, name| match name {
            "x10a_c8r32" | "sized" => Ok(()),
            _ => Err(format!("there is no config \"{name}\"")),
        },
        known_build: &|build: &BuildSpec| match &build.source {
            BuildSource::Version(version) if version == "77" => {
                Err("Postgres has no version 77; the newest is 18.1".to_owned())
            }
            _ => Ok(()),
        },
    }
}

fn errors(text: &str) -> String {
    match Plan::parse(text, "plans/bad.toml", &context()) {
        Ok(_) => "no mistake found".to_owned(),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn every_mistake_is_reported_at_once() {
    insta::assert_snapshot!(errors(include_str!("plans/bad.toml")));
}

#[test]
fn broken_toml_is_reported_beside_the_rest() {
    let text = r#"
name = unquoted
[workload]
rows = 2_000
rows = 3_000
tables = 0
clients =
[[arm]]
build = "postgres-18
config = "sized"
"#;
    insta::assert_snapshot!(errors(text));
}

#[test]
fn an_empty_file_says_what_a_plan_needs() {
    insta::assert_snapshot!(errors(""));
}

#[test]
fn limits_hold() {
    let mut many = String::from("[workload]\nrows = 1000\n");
    for i in 0..65 {
        many += &format!("[[arm]]\nname = \"a{i}\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n");
    }
    assert!(errors(&many).contains("65 arms; a plan has at most 64"), "{}", errors(&many));

    let arm = "[[arm]]\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";
    let cases = [
        ("rows = 2_000_000_001", "Write a whole number from 1_000 to 2_000_000_000."),
        ("rows = 999", "999 is out of range"),
        ("rows = 1000\ntables = 10_001", "Write a whole number from 1 to 10_000."),
        ("rows = 1000\nclients = 5_001", "Write a whole number from 1 to 5_000."),
        ("rows = 1000\nread_seconds = 604_801", "604801 is out of range"),
        ("rows = 1000\nwarmup_seconds = inf", "inf is out of range"),
    ];
    for (workload, expected) in cases {
        let message = errors(&format!("[workload]\n{workload}\n{arm}"));
        assert!(message.contains(expected), "{workload}: {message}");
        assert!(message.ends_with("1 mistake in plans/bad.toml"), "{workload}: {message}");
    }
}

#[test]
fn warnings_do_not_stop_a_plan() {
    let text = r#"
[workload]
rows = 5000
clients = 4
write_work = "time"
steps = ["update-index", "delete", "scan", "read-only_range=10000", "insert"]
[test.hot-points]
seconds = 3
[[arm]]
build = "postgres-18"
config = "sized"
"#;
    let checked = Plan::parse(text, "w.toml", &context()).unwrap();
    let warnings: Vec<String> =
        checked.warnings.iter().map(|warning| warning.display("w.toml").to_string()).collect();
    insta::assert_snapshot!(warnings.join("\n\n"));
}

#[test]
fn keys_of_the_other_protocol_are_told_apart() {
    let text = r#"
protocol = "isolated"
passes = 2
budget = "soon"
[workload]
rows = 2000
steps = ["scan", "settle", "scan.warm"]
[isolated]
windows = 3
mei_percent = 1
[verdict.mei_percent]
qps = 2
rate = 99
[test.scan]
rate_mei_percent = 5
[[arm]]
build = "postgres-18"
config = "sized"
env = { "LD PRELOAD" = "x", DOSE = 3 }
after_load = ["DROP INDEX k_1", " ", 5, "DROP \u0000"]
"#;
    insta::assert_snapshot!(errors(text));
    let sequence = "budget = \"10m\"\n[workload]\nrows = 2000\n[isolated]\n[[arm]]\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";
    insta::assert_snapshot!(errors(sequence));
}

#[test]
fn mistakes_in_tproc_c() {
    let text = r#"
base = "a"
protocol = "isolated"
[workload]
benchmark = "tproc-c"
clients = 3
rows = 1_000
steps = ["w10-vu1", "w10-vu7", "settle"]
[tproc-c]
warehouses = [10, 100, 10]
virtual_users = [1, 0]
rampup = "2m"
duration = 5
partitions = 4
[test.w10-vu1]
duration = "5m"
[[arm]]
name = "a"
build = "postgres-9.5.3"
config = "sized"
"#;
    insta::assert_snapshot!(errors(text));
    let empty = text.replace("virtual_users = [1, 0]", "virtual_users = []");
    assert!(errors(&empty).contains("[tproc-c] virtual_users: lists nothing"), "{}", errors(&empty));
    let of_duration = |duration: &str| {
        errors(
            &text
                .replace("isolated", "sequence")
                .replace("duration = 5\n", &format!("duration = {duration}\n")),
        )
    };
    for (written, remedy) in [
        ("5", "Write a time such as \"5s\", in quotes."),
        ("\"5\"", "Write for example \"5s\" or \"5m\"."),
        ("\"-1s\"", "duration: \"-1s\" is no time\n    Write for example \"90s\" or \"5m\"."),
        ("\"500ms\"", "Write whole seconds, "),
        ("\"1.5s\"", "Write whole seconds, "),
        ("\"0s\"", "Write a time from \"1s\" to \"7d\"."),
    ] {
        let found = of_duration(written);
        assert!(found.contains("[tproc-c] duration: ") && found.contains(remedy), "{written}: {found}");
    }
    let of_test = |keys: &str| {
        errors(&text.replace("[test.w10-vu1]\nduration = \"5m\"", &format!("[test.w10-vu1]\n{keys}")))
    };
    let unknown = of_test("other = 1");
    assert!(unknown.contains("Known keys: rate_mei_percent."), "{unknown}");
    let clients = of_test("clients = 5");
    assert!(
        clients.contains("[test.w10-vu1] clients: unknown key") && clients.contains("as `virtual_users`"),
        "{clients}"
    );
}

#[test]
fn a_mistake_in_a_script_of_a_file_names_the_file_and_its_line() {
    let read_text = &|_: &std::path::Path| Ok("SELECT 1;\n\\set a hash(5)\n".to_owned());
    let text = "[workload]\nbenchmark = \"sql\"\n[sql]\nschema = \"CREATE TABLE t (id int)\"\n[sql.tests]\n\
                pay = \"pay.sql\"\n[[arm]]\nname = \"a\"\nbuild = \"postgres-18.1\"\nconfig = \"sized\"\n";
    let found =
        Plan::parse(text, "bad.toml", &PlanContext { read_text, ..context() }).unwrap_err().to_string();
    assert!(found.contains("pay.sql: line 2: there is no function `hash`"), "{found}");

    // All mistakes of all scripts, and of the rest of a plan whose base is missing.
    let read_text = &|_: &std::path::Path| Ok("SELECT :a;\n\\sleep 1\nSELECT :b;\n".to_owned());
    let text =
        text.replace("pay = ", "seek = \"seek.sql\"\npay = ").replace("[workload]", "seed = -1\n[workload]");
    let found = Plan::parse(
        &text.replace("name = \"a\"", "name = \"b\"").replace("seed", "base = \"a\"\nseed"),
        "bad.toml",
        &PlanContext { read_text, ..context() },
    );
    let found = found.unwrap_err().to_string();
    for file in ["seek.sql", "pay.sql"] {
        for mistake in ["line 1: no variable `a`", "line 2: `\\sleep` is not", "line 3: no variable `b`"] {
            assert!(found.contains(&format!("{file}: {mistake}")), "{found}");
        }
    }
    assert!(found.contains("bad.toml:2:8: seed") && found.contains("8 mistakes in bad.toml"), "{found}");
}

const SQL: &str = "base = \"a\"\n[workload]\nbenchmark = \"sql\"\nclients = 2\nsteps = [\"look\", \"pay\"]\n\
    [sql]\nschema = \"schema.sql\"\n[sql.tests]\n\
    look = \"\"\"\n\\\\set id random(1, 9)\nSELECT :id FROM t\"\"\"\npay = \"pay.sql\"\n[test.look]\nseconds = 3\n\
    [[arm]]\nname = \"a\"\nbuild = \"postgres-17\"\nconfig = \"sized\"\n\
    [[arm]]\nname = \"b\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";

const BLOCKS: &str = "base = \"postgres-17.sized\"\nprotocol = \"isolated\"\nbudget = \"30m\"\n[workload]\nrows = 2000\n\
    clients = [1, 8]\nsteps = [\"scan\", \"insert\"]\n[isolated]\nwindows = 2\ncontrol = false\n[test.scan]\nseconds = 5\n\
    [matrix]\nbuilds = [\"postgres-17\", \"postgres-18\"]\nconfigs = [\"sized\"]\n";

fn errors_with_files(text: &str) -> String {
    let read_text = &|path: &std::path::Path| match path.to_str() {
        Some("plans/schema.sql") => Ok("CREATE TABLE t (id int);".to_owned()),
        Some("plans/pay.sql") => Ok("UPDATE t SET id = 2;".to_owned()),
        _ => Err("it does not exist".to_owned()),
    };
    match Plan::parse(text, "plans/bad.toml", &PlanContext { read_text, ..context() }) {
        Ok(_) => "no mistake found, 0 mistakes".to_owned(),
        Err(errors) => errors.to_string(),
    }
}

/// Changes of a plan that are a mistake each, with words of the message.
type Slips = &'static [(&'static str, &'static str, &'static str)];

/// Whatever a mistake is, it neither hides another nor has others follow from it.
#[test]
fn each_mistake_is_told_once_beside_all_others() {
    let of_sql: Slips = &[
        ("clients = 2", "client = 2", "[workload] client: unknown key"),
        ("steps = [\"look\"", "steps = [\"lok\"", "there is no test \"lok\""),
        ("\"schema.sql\"", "\"shema.sql\"", "cannot read shema.sql"),
        ("\"pay.sql\"", "\"pai.sql\"", "cannot read pai.sql"),
        ("SELECT :id", "SELECT :idd", "did you mean `:id`?"),
        ("seconds = 3", "seconds = \"3\"", "[test.look] seconds: expected"),
        ("postgres-17", "postgers-17", "unknown DBMS"),
        (
            "config = \"sized\"\n[[arm]]\nname = \"b\"",
            "config = \"szied\"\n[[arm]]\nname = \"b\"",
            "no config",
        ),
        ("postgres-18", "postgres-77", "Postgres has no version 77"),
        ("base = \"a\"", "base = \"aa\"", "no arm is named \"aa\""),
    ];
    let of_blocks: Slips = &[
        ("protocol = \"isolated\"", "protocol = \"isolatd\"", "unknown value \"isolatd\""),
        ("budget = \"30m\"", "budget = 30", "budget: expected a duration"),
        ("rows = 2000", "rows = \"2000\"", "[workload] rows: expected a whole number"),
        ("[\"scan\", ", "[\"sacn\", ", "there is no test \"sacn\""),
        ("windows = 2", "windows = 3", "3 is odd"),
        ("control = false", "control = 0", "expected true or false"),
        ("[\"postgres-17\", ", "[\"postgres-old\", ", "is not a version"),
        ("configs = [\"sized\"]", "configs = [\"szied\"]", "there is no config \"szied\""),
    ];
    for (plan, slips) in [(SQL, of_sql), (BLOCKS, of_blocks)] {
        assert!(errors_with_files(plan).contains("no mistake found"), "{}", errors_with_files(plan));
        let slip = |text: &str, (from, to, _): &(&str, &str, &str)| {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text.replace(from, to)
        };
        for one in slips {
            let found = errors_with_files(&slip(plan, one));
            assert!(
                found.contains(one.2) && found.ends_with("\n1 mistake in plans/bad.toml"),
                "{one:?}: {found}"
            );
        }
        let all = errors_with_files(&slips.iter().fold(plan.to_owned(), |text, one| slip(&text, one)));
        slips.iter().for_each(|(_, _, words)| assert!(all.contains(words), "{words}: {all}"));
        assert!(all.ends_with(&format!("\n{} mistakes in plans/bad.toml", slips.len())), "{all}");
    }
}

#[test]
fn nothing_is_said_of_what_a_mistake_leaves_unknown() {
    let arm = "[[arm]]\nname = \"a\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";
    let sql = "[workload]\nbenchmark = \"sql\"\nsteps = [\"look\"]\n";
    let cases = [
        // Without tests no step is known, and without a dump no table.
        (format!("{sql}[sql]\nschema = \"CREATE TABLE t (id int)\"\n[test.look]\n{arm}"), "[sql.tests]: no test"),
        (format!("{sql}[sql]\nschema = \"CREATE TABLE t (id int)\"\ntests = 5\n{arm}"), "a table that begins"),
        (format!("{sql}{arm}"), "[sql]: missing"),
        (
            format!("{sql}[sql]\ndump = \"no.sql\"\nschema = \"CREATE INDEX ON t (id)\"\n[sql.tests]\nlook = \"SELECT 1\"\n{arm}"),
            "cannot read no.sql",
        ),
        // The quotes of a DBMS that nobody knows.
        (
            format!("{sql}[sql]\nschema = \"CREATE TABLE `a;` (id int) # ' it\"\n[sql.tests]\nlook = \"SELECT 1\"\n{arm}")
                .replace("postgres-18", "mysq-8.0"),
            "unknown DBMS",
        ),
        (format!("[workload]\nbenchmark = \"db-bench\"\n{arm}").replace("postgres-18", "rocksdbb-10"), "unknown DBMS"),
        // The benchmark that the arms need.
        (arm.replace("postgres-18", "rocksdb-10.10.1"), "Add [workload] with benchmark = \"db-bench\"."),
        ("arm = []\n[workload]\nrows = 1000\n".to_owned(), "the plan has no arms"),
        (format!("workload = 5\n{arm}"), "workload: expected a table"),
        // What is missing depends on the benchmark that is meant.
        (format!("[workload]\nschema = \"CREATE TABLE t (id int)\"\n{arm}"), "It belongs in [sql], with benchmark"),
        (format!("dump = \"shop.sql\"\n[workload]\nclients = 2\n{arm}"), "It belongs in [sql], with benchmark"),
    ];
    for (text, words) in cases {
        let found = errors(&text);
        assert!(found.contains(words) && found.ends_with("\n1 mistake in plans/bad.toml"), "{text}{found}");
    }
    // What is one in every dialect is told, whatever the DBMS is.
    let open = format!(
        "{sql}[sql]\nschema = \"CREATE TABLE t (a text DEFAULT 'x)\"\n[sql.tests]\nlook = \"SELECT 1\"\n{arm}"
    );
    let found = errors(&open.replace("postgres-18", "mysq-8.0"));
    assert!(found.contains("line 1: the quote does not end") && found.contains("2 mistakes"), "{found}");
}

/// `rows` is of other benchmarks, and `[workload]` has nothing that such a plan needs.
#[test]
fn a_plan_of_own_sql_needs_nothing_but_its_table_and_an_arm() {
    let sql = "[sql]\nschema = \"CREATE TABLE t (id int)\"\n[sql.tests]\nlook = \"SELECT id FROM t\"\n\
               [[arm]]\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";
    for text in [sql.to_owned(), format!("[workload]\nclients = 2\n{sql}")] {
        let checked =
            Plan::parse(&text, "own.toml", &context()).map_err(|errors| errors.to_string()).unwrap();
        assert_eq!(checked.plan.work.benchmark().id(), "sql");
    }
    let named = errors(&format!("[workload]\nbenchmark = \"insert\"\n{sql}"));
    assert!(named.contains("[sql]: the plan's benchmark is \"insert\""), "{named}");
    let missing = errors(&sql.replace("schema = \"CREATE TABLE t (id int)\"", "rows = 5"));
    assert!(
        missing.contains("[sql] schema: missing") && missing.ends_with("1 mistake in plans/bad.toml"),
        "{missing}"
    );
}

/// Configs are checked beside the rest of a plan, for arms that are known.
#[test]
fn arms_without_mistakes_are_known_beside_the_mistakes() {
    let parsed = |text: &str| {
        let errors = Plan::parse(text, "plans/bad.toml", &context()).unwrap_err();
        let names = errors.arms.iter().map(|arm| arm.name.clone()).collect::<Vec<_>>();
        (names.join(" "), errors.has_all_arms)
    };
    let text = SQL.replace("clients = 2", "clients = 0");
    assert_eq!(parsed(&text), ("a b".to_owned(), true));
    assert_eq!(parsed(&text.replace("postgres-18", "postgres-77")), ("a".to_owned(), false));
    let env = "config = \"sized\"\nenv = { A = 1 }\n";
    assert_eq!(parsed(&text.replace("config = \"sized\"\n", env)), ("a b".to_owned(), true));
}
