//! One metric of one arm in one test: from its blocks to its class and figures.

use crate::exact::{self, Exact};
use crate::looks::{Estimate, Question, Shown, predict, walk};
use crate::metric::{Direction, Metric};
use crate::pairs::{Pairs, Scale, Votes, mean};
use crate::prior::Spread;
use crate::rules::{Rules, stall_seconds_min};
use crate::shape;
use crate::signs;
use crate::verdict::{Class, MetricVerdict, Tag};

/// Windows of arms that are alike give reason for further blocks with this probability.
const REASON_P: f64 = 0.01;

/// One metric's data, with what is known before its own blocks are looked at.
pub(crate) struct Case<'a> {
    pub(crate) metric: Metric,
    pub(crate) pairs: &'a Pairs,
    pub(crate) exact: Option<Exact>,
    pub(crate) mei: f64,
    pub(crate) spreads: &'a [Spread],
    pub(crate) rules: &'a Rules,
    /// This metric's share of the detector's error is one of so many.
    pub(crate) shares: usize,
}

impl Case<'_> {
    fn alpha(&self) -> f64 {
        self.rules.alpha / self.shares as f64
    }

    /// All figures but the interval, which depends on the other verdicts of the report.
    pub(crate) fn judge(&self) -> MetricVerdict {
        let mut verdict = self.blank();
        if let Some(exact) = self.exact {
            self.judge_exactly(exact, &mut verdict);
            return verdict;
        }
        let scale = self.pairs.scale();
        if scale == Scale::Linear && self.pairs.len() > 0 {
            verdict.tags.push(Tag::Zeros);
        }
        let contrasts =
            self.pairs.contrasts(scale, self.pairs.len()).filter(|contrasts| !contrasts.is_empty());
        let Some(contrasts) = contrasts else {
            self.judge_without_ratio(&mut verdict);
            return verdict;
        };
        let votes = self.metric.is_of_rare_events().then(|| self.pairs.votes());
        let question = self.question(scale, votes.as_deref());
        let shown = walk(&contrasts, self.spreads, &question);
        verdict.p_seq = (shown.p_seq).min(1.0);
        verdict.class = class_of(self.metric, &shown);
        self.describe(&contrasts, &question, &mut verdict);
        if question.votes.is_some() {
            self.doubt(&mut verdict);
            return verdict;
        }
        let tags = [
            (Tag::TinyShift, verdict.class == Class::Same && shown.shift.is_some()),
            (Tag::LaterBlocksDisagree, shown.disagree),
            (Tag::OutlierBlock, shape::has_outlier(&contrasts)),
            (Tag::Bimodal, shape::is_bimodal(&contrasts)),
        ];
        verdict.tags.extend(tags.into_iter().filter(|(_, holds)| *holds).map(|(tag, _)| tag));
        verdict
    }

    /// Of stalls, nothing but a change is said of arms that were not measured for long enough. What blocks look like
    /// says nothing: one with a stall is far from one without.
    fn doubt(&self, verdict: &mut MetricVerdict) {
        let is_short = self.pairs.seconds() < stall_seconds_min(self.mei);
        if is_short && !verdict.class.is_change() {
            verdict.class = Class::Inconclusive;
            verdict.tags.push(Tag::TooShort);
        }
    }

    /// Gives the interval that misses the ratio with probability `error` over all looks.
    pub(crate) fn set_interval(&self, verdict: &mut MetricVerdict, error: f64) {
        if self.exact.is_some() {
            return;
        }
        verdict.confidence = 1.0 - error;
        let scale = self.pairs.scale();
        let Some(contrasts) = self.pairs.contrasts(scale, verdict.blocks).filter(|some| !some.is_empty())
        else {
            return;
        };
        let (place, spread) = self.last_look();
        let estimate = Estimate::of(&contrasts, spread);
        let reach = estimate.reach(error * self.rules.looks[place].spend / 2.0);
        let none_seen = self.metric.is_of_rare_events() && estimate.variance == 0.0;
        if reach.is_finite() && !none_seen {
            verdict.low = scale.ratio(estimate.mean - reach);
            verdict.high = scale.ratio(estimate.mean + reach);
        }
    }

    fn question<'a>(&'a self, scale: Scale, votes: Option<&'a [Votes]>) -> Question<'a> {
        Question {
            looks: &self.rules.looks,
            alpha: self.alpha(),
            tost_alpha: self.rules.tost_alpha,
            mei: self.mei,
            scale,
            votes,
        }
    }

    /// The last look reached, or the first; from 0.
    fn last_look(&self) -> (usize, &Spread) {
        let place = self.rules.looks_reached(self.pairs.len()).saturating_sub(1);
        (place, &self.spreads[place])
    }

    fn blank(&self) -> MetricVerdict {
        let looks_reached = self.rules.looks_reached(self.pairs.len());
        let at_look = looks_reached.checked_sub(1).map(|place| self.rules.looks[place].blocks);
        MetricVerdict {
            metric: self.metric,
            class: Class::Inconclusive,
            ratio: f64::NAN,
            low: f64::NAN,
            high: f64::NAN,
            confidence: f64::NAN,
            huber_ratio: f64::NAN,
            blocks: at_look.unwrap_or(self.pairs.len()),
            blocks_measured: self.pairs.len(),
            looks_reached,
            p_seq: 1.0,
            block_sd: f64::NAN,
            moderated_sd: f64::NAN,
            df: 0.0,
            mde80: f64::INFINITY,
            mei: self.mei,
            blocks_to_resolve: None,
            tags: Vec::new(),
        }
    }

    fn describe(&self, contrasts: &[f64], question: &Question, verdict: &mut MetricVerdict) {
        let (place, spread) = self.last_look();
        let used = &contrasts[..verdict.blocks];
        let now = Estimate::of(used, spread);
        verdict.ratio = question.scale.ratio(now.mean);
        verdict.huber_ratio = question.scale.ratio(shape::huber(used));
        verdict.block_sd = now.variance.sqrt();
        verdict.moderated_sd = now.moderated.sqrt();
        verdict.df = now.df;
        if let Some(votes) = question.votes {
            if !verdict.class.is_decided() {
                verdict.blocks_to_resolve = self.worth_a_look(&now, &votes[..verdict.blocks], question);
            }
            return;
        }
        // Its own error and a power of 80 %: the change whose estimate is called four times in five.
        let size = now.reach(self.alpha() * self.rules.looks[place].spend / 2.0) + now.reach(0.2);
        if size.is_finite() {
            verdict.mde80 = question.scale.worse_by(size, self.metric);
        }
        if !verdict.class.is_decided()
            && let Some((blocks, suffices)) = predict(&now, spread, question)
        {
            // Blocks beyond the last look reached are there already.
            verdict.blocks_to_resolve =
                Some((verdict.blocks + blocks).saturating_sub(contrasts.len()).max(1));
            if !suffices {
                verdict.tags.push(Tag::BeyondLooks);
            }
        }
    }

    /// Blocks until the next look, where windows give reason to look for a change in rare events. How many it takes to
    /// show one cannot be told from few blocks.
    fn worth_a_look(&self, now: &Estimate, votes: &[Votes], question: &Question) -> Option<usize> {
        let (low, high) = question.band();
        let is_small = (low..=high).contains(&now.mean);
        if is_small || signs::two_sided(votes, Direction::of(now.mean)) > REASON_P {
            return None;
        }
        let next = self.rules.looks.iter().find(|look| look.blocks > self.pairs.len())?;
        Some(next.blocks - self.pairs.len())
    }

    fn judge_exactly(&self, exact: Exact, verdict: &mut MetricVerdict) {
        let (low, high) = exact::range(self.pairs);
        let base_mean = mean(&self.pairs.0.iter().map(|pair| pair.base).collect::<Vec<f64>>());
        let arm_mean = mean(&self.pairs.0.iter().map(|pair| pair.arm).collect::<Vec<f64>>());
        let ln = self.pairs.contrasts(Scale::Log, self.pairs.len());
        verdict.ratio = match ln {
            Some(ln) => mean(&ln).exp(),
            None if base_mean == arm_mean => 1.0,
            None => arm_mean / base_mean,
        };
        (verdict.low, verdict.high, verdict.huber_ratio) = (low, high, verdict.ratio);
        (verdict.confidence, verdict.mde80) = (1.0, 0.0);
        (verdict.block_sd, verdict.moderated_sd, verdict.df) = (0.0, 0.0, 0.0);
        verdict.blocks = self.pairs.len();
        verdict.p_seq = if exact == Exact::Equal { 1.0 } else { 0.0 };
        verdict.class = match exact {
            Exact::Equal | Exact::Tiny(_) => Class::Same,
            Exact::Beyond(direction) => change(self.metric, direction, true),
        };
        verdict.tags.push(Tag::Exact);
        if let Exact::Tiny(_) = exact {
            verdict.tags.push(Tag::TinyShift);
        }
        if base_mean == 0.0 && arm_mean > 0.0 {
            verdict.tags.push(Tag::FromZero);
        }
    }

    fn judge_without_ratio(&self, verdict: &mut MetricVerdict) {
        if self.pairs.len() == 0 {
            return;
        }
        let any = self.pairs.0.iter().any(|pair| pair.arm > 0.0);
        verdict.ratio = if any { f64::INFINITY } else { 1.0 };
        verdict.huber_ratio = verdict.ratio;
        if any {
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
    if metric.is_worse(direction) { Class::Regression { proven } } else { Class::Improvement { proven } }
}
