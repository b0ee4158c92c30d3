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
