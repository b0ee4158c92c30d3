//! The check that every run carries with it: base measured twice, so that whatever is called on it is a false alarm.

use rqps_stats::{Class, Detector, Judgement, Tag};

/// A change that was called where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct FalseAlarm {
    pub test: String,
    pub detector: Detector,
    /// The ratio it was called for.
    pub ratio: f64,
}

/// What was said of base measured again.
#[derive(Debug, Clone, PartialEq)]
pub struct FalseAlarmCheck {
    /// Verdicts that were reached or could have been: all of tests that came to the first look, but for those on stalls
    /// of tests that were measured too short.
    pub verdicts: usize,
    /// Those that said `same`.
    pub same: usize,
    pub alarms: Vec<FalseAlarm>,
}

impl FalseAlarmCheck {
    /// The control's verdicts; none when there is no control.
    pub(crate) fn of(judgement: &Judgement, control: Option<usize>) -> Option<Self> {
        control?;
        let looked = |verdict: &&rqps_stats::Verdict| {
            verdict.is_control && verdict.looks_reached > 0 && !verdict.tags.contains(&Tag::TooShort)
        };
        let of_control: Vec<_> = judgement.verdicts.iter().filter(looked).collect();
        let alarms = of_control.iter().filter(|verdict| verdict.class.is_change()).map(|verdict| {
            FalseAlarm { test: verdict.test.clone(), detector: verdict.detector, ratio: verdict.ratio }
        });
        Some(Self {
            verdicts: of_control.len(),
            same: of_control.iter().filter(|verdict| verdict.class == Class::Same).count(),
            alarms: alarms.collect(),
        })
    }
}
