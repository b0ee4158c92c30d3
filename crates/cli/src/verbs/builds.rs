//! `builds`: what is here.

use crate::args::OutputFormat;
use crate::context::Context;
use crate::out;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let builds = rqps_servers::list_builds(&context.dirs)?;
    if context.format == OutputFormat::Json {
        out::print_line(&serde_json::to_string_pretty(&builds)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if builds.is_empty() {
        eprintln!("no build in {}; `rqps install postgres 18` obtains one", context.dirs.cache.display());
    }
    for build in builds {
        let megabytes = build.size_bytes as f64 / 1e6;
        let (label, hash) = (build.label(), build.short_hash());
        out::print_line(&format!("{label:18} {hash}  {megabytes:>6.1} MB  {}", build.version_text))?;
        out::print_line(&format!("{:18} {} from {}", "", build.root.display(), build.origin))?;
    }
    Ok(ExitCode::SUCCESS)
}
