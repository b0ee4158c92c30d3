//! Why jobs wait in Slurm, in words.

use rqps_fleet::Job;

/// Reasons that end by themselves: other jobs end, or the scheduler comes to it.
const PASSING: [&str; 6] = ["", "None", "Resources", "Priority", "BeginTime", "Cleaning"];

/// Slurm's reason for which a job waits, and what it means.
pub fn why(job: &Job) -> String {
    let reason = job.reason.trim_matches(['(', ')']);
    // `ReqNodeNotAvail, UnavailableNodes:node1`
    let meaning = match reason.split(',').next().unwrap_or_default() {
        "None" | "" => return String::new(),
        "Resources" => "for a host that is free",
        "Priority" => "behind other jobs",
        "BeginTime" => "was put back in the queue, and starts after a pause",
        "PartitionTimeLimit" => {
            "the partition's MaxTime is less than the job's time limit: it starts when that is raised"
        }
        "PartitionDown" => "the partition is down",
        "PartitionInactive" => "the partition is inactive",
        "JobHeldAdmin" => "an administrator holds it: `scontrol release` by one lets it start",
        "JobHeldUser" => "its user holds it: `scontrol release` lets it start",
        "ReqNodeNotAvail" => "its hosts are down, drained or reserved",
        _ => return reason.to_owned(),
    };
    format!("{meaning} ({reason})")
}

/// The same, if that does not end by itself.
pub fn obstacle(job: &Job) -> Option<String> {
    let is_passing = PASSING.contains(&job.reason.trim_matches(['(', ')']));
    (!job.is_running() && !is_passing).then(|| why(job))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_words_and_those_that_pass_are_no_obstacle() {
        let job = |reason: &str| {
            let [id, name, state, nodes, reason] = ["7", "x", "PENDING", "", reason].map(str::to_owned);
            Job { id, name, state, nodes, seconds: 0, reason }
        };
        let limit = obstacle(&job("PartitionTimeLimit")).unwrap();
        assert!(limit.contains("MaxTime") && limit.ends_with("(PartitionTimeLimit)"), "{limit}");
        let away = why(&job("ReqNodeNotAvail, UnavailableNodes:node1"));
        assert!(away.contains("drained") && away.contains("node1"), "{away}");
        assert_eq!(why(&job("QOSMaxJobsPerUserLimit")), "QOSMaxJobsPerUserLimit");
        assert_eq!((obstacle(&job("Priority")), obstacle(&job("None"))), (None, None));
        let running = Job { state: "RUNNING".to_owned(), ..job("PartitionDown") };
        assert_eq!(obstacle(&running), None);
    }
}
