//! Plans with sysbench as the driver.

use rqps_plan::{Driver, Plan, PlanContext};

const ARMS: &str = "[[arm]]\nname = \"a\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n\
                    [[arm]]\nname = \"b\"\nbuild = \"postgres-17\"\nconfig = \"sized\"\n";

fn parse(head: &str, workload: &str) -> Result<Plan, String> {
    let text = format!("{head}\n[workload]\nrows = 2000\ndriver = \"sysbench\"\n{workload}\n{ARMS}");
    let checked = Plan::parse(&text, "plan.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS));
    checked.map(|checked| checked.plan).map_err(|errors| errors.to_string())
}

#[test]
fn keys_that_sysbench_does_not_support_are_reported_with_their_place() {
    let mistakes = parse(
        "",
        "warmup_seconds = \"detect\"\n[test.scan]\nrate_per_second = 5\n[test.insert]\nwarmup_seconds = \"detect\"",
    )
    .unwrap_err();
    for line in ["plan.toml:5:", "plan.toml:7:", "plan.toml:9:", "3 mistakes"] {
        assert!(mistakes.contains(line), "{line}\n{mistakes}");
    }
    let explicit = parse("protocol = \"isolated\"\n[isolated]\ncount_instructions = true", "").unwrap_err();
    assert!(explicit.contains("[isolated] count_instructions: cannot be used with"), "{explicit}");
}

#[test]
fn blocks_with_sysbench_do_not_count_instructions_and_round_trip() {
    let plan = parse("protocol = \"isolated\"", "").unwrap();
    assert_eq!(plan.workload.driver, Driver::Sysbench);
    assert!(!plan.blocks().count_instructions);
    let written = plan.to_toml().unwrap();
    let again =
        Plan::parse(&written, "plan.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS)).unwrap().plan;
    assert_eq!(again, Plan { name: again.name.clone(), ..plan });
}
