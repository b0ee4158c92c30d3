//! `build`: compile a database from source.

use super::builds::list;
use crate::args::BuildArgs;
use crate::build_progress::with_build_progress;
use crate::context::Context;
use crate::{Usage, out};
use rqps_model::{Dbms, SourceSpec};
use std::path::Path;
use std::process::ExitCode;

pub fn run(context: &Context, args: &BuildArgs) -> anyhow::Result<ExitCode> {
    let dbms: Dbms = args.dbms.parse().map_err(|e| Usage(format!("{e}")))?;
    let spec = spec(args)?;
    let what = format!("building {dbms} from {}", args.source);
    let build = with_build_progress(context, &what, args.jobs, |watch| {
        rqps_builds::compile(&context.dirs, dbms, &spec, watch)
    })?;
    out::message(&format!("origin  {}", build.origin));
    if let Some(log) = rqps_builds::log_of(&build) {
        out::message(&format!("log     {}", log.display()));
    }
    list(context, &[build])?;
    Ok(ExitCode::SUCCESS)
}

/// An existing path is taken literally, even with an `@` in it.
fn spec(args: &BuildArgs) -> anyhow::Result<SourceSpec> {
    let spec = if Path::new(&args.source).exists() {
        SourceSpec { place: args.source.clone(), reference: None, flavour: args.flavour.clone() }
    } else {
        SourceSpec::parse(&args.source, &args.flavour)
    };
    Ok(spec.at(&std::env::current_dir()?))
}
