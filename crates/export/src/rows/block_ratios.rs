//! The ratios of blocks that verdicts rest on.

use rqps_stats::blocks_of;
use rqps_store::{Cell, Run};
use rqps_verdicts::RunVerdicts;

use super::Sink;
use crate::error::Result;

pub(super) fn rows(run: &Run, judged: &RunVerdicts, sink: &mut Sink<'_>) -> Result<()> {
    let arm = |index: usize| Cell::from(run.arms.get(index).map(|arm| arm.name.clone()));
    for verdict in &judged.judgement.verdicts {
        for of in blocks_of(&judged.experiment, verdict) {
            sink(vec![
                arm(verdict.arm),
                verdict.test.clone().into(),
                verdict.detector.key().to_owned().into(),
                i64::from(of.block).into(),
                verdict.metric.key().to_owned().into(),
                of.base.into(),
                of.ratio.into(),
            ])?;
        }
    }
    Ok(())
}
