//! Disturbed windows: other programs, or other guests of the host, used some of the machine's CPU.

use rqps_store::{Recorded, Window};

/// What takes CPU besides rqps and its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    Programs,
    Guests,
}

/// Metrics that are together the time of all CPUs while the kernel counted.
const HOST_TIMES: [&str; 5] =
    ["host_user_us", "host_system_us", "host_idle_us", "host_iowait_us", "host_steal_us"];

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
        // The kernel counts a little longer than clients work: much longer in short windows, or if a flush follows.
        let counted_us: f64 = HOST_TIMES.iter().filter_map(|name| window.metric(name)).sum();
        let capacity_us = (window.result.elapsed_us as f64 * window.metric("cpus")?).max(counted_us);
        (capacity_us > 0.0).then_some(window.metric(metric)? / capacity_us)
    }

    /// Whether anything disturbed the window.
    pub fn is_in(window: &Recorded<Window>) -> bool {
        Self::ALL.iter().any(|one| one.share(window).is_some_and(|share| share > one.limit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_store::testing::{record, window};

    #[test]
    fn others_use_no_more_than_all_cpus() {
        let share = |elapsed_us: u64, rest_us: f64| {
            let times =
                [("host_user_us", 200_000.0), ("host_system_us", 100_000.0), ("host_idle_us", 100_000.0)];
            let metrics = times.into_iter().chain([("cpus", 2.0), ("rest_us", rest_us)]);
            let window = Recorded {
                action: record(1, "a", "window", "fillseq"),
                placement: None,
                metrics: metrics.map(|(name, value)| (name.to_owned(), value)).collect(),
                connections: Vec::new(),
                result: Window { elapsed_us, ..window("fillseq", "load", 1, 0.0) },
            };
            Disturbance::Programs.share(&window).unwrap()
        };
        assert!((share(12_000, 200_000.0) - 0.5).abs() < 1e-9);
        assert!((share(1_000_000, 200_000.0) - 0.1).abs() < 1e-9);
    }
}
