//! Verdicts over several hosts on simulated hosts: rates of false and true statements.

use rqps_stats::sim::{Blocks, Rng};
use rqps_stats::{Class, Experiment, HOSTS_MIN, Joint, Metric, Rules, judge_hosts};

/// The arm that is judged; 1 is the control.
const ARM: usize = 2;
const TESTS: usize = 16;

/// A host: its blocks, their noise, and its true ratio in each test.
struct Host {
    blocks: usize,
    block_sd: f64,
    ratios: Vec<f64>,
}

/// Hosts with these noises. Their true ratios vary around `ratio`, as log-normal: from host to host in all tests
/// alike, and apart from test to test.
fn hosts(rng: &mut Rng, noises: &[f64], blocks: usize, truth: (f64, f64, f64)) -> Vec<Host> {
    let (ratio, of_host, of_test) = truth;
    let host = |block_sd: &f64| {
        let shared = of_host * rng.normal();
        let ratios = (0..TESTS).map(|_| ratio * (shared + of_test * rng.normal()).exp()).collect();
        Host { blocks, block_sd: *block_sd, ratios }
    };
    noises.iter().map(host).collect()
}

fn draw(rng: &mut Rng, host: &Host) -> Experiment {
    let one = |(number, ratio): (usize, &f64)| {
        let model = Blocks {
            tests: 1,
            metric: Metric::Rate,
            ratios: vec![1.0, *ratio],
            control: true,
            block_sd: host.block_sd,
            spread_df: 20.0,
            of_start: 0.0,
        };
        let mut test = model.draw(rng, host.blocks).tests.remove(0);
        test.name = format!("test-{number}");
        test.starts.clone_from(&test.name);
        test
    };
    Experiment {
        arms: 3,
        base: 0,
        control: Some(1),
        tests: host.ratios.iter().enumerate().map(one).collect(),
    }
}

fn judged(rng: &mut Rng, hosts: &[Host]) -> Vec<Joint> {
    let experiments: Vec<Experiment> = hosts.iter().map(|host| draw(rng, host)).collect();
    judge_hosts(&experiments, &Rules::default()).expect("data is right").joint
}

/// Rates, over many simulated fleets, of joint verdicts for which something holds.
fn count(
    (noises, blocks): (&[f64], usize),
    truth: (f64, f64, f64),
    (fleets, seed): (usize, u64),
    holds: impl Fn(&Joint) -> bool,
) -> (usize, usize) {
    let mut rng = Rng::new(seed);
    let (mut held, mut all) = (0, 0);
    for _ in 0..fleets {
        let hosts = hosts(&mut rng, noises, blocks, truth);
        let joint = judged(&mut rng, &hosts);
        assert!(joint.iter().all(|joint| joint.verdict.arm == ARM), "the control has no joint verdict");
        all += joint.len();
        held += joint.iter().filter(|joint| holds(joint)).count();
    }
    (held, all)
}

/// How many fleets are simulated.
fn fleets(default: usize) -> usize {
    std::env::var("RQPS_SIMULATED_FLEETS").ok().and_then(|fleets| fleets.parse().ok()).unwrap_or(default)
}

fn is_change(joint: &Joint) -> bool {
    joint.verdict.class.is_change() && !joint.agreement.is_broken()
}

const QUIET: [f64; 3] = [0.01; 3];
const UNEQUAL: [f64; 3] = [0.005, 0.01, 0.04];

/// Equal versions on equal hosts: at most one false change, and one false disagreement, in a thousand verdicts. With
/// three and eight blocks, with hosts of equal and of very different noise.
#[test]
fn equal_hosts_are_neither_called_changed_nor_apart() {
    let (mut changes, mut apart, mut all) = (0, 0, 0);
    for (noises, seed) in [(&QUIET[..], 1), (&UNEQUAL[..], 2), (&[0.01; 6][..], 3)] {
        for blocks in [3, 8] {
            let (held, of) = count((noises, blocks), (1.0, 0.0, 0.0), (50, seed), is_change);
            (changes, all) = (changes + held, all + of);
            apart +=
                count((noises, blocks), (1.0, 0.0, 0.0), (50, seed), |joint| joint.agreement.is_broken()).0;
        }
    }
    // A rate of 0.1 % gives more than 13 with a probability of 0.1 %.
    assert!(all > 4_700 && changes <= 13 && apart <= 13, "{changes} changed, {apart} apart of {all}");
}

/// Versions that are equal on average over all hosts there could be, but differ on single ones: hosts are a random
/// sample, so this is not called a change, whether hosts differ in all tests alike or in each apart, or in half of the
/// tests ten times as much as in the others.
///
/// `RQPS_SIMULATED_FLEETS=1000 cargo test -p rqps-stats --test hosts what_varies -- --nocapture` prints rates of more.
#[test]
fn what_varies_from_host_to_host_is_no_change() {
    let fleets = fleets(20);
    let (mut changes, mut all) = (0.0, 0.0);
    let varying = [
        (0.004, 0.0, 0),
        (0.0, 0.004, 0),
        (0.02, 0.0, 0),
        (0.0, 0.02, 0),
        (0.01, 0.01, 0),
        (0.02, 0.0, TESTS / 2),
        (0.0, 0.02, TESTS / 2),
    ];
    for (number, (of_host, of_test, calm)) in varying.into_iter().enumerate() {
        for hosts in [3, 4, 5, 10] {
            let mut rng = Rng::new((100 * number + hosts) as u64);
            let truth = (1.0, of_host, of_test);
            let mut changes_of_fleet = || {
                let mut fleet = self::hosts(&mut rng, &vec![0.01; hosts], 5, truth);
                for ratio in fleet.iter_mut().flat_map(|host| &mut host.ratios[..calm]) {
                    *ratio = ratio.powf(0.1);
                }
                let joint = judged(&mut rng, &fleet);
                joint.iter().filter(|joint| joint.verdict.class.is_change()).count() as f64
            };
            let of_fleets: Vec<f64> = (0..fleets).map(|_| changes_of_fleet()).collect();
            let verdicts = (fleets * TESTS) as f64;
            let sum = of_fleets.iter().sum::<f64>();
            // Verdicts of a fleet are not independent, so fleets are what is counted.
            let squares =
                of_fleets.iter().map(|of_fleet| (of_fleet - sum / fleets as f64).powi(2)).sum::<f64>();
            println!(
                "hosts {of_host}, tests {of_test}, {calm} of them calm, {hosts} hosts: {:.3} % changes, 95 % bound {:.3} %",
                100.0 * sum / verdicts,
                100.0 * (sum + 1.645 * squares.sqrt()) / verdicts,
            );
            (changes, all) = (changes + sum, all + verdicts);
        }
    }
    // A rate of 0.1 % gives more than 0.2 % of 8,960 with a probability of 0.3 %; verdicts of a fleet are not
    // independent.
    assert!(all > 8_900.0 && changes <= 0.002 * all, "{changes} of {all}");
}

/// The control is base, so it does not vary from host to host. What it shows about noise says nothing of candidates.
#[test]
fn the_control_lends_its_quiet_to_no_candidate() {
    let mut rng = Rng::new(12);
    let fleet = hosts(&mut rng, &[0.01; 5], 5, (1.0, 0.0, 0.02));
    let with: Vec<Experiment> = fleet.iter().map(|host| draw(&mut rng, host)).collect();
    let mut without = with.clone();
    for experiment in &mut without {
        for block in experiment.tests.iter_mut().flat_map(|test| &mut test.metrics[0].blocks) {
            (block.values[1], block.ln[1]) = (None, None);
        }
    }
    let figures = |experiments: &[Experiment]| -> Vec<(f64, f64)> {
        let joint = judge_hosts(experiments, &Rules::default()).expect("data is right").joint;
        joint.iter().map(|joint| (joint.verdict.moderated_sd, joint.verdict.df)).collect()
    };
    assert_eq!(figures(&with).len(), TESTS);
    assert_eq!(figures(&with), figures(&without));
}

/// A change of exactly what matters is called `same` in at most 5 %.
#[test]
fn same_is_not_said_of_what_matters() {
    for (of_host, of_test) in [(0.0, 0.0), (0.01, 0.0), (0.0, 0.01)] {
        let is_same = |joint: &Joint| joint.verdict.class == Class::Same;
        let (held, all) = count((&[0.005; 3], 5), (0.98, of_host, of_test), (60, 6), is_same);
        assert!(held as f64 / all as f64 <= 0.05, "{of_host} {of_test}: {held} of {all}");
    }
}

/// The interval is one over hosts: it holds for their mean as often as it says, and is wider if hosts differ.
#[test]
fn intervals_over_hosts_hold() {
    let mut widths = Vec::new();
    for of_host in [0.0, 0.02] {
        let mut rng = Rng::new(7);
        let (mut missed, mut all, mut width) = (0.0, 0.0, 0.0);
        for _ in 0..60 {
            let hosts = hosts(&mut rng, &[0.01; 4], 5, (0.95, of_host, 0.0));
            for joint in judged(&mut rng, &hosts) {
                let verdict = &joint.verdict;
                all += 1.0;
                missed += f64::from(u8::from(!(verdict.low..=verdict.high).contains(&0.95)));
                width += verdict.high - verdict.low;
            }
        }
        assert!(missed / all <= 0.10, "{of_host}: {missed} of {all}");
        widths.push(width / all);
    }
    assert!(widths[1] > 2.0 * widths[0], "{widths:?}");
}

/// Changes of 5 % that all hosts have are found, in more tests with more hosts: of three hosts it is not known well
/// what they have in common.
#[test]
fn common_changes_are_found() {
    for (noises, least) in [(&QUIET[..], 0.35), (&[0.01; 4], 0.95), (&[0.01; 5], 0.99)] {
        let (held, all) = count((noises, 5), (0.95, 0.002, 0.002), (fleets(20), 8), |joint| {
            joint.verdict.class.is_regression() && !joint.agreement.is_broken()
        });
        println!("{} hosts: {:.1} % found", noises.len(), 100.0 * held as f64 / all as f64);
        assert!(held as f64 / all as f64 >= least, "{} hosts: {held} of {all}", noises.len());
    }
}

/// One test in three blocks hardly tells how much blocks vary. Where one host has half the rate, hosts differ or may
/// differ; of equal hosts that is said by chance.
#[test]
fn a_large_difference_in_few_blocks_has_no_average() {
    let mut rng = Rng::new(29);
    let mut without_average = |first: f64| {
        let fleets = fleets(100);
        let one = |_| {
            let mut hosts = hosts(&mut rng, &[0.05; 3], 3, (1.0, 0.0, 0.0));
            hosts.iter_mut().for_each(|host| host.ratios.truncate(1));
            hosts[0].ratios = vec![first];
            let rows = judged(&mut rng, &hosts);
            rows.iter().filter(|joint| joint.verdict.arm == ARM && !joint.has_average()).count()
        };
        (0..fleets).map(one).sum::<usize>() as f64 / fleets as f64
    };
    let (apart, alike) = (without_average(0.5), without_average(1.0));
    println!(
        "without an average: {:.0} % of hosts apart, {:.1} % of equal ones",
        100.0 * apart,
        100.0 * alike
    );
    assert!(apart >= 0.9 && alike <= 0.1, "{apart} {alike}");
}

/// A change of 5 % on the first host only is named as such: the first host differs, nothing is said of an average.
#[test]
fn a_difference_on_some_hosts_only_is_named() {
    let mut rng = Rng::new(9);
    for (count, blocks) in [(2, 5), (3, 3), (3, 5), (6, 5)] {
        let (mut named, mut wrong, mut said, mut all) = (0, 0, 0, 0_usize);
        for _ in 0..30 {
            let mut hosts = hosts(&mut rng, &vec![0.01; count], blocks, (1.0, 0.0, 0.0));
            hosts[0].ratios = vec![0.95; TESTS];
            for joint in judged(&mut rng, &hosts) {
                let agreement = &joint.agreement;
                all += 1;
                assert_eq!(joint.verdict.low.is_finite(), count >= HOSTS_MIN, "an interval of {count} hosts");
                named += usize::from(agreement.is_broken());
                wrong += usize::from(agreement.differing.iter().any(|pair| pair.0 != 0));
                said += usize::from(!agreement.is_broken() && joint.verdict.class.is_decided());
            }
        }
        let share = named as f64 / all as f64;
        assert!(share >= 0.9, "{count} hosts, {blocks} blocks: {named} of {all}");
        assert!(wrong <= 2 && said == 0, "{count} hosts, {blocks} blocks: {wrong} wrong, {said} averaged");
    }
}

/// A host whose control is slower than its base is left out; a single false alarm of many verdicts is no reason.
#[test]
fn hosts_that_differ_from_themselves_are_left_out() {
    let mut rng = Rng::new(10);
    let mut all = hosts(&mut rng, &[0.01; 4], 5, (0.95, 0.0, 0.0));
    all[1].ratios = vec![1.0; TESTS];
    let mut experiments: Vec<Experiment> = all.iter().map(|host| draw(&mut rng, host)).collect();
    for test in &mut experiments[1].tests {
        for block in &mut test.metrics[0].blocks {
            block.ln[1] = block.ln[1].map(|ln| ln - 0.2);
            block.values[1] = block.ln[1].map(f64::exp);
        }
    }
    let rules = Rules::default();
    let judged = judge_hosts(&experiments, &rules).expect("data is right");
    let left_out: Vec<bool> = judged.each.iter().map(|host| host.fails_check(rules.alpha)).collect();
    assert_eq!(left_out, [false, true, false, false]);
    for joint in &judged.joint {
        let hosts: Vec<usize> = joint.hosts.iter().map(|one| one.0).collect();
        assert_eq!(hosts, [0, 2, 3]);
        assert!(!joint.agreement.is_broken(), "the host that is left out is not compared");
    }
    let mut one = judged.each[0].clone();
    (one.checked, one.alarms) = (134, 1);
    assert!(!one.fails_check(rules.alpha));
}

/// Arms of one test that were measured on different hosts are judged on their own hosts.
#[test]
fn arms_may_be_on_different_hosts() {
    let mut rng = Rng::new(11);
    let mut experiments = Vec::new();
    for host in 0..6 {
        let model = Blocks {
            tests: TESTS,
            metric: Metric::Rate,
            ratios: vec![1.0, 0.9, 1.1],
            control: true,
            block_sd: 0.01,
            spread_df: 20.0,
            of_start: 0.0,
        };
        let mut experiment = model.draw(&mut rng, 5);
        // The first hosts have one of the arms, the others the other.
        let absent = if host < 3 { 3 } else { 2 };
        for block in experiment.tests.iter_mut().flat_map(|test| &mut test.metrics[0].blocks) {
            (block.values[absent], block.ln[absent]) = (None, None);
        }
        experiments.push(experiment);
    }
    let joint = judge_hosts(&experiments, &Rules::default()).expect("data is right").joint;
    assert_eq!(joint.len(), 2 * TESTS);
    for one in &joint {
        let hosts: Vec<usize> = one.hosts.iter().map(|host| host.0).collect();
        assert_eq!(hosts, if one.verdict.arm == 2 { [0, 1, 2] } else { [3, 4, 5] });
        assert_eq!(one.verdict.class.is_regression(), one.verdict.arm == 2, "{:?}", one.verdict);
        assert!(one.verdict.class.is_change(), "{:?}", one.verdict);
    }
}

/// Few hosts that differ a little say nothing of others, and each is decided by itself.
#[test]
fn what_each_host_shows_is_told_where_few_hosts_decide_nothing() {
    let on_each = |ratios: [f64; 3]| -> Vec<Joint> {
        let mut rng = Rng::new(12);
        let experiments = ratios.map(|ratio| {
            let ratios = vec![1.0, ratio];
            let model = Blocks {
                tests: 1,
                metric: Metric::Rate,
                ratios,
                control: true,
                block_sd: 0.05,
                spread_df: 20.0,
                of_start: 0.0,
            };
            model.draw(&mut rng, 12)
        });
        judge_hosts(&experiments, &Rules::default()).expect("data is right").joint
    };
    let slower = on_each([0.80, 0.78, 0.79]);
    assert_eq!(slower[0].verdict.class, Class::Inconclusive, "{:?}", slower[0].verdict);
    assert!(slower[0].on_each().is_some_and(Class::is_regression), "{slower:?}");
    assert_eq!(on_each([0.8, 1.0, 0.8])[0].on_each(), None);
}
