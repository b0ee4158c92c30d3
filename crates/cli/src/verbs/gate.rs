//! `gate`: pass or fail a change, by verdicts on base and head measured together, or on an existing run.

use super::run::{Hopeless, with_one_window};
use crate::args::{AnswerArgs, GateArgs};
use crate::context::Context;
use crate::two_builds::{BuildArg, TwoBuilds, naming_argument};
use crate::{EXIT_FAILED, EXIT_INCONCLUSIVE, EXIT_REGRESSION, Usage, out, search};
use anyhow::Context as _;
use rqps_executor::Execution;
use rqps_model::short_hash;
use rqps_plan::Plan;
use rqps_report::{Detector, Format, Gate, GateRules, Outcome};
use rqps_store::{Arm, Run, RunFolder, Status};
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf, absolute};
use std::process::ExitCode;

/// The default plan.
const PLAN: &str = "verdicts";
/// The plan of `--quick`.
const QUICK_PLAN: &str = "quick";
/// Means standard output.
const STDOUT: &str = "-";
/// In the folder of a run that was begun by a gate: what it was asked for.
const ASKED_FILE: &str = "gate-asked.json";

/// What a gate was asked for. A resume of its run answers as the gate would have.
#[derive(Debug, Serialize, Deserialize)]
pub struct Asked {
    answer: AnswerArgs,
    /// Of the summary; `None`: as fits standard output.
    format: Option<Format>,
}

pub fn run(context: &Context, args: &GateArgs) -> anyhow::Result<ExitCode> {
    require_format(context)?;
    check_outputs(&args.answer)?;
    let asked = Asked { answer: args.answer.clone(), format: named_format(context) };
    match (&args.run, &args.base, &args.head) {
        (Some(plan), ..) if plan.ends_with(".toml") => {
            Err(Usage(format!("{plan} is a plan: rqps gate --plan {plan} --base BUILD --head BUILD")).into())
        }
        (Some(run), ..) => {
            let folder = context.measured_path(run)?;
            renew(&folder)?;
            judge(context, &folder, &asked)
        }
        (None, Some(base), Some(head)) => {
            let mut plan = plan(base, head, args)?;
            super::run::fit_to_budget(&mut plan, Hopeless::FOR_VERDICTS)?;
            let execution = super::run::begin(context, plan)
                .map_err(|error| naming_argument(&builds(base, head), error))?;
            asked.keep(&execution.folder())?;
            say_if_same(&execution.arms());
            execute(context, execution, &asked)
        }
        _ => {
            Err(Usage("nothing to judge: write rqps gate RUN, or rqps gate --base BUILD --head BUILD".into())
                .into())
        }
    }
}

fn require_format(context: &Context) -> anyhow::Result<()> {
    context.require_format(&[Format::Text, Format::Markdown], "outputs are --markdown, --junit and --json")
}

fn named_format(context: &Context) -> Option<Format> {
    context.names_format.then_some(context.format)
}

impl Asked {
    /// What the gate that began the run in `folder` was asked for; `None` of any other run.
    pub fn of(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(ASKED_FILE);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let broken = || format!("{}: delete it to resume the run without the gate's answer", path.display());
        Ok(Some(serde_json::from_str(&text).with_context(broken)?))
    }

    /// Keeps it with the run: a resume may be started from another directory.
    fn keep(&self, folder: &Path) -> anyhow::Result<()> {
        let mut answer = self.answer.clone();
        for place in [&mut answer.markdown, &mut answer.junit, &mut answer.json].into_iter().flatten() {
            if place != STDOUT {
                *place = absolute(&*place)?.to_string_lossy().into_owned();
            }
        }
        search::write(folder, ASKED_FILE, &Self { answer, format: self.format })
    }
}

/// Runs the rest of a gate's execution, and answers.
fn execute(context: &Context, execution: Execution, asked: &Asked) -> anyhow::Result<ExitCode> {
    let (folder, mut is_judged) = (execution.folder(), false);
    write_cut_off(&folder, &asked.answer)?;
    let ended = super::run::execute_then(context, execution, |folder| {
        is_judged = true;
        super::run::write_report(folder)?;
        judge(context, folder, asked)
    });
    // Who reads the outputs finds them, however the run ended.
    if let Err(error) = &ended
        && !is_judged
    {
        let run = RunFolder::open(&folder)?;
        let short = error.downcast_ref().map(rqps_executor::Error::short_text);
        let why = short.unwrap_or_else(|| crate::chain(error));
        write(context, &rqps_report::gate_of_failed(&run, &rules(&run, &asked.answer)?, &why)?, asked)?;
    }
    ended
}

/// Continues a gate's run, and answers as the gate would have.
pub fn resume(context: &Context, execution: Execution, mut asked: Asked) -> anyhow::Result<ExitCode> {
    require_format(context)?;
    check_outputs(&asked.answer)?;
    asked.format = named_format(context).or(asked.format);
    execute(context, execution, &asked)
}

/// As of a commit that changes no code: the gate passes, and costs nothing but time.
fn say_if_same(arms: &[Arm]) {
    if let [base, .., head] = arms
        && head.is_same_as(base)
    {
        let short = short_hash(&head.build_hash);
        out::message(&format!(
            "note: base and head have the same program files ({short}): nothing can differ"
        ));
    }
}

fn builds<'a>(base: &'a str, head: &'a str) -> [BuildArg<'a>; 2] {
    [("--base", "base", base), ("--head", "head", head)].map(|(argument, arm, build)| BuildArg {
        argument,
        arm,
        build,
    })
}

/// The plan that measures head against base. A shipped one fits its windows to the budget.
fn plan(base: &str, head: &str, args: &GateArgs) -> anyhow::Result<Plan> {
    let mut plan = TwoBuilds {
        name: args.label.as_deref().unwrap_or("gate"),
        plan: args.plan.as_deref().unwrap_or(if args.quick { QUICK_PLAN } else { PLAN }),
        arms: builds(base, head),
        config: args.config.as_deref(),
        tests: &args.tests,
        tests_argument: "--tests",
        budget: args.budget.as_deref(),
    }
    .plan()?;
    // Its plan leaves them out, and its list has them only on request.
    let asks = |detector| args.answer.fail_on.contains(&Some(detector));
    plan.verdict.rates |= args.quick && (asks(Detector::Rate) || asks(Detector::Stalls));
    if args.plan.is_none() {
        super::run::refuse_hopeless(&with_one_window(&plan), Hopeless::FOR_VERDICTS)?;
        super::run::fit_windows(&mut plan);
    }
    Ok(plan)
}

/// Judges the run in `folder` and writes the outputs; the exit code is the result.
fn judge(context: &Context, folder: &Path, asked: &Asked) -> anyhow::Result<ExitCode> {
    let run = RunFolder::open(folder)?;
    if run.status.status != Status::Complete {
        let how = match run.status.status {
            Status::Failed => "the run failed",
            Status::Interrupted => "the run was interrupted",
            _ => "the run is not complete",
        };
        out::message(&format!("{how}: judging what it has measured"));
    }
    let gate = rqps_report::gate(&run, &rules(&run, &asked.answer)?)?;
    write(context, &gate, asked)?;
    out::commands(&format!("why         rqps explain {}", folder.display()));
    Ok(match gate.outcome {
        Outcome::Regressed => ExitCode::from(EXIT_REGRESSION),
        Outcome::Incomplete => ExitCode::from(EXIT_FAILED),
        Outcome::Undecided => ExitCode::from(EXIT_INCONCLUSIVE),
        Outcome::Passed => ExitCode::SUCCESS,
    })
}

fn rules(run: &Run, args: &AnswerArgs) -> anyhow::Result<GateRules> {
    Ok(GateRules {
        fail_on: match args.fail_on.is_empty() {
            true => rqps_report::fail_on_of(run)?,
            false => args.fail_on.iter().flatten().copied().collect(),
        },
        mixed: args.fail_on.contains(&None),
        inconclusive: args.inconclusive_is_failure,
    })
}

/// Writes the requested outputs; the summary goes to standard output unless another output does, or it is written to a
/// file: then its first line tells the outcome, on standard error if standard output is taken.
fn write(context: &Context, gate: &Gate, asked: &Asked) -> anyhow::Result<()> {
    let args = &asked.answer;
    let is_text = match asked.format {
        Some(format) => format == Format::Text,
        None => std::io::stdout().is_terminal(),
    };
    for (place, text) in outputs(gate, args) {
        match place {
            None => {}
            Some(STDOUT) => out::print(text)?,
            Some(path) => out::write_file(Path::new(path), text)?,
        }
    }
    if stdouts(args) > 0 {
        out::message(gate.heading());
    } else if args.markdown.is_some() {
        out::print_line(gate.heading())?;
    } else if is_text {
        out::print_line(&gate.text(context.screen())?)?;
    } else {
        out::print(&gate.markdown)?;
    }
    Ok(())
}

/// Writes the files as they stay if rqps is killed, or ended at once by a second Ctrl-C: else there would be none, or
/// those of another run.
fn write_cut_off(folder: &Path, args: &AnswerArgs) -> anyhow::Result<()> {
    let run = RunFolder::open(folder)?;
    let name = run.folder.name();
    let why = format!(
        "interrupted: `rqps resume {name}` continues it, `rqps gate {name}` judges what it has measured"
    );
    let gate = rqps_report::gate_of_failed(&run, &rules(&run, args)?, &why)?;
    write_files(&gate, args).map(drop)
}

/// Writes the files that a gate was asked for once more: if it was killed, they still say that it was interrupted.
fn renew(folder: &Path) -> anyhow::Result<()> {
    let run = RunFolder::open(folder)?;
    if run.state() == Status::Complete || run.folder.in_use_by().is_some() {
        return Ok(());
    }
    let Some(Asked { answer, .. }) = Asked::of(folder)? else { return Ok(()) };
    let gate = rqps_report::gate(&run, &rules(&run, &answer)?)?;
    // They may have been taken elsewhere; who reads the run has its answer all the same.
    match write_files(&gate, &answer) {
        Ok(written) if written.is_empty() => {}
        Ok(written) => out::message(&format!("wrote {}, as the gate was asked to", written.join(", "))),
        Err(error) => {
            out::message(&format!(
                "warning: a file that the gate was asked for is not written: {}",
                crate::chain(&error)
            ));
        }
    }
    Ok(())
}

/// Writes the outputs that are files, and returns their names.
fn write_files<'a>(gate: &Gate, args: &'a AnswerArgs) -> anyhow::Result<Vec<&'a str>> {
    let mut written = Vec::new();
    for (place, text) in outputs(gate, args) {
        if let Some(place) = place.filter(|place| *place != STDOUT && is_file(Path::new(place))) {
            out::write_file(Path::new(place), text)?;
            written.push(place);
        }
    }
    Ok(written)
}

fn outputs<'g, 'a>(gate: &'g Gate, args: &'a AnswerArgs) -> [(Option<&'a str>, &'g str); 3] {
    let places = [&args.markdown, &args.junit, &args.json];
    let texts = [&gate.markdown, &gate.junit, &gate.json];
    std::array::from_fn(|at| (places[at].as_deref(), texts[at].as_str()))
}

/// Rejects two outputs in one place, and files whose folder does not exist, before anything is measured.
fn check_outputs(args: &AnswerArgs) -> anyhow::Result<()> {
    if stdouts(args) > 1 {
        return Err(
            Usage("only one output can go to standard output: name files for the others".into()).into()
        );
    }
    let places = [("--markdown", &args.markdown), ("--junit", &args.junit), ("--json", &args.json)];
    let mut files: Vec<(&str, PathBuf)> = Vec::new();
    for (option, place) in places.iter().filter_map(|(option, place)| Some((option, place.as_deref()?))) {
        let folder = Path::new(place).parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Usage(format!("{option} {place}: there is no folder {}", folder.display())).into());
        }
        let file = absolute(place)?;
        if let Some((other, _)) = files.iter().find(|(_, known)| *known == file && is_file(known)) {
            let why = format!("{other} and {option} both name {place}: name a file for each");
            return Err(Usage(why).into());
        }
        files.push((*option, file));
    }
    Ok(())
}

/// Whether a place is a file, or would be: two outputs may go to /dev/null, and none is written twice to a pipe.
fn is_file(path: &Path) -> bool {
    path.metadata().ok().is_none_or(|found| found.is_file())
}

fn stdouts(args: &AnswerArgs) -> usize {
    [&args.markdown, &args.junit, &args.json]
        .into_iter()
        .filter(|place| place.as_deref() == Some(STDOUT))
        .count()
}

#[cfg(test)]
mod tests {
    use super::plan;
    use crate::args::{Cli, Verb};
    use crate::search::first_verdicts_seconds;
    use crate::verbs::run::{Hopeless, fit_to_budget};
    use clap::Parser;
    use rqps_plan::Plan;

    fn plan_of(more: &[&str]) -> Plan {
        try_plan(more).unwrap()
    }

    fn try_plan(more: &[&str]) -> anyhow::Result<Plan> {
        let words = ["rqps", "gate", "--base", "postgres-17", "--head", "postgres-18"];
        let parsed = Cli::try_parse_from(words.iter().chain(more)).unwrap();
        let Verb::Gate(args) = parsed.verb else { panic!("{:?}", parsed.verb) };
        plan("postgres-17", "postgres-18", &args)
    }

    #[test]
    fn a_quick_plan_judges_rates_only_on_request() {
        assert!(!plan_of(&["--quick"]).verdict.rates);
        assert!(plan_of(&["--quick", "--fail-on", "rate"]).verdict.rates);
    }

    #[test]
    fn five_minutes_hold_three_blocks_of_all_tests() {
        let blocks = |budget| plan_of(&["--budget", budget]).blocks();
        assert_eq!((blocks("5m").windows, blocks("5m").blocks_max), (1, 3));
        assert_eq!((blocks("15m").windows, blocks("15m").blocks_max), (2, 18));
        assert!(first_verdicts_seconds(&plan_of(&["--budget", "5m"])) <= 300.0);
        let expected = |budget| {
            let mut plan = plan_of(&["--budget", budget]);
            fit_to_budget(&mut plan, Hopeless::FOR_VERDICTS).unwrap();
            plan.blocks().blocks_expected
        };
        assert_eq!((expected("5m"), expected("10h")), (Some(3), Some(18)));
    }

    #[test]
    fn a_budget_in_which_no_verdict_can_be_reached_is_refused() {
        let fit = |budget| try_plan(&["--quick", "--budget", budget]);
        let why = fit("1s").unwrap_err().to_string();
        assert!(why.contains("the first verdicts on 7 tests need about"), "{why}");
        assert!(fit("15m").is_ok());
    }
}
