//! What tells hosts apart that disagree: a fact that splits them as their ratios do.

use std::collections::{BTreeMap, BTreeSet};

use rqps_store::Run;
use rqps_verdicts::{DataMount, WindowOrder, host_answers, pooled};

/// Hosts by a fact's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// `cpu_model`.
    pub fact: String,
    /// Values with their hosts, by index.
    pub groups: Vec<(String, Vec<usize>)>,
}

/// The facts of a run's host on which runs have to agree to be comparable, and the answers of its certificate.
pub(super) fn of(run: &Run) -> BTreeMap<String, String> {
    let comparable = run.host.iter().filter(|fact| fact.comparable);
    let mut facts: BTreeMap<String, String> =
        comparable.map(|fact| (fact.key.clone(), fact.value.clone())).collect();
    for answer in host_answers(&pooled(&run.certificates), DataMount::of(run), WindowOrder::of(run)) {
        facts.insert(answer.question.title().to_owned(), answer.answer.to_string());
    }
    facts
}

/// The facts that split hosts as their ratios do: every pair that differs has different values, and the ratios of one
/// value don't overlap those of another. Of more than two hosts, a fact that is different on each says nothing.
pub fn splits(
    ratios: &[(usize, f64)],
    differing: &[(usize, usize)],
    facts: &[&BTreeMap<String, String>],
) -> Vec<Split> {
    let keys: BTreeSet<&String> =
        ratios.iter().filter_map(|(host, _)| facts.get(*host)).flat_map(|facts| facts.keys()).collect();
    let split = |key: &String| {
        let value = |host: usize| facts.get(host).and_then(|facts| facts.get(key));
        let mut groups: BTreeMap<&String, Vec<(usize, f64)>> = BTreeMap::new();
        for (host, ratio) in ratios {
            groups.entry(value(*host)?).or_default().push((*host, *ratio));
        }
        let says_something = groups.len() > 1 && (groups.len() < ratios.len() || ratios.len() == 2);
        let splits_pairs = differing.iter().all(|(a, b)| value(*a) != value(*b));
        let mut ranges: Vec<(f64, f64)> = groups
            .values()
            .map(|hosts| {
                let of =
                    |start: f64, pick: fn(f64, f64) -> f64| hosts.iter().map(|host| host.1).fold(start, pick);
                (of(f64::INFINITY, f64::min), of(f64::NEG_INFINITY, f64::max))
            })
            .collect();
        ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
        let are_apart = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
        let groups = groups
            .into_iter()
            .map(|(value, hosts)| (value.clone(), hosts.into_iter().map(|host| host.0).collect()))
            .collect();
        (says_something && splits_pairs && are_apart).then(|| Split { fact: key.clone(), groups })
    };
    keys.into_iter().filter_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_named_if_it_splits_hosts_as_their_ratios_do() {
        let host = |cpu: &str, kernel: &str, disk: &str| {
            BTreeMap::from(
                [("cpu", cpu), ("kernel", kernel), ("disk", disk)].map(|(k, v)| (k.to_owned(), v.to_owned())),
            )
        };
        let hosts = [
            host("old", "6.1", "a"),
            host("new", "6.1", "b"),
            host("old", "6.9", "c"),
            host("new", "6.9", "d"),
        ];
        let facts: Vec<&BTreeMap<String, String>> = hosts.iter().collect();
        let ratios = [(0, 0.90), (1, 1.0), (2, 0.91), (3, 1.01)];
        let found = splits(&ratios, &[(0, 1), (0, 3), (1, 2)], &facts);
        let expected = Split {
            fact: "cpu".to_owned(),
            groups: vec![("new".to_owned(), vec![1, 3]), ("old".to_owned(), vec![0, 2])],
        };
        assert_eq!(found, [expected], "the kernel splits no pair, every host has its own disk");
        assert_eq!(splits(&ratios, &[(0, 2)], &facts).len(), 0, "hosts of one processor differ");
        let overlapping = [(0, 0.90), (1, 1.0), (2, 1.0), (3, 0.95)];
        assert_eq!(splits(&overlapping, &[(0, 1)], &facts).len(), 0);
    }
}
