//! What a run's own report would warn of: without it, a table of all hosts looks surer than the tables of each.

use rqps_stats::Rules;
use rqps_store::Run;
use rqps_verdicts::{Disturbance, HostRemark, WindowOrder, host_doubt, host_remarks, pooled};
use serde::{Deserialize, Serialize};

/// Why the figures of a host, or of a task on it, may say little.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Doubts {
    /// Tasks with fewer blocks than the first verdict needs, each with its number of blocks.
    pub short: Vec<(String, usize)>,
    /// Tasks in which windows were disturbed by other programs or guests: their number, and that of all windows.
    pub disturbed: Vec<(String, usize, usize)>,
    /// Tasks around whose blocks the host changed.
    pub noisy: Vec<(String, Vec<HostRemark>)>,
    /// Why rates cannot be judged on this host, and what helps.
    pub certificate: Option<String>,
}

impl Doubts {
    pub(super) fn of(task: &str, run: &Run, rules: &Rules) -> Self {
        let blocks = run.blocks_done();
        let needed = rules.looks.first().map_or(0, |look| look.blocks);
        let short = (blocks < needed).then(|| (task.to_owned(), blocks));
        let windows = run.windows.iter().filter(|window| window.valid());
        let disturbed = windows.clone().filter(|window| Disturbance::is_in(window)).count();
        let disturbed = (disturbed > 0).then(|| (task.to_owned(), disturbed, windows.count()));
        let remarks = host_remarks(run);
        let noisy = (!remarks.is_empty()).then(|| (task.to_owned(), remarks));
        Self {
            short: short.into_iter().collect(),
            disturbed: disturbed.into_iter().collect(),
            noisy: noisy.into_iter().collect(),
            certificate: host_doubt(&pooled(&run.certificates), WindowOrder::of(run)),
        }
    }

    /// Adds those of another task on the same host.
    pub(super) fn add(&mut self, other: Doubts) {
        self.short.extend(other.short);
        self.disturbed.extend(other.disturbed);
        self.noisy.extend(other.noisy);
        self.certificate = self.certificate.take().or(other.certificate);
    }
}
