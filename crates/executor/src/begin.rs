//! Beginning a run, and taking one up again.

use crate::anew::lacks_results;
use crate::arm::{Ingredients, record};
use crate::describe::{meta, steps};
use crate::error::{Error, Result};
use crate::inputs;
use crate::kit::{Host, Kit};
use crate::place::Place;
use crate::run::Execution;
use crate::setup::Setup;
use crate::spec::memory_bytes_max;
use rqps_builds::{Build, Dirs, Watch};
use rqps_model::BuildSource;
use rqps_plan::{Arm, Plan, PlanContext, ProfileAfter, Protocol};
use rqps_probe::profile::Perf;
use rqps_servers::HostLimits;
use rqps_store::{Run, RunFolder, RunWriter, Status};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Obtains every arm's build and reads its config, in the plan's order. Builds from source take minutes: `watch`
/// hears of them and may end them.
pub fn resolve(kit: &Kit, plan: &Plan, dirs: &Dirs, watch: &mut Watch<'_>) -> Result<Vec<Ingredients>> {
    let builds = resolve_builds(kit, plan, dirs, watch)?;
    let mut limits = HostLimits::of(&dirs.work).shared_by(resident(plan));
    if let Some(most) = memory_bytes_max(plan) {
        limits.memory_bytes = limits.memory_bytes.min(most);
    }
    let with_config = |(arm, build): (&Arm, Build)| {
        let system = kit.system(build.dbms)?;
        let config = system.config(build.dbms, &arm.config, Some(&limits))?;
        Ok(Ingredients { build, config, system })
    };
    plan.arms.iter().zip(builds).map(with_config).collect()
}

/// How many servers hold their memory at the same time.
fn resident(plan: &Plan) -> u64 {
    match plan.protocol {
        Protocol::Sequence if plan.passes == 1 => 1,
        Protocol::Sequence | Protocol::Isolated => plan.arms.len() as u64,
    }
}

fn resolve_builds(kit: &Kit, plan: &Plan, dirs: &Dirs, watch: &mut Watch<'_>) -> Result<Vec<Build>> {
    let mut build = |arm: &Arm| Ok(kit.system(arm.build.dbms)?.build(dirs, &arm.build, watch)?);
    plan.arms.iter().map(&mut build).collect()
}

/// Makes a run folder for a plan below `results`.
pub fn begin(
    kit: &Kit,
    mut plan: Plan,
    ingredients: Vec<Ingredients>,
    dirs: &Dirs,
    results: &Path,
    program_version: &str,
) -> Result<Execution> {
    if plan.profile.after != ProfileAfter::Never {
        // Better known before hours of measuring than after.
        Perf::find()?;
    }
    let driver = kit.driver(&plan)?;
    let driver_text = driver.described()?;
    pin_versions(&mut plan, &ingredients);
    dirs.create_work()?;
    let host = kit.host.facts(&dirs.work)?;
    let folder = RunFolder::create(results, &plan.name)?;
    let mut writer = RunFolder::open_for_writing(folder.path())?;
    let toml =
        plan.to_toml().map_err(|e| Error::Plan { path: folder.plan_path(), problem: e.to_string() })?;
    let arms: Vec<_> = plan
        .arms
        .iter()
        .zip(&ingredients)
        .map(|(arm, made_of)| record(arm, arm.name == plan.base, made_of, None, None))
        .collect();
    let meta = meta(&plan, &ingredients, driver_text, program_version);
    pin_configs(&plan, &ingredients, &folder)?;
    let configs = plan.arms.iter().zip(&ingredients);
    let configs = configs.map(|(arm, made_of)| (format!("configs/{}.conf", arm.name), &*made_of.config.text));
    let files: Vec<_> = [("plan.toml".to_owned(), &*toml)].into_iter().chain(configs).collect();
    inputs::keep(&folder, &files)?;
    writer.begin_run(&toml, &meta, &steps(&plan), &arms, &host)?;
    let place = Place::of(dirs, writer.folder());
    Ok(Execution::new(Setup { plan, driver, ingredients, place, host: kit.host }, writer))
}

/// How a run is taken up again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resume {
    /// The host may be another one.
    pub other_host: bool,
    /// Time that a run of blocks gets from now on, whatever its plan's budget.
    pub more: Option<Duration>,
}

/// Takes a run up again. Builds, configs and host must be those it began with; `other_host` lets the host differ.
/// A run that is complete is taken up only when it has blocks and is to get `more` time, or when it lacks results of
/// steps that were cut off.
pub fn resume(kit: &Kit, path: &Path, dirs: &Dirs, how: Resume, watch: &mut Watch<'_>) -> Result<Execution> {
    let Resume { other_host, more } = how;
    // What is read is what the next step stands on: nobody else may be writing from here on.
    let folder = RunFolder::at(path)?;
    let writer = RunFolder::open_for_writing(folder.path())?;
    let run = writer.run()?;
    let isolated = run.meta.protocol == Protocol::Isolated.key();
    match (run.status.status, more) {
        (_, Some(_)) if !isolated => return Err(Error::NoMore(path.to_owned())),
        (Status::Complete, None) if isolated => return Err(Error::Ended(path.to_owned())),
        (Status::Complete, None) if !lacks_results(&run) => return Err(Error::Complete(path.to_owned())),
        _ => {}
    }
    let mut execution = reopened(kit, &run, writer, (dirs, other_host), watch)?;
    execution.take_up(&run)?;
    if let Some(more) = more {
        execution.give_time(more);
    }
    Ok(execution)
}

/// Takes a run up for CPU profiles, complete or not. Builds, configs and host must be those it began with;
/// `other_host` lets the host differ.
///
/// # Errors
/// As [`resume`], and when this host cannot take profiles.
pub fn reopen(
    kit: &Kit,
    path: &Path,
    dirs: &Dirs,
    other_host: bool,
    watch: &mut Watch<'_>,
) -> Result<Execution> {
    Perf::find()?;
    let folder = RunFolder::at(path)?;
    let writer = RunFolder::open_for_writing(folder.path())?;
    dirs.create_work()?;
    let execution = reopened(kit, &writer.run()?, writer, (dirs, other_host), watch)?;
    if !execution.plan().work.has_independent_tests() {
        return Err(Error::NotProfiled);
    }
    Ok(execution)
}

fn reopened(
    kit: &Kit,
    run: &Run,
    writer: RunWriter,
    (dirs, other_host): (&Dirs, bool),
    watch: &mut Watch<'_>,
) -> Result<Execution> {
    inputs::check(&run.folder)?;
    let plan_path = run.folder.plan_path();
    let text = rqps_builds::read_text(&plan_path).map_err(|source| Error::File {
        action: "read",
        path: plan_path.clone(),
        source,
    })?;
    let plan = Plan::parse(&text, &plan_path.to_string_lossy(), &PlanContext::trusting(kit.benchmarks))
        .map_err(|problem| Error::Plan { path: plan_path, problem: problem.to_string() })?
        .plan;
    let mut ingredients = resolve_builds(kit, &plan, dirs, watch)?;
    let ingredients = plan
        .arms
        .iter()
        .zip(ingredients.drain(..))
        .zip(&run.arms)
        .map(|((arm, build), then)| {
            same_build(then, &build)?;
            let pinned = pinned_config(&run.folder, &arm.name);
            let system = kit.system(build.dbms)?;
            let mut config = system.config(build.dbms, &pinned.to_string_lossy(), None)?;
            config.name.clone_from(&then.config_name);
            Ok(Ingredients { build, config, system })
        })
        .collect::<Result<Vec<_>>>()?;
    let driver = kit.driver(&plan)?;
    if !other_host {
        same_host(run, kit.host, dirs)?;
    }
    let place = Place::of(dirs, writer.folder());
    Ok(Execution::new(Setup { plan, driver, ingredients, place, host: kit.host }, writer))
}

fn same_build(then: &rqps_store::Arm, now: &Build) -> Result<()> {
    if then.build_hash == now.hash {
        return Ok(());
    }
    Err(Error::Changed { arm: then.name.clone(), then: then.build_hash.clone(), now: now.hash.clone() })
}

/// Names the exact version where the plan asks for the newest of a series, and the commit where it asks for a branch: a
/// resumed run must not get newer ones. A source without a commit may change meanwhile: what was built from it stays.
fn pin_versions(plan: &mut Plan, ingredients: &[Ingredients]) {
    for (arm, made_of) in plan.arms.iter_mut().zip(ingredients) {
        let build = &made_of.build;
        match (&mut arm.build.source, &build.commit) {
            (BuildSource::Version(version), _) => version.clone_from(&build.version),
            (BuildSource::Source(source), Some(commit)) => source.reference = Some(commit.clone()),
            (source @ BuildSource::Source(_), None) => *source = BuildSource::Path(build.root.clone()),
            (BuildSource::Path(_), _) => {}
        }
    }
}

/// Where a run keeps an arm's config as it was when the run began: a file may be edited meanwhile, and `sized` depends
/// on the free space of the disk.
fn pinned_config(folder: &RunFolder, arm: &str) -> PathBuf {
    folder.path().join("configs").join(format!("{arm}.conf"))
}

fn pin_configs(plan: &Plan, ingredients: &[Ingredients], folder: &RunFolder) -> Result<()> {
    for (arm, made_of) in plan.arms.iter().zip(ingredients) {
        let path = pinned_config(folder, &arm.name);
        let dir = path.parent().unwrap_or(&path);
        let written = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&path, &made_of.config.text));
        written.map_err(|source| Error::File { action: "write", path: path.clone(), source })?;
    }
    Ok(())
}

fn same_host(run: &Run, host: &dyn Host, dirs: &Dirs) -> Result<()> {
    let now = host.facts(&dirs.work)?;
    let differences: Vec<String> = run
        .host
        .iter()
        .filter(|fact| fact.comparable)
        .filter_map(|then| {
            let now = now.iter().find(|fact| fact.key == then.key)?;
            (now.value != then.value).then(|| format!("{} was {}, is {}", then.key, then.value, now.value))
        })
        .collect();
    if differences.is_empty() { Ok(()) } else { Err(Error::OtherHost(differences.join("; "))) }
}
