//! `clean`: delete leftover data directories of unfinished runs.

use crate::args::CleanArgs;
use crate::context::Context;
use crate::kit::KIT;
use crate::out;
use rqps_executor::Orphans;
use rqps_report::Format;
use std::path::PathBuf;
use std::process::ExitCode;

pub fn run(context: &Context, args: &CleanArgs) -> anyhow::Result<ExitCode> {
    context.require_format(&[Format::Text, Format::Json], "the output is not a table")?;
    let Orphans { removed, unsure } = match &args.run {
        Some(name) => {
            context.refuse_fleet(name)?;
            // An absolute path may name a deleted folder.
            let absolute = Some(PathBuf::from(name)).filter(|path| path.is_absolute());
            let path = absolute.map_or_else(|| context.run_path(name), Ok)?;
            let mut removed: Vec<_> = rqps_executor::clean(&path, &context.dirs)?.into_iter().collect();
            removed.extend(rqps_executor::clean_measured(&KIT, &path));
            Orphans { removed, unsure: Vec::new() }
        }
        None => rqps_executor::clean_orphans(&context.dirs)?,
    };
    for folder in &unsure {
        let folder = folder.display();
        out::message(&format!(
            "kept the data of {folder}: neither it nor its parent directory exists (is its disk mounted?). If the run is \
             gone for good: rqps clean {folder}"
        ));
    }
    if removed.is_empty() {
        out::message("nothing to remove");
    }
    if context.format == Format::Json {
        out::print_line(&serde_json::to_string_pretty(&removed)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for place in removed {
        out::print_line(&format!("removed {}", place.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
