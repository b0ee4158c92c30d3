//! What is inconclusive in a run, and what it would take to decide it.

use rqps_model::counted;
use rqps_stats::{Class, Detector, Metric, Tag, Verdict};
use rqps_store::Status;
use rqps_verdicts::{
    RunVerdicts, WindowOrder, about, block_seconds, host_doubt, minutes_to_give, resume_command,
    seconds_of_resume,
};
use std::collections::BTreeSet;

use crate::verdict_lines::{Judged, Line};
use crate::words;

/// An open rate whose interval is further than this factor from base's is named: it would be a large change.
const CLEAR_FACTOR: f64 = 1.25;

/// Of a run that a process is measuring.
const GOES_ON: &str = "While the run goes on, it decides more if its budget allows.";

/// How many verdicts are inconclusive, and what it would take to decide them.
pub(crate) fn open(judged: &Judged<'_>, lines: &[Line<'_>]) -> Option<String> {
    let open: Vec<&Verdict> =
        lines.iter().flat_map(Line::judged).filter(|verdict| verdict.class == Class::Inconclusive).collect();
    if judged.lack_results(&open) {
        return Some(format!("{} inconclusive: there is no valid result.", verdicts_are(lines, &open, "")));
    }
    let (invalid, others): (Vec<&Verdict>, Vec<&Verdict>) =
        open.into_iter().partition(|verdict| judged.verdicts.keeps_being_invalid(verdict));
    let invalid = (!invalid.is_empty()).then(|| keeps_being_invalid(lines, &invalid));
    // Of several arms, some may lack a pass that others have.
    let lacks = |verdict: &&Verdict| verdict.blocks < judged.blocks_min();
    let (lacking, others): (Vec<&Verdict>, Vec<&Verdict>) =
        others.into_iter().partition(|verdict| judged.run.meta.protocol == "sequence" && lacks(verdict));
    let word = |is_first: bool| if is_first { "" } else { " more" };
    let words = [word(invalid.is_none()), word(invalid.is_none() && lacking.is_empty())];
    let groups = [lacking, others].into_iter().zip(words);
    let open = groups.filter_map(|(group, more)| others_open(judged, lines, (group, more)));
    // A command comes last.
    let sentences: Vec<String> = invalid.into_iter().chain(open).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Why most of all verdicts are inconclusive, if the host was not quiet. Reports say it once, whatever the arms.
pub(crate) fn not_quiet(judged: &Judged<'_>) -> Option<String> {
    let lines = judged.all_lines();
    let verdicts: Vec<&Verdict> = lines.iter().flat_map(Line::judged).collect();
    let open = verdicts.iter().filter(|verdict| verdict.class == Class::Inconclusive).count();
    let is_enough = judged.verdicts.blocks_done >= judged.blocks_min();
    if !is_enough || 2 * open <= verdicts.len() || judged.run.meta.is_imported() {
        return None;
    }
    let doubt = host_doubt(&judged.run.certificates.before, WindowOrder::of(judged.run));
    doubt.map(|doubt| format!("Before the run the host was {doubt}."))
}

/// `2 verdicts on cost are`; `more` is `""`, or `" more"` after other verdicts.
fn verdicts_are(lines: &[Line<'_>], open: &[&Verdict], more: &str) -> String {
    let of = by_detector(lines, open);
    match open.len() {
        1 => format!("1{more} verdict{of} is"),
        count => format!("{count}{more} verdicts{of} are"),
    }
}

/// What more blocks would not decide.
fn keeps_being_invalid(lines: &[Line<'_>], open: &[&Verdict]) -> String {
    let tests: BTreeSet<&str> = open.iter().map(|verdict| verdict.test.as_str()).collect();
    let tests: Vec<&str> = tests.into_iter().collect();
    format!(
        "{} inconclusive, and more blocks would not decide that: windows of {} are invalid in half of the blocks or more.",
        verdicts_are(lines, open, ""),
        tests.join(", ")
    )
}

/// The same of verdicts whose windows are valid.
fn others_open(
    judged: &Judged<'_>,
    lines: &[Line<'_>],
    (open, more_than): (Vec<&Verdict>, &str),
) -> Option<String> {
    let is_asked = |one: &Verdict| {
        lines.iter().flat_map(|line| &line.judged_resources).any(|asked| asked.detector == one.detector)
    };
    let blocks = open.iter().filter_map(|verdict| judged.verdicts.blocks_needed(verdict)).max().unwrap_or(0);
    let seconds = if blocks > 0 { judged.verdicts.seconds_to_decide(is_asked) } else { 0.0 };
    let verdicts_are = verdicts_are(lines, &open, more_than);
    let (done, least) = (judged.verdicts.blocks_done, judged.blocks_min());
    if !open.is_empty() && done < least && judged.run.meta.protocol == "isolated" {
        return Some(first_verdicts(judged, &verdicts_are, (done, least)));
    }
    let most = open.iter().map(|verdict| verdict.blocks).max().unwrap_or(0);
    if most > 0 && most < least && !judged.run.meta.is_imported() {
        let there_are = if most == 1 { "is one".to_owned() } else { format!("are {most}") };
        let state = format!(
            "{verdicts_are} open: a verdict takes {least} blocks that an arm and base measured side by side, and \
             there {there_are}."
        );
        let is_too_short = judged.run.blocks.len() < least;
        return Some(match judged.run.meta.protocol == "isolated" {
            true => with_more(judged, &state, (least - most, seconds)),
            false if judged.run.state() == Status::Interrupted => {
                format!(
                    "{state} The run was interrupted; `rqps resume {}` continues it.",
                    judged.run.folder.name()
                )
            }
            false if judged.run.state() == Status::Running => {
                format!("{state} {GOES_ON}")
            }
            false if is_too_short => {
                format!("{state} Run the plan with `passes = {least}` or more to decide them.")
            }
            false => format!("{state} Run the plan again to decide more."),
        });
    }
    let is_beyond = |verdict: &&&Verdict| {
        let more = RunVerdicts::blocks_to_resolve(verdict);
        verdict.tags.contains(&Tag::BeyondLooks)
            || more.is_some_and(|more| !judged.verdicts.allows(&verdict.test, more))
    };
    let noisy = open.iter().filter(is_beyond).count();
    let state = match noisy {
        0 => format!("{verdicts_are} inconclusive."),
        noisy if noisy == open.len() => format!("{verdicts_are} inconclusive: too noisy."),
        1 => format!("{verdicts_are} inconclusive; 1 of them is too noisy."),
        noisy => format!("{verdicts_are} inconclusive; {noisy} of them are too noisy."),
    };
    let state = match furthest(open.iter().copied()) {
        Some(most) => format!("{state} {}", not_called(judged, most)),
        None => state,
    };
    let them = match (noisy, open.len()) {
        (0, 1) => "it".to_owned(),
        (0, _) => "them".to_owned(),
        (noisy, all) if all > noisy + 1 => format!("the other {}", all - noisy),
        _ => "the other".to_owned(),
    };
    match (open.is_empty(), seconds > 0.0) {
        (true, _) => None,
        _ if judged.run.meta.is_imported() => Some(open_of_import(judged, &open, &verdicts_are, state)),
        (false, false) if noisy == open.len() => Some(state),
        (false, true) if judged.run.meta.protocol == "isolated" => {
            let outcome = format!("would probably decide {them}");
            Some(with_resume(judged, &state, (blocks, seconds), ("block of open tests", &outcome)))
        }
        (false, true) => Some(format!("{state} More `passes` in its plan would probably decide {them}.")),
        (false, false) if judged.run.status.status == Status::Complete => Some(state),
        (false, false) => Some(format!("{state} It is too early to say how much longer to measure.")),
    }
}

/// ` on rate`, ` (1 on cost, 7 on CPU time)`: what is open of all that is judged. Empty where only one thing is.
fn by_detector(lines: &[Line<'_>], open: &[&Verdict]) -> String {
    let judged: BTreeSet<Detector> = lines.iter().flat_map(Line::judged).map(|one| one.detector).collect();
    let count = |detector: Detector| open.iter().filter(|verdict| verdict.detector == detector).count();
    let counts = Detector::ALL
        .into_iter()
        .map(|one| (count(one), words::subject(one)))
        .filter(|(count, _)| *count > 0);
    match counts.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        _ if judged.len() < 2 => String::new(),
        [(_, name)] => format!(" on {name}"),
        several => {
            let counts: Vec<String> =
                several.iter().map(|(count, name)| format!("{count} on {name}")).collect();
            format!(" ({})", counts.join(", "))
        }
    }
}

/// How long until a run of blocks has verdicts: before that, little is known of what would decide them.
fn first_verdicts(judged: &Judged<'_>, verdicts_are: &str, (done, least): (usize, usize)) -> String {
    let so_far = match done {
        0 => "none is".to_owned(),
        1 => "one is".to_owned(),
        many => format!("{many} are"),
    };
    let state = format!("{verdicts_are} open: a verdict takes {least} blocks, and {so_far} done.");
    match block_seconds(judged.run) {
        None => state,
        Some(block_s) => with_more(judged, &state, (least - done, block_s * (least - done) as f64)),
    }
}

/// How a resume measures so many blocks more, which take some seconds, if there may be so many.
fn with_more(judged: &Judged<'_>, state: &str, (blocks, seconds): (usize, f64)) -> String {
    let run = judged.run;
    let ended = run.blocks_done();
    let most = judged.verdicts.rules.looks.last().map_or(0, |look| look.blocks);
    if ended + blocks > most {
        return format!("{state} More than {most} blocks would not decide more: measure anew.");
    }
    with_resume(judged, state, (blocks, seconds), ("block", "would give the first verdicts"))
}

/// What the outcome of so many blocks more would be, at most, which take some seconds, and how to measure them; a run
/// that is going on does by itself. `block`: what is measured in each, since it need not be all tests.
fn with_resume(
    judged: &Judged<'_>,
    state: &str,
    needed: (usize, f64),
    (block, outcome): (&str, &str),
) -> String {
    let state_of_run = judged.run.state();
    if state_of_run == Status::Running {
        return format!("{state} {GOES_ON}");
    }
    let seconds = seconds_of_resume(judged.run, needed, state_of_run == Status::Complete);
    let (seconds, command) = match state_of_run {
        // What is left of its time is that of the resume.
        Status::Interrupted => (seconds, format!("rqps resume {}", judged.run.folder.name())),
        _ => (60.0 * minutes_to_give(seconds) as f64, resume_command(&judged.run.folder, seconds)),
    };
    format!("{state} About {} more ({}) {outcome}: {command}", about(seconds), counted(needed.0, block))
}

/// The open rate that is furthest from base's, if its interval keeps a distance.
pub(crate) fn furthest<'v>(verdicts: impl Iterator<Item = &'v Verdict>) -> Option<&'v Verdict> {
    furthest_of(verdicts, |one| one.low.max(1.0 / one.high) >= CLEAR_FACTOR)
}

fn furthest_of<'v>(
    verdicts: impl Iterator<Item = &'v Verdict>,
    is_meant: impl Fn(&Verdict) -> bool,
) -> Option<&'v Verdict> {
    let is_open = |one: &Verdict| one.class == Class::Inconclusive && is_of_time(one);
    let found = verdicts.filter(|one| is_open(one) && is_meant(one));
    found.max_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn is_of_time(one: &Verdict) -> bool {
    one.detector == Detector::Rate || one.metric == Metric::CpuUs
}

/// How far a ratio is from 1 in either direction.
pub(super) fn distance(one: &Verdict) -> f64 {
    one.ratio.ln().abs()
}

/// `after 1 block, no verdict yet: scan differs most, at 0.016 times base's rate`: what too few blocks for a verdict
/// show, if it is large and larger than any difference of base from itself.
pub(crate) fn before_verdicts(judged: &Judged<'_>, lines: &[Line<'_>]) -> Option<String> {
    if judged.has_verdicts() {
        return None;
    }
    let of_control =
        judged.verdicts.judgement.verdicts.iter().filter(|one| one.is_control && is_of_time(one));
    let least = of_control.map(distance).fold(CLEAR_FACTOR.ln(), f64::max);
    let most = furthest_of(lines.iter().flat_map(Line::judged), |one| distance(one) > least)?;
    Some(format!(
        "after {}, {} differs most, at {}",
        counted(most.blocks, judged.sample()),
        place_of(judged, most),
        words::times_base(most)
    ))
}

/// What is known of a rate that differs much and stays open.
fn not_called(judged: &Judged<'_>, most: &Verdict) -> String {
    let noun = judged.sample();
    let few = match most.blocks {
        1 => format!("one {noun} is"),
        several => format!("{} are", counted(several, noun)),
    };
    format!(
        "{} differs most: it is at {}, which {few} not enough to call a change.",
        place_of(judged, most),
        words::times_base(most)
    )
}

/// The test of a verdict, with its arm where several are compared with base.
fn place_of(judged: &Judged<'_>, one: &Verdict) -> String {
    match judged.candidates().count() {
        0 | 1 => one.test.clone(),
        _ => format!("{} on {}", one.test, judged.run.arms[one.arm].name),
    }
}

/// Nothing here can measure more: whoever measured can repeat it.
fn open_of_import(judged: &Judged<'_>, open: &[&Verdict], verdicts_are: &str, state: String) -> String {
    let (done, least) = (judged.verdicts.blocks_done, judged.blocks_min());
    if done < least {
        return format!(
            "{verdicts_are} open: a verdict takes {least} repeats of every arm, and there are {done}."
        );
    }
    let equal = open.iter().filter(|verdict| RunVerdicts::has_one_ratio(verdict)).count();
    let to_resolve = |verdict: &&Verdict| {
        RunVerdicts::blocks_to_resolve(verdict).filter(|_| !RunVerdicts::has_one_ratio(verdict))
    };
    let needed: Vec<usize> = open.iter().filter_map(to_resolve).collect();
    let them = match (open.len(), needed.len()) {
        (1, _) => "it",
        (all, needed) if all == needed => "them",
        (_, 1) => "the other",
        _ => "the others",
    };
    let state = match equal {
        0 => state,
        equal => format!(
            "{state} The repeats of {equal} have one and the same ratio to the last digit: they are not independent."
        ),
    };
    let more = needed.iter().max().map(|repeats| {
        let more = if *repeats == 1 { "1 more repeat".to_owned() } else { format!("{repeats} more repeats") };
        format!(" {more} of every arm would probably decide {them}.")
    });
    state + &more.unwrap_or_default()
}
