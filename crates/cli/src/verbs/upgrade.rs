//! `upgrade`: what changes between two versions with one's own config, or in an existing run.

use crate::args::UpgradeArgs;
use crate::build_progress::get_build;
use crate::context::Context;
use crate::search::first_verdicts_seconds;
use crate::two_builds::{BuildArg, TwoBuilds};
use crate::{Usage, out};
use anyhow::Context as _;
use rqps_driver::PrivateDir;
use rqps_executor::Execution;
use rqps_model::{BuildSource, Dbms, natural};
use rqps_plan::Plan;
use rqps_plan::estimate::duration_text;
use rqps_report::{Format, Screen};
use rqps_servers::UnknownOption;
use rqps_store::{RunFolder, UPGRADE_FILE};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

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
        count_only_what_fits(&mut plan);
    }
    super::run::expect_time_for_verdicts(&plan)?;
    let adaptation =
        args.config.as_deref().map(|config| adapted_config(context, &plan, config)).transpose()?;
    let Adaptation { adapted, told, options } = adaptation.unwrap_or_default();
    if let Some(adapted) = &adapted {
        let config = adapted.path.display().to_string();
        plan.arms.iter_mut().filter(|arm| arm.name == NEW).for_each(|arm| arm.config.clone_from(&config));
    }
    let execution = super::run::begin_told(context, plan, context.made_results()?, &told)?;
    drop(adapted);
    // A resume knows by it what to conclude with, also of a run that was killed.
    let folder = RunFolder::at(&execution.folder())?;
    out::write_file(&folder.path().join(UPGRADE_FILE), format!("{}\n", goes_on(&folder)))?;
    let result = execute(context, execution);
    if let Some(cause) = cause(&result).filter(|cause| cause.needs_new_run()) {
        let text = not_started(&cause.short_text(), args.config.as_deref(), &options);
        out::write_file(&folder.path().join(UPGRADE_FILE), text.clone())?;
        out::message(&format!("\n{text}"));
    }
    result
}

/// Why an execution failed.
fn cause<T>(result: &anyhow::Result<T>) -> Option<&rqps_executor::Error> {
    result.as_ref().err().and_then(|error| error.downcast_ref())
}

/// The report of an upgrade one of whose versions refuses the config: what is known without its start.
fn not_started(why: &str, config: Option<&str>, options: &[String]) -> String {
    let config = config.map_or_else(|| "the config".to_owned(), |config| format!("`{config}`"));
    let mut text = format!(
        "Nothing was measured: {why}\n\nCorrect {config} and start a new upgrade: this run keeps a copy of it and \
         cannot go on.\n"
    );
    if !options.is_empty() {
        text.push_str("\nOptions that the new version does not take as written, besides:\n\n");
        options.iter().for_each(|option| text.push_str(&format!("- {option}\n")));
    }
    text
}

/// Whether one published version comes before another. A series means its newest release.
fn is_older(one: &BuildSource, other: &BuildSource) -> bool {
    let (BuildSource::Version(one), BuildSource::Version(other)) = (one, other) else { return false };
    natural(one, other).is_lt() && !other.starts_with(&format!("{one}."))
}

/// Runs the rest of an upgrade's execution, writes its report and page, and prints the report. If it fails, the report
/// has what was known until then.
pub fn execute(context: &Context, execution: Execution) -> anyhow::Result<ExitCode> {
    let (folder, mut is_concluded) = (execution.folder(), false);
    let ended = super::run::execute_then(context, execution, |folder| {
        is_concluded = true;
        conclude(context, folder)?;
        Ok(ExitCode::SUCCESS)
    });
    let is_interrupted = context.stop.load(Ordering::Relaxed);
    if !is_concluded && !is_interrupted && cause(&ended).is_none_or(|cause| !cause.needs_new_run()) {
        // Why the run ended is told, whether or not more can be.
        let _told = tell_unfinished(context, &folder);
    }
    ended
}

fn goes_on(folder: &RunFolder) -> String {
    format!("Not measured to the end: `rqps resume {}` goes on.", folder.name())
}

fn tell_unfinished(context: &Context, folder: &Path) -> anyhow::Result<()> {
    let run = RunFolder::open(folder)?;
    let report = rqps_report::upgrade(&run, Format::Markdown, Screen::default())?;
    out::write_file(&folder.join(UPGRADE_FILE), format!("{}\n\n{report}", goes_on(&run.folder)))?;
    print(context, folder)
}

/// Whether a run was begun by `upgrade`: it has the report from its beginning on.
pub fn is_upgrade(folder: &Path) -> bool {
    folder.join(UPGRADE_FILE).exists()
}

fn conclude(context: &Context, folder: &Path) -> anyhow::Result<()> {
    let page = super::run::write_report(folder)?;
    let report = folder.join(UPGRADE_FILE);
    out::write_file(
        &report,
        rqps_report::upgrade(&RunFolder::open(folder)?, Format::Markdown, Screen::default())?,
    )?;
    print(context, folder)?;
    out::message(&format!("\nreport      {}", report.display()));
    out::message(&format!("page        {}", page.display()));
    out::commands(&format!("why         rqps explain {}", folder.display()));
    Ok(())
}

/// Leaves out counting instructions under valgrind if the budget has no time for it: three MySQL servers take longer to
/// count than to measure.
fn count_only_what_fits(plan: &mut Plan) {
    let Some(seconds) = seconds_beyond_budget(plan).filter(|_| rqps_probe::counts_instructions().is_err())
    else {
        return;
    };
    if let Some(blocks) = &mut plan.isolated {
        blocks.count_instructions = false;
        out::message(&format!(
            "costs are CPU time: counting instructions as well would take about {}; --budget {:.0}m allows for it",
            duration_text(seconds),
            (seconds / 60.0).ceil()
        ));
    }
}

/// The estimated seconds until the first verdicts, if they exceed the budget.
fn seconds_beyond_budget(plan: &Plan) -> Option<f64> {
    let seconds = first_verdicts_seconds(plan);
    plan.budget.filter(|budget| seconds > budget.as_secs_f64()).map(|_| seconds)
}

/// A config that exists until the run has its own copy.
struct Adapted {
    path: PathBuf,
    _dir: PrivateDir,
}

impl Adapted {
    fn create(work: &Path, name: &str, text: String) -> anyhow::Result<Self> {
        let cannot_write = |path: &Path| format!("cannot write {}", path.display());
        let dir = PrivateDir::create(work, "upgrade")
            .map_err(|(path, error)| anyhow::Error::new(error).context(cannot_write(&path)))?;
        let path = dir.path().join(name).with_extension("conf");
        std::fs::write(&path, text).with_context(|| cannot_write(&path))?;
        Ok(Self { path, _dir: dir })
    }
}

/// What the new version needs of a config.
#[derive(Default)]
struct Adaptation {
    /// The config as the new version accepts it; `None` if it accepts the config, or only lacks some of its options.
    adapted: Option<Adapted>,
    /// Unknown options of which the user was told.
    told: Vec<String>,
    /// What becomes of each option that it does not take as written.
    options: Vec<String>,
}

/// The config as the new version accepts it: with the later names of options that it has renamed, and without those
/// whose values it refuses. Says what it measures the new version with and without.
fn adapted_config(context: &Context, plan: &Plan, config: &str) -> anyhow::Result<Adaptation> {
    let build_of = |name: &str| plan.arms.iter().find(|arm| arm.name == name).map(|arm| &arm.build);
    let (Some(old), Some(new)) = (build_of(OLD), build_of(NEW)) else {
        return Ok(Default::default());
    };
    let build = get_build(context, new)?;
    context.dirs.create_work()?;
    let work = &context.dirs.work;
    let config = rqps_servers::load_config(build.dbms, &build.version, config)?;
    let value =
        |name: &str| config.options.iter().find(|(option, _)| option == name).map(|(_, value)| value.clone());
    // A version need not know what is written with `loose_`.
    let unknown_to = |build| -> anyhow::Result<Vec<UnknownOption>> {
        let mut unknown = rqps_servers::unknown_options(build, &config, work)?;
        unknown.retain(|one| !one.loose);
        Ok(unknown)
    };
    let unknown = unknown_to(&build)?;
    let later: Vec<String> =
        unknown.iter().flat_map(|one| rqps_explain::renamed::later_names(&one.option)).collect();
    let known = rqps_servers::known_among(&build, &later, work)?;
    // As of refused values below.
    let unknown_to_old = match known.is_empty() {
        true => Vec::new(),
        false => unknown_to(&get_build(context, old)?)?,
    };
    let is_known = |name: &str| known.iter().any(|one| one == name) && value(name).is_none();
    let replacement = |one: &UnknownOption| {
        let written = value(&one.option).unwrap_or_default();
        rqps_explain::renamed::replacement((&one.option, &written), value, is_known)
    };
    let mut lines: Vec<String> = Vec::new();
    let (mut told, mut options) = (Vec::new(), Vec::new());
    for one in &unknown {
        let remedy =
            replacement(one).map_or_else(|| "remove it".to_owned(), |new| format!("use {}", new.text()));
        options.push(format!("{}: unknown; {remedy}", one.option));
    }
    let is_renamed = |one: &&UnknownOption| !unknown_to_old.iter().any(|old| old.option == one.option);
    for one in unknown.iter().filter(is_renamed) {
        if let Some(line) = replacement(one).and_then(|new| new.line()) {
            out::message(&format!("{} does not know {}: measured with {line}", build.label(), one.option));
            lines.push(line);
            told.push(one.option.clone());
        }
    }
    for one in unknown.iter().filter(|one| !is_renamed(one)) {
        if let Some(new) = replacement(one) {
            out::message(&format!("{} has {} as {}", build.label(), one.option, new.text()));
        }
    }
    let refused = rqps_servers::refused_options(&build, &config, work)?;
    if !refused.is_empty() {
        let old = get_build(context, old)?;
        let by_old = rqps_servers::refused_options(&old, &config, work)?;
        let by_both = refused.iter().find(|new| by_old.iter().any(|old| old.option == new.option));
        if let Some(one) = by_both {
            return Err(Usage(format!(
                "both {} and {} refuse `{} = {}` of config {}: {}. It has nothing to do with the upgrade: correct or remove it \
                 there, or use builds that take it",
                old.label(),
                build.label(),
                one.option,
                one.value,
                config.name,
                one.reason
            ))
            .into());
        }
    }
    for one in &refused {
        let (option, value) = (&one.option, &one.value);
        options.push(format!("{option} = {value}: {}", one.reason));
        out::message(&format!("{} is measured without {option} = {value}: {}", build.label(), one.reason));
    }
    lines.extend(rqps_servers::refused_lines(build.dbms, &refused));
    if lines.is_empty() {
        return Ok(Adaptation { adapted: None, told, options });
    }
    let text = config_text(build.dbms, &config.text, &lines);
    Ok(Adaptation { adapted: Some(Adapted::create(work, &config.name, text)?), told, options })
}

/// A config with more lines for the server.
fn config_text(dbms: Dbms, text: &str, lines: &[String]) -> String {
    let section = if dbms == Dbms::Postgres { "" } else { "[mysqld]\n" };
    format!("{text}\n{section}{}\n", lines.join("\n"))
}

fn print(context: &Context, folder: &Path) -> anyhow::Result<()> {
    let run = RunFolder::open(folder)?;
    out::print_line(&rqps_report::upgrade(&run, context.format, context.screen())?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_of_a_killed_upgrade_goes_with_the_next_one() {
        let work = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = work.path().join(format!("rqps-upgrade-{}-0", ended.id()));
        let other = work.path().join("rqps-upgrade-notes");
        [&left, &other].into_iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
        let adapted = Adapted::create(work.path(), "my", "[mysqld]\n".to_owned()).unwrap();
        assert!(!left.exists() && other.exists() && adapted.path.exists());
        let dir = adapted.path.parent().unwrap().to_owned();
        drop(adapted);
        assert!(!dir.exists());
    }

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
            seconds_beyond_budget(&two.plan().unwrap())
        };
        assert_eq!(beyond(["postgres-17", "postgres-18"], None), None);
        let mysql = ["mysql-8.0.31", "mysql-9.7"];
        assert!(beyond(mysql, None).unwrap() > 15.0 * 60.0);
        assert_eq!(beyond(mysql, Some("1h")), None);
    }
}
