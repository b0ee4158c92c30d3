//! `install`: obtain builds.

use super::builds::list;
use crate::args::InstallArgs;
use crate::context::Context;
use crate::progress::doing;
use crate::{Usage, out};
use rqps_plan::Dbms;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let dbms: Dbms = args.dbms.parse().map_err(|e| Usage(format!("{e}")))?;
    let mut builds = Vec::new();
    for version in &args.versions {
        let build = doing(&format!("obtaining {dbms} {version}"), || {
            rqps_servers::install(&context.dirs, dbms, version)
        })?;
        for note in &build.notes {
            out::tell(&format!("note: {note}"));
        }
        builds.push(build);
    }
    list(context, &builds)?;
    Ok(ExitCode::SUCCESS)
}
