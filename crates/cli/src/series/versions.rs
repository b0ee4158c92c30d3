//! The versions of a series, as the command line names them.

use crate::Usage;
use crate::bisect::line::Line;
use crate::bisect::versions::{NothingBetween, Versions};
use crate::build_progress::get_build;
use crate::context::Context;
use crate::{out, search};
use rqps_model::{BuildSource, BuildSpec, Dbms};
use rqps_verdicts::version_key;

/// Between the ends of a range.
const RANGE: &str = "..";

/// A version that can be had.
#[derive(Debug, Clone)]
pub struct Known {
    pub build: BuildSpec,
    /// Exact: a series' newest version is another one next year.
    pub version: String,
}

/// The versions of a series that can be had, oldest first, and the others with the reason.
#[derive(Debug, Default)]
pub struct Found {
    pub known: Vec<Known>,
    pub skipped: Vec<(String, String)>,
}

/// Gets the builds of all versions that were asked for.
pub fn find(context: &Context, dbms: Dbms, requests: Vec<Request>) -> anyhow::Result<Found> {
    let mut found = Found::default();
    let items: Vec<String> = requests.iter().map(|request| request.version.clone()).collect();
    for Request { version: request, is_named } in requests {
        let build = build(dbms, &request)?;
        match get_build(context, &build) {
            Ok(one) => found.known.push(Known { build, version: one.version }),
            Err(error) if !is_named && search::is_of_version(&error) => {
                out::message(&format!("skipping {request}: {}", error.short_text()));
                found.skipped.push((request, error.short_text()));
            }
            Err(error) => return Err(anyhow::Error::from(error).context(format!("VERSIONS: {request}"))),
        }
    }
    found.known.sort_by_cached_key(|one| version_key(&one.version));
    found.known.dedup_by(|a, b| a.version == b.version);
    if found.known.len() < 2 {
        return Err(Usage(format!(
            "a series needs two versions or more that are available, such as 12..18 or 14,16,18; of {} there is {}",
            items.join(","),
            found.known.first().map_or("none", |one| &one.version)
        ))
        .into());
    }
    Ok(found)
}

/// A version of a series, as the command line has it.
pub struct Request {
    pub version: String,
    /// Named by itself, not by a range.
    is_named: bool,
}

/// Each item as versions: a range as the newest of each of its series.
pub fn requests(context: &Context, dbms: Dbms, items: &[String]) -> anyhow::Result<Vec<Request>> {
    let mut requests = Vec::new();
    for item in items {
        match item.split_once(RANGE) {
            Some((from, to)) => {
                for end in [from, to] {
                    build(dbms, end)?;
                }
                if version_key(from) >= version_key(to) {
                    return Err(wrong_way(item).into());
                }
                let releases = rqps_builds::releases(&context.dirs, dbms, from, to)?;
                let versions = Versions::between(dbms, releases, from, to).map_err(|why| match why {
                    NothingBetween::Unknown(version) => {
                        Usage(format!("VERSIONS: {item}: no published version {version} of {}", dbms.title()))
                    }
                    NothingBetween::Same(_) | NothingBetween::WrongWay { .. } => wrong_way(item),
                })?;
                let of_range = versions.coarse().versions.into_iter();
                requests.extend(of_range.map(|version| Request { version, is_named: false }));
            }
            None => {
                build(dbms, item)?;
                requests.push(Request { version: item.clone(), is_named: true });
            }
        }
    }
    Ok(requests)
}

fn wrong_way(range: &str) -> Usage {
    Usage(format!("VERSIONS: {range}: the older version comes first, as in 12..18"))
}

fn build(dbms: Dbms, version: &str) -> Result<BuildSpec, Usage> {
    let build = BuildSpec { dbms, source: BuildSource::Version(version.to_owned()) };
    rqps_builds::check_known(&build).map_err(|error| Usage(format!("VERSIONS: {error}")))?;
    Ok(build)
}
