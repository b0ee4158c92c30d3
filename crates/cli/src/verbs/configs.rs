//! `configs`: the shipped configs, or one of them as used on this host.

use crate::Usage;
use crate::args::ConfigsArgs;
use crate::context::Context;
use crate::listing::{Column, Listing};
use crate::out;
use rqps_model::Dbms;
use rqps_report::Format;
use rqps_servers::{ShippedConfig, shipped_configs};
use serde_json::json;
use std::process::ExitCode;

pub fn run(context: &Context, args: &ConfigsArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else {
        let only = given_dbms(args)?;
        let configs_of = |dbms| shipped_configs(dbms).into_iter().map(move |config| (dbms, config));
        let listed = Dbms::ALL.into_iter().filter(|dbms| only.is_none_or(|only| only == *dbms));
        let configs: Vec<(Dbms, ShippedConfig)> = listed.flat_map(configs_of).collect();
        let columns = vec![Column::text("dbms"), Column::text("config"), Column::elastic("about")];
        let mut listing = Listing::new(columns);
        for (dbms, config) in &configs {
            listing.row(vec![
                dbms.to_string().into(),
                config.name.to_string().into(),
                config.summary.to_string().into(),
            ]);
        }
        let json = || {
            let object = |(dbms, config): &(Dbms, ShippedConfig)| json!({ "dbms": dbms.name(), "name": config.name, "about": config.summary });
            Ok(configs.iter().map(object).collect())
        };
        listing.print(context, json)?;
        return Ok(ExitCode::SUCCESS);
    };
    context.require_format(&[Format::Text, Format::Json], "a config is not a table")?;
    let config = rqps_servers::load_config(dbms_of(args, name)?, "", name)?;
    match context.format {
        Format::Json => {
            let value = json!({ "name": config.name, "hash": config.hash, "text": config.text });
            out::print_line(&serde_json::to_string_pretty(&value)?)?;
        }
        _ => out::print_line(&config.text)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn given_dbms(args: &ConfigsArgs) -> anyhow::Result<Option<Dbms>> {
    let parsed = args.dbms.as_deref().map(str::parse).transpose();
    Ok(parsed.map_err(|error| Usage(format!("{error}")))?)
}

/// The given DBMS, otherwise the first that has a config of this name, otherwise Postgres.
fn dbms_of(args: &ConfigsArgs, name: &str) -> anyhow::Result<Dbms> {
    if let Some(dbms) = given_dbms(args)? {
        return Ok(dbms);
    }
    let has = |dbms: &Dbms| rqps_servers::load_config(*dbms, "", name).is_ok();
    Ok(Dbms::ALL.into_iter().find(has).unwrap_or(Dbms::Postgres))
}
