//! Decides what the next block measures: tests whose verdicts can still be reached within the budget, the
//! cheapest first. A test is always measured on all arms, including base and control.

use super::ahead::Ahead;
use super::forecast::OF_FIRST_VERDICTS;
use super::words::{block_text, blocks_text, kinds, state_of, subjects, the_open};
use crate::error::Result;
use rqps_model::{counted, part_of};
use rqps_plan::estimate::duration_text;
use rqps_plan::isolated::{block_seconds as planned_block_seconds, windows_seconds};
use rqps_plan::{Plan, limits};
use rqps_stats::{Detector, Rules, Verdict};
use rqps_store::{NoResult, Run, Until};
use rqps_verdicts::{
    RunVerdicts, about, block_seconds, blocks_by_test, judge_run, loads_to_make_s, rules_of,
    seconds_of_resume,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A block may take this many times the remaining budget: estimates are no more precise.
const OVERRUN: f64 = 1.1;
/// Most windows of a reading test in a later block, as a multiple of the plan's.
const WINDOWS_TIMES_MAX: f64 = 4.0;
/// Share of the budget that a run may exceed it by so that it ends with verdicts.
pub(super) const OVERRUN_FOR_VERDICTS: f64 = 0.25;
/// The same for the last block that they need.
const OVERRUN_FOR_LAST_BLOCK: f64 = 0.5;

/// How long a run may measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub whole: Duration,
    pub left: Duration,
}

/// What ends a run besides its verdicts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub budget: Option<Budget>,
    /// Blocks of a test.
    pub blocks_max: usize,
    /// Whether the user asked for blocks of so much time: it is used, whatever they will probably decide, and none is
    /// measured beyond it for the plan's promise.
    pub is_asked: bool,
}

impl Limits {
    /// Those of a plan, with this budget. A run that a resume gave more time goes on beyond the blocks of its plan, up
    /// to the last look: whoever gives time asks for blocks.
    pub fn of(plan: &Plan, budget: Option<Duration>, is_given_more: bool) -> Self {
        let planned = plan.blocks().blocks_max as usize;
        let last_look = Rules::default().looks.last().map_or(0, |look| look.blocks);
        Self {
            budget: budget.map(|whole| Budget { whole, left: whole }),
            blocks_max: if is_given_more { planned.max(last_look) } else { planned },
            is_asked: is_given_more,
        }
    }

    /// The same once so much of the budget has passed.
    pub fn after(self, passed: Duration) -> Self {
        let budget = self.budget.map(|budget| Budget { left: budget.whole.saturating_sub(passed), ..budget });
        Self { budget, ..self }
    }
}

/// What to do next, and the progress to show.
pub(super) struct Outlook {
    pub what: Next,
    pub why: String,
    /// Share of the work that is done, from 0 to 1.
    pub share: f64,
    /// `None`: nothing is left to measure.
    pub ahead: Option<Ahead>,
    /// After the first verdicts: tests with verdicts that more blocks can decide.
    pub open: Option<usize>,
    /// Tests whose cost is decided on every arm.
    pub cost_decided: BTreeSet<String>,
    /// Verdicts that are reached.
    pub reached: BTreeSet<String>,
    /// Why blocks will probably decide nothing that are measured since the user asked for them.
    pub doubt: Option<Doubt>,
}

/// Why blocks will probably decide nothing.
pub(super) struct Doubt {
    /// What is reached so far.
    pub state: String,
    pub text: String,
    /// What would decide more; often empty.
    pub enough: String,
}

pub(super) enum Next {
    /// Measure a block of these tests, with this many windows of each reading one.
    Measure {
        tests: Vec<String>,
        windows_of_reads: u32,
    },
    Stop(Stop),
}

/// Why there is no further block.
pub(super) struct Stop {
    pub why: String,
    /// How long a resume takes that measures what is missing, if more time helps.
    pub resume_s: Option<f64>,
    /// For reports, which have their own count of what is inconclusive: of all that they judge.
    pub short_text: String,
    /// Whether no verdict is reached.
    pub is_without_verdict: bool,
}

/// Decides from the run's results and the numbers of the loads that are `made`. Verdicts on arms that are `given_up`,
/// by index, are ignored.
pub(super) fn next(
    plan: &Plan,
    run: &Run,
    made: &BTreeSet<u32>,
    limits: Limits,
    given_up: &dyn Fn(usize) -> bool,
) -> Result<Outlook> {
    let rules = rules_of(run)?;
    let blocks_min = blocks_min(plan, &rules);
    let measured = blocks_by_test(run);
    let blocks = |test: &String| measured.get(test).copied().unwrap_or(0);
    let steps = &plan.workload.steps;
    let tests: Vec<String> = steps.iter().filter(|test| blocks(test) < blocks_min).cloned().collect();
    if tests.is_empty() {
        let mut verdicts = judge_run(run, &rules)?;
        verdicts.judgement.verdicts.retain(|verdict| !given_up(verdict.arm));
        let outlook = undecided(plan, (run, &verdicts), made, limits);
        return Ok(Outlook { reached: reached(run, &verdicts), ..outlook });
    }
    Ok(first_blocks(plan, (run, made), &rules, &measured, (tests, limits)))
}

pub(super) fn next_number(run: &Run) -> u32 {
    run.blocks.iter().map(|block| block.number).max().unwrap_or(0) + 1
}

fn first_look(rules: &Rules) -> usize {
    rules.looks.first().map_or(1, |look| look.blocks)
}

/// Blocks that every test gets, whether its verdicts are decided or not.
fn blocks_min(plan: &Plan, rules: &Rules) -> usize {
    first_look(rules).max(plan.blocks().blocks_min as usize)
}

/// The outlook while tests have fewer than [`blocks_min`] blocks: measures these. The plan's own `blocks_min` are
/// measured whatever the budget. Up to the first verdicts a run exceeds its budget a little; if they are out of
/// reach, it stops as soon as that is known, after the first block.
fn first_blocks(
    plan: &Plan,
    (run, made): (&Run, &BTreeSet<u32>),
    rules: &Rules,
    measured: &BTreeMap<String, usize>,
    (tests, Limits { budget, blocks_max, is_asked }): (Vec<String>, Limits),
) -> Outlook {
    let (first_look, blocks_min) = (first_look(rules), blocks_min(plan, rules));
    let lowest = tests.iter().map(|test| measured.get(test).copied().unwrap_or(0)).min().unwrap_or(0);
    let known = block_seconds(run);
    let block_s = known.unwrap_or_else(|| planned_block_seconds(plan, tests.len()));
    let left_s = budget.map(|budget| budget.left.as_secs_f64());
    let needed = |until: usize| {
        let blocks_s = block_s * (until - lowest) as f64;
        (blocks_s, blocks_s + loads_to_make_s(run, made, until - lowest))
    };
    let has_looked = lowest >= first_look;
    // Beyond the first verdicts, time that was asked for is used block by block.
    let least = match (is_asked, has_looked) {
        (true, true) => lowest + 1,
        (true, false) => first_look,
        (false, _) => blocks_min,
    };
    let (blocks_s, total_s) = needed(least);
    let over_s = left_s.map_or(0.0, |left| total_s - left).max(0.0);
    let may_be_over_s = match budget {
        Some(Budget { left, .. }) if has_looked => left.as_secs_f64() * (OVERRUN - 1.0),
        // A resume would load again for it.
        Some(Budget { whole, .. }) if lowest + 1 == first_look => {
            whole.as_secs_f64() * OVERRUN_FOR_LAST_BLOCK
        }
        Some(Budget { whole, .. }) => whole.as_secs_f64() * OVERRUN_FOR_VERDICTS,
        None => 0.0,
    };
    let is_promised = !is_asked && lowest < plan.blocks().blocks_min as usize;
    if known.is_some() && !is_promised && over_s > may_be_over_s {
        return match has_looked {
            true => used_up(run, lowest, blocks_max),
            false => too_short_for_verdicts(
                run,
                (lowest, blocks_max),
                (first_look, blocks_s, total_s),
                left_s.unwrap_or(0.0),
            ),
        };
    }
    let until = if has_looked { blocks_min } else { first_look };
    let over = match known {
        Some(_) if over_s >= 1.0 => {
            let it = if lowest + 1 == least { "it" } else { "the last one" };
            format!("; {it} ends about {} after the budget", duration_text(over_s))
        }
        _ => String::new(),
    };
    let is_end = blocks_max <= blocks_min;
    // What ends the time that was asked for is not told as the end.
    let of = match left_s.is_some_and(|left| is_asked && needed(blocks_min).1 > left) {
        true if has_looked => None,
        true => Some(format!("at least {first_look}")),
        false if is_end => Some(blocks_min.to_string()),
        false => Some(format!("at least {blocks_min}")),
    };
    let block = block_text(run, lowest, of.as_deref());
    Outlook {
        why: format!("{block}: {}{over}", counted(tests.len(), "test")),
        share: if is_end { 1.0 } else { OF_FIRST_VERDICTS } * lowest as f64 / blocks_min as f64,
        ahead: Some(Ahead {
            block_s,
            longer_s: 0.0,
            later_s: block_s * (until - lowest - 1) as f64,
            loads_s: loads_to_make_s(run, made, until - lowest),
            measured: if known.is_some() { lowest } else { 0 },
            until: if has_looked { Until::End } else { Until::FirstVerdicts },
            budget_s: left_s.filter(|_| is_asked && has_looked),
            verdicts_within_s: left_s
                .filter(|_| !is_promised && !has_looked)
                .map(|left| left + may_be_over_s),
        }),
        open: None,
        what: Next::Measure { tests, windows_of_reads: plan.blocks().windows },
        cost_decided: BTreeSet::new(),
        reached: BTreeSet::new(),
        doubt: None,
    }
}

/// Ends a run whose budget has no room for the blocks until the first verdicts.
fn too_short_for_verdicts(
    run: &Run,
    (done, blocks_max): (usize, usize),
    (first_look, blocks_s, total_s): (usize, f64, f64),
    left_s: f64,
) -> Outlook {
    let resume_s = seconds_of_resume(run, (first_look - done, blocks_s), true);
    let (need, left) = (about(resume_s), duration_text(left_s));
    let why = format!(
        "budget too short: verdicts need {first_look} blocks; {} done, the rest takes about {}, and {left} are left. A \
         resume, which loads again, takes about {need}",
        counted(done, "block"),
        duration_text(total_s)
    );
    let short_text = format!("budget too short after {}", blocks_text(run, done, blocks_max));
    let stop = Stop::new(&why, &short_text);
    Stop { resume_s: Some(resume_s), is_without_verdict: true, ..stop }.outlook()
}

/// Ends a run that measures all that fits into its time.
fn used_up(run: &Run, done: usize, blocks_max: usize) -> Outlook {
    let text = format!("budget used up after {}", blocks_text(run, done, blocks_max));
    stop(&text, &text)
}

/// The outlook after that: measures tests with undecided verdicts that more blocks can decide.
fn undecided(
    plan: &Plan,
    (run, verdicts): (&Run, &RunVerdicts),
    made: &BTreeSet<u32>,
    Limits { budget, blocks_max, is_asked }: Limits,
) -> Outlook {
    let all: Vec<&Verdict> =
        verdicts.on_candidates().filter(|verdict| RunVerdicts::is_measured_for(verdict)).collect();
    let open: Vec<&Verdict> = all.iter().copied().filter(|verdict| !verdict.class.is_decided()).collect();
    let done = all.len() - open.len();
    let state = state_of(&all);
    if open.is_empty() {
        return all_reached(run, &state, &all);
    }
    let mut needs = most_promising(&open, |verdict| verdicts.blocks_needed(verdict));
    let mut doubt = None;
    if needs.is_empty() && is_asked {
        needs = most_promising(&open, |verdict| until_next_look(verdicts, &verdict.test));
        let text = format!("more blocks will probably not decide {}", the_open(open.len(), done));
        doubt = Some(Doubt { state: state.clone(), text, enough: String::new() });
    }
    if needs.is_empty() {
        return undecidable(verdicts, (&open, done), &state);
    }
    let blocks = |test: &str| verdicts.blocks_of_test.get(test).copied().unwrap_or(0);
    needs.retain(|test, more| blocks(test) + *more <= blocks_max);
    if needs.is_empty() {
        let most = verdicts.blocks_of_test.values().copied().max().unwrap_or(0);
        let whose = match blocks_max > plan.blocks().blocks_max as usize {
            true => "that a verdict takes at most",
            false => "of its plan",
        };
        let limit = match most >= blocks_max {
            true => format!("the {blocks_max} blocks {whose} are done"),
            false => format!("the {blocks_max} blocks {whose} are too few to decide more"),
        };
        return stop_for_now((run, verdicts), done, &format!("{state}; {limit}"), &limit);
    }
    let left = budget.map(|budget| budget.left);
    let mut room = Room::of(&needs, (run, verdicts), made, left);
    if room.chosen.is_empty() {
        let once = needs.keys().map(|test| (*test, 1)).collect();
        room = Room::of(&once, (run, verdicts), made, left);
        let others = the_open(open.len(), done);
        let after = blocks_text(run, verdicts.blocks_done, blocks_max);
        if room.chosen.is_empty() {
            let why = format!("{state}; the budget was used up before it could decide {others}");
            let short_text = format!("budget used up after {after}");
            return stop_for_now((run, verdicts), done, &why, &short_text);
        }
        let short = format!("the rest of the budget is too short to decide {others}");
        if !is_asked {
            let short_text = format!("the budget left after {after} was too short to decide more");
            return stop_for_now((run, verdicts), done, &format!("{state}; {short}"), &short_text);
        }
        let takes =
            verdicts.seconds_of_resume(run).map(|seconds| format!(" (that takes about {})", about(seconds)));
        doubt.get_or_insert_with(|| Doubt {
            state: state.clone(),
            text: format!("the time is probably too short to decide {others}"),
            enough: takes.unwrap_or_default(),
        });
    }
    let Room { chosen, left_s } = room;
    let (windows_of_reads, longer_s) = windows_of_reads(plan, verdicts, &chosen, left_s);
    let plain_s = verdicts.timing.seconds_for(chosen.iter().map(|test| (test.as_str(), 1)));
    let block_s = plain_s + longer_s;
    let blocks = || chosen.iter().map(|test| needs[test.as_str()]);
    let ahead = Ahead {
        block_s,
        longer_s,
        later_s: verdicts.timing.seconds_for(chosen.iter().map(String::as_str).zip(blocks())) - plain_s,
        loads_s: loads_to_make_s(run, made, blocks().max().unwrap_or(0)),
        measured: verdicts.blocks_done,
        until: Until::End,
        budget_s: left.map(|left| left.as_secs_f64()),
        verdicts_within_s: None,
    };
    let tests = match &doubt {
        Some(_) => counted(chosen.len(), "test"),
        None => part_of(chosen.len(), counted(needs.len(), "test that more blocks can decide")),
    };
    Outlook {
        why: format!("block {}: {tests}; {state}; inconclusive: {}", next_number(run), kinds(&open)),
        share: OF_FIRST_VERDICTS + (1.0 - OF_FIRST_VERDICTS) * done as f64 / all.len().max(1) as f64,
        ahead: Some(ahead),
        open: Some(needs.len()),
        what: Next::Measure { tests: chosen, windows_of_reads },
        cost_decided: cost_decided(verdicts),
        reached: BTreeSet::new(),
        doubt,
    }
}

/// Those that are reached of the verdicts that blocks are measured for: `scan of new (rate)`.
fn reached(run: &Run, verdicts: &RunVerdicts) -> BTreeSet<String> {
    let all =
        verdicts.on_candidates().filter(|one| RunVerdicts::is_measured_for(one) && one.class.is_decided());
    all.map(|one| format!("{} of {} ({})", one.test, run.arms[one.arm].name, one.detector.key())).collect()
}

/// By test, the fewest further blocks that decide one of its open verdicts.
fn most_promising<'v>(
    open: &[&'v Verdict],
    blocks: impl Fn(&Verdict) -> Option<usize>,
) -> BTreeMap<&'v str, usize> {
    let mut needs: BTreeMap<&str, usize> = BTreeMap::new();
    for verdict in open {
        if let Some(more) = blocks(verdict) {
            let fewest = needs.entry(&verdict.test).or_insert(more);
            *fewest = (*fewest).min(more.max(1));
        }
    }
    needs
}

/// Further blocks of a test until its verdicts are examined again; `None` after the last time.
fn until_next_look(verdicts: &RunVerdicts, test: &str) -> Option<usize> {
    let done = verdicts.blocks_of_test.get(test).copied().unwrap_or(0);
    let next = verdicts.rules.looks.iter().find(|look| look.blocks > done)?;
    Some(next.blocks - done)
}

/// What the time that is left has room for.
struct Room {
    chosen: Vec<String>,
    /// Without the loads.
    left_s: f64,
}

impl Room {
    /// For tests that take so many blocks each.
    fn of(
        needs: &BTreeMap<&str, usize>,
        (run, verdicts): (&Run, &RunVerdicts),
        made: &BTreeSet<u32>,
        left: Option<Duration>,
    ) -> Self {
        let loads_s = loads_to_make_s(run, made, needs.values().copied().max().unwrap_or(0));
        let left_s = left.map_or(f64::INFINITY, |left| left.as_secs_f64() * OVERRUN - loads_s);
        Self { chosen: affordable(needs, verdicts, left_s), left_s }
    }
}

/// Ends a run of which more time would decide more, after so many verdicts that were reached. How many, reports tell.
fn stop_for_now(
    (run, verdicts): (&Run, &RunVerdicts),
    reached: usize,
    why: &str,
    short_text: &str,
) -> Outlook {
    let resume_s = verdicts.seconds_of_resume(run);
    let stop = Stop::new(why, short_text);
    Stop { resume_s, is_without_verdict: reached == 0, ..stop }.outlook()
}

/// Further blocks would decide none of the `open` verdicts.
fn undecidable(verdicts: &RunVerdicts, (open, reached): (&[&Verdict], usize), state: &str) -> Outlook {
    let (others, is_without_verdict) = (the_open(open.len(), reached), reached == 0);
    let invalid: BTreeSet<&str> = { open.iter() }
        .filter(|verdict| verdicts.keeps_being_invalid(verdict))
        .map(|verdict| verdict.test.as_str())
        .collect();
    let (why, short_text) = if invalid.is_empty() {
        (String::new(), "more blocks would probably decide nothing more".to_owned())
    } else {
        let tests = invalid.into_iter().collect::<Vec<_>>().join(", ");
        let why = format!(": windows of {tests} are invalid in half of the blocks or more");
        (why, format!("windows of {tests} keep being invalid"))
    };
    let stop =
        Stop::new(&format!("{state}; more blocks would probably not decide {others}{why}"), &short_text);
    Stop { is_without_verdict, ..stop }.outlook()
}

/// Nothing is left to measure. What has no valid result has no verdict that could be open.
fn all_reached(run: &Run, state: &str, verdicts: &[&Verdict]) -> Outlook {
    let every = format!("every verdict{} reached", subjects(verdicts));
    let lacking: BTreeSet<&str> =
        run.without_result().into_iter().map(|NoResult { step, .. }| step).collect();
    if lacking.is_empty() {
        return stop(state, &every);
    }
    let tests = format!("{} without a valid result on an arm", counted(lacking.len(), "test"));
    let short_text = match verdicts {
        [] => format!("no verdict; {tests}"),
        _ => format!("{every} but those on {tests}"),
    };
    stop(&format!("{state}; {tests}"), &short_text)
}

/// Tests whose verdicts the budget can pay for, the cheapest first.
fn affordable(needs: &BTreeMap<&str, usize>, verdicts: &RunVerdicts, left_s: f64) -> Vec<String> {
    let alone = |(test, blocks): (&&str, &usize)| verdicts.timing.seconds_for([(*test, *blocks)]);
    let mut order: Vec<(&&str, &usize)> = needs.iter().collect();
    order.sort_by(|a, b| alone(*a).total_cmp(&alone(*b)));
    let mut chosen: Vec<(&str, usize)> = Vec::new();
    for (test, blocks) in order {
        chosen.push((test, *blocks));
        if verdicts.timing.seconds_for(chosen.iter().copied()) > left_s {
            chosen.pop();
        }
    }
    chosen.into_iter().map(|(test, _)| test.to_owned()).collect()
}

/// Windows of each reading test in a block of these tests, and the seconds that the block gets longer by. A block
/// of few tests is mostly restarts, so it gets as many windows as take as long as all else in it: what its contrasts
/// err by is mostly the windows' own noise.
fn windows_of_reads(plan: &Plan, verdicts: &RunVerdicts, tests: &[String], left_s: f64) -> (u32, f64) {
    let planned = plan.blocks().windows;
    let reads = tests.iter().filter(|name| plan.step(name).is_some_and(|test| !test.writes)).count();
    let windows_s = windows_seconds(plan, reads);
    if windows_s <= 0.0 {
        return (planned, 0.0);
    }
    let block_s = verdicts.timing.seconds_for(tests.iter().map(|name| (name.as_str(), 1)));
    // No longer than lets the blocks until the next look end in time.
    let until_look = tests.iter().filter_map(|test| until_next_look(verdicts, test)).max().unwrap_or(1);
    let longest_s = (2.0 * (block_s - windows_s)).min(left_s / until_look as f64);
    let times = 1.0 + (longest_s - block_s) / windows_s;
    let windows = times.clamp(1.0, WINDOWS_TIMES_MAX) as u32 * planned;
    // An even number, since windows are mirrored.
    let windows = if windows == 1 { 1 } else { windows.min(*limits::WINDOWS.end() as u32) / 2 * 2 };
    (windows, windows_s * (f64::from(windows) / f64::from(planned) - 1.0))
}

/// Tests whose cost is decided on every arm.
fn cost_decided(verdicts: &RunVerdicts) -> BTreeSet<String> {
    let costs = || verdicts.judgement.verdicts.iter().filter(|verdict| verdict.detector == Detector::Cost);
    let open: BTreeSet<&str> =
        costs().filter(|verdict| !verdict.class.is_decided()).map(|verdict| verdict.test.as_str()).collect();
    costs().map(|v| v.test.clone()).filter(|test| !open.contains(test.as_str())).collect()
}

impl Stop {
    fn new(why: &str, short_text: &str) -> Self {
        let (why, short_text) = (why.to_owned(), short_text.to_owned());
        Self { why, resume_s: None, short_text, is_without_verdict: false }
    }

    fn outlook(self) -> Outlook {
        let what = Next::Stop(self);
        let (cost_decided, reached) = Default::default();
        let (why, ahead, open, doubt) = Default::default();
        Outlook { what, why, share: 1.0, ahead, open, cost_decided, reached, doubt }
    }
}

fn stop(why: &str, short_text: &str) -> Outlook {
    Stop::new(why, short_text).outlook()
}

#[cfg(test)]
#[path = "next_tests.rs"]
mod tests;
