//! From files to a run: which arm, test and repeat each measurement is, and which figures belong to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rqps_model::{Group, Unit, clipped, natural};

use crate::arms::{ArmRule, ImportedArm, are_versions, named_base};
use crate::error::{BelongsNowhere, Error, Place, Result};
use crate::formats::ibench;
use crate::gather::{Disagreement, Gathered, has_several_arms};
use crate::loaded::{LeftOut, Loaded, Why, leave_out_common};
use crate::model::{Measurement, Quirk};
use crate::names::{TestName, in_published_order};
use crate::paths::stem;
use crate::placed::{Assembled, BaseAs, Doubt, Findings, Found, Placed, Step};
use crate::same::WrongCell;
use crate::settings::{Case, setting_name};
use crate::{complement, consistency, in_names, layout, pairing, same, two_readings, unlike};

static TESTS: Group = Group::new(1, "tests", "tests", "");
static INSERTS: Group = Group::consecutive(1, "insert", "inserts");
static BESIDE_WRITES: Group = Group::consecutive(2, "background", "queries beside writes");

/// Of the tests that an error names.
const NAMES_CHARS_MAX: usize = 200;

/// The arm of this name is base, unless another one is chosen.
const BASE: &str = "base";
/// Of directories, so are these, whatever their versions.
const OLD: [&str; 2] = ["old", "before"];

/// What the user decides.
#[derive(Debug, Default)]
pub struct Choices {
    pub arms: Vec<ArmRule>,
    /// Name of the base; if not given, the arm named `base`, or the first one.
    pub base: Option<String>,
    /// CPUs of the host, if no file tells.
    pub cpus: Option<u32>,
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

impl Assembled {
    /// Puts what was read in its place.
    ///
    /// # Errors
    /// If there are no rates, figures belong to no result, or base is no arm.
    pub fn new(mut loaded: Vec<Loaded>, choices: &Choices) -> Result<Self> {
        leave_out_common(&mut loaded);
        complement::join(&mut loaded)?;
        let is_consecutive = loaded.iter().any(|one| one.document.is_consecutive);
        let is_table: Vec<bool> = loaded.iter().map(|one| one.document.is_table).collect();
        let has_several: Vec<bool> =
            loaded.iter().map(|one| has_several_arms(&one.document.measurements)).collect();
        let is_named = loaded.iter().any(|one| one.given.arm.is_some());
        expect_repeats_of_all(&loaded)?;
        let mut layouts = layout::of(&loaded)?;
        let of_names = in_names::read(&loaded, &mut layouts);
        let Gathered { sources, mut arms, mut found, mut beside, notes: of_numbers, mut taken } =
            Gathered::of(loaded, &layouts, &choices.arms)?;
        let within: Vec<PathBuf> = layouts.into_iter().map(|layout| layout.within).collect();
        arms.expect_use_of(&choices.arms)?;
        arms.name();
        let names: Vec<String> = arms.all.iter().map(|arm| arm.name.clone()).collect();
        let paths: Vec<String> = sources.iter().map(|source| source.path.clone()).collect();
        let tables = same::leave_out_tables(&mut found, &is_table, &paths, &names)?;
        let (mut notes, pooled) =
            unlike::split(&mut arms, &mut found, &mut beside, (&sources, &within), &choices.arms)?;
        two_readings::expect_one_reading(&arms.all, &found, &sources, &within)?;
        taken.extend(of_names);
        taken.extend(pooled);
        notes.extend(taken.iter().map(|text| (None, text.clone())));
        notes.extend(of_numbers.into_iter().map(|text| (None, text)));
        let mut disagreements = Gathered::identify(&mut arms, &found, &sources);
        // Who names arms, or gives a file with several, has put them in order.
        let is_left_out = |source: &usize| tables.left_out.contains(source);
        let is_in_order = (0..paths.len()).any(|source| has_several[source] && !is_left_out(&source));
        if choices.base.is_none() && !is_named && !is_in_order {
            let places = arms.sort_by_version();
            found.iter_mut().chain(&mut beside).for_each(|one| one.arm = places[one.arm]);
            notes.iter_mut().for_each(|(arm, _)| *arm = arm.map(|arm| places[arm]));
            disagreements.iter_mut().for_each(|one| one.arm = places[one.arm]);
        }
        let arms = arms.all;
        let left_out = |source: &usize| LeftOut { path: PathBuf::from(&paths[*source]), why: Why::Derived };
        let left_out = tables.left_out.iter().map(left_out).collect();
        let (base, base_as) = base(&arms, choices.base.as_deref())?;
        let mut assembled = Self {
            arms,
            base,
            base_as,
            steps: Vec::new(),
            results: Vec::new(),
            sources,
            repeats: 1,
            notes,
            doubts: Vec::new(),
            unpaired: Findings::new(),
            taken,
            left_out,
        };
        assembled.place(found, is_consecutive, &within)?;
        same::expect_each_once(&assembled)?;
        assembled.add_beside(beside)?;
        assembled.expect_common_tests()?;
        assembled.count_metrics(choices.cpus);
        assembled.examine(&tables.wrong, &disagreements)?;
        let below = assembled.below_goodput();
        assembled.notes.extend(below);
        Ok(assembled)
    }

    /// Adds what figures show, doubts first.
    fn examine(&mut self, wrong: &[WrongCell], disagreements: &[Disagreement]) -> Result<()> {
        let (of_figures, findings) = consistency::examine(self)?;
        let mut doubts: Vec<Doubt> = disagreements.iter().map(|one| one.doubt(self)).collect();
        doubts.extend(wrong.iter().filter_map(|cell| cell.doubt(self)));
        doubts.extend(of_figures);
        let note = |one: &Doubt| match one.steps[..] {
            [step] => (Some(one.arm), format!("{}: {}", self.steps[step].name, one.text)),
            _ => (Some(one.arm), one.text.clone()),
        };
        let notes: Vec<_> = doubts.iter().map(note).collect();
        self.notes.splice(0..0, notes);
        self.notes.extend(findings);
        self.doubts = doubts;
        Ok(())
    }

    /// Makes steps of tests, and numbers repeats.
    fn place(&mut self, found: Vec<Found>, is_consecutive: bool, within: &[PathBuf]) -> Result<()> {
        let cases = Case::of_all(&found);
        let is_published = cases.iter().all(|case| case.name.range.is_some());
        let mut known = HashSet::new();
        let mut distinct: Vec<&Case> = cases.iter().filter(|case| known.insert(*case)).collect();
        if is_published {
            distinct.sort_by(|a, b| {
                in_published_order(&a.name, &b.name).then_with(|| natural(&a.step(), &b.step()))
            });
        } else if is_consecutive {
            distinct.sort_by_key(|case| ibench::position(&case.name.test));
        } else {
            distinct.sort_by(|a, b| natural(&a.step(), &b.step()));
        }
        let group = |test: &TestName| match (is_published, is_consecutive) {
            (true, _) => test.group(),
            (false, true) if test.test.starts_with("l.") => &INSERTS,
            (false, true) => &BESIDE_WRITES,
            (false, false) => &TESTS,
        };
        let step = |case: &&Case| Step {
            name: case.step(),
            test: case.test(),
            row: case.row(),
            bare: case.name.row(),
            settings: case.settings.clone(),
            group: group(&case.name).clone(),
            role: case.name.role(),
            writes: case.name.writes(),
            clients: 0,
        };
        self.steps = distinct.iter().map(step).collect();
        let places: HashMap<&Case, usize> =
            distinct.iter().enumerate().map(|(step, case)| (*case, step)).collect();
        let mut numbers: BTreeMap<(usize, usize), Numbers> = BTreeMap::new();
        let mut units: BTreeMap<usize, (Unit, Place)> = BTreeMap::new();
        let mut given = BTreeMap::new();
        for (found, case) in found.into_iter().zip(&cases) {
            let Some(step) = places.get(case).copied() else { continue };
            let (source, mut measurement) = (found.source, found.measurement);
            if let Some(work) = &measurement.work {
                let place = || Place::of(&self.sources[source], &measurement);
                match units.get(&step) {
                    Some((unit, first)) if *unit != work.unit => {
                        return Err(Error::Units {
                            test: case.row(),
                            places: Box::new([first.clone(), place()]),
                            unit: unit.many.to_string(),
                            other_unit: work.unit.many.to_string(),
                        });
                    }
                    Some(_) => {}
                    None => drop(units.insert(step, (work.unit.clone(), place()))),
                }
            }
            let repeat = match found.repeat {
                Some(repeat) => {
                    self.given_repeat((found.arm, step, repeat), &measurement, source, &mut given)?
                }
                None => numbers.entry((found.arm, step)).or_default().next(source, measurement.repeat),
            };
            self.steps[step].clients = self.steps[step].clients.max(measurement.clients.unwrap_or(0));
            let values =
                std::mem::take(&mut measurement.values).into_iter().map(|value| (source, value)).collect();
            let sampled = Vec::new();
            self.results.push(Placed { arm: found.arm, step, repeat, measurement, values, sampled, source });
        }
        let unpaired = pairing::pair(self, within, !given.is_empty())?;
        self.notes.extend(unpaired.iter().cloned());
        self.unpaired = unpaired;
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

    /// The number of the repeat that a file was given as.
    ///
    /// # Errors
    /// If another result of the arm and test was given as the same repeat.
    fn given_repeat(
        &self,
        at: (usize, usize, u32),
        measurement: &Measurement,
        source: usize,
        given: &mut BTreeMap<(usize, usize, u32), Place>,
    ) -> Result<u32> {
        let second = Place::of(&self.sources[source], measurement);
        let (arm, step, repeat) = at;
        match given.insert(at, second.clone()) {
            None => Ok(repeat),
            Some(first) => Err(Error::RepeatTwice {
                first,
                second,
                test: self.steps[step].name.clone(),
                arm: self.arms[arm].name.clone(),
            }),
        }
    }

    /// Rates that are not the printed ones, which are below what they are the sum of.
    fn below_goodput(&self) -> Findings {
        let has_quirk = |one: &&Placed| {
            self.sources[one.source].quirks.iter().any(|key| key == Quirk::BelowGoodput.key())
        };
        let text = |one: &Placed| {
            let printed =
                |name| one.values.iter().find(|(_, value)| value.name == name)?.1.published.as_deref();
            Some(format!(
                "{}: throughput {} is below goodput {} in {}; the rate was computed anew from requests and time: {:.1} per second",
                self.steps[one.step].name,
                printed("throughput")?,
                printed("goodput")?,
                self.sources[one.source].path,
                one.measurement.work.as_ref()?.per_second()
            ))
        };
        self.results.iter().filter(has_quirk).filter_map(|one| Some((Some(one.arm), text(one)?))).collect()
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
        if let Some(differences) = self.other_settings(&of_base, &of_others) {
            return Err(Error::OtherSettings { base: self.arms[self.base].name.clone(), differences });
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

    /// `select-only ran with query mode simple on old, and prepared on others`: in what tests of base and of the others
    /// differ that are the same otherwise.
    fn other_settings(&self, of_base: &BTreeSet<usize>, of_others: &BTreeSet<usize>) -> Option<String> {
        let mut differences: Vec<String> = Vec::new();
        for own in of_base.iter().map(|step| &self.steps[*step]) {
            let others = of_others.iter().map(|step| &self.steps[*step]);
            for other in others.filter(|other| other.bare == own.bare) {
                let pairs = own.settings.iter().zip(&other.settings).filter(|(own, other)| own != other);
                differences.extend(pairs.map(|((key, own_value), (_, value))| {
                    let (name, arm) = (setting_name(key), &self.arms[self.base].name);
                    format!("{} ran with {name} {own_value} on {arm}, and {value} on others", own.bare)
                }));
            }
        }
        (!differences.is_empty()).then(|| clipped(&differences.join("; "), NAMES_CHARS_MAX))
    }

    /// Adds figures of the host and of profiles to the results they belong to: of the same arm and test, in order.
    fn add_beside(&mut self, beside: Vec<Found>) -> Result<()> {
        let mut counts: BTreeMap<(usize, String, String), u32> = BTreeMap::new();
        let named: Vec<(String, String)> = beside
            .iter()
            .map(|one| &self.sources[one.source])
            .map(|source| (source.format.clone(), stem(Path::new(&source.path))))
            .collect();
        for one in beside {
            let format = self.sources[one.source].format.clone();
            let count = counts.entry((one.arm, one.test.row(), format.clone())).or_default();
            *count += 1;
            let told = one.measurement.repeat;
            let row = one.test.row();
            let is_of_test = |step: &Step| step.row == row || step.bare == row || step.name == row;
            let clients = one.measurement.clients.filter(|_| one.test.range.is_some());
            let is_of_clients = |result: &Placed| clients.is_none() || result.measurement.clients == clients;
            let source = |index: usize| Path::new(&self.sources[index].path);
            let of_arm = || self.results.iter().enumerate().filter(|(_, result)| result.arm == one.arm);
            let is_of_test = |result: &Placed| is_of_test(&self.steps[result.step]) && is_of_clients(result);
            let of_test = || of_arm().filter(|(_, result)| is_of_test(result));
            let own = source(one.source);
            let is_beside = |path: &Path| path.parent() == own.parent();
            let beside = || of_test().filter(|(_, result)| is_beside(source(result.source)));
            let before = |own: &Placed| {
                of_test().filter(|(_, one)| one.step == own.step && one.repeat < own.repeat).count() as u32
            };
            let has_its_own =
                |result: &Placed| named.contains(&(format.clone(), stem(source(result.source))));
            let is_repeat = |own: &Placed| match told {
                Some(told) => own.repeat == told,
                None => before(own) + 1 == *count,
            };
            // A name that fits one result alone tells whose it is, whatever that result's file says of its test.
            let is_alike = |path: &Path| is_beside(path) && stem(path) == stem(own);
            let mut alike =
                self.results.iter().enumerate().filter(|(_, result)| is_alike(source(result.source)));
            let alike = alike.next().filter(|_| alike.next().is_none());
            // Where others are named after their results, one that is not is of none of them.
            let are_named = of_test().any(|(_, result)| has_its_own(result));
            let only = || Some(of_arm().next()?.0).filter(|_| of_arm().count() == 1 && !are_named);
            let place = alike
                .or_else(|| of_test().find(|(_, result)| stem(source(result.source)) == stem(own)))
                .or_else(|| beside().next().filter(|_| beside().count() == 1 && !are_named))
                .or_else(|| of_test().find(|(_, result)| is_repeat(result) && (told.is_some() || !are_named)))
                .map(|(index, _)| index)
                .or_else(only);
            let Some(place) = place else { return Err(self.belongs_nowhere(&one)) };
            let result = &mut self.results[place];
            result.values.extend(one.measurement.values.into_iter().map(|value| (one.source, value)));
            result.sampled.extend(one.measurement.sampled.map(|sampled| (one.source, sampled)));
            for (name, value) in one.measurement.metrics {
                result.measurement.metrics.entry(name).or_insert(value);
            }
            result.measurement.stacks = result.measurement.stacks.take().or(one.measurement.stacks);
        }
        Ok(())
    }

    fn belongs_nowhere(&self, one: &Found) -> Error {
        let source = &self.sources[one.source];
        let path = PathBuf::from(&source.path);
        let row = one.test.row();
        let is_of_test = |result: &Placed| {
            let step = &self.steps[result.step];
            result.arm == one.arm && (step.row == row || step.bare == row || step.name == row)
        };
        if self.results.iter().any(is_of_test) {
            let why = format!(
                "this {} is of repeat {} of {row} on {}, of which there is no result among the files: leave it out, or give the \
                 result, too",
                source.format,
                stem(&path),
                self.arms[one.arm].name
            );
            return Error::Contradiction { path, line: 1, why };
        }
        let names = |names: BTreeSet<&str>| {
            clipped(&names.into_iter().collect::<Vec<_>>().join(", "), NAMES_CHARS_MAX)
        };
        let arm_of = |result: &Placed| self.arms[result.arm].name.as_str();
        Error::BelongsNowhere(Box::new(BelongsNowhere {
            format: source.format.clone(),
            arm: self.arms[one.arm].name.clone(),
            test: one.test.row(),
            ending: path.extension().unwrap_or_default().to_string_lossy().into_owned(),
            arms: names(self.results.iter().map(arm_of).collect()),
            tests: names(self.results.iter().map(|result| self.steps[result.step].row.as_str()).collect()),
            path,
        }))
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
                        Some("disk_read_mb") => ("disk_read_kb", mean * 1024.0 * elapsed_us / 1e6),
                        Some("disk_write_mb") => ("disk_write_kb", mean * 1024.0 * elapsed_us / 1e6),
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

/// # Errors
/// If only some results were given as --repeat: which repeats the others are nobody said.
fn expect_repeats_of_all(loaded: &[Loaded]) -> Result<()> {
    let is_result = |one: &&Loaded| one.document.measurements.iter().any(|one| one.work.is_some());
    let (given, others): (Vec<&Loaded>, Vec<&Loaded>) =
        loaded.iter().filter(is_result).partition(|one| one.given.repeat.is_some());
    match (given.first(), others.first()) {
        (Some(_), Some(other)) => {
            Err(Error::NoRepeat { path: other.given.path.clone(), others: others.len() - 1 })
        }
        _ => Ok(()),
    }
}

/// The arm that was chosen, or is named so, or is the first.
fn base(arms: &[ImportedArm], name: Option<&str>) -> Result<(usize, BaseAs)> {
    let named = |name: &str| arms.iter().position(|arm| arm.name == name || arm.raw == name);
    match name.map(|name| (name, named(name))) {
        None => {
            // Who names arms gives base first, or by its name.
            let are_named = arms.iter().any(|arm| arm.is_given || arm.is_told);
            let known = [BASE].into_iter().chain(OLD.into_iter().filter(|_| !are_named));
            let is_ordered = are_named || are_versions(arms);
            let words = || named_base(arms).filter(|_| !is_ordered);
            Ok(match (known.into_iter().find_map(named), words()) {
                (Some(arm), _) | (None, Some((arm, true))) => (arm, BaseAs::Named),
                (None, Some((arm, false))) => (arm, BaseAs::Guessed),
                (None, None) if is_ordered => (0, BaseAs::First),
                (None, None) => (0, BaseAs::Guessed),
            })
        }
        Some((_, Some(arm))) => Ok((arm, BaseAs::Chosen)),
        Some((name, None)) => Err(Error::UnknownArm {
            name: name.to_owned(),
            known: arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", "),
        }),
    }
}
