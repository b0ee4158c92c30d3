//! From files to a run: which arm, test and repeat each measurement is, and which figures belong to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rqps_model::{Group, Role, Unit, clipped, natural};
use rqps_store::Source;

use crate::arms::{ArmRule, Arms, ImportedArm};
use crate::consistency;
use crate::error::{Error, Result};
use crate::formats::{Format, sysbench};
use crate::input::Loaded;
use crate::model::{Measurement, Quirk, Value};
use crate::names::{ArmName, TestName, in_published_order};

static TESTS: Group = Group::new(1, "tests", "tests", "tests");
static INSERTS: Group = Group::consecutive(1, "insert", "inserts");
static BESIDE_WRITES: Group = Group::consecutive(2, "background", "queries beside writes");

/// Of the tests that an error names.
const NAMES_CHARS_MAX: usize = 200;

/// What the user decides.
#[derive(Debug, Default)]
pub struct Choices {
    pub arms: Vec<ArmRule>,
    /// Name of the base; the first arm if not given.
    pub base: Option<String>,
    /// CPUs of the host, if no file tells.
    pub cpus: Option<u32>,
}

/// Files as arms, steps and results.
#[derive(Debug)]
pub struct Assembled {
    pub arms: Vec<ImportedArm>,
    pub base: usize,
    pub steps: Vec<Step>,
    pub results: Vec<Placed>,
    pub sources: Vec<Source>,
    /// Repeats of the arm and test that have most.
    pub repeats: u32,
    /// What to know about it: arm, text.
    pub notes: Vec<(Option<usize>, String)>,
}

/// A step of the run.
#[derive(Debug, Clone)]
pub struct Step {
    pub name: String,
    pub test: String,
    /// The name in published tables.
    pub row: String,
    pub group: Group,
    pub role: Role,
    pub writes: bool,
    pub clients: u32,
}

/// A result in its place.
#[derive(Debug, Clone)]
pub struct Placed {
    pub arm: usize,
    /// Index of its step.
    pub step: usize,
    /// From 1.
    pub repeat: u32,
    pub measurement: Measurement,
    /// Its values, each with the index of its source.
    pub values: Vec<(usize, Value)>,
    pub source: usize,
}

/// The repeats of a test on an arm: as files number them, and those of one file after those of the one before.
#[derive(Default)]
struct Numbers {
    source: usize,
    before: u32,
    most: u32,
}

impl Numbers {
    fn next(&mut self, source: usize, number: Option<u32>) -> u32 {
        if source != self.source {
            (self.source, self.before) = (source, self.most);
        }
        let number = number.map_or(self.most.saturating_add(1), |number| self.before.saturating_add(number));
        self.most = self.most.max(number);
        number
    }
}

/// A measurement on its way to its place.
struct Found {
    arm: usize,
    test: TestName,
    measurement: Measurement,
    source: usize,
}

impl Assembled {
    /// Puts what was read in its place.
    ///
    /// # Errors
    /// If there are no rates, figures belong to no result, or base is no arm.
    pub fn new(loaded: Vec<Loaded>, choices: &Choices) -> Result<Self> {
        let mut sources: Vec<Source> = loaded.iter().map(source).collect();
        let mut arms = Arms::default();
        let (mut found, mut beside, mut dates) = (Vec::new(), Vec::new(), Vec::new());
        let is_consecutive = loaded.iter().any(|one| one.document.is_consecutive);
        let formats: BTreeSet<&str> = loaded.iter().map(|one| one.format.key()).collect();
        for (index, one) in loaded.into_iter().enumerate() {
            let path = one.given.path.clone();
            let directory = path.parent().unwrap_or(Path::new(""));
            let of_path = one.given.arm.clone().or_else(|| arm_of_path(directory));
            let of_file = path.file_name().and_then(|name| TestName::of_file(&name.to_string_lossy()));
            if let (Some(at), true) = (one.document.measured_at_ms, one.document.measurements.is_empty()) {
                dates.push((of_path.clone(), at));
            }
            if let Some(given) = &one.given.arm {
                is_one_arm(&path, given, &one.document.measurements)?;
            }
            for mut measurement in one.document.measurements {
                let raw = one.given.arm.clone().or(measurement.arm.clone()).or(of_path.clone());
                let arm = arms.at(raw.as_deref().unwrap_or("results"), directory, &choices.arms);
                let known = &mut arms.all[arm];
                known.measured_at_ms = known.measured_at_ms.or(one.document.measured_at_ms);
                fill(&mut known.identity.dbms, &measurement.dbms);
                fill(&mut known.identity.version, &measurement.version);
                let of_name = || TestName::of_row(&test_of_path(&path, one.format));
                let row = measurement.test.as_deref().map(TestName::of_row);
                let test = of_file.as_ref().map(|(_, test)| test.clone()).or(row).unwrap_or_else(of_name);
                measurement.clients = measurement.clients.or_else(|| clients_of(&path));
                if one.format == Format::Sysbench && test.is_scan() {
                    let quirk = sysbench::as_scan(&mut measurement);
                    sources[index].quirks.extend(quirk.map(|quirk| quirk.key().to_owned()));
                }
                let into = if measurement.work.is_some() { &mut found } else { &mut beside };
                into.push(Found { arm, test, measurement, source: index });
            }
        }
        if found.is_empty() {
            return Err(Error::NoResults(formats.into_iter().collect::<Vec<_>>().join(", ")));
        }
        for (raw, at) in dates {
            if let Some(arm) = raw.and_then(|raw| arms.all.iter_mut().find(|arm| arm.raw == raw)) {
                arm.measured_at_ms = Some(at);
            }
        }
        arms.expect_use_of(&choices.arms)?;
        arms.name();
        let arms = arms.all;
        let base = base(&arms, choices.base.as_deref())?;
        let mut assembled = Self {
            arms,
            base,
            steps: Vec::new(),
            results: Vec::new(),
            sources,
            repeats: 1,
            notes: Vec::new(),
        };
        assembled.place(found, is_consecutive)?;
        assembled.expect_common_tests()?;
        assembled.add_beside(beside)?;
        assembled.count_metrics(choices.cpus);
        assembled.notes = consistency::examine(&assembled)?;
        Ok(assembled)
    }

    /// Makes steps of tests, and numbers repeats.
    fn place(&mut self, found: Vec<Found>, is_consecutive: bool) -> Result<()> {
        let names: Vec<TestName> = with_settings(&found);
        let is_published = names.iter().all(|name| name.range.is_some());
        let mut tests: Vec<&TestName> = Vec::new();
        let mut known = HashSet::new();
        tests.extend(names.iter().filter(|name| known.insert(*name)));
        if is_published {
            tests.sort_by(|a, b| in_published_order(a, b));
        } else if !is_consecutive {
            tests.sort_by(|a, b| natural(&a.test, &b.test));
        }
        let group = |test: &TestName| match (is_published, is_consecutive) {
            (true, _) => test.group(),
            (false, true) if test.test.starts_with("l.") => &INSERTS,
            (false, true) => &BESIDE_WRITES,
            (false, false) => &TESTS,
        };
        self.steps = tests
            .iter()
            .map(|test| Step {
                name: test.step(),
                test: test.of_test(),
                row: test.row(),
                group: group(test).clone(),
                role: test.role(),
                writes: test.writes(),
                clients: 0,
            })
            .collect();
        let places: HashMap<&TestName, usize> =
            tests.iter().enumerate().map(|(step, test)| (*test, step)).collect();
        let mut numbers: BTreeMap<(usize, usize), Numbers> = BTreeMap::new();
        let mut units: BTreeMap<usize, (Unit, usize)> = BTreeMap::new();
        for (found, name) in found.into_iter().zip(&names) {
            let Some(step) = places.get(name).copied() else { continue };
            let (source, mut measurement) = (found.source, found.measurement);
            if let Some(work) = &measurement.work {
                let (unit, first) = units.entry(step).or_insert_with(|| (work.unit.clone(), source));
                if *unit != work.unit {
                    return Err(Error::Units {
                        test: name.row(),
                        path: PathBuf::from(&self.sources[*first].path),
                        unit: unit.many.to_string(),
                        other: PathBuf::from(&self.sources[source].path),
                        other_unit: work.unit.many.to_string(),
                    });
                }
            }
            let repeat = numbers.entry((found.arm, step)).or_default().next(source, measurement.repeat);
            self.steps[step].clients = self.steps[step].clients.max(measurement.clients.unwrap_or(0));
            let values =
                std::mem::take(&mut measurement.values).into_iter().map(|value| (source, value)).collect();
            self.results.push(Placed { arm: found.arm, step, repeat, measurement, values, source });
        }
        // A file's numbers may have gaps: blocks have none.
        let numbers: BTreeSet<u32> = self.results.iter().map(|result| result.repeat).collect();
        let numbers: BTreeMap<u32, u32> = numbers.into_iter().zip(1..).collect();
        for result in &mut self.results {
            result.repeat = numbers[&result.repeat];
        }
        self.repeats = self.repeats.max(numbers.len() as u32);
        self.results.sort_by_key(|result| (result.repeat, result.step, result.arm));
        Ok(())
    }

    /// # Errors
    /// If base has no test that another arm has: a table without a ratio is not what was wanted.
    fn expect_common_tests(&self) -> Result<()> {
        let tests = |is_wanted: &dyn Fn(usize) -> bool| -> BTreeSet<usize> {
            self.results.iter().filter(|result| is_wanted(result.arm)).map(|result| result.step).collect()
        };
        let of_base = tests(&|arm| arm == self.base);
        let of_others = tests(&|arm| arm != self.base);
        if of_others.is_empty() || !of_base.is_disjoint(&of_others) {
            return Ok(());
        }
        let names = |steps: BTreeSet<usize>| {
            let names: Vec<&str> = steps.iter().map(|step| self.steps[*step].name.as_str()).collect();
            clipped(&names.join(", "), NAMES_CHARS_MAX)
        };
        Err(Error::NothingInCommon {
            base: self.arms[self.base].name.clone(),
            of_base: names(of_base),
            of_others: names(of_others),
        })
    }

    /// Adds figures of the host and of profiles to the results they belong to: of the same arm and test, in order.
    fn add_beside(&mut self, beside: Vec<Found>) -> Result<()> {
        let mut counts: BTreeMap<(usize, String, String), u32> = BTreeMap::new();
        for one in beside {
            let format = self.sources[one.source].format.clone();
            let count = counts.entry((one.arm, one.test.row(), format)).or_default();
            *count += 1;
            let repeat = one.measurement.repeat.unwrap_or(*count);
            let step = self.steps.iter().position(|step| step.row == one.test.row());
            let source = |index: usize| Path::new(&self.sources[index].path);
            let of_arm = || self.results.iter().enumerate().filter(|(_, result)| result.arm == one.arm);
            let of_test = || of_arm().filter(|(_, result)| Some(result.step) == step);
            let own = stem(source(one.source));
            let only = || Some(of_arm().next()?.0).filter(|_| of_arm().count() == 1);
            let place = of_test()
                .find(|(_, result)| stem(source(result.source)) == own)
                .or_else(|| of_test().find(|(_, result)| result.repeat == repeat))
                .map(|(index, _)| index)
                .or_else(only);
            let Some(place) = place else {
                return Err(Error::Missing {
                    what: format!("the result that {} belongs to", self.sources[one.source].path),
                    remedy: "give it, too, or leave this file out; files belong together by arm and test, as ro-1.txt and ro-1.vmstat"
                        .to_owned(),
                });
            };
            let result = &mut self.results[place];
            result.values.extend(one.measurement.values.into_iter().map(|value| (one.source, value)));
            for (name, value) in one.measurement.metrics {
                result.measurement.metrics.entry(name).or_insert(value);
            }
            result.measurement.stacks = result.measurement.stacks.take().or(one.measurement.stacks);
        }
        Ok(())
    }

    /// Turns means per second into totals of the metrics that rqps' own windows have.
    fn count_metrics(&mut self, cpus: Option<u32>) {
        for result in &mut self.results {
            let metrics = &mut result.measurement.metrics;
            if let (Some(cpus), false) = (cpus, metrics.contains_key("cpus")) {
                metrics.insert("cpus".to_owned(), f64::from(cpus));
            }
            let elapsed_us =
                result.measurement.work.as_ref().and_then(|work| work.elapsed_us).unwrap_or(1_000_000) as f64;
            let all_us = metrics.get("cpus").map(|cpus| cpus * elapsed_us);
            for (_, value) in &result.values {
                let (Some(mean), name) = (value.value, value.name.as_ref()) else { continue };
                let (metric, total) = match (name, all_us) {
                    ("host_user_percent", Some(all_us)) => ("host_user_us", mean / 100.0 * all_us),
                    ("host_system_percent", Some(all_us)) => ("host_system_us", mean / 100.0 * all_us),
                    ("host_cpu_percent", Some(all_us)) => ("host_busy_us", mean / 100.0 * all_us),
                    (name, _) => match name.strip_suffix("_per_s") {
                        Some(metric) if TOTALS.contains(&metric) => (metric, mean * elapsed_us / 1e6),
                        _ => continue,
                    },
                };
                metrics.entry(metric.to_owned()).or_insert(total);
            }
        }
    }
}

const TOTALS: [&str; 5] =
    ["host_context_switches", "disk_reads", "disk_read_kb", "disk_writes", "disk_write_kb"];

fn source(one: &Loaded) -> Source {
    Source {
        path: one.given.path.to_string_lossy().into_owned(),
        sha256: one.sha256.clone(),
        bytes: one.bytes,
        format: one.format.key().to_owned(),
        tool: one.document.tool.clone(),
        quirks: one.document.quirks.iter().map(|quirk: &Quirk| quirk.key().to_owned()).collect(),
        measured_at_ms: one.document.measured_at_ms,
    }
}

/// # Errors
/// If the file has several arms, which would all be called `given`.
fn is_one_arm(path: &Path, given: &str, measurements: &[Measurement]) -> Result<()> {
    let mut arms: Vec<&str> = Vec::new();
    for arm in measurements.iter().filter_map(|one| one.arm.as_deref()) {
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    match arms[..] {
        [] | [_] => Ok(()),
        ref several => {
            Err(Error::NamesArms { path: path.to_owned(), arms: several.join(", "), given: given.to_owned() })
        }
    }
}

fn fill(known: &mut String, told: &Option<String>) {
    if let (true, Some(told)) = (known.is_empty(), told) {
        *known = told.clone();
    }
}

/// The nearest directory above a file that names an arm, or else the one it is in.
fn arm_of_path(directory: &Path) -> Option<String> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let above = directory.ancestors().filter_map(name);
    above.into_iter().find(|name| ArmName::parse(name).is_some()).or_else(|| name(directory))
}

/// `dop40` in a file's name.
fn clients_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    name.split('.').find_map(|part| part.strip_prefix("dop")?.parse().ok())
}

/// Endings of files that say nothing about the test.
fn is_ending(end: &str) -> bool {
    let known = ["gz", "txt", "log", "out", "err", "csv", "json", "tsv"];
    known.contains(&end) || ["vmstat", "iostat", "vm", "io", "perf", "svg"].contains(&end)
}

fn without_endings(name: &str, is_ending: impl Fn(&str) -> bool) -> &str {
    let mut stem = name;
    while let Some((rest, _)) = stem.rsplit_once('.').filter(|(rest, end)| !rest.is_empty() && is_ending(end))
    {
        stem = rest;
    }
    stem
}

/// `ro-1` of `results/ro-1.txt` and `results/ro-1.vmstat`.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    without_endings(&name, is_ending).to_owned()
}

/// A test's name from a file's, without what tells repeats apart: `select_only-3.log` is `select_only`.
fn test_of_path(path: &Path, format: Format) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = without_endings(&name, |end| is_ending(end) || end.parse::<u64>().is_ok());
    if matches!(format, Format::Hammerdb | Format::HammerdbCsv | Format::HammerdbJobs) {
        return tproc_c(stem);
    }
    if format == Format::InsertBenchmark {
        // `mrg.q100.1` and `rel.q100.1` name a step.
        return name.split_once('.').map_or(name.clone(), |(_, step)| step.to_owned());
    }
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['-', '_', '.', ' ']);
    let stem = ["repeat", "run", "rep"].iter().find_map(|word| stem.strip_suffix(word)).unwrap_or(stem);
    let stem = stem.trim_end_matches(['-', '_', '.', ' ']);
    let is_default = stem.is_empty() || stem == "pgbench_log";
    let short = format.key().split('-').next().unwrap_or_default();
    if is_default { short.to_owned() } else { stem.to_owned() }
}

/// `sum.res.pg.load8.vu6.w4000.5.120`: virtual users and warehouses are part of the test's name.
fn tproc_c(stem: &str) -> String {
    let number = |key: &str| stem.split('.').find_map(|part| part.strip_prefix(key)?.parse::<u32>().ok());
    let setting = |key: &str| number(key).map(|value| format!("_{key}={value}")).unwrap_or_default();
    format!("tproc-c{}{}", setting("vu"), setting("w"))
}

/// Names of tests, with clients, scale and mode where results of one test differ in them.
fn with_settings(found: &[Found]) -> Vec<TestName> {
    let of = |found: &Found, key: &str| match key {
        "clients" => found.measurement.clients.map(|clients| clients.to_string()),
        key => found.measurement.values.iter().find(|value| value.name == key)?.published.clone(),
    };
    let mut names: Vec<TestName> = found.iter().map(|found| found.test.clone()).collect();
    for key in ["scale", "mode", "clients"] {
        let mut values: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
        for found in found {
            values.entry(found.test.row()).or_default().insert(of(found, key));
        }
        for (name, found) in names.iter_mut().zip(found) {
            if let (Some(value), true) = (of(found, key), values[&found.test.row()].len() > 1) {
                name.test.push_str(&format!("_{key}={value}"));
            }
        }
    }
    names
}

fn base(arms: &[ImportedArm], name: Option<&str>) -> Result<usize> {
    let Some(name) = name else { return Ok(0) };
    let is_named = |arm: &ImportedArm| arm.name == name || arm.raw == name;
    arms.iter().position(is_named).ok_or_else(|| Error::UnknownArm {
        name: name.to_owned(),
        known: arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", "),
    })
}
