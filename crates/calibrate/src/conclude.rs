//! Makes the report from finished runs: freezes the verdicts, then opens the seal, then compares.
//!
//! | in `calibration/` of the run folder | |
//! | --- | --- |
//! | `campaign.json` | the command line, and the cost of one multiplication, from the first run |
//! | `verdicts.json` | the verdicts, written before the doses were read; a note of the run holds its SHA-256 |
//! | `doses.json` | the doses; their SHA-256 has been in every arm's environment since the run began |
//! | `report.md` | the report |

use crate::analysis::{Analysis, DRAWS, Input};
use crate::campaign::{Place, SEAL_VARIABLE, ladder_spins};
use crate::dose::Dose;
use crate::error::{Error, Result};
use crate::frozen::Frozen;
use crate::pairing::enough_blocks;
use crate::report::{About, report};
use crate::seal::{self, Sealed};
use crate::truth::Truth;
use rqps_stats::{Experiment, Metric};
use rqps_store::{BlockStatus, Run, RunFolder};
use rqps_verdicts::{InstructionSource, judge_run, rules_of};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Folder of a calibration in a run folder.
const FOLDER: &str = "calibration";
/// What is known before the second run.
const KNOWN_FILE: &str = "campaign.json";
/// Beginning of the note with the digest of the verdicts.
const FROZEN_NOTE: &str = "calibration: verdicts written before the doses were read, SHA-256 ";

/// What is known of a campaign before its second run begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The command line that repeats the campaign.
    pub command: String,
    /// The cost of a multiplication.
    pub truth: Truth,
}

/// The metrics that are calibrated.
///
/// # Errors
/// Returns an error if the run is inconsistent.
pub fn rates_and_costs(run: &Run) -> Result<Experiment> {
    let mut experiment = rqps_verdicts::experiment(run)?;
    for test in &mut experiment.tests {
        test.metrics.retain(|data| data.metric != Metric::StallFactor);
    }
    Ok(experiment)
}

/// The cost of a multiplication, from the first run of a campaign.
///
/// # Errors
/// Returns an error if the run cannot be read or has too few blocks.
pub fn learn(ladder: &Path) -> Result<Truth> {
    let run = RunFolder::open(ladder)?;
    let truth = Truth::fit(&rates_and_costs(&run)?, &ladder_spins(), &run.folder.name());
    if truth.blocks < 3 {
        let what = format!("the run that sizes the doses has only {} blocks", truth.blocks);
        return Err(Error::TooLittle { what });
    }
    Ok(truth)
}

/// Writes what is known before the second run into its folder.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn keep(run: &Path, known: &Known) -> Result<()> {
    let folder = RunFolder::at(run)?.path().join(FOLDER);
    fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    seal::write(&folder.join(KNOWN_FILE), known)?;
    Ok(())
}

/// Makes the report of a campaign from the folder of its second run, and writes it there. Verdicts that were frozen
/// and doses that were opened earlier are checked and reused.
///
/// # Errors
/// Returns an error if it is not a campaign's run, or if its verdicts or doses were changed.
pub fn conclude(path: &Path) -> Result<String> {
    let run = RunFolder::open(path)?;
    let folder = run.folder.path().join(FOLDER);
    let known = read_known(&folder, path)?;
    let env = run.arms.first().map(|arm| arm.env.clone()).unwrap_or_default();
    let Some(committed) = env.get(SEAL_VARIABLE).cloned() else {
        let reason = format!("its arms have no {SEAL_VARIABLE}");
        return Err(Error::NoCalibration { path: path.to_owned(), reason });
    };
    let (rules, experiment) = (rules_of(&run)?, rates_and_costs(&run)?);
    // Before the seal is opened, which cannot be undone.
    enough_blocks(&experiment, &rules)?;
    let (frozen, frozen_digest) = freeze(&run, &folder)?;
    let sealed = open(&Place::from_env(&env, path)?, &folder, &committed)?;
    let arms: Vec<String> = run.arms.iter().map(|arm| arm.name.clone()).collect();
    let dose_of = |arm: &String| {
        let reason = || format!("{arm} has no sealed dose");
        let dose = sealed.doses.get(arm).copied();
        dose.ok_or_else(|| Error::NoCalibration { path: path.to_owned(), reason: reason() })
    };
    let doses: Vec<Dose> = arms.iter().map(dose_of).collect::<Result<_>>()?;
    let input = Input {
        experiment: &experiment,
        rules: &rules,
        arms: &arms,
        doses: &doses,
        truth: &known.truth,
        frozen: &frozen,
        draws: DRAWS,
    };
    let analysis = Analysis::new(&input)?;
    let about = about(&run, &committed, &frozen_digest, &known.command);
    let text = report(&input, &analysis, &about);
    let report_path = folder.join("report.md");
    fs::write(&report_path, &text).map_err(Error::file("write", &report_path))?;
    Ok(text)
}

fn read_known(folder: &Path, run: &Path) -> Result<Known> {
    let path = folder.join(KNOWN_FILE);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let reason = "calibration/campaign.json, which sizes the doses, is missing".to_owned();
            return Err(Error::NoCalibration { path: run.to_owned(), reason });
        }
        read => read.map_err(Error::file("read", &path))?,
    };
    serde_json::from_str(&text).map_err(|source| Error::Format { path, source })
}

/// Writes the verdicts and their digest before the doses are read; or reads them if that was done before.
fn freeze(run: &Run, folder: &Path) -> Result<(Frozen, String)> {
    let path = folder.join("verdicts.json");
    let noted = run.notes.iter().find_map(|note| note.text.strip_prefix(FROZEN_NOTE));
    if let Some(digest) = noted {
        return Ok((Frozen::read(&path, digest)?, digest.to_owned()));
    }
    let verdicts = judge_run(run, &rules_of(run)?)?;
    let arms: Vec<String> = run.arms.iter().map(|arm| arm.name.clone()).collect();
    let frozen = Frozen::new(&verdicts.judgement, &arms);
    let digest = seal::write(&path, &frozen)?;
    let mut writer = RunFolder::open_for_writing(run.folder.path())?;
    writer.add_note(None, &format!("{FROZEN_NOTE}{digest}"))?;
    Ok((frozen, digest))
}

/// The doses: from the run folder if they were opened before, otherwise from the campaign's directory, which
/// is then deleted.
fn open(place: &Place, folder: &Path, committed: &str) -> Result<Sealed> {
    let path = folder.join("doses.json");
    if path.exists() {
        return Sealed::open(&path, committed);
    }
    let sealed = place.open_seal(committed)?;
    fs::copy(place.sealed_path(), &path).map_err(Error::file("write", &path))?;
    place.remove()?;
    Ok(sealed)
}

fn about(run: &Run, seal: &str, frozen: &str, command: &str) -> About {
    let done: Vec<f64> = run
        .blocks
        .iter()
        .filter(|block| block.status == BlockStatus::Done)
        .filter_map(|block| Some((block.finished_at_ms? - block.started_at_ms) as f64 / 1e3))
        .collect();
    let base = run.arms.first();
    About {
        run: run.folder.name(),
        program_version: run.meta.program_version.clone(),
        build: base.map(|arm| arm.variant()).unwrap_or_default(),
        rows: run.meta.rows_per_table,
        instructions: match rqps_verdicts::instruction_source(run) {
            InstructionSource::Processor => "counted by the processor".to_owned(),
            InstructionSource::Counted(by) => {
                format!("counted by {by}, since this host has no hardware counters")
            }
            InstructionSource::None => "not counted on this host: CPU time decides on cost".to_owned(),
        },
        block_s: done.iter().sum::<f64>() / done.len().max(1) as f64,
        blocks_done: done.len(),
        blocks_void: run.blocks.iter().filter(|block| block.status == BlockStatus::Void).count(),
        seal: seal.to_owned(),
        frozen: frozen.to_owned(),
        host: run.host.iter().map(|fact| (fact.key.clone(), fact.value.clone())).collect(),
        command: command.to_owned(),
    }
}
