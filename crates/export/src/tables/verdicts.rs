//! What is said about each arm in each test, with every figure behind it.

use rqps_stats::{Class, MetricVerdict, Tag, Verdict};
use rqps_verdicts::RunVerdicts;

use crate::source::{RUN, Source};
use crate::table::{Table, boolean, integer, real, text};
use crate::value::Value;

pub(crate) static VERDICTS: Table = Table {
    name: "verdicts",
    about: "A metric of a verdict, in runs with blocks. Where `decides` is true the row is the verdict itself.",
    key: &["run", "arm", "step", "detector", "metric"],
    parts: [
        &[RUN],
        &[
            text("arm", "the arm"),
            text("base", "the arm that ratios are relative to"),
            text("step", "the step: the test, or its early pass"),
            text("test_group", "the test's group"),
            boolean("is_control", "true: the arm is base measured again, so every change is a false one"),
            text("detector", "what is judged: `rate`, `cost`, …"),
            text("verdict", "`regression`, `improvement`, `same` or `inconclusive`"),
            boolean("is_proven", "of a change: the whole interval lies beyond what matters"),
            boolean("is_confirmed", "of a change: it stands among all verdicts of the run"),
            real("q_value", "", "p of the verdict, adjusted for the number of verdicts"),
            text("metric", "what is compared: `rate`, `instructions`, `cpu_us`, …"),
            boolean("decides", "true: this metric decided"),
            text("metric_verdict", "what this metric says alone"),
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
            for (index, metric) in verdict.metrics.iter().enumerate() {
                sink(&row(source, judged, verdict, metric, index == verdict.decided_by))?;
            }
        }
        Ok(())
    },
};

fn row<'a>(
    source: &'a Source<'_>,
    judged: &RunVerdicts,
    verdict: &'a Verdict,
    metric: &MetricVerdict,
    decides: bool,
) -> [Value<'a>; 27] {
    let arm = |index: usize| source.run.arms.get(index).map_or("", |arm| &arm.name);
    let remarks: Vec<&str> = metric.tags.iter().map(|tag| remark(*tag)).collect();
    [
        (&source.name).into(),
        arm(verdict.arm).into(),
        arm(judged.experiment.base).into(),
        (&verdict.test).into(),
        (&verdict.group).into(),
        verdict.is_control.into(),
        verdict.detector.key().into(),
        class(verdict.class).into(),
        matches!(verdict.class, Class::Regression { proven: true } | Class::Improvement { proven: true })
            .into(),
        verdict.confirmed.into(),
        verdict.q_value.into(),
        metric.metric.key().into(),
        decides.into(),
        class(metric.class).into(),
        metric.ratio.into(),
        metric.low.into(),
        metric.high.into(),
        metric.confidence.into(),
        metric.huber_ratio.into(),
        metric.blocks.into(),
        metric.blocks_measured.into(),
        metric.p_seq.into(),
        metric.block_sd.into(),
        metric.mei.into(),
        metric.mde80.into(),
        metric.blocks_to_resolve.into(),
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
        Tag::Unconfirmed => "unconfirmed",
        Tag::Suspect => "suspect",
        Tag::BeyondLooks => "beyond the looks",
        Tag::TooShort => "windows too short",
    }
}
