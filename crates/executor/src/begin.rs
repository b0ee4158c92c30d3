//! Begins a run, resumes one, and opens one for CPU profiles.

use crate::anew::lacks_results;
use crate::arm::{Ingredients, recorded};
use crate::describe::{DRIVER, meta, steps};
use crate::error::{Error, Result};
use crate::inputs;
use crate::isolated::{self, Given};
use crate::kit::{Host, Kit};
use crate::place::Place;
use crate::run::Execution;
use crate::setup::Setup;
use crate::system::Reservation;
use rqps_builds::{Build, Dirs, Watch};
use rqps_model::{BuildSource, BuildSpec};
use rqps_plan::estimate::duration_text;
use rqps_plan::{Arm, Plan, ProfileAfter, Protocol};
use rqps_probe::profile::Perf;
use rqps_servers::HostLimits;
use rqps_store::{Run, RunFolder, RunWriter, Status};
use std::path::Path;
use std::time::Duration;

/// Obtains every arm's build and reads its config, in the plan's order. Builds from source take minutes: they
/// report to `watch`, which can stop them.
pub fn resolve(kit: &Kit, plan: &Plan, dirs: &Dirs, watch: &mut Watch<'_>) -> Result<Vec<Ingredients>> {
    let builds = resolve_builds(kit, plan, dirs, watch)?;
    with_configs(kit, plan, dirs, builds)
}

/// What [`resolve`] will get for each of some arms, as far as it is here: it neither downloads nor compiles, and builds
/// that are not here are known by name alone. Of an own config with wrong lines the rest, with their error.
pub fn foresee(
    kit: &Kit,
    arms: &[Arm],
    limits: &HostLimits,
    dirs: &Dirs,
) -> Vec<Result<(Ingredients, Option<Error>)>> {
    let foreseen = |arm: &Arm| -> Result<(Ingredients, Option<Error>)> {
        let build = match arm.build.source {
            BuildSource::Path(_) => {
                let system = kit.system(arm.build.dbms)?;
                Watch::nobody(|watch| system.build(dirs, &arm.build, watch))?
            }
            BuildSource::Version(_) | BuildSource::Source(_) => rqps_builds::foresee(dirs, &arm.build)?,
        };
        if !rqps_servers::is_file(&arm.config) {
            return Ok((with_config(kit, (arm, (build, Vec::new())), limits)?, None));
        }
        let system = kit.system(build.dbms)?;
        let (config, wrong) = rqps_servers::config_in_part(build.dbms, &build.version, &arm.config, limits)?;
        Ok((Ingredients { build, copies: Vec::new(), config, system }, wrong.map(Error::from)))
    };
    arms.iter().map(foreseen).collect()
}

fn with_configs(kit: &Kit, plan: &Plan, dirs: &Dirs, builds: Vec<Copies>) -> Result<Vec<Ingredients>> {
    let limits = limits_of(plan, dirs);
    plan.arms.iter().zip(builds).map(|one| with_config(kit, one, &limits)).collect()
}

fn with_config(
    kit: &Kit,
    (arm, (build, copies)): (&Arm, Copies),
    limits: &HostLimits,
) -> Result<Ingredients> {
    let system = kit.system(build.dbms)?;
    let config = system.config(&build, &arm.config, Some(limits))?;
    Ok(Ingredients { build, copies, config, system })
}

/// What of this host each of a plan's servers may use.
pub fn limits_of(plan: &Plan, dirs: &Dirs) -> HostLimits {
    let mut limits = HostLimits::of(&dirs.work).shared_by(resident(plan));
    if let Some(bytes_max) = plan.work.server_memory_bytes_max() {
        limits.memory_bytes = limits.memory_bytes.min(bytes_max);
    }
    limits
}

/// How many servers run at the same time.
pub(crate) fn resident(plan: &Plan) -> u64 {
    match plan.protocol {
        Protocol::Sequence if plan.passes == 1 => 1,
        Protocol::Sequence | Protocol::Isolated => plan.arms.len() as u64,
    }
}

/// A build and its other copies.
type Copies = (Build, Vec<Build>);

fn resolve_builds(kit: &Kit, plan: &Plan, dirs: &Dirs, watch: &mut Watch<'_>) -> Result<Vec<Copies>> {
    let driver = kit.driver(plan)?;
    plan.arms.iter().try_for_each(|arm| driver.check_build(&arm.build))?;
    // What is mistyped or missing is told before the first of them is downloaded or compiled.
    let specs: Vec<&BuildSpec> = plan.arms.iter().map(|arm| &arm.build).collect();
    rqps_builds::check_sources(dirs, &specs, watch)?;
    let copies = plan.blocks().copies;
    let build = |arm: &Arm| {
        let system = kit.system(arm.build.dbms)?;
        let build = system.build(dirs, &arm.build, watch)?;
        let others = system.copies(dirs, (&build, &arm.build), copies, watch)?;
        Ok((build, others))
    };
    plan.arms.iter().map(build).collect()
}

/// Creates a run folder for a plan in `results`. A dump that was `taken` for this run moves into it.
pub fn begin(
    kit: &Kit,
    mut plan: Plan,
    mut ingredients: Vec<Ingredients>,
    dirs: &Dirs,
    (results, taken): (&Path, Option<&Path>),
    program_version: &str,
) -> Result<Execution> {
    if plan.profile.after != ProfileAfter::Never {
        // Fails before hours of measuring, not after.
        Perf::find()?;
    }
    let driver = kit.driver(&plan)?;
    let driver_text = driver.described()?;
    let reserved = claim(kit, &plan)?;
    pin_versions(&mut plan, &mut ingredients);
    dirs.create_work()?;
    let host = kit.host.facts(&dirs.work)?;
    let folder = RunFolder::create(results, &plan.name)?;
    if let Some(dump) = taken {
        let failed = |source| Error::File { action: "write", path: folder.path().to_owned(), source };
        let path = std::path::absolute(folder.path()).map_err(failed)?.join("dump.sql");
        std::fs::rename(dump, &path).map_err(failed)?;
        plan.work = plan.work.with_dump_at(path).unwrap_or(plan.work);
    }
    let before_begin = |error: rqps_store::Error| error.before_begin(folder.path());
    let mut writer = RunFolder::open_for_writing(folder.path()).map_err(before_begin)?;
    let kept = with_kept_configs(&plan);
    let toml =
        kept.to_toml().map_err(|e| Error::Plan { path: folder.plan_path(), problem: e.to_string() })?;
    let arms = recorded(&plan, &ingredients);
    let meta = meta(&plan, &ingredients, driver_text, program_version);
    pin_configs(&plan, &ingredients, &folder)?;
    let configs = plan.arms.iter().zip(&ingredients);
    let configs = configs.map(|(arm, ingredients)| (pinned_config(&arm.name), &*ingredients.config.text));
    let files: Vec<_> = [("plan.toml".to_owned(), &*toml)].into_iter().chain(configs).collect();
    inputs::keep(&folder, &files)?;
    writer.begin_run(&toml, &meta, &steps(&plan), &arms, &host).map_err(before_begin)?;
    for (arm, one) in plan.arms.iter().zip(&ingredients) {
        if let Some(doubt) = one.system.doubt(&one.config, &dirs.work) {
            writer.add_note(Some(&arm.name), &doubt)?;
        }
    }
    let place = Place::of(dirs, writer.folder());
    Ok(Execution::new(Setup { plan, driver, ingredients, place, host: kit.host, reserved }, writer))
}

/// Options of [`resume`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Resume {
    /// Allows another host than the one the run began on.
    pub other_host: bool,
    /// Measures blocks for this much longer, whatever the plan's budget.
    pub more: Option<Duration>,
}

/// Resumes a run. Builds, configs and host must be those it began with; `other_host` allows another host. A
/// complete run is resumed only if it has blocks and `more` is given, or if it lacks results of interrupted
/// steps.
pub fn resume(kit: &Kit, path: &Path, dirs: &Dirs, how: Resume, watch: &mut Watch<'_>) -> Result<Execution> {
    let Resume { other_host, more } = how;
    // Locks the folder before reading: the next action depends on what is read.
    let folder = RunFolder::at(path)?;
    let writer = RunFolder::open_for_writing(folder.path())?;
    let run = writer.run()?;
    let isolated = run.meta.protocol == Protocol::Isolated.key();
    match (run.status.status, more) {
        (_, Some(_)) if !isolated => return Err(Error::NoMore(path.to_owned())),
        (Status::Complete, None) if !isolated && !lacks_results(&run) => {
            return Err(Error::Complete(path.to_owned()));
        }
        _ => {}
    }
    let mut doubt = None;
    if isolated && (more.is_some() || run.status.status == Status::Complete) {
        // Known before anything is loaded.
        inputs::check(&run.folder)?;
        let plan = inputs::plan_of(kit, &run.folder)?;
        if let Some(why) = isolated::nothing_left(&plan, &run)? {
            return Err(Error::NothingLeft { path: path.to_owned(), why });
        }
        let Some(more) = more else { return Err(Error::Ended(path.to_owned())) };
        let has_data = Place::of(dirs, &run.folder).path().is_some();
        match isolated::given(&plan, &run, more, has_data)? {
            Given::Measures { doubt: found } => doubt = found,
            Given::TooShort(why) => {
                let given = duration_text(more.as_secs_f64());
                return Err(Error::TooShort { path: path.to_owned(), given, why });
            }
        }
    }
    let mut execution = reopened(kit, &run, writer, (dirs, other_host), watch)?;
    execution.restore(&run)?;
    if let Some(doubt) = doubt {
        execution
            .add_note(format!("note: {doubt}, to judge by the noise so far; measuring anyway, as asked"));
    }
    if let Some(more) = more {
        execution.give_time(more);
    }
    Ok(execution)
}

/// Opens a run for CPU profiles, complete or not. Builds, configs and host must be those it began with;
/// `other_host` allows another host.
///
/// # Errors
/// If builds, configs or host have changed, and if this host or benchmark does not allow profiles.
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
    let plan = execution.plan();
    if !plan.work.can_be_profiled(&plan.workload) {
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
    let plan = inputs::plan_of(kit, &run.folder)?;
    let ingredients = plan
        .arms
        .iter()
        .zip(resolve_builds(kit, &plan, dirs, watch)?)
        .zip(&run.arms)
        .map(|((arm, (mut build, copies)), then)| {
            same_build(then, &build)?;
            has_copies(run, then, &build, &copies)?;
            build.origin.clone_from(&then.build_origin);
            let pinned = run.folder.path().join(pinned_config(&arm.name));
            let system = kit.system(build.dbms)?;
            let mut config = system.config(&build, &pinned.to_string_lossy(), None)?;
            config.name.clone_from(&then.config_name);
            Ok(Ingredients { build, copies, config, system })
        })
        .collect::<Result<Vec<_>>>()?;
    let driver = kit.driver(&plan)?;
    same_driver(run, driver.described()?)?;
    let reserved = claim(kit, &plan)?;
    if !other_host {
        same_host(run, kit.host, dirs)?;
    }
    let place = Place::of(dirs, writer.folder());
    Ok(Execution::new(Setup { plan, driver, ingredients, place, host: kit.host, reserved }, writer))
}

/// Reserves what is measured for the life of this run.
fn claim(kit: &Kit, plan: &Plan) -> Result<Vec<Reservation>> {
    let each = plan.arms.iter().map(|arm| kit.system(arm.build.dbms)?.reserve(&arm.build));
    each.filter_map(Result::transpose).collect()
}

fn same_build(then: &rqps_store::Arm, now: &Build) -> Result<()> {
    if then.build_hash == now.hash {
        return Ok(());
    }
    // A directory that is mounted in another way says so.
    let described = |hash: &str, text: &str| match then.build_version_text == now.version_text {
        true => hash.to_owned(),
        false => format!("{hash}, {text},"),
    };
    Err(Error::Changed {
        arm: then.name.clone(),
        then: described(&then.build_hash, &then.build_version_text),
        now: described(&now.hash, &now.version_text),
    })
}

/// Whether all copies of an arm's build that its blocks ran are still there.
fn has_copies(run: &Run, arm: &rqps_store::Arm, build: &Build, copies: &[Build]) -> Result<()> {
    let of_arm = run.blocks.iter().flat_map(|block| &block.arms).filter(|one| one.arm == arm.name);
    match of_arm.map(|one| one.copy).max() {
        Some(most) if most as usize > copies.len() + 1 => {
            Err(Error::CopyGone { arm: arm.name.clone(), build: build.root.clone() })
        }
        _ => Ok(()),
    }
}

/// A driver of another version may send another workload.
fn same_driver(run: &Run, now: Option<String>) -> Result<()> {
    match (run.meta.method_of(DRIVER), now) {
        (Some(then), Some(now)) if then != now => Err(Error::OtherDriver { then: then.to_owned(), now }),
        _ => Ok(()),
    }
}

/// Replaces "newest of a series" by the exact version and a branch by its commit: a resumed run must not get
/// newer ones. The build's origin keeps the branch's name. A source tree without a commit may change, so the plan names
/// the finished build instead.
fn pin_versions(plan: &mut Plan, ingredients: &mut [Ingredients]) {
    for (arm, Ingredients { build, .. }) in plan.arms.iter_mut().zip(ingredients) {
        match (&mut arm.build.source, &build.commit) {
            (BuildSource::Version(version), _) => version.clone_from(&build.version),
            (BuildSource::Source(source), Some(commit)) => {
                if let Some(name) = source.reference.replace(commit.clone())
                    && !commit.starts_with(&name)
                {
                    build.origin.push_str(&format!(", given as {name}"));
                }
            }
            (source @ BuildSource::Source(_), None) => *source = BuildSource::Path(build.root.clone()),
            (BuildSource::Path(_), _) => {}
        }
    }
}

/// Path in the run folder of an arm's config as it was when the run began: its file may be edited, and
/// `sized` depends on the free space of the disk.
fn pinned_config(arm: &str) -> String {
    format!("configs/{arm}.conf")
}

/// The plan with the folder's own copies of configs that are files: these may be edited, or last as long as a command.
fn with_kept_configs(plan: &Plan) -> Plan {
    let mut kept = plan.clone();
    for arm in kept.arms.iter_mut().filter(|arm| rqps_servers::is_file(&arm.config)) {
        // A control has base's.
        arm.config = pinned_config(if arm.control { &plan.base } else { &arm.name });
    }
    kept
}

fn pin_configs(plan: &Plan, ingredients: &[Ingredients], folder: &RunFolder) -> Result<()> {
    for (arm, Ingredients { config, .. }) in plan.arms.iter().zip(ingredients) {
        let path = folder.path().join(pinned_config(&arm.name));
        let dir = path.parent().unwrap_or(&path);
        // Not what it is in: a run that was deleted meanwhile stays so.
        let made = match std::fs::create_dir(dir) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        let written = made.and_then(|()| std::fs::write(&path, &config.text));
        written.map_err(|source| Error::File { action: "write", path: path.clone(), source })?;
    }
    Ok(())
}

/// Whether a fact of a host has changed. The size of a file system may grow: nothing measured depends on it.
fn is_other_fact(key: &str, then: &str, now: &str) -> bool {
    let is_size = |option: &&str| option.starts_with("size=") || option.starts_with("nr_inodes=");
    match key {
        "mount_options" => !then
            .split(',')
            .filter(|option| !is_size(option))
            .eq(now.split(',').filter(|option| !is_size(option))),
        _ => then != now,
    }
}

/// Facts of the file system that holds data directories.
const OF_WORK: [&str; 7] =
    ["filesystem", "mount_options", "device", "io_scheduler", "write_cache", "disk_model", "disk_bytes"];

fn same_host(run: &Run, host: &dyn Host, dirs: &Dirs) -> Result<()> {
    let now = host.facts(&dirs.work)?;
    let differences: Vec<(&str, String)> = run
        .host
        .iter()
        .filter(|fact| fact.comparable)
        .filter_map(|then| {
            let now = now.iter().find(|fact| fact.key == then.key)?;
            is_other_fact(&then.key, &then.value, &now.value)
                .then(|| (then.key.as_str(), format!("{} was {}, is {}", then.key, then.value, now.value)))
        })
        .collect();
    if differences.is_empty() {
        return Ok(());
    }
    let is_of_work = |key: &str| OF_WORK.contains(&key);
    let found = differences.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("; ");
    Err(match differences.iter().all(|(key, _)| is_of_work(key)) {
        true => Error::OtherFileSystem { work: dirs.work.clone(), found },
        false => Error::OtherHost(found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_may_grow_and_remains_the_same() {
        let is_other = |then, now| is_other_fact("mount_options", then, now);
        assert!(!is_other("relatime,rw,size=122880k", "relatime,rw,size=409600k"));
        assert!(is_other("relatime,rw,size=122880k", "noatime,rw,size=122880k"));
        assert!(is_other_fact("memory_gb", "1", "2"));
    }
}
