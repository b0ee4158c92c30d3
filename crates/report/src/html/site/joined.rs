//! A test's course over the versions of all runs: two runs are joined by a version that both have, and their ratios are
//! multiplied.

use std::collections::{BTreeMap, BTreeSet};

use rqps_charts::{Mark as ChartMark, RatioPoint, VersionChart, VersionLine};
use rqps_verdicts::version_key;

use super::super::captions;
use super::course::{Charted, Found, LINES_MAX, OfSeries, VERSIONS_MIN, of_series};
use super::run::{ArmOfResult, SiteRun};

/// Versions of a chart; of more, the newest.
const VERSIONS_MAX: usize = 200;

/// The runs of one DBMS that versions join.
pub(super) struct Joined<'a> {
    pub charted: Charted,
    pub chart: VersionChart,
    /// What all is relative to: `PostgreSQL 12.22`.
    pub base: String,
    /// Versions whose ratio is a product.
    pub chained: usize,
    /// All but base, in the order of versions.
    pub joints: Vec<Joint<'a>>,
}

/// How a version is joined to the others.
pub(super) struct Joint<'a> {
    pub version: String,
    /// To base.
    pub ratio: f64,
    /// The version that it was measured against, or that was measured against it.
    pub against: String,
    /// The ratio to that one.
    pub there: f64,
    pub run: &'a SiteRun,
    /// Whether what it was measured as there is to be checked first.
    pub is_doubtful: bool,
}

/// A version with a config.
type Node<'a> = (Vec<(u64, String)>, &'a str, &'a str);

fn node(arm: &ArmOfResult) -> Node<'_> {
    (version_key(&arm.version), &arm.version, &arm.config)
}

/// A run's comparison of two nodes.
struct Edge<'a> {
    run: &'a SiteRun,
    /// Of the second to the first.
    point: RatioPoint,
    is_doubtful: bool,
}

impl Edge<'_> {
    fn is_final(&self) -> bool {
        self.run.unfinished.is_none() && !self.is_doubtful
    }
}

/// The same the other way round. Its verdict is about the other one.
fn reversed(point: RatioPoint) -> RatioPoint {
    let RatioPoint { ratio, low, high, whisker, .. } = point;
    RatioPoint {
        ratio: 1.0 / ratio,
        low: 1.0 / high,
        high: 1.0 / low,
        whisker: (1.0 / whisker.1, 1.0 / whisker.0),
        mark: ChartMark::Unknown,
        ..point
    }
}

type Edges<'a> = BTreeMap<(Node<'a>, Node<'a>), Edge<'a>>;

/// The way to a node: steps that are not final, and all; the node before; the point relative to the first.
struct Way<'a> {
    steps: (usize, usize),
    before: Option<(Node<'a>, &'a SiteRun, f64)>,
    point: RatioPoint,
    is_doubtful: bool,
}

/// A chart for each set of runs that versions join, if it has more versions than `charts` of runs with one base.
pub(super) fn joined<'a>(found: &[Found<'a>], charts: &[VersionChart], charted: Charted) -> Vec<Joined<'a>> {
    let most = charts.iter().map(|chart| chart.versions.len()).max().unwrap_or(0);
    let mut of_dbms: BTreeMap<&str, Vec<OfSeries<'a>>> = BTreeMap::new();
    for one in found.iter().filter_map(of_series).filter(|(_, base, _)| !base.version.is_empty()) {
        of_dbms.entry(one.1.dbms.as_str()).or_default().push(one);
    }
    let mut all = Vec::new();
    for (dbms, found) in of_dbms {
        let edges = edges(&found, charted);
        let mut left: BTreeSet<Node<'a>> = edges.keys().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
        while let Some(first) = left.first().cloned() {
            let ways = ways(&edges, &first);
            left.retain(|node| !ways.contains_key(node));
            let versions: BTreeSet<&str> = ways.keys().map(|(_, version, _)| *version).collect();
            if versions.len() >= VERSIONS_MIN.max(most + 1) {
                all.push(Joined::new((dbms, charted), &first, &ways, all.len()));
            }
        }
    }
    all
}

/// The newest comparison of each two nodes, of complete runs if there is one.
fn edges<'a>(found: &[OfSeries<'a>], charted: Charted) -> Edges<'a> {
    let mut edges = Edges::new();
    for (run, base, result) in found {
        let (from, to) = (node(base), node(&result.arm));
        let point = charted.point(result).filter(|point| point.ratio > 0.0 && from != to);
        let Some(point) = point else { continue };
        let edge = Edge { run, point, is_doubtful: result.is_doubtful };
        let (key, edge) = match from < to {
            true => ((from, to), edge),
            false => ((to, from), Edge { point: reversed(point), ..edge }),
        };
        let is_better = edges.get(&key).is_none_or(|known: &Edge| edge.is_final() && !known.is_final());
        if is_better {
            edges.insert(key, edge);
        }
    }
    edges
}

/// The ways from a node to all that it is joined to: over complete runs, of these over the fewest.
fn ways<'a>(edges: &Edges<'a>, first: &Node<'a>) -> BTreeMap<Node<'a>, Way<'a>> {
    let mut near: BTreeMap<&Node<'a>, Vec<(&Node<'a>, &Edge<'a>, RatioPoint)>> = BTreeMap::new();
    for ((from, to), edge) in edges {
        near.entry(from).or_default().push((to, edge, edge.point));
        near.entry(to).or_default().push((from, edge, reversed(edge.point)));
    }
    let one = RatioPoint::BASE;
    let mut ways = BTreeMap::from([(
        first.clone(),
        Way { steps: (0, 0), before: None, point: one, is_doubtful: false },
    )]);
    let mut open = BTreeSet::from([((0, 0), first)]);
    while let Some((steps, at)) = open.pop_first() {
        let so_far = ways[at].point;
        for (to, edge, point) in near.get(at).into_iter().flatten() {
            let steps = (steps.0 + usize::from(!edge.is_final()), steps.1 + 1);
            if ways.get(*to).is_some_and(|known| known.steps <= steps) {
                continue;
            }
            let whole = match steps.1 {
                1 => *point,
                _ => RatioPoint {
                    ratio: so_far.ratio * point.ratio,
                    mark: ChartMark::Unknown,
                    decimals_max: point.decimals_max,
                    ..RatioPoint::BASE
                },
            };
            let before = Some((at.clone(), edge.run, point.ratio));
            ways.insert((*to).clone(), Way { steps, before, point: whole, is_doubtful: edge.is_doubtful });
            open.insert((steps, to));
        }
    }
    ways
}

impl<'a> Joined<'a> {
    fn new(
        (dbms, charted): (&str, Charted),
        first: &Node<'a>,
        ways: &BTreeMap<Node<'a>, Way<'a>>,
        number: usize,
    ) -> Self {
        let mut versions: Vec<&str> = ways.keys().map(|(_, version, _)| *version).collect();
        versions.dedup();
        let all = versions.len();
        // Base is the first.
        versions.drain(1..(all.saturating_sub(VERSIONS_MAX) + 1).min(all));
        let is_shown = |node: &Node<'a>| versions.contains(&node.1);
        let several_configs =
            ways.keys().zip(ways.keys().skip(1)).any(|((_, one, _), (_, next, _))| one == next);
        let configs: BTreeSet<&str> = match several_configs {
            true => ways.keys().map(|(_, _, config)| *config).collect(),
            false => BTreeSet::from([""]),
        };
        let point = |version: &str, config: &str| {
            let is_at = |node: &Node<'a>| node.1 == version && (!several_configs || node.2 == config);
            ways.iter().find(|(node, _)| is_at(node)).map(|(_, way)| way.point)
        };
        let line = |config: &&str| VersionLine {
            label: if several_configs { format!("all runs, {config}") } else { "all runs".to_owned() },
            points: versions.iter().map(|version| point(version, config)).collect(),
        };
        let name = |(_, version, config): &Node<'a>| match several_configs && !config.is_empty() {
            true => format!("{version} {config}"),
            false => (*version).to_owned(),
        };
        let joint = |(at, way): (&Node<'a>, &Way<'a>)| {
            let (before, run, there) = way.before.as_ref()?;
            Some(Joint {
                version: name(at),
                ratio: way.point.ratio,
                against: name(before),
                there: *there,
                run,
                is_doubtful: way.is_doubtful,
            })
        };
        let base = format!("{dbms} {}", name(first));
        let runs: BTreeSet<&str> =
            ways.values().filter_map(|way| Some(way.before.as_ref()?.1.stem.as_str())).collect();
        let mut part = String::new();
        if versions.len() < all {
            part.push_str(&format!(", the newest {} of {all} versions", versions.len() - 1));
        }
        if configs.len() > LINES_MAX {
            part.push_str(&format!(", the first {LINES_MAX} of {} configs", configs.len()));
        }
        let chart = VersionChart {
            id: format!("joined-{number}"),
            title: format!("{} relative to {base}, {} runs joined{part}", charted.title(), runs.len()),
            axis: format!("{} relative to {base}", charted.word()),
            versions: versions.iter().map(|version| (*version).to_owned()).collect(),
            lines: configs.iter().take(LINES_MAX).map(line).collect(),
            interval: captions::interval(),
            captions: Vec::new(),
            width: 0.0,
        };
        let shown = || ways.iter().filter(|(node, _)| is_shown(node));
        let chained = shown().filter(|(_, way)| way.steps.1 > 1).count();
        Self { charted, chart, base, chained, joints: shown().filter_map(joint).collect() }
    }
}
