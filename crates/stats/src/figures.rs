//! Judges one metric of one arm in one test: from its blocks to its class and figures.

use crate::ceiling;
use crate::direction::Direction;
use crate::exact::{self, Exact};
use crate::experiment::TestData;
use crate::looks::{Data, Estimate, Kind, Question, Shown, blocks_until_significant, predict, walk};
use crate::pairs::{Pairs, Scale, Votes, base_mean};
use crate::prior::Spread;
use crate::rules::{Rules, stall_seconds_min};
use crate::shape;
use crate::signs;
use crate::verdict::{COMMON_CONFIDENCE, Class, Tag, Verdict};
use rqps_model::sample::mean;
use rqps_model::{Detector, Events, Metric};

/// If windows of equal arms differ as much with less than this probability, further blocks are worth
/// measuring.
const REASON_P: f64 = 0.01;

/// One metric's data, with prior knowledge of its noise.
pub(crate) struct Case<'a> {
    pub(crate) test: &'a TestData,
    pub(crate) arm: usize,
    pub(crate) is_control: bool,
    pub(crate) detector: Detector,
    pub(crate) metric: Metric,
    pub(crate) pairs: &'a Pairs,
    pub(crate) control: Option<&'a Pairs>,
    pub(crate) spreads: Vec<Spread>,
    pub(crate) rules: &'a Rules,
}

impl Case<'_> {
    /// The minimum effect of interest, as a share: at least the metric's minimum difference per operation; and whether
    /// it is that.
    fn mei(&self) -> (f64, bool) {
        let mei = self.rules.mei(&self.test.name, self.metric);
        let base_mean = |count: usize| {
            let known = &self.pairs.0[..count.min(self.pairs.len())];
            Some(base_mean(known)).filter(|mean| *mean > 0.0)
        };
        // Uses the blocks of the first look, so that further blocks do not change it.
        let base = base_mean(self.rules.looks[0].blocks).or_else(|| base_mean(usize::MAX));
        let per_op = base.map(|base| self.metric.measure().per_op_min / base).filter(|per_op| *per_op > mei);
        (per_op.unwrap_or(mei), per_op.is_some())
    }

    fn is_rare(&self) -> bool {
        self.metric.measure().events == Events::Rare
    }

    fn data(&self) -> Data<'_> {
        Data { pairs: self.pairs, control: self.control, spreads: &self.spreads }
    }

    /// All figures except the interval and what depends on the report's other verdicts.
    pub(crate) fn judge(&self) -> Verdict {
        let mut verdict = self.blank();
        let votes = self.is_rare().then(|| self.pairs.votes());
        let question = self.question(verdict.mei, votes.as_deref());
        let shown = walk(&self.data(), &question);
        verdict.p_seq = shown.p_seq.min(1.0);
        verdict.class = class_of(self.metric, &shown);
        if shown.disagree {
            verdict.tags.push(Tag::LaterBlocksDisagree);
        }
        if verdict.class == Class::Same && shown.shift.is_some() {
            verdict.tags.push(Tag::TinyShift);
        }
        let few_blocks = shown.few_blocks.filter(|_| !verdict.class.is_decided());
        if few_blocks.is_some() {
            verdict.tags.extend([Tag::Likely, Tag::FewBlocks]);
        }
        if let Some(exact) = self.exact_now(&question) {
            self.describe_exactly(exact, &question, &mut verdict);
            return verdict;
        }
        let scale = self.pairs.scale(self.pairs.len());
        if scale == Scale::Linear && self.pairs.len() > 0 {
            verdict.tags.push(Tag::Zeros);
        }
        let contrasts =
            self.pairs.contrasts(scale, self.pairs.len()).filter(|contrasts| !contrasts.is_empty());
        let Some(contrasts) = contrasts else {
            self.describe_without_ratio(&mut verdict);
            return verdict;
        };
        self.describe(&contrasts, scale, &question, &mut verdict);
        if let Some(direction) = few_blocks {
            verdict.blocks_to_resolve = blocks_until_significant(&self.data(), direction, &question);
        }
        if let Kind::Rare(_) = question.kind {
            verdict.tags.retain(|tag| !matches!(tag, Tag::TinyShift | Tag::LaterBlocksDisagree));
            self.require_measured_time(&mut verdict);
            return verdict;
        }
        let tags = [
            (Tag::OutlierBlock, shape::has_outlier(&contrasts)),
            (Tag::Bimodal, shape::is_bimodal(&contrasts)),
        ];
        verdict.tags.extend(tags.into_iter().filter(|(_, holds)| *holds).map(|(tag, _)| tag));
        verdict
    }

    /// The result of an exact comparison at the last look.
    fn exact_now(&self, question: &Question) -> Option<Exact> {
        let reached = self.rules.looks_reached(self.pairs.len()).checked_sub(1)?;
        self.data().exact(self.rules.looks[reached].blocks, question)
    }

    /// Without a change, a verdict on stalls needs a minimum time of measurement. The shape of the blocks is
    /// no criterion: a block with a stall is far from one without.
    fn require_measured_time(&self, verdict: &mut Verdict) {
        let is_short = self.pairs.seconds() < stall_seconds_min(verdict.mei);
        if is_short && !verdict.class.is_change() {
            verdict.class = Class::Inconclusive;
            verdict.tags.push(Tag::TooShort);
        }
    }

    /// Sets the interval that misses the ratio with probability `error` over all looks, and the common one.
    pub(crate) fn set_intervals(&self, verdict: &mut Verdict, error: f64) {
        if verdict.tags.contains(&Tag::Exact) {
            verdict.common = (verdict.low, verdict.high);
            return;
        }
        verdict.confidence = 1.0 - error;
        if let Some(interval) = self.interval(verdict.blocks, error) {
            (verdict.low, verdict.high) = interval;
        }
        let common = self.interval(verdict.blocks, 1.0 - COMMON_CONFIDENCE);
        verdict.common = common.unwrap_or((verdict.low, verdict.high));
    }

    /// The interval of the first `blocks` that misses the ratio with probability `error` over all looks, if known.
    fn interval(&self, blocks: usize, error: f64) -> Option<(f64, f64)> {
        let scale = self.pairs.scale(self.pairs.len());
        let contrasts = self.pairs.contrasts(scale, blocks).filter(|some| !some.is_empty())?;
        let (place, spread) = self.last_look();
        let estimate = Estimate::of(&contrasts, spread, ceiling::holds(scale, self.is_rare()));
        let half_width = estimate.half_width(error * self.rules.looks[place].spend / 2.0);
        // Blocks that are all equal do not prove that there is no noise.
        let is_known = half_width.is_finite() && estimate.variance != 0.0;
        is_known.then(|| (scale.ratio(estimate.mean - half_width), scale.ratio(estimate.mean + half_width)))
    }

    fn question<'a>(&'a self, mei: f64, votes: Option<&'a [Votes]>) -> Question<'a> {
        let kind = match votes {
            Some(votes) => Kind::Rare(votes),
            None if self.metric.measure().events == Events::Counted => Kind::Counter,
            None => Kind::Continuous,
        };
        Question {
            looks: &self.rules.looks,
            at_once: self.rules.at_once,
            alpha: self.rules.alpha,
            tost_alpha: self.rules.tost_alpha,
            mei,
            min_difference: self.metric.measure().per_op_min,
            kind,
        }
    }

    /// Index of the last look reached, or of the first, with its spread.
    fn last_look(&self) -> (usize, &Spread) {
        let place = self.rules.looks_reached(self.pairs.len()).saturating_sub(1);
        (place, &self.spreads[place])
    }

    fn blank(&self) -> Verdict {
        let looks_reached = self.rules.looks_reached(self.pairs.len());
        let (mei, mei_is_per_op) = self.mei();
        let at_look = looks_reached.checked_sub(1).map(|place| self.rules.looks[place].blocks);
        Verdict {
            test: self.test.name.clone(),
            group: self.test.group.clone(),
            arm: self.arm,
            is_control: self.is_control,
            detector: self.detector,
            metric: self.metric,
            class: Class::Inconclusive,
            opposed_by: Vec::new(),
            ratio: f64::NAN,
            low: f64::NAN,
            high: f64::NAN,
            confidence: f64::NAN,
            common: (f64::NAN, f64::NAN),
            huber_ratio: f64::NAN,
            blocks: at_look.unwrap_or(self.pairs.len()),
            blocks_measured: self.pairs.len(),
            looks_reached,
            p_seq: 1.0,
            q_value: 1.0,
            block_sd: f64::NAN,
            moderated_sd: f64::NAN,
            df: 0.0,
            mde80: f64::INFINITY,
            mei,
            mei_is_per_op,
            blocks_to_resolve: None,
            tags: Vec::new(),
        }
    }

    fn describe(&self, contrasts: &[f64], scale: Scale, question: &Question, verdict: &mut Verdict) {
        let (place, spread) = self.last_look();
        let used = &contrasts[..verdict.blocks];
        let now = Estimate::of(used, spread, ceiling::holds(scale, self.is_rare()));
        verdict.ratio = scale.ratio(now.mean);
        verdict.huber_ratio = scale.ratio(shape::huber(used));
        verdict.block_sd = now.variance.sqrt();
        verdict.moderated_sd = now.moderated.sqrt();
        verdict.df = now.df;
        if let Kind::Rare(votes) = question.kind {
            if !verdict.class.is_decided() {
                verdict.blocks_to_resolve =
                    self.blocks_to_next_look(&now, &votes[..verdict.blocks], question);
            }
            return;
        }
        // The change that is detected in four of five cases: the error of its own test plus a power of 80 %.
        let size =
            now.half_width(self.rules.alpha * self.rules.looks[place].spend / 2.0) + now.half_width(0.2);
        if size.is_finite() {
            verdict.mde80 = scale.worse_by(size, self.metric);
        }
        if !verdict.class.is_decided()
            && let Some((blocks, suffices)) = predict(&now, spread, scale, question)
        {
            // Blocks after the last look reached are already measured.
            verdict.blocks_to_resolve =
                Some((verdict.blocks + blocks).saturating_sub(contrasts.len()).max(1));
            if !suffices {
                verdict.tags.push(Tag::BeyondLooks);
            }
        }
    }

    /// Blocks until the next look, if windows suggest a change in rare events. How many blocks would show it
    /// cannot be predicted from few.
    fn blocks_to_next_look(&self, now: &Estimate, votes: &[Votes], question: &Question) -> Option<usize> {
        let (low, high) = question.band(Scale::Log);
        let is_small = (low..=high).contains(&now.mean);
        if is_small || signs::two_sided(votes, Direction::of(now.mean)) > REASON_P {
            return None;
        }
        let next = self.rules.looks.iter().find(|look| look.blocks > self.pairs.len())?;
        Some(next.blocks - self.pairs.len())
    }

    fn describe_exactly(&self, exact: Exact, question: &Question, verdict: &mut Verdict) {
        let pairs = &self.pairs.0[..verdict.blocks];
        let base_mean = base_mean(pairs);
        let arm_mean = mean(&pairs.iter().map(|pair| pair.arm).collect::<Vec<f64>>());
        verdict.ratio = match self.pairs.contrasts(Scale::Log, verdict.blocks) {
            Some(ln) => mean(&ln).exp(),
            None if base_mean == arm_mean => 1.0,
            None => arm_mean / base_mean,
        };
        (verdict.low, verdict.high) = exact::range(pairs);
        // But for rounding it lies within.
        verdict.ratio = verdict.ratio.max(verdict.low).min(verdict.high);
        verdict.huber_ratio = verdict.ratio;
        (verdict.block_sd, verdict.moderated_sd) = (0.0, 0.0);
        verdict.tags.push(Tag::Exact);
        if base_mean == 0.0 && arm_mean > 0.0 {
            verdict.tags.push(Tag::FromZero);
        }
        // Even an exact counter proves no more than its number of blocks allows.
        let direction = match exact {
            Exact::Equal | Exact::Tiny(Direction::Up) | Exact::Beyond(Direction::Up) => Direction::Up,
            Exact::Tiny(Direction::Down) | Exact::Beyond(Direction::Down) => Direction::Down,
        };
        let chance = exact::chance_of_all(self.pairs, self.control, verdict.blocks);
        verdict.confidence = 1.0 - chance;
        if chance <= self.rules.alpha * self.rules.looks[self.last_look().0].spend {
            verdict.mde80 = 0.0;
        }
        if !verdict.class.is_decided() {
            verdict.blocks_to_resolve = blocks_until_significant(&self.data(), direction, question);
        }
    }

    fn describe_without_ratio(&self, verdict: &mut Verdict) {
        if self.pairs.len() == 0 {
            return;
        }
        let is_nonzero = self.pairs.0.iter().any(|pair| pair.arm > 0.0);
        verdict.ratio = if is_nonzero { f64::INFINITY } else { 1.0 };
        verdict.huber_ratio = verdict.ratio;
        if is_nonzero {
            verdict.tags.push(Tag::FromZero);
        }
    }
}

fn class_of(metric: Metric, shown: &Shown) -> Class {
    match shown.shift {
        Some(direction) if shown.beyond => change(metric, direction, true),
        _ if shown.within => Class::Same,
        Some(direction) => change(metric, direction, false),
        None => Class::Inconclusive,
    }
}

fn change(metric: Metric, direction: Direction, proven: bool) -> Class {
    if direction.is_worse(metric) { Class::Regression { proven } } else { Class::Improvement { proven } }
}
