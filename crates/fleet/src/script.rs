//! The job script of a task. It checks the program that it starts; everything else is done by that.

use std::path::Path;

use crate::spec::{Spec, Task};

/// The program's copy in the fleet's folder.
pub const PROGRAM: &str = "rqps";
/// Where jobs write what they print.
pub const OUTPUT: &str = "output";
/// Before its time limit a job is asked to stop: a run that stops by itself resumes with less loss.
pub(crate) const WARNING_SECONDS: u32 = 120;

/// The script of a job of this name in a partition, which must not use the hosts that are excluded. The folder's path
/// has no blanks and no quotes.
pub fn script(
    spec: &Spec,
    folder: &Path,
    task: &Task,
    (name, partition): (&str, &str),
    excluded: &[&str],
) -> String {
    let folder = folder.display();
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
         #SBATCH --output={folder}/{OUTPUT}/{task}.txt\n\
         {exclude}\
         echo \"{sum}  {folder}/{PROGRAM}\" | sha256sum --check --quiet - ||\n\
         {{ echo \"$(hostname): {folder} is not the folder of this job: is it shared?\"; exit 1; }}\n\
         export RQPS_CACHE='{cache}'\n\
         exec {folder}/{PROGRAM} fleet work {folder} {id} {task}\n",
        id = spec.id,
        minutes = task.limit_minutes,
        task = task.id,
        sum = spec.program_sha256,
        cache = spec.cache.display(),
    )
}
