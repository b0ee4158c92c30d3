//! What files hold, each measurement with the arm and the test that it or its path tells.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use rqps_model::{Dbms, clipped};
use rqps_store::Source;

use crate::arms::{ArmRule, Arms, is_bare_number, version_in_name, version_numbers};
use crate::error::{Error, Result};
use crate::formats::{Format, rates_table, sysbench};
use crate::layout::Layout;
use crate::loaded::{Given, Loaded};
use crate::model::{Measurement, Quirk};
use crate::names::{ArmName, TestName};
use crate::path_classes::is_repeat_label;
use crate::paths::{are_in_repeats, arm_and_test_of, arm_of_path, clients_of, test_of_path};
use crate::placed::{Assembled, Doubt, Found, Placed};
use crate::settings::Case;
use crate::{scripts, series};

/// Of the names in a note.
const NAMES_CHARS_MAX: usize = 200;

/// Measurements on their way to their places.
#[derive(Default)]
pub struct Gathered {
    pub sources: Vec<Source>,
    pub arms: Arms,
    /// Results.
    pub found: Vec<Found>,
    /// Figures that belong to results.
    pub beside: Vec<Found>,
    /// What was assumed of numbers in names.
    pub notes: Vec<String>,
    /// What directories were taken for.
    pub taken: Vec<String>,
}

impl Gathered {
    /// # Errors
    /// If there are no rates, or a file of several arms was given as one.
    pub fn of(loaded: Vec<Loaded>, layouts: &[Layout], rules: &[ArmRule]) -> Result<Self> {
        let formats: BTreeSet<&str> = loaded.iter().map(|one| one.format.key()).collect();
        let mut gathered = Self { sources: loaded.iter().map(source).collect(), ..Self::default() };
        let mut dates: Vec<(String, i64)> = Vec::new();
        let paths: Vec<(Option<&str>, &Path)> = { loaded.iter().zip(layouts) }
            .map(|(one, layout)| (one.given.arm.as_deref().or(layout.arm.as_deref()), &*layout.within))
            .collect();
        let in_repeats = are_in_repeats(&paths);
        let (numbers, notes) = series::of(&loaded);
        gathered.notes = notes;
        for ((index, one), is_in_repeats) in loaded.into_iter().enumerate().zip(in_repeats) {
            let first = gathered.found.len();
            dates.extend(gathered.add((index, is_in_repeats), one, &layouts[index], rules)?);
            for found in &mut gathered.found[first..] {
                found.test.test.extend(numbers[index].map(|number| format!("-{number}")));
            }
        }
        scripts::tell_apart(&mut gathered.found);
        gathered.add_settings(layouts);
        if gathered.found.is_empty() {
            return Err(Error::NoResults { formats: formats.into_iter().collect() });
        }
        for (raw, at) in dates {
            if let Some(arm) = gathered.arms.all.iter_mut().find(|arm| arm.raw == raw) {
                arm.measured_at_ms = Some(at);
            }
        }
        Ok(gathered)
    }

    /// Adds what a file holds. Returns the arm and the date of one that has no other figures.
    fn add(
        &mut self,
        (index, is_in_repeats): (usize, bool),
        one: Loaded,
        layout: &Layout,
        rules: &[ArmRule],
    ) -> Result<Option<(String, i64)>> {
        let path = &one.given.path;
        let directory = layout.within.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let of_svg = (one.format == Format::Flamegraph).then(|| arm_and_test_of(&name)).flatten();
        let arm_of_name = || of_svg.as_ref().map(|(arm, _)| arm.clone());
        let of_directory = || layout.arm.clone().or_else(|| arm_of_directory(&one.given, directory));
        let of_path = one.given.arm.clone().or_else(arm_of_name).or_else(of_directory);
        let of_file = TestName::of_file(&name).map(|(_, test)| test);
        let of_file = of_file.or_else(|| of_svg.as_ref().map(|(_, test)| TestName::of_row(test)));
        if let Some(given) = &one.given.arm {
            is_one_arm(path, given, &one.document.measurements)?;
        }
        let date = of_path.clone().zip(one.document.measured_at_ms);
        let date = date.filter(|_| one.document.measurements.is_empty());
        for mut measurement in one.document.measurements {
            let raw = one.given.arm.clone().or(measurement.arm.clone()).or(of_path.clone());
            let raw = raw.as_deref().unwrap_or("results");
            expect_plain(path, "arm", raw)?;
            let arm = self.arms.at(raw, directory, rules);
            let known = &mut self.arms.all[arm];
            known.is_given |= one.given.arm.is_some();
            known.is_beside_base |= layout.arm.is_some();
            known.is_told |= measurement.arm.is_some() || of_svg.is_some();
            known.measured_at_ms = known.measured_at_ms.or(one.document.measured_at_ms);
            let of_name = || {
                let name = || test_of_path(&layout.within, one.format, is_in_repeats);
                TestName::of_row(&layout.test.clone().unwrap_or_else(name))
            };
            let row = measurement.test.as_deref().map(TestName::of_row);
            let test = of_file.clone().or(row).unwrap_or_else(of_name);
            expect_plain(path, "test", &test.row())?;
            let (test, misnamed) = match one.format {
                Format::Sysbench if of_file.is_some() => sysbench::test_of(test, &measurement),
                _ => (test, None),
            };
            measurement.misnamed = misnamed;
            measurement.clients = measurement.clients.or_else(|| clients_of(path));
            if one.format == Format::Sysbench && test.is_scan() {
                let quirk = sysbench::as_scan(&mut measurement);
                self.sources[index].quirks.extend(quirk.map(|quirk| quirk.key().to_owned()));
            }
            if one.format == Format::RatesTable && test.is_scan() {
                let quirk = rates_table::as_scan(&mut measurement).key().to_owned();
                let quirks = &mut self.sources[index].quirks;
                quirks.extend((!quirks.contains(&quirk)).then_some(quirk));
            }
            let into = if measurement.work.is_some() { &mut self.found } else { &mut self.beside };
            let repeat = one.given.repeat.as_ref().map(|repeat| repeat.number);
            into.push(Found { arm, part: String::new(), repeat, test, measurement, source: index });
        }
        Ok(date)
    }

    /// Adds directories of settings to the names of tests, unless what files tell differs between them anyway, as with
    /// `s100` and `s1000` of scales 100 and 1000.
    fn add_settings(&mut self, layouts: &[Layout]) {
        let levels = layouts.iter().map(|layout| layout.settings.len()).max().unwrap_or(0);
        // Those that names of files tell come last.
        for level in 0..=levels {
            let name = |one: &Found| match level == levels {
                true => layouts[one.source].setting.as_ref(),
                false => layouts[one.source].settings.get(level),
            };
            let mut of_case: HashMap<Case, BTreeSet<Option<&String>>> = HashMap::new();
            for (case, one) in Case::of_all(&self.found).into_iter().zip(&self.found) {
                of_case.entry(case).or_default().insert(name(one));
            }
            if of_case.values().all(|names| names.len() < 2) {
                continue;
            }
            let names: BTreeSet<&String> = self.found.iter().filter_map(name).collect();
            let (what, remedy) = match level == levels {
                true => ("parts of names of files", "number their files only: 1.log, 2.log"),
                false => ("directories", "give each as --repeat PATH"),
            };
            self.taken.push(format!(
                "the {what} {} were taken for settings, which are a part of the names of tests; if they are \
                 repeats, {remedy}; if they are arms, give each as ARM=PATH",
                clipped(&names.into_iter().cloned().collect::<Vec<_>>().join(", "), NAMES_CHARS_MAX)
            ));
            for one in self.found.iter_mut().chain(&mut self.beside) {
                if let Some(name) = name(one) {
                    one.test.test = format!("{}.{name}", one.test.test);
                }
            }
        }
    }

    /// Fills in what files tell of their arms, where names do not. A file that tells nothing, as those of sysbench,
    /// contradicts nothing.
    ///
    /// Returns the arms whose files tell something else than their names, with these files, and what.
    pub fn identify(arms: &mut Arms, found: &[Found], sources: &[Source]) -> Vec<Disagreement> {
        let mut disagreements = Vec::new();
        let names: Vec<String> = arms.all.iter().map(|arm| arm.raw.clone()).collect();
        for (index, arm) in arms.all.iter_mut().enumerate() {
            let of_arm = || found.iter().filter(|one| one.arm == index);
            let telling = || of_arm().filter(|one| one.measurement.dbms.is_some());
            let identity = &mut arm.identity;
            let known = Some(&identity.dbms).filter(|dbms| !dbms.is_empty());
            // Programs that know no MariaDB call it MySQL.
            let is_other = |told: &str, known: &str| told != known && (told, known) != ("mysql", "mariadb");
            let told_other = |told: &str| known.is_some_and(|known| is_other(told, known));
            let other = telling().find(|one| one.measurement.dbms.as_deref().is_some_and(told_other));
            let told = |text: &Option<String>| text.clone().unwrap_or_default();
            let (name, raw) = (arm.name.clone(), arm.raw.clone());
            let rule = |one: &Found| {
                let (dbms, version) = (told(&one.measurement.dbms), told(&one.measurement.version));
                format!("--arm '{raw}={dbms}:{}'", if version.is_empty() { "VERSION" } else { &version })
            };
            let server = |one: &Found| {
                let text = format!("{} {}", told(&one.measurement.dbms), told(&one.measurement.version));
                text.trim().to_owned()
            };
            if let (Some(other), Some(known)) = (other, known) {
                let text = format!(
                    "{} is of {}, the arm is of {known}: take out what is not of this arm, or say what all of it is of, such as \
                     {}",
                    sources[other.source].path,
                    server(other),
                    rule(other)
                );
                let sources = telling().map(|one| one.source).collect();
                disagreements.push(Disagreement { arm: index, sources, text });
                continue;
            }
            let is_of_other = |one: &&Found| {
                let Some(told) = one.measurement.version.as_deref() else { return false };
                let dbms =
                    Dbms::ALL.into_iter().find(|dbms| one.measurement.dbms.as_deref() == Some(dbms.name()));
                let is_open = identity.version.is_empty();
                let version = |raw: &String| version_in_name(raw, dbms?);
                let is_told = |raw: &String| version(raw).is_some_and(|own| !are_other_versions(told, &own));
                // A bare number is a version if that of another arm is the server's: `16` beside `17`.
                let is_version = !is_bare_number(&raw) || names.iter().any(is_told);
                let of_name = version(&raw).filter(|_| is_open && is_version);
                are_other_versions(told, of_name.as_ref().unwrap_or(&identity.version))
            };
            let of_other: Vec<&Found> = telling().filter(is_of_other).collect();
            if let Some(first) = of_other.first() {
                let text = format!(
                    "{} was measured on a server {}, but the arm is called {name}: was it the right server (host, port)? If so, \
                     say what the arm is: {}",
                    sources[first.source].path,
                    server(first),
                    rule(first)
                );
                let sources = of_other.iter().map(|one| one.source).collect();
                disagreements.push(Disagreement { arm: index, sources, text });
            }
            for one in telling() {
                fill(&mut identity.dbms, &one.measurement.dbms);
                fill(&mut identity.version, &one.measurement.version);
            }
        }
        disagreements
    }
}

/// The arm that a file's directory names. Those that all files are in name it if there are no others but of repeats.
pub fn arm_of_directory(given: &Given, directory: &Path) -> Option<String> {
    let of_all = || {
        let above = arm_of_path(given.of_all()?);
        above.filter(|name| !is_repeat_label(name))
    };
    match arm_of_path(directory) {
        None => of_all(),
        Some(own) if is_repeat_label(&own) => {
            of_all().filter(|above| ArmName::parse(above).is_some()).or(Some(own))
        }
        own => own,
    }
}

/// Whether two versions differ in a number that both have: `17` is also `17.2`.
fn are_other_versions(one: &str, other: &str) -> bool {
    let numbers = version_numbers(one).zip(version_numbers(other));
    numbers.is_some_and(|(one, other)| one.iter().zip(&other).any(|(one, other)| one != other))
}

/// Files of an arm that tell another DBMS or version than its name.
pub struct Disagreement {
    pub arm: usize,
    pub sources: BTreeSet<usize>,
    pub text: String,
}

impl Disagreement {
    pub fn doubt(&self, assembled: &Assembled) -> Doubt {
        let is_of = |one: &&Placed| one.arm == self.arm && self.sources.contains(&one.source);
        let steps: BTreeSet<usize> = assembled.results.iter().filter(is_of).map(|one| one.step).collect();
        Doubt { arm: self.arm, steps: steps.into_iter().collect(), repeat: None, text: self.text.clone() }
    }
}

fn source(one: &Loaded) -> Source {
    Source {
        path: one.given.path.to_string_lossy().into_owned(),
        sha256: one.sha256.clone(),
        bytes: one.bytes,
        format: one.format.key().to_owned(),
        tool: one.document.tool.clone(),
        quirks: one.document.quirks.iter().map(|quirk: &Quirk| quirk.key().to_owned()).collect(),
        measured_at_ms: one.document.measured_at_ms,
        modified_at_ms: one.modified_at_ms,
    }
}

/// # Errors
/// If a name would break the lines that it is shown in, or is not UTF-8.
fn expect_plain(path: &Path, what: &'static str, name: &str) -> Result<()> {
    // Bytes that are not UTF-8 were replaced: two such names could have become one.
    if !name.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER) {
        return Ok(());
    }
    let remedy = match what {
        "arm" => "give the file as ARM=PATH with a plain name, or correct the name in it",
        _ => "rename the file, or correct the name in it",
    };
    Err(Error::NotPlain { path: path.to_owned(), what, name: name.to_owned(), remedy })
}

/// # Errors
/// If the file has several arms, which would all be called `given`.
fn is_one_arm(path: &Path, given: &str, measurements: &[Measurement]) -> Result<()> {
    if !has_several_arms(measurements) {
        return Ok(());
    }
    let mut arms: Vec<&str> = Vec::new();
    for arm in measurements.iter().filter_map(|one| one.arm.as_deref()) {
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    Err(Error::NamesArms { path: path.to_owned(), arms: arms.join(", "), given: given.to_owned() })
}

pub fn has_several_arms(measurements: &[Measurement]) -> bool {
    let mut arms = measurements.iter().filter_map(|one| one.arm.as_ref());
    let first = arms.next();
    arms.any(|arm| Some(arm) != first)
}

fn fill(known: &mut String, told: &Option<String>) {
    if let (true, Some(told)) = (known.is_empty(), told) {
        *known = told.clone();
    }
}
