//! `series`: each test over many versions of a DBMS, and what came with which version.

use crate::args::SeriesArgs;
use crate::context::Context;
use crate::series::journal::Journal;
use crate::series::measure::{measure, plan, read, resume};
use crate::series::versions::{Found, find, requests};
use crate::two_builds::{BuildArg, TwoBuilds};
use crate::{EXIT_INCONCLUSIVE, Usage, out, search};
use rqps_model::Dbms;
use rqps_model::counted;
use rqps_plan::Plan;
use rqps_plan::estimate::duration_text;
use rqps_report::Series;
use rqps_store::RunFolder;
use rqps_verdicts::{judge_run, rules_of};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The default plan.
const PLAN: &str = "verdicts";
/// The page, in the folder of the runs.
const PAGE: &str = "series.html";

pub fn run(context: &Context, args: &SeriesArgs) -> anyhow::Result<ExitCode> {
    let dbms: Dbms = args.dbms.parse().map_err(|error| Usage(format!("{error}")))?;
    let budget = search::budget(args.budget.as_deref())?;
    let until = budget.map(|budget| Instant::now() + budget);
    args.html.as_deref().map_or(Ok(()), check_page)?;
    let requests = requests(context, dbms, &args.versions)?;
    // What is wrong with the plan is told before builds are downloaded.
    if let [first, .., last] = &requests[..] {
        template(args, [first, last].map(|request| format!("{dbms}-{}", request.version)))?;
    }
    let mut found = find(context, dbms, requests)?;
    let anchor = found.known[0].clone();
    let template = template(args, [0, 1].map(|at| found.known[at].build.to_string()))?;
    let name = format!("series-{dbms}-{}", anchor.version);
    let mut journal = Journal::open(&search::folder(context, &name, &of_anchor(&template))?)?;
    resume(context, &mut journal)?;
    announce(&journal, &template, &found)?;
    let ended = decide(context, &journal, &template, &found, until)?
        || chain(context, &mut journal, &template, &mut found, until)?;
    if ended {
        search::say_budget_is_over();
    }
    let is_decided = conclude(context, args, &journal, &found)?;
    let is_complete = is_decided && journal.missing(&versions(&found)).is_empty();
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(EXIT_INCONCLUSIVE) })
}

/// Refuses a place where no page can be written, before anything is measured.
fn check_page(page: &Path) -> Result<(), Usage> {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    let why = match page.parent() {
        _ if page.is_dir() => "is a folder; name a file".to_owned(),
        Some(folder) if !folder.is_dir() => {
            format!("cannot be written: there is no folder {}", folder.display())
        }
        _ => return Ok(()),
    };
    Err(Usage(format!("--html {} {why}", page.display())))
}

/// Measures more blocks of links that an earlier call left without verdicts. True if the time is over.
fn decide(
    context: &Context,
    journal: &Journal,
    template: &Plan,
    found: &Found,
    until: Option<Instant>,
) -> anyhow::Result<bool> {
    for link in journal.wanted(&versions(found)) {
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(true);
        }
        let folder = journal.folder().join(&link.run);
        if has_verdicts(&folder, &link.after)? {
            continue;
        }
        let known = |version: &str| found.known.iter().find(|one| one.version == version);
        let (Some(before), Some(after)) = (known(&link.before), known(&link.after)) else { continue };
        let seconds = search::first_verdicts_seconds(&plan(template, &found.known[0], before, after)?);
        let more = Duration::from_secs_f64(seconds).max(template.budget.unwrap_or_default());
        let what = format!("{} after {}", link.after, link.before);
        search::measure_more(context, &folder, &what, more)?;
        crate::verbs::run::write_report(&folder)?;
    }
    Ok(false)
}

/// Whether a link has blocks enough.
fn has_verdicts(folder: &Path, after: &str) -> anyhow::Result<bool> {
    let run = RunFolder::open(folder)?;
    let Some(arm) = run.arms.iter().position(|arm| arm.build_version == after) else { return Ok(true) };
    Ok(judge_run(&run, &rules_of(&run)?)?.has_looked(arm))
}

/// Measures the missing links, oldest first; a version that can't be measured is left out. True if the time is over.
fn chain(
    context: &Context,
    journal: &mut Journal,
    template: &Plan,
    found: &mut Found,
    until: Option<Instant>,
) -> anyhow::Result<bool> {
    let anchor = found.known[0].clone();
    loop {
        let all = found.known.clone();
        let missing = journal.missing(&versions(found));
        let Some((before, after)) = missing.first() else { return Ok(false) };
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(true);
        }
        let known = |version: &str| all.iter().find(|one| one.version == version);
        let (Some(before), Some(after)) = (known(before), known(after)) else { return Ok(false) };
        out::message(&format!(
            "\n{} after {}, {} to go",
            after.version,
            before.version,
            counted(missing.len(), "link")
        ));
        if let Some(why) = measure(context, journal, template, &anchor, (before, after))? {
            out::message(&format!("skipping {}: {why}", after.version));
            found.known.retain(|one| one.version != after.version);
            found.skipped.push((after.version.clone(), why));
        }
    }
}

fn versions(found: &Found) -> Vec<&str> {
    found.known.iter().map(|one| &*one.version).collect()
}

/// The plan that links are made of; its arms stand for any two versions.
fn template(args: &SeriesArgs, [first, second]: [String; 2]) -> anyhow::Result<Plan> {
    let arm = |arm, build| BuildArg { argument: "VERSIONS", arm, build };
    TwoBuilds {
        name: "link",
        plan: args.plan.as_deref().unwrap_or(PLAN),
        arms: [arm("first", &first), arm("second", &second)],
        config: args.config.as_deref(),
        tests: &args.tests,
        tests_argument: "--tests",
        budget: None,
    }
    .plan()
}

/// What decides which folder is continued: later versions may be added to it.
fn of_anchor(template: &Plan) -> Plan {
    let mut plan = template.clone();
    plan.arms.truncate(1);
    plan
}

/// Says what will be measured and about how long that takes.
fn announce(journal: &Journal, template: &Plan, found: &Found) -> anyhow::Result<()> {
    let versions = versions(found);
    let missing = journal.missing(&versions).len();
    if missing == 0 {
        return Ok(());
    }
    let done = versions.len() - 1 - missing;
    let state = if done > 0 { format!("; {} measured before", counted(done, "link")) } else { String::new() };
    let last =
        plan(template, &found.known[0], &found.known[versions.len() - 2], &found.known[versions.len() - 1])?;
    let most = template.budget.map_or_else(
        || format!("until {} blocks decide", template.blocks().blocks_max),
        |budget| {
            let budget = duration_text(budget.as_secs_f64());
            match template.blocks().blocks_min {
                0 => format!("at most {budget} each"),
                least => format!("at most {budget} each, but {least} blocks at least"),
            }
        },
    );
    let needed_s = search::first_verdicts_seconds(&last) * missing as f64;
    out::message(&format!(
        "{}: {}{state}\nneeds       about {} until the first verdicts of {}{}, {most}. Ctrl-C stops, the same command \
         continues",
        counted(versions.len(), "version"),
        versions.join(", "),
        duration_text(needed_s),
        counted(missing, "link"),
        crate::busy::Busy::beside(needed_s).note(),
    ));
    Ok(())
}

/// Prints what was found and writes the page. True if each link has verdicts.
fn conclude(context: &Context, args: &SeriesArgs, journal: &Journal, found: &Found) -> anyhow::Result<bool> {
    let measured = journal.measured(&versions(found));
    if measured.len() < 2 {
        return Ok(false);
    }
    let links = read(journal, &found.known[0].version)?;
    let series = Series::new(&measured, &links, &found.skipped)?;
    out::print_line(&series.render(context.format, context.screen())?)?;
    let page: PathBuf = args.html.clone().unwrap_or_else(|| journal.folder().join(PAGE));
    out::write_file(&page, series.page())?;
    out::message(&format!("runs        {}\npage        {}", journal.folder().display(), page.display()));
    let undecided = series.undecided();
    if !undecided.is_empty() {
        let named = undecided.join(", ");
        out::message(&format!("no verdict  on {named}: too few blocks; the same command measures more"));
    }
    Ok(undecided.is_empty())
}
