//! Schedules of plans: the shipped ones, a large one, and the resolved form in a run folder.

use proptest::prelude::*;
use rqps_model::Limit;
use std::time::Duration;

use rqps_plan::estimate::estimate;
use rqps_plan::shipped::{SHIPPED_PLANS, shipped_plan};
use rqps_plan::{ActionKind, Plan, PlanContext, StepDef, render_schedule, schedule};

fn parse(text: &str) -> Plan {
    match Plan::parse(text, "/plans/test.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS)) {
        Ok(checked) => checked.plan,
        Err(errors) => panic!("{errors}\n{text}"),
    }
}

fn shipped(name: &str) -> Plan {
    shipped_plan(name).map_or_else(|| panic!("no shipped plan {name}"), |plan| parse(plan.text))
}

#[test]
fn every_shipped_plan_is_valid_and_named_after_its_file() {
    for shipped in SHIPPED_PLANS {
        let plan = parse(shipped.text);
        assert_eq!(plan.name, shipped.name);
        assert_eq!(parse(&plan.to_toml().unwrap()), plan);
        assert!(shipped.summary().ends_with(['.', '?']), "no sentence: {}", shipped.summary());
    }
}

#[test]
fn the_demo_fits_into_five_minutes() {
    let plan = shipped("demo");
    let schedule = schedule(&plan);
    insta::assert_snapshot!(render_schedule(&plan, &schedule));
    let seconds: f64 = estimate(&schedule, &plan).iter().sum();
    assert!(seconds < 270.0, "{seconds}");
}

#[test]
fn long_writes_settle_after_every_test() {
    let plan = shipped("writes-only-long");
    insta::assert_snapshot!(render_schedule(&plan, &schedule(&plan)));
    for pair in plan.workload.steps.windows(2) {
        let is_test = rqps_workloads::microbenchmarks::test_by_name(&pair[0]).is_some();
        assert!(!is_test || pair[1] == "settle", "{} is followed by {}", pair[0], pair[1]);
    }
    assert_eq!(plan.workload.steps.last().map(String::as_str), Some("settle"));
}

#[test]
fn the_estimate_for_the_small_server_matches_its_known_duration() {
    let plan = shipped("small-server");
    let seconds: f64 = estimate(&schedule(&plan), &plan).iter().sum();
    let hours_per_arm = seconds / 3_600.0 / plan.arms.len() as f64;
    assert!((6.0..8.0).contains(&hours_per_arm), "{hours_per_arm}");
}

#[test]
fn twelve_arms_run_base_first_and_each_in_full() {
    let plan = parse(
        r#"
base = "postgres-17.7.x10a_c8r32"
[workload]
rows = 10_000
steps = ["update-index", "settle", "scan"]
[matrix]
builds = ["postgres-13", "postgres-14", "postgres-15", "postgres-16.11", "postgres-17.7", "postgres-18.1"]
configs = ["x10a_c8r32", "my/own.conf"]
"#,
    );
    assert_eq!(plan.arms.len(), 12);
    assert_eq!(plan.arms[1].name, "postgres-13.own");
    assert_eq!(plan.arms[1].config, "/plans/my/own.conf");
    let schedule = schedule(&plan);
    let order: Vec<usize> = schedule
        .actions
        .iter()
        .filter(|action| matches!(action.kind, ActionKind::Start))
        .map(|action| action.arm)
        .collect();
    assert_eq!(order, [8, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11]);
    for (i, actions) in schedule.actions.chunks(6).enumerate() {
        let names: Vec<&str> = actions.iter().map(|action| action.kind.name()).collect();
        assert_eq!(names, ["start", "load", "update-index", "settle-1", "scan", "stop"]);
        assert!(actions.iter().all(|action| action.arm == order[i]));
    }
    assert!(schedule.actions.iter().enumerate().all(|(i, action)| action.seq as usize == i));
}

fn measures_of(plan: &Plan, arm: usize) -> impl Iterator<Item = StepDef> {
    let actions = schedule(plan).actions.into_iter().filter(move |action| action.arm == arm);
    actions.filter_map(|action| match action.kind {
        ActionKind::Measure(measure) => Some(measure),
        _ => None,
    })
}

fn limits_of(plan: &Plan, arm: usize) -> Vec<(String, u32, Limit)> {
    measures_of(plan, arm).map(|measure| (measure.name, measure.clients, measure.limit)).collect()
}

#[test]
fn options_reach_the_steps_they_name() {
    let plan = parse(
        r#"
[workload]
tables = 4
rows = 10_000
clients = 2
read_seconds = 100
write_seconds = 200
steps = ["point-query.warm", "scan.warm", "scan.pre", "update-index", "write-only", "update-one", "scan", "delete"]
[test.scan]
seconds = 7
clients = 4
[test."scan.pre"]
events = 40
[test.update-one]
events = 500
[[arm]]
build = "postgres-17"
config = "sized"
[[arm]]
build = { path = "../pg18" }
config = "sized"
"#,
    );
    let step = |name: &str, clients: u32, limit: Limit| (name.to_owned(), clients, limit);
    let base = [
        step("point-query.warm", 4, Limit::Time(Duration::from_secs(100))),
        step("scan.warm", 2, Limit::Time(Duration::from_secs(60))),
        step("scan.pre", 4, Limit::Events(40)),
        step("update-index", 2, Limit::Time(Duration::from_secs(200))),
        step("write-only", 2, Limit::Time(Duration::from_secs(100))),
        step("update-one", 2, Limit::Events(500)),
        step("scan", 4, Limit::Time(Duration::from_secs(7))),
        step("delete", 2, Limit::Time(Duration::from_secs(200))),
    ];
    assert_eq!(limits_of(&plan, 0), base);
    assert_eq!(limits_of(&plan, 1), base);
    let repeats_base: Vec<String> =
        measures_of(&plan, 1).filter(|measure| measure.as_base).map(|m| m.name).collect();
    assert_eq!(repeats_base, ["update-index", "write-only", "update-one", "delete"]);
    assert!(measures_of(&plan, 0).all(|measure| !measure.as_base));
    assert_eq!(plan.arms[1].build.to_string(), "/plans/../pg18");
    assert_eq!(schedule(&plan).clients_max(), 4);
}

prop_compose! {
    fn any_plan()(
        header in (0..i64::MAX, prop::bool::ANY),
        sizes in (1..=10_000u64, 1_000..=2_000_000_000u64, 1..=5_000u32),
        times in (1..=604_800u32, 1..=604_800u32, prop::option::of(0.0..3_600.0f64), 0.001..=1.0f64),
        flags in (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY, prop::bool::ANY),
        settle in prop::option::of(1..=86_400u32),
        test in (prop::sample::select(vec!["scan", "point-query", "insert"]),
                 prop::sample::select(vec!["", ".pre", ".warm"]), 1..1_000u32, 1..50u32),
        arms in prop::collection::vec(("[a-z0-9][a-z0-9._-]{0,12}", 9..19u32), 1..12),
    ) -> String {
        let (seed, stop) = header;
        let (tables, rows, clients) = sizes;
        let (read, write, warmup, share) = times;
        let (tcp, time, vacuum, pre) = flags;
        let mut text = format!("seed = {seed}\non_server_death = \"{}\"\n", if stop { "stop" } else { "next-arm" });
        text += &format!("base = \"0.{}\"\n", arms[0].0);
        text += &format!("[workload]\ntables = {tables}\nrows = {rows}\nclients = {clients}\n");
        text += &format!("read_seconds = {read}\nwrite_seconds = {write}\ndelete_share_max = {share:?}\n");
        text += &warmup.map_or("warmup_seconds = \"detect\"\n".to_owned(), |s| format!("warmup_seconds = {s:?}\n"));
        text += &format!("transport = \"{}\"\n", if tcp { "tcp" } else { "unix" });
        text += &format!("write_work = \"{}\"\n", if time { "time" } else { "as-base" });
        text += &format!("vacuum_after_load = {vacuum}\npre_tests = {pre}\n");
        text += &settle.map_or(String::new(), |s| format!("settle_seconds_max = {s}\n"));
        let (name, suffix, seconds, clients) = test;
        text += &format!("[test.\"{name}{suffix}\"]\nseconds = {seconds}\nclients = {clients}\n");
        if vacuum {
            text += "[profile]\nafter = \"changed\"\nseconds = 7.5\n";
        }
        for (i, (name, version)) in arms.iter().enumerate() {
            text += &format!("[[arm]]\nname = \"{i}.{name}\"\nbuild = \"postgres-{version}\"\nconfig = \"sized\"\n");
        }
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_resolved_plan_parses_back_to_itself(text in any_plan()) {
        let plan = parse(&text);
        let resolved = plan.to_toml().unwrap();
        prop_assert_eq!(&parse(&resolved), &plan);
        prop_assert!(!schedule(&plan).actions.is_empty());
    }
}

#[test]
fn a_resolved_plan_has_its_keys_in_the_usual_order() {
    let resolved = shipped("insert-smoke").to_toml().unwrap();
    let places = ["name =", "[workload]", "benchmark =", "steps =", "[insert]", "[[arm]]", "build ="]
        .map(|part| resolved.find(part).unwrap_or_else(|| panic!("no {part} in\n{resolved}")));
    assert!(places.is_sorted(), "{resolved}");
}

#[test]
fn each_test_of_tproc_c_has_its_own_data_directory_and_load() {
    let plan = parse(
        "base = \"a\"\n[workload]\nbenchmark = \"tproc-c\"\n[tproc-c]\nwarehouses = [1, 20]\nvirtual_users = 3\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n",
    );
    let actions = schedule(&plan).actions;
    let names: Vec<&str> = actions.iter().map(|action| action.kind.name()).collect();
    let first = ["start", "load", "vacuum", "settle-1", "w1-vu3", "stop"];
    let second = ["start", "load-w20-vu3", "vacuum", "settle-2", "w20-vu3", "stop"];
    assert_eq!(names, [first, second].concat());
    let loads: Vec<&str> = actions
        .iter()
        .filter_map(|action| match &action.kind {
            ActionKind::Load(load) => Some(load.test.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(loads, ["w1-vu3", "w20-vu3"]);
    let method = plan.work.method(&plan);
    assert!(method.contains(&(rqps_model::SIZE, "1 and 20 warehouses".to_owned())), "{method:?}");
}

#[test]
fn hammerdb_takes_longer_to_load() {
    let seconds = |driver: &str| {
        let plan = parse(&format!(
            "base = \"a\"\n[workload]\nbenchmark = \"tproc-c\"\ndriver = \"{driver}\"\n[tproc-c]\nwarehouses = 10\n\
             virtual_users = 2\nrampup = \"6s\"\nduration = \"12s\"\n[[arm]]\nname = \"a\"\nbuild = \"postgres-18\"\n\
             config = \"sized\"\n",
        ));
        let load =
            schedule(&plan).actions.into_iter().find(|action| matches!(action.kind, ActionKind::Load(_)));
        plan.work.estimate_seconds(&load.unwrap().kind).unwrap()
    };
    assert!(seconds("hammerdb") > 5.0 * seconds("rqps"));
}
