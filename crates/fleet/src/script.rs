//! The job script of a task. It checks the program that it starts; everything else is done by that.

use std::path::Path;

use rqps_model::short_hash;

use crate::spec::{SSH, Spec, Task};

/// The program's copy in the fleet's folder.
pub const PROGRAM: &str = "rqps";
/// Where jobs write what they print.
pub const OUTPUT: &str = "output";
/// Before its time limit a job is asked to stop: a run that stops by itself resumes with less loss.
pub(crate) const WARNING_SECONDS: u32 = 120;

/// The script of a job of this name in a partition, which must not use the hosts that are excluded. The paths of the
/// folder and the cache have no blanks and no quotes.
pub fn script(
    spec: &Spec,
    folder: &Path,
    task: &Task,
    (name, partition): (&str, &str),
    excluded: &[&str],
) -> String {
    let excluded = excluded.join(",");
    let exclude = if excluded.is_empty() { String::new() } else { format!("#SBATCH --exclude={excluded}\n") };
    format!(
        "#!/bin/sh\n\
         #SBATCH --job-name={name}\n\
         #SBATCH --partition={partition}\n\
         #SBATCH --nodes=1\n\
         #SBATCH --exclusive\n\
         #SBATCH --mem=0\n\
         #SBATCH --time={minutes}\n\
         #SBATCH --requeue\n\
         #SBATCH --signal=B:TERM@{WARNING_SECONDS}\n\
         #SBATCH --open-mode=append\n\
         #SBATCH --output={output}\n\
         {exclude}\
         export RQPS_CACHE='{cache}'\n\
         {work}",
        minutes = task.limit_minutes,
        output = spec.output(folder, task),
        cache = spec.cache.display(),
        work = match &spec.over_ssh {
            None => shared(spec, folder, task),
            Some(over_ssh) => fetched(spec, folder, task, &over_ssh.host),
        },
    )
}

/// Starts the program in the folder that all hosts share.
fn shared(spec: &Spec, folder: &Path, task: &Task) -> String {
    let (folder, sum) = (folder.display(), &spec.program_sha256);
    format!(
        "echo \"{sum}  {folder}/{PROGRAM}\" | sha256sum --check --quiet - ||\n\
         {{ echo \"$(hostname): {folder} is not the folder of this job: is it shared?\"; exit 1; }}\n\
         exec {folder}/{PROGRAM} fleet work {folder} {id} {task}\n",
        id = spec.id,
        task = task.id,
    )
}

/// Starts a copy of the program, which is fetched unless it is there.
fn fetched(spec: &Spec, folder: &Path, task: &Task, host: &str) -> String {
    let (folder, sum) = (folder.display(), &spec.program_sha256);
    let short = short_hash(sum);
    format!(
        "umask 022\n\
         fleets=\"${{RQPS_WORK:-/var/tmp/rqps-$(id -u)}}/fleets\"\n\
         program=\"$fleets/{PROGRAM}-{short}\"\n\
         is_whole() {{ echo \"{sum}  $1\" | sha256sum --check --status -; }}\n\
         [ -e \"$program\" ] && is_whole \"$program\" || {{\n\
         \x20   mkdir -p \"$fleets\" && {SSH} {host} cat {folder}/{PROGRAM} >\"$program.$$\" &&\n\
         \x20       is_whole \"$program.$$\" && chmod 755 \"$program.$$\" && mv \"$program.$$\" \"$program\"\n\
         }} || {{ echo \"$(hostname): cannot copy {folder}/{PROGRAM} from {host} by ssh\"; exit 1; }}\n\
         exec \"$program\" fleet work {folder} {id} {task} --over-ssh {host}\n",
        id = spec.id,
        task = task.id,
    )
}
