//! Verdicts on one arm, one line per test, for the table of verdicts, headlines and the gate's outputs.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use rqps_model::{Group, counted};
use rqps_stats::{Class, Detector, Metric, Tag, Verdict};
use rqps_store::{Recorded, Run, Window};
use rqps_verdicts::{MissedBy, RunVerdicts, VersionRow, judge_run_relative_to, rules_of, version_rows};

use crate::background::Background;
use crate::comparison::{ComparedArm, Comparison, Pair};
use crate::error::Result;
use crate::reading::{is_result, is_unmeasured};
use crate::tables::doubts;
use crate::tables::unpaired::Unpaired;
use crate::words;

/// Ranks of headlines: first what became worse. Ranks below these are regressions of rate, cost and stalls,
/// in the order of detectors.
pub(crate) const MIXED: u8 = 3;
pub(crate) const MORE_OF_A_RESOURCE: u8 = 4;
/// Not ranked: neither worse nor better.
pub(crate) const NOT_RANKED: u8 = 5;
/// From this rank on, improvements, in the same order.
pub(crate) const IMPROVEMENTS: u8 = 6;
pub(crate) const LESS_OF_A_RESOURCE: u8 = 9;

/// A run's verdicts relative to the base of a report.
pub(crate) struct Judged<'a> {
    pub run: &'a Run,
    pub verdicts: RunVerdicts,
    /// Index of base in the run's arms.
    pub base: usize,
    /// See [`Judged::versions`]; most readers do not ask for them.
    versions: OnceCell<Vec<VersionRow>>,
    /// Background writes by arm and step, and by block the slowest of its windows.
    background: BTreeMap<(usize, String), BTreeMap<u32, Background>>,
    /// Arms and steps that start from another state than base, in a sentence.
    unlike: BTreeMap<(usize, String), String>,
    /// The metrics by which costs were judged.
    pub cost_metrics: BTreeSet<Metric>,
}

/// One test of one arm.
#[derive(Clone)]
pub(crate) struct Line<'a> {
    pub test: &'a str,
    pub group: &'a Group,
    /// Position in the plan.
    position: u32,
    pub rate: Option<&'a Verdict>,
    pub cost: Option<&'a Verdict>,
    pub stalls: Option<&'a Verdict>,
    pub resources: Vec<&'a Verdict>,
    /// Those of them that are to be decided, as rate and cost are.
    pub judged_resources: Vec<&'a Verdict>,
    /// An operation in words: `a query`.
    pub operation: &'a str,
    /// Set if there are no verdicts because a target rate of background writes was missed.
    pub missed: Option<Missed>,
}

/// A step in which at least one of two arms missed its target rate of background writes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Missed {
    pub by: MissedBy,
    /// `not ranked: the target rate of background writes was missed: new did 612 of 1000 rows/s, old met it`.
    pub text: String,
}

impl<'a> Judged<'a> {
    /// The verdicts of a run by its own rules; None if it has no blocks.
    pub fn from_run(run: &'a Run, base: usize) -> Result<Option<Self>> {
        if !rqps_verdicts::has_blocks(run) {
            return Ok(None);
        }
        let mut verdicts = judge_run_relative_to(run, &rules_of(run)?, base)?;
        let background = background(run);
        let is_missed = |one: &Verdict| missed_rates(&background, &one.test, (one.arm, base)).is_some();
        verdicts.judgement.verdicts.retain(|one| !is_missed(one));
        let windows = rqps_explain::Windows::new(run);
        let mut unlike = BTreeMap::new();
        for test in &verdicts.experiment.tests {
            for arm in (0..run.arms.len()).filter(|arm| *arm != base) {
                if let Some(sentence) =
                    rqps_explain::unlike_states(&windows, &test.name, base, arm)?.into_iter().next()
                {
                    unlike.insert((arm, test.name.clone()), sentence);
                }
            }
        }
        let cost_metrics = cost_metrics(&verdicts, |_| true);
        Ok(Some(Self { run, verdicts, base, versions: OnceCell::new(), background, unlike, cost_metrics }))
    }

    /// Changes from version to version, where there are three.
    pub fn versions(&self) -> Result<&[VersionRow]> {
        if let Some(rows) = self.versions.get() {
            return Ok(rows);
        }
        let comparable = |test: &str, arms| missed_rates(&self.background, test, arms).is_none();
        let rows = version_rows(self.run, &self.verdicts, &comparable)?;
        Ok(self.versions.get_or_init(|| rows))
    }

    /// Whether any cost was measured.
    pub fn has_costs(&self) -> bool {
        self.verdicts.judgement.verdicts.iter().any(|verdict| verdict.detector == Detector::Cost)
    }

    /// The fewest blocks after which there are verdicts.
    pub fn blocks_min(&self) -> usize {
        self.verdicts.blocks_min()
    }

    /// Whether there are enough blocks for any verdict.
    pub fn has_verdicts(&self) -> bool {
        self.verdicts.blocks_done >= self.blocks_min()
    }

    /// Whether there are enough of them for intervals.
    pub fn has_intervals(&self) -> bool {
        self.verdicts.blocks_done > 1
    }

    /// Whether the test of each of these verdicts, if there are any, was measured on its arm without a valid result.
    pub fn lack_results(&self, verdicts: &[&Verdict]) -> bool {
        // What was measured in a block has a result; looking for those without one takes longer.
        if verdicts.is_empty() || verdicts.iter().any(|one| one.blocks_measured > 0) {
            return false;
        }
        let without = self.run.without_result();
        let lacks = |verdict: &&Verdict| {
            let arm = self.run.arms.get(verdict.arm).map(|arm| arm.name.as_str());
            without.iter().any(|none| none.step == verdict.test && Some(none.arm) == arm)
        };
        !self.run.meta.is_imported() && verdicts.iter().all(lacks)
    }

    /// Remarks on a test of an arm, a sentence each.
    pub fn remarks_on(&self, test: &str, arm: usize) -> Vec<String> {
        let unlike = self.unlike.get(&(arm, test.to_owned()));
        let unlike = unlike.map(|sentence| format!("unlike states: {sentence}"));
        let doubts = [arm, self.base].into_iter().flat_map(|arm| {
            let name = &self.run.arms[arm].name;
            doubts::on(self.run, test, name).into_iter().map(move |text| format!("check {name}: {text}"))
        });
        self.verdicts.remarks_on(test, arm).iter().map(words::remark).chain(unlike).chain(doubts).collect()
    }

    /// Tests of which nobody can pair the arm's repeats with base's.
    pub fn unpaired(&self, arm: usize) -> Vec<Unpaired<'a>> {
        Unpaired::of(self.run, arm, self.base)
    }

    /// How often tests were repeated on each arm of an import, unless all were equally often and are paired:
    /// `3 of new, 12 of old; a verdict takes those that an arm and base both have`.
    pub fn uneven_repeats(&self) -> Option<String> {
        if !self.run.meta.is_imported() {
            return None;
        }
        let arms = self.run.arms.iter().map(|arm| {
            let is_of = |window: &&Recorded<Window>, test: &str| {
                window.action.arm == arm.name && window.action.step == test
            };
            let counts: BTreeSet<usize> = { self.run.steps.iter() }
                .map(|test| self.run.windows.iter().filter(|window| is_of(window, &test.name)).count())
                .filter(|count| *count > 0)
                .collect();
            (arm.name.as_str(), counts)
        });
        let arms: Vec<(&str, BTreeSet<usize>)> = arms.filter(|(_, counts)| !counts.is_empty()).collect();
        let all: BTreeSet<usize> = arms.iter().flat_map(|(_, counts)| counts).copied().collect();
        let of_arm = |(name, counts): &(&str, BTreeSet<usize>)| {
            let least = counts.first().copied().unwrap_or(0);
            match counts.last().copied().filter(|most| *most > least) {
                Some(most) => format!("{least} to {most} of {name}"),
                None => format!("{least} of {name}"),
            }
        };
        let unpaired: Vec<&str> = { self.candidates() }
            .filter(|arm| !self.unpaired(*arm).is_empty())
            .map(|arm| &*self.run.arms[arm].name)
            .collect();
        let rule = match unpaired.is_empty() {
            true => "a verdict takes those that an arm and base both have, by their numbers".to_owned(),
            false => format!("those of {} have no number in common with base's", unpaired.join(", ")),
        };
        (all.len() > 1 || !unpaired.is_empty())
            .then(|| format!("{}; {rule}", arms.iter().map(of_arm).collect::<Vec<_>>().join(", ")))
    }

    /// None if both the arm and base met the test's target rate of background writes.
    pub fn missed(&self, arm: usize, test: &str) -> Option<Missed> {
        let [own, base] = missed_rates(&self.background, test, (arm, self.base))?;
        let part = |arm: usize, missed: Option<MissedRate<'_>>| {
            let rate = missed.map_or_else(|| "met it".to_owned(), |one| one.to_string());
            format!("{} {rate}", self.run.arms[arm].name)
        };
        let by = self.verdicts.missed_by(self.run, test, (arm, self.base))?;
        let text = format!(
            "not ranked: the target rate of background writes was missed: {}, {}",
            part(arm, own),
            part(self.base, base)
        );
        Some(Missed { by, text })
    }

    /// The verdicts of each run. Blocks of different runs are never paired, so a run without the report's
    /// base is compared with its own.
    pub fn all(comparison: &Comparison<'a>) -> Result<Vec<Rc<Self>>> {
        if let Some(judged) = comparison.judged.get() {
            return Ok(judged.clone());
        }
        let mut judged = Vec::new();
        for run in comparison.runs() {
            judged.extend(Self::from_run(run, comparison.base_in(run))?.map(Rc::new));
        }
        Ok(comparison.judged.get_or_init(|| judged).clone())
    }

    /// The arms that verdicts are about: all but base and its control.
    pub fn candidates(&self) -> impl Iterator<Item = usize> + '_ {
        let control = self.verdicts.experiment.control;
        (0..self.run.arms.len()).filter(move |arm| *arm != self.base && Some(*arm) != control)
    }

    /// Those of them that have a place in tables.
    pub fn measured(&self) -> impl Iterator<Item = usize> + '_ {
        self.candidates().filter(|arm| !is_unmeasured(self.run, &self.run.arms[*arm].name))
    }

    /// The metric of costs, where a test names no other: the most precise by which any was judged.
    pub fn cost_metric(&self) -> Metric {
        self.cost_metrics.first().copied().unwrap_or(Metric::CpuUs)
    }

    /// The interval of the verdict on the rate of an arm; `None` if it is on another base, or there is none.
    pub fn on_rate(comparison: &Comparison<'a>, pair: &Pair<'_>, test: &str) -> Option<(f64, f64)> {
        let all = Self::all(comparison).ok()?;
        let judged = all.iter().find(|one| std::ptr::eq(&one.run.arms[one.base], pair.base.arm))?;
        let arm = judged.run.arms.iter().position(|arm| std::ptr::eq(arm, pair.arm.arm))?;
        let verdict = judged.verdicts.verdict(test, arm, Detector::Rate)?;
        Some((verdict.low, verdict.high)).filter(|(low, _)| !low.is_nan())
    }

    /// What compares all arms in a test, and its label: one metric. Where some arms' costs were judged by instructions
    /// and others' by CPU time, it is the CPU time of all.
    pub fn across_arms(&self, test: &str, detector: Detector) -> (Detector, String) {
        if detector != Detector::Cost || self.cost_metrics.len() < 2 {
            return (detector, test.to_owned());
        }
        let metrics = cost_metrics(&self.verdicts, |one| one.test == test);
        if !metrics.contains(&Metric::CpuUs) {
            return (detector, test.to_owned());
        }
        let shown = if metrics.len() > 1 { Detector::Cpu } else { detector };
        (shown, format!("{test} ({})", Metric::CpuUs.measure().label))
    }

    /// The verdict on an arm in what [`Judged::across_arms`] compares: where CPU time is the arm's cost, it has no
    /// verdict of its own.
    pub fn verdict_across_arms(&self, test: &str, arm: usize, shown: Detector) -> Option<&Verdict> {
        let of = |detector| self.verdicts.verdict(test, arm, detector);
        let as_cost = || of(Detector::Cost).filter(|one| one.metric.measure().detector == shown);
        of(shown).or_else(as_cost)
    }

    /// The verdicts on all measured arms.
    pub fn all_lines(&self) -> Vec<Line<'_>> {
        self.measured().flat_map(|arm| self.lines(arm, |_| true)).collect()
    }

    /// An arm's verdicts, one line per shown test, in the order of tables.
    pub fn lines(&self, arm: usize, is_shown: impl Fn(&str) -> bool) -> Vec<Line<'_>> {
        let mut lines: Vec<Line<'_>> = Vec::new();
        for test in self.verdicts.experiment.tests.iter().filter(|test| is_shown(&test.name)) {
            let Some(step) = self.run.step(&test.name) else { continue };
            let Some(group) = &step.group else { continue };
            let verdict = |detector| self.verdicts.verdict(&test.name, arm, detector);
            let line = Line {
                test: &test.name,
                group,
                position: step.position,
                rate: verdict(Detector::Rate),
                cost: verdict(Detector::Cost),
                stalls: verdict(Detector::Stalls),
                resources: Detector::resources().filter_map(verdict).collect(),
                // Where nobody judges rates, CPU time is what a gate fails on beside the cost.
                judged_resources: { verdict(Detector::Cpu).into_iter() }
                    .filter(|_| !self.verdicts.rules.rates)
                    .collect(),
                operation: self
                    .run
                    .windows
                    .iter()
                    .find(|window| window.action.step == test.name)
                    .map_or("an operation", |window| &window.result.unit.one),
                missed: self.missed(arm, &test.name),
            };
            if line.rate.is_some() || line.cost.is_some() || line.missed.is_some() {
                lines.push(line);
            }
        }
        lines.sort_by(|a, b| a.group.order(a.test, a.position).cmp(&b.group.order(b.test, b.position)));
        lines
    }

    /// How much more measuring an inconclusive verdict needs: `12 more blocks`. How long all of them take together
    /// is said once, of the run.
    pub fn remaining(&self, verdict: &Verdict) -> Option<String> {
        let is_followed = |more: &usize| {
            !RunVerdicts::has_one_ratio(verdict)
                && !self.verdicts.keeps_being_invalid(verdict)
                && self.verdicts.allows(&verdict.test, *more)
        };
        let blocks = RunVerdicts::blocks_to_resolve(verdict).filter(is_followed)?;
        // Before the first verdict the plan needs more passes, whatever these few say of how many.
        if self.run.meta.protocol == "sequence" && verdict.blocks < self.blocks_min() {
            return Some("too few blocks".to_owned());
        }
        let noun = self.sample();
        let more = counted(blocks, noun).replacen(' ', " more ", 1);
        // Those since the last look are not in the verdict.
        Some(match verdict.blocks_measured > verdict.blocks {
            true => format!("{more} than the {} measured", verdict.blocks_measured),
            false => more,
        })
    }

    /// What a replicate is: of a sequence a pass.
    pub fn sample(&self) -> &'static str {
        match &*self.run.meta.protocol {
            rqps_store::IMPORTED => "repeat",
            "sequence" => "pass",
            _ => "block",
        }
    }

    /// Several of them.
    pub fn samples(&self) -> &'static str {
        match self.sample() {
            "repeat" => "repeats",
            "pass" => "passes",
            _ => "blocks",
        }
    }

    /// The arm's label in tables.
    pub fn label(&self, comparison: &Comparison<'_>, arm: usize) -> String {
        let arm = &self.run.arms[arm];
        comparison.find(arm).map_or_else(|| arm.variant(), ComparedArm::label)
    }
}

/// The metrics by which the costs of some verdicts were judged.
fn cost_metrics(verdicts: &RunVerdicts, is_asked: impl Fn(&Verdict) -> bool) -> BTreeSet<Metric> {
    let asked = |one: &&Verdict| one.detector == Detector::Cost && is_asked(one);
    verdicts.on_candidates().filter(asked).map(|one| one.metric).collect()
}

/// Lines with a change, each with its rank, the worst first.
pub(crate) fn changed<'a, 'l>(lines: &'a [Line<'l>]) -> Vec<((u8, f64), &'a Line<'l>)> {
    let mut changed: Vec<_> = lines.iter().filter_map(|line| Some((line.rank()?, line))).collect();
    changed.sort_by(|((a, a_size), _), ((b, b_size), _)| a.cmp(b).then(a_size.total_cmp(b_size)));
    changed
}

/// Background writes in valid blocks.
fn background(run: &Run) -> BTreeMap<(usize, String), BTreeMap<u32, Background>> {
    let mut all: BTreeMap<(usize, String), BTreeMap<u32, Background>> = BTreeMap::new();
    for window in run.windows.iter().filter(|window| is_result(run, window)) {
        let Some(arm) = run.arms.iter().position(|arm| arm.name == window.action.arm) else { continue };
        let Some((at, background)) = window.placement.zip(Background::from_window(window)) else { continue };
        let of_step = all.entry((arm, window.action.step.clone())).or_default();
        let slowest = of_step.entry(at.block).or_insert(background);
        if background.per_s < slowest.per_s {
            *slowest = background;
        }
    }
    all
}

/// How an arm missed a target rate.
#[derive(Clone, Copy)]
struct MissedRate<'b> {
    lowest: &'b Background,
    /// Blocks in which it did, of those that both arms have.
    blocks: usize,
    of: usize,
}

impl fmt::Display for MissedRate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "did {}", self.lowest.as_text())?;
        if self.blocks < self.of { write!(f, " in {} of {} blocks", self.blocks, self.of) } else { Ok(()) }
    }
}

/// How an arm and base missed the target rate of a test in blocks that both have; `None` if both always met it. Their
/// other rates are not comparable, because the background load differed.
fn missed_rates<'b>(
    all: &'b BTreeMap<(usize, String), BTreeMap<u32, Background>>,
    test: &str,
    (arm, base): (usize, usize),
) -> Option<[Option<MissedRate<'b>>; 2]> {
    let of = |arm: usize| all.get(&(arm, test.to_owned()));
    let (own, of_base) = of(arm).zip(of(base))?;
    let missed = |one: &'b BTreeMap<u32, Background>, other: &BTreeMap<u32, Background>| {
        let common: Vec<_> =
            one.iter().filter(|(block, _)| other.contains_key(block)).map(|(_, rate)| rate).collect();
        let missed = || common.iter().filter(|rate| !rate.kept);
        let lowest = missed().min_by(|a, b| a.per_s.total_cmp(&b.per_s))?;
        Some(MissedRate { lowest, blocks: missed().count(), of: common.len() })
    };
    let found = [missed(own, of_base), missed(of_base, own)];
    found.iter().any(Option::is_some).then_some(found)
}

impl<'a> Line<'a> {
    /// Without the rate if it is not judged, nor stalls, which are of the same windows, unless they changed, and with
    /// these resources judged.
    pub fn judging(self, judges: impl Fn(&Verdict) -> bool) -> Self {
        let rate = self.rate.filter(|rate| judges(rate) || rate.class.is_change());
        let stalls = self.stalls.filter(|stalls| rate.is_some() || stalls.class.is_change());
        let judged = self.resources.iter().copied().filter(|one| judges(one)).collect();
        Self { rate, stalls, judged_resources: judged, ..self }
    }
}

impl Line<'_> {
    /// The verdicts on rate and cost.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.rate.into_iter().chain(self.cost)
    }

    /// The verdict on rate or cost.
    pub fn of(&self, detector: Detector) -> Option<&Verdict> {
        self.verdicts().find(|verdict| verdict.detector == detector)
    }

    /// The verdicts that a run is measured for.
    pub fn judged(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts().chain(self.judged_resources.iter().copied())
    }

    /// Those of them by which a change is likely but not established.
    pub fn likely(&self) -> impl Iterator<Item = &Verdict> {
        self.judged().filter(|verdict| verdict.is_likely())
    }

    /// The verdict on stalls, if they changed.
    pub fn changed_stalls(&self) -> Option<&Verdict> {
        self.stalls.filter(|verdict| verdict.class.is_change())
    }

    /// All verdicts, the rate's first.
    pub fn all(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts().chain(self.stalls).chain(self.resources.iter().copied())
    }

    /// The verdicts on resources that changed.
    pub fn changed_resources(&self) -> impl Iterator<Item = &Verdict> {
        self.resources.iter().copied().filter(|verdict| verdict.class.is_change())
    }

    /// Those by which a change of a resource is likely but not established.
    pub fn likely_resources(&self) -> impl Iterator<Item = &Verdict> {
        self.resources.iter().copied().filter(|verdict| verdict.is_likely())
    }

    /// The line's order among headlines: worse before better, then rate, cost, stalls, resources, then the
    /// largest change first. Rows and blocks touched make no headline. None: nothing changed.
    /// What is not ranked comes between worse and better.
    pub fn rank(&self) -> Option<(u8, f64)> {
        if self.missed.is_some() {
            return Some((NOT_RANKED, 0.0));
        }
        self.headline().map(|(rank, verdict)| (rank, -verdict.ratio.ln().abs()))
    }

    /// The verdict that the line is listed for.
    fn headline(&self) -> Option<(u8, &Verdict)> {
        let rank = |verdict: &Verdict| match (verdict.class.is_regression(), verdict.detector) {
            _ if verdict.is_mixed() => MIXED,
            (true, resource) if resource.is_resource() => MORE_OF_A_RESOURCE,
            (false, resource) if resource.is_resource() => LESS_OF_A_RESOURCE,
            (true, headline) => headline as u8,
            (false, headline) => IMPROVEMENTS + headline as u8,
        };
        self.all()
            .filter(|one| one.class.is_change() && (!one.detector.is_resource() || one.detector.weighs()))
            .map(|verdict| (rank(verdict), verdict))
            .min_by_key(|(rank, _)| *rank)
    }

    /// The verdict that shows how rate or else cost changed, if one does.
    pub fn shown(&self) -> Option<&Verdict> {
        self.verdicts().find(|one| one.class.is_change())
    }

    /// How rate and cost changed: `33 % faster, 1.4 % more instructions`. None if neither is known to.
    pub fn changes_in_short(&self) -> Option<String> {
        let changes: Vec<String> =
            self.verdicts().filter(|one| one.class.is_change()).map(words::change_in_short).collect();
        (!changes.is_empty()).then(|| changes.join(", "))
    }

    /// `hot-points: 3.1 % slower (2.4 to 3.9 %), 5 blocks; a query executes 4.0 % more instructions`.
    pub fn sentence(&self, judged: &Judged<'_>) -> String {
        if let Some(missed) = &self.missed {
            return format!("{}: {}", self.test, missed.text);
        }
        let mut verdicts: Vec<&Verdict> =
            self.verdicts().chain(self.changed_stalls()).chain(self.changed_resources()).collect();
        if let Some((_, headline)) = self.headline() {
            verdicts.sort_by_key(|verdict| !std::ptr::eq(*verdict, headline));
        }
        let mut parts: Vec<String> = verdicts.into_iter().map(|verdict| self.part(verdict, judged)).collect();
        if self.cost.is_some_and(|cost| cost.class.is_change()) {
            parts.extend(self.not_covered());
        }
        format!("{}: {}", self.test, parts.join("; "))
    }

    /// Set if the cost is the same but the CPU time, without a verdict of its own here, is not shown to be; or if the
    /// cost changed and the CPU time seems to have changed in the other direction.
    pub fn not_covered(&self) -> Option<String> {
        let cpu = self.resources.iter().find(|one| one.detector == Detector::Cpu)?;
        if self.judged_resources.iter().any(|one| one.detector == Detector::Cpu) {
            return None;
        }
        let cost = self.cost?;
        let is_covered = match cost.class {
            Class::Same => cpu.class == Class::Same,
            class if class.is_change() => {
                cpu.class.is_change() || if class.is_regression() { cpu.high >= 1.0 } else { cpu.low <= 1.0 }
            }
            _ => true,
        };
        let state = if cpu.class.is_change() { "changed" } else { "is inconclusive" };
        let change = words::signed_change(cpu).filter(|_| !is_covered)?;
        Some(format!("its CPU time {state}: {change}"))
    }

    /// One verdict in words.
    pub fn part(&self, verdict: &Verdict, judged: &Judged<'_>) -> String {
        let (operation, blocks) = (self.operation, verdict.blocks);
        let mei = words::what_matters(verdict);
        let name = verdict.metric.measure().label;
        let is = if verdict.metric.measure().is_plural { "are" } else { "is" };
        match (verdict.class, verdict.detector) {
            (Class::Same, Detector::Rate) => format!("its rate is the same within {mei}"),
            (Class::Same, Detector::Stalls) => format!("stalls take the same time within {mei}"),
            (Class::Same, _) => {
                let not_covered = if verdict.detector == Detector::Cost { self.not_covered() } else { None };
                let not_covered = not_covered.map(|text| format!("; {text}")).unwrap_or_default();
                format!("its {name} {is} the same within {mei}{not_covered}")
            }
            (Class::Inconclusive, Detector::Stalls) if verdict.tags.contains(&Tag::TooShort) => {
                "not measured long enough to rule out stalls".to_owned()
            }
            (Class::Inconclusive, Detector::Stalls) => "its stalls are inconclusive".to_owned(),
            (Class::Inconclusive, detector) => {
                let what = match detector {
                    Detector::Rate => "its rate is".to_owned(),
                    Detector::Cost => format!("its cost ({name}) is"),
                    _ => format!("its {name} {is}"),
                };
                match judged.remaining(verdict) {
                    Some(remaining) => format!("{what} inconclusive ({remaining})"),
                    None if verdict.tags.contains(&Tag::BeyondLooks) => {
                        let why = if verdict.looks_reached == 0 { "too few blocks" } else { "too noisy" };
                        format!("{what} inconclusive ({why})")
                    }
                    None if verdict.looks_reached == 0 && verdict.ratio.is_finite() => {
                        let (at, after) = (words::times_base(verdict), counted(blocks, judged.sample()));
                        format!("{what} at {at} after {after}, without a verdict yet")
                    }
                    None => format!("{what} inconclusive"),
                }
            }
            (_, Detector::Rate | Detector::Stalls) => {
                format!("{}, {}", words::change(verdict), counted(blocks, judged.sample()))
            }
            _ => format!("{operation} {}", words::change(verdict)),
        }
    }
}
