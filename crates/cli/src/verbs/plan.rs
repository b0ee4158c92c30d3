//! `plan`: check a plan, show its steps, list and print the shipped ones.

use super::run::Hopeless;
use crate::args::{PlanArgs, PlanVerb};
use crate::context::Context;
use crate::database::structure;
use crate::kit::KIT;
use crate::listing::{Column, Listing};
use crate::mistakes::{Foreseen, add_named, complete, elsewhere, foresee, unpublished};
use crate::progress::with_quiet_spinner;
use crate::{EXIT_FAILED, Usage, out};
use rqps_builds::{file_meant, with_file_meant};
use rqps_executor::Needs;
use rqps_model::{BuildSpec, Dbms, counted, did_you_mean};
use rqps_plan::estimate::estimate;
use rqps_plan::shipped::{SHIPPED_PLANS, shipped_plan};
use rqps_plan::{
    CheckedPlan, Plan, PlanContext, PlanErrors, Problem, parse_budget, render_schedule, schedule,
};
use rqps_report::Format;
use rqps_workloads::sql::dialect_of_address;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufReader, Cursor};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub fn run(context: &Context, args: &PlanArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        PlanVerb::Check { plan } => return check(context, plan),
        PlanVerb::Show { plan, toml } => show(context, plan, *toml)?,
        PlanVerb::Ls => list(context)?,
        PlanVerb::Print { plan } => {
            context.require_format(&[Format::Text], "a plan is TOML")?;
            out::print(shipped(plan)?)?;
        }
        PlanVerb::Capture { file } => {
            context.require_format(&[Format::Text], "a plan is TOML")?;
            let name = file.display().to_string();
            let failed = |why: String| Usage(format!("{name}: {why}"));
            let source = rqps_builds::open_file(file).map_err(|error| failed(error.to_string()))?;
            let plan = rqps_workloads::sql::plan_of(&mut BufReader::new(source), &name).map_err(failed)?;
            out::print(&plan)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn check(context: &Context, name: &str) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "the output is not a table")?;
    let checked = match parse(&text_of(name)?, name) {
        Ok(checked) => checked,
        Err(errors) => return Err(with_those_of_sql(context, errors)?.into()),
    };
    warn(&checked, name);
    let CheckedPlan { mut plan, builds, .. } = checked;
    let budget = super::run::fit_to_budget(&mut plan, Hopeless::FOR_BLOCKS);
    let mut mistakes: Vec<String> = budget.err().iter().map(|Usage(why)| format!("{name}: {why}")).collect();
    let driver = KIT.driver(&plan)?;
    let unfit = plan.arms.iter().filter_map(|arm| driver.check_build(&arm.build).err());
    mistakes.extend(unfit.map(|error| error.to_string()));
    let limits = rqps_executor::limits_of(&plan, &context.dirs);
    let mut found = foresee((&plan.arms, true), &limits, &context.dirs)?;
    mistakes.extend(found.all_mistakes(|_| false));
    let unpublished = unpublished(name, &builds, &context.dirs);
    let mut unfit = driver.described().err();
    if mistakes.is_empty() && unpublished.is_empty() {
        super::run::warn_of_left_out(&plan, &found.ingredients, &found.without, &context.dirs)?;
        super::run::warn_of_many_clients(&plan);
        let needs = Needs::of(&plan, &found.ingredients, &context.dirs);
        unfit = unfit.or_else(|| needs.check().err());
    }
    // The plan may be for another host, so it has no mistake.
    if let Some(error) = &unfit {
        out::message(&format!("warning: it does not run on this host: {error}"));
    }
    let runs_here = unfit.is_none();
    let refused = rehearse(context, &plan, &found, runs_here)?;
    mistakes.extend(refused.into_iter().map(|why| format!("{name}: {why}")));
    if !mistakes.is_empty() || !unpublished.is_empty() {
        let mut errors = elsewhere(name, (&plan, builds), mistakes);
        errors.add(unpublished);
        return Err(Usage(errors.to_string()).into());
    }
    let steps = plan.steps().len();
    let controls = plan.arms.iter().filter(|arm| arm.control).count();
    let arms = plan.arms.len() - controls;
    match context.format {
        Format::Json => {
            let value = json!({
                "plan": name, "arms": arms, "controls": controls, "steps": steps, "runs_here": runs_here
            });
            out::print_line(&serde_json::to_string_pretty(&value)?)?;
        }
        _ => out::print_line(&format!(
            "{name}: no mistakes{}; {}{}, {} each",
            if runs_here { "" } else { ", but it does not run on this host" },
            counted(arms, "arm"),
            if controls > 0 { " and a control" } else { "" },
            counted(steps, "step")
        ))?,
    }
    Ok(if runs_here { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
}

/// The mistakes of a plan with those in what it names, and what servers refuse of the SQL that has no other.
fn with_those_of_sql(context: &Context, mut errors: PlanErrors) -> anyhow::Result<Usage> {
    let found = add_named(context, &mut errors);
    if let (Some(found), Some(plan)) = (found, errors.rest.take()) {
        // Without sound tables every statement on them would be refused.
        let is_of_tables = |one: &Problem| one.place.is_empty() || one.place.starts_with("[sql]");
        if found.arms.is_empty() || errors.problems.iter().any(is_of_tables) {
            if has_sql(&plan)? {
                out::message("note: SQL is not tried before these mistakes are corrected");
            }
        } else {
            errors.elsewhere.extend(rehearse(context, &plan, &found, true)?);
        }
    }
    Ok(Usage(errors.to_string()))
}

/// Whether there is SQL of the user's own that a server can try.
fn has_sql(plan: &Plan) -> anyhow::Result<bool> {
    let has_own = KIT.driver(plan)?.has_own_statements(plan);
    Ok(has_own || plan.arms.iter().any(|arm| !arm.after_load.is_empty()))
}

/// How long the tables of one build may take to load.
const REHEARSAL_MAX: Duration = Duration::from_secs(30);

/// What servers of the builds that are here refuse of own SQL, each statement once; says what is not tried.
fn rehearse(
    context: &Context,
    plan: &Plan,
    found: &Foreseen,
    runs_here: bool,
) -> anyhow::Result<Vec<String>> {
    let driver = KIT.driver(plan)?;
    if !has_sql(plan)? {
        return Ok(Vec::new());
    }
    let untried = |why: &str| {
        out::message(&format!(
            "note: SQL is not tried {why}: a server parses it when the run starts, before anything is measured"
        ));
    };
    if !driver.can_rehearse(plan) {
        untried("here, as its tables take long to load");
        return Ok(Vec::new());
    }
    if !runs_here {
        untried("on this host");
        return Ok(Vec::new());
    }
    let mut refused: Vec<(String, Vec<&str>)> = Vec::new();
    let mut tried = BTreeSet::new();
    context.catch_signals();
    for (arm, one) in found.arms.iter().zip(&found.ingredients) {
        let Some(at) = plan.arms.iter().position(|planned| planned.name == arm.name) else { continue };
        let build = one.build.label();
        if !tried.insert((build.clone(), &one.build.hash, &one.config.hash, &arm.after_load)) {
            continue;
        }
        if !one.build.is_here() {
            untried(&format!("on {build}, which is not installed"));
            continue;
        }
        let what = format!("trying the SQL of arm {} on {build}", arm.name);
        let found = with_quiet_spinner(&what, || {
            rqps_executor::rehearse(&KIT, plan, (at, one), &context.dirs, (&context.stop, REHEARSAL_MAX))
        });
        match found {
            Ok(statements) => {
                for statement in statements {
                    match refused.iter_mut().find(|(known, _)| *known == statement) {
                        Some((_, arms)) => arms.push(&arm.name),
                        None => refused.push((statement, vec![&arm.name])),
                    }
                }
            }
            Err(rqps_executor::Error::Interrupted) if context.stop.load(Ordering::Relaxed) => {
                return Err(rqps_executor::Error::Interrupted.into());
            }
            Err(rqps_executor::Error::Interrupted) => {
                untried(&format!("on {build}, as the tables take longer than {} s", REHEARSAL_MAX.as_secs()));
            }
            Err(error) => untried(&format!("on {build} ({})", error.short_text())),
        }
    }
    context.release_signals();
    let s = |arms: &[&str]| if arms.len() == 1 { "" } else { "s" };
    let told = refused.iter().map(|(text, arms)| format!("{text} (arm{} {})", s(arms), arms.join(", ")));
    Ok(told.collect())
}

fn show(context: &Context, name: &str, toml: bool) -> anyhow::Result<()> {
    let formats: &[Format] = if toml { &[Format::Text] } else { &[Format::Text, Format::Json] };
    context.require_format(
        formats,
        if toml { "--toml is a format itself" } else { "a schedule is not a table" },
    )?;
    let plan = read_plan(name)?;
    if toml {
        return out::print_line(&plan.to_toml()?);
    }
    let schedule = schedule(&plan);
    if context.format != Format::Json {
        return out::print_line(&rqps_report::wrapped(&render_schedule(&plan, &schedule), context.width));
    }
    let estimates = estimate(&schedule, &plan);
    let actions: Vec<_> = schedule
        .actions
        .iter()
        .zip(&estimates)
        .map(|(action, seconds)| {
            let (arm, name) = (&plan.arms[action.arm].name, action.kind.name());
            json!({ "seq": action.seq, "arm": arm, "action": name, "seconds": seconds })
        })
        .collect();
    let value = json!({ "plan": plan, "actions": actions });
    out::print_line(&serde_json::to_string_pretty(&value)?)
}

fn list(context: &Context) -> anyhow::Result<()> {
    let mut listing = Listing::new(vec![Column::text("plan"), Column::elastic("about")]);
    for shipped in SHIPPED_PLANS {
        listing.row(vec![shipped.name.into(), shipped.summary().into()]);
    }
    let plans = SHIPPED_PLANS.iter();
    listing.print(context, || {
        Ok(plans.map(|plan| json!({ "name": plan.name, "about": plan.summary() })).collect())
    })
}

fn shipped(name: &str) -> anyhow::Result<&'static str> {
    if let Some(plan) = shipped_plan(name) {
        return Ok(plan.text);
    }
    let names: Vec<&str> = SHIPPED_PLANS.iter().map(|plan| plan.name).collect();
    let all = || format!("The shipped plans are: {}.", names.join(", "));
    let remedy = did_you_mean(name, names.iter().copied()).unwrap_or_else(all);
    Err(Usage(format!("there is no shipped plan `{name}`. {remedy}")).into())
}

/// Reads and checks a plan by file or shipped name; warnings go to standard error.
pub fn read_plan(name: &str) -> anyhow::Result<Plan> {
    let checked = check_plan(&text_of(name)?, name)?;
    warn(&checked, name);
    Ok(checked.plan)
}

/// The same; if the plan has mistakes, those in its builds and configs are told with them, as far as they are here.
pub fn read_with_configs(context: &Context, name: &str) -> anyhow::Result<CheckedPlan> {
    let checked = parse(&text_of(name)?, name).map_err(|errors| complete(context, errors))?;
    warn(&checked, name);
    Ok(checked)
}

fn warn(checked: &CheckedPlan, name: &str) {
    for warning in &checked.warnings {
        out::message(&format!("warning: {}", warning.display(name)));
    }
}

/// The text of a plan by file or shipped name.
fn text_of(name: &str) -> anyhow::Result<String> {
    // A directory that happens to be named like a shipped plan is not meant.
    let path = Path::new(name);
    let is_file = path.is_file() || path.exists() && shipped_plan(name).is_none();
    let is_plan = |name: &str| name.ends_with(".toml");
    let question = || match path.extension() {
        Some(_) => file_meant(path, is_plan),
        None => plan_beside(name),
    };
    if is_file || name.contains('/') || name.ends_with(".toml") {
        let remedy = || match path.exists() {
            true => String::new(),
            false => match question() {
                Some(question) => format!(". {question}"),
                None => "; `rqps plan ls` lists the shipped plans".to_owned(),
            },
        };
        return rqps_builds::read_text(path)
            .map_err(|error| Usage(format!("can't read the plan {name}: {error}{}", remedy())).into());
    }
    let of_files = |error| match question().filter(|_| shipped_plan(name).is_none()) {
        Some(question) => Usage(format!("there is no plan `{name}`. {question}")),
        None => Usage(format!("{name} is not a file, and {error}")),
    };
    Ok(shipped(name).map_err(of_files)?.to_owned())
}

/// Asks for the file whose name lacks its ending.
fn plan_beside(name: &str) -> Option<String> {
    let file = format!("{name}.toml");
    Path::new(&file).is_file().then(|| format!("Did you mean `./{file}`?"))
}

/// Checks the text of the plan `name`.
pub fn check_plan(text: &str, name: &str) -> anyhow::Result<CheckedPlan> {
    parse(text, name).map_err(|errors| Usage(errors.to_string()).into())
}

fn parse(text: &str, name: &str) -> Result<CheckedPlan, PlanErrors> {
    let why = |error, path: &Path| with_file_meant(error, path).to_string();
    let context = PlanContext {
        known_config: &known_config,
        known_build: &known_build,
        read_text: &|path| rqps_builds::read_text(path).map_err(|error| why(error, path)),
        open: &|path| match path.to_str().filter(|text| dialect_of_address(text).is_some()) {
            Some(address) => Ok(Box::new(Cursor::new(structure(address)?))),
            None => match rqps_builds::open_file(path) {
                Ok(file) => Ok(Box::new(BufReader::new(file))),
                Err(error) => Err(why(error, path)),
            },
        },
        benchmarks: KIT.benchmarks,
    };
    Plan::parse(text, name, &context)
}

/// Sets the budget of a plan of blocks to that of an option `--budget`.
pub fn set_budget(plan: &mut Plan, budget: &str) -> Result<(), Usage> {
    let budget = parse_budget(budget);
    plan.budget =
        Some(budget.map_err(|why| Usage(format!("--budget {why}; write for example --budget 15m")))?);
    // What the plan promises beyond its own budget is not promised beyond the user's.
    if let Some(blocks) = &mut plan.isolated {
        blocks.blocks_min = 0;
    }
    Ok(())
}

/// Checks that a config can be read.
pub fn known_config(dbms: Dbms, name: &str) -> Result<(), String> {
    if dbms == Dbms::Directory {
        return if name == "none" { Ok(()) } else { Err("a directory has no config".to_owned()) };
    }
    rqps_servers::load_config(dbms, "", name).map(|_| ()).map_err(|e| e.to_string())
}

/// Checks directories and sources, and versions as far as they are known without the network.
fn known_build(spec: &BuildSpec) -> Result<(), String> {
    rqps_builds::check_known(spec).map_err(|error| error.to_string())
}
