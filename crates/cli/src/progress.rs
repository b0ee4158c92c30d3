//! Progress on standard error: a bar on terminals, and a line per finished step. Nothing is silent for long: a
//! heartbeat shows what is being done, and for how long, also while nobody reports progress, as while a server starts.

use crate::out;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rqps_executor::{Execution, Progress as Receiver, TimeLeft};
use rqps_model::{clipped, cut, without_middle};
use rqps_plan::estimate::estimate;
use rqps_report::tame;
use rqps_store::{RunProgress, Until, now_ms};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum redraw rate of the bar.
const DRAWS_PER_SECOND: u8 = 5;
/// Without a terminal, a line is written at least this often.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// Rare enough not to disturb what is measured.
const BEAT: Duration = Duration::from_secs(1);
/// The longest stage that is told again.
const STAGE_MAX: usize = 50;
/// Columns of the bar, and of the share beside it.
const BAR_COLUMNS: usize = 24;
const SHARE_COLUMNS: usize = "  100 %  ".len();

/// Calls a function once a second until it is dropped.
struct Heartbeat {
    ends: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    fn start(beat: impl Fn() + Send + 'static) -> Self {
        let (ends, ended) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                beat();
            }
        });
        Self { ends: Some(ends), thread: Some(thread) }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.ends.take();
        // It panics only if writing does.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// What is being done, and since when.
struct Doing {
    /// The action, or what happened last.
    title: String,
    is_past: bool,
    /// A part of the action; often empty.
    what: String,
    since: Instant,
    rate: String,
    ends: Option<Ends>,
    share: Share,
}

/// When a run ends, as estimated.
#[derive(Clone, Copy)]
struct Ends {
    at: Instant,
    /// How long that may be said.
    said_until: Instant,
    /// What it is the end of.
    of: Until,
}

/// The share of the work that is done.
#[derive(Clone, Copy)]
enum Share {
    Unknown,
    /// Of blocks.
    Of(RunProgress),
    /// Of a schedule: estimated seconds of the actions that are done, and of those ahead; `next_s` of those under way.
    Scheduled {
        behind_and_ahead: (f64, f64),
        since: Instant,
        next_s: f64,
    },
}

impl Share {
    fn now(self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Of(progress) => Some(progress.share_at(now_ms())),
            Self::Scheduled { behind_and_ahead, since, next_s } => {
                share_of(behind_and_ahead, since.elapsed().as_secs_f64().min(next_s))
            }
        }
    }
}

impl Doing {
    /// `2/30 new load  starting mysql-9.7.4, 40 s  5 min left`, in at most `width` characters: names are shortened
    /// before figures.
    fn text(&self, width: usize) -> String {
        let (now, seconds) = (Instant::now(), self.since.elapsed().as_secs());
        let lasts = match (self.what.is_empty(), seconds) {
            (true, 0) => String::new(),
            (true, _) => format!("+{seconds} s"),
            (false, _) => format!("{seconds} s{}", self.rate),
        };
        let ends = self.ends.filter(|ends| now < ends.at.min(ends.said_until));
        let left = ends.map_or_else(String::new, |Ends { at, of, .. }| {
            TimeLeft { seconds: (at - now).as_secs_f64(), until: of }.text()
        });
        let joined = |title: &str, what: &str| {
            let said =
                [what, &lasts].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            [title, &said, &left].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
        };
        let (title, what) = (tame(&self.title), tame(&self.what));
        let shortened = |text: &str, whole: &str| {
            let over = whole.chars().count().saturating_sub(width);
            without_middle(text, text.chars().count().saturating_sub(over)).into_owned()
        };
        let what = shortened(&what, &joined(&title, &what));
        let title = shortened(&title, &joined(&title, &what));
        cut(&joined(&title, &what), width).into_owned()
    }
}

/// Shows what is being done beside a bar; without a terminal, as a line if nothing was written for a while.
fn show(bar: &ProgressBar, doing: &Doing) {
    if bar.is_hidden() && out::silence() > SILENCE_MAX {
        out::message(&format!("… {}", doing.text(usize::MAX)));
    }
    if let Some(share) = doing.share.now() {
        bar.set_position((1000.0 * share.clamp(0.0, 1.0)) as u64);
    }
    let columns = out::columns_of_stderr().unwrap_or(usize::MAX);
    bar.set_message(doing.text(columns.saturating_sub(bar_columns() + SHARE_COLUMNS)));
}

/// Columns of the bar: fewer on a narrow terminal.
fn bar_columns() -> usize {
    out::columns_of_stderr().map_or(BAR_COLUMNS, |columns| (columns * 3 / 10).min(BAR_COLUMNS))
}

pub struct Progress {
    bar: ProgressBar,
    /// Estimated seconds of each action.
    estimates: Vec<f64>,
    done: BTreeSet<u32>,
    /// Estimated and actual seconds of the finished actions.
    expected_s: f64,
    taken_s: f64,
    /// The actions under way, and since when.
    current: Option<(Vec<u32>, Instant)>,
    name_width: usize,
    arm_width: usize,
    /// Of a run without a fixed number of actions: how far it is.
    overall: Option<RunProgress>,
    doing: Arc<Mutex<Doing>>,
    heartbeat: Option<Heartbeat>,
}

impl Progress {
    /// For a run that is about to start or resume.
    pub fn new(execution: &Execution) -> Self {
        let (plan, schedule) = (execution.plan(), execution.schedule());
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        let template = format!("{{bar:{}}} {{percent:>3}} %  {{wide_msg}}", bar_columns());
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        let names = schedule.actions.iter().map(|action| action.kind.name().len());
        let doing = Doing {
            title: String::new(),
            is_past: false,
            what: String::new(),
            since: Instant::now(),
            rate: String::new(),
            ends: None,
            share: Share::Unknown,
        };
        let doing = Arc::new(Mutex::new(doing));
        let (shown, beating) = (bar.clone(), Arc::clone(&doing));
        let heartbeat = Heartbeat::start(move || {
            show(&shown, &beating.lock().unwrap_or_else(PoisonError::into_inner));
        });
        Self {
            bar,
            estimates: estimate(schedule, plan),
            done: execution.done().clone(),
            expected_s: 0.0,
            taken_s: 0.0,
            current: None,
            name_width: names.max().unwrap_or(0),
            arm_width: plan.arms.iter().map(|arm| arm.name.len()).max().unwrap_or(0),
            overall: None,
            doing,
            heartbeat: Some(heartbeat),
        }
    }

    /// Removes the bar from the screen.
    pub fn finish(&mut self) {
        self.heartbeat.take();
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            out::message(text);
        } else {
            self.bar.println(out::for_stderr(text));
        }
    }

    fn remaining_s(&self) -> f64 {
        let (_, ahead_s) = behind_and_ahead(&self.estimates, &self.done);
        let (elapsed_s, estimate_s) = self.current_s();
        at_pace(ahead_s - elapsed_s.min(estimate_s), self.taken_s, self.expected_s)
    }

    /// Seconds since the current actions began, and what they were estimated to take.
    fn current_s(&self) -> (f64, f64) {
        let Some((seqs, since)) = &self.current else { return (0.0, 0.0) };
        let estimates = seqs.iter().filter_map(|seq| self.estimates.get(*seq as usize));
        (since.elapsed().as_secs_f64(), estimates.sum())
    }

    /// When the run ends, and until when that may be said: once the current action takes longer than estimated, or the
    /// estimate is over, nobody knows.
    fn ends(&self) -> Option<Ends> {
        let now = Instant::now();
        let after = |seconds: f64| now.checked_add(Duration::try_from_secs_f64(seconds).ok()?);
        match self.overall {
            Some(progress) => {
                let at = |ms: i64| after((ms - now_ms()) as f64 / 1e3);
                let (at, said_until) = (at(progress.ends_at_ms?)?, at(progress.said_until_ms()?)?);
                Some(Ends { at, said_until, of: progress.until })
            }
            None => {
                let (elapsed_s, estimate_s) = self.current_s();
                let said_until = after((estimate_s - elapsed_s).max(0.0))?;
                Some(Ends { at: after(self.remaining_s())?, said_until, of: Until::End })
            }
        }
    }

    /// As `rqps status` tells it.
    fn share(&self) -> Share {
        if let Some(progress) = self.overall {
            return Share::Of(progress);
        }
        let behind_and_ahead = behind_and_ahead(&self.estimates, &self.done);
        let since = self.current.as_ref().map_or_else(Instant::now, |(_, since)| *since);
        Share::Scheduled { behind_and_ahead, since, next_s: self.current_s().1 }
    }

    /// Changes what is being done, and shows it.
    fn draw(&self, change: impl FnOnce(&mut Doing)) {
        let mut doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut doing);
        (doing.ends, doing.share) = (self.ends(), self.share());
        show(&self.bar, &doing);
    }

    /// An action begins, or something just ended.
    fn draw_title(&self, title: String, is_past: bool) {
        self.draw(|doing| {
            (doing.title, doing.is_past, doing.since) = (title, is_past, Instant::now());
            doing.what.clear();
        });
    }
}

/// The beginning of what was said, to be repeated.
fn first_clause(text: &str) -> String {
    clipped(text.split("; ").next().unwrap_or(text), STAGE_MAX)
}

/// What is added to actual and estimated time, since the pace of a few short actions is unreliable.
const PACE_SECONDS: f64 = 10.0;

/// Seconds for what is estimated so, at the pace of what has been done: the time it took, and the estimate of that.
pub fn at_pace(estimate_s: f64, taken_s: f64, expected_s: f64) -> f64 {
    estimate_s.max(0.0) * (taken_s + PACE_SECONDS) / (expected_s + PACE_SECONDS)
}

/// The share of a schedule that is done, by the estimated seconds behind and ahead, with those of what is under way.
pub fn share_of((behind, ahead): (f64, f64), under_way_s: f64) -> Option<f64> {
    (behind + ahead > 0.0).then(|| (behind + under_way_s.min(ahead)) / (behind + ahead))
}

/// Estimated seconds of the actions of a schedule that are done, and of those ahead. What was passed over is of arms
/// that were given up; a resume starts with it.
pub fn behind_and_ahead(estimates: &[f64], done: &BTreeSet<u32>) -> (f64, f64) {
    let (mut behind, mut ahead) = (0.0, 0.0);
    for (seq, seconds) in (0..).zip(estimates) {
        if done.contains(&seq) {
            behind += seconds;
        } else if done.last().is_none_or(|last| seq > *last) {
            ahead += seconds;
        }
    }
    (behind, ahead)
}

impl Receiver for Progress {
    fn action_started(&mut self, seqs: &[u32], arms: &str, action: &str) {
        self.current = Some((seqs.to_vec(), Instant::now()));
        let title = match (self.overall, seqs.last()) {
            // Profiles are beside the plan's actions.
            (None, Some(seq)) if (*seq as usize) < self.estimates.len() => {
                format!("{}/{} {arms} {action}", seq + 1, self.estimates.len())
            }
            _ => format!("{arms} {action}"),
        };
        self.draw_title(title, false);
    }

    fn action_progress(&mut self, what: &str, elapsed_s: f64, rate: Option<(f64, &str)>) {
        let elapsed = Duration::try_from_secs_f64(elapsed_s).unwrap_or_default();
        let since = Instant::now().checked_sub(elapsed).unwrap_or_else(Instant::now);
        self.draw(|doing| {
            if doing.is_past {
                doing.title.clear();
            }
            (doing.what, doing.since) = (what.to_owned(), since);
            doing.rate = rate.map(|(rate, unit)| format!(", {rate:.0} {unit}/s")).unwrap_or_default();
        });
    }

    fn action_finished(&mut self, seq: u32, arm: &str, action: &str, result: &str) {
        // Of actions that end together the first has the time of all.
        if let Some((_, since)) = self.current.take() {
            self.taken_s += since.elapsed().as_secs_f64();
        }
        self.expected_s += self.estimates.get(seq as usize).copied().unwrap_or(0.0);
        self.done.insert(seq);
        let (arm_width, name_width) = (self.arm_width, self.name_width);
        self.line(&format!("{arm:arm_width$}  {action:name_width$}  {result}"));
        self.draw_title(format!("after {arm} {action}"), true);
    }

    fn stage(&mut self, text: &str) {
        self.line(text);
        self.draw_title(first_clause(text), true);
    }

    fn overall(&mut self, progress: RunProgress) {
        self.overall = Some(progress);
        self.draw(|_| {});
    }

    /// The share and the stages say as much.
    fn blocks(&mut self, _done: u32, _most: u32) {}

    fn note(&mut self, text: &str) {
        self.line(&format!("note: {text}"));
    }
}

/// A spinner, until it is dropped.
pub struct Spinner {
    bar: ProgressBar,
    /// Without a terminal: what is written now and then, once it is known better than at the start.
    text: Arc<Mutex<Option<String>>>,
    heartbeat: Option<Heartbeat>,
}

impl Spinner {
    /// A spinner with this text; without a terminal, a line with it, and more if it takes long.
    pub fn start(what: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            out::message(what);
        }
        Self::quiet(what)
    }

    /// The same, without the line at the start.
    fn quiet(what: &str) -> Self {
        let text = Arc::<Mutex<Option<String>>>::default();
        if !std::io::stderr().is_terminal() {
            let bar = ProgressBar::hidden();
            let (shown, known, what, since) =
                (bar.clone(), Arc::clone(&text), what.to_owned(), Instant::now());
            let heartbeat = Heartbeat::start(move || {
                let known = known.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let text = known.unwrap_or_else(|| format!("{what}, {} s", since.elapsed().as_secs()));
                if shown.is_hidden() && out::silence() > SILENCE_MAX {
                    out::message(&format!("… {text}"));
                }
            });
            return Self { bar, text, heartbeat: Some(heartbeat) };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message(what.to_owned());
        Self { bar, text, heartbeat: None }
    }

    pub fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    pub fn set_message(&self, text: String) {
        self.bar.set_message(text.clone());
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.heartbeat.take();
        self.bar.finish_and_clear();
    }
}

/// Shows a spinner while something is done that seldom takes long.
pub fn with_quiet_spinner<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let _spinner = Spinner::quiet(what);
    work()
}

/// Shows a spinner while `work` is done.
pub fn with_spinner<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let _spinner = Spinner::start(what);
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_without_reports_and_an_end_is_not_said_for_longer_than_it_is_known() {
        let (now, ago) = (Instant::now(), Instant::now() - Duration::from_secs(40));
        let after = |seconds| now + Duration::from_secs(seconds);
        let mut doing = Doing {
            title: "new load".to_owned(),
            is_past: false,
            what: "starting".to_owned(),
            since: ago,
            rate: String::new(),
            ends: Some(Ends { at: after(600), said_until: after(300), of: Until::End }),
            share: Share::Unknown,
        };
        let text = |doing: &Doing| doing.text(80);
        assert_eq!(text(&doing), "new load  starting, 40 s  10 min left");
        doing.ends = Some(Ends { at: after(600), said_until: after(600), of: Until::FirstVerdicts });
        assert_eq!(text(&doing), "new load  starting, 40 s  first verdicts in 10 min");
        doing.ends = Some(Ends { at: after(600), said_until: now, of: Until::End });
        assert_eq!(text(&doing), "new load  starting, 40 s", "the action takes longer than estimated");
        doing.ends = Some(Ends { at: now, said_until: now, of: Until::End });
        doing.what.clear();
        assert_eq!(text(&doing), "new load  +40 s");
    }

    #[test]
    fn a_line_is_no_wider_than_its_terminal_and_figures_are_the_last_to_go() {
        let end = Instant::now() + Duration::from_secs(95);
        let doing = Doing {
            title: "block 1 random-points_range=100 (3 of 7)".to_owned(),
            is_past: false,
            what: "restoring the data of an-arm-with-a-long-name".to_owned(),
            since: Instant::now(),
            rate: ", 5702 queries/s".to_owned(),
            ends: Some(Ends { at: end, said_until: end, of: Until::EndWithoutVerdicts }),
            share: Share::Unknown,
        };
        for width in [10, 30, 47, 60, 100, 140] {
            assert!(doing.text(width).chars().count() <= width, "{}", doing.text(width));
        }
        let narrow = doing.text(67);
        assert!(narrow.starts_with("block ") && narrow.contains("of 7)"), "{narrow}");
        assert!(narrow.contains("0 s, 5702 queries/s  1 min 3"), "{narrow}");
        assert!(narrow.ends_with(" left, no verdicts"), "{narrow}");
        assert!(
            doing.text(120).contains("block 1 random-points_range=100 (3 of 7)  restor"),
            "{}",
            doing.text(120)
        );
    }
}
