//! `clean`: remove the data directories that unfinished runs have left.

use crate::args::{CleanArgs, OutputFormat};
use crate::context::Context;
use crate::out;
use rqps_executor::Orphans;
use std::path::PathBuf;
use std::process::ExitCode;

pub fn run(context: &Context, args: &CleanArgs) -> anyhow::Result<ExitCode> {
    context.only(&[OutputFormat::Text, OutputFormat::Json], "what is removed is no table")?;
    let Orphans { removed, unsure } = match &args.run {
        Some(name) => {
            // A whole path may be of a folder that is gone.
            let whole = Some(PathBuf::from(name)).filter(|path| path.is_absolute());
            let path = whole.map_or_else(|| context.run_path(name), Ok)?;
            let removed = rqps_executor::clean(&path, &context.dirs)?.into_iter().collect();
            Orphans { removed, unsure: Vec::new() }
        }
        None => rqps_executor::clean_orphans(&context.dirs)?,
    };
    for folder in &unsure {
        let folder = folder.display();
        out::tell(&format!(
            "left alone: the data of {folder}, which is not there, nor is the directory that it was in (is its disk \
             mounted?); if it is gone for good: rqps clean {folder}"
        ));
    }
    if removed.is_empty() {
        out::tell("nothing to remove");
    }
    if context.format == OutputFormat::Json {
        out::print_line(&serde_json::to_string_pretty(&removed)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for place in removed {
        out::print_line(&format!("removed {}", place.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
