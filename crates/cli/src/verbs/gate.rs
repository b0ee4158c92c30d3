//! `gate`: pass or fail a change, by verdicts on base and head measured together, or on an existing run.

use super::plan::{check_plan, read_plan};
use crate::args::GateArgs;
use crate::context::Context;
use crate::human::did_you_mean;
use crate::{EXIT_FAILED, EXIT_INCONCLUSIVE, EXIT_REGRESSION, Usage, out};
use rqps_model::{BuildSource, BuildSpec};
use rqps_plan::{Arm, Plan, Protocol, parse_budget};
use rqps_report::{Format, Gate, GateRules, Outcome};
use rqps_store::{RunFolder, Status};
use rqps_workloads::microbenchmarks;
use std::path::Path;
use std::process::ExitCode;

/// The default plan.
const PLAN: &str = "verdicts";
/// The plan of `--quick`.
const QUICK_PLAN: &str = "quick";
/// Means standard output.
const STDOUT: &str = "-";

pub fn run(context: &Context, args: &GateArgs) -> anyhow::Result<ExitCode> {
    context
        .require_format(&[Format::Text, Format::Markdown], "outputs are --markdown, --junit and --json")?;
    check_outputs(args)?;
    match (&args.run, &args.base, &args.head) {
        (Some(run), ..) => judge(&context.run_path(run)?, args),
        (None, Some(base), Some(head)) => {
            let execution = super::run::begin(context, plan(base, head, args)?)?;
            super::run::execute_then(context, execution, |folder| {
                super::run::write_report(folder)?;
                judge(folder, args)
            })
        }
        _ => {
            Err(Usage("nothing to judge: write rqps gate RUN, or rqps gate --base BUILD --head BUILD".into())
                .into())
        }
    }
}

/// The plan that measures head against base. Base is measured twice, unless the plan turns `control` off.
fn plan(base: &str, head: &str, args: &GateArgs) -> anyhow::Result<Plan> {
    let name = args.plan.as_deref().unwrap_or(if args.quick { QUICK_PLAN } else { PLAN });
    let mut plan = read_plan(name)?;
    if plan.protocol != Protocol::Isolated {
        return Err(Usage(format!("the plan {name} has no blocks; it needs protocol = \"isolated\"")).into());
    }
    let config = args.config.clone().unwrap_or_else(|| plan.arms[plan.base_index()].config.clone());
    plan.arms = vec![arm("base", base, &config)?, arm("head", head, &config)?];
    plan.base = "base".to_owned();
    plan.name = "gate".to_owned();
    if let Some(budget) = &args.budget {
        let budget = parse_budget(budget);
        plan.budget =
            Some(budget.map_err(|why| Usage(format!("--budget {why}; write for example --budget 15m")))?);
    }
    if let Some(unknown) = args.tests.iter().find(|name| microbenchmarks::test_by_name(name).is_none()) {
        let hint = did_you_mean(unknown, microbenchmarks::tests().iter().map(|test| test.name));
        let listed = format!("`rqps plan show {PLAN}` lists them");
        return Err(Usage(format!("--tests: no test `{unknown}`{hint}; {listed}")).into());
    }
    if !args.tests.is_empty() {
        plan.workload.steps.clone_from(&args.tests);
    }
    // The resolved plan is checked like any other. Its warnings have been shown before.
    Ok(check_plan(&plan.to_toml()?, "gate")?.plan)
}

fn arm(name: &str, build: &str, config: &str) -> anyhow::Result<Arm> {
    let mut build: BuildSpec = build.parse().map_err(|error| Usage(format!("--{name}: {error}")))?;
    match &mut build.source {
        BuildSource::Version(_) => {}
        BuildSource::Path(path) => *path = std::path::absolute(&path)?,
        BuildSource::Source(source) => *source = source.clone().at(&std::env::current_dir()?),
    }
    Ok(Arm { name: name.to_owned(), ..Arm::new(build, config) })
}

/// Judges the run in `folder` and writes the outputs; the exit code is the result.
fn judge(folder: &Path, args: &GateArgs) -> anyhow::Result<ExitCode> {
    let run = RunFolder::open(folder)?;
    if run.status.status != Status::Complete {
        out::message(&format!("the run is {}: judging what it has measured so far", run.status.status));
    }
    let gate = rqps_report::gate(&run, &rules(args))?;
    write(&gate, args)?;
    Ok(match gate.outcome {
        Outcome::Regressed => ExitCode::from(EXIT_REGRESSION),
        _ if run.status.status == Status::Failed => ExitCode::from(EXIT_FAILED),
        Outcome::Undecided => ExitCode::from(EXIT_INCONCLUSIVE),
        Outcome::Passed => ExitCode::SUCCESS,
    })
}

fn rules(args: &GateArgs) -> GateRules {
    GateRules {
        fail_on: args.fail_on.iter().flatten().copied().collect(),
        mixed: args.fail_on.contains(&None),
        inconclusive: args.inconclusive_is_failure,
    }
}

/// Writes the requested outputs; Markdown goes to standard output unless another output does.
fn write(gate: &Gate, args: &GateArgs) -> anyhow::Result<()> {
    let outputs = [(&args.markdown, &gate.markdown), (&args.junit, &gate.junit), (&args.json, &gate.json)];
    for (place, text) in outputs {
        match place.as_deref() {
            None => {}
            Some(STDOUT) => out::print(text)?,
            Some(path) => out::write_file(Path::new(path), text)?,
        }
    }
    if args.markdown.is_none() && stdouts(args) == 0 {
        out::print(&gate.markdown)?;
    }
    Ok(())
}

/// Rejects two outputs on standard output, before anything is measured.
fn check_outputs(args: &GateArgs) -> anyhow::Result<()> {
    if stdouts(args) > 1 {
        return Err(
            Usage("only one output can go to standard output: name files for the others".into()).into()
        );
    }
    Ok(())
}

fn stdouts(args: &GateArgs) -> usize {
    [&args.markdown, &args.junit, &args.json]
        .into_iter()
        .filter(|place| place.as_deref() == Some(STDOUT))
        .count()
}
