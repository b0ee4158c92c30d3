//! What is said about each arm in each test, with every figure behind it.

use rqps_stats::{Class, Tag, Verdict};
use rqps_verdicts::RunVerdicts;

use crate::source::{RUN, Source};
use crate::table::{Table, boolean, integer, real, text};
use crate::value::Value;

pub(crate) static VERDICTS: Table = Table {
    name: "verdicts",
    about: "A verdict, in runs with blocks. Each rests on one metric.",
    key: &["run", "arm", "step", "detector"],
    parts: [
        &[RUN],
        &[
            text("arm", "the arm"),
            text("base", "the arm that ratios are relative to"),
            text("step", "the step: the test, or its early pass"),
            text("test_group", "the test's group"),
            boolean("is_control", "true: the arm is base measured again, so every change is a false one"),
            text(
                "detector",
                "what is judged: `rate`, `cost`, `stalls`, or beside them `cpu`, `wal`, `fsyncs`, `rows`, `blocks`",
            ),
            text("verdict", "`regression`, `improvement`, `same` or `inconclusive`"),
            boolean(
                "is_mixed",
                "of a change: something else that an operation takes has changed the other way",
            ),
            boolean("is_proven", "of a change: the whole interval lies beyond what matters"),
            boolean(
                "is_significant",
                "of a change: it is significant after adjustment for the number of verdicts",
            ),
            real("q_value", "", "p of the verdict, adjusted for the number of verdicts"),
            text("metric", "what is compared: `rate`, `instructions`, `cpu_us`, …"),
            real("ratio", "", "arm over base; null where base has none of it (`from zero`)"),
            real("low", "", "lower end of the ratio's interval"),
            real("high", "", "upper end of it"),
            real("confidence", "", "of the interval"),
            real("huber_ratio", "", "the ratio with far blocks held in"),
            integer("blocks", "blocks that the figures rest on"),
            integer("blocks_measured", "blocks in which both arms were measured"),
            real(
                "p_value",
                "",
                "probability of something as far from 1 where nothing has changed, over all looks",
            ),
            real("block_sd", "", "standard deviation of one block's logarithm of the ratio"),
            real("mei", "", "the smallest effect that matters, as a share"),
            real(
                "could_show",
                "",
                "smallest change for the worse that so many blocks show with 80 % probability, as a share",
            ),
            integer("blocks_to_resolve", "further blocks after which it is probably decided").or_null(),
            text("remarks", "remarks, parted by `, `").or_null(),
        ],
    ],
    fill: |source, sink| {
        let Some(judged) = &source.judged else { return Ok(()) };
        for verdict in &judged.judgement.verdicts {
            sink(&row(source, judged, verdict))?;
        }
        Ok(())
    },
};

fn row<'a>(source: &'a Source<'_>, judged: &RunVerdicts, verdict: &'a Verdict) -> [Value<'a>; 26] {
    let arm = |index: usize| source.run.arms.get(index).map_or("", |arm| &arm.name);
    let remarks: Vec<&str> = verdict.tags.iter().map(|tag| remark(*tag)).collect();
    [
        (&source.name).into(),
        arm(verdict.arm).into(),
        arm(judged.experiment.base).into(),
        (&verdict.test).into(),
        (&verdict.group).into(),
        verdict.is_control.into(),
        verdict.detector.key().into(),
        class(verdict.class).into(),
        verdict.is_mixed().into(),
        matches!(verdict.class, Class::Regression { proven: true } | Class::Improvement { proven: true })
            .into(),
        verdict.significant.into(),
        verdict.q_value.into(),
        verdict.metric.key().into(),
        verdict.ratio.into(),
        verdict.low.into(),
        verdict.high.into(),
        verdict.confidence.into(),
        verdict.huber_ratio.into(),
        verdict.blocks.into(),
        verdict.blocks_measured.into(),
        verdict.p_seq.into(),
        verdict.block_sd.into(),
        verdict.mei.into(),
        verdict.mde80.into(),
        verdict.blocks_to_resolve.into(),
        (!remarks.is_empty()).then(|| remarks.join(", ")).into(),
    ]
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Regression { .. } => "regression",
        Class::Improvement { .. } => "improvement",
        Class::Same => "same",
        Class::Inconclusive => "inconclusive",
    }
}

fn remark(tag: Tag) -> &'static str {
    match tag {
        Tag::TinyShift => "a shift smaller than what matters",
        Tag::Bimodal => "two states",
        Tag::OutlierBlock => "outlier block",
        Tag::Exact => "exact",
        Tag::Zeros => "zeros",
        Tag::FromZero => "from zero",
        Tag::LaterBlocksDisagree => "later blocks disagree",
        Tag::Mixed => "mixed",
        Tag::NotSignificant => "not significant",
        Tag::Suspect => "suspect",
        Tag::BeyondLooks => "beyond the looks",
        Tag::TooShort => "windows too short",
    }
}
