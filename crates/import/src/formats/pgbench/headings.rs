//! Lines between runs of pgbench in one file that head them: `=== master run 1 ===`. Runs of several builds in one file
//! are no repeats of one another, and nothing else would tell it.

use std::collections::{BTreeMap, BTreeSet};

use rqps_model::clipped;

use super::text::Run;
use crate::arms::rank_of_base;
use crate::error::Broken;

/// Words of dates, which differ between repeats: `Fri Nov 27`.
const OF_DATES: [&str; 24] = [
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug",
    "sep", "oct", "nov", "dec", "am", "pm", "utc", "gmt", "cet",
];
/// Of a heading in an error.
const CHARS_MAX: usize = 60;

/// A heading, as printed, and its line.
type Heading = (String, u32);

#[derive(Default)]
pub struct Headings {
    /// Of the run that may follow.
    next: Option<Heading>,
    own: Option<Heading>,
    /// The headings of runs in the same settings, by their words.
    all: BTreeMap<Vec<String>, BTreeMap<Vec<String>, Vec<Heading>>>,
}

impl Headings {
    /// Takes a line that is none of a run's figures.
    pub fn read(&mut self, line: &str, at: u32) {
        let is_of_pgbench = line.starts_with([' ', '\t'])
            || ["SQL script ", "pgbench: ", "statement latencies", "tps = "]
                .iter()
                .any(|start| line.starts_with(start));
        if !(is_of_pgbench || words(line).is_empty()) {
            self.next = Some((line.trim().to_owned(), at));
        }
    }

    /// A run begins.
    pub fn begin(&mut self) {
        if let Some(next) = self.next.take() {
            self.own = Some(next);
        }
    }

    /// A run has ended.
    pub fn end(&mut self, run: &Run) {
        if let Some((text, at)) = self.own.take() {
            self.all.entry(run.settings()).or_default().entry(words(&text)).or_default().push((text, at));
        }
    }

    /// # Errors
    /// If runs in the same settings have headings of other words, of which one tells base, or each comes again.
    pub fn expect_one_build(&self) -> Result<(), Broken> {
        for of_words in self.all.values().filter(|of_words| of_words.len() > 1) {
            let ranks: BTreeSet<Option<usize>> = of_words
                .keys()
                .map(|words| words.iter().filter_map(|word| rank_of_base(word)).min())
                .collect();
            if ranks.len() < 2 && of_words.values().any(|headings| headings.len() < 2) {
                continue;
            }
            let mut first: Vec<&Heading> =
                of_words.values().filter_map(|headings| headings.first()).collect();
            first.sort_by_key(|(_, at)| *at);
            if let [(one, line), (other, at), ..] = first[..] {
                let [one, other] = [one, other].map(|text| clipped(text, CHARS_MAX));
                let why = format!(
                    "runs of the same test are under different headings, `{one}` in line {line} and `{other}` here: are they of \
                     several builds? Put the runs of each into a file of its own, such as master.log and patched.log"
                );
                return Err(Broken::at(*at, why));
            }
        }
        Ok(())
    }
}

/// The words of a heading without numbers and dates.
fn words(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let is_word = |word: &String| {
        word.starts_with(char::is_alphabetic) && !OF_DATES.contains(&word.get(..3).unwrap_or(word))
    };
    words.filter(is_word).collect()
}
