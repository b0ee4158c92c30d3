//! Plans with HammerDB as the driver.

use rqps_plan::{Driver, Plan, PlanContext};

fn parse(top: &str, options: &str) -> Result<Plan, String> {
    let text = format!(
        "{top}\n[workload]\nbenchmark = \"tproc-c\"\ndriver = \"hammerdb\"\n[tproc-c]\n{options}\n\
         [[arm]]\nname = \"a\"\nbuild = \"postgres-18\"\nconfig = \"sized\"\n"
    );
    let checked = Plan::parse(&text, "plan.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS));
    checked.map(|checked| checked.plan).map_err(|errors| errors.to_string())
}

#[test]
fn a_plan_for_hammerdb_round_trips() {
    let plan =
        parse("", "warehouses = [10, 1000]\nvirtual_users = [1, 6]\nrampup = \"6s\"\nduration = \"2h\"")
            .unwrap();
    assert_eq!(plan.workload.driver, Driver::HammerDb);
    let written = plan.to_toml().unwrap();
    let again =
        Plan::parse(&written, "plan.toml", &PlanContext::trusting(rqps_workloads::BENCHMARKS)).unwrap().plan;
    assert_eq!(again, Plan { name: again.name.clone(), ..plan });
}

#[test]
fn what_hammerdb_does_not_do_is_reported() {
    let mistakes =
        parse("", "rampup = \"0s\"\nduration = \"70s\"\nstored_procedures = false\npartitions = 7")
            .unwrap_err();
    for words in [
        "[tproc-c] rampup",
        "[tproc-c] duration",
        "[tproc-c] stored_procedures",
        "[tproc-c] partitions",
        "4 mistakes",
    ] {
        assert!(mistakes.contains(words), "{words}\n{mistakes}");
    }
    let blocks = parse("protocol = \"isolated\"", "warehouses = 1").unwrap_err();
    assert!(blocks.contains("[workload] driver") && blocks.contains("sequence"), "{blocks}");
    parse("", "warehouses = 500\npartitions = 1").unwrap();
}

#[test]
fn a_time_that_is_too_long_is_told_its_own_limit() {
    for (option, limits) in [("rampup", "\"0s\" to \"1h\""), ("duration", "\"1s\" to \"7d\"")] {
        for time in ["8d", "40d"] {
            let mistake = parse("", &format!("{option} = \"{time}\"")).unwrap_err();
            let remedy = format!("Write a time from {limits}.");
            assert!(mistake.contains(&remedy) && !mistake.contains("31 days"), "{mistake}");
        }
    }
}

#[test]
fn tables_of_unequal_size_have_no_mean() {
    let plan = parse("", "warehouses = 2").unwrap();
    let shown = rqps_plan::render_schedule(&plan, &rqps_plan::schedule(&plan));
    assert!(shown.contains("rows in 9 tables, ") && shown.contains("about 1,0"), "{shown}");
}
