//! `install`: download builds.

use super::builds::list;
use crate::args::InstallArgs;
use crate::build_progress::how_to_go_on;
use crate::context::Context;
use crate::listing::{Cell, Column, Listing};
use crate::progress::with_spinner;
use crate::{Usage, out};
use rqps_builds::Address;
use rqps_model::{BuildSource, BuildSpec, Dbms};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

pub fn run(context: &Context, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = [&args.dbms].into_iter().chain(&args.versions).find(|text| text.contains('/')) {
        return Err(Usage(format!(
            "install downloads published versions, such as postgres-18; {path} needs no installation: write it into a plan, \
             as build = \"{path}\""
        ))
        .into());
    }
    // Plans and other commands write `postgres-18`.
    let (dbms, version) =
        args.dbms.split_once('-').map_or((&*args.dbms, None), |(dbms, one)| (dbms, Some(one)));
    let dbms: Dbms = dbms.parse().map_err(|e| Usage(format!("{e}")))?;
    let versions: Vec<&str> = version.into_iter().chain(args.versions.iter().map(String::as_str)).collect();
    if versions.is_empty() {
        return list_published(context, dbms);
    }
    let from = address(args, versions.len())?;
    let mut builds = Vec::new();
    for version in versions {
        if from.is_none() {
            let source = BuildSource::Version(version.to_owned());
            rqps_builds::check_known(&BuildSpec { dbms, source })?;
        }
        let what = format!("getting {dbms} {version}");
        let get = || match &from {
            Some(from) => rqps_builds::install_from(&context.dirs, dbms, version, from),
            None => rqps_builds::install(&context.dirs, dbms, version),
        };
        let build = context
            .ending_at_once(&AtomicBool::new(true), &how_to_go_on(&what), || with_spinner(&what, get))?;
        for note in &build.notes {
            out::message(&format!("note: {note}"));
        }
        builds.push(build);
    }
    list(context, &builds)?;
    Ok(ExitCode::SUCCESS)
}

/// The address given by the user.
fn address(args: &InstallArgs, versions: usize) -> anyhow::Result<Option<Address>> {
    let Some(url) = &args.from else {
        return Ok(None);
    };
    if versions > 1 {
        return Err(Usage("--from takes one version; install the others separately".to_owned()).into());
    }
    let is_sum = |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if args.sha256.as_ref().is_some_and(|sum| !is_sum(sum)) {
        return Err(
            Usage("--sha256 takes 64 hexadecimal digits, as printed by `sha256sum`".to_owned()).into()
        );
    }
    Ok(Some(Address { url: url.clone(), sha256: args.sha256.clone() }))
}

fn list_published(context: &Context, dbms: Dbms) -> anyhow::Result<ExitCode> {
    let published = rqps_builds::published(&context.dirs, dbms)?;
    let mut listing =
        Listing::new(vec![Column::text("version"), Column::number("MB"), Column::elastic("from")]);
    for build in &published {
        let size = build.size_mb.map_or_else(String::new, |size| size.to_string());
        listing.row(vec![build.version.as_str().into(), Cell::from(size), build.source.as_str().into()]);
    }
    listing.print(context, || Ok(serde_json::to_value(&published)?))?;
    Ok(ExitCode::SUCCESS)
}
