//! `[profile]`: whether a run ends with CPU profiles, and how they are taken.

use serde::Serialize;

use crate::limits;
use crate::reader::Section;

const PROFILE_KEYS: [&str; 3] = ["after", "seconds", "frequency_hz"];

/// CPU profiles of the servers, taken in a separate pass after the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProfileOptions {
    /// The tests that are profiled when the run is complete.
    pub after: ProfileAfter,
    /// Seconds that samples of a test are taken for.
    pub seconds: f64,
    /// Samples per second of CPU time.
    pub frequency_hz: f64,
}

/// Which tests a run profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileAfter {
    Never,
    /// Those that got better or worse on some arm.
    Changed,
    All,
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
    let mut options = ProfileOptions::default();
    let Some(section) = top.table("profile", "[profile]") else {
        return options;
    };
    section.check_keys(&PROFILE_KEYS, |_| None);
    let words =
        [("never", ProfileAfter::Never), ("changed", ProfileAfter::Changed), ("all", ProfileAfter::All)];
    if let Some(after) = section.choice("after", &words) {
        options.after = after;
    }
    if let Some(found) = section.number("seconds", limits::PROFILE_SECONDS) {
        options.seconds = found.value;
    }
    if let Some(found) = section.number("frequency_hz", limits::PROFILE_FREQUENCY_HZ) {
        options.frequency_hz = found.value;
    }
    options
}
