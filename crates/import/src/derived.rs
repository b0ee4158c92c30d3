//! Figures that are derived, such as reads per operation, against what they are derived from: reads per second and the
//! rate. Those of another arm's rate are of that arm: then rows are exchanged.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::model::{Printed, THOUSAND_ROWS, Value, median};
use crate::placed::{Assembled, Doubt, Placed};

/// Rounding apart, a derived figure may differ by this share.
pub const DERIVED: f64 = 0.001;
/// Rows of one arm that tell the CPUs of its host.
const ROWS_MIN: usize = 3;
/// cpupq is microseconds of all CPUs, cpups percent of all.
const US_PER_PERCENT: f64 = 1e4;

/// What a figure is divided by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rate {
    /// o/s of the figures of a step.
    OfStep,
    /// Queries, or rows where there are no queries.
    Operations,
    Rows,
}

/// A figure per second, the same per operation, and the factor between their units.
struct Relation {
    total: &'static str,
    each: &'static str,
    factor: Factor,
    rate: Rate,
}

enum Factor {
    Of(f64),
    Cpus,
}

const fn relation(total: &'static str, each: &'static str, factor: f64, rate: Rate) -> Relation {
    Relation { total, each, factor: Factor::Of(factor), rate }
}

const RELATIONS: [Relation; 11] = [
    relation("host_context_switches_per_s", "host_context_switches_per_op", 1.0, Rate::OfStep),
    relation("host_cpu_percent", "host_cpu_per_op", 1.0, Rate::OfStep),
    relation("disk_reads_per_s", "disk_reads_per_op", 1.0, Rate::OfStep),
    relation("disk_read_mb_per_s", "disk_read_kb_per_op", 1024.0, Rate::OfStep),
    relation("disk_write_mb_per_s", "disk_write_kb_per_op", 1024.0, Rate::OfStep),
    relation("rps", "rpq", 1.0, Rate::Operations),
    relation("rmbps", "rkbpq", 1024.0, Rate::Operations),
    relation("wps", "wpi", 1.0, Rate::Rows),
    relation("wmbps", "wkbpi", 1024.0, Rate::Rows),
    relation("csps", "cspq", 1.0, Rate::Operations),
    Relation { total: "cpups", each: "cpupq", factor: Factor::Cpus, rate: Rate::Operations },
];

/// This figure per second as one per operation.
fn per(total: Printed, factor: f64, rate: Printed) -> Printed {
    let value = total.value * factor / rate.value;
    Printed { value, half: total.half * factor / rate.value + value * rate.half / rate.value }
}

fn value<'a>(placed: &'a Placed, name: &str) -> Option<(usize, &'a Value)> {
    placed.values.iter().find(|(_, value)| value.name == name).map(|(source, value)| (*source, value))
}

fn printed(placed: &Placed, name: &str) -> Option<Printed> {
    Printed::of(value(placed, name)?.1.published.as_deref()?)
}

fn rate(placed: &Placed, of: Rate) -> Option<Printed> {
    let positive = |name: &str| printed(placed, name).filter(|rate| rate.value > 0.0);
    match of {
        Rate::OfStep => positive("metrics_rate"),
        Rate::Operations => positive("qps").or_else(|| positive("ips")),
        Rate::Rows => positive("ips"),
    }
}

/// Examines all derived figures.
///
/// # Errors
/// If figures of two arms are exchanged: then no comparison of them means anything.
pub fn examine(assembled: &Assembled) -> Result<Vec<Doubt>> {
    let mut doubts = Vec::new();
    for placed in &assembled.results {
        let texts = of_row(assembled, placed)?.into_iter().chain(of_text(assembled, placed)?);
        doubts.extend(texts.map(|text| Doubt::of(placed, text)));
    }
    Ok(doubts)
}

/// A figure that is not what it is derived from.
struct Wrong {
    relation: &'static Relation,
    total: Printed,
    each: Printed,
    factor: f64,
    rate: Printed,
    source: usize,
    line: u32,
}

impl Wrong {
    fn of(assembled: &Assembled, placed: &Placed, relation: &'static Relation) -> Option<Self> {
        let (total, each) = (printed(placed, relation.total)?, printed(placed, relation.each)?);
        let (source, value) = value(placed, relation.each)?;
        let rate = rate(placed, relation.rate)?;
        let factor = match relation.factor {
            Factor::Of(factor) => factor,
            Factor::Cpus => cpus(assembled, placed.arm)? * US_PER_PERCENT,
        };
        let line = value.line;
        let is_right = per(total, factor, rate).is(each, DERIVED);
        (!is_right).then_some(Self { relation, total, each, factor, rate, source, line })
    }

    /// Whether it is of this result's rate.
    fn is_of(&self, other: &Placed) -> bool {
        rate(other, self.relation.rate)
            .is_some_and(|rate| per(self.total, self.factor, rate).is(self.each, 0.0))
    }

    /// `cspq is 3.849, but csps / 7284 is 4.081`
    fn sentence(&self) -> String {
        let Relation { total, each, .. } = self.relation;
        let quotient = per(self.total, self.factor, self.rate).value;
        let digits = if self.each.half < 1e-4 { 6 } else { 3 };
        format!(
            "{each} is {}, but from {total} {} and the rate {} it is {quotient:.digits$}",
            self.each.value, self.total.value, self.rate.value
        )
    }
}

/// Figures per operation of one result. If those that do not fit its rate all fit another arm's, they are of that arm.
fn of_row(assembled: &Assembled, placed: &Placed) -> Result<Vec<String>> {
    let wrong: Vec<Wrong> = RELATIONS.iter().filter_map(|one| Wrong::of(assembled, placed, one)).collect();
    let Some(first) = wrong.first() else { return Ok(Vec::new()) };
    let step = &assembled.steps[placed.step].name;
    let fits = |other: &&Placed| wrong.iter().all(|one| one.is_of(other));
    if let Some(other) = of_other_arms(assembled, placed).find(fits) {
        let of_other = rate(other, first.relation.rate).map_or(0.0, |rate| rate.value);
        return Err(Error::Contradiction {
            path: PathBuf::from(&assembled.sources[first.source].path),
            line: first.line,
            why: format!(
                "rows look exchanged: in {step} of {}, {}; it fits {of_other}, the rate of {}",
                assembled.arms[placed.arm].name,
                first.sentence(),
                assembled.arms[other.arm].name
            ),
        });
    }
    let text = |one: &Wrong| {
        format!("{} ({}, line {})", one.sentence(), assembled.sources[one.source].path, one.line)
    };
    Ok(wrong.iter().map(text).collect())
}

/// Results of other arms in the same step.
fn of_other_arms<'a>(assembled: &'a Assembled, placed: &Placed) -> impl Iterator<Item = &'a Placed> {
    let (step, arm) = (placed.step, placed.arm);
    assembled.results.iter().filter(move |one| one.step == step && one.arm != arm)
}

/// The rate that figures of a step name, against the one of the results that they are beside.
fn of_text(assembled: &Assembled, placed: &Placed) -> Result<Option<String>> {
    let (Some((source, stated)), Some(rate)) = (value(placed, "metrics_rate"), rate(placed, Rate::OfStep))
    else {
        return Ok(None);
    };
    let own = rates_of_text(placed);
    if own.is_empty() || own.iter().any(|one| one.is(rate, DERIVED)) {
        return Ok(None);
    }
    let step = &assembled.steps[placed.step].name;
    let path = PathBuf::from(&assembled.sources[source].path);
    let fits = |other: &&Placed| rates_of_text(other).iter().any(|one| one.is(rate, 0.0));
    if let Some(other) = of_other_arms(assembled, placed).find(fits) {
        let why = format!(
            "rows look exchanged: the figures of {step} of {} are those of a rate of {}, but {} has {}; it is the rate of {}, in {}",
            assembled.arms[placed.arm].name,
            rate.value,
            assembled.sources[placed.source].path,
            own[0].value,
            assembled.arms[other.arm].name,
            assembled.sources[other.source].path
        );
        return Err(Error::Contradiction { path, line: stated.line, why });
    }
    // The unit of a scan's rate has been several.
    Ok((own.len() == 1).then(|| {
        format!(
            "the figures per operation are of a rate of {}, but {} has {} ({}, line {})",
            rate.value,
            assembled.sources[placed.source].path,
            own[0].value,
            path.display(),
            stated.line
        )
    }))
}

/// The rate that a result has, as it may have been divided by. Of a scan: queries, thousand rows of one client or of
/// all, million rows.
pub fn rates_of_text(placed: &Placed) -> Vec<Printed> {
    let Some((_, text)) = value(placed, "queries_per_s") else { return Vec::new() };
    let printed = text.published.as_deref().and_then(Printed::of);
    // sysbench prints two decimals, tables none.
    let half = |value: f64| printed.filter(|printed| printed.value == value).map_or(0.005, |one| one.half);
    let exact = |value: f64| Printed { value, half: half(value) };
    let Some(work) = placed.measurement.work.as_ref().filter(|work| work.unit == THOUSAND_ROWS) else {
        return text.value.map(exact).or(printed).into_iter().collect();
    };
    let rows = work.per_second();
    let table = value(placed, "table_size").and_then(|(_, size)| size.value).unwrap_or(0.0);
    // Queries per second have two decimals, which go into the product.
    let queries = Some(rows * 1e3 / table).filter(|queries| queries.is_finite());
    let queries = queries.map(|queries| exact((queries * 100.0).round() / 100.0));
    let of_printed =
        queries.map(|one| Printed { value: one.value * table / 1e3, half: one.half * table / 1e3 });
    let all = [rows, rows / 1e3].map(|value| Printed { value, half: value * DERIVED });
    queries.into_iter().chain(printed).chain(of_printed).chain(all).collect()
}

/// The CPUs of an arm's host that its rows tell, or those of all arms if it has few.
fn cpus(assembled: &Assembled, arm: usize) -> Option<f64> {
    let of = |one: &Placed| {
        let (total, each) = (printed(one, "cpups")?, printed(one, "cpupq")?);
        Some(each.value * rate(one, Rate::Operations)?.value / total.value / US_PER_PERCENT)
    };
    let of_arm = || assembled.results.iter().filter(|one| one.arm == arm).filter_map(of);
    let all = || assembled.results.iter().filter_map(of);
    let values: Vec<f64> = if of_arm().count() >= ROWS_MIN { of_arm().collect() } else { all().collect() };
    median(&values).map(f64::round).filter(|cpus| *cpus >= 1.0)
}
