//! `builds`: what is here.

use crate::context::Context;
use crate::listing::{Cell, Column, Listing};
use crate::{human, out};
use rqps_builds::Build;
use std::process::ExitCode;

pub fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let builds = rqps_builds::list_builds(&context.dirs)?;
    if builds.is_empty() {
        let cache = context.dirs.cache.display();
        out::tell(&format!("no build in {cache}; `rqps install postgres 18` obtains one"));
    }
    list(context, &builds)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints builds as a list.
pub fn list(context: &Context, builds: &[Build]) -> anyhow::Result<()> {
    let mut listing = Listing::new(vec![
        Column::words("build"),
        Column::words("hash"),
        Column::numbers("size"),
        Column::words("family"),
        Column::words("from").dispensable(1),
        Column::elastic("place"),
    ]);
    for build in builds {
        listing.row(vec![
            build.label().into(),
            Cell::exactly(build.short_hash(), &build.hash),
            Cell::exactly(human::bytes(build.size_bytes), build.size_bytes),
            build.family.to_string().into(),
            build.origin.as_str().into(),
            build.root.display().to_string().into(),
        ]);
    }
    listing.print(context, || Ok(serde_json::to_value(builds)?))
}
