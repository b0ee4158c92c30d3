//! `[profile]`: whether a run ends with CPU profiles, and how they are taken.

use rqps_model::words;
use serde::Serialize;

use crate::limits;
use crate::reader::Section;

const PROFILE_KEYS: [&str; 3] = ["after", "seconds", "frequency_hz"];

/// CPU profiles of the servers, taken in a separate pass after the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProfileOptions {
    /// The tests that are profiled when the run is complete.
    pub after: ProfileAfter,
    /// Seconds of sampling per test.
    pub seconds: f64,
    /// Samples per second of CPU time.
    pub frequency_hz: f64,
}

words! {
    /// The tests that a run profiles.
    ProfileAfter {
        Never = "never",
        /// Those that got better or worse on some arm.
        Changed = "changed",
        All = "all",
    }
}

impl Default for ProfileOptions {
    /// 997 does not divide a thousand, so samples do not synchronise with timers.
    fn default() -> Self {
        Self { after: ProfileAfter::Never, seconds: 5.0, frequency_hz: 997.0 }
    }
}

impl ProfileOptions {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `[profile]`.
pub(crate) fn read(top: &Section<'_>) -> ProfileOptions {
    let default = ProfileOptions::default();
    let Some(section) = top.table("profile", "[profile]") else {
        return default;
    };
    section.check_keys(&PROFILE_KEYS, |_| None);
    let number = |key, range, default| section.number(key, range).map_or(default, |found| found.value);
    ProfileOptions {
        after: section
            .choice("after", &ProfileAfter::ALL.map(|after| (after.key(), after)))
            .unwrap_or(default.after),
        seconds: number("seconds", limits::PROFILE_SECONDS, default.seconds),
        frequency_hz: number("frequency_hz", limits::PROFILE_FREQUENCY_HZ, default.frequency_hz),
    }
}
