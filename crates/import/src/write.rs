//! Writes an import as a run folder: complete under its name, or not at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_model::{Metrics, Setting};
use rqps_store::{
    ActionRecord, Arm, Block, BlockArm, BlockStatus, IMPORTED, ImportedResult, ImportedValue, Measured, Meta,
    Observation, Outcome, PROFILE_KIND, Placement, PlannedStep, Profile, RATE_WAS_SET, Role, RunFolder,
    RunWriter, Status, Window, now_ms,
};

use tempfile::TempDir;

use crate::arms::ImportedArm;
use crate::error::{Error, Result};
use crate::placed::{Assembled, Doubt, Placed, Step};
use crate::settings;

/// Where a run is made until it is complete.
const BESIDE: &str = ".import-";
/// No import takes as long.
const LEFT_AFTER: Duration = Duration::from_secs(3600);

/// What stands in place of a plan.
const NO_PLAN: &str = "# Imported: results of other programs, which no plan of rqps produced.\n";

/// Writes the run into `results` and returns its folder.
///
/// # Errors
/// If the folder cannot be written; then nothing of it is left.
pub fn write_run(assembled: &Assembled, results: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(results).map_err(Error::read(results))?;
    // Made beside its final place: what is left of a killed import is hidden, and no run.
    let (beside, _in_work) = directory_beside(results).map_err(Error::read(results))?;
    let folder = RunFolder::create(beside.path(), name)?;
    let mut writer = RunFolder::open_for_writing(folder.path())?;
    begin(&mut writer, assembled, name)?;
    write_results(&mut writer, folder.path(), assembled)?;
    for (arm, text) in &assembled.notes {
        writer.add_note(arm.map(|arm| assembled.arms[arm].name.as_str()), text)?;
    }
    writer.set_status(Status::Complete, None)?;
    drop(writer);
    into_place(folder.path(), results)
}

/// Makes a hidden directory, locked as long as the file is open, and deletes those that killed imports have left.
fn directory_beside(results: &Path) -> std::io::Result<(TempDir, Option<File>)> {
    // Another import must not see the new one before it is locked.
    let all = File::open(results)?;
    let is_alone = all.lock().is_ok();
    delete_left(results, is_alone);
    let beside = tempfile::Builder::new().prefix(BESIDE).tempdir_in(results)?;
    // Where locks are not supported, age decides.
    let in_work = File::open(beside.path()).ok().filter(|directory| directory.try_lock().is_ok());
    Ok((beside, in_work))
}

/// Deletes what killed imports have left: what nobody holds a lock on, or is too old for an import.
fn delete_left(results: &Path, is_alone: bool) {
    let is_free = |entry: &fs::DirEntry| {
        is_alone && File::open(entry.path()).is_ok_and(|directory| directory.try_lock().is_ok())
    };
    let age = |entry: &fs::DirEntry| entry.metadata().ok()?.modified().ok()?.elapsed().ok();
    for entry in fs::read_dir(results).into_iter().flatten().flatten() {
        let is_import = entry.file_name().to_string_lossy().starts_with(BESIDE);
        if is_import && (is_free(&entry) || age(&entry).is_some_and(|age| age > LEFT_AFTER)) {
            // Another import may do so, too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Moves the finished folder, under the next number if another took its name meanwhile.
fn into_place(folder: &Path, results: &Path) -> Result<PathBuf> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 1..1000 {
        let path = match number {
            1 => results.join(&name),
            number => results.join(format!("{name}-{number}")),
        };
        if !path.exists() {
            fs::rename(folder, &path).map_err(Error::read(&path))?;
            return Ok(path);
        }
    }
    Err(Error::read(&results.join(name))(std::io::ErrorKind::AlreadyExists.into()))
}

fn begin(writer: &mut RunWriter, assembled: &Assembled, name: &str) -> Result<()> {
    let steps = &assembled.steps;
    let clients = steps.first().map_or(0, |step| step.clients);
    let formats: Vec<&str> = assembled.formats();
    let tools: Vec<&str> = assembled.tools();
    let setting = |name: &str, value: String| Setting { name: name.to_owned(), value };
    let mut method = vec![setting("format", formats.join(", "))];
    if !tools.is_empty() {
        method.push(setting("program", tools.join(", ")));
    }
    let told = settings::told(&assembled.results);
    method.extend(told.into_iter().map(|(name, value)| setting(name, value)));
    let meta = Meta {
        name: name.to_owned(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at_ms: now_ms(),
        workload: "imported".to_owned(),
        workload_title: format!("imported {}", assembled.formats_of_rates().join(", ")),
        workload_revision: String::new(),
        protocol: IMPORTED.to_owned(),
        seed: 0,
        tables: 0,
        rows_per_table: 0,
        clients: if steps.iter().all(|step| step.clients == clients) { clients } else { 0 },
        actions_total: assembled.results.len() as u32,
        method,
    };
    let steps: Vec<PlannedStep> = (1..).zip(steps).map(|(position, step)| planned(position, step)).collect();
    let mut arms: Vec<Arm> = assembled.arms.iter().map(|one| arm(one, Role::Candidate)).collect();
    arms[assembled.base].role = Role::Base;
    // Tables take the first arm as base's place.
    let base = arms.remove(assembled.base);
    arms.insert(0, base);
    writer.begin_run(NO_PLAN, &meta, &steps, &arms, &[])?;
    if assembled.repeats > 1 {
        for number in 1..=assembled.repeats {
            writer.begin_block(&block(assembled, number))?;
        }
    }
    Ok(())
}

fn planned(position: u32, step: &Step) -> PlannedStep {
    PlannedStep {
        position,
        name: step.name.clone(),
        kind: "measure".to_owned(),
        test: Some(step.test.clone()),
        group: Some(step.group.clone()),
        role: Some(step.role),
        writes: step.writes,
        clients: step.clients,
        amount: "as imported".to_owned(),
    }
}

fn arm(one: &ImportedArm, role: Role) -> Arm {
    Arm {
        name: one.name.clone(),
        role,
        control: false,
        dbms: one.identity.dbms.clone(),
        build_version: one.identity.version.clone(),
        build_hash: String::new(),
        build_origin: one.origin.clone(),
        build_version_text: one.raw.clone(),
        config_name: one.identity.config.clone(),
        config_hash: String::new(),
        config_text: String::new(),
        left_out: Vec::new(),
        managed: Vec::new(),
        env: [].into(),
        after_load: Vec::new(),
        facts: Vec::new(),
        settings: Vec::new(),
    }
}

/// A repeat of all arms. Nobody says in which order they ran.
fn block(assembled: &Assembled, number: u32) -> Block {
    let now = now_ms();
    let mut tests: Vec<String> = Vec::new();
    for result in assembled.results.iter().filter(|result| result.repeat == number) {
        let test = &assembled.steps[result.step].name;
        if !tests.contains(test) {
            tests.push(test.clone());
        }
    }
    let arms = assembled.arms.iter().enumerate().map(|(index, arm)| BlockArm {
        arm: arm.name.clone(),
        start_position: index as u32 + 1,
        side: String::new(),
        cpus: String::new(),
        data_seq: None,
        copy: 1,
    });
    Block {
        number,
        seed: 0,
        status: BlockStatus::Done,
        note: None,
        started_at_ms: now,
        finished_at_ms: Some(now),
        restored_by: String::new(),
        tests,
        arms: arms.collect(),
    }
}

fn write_results(writer: &mut RunWriter, folder: &Path, assembled: &Assembled) -> Result<()> {
    let has_blocks = assembled.repeats > 1;
    let mut results = Vec::new();
    for placed in &assembled.results {
        let seq = results.len() as u32;
        let placement =
            has_blocks.then(|| Placement { block: placed.repeat, window: 1, slot: placed.arm as u32 + 1 });
        let observation = observation(assembled, placed, placement);
        let values = placed.values.iter().map(|(source, value)| ImportedValue {
            name: value.name.to_string(),
            unit: value.unit.to_string(),
            value: value.value,
            published: value.published.clone(),
            source: *source,
            line: value.line,
        });
        let action = record(assembled, placed, seq, "measure");
        results.push(ImportedResult { action, observation, values: values.collect() });
        if let Some(stacks) = &placed.measurement.stacks {
            let observation = profile(folder, assembled, placed, stacks)?;
            let action = record(assembled, placed, results.len() as u32, PROFILE_KIND);
            results.push(ImportedResult { action, observation, values: Vec::new() });
        }
    }
    writer.write_imported(&assembled.sources, &results)?;
    Ok(())
}

fn record(assembled: &Assembled, placed: &Placed, seq: u32, kind: &str) -> ActionRecord {
    let now = now_ms();
    let is_of = |doubt: &&Doubt| {
        doubt.arm == placed.arm
            && doubt.steps.contains(&placed.step)
            && doubt.repeat.is_none_or(|repeat| repeat == placed.repeat)
    };
    let doubts = assembled.doubts.iter().filter(is_of).map(|doubt| doubt.text.as_str());
    let doubts: Vec<&str> = doubts.filter(|_| kind != PROFILE_KIND).collect();
    ActionRecord {
        seq,
        arm: assembled.arms[placed.arm].name.clone(),
        kind: kind.to_owned(),
        step: assembled.steps[placed.step].name.clone(),
        attempt: 1,
        started_at_ms: now,
        finished_at_ms: now,
        outcome: Outcome::Done,
        note: (!doubts.is_empty()).then(|| doubts.join("; ")),
    }
}

fn observation(assembled: &Assembled, placed: &Placed, placement: Option<Placement>) -> Observation {
    let (step, measurement) = (&assembled.steps[placed.step], &placed.measurement);
    let work = measurement.work.as_ref();
    let window = Window {
        test: step.test.clone(),
        group: step.group.key.to_string(),
        role: step.role,
        position: placed.step as u32 + 1,
        clients: measurement.clients.unwrap_or(0),
        seed: None,
        started_at_ms: assembled.sources[placed.source].measured_at_ms,
        warmup_us: work.and_then(|work| work.warmup_us),
        elapsed_us: work.and_then(|work| work.elapsed_us).unwrap_or(1_000_000),
        ended_by: work.map_or(rqps_model::EndedBy::Rate, |work| work.ended_by),
        unit: work.map_or_else(|| crate::model::OPERATIONS.clone(), |work| work.unit.clone()),
        operations: work.map_or(0.0, |work| work.operations),
        target_events_per_s: None,
        pacer: None,
        events: work.and_then(|work| work.events),
        queries: work.and_then(|work| work.queries),
        statements: None,
        statements_working: None,
        noop_statements: None,
        rows: work.and_then(|work| work.rows),
        errors: work.and_then(|work| work.errors),
        retries: measurement.retries.clone(),
    };
    let was_set = measurement.schedule.map(|_| (RATE_WAS_SET.to_owned(), 1.0));
    let metrics = measurement.metrics.iter().map(|(name, value)| (name.clone(), *value));
    let metrics: Metrics = metrics.chain(was_set).collect();
    Observation {
        placement,
        metrics,
        series: measurement.series.clone(),
        histograms: measurement.histograms.clone(),
        plans: measurement.plans.clone(),
        ..Observation::new(Measured::Window(window))
    }
}

/// Writes the stacks into the run folder.
fn profile(folder: &Path, assembled: &Assembled, placed: &Placed, stacks: &str) -> Result<Observation> {
    let (arm, step) = (&assembled.arms[placed.arm], &assembled.steps[placed.step]);
    let safe = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.=".contains(c), "_");
    let repeat = if placed.repeat > 1 { format!(".{}", placed.repeat) } else { String::new() };
    let file = format!("profiles/{}.{}{repeat}.folded", safe(&arm.name), safe(&step.name));
    let path = folder.join(&file);
    fs::write(&path, stacks).map_err(Error::read(&path))?;
    let samples = stacks.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    Ok(Observation::new(Measured::Profile(Profile {
        test: step.test.clone(),
        group: step.group.key.to_string(),
        clients: placed.measurement.clients.unwrap_or(0),
        events: 0,
        operations: 0.0,
        elapsed_us: 0,
        sampled_by: "perf".to_owned(),
        event: "cycles".to_owned(),
        frequency_hz: 0.0,
        call_graph: "fp".to_owned(),
        samples: samples.fold(0, u64::saturating_add),
        lost_samples: 0,
        unresolved_samples: 0,
        file,
        note: Some("from a flamegraph: frames too narrow to be drawn are part of their callers".to_owned()),
    })))
}

impl Assembled {
    fn formats(&self) -> Vec<&str> {
        distinct(self.sources.iter().map(|source| source.format.as_str()))
    }

    /// Without those of figures beside, so that tests are the same ones whether or not these were given.
    fn formats_of_rates(&self) -> Vec<&str> {
        distinct(self.results.iter().map(|result| self.sources[result.source].format.as_str()))
    }

    /// Programs that measured the rates, each with the version that one of its files tells.
    fn tools(&self) -> Vec<&str> {
        let sources = self.results.iter().map(|result| &self.sources[result.source]);
        let all = distinct(sources.filter_map(|source| source.tool.as_deref()));
        let is_told = |tool: &&str| {
            !all.iter().any(|other| other.strip_prefix(tool).is_some_and(|version| version.starts_with(' ')))
        };
        all.iter().copied().filter(is_told).collect()
    }
}

fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all
}
