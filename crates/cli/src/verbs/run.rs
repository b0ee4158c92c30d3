//! `run`: run a plan and write its report.

mod hopeless;

use super::plan::{check_plan, read_with_configs, set_budget};
use crate::args::{RunArgs, SectionArgs};
use crate::build_progress::with_build_progress;
use crate::busy::Busy;
use crate::context::Context;
use crate::cut_off::kept;
use crate::database::take_dump;
use crate::human;
use crate::kit::KIT;
use crate::mistakes::{complete, elsewhere};
use crate::progress::{Progress, with_quiet_spinner};
use crate::search::{first_verdicts_seconds, verdict_blocks};
use crate::{EXIT_FAILED, Usage, out};
use anyhow::Context as _;
use rqps_builds::Dirs;
use rqps_executor::{Ending, Execution, Finish, Ingredients, Needs, TimeLeft, Without, verdicts_within_s};
use rqps_model::counted;
use rqps_plan::estimate::duration_text;
use rqps_plan::isolated::{block_seconds, windows_seconds};
use rqps_plan::{CheckedPlan, Plan, Protocol};
use rqps_stats::Rules;
use rqps_store::{NoResult, RunFolder, UPGRADE_FILE, Until};
use rqps_verdicts::{CERTIFICATE_SECONDS, about, minutes_to_give};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hopeless::rounded_up;
pub use hopeless::{Hopeless, refuse_hopeless, seconds_without_counting};

/// File name of the Markdown report in a run folder.
const REPORT_FILE: &str = "report.md";
/// File name of the HTML report.
pub const PAGE_FILE: &str = "report.html";

pub fn run(context: &Context, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let CheckedPlan { mut plan, builds, .. } = read_with_configs(context, &args.plan)?;
    if let Some(label) = &args.label {
        plan.name.clone_from(label);
    }
    if let Some(budget) = &args.budget {
        if plan.protocol != Protocol::Isolated {
            let why = "it is a sequence, which runs to its end; only protocol = \"isolated\" has a budget";
            return Err(Usage(format!("--budget does not apply to the plan {}: {why}", args.plan)).into());
        }
        set_budget(&mut plan, budget)?;
    }
    fit_to_budget(&mut plan, Hopeless::FOR_BLOCKS).map_err(|Usage(why)| {
        let why = format!("{}: {why}", args.plan);
        complete(context, elsewhere(&args.plan, (&plan, builds), vec![why]))
    })?;
    let mut execution = begin(context, plan)?;
    if args.keep_data {
        execution.keep_data();
    }
    execute(context, execution)
}

/// Leaves out counting instructions under valgrind if the first verdicts would come after the budget with it: three
/// MySQL servers take longer to count than to measure.
pub fn count_only_what_fits(plan: &mut Plan) {
    let Some(budget_s) = plan.budget.map(|budget| budget.as_secs_f64()) else { return };
    let Some(quiet_s) = seconds_with_counting(plan) else { return };
    let now_s = now_seconds(plan, quiet_s);
    if now_s > budget_s {
        let needed_s = if quiet_s > budget_s { quiet_s } else { now_s };
        plan.isolated.iter_mut().for_each(|blocks| {
            (blocks.count_instructions, blocks.counting_budget_s) = (false, Some(needed_s));
        });
        out::message(&not_counted(budget_s, (quiet_s, now_s)));
    }
}

/// Seconds until the first verdicts, as others use the CPUs now, of a plan that takes `quiet_s` on a quiet host.
fn now_seconds(plan: &Plan, quiet_s: f64) -> f64 {
    let windows_s = windows_seconds(plan, plan.workload.steps.len()) * verdict_blocks() as f64;
    Busy::beside(quiet_s).seconds(quiet_s, windows_s)
}

/// Why instructions are not counted, and the budget that would do on a quiet host, and on this one beside others.
fn not_counted(budget_s: f64, (quiet_s, now_s): (f64, f64)) -> String {
    let budget = |seconds: f64| format!("--budget {:.0}m", (seconds / 60.0).ceil());
    let (quiet, now) = (budget(quiet_s), format!("{} while others use as much as now", budget(now_s)));
    let enough = match (quiet_s > budget_s, now_s > quiet_s) {
        (true, false) => quiet,
        (true, true) => format!("{quiet} on a quiet host, or {now}"),
        (false, _) => now,
    };
    format!(
        "costs are CPU time: the budget of {} is too short to count instructions as well; the first verdicts would have \
         both with {enough}",
        duration_text(budget_s)
    )
}

/// The same plan with as little in a block as [`fit_windows`] may leave.
pub fn with_one_window(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.isolated.iter_mut().for_each(|blocks| blocks.windows = 1);
    plan
}

/// Leaves every arm one window of a test in a block if the first verdicts would come after the budget with more. The
/// run ends with them then, so that they have most of the error.
pub fn fit_windows(plan: &mut Plan) {
    count_only_what_fits(plan);
    let Some(budget_s) = plan.budget.map(|budget| budget.as_secs_f64()) else { return };
    let (windows, seconds) = (plan.blocks().windows, first_verdicts_seconds(plan));
    if windows == 1 || seconds <= budget_s {
        return;
    }
    let quiet = if Busy::beside(seconds).is_busy() { " on a quiet host" } else { "" };
    let first = verdict_blocks();
    plan.isolated.iter_mut().for_each(|blocks| (blocks.windows, blocks.blocks_max) = (1, first as u32));
    out::message(&format!(
        "{first} blocks with one window of each test: with {windows} the first verdicts would take about {}{quiet}, \
         more than the budget of {}",
        duration_text(seconds),
        duration_text(budget_s),
    ));
}

/// Gives the looks that the budget is expected to reach most of the error, which looks that a run never reaches would
/// keep. Of the blocks after the first verdicts only open tests are measured: half of them, on average.
fn expect_blocks(plan: &mut Plan) {
    let Some(budget_s) = plan.budget.map(|budget| budget.as_secs_f64()) else { return };
    let first = verdict_blocks();
    let (first_s, block_s) = (first_verdicts_seconds(plan), block_seconds(plan, plan.workload.steps.len()));
    let is_reached = |blocks: usize| first_s + block_s / 2.0 * (blocks - first) as f64 <= budget_s;
    let looks = Rules::default().looks;
    let reached = looks.iter().map(|look| look.blocks).take_while(|blocks| is_reached(*blocks));
    let expected = reached.last().unwrap_or(first).max(plan.blocks().blocks_min as usize);
    plan.isolated.iter_mut().for_each(|blocks| blocks.blocks_expected = u32::try_from(expected).ok());
}

/// Has a plan whose verdicts need not come after the budget count only what fits, and foresees its blocks.
///
/// # Errors
/// If the budget of a new run is hopeless: it would end without a verdict.
pub fn fit_to_budget(plan: &mut Plan, hopeless: Hopeless) -> Result<(), Usage> {
    refuse_hopeless(plan, hopeless)?;
    if plan.blocks().blocks_min == 0 {
        count_only_what_fits(plan);
    }
    expect_blocks(plan);
    Ok(())
}

/// Estimated seconds until the first verdicts of a plan whose instructions are counted under valgrind.
pub fn seconds_with_counting(plan: &Plan) -> Option<f64> {
    let is_counted = plan.isolated.as_ref().is_some_and(|blocks| blocks.count_instructions)
        && rqps_probe::counts_instructions().is_err()
        && rqps_servers::instrument::available().is_some();
    is_counted.then(|| first_verdicts_seconds(plan))
}

/// Gets the builds of a plan and creates its run folder.
pub fn begin(context: &Context, plan: Plan) -> anyhow::Result<Execution> {
    begin_in(context, plan, context.made_results()?)
}

/// The same in another results directory.
pub fn begin_in(context: &Context, plan: Plan, results: &Path) -> anyhow::Result<Execution> {
    begin_told(context, plan, results, &[])
}

/// The same without warnings about unknown options that the user was `told` of.
pub fn begin_told(
    context: &Context,
    mut plan: Plan,
    results: &Path,
    told: &[String],
) -> anyhow::Result<Execution> {
    let builds: BTreeSet<String> = plan.arms.iter().map(|arm| arm.build.to_string()).collect();
    let what = format!("getting {}", counted(builds.len(), "build"));
    let ingredients = with_build_progress(context, &what, None, |watch| {
        rqps_executor::resolve(&KIT, &plan, &context.dirs, watch)
    })?;
    for (arm, ingredients) in plan.arms.iter().zip(&ingredients) {
        let build = &ingredients.build;
        let (version, hash, config) = (build.label(), build.short_hash(), &ingredients.config.name);
        let config = if config.is_empty() { String::new() } else { format!(", config {config}") };
        out::message(&format!("arm {}: {version} ({hash}){config}", arm.name));
        for note in &build.notes {
            out::message(&format!("  note: {note}"));
        }
    }
    context.before_a_run(|| warn_of_own_configs(&plan, &ingredients, &context.dirs, told))?;
    // A dump may take hours: what can be refused before is.
    let taken = take_dump(context, &plan, &results.join(format!(".dump-{}.sql", std::process::id())))?;
    if let Some(taken) = &taken {
        plan = check_plan(&taken.plan, "the dump")?.plan;
    }
    let dump = taken.as_ref().map(|taken| &*taken.file);
    let needs = Needs::of(&plan, &ingredients, &context.dirs).check()?;
    let (told, busy) = announce_needs(&plan, &needs, (plan.budget, Work::All));
    warn_of_many_clients(&plan);
    warn_about_families(&plan, &ingredients);
    for (arm, one) in plan.arms.iter().zip(&ingredients) {
        if let Some(doubt) = one.system.doubt(&one.config, &context.dirs.work) {
            out::message(&format!("warning: arm {}: {doubt}", arm.name));
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    let mut execution =
        rqps_executor::begin(&KIT, plan, ingredients, &context.dirs, (results, dump), version)?;
    execution.set_told(told, busy.longer());
    Ok(execution)
}

/// Says what the rest of a resumed run takes.
///
/// # Errors
/// If the host has no room for it, or the run cannot be read.
pub fn announce_rest(context: &Context, execution: &mut Execution) -> anyhow::Result<()> {
    if let Some(needs) = Needs::of_rest(execution, &context.dirs)? {
        let needs = needs.check()?;
        let (told, busy) = announce_needs(execution.plan(), &needs, (execution.budget(), Work::Rest));
        execution.set_told(told, busy.longer());
    }
    Ok(())
}

/// Warns of options in own configs that only some arms know, but for those that the user was `told` of, and of values
/// that this machine or a build lacks.
///
/// # Errors
/// If no arm knows an option.
pub fn warn_of_own_configs(
    plan: &Plan,
    ingredients: &[Ingredients],
    dirs: &Dirs,
    told: &[String],
) -> anyhow::Result<()> {
    let mut checked = with_quiet_spinner("checking the options of the configs", || {
        rqps_executor::check_own_configs(plan, ingredients, dirs)
    })?;
    checked.iter_mut().for_each(|without| without.options.retain(|option, _| !told.contains(option)));
    warn_of_left_out(plan, ingredients, &checked, dirs)
}

/// Warns of options that some arms leave out since their builds do not know them, of values that this machine or a
/// build lacks, and of numbers in whose place a build uses others.
pub fn warn_of_left_out(
    plan: &Plan,
    ingredients: &[Ingredients],
    without: &[Without],
    dirs: &Dirs,
) -> anyhow::Result<()> {
    for without in without.iter().filter(|without| !without.options.is_empty()) {
        out::message(&format!("warning: {without}"));
    }
    let lacking = rqps_executor::lacking_in_own_configs(plan, ingredients, dirs)?;
    for line in lacking.into_iter().chain(rqps_executor::adjusted_in_own_configs(plan, ingredients, dirs)?) {
        out::message(&format!("warning: {line}"));
    }
    Ok(())
}

/// What is announced.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    /// A new run.
    All,
    /// What is left of a resumed one.
    Rest,
}

/// Says how long the run takes, or its first verdicts, and how much room it needs. Returns the time, and how busy the
/// host is.
fn announce_needs(plan: &Plan, needs: &Needs, (budget, work): (Option<Duration>, Work)) -> (TimeLeft, Busy) {
    let TimeLeft { seconds: quiet_s, until } = needs.time;
    let is_until_verdicts = until == Until::FirstVerdicts;
    let more = if work == Work::Rest { " more" } else { "" };
    let until_verdicts = if is_until_verdicts { " until the first verdicts" } else { "" };
    let budget_text =
        budget.map_or_else(String::new, |all| format!(" (budget {})", duration_text(all.as_secs_f64())));
    let caches = match needs.cache_bytes {
        0 => String::new(),
        bytes => {
            let sessions = match needs.has_many_sessions() {
                true => format!(" and {} for sessions", human::bytes(needs.session_bytes)),
                false => String::new(),
            };
            let (cache, memory) = (human::bytes(bytes), human::bytes(needs.memory_bytes));
            format!(", {cache} of cache{sessions} ({memory} of memory)")
        }
    };
    let certificates = if work == Work::Rest { 1.0 } else { 2.0 };
    let certificates_s = if plan.certificate { certificates * CERTIFICATE_SECONDS } else { 0.0 };
    let busy = Busy::beside(quiet_s);
    let needed_s = busy.seconds(quiet_s, needs.windows_seconds);
    let (told_s, note) = match is_until_verdicts && needed_s > quiet_s {
        true => (needed_s + certificates_s, busy.note_of(quiet_s + certificates_s)),
        false => (quiet_s + certificates_s, busy.note()),
    };
    let logs = match needs.log_bytes {
        few if few <= needs.data_bytes / 10 => String::new(),
        bytes => format!(" and up to {} for logs", human::bytes(bytes)),
    };
    let place = match needs.places.is_empty() {
        true => "of disk for data".to_owned(),
        false => format!("in {}", needs.places_text()),
    };
    let data = match (needs.data_bytes, work) {
        (0, Work::Rest) => format!("no more {}", place.trim_start_matches("of ")),
        (bytes, _) => format!("{}{more} {place}", human::bytes(bytes)),
    };
    let told = match work {
        Work::All => duration_text(told_s),
        // As reports tell it.
        Work::Rest => about(told_s),
    };
    out::message(&format!(
        "needs       about {told}{more}{until_verdicts}{budget_text}{note}, {data}{logs} ({} free){caches}",
        human::bytes(needs.disk_free_bytes)
    ));
    if is_until_verdicts {
        warn_of_short_budget(plan, (budget, work), needed_s, &busy);
    }
    (TimeLeft { seconds: told_s, until }, busy)
}

/// Warns of a budget in which probably no verdict is reached.
fn warn_of_short_budget(plan: &Plan, (budget, work): (Option<Duration>, Work), needed_s: f64, busy: &Busy) {
    let is_short = |budget: &Duration| plan.blocks().blocks_min == 0 && verdicts_within_s(*budget) < needed_s;
    let Some(budget) = budget.filter(is_short) else { return };
    let enough = match work {
        Work::All => format!("A budget of {} would probably do", duration_text(rounded_up(needed_s))),
        Work::Rest => format!("`--more {:.0}m` would probably do", (needed_s / 60.0).ceil()),
    };
    out::message(&format!(
        "warning: the budget of {} is probably too short for verdicts: the run ends after its next block if {} don't fit. \
         {enough}{}{}",
        duration_text(budget.as_secs_f64()),
        counted(verdict_blocks(), "block"),
        if busy.is_busy() { " while others use as much as now" } else { " on a quiet host" },
        if work == Work::All { ", or fewer tests" } else { "" }
    ));
}

/// With more, servers may answer the last clients too late to be waited for.
const CLIENTS_PER_CPU: usize = 500;

/// Warns of more clients than this host's CPUs can connect.
pub fn warn_of_many_clients(plan: &Plan) {
    let clients = plan.workload.steps.iter().map(|test| plan.clients_of(test)).max().unwrap_or(0);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if let Some(text) = many_clients(clients as usize, cpus) {
        out::message(&text);
    }
}

fn many_clients(clients: usize, cpus: usize) -> Option<String> {
    (clients > CLIENTS_PER_CPU * cpus).then(|| {
        format!(
            "warning: {clients} clients at a time on {}: connecting them may take longer than rqps waits for a server, \
             which ends the run; use fewer clients, or a host with more CPUs",
            counted(cpus, "CPU")
        )
    })
}

/// The tables have this warning, too, but only after hours of measuring.
fn warn_about_families(plan: &Plan, ingredients: &[Ingredients]) {
    let Some(base) = plan.arms.iter().position(|arm| arm.name == plan.base) else {
        return;
    };
    let family = &ingredients[base].build.family;
    for (arm, ingredients) in plan.arms.iter().zip(ingredients) {
        if let Some(differences) = family.differs(&ingredients.build.family) {
            let name = &arm.name;
            out::message(&format!(
                "warning: the builds of base and {name} differ: {differences}; this may explain part of a difference"
            ));
        }
    }
}

/// Runs the rest of an execution and shows its progress.
pub fn measure(context: &Context, execution: &mut Execution) -> Result<Finish, rqps_executor::Error> {
    out::message(&format!("run folder {}", execution.folder().display()));
    let mut progress = Progress::new(execution);
    let finish = execution.run(&mut progress, &context.stop);
    progress.finish();
    finish
}

/// Runs the rest of an execution, writes the report and prints the tables.
pub fn execute(context: &Context, execution: Execution) -> anyhow::Result<ExitCode> {
    execute_then(context, execution, |folder| {
        conclude(context, folder)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs the rest of an execution, then `conclude` on its folder. Its exit code is used unless arms were given up
/// or a step has no valid result.
pub fn execute_then(
    context: &Context,
    mut execution: Execution,
    conclude: impl FnOnce(&Path) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    context.catch_signals();
    let folder = execution.folder();
    let (given_time, began) = (execution.given_time(), Instant::now());
    let finish = measure(context, &mut execution);
    let data = execution.data_place().map(Path::to_owned);
    drop(execution);
    context.release_signals();
    let print_next_steps = |resuming: Option<&str>| {
        let place = folder.display();
        let verb = if is_upgrade(&folder) { "upgrade" } else { "show" };
        let mut text = format!("results so far: rqps {verb} {place}");
        if let Some(kept) = RunFolder::open(&folder).ok().as_ref().and_then(kept) {
            text.insert_str(0, &format!("kept:           {kept}\n"));
        }
        if let Some(resuming) = resuming {
            text.push_str(&format!("\n{resuming:<15} rqps resume {place}"));
            if let Some(given) = given_time {
                let left = given.saturating_sub(began.elapsed());
                text.push_str(&format!(" --more {}m", left.as_secs().div_ceil(60).max(1)));
            }
        }
        if let Some(data) = &data {
            text.push_str(&format!("\nto give up:     rqps clean {place}   (deletes {})", data.display()));
        }
        out::commands(&text);
    };
    if let Err(error) = &finish {
        print_next_steps(Some("to continue:").filter(|_| !error.needs_new_run()));
    }
    let finish = finish?;
    let code = conclude(&folder)?;
    let errors = match finish {
        Finish::Complete => return code_of_results(&folder, code),
        Finish::Ended(ending) => {
            say_ended(&ending);
            let place = folder.display();
            if let Some(seconds) = ending.resume_s {
                let minutes = minutes_to_give(seconds);
                out::commands(&format!("continue    rqps resume {place} --more {minutes}m"));
            }
            return code_of_results(&folder, code);
        }
        Finish::Partly(errors) => errors,
    };
    out::message("");
    let all_need_new_run = errors.iter().all(rqps_executor::Error::needs_new_run);
    print_next_steps(Some("to try again:").filter(|_| !all_need_new_run));
    for error in errors {
        out::message(&format!("rqps: {error}"));
    }
    Ok(ExitCode::from(EXIT_FAILED))
}

/// Says why blocks ended, and plainly if they ended with nothing decided.
pub fn say_ended(ending: &Ending) {
    let without = if ending.is_without_verdict { "nothing was decided: " } else { "" };
    out::message(&format!("ended       {without}{}", ending.why));
}

/// Whether a run was begun by `upgrade`: it has the report from its beginning on.
pub fn is_upgrade(folder: &Path) -> bool {
    folder.join(UPGRADE_FILE).exists()
}

/// Names the steps of a finished run that have no valid result, or some invalid ones; `code` is the exit code if there
/// are none.
fn code_of_results(folder: &Path, code: ExitCode) -> anyhow::Result<ExitCode> {
    let run = RunFolder::open(folder)?;
    let missing = run.without_result();
    for NoResult { step, arm, reason } in &missing {
        out::message(&format!("rqps: {step} has no valid result on {arm}: {reason}"));
    }
    let in_part = run.invalid_in_part();
    for one in &in_part {
        out::message(&format!("rqps: {} on {}: {}", one.step, one.arm, one.text()));
    }
    let is_valid = missing.is_empty() && in_part.is_empty();
    Ok(if is_valid || code != ExitCode::SUCCESS { code } else { ExitCode::from(EXIT_FAILED) })
}

/// Writes the report and prints the run's default sections.
pub fn conclude(context: &Context, folder: &Path) -> anyhow::Result<()> {
    let report = write_report(folder)?;
    let run = RunFolder::open(folder)?;
    let options = super::show::options(context, &SectionArgs::default());
    out::print_line(&rqps_report::show(&run, &options)?)?;
    out::message(&format!("\npage        {}", report.display()));
    out::message(&format!("report      {}", folder.join(REPORT_FILE).display()));
    if run.windows.iter().any(|window| window.valid()) {
        out::commands(&format!("why         rqps explain {}", folder.display()));
    }
    if run.meta.protocol == "isolated" {
        out::commands(&format!("pass/fail   rqps gate {}", folder.display()));
    }
    out::commands(&format!("everything  rqps show {}", folder.display()));
    Ok(())
}

/// Writes a run's reports, Markdown and HTML, into its folder; returns the path of the HTML page.
pub fn write_report(folder: &Path) -> anyhow::Result<PathBuf> {
    let run = RunFolder::open(folder)?;
    let page = folder.join(PAGE_FILE);
    let write = || {
        out::write_file(&folder.join(REPORT_FILE), rqps_report::markdown_report(&run)?)?;
        out::write_file(&page, rqps_report::html_report(&run)?)
    };
    let written = with_quiet_spinner("writing the report", write);
    written.with_context(|| {
        let place = folder.display();
        format!("the measurements are kept; `rqps report {place} --html` writes the page again")
    })?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::{many_clients, not_counted};

    #[test]
    fn the_budget_that_would_do_is_told_for_a_quiet_host_and_for_this_one() {
        let enough = |quiet_s, now_s| {
            let told = not_counted(240.0, (quiet_s, now_s));
            told.rsplit_once(" both with ").unwrap().1.to_owned()
        };
        assert_eq!(enough(582.0, 582.0), "--budget 10m");
        let both = "--budget 10m on a quiet host, or --budget 15m while others use as much as now";
        assert_eq!(enough(582.0, 873.0), both);
        assert_eq!(enough(200.0, 300.0), "--budget 5m while others use as much as now");
    }

    #[test]
    fn only_many_clients_of_each_cpu_are_warned_of() {
        assert!(many_clients(5000, 2).unwrap().starts_with("warning: 5000 clients at a time on 2 CPUs"));
        assert_eq!(many_clients(1000, 2), None);
    }
}
