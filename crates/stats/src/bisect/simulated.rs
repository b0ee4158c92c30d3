//! Error rates of the search on rows of versions whose steps are known.

use super::{Answer, Course, Measured, Rules, steps_expected};
use crate::sim::Rng;
use std::collections::BTreeSet;

const PLACES: usize = 64;
const SEEDS: u64 = 20;
const BLOCKS_MAX: usize = 400;

struct Row {
    /// Place and size of each step.
    steps: Vec<(usize, f64)>,
    noise_sd: f64,
    skipped: BTreeSet<usize>,
}

struct Found {
    answer: Answer,
    blocks: usize,
    asks: Vec<usize>,
}

impl Row {
    fn search(&self, rng: &mut Rng, rules: &Rules) -> Found {
        let weights = vec![1.0; PLACES];
        let offsets: Vec<f64> = rng.normals(PLACES + 1).iter().map(|z| z * 0.002).collect();
        let (mut measured, mut blocks, mut asks) = (Vec::<Measured>::new(), 0, Vec::new());
        loop {
            let course = Course { weights: &weights, measured: &measured, skipped: &self.skipped };
            let answer = course.answer(rules);
            let Some(ask) = answer.next.filter(|_| blocks < BLOCKS_MAX) else {
                return Found { answer, blocks, asks };
            };
            assert!(!self.skipped.contains(&ask.version));
            let steps: f64 =
                self.steps.iter().filter(|(place, _)| *place < ask.version).map(|one| one.1).sum();
            let level = steps + offsets[ask.version] - offsets[0];
            let new = rng.normals(ask.blocks).into_iter().map(|z| level + self.noise_sd * z);
            match measured.iter_mut().find(|one| one.version == ask.version) {
                Some(known) => known.blocks.extend(new),
                None => measured.push(Measured { version: ask.version, blocks: new.collect() }),
            }
            blocks += ask.blocks;
            asks.push(ask.version);
        }
    }
}

/// Sums over all seeds.
#[derive(Debug, Default)]
struct Score {
    /// Answers with the right number of steps, each among its places.
    right: usize,
    settled: usize,
    blocks: usize,
    measurements: usize,
    miscounted: usize,
}

fn score(row: impl Fn(&mut Rng) -> Row) -> Score {
    let mut score = Score::default();
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let row = row(&mut rng);
        let found = row.search(&mut rng, &Rules::default());
        let steps = &found.answer.steps;
        let holds = |(step, truth): (&super::Step, &(usize, f64))| step.places.contains(&truth.0);
        score.right += usize::from(steps.len() == row.steps.len() && steps.iter().zip(&row.steps).all(holds));
        score.settled += usize::from(found.answer.is_settled);
        score.miscounted += usize::from(steps.len() != row.steps.len());
        score.blocks += found.blocks;
        score.measurements += found.asks.len();
    }
    score
}

fn one(size: f64, noise: f64) -> Score {
    let row = |rng: &mut Rng| Row {
        steps: vec![(rng.below(PLACES), size)],
        noise_sd: noise * size.abs(),
        skipped: BTreeSet::new(),
    };
    score(row)
}

fn two(size: f64, noise: f64) -> Score {
    let row = |rng: &mut Rng| {
        let first = rng.below(PLACES - 8);
        let second = first + 4 + rng.below(PLACES - first - 4);
        Row {
            steps: vec![(first, size), (second, 0.6 * size)],
            noise_sd: noise * size.abs(),
            skipped: BTreeSet::new(),
        }
    };
    score(row)
}

/// The share of wrong answers must be that of the rules or less: 1 of 20 is 5 %, and 2 still happens to be.
#[test]
fn one_step_is_found_at_little_and_at_much_noise() {
    for (size, noise, blocks_max) in [(0.1, 0.05, 30), (0.1, 0.5, 200), (-0.3, 0.5, 200), (0.03, 0.5, 200)] {
        let score = one(size, noise);
        let why = format!("size {size}, noise {noise}: {score:?}");
        assert!(score.right + 1 >= SEEDS as usize && score.settled + 1 >= SEEDS as usize, "{why}");
        assert_eq!(score.miscounted, 0, "{why}");
        assert!(score.blocks <= blocks_max * SEEDS as usize, "{why}");
        // With little noise nothing is measured twice.
        assert!(noise > 0.1 || score.measurements <= steps_expected(PLACES) * SEEDS as usize, "{why}");
    }
}

#[test]
fn two_steps_are_told_from_one() {
    for (size, noise, blocks_max) in [(0.1, 0.05, 50), (0.1, 0.5, 200), (-0.3, 0.5, 200)] {
        let score = two(size, noise);
        let why = format!("size {size}, noise {noise}: {score:?}");
        assert!(score.right + 1 >= SEEDS as usize && score.settled + 1 >= SEEDS as usize, "{why}");
        assert!(score.blocks <= blocks_max * SEEDS as usize, "{why}");
    }
}

/// Counted instructions hardly vary: a second, much smaller step is looked for in versions that were not measured, not
/// by more blocks of one whose level is known.
#[test]
fn a_version_whose_level_is_known_is_not_measured_again() {
    let mut rng = Rng::new(11);
    let row = Row { steps: vec![(20, -0.64), (50, -0.013)], noise_sd: 0.0002, skipped: BTreeSet::new() };
    let found = row.search(&mut rng, &Rules::default());
    let again = found.asks.iter().enumerate().filter(|(at, version)| found.asks[..*at].contains(version));
    // To confirm a step that was found.
    assert!(again.count() <= 3, "{:?}", found.asks);
    assert!(found.answer.steps[0].places.contains(&20), "{:?}", found.answer);
}

/// A step and its opposite leave half of it: the later one is not mistaken for noise.
#[test]
fn a_step_and_a_part_of_it_taken_back_are_two() {
    let row = |rng: &mut Rng| {
        let first = 4 + rng.below(16);
        Row { steps: vec![(first, 0.1), (first + 30, -0.05)], noise_sd: 0.005, skipped: BTreeSet::new() }
    };
    let score = score(row);
    assert!(score.right + 1 >= SEEDS as usize, "{score:?}");
}

#[test]
fn versions_that_cannot_be_measured_stay_in_the_answer() {
    let step = 20;
    let mut rng = Rng::new(7);
    let row = Row { steps: vec![(step, 0.1)], noise_sd: 0.005, skipped: (18..23).collect() };
    let found = row.search(&mut rng, &Rules::default());
    assert!(found.answer.is_settled, "{:?}", found.answer);
    let places = &found.answer.steps[0].places;
    // Between the measured versions 17 and 23 nothing tells the places apart.
    assert!(places.contains(&step) && places.iter().all(|place| (17..23).contains(place)), "{places:?}");
}

/// Where no version between the ends can be measured, nothing tells one step from two, nor their places apart.
#[test]
fn a_search_ends_where_nothing_between_can_be_measured() {
    let skipped: BTreeSet<usize> = (1..PLACES).collect();
    let row = Row { steps: vec![(PLACES - 1, 0.1)], noise_sd: 0.005, skipped };
    let found = row.search(&mut Rng::new(3), &Rules::default());
    assert!(found.answer.is_settled, "{:?}", found.answer);
    assert_eq!(found.answer.steps[0].places, (0..PLACES).collect::<Vec<_>>());
}

/// The first measurements point to the wrong half; later ones must lead back.
#[test]
fn the_search_returns_to_a_place_after_misleading_blocks() {
    let weights = vec![1.0; 16];
    let skipped = BTreeSet::new();
    let mut measured = vec![
        Measured { version: 16, blocks: vec![0.10, 0.11, 0.09] },
        Measured { version: 8, blocks: vec![0.09, 0.11, 0.10] },
        Measured { version: 4, blocks: vec![0.0, 0.01, -0.01] },
    ];
    let rules = Rules::default();
    let places = |measured: &[Measured]| {
        let answer = Course { weights: &weights, measured, skipped: &skipped }.answer(&rules);
        answer.steps[0].places.clone()
    };
    assert!(places(&measured).iter().all(|place| (4..8).contains(place)));
    // Version 8 was measured on a bad day: its next blocks, and those of its neighbours, are at the first level.
    measured[1].blocks.extend([0.0; 12]);
    measured.push(Measured { version: 7, blocks: vec![0.0, 0.01, 0.0, 0.0, -0.01, 0.0] });
    measured.push(Measured { version: 10, blocks: vec![0.0, -0.01, 0.0, 0.01, 0.0, 0.0] });
    let back = places(&measured);
    assert!(back.iter().all(|place| *place >= 8) && back.contains(&10), "{back:?}");
}
