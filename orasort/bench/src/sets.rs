//! The data sets by name: each comes from its generator and a seed, or from the files of this machine.

use crate::data::DataSet;
use crate::random::Random;
use anyhow::{Context, Result, bail};

mod files;
mod generators;
mod shapes;

/// A data set that can be had.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// Which tables it is in.
    pub group: Group,
    /// What its keys are.
    pub about: &'static str,
    make: fn(&mut Random, usize) -> Result<DataSet>,
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

use Group::{Ordered, Other, Unsorted};

/// Sets: name, group, what it is, how it is made from random numbers and a number of keys.
macro_rules! sets {
    ($($name:literal $group:ident $about:literal $make:expr;)*) => {
        &[$(Set { name: $name, group: $group, about: $about, make: |random, n| Ok($make(random, n)) }),*]
    };
}

/// Sets from files, which this machine may not have.
macro_rules! file_sets {
    ($($name:literal $about:literal $make:expr;)*) => {
        &[$(Set { name: $name, group: Other, about: $about, make: $make }),*]
    };
}

const MADE: &[Set] = sets! {
    "rand8" Unsorted "8 random bytes, 1 to 255" |random: &mut Random, n| generators::random_bytes(random, n, 8);
    "rand16" Unsorted "16 random bytes" |random: &mut Random, n| generators::random_bytes(random, n, 16);
    "rand32" Unsorted "32 random bytes" |random: &mut Random, n| generators::random_bytes(random, n, 32);
    "uuid" Unsorted "random UUIDs as text" generators::uuid;
    "url" Unsorted "site, section, year, month, title" generators::url;
    "dbms_bin" Unsorted "tenant, date, customer, number as order-preserving bytes" generators::dbms_bin;
    "dbms_txt" Unsorted "the same columns as text" generators::dbms_txt;
    "dbms_fewpfx" Unsorted "8 prefixes of 60 bytes, then a number" generators::few_prefixes;
    "words" Unsorted "words of a text, most of them again and again" generators::words;
    "few100" Unsorted "100 different values of 40 bytes" generators::few_values;
    "url_rev" Ordered "url in reverse order"
        |random: &mut Random, n| generators::url(random, n).reordered(|keys| keys.sort_unstable_by(|a, b| b.cmp(a)));
    "url_sorted" Ordered "url in order" |random: &mut Random, n| generators::url(random, n).in_order();
    "equal40" Ordered "one value of 40 bytes" generators::equal;
    "names" Other "surname, given name" generators::names;
    "u64be" Other "random numbers of 8 bytes, big-endian" generators::u64_be;
    "counter" Other "a number of 8 bytes, big-endian, each once" generators::counter;
    "timestamps" Other "times as text, some equal" generators::timestamps;
    "dna" Other "100 letters out of four from places of one sequence" generators::dna;
    "bits" Other "64 bytes that are 0 or 1" generators::bits;
    "mails" Other "addresses: few hosts at the end" generators::mails;
    "lengths" Other "one letter, 0 to 40 times: keys that are prefixes of others" generators::lengths;
    "zeros" Other "40 zero bytes, then 8 random ones" generators::zeros;
    "skewed" Other "bytes of which half are 0: every step splits badly" generators::skewed;
    "nearly" Other "url in order but for 1 in 100"
        |random: &mut Random, n| generators::disturbed(random, generators::url(&mut random.clone(), n), 100);
    "appended" Other "url in order, the last hundredth at random" generators::appended;
    "runs" Other "url in 8 sorted runs" generators::runs;
    "pipe" Other "numbers up, then down again" generators::pipe;
    "halves" Other "two halves of url, each in order"
        |random: &mut Random, n: usize| generators::url(random, n).in_runs(n.div_ceil(2));
    "lsm" Other "table, tenant and time as numbers of 2, 4 and 8 bytes, then a column" shapes::lsm;
    "json" Other "lines of JSON with the same fields" shapes::json;
    "kmers" Other "31 letters out of four" shapes::kmers;
    "url_hosts" Other "hosts from their end on, then a path" shapes::reversed_urls;
    "decimals" Other "decimal numbers as text, of 1 to 10 digits" shapes::decimals;
    "ipv4" Other "addresses of 4 bytes, many in few nets" shapes::ipv4;
    "ipv4_text" Other "the same as text" shapes::ipv4_text;
    "hashes" Other "hashes of 40 hexadecimal digits" shapes::hashes;
    "status" Other "one of six states, the first of them most of the time" shapes::status;
    "equal96" Other "24 of 25 keys have one value" |random: &mut Random, n| shapes::equal_but(random, n, 25);
    "equal99" Other "99 of 100 keys have one value" |random: &mut Random, n| shapes::equal_but(random, n, 100);
    "ladder" Other "one letter up to 120 times, then another" shapes::ladder;
    "stairs" Other "one letter up to 1,000 times: a key for each" shapes::stairs;
    "phrases" Other "4 to 12 words of a text" shapes::phrases;
    "log" Other "lines of a service's log, in order but for the threads" shapes::log;
    "log_shuffled" Other "the same in random order"
        |random: &mut Random, n| shapes::log(random, n).shuffled(random);
    "orders" Other "order numbers with a letter for the kind and the year" shapes::orders;
    "versions" Other "names of packages with versions" shapes::versions;
    "geohash" Other "places as 12 letters, most of them in few cities" shapes::geohash;
    "blobs" Other "600 bytes that share their first 500 with some others" shapes::blobs;
};

const FROM_FILES: &[Set] = file_sets! {
    "paths" "paths of installed files, as Debian lists them, in random order"
        |random, n| Ok(files::package_lines(usize::MAX, ".list")?.shuffled(random).first(n));
    "paths_listed" "the same as they are listed" |_, n| files::package_lines(n, ".list");
    "files_found" "paths of all files as the system lists them" |_, n| files::paths(n);
    "files_shuffled" "the same in random order" |random, n| Ok(files::paths(n)?.shuffled(random));
    "files_nearly" "the same in order but for 1 in 100"
        |random, n| Ok(generators::disturbed(random, files::paths(n)?, 100));
    "filenames" "names of files as the system lists them" |_, n| files::names(n);
    "filenames_shuffled" "the same in random order" |random, n| Ok(files::names(n)?.shuffled(random));
    "md5sums" "checksums and paths of installed files" |_, n| files::package_lines(n, ".md5sums");
    "source" "lines of source code" |_, n| files::source_lines(n);
    "source_shuffled" "the same in random order" |random, n| Ok(files::source_lines(n)?.shuffled(random));
    "tokens" "words and names in source code" |_, n| files::tokens(n);
    "tokens_shuffled" "the same in random order" |random, n| Ok(files::tokens(n)?.shuffled(random));
    "syslog" "lines of this machine's logs" |_, n| files::log_lines(n);
};

/// Every set, in the order of the tables.
#[must_use]
pub fn all() -> Vec<Set> {
    [MADE, FROM_FILES].concat()
}

/// The sets of a comma-separated list of names and groups: `goals` (the first thirteen), `unsorted`, `others`, `tuned`,
/// `held-out`, `all`.
///
/// # Errors
/// When a name is unknown.
pub fn choose(names: &str) -> Result<Vec<Set>> {
    let mut chosen = Vec::new();
    for name in names.split(',') {
        let wanted: Vec<Set> = all()
            .into_iter()
            .filter(|set| match name {
                "all" => true,
                "goals" => set.group != Other,
                "unsorted" => set.group == Unsorted,
                "others" => set.group == Other,
                "tuned" => !set.held_out(),
                "held-out" => set.held_out(),
                _ => set.name == name,
            })
            .collect();
        if wanted.is_empty() {
            let known: Vec<&str> = all().iter().map(|set| set.name).collect();
            bail!(
                "no data set is called {name}: take goals, unsorted, others, tuned, held-out, all or {}",
                known.join(", ")
            );
        }
        chosen.extend(wanted);
    }
    Ok(chosen)
}

impl Set {
    /// Makes `keys` keys. Sets from files have as many as the machine has, at most `keys`.
    ///
    /// # Errors
    /// When the machine has no such files.
    pub fn make(&self, seed: u64, keys: usize) -> Result<DataSet> {
        let made = (self.make)(&mut Random::named(seed, self.name), keys);
        made.with_context(|| format!("can't make the set {}", self.name))
    }

    /// Whether nothing was tuned on it: a hash of its name decides, for a quarter of the sets that no goal names.
    #[must_use]
    pub fn held_out(&self) -> bool {
        self.group == Other && Random::named(0, self.name).below(4) == 0
    }
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
        for set in MADE {
            let keys = |seed| set.make(seed, 500).unwrap();
            assert_eq!(keys(7), keys(7), "{}", set.name);
            assert_eq!(keys(7).len(), 500, "{}", set.name);
            assert!(["pipe", "stairs"].contains(&set.name) || keys(7) != keys(8), "{}", set.name);
        }
    }
}
