//! `demo`: compare releases without writing a plan.

use crate::args::DemoArgs;
use crate::context::Context;
use crate::kit::KIT;
use crate::{Usage, out};
use rqps_model::{BuildSource, BuildSpec, Dbms};
use rqps_plan::shipped::shipped_plan;
use rqps_plan::{Arm, Plan, PlanContext};
use std::process::ExitCode;

pub fn run(context: &Context, args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let begun = super::run::begin(context, plan(&args.versions)?)?;
    out::message(&format!(
        "running the microbenchmarks on {}, three blocks: four to five minutes on a quiet machine",
        args.versions.join(" and ")
    ));
    super::run::execute_then(context, begun, |folder| {
        super::run::conclude(context, folder)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The shipped demo plan with other versions.
fn plan(versions: &[String]) -> anyhow::Result<Plan> {
    let shipped = shipped_plan("demo").ok_or_else(|| Usage("no shipped plan `demo`".to_owned()))?;
    let mut plan = Plan::parse(shipped.text, "demo", &PlanContext::trusting(KIT.benchmarks))?.plan;
    let config = plan.arms[plan.base_index()].config.clone();
    let mut arms: Vec<Arm> = Vec::new();
    for version in versions {
        let version = version.trim().trim_start_matches("postgres-");
        let source = BuildSource::Version(version.to_owned());
        let mut arm = Arm::new(BuildSpec { dbms: Dbms::Postgres, source }, config.clone());
        arm.name = format!("pg{version}");
        if !version.starts_with(|c: char| c.is_ascii_digit()) || !rqps_plan::limits::is_folder_name(&arm.name)
        {
            return Err(Usage(format!(
                "`{version}` is not a version: write --versions 14,18 or --versions 16.11,17.7"
            ))
            .into());
        }
        if arms.iter().any(|other| other.name == arm.name) {
            arm.name.push_str("-again");
        }
        arms.push(arm);
    }
    plan.base = arms.first().map(|arm| arm.name.clone()).unwrap_or_default();
    plan.arms = arms;
    // The resolved plan is checked like any other.
    let text = plan.to_toml()?;
    Ok(Plan::parse(&text, "demo", &PlanContext::trusting(KIT.benchmarks))
        .map_err(|e| Usage(e.to_string()))?
        .plan)
}
