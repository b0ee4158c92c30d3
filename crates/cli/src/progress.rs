//! Progress on standard error: a bar on terminals, and a line per finished step.

use crate::out;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rqps_executor::{Execution, Progress as RunProgress};
use rqps_plan::estimate::{duration_text, estimate};
use rqps_report::tame;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Maximum redraw rate of the bar.
const DRAWS_PER_SECOND: u8 = 5;
/// Without a terminal, a line is written at least this often while something is measured.
const SILENCE_MAX: Duration = Duration::from_secs(15);

pub struct Progress {
    bar: ProgressBar,
    /// Estimated seconds of each action.
    estimates: Vec<f64>,
    done: BTreeSet<u32>,
    /// Estimated and actual seconds of the finished actions.
    expected_s: f64,
    taken_s: f64,
    /// What is being done, and since when.
    current: Option<(Vec<u32>, Instant)>,
    title: String,
    name_width: usize,
    arm_width: usize,
    /// With the time of the estimate.
    overall: Option<(Overall, Instant)>,
    /// When the last line was written.
    said_at: Cell<Instant>,
}

/// The estimate of a run without a fixed number of actions.
#[derive(Clone, Copy)]
struct Overall {
    share: f64,
    seconds_left: Option<f64>,
}

impl Overall {
    /// The time left this many seconds later, if all went as estimated. Once it is over, nobody knows.
    fn left_after(self, elapsed_s: f64) -> Option<f64> {
        self.seconds_left.map(|left| left - elapsed_s).filter(|left| *left > 0.0)
    }
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
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} %  {msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        let names = schedule.actions.iter().map(|action| action.kind.name().len());
        Self {
            bar,
            estimates: estimate(schedule, plan),
            done: execution.done().clone(),
            expected_s: 0.0,
            taken_s: 0.0,
            current: None,
            title: String::new(),
            name_width: names.max().unwrap_or(0),
            arm_width: plan.arms.iter().map(|arm| arm.name.len()).max().unwrap_or(0),
            overall: None,
            said_at: Cell::new(Instant::now()),
        }
    }

    /// Removes the bar from the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        self.said_at.set(Instant::now());
        if self.bar.is_hidden() {
            out::message(text);
        } else {
            self.bar.println(out::for_stderr(text));
        }
    }

    fn remaining_s(&self) -> f64 {
        let pending = self.estimates.iter().enumerate().filter(|(i, _)| !self.done.contains(&(*i as u32)));
        let ahead: f64 = pending.map(|(_, s)| s).sum();
        let (elapsed_s, estimate_s) = self.current_s();
        let current = elapsed_s.min(estimate_s);
        // Actual over estimated time of finished actions, shrunk towards 1 while there are few.
        let pace = (self.taken_s + 10.0) / (self.expected_s + 10.0);
        (ahead - current).max(0.0) * pace
    }

    /// Seconds since the current actions began, and what they were estimated to take.
    fn current_s(&self) -> (f64, f64) {
        let Some((seqs, since)) = &self.current else { return (0.0, 0.0) };
        let estimates = seqs.iter().filter_map(|seq| self.estimates.get(*seq as usize));
        (since.elapsed().as_secs_f64(), estimates.sum())
    }

    fn draw(&self, detail: &str) {
        if let Some((overall, since)) = self.overall {
            // As `rqps status` tells it.
            self.bar.set_position((1000.0 * overall.share.clamp(0.0, 1.0)) as u64);
            let left = overall
                .left_after(since.elapsed().as_secs_f64())
                .map(|seconds| format!("  {} left", duration_text(seconds)))
                .unwrap_or_default();
            self.show(&format!("{}  {detail}{left}", self.title));
            return;
        }
        let (behind, ahead) = behind_and_ahead(&self.estimates, &self.done);
        if behind + ahead > 0.0 {
            self.bar.set_position((1000.0 * behind / (behind + ahead)) as u64);
        }
        let left = left_text(self.remaining_s(), self.current_s());
        self.show(&format!("{}  {detail}{left}", self.title));
    }

    /// Shows a message beside the bar; without a terminal, as a line now and then.
    fn show(&self, message: &str) {
        if self.bar.is_hidden() && self.said_at.get().elapsed() > SILENCE_MAX {
            self.line(&format!("… {message}"));
        }
        self.bar.set_message(tame(message).into_owned());
    }
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

/// `  5 min left`; empty once the current action takes longer than estimated: nobody knows how long it still takes.
fn left_text(left_s: f64, (elapsed_s, estimate_s): (f64, f64)) -> String {
    if elapsed_s > estimate_s { String::new() } else { format!("  {} left", duration_text(left_s)) }
}

impl RunProgress for Progress {
    fn action_started(&mut self, seqs: &[u32], arms: &str, action: &str) {
        self.current = Some((seqs.to_vec(), Instant::now()));
        self.title = match (self.overall, seqs.last()) {
            // Profiles are beside the plan's actions.
            (None, Some(seq)) if (*seq as usize) < self.estimates.len() => {
                format!("{}/{} {arms} {action}", seq + 1, self.estimates.len())
            }
            _ => format!("{arms} {action}"),
        };
        self.draw("");
    }

    fn action_progress(&mut self, doing: &str, elapsed_s: f64, rate: Option<(f64, &str)>) {
        let rate = rate.map(|(rate, unit)| format!(" {rate:.0} {unit}/s")).unwrap_or_default();
        self.draw(&format!("{doing} {elapsed_s:.0} s{rate}"));
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
        self.draw("");
    }

    fn stage(&mut self, text: &str) {
        self.line(text);
    }

    fn overall(&mut self, share: f64, seconds_left: Option<f64>) {
        self.overall = Some((Overall { share, seconds_left }, Instant::now()));
        self.draw("");
    }

    /// The share and the stages say as much.
    fn blocks(&mut self, _done: u32, _most: u32) {}

    fn note(&mut self, text: &str) {
        self.line(&format!("note: {text}"));
    }
}

/// A spinner with this text; without a terminal, a line with it and a hidden spinner.
pub fn spinner(what: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        out::message(what);
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner.set_message(what.to_owned());
    spinner
}

/// Shows a spinner while `work` is done.
pub fn with_spinner<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let spinner = spinner(what);
    let done = work();
    spinner.finish_and_clear();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_counts_down_until_it_is_over() {
        let told = Overall { share: 0.4, seconds_left: Some(60.0) };
        assert_eq!((told.left_after(30.0), told.left_after(61.0)), (Some(30.0), None));
    }

    #[test]
    fn an_action_that_takes_longer_than_estimated_leaves_no_time_that_stands_still() {
        assert_eq!(left_text(120.0, (5.0, 20.0)), "  2 min left");
        assert_eq!(left_text(100.0, (21.0, 20.0)), "");
    }
}
