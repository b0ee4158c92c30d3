//! The verdicts on each arm in each test, with every figure behind them.

use rqps_stats::{Class, Tag};
use rqps_store::{Cell, Run};
use rqps_verdicts::RunVerdicts;

use super::Sink;
use crate::error::Result;

pub(super) fn rows(run: &Run, judged: &RunVerdicts, sink: &mut Sink<'_>) -> Result<()> {
    let arm = |index: usize| Cell::from(run.arms.get(index).map(|arm| arm.name.clone()));
    let word = |word: &str| Cell::from(word.to_owned());
    for verdict in &judged.judgement.verdicts {
        let remarks: Vec<&str> = verdict.tags.iter().map(|tag| remark(*tag)).collect();
        let is_proven =
            matches!(verdict.class, Class::Regression { proven: true } | Class::Improvement { proven: true });
        sink(vec![
            arm(verdict.arm),
            arm(judged.experiment.base),
            word(&verdict.test),
            word(&verdict.group),
            verdict.is_control.into(),
            word(verdict.detector.key()),
            word(verdict.class.key()),
            verdict.is_mixed().into(),
            is_proven.into(),
            verdict.q_value.into(),
            word(verdict.metric.key()),
            verdict.ratio.into(),
            verdict.low.into(),
            verdict.high.into(),
            verdict.confidence.into(),
            verdict.huber_ratio.into(),
            (verdict.blocks as i64).into(),
            (verdict.blocks_measured as i64).into(),
            verdict.p_seq.into(),
            verdict.block_sd.into(),
            verdict.mei.into(),
            verdict.mde80.into(),
            verdict.blocks_to_resolve.map(|blocks| blocks as i64).into(),
            (!remarks.is_empty()).then(|| remarks.join(", ")).into(),
        ])?;
    }
    Ok(())
}

fn remark(tag: Tag) -> &'static str {
    match tag {
        Tag::TinyShift => "real but smaller than what matters",
        Tag::Bimodal => "bimodal",
        Tag::OutlierBlock => "outlier block",
        Tag::Exact => "exact",
        Tag::Zeros => "zeros",
        Tag::FromZero => "from zero",
        Tag::LaterBlocksDisagree => "later blocks disagree",
        Tag::Mixed => "mixed",
        Tag::NotSignificant => "not significant",
        Tag::Likely => "likely",
        Tag::FewBlocks => "few blocks for a count",
        Tag::BeyondLooks => "too noisy",
        Tag::TooShort => "windows too short",
    }
}
