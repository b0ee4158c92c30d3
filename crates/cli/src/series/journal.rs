//! The links that were measured, in the folder of a series: another call measures only those that are missing.

use crate::search;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    /// The link that has begun.
    pub running: Option<Link>,
    /// In the order of measuring.
    pub done: Vec<Link>,
    #[serde(skip)]
    folder: PathBuf,
}

/// Two versions measured side by side, with the anchor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    pub before: String,
    pub after: String,
    /// Name of the run's folder.
    pub run: String,
}

impl Journal {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let mut journal: Journal = search::read(folder, search::OF_SERIES)?;
        journal.folder = folder.to_owned();
        Ok(journal)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn write(&self) -> anyhow::Result<()> {
        search::write(&self.folder, search::OF_SERIES, self)
    }

    /// The neighbours among these versions that were not measured together; an interrupted link is one of them.
    pub fn missing<'a>(&self, versions: &[&'a str]) -> Vec<(&'a str, &'a str)> {
        let is_done =
            |before, after| self.done.iter().any(|link| (&*link.before, &*link.after) == (before, after));
        let pairs = versions.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.filter(|(before, after)| !is_done(*before, *after)).collect()
    }

    /// The measured links between neighbours among these versions.
    pub fn wanted(&self, versions: &[&str]) -> Vec<&Link> {
        let is_wanted = |link: &&Link| versions.windows(2).any(|pair| *pair == [&*link.before, &*link.after]);
        self.done.iter().filter(is_wanted).collect()
    }

    /// Those of the versions that a measured link has.
    pub fn measured(&self, versions: &[&str]) -> Vec<String> {
        let has =
            |version: &&&str| self.done.iter().any(|link| [&*link.before, &*link.after].contains(*version));
        versions.iter().filter(has).map(|version| (*version).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(links: &[(&str, &str)]) -> Journal {
        let link = |(before, after): &(&str, &str)| Link {
            before: (*before).to_owned(),
            after: (*after).to_owned(),
            run: format!("{before}-{after}"),
        };
        Journal { done: links.iter().map(link).collect(), ..Journal::default() }
    }

    #[test]
    fn a_version_that_is_added_costs_its_own_links_only() {
        let known = journal(&[("12.22", "14.24"), ("14.24", "16.15")]);
        assert!(known.missing(&["12.22", "14.24", "16.15"]).is_empty());
        assert_eq!(known.missing(&["12.22", "14.24", "16.15", "18.6"]), [("16.15", "18.6")]);
        let between = known.missing(&["12.22", "14.24", "15.19", "16.15"]);
        assert_eq!(between, [("14.24", "15.19"), ("15.19", "16.15")]);
        // Left out, its neighbours were never measured together.
        assert_eq!(known.missing(&["12.22", "16.15"]), [("12.22", "16.15")]);
        assert_eq!(known.measured(&["12.22", "14.24", "15.19", "16.15"]), ["12.22", "14.24", "16.15"]);
        assert!(journal(&[]).measured(&["12.22"]).is_empty());
    }
}
