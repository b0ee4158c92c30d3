//! A whole campaign on made-up data with known truth: the report finds it, and later changes of the files are
//! detected.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic like the tests themselves")]

use rqps_calibrate::analysis::{Analysis, Input};
use rqps_calibrate::campaign::{Options, Place, SEAL_VARIABLE, ladder_spins};
use rqps_calibrate::conclude::{Known, conclude, keep};
use rqps_calibrate::confusion::Range;
use rqps_calibrate::dose::Dose;
use rqps_calibrate::frozen::{Call, Frozen};
use rqps_calibrate::pairing::judge_pairs;
use rqps_calibrate::truth::Truth;
use rqps_stats::sim::{Blocks, Rng};
use rqps_stats::{Class, Detector, Experiment, Metric, Rules, judge};
use rqps_store::RunFolder;
use rqps_verdicts::testing::{Spec, TESTS, write_run};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Relative increase of an operation's cost per multiplication, and of its time.
const COST_PER_SPIN: f64 = 1e-5;
const TIME_PER_SPIN: f64 = 1.5e-5;

/// Blocks of arms with these numbers of multiplications: rate and instructions.
fn simulated(spins: &[u64], rate_sd: f64, blocks: usize, seed: u64) -> Experiment {
    let mut rng = Rng::new(seed);
    let mut draw = |metric: Metric, block_sd: f64, ratio: &dyn Fn(f64) -> f64| {
        let ratios = spins[1..].iter().map(|spin| ratio(*spin as f64)).collect();
        let model =
            Blocks { tests: 4, metric, ratios, control: true, block_sd, spread_df: 20.0, of_start: 0.0 };
        model.draw(&mut rng, blocks)
    };
    let mut experiment = draw(Metric::Rate, rate_sd, &|spin| 1.0 / (1.0 + TIME_PER_SPIN * spin));
    let costs = draw(Metric::Instructions, 0.0003, &|spin| 1.0 + COST_PER_SPIN * spin);
    for (test, cost) in experiment.tests.iter_mut().zip(costs.tests) {
        test.metrics.extend(cost.metrics);
    }
    experiment
}

/// The analysis of arms with the multiplications `spins`, given `declared` as their doses.
fn analysed(spins: &[u64], declared: &[u64], rate_sd: f64) -> Analysis {
    let experiment = simulated(spins, rate_sd, 8, 7);
    let ladder = simulated(&ladder_spins(), rate_sd, 8, 8);
    let truth = Truth::fit(&ladder, &ladder_spins(), "ladder");
    let (rules, arms) =
        (Rules::default(), (0..spins.len()).map(|arm| format!("a{arm:02}")).collect::<Vec<_>>());
    let doses: Vec<Dose> = declared.iter().copied().map(Dose::spin).collect();
    let frozen = Frozen::new(&judge(&experiment, &rules).unwrap(), &arms);
    let input = Input {
        experiment: &experiment,
        rules: &rules,
        arms: &arms,
        doses: &doses,
        truth: &truth,
        frozen: &frozen,
        draws: 60,
    };
    Analysis::new(&input).unwrap()
}

#[test]
fn arms_in_pairs_are_compared_with_nobody_else() {
    // The first two are alike, the third does 4 % more than the fourth; the fifth has no partner.
    let experiment = simulated(&[0, 0, 4000, 0, 9000], 0.005, 5, 7);
    let samples = judge_pairs(&experiment, &[0, 1, 2, 3, 4], &Rules::default()).unwrap();
    let costs: Vec<(usize, bool)> = samples
        .iter()
        .filter(|sample| sample.detector == Detector::Cost)
        .map(|sample| (sample.arm, matches!(sample.class, Class::Improvement { .. })))
        .collect();
    assert_eq!(costs.iter().filter(|cost| **cost == (1, false)).count(), 4, "{costs:?}");
    assert_eq!(costs.iter().filter(|cost| **cost == (3, true)).count(), 4, "{costs:?}");
    assert_eq!(costs.len(), 8);
}

#[test]
fn known_doses_are_detected_without_false_alarms() {
    let spins = [0, 0, 0, 0, 0, 700, 1500, 4000];
    let analysis = analysed(&spins, &spins, 0.005);
    assert_eq!((analysis.nulls, analysis.blocks), (5, 8));
    for look in &analysis.looks {
        for ((detector, group), share) in &look.false_changes {
            assert!(share.tries >= 60 * 3 * 4, "{detector:?} {group:?}: {share:?}");
            assert!(share.share() <= 0.005 && share.high < 0.5, "{detector:?} {group:?}: {share:?}");
        }
    }
    // 0.7 %, 1.5 % and 4 % more instructions at a block sd of 0.03 % are detected at the first look.
    let first = &analysis.looks[0];
    for share in [0.007, 0.015, 0.04] {
        let found = first.found[&(Detector::Cost, Range::holding(share))];
        assert!(found.share() > 0.99, "{share}: {found:?}");
    }
    // By rate, at a block sd of 0.5 %: 1 % is below the minimum effect of interest, 6 % is clear.
    let last = analysis.looks.last().unwrap();
    let six = last.found[&(Detector::Rate, Range::holding(0.057))];
    assert!(six.share() > 0.99, "{six:?}");
    let blind = analysis.blind[&(Detector::Cost, Range::Null)];
    assert_eq!((blind.count(Call::Regression), blind.count(Call::Improvement)), (0, 0), "{blind:?}");
}

#[test]
fn undeclared_dose_shows_as_false_alarms() {
    let spins = [0, 0, 0, 3000, 4000];
    let analysis = analysed(&spins, &[0, 0, 0, 0, 4000], 0.005);
    let share = analysis.looks[0].false_changes[&(Detector::Cost, None)];
    // In half of the draws it is a candidate, or others are compared with it.
    assert!(share.share() > 0.4, "{share:?}");
    assert!(share.low > 0.2 && share.independent < share.tries, "{share:?}");
}

/// A made-up run whose arms have the doses of a campaign: its folder and the campaign's directory.
fn made_up_run(results: &std::path::Path, blocks: u32) -> (PathBuf, Place) {
    let work = results.join("work");
    fs::create_dir(&work).unwrap();
    let place = Place::create(&work).unwrap();
    let options = Options {
        build: "postgres-18.1".parse().unwrap(),
        config: "sized".to_owned(),
        tests: TESTS.iter().map(|(test, ..)| (*test).to_owned()).collect(),
        arms: 8,
        budget: Duration::from_secs(600),
        rows: 1000,
        window_seconds: 0.5,
    };
    let ladder = simulated(&ladder_spins(), 0.002, 6, 3);
    let mut truth = Truth::fit(&ladder, &ladder_spins(), "calibrate-ladder-x");
    let measured = truth.slopes.clone();
    truth.slopes = TESTS
        .iter()
        .flat_map(|(test, ..)| {
            let of_first = measured.iter().filter(|slope| slope.test == "test-0");
            of_first.map(|slope| rqps_calibrate::truth::Slope { test: (*test).to_owned(), ..slope.clone() })
        })
        .collect();
    let plan = place.blind(&options, &truth).unwrap();
    let sealed = place.open_seal(&plan.arms[0].env[SEAL_VARIABLE]).unwrap();
    let names = ["a00", "a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "a09"];
    let mut spec = Spec { name: "calibrate", blocks, block_sd: 0.003, ..Spec::default() };
    spec.arms = names.map(|name| (name, "18.1")).to_vec();
    for (at, name) in names.into_iter().enumerate() {
        let dose = sealed.doses[name];
        let spin = if dose.is_spin() { dose.spin as f64 } else { 20_000.0 };
        let factors = if dose.is_null() {
            (1.0, 1.0)
        } else {
            (1.0 / (1.0 + TIME_PER_SPIN * spin), 1.0 + COST_PER_SPIN * spin)
        };
        spec.effects.extend(TESTS.iter().map(|(test, ..)| (at, *test, factors.0, factors.1)));
    }
    let folder = write_run(results, &spec).unwrap();
    let run = RunFolder::open(&folder).unwrap();
    let mut writer = RunFolder::open_for_writing(&folder).unwrap();
    for (arm, planned) in run.arms.iter().zip(&plan.arms) {
        let arm = rqps_store::Arm { control: planned.control, env: planned.env.clone(), ..arm.clone() };
        writer.put_arm(&arm).unwrap();
    }
    keep(&folder, &Known { command: "rqps calibrate".to_owned(), truth }).unwrap();
    (folder, place)
}

#[test]
fn conclusion_is_reproducible_and_later_changes_are_detected() {
    let results = tempfile::tempdir().unwrap();
    let (folder, place) = made_up_run(results.path(), 8);
    let report = conclude(&folder).unwrap();
    for part in ["## In short", "| cost: false positives | at most 0.10 % | 0 % |", "## True sizes"] {
        assert!(report.contains(part), "{part} is not in\n{report}");
    }
    assert!(!place.sealed_path().exists(), "the doses in clear are left behind");
    let notes = RunFolder::open(&folder).unwrap().notes;
    assert!(notes.iter().any(|note| note.text.contains("before the doses were read, SHA-256 ")));
    assert_eq!(conclude(&folder).unwrap(), report, "the same again from what is in the folder");

    let verdicts = folder.join("calibration/verdicts.json");
    let was = fs::read_to_string(&verdicts).unwrap();
    fs::write(
        &verdicts,
        was.replacen("\"inconclusive\"", "\"same\"", 1).replacen("\"same\"", "\"regression\"", 1),
    )
    .unwrap();
    let error = conclude(&folder).unwrap_err().to_string();
    assert!(error.contains("changed after they were frozen"), "{error}");
    fs::write(&verdicts, was).unwrap();

    let doses = folder.join("calibration/doses.json");
    let was = fs::read_to_string(&doses).unwrap();
    fs::write(&doses, was.replacen("\"spin\": 0", "\"spin\": 9", 1)).unwrap();
    let error = conclude(&folder).unwrap_err().to_string();
    assert!(error.contains("not the ones that were sealed"), "{error}");
}

#[test]
fn run_with_too_few_blocks_keeps_its_seal() {
    let results = tempfile::tempdir().unwrap();
    let (folder, place) = made_up_run(results.path(), 2);
    let error = conclude(&folder).unwrap_err().to_string();
    assert!(error.contains("2 complete blocks") && error.contains("still sealed"), "{error}");
    assert!(place.sealed_path().exists() && !folder.join("calibration/verdicts.json").exists());
}
