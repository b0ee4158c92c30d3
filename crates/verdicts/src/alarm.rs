//! The false-alarm check of a run: the control is base measured again, so every change found in it is a false
//! alarm.

use rqps_stats::{Class, Detector, Judgement, Tag};

/// A change found in the control.
#[derive(Debug, Clone, PartialEq)]
pub struct FalseAlarm {
    pub test: String,
    pub detector: Detector,
    /// The ratio of control over base.
    pub ratio: f64,
    /// Its interval.
    pub interval: (f64, f64),
}

/// The verdicts on the control.
#[derive(Debug, Clone, PartialEq)]
pub struct FalseAlarmCheck {
    /// Number of verdicts of tests that reached the first look, without stalls of tests that were measured
    /// too briefly.
    pub verdicts: usize,
    /// Number of these that are `same`.
    pub same: usize,
    pub alarms: Vec<FalseAlarm>,
}

impl FalseAlarmCheck {
    /// The check of a judgement; `None` if the run has no control.
    pub(crate) fn of(judgement: &Judgement, control: Option<usize>) -> Option<Self> {
        control?;
        let is_checked = |verdict: &&rqps_stats::Verdict| {
            verdict.is_control && verdict.looks_reached > 0 && !verdict.tags.contains(&Tag::TooShort)
        };
        let verdicts: Vec<_> = judgement.verdicts.iter().filter(is_checked).collect();
        let alarms = verdicts.iter().filter(|verdict| verdict.class.is_change()).map(|verdict| FalseAlarm {
            test: verdict.test.clone(),
            detector: verdict.detector,
            ratio: verdict.ratio,
            interval: (verdict.low, verdict.high),
        });
        Some(Self {
            verdicts: verdicts.len(),
            same: verdicts.iter().filter(|verdict| verdict.class == Class::Same).count(),
            alarms: alarms.collect(),
        })
    }

    /// Whether something other than the build differs between the arms: one of the changes counts as such.
    pub fn is_alarming(&self) -> bool {
        !self.alarms.is_empty()
    }
}
