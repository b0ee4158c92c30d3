//! Plans a fleet: builds, configs, pieces, tasks.

use super::{PREFIX, shown, submit, unanswered};
use crate::args::FleetRunArgs;
use crate::build_progress::with_build_progress;
use crate::context::Context;
use crate::database::take_dump;
use crate::kit::KIT;
use crate::verbs::plan::{check_plan, read_plan};
use crate::verbs::run::warn_of_own_configs;
use crate::{Usage, out};
use anyhow::Context as _;
use rqps_builds::{Dirs, sha256_hex};
use rqps_executor::{Ingredients, Needs};
use rqps_fleet::{
    Error, Fleet, OverSsh, PIECES, Piece, Place, Slurm, Spec, Task, check_path, cut, pieces_for, replicas_of,
    script, this_host,
};
use rqps_model::{BuildSource, counted};
use rqps_plan::estimate::duration_text;
use rqps_plan::{Plan, Protocol};
use rqps_report::Format;
use rqps_servers::is_file;
use rqps_stats::HOSTS_MIN;
use rqps_store::now_ms;
use rqps_workloads::sql::SqlPlan;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Hosts that measure each comparison.
const REPLICAS: usize = HOSTS_MIN;
/// Folders of fleets of one plan.
const FOLDERS_MAX: u32 = 10_000;

pub fn run(context: &Context, args: &FleetRunArgs) -> anyhow::Result<ExitCode> {
    let mut plan = read_plan(&args.plan)?;
    let (place, hosts, outside) = place(args).map_err(|error| match error.downcast() {
        Ok(error) => unanswered(error, "nothing was planned"),
        Err(error) => error,
    })?;
    let groups = replicas_of(&hosts, REPLICAS.min(hosts.len()));
    let smallest = groups.iter().map(Vec::len).min().unwrap_or(1);
    let pieces = cut(&plan, pieces_for(smallest));
    let mut tasks: Vec<Task> = (1..=groups.len() as u32)
        .flat_map(|replica| {
            pieces.iter().zip(1..).map(move |(piece, number)| Task::new(number, replica, piece.seconds))
        })
        .collect();
    limit(&mut tasks, &place)?;
    let program = std::env::current_exe().context("finding this program")?;
    let folder = free_folder(context, &plan.name)?;
    let cache = cache(context, args)?;
    let over_ssh = args.over_ssh.as_ref().map(|host| over_ssh(host)).transpose()?;
    check_path(&folder)?;
    check_path(&cache)?;
    let spec = Spec {
        format: rqps_fleet::FORMAT,
        id: id(&folder),
        folder: folder.clone(),
        plan: plan.name.clone(),
        place,
        groups,
        outside,
        program_sha256: sha256(&program)?,
        arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
        builds: BTreeMap::new(),
        files: BTreeMap::new(),
        over_ssh,
        cache,
        tasks,
    };
    announce(&spec, &pieces);
    warn_of_nothing_to_join(&plan);
    if args.dry_run {
        return print_scripts(context, &spec, &folder, &pieces);
    }
    let dirs = Dirs { cache: spec.cache.clone(), work: context.dirs.work.clone() };
    let what = format!("getting the builds of {}", counted(plan.arms.len(), "arm"));
    let ingredients =
        with_build_progress(context, &what, None, |watch| rqps_executor::resolve(&KIT, &plan, &dirs, watch))?;
    warn_of_own_configs(&plan, &ingredients, &dirs, &[])?;
    warn_of_budget(&plan, &pieces, &ingredients, &dirs);
    let folder = claim_folder(context, &plan.name)?;
    let made = make((context, &mut plan), &ingredients, spec, &folder, &program);
    let fleet = made.inspect_err(|_| {
        // Half a fleet is no use, and the next call would take another number.
        let _ = fs::remove_dir_all(&folder);
    })?;
    out::message(&format!("fleet       {}", shown(&fleet.folder)));
    submit(context, &fleet)
}

/// Fills the fleet's folder.
fn make(
    (context, plan): (&Context, &mut Plan),
    ingredients: &[Ingredients],
    spec: Spec,
    folder: &Path,
    program: &Path,
) -> anyhow::Result<Fleet> {
    let files = pin(plan, ingredients, folder)?;
    let hashes = plan.arms.iter().zip(ingredients);
    let builds = hashes.map(|(arm, one)| (arm.name.clone(), one.build.hash.clone())).collect();
    let cached = |(arm, one): (&rqps_plan::Arm, &Ingredients)| {
        Some((arm.name.clone(), one.build.root.strip_prefix(&spec.cache).ok()?.to_owned()))
    };
    let copied = || plan.arms.iter().zip(ingredients).filter_map(cached).collect();
    let over_ssh = spec.over_ssh.as_ref().map(|one| OverSsh { host: one.host.clone(), builds: copied() });
    let smallest = spec.groups.iter().map(Vec::len).min().unwrap_or(1);
    let spec = Spec { id: id(folder), builds, files, over_ssh, ..spec };
    let dump = keep_dump(context, plan, folder)?;
    let pieces = cut(plan, pieces_for(smallest));
    let text = |plan: &Plan| -> anyhow::Result<String> {
        let text = with_dump(plan, dump.as_deref())?;
        check_plan(&text, &folder.join(PIECES).join("piece").to_string_lossy())?;
        Ok(text)
    };
    let texts = pieces.iter().map(|piece| text(&piece.plan)).collect::<anyhow::Result<Vec<String>>>()?;
    Ok(Fleet::create(folder, spec, &text(plan)?, &texts, program)?)
}

/// Hours of measuring that `fleet collect` makes nothing of.
fn warn_of_nothing_to_join(plan: &Plan) {
    let why = match plan.protocol {
        _ if plan.arms.len() < 2 => "the plan has one arm, so there is nothing to compare",
        Protocol::Sequence if plan.passes == 1 => {
            "a sequence of one pass has no verdicts; write `passes = 3`, or protocol = \"isolated\""
        }
        _ => return,
    };
    out::message(&format!("warning: `rqps fleet collect` will have nothing to join: {why}"));
}

/// As `rqps run` warns, but now, and not in the output of a job.
fn warn_of_budget(plan: &Plan, pieces: &[Piece], ingredients: &[Ingredients], dirs: &Dirs) {
    let short = |piece: &&Piece| {
        let of_piece =
            |(arm, _): &(&rqps_plan::Arm, _)| piece.plan.arms.iter().any(|other| other.name == arm.name);
        let own: Vec<Ingredients> =
            plan.arms.iter().zip(ingredients).filter(of_piece).map(|(_, one)| one.clone()).collect();
        let needed_s = Needs::of(&piece.plan, &own, dirs).time.seconds;
        piece.plan.budget.is_some_and(|budget| budget.as_secs_f64() < needed_s)
    };
    let count = pieces.iter().filter(short).count();
    if count > 0 {
        out::message(&format!(
            "warning: the budget may end before the third block in {count} of {}, and so without verdicts; raise it, \
             or measure fewer tests",
            counted(pieces.len(), "piece")
        ));
    }
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
    Ok((Place::Slurm { partition, cluster: Slurm.cluster()? }, hosts, outside))
}

/// Keeps the tasks' time limits within the partition's: Slurm never starts a job that may take longer.
fn limit(tasks: &mut [Task], place: &Place) -> anyhow::Result<()> {
    let Place::Slurm { partition, .. } = place else { return Ok(()) };
    let Some(minutes) = Slurm.minutes_max(partition)? else { return Ok(()) };
    let mut shortened = 0;
    for task in tasks {
        shortened += usize::from(task.limit_minutes > minutes);
        task.limit_to(minutes, partition)?;
    }
    if shortened > 0 {
        out::message(&format!(
            "note: partition {partition} ends jobs after {}, sooner than {} would have: what is not done by then is \
             resumed by another job",
            duration_text(minutes as f64 * 60.0),
            counted(shortened, "task")
        ));
    }
    Ok(())
}

/// `results/fleet-NAME-1`, with the first number that is free.
fn free_folder(context: &Context, name: &str) -> anyhow::Result<PathBuf> {
    let results = std::path::absolute(&context.results)?;
    let free = (1..FOLDERS_MAX)
        .map(|number| results.join(format!("{PREFIX}{name}-{number}")))
        .find(|path| !path.exists());
    free.ok_or_else(|| Usage(format!("{} is full of fleets of {name}", results.display())).into())
}

/// Makes the folder: another call of the same moment gets the next number.
fn claim_folder(context: &Context, name: &str) -> anyhow::Result<PathBuf> {
    context.made_results()?;
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

/// The cache of all hosts: `RQPS_CACHE`, or one beside the fleets; where hosts share nothing, that of each.
fn cache(context: &Context, args: &FleetRunArgs) -> anyhow::Result<PathBuf> {
    let is_named = std::env::var_os("RQPS_CACHE").is_some_and(|value| !value.is_empty());
    if is_named || args.on.is_some() || args.over_ssh.is_some() {
        return Ok(std::path::absolute(&context.dirs.cache)?);
    }
    Ok(std::path::absolute(&context.results)?.join("cache"))
}

/// How hosts reach this one. Scripts name it, and `ssh` takes what begins with a dash for an option.
fn over_ssh(host: &str) -> anyhow::Result<OverSsh> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@.:/_-[]%".contains(c);
    if host.is_empty() || host.starts_with('-') || !host.chars().all(is_plain) {
        return Err(Usage(format!(
            "--over-ssh {host}: not a host; write HOST, USER@HOST or ssh://USER@HOST:PORT"
        ))
        .into());
    }
    let name = host.trim_start_matches("ssh://").rsplit('@').next().unwrap_or_default();
    let name = name.split([':', '/']).next().unwrap_or_default();
    if !name.is_empty() && (name, 22).to_socket_addrs().is_err() {
        out::message(&format!(
            "warning: this host does not know {name}: --over-ssh is how the other hosts reach this one"
        ));
    }
    Ok(OverSsh { host: host.to_owned(), builds: BTreeMap::new() })
}

/// Exact versions, finished builds and copies of files, so that all hosts and all jobs have the same. Returns the
/// hashes of those copies that nothing else checks, by path in the folder. The plan names copies relative to its
/// pieces, so that the folder can be moved.
fn pin(
    plan: &mut Plan,
    ingredients: &[Ingredients],
    folder: &Path,
) -> anyhow::Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    for (arm, Ingredients { build, config, .. }) in plan.arms.iter_mut().zip(ingredients) {
        match &mut arm.build.source {
            BuildSource::Version(version) => version.clone_from(&build.version),
            source @ BuildSource::Source(_) => *source = BuildSource::Path(build.root.clone()),
            BuildSource::Path(_) => {}
        }
        if is_file(&arm.config) {
            let from = PathBuf::from(&arm.config);
            let to = Path::new("configs").join(&arm.name).join(from.file_name().unwrap_or(from.as_os_str()));
            let in_fleet = Path::new(PIECES).join(&to);
            // Files that it includes are not beside the copy. What is shipped each host has, and fits to itself.
            let text = match config.shipped.is_empty() {
                true => config.text.clone(),
                false => rqps_servers::text_with_files(build.dbms, &build.version, &from)?,
            };
            write(&folder.join(&in_fleet), text.as_bytes())?;
            arm.config = to.to_string_lossy().into_owned();
            files.insert(in_fleet, sha256_hex(text.as_bytes()));
        }
    }
    Ok(files)
}

fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let directory = path.parent().unwrap_or(path);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(path, content))
        .with_context(|| format!("writing {}", path.display()))
}

/// Copies the dump that a plan of own SQL loads, or takes it. Each load compares its hash with the plan's.
fn keep_dump(context: &Context, plan: &mut Plan, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let taken = take_dump(context, plan, &folder.join("dump.sql"))?;
    if let Some(taken) = &taken {
        *plan = check_plan(&taken.plan, "the dump")?.plan;
    }
    let Some(dump) = plan.work.of::<SqlPlan>().and_then(SqlPlan::dump) else { return Ok(None) };
    let relative = Path::new("data").join(dump.path.file_name().unwrap_or(dump.path.as_os_str()));
    let copy = folder.join(PIECES).join(&relative);
    write(&copy, &[])?;
    let kept = match taken {
        Some(_) => fs::rename(&dump.path, &copy),
        None => fs::copy(&dump.path, &copy).map(drop),
    };
    kept.with_context(|| format!("copying {}", dump.path.display()))?;
    Ok(Some(relative))
}

/// The plan as a file, with its dump at another place, relative to it.
fn with_dump(plan: &Plan, dump: Option<&Path>) -> anyhow::Result<String> {
    let text = plan.to_toml()?;
    let Some(dump) = dump else { return Ok(text) };
    let mut table: toml::Table = text.parse()?;
    if let Some(path) = table.get_mut("sql").and_then(|sql| sql.get_mut("dump")?.get_mut("path")) {
        *path = dump.to_string_lossy().as_ref().into();
    }
    Ok(toml::to_string_pretty(&table)?)
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

fn print_scripts(
    context: &Context,
    spec: &Spec,
    folder: &Path,
    pieces: &[Piece],
) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "scripts are not a table")?;
    let script_of = |task: &Task| match &spec.place {
        Place::Slurm { partition, .. } => {
            let name = format!("{}1", spec.job_prefix(&task.id));
            Some(script(spec, folder, task, (&name, partition), &spec.excluded(task)))
        }
        Place::Local => None,
    };
    if context.format == Format::Json {
        let as_json = |task: &Task| {
            let plan = pieces.get(task.piece as usize - 1).map(|piece| &piece.plan);
            let arms = plan.map(|plan| plan.arms.iter().map(|arm| &arm.name).collect::<Vec<_>>());
            json!({
                "id": task.id, "piece": task.piece, "hosts": spec.groups.get(task.replica as usize - 1),
                "tests": plan.map(|plan| &plan.workload.steps), "arms": arms, "seconds_estimated": task.seconds,
                "limit_minutes": task.limit_minutes, "script": script_of(task),
            })
        };
        let tasks: Vec<Value> = spec.tasks.iter().map(as_json).collect();
        let value = json!({ "fleet": folder, "plan": spec.plan, "hosts": spec.groups, "tasks": tasks });
        out::print_line(&serde_json::to_string_pretty(&value)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for task in &spec.tasks {
        out::print_line(&script_of(task).unwrap_or_else(|| task.id.clone()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Distinguishes fleets, also of folders that were deleted.
fn id(folder: &Path) -> String {
    sha256_hex(format!("{} {}", folder.display(), now_ms()).as_bytes())[..8].to_owned()
}

fn sha256(path: &Path) -> anyhow::Result<String> {
    Ok(sha256_hex(&fs::read(path).with_context(|| format!("reading {}", path.display()))?))
}
