//! `builds`: the cached builds.

use crate::context::Context;
use crate::listing::{Cell, Column, Listing};
use crate::{human, out};
use rqps_builds::Build;
use std::process::ExitCode;

pub fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let builds = rqps_builds::list_builds(&context.dirs)?;
    if builds.is_empty() {
        let cache = context.dirs.cache.display();
        out::message(&format!("no build in {cache}; get one with `rqps install postgres 18`"));
    }
    list(context, &builds)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints builds as a list.
pub fn list(context: &Context, builds: &[Build]) -> anyhow::Result<()> {
    let mut listing = Listing::new(vec![
        Column::text("build"),
        // The path ends with it.
        Column::text("hash").optional(1),
        Column::number("size"),
        Column::elastic("family").optional(3),
        Column::elastic("from").optional(2),
        Column::elastic("path"),
    ]);
    for build in builds {
        listing.row(vec![
            build.label().into(),
            Cell::with_exact(build.short_hash(), &build.hash),
            Cell::with_exact(human::bytes(build.size_bytes), build.size_bytes),
            build.family.to_string().into(),
            build.origin.as_str().into(),
            build.root.display().to_string().into(),
        ]);
    }
    listing.print(context, || Ok(serde_json::to_value(builds)?))
}
