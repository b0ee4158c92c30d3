//! The data sets by name: each comes from its generator and a seed, one from the files that the machine has installed.

use crate::data::DataSet;
use crate::random::Random;
use anyhow::{Context, Result, bail};
use std::fs;

mod generators;

/// A data set that can be had.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// Which tables it is in.
    pub group: Group,
    /// What its keys are.
    pub about: &'static str,
    make: fn(&mut Random, usize) -> DataSet,
}

/// What a set is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The goals' ten sets in random order.
    Unsorted,
    /// Order or equality is there before the sort.
    Ordered,
    /// Shapes that no goal names.
    Other,
}

const fn set(
    name: &'static str,
    group: Group,
    about: &'static str,
    make: fn(&mut Random, usize) -> DataSet,
) -> Set {
    Set { name, group, about, make }
}

use Group::{Ordered, Other, Unsorted};

/// Every set, in the order of the tables.
pub const ALL: [Set; 28] = [
    set("rand8", Unsorted, "8 random bytes, 1 to 255", |random, n| generators::random_bytes(random, n, 8)),
    set("rand16", Unsorted, "16 random bytes", |random, n| generators::random_bytes(random, n, 16)),
    set("rand32", Unsorted, "32 random bytes", |random, n| generators::random_bytes(random, n, 32)),
    set("uuid", Unsorted, "random UUIDs as text", generators::uuid),
    set("url", Unsorted, "site, section, year, month, title", generators::url),
    set(
        "dbms_bin",
        Unsorted,
        "tenant, date, customer, number as order-preserving bytes",
        generators::dbms_bin,
    ),
    set("dbms_txt", Unsorted, "the same columns as text", generators::dbms_txt),
    set("dbms_fewpfx", Unsorted, "8 prefixes of 60 bytes, then a number", generators::few_prefixes),
    set("words", Unsorted, "words of a text, most of them again and again", generators::words),
    set("few100", Unsorted, "100 different values of 40 bytes", generators::few_values),
    set("url_rev", Ordered, "url in reverse order", |random, n| {
        generators::url(random, n).reordered(|keys| keys.sort_unstable_by(|a, b| b.cmp(a)))
    }),
    set("url_sorted", Ordered, "url in order", |random, n| {
        generators::url(random, n).reordered(|keys| keys.sort_unstable())
    }),
    set("equal40", Ordered, "one value of 40 bytes", generators::equal),
    set("paths", Other, "paths of installed files, as Debian lists them", |_, _| DataSet::default()),
    set("names", Other, "surname, given name", generators::names),
    set("u64be", Other, "random numbers of 8 bytes, big-endian", generators::u64_be),
    set("counter", Other, "a number of 8 bytes, big-endian, each once", generators::counter),
    set("timestamps", Other, "times as text, some equal", generators::timestamps),
    set("dna", Other, "100 letters out of four from places of one sequence", generators::dna),
    set("bits", Other, "64 bytes that are 0 or 1", generators::bits),
    set("mails", Other, "addresses: few hosts at the end", generators::mails),
    set("lengths", Other, "one letter, 0 to 40 times: keys that are prefixes of others", generators::lengths),
    set("zeros", Other, "40 zero bytes, then 8 random ones", generators::zeros),
    set("skewed", Other, "bytes of which half are 0: every step splits badly", generators::skewed),
    set("nearly", Other, "url in order but for 1 in 100", |random, n| {
        generators::disturbed(random, generators::url(&mut random.clone(), n), 100)
    }),
    set("appended", Other, "url in order, the last hundredth at random", generators::appended),
    set("runs", Other, "url in 8 sorted runs", generators::runs),
    set("pipe", Other, "numbers up, then down again", generators::pipe),
];

/// The sets of a comma-separated list of names and groups: `goals` (the first thirteen), `unsorted`, `others`, `all`.
///
/// # Errors
/// When a name is unknown.
pub fn choose(names: &str) -> Result<Vec<Set>> {
    let mut chosen = Vec::new();
    for name in names.split(',') {
        let wanted: Vec<Set> = ALL
            .into_iter()
            .filter(|set| match name {
                "all" => true,
                "goals" => set.group != Other,
                "unsorted" => set.group == Unsorted,
                "others" => set.group == Other,
                _ => set.name == name,
            })
            .collect();
        if wanted.is_empty() {
            let known: Vec<&str> = ALL.iter().map(|set| set.name).collect();
            bail!("no data set is called {name}: take goals, unsorted, others, all or {}", known.join(", "));
        }
        chosen.extend(wanted);
    }
    Ok(chosen)
}

impl Set {
    /// Makes `keys` keys. The set of paths has as many as the machine has files, at most `keys`.
    ///
    /// # Errors
    /// When the machine has no lists of installed files, for the set of paths.
    pub fn make(&self, seed: u64, keys: usize) -> Result<DataSet> {
        let mut random = Random::named(seed, self.name);
        if self.name == "paths" {
            return installed_paths(&mut random, keys);
        }
        Ok((self.make)(&mut random, keys))
    }
}

/// Where Debian's package manager lists what it has installed: a file per package, a path per line.
const LISTS: &str = "/var/lib/dpkg/info";

fn installed_paths(random: &mut Random, keys_max: usize) -> Result<DataSet> {
    let missing = || format!("the set of paths needs {LISTS}, which Debian and its relatives have");
    let mut lists = Vec::new();
    for entry in fs::read_dir(LISTS).with_context(missing)? {
        let path = entry.with_context(missing)?.path();
        if path.extension().is_some_and(|extension| extension == "list") {
            lists.push(path);
        }
    }
    lists.sort();
    let mut paths = DataSet::default();
    for list in lists {
        let text = fs::read(&list).with_context(|| format!("can't read {}", list.display()))?;
        text.split(|byte| *byte == b'\n').filter(|path| !path.is_empty()).for_each(|path| paths.push(path));
    }
    let mut keys = paths.keys();
    random.shuffle(&mut keys);
    keys.truncate(keys_max);
    Ok(keys.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_shape_that_the_goals_were_set_for() {
        // Name, average length, average common prefix at 1M keys in bytes, and how far off 200,000 keys may be.
        let shapes = [
            ("rand16", 16.0, 1.9, 1.0),
            ("uuid", 36.0, 4.6, 1.0),
            ("url", 74.7, 44.8, 4.0),
            ("dbms_bin", 65.0, 54.7, 3.0),
            ("dbms_txt", 54.0, 44.2, 3.0),
            ("dbms_fewpfx", 75.0, 73.3, 1.5),
        ];
        for (name, length, common, off) in shapes {
            let data = choose(name).unwrap()[0].make(42, 200_000).unwrap();
            let shape = data.statistics();
            assert_eq!(shape.keys, 200_000);
            assert!((shape.length_bytes - length).abs() < 1.5, "{name}: {shape:?}");
            assert!((shape.common_bytes - common).abs() < off, "{name}: {shape:?}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_keys_and_another_seed_others() {
        for set in ALL.into_iter().filter(|set| set.name != "paths") {
            let keys = |seed| set.make(seed, 500).unwrap();
            assert_eq!(keys(7), keys(7), "{}", set.name);
            assert_eq!(keys(7).len(), 500, "{}", set.name);
            assert!(set.name == "pipe" || keys(7) != keys(8), "{}", set.name);
        }
    }
}
