//! A test's course over versions: the lines of runs with one base, and of all runs joined by the versions that they
//! have in common.

use std::collections::BTreeSet;

use rqps_charts::{RatioPoint, VersionChart, VersionLine};
use rqps_stats::Metric;
use rqps_verdicts::version_key;

use super::super::captions;
use super::super::ratios::point_of;
use super::run::{ArmOfResult, ArmResult, SiteRun};

/// Maximum lines of a chart, and charts: more cannot be distinguished, or read.
pub(super) const LINES_MAX: usize = 8;
const CHARTS_MAX: usize = 12;
/// Fewest versions of a course, base included.
pub(super) const VERSIONS_MIN: usize = 3;

/// A run's result, newest run first.
pub(super) type Found<'a> = (&'a SiteRun, &'a ArmResult);

/// A result with a version, against a base with one of the same DBMS: the run, the base, the result.
pub(super) type OfSeries<'a> = (&'a SiteRun, &'a ArmOfResult, &'a ArmResult);

/// What a chart is of. Costs in different metrics are never in one chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charted {
    Rate,
    Cost(Metric),
}

impl Charted {
    /// The rate, and each metric in which a run judges the cost.
    pub fn all(found: &[Found<'_>]) -> Vec<Self> {
        let costs =
            found.iter().filter_map(|(_, result)| Some(result.judged.as_ref()?.cost.as_ref()?.metric));
        let costs: BTreeSet<Metric> = costs.collect();
        std::iter::once(Self::Rate).chain(costs.into_iter().map(Self::Cost)).collect()
    }

    /// A result's ratio to its base.
    pub fn point(self, result: &ArmResult) -> Option<RatioPoint> {
        match self {
            Self::Rate => result.rate,
            Self::Cost(metric) => {
                point_of(result.judged.as_ref()?.cost.as_ref().filter(|cost| cost.metric == metric)?)
            }
        }
    }

    /// At the start of a title.
    pub fn title(self) -> String {
        match self {
            Self::Rate => "Rate".to_owned(),
            Self::Cost(metric) => format!("Cost per operation ({})", metric.measure().label),
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Cost(_) => "cost",
        }
    }

    /// Costs change by less.
    pub fn decimals(self) -> usize {
        match self {
            Self::Rate => 2,
            Self::Cost(_) => 3,
        }
    }
}

/// A chart for each DBMS and version of base, of the newest runs.
pub(super) fn courses(found: &[Found<'_>], charted: Charted) -> Vec<VersionChart> {
    let with_point = found.iter().filter(|(_, result)| charted.point(result).is_some());
    let mut found: Vec<OfSeries<'_>> = with_point.filter_map(of_series).collect();
    let key = |base: &ArmOfResult| (base.dbms.clone(), version_key(&base.version));
    // A stable order: within a base, the newest run stays first.
    found.sort_by_cached_key(|(_, base, _)| key(base));
    let of_bases = found.chunk_by(|(_, a, _), (_, b, _)| key(a) == key(b));
    of_bases.filter_map(|found| course(found, charted)).take(CHARTS_MAX).enumerate().map(numbered).collect()
}

pub(super) fn of_series<'a>((run, result): &Found<'a>) -> Option<OfSeries<'a>> {
    let base = result.base.as_ref()?;
    let is_version = base.dbms == result.arm.dbms && !result.arm.version.is_empty();
    is_version.then_some((*run, base, *result))
}

fn numbered((number, chart): (usize, VersionChart)) -> VersionChart {
    VersionChart { id: format!("course-{number}"), ..chart }
}

fn course(found: &[OfSeries<'_>], charted: Charted) -> Option<VersionChart> {
    let (_, base, _) = found.first()?;
    // Arms of a run that differ in their config are lines of their own.
    let mut lines: Vec<((&SiteRun, &str), Vec<&ArmResult>)> = Vec::new();
    for (run, _, result) in found {
        let config = result.arm.config.as_str();
        match lines.iter_mut().find(|((of, known), _)| of.stem == run.stem && *known == config) {
            Some((_, results)) => results.push(result),
            None => lines.push(((run, config), vec![result])),
        }
    }
    let all = lines.len();
    lines.truncate(LINES_MAX);
    let mut versions: Vec<&str> =
        lines.iter().flat_map(|(_, results)| results).map(|result| result.arm.version.as_str()).collect();
    versions.push(&base.version);
    versions.sort_by_key(|version| version_key(version));
    versions.dedup();
    if versions.len() < VERSIONS_MIN {
        return None;
    }
    let several = |run: &SiteRun| lines.iter().filter(|((of, _), _)| of.stem == run.stem).count() > 1;
    let line = |((run, config), results): &((&SiteRun, &str), Vec<&ArmResult>)| {
        let config = if several(run) { format!(", {config}") } else { String::new() };
        let state = run.unfinished.map_or_else(String::new, |state| format!(" ({state})"));
        VersionLine {
            label: format!("{}{config}{state}", run.name),
            points: versions.iter().map(|version| point(base, version, results, charted)).collect(),
        }
    };
    let base = base.release();
    let part = if all > LINES_MAX { format!(", the newest {LINES_MAX} of {all}") } else { String::new() };
    Some(VersionChart {
        id: String::new(),
        title: format!("{} relative to {base}{part}", charted.title()),
        axis: format!("{} relative to {base}", charted.word()),
        versions: versions.iter().map(|version| (*version).to_owned()).collect(),
        lines: lines.iter().map(line).collect(),
        interval: captions::interval(),
        captions: Vec::new(),
        width: 0.0,
    })
}

fn point(base: &ArmOfResult, version: &str, results: &[&ArmResult], charted: Charted) -> Option<RatioPoint> {
    match results.iter().find(|result| result.arm.version == version) {
        Some(result) => charted.point(result),
        None if version == base.version => Some(RatioPoint::BASE),
        None => None,
    }
}
