//! `upgrade`: what changes between two versions with one's own config, or in an existing run.

mod adapted;

use super::run::Hopeless;
use crate::args::UpgradeArgs;
use crate::context::Context;
use crate::progress::with_quiet_spinner;
use crate::two_builds::{BuildArg, TwoBuilds, naming_argument};
use crate::{Usage, out};
use adapted::{Adaptation, adapted_config};
use rqps_executor::Execution;
use rqps_model::{BuildSource, natural};
use rqps_plan::Plan;
use rqps_plan::estimate::duration_text;
use rqps_report::{Format, Screen};
use rqps_store::{RunFolder, Status, UPGRADE_FILE};
use std::path::Path;
use std::process::ExitCode;

/// The default plan.
const PLAN: &str = "verdicts";
/// Names of the arms.
const OLD: &str = "old";
const NEW: &str = "new";

pub fn run(context: &Context, args: &UpgradeArgs) -> anyhow::Result<ExitCode> {
    let Some(new) = &args.new else {
        let folder = context.results_path(&args.old).map_err(|error| {
            let error = error.to_string();
            let stop = if error.ends_with(['.', '?']) { "" } else { "." };
            Usage(format!("{error}{stop} To measure an upgrade, name two builds: rqps upgrade OLD NEW"))
        })?;
        // A folder that one may only read still has its report.
        let _renewed = renew(&folder);
        print(context, &folder)?;
        return Ok(ExitCode::SUCCESS);
    };
    if args.old == *new {
        return Err(Usage(format!("OLD and NEW are both {new}: name two versions")).into());
    }
    let arm = |argument, arm, build| BuildArg { argument, arm, build };
    let two = TwoBuilds {
        name: args.label.as_deref().unwrap_or("upgrade"),
        plan: args.plan.as_deref().unwrap_or(PLAN),
        arms: [arm("OLD", OLD, &args.old), arm("NEW", NEW, new)],
        config: args.config.as_deref(),
        tests: &args.tests,
        tests_argument: "--tests",
        budget: args.budget.as_deref(),
    };
    let mut plan = two.plan()?;
    if let [old, .., new] = &plan.arms[..]
        && is_older(&new.build.source, &old.build.source)
    {
        let [old, new] = [old, new].map(|arm| &arm.build);
        out::message(&format!("warning: {new} is older than {old}: this reports what a downgrade changes"));
    }
    if args.plan.is_none() {
        super::run::fit_windows(&mut plan);
    }
    super::run::fit_to_budget(&mut plan, Hopeless::FOR_BLOCKS)?;
    let adaptation = args.config.as_deref().map(|config| adapted_config(context, &plan, config)).transpose();
    let adaptation = adaptation.map_err(|error| naming_argument(&two.arms, error))?;
    let Adaptation { adapted, told, options } = adaptation.unwrap_or_default();
    if let Some(adapted) = &adapted {
        let config = adapted.path.display().to_string();
        plan.arms.iter_mut().filter(|arm| arm.name == NEW).for_each(|arm| arm.config.clone_from(&config));
    }
    tell_counting(&plan);
    let begun = super::run::begin_told(context, plan, context.made_results()?, &told);
    match cause(&begun) {
        Some(rqps_executor::Error::UnknownOptions(mistakes)) => {
            return Err(Usage(mistakes.clone() + &beside(&options)).into());
        }
        // What was found of options needs no room.
        Some(rqps_executor::Error::HostTooSmall(why)) => {
            return Err(rqps_executor::Error::HostTooSmall(why.clone() + &beside(&options)).into());
        }
        _ => {}
    }
    let execution = begun.map_err(|error| naming_argument(&two.arms, error))?;
    drop(adapted);
    if args.config.is_some() {
        RunFolder::at(&execution.folder())?.keep_upgrade_options(&options)?;
    }
    execute_with(context, execution, args.config.as_deref())
}

/// Why an execution failed.
fn cause<T>(result: &anyhow::Result<T>) -> Option<&rqps_executor::Error> {
    result.as_ref().err().and_then(|error| error.downcast_ref())
}

/// What was found of options besides what ends an upgrade before its run, to be told after that.
fn beside(options: &[String]) -> String {
    if options.is_empty() {
        return String::new();
    }
    let items: Vec<String> = options.iter().map(|option| format!("- {option}")).collect();
    format!(
        "\n\nApart from that, the upgrade affects these options on the new version:\n\n{}",
        items.join("\n")
    )
}

/// Whether one published version comes before another. A series means its newest release.
fn is_older(one: &BuildSource, other: &BuildSource) -> bool {
    let (BuildSource::Version(one), BuildSource::Version(other)) = (one, other) else { return false };
    natural(one, other).is_lt() && !other.starts_with(&format!("{one}."))
}

/// Runs the rest of an upgrade's execution, writes its report and page, and prints the report. If it fails, the report
/// has what was known until then.
pub fn execute(context: &Context, execution: Execution) -> anyhow::Result<ExitCode> {
    execute_with(context, execution, None)
}

/// The same of an upgrade whose config is in this file, if it is known.
fn execute_with(context: &Context, execution: Execution, config: Option<&str>) -> anyhow::Result<ExitCode> {
    let (folder, mut is_concluded) = (execution.folder(), false);
    let name = RunFolder::at(&folder)?.name();
    // A resume knows by it what to conclude with, and it has what is known, also of a run that will be killed.
    write(&folder, Some(&begun(&name)))?;
    let ended = super::run::execute_then(context, execution, |folder| {
        is_concluded = true;
        conclude(context, folder)?;
        Ok(ExitCode::SUCCESS)
    });
    if !is_concluded {
        let refused = cause(&ended).filter(|cause| cause.needs_new_run());
        let first_line = match refused {
            Some(cause) if cause.refuses_config() => not_started(&cause.short_text(), config),
            Some(_) => REFUSED_STATEMENT.to_owned(),
            None => goes_on(&name),
        };
        // Why the run ended is told, whether or not more can be.
        let _told = write(&folder, Some(&first_line)).and_then(|()| print(context, &folder));
        if refused.is_some() {
            out::message(&format!("\n{first_line}"));
        }
    }
    ended
}

const REFUSED_STATEMENT: &str =
    "Not finished: a statement of the plan is refused. Correct it and start a new upgrade.";

/// Of a config that one of the versions refuses.
fn not_started(why: &str, config: Option<&str>) -> String {
    let config = config.map_or_else(|| "the config".to_owned(), |config| format!("`{config}`"));
    format!(
        "Nothing was measured: {why}\n\nCorrect {config} and start a new upgrade: this run has its own copy of it and \
         cannot be resumed."
    )
}

fn goes_on(name: &str) -> String {
    format!("Not finished: `rqps resume {name}` continues the measurement.")
}

/// How the report begins while its run goes on.
const BEGUN: &str = "Still running when this was written: ";

fn begun(name: &str) -> String {
    format!(
        "{BEGUN}`rqps status {name}` shows how far it is; if it was killed, `rqps resume {name}` continues it."
    )
}

/// Writes the report of what is known by now, below a line on how the run ended if it did not come to its end.
fn write(folder: &Path, first_line: Option<&str>) -> anyhow::Result<()> {
    let run = RunFolder::open(folder)?;
    let report = rqps_report::upgrade(&run, Format::Markdown, Screen::default())?;
    let first_line = first_line.map(|line| format!("{line}\n\n")).unwrap_or_default();
    out::write_file(&folder.join(UPGRADE_FILE), format!("{first_line}{report}"))?;
    Ok(())
}

/// Writes the report of a run that was killed anew: it still has that of its beginning.
fn renew(folder: &Path) -> anyhow::Result<()> {
    let is_of_beginning =
        std::fs::read_to_string(folder.join(UPGRADE_FILE)).is_ok_and(|text| text.starts_with(BEGUN));
    if !is_of_beginning || RunFolder::at(folder)?.in_use_by().is_some() {
        return Ok(());
    }
    let run = RunFolder::open(folder)?;
    let goes_on = goes_on(&run.folder.name());
    write(folder, Some(&*goes_on).filter(|_| run.state() != Status::Complete))
}

fn conclude(context: &Context, folder: &Path) -> anyhow::Result<()> {
    with_quiet_spinner("writing the report of the upgrade", || write(folder, None))?;
    let page = super::run::write_report(folder)?;
    print(context, folder)?;
    out::message(&format!("\nreport      {}", folder.join(UPGRADE_FILE).display()));
    out::message(&format!("page        {}", page.display()));
    out::commands(&format!("why         rqps explain {}", folder.display()));
    Ok(())
}

/// Says what counting instructions under valgrind takes.
fn tell_counting(plan: &Plan) {
    let Some(all) = super::run::seconds_with_counting(plan) else { return };
    out::message(&format!(
        "about {} of the {} until the first verdicts are spent counting instructions; `count_instructions = false` in \
         [isolated] of a plan turns that off",
        duration_text(all - super::run::seconds_without_counting(plan)),
        duration_text(all)
    ));
}

fn print(context: &Context, folder: &Path) -> anyhow::Result<()> {
    let run = RunFolder::open(folder)?;
    out::print_line(&rqps_report::upgrade(&run, context.format, context.screen())?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::first_verdicts_seconds;

    #[test]
    fn a_downgrade_is_known_by_published_versions_alone() {
        let version = |text: &str| BuildSource::Version(text.to_owned());
        for (one, other, older) in
            [("17.2", "18.1", true), ("9.6", "18", true), ("18", "17.11", false), ("17", "17.3", false)]
        {
            assert_eq!(is_older(&version(one), &version(other)), older, "{one} and {other}");
        }
        assert!(!is_older(&BuildSource::Path("/opt/a".into()), &BuildSource::Path("/opt/b".into())));
    }

    #[test]
    fn an_upgrade_of_postgres_has_time_to_count_instructions_and_one_of_mysql_has_not() {
        let beyond = |[old, new]: [&str; 2], budget| {
            let arm = |arm, build| BuildArg { argument: "OLD", arm, build };
            let tests = &[];
            let arms = [arm(OLD, old), arm(NEW, new)];
            let two = TwoBuilds {
                name: "upgrade",
                plan: PLAN,
                arms,
                config: None,
                tests,
                tests_argument: "--tests",
                budget,
            };
            let mut plan = two.plan().unwrap();
            let (seconds, budget_s) = (first_verdicts_seconds(&plan), plan.budget.unwrap().as_secs_f64());
            super::super::run::count_only_what_fits(&mut plan);
            let counted = super::super::run::seconds_with_counting(&plan);
            assert!(counted.is_none_or(|seconds| seconds <= budget_s), "{old}: {counted:?}");
            (seconds > budget_s).then_some(seconds)
        };
        assert_eq!(beyond(["postgres-17", "postgres-18"], None), None);
        let mysql = ["mysql-8.0.31", "mysql-9.7"];
        assert!(beyond(mysql, None).unwrap() > 15.0 * 60.0);
        assert_eq!(beyond(mysql, Some("1h")), None);
    }
}
