//! The commits of a git repository, each compiled when it is measured.

use super::line::{Line, Row};
use rqps_builds::Commit;
use rqps_model::{BuildSource, BuildSpec, Dbms, SourceSpec};
use std::collections::BTreeSet;

/// Places of a row, and of each part of it that is refined. A search halves them anyway; few keep the answer's pairs of
/// places few, where a repository has thousands of commits between two releases.
const PLACES: usize = 24;
/// Digits of a commit's id that users see.
const DIGITS: usize = 10;

/// From the good commit to the bad one, first parents.
#[derive(Debug, Clone)]
pub struct Commits {
    pub dbms: Dbms,
    /// The repository and how its commits are compiled.
    pub source: SourceSpec,
    /// At least two, oldest first.
    pub commits: Vec<Commit>,
}

impl Commits {
    fn place(&self, id: &str) -> usize {
        self.commits.iter().position(|commit| commit.id == id).unwrap_or(0)
    }

    /// Adds commits between two, evenly: their ids, and the weights of the places before each and before `last`.
    fn divide(&self, row: &mut Row, first: usize, last: usize) {
        let between = last - first;
        let parts = between.min(PLACES);
        let mut before = first;
        for part in 1..=parts {
            let at = first + between * part / parts;
            row.versions.push(self.commits[at].id.clone());
            row.weights.push((at - before) as f64);
            before = at;
        }
    }

    /// What `git bisect log` would print after the same search: every measured commit before the change is good, every
    /// later one bad, the newest first, since the last one that git is told counts.
    pub fn git_log(&self, measured: &BTreeSet<String>, skipped: &BTreeSet<String>, change: &str) -> String {
        let place = self.place(change);
        let mut lines = vec!["git bisect start --first-parent".to_owned()];
        let mut mark = |word: &str, commit: &Commit| {
            lines.push(format!("# {word}: [{}] {}", commit.id, commit.subject));
            lines.push(format!("git bisect {word} {}", commit.id));
        };
        let ends = [self.commits.len() - 1, 0];
        let others = (1..self.commits.len() - 1).filter(|at| {
            let id = &self.commits[*at].id;
            measured.contains(id) || skipped.contains(id)
        });
        let (after, before): (Vec<usize>, Vec<usize>) = others.partition(|at| *at >= place);
        for at in ends.into_iter().chain(before).chain(after.into_iter().rev()) {
            let commit = &self.commits[at];
            match skipped.contains(&commit.id) {
                true => mark("skip", commit),
                false => mark(if at < place { "good" } else { "bad" }, commit),
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

impl Line for Commits {
    fn good(&self) -> &str {
        self.commits.first().map_or("", |commit| &commit.id)
    }

    fn bad(&self) -> &str {
        self.commits.last().map_or("", |commit| &commit.id)
    }

    fn coarse(&self) -> Row {
        let mut row = Row { versions: vec![self.good().to_owned()], weights: Vec::new() };
        self.divide(&mut row, 0, self.commits.len() - 1);
        row
    }

    fn refined(&self, row: &Row, places: &BTreeSet<usize>) -> Row {
        let mut refined = Row { versions: vec![self.good().to_owned()], weights: Vec::new() };
        for (place, weight) in row.weights.iter().enumerate() {
            let (before, after) = (&row.versions[place], &row.versions[place + 1]);
            if places.contains(&place) {
                self.divide(&mut refined, self.place(before), self.place(after));
            } else {
                refined.versions.push(after.clone());
                refined.weights.push(*weight);
            }
        }
        refined
    }

    fn build(&self, version: &str) -> BuildSpec {
        let source = SourceSpec { reference: Some(version.to_owned()), ..self.source.clone() };
        BuildSpec { dbms: self.dbms, source: BuildSource::Source(source) }
    }

    fn title(&self, version: &str) -> String {
        let short = version.get(..DIGITS).unwrap_or(version);
        match self.commits.iter().find(|commit| commit.id == version) {
            Some(commit) => format!("{short} “{}”", commit.subject),
            None => short.to_owned(),
        }
    }

    fn announcement(&self) -> String {
        format!(
            "{} commits of {} after {}, first parents only; each that is measured is compiled first, with the objects of \
             others where ccache is installed",
            self.commits.len() - 1,
            self.source.place,
            self.title(self.good())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::{Blocks, search};
    use super::*;
    use rqps_stats::bisect::Rules;

    fn commits(count: usize) -> Commits {
        let commit = |at| Commit { id: format!("{at:040}"), subject: format!("number {at}") };
        Commits {
            dbms: Dbms::Postgres,
            source: SourceSpec::parse("/src/postgres", "o2nofp"),
            commits: (0..count).map(commit).collect(),
        }
    }

    #[test]
    fn rows_are_refined_until_neighbours_are_reached() {
        let line = commits(1001);
        let coarse = line.coarse();
        assert_eq!(coarse.places(), PLACES);
        assert_eq!(coarse.weights.iter().sum::<f64>(), 1000.0);
        let refined = line.refined(&coarse, &BTreeSet::from([3]));
        assert_eq!(refined.places(), PLACES - 1 + PLACES.min(coarse.weights[3] as usize));
        assert_eq!(refined.weights.iter().sum::<f64>(), 1000.0);
        assert_eq!(commits(3).coarse().weights, [1.0, 1.0]);
        let fine = commits(3).coarse();
        assert_eq!(commits(3).refined(&fine, &BTreeSet::from([0, 1])), fine);
    }

    #[test]
    fn a_step_among_a_thousand_commits_is_found_beside_commits_that_do_not_compile() {
        let line = commits(1001);
        let step = 613;
        let skipped: BTreeSet<String> =
            [610, 614].map(|at: usize| line.commits[at].id.clone()).into_iter().collect();
        let (mut blocks, rules) = (Blocks::new(), Rules::default());
        let mut asked = 0;
        let found = loop {
            let found = search(&line, &blocks, &skipped, &rules);
            let Some(ask) = found.answer.next else { break found };
            let id = found.row.versions[ask.version].clone();
            assert!(!skipped.contains(&id));
            let level = if line.place(&id) >= step { 0.1 } else { 0.0 };
            blocks.entry(id).or_default().extend([level - 0.001, level + 0.001, level]);
            asked += 1;
            assert!(asked < 40);
        };
        assert!(found.answer.is_settled && found.answer.steps.len() == 1, "{found:?}");
        let places: Vec<usize> =
            found.answer.steps[0].places.iter().map(|at| line.place(&found.row.versions[at + 1])).collect();
        assert_eq!(places, [step], "after {asked} measurements");
        let measured = blocks.keys().cloned().collect();
        let log = line.git_log(&measured, &skipped, &line.commits[step].id);
        assert!(log.contains(&format!("git bisect good {:040}\n", step - 1)), "{log}");
        let last_bad = log.lines().rfind(|line| line.starts_with("git bisect bad "));
        assert_eq!(last_bad, Some(&*format!("git bisect bad {step:040}")), "git takes the last: {log}");
        assert!(log.contains(&format!("git bisect skip {:040}\n", 610)), "{log}");
    }
}
