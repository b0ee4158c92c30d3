//! Disturbed windows: other programs, or other guests of the host, used some of the machine's CPU.

use rqps_store::{Recorded, Window};

/// What takes CPU besides rqps and its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    Programs,
    Guests,
}

impl Disturbance {
    pub const ALL: [Disturbance; 2] = [Disturbance::Programs, Disturbance::Guests];

    /// Share of the machine's CPU above which it is a disturbance. That of other programs includes kernel work for the
    /// test itself (writeback, network), about 1 to 3 %.
    pub fn limit(self) -> f64 {
        match self {
            Disturbance::Programs => 0.05,
            Disturbance::Guests => 0.02,
        }
    }

    /// Its share of all CPU time of the machine in the window; `None` if it was not measured.
    pub fn share(self, window: &Recorded<Window>) -> Option<f64> {
        let metric = match self {
            Disturbance::Programs => "rest_us",
            Disturbance::Guests => "host_steal_us",
        };
        let capacity_us = window.result.elapsed_us as f64 * window.metric("cpus")?;
        (capacity_us > 0.0).then_some(window.metric(metric)? / capacity_us)
    }

    /// Whether anything disturbed the window.
    pub fn is_in(window: &Recorded<Window>) -> bool {
        Self::ALL.iter().any(|one| one.share(window).is_some_and(|share| share > one.limit()))
    }
}
