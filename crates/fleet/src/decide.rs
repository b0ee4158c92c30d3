//! Which tasks have to be submitted: a pure function of what the journal, Slurm and the results say.
//!
//! A task is done when its result is published, whatever Slurm says. Otherwise a job of its name is on its way, or it
//! has to be submitted again: the acknowledgement of a job is no promise, since a controller that dies forgets its
//! newest jobs. The name is what counts, not the number: if rqps died before it read the number, the job is still
//! found. If a job is there twice all the same, claims keep the second from working.

use std::collections::BTreeMap;

use crate::journal::Event;
use crate::slurm::Job;
use crate::spec::{Spec, Task};

/// Failures after which a task is given up: a plan that cannot be measured would occupy its hosts for ever.
pub const FAILURES_MAX: usize = 3;
/// Submissions after which a task is given up, if no job left a result or said why: a job that cannot write to the
/// fleet's folder fails without a word. Counted from the last `resume`; with the pauses they take two hours.
const SUBMISSIONS_MAX: usize = 12;
/// The same if no job has even opened its output, as Slurm does first: its host does not see the fleet's folder.
const UNSEEN_MAX: usize = 4;
/// The wait before a task is submitted a second time; doubles each time.
const PAUSE_MS: i64 = 15_000;
const DOUBLINGS_MAX: u32 = 6;
/// The reason of a job that Slurm could not launch and holds: it never starts by itself. Jobs that somebody holds have
/// others, and are left alone.
const STUCK: &str = "launch failed requeued held";

/// Where a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Done,
    /// Slurm has a job of it.
    Queued(Job),
    /// Given up.
    Failed,
    /// Has no job, and gets none until the fleet is resumed.
    Cancelled,
    /// Was submitted so recently that it waits.
    Waiting,
    /// To be submitted; the number of this submission, from 1.
    Due(usize),
}

/// What the journal says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    submissions: BTreeMap<String, Submissions>,
    pub is_cancelled: bool,
}

/// Of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Submissions {
    all: usize,
    /// Since the fleet was last resumed.
    recent: usize,
    /// How many of these Slurm refused.
    refused: usize,
    /// When the last of these was.
    last_at_ms: i64,
    /// Why Slurm refused the last one.
    refusal: Option<String>,
}

impl History {
    pub fn of(events: &[Event]) -> Self {
        let mut history = Self::default();
        for event in events {
            match event {
                Event::Submitting { at_ms, task, .. } => {
                    let of_task = history.submissions.entry(task.clone()).or_default();
                    of_task.all += 1;
                    of_task.recent += 1;
                    of_task.last_at_ms = of_task.last_at_ms.max(*at_ms);
                    of_task.refusal = None;
                }
                Event::Refused { task, why, .. } => {
                    let of_task = history.submissions.entry(task.clone()).or_default();
                    of_task.refused += 1;
                    of_task.refusal = Some(why.clone());
                }
                Event::Submitted { .. } => {}
                Event::Cancelled { .. } => history.is_cancelled = true,
                Event::Resumed { .. } => {
                    history.is_cancelled = false;
                    history.submissions.values_mut().for_each(|of_task| {
                        (of_task.recent, of_task.refused) = (0, 0);
                    });
                }
            }
        }
        history
    }

    /// How often a task was submitted, or was about to be.
    pub fn submissions(&self, task: &str) -> usize {
        self.submissions.get(task).map_or(0, |of_task| of_task.all)
    }

    /// Why Slurm refused the last job of a task, if it did.
    pub fn refusal(&self, task: &str) -> Option<&str> {
        self.submissions.get(task)?.refusal.as_deref()
    }

    /// Whether so many jobs of a task left nothing that more would not either.
    fn is_useless(&self, task: &str, has_output: bool) -> bool {
        self.submissions.get(task).is_some_and(|of_task| {
            let unseen = of_task.recent.saturating_sub(of_task.refused);
            of_task.recent >= SUBMISSIONS_MAX || (!has_output && unseen >= UNSEEN_MAX)
        })
    }

    /// When a task may be submitted again, milliseconds since 1970 (UTC).
    fn due_at_ms(&self, task: &str) -> i64 {
        let Some(of_task) = self.submissions.get(task).filter(|of_task| of_task.recent > 0) else { return 0 };
        let doublings = (of_task.recent as u32 - 1).min(DOUBLINGS_MAX);
        of_task.last_at_ms + PAUSE_MS * i64::from(1_u32 << doublings)
    }
}

/// What jobs of a task left in the fleet's folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traces {
    pub is_done: bool,
    /// How often it failed on a host.
    pub failures: usize,
    pub has_output: bool,
}

/// Where a task is. `jobs` are Slurm's jobs of this task.
pub fn decide(task: &Task, history: &History, jobs: &[&Job], traces: Traces, now_ms: i64) -> State {
    if traces.is_done {
        return State::Done;
    }
    // One that runs before one that waits.
    let live = jobs.iter().filter(|job| !is_stuck(job));
    if let Some(job) = live.max_by_key(|job| (job.is_running(), std::cmp::Reverse(&job.id))) {
        return State::Queued((*job).clone());
    }
    if traces.failures >= FAILURES_MAX || history.is_useless(&task.id, traces.has_output) {
        return State::Failed;
    }
    if history.is_cancelled {
        return State::Cancelled;
    }
    if history.due_at_ms(&task.id) > now_ms {
        return State::Waiting;
    }
    State::Due(history.submissions(&task.id) + 1)
}

/// Whether a job of this task should be cancelled: it waits for nothing, or will never start.
pub fn is_superfluous(job: &Job, state: &State) -> bool {
    match state {
        State::Done => !job.is_running(),
        State::Queued(chosen) => chosen.id != job.id && !job.is_running(),
        State::Failed | State::Cancelled | State::Waiting | State::Due(_) => is_stuck(job),
    }
}

fn is_stuck(job: &Job) -> bool {
    !job.is_running() && job.reason.eq_ignore_ascii_case(STUCK)
}

/// Slurm's jobs by task.
pub(crate) fn by_task<'j>(spec: &Spec, jobs: &'j [Job]) -> BTreeMap<String, Vec<&'j Job>> {
    let mut by_task: BTreeMap<String, Vec<&Job>> = BTreeMap::new();
    for job in jobs {
        let task = job.name.strip_prefix(&spec.job_stem()).and_then(|rest| rest.rsplit_once('-'));
        if let Some((task, _)) = task {
            by_task.entry(task.to_owned()).or_default().push(job);
        }
    }
    by_task
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str, state: &str, reason: &str) -> Job {
        let [id, name, state, nodes, reason] = [id, "rqps-x-0001.1-1", state, "", reason].map(str::to_owned);
        Job { id, name, state, nodes, seconds: 0, reason }
    }

    fn submitting(at_ms: i64, number: usize) -> Event {
        Event::Submitting { at_ms, task: "0001.1".to_owned(), name: format!("rqps-x-0001.1-{number}") }
    }

    #[test]
    fn a_task_is_submitted_again_only_if_it_is_neither_done_nor_on_its_way() {
        let task = Task::new(1, 1, 60.0);
        let state = |events: &[Event], jobs: &[&Job], is_done, failures, now| {
            let traces = Traces { is_done, failures, has_output: true };
            decide(&task, &History::of(events), jobs, traces, now)
        };
        assert_eq!(state(&[], &[], false, 0, 0), State::Due(1));
        // Written to the journal and killed before Slurm answered: it has the job, or it has not.
        let once = [submitting(0, 1)];
        let pending = job("7", "PENDING", "Resources");
        assert_eq!(state(&once, &[&pending], false, 0, 0), State::Queued(pending.clone()));
        assert_eq!(state(&once, &[], false, 0, PAUSE_MS - 1), State::Waiting);
        assert_eq!(state(&once, &[], false, 0, PAUSE_MS), State::Due(2));
        // The pause doubles.
        let twice = [submitting(0, 1), submitting(PAUSE_MS, 2)];
        assert_eq!(state(&twice, &[], false, 0, 3 * PAUSE_MS - 1), State::Waiting);
        assert_eq!(state(&twice, &[], false, 0, 3 * PAUSE_MS), State::Due(3));
        // Jobs that end without a word are not submitted for ever; whoever resumes the fleet has seen to the cause.
        let mut silent = vec![submitting(0, 1); SUBMISSIONS_MAX];
        assert_eq!(state(&silent, &[], false, 0, i64::MAX), State::Failed);
        let unseen = |count| decide(&task, &History::of(&silent[..count]), &[], Traces::default(), i64::MAX);
        assert_eq!((unseen(UNSEEN_MAX - 1), unseen(UNSEEN_MAX)), (State::Due(UNSEEN_MAX), State::Failed));
        // What Slurm refused no host could see, and the reason stays until the next submission.
        let why = "no such partition".to_owned();
        let refused = Event::Refused { at_ms: 0, task: task.id.clone(), why: why.clone() };
        let mut refusals = vec![[submitting(0, 1), refused]; UNSEEN_MAX].concat();
        let history = History::of(&refusals);
        let due = decide(&task, &history, &[], Traces::default(), i64::MAX);
        assert_eq!((due, history.refusal(&task.id)), (State::Due(UNSEEN_MAX + 1), Some(why.as_str())));
        refusals.push(submitting(0, 9));
        assert_eq!(History::of(&refusals).refusal(&task.id), None);
        silent.push(Event::Resumed { at_ms: 0 });
        assert_eq!(state(&silent, &[], false, 0, 0), State::Due(SUBMISSIONS_MAX + 1), "names are used once");
        silent.push(Event::Cancelled { at_ms: 0 });
        assert_eq!(state(&silent, &[], false, 0, 0), State::Cancelled);
        assert_eq!(state(&silent, &[&pending], false, 0, 0), State::Queued(pending.clone()));
        // A result counts, whatever Slurm has.
        assert_eq!(state(&once, &[&pending], true, FAILURES_MAX, 0), State::Done);
        assert_eq!(state(&once, &[], false, FAILURES_MAX, i64::MAX), State::Failed);
    }

    #[test]
    fn jobs_that_nobody_waits_for_are_cancelled() {
        let task = Task::new(1, 1, 60.0);
        let running = job("9", "RUNNING", "None");
        let pending = job("7", "PENDING", "Priority");
        let held = job("8", "PENDING", "launch failed requeued held");
        let state = decide(&task, &History::default(), &[&pending, &running], Traces::default(), 0);
        assert_eq!(state, State::Queued(running.clone()), "the one that runs");
        assert!(is_superfluous(&pending, &state) && !is_superfluous(&running, &state));
        // A job that Slurm holds for an operator never starts: another one takes its place.
        let state = decide(&task, &History::default(), &[&held], Traces::default(), 0);
        assert_eq!(state, State::Due(1));
        assert!(is_superfluous(&held, &state) && !is_superfluous(&running, &State::Done));
        // Whoever holds a job does so on purpose.
        for reason in ["JobHeldAdmin", "JobHeldUser"] {
            let held = job("8", "PENDING", reason);
            let state = decide(&task, &History::default(), &[&held], Traces::default(), 0);
            assert!(state == State::Queued(held.clone()) && !is_superfluous(&held, &state), "{reason}");
        }
        assert!(is_superfluous(&pending, &State::Done), "a second job of a task that is done");
    }

    #[test]
    fn jobs_belong_to_the_task_in_their_name() {
        let spec = Spec {
            format: 1,
            id: "x".to_owned(),
            folder: std::path::PathBuf::new(),
            plan: String::new(),
            place: crate::spec::Place::Local,
            groups: vec![vec!["a".to_owned(), "d".to_owned()], vec!["b".to_owned()], vec!["c".to_owned()]],
            outside: vec!["e".to_owned()],
            cache: "/".into(),
            program_sha256: String::new(),
            arms: Vec::new(),
            builds: BTreeMap::new(),
            files: BTreeMap::new(),
            over_ssh: None,
            tasks: vec![Task::new(1, 1, 60.0), Task::new(12, 2, 60.0)],
        };
        let mut other = job("1", "RUNNING", "None");
        other.name = format!("{}3", spec.job_prefix("0012.2"));
        let jobs = [other.clone(), Job { name: "rqps-y-0001.1-1".to_owned(), ..other.clone() }];
        let by_task = by_task(&spec, &jobs);
        assert_eq!(by_task.into_iter().collect::<Vec<_>>(), [("0012.2".to_owned(), vec![&other])]);
        assert_eq!(
            spec.excluded(&spec.tasks[1]),
            ["a", "d", "c", "e"],
            "hosts of other replicas and of others"
        );
    }
}
