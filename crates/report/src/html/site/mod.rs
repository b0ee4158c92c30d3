//! A static site of many runs: a list of runs and tests, a page a run, a page a test, a feed of verdicts, badges. All
//! links are relative and nothing is fetched, so that it works from a file share as well as from a web server.
//!
//! Where to look: `run.rs` has a run's page, `index.rs` the lists and their search, `test.rs` a test over all runs,
//! `course.rs` and `joined.rs` its charts, `feed.rs` the feed and the badges. The same runs always give the same bytes.

mod course;
mod date;
mod feed;
mod index;
mod joined;
mod run;
mod test;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

pub use run::{SiteRun, site_run};

use crate::error::Result;

/// A file of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// Path in the site, with `/`.
    pub path: String,
    pub content: String,
}

/// Maximum size of a page: one that is opened on a phone.
const PAGE_BYTES_MAX: usize = 3_000_000;
/// What a page may need besides its tables: style, script, texts.
const FRAME_BYTES: usize = 100_000;
/// Maximum length of a file's name before it is cut: file systems allow 255 bytes.
const STEM_MAX: usize = 120;

/// The paths of runs' pages, in the order of `names`: different, also where names are equal but for their case.
pub fn site_stems(names: &[String]) -> Vec<String> {
    let mut used = BTreeSet::new();
    let unused = |name: &String| {
        let stem = stem(name);
        let numbered = (2..).map(|number| format!("{stem}~{number}"));
        let mut free = std::iter::once(stem.clone()).chain(numbered);
        free.find(|stem| used.insert(stem.to_lowercase())).unwrap_or(stem)
    };
    names.iter().map(unused).collect()
}

/// Returns all files of a site except the runs' own pages, which [`site_run`] returns.
///
/// # Errors
/// If a file cannot be written in its format.
pub fn site_pages(mut runs: Vec<SiteRun>) -> Result<Vec<SiteFile>> {
    // Newest first.
    runs.sort_by(|a, b| (b.date.at_ms, &b.stem).cmp(&(a.date.at_ms, &a.stem)));
    let tests = tests(&runs);
    let mut files: Vec<SiteFile> = tests.iter().map(|test| test::page(test, &runs)).collect();
    files.extend(feed::badges(&runs));
    files.push(feed::feed(&runs)?);
    files.extend(index::pages(&runs, &tests));
    Ok(files)
}

/// A test of a workload, with the runs that measured it, newest first: index in the list of runs, and in the run's
/// tests.
struct SiteTest<'a> {
    workload: &'a str,
    name: &'a str,
    runs: Vec<(usize, usize)>,
}

impl SiteTest<'_> {
    fn path(&self) -> String {
        test_path(self.workload, self.name)
    }
}

/// All tests, by workload, in the order of the newest run that has them.
fn tests(runs: &[SiteRun]) -> Vec<SiteTest<'_>> {
    let mut tests: Vec<SiteTest<'_>> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (run, of) in runs.iter().enumerate() {
        for (place, test) in of.tests.iter().enumerate() {
            let (workload, name) = (of.workload_title.as_str(), test.name.as_str());
            let index = *known.entry((workload, name)).or_insert_with(|| {
                tests.push(SiteTest { workload, name, runs: Vec::new() });
                tests.len() - 1
            });
            tests[index].runs.push((run, place));
        }
    }
    tests.sort_by_key(|test| test.workload);
    tests
}

/// The path of a test's page.
pub(super) fn test_path(workload: &str, test: &str) -> String {
    format!("tests/{}.html", stem(&format!("{workload}.{test}")))
}

/// A file name for a text: portable, and different for different texts.
fn stem(text: &str) -> String {
    let mut stem = String::new();
    for (place, c) in text.chars().enumerate() {
        match c {
            '.' if place > 0 => stem.push(c),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '=' => stem.push(c),
            ' ' => stem.push('+'),
            other => stem.push_str(&format!("~{:x}~", u32::from(other))),
        }
    }
    if stem.len() > STEM_MAX {
        let digest = Sha256::digest(text.as_bytes());
        stem.truncate(STEM_MAX);
        stem.extend(digest[..8].iter().map(|byte| format!("{byte:02x}")));
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_portable_and_different() {
        assert_eq!(stem("demo-20260730.1"), "demo-20260730.1");
        let hostile =
            ["..", "../../etc/passwd", "a/b", "a\\b", "a b", "a+b", "a~20~b", "ü", "<script>", ".hidden"];
        let stems: BTreeSet<String> = hostile.iter().map(|text| stem(text)).collect();
        assert_eq!(stems.len(), hostile.len(), "{stems:?}");
        let is_portable = |c: char| c.is_ascii_alphanumeric() || ".-_=+~".contains(c);
        assert!(
            stems.iter().all(|stem| stem.chars().all(is_portable) && !stem.starts_with('.')),
            "{stems:?}"
        );
        let long = ["x".repeat(500), "x".repeat(501)].map(|text| stem(&text));
        assert!(long[0] != long[1] && long[0].len() < 200);
    }

    #[test]
    fn runs_of_one_name_have_different_pages() {
        let names = ["demo", "Demo", "demo", "other"].map(str::to_owned);
        assert_eq!(site_stems(&names), ["demo", "Demo~2", "demo~3", "other"]);
    }
}
