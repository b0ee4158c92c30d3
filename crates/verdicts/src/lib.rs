//! From a run folder to verdicts: pairs windows, reads the rules, and estimates what undecided verdicts still
//! need.
//!
//! [`experiment`] turns windows into blocks of figures for [`rqps_stats::judge`], [`rules_of`] reads the
//! rules from the run's plan, and [`judge_run`] does both. It adds what needs the whole run folder: the
//! false-alarm check of base against itself, the seconds that further blocks take, and remarks that need more
//! than one test's figures. All probabilities are computed in `rqps-stats`.

mod agreement;
mod alarm;
mod background;
mod beside;
mod certificate;
mod data;
mod disturbed;
mod error;
mod estimates;
mod judged;
mod latency;
mod noise;
mod pairing;
mod protocols;
mod remarks;
mod rules;
mod stalls;
mod state;
mod tally;
#[cfg(feature = "testing")]
pub mod testing;
mod timing;
mod turns;
mod variance;
mod versions;

pub use agreement::Agreement;
pub use alarm::{FalseAlarm, FalseAlarmCheck};
pub use background::MissedBy;
pub use beside::AfterResume;
pub use beside::Apart;
pub use certificate::{
    Answer, CommitPromise, DataMount, HostAnswer, HostChange, HostQuestion, IN_TURNS, WindowOrder,
    commit_promise, host_answers, host_changes, host_doubt, pooled,
};
pub use data::{InstructionSource, Measured, blocks_by_test, experiment, instruction_source};
pub use disturbed::Disturbance;
pub use error::{Error, Result};
pub use estimates::{Estimate, estimates};
pub use judged::{RunVerdicts, Tally, has_blocks, judge_run, judge_run_relative_to};
pub use noise::{Noise, noise};
pub use protocols::{StateDependent, state_dependent};
pub use remarks::{HostRemark, Remark, host_remarks, measured_after_resume};
pub use rules::rules_of;
pub use state::UnlikeData;
pub use timing::{
    CERTIFICATE_SECONDS, Timing, about, block_seconds, covered, loads_to_make_s, minutes_to_give,
    resume_command, seconds_of_resume,
};
pub use turns::{PartsOfTurns, Turns};
pub use variance::{EventLatency, PerSecond, SECONDS_MIN, VarianceRow, variance};
pub use versions::{VersionRow, arrival_sizes, version_key, version_rows};
