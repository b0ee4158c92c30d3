//! What hosts have in common over tests: a host that is peculiar in one test is often so in all of them.
//!
//! If three hosts happen to be alike, all their tests look quiet at once, however many there are, so what tests have in
//! common is known with the degrees of freedom of hosts only. The rest is known from all tests. A test's contrasts, in
//! units of their own standard deviation, are the sum of the mean over tests of a host and what remains. The share of
//! the mean is its variance over hosts: 1 if all tests agree, 1/n for n independent ones.
//!
//! An interval `sqrt(share t1² + (1 - share) t2²)` standard errors wide, with the quantiles t1 and t2 of either part's
//! degrees of freedom, misses at most as often as each of them does (Banerjee 1960; the tail of chi-square is convex).
//!
//! Tests that were measured on the same hosts are taken together. With more such groups of hosts the share is known
//! better: it is pooled over those with at most as many tests, which have no smaller one.

use std::collections::{BTreeMap, BTreeSet};

use crate::shared::Contrasts;
use rqps_model::sample::{mean, variance};

/// The part of a variance that tests have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HostShare {
    pub(crate) share: f64,
    /// Degrees of freedom with which it is known.
    pub(crate) df: f64,
}

impl HostShare {
    pub(crate) const NONE: HostShare = HostShare { share: 0.0, df: 0.0 };

    /// Nothing is known of other tests.
    pub(crate) fn alone(hosts: usize) -> HostShare {
        HostShare { share: 1.0, df: hosts as f64 - 1.0 }
    }
}

/// The shares of one arm, by hosts.
pub(crate) fn host_shares(all: &[Contrasts]) -> BTreeMap<Vec<u32>, HostShare> {
    let mut tests: BTreeMap<Vec<u32>, Vec<Vec<f64>>> = BTreeMap::new();
    for one in all {
        let (hosts, values): (Vec<u32>, Vec<f64>) = one.by_block.iter().copied().unzip();
        let (mean, sd) = (mean(&values), variance(&values).sqrt());
        if sd > 0.0 {
            let standard = values.iter().map(|value| (value - mean) / sd).collect();
            tests.entry(hosts).or_default().push(standard);
        }
    }
    let mut by_count: BTreeMap<usize, Vec<(&Vec<u32>, f64)>> = BTreeMap::new();
    for (hosts, tests) in &tests {
        by_count.entry(tests.len()).or_default().push((hosts, square_of_mean(tests)));
    }
    let (mut shares, mut joined) = (BTreeMap::new(), Joined::default());
    let (mut square, mut free) = (0.0, 0.0);
    for groups in by_count.values() {
        for (hosts, of_group) in groups {
            square += of_group;
            free += hosts.len() as f64 - 1.0;
            joined.add(hosts);
        }
        let share = HostShare { share: (square / free).min(1.0), df: joined.df() };
        shares.extend(groups.iter().map(|(hosts, _)| ((*hosts).clone(), share)));
    }
    shares
}

/// Sum over hosts of the squared mean over tests.
fn square_of_mean(tests: &[Vec<f64>]) -> f64 {
    let hosts = tests.first().map_or(0, Vec::len);
    (0..hosts)
        .map(|host| (tests.iter().map(|test| test[host]).sum::<f64>() / tests.len() as f64).powi(2))
        .sum()
}

/// Hosts that tests connect.
#[derive(Default)]
struct Joined(Vec<BTreeSet<u32>>);

impl Joined {
    fn add(&mut self, hosts: &[u32]) {
        let mut new: BTreeSet<u32> = hosts.iter().copied().collect();
        let (connected, apart) =
            std::mem::take(&mut self.0).into_iter().partition(|old| !old.is_disjoint(&new));
        self.0 = apart;
        let connected: Vec<BTreeSet<u32>> = connected;
        new.extend(connected.into_iter().flatten());
        self.0.push(new);
    }

    /// Hosts, less one mean for each connected part.
    fn df(&self) -> f64 {
        self.0.iter().map(|part| part.len() as f64 - 1.0).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    fn tests<'a>(
        names: &'a [String],
        hosts: &[u32],
        mut value: impl FnMut(usize) -> f64,
    ) -> Vec<Contrasts<'a>> {
        let one = |test: &'a String| Contrasts {
            starts: "",
            test,
            arm: 1,
            by_block: hosts.iter().enumerate().map(|(at, host)| (*host, value(at))).collect(),
            variance_within: None,
        };
        names.iter().map(one).collect()
    }

    #[test]
    fn what_tests_share_is_known_with_the_degrees_of_freedom_of_hosts() {
        let names: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        // A host that is peculiar in all tests alike; a constant test says nothing.
        let mut alike = tests(&names, &[0, 1, 2], |host| [0.01, -0.02, 0.03][host]);
        alike.extend(tests(&names[..1], &[0, 1, 2], |_| 0.5));
        let share = host_shares(&alike)[&vec![0, 1, 2]];
        assert!((share.share - 1.0).abs() < 1e-9 && share.df == 2.0, "{share:?}");
        // Independent tests share a twentieth.
        let mut rng = Rng::new(1);
        let draw =
            |rng: &mut Rng| host_shares(&tests(&names, &[0, 1, 2], |_| rng.normal()))[&vec![0, 1, 2]].share;
        let mean = (0..400).map(|_| draw(&mut rng)).sum::<f64>() / 400.0;
        assert!((mean - 0.05).abs() < 0.01, "{mean}");
    }

    #[test]
    fn groups_of_hosts_tell_of_each_other() {
        let names: Vec<String> = (0..4).map(|number| number.to_string()).collect();
        let mut rng = Rng::new(2);
        let mut df = |groups: &[(&[u32], usize)], hosts: &[u32]| {
            let mut draw = |_| rng.normal();
            let all: Vec<Contrasts> =
                groups.iter().flat_map(|(hosts, count)| tests(&names[..*count], hosts, &mut draw)).collect();
            host_shares(&all)[hosts].df
        };
        assert_eq!(df(&[(&[0, 1, 2], 2), (&[3, 4, 5], 2)], &[0, 1, 2]), 4.0);
        assert_eq!(df(&[(&[0, 1, 2], 2), (&[2, 3, 4], 2)], &[2, 3, 4]), 4.0, "one part of five hosts");
        // More tests have a smaller share, which would be too small for fewer tests.
        assert_eq!(df(&[(&[0, 1, 2], 1), (&[3, 4, 5], 4)], &[0, 1, 2]), 2.0);
        assert_eq!(df(&[(&[0, 1, 2], 1), (&[3, 4, 5], 4)], &[3, 4, 5]), 4.0);
    }
}
