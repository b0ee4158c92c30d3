//! `host`: the facts about this host that a run records.

use crate::context::Context;
use crate::listing::{Column, Listing};
use rqps_probe::HostFacts;
use std::process::ExitCode;

pub fn run(context: &Context) -> anyhow::Result<ExitCode> {
    context.dirs.create_work()?;
    let facts = HostFacts::collect(&context.dirs.work)?;
    let mut listing = Listing::new(vec![Column::text("fact"), Column::elastic("value")]);
    for (name, value) in facts.key_values() {
        listing.row(vec![name.into(), value.into()]);
    }
    listing.print(context, || Ok(serde_json::to_value(&facts)?))?;
    Ok(ExitCode::SUCCESS)
}
