//! False changes between equal arms: `equal_arms RUN…` judges every two arms of a run of blocks as a run of their
//! own, and adds the verdicts up over the runs. `tools/equal-arms` makes such runs.
//!
//! On a test no two of these verdicts have an arm, a load or a start of a server in common. Neighbours run two copies
//! of the build; the same arms are judged again in pairs of one copy, so that what copies differ by is told from what
//! the statistics get wrong. How often p values are at most a level shows errors that the few false changes don't. Exit
//! code 1 if there is a false change; an error if settings in effect differ between arms, which are not equal then.

use rqps_calibrate::conclude::rates_and_costs;
use rqps_calibrate::pairing::{Sample, judge_pairs};
use rqps_stats::counts::clopper_pearson;
use rqps_stats::{Class, Detector};
use rqps_store::{Arm, Run, RunFolder};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// Levels of p values.
const LEVELS: [f64; 5] = [0.1, 0.05, 0.01, 0.005, 0.001];

/// Which arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pairs {
    TwoCopies,
    OneCopy,
}

impl Pairs {
    fn name(self) -> &'static str {
        match self {
            Pairs::TwoCopies => "of two copies of the build",
            Pairs::OneCopy => "of one copy of the build",
        }
    }

    /// The arms; every two in this order are a pair.
    fn arms(self, run: &Run) -> Vec<usize> {
        let all = 0..run.arms.len();
        if self == Pairs::TwoCopies {
            return all.collect();
        }
        // Copies have the same hash.
        let mut copies: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for arm in all {
            copies.entry(&run.arms[arm].build_origin).or_default().push(arm);
        }
        copies.into_values().flat_map(|arms| arms[..arms.len() / 2 * 2].to_vec()).collect()
    }
}

/// Verdicts of a detector.
#[derive(Default)]
struct Tally {
    same: u64,
    inconclusive: u64,
    changed: u64,
    /// Number of p values of at most each level.
    at_most: [u64; LEVELS.len()],
}

impl Tally {
    fn add(&mut self, sample: &Sample) {
        for (count, level) in self.at_most.iter_mut().zip(LEVELS) {
            *count += u64::from(sample.p <= level);
        }
        match sample.class {
            Class::Same => self.same += 1,
            Class::Inconclusive => self.inconclusive += 1,
            Class::Regression { .. } | Class::Improvement { .. } => self.changed += 1,
        }
    }

    fn all(&self) -> u64 {
        self.same + self.inconclusive + self.changed
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut tallies: BTreeMap<(Pairs, Detector), Tally> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let run = RunFolder::open(Path::new(&path))?;
        check_settings(&run)?;
        let (experiment, rules) = (rates_and_costs(&run)?, rqps_verdicts::rules_of(&run)?);
        for pairs in [Pairs::TwoCopies, Pairs::OneCopy] {
            for sample in judge_pairs(&experiment, &pairs.arms(&run), &rules)? {
                tallies.entry((pairs, sample.detector)).or_default().add(&sample);
                if sample.class.is_change() {
                    let (test, arm) = (&experiment.tests[sample.test].name, &run.arms[sample.arm].name);
                    let (detector, class) = (sample.detector, sample.class);
                    println!("{path}: {}: {test} on {arm}: {detector:?} {class:?}", pairs.name());
                }
            }
        }
    }
    for pairs in [Pairs::TwoCopies, Pairs::OneCopy] {
        let own = || {
            tallies.iter().filter(|((of, _), _)| *of == pairs).map(|((_, detector), one)| (*detector, one))
        };
        println!("\nPairs {}:", pairs.name());
        print_classes(own());
        print_levels(own());
    }
    Ok(ExitCode::from(u8::from(tallies.values().any(|tally| tally.changed > 0))))
}

/// Whether the settings in effect are the same on all arms, places of files aside.
fn check_settings(run: &Run) -> Result<(), String> {
    let settings = |arm: &Arm| -> BTreeMap<String, String> {
        let all = arm.settings.iter().filter(|one| !one.value.contains('/'));
        all.map(|one| (one.name.clone(), one.value.clone())).collect()
    };
    let Some((first, others)) = run.arms.split_first() else { return Ok(()) };
    let expected = settings(first);
    for arm in others {
        let found = settings(arm);
        if let Some((name, value)) = found.iter().find(|(name, value)| expected.get(*name) != Some(value)) {
            let run = run.folder.name();
            return Err(format!("{run}: {name} is {value} on {}, otherwise on {}", arm.name, first.name));
        }
    }
    Ok(())
}

fn print_classes<'a>(tallies: impl Iterator<Item = (Detector, &'a Tally)>) {
    println!("detector     verdicts   same  inconclusive  false  at most, one-sided 95 %");
    for (detector, tally) in tallies {
        // A two-sided interval of 90 % has the one-sided bound of 95 %.
        let (_, most) = clopper_pearson(tally.changed, tally.all(), 0.9);
        println!(
            "{:<12} {:>8} {:>6} {:>13} {:>6} {:>21.3} %",
            name(detector),
            tally.all(),
            tally.same,
            tally.inconclusive,
            tally.changed,
            100.0 * most
        );
    }
}

/// Rates and costs by CPU time vary; counters have no p value that means anything, as most are equal in all blocks.
fn print_levels<'a>(tallies: impl Iterator<Item = (Detector, &'a Tally)>) {
    let heads = LEVELS.map(|level| format!("{:>14}", format!("{} %", 100.0 * level)));
    println!("p at most, seen (expected at most):\n{:<12}{}", "detector", heads.concat());
    for (detector, tally) in tallies.filter(|(detector, _)| detector.is_rate_or_cost()) {
        let seen = tally.at_most.iter().zip(LEVELS);
        let cells = seen
            .map(|(seen, level)| format!("{:>14}", format!("{seen} ({:.1})", level * tally.all() as f64)));
        println!("{:<12}{}", name(detector), cells.collect::<String>());
    }
}

fn name(detector: Detector) -> String {
    format!("{detector:?}").to_lowercase()
}
