//! Verdicts on stalls in simulated blocks: rare events with heavy tails, for which Student's t is not valid.

use rqps_stats::sim::{Rng, Source, Stalls};
use rqps_stats::{Class, Rules, judge, stall_seconds_min};

const MODEL: Stalls =
    Stalls { tests: 32, windows: 2, window_s: 2.0, all: Source::Random { per_s: 0.1 }, arm: None };

/// Shares of verdicts on the last arm: changes, regressions, `same`.
fn shares(model: &Stalls, blocks: usize, reports: usize, seed: u64) -> (f64, f64, f64) {
    let mut rng = Rng::new(seed);
    let (mut all, mut changes, mut regressions, mut same) = (0, 0, 0, 0);
    for _ in 0..reports {
        let judgement = judge(&model.draw(&mut rng, blocks), &Rules::default());
        for verdict in judgement.expect("data is right").verdicts.iter().filter(|verdict| verdict.arm == 2) {
            all += 1;
            changes += usize::from(verdict.class.is_change());
            regressions += usize::from(verdict.class.is_regression());
            same += usize::from(verdict.class == Class::Same);
        }
    }
    let share = |count: usize| count as f64 / all as f64;
    (share(changes), share(regressions), share(same))
}

/// Sources of stalls that are independent of the arm.
const NULLS: [(&str, Source); 8] = [
    ("0.01/s, heavy tails", Source::Random { per_s: 0.01 }),
    ("0.1/s, heavy tails", Source::Random { per_s: 0.1 }),
    ("1/s, heavy tails", Source::Random { per_s: 1.0 }),
    ("10/s, heavy tails", Source::Random { per_s: 10.0 }),
    ("0.1/s, 0.5 s each", Source::Alike { per_s: 0.1, stall_s: 0.5 }),
    ("the host's, 0.5 s each block", Source::Periodic { stall_s: 0.5 }),
    ("three of ten restarts", Source::Restarts { share: 0.3 }),
    ("half of restarts", Source::Restarts { share: 0.5 }),
];

/// At most one false change in a thousand verdicts, over all looks, for any distribution of stalls that is
/// common to all arms; three times as many at worst if stalls depend on restarts, which windows share.
#[test]
fn independent_stalls_are_no_change() {
    for (name, all) in NULLS {
        let windows = if let Source::Restarts { .. } = all { 8 } else { 4 };
        let (changes, ..) = shares(&Stalls { windows, all, ..MODEL }, 18, 40, 3);
        // 1,280 verdicts: a rate of 0.1 % gives more than 5 with a probability of 0.2 %, one of 0.3 % more than 10.
        let most = if let Source::Restarts { .. } = all { 10.0 } else { 5.0 };
        assert!(changes * 1280.0 <= most, "{name}: {changes}");
    }
}

/// Stalls are found though the mean hides them, and `same` is not the verdict for stalls of exactly the size
/// that matters, even if none occurred.
#[test]
fn stalls_of_the_arm_are_found() {
    let quiet = Source::Random { per_s: 0.01 };
    let model = |per_s, stall_s| Stalls {
        windows: 4,
        window_s: 10.0,
        all: quiet,
        arm: Some(Source::Alike { per_s, stall_s }),
        ..MODEL
    };
    let (changes, regressions, _) = shares(&model(0.5, 0.1), 8, 10, 3);
    assert!(regressions > 0.9 && changes == regressions, "5 % of the time: {regressions} of {changes}");
    for blocks in [3, 5, 8] {
        let (.., same) = shares(&model(0.02, 0.5), blocks, 20, 3);
        assert!(same < 0.065, "0.5 s every 50 s is 1 % of the time: same in {same} after {blocks} blocks");
    }
    // Without any stall, `same` needs enough time for one of 0.5 s to occur.
    let none = Stalls { windows: 1, all: Source::Random { per_s: 0.0 }, ..MODEL };
    let enough_s = stall_seconds_min(0.01) / 5.0;
    for (window_s, expected) in [(enough_s * 0.99, 0.0), (enough_s * 1.01, 1.0)] {
        assert_eq!(
            shares(&Stalls { window_s, ..none.clone() }, 5, 1, 1),
            (0.0, 0.0, expected),
            "{window_s} s"
        );
    }
}

/// Further blocks are requested if the arm stalls and that is not shown yet, and for one null in a hundred.
#[test]
fn suspected_stalls_get_further_blocks() {
    let requested = |arm| {
        let model = Stalls { windows: 4, window_s: 10.0, arm, ..MODEL };
        let experiment = model.draw(&mut Rng::new(5), 5);
        let judgement = judge(&experiment, &Rules::default()).expect("data is right");
        let open: Vec<Option<usize>> = judgement
            .verdicts
            .iter()
            .filter(|verdict| verdict.arm == 2 && !verdict.class.is_decided())
            .map(|verdict| verdict.blocks_to_resolve)
            .collect();
        (open.iter().filter(|more| **more == Some(3)).count(), open.len())
    };
    let (followed, open) = requested(Some(Source::Alike { per_s: 0.5, stall_s: 0.1 }));
    assert!(followed * 10 >= open * 9 && open > 10, "{followed} of {open}");
    let (followed, open) = requested(None);
    assert!(followed <= 1 && open > 20, "{followed} of {open}");
}

/// The percentages in docs/MEASURED.md: `cargo test -p rqps-stats --test stalls -- --ignored --nocapture`.
#[test]
#[ignore = "takes two minutes and prints"]
fn figures_of_the_method() {
    let looks = [3, 5, 8, 12, 18];
    for (name, all) in NULLS {
        let model = Stalls { windows: 4, all, ..MODEL };
        let row = looks.map(|blocks| format!("{:.2}", 100.0 * shares(&model, blocks, 300, 3).0));
        println!("false | {name} | {}", row.join(" | "));
    }
    for (window_s, per_s, stall_s) in
        [(2.0, 0.5, 0.1), (10.0, 0.5, 0.1), (10.0, 0.02, 0.5), (60.0, 0.02, 0.5), (60.0, 0.04, 0.5)]
    {
        let (all, arm) = (Source::Random { per_s: 0.01 }, Some(Source::Alike { per_s, stall_s }));
        let model = Stalls { windows: 4, window_s, all, arm, ..MODEL };
        let row = looks.map(|blocks| {
            let (_, regressions, same) = shares(&model, blocks, 20, 3);
            format!("{:.0} / {:.0}", 100.0 * regressions, 100.0 * same)
        });
        println!("found / same | {window_s} s, {stall_s} s {per_s}/s | {}", row.join(" | "));
    }
}
