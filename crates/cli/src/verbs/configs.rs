//! `configs`: the shipped configs, or one of them as used on this host.

use crate::args::{ConfigsArgs, OutputFormat};
use crate::context::Context;
use crate::listing::{Column, Listing};
use crate::out;
use serde_json::json;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(context: &Context, args: &ConfigsArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else {
        let configs = rqps_servers::shipped_configs();
        let mut listing = Listing::new(vec![Column::words("config"), Column::elastic("about")]);
        for config in &configs {
            listing.row(vec![config.name.to_string().into(), config.summary.to_string().into()]);
        }
        let json = || {
            Ok(configs.iter().map(|config| json!({ "name": config.name, "about": config.summary })).collect())
        };
        listing.print(context, json)?;
        return Ok(ExitCode::SUCCESS);
    };
    context.only(&[OutputFormat::Text, OutputFormat::Json], "a config is no table")?;
    let config = rqps_servers::load_config(name)?;
    match context.format {
        OutputFormat::Json => {
            let value = json!({ "name": config.name, "hash": config.hash, "text": config.text });
            out::print_line(&serde_json::to_string_pretty(&value)?)?;
        }
        _ => out::print_line(&config.text)?,
    }
    Ok(ExitCode::SUCCESS)
}
