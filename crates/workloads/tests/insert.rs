//! Plans of the Insert Benchmark: mistakes, sizes, schedules, and serialization.

use rqps_model::Limit;
use rqps_model::Pacer;
use rqps_plan::estimate::estimate;
use rqps_plan::shipped::shipped_plan;
use rqps_plan::{ActionKind, CheckedPlan, Plan, PlanContext, render_schedule, schedule};
use rqps_workloads::insert_benchmark::{DeleteForm, EndsBy, InsertOptions, InsertPlan};

const ARM: &str = "[[arm]]\nname = \"a\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n";

fn parse(text: &str, path: &str) -> Result<CheckedPlan, String> {
    Plan::parse(text, path, &PlanContext::trusting(rqps_workloads::BENCHMARKS))
        .map_err(|errors| errors.to_string())
}

fn check(workload: &str, rest: &str) -> Result<CheckedPlan, String> {
    let text = format!("\n[workload]\nbenchmark = \"insert\"\n{workload}\n{rest}\n{ARM}");
    parse(&text, "plan.toml")
}

fn good(workload: &str, insert: &str) -> Plan {
    check(workload, &format!("[insert]\n{insert}")).unwrap_or_else(|errors| panic!("{errors}")).plan
}

fn options(insert: &str) -> InsertOptions {
    good("", insert).work.of::<InsertPlan>().expect("the benchmark is insert").options.clone()
}

#[test]
fn every_mistake_is_reported_with_what_to_write_instead() {
    insta::assert_snapshot!(
        parse(include_str!("plans/bad_insert.toml"), "plans/bad_insert.toml").unwrap_err()
    );
}

#[test]
fn steps_need_what_others_leave() {
    let mistakes = |steps: &str| match check(&format!("steps = [{steps}]"), "") {
        Ok(_) => String::new(),
        Err(errors) => errors,
    };
    for fine in [
        "\"l.i0\"",
        "\"l.i0\", \"settle\", \"l.x\", \"l.i2\", \"settle\", \"qp100\"",
        "\"l.i0\", \"l.x\", \"qr250\", \"qp100\"",
    ] {
        assert_eq!(mistakes(fine), "", "{fine}");
    }
    for (steps, what) in [
        ("\"settle\", \"l.i0\"", "\"settle\" needs what \"l.i0\" leaves: the rows"),
        ("\"l.x\"", "\"l.x\" needs what \"l.i0\" leaves: the rows"),
        ("\"l.i0\", \"l.i1\"", "\"l.i1\" needs what \"l.x\" leaves: the secondary indexes"),
        ("\"l.i0\", \"qr100\"", "\"qr100\" needs what \"l.x\" leaves"),
        ("\"l.i0\", \"l.x\", \"l.i2\", \"l.i1\"", "\"l.i1\" comes after \"l.i2\""),
        ("\"l.i0\", \"l.x\", \"qr100\", \"l.i1\"", "\"l.i1\" comes after \"qr100\""),
        ("\"l.i0\", \"l.i0\"", "\"l.i0\" is listed twice"),
        (
            "\"l.i0\", \"l.x\", \"qr120\"",
            "or a multiple of 50 up to 1_000_000. \"qr100\" and \"qp100\" do 100.",
        ),
        ("\"l.i0.warm\"", "there is no test \"l.i0.warm\""),
        ("\"l.i0\", \"scan\"", "there is no test \"scan\""),
        ("", "the list is empty"),
    ] {
        let mistakes = mistakes(steps);
        assert!(
            mistakes.contains(what) && mistakes.ends_with("1 mistake in plan.toml"),
            "{steps}: {mistakes}"
        );
    }
}

#[test]
fn sizes_scale_together() {
    let sizes = |insert: &str| {
        let options = options(insert);
        (options.load_rows, options.write_rows, options.query_seconds, options.settle_seconds_min(1))
    };
    assert_eq!(sizes(""), sizes("size = \"mini\""));
    assert_eq!(sizes("size = \"smoke\""), (100_000, 50_000, 5, 0));
    assert_eq!(sizes("size = \"mini\""), (1_000_000, 500_000, 40, 0));
    assert_eq!(sizes("size = \"small\""), (5_000_000, 2_500_000, 180, 60));
    assert_eq!(sizes("size = \"cached\""), (30_000_000, 50_000_000, 1_800, 90));
    assert_eq!(sizes("size = \"io-bound\""), (800_000_000, 5_000_000, 1_800, 860));
    // The published pause ends at 20 minutes.
    assert_eq!(sizes("size = \"io-bound\"\nload_rows = 3_000_000_000").3, 1_200);
    assert_eq!(options("size = \"cached\"").settle_seconds_min(20), 660);
    // `write_rows` scales with `load_rows` unless the plan sets it.
    assert_eq!(sizes("size = \"cached\"\nload_rows = 3_000_000").1, 5_000_000);
    assert_eq!(sizes("size = \"io-bound\"\nload_rows = 1_600_000").1, 10_000);
    assert_eq!(sizes("load_rows = 2_000\nwrite_rows = 5").1, 5);
}

#[test]
fn options_reach_the_plan_and_survive_being_written() {
    let plan = good(
        "clients = 3\ntransport = \"tcp\"\nsettle_seconds_max = 9",
        "size = \"smoke\"\nsettle_seconds = 0\nrates = [50, 7, 1_000]\ndelete_form = \"range\"\npacer = \"burst\"\n\
         ends_by = \"time\"\nshared_table = true\npartitions = 4\nserver_memory = \"512 MiB\"\n\
         [test.\"l.i1\"]\nrate_mei_percent = 5",
    );
    let insert = plan.work.of::<InsertPlan>().unwrap().options.clone();
    assert_eq!(
        (insert.delete_form, insert.pacer, insert.ends_by),
        (DeleteForm::Range, Pacer::Burst, EndsBy::Time)
    );
    assert_eq!((insert.shared_table, insert.partitions), (true, 4));
    assert_eq!(insert.server_memory.unwrap().bytes, 512 << 20);
    assert_eq!((plan.work.tables(), plan.work.rows_per_table()), (1, 300_000), "all rows are in one table");
    assert_eq!(plan.workload.steps[5..], ["qr50", "qp50", "qr7", "qp7", "qr1000", "qp1000"]);
    assert_eq!(plan.options_of("l.i1").rate_mei_percent, Some(5.0));
    for plan in [plan, good("", ""), good("clients = 8\nsteps = [\"l.i0\"]", "write_rows = 77")] {
        let written = plan.to_toml().unwrap();
        for absent in ["read_seconds", "write_work", "tables =", "\nrows"] {
            assert!(!written.contains(absent), "{absent}:\n{written}");
        }
        assert_eq!(parse(&written, "plan.toml").unwrap().plan, plan);
    }
}

#[test]
fn every_arm_does_the_same_rows_unless_time_ends_a_step() {
    let limits = |insert: &str| -> Vec<(String, Limit)> {
        let plan = good("clients = 2\nsteps = [\"l.i0\", \"l.x\", \"l.i1\", \"l.i2\", \"qr500\"]", insert);
        let actions = schedule(&plan).actions.into_iter();
        actions
            .filter_map(|action| match action.kind {
                ActionKind::Measure(measure) => Some((measure.name, measure.limit)),
                _ => None,
            })
            .collect()
    };
    let rows = |step: &str, rows| (step.to_owned(), Limit::Rows(rows));
    let by_rows = vec![
        rows("l.i0", 2_000),
        rows("l.x", 100),
        rows("l.i1", 803),
        rows("l.i2", 200),
        rows("qr500", 4_500),
    ];
    let sizes = "load_rows = 2_000\nwrite_rows = 1_003\nquery_seconds = 9";
    assert_eq!(limits(sizes), by_rows);
    let mut by_time = by_rows;
    by_time[4].1 = Limit::Time(std::time::Duration::from_secs(9));
    assert_eq!(limits(&format!("{sizes}\nends_by = \"time\"")), by_time);
}

#[test]
fn a_settle_lasts_as_long_as_the_rows_ask_for() {
    let settle = |workload: &str, insert: &str| {
        let actions = schedule(&good(workload, insert)).actions;
        let found = actions.into_iter().find_map(|action| match action.kind {
            ActionKind::Settle(settle) => Some((settle.step, settle.seconds_min, settle.seconds_max)),
            _ => None,
        });
        found.unwrap()
    };
    assert_eq!(settle("", ""), ("settle-1".to_owned(), 0, 61));
    assert_eq!(settle("settle_seconds_max = 10", "").2, 10);
    assert_eq!(settle("clients = 4", "settle_seconds = 2"), ("settle-1".to_owned(), 6, 70));
}

#[test]
fn the_plans_of_every_size_say_what_they_do() {
    let plan = |name: &str| {
        let text = shipped_plan(name).unwrap().text;
        parse(text, &format!("/plans/{name}.toml")).unwrap().plan
    };
    insta::assert_snapshot!(render_schedule(&plan("insert-mini"), &schedule(&plan("insert-mini"))));
    let io_bound = plan("insert-io-bound-small");
    insta::assert_snapshot!(render_schedule(&io_bound, &schedule(&io_bound)));
    let minutes_per_arm = |name: &str| {
        let plan = plan(name);
        let seconds: f64 = estimate(&schedule(&plan), &plan).iter().sum();
        seconds / 60.0 / plan.arms.len() as f64
    };
    for (name, minutes) in [
        ("insert-smoke", 0.5..1.25),
        ("insert-mini", 5.0..9.0),
        ("insert-small", 25.0..45.0),
        ("insert-cached", 240.0..360.0),
    ] {
        assert!(minutes.contains(&minutes_per_arm(name)), "{name}: {} min", minutes_per_arm(name));
    }
}

#[test]
fn what_is_seldom_meant_is_a_warning() {
    let checked =
        check("", "[insert]\nends_by = \"time\"\n[test.qr500]\n[test.qr250]\nrate_mei_percent = 3").unwrap();
    let warnings: Vec<String> = checked.warnings.iter().map(|w| w.display("plan.toml").to_string()).collect();
    insta::assert_snapshot!(warnings.join("\n\n"));
}

#[test]
fn other_benchmarks_have_no_queue() {
    let text = format!(
        "[workload]\nbenchmark = \"microbenchmarks\"\nrows = 1000\nload_rows = 5\n[insert]\nsize = \"mini\"\n{ARM}"
    );
    let errors = parse(&text, "plan.toml").unwrap_err();
    for expected in [
        "plan.toml:4:1: [workload] load_rows: unknown key\n    It belongs in [insert], with benchmark = \"insert\" here.",
        "plan.toml:5:2: [insert]: the plan's benchmark is \"microbenchmarks\"\n    Write benchmark = \"insert\" in [workload]",
    ] {
        assert!(errors.contains(expected), "{errors}");
    }
}
