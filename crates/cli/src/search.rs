//! Searches make a series of runs, each of them asked for by the results so far: they share a folder, and the same
//! command continues where an earlier one stopped.

use crate::build_progress::reopen;
use crate::context::Context;
use crate::{Usage, out};
use rqps_builds::Error as Builds;
use rqps_executor::{Error, Execution, Finish, Resume};
use rqps_plan::isolated::seconds_through;
use rqps_plan::{Plan, parse_budget};
use rqps_stats::Rules;
use rqps_store::{RunFolder, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What continues a search.
const SAME_COMMAND: &str = "the same command";
/// What a search has measured, in its folder.
pub const OF_BISECT: &str = "bisect.json";
pub const OF_SERIES: &str = "series.json";
pub const OF_ORDER: &str = "order.json";
const JOURNALS: [&str; 3] = [OF_BISECT, OF_SERIES, OF_ORDER];
/// Hex digits of a folder's name that tell searches with the same arguments apart.
const DIGITS: usize = 8;

/// The folder of a search, made if missing. Its name contains a hash of everything that decides what is measured. Of
/// shipped configs that is the name: their values follow the host, such as the free space of its disk.
pub fn folder(context: &Context, name: &str, template: &Plan) -> anyhow::Result<PathBuf> {
    let mut text = template.to_toml()?;
    for arm in template.arms.iter().filter(|arm| rqps_servers::is_file(&arm.config)) {
        text.push_str(&rqps_servers::text_with_files(arm.build.dbms, "", Path::new(&arm.config))?);
    }
    let hash = rqps_builds::sha256_hex(text.as_bytes());
    let folder = context.results.join(format!("{name}-{}", &hash[..DIGITS]));
    std::fs::create_dir_all(&folder)
        .map_err(|error| Usage(format!("cannot create the folder {}: {error}", folder.display())))?;
    Ok(folder)
}

/// The value of `--budget`.
pub fn budget(text: Option<&str>) -> Result<Option<Duration>, Usage> {
    let budget = text.map(parse_budget).transpose();
    budget.map_err(|why| Usage(format!("--budget {why}; write for example --budget 1h")))
}

/// The blocks of the first verdicts.
pub fn verdict_blocks() -> usize {
    Rules::default().looks[0].blocks
}

/// Estimated seconds of a plan in blocks until its first verdicts.
pub fn first_verdicts_seconds(plan: &Plan) -> f64 {
    seconds_through(plan, verdict_blocks())
}

/// Says that the budget ended a search.
pub fn say_budget_is_over() {
    out::message("the budget is used up; the same command continues");
}

/// Reads the journal in a folder; an empty one if there is none.
pub fn read<T: DeserializeOwned + Default>(folder: &Path, file: &str) -> anyhow::Result<T> {
    let path = folder.join(file);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(Usage(format!("cannot read {}: {error}", path.display())).into()),
    };
    let broken =
        |error| Usage(format!("{}: {error}; delete {} to start anew", path.display(), folder.display()));
    Ok(serde_json::from_str(&text).map_err(broken)?)
}

pub fn write(folder: &Path, file: &str, journal: &impl Serialize) -> anyhow::Result<()> {
    out::write_file(&folder.join(file), serde_json::to_string_pretty(journal)?)
}

/// Names of the searches in a results directory.
pub fn names(results: &Path) -> Vec<String> {
    let is_search = |folder: &Path| JOURNALS.iter().any(|journal| folder.join(journal).is_file());
    let folders = std::fs::read_dir(results).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut names: Vec<String> =
        folders.filter(|folder| is_search(folder)).map(|folder| name(&folder)).collect();
    names.sort();
    names
}

/// Runs the rest of an execution.
pub fn run(context: &Context, execution: &mut Execution) -> Result<Finish, Error> {
    execution.set_continued_by(SAME_COMMAND);
    context.catch_signals();
    let finish = crate::verbs::run::measure(context, execution);
    context.release_signals();
    if finish.as_ref().is_err_and(|error| !starts_anew(error)) {
        say_how_to_continue();
    }
    finish
}

/// Whether a measurement that failed so is not continued: the run can't be, or an arm is at fault.
fn starts_anew(error: &Error) -> bool {
    error.is_of_run() || error.faulty_arm().is_some()
}

/// Says how an interrupted search goes on.
pub fn say_how_to_continue() {
    out::message(&format!("to continue:    {SAME_COMMAND}"));
}

/// Measures more blocks of a run that has too few for verdicts, for this long. What keeps it from that is told.
///
/// # Errors
/// If it is interrupted.
pub fn measure_more(context: &Context, path: &Path, what: &str, more: Duration) -> anyhow::Result<()> {
    out::message(&format!("\nmore blocks of {what}, which has too few for verdicts"));
    match continued(context, path, Resume { more: Some(more), ..Resume::default() }) {
        Ok(Finish::Ended(ending)) => crate::verbs::run::say_ended(&ending),
        Ok(Finish::Complete | Finish::Partly(_)) => {}
        Err(Error::Interrupted) => return Err(Error::Interrupted.into()),
        Err(error) => out::message(&format!("no more of it: {error}")),
    }
    Ok(())
}

/// Ends a run that an earlier call began; false if that is impossible: it is deleted then.
///
/// # Errors
/// If it is interrupted, or what it needs is missing for now, such as room on the disk: the run is kept.
pub fn resume(context: &Context, path: &Path, what: &str) -> anyhow::Result<bool> {
    let status = RunFolder::open(path).map(|run| run.status.status);
    if matches!(status, Ok(Status::Complete)) {
        return Ok(true);
    }
    out::message(&format!("resuming the measurement of {what}"));
    match continued(context, path, Resume::default()) {
        Ok(_finish) => Ok(true),
        Err(error) if starts_anew(&error) => {
            out::message(&format!("the measurement of {what} can't be resumed and starts anew: {error}"));
            rqps_executor::clean(path, &context.dirs)?;
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn continued(context: &Context, path: &Path, how: Resume) -> Result<Finish, Error> {
    run(context, &mut reopen(context, path, how)?)
}

/// Whether only a build's own version is at fault, so that a search can go on without it.
pub fn is_of_version(error: &Builds) -> bool {
    matches!(
        error,
        Builds::UnknownVersion { .. }
            | Builds::NotPublished { .. }
            | Builds::CannotRun { .. }
            | Builds::MissingLibraries { .. }
            | Builds::WrongSum { .. }
            | Builds::BuildFailed { .. }
            | Builds::NotSource { .. }
    )
}

/// The name of a run's folder.
pub fn name(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
