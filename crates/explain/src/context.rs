//! What every search for a cause is given: the run, the two arms of one test, and their figures.

use rqps_stats::{Detector, Verdict};
use rqps_store::{Arm, Profile, Recorded, Run, Window};
use rqps_verdicts::RunVerdicts;

use crate::figures::Figures;
use crate::model::{Cause, Certainty, Decomposition, Evidence, Finding, Word};
use crate::quantity::Quantity;

/// One test on one arm, held against base.
pub(crate) struct Context<'a> {
    pub run: &'a Run,
    /// Its verdicts, relative to `base`; none in runs without blocks.
    pub judged: Option<&'a RunVerdicts>,
    pub test: &'a str,
    /// The arm, as numbered in [`Run::arms`].
    pub arm: usize,
    /// What it is compared with.
    pub base: usize,
    /// What was measured of the two in this test.
    pub figures: &'a Figures,
    /// Where the time of an operation goes; none where times are missing.
    pub decomposition: Option<Decomposition>,
}

impl<'a> Context<'a> {
    pub fn candidate(&self) -> &'a Arm {
        &self.run.arms[self.arm]
    }

    pub fn base_arm(&self) -> &'a Arm {
        &self.run.arms[self.base]
    }

    /// Names of the arm and of base.
    pub fn names(&self) -> (&'a str, &'a str) {
        (&self.candidate().name, &self.base_arm().name)
    }

    /// A finding that rests on the change of one figure: as certain, and as weighty, as that is.
    pub fn finding(
        &self,
        word: Word,
        cause: Cause,
        sentence: String,
        found: &Quantity,
        evidence: Vec<Evidence>,
    ) -> Finding {
        let certainty = self.certainty(found);
        Finding { word, cause, sentence, weight: found.clearness(), share: None, certainty, evidence }
    }

    /// How well a quantity's change is known.
    pub fn certainty(&self, found: &Quantity) -> Certainty {
        match found.half_width.is_nan() {
            true => Certainty::SinglePass,
            false => Certainty::Replicated { blocks: found.blocks },
        }
    }

    /// Windows of this test on one arm that count, in the order they were measured. In `isolated` runs only the first
    /// has query plans and a fingerprint.
    pub fn windows(&self, arm: usize) -> Vec<&'a Recorded<Window>> {
        crate::figures::windows_of(self.run, self.test, arm)
    }

    /// The newest profile of this test on one arm.
    pub fn profile(&self, arm: usize) -> Option<&'a Recorded<Profile>> {
        let name = &self.run.arms[arm].name;
        let is_its =
            |profile: &&Recorded<Profile>| profile.action.arm == *name && profile.result.test == self.test;
        self.run.profiles.iter().rev().filter(|profile| profile.valid()).find(is_its)
    }

    /// The verdict of a detector; none in runs without blocks.
    pub fn verdict(&self, detector: Detector) -> Option<&'a Verdict> {
        self.judged.and_then(|judged| judged.verdict(self.test, self.arm, detector))
    }

    /// Whether the two are of one kind of DBMS, so that settings and query plans of one mean something for the other.
    /// MariaDB came from MySQL.
    pub fn of_one_kind(&self) -> bool {
        crate::of_one_kind(&self.base_arm().dbms, &self.candidate().dbms)
    }

    /// Whether a change of rate or cost is shown; in runs without blocks, whether the rate differs by more than 5 %.
    pub fn changed(&self) -> bool {
        match self.judged {
            None => self
                .figures
                .ratio()
                .is_some_and(|ratio| !(crate::RATIO_LOW..=crate::RATIO_HIGH).contains(&ratio)),
            Some(_) => Detector::ALL
                .iter()
                .any(|detector| self.verdict(*detector).is_some_and(|verdict| verdict.class.is_change())),
        }
    }

    /// Whether a change of the rate is shown; in runs without blocks, whether it differs by more than 5 %.
    pub fn is_rate_changed(&self) -> bool {
        match self.judged {
            None => self.changed(),
            Some(_) => self.verdict(Detector::Rate).is_some_and(|verdict| verdict.class.is_change()),
        }
    }

    /// Unit of a figure per operation of this test: `blocks` gives `blocks/query`.
    pub fn per_op(&self, what: &str) -> String {
        format!("{what}/{}", self.operation())
    }

    /// What an operation of this test is called.
    pub fn operation(&self) -> &str {
        self.figures.operation()
    }
}
