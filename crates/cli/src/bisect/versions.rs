//! The rows of versions that a search walks: major versions first, then the minor ones where the change may be.

use super::line::{Line, Row};
use rqps_builds::Release;
use rqps_model::{BuildSource, BuildSpec, Dbms, counted};
use std::collections::BTreeSet;

/// All published versions from the good one to the bad one, oldest series first.
#[derive(Debug, Clone, PartialEq)]
pub struct Versions {
    dbms: Dbms,
    releases: Vec<Release>,
}

/// Why nothing lies between two versions.
#[derive(Debug, Clone, PartialEq)]
pub enum NothingBetween {
    Same(String),
    WrongWay { good: String, bad: String },
    Unknown(String),
}

impl Versions {
    /// From the releases of all series between two requests such as `16` or `16.2`. A series means its newest version.
    pub fn between(
        dbms: Dbms,
        mut releases: Vec<Release>,
        good: &str,
        bad: &str,
    ) -> Result<Self, NothingBetween> {
        let wrong_way =
            |good: &str, bad: &str| NothingBetween::WrongWay { good: good.to_owned(), bad: bad.to_owned() };
        // Of these, the list has nothing.
        if is_newer(good, bad) {
            return Err(wrong_way(good, bad));
        }
        // A list may have only the series of a version that can be had.
        let width = releases.last().map_or(1, |release| release.series.split('.').count());
        for request in [good, bad] {
            let numbers: Vec<&str> = request.split('.').collect();
            let is_known = |release: &Release| release.version == request || release.series == request;
            if numbers.len() > width && !releases.iter().any(is_known) {
                releases.push(Release { version: request.to_owned(), series: numbers[..width].join(".") });
            }
        }
        releases.sort_by_key(|release| key(&release.version));
        let newest = |request: &str| {
            let matches = |release: &&Release| {
                release.version == request || release.version.starts_with(&format!("{request}."))
            };
            let unknown = || NothingBetween::Unknown(request.to_owned());
            releases.iter().rfind(matches).cloned().ok_or_else(unknown)
        };
        let (good, bad) = (newest(good)?, newest(bad)?);
        if good.version == bad.version {
            return Err(NothingBetween::Same(good.version));
        }
        if key(&good.version) >= key(&bad.version) {
            return Err(wrong_way(&good.version, &bad.version));
        }
        // Later minor versions of the good one's series are another branch.
        let lies_between = |release: &Release| {
            let after_good = if release.series == good.series && good.series != bad.series {
                release.version == good.version
            } else {
                key(&release.version) >= key(&good.version)
            };
            after_good && key(&release.version) <= key(&bad.version)
        };
        releases.retain(lies_between);
        releases.dedup_by(|a, b| a.version == b.version);
        Ok(Versions { dbms, releases })
    }
}

impl Line for Versions {
    fn good(&self) -> &str {
        self.releases.first().map_or("", |release| &release.version)
    }

    fn bad(&self) -> &str {
        self.releases.last().map_or("", |release| &release.version)
    }

    /// The good version, the newest of each series up to the bad one.
    fn coarse(&self) -> Row {
        let is_last =
            |at: usize| self.releases.get(at + 1).is_none_or(|next| next.series != self.releases[at].series);
        let is_in = |at: &usize| *at == 0 || is_last(*at);
        let versions: Vec<String> =
            (0..self.releases.len()).filter(is_in).map(|at| self.releases[at].version.clone()).collect();
        Row { weights: vec![1.0; versions.len() - 1], versions }
    }

    /// With the minor versions at these places.
    fn refined(&self, row: &Row, places: &BTreeSet<usize>) -> Row {
        let mut refined = Row { versions: vec![row.versions[0].clone()], weights: Vec::new() };
        for (place, weight) in row.weights.iter().enumerate() {
            let (before, after) = (&row.versions[place], &row.versions[place + 1]);
            let series = |version: &String| {
                self.releases.iter().find(|one| one.version == *version).map(|one| &one.series)
            };
            let is_new_series = series(before) != series(after);
            let is_between = |one: &&Release| {
                places.contains(&place)
                    && Some(&one.series) == series(after)
                    && key(&one.version) < key(after)
                    && (is_new_series || key(&one.version) > key(before))
            };
            let minors: Vec<String> =
                self.releases.iter().filter(is_between).map(|one| one.version.clone()).collect();
            let count = minors.len() + 1;
            // The first version of a series has most of its changes.
            let share = |at: usize| match (count, is_new_series) {
                (1, _) => 1.0,
                (_, false) => 1.0 / count as f64,
                (_, true) if at == 0 => 0.5,
                (_, true) => 0.5 / (count - 1) as f64,
            };
            refined.weights.extend((0..count).map(|at| weight * share(at)));
            refined.versions.extend(minors.into_iter().chain([after.clone()]));
        }
        refined
    }

    fn build(&self, version: &str) -> BuildSpec {
        BuildSpec { dbms: self.dbms, source: BuildSource::Version(version.to_owned()) }
    }

    fn title(&self, version: &str) -> String {
        version.to_owned()
    }

    fn announcement(&self) -> String {
        let (good, bad, coarse) = (self.good(), self.bad(), self.coarse());
        if coarse.places() == 1 {
            return match self.releases.len() - 2 {
                0 => format!("{good} to {bad}: no published version lies between"),
                more => {
                    format!("{good} to {bad}: {bad} first, then the {} between", counted(more, "version"))
                }
            };
        }
        let majors = coarse.versions.join(", ");
        format!("{good} to {bad}: major versions first ({majors}), then the minor ones where the change is")
    }
}

/// Orders versions; a series, which stands for its newest version, comes after its other versions.
fn key(version: &str) -> Vec<u64> {
    numbers(version).chain([u64::MAX]).collect()
}

/// Whether a request is for newer versions than another, by the numbers that both have.
fn is_newer(one: &str, other: &str) -> bool {
    numbers(one).zip(numbers(other)).find(|(one, other)| one != other).is_some_and(|(one, other)| one > other)
}

fn numbers(version: &str) -> impl Iterator<Item = u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::line::{Blocks, search};
    use super::*;
    use rqps_stats::bisect::Rules;

    fn postgres() -> Vec<Release> {
        let of = |series: &str, last: u32| {
            let series = series.to_owned();
            (0..=last)
                .map(move |minor| Release { version: format!("{series}.{minor}"), series: series.clone() })
        };
        of("9.6", 24).chain(of("16", 12)).chain(of("17", 3)).chain(of("18", 1)).collect()
    }

    #[test]
    fn majors_come_first_then_the_minors_around_a_step() {
        let versions = Versions::between(Dbms::Postgres, postgres(), "16.2", "18").unwrap();
        assert_eq!((versions.good(), versions.bad()), ("16.2", "18.1"));
        let majors = versions.coarse();
        assert_eq!(majors.versions, ["16.2", "17.3", "18.1"]);
        let refined = versions.refined(&majors, &BTreeSet::from([0]));
        assert_eq!(refined.versions, ["16.2", "17.0", "17.1", "17.2", "17.3", "18.1"]);
        assert_eq!(refined.weights.iter().sum::<f64>(), 2.0);
        assert_eq!(refined.weights[0], 0.5, "the first of a series");
        assert_eq!(versions.refined(&refined, &BTreeSet::from([0])), refined);
    }

    #[test]
    fn within_a_series_all_minors_lie_between() {
        let versions = Versions::between(Dbms::Postgres, postgres(), "9.6.20", "9.6").unwrap();
        assert_eq!(versions.coarse().versions, ["9.6.20", "9.6.24"]);
        let refined = versions.refined(&versions.coarse(), &BTreeSet::from([0]));
        assert_eq!(refined.versions, ["9.6.20", "9.6.21", "9.6.22", "9.6.23", "9.6.24"]);
        let error = |good, bad| Versions::between(Dbms::Postgres, postgres(), good, bad).unwrap_err();
        assert_eq!(versions.announcement(), "9.6.20 to 9.6.24: 9.6.24 first, then the 3 versions between");
        let neighbours = Versions::between(Dbms::Postgres, postgres(), "9.6.23", "9.6").unwrap();
        assert_eq!(neighbours.announcement(), "9.6.23 to 9.6.24: no published version lies between");
        let wrong_way =
            |good: &str, bad: &str| NothingBetween::WrongWay { good: good.into(), bad: bad.into() };
        assert_eq!(error("18", "17"), wrong_way("18", "17"));
        assert_eq!(error("17", "17.2"), wrong_way("17.3", "17.2"));
        assert_eq!(error("17", "17.3"), NothingBetween::Same("17.3".to_owned()));
        assert_eq!(error("16.2", "19"), NothingBetween::Unknown("19".to_owned()));
        let error_of_none = Versions::between(Dbms::Postgres, Vec::new(), "17", "16.2").unwrap_err();
        assert_eq!(error_of_none, wrong_way("17", "16.2"), "nothing lies between");
    }

    /// Blocks of a version at this level, with little noise.
    fn at(level: f64) -> Vec<f64> {
        vec![level - 0.001, level + 0.001, level]
    }

    #[test]
    fn a_search_ends_at_the_minor_version_that_brought_the_step() {
        let versions = Versions::between(Dbms::Postgres, postgres(), "9.6", "18").unwrap();
        let order = |version: &str| versions.releases.iter().position(|one| one.version == version).unwrap();
        let (mut blocks, skipped, rules) =
            (Blocks::new(), BTreeSet::from(["17.2".to_owned()]), Rules::default());
        let mut asked = Vec::new();
        let found = loop {
            let found = search(&versions, &blocks, &skipped, &rules);
            let Some(ask) = found.answer.next else { break found };
            let version = found.row.versions[ask.version].clone();
            let level = if order(&version) >= order("17.1") { 0.1 } else { 0.0 };
            blocks.entry(version.clone()).or_default().extend(at(level));
            asked.push(version);
            assert!(asked.len() < 20, "{asked:?}");
        };
        assert!(found.answer.is_settled && found.answer.steps.len() == 1, "{found:?}");
        let places = &found.answer.steps[0].places;
        assert_eq!(
            places.iter().map(|at| &*found.row.versions[at + 1]).collect::<Vec<_>>(),
            ["17.1"],
            "{asked:?}"
        );
        assert_eq!(asked[0], "18.1");
        assert!(!asked.contains(&"17.2".to_owned()), "{asked:?}");
    }
}
