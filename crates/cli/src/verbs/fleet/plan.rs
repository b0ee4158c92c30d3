//! Plans a fleet: builds, configs, pieces, tasks.

use super::{shown, submit};
use crate::args::FleetRunArgs;
use crate::build_progress::with_build_progress;
use crate::context::Context;
use crate::kit::KIT;
use crate::verbs::plan::{check_plan, read_plan};
use crate::{Usage, out};
use anyhow::Context as _;
use rqps_builds::{Build, Dirs};
use rqps_fleet::{
    Error, Fleet, Piece, Place, Slurm, Spec, Task, cut, now_ms, pieces_for, replicas_of, script, this_host,
};
use rqps_model::BuildSource;
use rqps_plan::Plan;
use rqps_plan::estimate::duration_text;
use rqps_store::counted;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Hosts that measure each comparison: the fewest for a verdict over hosts.
const REPLICAS: usize = 3;
/// Folders of fleets of one plan.
const FOLDERS_MAX: u32 = 10_000;

pub fn run(context: &Context, args: &FleetRunArgs) -> anyhow::Result<ExitCode> {
    let mut plan = read_plan(&args.plan)?;
    let (place, hosts, outside) = place(args)?;
    let groups = replicas_of(&hosts, REPLICAS.min(hosts.len()));
    let smallest = groups.iter().map(Vec::len).min().unwrap_or(1);
    let pieces = cut(&plan, pieces_for(smallest));
    let tasks: Vec<Task> = (1..=groups.len() as u32)
        .flat_map(|replica| {
            pieces.iter().zip(1..).map(move |(piece, number)| Task::new(number, replica, piece.seconds))
        })
        .collect();
    let program = std::env::current_exe().context("finding this program")?;
    let folder = free_folder(context, &plan.name)?;
    let cache = cache(context, &place)?;
    let spec = Spec {
        format: rqps_fleet::FORMAT,
        id: id(&folder),
        plan: plan.name.clone(),
        place,
        groups,
        outside,
        program_sha256: sha256(&program)?,
        arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
        builds: BTreeMap::new(),
        cache,
        tasks,
    };
    announce(&spec, &pieces);
    if args.dry_run {
        return print_scripts(&spec, &folder);
    }
    let dirs = Dirs { cache: spec.cache.clone(), work: context.dirs.work.clone() };
    let what = format!("getting the builds of {} arms", plan.arms.len());
    let ingredients =
        with_build_progress(context, &what, None, |watch| rqps_executor::resolve(&KIT, &plan, &dirs, watch))?;
    let builds: Vec<Build> = ingredients.into_iter().map(|ingredients| ingredients.build).collect();
    let folder = claim_folder(context, &plan.name)?;
    pin(&mut plan, &builds, &folder)?;
    let hashes = plan.arms.iter().zip(&builds).map(|(arm, build)| (arm.name.clone(), build.hash.clone()));
    let spec = Spec { id: id(&folder), builds: hashes.collect(), ..spec };
    let pieces = cut(&plan, pieces_for(smallest));
    let texts = pieces.iter().map(checked).collect::<anyhow::Result<Vec<String>>>()?;
    let fleet = Fleet::create(&folder, spec, &plan.to_toml()?, &texts, &program)?;
    out::message(&format!("fleet       {}", shown(&fleet.folder)));
    submit(context, &fleet)
}

/// Where tasks run, the fleet's hosts, and the partition's other ones.
fn place(args: &FleetRunArgs) -> anyhow::Result<(Place, Vec<String>, Vec<String>)> {
    let (Some(partition), Some(wanted)) = (&args.partition, args.hosts) else {
        return Ok((Place::Local, vec![this_host()], Vec::new()));
    };
    let (mut hosts, mut outside) = Slurm.hosts(partition)?;
    let (partition, wanted) = (partition.clone(), wanted as usize);
    if hosts.len() < wanted {
        return Err(Error::TooFewHosts { partition, found: hosts.len(), wanted }.into());
    }
    outside.extend(hosts.split_off(wanted));
    Ok((Place::Slurm { partition }, hosts, outside))
}

/// `results/fleet-NAME-1`, with the first number that is free.
fn free_folder(context: &Context, name: &str) -> anyhow::Result<PathBuf> {
    let results = std::path::absolute(&context.results)?;
    let free = (1..FOLDERS_MAX)
        .map(|number| results.join(format!("fleet-{name}-{number}")))
        .find(|path| !path.exists());
    free.ok_or_else(|| Usage(format!("{} is full of fleets of {name}", results.display())).into())
}

/// Makes the folder: another call of the same moment gets the next number.
fn claim_folder(context: &Context, name: &str) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(&context.results)?;
    loop {
        let folder = free_folder(context, name)?;
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(anyhow::Error::new(error).context(format!("creating {}", folder.display())));
            }
        }
    }
}

/// All hosts share a cache: `RQPS_CACHE`, or one beside the fleets.
fn cache(context: &Context, place: &Place) -> anyhow::Result<PathBuf> {
    let is_named = std::env::var_os("RQPS_CACHE").is_some_and(|value| !value.is_empty());
    if is_named || *place == Place::Local {
        return Ok(context.dirs.cache.clone());
    }
    Ok(std::path::absolute(&context.results)?.join("cache"))
}

/// Exact versions, finished builds and copies of config files, so that all hosts and all jobs have the same.
fn pin(plan: &mut Plan, builds: &[Build], folder: &Path) -> anyhow::Result<()> {
    for (arm, build) in plan.arms.iter_mut().zip(builds) {
        match &mut arm.build.source {
            BuildSource::Version(version) => version.clone_from(&build.version),
            source @ BuildSource::Source(_) => *source = BuildSource::Path(build.root.clone()),
            BuildSource::Path(_) => {}
        }
        if arm.config.contains('/') {
            let from = PathBuf::from(&arm.config);
            let to = folder.join("configs").join(&arm.name);
            fs::create_dir_all(&to).with_context(|| format!("creating {}", to.display()))?;
            let to = to.join(from.file_name().unwrap_or(from.as_os_str()));
            fs::copy(&from, &to).with_context(|| format!("copying {}", from.display()))?;
            arm.config = to.to_string_lossy().into_owned();
        }
    }
    Ok(())
}

/// The piece as a plan, checked like any other.
fn checked(piece: &Piece) -> anyhow::Result<String> {
    let text = piece.plan.to_toml()?;
    check_plan(&text, "the plan of a piece")?;
    Ok(text)
}

fn announce(spec: &Spec, pieces: &[Piece]) {
    let hosts: usize = spec.groups.iter().map(Vec::len).sum();
    let seconds: f64 = pieces.iter().map(|piece| piece.seconds).sum::<f64>() * spec.groups.len() as f64;
    out::message(&format!(
        "{} on {}: {} of the plan, each on {}",
        counted(spec.tasks.len(), "task"),
        counted(hosts, "host"),
        counted(pieces.len(), "piece"),
        counted(spec.groups.len(), "host"),
    ));
    out::message(&format!("needs       about {} of all hosts together", duration_text(seconds)));
    if spec.groups.len() < REPLICAS {
        out::message(&format!(
            "note: a verdict over hosts needs {REPLICAS} hosts; with fewer, each host has its own verdicts"
        ));
    }
}

fn print_scripts(spec: &Spec, folder: &Path) -> anyhow::Result<ExitCode> {
    let Place::Slurm { partition } = &spec.place else {
        let tasks: Vec<&str> = spec.tasks.iter().map(|task| task.id.as_str()).collect();
        out::print_line(&tasks.join("\n"))?;
        return Ok(ExitCode::SUCCESS);
    };
    for task in &spec.tasks {
        let name = format!("{}1", spec.job_prefix(&task.id));
        out::print_line(&script(spec, folder, task, &name, partition))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Distinguishes fleets, also of folders that were deleted.
fn id(folder: &Path) -> String {
    let sum = Sha256::digest(format!("{} {}", folder.display(), now_ms()));
    sum.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(path: &Path) -> anyhow::Result<String> {
    let program = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(Sha256::digest(program).iter().map(|byte| format!("{byte:02x}")).collect())
}
