//! `plan`: check a plan, show what it would do, list and print the shipped ones.

use crate::args::{PlanArgs, PlanVerb};
use crate::context::Context;
use crate::{Usage, out};
use rqps_plan::shipped::{SHIPPED_PLANS, shipped_plan};
use rqps_plan::{BuildSource, BuildSpec, CheckedPlan, Plan, PlanContext, render_schedule, schedule};
use std::path::Path;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(_context: &Context, args: &PlanArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        PlanVerb::Check { plan } => {
            let checked = read_plan(plan)?;
            let arms = checked.arms.len();
            let steps = checked.steps().len();
            out::print_line(&format!("{plan}: no mistakes; {arms} arms, {steps} steps each"))?;
        }
        PlanVerb::Show { plan, toml } => {
            let plan = read_plan(plan)?;
            let text = if *toml { plan.to_toml()? } else { render_schedule(&plan, &schedule(&plan)) };
            out::print_line(&text)?;
        }
        PlanVerb::Ls => {
            for shipped in SHIPPED_PLANS {
                out::print_line(&format!("{:20} {}", shipped.name, first_comment(shipped.text)))?;
            }
        }
        PlanVerb::Print { plan } => out::print(shipped(plan)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn first_comment(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
}

fn shipped(name: &str) -> anyhow::Result<&'static str> {
    let names = || SHIPPED_PLANS.iter().map(|plan| plan.name).collect::<Vec<_>>().join(", ");
    match shipped_plan(name) {
        Some(plan) => Ok(plan.text),
        None => Err(Usage(format!("no shipped plan `{name}`; there are {}", names())).into()),
    }
}

/// Reads and checks a plan by file or shipped name; warnings go to standard error.
pub fn read_plan(name: &str) -> anyhow::Result<Plan> {
    let is_file = Path::new(name).exists() || name.contains('/') || name.ends_with(".toml");
    let text = if is_file {
        std::fs::read_to_string(name).map_err(|e| Usage(format!("can't read the plan {name}: {e}")))?
    } else {
        shipped(name)
            .map_err(|e| Usage(format!("{name} is neither a file nor a shipped plan: {e}")))?
            .to_owned()
    };
    let checked = check_plan(&text, name)?;
    for warning in &checked.warnings {
        eprintln!("warning: {}", warning.display(name));
    }
    Ok(checked.plan)
}

/// Checks the text of a plan that is called `name`.
pub fn check_plan(text: &str, name: &str) -> anyhow::Result<CheckedPlan> {
    let context = PlanContext { known_config: &known_config, known_build: &known_build };
    Plan::parse(text, name, &context).map_err(|e| Usage(e.to_string()).into())
}

fn known_config(name: &str) -> Result<(), String> {
    rqps_servers::load_config(name).map(|_| ()).map_err(|e| e.to_string())
}

/// Directories are looked into; whether a version exists is known only once it is fetched.
fn known_build(spec: &BuildSpec) -> Result<(), String> {
    match &spec.source {
        BuildSource::Version(_) => Ok(()),
        BuildSource::Path(path) if path.join("bin/postgres").is_file() => Ok(()),
        BuildSource::Path(path) => Err(format!("there is no {}", path.join("bin/postgres").display())),
    }
}
