//! False changes between equal arms: `equal_arms RUN…` judges every two arms of a run of blocks as a run of their
//! own, and adds the verdicts up over the runs. `tools/equal-arms` makes such runs.
//!
//! On a test no two of these verdicts have an arm, a load or a start of a server in common. Exit code 1 if there is a
//! false change.

use rqps_calibrate::conclude::rates_and_costs;
use rqps_calibrate::pairing::judge_pairs;
use rqps_stats::counts::clopper_pearson;
use rqps_stats::{Class, Detector};
use rqps_store::RunFolder;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// Verdicts of a detector.
#[derive(Default)]
struct Tally {
    same: u64,
    inconclusive: u64,
    changed: u64,
    /// Of these, what reports call a change: the others are told as what may be chance.
    significant: u64,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut tallies: BTreeMap<Detector, Tally> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let run = RunFolder::open(Path::new(&path))?;
        let experiment = rates_and_costs(&run)?;
        for sample in judge_pairs(&experiment, &rqps_verdicts::rules_of(&run)?)? {
            let tally = tallies.entry(sample.detector).or_default();
            match sample.class {
                Class::Same => tally.same += 1,
                Class::Inconclusive => tally.inconclusive += 1,
                Class::Regression { .. } | Class::Improvement { .. } => {
                    tally.changed += 1;
                    tally.significant += u64::from(sample.significant);
                    let (test, arm) = (&experiment.tests[sample.test].name, &run.arms[sample.arm].name);
                    println!("{path}: {test} on {arm}: {:?} {:?}", sample.detector, sample.class);
                }
            }
        }
    }
    println!("detector     verdicts   same  inconclusive  false  at most, one-sided 95 %  significant");
    for (detector, tally) in &tallies {
        let all = tally.same + tally.inconclusive + tally.changed;
        // A two-sided interval of 90 % has the one-sided bound of 95 %.
        let (_, most) = clopper_pearson(tally.changed, all, 0.9);
        let name = format!("{detector:?}").to_lowercase();
        println!(
            "{name:<12} {all:>8} {:>6} {:>13} {:>6} {:>21.3} % {:>12}",
            tally.same,
            tally.inconclusive,
            tally.changed,
            100.0 * most,
            tally.significant
        );
    }
    Ok(ExitCode::from(u8::from(tallies.values().any(|tally| tally.changed > 0))))
}
