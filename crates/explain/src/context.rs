//! The input of every search for a cause: the run, the two arms of one test, and their figures.

use rqps_stats::{Class, Detector, Metric, Verdict};
use rqps_store::{Arm, Profile, Recorded, Run, Window};
use rqps_verdicts::RunVerdicts;

use crate::figures::{Figures, Windows};
use crate::model::{Cause, Certainty, Decomposition, Evidence, Finding, Word};
use crate::quantity::Quantity;
use crate::words;

/// One test on one arm, compared with base.
pub(crate) struct Context<'a> {
    pub run: &'a Run,
    pub windows: &'a Windows<'a>,
    /// Verdicts relative to `base`; `None` in runs without blocks.
    pub judged: Option<&'a RunVerdicts>,
    pub test: &'a str,
    /// Index into [`Run::arms`].
    pub arm: usize,
    /// Index of the arm that it is compared with.
    pub base: usize,
    /// Index of base measured again; `None` if the plan has none or it is what is compared.
    pub control: Option<usize>,
    /// Measurements of this test on both arms.
    pub figures: &'a Figures,
    /// Where the time of an operation goes; `None` if times are missing.
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

    /// A finding that rests on the change of one figure, with that figure's certainty and weight.
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

    /// Whether the arm executes significantly more or fewer instructions, which a busy host does not cause.
    pub fn is_other_work(&self) -> bool {
        let cost = self.verdict(Detector::Cost);
        cost.is_some_and(|cost| cost.metric == Metric::Instructions && cost.class.is_change())
    }

    /// How certain a quantity's change is.
    pub fn certainty(&self, found: &Quantity) -> Certainty {
        match found.half_width.is_nan() {
            true => Certainty::SinglePass,
            false => Certainty::Replicated { blocks: found.blocks },
        }
    }

    /// Valid windows of this test on one arm, in the order they were measured. In `isolated` runs only the
    /// first has query plans and a fingerprint.
    pub fn windows(&self, arm: usize) -> &'a [&'a Recorded<Window>] {
        self.windows.of(self.test, arm)
    }

    /// The newest valid profile of this test on one arm.
    pub fn profile(&self, arm: usize) -> Option<&'a Recorded<Profile>> {
        let name = &self.run.arms[arm].name;
        let matches =
            |profile: &&Recorded<Profile>| profile.action.arm == *name && profile.result.test == self.test;
        self.run.profiles.iter().rev().filter(|profile| profile.valid()).find(matches)
    }

    /// The verdict of a detector; `None` in runs without blocks.
    pub fn verdict(&self, detector: Detector) -> Option<&'a Verdict> {
        self.judged.and_then(|judged| judged.verdict(self.test, self.arm, detector))
    }

    /// Whether a verdict on this metric shows a change; it holds over all looks and all tests, which the interval of
    /// a single figure does not. `None` without a verdict.
    pub fn is_shown(&self, metric: Metric) -> Option<bool> {
        self.verdicts_of(metric).map(|verdict| verdict.class.is_change()).reduce(|one, other| one || other)
    }

    /// Whether a verdict shows that the arm has more of this metric, which is no rate; `None` if none shows a change.
    pub fn shown_rise(&self, metric: Metric) -> Option<bool> {
        let shown = self.verdicts_of(metric).find(|verdict| verdict.class.is_change())?;
        Some(shown.class.is_regression())
    }

    /// The verdict by which a change of this metric is likely and not established, in the direction of this figure.
    pub fn likely(&self, metric: Metric, rose: bool) -> Option<&'a Verdict> {
        self.verdicts_of(metric).find(|verdict| verdict.is_likely() && (verdict.ratio > 1.0) == rose)
    }

    /// Whether an operation got more expensive, by its rate or else its cost, as far as a verdict finds that likely.
    pub fn likely_got_more_expensive(&self) -> Option<bool> {
        let mut likely = [Detector::Rate, Detector::Cost].into_iter().filter_map(|one| self.verdict(one));
        let verdict = likely.find(|verdict| verdict.is_likely())?;
        Some((verdict.ratio < 1.0) == (verdict.detector == Detector::Rate))
    }

    /// CPU time of the whole server, if a verdict shows that it changed, or finds that likely, and none that the rate
    /// did, or the cost the other way.
    pub fn changed_cpu(&self) -> Option<Quantity> {
        self.judged.filter(|_| !self.is_rate_changed())?;
        let found = self.figures.per_op("server_cpu_us")?;
        let is_shown = self.is_shown(Metric::CpuUs) == Some(true);
        let is_told = is_shown || self.likely(Metric::CpuUs, found.rose()).is_some();
        let agrees = self.costs_more().is_none_or(|costs_more| costs_more == found.rose());
        (is_told && agrees).then_some(found)
    }

    /// Whether a verdict says that this metric is the same.
    pub fn is_same(&self, metric: Metric) -> bool {
        self.verdicts_of(metric).any(|verdict| verdict.class == Class::Same)
    }

    /// The cost is judged by one of several metrics.
    fn verdicts_of(&self, metric: Metric) -> impl Iterator<Item = &'a Verdict> {
        let detectors = [Detector::Cost, metric.measure().detector].into_iter();
        let verdicts = detectors.filter_map(|detector| self.verdict(detector));
        verdicts.filter(move |verdict| verdict.metric == metric)
    }

    /// The arm's figure relative to base's, of what verdicts call this metric. One that shows a change, or finds one
    /// likely, has told its ratio, a mean of ratios: a quotient of means would be a second figure for one thing.
    pub fn than(&self, metric: Metric, found: &Quantity) -> String {
        let base = self.names().1;
        match self.is_shown(metric) == Some(true) || self.likely(metric, found.rose()).is_some() {
            true => words::against(found, base),
            false if metric.measure().is_countable => words::than_many(found, base),
            false => words::than(found, base),
        }
    }

    /// Whether settings and query plans of the two DBMSs are comparable. MariaDB is a fork of MySQL.
    pub fn of_one_kind(&self) -> bool {
        crate::of_one_kind(&self.base_arm().dbms, &self.candidate().dbms)
    }

    /// Whether a verdict shows a significant change; in runs without blocks, whether the rate differs by more than
    /// 5 %.
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

    /// Whether a verdict shows that an operation costs more on the arm, or else uses more CPU time or another resource;
    /// `None` if none shows a change.
    pub fn costs_more(&self) -> Option<bool> {
        let detectors = [Detector::Cost, Detector::Cpu].into_iter().chain(Detector::ALL);
        let mut verdicts = detectors.filter(|one| *one != Detector::Rate).filter_map(|one| self.verdict(one));
        let shown = verdicts.find(|verdict| verdict.class.is_change())?;
        Some(shown.class.is_regression())
    }

    /// Whether the rate changed; in runs without blocks, whether it differs by more than 5 %.
    pub fn is_rate_changed(&self) -> bool {
        match self.judged {
            None => self.changed(),
            Some(_) => self.verdict(Detector::Rate).is_some_and(|verdict| verdict.class.is_change()),
        }
    }

    /// Whether a verdict shows that an operation costs more or less, and none that the rate changed: waiting accounts
    /// for none of that.
    pub fn is_cost_alone(&self) -> bool {
        let mut costs = [Detector::Cost, Detector::Cpu].into_iter().filter_map(|one| self.verdict(one));
        costs.any(|verdict| verdict.class.is_change()) && !self.is_rate_changed()
    }

    /// Whether the test can start from the same data each time, as blocks and CPU profiles require.
    pub fn has_independent_tests(&self) -> bool {
        let group = self.run.step(self.test).and_then(|step| step.group.as_ref());
        self.candidate().terms().has_independent_tests && group.is_none_or(|group| !group.consecutive)
    }

    /// The unit per operation of this test: `blocks` gives `blocks/query`.
    pub fn per_op(&self, what: &str) -> String {
        format!("{what}/{}", self.operation())
    }

    /// What this test counts as an operation.
    pub fn operation(&self) -> &str {
        self.figures.operation()
    }
}
